"""VPC: regions, zones, VPCs and their default parts (docs/reference/ibm-cloud.md#vpc)."""

from typing import Any

from freehold_sim.ibm import errors, security_groups
from freehold_sim.ibm import vpc_common as common
from freehold_sim.ibm.call import Call, Reply, iso, reads, writes
from freehold_sim.ibm.fields import GROUP, SERVED, Field, Only, served
from freehold_sim.ibm.world import Record

_MISSING = "VPC not found"


def _region(name: str) -> dict[str, Any]:
    base = common.base(name)
    return {"endpoint": base.removesuffix("/v1"), "href": f"{base}/regions/{name}", "name": name, "status": "available"}


def zone_reference(region: str, zone: str) -> dict[str, Any]:
    return {"href": f"{common.base(region)}/regions/{region}/zones/{zone}", "name": zone}


def _zone(region: str, zone: str) -> dict[str, Any]:
    reference = {"href": f"{common.base(region)}/regions/{region}", "name": region}
    return {**zone_reference(region, zone), "region": reference, "status": "available"}


def list_regions(call: Call) -> Reply:
    common.region_of(call)
    return Reply(200, {"regions": [_region(name) for name in call.settings.vpc_regions]})


def get_region(call: Call) -> Reply:
    common.region_of(call)
    return Reply(200, _region(_known_region(call)))


def _known_region(call: Call) -> str:
    name = call.params["name"]
    if name not in call.settings.vpc_regions:
        raise errors.vpc(404, "not_found", f"Region not found: {name}")
    return name


def list_zones(call: Call) -> Reply:
    common.region_of(call)
    name = _known_region(call)
    return Reply(200, {"zones": [_zone(name, zone) for zone in call.settings.vpc_zones(name)]})


def get_zone(call: Call) -> Reply:
    common.region_of(call)
    name, zone = _known_region(call), call.params["zone"]
    if zone not in call.settings.vpc_zones(name):
        raise errors.vpc(404, "not_found", f"Zone not found: {zone}")
    return Reply(200, _zone(name, zone))


def _part(record: Record, kind: str, collection: str) -> dict[str, Any]:
    """Return the reference to a default ACL or routing table; both are stored in the record of their VPC."""
    part = record[kind]
    region = record["region"]
    account = record["crn"].split(":")[6]
    shown = {
        "crn": f"crn:v1:bluemix:public:is:{region}:{account}::{kind.replace('_', '-')}:{part['id']}",
        "href": f"{common.base(region)}/{collection}/{part['id']}",
        "id": part["id"],
        "name": part["name"],
    }
    return {**shown, "resource_type": "routing_table"} if kind == "routing_table" else shown


def acl_reference(record: Record) -> dict[str, Any]:
    return _part(record, "network_acl", "network_acls")


def table_reference(record: Record) -> dict[str, Any]:
    return _part(record, "routing_table", f"vpcs/{record['id']}/routing_tables")


def vpc_reference(record: Record) -> dict[str, Any]:
    return common.reference(record, "vpcs", "vpc")


def default_group(call: Call, vpc: Record) -> Record:
    group = call.world.get("security-group", vpc["default_group"])
    assert group is not None, "the default security group is not deleted before its VPC"
    return group


def render(call: Call, record: Record) -> dict[str, Any]:
    return {
        "classic_access": False,
        "created_at": iso(record["created_at"]),
        "crn": record["crn"],
        "cse_source_ips": [],
        "default_network_acl": acl_reference(record),
        "default_routing_table": table_reference(record),
        "default_security_group": common.reference(default_group(call, record), "security_groups"),
        "dns": {
            "enable_hub": False,
            "resolution_binding_count": 0,
            "resolver": {"configuration": "default", "servers": [{"address": "161.26.0.10"}], "type": "system"},
        },
        "health_reasons": [],
        "health_state": "ok" if record["state"] == "available" else "inapplicable",
        "href": f"{common.base(record['region'])}/vpcs/{record['id']}",
        "id": record["id"],
        "name": record["name"],
        "public_address_ranges": [],
        "resource_group": common.group_reference(call, record["group"]),
        "resource_type": "vpc",
        "status": record["state"],
    }


def list_vpcs(call: Call) -> Reply:
    region = common.region_of(call)
    records = common.by_group(call, call.world.all("vpc", region=region))
    if call.query.get("classic_access", "false").lower() == "true":
        records = []
    return common.page_of(call, region, "vpcs", records, render)


def get_vpc(call: Call) -> Reply:
    return Reply(200, render(call, find(call)), etag=True)


def find(call: Call) -> Record:
    return common.find(call, "vpc", common.region_of(call), call.params["id"], _MISSING)


