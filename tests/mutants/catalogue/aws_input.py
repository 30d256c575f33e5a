"""Safety lines around the spec of an AWSCluster: what is refused before a create, and what a refusal of AWS says."""

from functools import partial

from mutants.rows import Mutant

_wish_input = partial(Mutant, "reconcilers/aws_cluster/wish_input.py")
_groups = partial(Mutant, "reconcilers/aws_cluster/nodes/groups.py")
_normal_form = partial(Mutant, "reconcilers/aws_cluster/normal_form.py")
_parts = partial(Mutant, "lifecycle/phases/parts.py")
_drift = partial(Mutant, "lifecycle/phases/drift.py")
_decide = partial(Mutant, "reconcilers/aws_cluster/decide.py")

MUTANTS = (
    _decide(
        "decide",
        "if problems := tuple(wish_input.check(spec, wish, facts)):",
        "if problems := ():",
        "a cluster is made that AWS refuses halfway, or that nobody can reach",
    ),
    _wish_input(
        "_nat_gateways",
        "if wish.nat_gateways:",
        "if True:",
        "a rule for the addresses of NAT gateways that are not there is dropped, and nobody reaches the API server",
    ),
    _groups(
        "group_nodes",
        "group.rules if Role.CONTROL_PLANE in given else ()",
        "()",
        "where the spec gives the group of the control plane, no network load balancer reaches a machine",
    ),
    _normal_form(
        "_groups",
        " and role is not Role.LB",
        "",
        "where the spec gives the group for Services, no network load balancer reaches a machine",
    ),
    _parts(
        "first_due",
        "set(entry.parts) if entry.shared else set()",
        "set()",
        "a rule that the in-cluster provider took out of its group is put in again at each pass",
    ),
    _parts(
        "put_first",
        "tuple(sorted({*entry.parts, *map(str, due)}))",
        "entry.parts",
        "what was put into a shared resource once is put in again at each pass",
    ),
    _drift(
        "_bring",
        "entry.parts if shared is entry.shared else ()",
        "entry.parts",
        "what the in-cluster provider has made anew is taken out when its resource comes back to us",
    ),
    _drift(
        "is_as_wanted",
        " or parts.first_due(ctx, key)",
        "",
        "an object at rest is confirmed although a new port of its load balancer is shut",
    ),
)
