"""Fields of an AWSCluster that are acted on, but not beside the rest of its spec."""

from __future__ import annotations

from collections.abc import Iterator

from freehold.api.feature_gates import FeatureGate, format_option
from freehold.providers.aws.cluster.load_balancers import asks_for_path, protocol_of
from freehold.providers.aws.cluster.names import AWSClusterNames
from freehold.providers.aws.cluster.rules import anybody
from freehold.providers.aws.cluster.subnets import is_numbered
from freehold.providers.aws.cluster.types.spec import AWSClusterSpec, Bastion, S3Bucket
from freehold.providers.aws.types.load_balancer import AWSLoadBalancerSpec
from freehold.providers.aws.types.network import NetworkSpec, VPCSpec
from freehold.providers.objects.spec_problems import SpecWarning

SpecWarnings = Iterator[SpecWarning]


def find_unused_fields(names: AWSClusterNames, spec: AWSClusterSpec, *, storage: bool) -> SpecWarnings:
    """Note each. A default that is written out is none: upstream writes them. ``storage``: of the gate."""
    yield from _division(names, spec.network or NetworkSpec())
    yield from _balancers(spec)
    yield from _bastion(spec)
    if spec.s3_bucket:
        yield from _bucket(spec.s3_bucket) if storage else _no_storage()


def _division(names: AWSClusterNames, network: NetworkSpec) -> SpecWarnings:
    """Name what divides the range of the VPC among zones, where the spec lists the subnets.

    The schema still numbers the IPv6 ranges of derived subnets that are written out without theirs.
    """
    vpc, usual = network.vpc or VPCSpec(), VPCSpec()
    if not network.subnets:
        return
    numbered = any(is_numbered(each, vpc, names) for each in network.subnets)
    for field, value, default in (
        ("availabilityZoneUsageLimit", vpc.availability_zone_usage_limit, usual.availability_zone_usage_limit),
        ("availabilityZoneSelection", vpc.availability_zone_selection, usual.availability_zone_selection),
        ("subnetSchema", vpc.subnet_schema, vpc.subnet_schema if numbered else usual.subnet_schema),
    ):
        if value != default:
            message = "not used; spec.network.subnets lists the subnets, so none is derived"
            yield SpecWarning(f"spec.network.vpc.{field}", message)


def _balancers(spec: AWSClusterSpec) -> SpecWarnings:
    first, second = spec.control_plane_load_balancer, spec.secondary_control_plane_load_balancer
    if first:
        yield from _front("spec.controlPlaneLoadBalancer", first, alone=second is None)
    if second:
        yield from _front("spec.secondaryControlPlaneLoadBalancer", second, alone=False)


def _front(field: str, spec: AWSLoadBalancerSpec, *, alone: bool) -> SpecWarnings:
    """Name unused fields of a load balancer. ``alone``: there is no second one, whose scheme must be the other."""
    match spec.load_balancer_type:
        case "disabled":
            scheme = alone and spec.scheme != AWSLoadBalancerSpec().scheme
            yield from _set(field, "not used; there is no load balancer", scheme=scheme, healthCheck=spec.health_check)
        case "classic":
            why = "not acted on; it is for network load balancers"
            more, keeps = spec.additional_listeners, spec.preserve_client_ip
            yield from _set(field, why, additionalListeners=more, preserveClientIP=keeps)
        case _:
            yield from _paths(field, spec)


def _set(field: str, message: str, **values: object) -> SpecWarnings:
    for name, value in values.items():
        if value:
            yield SpecWarning(f"{field}.{name}", message)


def _paths(field: str, spec: AWSLoadBalancerSpec) -> SpecWarnings:
    for index, each in enumerate(spec.additional_listeners):
        protocol = protocol_of(each)
        if each.health_check and each.health_check.path and not asks_for_path(protocol):
            yield SpecWarning(
                f"{field}.additionalListeners[{index}].healthCheck.path",
                f"not used; a check with {protocol} asks for no path. Write protocol: HTTP or HTTPS beside it, or "
                "remove it",
            )


def _bastion(spec: AWSClusterSpec) -> SpecWarnings:
    bastion = spec.bastion or Bastion()
    if bastion.enabled:
        return
    ipv6 = bool(spec.network and spec.network.vpc and spec.network.vpc.ipv6 is not None)
    open_to_all = {each.value for each in anybody(ipv6=ipv6)}
    yield from _set(
        "spec.bastion",
        "not used; there is no bastion without enabled: true",
        ami=bastion.ami,
        instanceType=bastion.instance_type,
        allowedCIDRBlocks=set(bastion.allowed_cidr_blocks) - open_to_all,
        disableIngressRules=bastion.disable_ingress_rules,
    )


def _bucket(bucket: S3Bucket) -> SpecWarnings:
    if not bucket.presigned_url_duration:
        return
    yield SpecWarning(
        "spec.s3Bucket.presignedURLDuration",
        "for the URLs that machines of the cluster get; the bucket is the same for every duration",
        served=True,
    )
    yield from _set(
        "spec.s3Bucket",
        "not used; with presignedURLDuration machines read through URLs, and no profile gets a right to read",
        controlPlaneIAMInstanceProfile=bucket.control_plane_iam_instance_profile,
        nodesIAMInstanceProfiles=bucket.nodes_iam_instance_profiles,
    )


def _no_storage() -> SpecWarnings:
    gate = format_option(FeatureGate.BOOTSTRAP_FORMAT_IGNITION)
    yield SpecWarning("spec.s3Bucket", f"not acted on without {gate}")
