"""Pools of a load balancer (docs/reference/ibm-cloud.md#vpc). Their members are in load_balancer_members."""

from typing import Any

from freehold_sim.ibm import errors
from freehold_sim.ibm import load_balancer_changes as changes
from freehold_sim.ibm import load_balancer_members as members
from freehold_sim.ibm import vpc_common as common
from freehold_sim.ibm.call import Call, Reply, iso, reads, writes
from freehold_sim.ibm.fields import NOT_SERVED, Field, Only, not_served, served
from freehold_sim.ibm.load_balancer_changes import Part
from freehold_sim.ibm.world import Record

_ALGORITHMS = {"least_connections", "round_robin", "weighted_round_robin"}
_PROTOCOLS = {"http", "https", "tcp", "udp"}
_PERSISTENCE = {"source_ip", "http_cookie", "app_cookie"}
_PROXY = {"disabled", "v1", "v2"}

FIELDS: dict[str, Field] = {
    **served("name algorithm protocol proxy_protocol"),
    "health_monitor": {**served("delay max_retries timeout type port url_path"), **not_served("request response")},
    "members": members.FIELDS,
    "session_persistence": served("type cookie_name"),
    "failsafe_policy": {"action": Only(("fail",)), "target": NOT_SERVED},
    **not_served("client_authentication server_authentication"),
}
"""Fields of a pool, also inside the create body of a load balancer."""


def _monitor(body: Any) -> Part:
    if not isinstance(body, dict):
        raise errors.vpc(400, "missing_field", "health_monitor is required", "health_monitor")
    numbers = [body.get(key) for key in ("delay", "max_retries", "timeout")]
    if not all(isinstance(number, int) for number in numbers):
        raise errors.vpc(400, "missing_field", "health_monitor needs delay, max_retries and timeout", "health_monitor")
    if body["timeout"] >= body["delay"]:
        raise errors.vpc(400, "invalid_value", "health_monitor.delay must be greater than timeout", "health_monitor")
    kind = changes.chosen(body, "type", {"http", "https", "tcp"})
    monitor = {"delay": body["delay"], "max_retries": body["max_retries"], "timeout": body["timeout"], "type": kind}
    if body.get("port") is not None:
        monitor["port"] = changes.port(body)
    if kind != "tcp":
        monitor.update(url_path=body.get("url_path", "/"), request={"method": "get"}, response={"codes": ["200"]})
    elif body.get("url_path"):
        raise errors.vpc(400, "invalid_value", "url_path is for http and https", "health_monitor.url_path")
    return monitor


def _persistence(body: Any) -> Part | None:
    if body is None:
        return None
    kind, name = changes.chosen(body, "type", _PERSISTENCE), body.get("cookie_name")
    if (kind == "app_cookie") != (name is not None):
        raise errors.vpc(400, "invalid_value", "cookie_name belongs to app_cookie", "session_persistence.cookie_name")
    return {"type": kind, "cookie_name": name} if name else {"type": kind}


def add(call: Call, record: Record, body: Part) -> Part:
    """Check a pool prototype, store it with its members, and return the stored pool."""
    call.require(body, "algorithm protocol health_monitor")
    name = common.name_of(call, body)
    common.refuse_twin(record["pools"], name)
    pool: Part = {
        "id": common.new_id(call, record["region"]), "name": name, "created_at": call.now,
        "algorithm": changes.chosen(body, "algorithm", _ALGORITHMS),
        "protocol": changes.chosen(body, "protocol", _PROTOCOLS),
        "monitor": _monitor(body.get("health_monitor")),
        "proxy_protocol": changes.chosen(body, "proxy_protocol", _PROXY, "disabled"),
        "persistence": _persistence(body.get("session_persistence")), "members": [],
    }  # fmt: skip
    for member in body.get("members") or []:
        members.add(call, record, pool, member)
    record["pools"].append(pool)
    return pool


