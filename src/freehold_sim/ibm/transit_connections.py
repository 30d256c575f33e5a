"""Connections of transit gateways (docs/reference/ibm-cloud.md#transit-gateway). They have no CRN and no tags."""

from typing import Any

from freehold_sim.ibm import errors, transit
from freehold_sim.ibm.call import Call, Reply, iso, reads, writes
from freehold_sim.ibm.fields import SERVED, Field, Only, not_served, served
from freehold_sim.ibm.world import Record

_NAME_LIMIT = 63
_NETWORK_TYPES = {"vpc", "power_virtual_server"}
_NOT_SERVED_TYPES = {"classic", "directlink", "gre_tunnel", "redundant_gre", "unbound_gre_tunnel", "vpn_gateway"}


def render(call: Call, record: Record) -> dict[str, Any]:
    shown = {
        "created_at": iso(record["created_at"]),
        "id": record["id"],
        "name": record["name"],
        "network_id": record["network"],
        "network_type": record["type"],
        "prefix_filters_default": "permit",
        "request_status": "approved",
        "status": record["state"],
        "updated_at": iso(record["updated_at"]),
    }
    if record["type"] == "vpc":
        shown["prefix_filters"] = []
    return shown


def _find(call: Call) -> tuple[Record, Record]:
    gateway = transit.find(call)
    record = call.world.get("connection", call.params["connection"])
    if record is None or record["gateway"] != gateway["id"]:
        raise errors.vpc(404, "not_found", "The connection was not found.")
    return gateway, record


def list_connections(call: Call) -> Reply:
    gateway = transit.find(call)
    records = call.world.all("connection", gateway=gateway["id"])
    if name := call.query.get("name"):
        records = [r for r in records if r["name"] == name]
    shown, body = transit.page(call, records, "connections", f"transit_gateways/{gateway['id']}/connections")
    body["connections"] = [render(call, r) for r in shown]
    body["total_count"] = len(records)
    return Reply(200, body)


def get_connection(call: Call) -> Reply:
    return Reply(200, render(call, _find(call)[1]))


def list_all(call: Call) -> Reply:
    """List the connections of the whole account, each with its gateway."""
    transit.check_version(call)
    records = call.world.all("connection")
    for query, key in (("network_id", "network"), ("network_type", "type")):
        if wanted := call.query.get(query):
            records = [r for r in records if r[key] == wanted]
    shown, body = transit.page(call, records, "connections", "connections")
    for record in shown:
        gateway = call.world.get("gateway", record["gateway"])
        assert gateway is not None, "a gateway with connections cannot be deleted"
        owner = {"crn": gateway["crn"], "id": gateway["id"], "name": gateway["name"]}
        body["connections"].append({**render(call, record), "transit_gateway": owner})
    return Reply(200, body)


def _network(call: Call, kind: str, crn: Any) -> tuple[Record, str]:
    """Return the network with this CRN and its VPC region; refuses one that does not exist or is not ready."""
    record = call.world.by_crn(str(crn))
    if record is not None and record["state"] not in {"available", "active", "removed"}:
        message = f"The network is not ready: its state is '{record['state']}'"
        raise errors.vpc(400, "precondition_failed", message, "network_id", str(crn))
    if record is not None and record["state"] == "removed":
        record = None
    if kind == "vpc" and record is not None and record["kind"] == "vpc":
        return record, str(record["region"])
    if kind == "power_virtual_server" and record is not None and record.get("service") == "power-iaas":
        zone = call.settings.power_zones[record["target"]]
        if not zone.edge_router:
            message = f"The workspace has no Power Edge Router: {record['target']}"
            raise errors.vpc(400, "precondition_failed", message, "network_id", str(crn))
        return record, zone.vpc_region
    status = call.settings.assumptions.unusable_network_status
    raise errors.vpc(status, "not_found", f"The network was not found: {crn}", "network_id", str(crn))


def _refuse_clash(call: Call, gateway: Record, kind: str, crn: str) -> None:
    """Refuse a network that is connected or was until recently, and a second global gateway for one VPC.

    IBM sends the same message in all three cases (terraform-provider-ibm#5482).
    """
    recently = call.world.data["detached"].get(crn, 0.0) > call.now
    owners = [call.world.get("gateway", other["gateway"]) for other in call.world.all("connection", network=crn)]
    here = any(owner is not None and owner["id"] == gateway["id"] for owner in owners)
    globally = kind == "vpc" and gateway["global"] and any(owner is not None and owner["global"] for owner in owners)
    if recently or here or globally:
        message = "The requested network is already connected to an existing transit gateway."
        raise errors.vpc(409, "conflict", message)


