"""Settings of a simulated IBM Cloud: account, geography, delays, lags, quotas and unverified assumptions.

Every value that could not be verified against the vendor is a named field of `Assumptions`
(docs/reference/ibm-cloud.md#not-verified).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any


@dataclass(frozen=True)
class Delays:
    """The published delay profile, in domain seconds. Sources: docs/reference/ibm-cloud.md (times seen).

    COS instances are not provisioned: a create is answered when the instance is active, and so is a delete
    (IBM/platform-services-python-sdk, test/integration/test_resource_controller_v2.py). `create_cos` above 0
    provisions them like workspaces.
    """

    create_workspace: float = 150.0
    create_dhcp: float = 300.0
    create_vpc: float = 15.0
    create_subnet: float = 10.0
    create_load_balancer: float = 240.0
    update_load_balancer: float = 10.0
    create_gateway: float = 120.0
    create_connection: float = 120.0
    create_cos: float = 0.0
    create_network: float = 5.0
    delete_workspace: float = 90.0
    delete_dhcp: float = 180.0
    delete_dhcp_network: float = 30.0
    delete_vpc: float = 15.0
    delete_subnet: float = 10.0
    delete_load_balancer: float = 120.0
    delete_gateway: float = 60.0
    delete_connection: float = 60.0
    reclaim_cos: float = 10.0
    cos_reclamation: float = 7 * 86_400.0

    def scaled(self, factor: float) -> "Delays":
        """Return the profile with every delay multiplied by `factor`, except the reclamation period (a policy)."""
        times = {f.name: getattr(self, f.name) * factor for f in fields(self) if f.name != "cos_reclamation"}
        return replace(self, **times)


@dataclass(frozen=True)
class Lags:
    """Delays until reads show a change, in domain seconds.

    new           Global Search does not show a CRN before this age
    ghost         Global Search shows a deleted CRN for this long
    tags          Global Search shows tags as they were this long ago (about 20 s seen, terraform-provider-ibm#1276)
    attached_to   GET /v3/tags?attached_to= shows tags as they were this long ago; 0, because the integration tests of
                  IBM's SDKs read a tag right after its attach
    lists         the services' own lists do not show a resource before this age
    detach        a network still counts as connected this long after its gateway connection is gone (#5482)
    non_monotonic every second lagging read goes to a replica that is twice as far behind
    by_id         GET of one resource of VPC, Resource Controller, PowerVS and Transit Gateway shows it as it was this
                  long ago: a new one is not found, a deleted one is still found. No vendor rules this out
    """

    new: float = 20.0
    ghost: float = 20.0
    tags: float = 20.0
    attached_to: float = 0.0
    lists: float = 0.0
    detach: float = 10.0
    non_monotonic: bool = False
    by_id: float = 0.0

    @staticmethod
    def none() -> "Lags":
        return Lags(new=0, ghost=0, tags=0, attached_to=0, lists=0, detach=0)

    @staticmethod
    def uniform(seconds: float, non_monotonic: bool = False) -> "Lags":
        return Lags(seconds, seconds, seconds, seconds, seconds, seconds, non_monotonic, by_id=seconds)


@dataclass(frozen=True)
class Quotas:
    """Limits of the account, with IBM's defaults; `resources_per_attach` is not verified.

    Sources: docs/reference/ibm-cloud.md#transit-gateway, #common, #global-tagging.
    """

    gateways_per_region: int = 5
    gateways: int = 10
    vpcs_per_region: int = 20
    tags_per_resource: int = 1000
    access_tags: int = 250
    resources_per_attach: int = 100


@dataclass(frozen=True)
class Assumptions:
    """Behavior that no source documents. Tests cover both variants; docs/explanation/limits.md lists them.

    Gateway names are known to be unique (409 in the integration test of IBM's networking-node-sdk, and
    terraform-provider-ibm#4190), but not whether per account or per location; here it is per account.
    """

    gateway_name_limit: int = 60
    gateway_names_unique: bool = True
    connection_names_unique: bool = True
    gateway_with_connections_status: int = 409
    gateway_quota_status: int = 400
    unusable_network_status: int = 400
    local_gateway_refuses_other_region: bool = True
    duplicate_rules_refused: bool = False
    balancer_needs_available_subnets: bool = True
    illegal_tag_is_400: bool = True
    attach_needs_index: bool = False
    lowercases_tags: bool = False
    dhcp_network_has_crn: bool = True
    dhcp_post_shows_network: bool = True
    workspace_delete_tries: int = 1
    instance_delete_status: int = 202
    instance_create_status: int = 201
    reclaimed_delete_status: int = 400


def _vpc_regions() -> dict[str, str]:
    return {
        "us-south": "r006", "us-east": "r014", "eu-de": "r010", "eu-gb": "r018", "jp-tok": "r022",
        "au-syd": "r026", "jp-osa": "r034", "ca-tor": "r038", "br-sao": "r042", "eu-es": "r050",
    }  # fmt: skip


def _power_zones() -> dict[str, "PowerZone"]:
    table = {
        "dal10": ("dal", "us-south"), "dal12": ("dal", "us-south"), "dal14": ("dal", "us-south"),
        "us-south": ("us-south", "us-south"), "us-east": ("us-east", "us-east"), "wdc04": ("wdc", "us-east"),
        "wdc06": ("wdc", "us-east"), "wdc07": ("wdc", "us-east"), "eu-de-1": ("eu-de", "eu-de"),
        "eu-de-2": ("eu-de", "eu-de"), "lon04": ("lon", "eu-gb"), "lon06": ("lon", "eu-gb"),
        "tok04": ("tok", "jp-tok"), "osa21": ("osa", "jp-osa"), "syd04": ("syd", "au-syd"),
        "syd05": ("syd", "au-syd"), "tor01": ("tor", "ca-tor"), "sao01": ("sao", "br-sao"),
        "sao04": ("sao", "br-sao"), "mad02": ("mad", "eu-es"), "mad04": ("mad", "eu-es"),
    }  # fmt: skip
    without_edge_router = {"wdc04", "lon04", "syd04", "us-south"}
    return {z: PowerZone(region, vpc, z not in without_edge_router) for z, (region, vpc) in table.items()}


@dataclass(frozen=True)
class PowerZone:
    """A PowerVS zone: its region (which names the endpoint), the matching VPC region, and whether it has PER."""

    region: str
    vpc_region: str
    edge_router: bool


@dataclass(frozen=True)
class Settings:
    """All settings of a simulated IBM Cloud."""

    account_id: str = "f0e1d2c3b4a5968778695a4b3c2d1e0f"
    api_key: str = "simulated-api-key"
    iam_id: str = "IBMid-F0E1D2C3B4"
    email: str = "owner@example.com"
    trusted_profiles: tuple[str, ...] = ("Profile-f0e1d2c3-b4a5-4968-8778-695a4b3c2d1e",)
    """Those that the owner of the API key may assume, and the pods of linked service accounts."""
    linked_service_accounts: tuple[str, ...] = ("freehold-system/freehold-operator",)
    """Those that are linked to the trusted profiles, by namespace and name."""
    other_account_id: str = "0123456789abcdef0123456789abcdef"
    token_seconds: int = 3600
    resource_groups: Mapping[str, str] = field(
        default_factory=lambda: {
            "Default": "11111111111111111111111111111111",
            "ibm-hypershift-dev": "22222222222222222222222222222222",
        }
    )
    vpc_regions: Mapping[str, str] = field(default_factory=_vpc_regions)
    power_zones: Mapping[str, PowerZone] = field(default_factory=_power_zones)
    delays: Delays = field(default_factory=Delays)
    lags: Lags = field(default_factory=Lags)
    quotas: Quotas = field(default_factory=Quotas)
    assumptions: Assumptions = field(default_factory=Assumptions)
    rate_limits: Mapping[str, tuple[int, float]] = field(default_factory=dict)
    """Maps a shell pattern on operation names to (calls, domain seconds); more calls in that time get 429.

    Empty by default, because IBM publishes no numbers; tag reads are known to be limited
    (terraform-provider-ibm#4125).
    """

    page_size: int | None = None
    """Upper bound of the page size, whatever `limit` is; 1 reveals clients that read only the first page."""

    @staticmethod
    def from_dict(overrides: Mapping[str, Any]) -> "Settings":
        """Return the defaults with `overrides`: nested like the fields, `delays.scale` is a factor.

        Raises TypeError for a field that does not exist, or has a value of another type.
        """
        settings = Settings()
        _check("settings", settings, overrides)
        values = dict(overrides)
        for part in ("delays", "lags", "quotas", "assumptions"):
            base = getattr(settings, part)
            _check(part, base, values.get(part, {}), also=("scale",) if part == "delays" else ())
            changes = dict(values.get(part, {}))
            if part == "delays":
                base = base.scaled(float(changes.pop("scale", 1.0)))
            values[part] = replace(base, **changes)
        if "power_zones" in values:
            values["power_zones"] = {name: PowerZone(**zone) for name, zone in values["power_zones"].items()}
        if "rate_limits" in values:
            values["rate_limits"] = _rate_limits(values["rate_limits"])
        return replace(settings, **values)

    def vpc_zones(self, region: str) -> tuple[str, ...]:
        return tuple(f"{region}-{n}" for n in (1, 2, 3)) if region in self.vpc_regions else ()


def _check(where: str, defaults: Any, given: Any, also: tuple[str, ...] = ()) -> None:
    """Raise TypeError with what is wrong in `given`, by the fields of `defaults` and the types of their values."""
    if not isinstance(given, Mapping):
        raise TypeError(f"{where}: must be an object with names and values, not {given!r}")
    known = {f.name for f in fields(defaults)} | set(also)
    if unknown := sorted(given.keys() - known):
        raise TypeError(f"{where}: there is no {', '.join(unknown)}; there are: {', '.join(sorted(known))}")
    for name, value in given.items():
        if wanted := _other_type(getattr(defaults, name, 1.0), value):
            raise TypeError(f"{where}: {name} must be {wanted}, not {value!r}")


def _other_type(default: Any, value: Any) -> str:
    """Name the type that `value` should have, in words; empty where it has it."""
    if isinstance(default, bool):
        return "" if isinstance(value, bool) else "true or false"
    if isinstance(default, int | float):
        return "" if _is_number(value) else "a number"
    if isinstance(default, str):
        return "" if isinstance(value, str) else "a text"
    return ""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _rate_limits(given: Any) -> dict[str, tuple[int, float]]:
    """Raise TypeError for a limit that is not two numbers."""
    for name, limit in dict(given).items():
        if not (isinstance(limit, list | tuple) and len(limit) == 2 and all(map(_is_number, limit))):
            raise TypeError(f"rate_limits: {name} must be two numbers: calls, and seconds; not {limit!r}")
    return {name: (int(calls), float(seconds)) for name, (calls, seconds) in dict(given).items()}
