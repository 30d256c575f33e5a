"""The parts of a load balancer: pools with members, and listeners (docs/reference/ibm-cloud.md#vpc).

Each mutation puts the balancer into `update_pending`; while it is not `active`, mutations are refused with 409.
"""

import ipaddress
from collections.abc import Callable
from typing import Any

from freehold_sim.ibm import errors
from freehold_sim.ibm import vpc_common as common
from freehold_sim.ibm.call import Call, Reply, iso, reads, writes
from freehold_sim.ibm.fields import NOT_SERVED, SERVED, Field, Only, not_served, served
from freehold_sim.ibm.world import Record

Part = dict[str, Any]

_ALGORITHMS = {"least_connections", "round_robin", "weighted_round_robin"}
_PROTOCOLS = {"http", "https", "tcp", "udp"}


MEMBER: dict[str, Field] = {**served("port weight"), "target": {"address": SERVED, **not_served("id crn href")}}
_MONITOR: dict[str, Field] = {
    **served("delay max_retries timeout type port url_path"),
    **not_served("request response"),
}
POOL: dict[str, Field] = {
    **served("name algorithm protocol proxy_protocol"),
    "health_monitor": _MONITOR,
    "members": MEMBER,
    "failsafe_policy": NOT_SERVED,
    **not_served("session_persistence client_authentication server_authentication"),
}
LISTENER: dict[str, Field] = {
    **served("protocol port port_min port_max connection_limit"),
    "default_pool": served("id name"),
    "accept_proxy_protocol": Only((False,)),
    "idle_connection_timeout": Only((50,)),
    **not_served("certificate_instance client_authentication https_redirect policies"),
}


def conflict(record: Record) -> errors.Refused:
    state = record["state"].upper()
    message = f"The load balancer with ID '{record['id']}' cannot be updated because its status is '{state}'."
    return errors.vpc(409, "load_balancer_update_conflict", message)


def refuse_unless_active(record: Record) -> None:
    if record["state"] != "active":
        raise conflict(record)


def start_update(call: Call, record: Record) -> None:
    call.world.redirect(record, state="update_pending")
    call.provision(record, call.settings.delays.update_load_balancer, {"state": "active"}, {"state": "failed"})


# -- making parts ---------------------------------------------------------------------------------------------


def _chosen(body: Part, key: str, choices: set[str]) -> str:
    value = body.get(key)
    if value not in choices:
        raise errors.vpc(400, "invalid_value", f"{key} must be one of {sorted(choices)}", key, str(value))
    return str(value)


def _port(body: Part, key: str = "port") -> int:
    port = body.get(key)
    if not isinstance(port, int) or not 1 <= port <= 65535:
        raise errors.vpc(400, "invalid_value", f"{key} must be between 1 and 65535", key, str(port))
    return port


def _monitor(body: Any) -> Part:
    if not isinstance(body, dict):
        raise errors.vpc(400, "missing_field", "health_monitor is required", "health_monitor")
    numbers = [body.get(key) for key in ("delay", "max_retries", "timeout")]
    if not all(isinstance(number, int) for number in numbers):
        raise errors.vpc(400, "missing_field", "health_monitor needs delay, max_retries and timeout", "health_monitor")
    if body["timeout"] >= body["delay"]:
        raise errors.vpc(400, "invalid_value", "health_monitor.delay must be greater than timeout", "health_monitor")
    kind = _chosen(body, "type", {"http", "https", "tcp"})
    monitor = {"delay": body["delay"], "max_retries": body["max_retries"], "timeout": body["timeout"], "type": kind}
    if "port" in body:
        monitor["port"] = _port(body)
    if kind != "tcp":
        monitor.update(url_path=body.get("url_path", "/"), request={"method": "get"}, response={"codes": ["200"]})
    return monitor


def add_pool(call: Call, record: Record, body: Part) -> Part:
    """Check a pool prototype, store it with its members, and return the stored pool."""
    name = common.name_of(call, body)
    common.refuse_twin(record["pools"], name)
    pool: Part = {
        "id": common.new_id(call, record["region"]), "name": name, "created_at": call.now,
        "algorithm": _chosen(body, "algorithm", _ALGORITHMS), "protocol": _chosen(body, "protocol", _PROTOCOLS),
        "monitor": _monitor(body.get("health_monitor")), "proxy_protocol": body.get("proxy_protocol", "disabled"),
        "members": [],
    }  # fmt: skip
    for member in body.get("members") or []:
        add_member(call, record, pool, member)
    record["pools"].append(pool)
    return pool


def add_member(call: Call, record: Record, pool: Part, body: Part) -> Part:
    target = body.get("target") or {}
    try:
        address = str(ipaddress.IPv4Address(target["address"]))
    except (KeyError, ValueError):
        message = "target.address must be an IPv4 address (the simulation has no instances as members)"
        raise errors.vpc(400, "invalid_value", message, "target") from None
    port = _port(body)
    if any(m["address"] == address and m["port"] == port for m in pool["members"]):
        message = f"The pool has a member with address {address} and port {port} already"
        raise errors.vpc(409, "load_balancer_member_duplicate", message, "target")
    member = {
        "id": common.new_id(call, record["region"]), "address": address, "port": port, "created_at": call.now,
        "weight": body.get("weight", 50),
    }  # fmt: skip
    pool["members"].append(member)
    return member


