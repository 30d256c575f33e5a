"""VPC subnets, allocated from the zone's default address prefix (docs/reference/ibm-cloud.md#vpc)."""

import ipaddress
from typing import Any

from freehold_sim.ibm import errors, network_acls, vpcs
from freehold_sim.ibm import vpc_common as common
from freehold_sim.ibm.call import Call, Reply, iso, reads, writes
from freehold_sim.ibm.fields import GROUP, IDENTITY, NOT_SERVED, Field, Only, served
from freehold_sim.ibm.world import Record

_MISSING = "Subnet not found"
_RESERVED_ADDRESSES = 5


def subnet_reference(record: Record) -> dict[str, Any]:
    return common.reference(record, "subnets", "subnet")


def render(call: Call, record: Record) -> dict[str, Any]:
    vpc = vpc_of(call, record)
    total = ipaddress.IPv4Network(record["cidr"]).num_addresses
    return {
        "available_ipv4_address_count": total - _RESERVED_ADDRESSES - len(_reserved(call, record)),
        "created_at": iso(record["created_at"]),
        "crn": record["crn"],
        "href": f"{common.base(record['region'])}/subnets/{record['id']}",
        "id": record["id"],
        "ip_version": "ipv4",
        "ipv4_cidr_block": record["cidr"],
        "name": record["name"],
        "network_acl": _acl_reference(call, vpc, record),
        "resource_group": common.group_reference(call, record["group"]),
        "resource_type": "subnet",
        "routing_table": vpcs.table_reference(vpc),
        "status": record["state"],
        "total_ipv4_address_count": total,
        "vpc": vpcs.vpc_reference(vpc),
        "zone": vpcs.zone_reference(record["region"], record["zone"]),
    }


def _acl_reference(call: Call, vpc: Record, record: Record) -> dict[str, Any]:
    chosen = call.world.get("network-acl", record["acl"]) if record.get("acl") else None
    return network_acls.reference(chosen) if chosen else vpcs.acl_reference(vpc)


def _reserved(call: Call, record: Record) -> list[Record]:
    """Return the addresses that users reserved; most worlds have none."""
    return call.world.all("reserved-ip", subnet=record["id"])


def find(call: Call) -> Record:
    return common.find(call, "subnet", common.region_of(call), call.params["id"], _MISSING)


def list_subnets(call: Call) -> Reply:
    region = common.region_of(call)
    records = common.by_group(call, call.world.all("subnet", region=region))
    records = common.by_vpc(call, records)
    if zone := call.query.get("zone.name"):
        records = [r for r in records if r["zone"] == zone]
    return common.page_of(call, region, "subnets", records, render)


def get_subnet(call: Call) -> Reply:
    return Reply(200, render(call, find(call)))


def _taken(call: Call, vpc: Record) -> list[ipaddress.IPv4Network]:
    return [ipaddress.IPv4Network(s["cidr"]) for s in call.world.all("subnet", vpc=vpc["id"])]


def _next_block(call: Call, vpc: Record, zone: str, count: Any) -> str:
    """Return the first free block of `count` addresses in the zone's address prefix."""
    if not isinstance(count, int) or count < 8 or count & (count - 1):
        message = "total_ipv4_address_count must be a power of 2, at least 8"
        raise errors.vpc(400, "invalid_value", message, "total_ipv4_address_count", str(count))
    taken = _taken(call, vpc)
    for prefix in vpc["prefixes"]:
        network = ipaddress.IPv4Network(prefix["cidr"])
        if prefix["zone"] != zone or network.num_addresses < count:
            continue
        for block in network.subnets(new_prefix=33 - count.bit_length()):
            if not any(block.overlaps(other) for other in taken):
                return str(block)
    message = f"The VPC has no address prefix with {count} free addresses in {zone}"
    raise errors.vpc(400, "no_address_prefix", message, "total_ipv4_address_count", str(count))


def _given_block(call: Call, vpc: Record, zone: str | None, text: Any) -> tuple[str, str]:
    """Check a CIDR from the request; return it and its zone."""
    try:
        block = ipaddress.IPv4Network(text)
    except (ValueError, TypeError):
        raise errors.vpc(400, "invalid_value", f"not a CIDR block: {text}", "ipv4_cidr_block", str(text)) from None
    for prefix in vpc["prefixes"]:
        if block.subnet_of(ipaddress.IPv4Network(prefix["cidr"])) and zone in {None, prefix["zone"]}:
            if any(block.overlaps(other) for other in _taken(call, vpc)):
                message = f"The subnet {text} overlaps another subnet of the VPC"
                raise errors.vpc(409, "conflict_field", message, "ipv4_cidr_block", str(text))
            return str(block), str(prefix["zone"])
    message = f"The CIDR block {text} is in no address prefix of the VPC for that zone"
    raise errors.vpc(400, "invalid_value", message, "ipv4_cidr_block", str(text))


