"""Fields that are accepted and kept but not acted on, each with the reason (docs/reference/requirements.md I15)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from freehold.engine.graph import Node
from freehold.engine.journal import Entry, RecordState
from freehold.engine.resources import NodeKey
from freehold.providers.ibm.powervs import keys, recorded
from freehold.providers.ibm.powervs.names import needs_mapped_names
from freehold.providers.ibm.powervs.types.spec import IBMPowerVSClusterSpec, IBMPowerVSResourceReference
from freehold.providers.objects.spec_problems import SpecWarning

SpecWarnings = Iterator[SpecWarning]


def warnings_of(cluster: str, spec: IBMPowerVSClusterSpec, *, creating: bool) -> tuple[SpecWarning, ...]:
    """Return what a person should know about this manifest, in the order of the spec."""
    found = [*_workspace(spec), *_references(spec)]
    if not creating:
        return (*found, *_without_annotation(spec))
    parts = (_name(cluster), _network(spec), _vpc(spec), _load_balancers(spec), _machines(spec))
    return (*found, *(note for part in parts for note in part))


def own_by_id(spec: IBMPowerVSClusterSpec, record: Mapping[NodeKey, Entry]) -> SpecWarnings:
    """Name ids in the spec that are of this object's own resources: nothing changes. ``record``: the journal's."""
    gateway, vpc, dhcp = spec.transit_gateway, spec.vpc, spec.dhcp_server
    ids = [
        ("spec.serviceInstance.id", keys.WORKSPACE.kind, spec.service_instance and spec.service_instance.id),
        ("spec.serviceInstanceID", keys.WORKSPACE.kind, spec.service_instance_id),
        ("spec.network.id", keys.NETWORK.kind, spec.network and spec.network.id),
        ("spec.dhcpServer.id", keys.NETWORK.kind, dhcp and dhcp.id),
        ("spec.vpc.id", keys.VPC.kind, vpc and vpc.id),
        *((f"spec.vpcSubnets[{i}].id", keys.SUBNET_KIND, one.id) for i, one in enumerate(spec.vpc_subnets)),
        *((f"spec.vpcSecurityGroups[{i}].id", keys.GROUP_KIND, g.id) for i, g in enumerate(spec.vpc_security_groups)),
        *((f"spec.loadBalancers[{i}].id", keys.BALANCER_KIND, one.id) for i, one in enumerate(spec.load_balancers)),
        ("spec.transitGateway.id", keys.GATEWAY.kind, gateway and gateway.id),
    ]
    for field, kind, ident in ids:
        if ident and recorded.own_by_id(kind, ident, record):
            message = f"this object's own {kind}: nothing changes, and it still goes with the object"
            yield SpecWarning(field, message, served=True)


def used_by_name(nodes: Iterable[Node], spec: IBMPowerVSClusterSpec, record: Mapping[NodeKey, Entry]) -> SpecWarnings:
    """Name what the spec wants in resources that were there already under their names: these are never changed."""
    theirs = {(node.key.kind, node.name) for node in nodes if _is_reused(record.get(node.key))}
    for index, group in enumerate(spec.vpc_security_groups):
        if group.rules and not group.id and (keys.GROUP_KIND, group.name) in theirs:
            message = f"not acted on; {group.name} was there already, and is never changed: add its rules there"
            yield SpecWarning(f"spec.vpcSecurityGroups[{index}].rules", message)
    for index, subnet in enumerate(spec.vpc_subnets):
        if subnet.cidr and not subnet.id and (keys.SUBNET_KIND, subnet.name) in theirs:
            message = f"not acted on; {subnet.name} was there already, and is used with the range that it has"
            yield SpecWarning(f"spec.vpcSubnets[{index}].cidr", message)
    for index, balancer in enumerate(spec.load_balancers):
        if balancer.additional_listeners and not balancer.id and (keys.BALANCER_KIND, balancer.name) in theirs:
            message = f"not acted on; {balancer.name} was there already, and is never changed: add its listeners there"
            yield SpecWarning(f"spec.loadBalancers[{index}].additionalListeners", message)


def _is_reused(entry: Entry | None) -> bool:
    return entry is not None and entry.state is RecordState.REUSED


def _name(cluster: str) -> SpecWarnings:
    if needs_mapped_names(cluster):
        yield SpecWarning(
            "metadata.name",
            f"{cluster!r} is too long for some names in IBM Cloud, or has characters that it refuses; "
            "default names that do not fit are shortened or changed and end in a hash",
            served=True,
        )


def _workspace(spec: IBMPowerVSClusterSpec) -> SpecWarnings:
    if spec.service_instance_id:
        yield SpecWarning(
            "spec.serviceInstanceID", "used, but deprecated; write it as spec.serviceInstance.id", served=True
        )


def _references(spec: IBMPowerVSClusterSpec) -> SpecWarnings:
    for field, reference in (("serviceInstance", spec.service_instance), ("network", spec.network)):
        yield from _reference(f"spec.{field}", reference)
    if spec.resource_group:
        for part in ("id", "regex"):
            if getattr(spec.resource_group, part):
                yield SpecWarning(f"spec.resourceGroup.{part}", "not acted on; the resource group is found by its name")


def _reference(field: str, reference: IBMPowerVSResourceReference | None) -> SpecWarnings:
    if reference is None:
        return
    if reference.regex:
        yield SpecWarning(f"{field}.regex", "not acted on; give an id or a name")
    if reference.id and reference.name:
        yield SpecWarning(f"{field}.name", "not used, because the id is set")


def _without_annotation(spec: IBMPowerVSClusterSpec) -> SpecWarnings:
    given = {
        "dhcpServer": spec.dhcp_server,
        "vpc": spec.vpc,
        "vpcSubnets": spec.vpc_subnets,
        "vpcSecurityGroups": spec.vpc_security_groups,
        "transitGateway": spec.transit_gateway,
        "loadBalancers": spec.load_balancers,
        "cosInstance": spec.cos_instance,
    }
    for field, value in given.items():
        if value:
            yield SpecWarning(
                f"spec.{field}", "not acted on without annotation powervs.cluster.x-k8s.io/create-infra: 'true'"
            )


def _network(spec: IBMPowerVSClusterSpec) -> SpecWarnings:
    dhcp = spec.dhcp_server
    given = (dhcp and dhcp.id) or (spec.network and spec.network.id)
    if dhcp and given:
        for field, value in (("cidr", dhcp.cidr), ("name", dhcp.name)):
            if value:
                yield SpecWarning(f"spec.dhcpServer.{field}", "not used, because the network is given by its id")


def _vpc(spec: IBMPowerVSClusterSpec) -> SpecWarnings:
    for index, subnet in enumerate(spec.vpc_subnets):
        if subnet.cidr and subnet.id:
            field = f"spec.vpcSubnets[{index}].cidr"
            yield SpecWarning(field, "not acted on; a subnet that is given by its id is never changed")
    for index, group in enumerate(spec.vpc_security_groups):
        if group.tags:
            yield SpecWarning(f"spec.vpcSecurityGroups[{index}].tags", "not acted on; spec.tags are for all resources")
        if group.id and group.rules:
            field = f"spec.vpcSecurityGroups[{index}].rules"
            yield SpecWarning(field, "not acted on; a group that is given by its id is never changed")
        for i, rule in enumerate(group.rules):
            if rule.security_group_id:
                field = f"spec.vpcSecurityGroups[{index}].rules[{i}].securityGroupID"
                yield SpecWarning(field, "not acted on; the rule belongs to the group that it is written in")
    gateway = spec.transit_gateway
    if gateway and gateway.id:
        for field, value in (("name", gateway.name), ("globalRouting", gateway.global_routing)):
            if value is not None:
                yield SpecWarning(f"spec.transitGateway.{field}", "not used, because the id is set")


def _load_balancers(spec: IBMPowerVSClusterSpec) -> SpecWarnings:
    for index, balancer in enumerate(spec.load_balancers):
        field = f"spec.loadBalancers[{index}]"
        if balancer.backend_pools:
            message = "not acted on; each listener gets a pool of its own (round robin, checked by tcp)"
            yield SpecWarning(f"{field}.backendPools", message)
        for i, listener in enumerate(balancer.additional_listeners):
            if listener.selector:
                where = f"{field}.additionalListeners[{i}].selector"
                yield SpecWarning(where, "not acted on; whoever creates the machines puts them into the pool")
        if balancer.id:
            unused = {
                "name": balancer.name,
                "additionalListeners": balancer.additional_listeners,
                "securityGroups": balancer.security_groups,
                "subnets": balancer.subnets,
            }
            for name, value in unused.items():
                if value:
                    yield SpecWarning(
                        f"{field}.{name}", "not acted on; a load balancer given by its id is never changed"
                    )


def _machines(spec: IBMPowerVSClusterSpec) -> SpecWarnings:
    if spec.ignition:
        yield SpecWarning("spec.ignition", "not acted on; it concerns machines, which are not served here")
