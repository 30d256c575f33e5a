"""Safety lines around the spec of an AWSCluster: what is refused before a create, and what a refusal of AWS says."""

from functools import partial

from mutants.rows import Mutant

_given_warnings = partial(Mutant, "providers/aws/cluster/given_warnings.py")
_subnets = partial(Mutant, "providers/aws/cluster/subnets.py")
_balancers = partial(Mutant, "providers/aws/cluster/load_balancers.py")
_node_sources = partial(Mutant, "providers/aws/cluster/node_sources.py")
_tag_input = partial(Mutant, "providers/aws/cluster/tag_checks.py")
_unused = partial(Mutant, "providers/aws/cluster/unused_fields.py")
_rules = partial(Mutant, "providers/aws/cluster/rules.py")
_input = partial(Mutant, "providers/aws/cluster/spec_checks.py")
_wish_input = partial(Mutant, "providers/aws/cluster/plan_checks.py")
_cluster_status = partial(Mutant, "providers/objects/cluster_status.py")
_planning = partial(Mutant, "cli/commands/plan.py")
_given = partial(Mutant, "providers/aws/cluster/given_input.py")
_network = partial(Mutant, "providers/aws/cluster/network_input.py")
_facts = partial(Mutant, "providers/aws/facts.py")
_groups = partial(Mutant, "providers/aws/cluster/nodes/groups.py")
_normal_form = partial(Mutant, "providers/aws/cluster/normalize.py")
_parts = partial(Mutant, "engine/phases/parts.py")
_create = partial(Mutant, "engine/phases/create.py")
_group_input = partial(Mutant, "providers/aws/cluster/group_checks.py")
_discover = partial(Mutant, "providers/aws/cluster/discover.py")
_drift = partial(Mutant, "engine/phases/drift.py")
_decide = partial(Mutant, "providers/aws/cluster/desired.py")