def _place(call: Call, region: str, vpc: Record, body: dict[str, Any]) -> tuple[str, str]:
    """Return CIDR and zone of the subnet that `body` requests."""
    zone = common.zone_in(body)
    if zone is not None and zone not in call.settings.vpc_zones(region):
        raise errors.vpc(400, "validation_zone", f"Zone not found: {zone}", "zone.name", str(zone))
    if ("ipv4_cidr_block" in body) == ("total_ipv4_address_count" in body):
        message = "exactly one of ipv4_cidr_block and total_ipv4_address_count is required"
        raise errors.vpc(400, "missing_field", message)
    if "ipv4_cidr_block" in body:
        return _given_block(call, vpc, zone, body["ipv4_cidr_block"])
    if zone is None:
        raise errors.vpc(400, "missing_field", "zone is required", "zone")
    return _next_block(call, vpc, zone, body["total_ipv4_address_count"]), str(zone)


def create_subnet(call: Call) -> Reply:
    region, body = common.region_of(call), call.json()
    vpc = common.given(call, "vpc", region, body.get("vpc"), "VPC not found", "vpc")
    if vpc["state"] != "available":
        message = f"The VPC is not available: its status is '{vpc['state']}'"
        raise errors.vpc(409, "vpc_not_available", message, "vpc.id", vpc["id"])
    name, group = common.name_of(call, body), common.group_of(call, body)
    common.refuse_twin(call.world.all("subnet", vpc=vpc["id"]), name)
    cidr, zone = _place(call, region, vpc, body)
    acl = network_acls.given(call, vpc, body["network_acl"]) if body.get("network_acl") else ""
    ident = common.new_id(call, region)
    record: Record = {
        "id": ident, "crn": common.crn(call, zone, "subnet", ident), "name": name, "region": region, "zone": zone,
        "vpc": vpc["id"], "group": group, "cidr": cidr, "acl": acl, "state": "pending",
        "by": call.actor,
    }  # fmt: skip
    call.world.add("subnet", call.now, record)
    call.provision(record, call.settings.delays.create_subnet, {"state": "available"}, {"state": "failed"})
    return Reply(201, render(call, record))


def update_subnet(call: Call) -> Reply:
    record, body = find(call), call.json()
    if "name" in body:
        name = common.name_of(call, body)
        common.refuse_twin(call.world.all("subnet", vpc=record["vpc"]), name, record["id"])
        record["name"] = name
    if body.get("network_acl"):
        record["acl"] = network_acls.given(call, vpc_of(call, record), body["network_acl"])
    return Reply(200, render(call, record))


def vpc_of(call: Call, record: Record) -> Record:
    vpc = call.world.get("vpc", record["vpc"])
    assert vpc is not None, "a subnet does not outlive its VPC"
    return vpc


def get_acl(call: Call) -> Reply:
    return Reply(200, network_acls.render(call, network_acls.of_subnet(call, find(call))))


def replace_acl(call: Call) -> Reply:
    record, body = find(call), call.json()
    record["acl"] = network_acls.given(call, vpc_of(call, record), body)
    return Reply(201, network_acls.render(call, network_acls.of_subnet(call, record)))


def delete_subnet(call: Call) -> Reply:
    record = find(call)
    if record["state"] == "deleting":
        raise errors.vpc(409, "subnet_in_use", "The subnet is being deleted")
    users = [
        f"{kind}s:{user['id']}"
        for kind in ("load-balancer", "virtual-server")
        for user in call.world.all(kind)
        if record["id"] in user["subnets"]
    ]
    if users:
        message = (
            "Cannot delete the subnet while it is in use by one or more network interfaces. Please delete the "
            f"network interfaces or their associated servers and retry: [ {', '.join(users)} ]."
        )
        raise errors.vpc(409, "subnet_in_use_network_interface_exists", message, "id", record["id"])
    gone = call.takes(call.settings.delays.delete_subnet)
    call.world.redirect(record, state="deleting")
    for one in (*_reserved(call, record), record):
        call.world.schedule(gone, one, None)
    return Reply(204)


_SUBNETS = "/vpc/{region}/v1/subnets"
_CREATE: dict[str, Field] = {
    **served("name ipv4_cidr_block total_ipv4_address_count"),
    "network_acl": IDENTITY,
    "vpc": IDENTITY,
    "zone": served("name href"),
    "resource_group": GROUP,
    "ip_version": Only(("ipv4",)),
    "public_gateway": NOT_SERVED,
    "routing_table": NOT_SERVED,
}
_UPDATE: dict[str, Field] = {
    **served("name"),
    "network_acl": IDENTITY,
    "public_gateway": NOT_SERVED,
    "routing_table": NOT_SERVED,
}
ROUTES = (
    reads("GET", _SUBNETS, "vpc.list_subnets", list_subnets, query=f"{common.LIST} {common.OF_VPC} zone.name"),
    writes("POST", _SUBNETS, "vpc.create_subnet", create_subnet, fields=_CREATE),
    reads("GET", _SUBNETS + "/{id}", "vpc.get_subnet", get_subnet),
    writes("PATCH", _SUBNETS + "/{id}", "vpc.update_subnet", update_subnet, fields=_UPDATE),
    writes("DELETE", _SUBNETS + "/{id}", "vpc.delete_subnet", delete_subnet),
    reads("GET", _SUBNETS + "/{id}/network_acl", "vpc.get_subnet_network_acl", get_acl),
    writes("PUT", _SUBNETS + "/{id}/network_acl", "vpc.replace_subnet_network_acl", replace_acl, fields=IDENTITY),
)
