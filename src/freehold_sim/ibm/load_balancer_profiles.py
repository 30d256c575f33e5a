"""The profile of the simulated load balancers (docs/reference/ibm-cloud.md#vpc)."""

from typing import Any

from freehold_sim.ibm import errors
from freehold_sim.ibm import vpc_common as common
from freehold_sim.ibm.call import Call, Reply, reads

NAME = "dynamic"
_NOT_SERVED = {"network-fixed", "network-private-path"}
"""The others of https://cloud.ibm.com/docs/vpc?topic=vpc-load-balancers-about."""
FAMILY = "application"

SUPPORTED = {
    "advanced_health_checks_supported": True,
    "asymmetric_routing_supported": False,
    "fqdn_pool_members_supported": False,
    "instance_groups_supported": True,
    "mtls_supported": False,
    "security_groups_supported": True,
    "source_ip_session_persistence_supported": True,
    "udp_supported": False,
}
"""What a balancer of this profile supports; a balancer shows the same fields."""


def reference(region: str) -> dict[str, Any]:
    return {"family": FAMILY, "href": f"{common.base(region)}/load_balancer/profiles/{NAME}", "name": NAME}


def check(call: Call, name: Any) -> None:
    """Refuse a profile that is not served, and one that nobody has."""
    if name in _NOT_SERVED:
        raise call.not_served(f"the load balancer profile {name}")
    if name != NAME:
        raise errors.vpc(404, "not_found", f"The load balancer profile cannot be found: {name}", "profile", str(name))


def _fixed(value: Any) -> dict[str, Any]:
    return {"type": "fixed", "value": value}


def _render(region: str) -> dict[str, Any]:
    return {
        **{key: _fixed(value) for key, value in SUPPORTED.items()},
        "access_modes": {"type": "enum", "values": ["private", "public"]},
        "availability": _fixed("region"),
        "failsafe_policy_actions": {"default": "fail", "type": "enum", "values": ["fail", "forward"]},
        "logging_supported": _fixed(["datapath"]),
        "route_mode_supported": _fixed(False),
        "targetable_load_balancer_profiles": [],
        "targetable_resource_types": {"type": "enum", "values": ["instance", "ip"]},
        **reference(region),
    }


def list_profiles(call: Call) -> Reply:
    region = common.region_of(call)
    return common.page_of_parts(call, f"{common.base(region)}/load_balancer/profiles", "profiles", [_render(region)])


def get_profile(call: Call) -> Reply:
    region = common.region_of(call)
    check(call, call.params["name"])
    return Reply(200, _render(region))


_PROFILES = "/vpc/{region}/v1/load_balancer/profiles"
ROUTES = (
    reads("GET", _PROFILES, "vpc.list_load_balancer_profiles", list_profiles, query=common.PAGES),
    reads("GET", _PROFILES + "/{name}", "vpc.get_load_balancer_profile", get_profile),
)
