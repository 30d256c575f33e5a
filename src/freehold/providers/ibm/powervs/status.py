"""The status of an IBMPowerVSCluster: what :mod:`cluster_status` cannot know of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from freehold.api import names
from freehold.api.conditions import Observation
from freehold.engine.graph import Graph
from freehold.engine.resources import NodeKey
from freehold.providers.ibm import api_names as ibm_names
from freehold.providers.ibm.powervs import keys
from freehold.providers.ibm.powervs.desired import PowerVSWanted
from freehold.providers.objects import cluster_status
from freehold.providers.objects.adapter import PassReport, StatusUpdate
from freehold.providers.objects.cluster_status import Status, StatusShape
from freehold.providers.objects.part_conditions import Parts
from freehold.providers.objects.resource_rows import classify_ownership, find_known_id, observed_of

PARTS: Parts = {
    ibm_names.SERVICE_INSTANCE_READY: (keys.WORKSPACE.kind,),
    ibm_names.NETWORK_READY: (keys.NETWORK.kind,),
    ibm_names.VPC_READY: (keys.VPC.kind,),
    ibm_names.VPC_SUBNET_READY: (keys.SUBNET_KIND,),
    ibm_names.VPC_SECURITY_GROUP_READY: (keys.GROUP_KIND,),
    ibm_names.TRANSIT_GATEWAY_READY: (keys.GATEWAY.kind, keys.CONNECTION_KIND),
    names.LOAD_BALANCER_READY: (keys.BALANCER_KIND,),
    ibm_names.COS_INSTANCE_CREATED: (keys.COS_INSTANCE.kind, keys.COS_BUCKET.kind),
}
"""The kinds that each condition of v1beta2 speaks for (docs/reference/ibm-cloud.md#capibm)."""

_REFERENCES = frozenset(
    {
        "serviceInstance",
        "network",
        "dhcpServer",
        "vpc",
        "vpcSubnet",
        "vpcSecurityGroups",
        "loadBalancers",
        "transitGateway",
        "cosInstance",
    }
)
"""The fields of status that are rebuilt at each pass."""


def build_status(raw: Mapping[str, Any], report: PassReport, now: datetime) -> StatusUpdate:
    """Build the status after a pass that was allowed to work on the object ``raw``. ``now`` is aware."""
    return cluster_status.build_status(raw, report, now, _SHAPE)


def _references(before: Mapping[str, Any], report: PassReport, graph: Graph) -> Status:
    """Return the fields that upstream has, one for each resource."""
    fields = _PowerVSStatusFields(before, report)
    found: Status = {
        "serviceInstance": fields.single(keys.WORKSPACE),
        "vpc": fields.single(keys.VPC),
        "cosInstance": fields.single(keys.COS_INSTANCE),
        **fields.network(),
        "vpcSubnet": fields.many(graph, keys.SUBNET_KIND),
        "vpcSecurityGroups": fields.many(graph, keys.GROUP_KIND, fields.rules),
        "loadBalancers": fields.many(graph, keys.BALANCER_KIND, fields.balancer),
        "transitGateway": fields.gateway(),
    }
    if isinstance(report.plan, PowerVSWanted) and report.plan.resource_group:
        found["resourceGroupID"] = {"id": report.plan.resource_group, "controllerCreated": False}
    return {name: value for name, value in found.items() if value}


@dataclass(frozen=True)
class _PowerVSStatusFields:
    """Builds references from journal and outcomes; ``controllerCreated`` is derived anew each time."""

    before: Mapping[str, Any]
    report: PassReport

    def single(self, key: NodeKey) -> Status:
        """Refer to one resource; empty while it has no id."""
        entry = self.report.journal.get(key) if self.report.journal else None
        ident = find_known_id(entry, self.report.outcomes.get(key))
        if not ident:
            return {}
        owned = classify_ownership(entry, self.report.outcomes.get(key)) in names.OURS
        return {"id": ident, "controllerCreated": owned}

    def network(self) -> Status:
        """Refer to network and DHCP server; a network that was there has no DHCP server of ours."""
        reference = self.single(keys.NETWORK)
        if not reference:
            return {}
        entry = self.report.journal.get(keys.NETWORK) if self.report.journal else None
        observed = observed_of(self.report.outcomes.get(keys.NETWORK))
        ident = (entry.id if entry else "") or (observed.id if observed else "")
        if "/dhcp/" not in ident:
            return {"network": reference, "dhcpServer": {}}
        seen = observed.attributes.get("network_id") if observed else None
        network = seen or (self.before.get("network") or {}).get("id")
        return {"dhcpServer": reference, "network": {**reference, "id": network} if network else {}}

    def many(self, graph: Graph, kind: str, more: Callable[[NodeKey, str], Status] | None = None) -> Status:
        """Refer to resources by name, as upstream; ``more`` is what a reference of this kind has besides."""
        found = {}
        for key, node in graph.nodes.items():
            if key.kind == kind and (reference := self.single(key)):
                found[node.name] = reference | (more(key, node.name) if more else {})
        return found

    def rules(self, key: NodeKey, name: str) -> Status:
        """Return the ids of the rules that the spec asks for; none of a group of others, in which we make no rules."""
        before = (self.before.get("vpcSecurityGroups") or {}).get(name) or {}
        observed = observed_of(self.report.outcomes.get(key))
        ids = observed.attributes.get("parts") if observed else None
        found = before.get("ruleIDs") if ids is None else ids
        return {"ruleIDs": list(found)} if found else {}

    def balancer(self, key: NodeKey, name: str) -> Status:
        """Refer to a load balancer; ``state`` is the vendor's word."""
        before = (self.before.get("loadBalancers") or {}).get(name) or {}
        observed = observed_of(self.report.outcomes.get(key))
        if observed is None:
            return {part: before[part] for part in ("hostname", "state") if part in before}
        values = {"hostname": observed.attributes.get("hostname"), "state": observed.vendor_state}
        return {part: value for part, value in values.items() if value}

    def gateway(self) -> Status:
        ends: Iterable[tuple[str, NodeKey]] = (
            ("vpcConnection", keys.VPC_CONNECTION),
            ("powerVSConnection", keys.POWERVS_CONNECTION),
        )
        connections = {name: reference for name, key in ends if (reference := self.single(key))}
        gateway = self.single(keys.GATEWAY)
        return {**gateway, **connections} if gateway else {}


_FROZEN = Observation(
    names.SPEC_VALID,
    "True",
    ibm_names.REASON_CREATE_INFRA_NOT_REQUESTED,
    "annotation create-infra is not 'true' any more: nothing more is created",
)
_SHAPE = StatusShape(
    PARTS, _REFERENCES, _references, address="hostname", order=ibm_names.POWERVS_PART_CONDITIONS, frozen=_FROZEN
)