MUTANTS = (
    _given(
        "_family",
        "network.vpc.ipv6 is not None and not any",
        "False and not any",
        "groups let all IPv6 addresses in, for machines that have none",
    ),
    _given_warnings(
        "_differences",
        "spec.is_public is not None and spec.is_public != there.public",
        "False",
        "what a person calls private gets the load balancer, and nobody is told",
    ),
    _given_warnings(
        "_differences",
        "_normal(spec.cidr_block) != there.cidr",
        "False",
        "a subnet of another range than the spec's is used, and nobody is told",
    ),
    _unused(
        "_bastion",
        "set(bastion.allowed_cidr_blocks) - open_to_all",
        "bastion.allowed_cidr_blocks",
        "each manifest that upstream has written has a field that is not served",
    ),
    _rules(
        "Firewall._clients",
        'if each.load_balancer_type == "disabled":',
        "if False:",
        "the addresses of the NAT gateways reach a load balancer that is for the VPC alone",
    ),
    Mutant(
        "api/rules.py",
        "Format.fits",
        "re.fullmatch(self.pattern, text) is not None",
        "True",
        "a bucket is Ready whose URLs no machine can ever get",
    ),
    _decide(
        "decide",
        "if problems := tuple(plan_checks.check(spec, cluster_plan, facts)):",
        "if problems := ():",
        "a cluster is made that AWS refuses halfway, or that nobody can reach",
    ),
    _wish_input(
        "_nat_gateways",
        "if plan.nat_gateways or plan.given_nat_addresses:",
        "if True:",
        "a rule for the addresses of NAT gateways that are not there is dropped, and nobody reaches the API server",
    ),
    _subnets(
        "homes",
        "if not (new and each.for_pods):",
        "if True:",
        "NAT gateways, a bastion and public load balancers are in a subnet for pods",
    ),
    _balancers(
        "Front._placed",
        "(not each.for_pods or each.logical in held)",
        "(not each.for_pods)",
        "a load balancer leaves the subnet that it is in when somebody tags the subnet",
    ),
    _normal_form(
        "_held_home",
        "each.public and each.logical == recorded.bastion",
        "False",
        "a bastion is to move when subnets are listed in another order",
    ),
    _node_sources(
        "unknown",
        "and not known.get(there[each.given].way_out)",
        "and False",
        "a cluster is ready whose nodes cannot reach its API server",
    ),
    _tag_input(
        "_whose",
        "if _is_anothers(names, key, value):",
        "if False:",
        "a cluster of that name is refused for ever, and its collector deletes what is not its own",
    ),
    _tag_input(
        "_whose",
        "elif given and key != cloud_provider_key(names.cluster) and _is_protected(key):",
        "elif False:",
        "whoever may write a cluster gives a stranger's subnets to another one",
    ),
    _tag_input(
        "_subnet",
        "if _is_anothers(names, key, value):",
        "if False:",
        "a subnet is given to another cluster, whose collector deletes it",
    ),
    _wish_input(
        "_Places.named",
        "if zone and first != logical:",
        "if False:",
        "everything is made but the load balancer, which is to be in one zone twice",
    ),
    _wish_input(
        "_Places._outside",
        "and given is None:",
        "and False:",
        "everything is made but the load balancer, which is to be in another VPC",
    ),
    _wish_input(
        "_Places._outside",
        " and self.facts.nothing_made",
        "",
        "a subnet that a person made in the cluster's own VPC cannot be given to its load balancer",
    ),
    _group_input(
        "check",
        " or not facts.nothing_made",
        "",
        "an object that was restored is stopped by groups of its own VPC, which is not on record",
    ),
    _group_input(
        "check",
        "elif each.joined and there != vpc:",
        "elif False:",
        "everything is made but what is to be in a group of another VPC",
    ),
    _group_input(
        "check",
        "each.joined and ",
        "",
        "a rule for a group of a connected VPC is refused",
    ),
    _discover(
        "discover",
        "if idents and not before",
        "if False",
        "a group that is not there is refused by AWS when the rest has been made",
    ),
    _groups(
        "_unfit",
        "if there == vpc",
        "if True",
        "machines and load balancers are to be in a group of another VPC, and the cluster is Ready",
    ),
    _network(
        "_mixed",
        "if whole != theirs:",
        "if False:",
        "a VPC is made whose further range AWS refuses",
    ),
    _parts(
        "_add",
        "if added.is_about_parts and len(missing) > 1",
        "if False",
        "one rule that AWS refuses keeps all others out of a security group",
    ),
    _parts(
        "_Added.raise_error",
        "if self.error:",
        "if False:",
        "a rule that AWS refused counts as added",
    ),
    _parts(
        "_send",
        "if len(group) == 1:",
        "if False:",
        "nobody is told which field of the spec AWS refuses",
    ),
    _parts(
        "_held",
        "if seen and kind.holds_part(part, other.kind, seen):",
        "if False:",
        "a plan shows that a range goes although a subnet of ours is in it",
    ),
    _parts(
        "_remove_surplus",
        "if each not in gone",
        "if True",
        "what was taken out counts as ours, although others have put it there since",
    ),
    _parts(
        "_remove_surplus",
        "raise refusal",
        "pass",
        "a range that cannot go counts as gone",
    ),
    _parts(
        "withdraw",
        "if ctx.kind(key).independent_parts:",
        "if True:",
        "a route table loses its route although the one in its place was refused",
    ),
    _drift(
        "_sync",
        "await _refusal(parts.withdraw(ctx, key, due), of_part=True)",
        "pass",
        "a rule that the spec has withdrawn stays open while another one is refused",
    ),
    _drift(
        "_sync",
        "isinstance(no_part, Invalid | NotFound)",
        "no_part",
        "the old rule is taken out although the new one cannot be put in, and nobody reaches the API server",
    ),
    _drift(
        "_refusal",
        "if not of_part:",
        "if True:",
        "a rule that the spec has withdrawn stays open while another one names a group that is gone",
    ),
    _parts(
        "put_in",
        "await _remove_surplus(ctx, key, due)",
        "pass",
        "in a group that is full no rule can be replaced",
    ),
    _create(
        "_created",
        "if about_it else result",
        "if False else result",
        "nobody is told which field of the spec AWS refuses to create from",
    ),
    _wish_input(
        "_ipv6",
        "if not lacking:",
        "if True:",
        "everything is made but the load balancer, whose subnets lack IPv6",
    ),
    _network(
        "_Listed._six",
        "elif self.facts.nothing_made and",
        "elif False and",
        "a /64 is asked for of a range that Amazon has not given yet",
    ),
    _cluster_status(
        "lacking",
        "or _host(raw):",
        "or False:",
        "a cluster whose endpoint a person gave is not Ready in a plan",
    ),
    _planning(
        "conclude",
        "(*each.problems, *each.lacking)",
        "each.problems",
        "a plan is a success although up would end without an endpoint",
    ),
    _given(
        "_subnets",
        "found.zone_type != AVAILABILITY_ZONE",
        "False",
        "the load balancer, the bastion and the control plane are put into a local zone",
    ),
    _network(
        "_given",
        'yield from _zone_type(f"{_SUBNETS}[{index}]", each)',
        "pass",
        "a local zone that the spec names in a given VPC is used",
    ),
    _facts(
        "AwsFacts.zones",
        "each.type == AVAILABILITY_ZONE and ",
        "",
        "subnets are made in a local zone",
    ),
    _facts(
        "AwsFacts.zones",
        " and each.usable",
        "",
        "subnets are made in a zone that is out of order, and the create is refused",
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
        "{*entry.parts, *map(str, added.taken)}",
        "set(entry.parts)",
        "what was put into a shared resource once is put in again at each pass",
    ),
    _drift(
        "is_as_wanted",
        " or parts.first_due(ctx, key)",
        "",
        "an object at rest is confirmed although a new port of its load balancer is shut",
    ),
)
