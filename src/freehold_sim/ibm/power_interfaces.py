"""Network interfaces of PowerVS networks (docs/reference/ibm-cloud.md#powervs).

Their paths name no workspace; the CRN header does. Fields: power/models of
https://github.com/IBM-Cloud/power-go-client.
"""

from typing import Any

from freehold_sim.ibm import errors
from freehold_sim.ibm import power_networks as networks
from freehold_sim.ibm.call import Call, Reply, reads, writes
from freehold_sim.ibm.fields import served
from freehold_sim.ibm.power_workspaces import workspace_of
from freehold_sim.ibm.world import Record


def _network(call: Call) -> Record:
    record = call.world.get("network", call.params["network"])
    if record is None:
        raise errors.power(404, f"network {call.params['network']} does not exist")
    workspace_of(call, ident=record["workspace"])
    return record


def _find(call: Call) -> Record:
    network = _network(call)
    record = call.world.get("network-interface", call.params["interface"])
    if record is None or record["network"] != network["id"]:
        raise errors.power(404, f"network interface {call.params['interface']} does not exist")
    return record


def _render(call: Call, record: Record) -> dict[str, Any]:
    shown = {
        "crn": record["crn"],
        "id": record["id"],
        "ipAddress": record["ip"],
        "macAddress": record["mac"],
        "name": record["name"],
        "networkSecurityGroupIDs": [],
        "status": record["state"],
        "userTags": sorted(call.world.tags_at(record["crn"], call.now).values()),
    }
    if vm := record["vm"]:
        href = f"/pcloud/v1/cloud-instances/{record['workspace']}/pvm-instances/{vm}"
        shown["instance"] = {"href": href, "instanceID": vm}
    return shown


def list_interfaces(call: Call) -> Reply:
    records = call.listed(call.world.all("network-interface", network=_network(call)["id"]))
    return Reply(200, {"interfaces": [_render(call, r) for r in records]})


def get_interface(call: Call) -> Reply:
    return Reply(200, _render(call, _find(call)))


def create_interface(call: Call) -> Reply:
    network, body = _network(call), call.json()
    ip, mac = networks.new_address(call, network, body.get("ipAddress"))
    ident = call.world.new_uuid()
    workspace = call.world.get("instance", network["workspace"])
    assert workspace is not None, "a network does not outlive its workspace"
    record: Record = {
        "id": ident, "crn": f"{workspace['crn'][:-2]}:network-interface:{ident}", "workspace": network["workspace"],
        "name": body.get("name") or f"interface-{ident[:8]}", "network": network["id"], "ip": ip, "mac": mac,
        "vm": "", "state": "DOWN", "by": call.actor,
    }  # fmt: skip
    call.world.add("network-interface", call.now, record)
    for tag in body.get("userTags") or ():
        call.world.tag(record["crn"], tag, call.now)
    return Reply(201, _render(call, record))


def update_interface(call: Call) -> Reply:
    """Change the name, or attach the interface to a VM; an empty `instanceID` detaches it."""
    record, body = _find(call), call.json()
    if body.get("name") is not None:
        record["name"] = body["name"]
    if body.get("instanceID") is not None:
        record["vm"] = networks.vm_of(call, record["workspace"], body["instanceID"])
        record["state"] = "ACTIVE" if record["vm"] else "DOWN"
    return Reply(200, _render(call, record))


def delete_interface(call: Call) -> Reply:
    call.world.remove(_find(call), call.now)
    return Reply(200, {})


_INTERFACES = "/power/{region}/v1/networks/{network}/network-interfaces"
_INTERFACE = _INTERFACES + "/{interface}"
ROUTES = (
    reads("GET", _INTERFACES, "power.list_network_interfaces", list_interfaces),
    writes(
        "POST", _INTERFACES, "power.create_network_interface", create_interface,
        fields=served("name ipAddress userTags"),
    ),
    reads("GET", _INTERFACE, "power.get_network_interface", get_interface),
    writes(
        "PUT", _INTERFACE, "power.update_network_interface", update_interface, fields=served("name instanceID")
    ),
    writes("DELETE", _INTERFACE, "power.delete_network_interface", delete_interface),
)  # fmt: skip
