"""Safety lines on resources of others: where they are, what must be inside them, and what carries our marks."""

from functools import partial

from mutants.rows import Mutant

_fitness = partial(Mutant, "engine/phases/fitness.py")
_confirm = partial(Mutant, "engine/phases/confirm.py")
_reach = partial(Mutant, "providers/ibm/powervs/endpoint_reachability.py")
_places = partial(Mutant, "providers/ibm/powervs/given_location.py")
_wanted = partial(Mutant, "providers/ibm/powervs/desired.py")
_rows = partial(Mutant, "providers/objects/resource_rows.py")
_subnet = partial(Mutant, "providers/ibm/kinds/vpc_subnet.py")

MUTANTS = (
    _fitness(
        "admitted",
        "if node.key not in refused",
        "if True",
        "a load balancer is created behind a group of others that lets nobody in",
    ),
    _fitness(
        "check",
        "ctx.outcomes[one.key] = refusal",
        "pass",
        "a given load balancer without a listener becomes the endpoint",
    ),
    _fitness(
        "demands",
        "elif not theirs and node.through:",
        "elif False:",
        "nobody looks whether others let traffic through to our load balancer",
    ),
    _confirm(
        "_is_confirmed",
        "if any(one.lacks(inside[one.place] or frozenset()) for one in asked):",
        "if False:",
        "a listener that somebody removed from a given load balancer is not missed",
    ),
    _reach(
        "_is_private",
        'if balancer.attributes.get("public") is not False:',
        "if True:",
        "a private load balancer of others becomes the endpoint",
    ),
    _reach(
        "_lets_in",
        " and anyone",
        "",
        "the rule for a group's own members counts as letting clients in",
    ),
    _reach(
        "_lets_in",
        " and first <= port <= last",
        "",
        "a rule for another port counts as letting clients in",
    ),
    _reach(
        "_listens",
        "first <= port <= last",
        "True",
        "a listener on another port counts as the API server's",
    ),
    _places(
        "check",
        " is not None and answer.value != vpc",
        " is not None and False",
        "a subnet of another VPC is refused by the cloud only when the rest has been created",
    ),
    _places(
        "check",
        "if answer.value != spec.zone:",
        "if False:",
        "a workspace in another zone is used",
    ),
    _wanted(
        "_created",
        "if unknown := given_location.missing(facts.places):",
        "if unknown := ():",
        "something is created although nobody knows where a given resource is",
    ),
    _rows(
        "known_id",
        "and not isinstance(outcome, Blocked)",
        "",
        "the status shows the id of a stranger's resource, which was refused, as the cluster's",
    ),
    _subnet(
        "VpcSubnetDriver.create",
        'if cidr := request.get("cidr"):',
        'if cidr := "":',
        "a subnet gets another range than the spec gives",
    ),
)
