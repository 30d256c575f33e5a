"""VPC load balancers. Their pools, members, listeners and profiles have modules of their own.

Source: docs/reference/ibm-cloud.md#vpc.
"""

from typing import Any

from freehold_sim.ibm import errors, security_groups, subnets
from freehold_sim.ibm import load_balancer_changes as changes
from freehold_sim.ibm import load_balancer_listeners as listeners
from freehold_sim.ibm import load_balancer_pools as pools
from freehold_sim.ibm import load_balancer_profiles as profiles
from freehold_sim.ibm import vpc_common as common
from freehold_sim.ibm.call import Call, Reply, iso, reads, writes
from freehold_sim.ibm.fields import GROUP, IDENTITY, NOT_SERVED, SERVED, Field, Only, served
from freehold_sim.ibm.load_balancer_changes import find
from freehold_sim.ibm.world import Record

_MOST_SUBNETS = 15


def render(call: Call, record: Record) -> dict[str, Any]:
    places = _places(call, record)
    groups = [g for g in (call.world.get("security-group", ident) for ident in record["groups"]) if g is not None]
    base, public = f"{common.base(record['region'])}/load_balancers/{record['id']}", record["public"]
    return {
        **profiles.SUPPORTED,
        "access_mode": "public" if public else "private",
        "attached_load_balancer_pool_members": [],
        "availability": "region",
        "created_at": iso(record["created_at"]),
        "crn": record["crn"],
        "failsafe_policy_actions": ["fail", "forward"],
        "hostname": record["hostname"],
        "href": base,
        "id": record["id"],
        "is_private_path": False,
        "is_public": public,
        "listeners": [{"href": f"{base}/listeners/{part['id']}", "id": part["id"]} for part in record["listeners"]],
        "logging": {"datapath": {"active": False}},
        "name": record["name"],
        "operating_status": "online" if record["up"] else "offline",
        "pools": [pools.reference(record, pool) for pool in record["pools"]],
        "private_ips": private_ips(call, record),
        "profile": profiles.reference(record["region"]),
        "provisioning_status": record["state"],
        "public_ips": [{"address": f"198.51.100.{record['serial'] % 250 + 1}"}] if record["up"] and public else [],
        "resource_group": common.group_reference(call, record["group"]),
        "resource_type": "load_balancer",
        "route_mode": False,
        "security_groups": [common.reference(group, "security_groups") for group in groups],
        "subnets": [subnets.subnet_reference(place) for place in places],
    }


def _places(call: Call, record: Record) -> list[Record]:
    return [s for s in (call.world.get("subnet", ident) for ident in record["subnets"]) if s is not None]


def private_ips(call: Call, record: Record) -> list[dict[str, Any]]:
    """Return the reserved IP of the balancer in each of its subnets, none before it is provisioned."""
    if not record["up"]:
        return []
    return [_private_ip(record, place, number) for number, place in enumerate(_places(call, record))]


def _private_ip(balancer: Record, place: Record, number: int) -> dict[str, Any]:
    ident = f"{balancer['id']}-{number}"
    return {
        "address": f"{place['cidr'].rpartition('.')[0]}.{number + 4}",
        "href": f"{common.base(place['region'])}/subnets/{place['id']}/reserved_ips/{ident}",
        "id": ident,
        "name": f"reserved-ip-{number}",
        "resource_type": "subnet_reserved_ip",
    }


def list_load_balancers(call: Call) -> Reply:
    region = common.region_of(call)
    records = call.world.all("load-balancer", region=region)
    return common.page_of(call, region, "load_balancers", records, render)


def get_load_balancer(call: Call) -> Reply:
    return Reply(200, render(call, find(call)), etag=True)


def get_statistics(call: Call) -> Reply:
    """Answer statistics of no traffic: there is none."""
    find(call)
    body = {"active_connections": 0, "connection_rate": 0.0, "data_processed_this_month": 0, "throughput": 0.0}
    return Reply(200, body)


def _subnets(call: Call, region: str, body: dict[str, Any]) -> list[Record]:
    wanted = body.get("subnets")
    if not isinstance(wanted, list) or not 1 <= len(wanted) <= _MOST_SUBNETS:
        raise errors.vpc(400, "missing_field", f"subnets must name 1 to {_MOST_SUBNETS} subnets", "subnets")
    places = [common.given(call, "subnet", region, one, "Subnet not found", "subnets") for one in wanted]
    if len({place["vpc"] for place in places}) != 1:
        raise errors.vpc(400, "invalid_value", "the subnets are not all in the same VPC", "subnets")
    for place in places if call.settings.assumptions.balancer_needs_available_subnets else ():
        if place["state"] != "available":
            message = f"The subnet {place['id']} is not available: its status is '{place['state']}'"
            raise errors.vpc(409, "subnet_not_available", message, "subnets")
    return places


def _groups(call: Call, region: str, vpc: str, body: dict[str, Any]) -> list[str]:
    """Return the requested security groups, or the VPC's default group if none is requested."""
    if not body.get("security_groups"):
        home = call.world.get("vpc", vpc)
        assert home is not None, "a subnet does not outlive its VPC"
        return [home["default_group"]]
    given = [
        common.given(call, "security-group", region, one, "Security group not found", "security_groups")
        for one in body["security_groups"]
    ]
    if any(group["vpc"] != vpc for group in given):
        raise errors.vpc(400, "invalid_value", "a security group is in another VPC", "security_groups")
    return [group["id"] for group in given]


