"""PowerVS DHCP servers: each creates and manages a private network (docs/reference/ibm-cloud.md#powervs)."""

import re
from typing import Any

from freehold_sim.ibm import errors, power_networks
from freehold_sim.ibm.call import Call, Reply, reads, writes
from freehold_sim.ibm.fields import Field, Only, served
from freehold_sim.ibm.power_workspaces import workspace_of
from freehold_sim.ibm.world import Record

_NAME = re.compile(r"[a-zA-Z0-9\-]{1,100}")


def _render(call: Call, record: Record, *, with_network: bool = True) -> dict[str, Any]:
    shown: dict[str, Any] = {"id": record["id"], "status": record["state"]}
    network = call.world.get("network", record["network"])
    if network is not None and with_network:
        shown["network"] = {"id": network["id"], "name": network["name"]}
    return shown


def _find(call: Call) -> Record:
    workspace = workspace_of(call)
    record = call.world.get("dhcp", call.params["dhcp"])
    if record is None or record["workspace"] != workspace["id"]:
        raise errors.power(404, "dhcp server does not exist")
    return record


def list_servers(call: Call) -> Reply:
    records = call.listed(call.world.all("dhcp", workspace=workspace_of(call)["id"]))
    return Reply(200, [_render(call, r) for r in records])


def get_server(call: Call) -> Reply:
    record = _find(call)
    on_it = call.world.all("vm", network=record["network"])
    leases = [{"instanceIP": vm["ip"], "instanceMacAddress": vm["mac"]} for vm in on_it]
    return Reply(200, {**_render(call, record), "leases": leases})


def create_server(call: Call) -> Reply:
    workspace, body = workspace_of(call), call.json()
    name = body.get("name") or f"dhcp-{call.world.new_hex()[:8]}"
    if not _NAME.fullmatch(str(name)):
        raise errors.power(400, f"invalid dhcp server name: {name} (letters, digits and dashes only)")
    if call.world.all("dhcp", workspace=workspace["id"]):
        raise errors.power(409, f"cloud instance {workspace['id']} already has a dhcp server")
    if body.get("cloudConnectionID"):
        raise errors.power(404, f"cloud connection {body['cloudConnectionID']} does not exist")
    cidr = power_networks.check_cidr(body.get("cidr", "192.168.0.0/24"))
    network_name = f"DHCPSERVER{name}_Private"
    if call.world.all("network", workspace=workspace["id"], name=network_name):
        raise errors.power(409, f"network {network_name} already exists")
    ident = call.world.new_uuid()
    dns = [body["dnsServer"]] if body.get("dnsServer") else ["1.1.1.1"]
    network = power_networks.add(call, workspace, network_name, cidr, dns, kind="dhcp-vlan", dhcp=ident)
    record: Record = {
        "id": ident, "name": name, "workspace": workspace["id"], "network": network["id"], "state": "BUILD",
        "snat": bool(body.get("snatEnabled", True)), "by": call.actor,
    }  # fmt: skip
    call.world.add("dhcp", call.now, record)
    delay = call.settings.delays.create_dhcp
    call.provision(record, delay, {"state": "ACTIVE"}, {"state": "ERROR"})
    call.provision(network, delay, {"state": "ACTIVE"}, {"state": "ERROR"})
    return Reply(202, _render(call, record, with_network=call.settings.assumptions.dhcp_post_shows_network))


def delete_server(call: Call) -> Reply:
    """Start the delete. The server keeps its state until it is gone; its network is removed some time later."""
    record = _find(call)
    network = call.world.get("network", record["network"])
    if network is not None and call.world.all("vm", network=network["id"]):
        still = f"network {network['id']} still attached to pvm-instances"
        raise errors.power(400, f"error deleting dhcp server {record['id']}: {still}")
    if record.get("leaving"):
        return Reply(202, {})
    gone = call.takes(call.settings.delays.delete_dhcp)
    call.world.redirect(record, leaving=True)
    call.world.schedule(gone, record, None)
    if network is not None:
        call.world.redirect(network)
        call.world.schedule(gone + call.settings.delays.delete_dhcp_network, network, None)
    return Reply(202, {})


_CREATE: dict[str, Field] = {
    **served("name cidr dnsServer snatEnabled cloudConnectionID"),
    "networkSecurityGroupIDs": Only(([],)),
}
_DHCP = "/power/{region}/pcloud/v1/cloud-instances/{workspace}/services/dhcp"
ROUTES = (
    reads("GET", _DHCP, "power.list_dhcp", list_servers),
    writes("POST", _DHCP, "power.create_dhcp", create_server, fields=_CREATE),
    reads("GET", _DHCP + "/{dhcp}", "power.get_dhcp", get_server),
    writes("DELETE", _DHCP + "/{dhcp}", "power.delete_dhcp", delete_server),
)
