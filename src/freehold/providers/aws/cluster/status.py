"""The status of an AWSCluster: what :mod:`cluster_status` cannot know of it, in upstream's words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from freehold.api import names
from freehold.api.conditions import Observation
from freehold.collection.policy import Policy
from freehold.engine.graph import Graph
from freehold.engine.resources import NodeKey, Observed
from freehold.providers.aws import api_names as aws_names
from freehold.providers.aws.cluster import keys
from freehold.providers.aws.cluster.cluster_plan import (
    BalancerType,
    ClusterPlan,
    PlannedHealthCheck,
    PlannedListener,
    PlannedLoadBalancer,
    Role,
)
from freehold.providers.aws.cluster.desired import AWSWanted
from freehold.providers.aws.cluster.load_balancers import PRIMARY, is_address_of
from freehold.providers.aws.cluster.nodes.balancers import IDLE_SECONDS, balancer_key, target_group_key
from freehold.providers.aws.cluster.nodes.routing import address_of
from freehold.providers.objects import cluster_status
from freehold.providers.objects.adapter import PassReport, StatusUpdate
from freehold.providers.objects.cluster_status import Status, StatusShape, WantedCluster
from freehold.providers.objects.collection_condition import observe_collection
from freehold.providers.objects.part_conditions import Parts
from freehold.providers.objects.resource_rows import find_known_id, observed_of

_PARTS: Parts = {
    aws_names.AWS_VPC_READY: (keys.VPC.kind,),
    aws_names.SECONDARY_CIDRS_READY: (),
    aws_names.SUBNETS_READY: (keys.SUBNET_KIND,),
    aws_names.INTERNET_GATEWAY_READY: (keys.INTERNET_GATEWAY.kind,),
    aws_names.EGRESS_ONLY_INTERNET_GATEWAY_READY: (keys.EGRESS_GATEWAY.kind,),
    aws_names.NAT_GATEWAYS_READY: (keys.ELASTIC_IP_KIND, keys.NAT_GATEWAY_KIND),
    aws_names.ROUTE_TABLES_READY: (keys.ROUTE_TABLE_KIND,),
    aws_names.VPC_ENDPOINTS_READY: (keys.S3_ENDPOINT.kind,),
    aws_names.CLUSTER_SECURITY_GROUPS_READY: (keys.GROUP_KIND,),
    aws_names.BASTION_HOST_READY: (keys.BASTION.kind,),
    names.LOAD_BALANCER_READY: (
        keys.CLASSIC_KIND,
        keys.NETWORK_KIND,
        keys.TARGET_GROUP_KIND,
        keys.LISTENER_KIND,
    ),
    aws_names.S3_BUCKET_CREATED: (keys.BUCKET.kind,),
}
"""The kinds that each condition speaks for."""

IDENTITY = (
    Observation(aws_names.PRINCIPAL_USAGE_ALLOWED, "True", names.REASON_READY),
    Observation(aws_names.PRINCIPAL_CREDENTIAL_RETRIEVED, "True", names.REASON_READY),
)
"""Whoever reaches the cloud was allowed to, with credentials that work."""


def parts_of(cluster_plan: ClusterPlan | None) -> Parts:
    """Return the kinds by condition. Secondary ranges are parts of the VPC, which speaks for them if there are any."""
    secondary = (keys.VPC.kind,) if cluster_plan and cluster_plan.vpc.secondary else ()
    return {**_PARTS, aws_names.SECONDARY_CIDRS_READY: secondary}


_REBUILT = frozenset({"networkStatus", "failureDomains", "bastion"})
_NANOSECONDS = 10**9


def build_status(raw: Mapping[str, Any], report: PassReport, now: datetime, collection: Policy) -> StatusUpdate:
    """Build the status after a pass that was allowed to work on the object ``raw``. ``now`` is aware."""
    cluster_plan = report.plan.cluster_plan if isinstance(report.plan, AWSWanted) else None
    shape = StatusShape(
        parts_of(cluster_plan),
        _REBUILT,
        _references,
        address="address",
        order=aws_names.AWS_PART_CONDITIONS,
        always=IDENTITY,
        is_address_of=_is_address_of,
    )
    return cluster_status.build_status(raw, report, now, shape, [observe_collection(collection, report.collected)])


def _is_address_of(plan: WantedCluster, key: NodeKey, host: str) -> bool:
    """Return whether it is an address of the load balancer, whose name and type AWS has in it."""
    cluster_plan = plan.cluster_plan if isinstance(plan, AWSWanted) else None
    return cluster_plan is not None and any(
        balancer_key(each) == key and is_address_of(host, each) for each in cluster_plan.load_balancers
    )


def _references(before: Mapping[str, Any], report: PassReport, graph: Graph) -> Status:
    plan = report.plan
    if not isinstance(plan, AWSWanted) or plan.cluster_plan is None:
        return {}
    fields = AWSStatusFields(before, report, graph, plan.cluster_plan)
    found: Status = {
        "networkStatus": fields.network(),
        "failureDomains": fields.failure_domains(),
        "bastion": fields.bastion(),
    }
    return {name: value for name, value in found.items() if value}


@dataclass(frozen=True)
class AWSStatusFields:
    """Builds the fields from cluster plan, journal and outcomes; what the last look did not see is as it was before."""

    before: Mapping[str, Any]
    report: PassReport
    graph: Graph
    cluster_plan: ClusterPlan

    def _id(self, key: NodeKey) -> str:
        entry = self.report.journal.get(key) if self.report.journal else None
        return find_known_id(entry, self.report.outcomes.get(key))

    def _find_observed(self, key: NodeKey) -> Observed | None:
        return observed_of(self.report.outcomes.get(key))

    # -- network --------------------------------------------------------------------------------------------------

    def network(self) -> Status:
        before = self.before.get("networkStatus") or {}
        found: Status = {"securityGroups": self._groups(), "natGatewaysIPs": self._addresses(before)}
        for balancer in self.cluster_plan.load_balancers:
            field = "apiServerElb" if balancer.key == PRIMARY else "secondaryAPIServerELB"
            found[field] = self._balancer(balancer, before.get(field) or {})
        return {name: value for name, value in found.items() if value}

    def _groups(self) -> Status:
        """Spell the groups by role. What upstream has here beside is left out (docs/reference/awscluster-fields.md)."""
        return {
            group.role.value: {"id": ident, "name": group.name or group.given}
            for group in self.cluster_plan.groups
            if (ident := self._id(keys.group(group.role.value)))
        }

    def _addresses(self, before: Mapping[str, Any]) -> list[str]:
        if self.cluster_plan.given_nat_addresses:
            return list(self.cluster_plan.given_nat_addresses)
        seen = [self._find_observed(address_of(nat)) for nat in self.cluster_plan.nat_gateways]
        if any(each is None for each in seen):
            return list(before.get("natGatewaysIPs") or ())
        return sorted(str(each.attributes["address"]) for each in seen if each and each.attributes.get("address"))

    # -- load balancers -------------------------------------------------------------------------------------------

    def _balancer(self, balancer: PlannedLoadBalancer, before: Mapping[str, Any]) -> Status:
        """Spell a load balancer; empty while it has no id."""
        key = balancer_key(balancer)
        ident, seen = self._id(key), self._find_observed(key)
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
        """Return the id of a subnet by its logical name, or the id that the spec gives."""
        key = keys.subnet(name)
        return self._id(key) if key in self.graph.nodes else name

    def _network_balancer(self, balancer: PlannedLoadBalancer) -> Status:
        return {
            "loadBalancerIPAddressType": "dualstack" if balancer.dualstack else "ipv4",
            "elbAttributes": {"load_balancing.cross_zone.enabled": "true" if balancer.cross_zone else "false"},
            "elbListeners": list(self._listeners(balancer)),
        }

    def _listeners(self, balancer: PlannedLoadBalancer) -> Iterator[Status]:
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
        """Return the zones that have a subnet already."""
        there = {each.zone for each in self.cluster_plan.subnets if self._id(keys.subnet(each.logical))}
        return {
            each.zone: {"controlPlane": each.control_plane}
            for each in self.cluster_plan.failure_domains
            if each.zone in there
        }

    def bastion(self) -> Status:
        """Return what a look shows; of what the last one did not see, what an earlier one did."""
        ident, seen = self._id(keys.BASTION), self._find_observed(keys.BASTION)
        if not (self.cluster_plan.bastion and ident):
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


def _classic(balancer: PlannedLoadBalancer) -> Status:
    """Spell a classic load balancer; upstream writes times in nanoseconds."""
    return {
        "attributes": {
            "crossZoneLoadBalancing": balancer.cross_zone,
            "idleTimeout": IDLE_SECONDS * _NANOSECONDS,
        },
        "healthChecks": _classic_check(balancer.listeners[0].health),
        "listeners": [_classic_listener(each) for each in balancer.listeners],
    }


def _classic_listener(listener: PlannedListener) -> Status:
    return {
        "port": listener.port,
        "protocol": "TCP",
        "instancePort": listener.target_port,
        "instanceProtocol": "TCP",
    }


def _classic_check(check: PlannedHealthCheck) -> Status:
    return {
        "target": f"{check.protocol}:{check.port}{check.path}",
        "interval": check.interval * _NANOSECONDS,
        "timeout": check.timeout * _NANOSECONDS,
        "healthyThreshold": check.healthy,
        "unhealthyThreshold": check.unhealthy,
    }


def _target_check(check: PlannedHealthCheck) -> Status:
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
