"""From which addresses the nodes in a given VPC reach a public API server whose ``ingressRules`` restrict who may.

Upstream lets in the addresses of the NAT gateways in the public subnets that the spec lists
(https://github.com/kubernetes-sigs/cluster-api-provider-aws/pull/5198), and everybody where it finds none. Here the
routes of the nodes' subnets say which NAT gateways they use, and where one does not, a person is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from freehold.providers.aws.api_names import NODES_LET_IN_ANNOTATION
from freehold.providers.aws.cluster.cluster_plan import ClusterPlan, PlannedSubnet, Role, Scheme, TrafficRule
from freehold.providers.aws.cluster.facts import AWSClusterFacts, GivenSubnet
from freehold.providers.aws.cluster.rules import ANY_IPV4, ingress_rules
from freehold.providers.aws.cluster.types.spec import AWSClusterSpec
from freehold.providers.aws.types.load_balancer import AWSLoadBalancerSpec
from freehold.providers.objects.cloud_answers import Answer
from freehold.providers.objects.spec_problems import SpecProblem

_FIELD = "spec.controlPlaneLoadBalancer.ingressRules"


def are_needed(spec: AWSClusterSpec) -> bool:
    """Return whether rules of a cluster in a given VPC name the addresses of NAT gateways."""
    rules = list(ingress_rules(spec))
    restricted = any(role is Role.API_SERVER_LB for _, role, _ in rules)
    balancers = [spec.control_plane_load_balancer or AWSLoadBalancerSpec()]
    balancers += [spec.secondary_control_plane_load_balancer] if spec.secondary_control_plane_load_balancer else []
    public = any(_is_public(each) for each in balancers)
    return (restricted and public) or any(rule.nat_gateways_ips_source for _, _, rule in rules)


def _is_public(balancer: AWSLoadBalancerSpec) -> bool:
    return balancer.load_balancer_type != "disabled" and balancer.scheme == Scheme.INTERNET_FACING.value


def addresses(subnets: Sequence[PlannedSubnet], facts: AWSClusterFacts) -> tuple[str, ...]:
    """Return the public addresses of the NAT gateways of given subnets, as far as AWS has told them; sorted."""
    known = facts.nat_addresses.value if isinstance(facts.nat_addresses, Answer) else {}
    there = _there(facts)
    ways = {there[each.given].way_out for each in subnets if each.given in there}
    return tuple(sorted({address for way in ways for address in known.get(way, ())}))


def unknown(
    metadata: Mapping[str, Any], spec: AWSClusterSpec, plan: ClusterPlan, facts: AWSClusterFacts
) -> Iterator[SpecProblem]:
    """Yield what keeps a cluster from being ready: nodes that may not reach the endpoint, as far as can be told.

    Machines are in the private subnets that the spec lists, in public ones where there are no others.
    """
    first = spec.control_plane_load_balancer or AWSLoadBalancerSpec()
    group = next((each for each in plan.groups if each.role is Role.API_SERVER_LB), None)
    if not plan.vpc.given or not _is_public(first) or group is None or group.given or not are_needed(spec):
        return
    everybody = any(rule.source == ANY_IPV4 and _lets_in(rule, facts.api_port) for rule in group.rules)
    if everybody or (metadata.get("annotations") or {}).get(NODES_LET_IN_ANNOTATION) == "true":
        return
    usable = [each for each in plan.subnets if not each.for_pods]
    places = [each for each in usable if not each.public] or usable
    known = facts.nat_addresses.value if isinstance(facts.nat_addresses, Answer) else {}
    there = _there(facts)
    lost = [each.given for each in places if each.given in there and not known.get(there[each.given].way_out)]
    if lost:
        yield SpecProblem(_FIELD, _sentence(metadata, [there[ident] for ident in sorted(lost)]))


def _lets_in(rule: TrafficRule, port: int) -> bool:
    return rule.protocol == "-1" or (rule.protocol == "tcp" and rule.from_port <= port <= rule.to_port)


def _there(facts: AWSClusterFacts) -> Mapping[str, GivenSubnet]:
    return facts.network.value.subnets if isinstance(facts.network, Answer) else {}


def _sentence(metadata: Mapping[str, Any], lost: Sequence[GivenSubnet]) -> str:
    places = ", ".join(f"{each.id} ({_way(each)})" for each in lost)
    space = f" -n {metadata['namespace']}" if metadata.get("namespace") else ""
    return (
        f"nodes in {places} may be shut out: the API server lets in these ranges and the NAT gateways of the VPC, and "
        "from which addresses these nodes come cannot be told. Lead 0.0.0.0/0 of these subnets to a NAT gateway; or "
        f"let the nodes' public addresses in here, and then: kubectl{space} annotate awscluster {metadata['name']} "
        f"{NODES_LET_IN_ANNOTATION}=true"
    )


def _way(subnet: GivenSubnet) -> str:
    if subnet.public:
        return "public: each node has an address of its own"
    if not subnet.way_out:
        return "no route to 0.0.0.0/0"
    return f"0.0.0.0/0 leads to {subnet.way_out}" + (
        ", which has no public address" if subnet.way_out.startswith("nat-") else ""
    )
