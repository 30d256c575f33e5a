"""Address prefixes of a VPC: subnets lie inside one (docs/reference/ibm-cloud.md#vpc).

A VPC record contains its prefixes.
"""

import ipaddress
from typing import Any

from freehold_sim.ibm import errors, vpcs
from freehold_sim.ibm import vpc_common as common
from freehold_sim.ibm.call import Call, Reply, iso, reads, writes
from freehold_sim.ibm.fields import SERVED, Field, served
from freehold_sim.ibm.world import Record

Prefix = dict[str, Any]

_RESERVED = tuple(
    ipaddress.IPv4Network(block)
    for block in ("127.0.0.0/8", "161.26.0.0/16", "166.8.0.0/14", "169.254.0.0/16", "224.0.0.0/4")
)


def _render(call: Call, vpc: Record, prefix: Prefix) -> dict[str, Any]:
    return {
        "cidr": prefix["cidr"],
        "created_at": iso(prefix["created_at"] if "created_at" in prefix else vpc["created_at"]),
        "has_subnets": bool(_subnets_in(call, vpc, prefix)),
        "href": f"{_url(vpc)}/{prefix['id']}",
        "id": prefix["id"],
        "is_default": prefix.get("default", True),
        "name": prefix["name"],
        "zone": vpcs.zone_reference(vpc["region"], prefix["zone"]),
    }


def _url(vpc: Record) -> str:
    return f"{common.base(vpc['region'])}/vpcs/{vpc['id']}/address_prefixes"


def _subnets_in(call: Call, vpc: Record, prefix: Prefix) -> list[Record]:
    block = ipaddress.IPv4Network(prefix["cidr"])
    subnets = call.world.all("subnet", vpc=vpc["id"])
    return [s for s in subnets if ipaddress.IPv4Network(s["cidr"]).subnet_of(block)]


def _find(call: Call, vpc: Record) -> Prefix:
    for prefix in vpc["prefixes"]:
        if prefix["id"] == call.params["prefix"]:
            found: Prefix = prefix
            return found
    raise errors.vpc(404, "not_found", "The address prefix cannot be found")


def list_prefixes(call: Call) -> Reply:
    vpc = vpcs.find(call)
    shown = [_render(call, vpc, prefix) for prefix in vpc["prefixes"]]
    return common.page_of_parts(call, _url(vpc), "address_prefixes", shown)


def get_prefix(call: Call) -> Reply:
    vpc = vpcs.find(call)
    return Reply(200, _render(call, vpc, _find(call, vpc)))


def _block(vpc: Record, text: Any) -> str:
    """Check the CIDR of a new prefix."""
    try:
        block = ipaddress.IPv4Network(text)
    except (ValueError, TypeError):
        raise errors.vpc(400, "invalid_value", f"not a CIDR block: {text}", "cidr", str(text)) from None
    if not 9 <= block.prefixlen <= 29:
        raise errors.vpc(400, "invalid_value", "The prefix length must be between /9 and /29", "cidr", str(text))
    taken = [ipaddress.IPv4Network(prefix["cidr"]) for prefix in vpc["prefixes"]]
    if overlapped := [str(other) for other in (*taken, *_RESERVED) if block.overlaps(other)]:
        raise errors.vpc(400, "invalid_value", f"The CIDR block {text} overlaps {overlapped[0]}", "cidr", str(text))
    return str(block)


def _refuse_second_default(vpc: Record, zone: str, own_id: str = "") -> None:
    others = [p for p in vpc["prefixes"] if p["zone"] == zone and p["id"] != own_id]
    if any(prefix.get("default", True) for prefix in others):
        raise errors.vpc(400, "invalid_value", f"The VPC has a default address prefix in {zone} already", "is_default")


def create_prefix(call: Call) -> Reply:
    vpc, body = vpcs.find(call), call.json()
    call.require(body, "cidr zone")
    zone = common.zone_in(body)
    if zone is None:
        raise errors.vpc(400, "missing_field", "The field zone.name is required", "zone.name")
    if zone not in call.settings.vpc_zones(vpc["region"]):
        raise errors.vpc(400, "validation_zone", f"Zone not found: {zone}", "zone.name", zone)
    name, cidr, default = common.name_of(call, body), _block(vpc, body.get("cidr")), body.get("is_default") is True
    common.refuse_twin(vpc["prefixes"], name)
    if default:
        _refuse_second_default(vpc, zone)
    prefix: Prefix = {
        "id": common.new_id(call, vpc["region"]), "name": name, "zone": zone, "cidr": cidr, "default": default,
        "created_at": call.now,
    }  # fmt: skip
    vpc["prefixes"].append(prefix)
    return Reply(201, _render(call, vpc, prefix))


def update_prefix(call: Call) -> Reply:
    vpc, body = vpcs.find(call), call.json()
    prefix = _find(call, vpc)
    name = common.name_of(call, body) if body.get("name") is not None else prefix["name"]
    common.refuse_twin(vpc["prefixes"], name, prefix["id"])
    default = body.get("is_default", prefix.get("default", True))
    if default is True:
        _refuse_second_default(vpc, prefix["zone"], prefix["id"])
    prefix.update(name=name, default=bool(default))
    return Reply(200, _render(call, vpc, prefix))


def delete_prefix(call: Call) -> Reply:
    vpc = vpcs.find(call)
    prefix = _find(call, vpc)
    if inside := _subnets_in(call, vpc, prefix):
        used = ", ".join(subnet["id"] for subnet in inside)
        raise errors.vpc(409, "address_prefix_in_use", f"The address prefix is in use by subnets: {used}")
    vpc["prefixes"].remove(prefix)
    return Reply(204)


_PREFIXES = "/vpc/{region}/v1/vpcs/{id}/address_prefixes"
_CREATE: dict[str, Field] = {**served("name cidr is_default"), "zone": {"name": SERVED, "href": SERVED}}
ROUTES = (
    reads("GET", _PREFIXES, "vpc.list_vpc_address_prefixes", list_prefixes, query=common.PAGES),
    writes("POST", _PREFIXES, "vpc.create_vpc_address_prefix", create_prefix, fields=_CREATE),
    reads("GET", _PREFIXES + "/{prefix}", "vpc.get_vpc_address_prefix", get_prefix),
    writes(
        "PATCH", _PREFIXES + "/{prefix}", "vpc.update_vpc_address_prefix", update_prefix,
        fields=served("name is_default"),
    ),
    writes("DELETE", _PREFIXES + "/{prefix}", "vpc.delete_vpc_address_prefix", delete_prefix),
)  # fmt: skip