def _prefixes(call: Call, region: str, management: str) -> list[dict[str, Any]]:
    """Return the default address prefix of each zone: 10.240.0.0/18 and the following blocks."""
    if management == "manual":
        return []
    zones = call.settings.vpc_zones(region)
    return [
        {"id": common.new_id(call, region), "name": f"prefix-{zone}", "zone": zone, "cidr": f"10.240.{64 * n}.0/18"}
        for n, zone in enumerate(zones)
    ]


def create_vpc(call: Call) -> Reply:
    region, body = common.region_of(call), call.json()
    present = call.world.all("vpc", region=region)
    name, group = common.name_of(call, body), common.group_of(call, body)
    common.refuse_twin(present, name)
    quota = call.settings.quotas.vpcs_per_region
    if len(present) >= quota:
        message = f"Creating a new VPC will put the user over quota. Allocated: {len(present)}, Requested: 1"
        raise errors.vpc(400, "over_quota", f"{message}, Quota: {quota}")
    management = body.get("address_prefix_management", "auto")
    if management not in {"auto", "manual"}:
        raise errors.vpc(400, "invalid_value", "address_prefix_management must be auto or manual")
    ident = common.new_id(call, region)
    record: Record = {
        "id": ident, "crn": common.crn(call, region, "vpc", ident), "name": name, "region": region, "group": group,
        "state": "pending", "by": call.actor, "prefixes": _prefixes(call, region, management),
        "network_acl": {"id": common.new_id(call, region), "name": f"acl-{call.world.new_hex()[:8]}"},
        "routing_table": {"id": common.new_id(call, region), "name": f"table-{call.world.new_hex()[:8]}"},
    }  # fmt: skip
    call.world.add("vpc", call.now, record)
    record["default_group"] = security_groups.add_default(call, record)["id"]
    call.provision(record, call.settings.delays.create_vpc, {"state": "available"}, {"state": "failed"})
    return Reply(201, render(call, record), etag=True)


def update_vpc(call: Call) -> Reply:
    record, body = find(call), call.json()
    call.check_match(lambda: render(call, record))
    if "name" in body:
        name = common.name_of(call, body)
        common.refuse_twin(call.world.all("vpc", region=record["region"]), name, record["id"])
        record["name"] = name
    return Reply(200, render(call, record), etag=True)


def delete_vpc(call: Call) -> Reply:
    record = find(call)
    call.check_match(lambda: render(call, record))
    if record["state"] == "deleting":
        raise errors.vpc(409, "vpc_in_use", "The VPC is being deleted")
    for kind, label in (("subnet", "Subnet"), ("load-balancer", "Load Balancer"), ("public-gateway", "Public Gateway")):
        if children := call.world.all(kind, vpc=record["id"]):
            used = ", ".join(child["id"] for child in children)
            raise errors.vpc(409, "vpc_in_use", f"The VPC is in use and cannot be deleted. {label}: {used}")
    gone = call.takes(call.settings.delays.delete_vpc)
    call.world.redirect(record, state="deleting")
    for kind in ("security-group", "network-acl"):
        for part in call.world.all(kind, vpc=record["id"]):
            call.world.schedule(gone, part, None)
    call.world.schedule(gone, record, None)
    return Reply(204)


def get_default_group(call: Call) -> Reply:
    return Reply(200, security_groups.render(call, default_group(call, find(call))))


_VPC = "/vpc/{region}/v1/vpcs"
_CREATE: dict[str, Field] = {
    **served("name address_prefix_management"),
    "resource_group": GROUP,
    "classic_access": Only((False,)),
    "dns": {"enable_hub": Only((False,)), "resolver": {"type": Only(("system",)), "manual_servers": Only()}},
}
_UPDATE: dict[str, Field] = {
    "name": SERVED,
    "dns": {
        "enable_hub": Only((False,)),
        "resolver": {"type": Only(("system",)), "manual_servers": Only(), "vpc": Only()},
    },
}
ROUTES = (
    reads("GET", "/vpc/{region}/v1/regions", "vpc.list_regions", list_regions),
    reads("GET", "/vpc/{region}/v1/regions/{name}", "vpc.get_region", get_region),
    reads("GET", "/vpc/{region}/v1/regions/{name}/zones", "vpc.list_region_zones", list_zones),
    reads("GET", "/vpc/{region}/v1/regions/{name}/zones/{zone}", "vpc.get_region_zone", get_zone),
    reads("GET", _VPC, "vpc.list_vpcs", list_vpcs, query=f"{common.LIST} classic_access"),
    writes("POST", _VPC, "vpc.create_vpc", create_vpc, fields=_CREATE),
    reads("GET", _VPC + "/{id}", "vpc.get_vpc", get_vpc),
    writes("PATCH", _VPC + "/{id}", "vpc.update_vpc", update_vpc, fields=_UPDATE),
    writes("DELETE", _VPC + "/{id}", "vpc.delete_vpc", delete_vpc),
    reads("GET", _VPC + "/{id}/default_security_group", "vpc.get_vpc_default_security_group", get_default_group),
)