def add_listener(call: Call, record: Record, body: Part) -> Part:
    low = _port(body) if "port" in body else _port(body, "port_min")
    if any(present["port"] == low for present in record["listeners"]):
        message = f"The load balancer has a listener on port {low} already"
        raise errors.vpc(409, "load_balancer_listener_duplicate", message, "port", str(low))
    listener = {
        "id": common.new_id(call, record["region"]), "port": low, "created_at": call.now,
        "protocol": _chosen(body, "protocol", _PROTOCOLS), "pool": _default_pool(record, body.get("default_pool")),
        "connection_limit": body.get("connection_limit", 15000),
    }  # fmt: skip
    record["listeners"].append(listener)
    return listener


def _default_pool(record: Record, wanted: Any) -> str:
    """Return the id of the pool given by `id` or, in a create body, by `name`; "" if none is given."""
    if not wanted:
        return ""
    for pool in record["pools"]:
        if wanted.get("id") == pool["id"] or wanted.get("name") == pool["name"]:
            return str(pool["id"])
    raise errors.vpc(400, "not_found", f"The pool cannot be found: {wanted}", "default_pool")


# -- rendering parts ------------------------------------------------------------------------------------------


def _url(record: Record, *path: str) -> str:
    return "/".join((common.base(record["region"]), "load_balancers", record["id"], *path))


def pool_reference(record: Record, pool: Part) -> Part:
    return {"href": _url(record, "pools", pool["id"]), "id": pool["id"], "name": pool["name"]}


def _status(record: Record) -> str:
    """Return the provisioning status of a part, derived from its balancer."""
    follows = {"create_pending", "update_pending", "delete_pending", "failed"}
    return str(record["state"]) if record["state"] in follows else "active"


def render_pool(record: Record, pool: Part) -> Part:
    members = [
        {"href": _url(record, "pools", pool["id"], "members", member["id"]), "id": member["id"]}
        for member in pool["members"]
    ]
    return {
        "algorithm": pool["algorithm"],
        "created_at": iso(pool["created_at"]),
        "failsafe_policy": {"action": "fail", "healthy_member_threshold_count": 0},
        "health_monitor": dict(pool["monitor"]),
        "members": members,
        "protocol": pool["protocol"],
        "provisioning_status": _status(record),
        "proxy_protocol": pool["proxy_protocol"],
        **pool_reference(record, pool),
    }


def render_member(record: Record, pool: Part, member: Part) -> Part:
    return {
        "created_at": iso(member["created_at"]),
        "health": "unknown" if record["state"] == "create_pending" else "ok",
        "href": _url(record, "pools", pool["id"], "members", member["id"]),
        "id": member["id"],
        "port": member["port"],
        "provisioning_status": _status(record),
        "target": {"address": member["address"]},
        "weight": member["weight"],
    }


def render_listener(record: Record, listener: Part) -> Part:
    shown: Part = {
        "accept_proxy_protocol": False,
        "connection_limit": listener["connection_limit"],
        "created_at": iso(listener["created_at"]),
        "href": _url(record, "listeners", listener["id"]),
        "id": listener["id"],
        "idle_connection_timeout": 50,
        "port": listener["port"],
        "port_max": listener["port"],
        "port_min": listener["port"],
        "protocol": listener["protocol"],
        "provisioning_status": _status(record),
    }
    for pool in record["pools"]:
        if pool["id"] == listener["pool"]:
            shown["default_pool"] = pool_reference(record, pool)
    return shown


# -- operations -----------------------------------------------------------------------------------------------


def _balancer(call: Call) -> Record:
    missing = "The load balancer cannot be found"
    return common.find(call, "load-balancer", common.region_of(call), call.params["id"], missing)


def _part(call: Call, held: list[Part], param: str, label: str) -> Part:
    for part in held:
        if part["id"] == call.params[param]:
            return part
    raise errors.vpc(404, "not_found", f"The load balancer {label} cannot be found")


def _pool(call: Call, record: Record) -> Part:
    return _part(call, record["pools"], "pool", "pool")


def _changing(call: Call, change: Callable[[Record], Reply]) -> Reply:
    """Apply `change` to an active balancer and set it to update_pending; if refused, it stays active."""
    record = _balancer(call)
    refuse_unless_active(record)
    reply = change(record)
    start_update(call, record)
    return reply


def list_pools(call: Call) -> Reply:
    record = _balancer(call)
    return Reply(200, {"pools": [render_pool(record, pool) for pool in record["pools"]]})


def get_pool(call: Call) -> Reply:
    record = _balancer(call)
    return Reply(200, render_pool(record, _pool(call, record)))


def create_pool(call: Call) -> Reply:
    def change(record: Record) -> Reply:
        return Reply(201, render_pool({**record, "state": "create_pending"}, add_pool(call, record, call.json())))

    return _changing(call, change)


