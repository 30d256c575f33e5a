"""Listeners of a load balancer (docs/reference/ibm-cloud.md#vpc)."""

from typing import Any

from freehold_sim.ibm import errors
from freehold_sim.ibm import load_balancer_changes as changes
from freehold_sim.ibm import load_balancer_pools as pools
from freehold_sim.ibm import vpc_common as common
from freehold_sim.ibm.call import Call, Reply, iso, reads, writes
from freehold_sim.ibm.fields import Field, not_served, served
from freehold_sim.ibm.load_balancer_changes import Part
from freehold_sim.ibm.world import Record

_PROTOCOLS = {"http", "https", "tcp", "udp"}

FIELDS: dict[str, Field] = {
    **served("protocol port port_min port_max connection_limit accept_proxy_protocol idle_connection_timeout"),
    "default_pool": served("id href"),
    **not_served("certificate_instance client_authentication https_redirect policies"),
}
"""Fields of a listener. `WITH_BALANCER` are those inside the create body of a load balancer, where pools have no id."""

WITH_BALANCER: dict[str, Field] = {
    **{key: field for key, field in FIELDS.items() if key != "policies"}, "default_pool": served("name"),
}  # fmt: skip


def _port(body: Part) -> int:
    """Return the port; a range of several is only for balancers with route mode, which are not simulated."""
    low = changes.port(body) if body.get("port") is not None else changes.port(body, "port_min")
    for key in ("port_min", "port_max"):
        if body.get(key, low) != low:
            raise errors.vpc(400, "invalid_value", f"{key} must be {low}: this profile has no port ranges", key)
    return low


def _default_pool(record: Record, wanted: Any) -> str:
    """Return the id of the pool given by `id` or `href` or, in a create body, by `name`; "" if none is given."""
    if not wanted:
        return ""
    ident = common.id_in(wanted)
    for pool in record["pools"]:
        if pool["id"] == ident or pool["name"] == wanted.get("name"):
            return str(pool["id"])
    raise errors.vpc(400, "not_found", f"The pool cannot be found: {wanted}", "default_pool")


def _checked(record: Record, body: Part, own_id: str = "") -> Part:
    """Return the fields of a listener from its prototype."""
    port = _port(body)
    if any(present["port"] == port and present["id"] != own_id for present in record["listeners"]):
        message = f"The load balancer has a listener on port {port} already"
        raise errors.vpc(409, "load_balancer_listener_duplicate", message, "port", str(port))
    return {
        "port": port,
        "protocol": changes.chosen(body, "protocol", _PROTOCOLS),
        "pool": _default_pool(record, body.get("default_pool")),
        "connection_limit": changes.number(body, "connection_limit", 1, 15000, 15000),
        "accept_proxy_protocol": body.get("accept_proxy_protocol") is True,
        "idle_connection_timeout": changes.number(body, "idle_connection_timeout", 50, 7200, 50),
    }


def add(call: Call, record: Record, body: Part) -> Part:
    """Check a listener prototype, store it, and return the stored listener."""
    call.require(body, "protocol" if body.get("port_min") is not None else "protocol port")
    fields = _checked(record, body)
    listener = {"id": common.new_id(call, record["region"]), "created_at": call.now, **fields}
    record["listeners"].append(listener)
    return listener


def _render(record: Record, listener: Part) -> Part:
    shown: Part = {
        "accept_proxy_protocol": listener.get("accept_proxy_protocol", False),
        "connection_limit": listener["connection_limit"],
        "created_at": iso(listener["created_at"]),
        "href": changes.url(record, "listeners", listener["id"]),
        "id": listener["id"],
        "idle_connection_timeout": listener.get("idle_connection_timeout", 50),
        "port": listener["port"],
        "port_max": listener["port"],
        "port_min": listener["port"],
        "protocol": listener["protocol"],
        "provisioning_status": changes.status(record),
    }
    for pool in record["pools"]:
        if pool["id"] == listener["pool"]:
            shown["default_pool"] = pools.reference(record, pool)
    return shown


def _find(call: Call, record: Record) -> Part:
    return changes.part_of(call, record["listeners"], "listener", "listener")


def list_listeners(call: Call) -> Reply:
    record = changes.find(call)
    return Reply(200, {"listeners": [_render(record, listener) for listener in record["listeners"]]})


def get_listener(call: Call) -> Reply:
    record = changes.find(call)
    return Reply(200, _render(record, _find(call, record)))


def create_listener(call: Call) -> Reply:
    def change(record: Record) -> Reply:
        return Reply(201, _render(changes.new(record), add(call, record, call.json())))

    return changes.changing(call, change)


def update_listener(call: Call) -> Reply:
    def change(record: Record) -> Reply:
        listener, body = _find(call, record), call.json()
        held = {key: value for key, value in _render(record, listener).items() if not key.startswith("port_")}
        if {"port_min", "port_max"} & body.keys() and "port" not in body:
            del held["port"]
        listener.update(_checked(record, {**held, **body}, listener["id"]))
        return Reply(200, _render(record, listener))

    return changes.changing(call, change)


def delete_listener(call: Call) -> Reply:
    def change(record: Record) -> Reply:
        record["listeners"].remove(_find(call, record))
        return Reply(204)

    return changes.changing(call, change)


_LISTENERS = "/vpc/{region}/v1/load_balancers/{id}/listeners"
_LISTENER = _LISTENERS + "/{listener}"
_UPDATE = {key: field for key, field in FIELDS.items() if key != "policies"}
ROUTES = (
    reads("GET", _LISTENERS, "vpc.list_load_balancer_listeners", list_listeners),
    writes("POST", _LISTENERS, "vpc.create_load_balancer_listener", create_listener, fields=FIELDS),
    reads("GET", _LISTENER, "vpc.get_load_balancer_listener", get_listener),
    writes("PATCH", _LISTENER, "vpc.update_load_balancer_listener", update_listener, fields=_UPDATE),
    writes("DELETE", _LISTENER, "vpc.delete_load_balancer_listener", delete_listener),
)
