"""The status of an AWSCluster: what :mod:`cluster_status` cannot know of it, in upstream's words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from freehold.collection.policy import Policy
from freehold.engine.graph import Graph
from freehold.engine.resources import NodeKey, Observed
from freehold.providers.aws import api_names as aws_names
from freehold.providers.aws.cluster import keys
from freehold.providers.aws.cluster.conditions import IDENTITY, parts_of
from freehold.providers.aws.cluster.desired import AWSWanted
from freehold.providers.aws.cluster.load_balancers import PRIMARY, is_address_of
from freehold.providers.aws.cluster.nodes.balancers import IDLE_SECONDS, balancer_key, target_group_key
from freehold.providers.aws.cluster.nodes.routing import address_of
from freehold.providers.aws.cluster.wish import BalancerType, ClusterWish, HealthCheck, Listener, LoadBalancer, Role
from freehold.providers.objects import cluster_status
from freehold.providers.objects.adapter import PassReport, StatusUpdate
from freehold.providers.objects.cluster_status import ClusterWanted, Status, StatusShape
from freehold.providers.objects.collection_condition import external_resource_gc
from freehold.providers.objects.resource_rows import known_id, observed_of

_REBUILT = frozenset({"networkStatus", "failureDomains", "bastion"})
_NANOSECONDS = 10**9


def build_status(raw: Mapping[str, Any], report: PassReport, now: datetime, collection: Policy) -> StatusUpdate:
    """Status after a pass that was allowed to work on the object ``raw``. ``now`` is aware."""
    wish = report.plan.wish if isinstance(report.plan, AWSWanted) else None
    shape = StatusShape(
        parts_of(wish),
        _REBUILT,
        _references,
        address="address",
        order=aws_names.AWS_PART_CONDITIONS,
        always=IDENTITY,
        is_address_of=_is_address_of,
    )
    return cluster_status.build_status(raw, report, now, shape, [external_resource_gc(collection, report.collected)])


def _is_address_of(plan: ClusterWanted, key: NodeKey, host: str) -> bool:
    """An address of AWS has the name of its load balancer in it, and shows its type."""
    wish = plan.wish if isinstance(plan, AWSWanted) else None
    return wish is not None and any(
        balancer_key(each) == key and is_address_of(host, each) for each in wish.load_balancers
    )


def _references(before: Mapping[str, Any], report: PassReport, graph: Graph) -> Status:
    plan = report.plan
    if not isinstance(plan, AWSWanted) or plan.wish is None:
        return {}
    fields = _Fields(before, report, graph, plan.wish)
    found: Status = {
        "networkStatus": fields.network(),
        "failureDomains": fields.failure_domains(),
        "bastion": fields.bastion(),
    }
    return {name: value for name, value in found.items() if value}


@dataclass(frozen=True)
class _Fields:
    """Builds the fields from wish, journal and outcomes; what the last look did not see is as it was before."""

    before: Mapping[str, Any]
    report: PassReport
    graph: Graph
    wish: ClusterWish

    def _id(self, key: NodeKey) -> str:
        entry = self.report.journal.get(key) if self.report.journal else None
        return known_id(entry, self.report.outcomes.get(key))

    def _seen(self, key: NodeKey) -> Observed | None:
        return observed_of(self.report.outcomes.get(key))

    # -- network --------------------------------------------------------------------------------------------------

    def network(self) -> Status:
        before = self.before.get("networkStatus") or {}
        found: Status = {"securityGroups": self._groups(), "natGatewaysIPs": self._addresses(before)}
        for balancer in self.wish.load_balancers:
            field = "apiServerElb" if balancer.key == PRIMARY else "secondaryAPIServerELB"
            found[field] = self._balancer(balancer, before.get(field) or {})
        return {name: value for name, value in found.items() if value}

    def _groups(self) -> Status:
        """By role. What upstream has here beside, and why it is left out: docs/reference/awscluster-fields.md."""
        return {
            group.role.value: {"id": ident, "name": group.name or group.given}
            for group in self.wish.groups
            if (ident := self._id(keys.group(group.role.value)))
        }

    def _addresses(self, before: Mapping[str, Any]) -> list[str]:
        if self.wish.given_nat_addresses:
            return list(self.wish.given_nat_addresses)
        seen = [self._seen(address_of(nat)) for nat in self.wish.nat_gateways]
        if any(each is None for each in seen):
            return list(before.get("natGatewaysIPs") or ())
        return sorted(str(each.attributes["address"]) for each in seen if each and each.attributes.get("address"))

    # -- load balancers -------------------------------------------------------------------------------------------

    def _balancer(self, balancer: LoadBalancer, before: Mapping[str, Any]) -> Status:
        """Empty while it has no id."""
        key = balancer_key(balancer)
        ident, seen = self._id(key), self._seen(key)
        if not ident:
            return {}
        classic = balancer.type is BalancerType.CLASSIC
        found: Status = {
            "arn": "" if classic else ident,
            "name": balancer.name,
            "loadBalancerType": balancer.type.value,
            "scheme": balancer.scheme.value,
            "dnsName": (seen and seen.attributes.get("address")) or before.get("dnsName"),
            "availabilityZones": list(balancer.zones),
            "subnetIds": sorted(filter(None, map(self._subnet, balancer.subnets))),
            "securityGroupIds": sorted({*balancer.groups, self._id(keys.group(Role.API_SERVER_LB.value))} - {""}),
            **(_classic(balancer) if classic else self._network_balancer(balancer)),
        }
        return {name: value for name, value in found.items() if value}

    def _subnet(self, name: str) -> str:
        """The id of a subnet by its logical name, or the id that the spec gives."""
        key = keys.subnet(name)
        return self._id(key) if key in self.graph.nodes else name

    def _network_balancer(self, balancer: LoadBalancer) -> Status:
        return {
            "loadBalancerIPAddressType": "dualstack" if balancer.dualstack else "ipv4",
            "elbAttributes": {"load_balancing.cross_zone.enabled": "true" if balancer.cross_zone else "false"},
            "elbListeners": list(self._listeners(balancer)),
        }

    def _listeners(self, balancer: LoadBalancer) -> Iterator[Status]:
        for listener in balancer.listeners:
            group = self.graph.nodes[target_group_key(balancer, listener)]
            yield {
                "port": listener.port,
                "protocol": "TCP",
                "targetGroup": {
                    "name": group.name,
                    "port": listener.target_port,
                    "protocol": "TCP",
                    "vpcId": self._id(keys.VPC),
                    "ipType": listener.ip_type,
                    "targetGroupHealthCheck": _target_check(listener.health),
                },
            }

    # -- machines -------------------------------------------------------------------------------------------------

    def failure_domains(self) -> Status:
        """The zones that have a subnet already."""
        there = {each.zone for each in self.wish.subnets if self._id(keys.subnet(each.logical))}
        return {
            each.zone: {"controlPlane": each.control_plane} for each in self.wish.failure_domains if each.zone in there
        }

    def bastion(self) -> Status:
        """What a look shows; of what the last one did not see, what an earlier one did."""
        ident, seen = self._id(keys.BASTION), self._seen(keys.BASTION)
        if not (self.wish.bastion and ident):
            return {}
        before = self.before.get("bastion") or {}
        if seen is None:
            return {**before, "id": ident}
        shown = {field: seen.attributes.get(attribute) for field, attribute in _INSTANCE.items()}
        found: Status = {
            "id": ident,
            "instanceState": seen.vendor_state,
            **shown,
            "securityGroupIds": list(seen.attributes.get("security_groups") or ()),
            "addresses": list(_machine_addresses(shown)),
        }
        return {name: value for name, value in found.items() if value}


_INSTANCE = {
    "type": "instance_type",
    "subnetId": "subnet_id",
    "imageId": "image_id",
    "sshKeyName": "key_name",
    "privateIp": "private_address",
    "publicIp": "public_address",
    "availabilityZone": "zone",
}
"""Fields of upstream's, by our attribute."""