def update_pool(call: Call) -> Reply:
    def change(record: Record) -> Reply:
        pool, body = _pool(call, record), call.json()
        if "name" in body:
            common.refuse_twin(record["pools"], common.name_of(call, body), pool["id"])
            pool["name"] = body["name"]
        if "algorithm" in body:
            pool["algorithm"] = _chosen(body, "algorithm", _ALGORITHMS)
        if "protocol" in body:
            pool["protocol"] = _chosen(body, "protocol", _PROTOCOLS)
        if "health_monitor" in body:
            pool["monitor"] = _monitor({**pool["monitor"], **body["health_monitor"]})
        return Reply(200, render_pool(record, pool))

    return _changing(call, change)


def delete_pool(call: Call) -> Reply:
    def change(record: Record) -> Reply:
        pool = _pool(call, record)
        if any(listener["pool"] == pool["id"] for listener in record["listeners"]):
            message = "The pool is the default pool of a listener and cannot be deleted"
            raise errors.vpc(409, "load_balancer_pool_in_use", message)
        record["pools"].remove(pool)
        return Reply(204)

    return _changing(call, change)


def list_members(call: Call) -> Reply:
    record = _balancer(call)
    pool = _pool(call, record)
    return Reply(200, {"members": [render_member(record, pool, member) for member in pool["members"]]})


def get_member(call: Call) -> Reply:
    record = _balancer(call)
    pool = _pool(call, record)
    return Reply(200, render_member(record, pool, _part(call, pool["members"], "member", "pool member")))


def create_member(call: Call) -> Reply:
    def change(record: Record) -> Reply:
        pool = _pool(call, record)
        member = add_member(call, record, pool, call.json())
        return Reply(201, render_member({**record, "state": "create_pending"}, pool, member))

    return _changing(call, change)


def delete_member(call: Call) -> Reply:
    def change(record: Record) -> Reply:
        pool = _pool(call, record)
        pool["members"].remove(_part(call, pool["members"], "member", "pool member"))
        return Reply(204)

    return _changing(call, change)


def list_listeners(call: Call) -> Reply:
    record = _balancer(call)
    return Reply(200, {"listeners": [render_listener(record, listener) for listener in record["listeners"]]})


def get_listener(call: Call) -> Reply:
    record = _balancer(call)
    return Reply(200, render_listener(record, _part(call, record["listeners"], "listener", "listener")))


def create_listener(call: Call) -> Reply:
    def change(record: Record) -> Reply:
        listener = add_listener(call, record, call.json())
        return Reply(201, render_listener({**record, "state": "create_pending"}, listener))

    return _changing(call, change)


def update_listener(call: Call) -> Reply:
    def change(record: Record) -> Reply:
        listener, body = _part(call, record["listeners"], "listener", "listener"), call.json()
        if "default_pool" in body:
            listener["pool"] = _default_pool(record, body["default_pool"])
        if "protocol" in body:
            listener["protocol"] = _chosen(body, "protocol", _PROTOCOLS)
        if "connection_limit" in body:
            listener["connection_limit"] = body["connection_limit"]
        return Reply(200, render_listener(record, listener))

    return _changing(call, change)


def delete_listener(call: Call) -> Reply:
    def change(record: Record) -> Reply:
        record["listeners"].remove(_part(call, record["listeners"], "listener", "listener"))
        return Reply(204)

    return _changing(call, change)


_POOLS = "/vpc/{region}/v1/load_balancers/{id}/pools"
_MEMBERS = _POOLS + "/{pool}/members"
_LISTENERS = "/vpc/{region}/v1/load_balancers/{id}/listeners"
ROUTES = (
    reads("GET", _POOLS, "vpc.list_load_balancer_pools", list_pools),
    writes("POST", _POOLS, "vpc.create_load_balancer_pool", create_pool, fields=POOL),
    reads("GET", _POOLS + "/{pool}", "vpc.get_load_balancer_pool", get_pool),
    writes("PATCH", _POOLS + "/{pool}", "vpc.update_load_balancer_pool", update_pool, fields=POOL),
    writes("DELETE", _POOLS + "/{pool}", "vpc.delete_load_balancer_pool", delete_pool),
    reads("GET", _MEMBERS, "vpc.list_load_balancer_pool_members", list_members),
    writes("POST", _MEMBERS, "vpc.create_load_balancer_pool_member", create_member, fields=MEMBER),
    reads("GET", _MEMBERS + "/{member}", "vpc.get_load_balancer_pool_member", get_member),
    writes("DELETE", _MEMBERS + "/{member}", "vpc.delete_load_balancer_pool_member", delete_member),
    reads("GET", _LISTENERS, "vpc.list_load_balancer_listeners", list_listeners),
    writes("POST", _LISTENERS, "vpc.create_load_balancer_listener", create_listener, fields=LISTENER),
    reads("GET", _LISTENERS + "/{listener}", "vpc.get_load_balancer_listener", get_listener),
    writes("PATCH", _LISTENERS + "/{listener}", "vpc.update_load_balancer_listener", update_listener, fields=LISTENER),
    writes("DELETE", _LISTENERS + "/{listener}", "vpc.delete_load_balancer_listener", delete_listener),
)
