"""What each security group of a cluster lets in: upstream's rules and the spec's, one source a rule, sorted.

Source: https://github.com/kubernetes-sigs/cluster-api-provider-aws/tree/main/pkg/cloud/services/securitygroup
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import ip_network

from freehold.providers.aws.cluster.cluster_plan import BalancerType, Role, Scheme, Source, SourceKind, TrafficRule, Vpc
from freehold.providers.aws.cluster.types.spec import AWSClusterSpec
from freehold.providers.aws.types.load_balancer import AWSLoadBalancerSpec
from freehold.providers.aws.types.network import CNIIngressRule, IngressRule, NetworkSpec

API_SERVER = 6443
"""The port of the API server on a machine, whatever the load balancer's is."""
ANY_IPV4 = Source(SourceKind.IPV4, "0.0.0.0/0")
ANY_IPV6 = Source(SourceKind.IPV6, "::/0")
_BY_NUMBER = {"58": "icmpv6"}
"""What AWS calls a protocol that was given by its number (hashicorp/terraform-provider-aws#9569)."""
WITH_PORTS = frozenset({"tcp", "udp", "icmp", "icmpv6"})
"""AWS ignores ports of other protocols.

Source: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_IpPermission.html
"""
_CALICO = (
    CNIIngressRule(description="bgp (calico)", protocol="tcp", from_port=179, to_port=179),
    CNIIngressRule(description="IP-in-IP (calico)", protocol="4", from_port=-1, to_port=65535),
)
_CALICO_IPV6 = CNIIngressRule(description="VXLAN (calico)", protocol="udp", from_port=4789, to_port=4789)


@dataclass(frozen=True)
class Firewall:
    """The rules of one cluster. ``port`` is the API server's at the load balancer. ``nat``: where NAT gateways are."""

    spec: AWSClusterSpec
    vpc: Vpc
    port: int
    nat: tuple[Source, ...]

    @property
    def _network(self) -> NetworkSpec:
        return self.spec.network or NetworkSpec()

    @property
    def _balancers(self) -> tuple[AWSLoadBalancerSpec, ...]:
        second = self.spec.secondary_control_plane_load_balancer
        return (self.spec.control_plane_load_balancer or AWSLoadBalancerSpec(), *((second,) if second else ()))

    def rules(self, role: Role) -> tuple[TrafficRule, ...]:
        """Return what the group of this role lets in, in normal form."""
        found = {
            Role.BASTION: self._bastion,
            Role.NODE: self._nodes,
            Role.CONTROL_PLANE: self._control_plane,
            Role.API_SERVER_LB: self._api_server,
            Role.LB: self._services,
            Role.EKS_NODE: self._eks_nodes,
        }[role]()
        return normal_rules(found)

    @property
    def _any(self) -> tuple[Source, ...]:
        return anybody(ipv6=self.vpc.ipv6)

    @property
    def _inside(self) -> tuple[Source, ...]:
        """Return the sources that are all of the VPC. The ranges of one that we create are known."""
        known = tuple(Source(SourceKind.IPV4, each) for each in (self.vpc.cidr, *self.vpc.secondary) if each)
        four = known or (Source(SourceKind.VPC),)
        return (*four, Source(SourceKind.VPC_IPV6)) if self.vpc.ipv6 else four

    def _bastion(self) -> Iterator[TrafficRule]:
        bastion = self.spec.bastion
        if bastion and not bastion.disable_ingress_rules:
            sources = [_range(text) for text in bastion.allowed_cidr_blocks] or self._any
            yield from _each("SSH", "tcp", 22, 22, sources)

    def _ssh(self) -> Iterator[TrafficRule]:
        if self.spec.bastion and self.spec.bastion.enabled:
            yield from _each("SSH", "tcp", 22, 22, [_group(Role.BASTION)])

    def _cni(self) -> Iterator[TrafficRule]:
        cni = self._network.cni
        calico = (*_CALICO, *((_CALICO_IPV6,) if self.vpc.ipv6 else ()))
        for rule in cni.cni_ingress_rules if cni else calico:
            sources = [_group(Role.CONTROL_PLANE), _group(Role.NODE)]
            yield from _each(rule.description, rule.protocol, rule.from_port, rule.to_port, sources)

    def _control_plane(self) -> Iterator[TrafficRule]:
        yield from self._cni()
        clients = [_group(role) for role in (Role.API_SERVER_LB, Role.CONTROL_PLANE, Role.NODE)]
        yield from _each("Kubernetes API", "tcp", API_SERVER, API_SERVER, clients)
        yield from _each("etcd", "tcp", 2379, 2379, [_group(Role.CONTROL_PLANE)])
        yield from _each("etcd peer", "tcp", 2380, 2380, [_group(Role.CONTROL_PLANE)])
        yield from self._ssh()
        yield from self._of_spec(Role.CONTROL_PLANE)

    def _nodes(self) -> Iterator[TrafficRule]:
        yield from self._cni()
        blocks = [_range(text) for text in self._network.node_port_ingress_rule_cidr_blocks]
        yield from _each("Node Port Services", "tcp", 30000, 32767, blocks or [ANY_IPV4])
        if self.vpc.ipv6:
            yield from _each("Node Port Services IPv6", "tcp", 30000, 32767, [ANY_IPV6])
        yield from _each("Kubelet API", "tcp", 10250, 10250, [_group(Role.CONTROL_PLANE), _group(Role.NODE)])
        yield from self._ssh()
        yield from self._of_spec(Role.NODE)

    def _eks_nodes(self) -> Iterator[TrafficRule]:
        """Let in SSH from the bastion, and what the spec lists: EKS's own group has what a cluster needs."""
        yield from self._ssh()
        yield from self._of_spec(Role.EKS_NODE)

    def _api_server(self) -> Iterator[TrafficRule]:
        """Let in all traffic, or what the spec lists and the nodes.

        Where there are no NAT gateways upstream lets everything in although the spec lists what may; here it
        does not.
        """
        custom = tuple(self._of_spec(Role.API_SERVER_LB))
        yield from custom
        for port in self._api_ports:
            yield from _each("Kubernetes API", "tcp", port, port, self._clients() if custom else self._any)

    def _of_spec(self, role: Role) -> Iterator[TrafficRule]:
        for field, of, rule in ingress_rules(self.spec):
            if of is role:
                usual = Role.EKS_NODE if self.spec.IS_EKS else Role.CONTROL_PLANE
                sources = self.nat if rule.nat_gateways_ips_source else _sources(rule, field, usual)
                yield from _each(rule.description, rule.protocol, rule.from_port, rule.to_port, sources)

    @property
    def _api_ports(self) -> tuple[int, ...]:
        """Return today's port, and that of the endpoint, which clients go on using when the Cluster's changes."""
        endpoint = self.spec.control_plane_endpoint
        return tuple(
            sorted({self.port, endpoint.port} if endpoint and endpoint.host and endpoint.port else {self.port})
        )

    def _clients(self) -> Iterator[Source]:
        """Return where nodes come from: to a public load balancer NAT gateways, to an internal one the VPC."""
        for each in self._balancers:
            if each.load_balancer_type == "disabled":
                continue
            if each.scheme == Scheme.INTERNAL.value:
                yield from self._inside
            else:
                yield from self.nat

    def _services(self) -> Iterator[TrafficRule]:
        """Let in what network load balancers send to machines, and their health checks."""
        for each in self._balancers:
            if each.load_balancer_type == BalancerType.NETWORK.value:
                sources = self._any if each.preserve_client_ip else self._inside
                for port in (API_SERVER, *(listener.port for listener in each.additional_listeners)):
                    yield from _each("NLB to the control plane", "tcp", port, port, sources)