def _machine_addresses(shown: Mapping[str, Any]) -> Iterator[Status]:
    for kind, field in (("InternalIP", "privateIp"), ("ExternalIP", "publicIp")):
        if shown.get(field):
            yield {"type": kind, "address": shown[field]}


def _classic(balancer: LoadBalancer) -> Status:
    """Upstream writes times in nanoseconds."""
    return {
        "attributes": {
            "crossZoneLoadBalancing": balancer.cross_zone,
            "idleTimeout": IDLE_SECONDS * _NANOSECONDS,
        },
        "healthChecks": _classic_check(balancer.listeners[0].health),
        "listeners": [_classic_listener(each) for each in balancer.listeners],
    }


def _classic_listener(listener: Listener) -> Status:
    return {
        "port": listener.port,
        "protocol": "TCP",
        "instancePort": listener.target_port,
        "instanceProtocol": "TCP",
    }


def _classic_check(check: HealthCheck) -> Status:
    return {
        "target": f"{check.protocol}:{check.port}{check.path}",
        "interval": check.interval * _NANOSECONDS,
        "timeout": check.timeout * _NANOSECONDS,
        "healthyThreshold": check.healthy,
        "unhealthyThreshold": check.unhealthy,
    }


def _target_check(check: HealthCheck) -> Status:
    found: Status = {
        "protocol": check.protocol,
        "port": str(check.port),
        "path": check.path,
        "intervalSeconds": check.interval,
        "timeoutSeconds": check.timeout,
        "thresholdCount": check.healthy,
        "unhealthyThresholdCount": check.unhealthy,
    }
    return {name: value for name, value in found.items() if value}
