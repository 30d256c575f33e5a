"""Locations of transit gateways (docs/reference/ibm-cloud.md#transit-gateway): the regions of VPC."""

from typing import Any

from freehold_sim.ibm import errors, transit
from freehold_sim.ibm.call import Call, Reply, reads

_KIND = "region"
_BILLING = {"us": "us", "ca": "ca", "br": "br", "eu": "eu", "jp": "ap", "au": "ap"}


def _basic(name: str) -> dict[str, Any]:
    return {"billing_location": _BILLING.get(name.partition("-")[0], "us"), "name": name, "type": _KIND}


def list_locations(call: Call) -> Reply:
    transit.check_version(call)
    return Reply(200, {"locations": [_basic(name) for name in call.settings.vpc_regions]})


def _local_locations(call: Call, region: str) -> list[dict[str, Any]]:
    """Return the networks that a local gateway reaches: the VPC region and its PowerVS zones with an edge router."""
    shown = [{"display_name": region, "name": region, "supported_connection_types": ["vpc"], "type": _KIND}]
    for name, zone in call.settings.power_zones.items():
        if zone.vpc_region == region and zone.edge_router:
            kinds = ["power_virtual_server"]
            shown.append({"display_name": name, "name": name, "supported_connection_types": kinds, "type": "dc"})
    return shown


def get_location(call: Call) -> Reply:
    transit.check_version(call)
    name = call.params["name"]
    if name not in call.settings.vpc_regions:
        raise errors.vpc(404, "not_found", f"The location was not found: {name}", "name", name)
    zones = [{"name": zone} for zone in call.settings.vpc_zones(name)]
    return Reply(200, {**_basic(name), "local_connection_locations": _local_locations(call, name), "zones": zones})


ROUTES = (
    reads("GET", "/transit/v1/locations", "transit.list_gateway_locations", list_locations),
    reads("GET", "/transit/v1/locations/{name}", "transit.get_gateway_location", get_location),
)