def anybody(*, ipv6: bool) -> tuple[Source, ...]:
    """Return all addresses, of both families where the VPC has IPv6."""
    return (ANY_IPV4, ANY_IPV6) if ipv6 else (ANY_IPV4,)


def ingress_rules(spec: AWSClusterSpec) -> Iterator[tuple[str, Role, IngressRule]]:
    """Yield each rule of the spec, with its field and the security group that it is for.

    Where EKS runs the control plane, the machines have one group, which gets the rules of both fields.
    """
    network = spec.network or NetworkSpec()
    first, second = spec.control_plane_load_balancer, spec.secondary_control_plane_load_balancer
    lists = (
        (
            "spec.network.additionalControlPlaneIngressRules",
            Role.EKS_NODE if spec.IS_EKS else Role.CONTROL_PLANE,
            network.additional_control_plane_ingress_rules,
        ),
        (
            "spec.network.additionalNodeIngressRules",
            Role.EKS_NODE if spec.IS_EKS else Role.NODE,
            network.additional_node_ingress_rules,
        ),
        ("spec.controlPlaneLoadBalancer.ingressRules", Role.API_SERVER_LB, first.ingress_rules if first else ()),
        (
            "spec.secondaryControlPlaneLoadBalancer.ingressRules",
            Role.API_SERVER_LB,
            second.ingress_rules if second else (),
        ),
    )
    for field, role, rules in lists:
        for index, each in enumerate(rules):
            yield f"{field}[{index}]", role, each


def normal_rules(rules: Iterable[TrafficRule]) -> tuple[TrafficRule, ...]:
    """Sort rules, and keep each once: of two that differ in the description alone, AWS takes one."""
    found: dict[tuple[str, int, int, Source], TrafficRule] = {}
    for rule in sorted(rules):
        found.setdefault((rule.protocol, rule.from_port, rule.to_port, rule.source), rule)
    return tuple(sorted(found.values()))


def _each(text: str, protocol: str, first: int, last: int, sources: Iterable[Source]) -> Iterator[TrafficRule]:
    name = _BY_NUMBER.get(protocol, protocol)
    ports = (first, last) if name in WITH_PORTS else (-1, -1)
    for source in sources:
        yield TrafficRule(name, *ports, source, text)


def _sources(rule: IngressRule, field: str, usual: Role) -> list[Source]:
    """Return the sources of a rule; without one it is for the machines of role ``usual``."""
    ranges = [_range(text) for text in (*rule.cidr_blocks, *rule.ipv6_cidr_blocks)]
    groups = [
        Source(SourceKind.GROUP_ID, ident, f"{field}.sourceSecurityGroupIds[{index}]")
        for index, ident in enumerate(rule.source_security_group_ids)
    ]
    groups += [_group(Role(role)) for role in rule.source_security_group_roles]
    return ranges or groups or [_group(usual)]


def _range(text: str) -> Source:
    network = ip_network(text, strict=False)
    return Source(SourceKind.IPV4 if network.version == 4 else SourceKind.IPV6, str(network))


def _group(role: Role) -> Source:
    return Source(SourceKind.GROUP, role.value)
