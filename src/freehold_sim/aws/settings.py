"""Settings of a simulated AWS: accounts, geography, delays, lags, quotas, request limits and assumptions.

Sources of the values: docs/reference/simulator-aws.md. What could not be verified is a field of `Assumptions`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any


@dataclass(frozen=True)
class Delays:
    """How long things take, in domain seconds."""

    create_vpc: float = 1.0
    associate_block: float = 2.0
    """How long a further IPv4 block of a VPC is ``associating``: no subnet can be made in it before."""
    create_nat_gateway: float = 90.0
    delete_nat_gateway: float = 45.0
    nat_gateway_listed: float = 3600.0
    create_volume: float = 2.0
    create_snapshot: float = 60.0
    create_endpoint: float = 60.0
    delete_endpoint: float = 60.0
    start_instance: float = 20.0
    stop_instance: float = 30.0
    terminate_instance: float = 40.0
    instance_listed: float = 3600.0
    create_balancer: float = 120.0
    balancer_interfaces: float = 180.0
    """How long the network interfaces of a load balancer stay after it was deleted."""
    target_group_held: float = 0.0
    """How long a target group stays in use after its load balancer was deleted."""
    register_target: float = 10.0
    """How long a load balancer takes to begin with the health checks of a target."""
    drain_target: float = 300.0
    delete_secret: float = 5.0
    """How long a secret without recovery window holds its name after its deletion."""
    create_cluster: float = 600.0
    delete_cluster: float = 300.0
    upgrade_cluster: float = 480.0
    update_cluster: float = 120.0
    encrypt_cluster: float = 600.0
    create_nodegroup: float = 180.0
    delete_nodegroup: float = 240.0
    update_nodegroup: float = 60.0
    create_fargate_profile: float = 120.0
    delete_fargate_profile: float = 120.0
    create_addon: float = 30.0
    update_addon: float = 30.0
    delete_addon: float = 20.0

    def scaled(self, factor: float) -> "Delays":
        """Return the profile with every delay multiplied by `factor`, except how long things stay listed."""
        kept = {"nat_gateway_listed", "instance_listed"}
        return replace(self, **{f.name: getattr(self, f.name) * factor for f in fields(self) if f.name not in kept})


@dataclass(frozen=True)
class Lags:
    """Delays until reads show a change, in domain seconds.

    new     a service does not find a resource before this age, by id or in a list (S3 finds it at once)
    tagged  the tagging API does not show a resource before this age
    ghost   the tagging API shows a deleted resource for this long
    tags    the tagging API shows tags as they were this long ago
    non_monotonic  every second read of the tagging API is served by a replica that is twice as far behind
    """

    new: float = 0.0
    tagged: float = 20.0
    ghost: float = 20.0
    tags: float = 20.0
    non_monotonic: bool = False

    @staticmethod
    def none() -> "Lags":
        return Lags(0, 0, 0, 0)

    @staticmethod
    def uniform(seconds: float, non_monotonic: bool = False) -> "Lags":
        return Lags(seconds, seconds, seconds, seconds, non_monotonic)


@dataclass(frozen=True)
class Quotas:
    """Limits of an account in a region: AWS's defaults."""

    vpcs: int = 5
    subnets_per_vpc: int = 200
    cidrs_per_vpc: int = 5
    internet_gateways: int = 5
    egress_only_gateways: int = 5
    addresses: int = 5
    nat_gateways_per_zone: int = 5
    route_tables_per_vpc: int = 200
    routes_per_table: int = 500
    security_groups: int = 2500
    rules_per_group: int = 60
    groups_per_interface: int = 5
    endpoints_per_vpc: int = 50
    interfaces: int = 5000
    vcpus: int = 1920
    spot_vcpus: int = 640
    classic_balancers: int = 20
    balancers: int = 50
    target_groups: int = 3000
    listeners_per_balancer: int = 50
    clusters: int = 100
    nodegroups_per_cluster: int = 30
    buckets: int = 10000
    roles: int = 1000
    oidc_providers: int = 100
    tags: int = 50
    arns_per_tag_call: int = 20


@dataclass(frozen=True)
class Assumptions:
    """What could not be verified against AWS.

    refused_token_is_spent  a create that was refused binds its client token: with other parameters it is a mismatch
    token_seconds           how long a client token is remembered after its resource has gone
    balancer_tags_are_settings  ELBv2 compares tags too when a name is there already; if not, the reply to a create
                            may be a load balancer of somebody else
    failed_nat_gateway_stays  DeleteNatGateway of one that has failed is answered and does nothing; if not, it ends it
    packed_policy_characters  how many characters of session policies fit into a session when they are packed; session
                            tags take of the same space, and AWS documents no size
    """

    refused_token_is_spent: bool = False
    balancer_tags_are_settings: bool = False
    failed_nat_gateway_stays: bool = False
    token_seconds: float = 86_400.0
    packed_policy_characters: int = 2048


def _regions() -> dict[str, tuple[str, ...]]:
    zones = {"us-east-1": "abcdef", "us-east-2": "abc", "us-west-2": "abcd", "eu-west-1": "abc", "eu-central-1": "abc"}
    return {region: tuple(f"{region}{letter}" for letter in letters) for region, letters in zones.items()}


def _limits() -> dict[str, tuple[float, float]]:
    return {
        "ec2.RunInstances": (5, 2),
        "ec2.Describe*": (100, 20),
        "ec2.*": (50, 5),
        "resourcegroupstaggingapi.GetResources": (15, 15),
        "resourcegroupstaggingapi.*": (5, 5),
    }


@dataclass(frozen=True)
class Settings:
    """All settings of a simulated AWS. `access_keys` maps the administrators' keys to their accounts."""

    access_keys: Mapping[str, str] = field(
        default_factory=lambda: {"AKIASIMULATED0000001": "111122223333", "AKIASIMULATED0000002": "444455556666"}
    )
    secret_keys: Mapping[str, str] = field(default_factory=dict)
    """Maps administrators' keys to their secrets; of others any secret will do."""
    regions: Mapping[str, tuple[str, ...]] = field(default_factory=_regions)
    delays: Delays = field(default_factory=Delays)
    lags: Lags = field(default_factory=Lags)
    quotas: Quotas = field(default_factory=Quotas)
    assumptions: Assumptions = field(default_factory=Assumptions)
    limits: Mapping[str, tuple[float, float]] = field(default_factory=_limits)
    """Maps a shell pattern on operation names to a token bucket (size, tokens a second); the first match counts.

    Each operation has a bucket of its own, by account and region.
    """

    impaired: frozenset[str] = frozenset()
    """Zones that are out of order."""

    page_size: int | None = None
    """Upper bound of the page size, whatever a request asks for; 1 reveals clients that read only the first page."""

    @staticmethod
    def from_dict(overrides: Mapping[str, Any]) -> "Settings":
        """Return the defaults with `overrides`: nested like the fields, `delays.scale` is a factor.

        Raises TypeError for a field that does not exist.
        """
        values, settings = dict(overrides), Settings()
        for part in ("delays", "lags", "quotas", "assumptions"):
            changes = dict(values.get(part, {}))
            base = getattr(settings, part)
            if part == "delays":
                base = base.scaled(float(changes.pop("scale", 1.0)))
            values[part] = replace(base, **changes)
        for name in ("limits", "regions"):
            if name in values:
                values[name] = {key: tuple(value) for key, value in values[name].items()}
        return replace(settings, **values)