def reference(record: Record, pool: Part) -> Part:
    return {"href": changes.url(record, "pools", pool["id"]), "id": pool["id"], "name": pool["name"]}


def _render(record: Record, pool: Part) -> Part:
    shown = {
        "algorithm": pool["algorithm"],
        "created_at": iso(pool["created_at"]),
        "failsafe_policy": {"action": "fail", "healthy_member_threshold_count": 0},
        "health_monitor": dict(pool["monitor"]),
        "members": [
            {"href": changes.url(record, "pools", pool["id"], "members", member["id"]), "id": member["id"]}
            for member in pool["members"]
        ],
        "protocol": pool["protocol"],
        "provisioning_status": changes.status(record),
        "proxy_protocol": pool["proxy_protocol"],
        **reference(record, pool),
    }
    return {**shown, "session_persistence": pool["persistence"]} if pool.get("persistence") else shown


def _pool(call: Call, record: Record) -> Part:
    return changes.part_of(call, record["pools"], "pool", "pool")


def list_pools(call: Call) -> Reply:
    record = changes.find(call)
    return Reply(200, {"pools": [_render(record, pool) for pool in record["pools"]]})


def get_pool(call: Call) -> Reply:
    record = changes.find(call)
    return Reply(200, _render(record, _pool(call, record)), etag=True)


def create_pool(call: Call) -> Reply:
    def change(record: Record) -> Reply:
        return Reply(201, _render(changes.new(record), add(call, record, call.json())), etag=True)

    return changes.changing(call, change)


def update_pool(call: Call) -> Reply:
    def change(record: Record) -> Reply:
        pool, body = _pool(call, record), call.json()
        call.check_match(lambda: _render(record, pool))
        changed = {**pool}
        if "name" in body:
            changed["name"] = common.name_of(call, body)
            common.refuse_twin(record["pools"], changed["name"], pool["id"])
        for key, choices in (("algorithm", _ALGORITHMS), ("protocol", _PROTOCOLS), ("proxy_protocol", _PROXY)):
            changed[key] = changes.chosen(body, key, choices, pool[key])
        if "health_monitor" in body:
            changed["monitor"] = _monitor(_merged(pool["monitor"], body["health_monitor"]))
        if "session_persistence" in body:
            changed["persistence"] = _persistence(body["session_persistence"])
        pool.update(changed)
        return Reply(200, _render(record, pool), etag=True)

    return changes.changing(call, change)


def _merged(monitor: Part, body: Part) -> Part:
    """Return the monitor with the fields of a patch; a change of its type drops what belongs to the old one."""
    kept = {key: value for key, value in monitor.items() if key != "url_path" or body.get("type") != "tcp"}
    return {**kept, **body}


def delete_pool(call: Call) -> Reply:
    def change(record: Record) -> Reply:
        pool = _pool(call, record)
        if any(listener["pool"] == pool["id"] for listener in record["listeners"]):
            message = "The pool is the default pool of a listener and cannot be deleted"
            raise errors.vpc(409, "load_balancer_pool_in_use", message)
        record["pools"].remove(pool)
        return Reply(204)

    return changes.changing(call, change)


_POOLS = "/vpc/{region}/v1/load_balancers/{id}/pools"
_UPDATE = {key: field for key, field in FIELDS.items() if key != "members"}
ROUTES = (
    reads("GET", _POOLS, "vpc.list_load_balancer_pools", list_pools),
    writes("POST", _POOLS, "vpc.create_load_balancer_pool", create_pool, fields=FIELDS),
    reads("GET", _POOLS + "/{pool}", "vpc.get_load_balancer_pool", get_pool),
    writes("PATCH", _POOLS + "/{pool}", "vpc.update_load_balancer_pool", update_pool, fields=_UPDATE),
    writes("DELETE", _POOLS + "/{pool}", "vpc.delete_load_balancer_pool", delete_pool),
)
