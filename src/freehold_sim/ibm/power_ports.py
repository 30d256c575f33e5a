"""Ports of PowerVS networks (docs/reference/ibm-cloud.md#powervs)."""

from typing import Any

from freehold_sim.ibm import errors
from freehold_sim.ibm import power_networks as networks
from freehold_sim.ibm.call import Call, Reply, reads, writes
from freehold_sim.ibm.fields import Field, not_served, served
from freehold_sim.ibm.world import Record


def _render_port(record: Record) -> dict[str, Any]:
    return {
        "description": record["name"],
        "externalIP": "",
        "href": f"/pcloud/v1/cloud-instances/{record['workspace']}/networks/{record['network']}/ports/{record['id']}",
        "ipAddress": record["ip"],
        "macAddress": record["mac"],
        "portID": record["id"],
        "status": record["state"],
        **_attached(record),
    }


def _attached(record: Record) -> dict[str, Any]:
    if not (vm := record.get("vm")):
        return {}
    href = f"/pcloud/v1/cloud-instances/{record['workspace']}/pvm-instances/{vm}"
    return {"pvmInstance": {"href": href, "pvmInstanceID": vm}}


def list_ports(call: Call) -> Reply:
    records = call.listed(call.world.all("port", network=networks.find(call)["id"]))
    return Reply(200, {"ports": [_render_port(r) for r in records]})


def create_port(call: Call) -> Reply:
    network, body = networks.find(call), call.json()
    ip, mac = networks.new_address(call, network, body.get("ipAddress"))
    record: Record = {
        "id": call.world.new_uuid(), "name": body.get("description", ""), "workspace": network["workspace"],
        "network": network["id"], "ip": ip, "mac": mac, "state": "DOWN", "by": call.actor,
    }  # fmt: skip
    return Reply(201, _render_port(call.world.add("port", call.now, record)))


def _find_port(call: Call) -> Record:
    record = call.world.get("port", call.params["port"])
    if record is None or record["network"] != networks.find(call)["id"]:
        raise errors.power(404, f"port {call.params['port']} does not exist")
    return record


def get_port(call: Call) -> Reply:
    return Reply(200, _render_port(_find_port(call)))


def update_port(call: Call) -> Reply:
    """Change the description, or attach the port to a VM; an empty `pvmInstanceID` detaches it."""
    record, body = _find_port(call), call.json()
    if body.get("description") is not None:
        record["name"] = body["description"]
    if body.get("pvmInstanceID") is not None:
        record["vm"] = networks.vm_of(call, record["workspace"], body["pvmInstanceID"])
        record["state"] = "ACTIVE" if record["vm"] else "DOWN"
    return Reply(200, _render_port(record))


def delete_port(call: Call) -> Reply:
    call.world.remove(_find_port(call), call.now)
    return Reply(200, {})


_PORTS = "/power/{region}/pcloud/v1/cloud-instances/{workspace}/networks/{network}/ports"
_CREATE: dict[str, Field] = {**served("description ipAddress"), **not_served("userTags")}
ROUTES = (
    reads("GET", _PORTS, "power.list_ports", list_ports),
    writes("POST", _PORTS, "power.create_port", create_port, fields=_CREATE),
    reads("GET", _PORTS + "/{port}", "power.get_port", get_port),
    writes("PUT", _PORTS + "/{port}", "power.update_port", update_port, fields=served("description pvmInstanceID")),
    writes("DELETE", _PORTS + "/{port}", "power.delete_port", delete_port),
)