def _refuse_twin(call: Call, gateway: Record, name: str, own_id: str = "") -> None:
    others = call.world.all("connection", gateway=gateway["id"], name=name)
    if call.settings.assumptions.connection_names_unique and any(c["id"] != own_id for c in others):
        raise errors.vpc(409, "conflict", f"A connection with the name {name} exists already", "name", name)


def create_connection(call: Call) -> Reply:
    gateway, body = transit.find(call), call.json()
    call.require(body, "network_type")
    kind, crn = body["network_type"], body.get("network_id")
    if kind in _NOT_SERVED_TYPES:
        raise call.not_served(f"connections of the type {kind}")
    if kind not in _NETWORK_TYPES:
        raise errors.vpc(400, "invalid_value", f"network_type is not known: {kind}", "network_type", str(kind))
    call.require(body, "network_id")
    if kind == "power_virtual_server" and not body.get("name"):
        raise errors.vpc(400, "missing_field", "name is required for a power_virtual_server connection", "name")
    if gateway["state"] != "available":
        message = f"The gateway is not available: its status is '{gateway['state']}'"
        raise errors.vpc(409, "precondition_failed", message)
    network, region = _network(call, kind, crn)
    _refuse_clash(call, gateway, kind, str(crn))
    default = f"{network['name']}-connection"
    name = transit.check_name(body.get("name") or default[:_NAME_LIMIT], _NAME_LIMIT)
    _refuse_twin(call, gateway, name)
    local_only = call.settings.assumptions.local_gateway_refuses_other_region and not gateway["global"]
    if local_only and region != gateway["location"]:
        message = f"A local gateway in {gateway['location']} cannot connect a network in {region}"
        raise errors.vpc(400, "precondition_failed", message, "network_id", str(crn))
    record: Record = {
        "id": call.world.new_uuid(), "name": name, "gateway": gateway["id"], "network": str(crn), "type": kind,
        "state": "pending", "by": call.actor,
    }  # fmt: skip
    call.world.add("connection", call.now, record)
    call.provision(record, call.settings.delays.create_connection, {"state": "attached"}, {"state": "failed"})
    return Reply(201, render(call, record))


def update_connection(call: Call) -> Reply:
    gateway, record = _find(call)
    body = call.json()
    if record["state"] in {"deleting", "detaching"}:
        raise errors.vpc(409, "conflict", "The connection is being deleted")
    if "name" in body:
        name = transit.check_name(body["name"], _NAME_LIMIT)
        _refuse_twin(call, gateway, name, record["id"])
        record.update(name=name, updated_at=call.now)
    return Reply(200, render(call, record))


def delete_connection(call: Call) -> Reply:
    """Start the delete. The network counts as connected for some time after (terraform-provider-ibm#5482)."""
    record = _find(call)[1]
    if record["state"] == "deleting":
        raise errors.vpc(409, "conflict", "The connection is being deleted")
    gone = call.takes(call.settings.delays.delete_connection)
    call.world.redirect(record, state="deleting")
    call.world.schedule(gone, record, None)
    call.world.data["detached"][record["network"]] = gone + call.settings.lags.detach
    return Reply(204)


_UPDATE: dict[str, Field] = {"name": SERVED, "prefix_filters_default": Only(("permit",))}
_CREATE: dict[str, Field] = {
    **_UPDATE,
    **served("network_type network_id"),
    "prefix_filters": Only(([],)),
    **not_served(
        "base_connection_id base_network_type cidr local_gateway_ip local_tunnel_ip network_account_id remote_bgp_asn "
        "remote_gateway_ip remote_tunnel_ip tunnels zone"
    ),
}
_CONNECTIONS = "/transit/v1/transit_gateways/{id}/connections"
ROUTES = (
    reads(
        "GET",
        "/transit/v1/connections",
        "transit.list_connections",
        list_all,
        query="limit start network_id network_type",
    ),
    reads("GET", _CONNECTIONS, "transit.list_transit_gateway_connections", list_connections, query="limit start name"),
    writes("POST", _CONNECTIONS, "transit.create_transit_gateway_connection", create_connection, fields=_CREATE),
    reads("GET", _CONNECTIONS + "/{connection}", "transit.get_transit_gateway_connection", get_connection),
    writes(
        "PATCH",
        _CONNECTIONS + "/{connection}",
        "transit.update_transit_gateway_connection",
        update_connection,
        fields=_UPDATE,
    ),
    writes("DELETE", _CONNECTIONS + "/{connection}", "transit.delete_transit_gateway_connection", delete_connection),
)
