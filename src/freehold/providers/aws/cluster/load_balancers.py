"""The load balancers in front of a control plane."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from freehold.providers.aws.cluster.cluster_plan import (
    BalancerType,
    FailureDomain,
    HealthCheck,
    Listener,
    LoadBalancer,
    Scheme,
    Subnet,
)
from freehold.providers.aws.cluster.facts import Recorded
from freehold.providers.aws.cluster.keys import key_of
from freehold.providers.aws.cluster.names import DefaultNames
from freehold.providers.aws.cluster.rules import API_SERVER
from freehold.providers.aws.cluster.types.spec import AWSClusterSpec
from freehold.providers.aws.types.load_balancer import AdditionalListener, AWSLoadBalancerSpec
from freehold.providers.aws.types.load_balancer import HealthCheck as HealthCheckSpec

PRIMARY, SECONDARY = "primary", "secondary"
TRAFFIC_PORT = "traffic-port"
"""What AWS calls the port of the listener in a health check."""
_ADDRESSES = {
    BalancerType.CLASSIC: re.compile(r"[^.]+\.[a-z0-9-]+\.elb\.amazonaws\.com(\.cn)?"),
    BalancerType.NETWORK: re.compile(r"[^.]+\.elb\.[a-z0-9-]+\.amazonaws\.com(\.cn)?"),
}
"""The names that AWS gives to load balancers.

https://docs.aws.amazon.com/elasticloadbalancing/latest/classic/elb-internet-facing-load-balancers.html and
https://docs.aws.amazon.com/elasticloadbalancing/latest/network/network-load-balancers.html
"""
_HTTP = frozenset({"HTTP", "HTTPS"})


@dataclass(frozen=True)
class HealthTimes:
    """Times of health checks, in seconds, and how many in a row change the state of a machine."""

    interval: int
    timeout: int
    healthy: int
    unhealthy: int


QUICK = HealthTimes(interval=5, timeout=4, healthy=2, unhealthy=6)
"""Upstream's since June 2026: the first machine serves after 10 s. ``kubeadm init`` waits 60 s for its load balancer.

https://github.com/kubernetes/kubeadm/issues/3294
"""
SLOW = HealthTimes(interval=10, timeout=5, healthy=5, unhealthy=3)
"""Upstream's before, of clusters that were begun with them."""


@dataclass(frozen=True)
class Front:
    """What the load balancers of one cluster are made of. ``subnets`` are as the spec lists them.

    ``port`` is the API server's. ``homes`` is the public subnet of each zone that load balancers are in
    (:func:`subnets.homes`). ``ipv6``: whether the VPC has it. ``recorded``: what is there already.
    ``beside``: the zones of a given VPC's subnets, by id, which the spec may name for a load balancer alone.
    """

    names: DefaultNames
    port: int
    subnets: Sequence[Subnet]
    homes: Mapping[str, str]
    ipv6: bool
    recorded: Recorded = field(default_factory=Recorded)
    beside: Mapping[str, str] = field(default_factory=dict)

    def load_balancers(self, spec: AWSClusterSpec) -> tuple[LoadBalancer, ...]:
        """Return the load balancer that is the endpoint, and the second one; none that is disabled."""
        first = spec.control_plane_load_balancer or AWSLoadBalancerSpec()
        wanted = ((PRIMARY, first), (SECONDARY, spec.secondary_control_plane_load_balancer))
        return tuple(self._one(key, each) for key, each in wanted if each and each.load_balancer_type != "disabled")

    def _one(self, key: str, spec: AWSLoadBalancerSpec) -> LoadBalancer:
        network = spec.load_balancer_type == BalancerType.NETWORK.value
        scheme = Scheme(spec.scheme)
        by_name = {each.name: each.logical for each in self.subnets if each.name}
        said = {by_name.get(each) or self.recorded.subnet_of(each) or each for each in spec.subnets}
        homes = tuple(sorted(said)) or self._placed(key, spec)
        return LoadBalancer(
            key,
            BalancerType(spec.load_balancer_type),
            name_of(spec, self.names),
            scheme,
            self._listeners(spec, network=network),
            homes,
            tuple(sorted(set(spec.additional_security_groups))),
            cross_zone=bool(spec.cross_zone_load_balancing),
            preserve_client_ip=network and bool(spec.preserve_client_ip),
            dualstack=network and self.ipv6,
            zones=self._zones(homes),
        )

    def _zones(self, homes: Sequence[str]) -> tuple[str, ...]:
        zone_of = {**self.beside, **{each.logical: each.zone for each in self.subnets if each.zone}}
        return tuple(sorted({zone_of[each] for each in homes})) if set(homes) <= zone_of.keys() else ()

    def _listeners(self, spec: AWSLoadBalancerSpec, *, network: bool) -> tuple[Listener, ...]:
        ip_type = spec.target_group_ip_type or ("ipv6" if self.ipv6 else "ipv4") if network else ""
        usual = times_of(self.recorded)
        check = health_check(spec.health_check_protocol or "TCP", API_SERVER, spec.health_check, usual, "/readyz")
        more = [_listener(each, ip_type, usual) for each in spec.additional_listeners] if network else []
        return tuple(sorted([Listener(self.port, API_SERVER, check, ip_type), *more]))

    def _placed(self, key: str, spec: AWSLoadBalancerSpec) -> tuple[str, ...]:
        """Choose one subnet in each zone, the first listed: private ones, or public ones for public addresses.

        A network without private subnets has its load balancers in the public ones; those for pods do not
        count. Where a zone has several it stays in the one that it is in. Empty where the zones are not known.
        """
        held = self.recorded.balancers.get(key_of(BalancerType(spec.load_balancer_type), key), ())
        usable = [each for each in self.subnets if each.zone and (not each.for_pods or each.logical in held)]
        private = not all(each.public for each in usable)
        public = Scheme(spec.scheme) is Scheme.INTERNET_FACING or not private
        found = dict(self.homes) if public else {}
        for each in sorted(usable, key=lambda one: one.logical not in held):
            if each.public is public:
                if each.logical in held:
                    found[each.zone] = each.logical
                found.setdefault(each.zone, each.logical)
        return tuple(sorted(found.values()))


