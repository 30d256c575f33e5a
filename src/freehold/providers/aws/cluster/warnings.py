"""What a person should know about the spec of an AWSCluster although nothing is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from freehold.api import names as api_names
from freehold.api.served import ServedName
from freehold.providers.aws.cluster.cluster_plan import BalancerType, Role
from freehold.providers.aws.cluster.facts import AWSClusterFacts
from freehold.providers.aws.cluster.given_warnings import given_warnings
from freehold.providers.aws.cluster.kind import AWS_CLUSTER
from freehold.providers.aws.cluster.names import AWSClusterNames
from freehold.providers.aws.cluster.normalize import wanted_roles
from freehold.providers.aws.cluster.rules import API_SERVER
from freehold.providers.aws.cluster.subnets import has_room_for_all, slots_of, zones_beyond_limit
from freehold.providers.aws.cluster.types.spec import AWSClusterSpec
from freehold.providers.aws.cluster.unused_fields import find_unused_fields
from freehold.providers.aws.tags.capa_tags import BALANCER_ROLES, cloud_provider_key
from freehold.providers.aws.types.network import NetworkSpec, VPCSpec
from freehold.providers.objects.cloud_answers import Answer
from freehold.providers.objects.gate import find_cluster_name, owner_of
from freehold.providers.objects.served_fields import find_ignored_fields
from freehold.providers.objects.spec_problems import SpecWarning

SpecWarnings = Iterator[SpecWarning]


def warnings_of(
    names: AWSClusterNames,
    raw: Mapping[str, Any],
    spec: AWSClusterSpec,
    facts: AWSClusterFacts,
    *,
    storage: bool = False,
    served: ServedName = AWS_CLUSTER,
) -> tuple[SpecWarning, ...]:
    """Name fields that are not acted on, and those that are, but not quite as a person may expect.

    ``raw`` is the object that ``spec`` was parsed from, ``served`` its kind.
    """
    parts = (
        find_ignored_fields(served.fields, raw),
        _name(raw, served, facts),
        _identity(spec, facts),
        _tags(names, spec),
        _vpc(spec.network or NetworkSpec(), names, facts),
        given_warnings(spec.network or NetworkSpec(), facts),
        _groups(spec),
        find_unused_fields(names, spec, storage=storage),
    )
    return tuple(note for part in parts for note in part)


def _name(raw: Mapping[str, Any], served: ServedName, facts: AWSClusterFacts) -> SpecWarnings:
    held, said = facts.recorded.cluster, find_cluster_name(raw, served.link)
    if held and said != held:
        owned = owner_of(raw, served.link)
        field = "metadata.ownerReferences" if owned else f"metadata.labels[{api_names.CLUSTER_NAME_LABEL}]"
        yield SpecWarning(
            field if said != raw["metadata"]["name"] else "metadata.name",
            f"not acted on; it says that the cluster is {said!r}, and its resources have the name {held!r}, which they "
            f"keep. For {said!r} make another {served.kind}, or take the change back",
        )


def _identity(spec: AWSClusterSpec, facts: AWSClusterFacts) -> SpecWarnings:
    if facts.not_bound and spec.identity_ref:
        who = f"{spec.identity_ref.kind} {spec.identity_ref.name}"
        message = f"AWS does not check that what {who} deletes is this object's, only Freehold does: {facts.not_bound}"
        yield SpecWarning("spec.identityRef", message, served=True)


def _tags(names: AWSClusterNames, spec: AWSClusterSpec) -> SpecWarnings:
    """Name the cloud controller's own tags, which win where upstream's do."""
    told = {
        cloud_provider_key(names.of_workloads): "subnets, route tables and the security group lb have it with a value "
        "of their own, and the other security groups do not have it: the cloud controller finds them by it",
        **dict.fromkeys(
            BALANCER_ROLES.values(), "subnets for load balancers of Services have it with a value of their own"
        ),
    }
    for key in spec.additional_tags:
        if key in told:
            yield SpecWarning(f"spec.additionalTags[{key}]", told[key], served=True)


def _vpc(network: NetworkSpec, names: AWSClusterNames, facts: AWSClusterFacts) -> SpecWarnings:
    vpc = network.vpc or VPCSpec()
    if vpc.id and vpc.id == facts.recorded.vpc:
        message = "this object's own VPC: nothing changes, and it still goes with the object"
        yield SpecWarning("spec.network.vpc.id", message, served=True)
    elif vpc.id:
        return
    if not network.subnets and (held := zones_beyond_limit(vpc, facts.recorded)):
        yield SpecWarning(
            "spec.network.vpc.availabilityZoneUsageLimit",
            f"the cluster has subnets in {len(held)} zones ({', '.join(held)}) already, and keeps them",
            served=True,
        )
    slots = slots_of(facts.recorded)
    zones = facts.zones.value if isinstance(facts.zones, Answer) else ()
    if not network.subnets and slots and not has_room_for_all(vpc, names, zones, facts.recorded):
        staying = ", ".join(sorted({slot.zone for slot in slots}))
        yield SpecWarning(
            "spec.network.vpc.availabilityZoneUsageLimit",
            f"the VPC's range has no room for subnets in more zones: the cluster stays in {staying}",
            served=True,
        )


def _groups(spec: AWSClusterSpec) -> SpecWarnings:
    roles = {role.value for role in wanted_roles(spec)}
    for role in spec.network.security_group_overrides if spec.network else ():
        if role not in roles:
            field = f"spec.network.securityGroupOverrides[{role}]"
            yield SpecWarning(field, "not used; this cluster has no such security group")
    if {Role.CONTROL_PLANE.value, Role.LB.value} <= (
        spec.network.security_group_overrides if spec.network else {}
    ).keys():
        yield from _behind_balancers(spec)


def _behind_balancers(spec: AWSClusterSpec) -> SpecWarnings:
    """Warn where neither group of the control-plane machines is ours to put rules into."""
    balancers = (spec.control_plane_load_balancer, spec.secondary_control_plane_load_balancer)
    network = [each for each in balancers if each and each.load_balancer_type == BalancerType.NETWORK.value]
    ports = sorted({API_SERVER, *(listener.port for each in network for listener in each.additional_listeners)})
    if network:
        yield SpecWarning(
            "spec.network.securityGroupOverrides",
            "nothing is put into groups that the spec gives; let what comes from network load balancers, on port "
            f"{', '.join(map(str, ports))}, into the one for controlplane or for lb",
            served=True,
        )