def create_load_balancer(call: Call) -> Reply:
    region, body = common.region_of(call), call.json()
    if not isinstance(body.get("is_public"), bool):
        raise errors.vpc(400, "missing_field", "is_public is required", "is_public")
    if (profile := body.get("profile")) is not None:
        call.require(profile, "name")
        profiles.check(call, profile["name"])
    places = _subnets(call, region, body)
    vpc = places[0]["vpc"]
    name, group = common.name_of(call, body), common.group_of(call, body)
    common.refuse_twin(call.world.all("load-balancer", vpc=vpc), name)
    ident = common.new_id(call, region)
    record: Record = {
        "id": ident, "crn": common.crn(call, region, "load-balancer", ident), "name": name, "region": region,
        "vpc": vpc, "group": group, "state": "create_pending", "up": False, "by": call.actor,
        "public": body["is_public"], "subnets": [place["id"] for place in places],
        "groups": _groups(call, region, vpc, body), "pools": [], "listeners": [],
        "hostname": f"{ident.partition('-')[2][:8]}-{region}.lb.appdomain.cloud",
    }  # fmt: skip
    for pool in body.get("pools") or []:
        pools.add(call, record, pool)
    for listener in body.get("listeners") or []:
        listeners.add(call, record, listener)
    call.world.add("load-balancer", call.now, record)
    good = {"state": "active", "up": True}
    call.provision(record, call.settings.delays.create_load_balancer, good, {"state": "failed"})
    return Reply(201, render(call, record), etag=True)


def update_load_balancer(call: Call) -> Reply:
    record, body = find(call), call.json()
    call.check_match(lambda: render(call, record))
    changes.refuse_unless_active(record)
    if "name" in body:
        name = common.name_of(call, body)
        common.refuse_twin(call.world.all("load-balancer", vpc=record["vpc"]), name, record["id"])
        record["name"] = name
    if "subnets" in body:
        places = _subnets(call, record["region"], body)
        if places[0]["vpc"] != record["vpc"]:
            raise errors.vpc(400, "invalid_value", "the subnets are in another VPC", "subnets")
        record["subnets"] = [place["id"] for place in places]
    changes.start_update(call, record)
    return Reply(200, render(call, record), etag=True)


def delete_load_balancer(call: Call) -> Reply:
    record = find(call)
    call.check_match(lambda: render(call, record))
    if record["state"] not in {"active", "failed"}:
        raise changes.conflict(record)
    call.world.redirect(record, state="delete_pending", up=False)
    call.world.schedule(call.takes(call.settings.delays.delete_load_balancer), record, None)
    return Reply(204)


def put_target(call: Call) -> Reply:
    """Attach the balancer to a security group: `PUT security_groups/{group}/targets/{id}`."""
    record, group = find(call), _group(call)
    changes.refuse_unless_active(record)
    if group["vpc"] != record["vpc"]:
        raise errors.vpc(400, "invalid_value", "the security group is in another VPC", "id")
    if group["id"] not in record["groups"]:
        record["groups"].append(group["id"])
        changes.start_update(call, record)
    return Reply(201, common.reference(record, "load_balancers", "load_balancer"))


def delete_target(call: Call) -> Reply:
    record, group = find(call), _group(call)
    if group["id"] not in record["groups"]:
        raise errors.vpc(404, "not_found", "The security group target cannot be found")
    if len(record["groups"]) == 1:
        message = "The target must keep at least one security group"
        raise errors.vpc(409, "security_group_target_last", message)
    changes.refuse_unless_active(record)
    record["groups"].remove(group["id"])
    changes.start_update(call, record)
    return Reply(204)


def _group(call: Call) -> Record:
    return common.find(call, "security-group", common.region_of(call), call.params["group"], security_groups.MISSING)


_LBS = "/vpc/{region}/v1/load_balancers"
_LOGGING: dict[str, Field] = {"datapath": {"active": Only((False,))}}
_CREATE: dict[str, Field] = {
    **served("name is_public"),
    "subnets": IDENTITY,
    "security_groups": IDENTITY,
    "resource_group": GROUP,
    "pools": {key: field for key, field in pools.FIELDS.items() if key != "failsafe_policy"},
    "listeners": listeners.WITH_BALANCER,
    "logging": _LOGGING,
    "profile": {"name": SERVED, "href": NOT_SERVED},
    "route_mode": Only((False,)),
    "is_private_path": Only((False,)),
    "dns": NOT_SERVED,
}
_UPDATE: dict[str, Field] = {"name": SERVED, "subnets": IDENTITY, "logging": _LOGGING, "dns": NOT_SERVED}
_TARGET = "/vpc/{region}/v1/security_groups/{group}/targets/{id}"
ROUTES = (
    reads("GET", _LBS, "vpc.list_load_balancers", list_load_balancers, query=common.PAGES),
    writes("POST", _LBS, "vpc.create_load_balancer", create_load_balancer, fields=_CREATE),
    reads("GET", _LBS + "/{id}/statistics", "vpc.get_load_balancer_statistics", get_statistics),
    reads("GET", _LBS + "/{id}", "vpc.get_load_balancer", get_load_balancer),
    writes("PATCH", _LBS + "/{id}", "vpc.update_load_balancer", update_load_balancer, fields=_UPDATE),
    writes("DELETE", _LBS + "/{id}", "vpc.delete_load_balancer", delete_load_balancer),
    writes("PUT", _TARGET, "vpc.create_security_group_target_binding", put_target),
    writes("DELETE", _TARGET, "vpc.delete_security_group_target_binding", delete_target),
)