def name_of(spec: AWSLoadBalancerSpec, names: DefaultNames) -> str:
    """Return the name in the spec, or upstream's."""
    network = spec.load_balancer_type == BalancerType.NETWORK.value
    return spec.name or (names.network_balancer if network else names.classic_balancer)


def type_of_address(host: str) -> BalancerType | None:
    """Return the type of the load balancer that has this address; None where AWS made no name of one of it."""
    return next((kind for kind, form in _ADDRESSES.items() if form.fullmatch(host)), None)


def is_address_of(host: str, balancer: LoadBalancer) -> bool:
    """Return whether AWS gave this address to this load balancer, or to an earlier one of its name and type."""
    named = host.partition(".")[0].removeprefix("internal-").rpartition("-")[0]
    return type_of_address(host) is balancer.type and named.lower() == balancer.name.lower()


def protocol_of(spec: AdditionalListener) -> str:
    """Return with which protocol machines are checked on one more port."""
    return (spec.health_check and spec.health_check.protocol) or spec.protocol


def asks_for_path(protocol: str) -> bool:
    """Return whether a check with it asks for a path."""
    return protocol in _HTTP


def times_of(recorded: Recorded) -> HealthTimes:
    """Return the times that hold where the spec says none."""
    return QUICK if recorded.quick_checks else SLOW


def _listener(spec: AdditionalListener, ip_type: str, usual: HealthTimes) -> Listener:
    check, protocol = spec.health_check, protocol_of(spec)
    port = int(check.port) if check and check.port and check.port != TRAFFIC_PORT else spec.port
    path = (check and check.path) or "/"
    return Listener(
        spec.port, spec.port, health_check(protocol, port, check, usual, path), spec.target_group_ip_type or ip_type
    )


def health_check(
    protocol: str, port: int, spec: HealthCheckSpec | None, usual: HealthTimes, path: str = ""
) -> HealthCheck:
    """Make a health check. What the spec leaves out is as ``usual``."""
    spec = spec or HealthCheckSpec()
    return HealthCheck(
        protocol,
        port,
        path if asks_for_path(protocol) else "",
        spec.interval_seconds or usual.interval,
        spec.timeout_seconds or usual.timeout,
        spec.threshold_count or usual.healthy,
        spec.unhealthy_threshold_count or usual.unhealthy,
    )


def failure_domains(subnets: Sequence[Subnet], balancers: Sequence[LoadBalancer]) -> tuple[FailureDomain, ...]:
    """Return the zones of private subnets (of all, if none is), each with whether the first load balancer is there.

    Machines are put into no subnet for pods, as upstream's.
    """
    known = [each for each in subnets if each.zone and not each.for_pods]
    private = {each.zone for each in known if not each.public}
    # Without a load balancer, or where it is in subnets that only the cloud knows, every zone will do.
    served = set(balancers[0].zones) if balancers else set[str]()
    zones = sorted(private or {each.zone for each in known})
    return tuple(FailureDomain(zone, not served or zone in served) for zone in zones)
