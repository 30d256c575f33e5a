"""Members of a load balancer's pools (docs/reference/ibm-cloud.md#vpc)."""

import ipaddress

from freehold_sim.ibm import errors
from freehold_sim.ibm import load_balancer_changes as changes
from freehold_sim.ibm import vpc_common as common
from freehold_sim.ibm.call import Call, Reply, iso, reads, writes
from freehold_sim.ibm.fields import SERVED, Field, not_served, served
from freehold_sim.ibm.load_balancer_changes import Part
from freehold_sim.ibm.world import Record

FIELDS: dict[str, Field] = {**served("port weight"), "target": {"address": SERVED, **not_served("id crn href fqdn")}}


def _member(call: Call, record: Record, pool: Part, body: Part, own_id: str = "") -> Part:
    """Check a member prototype and return the member, not yet stored."""
    try:
        address = str(ipaddress.IPv4Address(body["target"]["address"]))
    except (KeyError, TypeError, ValueError):
        message = "target.address must be an IPv4 address (the simulation has no instances as members)"
        raise errors.vpc(400, "invalid_value", message, "target") from None
    port = changes.port(body)
    if any(m["address"] == address and m["port"] == port and m["id"] != own_id for m in pool["members"]):
        message = f"The pool has a member with address {address} and port {port} already"
        raise errors.vpc(409, "load_balancer_member_duplicate", message, "target")
    return {
        "id": own_id or common.new_id(call, record["region"]), "address": address, "port": port,
        "created_at": call.now, "weight": changes.number(body, "weight", 0, 100, 50),
    }  # fmt: skip


def add(call: Call, record: Record, pool: Part, body: Part) -> Part:
    """Check a member prototype, store it in the pool, and return the stored member."""
    member = _member(call, record, pool, body)
    pool["members"].append(member)
    return member


def _render(record: Record, pool: Part, member: Part) -> Part:
    return {
        "created_at": iso(member["created_at"]),
        "health": "unknown" if record["state"] == "create_pending" else "ok",
        "href": changes.url(record, "pools", pool["id"], "members", member["id"]),
        "id": member["id"],
        "port": member["port"],
        "provisioning_status": changes.status(record),
        "target": {"address": member["address"]},
        "weight": member["weight"],
    }


def _pool(call: Call, record: Record) -> Part:
    return changes.part_of(call, record["pools"], "pool", "pool")


def _find(call: Call, pool: Part) -> Part:
    return changes.part_of(call, pool["members"], "member", "pool member")


def list_members(call: Call) -> Reply:
    record = changes.find(call)
    pool = _pool(call, record)
    return Reply(200, {"members": [_render(record, pool, member) for member in pool["members"]]})


def get_member(call: Call) -> Reply:
    record = changes.find(call)
    pool = _pool(call, record)
    return Reply(200, _render(record, pool, _find(call, pool)))


def create_member(call: Call) -> Reply:
    def change(record: Record) -> Reply:
        pool = _pool(call, record)
        return Reply(201, _render(changes.new(record), pool, add(call, record, pool, call.json())))

    return changes.changing(call, change)


def replace_members(call: Call) -> Reply:
    """Replace all members of the pool by new ones."""

    def change(record: Record) -> Reply:
        pool, fresh = _pool(call, record), {**_pool(call, record), "members": []}
        wanted = call.json().get("members")
        if wanted is None:
            raise errors.vpc(400, "missing_field", "members is required", "members")
        for body in wanted:
            add(call, record, fresh, body)
        pool["members"] = fresh["members"]
        shown = [_render(changes.new(record), pool, member) for member in pool["members"]]
        return Reply(202, {"members": shown})

    return changes.changing(call, change)


def update_member(call: Call) -> Reply:
    def change(record: Record) -> Reply:
        pool = _pool(call, record)
        member = _find(call, pool)
        held = {"port": member["port"], "weight": member["weight"], "target": {"address": member["address"]}}
        changed = _member(call, record, pool, {**held, **call.json()}, member["id"])
        member.update(changed, created_at=member["created_at"])
        return Reply(200, _render(record, pool, member))

    return changes.changing(call, change)


def delete_member(call: Call) -> Reply:
    def change(record: Record) -> Reply:
        pool = _pool(call, record)
        pool["members"].remove(_find(call, pool))
        return Reply(204)

    return changes.changing(call, change)


_MEMBERS = "/vpc/{region}/v1/load_balancers/{id}/pools/{pool}/members"
_MEMBER = _MEMBERS + "/{member}"
ROUTES = (
    reads("GET", _MEMBERS, "vpc.list_load_balancer_pool_members", list_members),
    writes("POST", _MEMBERS, "vpc.create_load_balancer_pool_member", create_member, fields=FIELDS),
    writes("PUT", _MEMBERS, "vpc.replace_load_balancer_pool_members", replace_members, fields={"members": FIELDS}),
    reads("GET", _MEMBER, "vpc.get_load_balancer_pool_member", get_member),
    writes("PATCH", _MEMBER, "vpc.update_load_balancer_pool_member", update_member, fields=FIELDS),
    writes("DELETE", _MEMBER, "vpc.delete_load_balancer_pool_member", delete_member),
)
