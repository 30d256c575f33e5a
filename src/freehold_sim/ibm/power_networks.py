"""PowerVS networks, their ports, and the VMs on them (docs/reference/ibm-cloud.md#powervs)."""

import ipaddress
import re
from typing import Any

from freehold_sim.ibm import errors
from freehold_sim.ibm.call import Call, Reply, iso, reads, writes
from freehold_sim.ibm.fields import SERVED, Field, not_served, served
from freehold_sim.ibm.power_workspaces import workspace_of
from freehold_sim.ibm.world import Record

_NAME = re.compile(r"[a-zA-Z0-9\-_]{1,128}")
_TYPES = {"vlan", "pub-vlan", "dhcp-vlan"}


def add(
    call: Call, workspace: Record, name: str, cidr: str, dns: list[str], *, kind: str = "vlan", dhcp: str = ""
) -> Record:
    """Add a network in state BUILD; `dhcp` is the id of the DHCP server that manages it."""
    ident = call.world.new_uuid()
    crn = f"{workspace['crn'][:-2]}:network:{ident}"
    shown = call.settings.assumptions.dhcp_network_has_crn or not dhcp
    record: Record = {
        "id": ident, "crn": crn if shown else "", "name": name, "workspace": workspace["id"], "type": kind,
        "cidr": cidr, "dns": dns, "dhcp": dhcp, "vlan": 100 + call.world.serial() % 3000, "state": "BUILD",
        "by": call.actor,
    }  # fmt: skip
    return call.world.add("network", call.now, record)


def _reference(record: Record) -> dict[str, Any]:
    shown = {
        "dhcpManaged": bool(record["dhcp"]),
        "href": f"/pcloud/v1/cloud-instances/{record['workspace']}/networks/{record['id']}",
        "mtu": 1450,
        "name": record["name"],
        "networkID": record["id"],
        "type": record["type"],
        "vlanID": record["vlan"],
    }
    return {**shown, "crn": record["crn"]} if record["crn"] else shown


def _render(call: Call, record: Record) -> dict[str, Any]:
    network = ipaddress.IPv4Network(record["cidr"])
    used = len(_occupants(call, record))
    total = network.num_addresses - 3
    metrics = {"available": total - used, "total": total, "used": used, "utilization": round(100 * used / total, 2)}
    first, last = network.network_address + 2, network.broadcast_address - 1
    plain = {key: value for key, value in _reference(record).items() if key != "href"}
    tags = sorted(call.world.tags_at(record["crn"], call.now).values()) if record["crn"] else []
    return {
        **plain,
        "cidr": record["cidr"],
        "dnsServers": record["dns"],
        "gateway": str(network.network_address + 1),
        "ipAddressMetrics": metrics,
        "ipAddressRanges": [{"startingIPAddress": str(first), "endingIPAddress": str(last)}],
        "userTags": tags,
    }


def _occupants(call: Call, record: Record) -> list[Record]:
    return [r for kind in ("vm", "port") for r in call.world.all(kind, network=record["id"])]


def _find(call: Call) -> Record:
    workspace = workspace_of(call)
    record = call.world.get("network", call.params["network"])
    if record is None or record["workspace"] != workspace["id"]:
        raise errors.power(404, f"network {call.params['network']} does not exist")
    return record


def list_networks(call: Call) -> Reply:
    records = call.listed(call.world.all("network", workspace=workspace_of(call)["id"]))
    return Reply(200, {"networks": [_reference(r) for r in records]})


def get_network(call: Call) -> Reply:
    return Reply(200, _render(call, _find(call)))


def check_cidr(text: Any) -> str:
    try:
        return str(ipaddress.IPv4Network(text))
    except (ValueError, TypeError):
        raise errors.power(400, f"invalid cidr: {text}") from None


def create_network(call: Call) -> Reply:
    workspace, body = workspace_of(call), call.json()
    name, kind = body.get("name") or f"network-{call.world.new_hex()[:8]}", body.get("type")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise errors.power(400, f"invalid network name: {name}")
    if kind not in _TYPES:
        raise errors.power(400, f"invalid network type: {kind}")
    if call.world.all("network", workspace=workspace["id"], name=name):
        raise errors.power(409, f"network {name} already exists")
    dns = body.get("dnsServers") or ["9.9.9.9"]
    record = add(call, workspace, name, check_cidr(body.get("cidr", "192.168.0.0/24")), dns, kind=kind)
    for tag in body.get("userTags") or ():
        call.world.tag(record["crn"], tag, call.now)
    call.provision(record, call.settings.delays.create_network, {"state": "ACTIVE"}, {"state": "ERROR"})
    return Reply(201, _render(call, record))


def update_network(call: Call) -> Reply:
    record, body = _find(call), call.json()
    if "name" in body:
        if not _NAME.fullmatch(str(body["name"])):
            raise errors.power(400, f"invalid network name: {body['name']}")
        record["name"] = body["name"]
    if "dnsServers" in body:
        record["dns"] = body["dnsServers"]
    return Reply(200, _render(call, record))


def delete_network(call: Call) -> Reply:
    record = _find(call)
    if occupants := _occupants(call, record):
        raise errors.power(409, f"network {record['id']} still attached to pvm-instances: {occupants[0]['id']}")
    if record["dhcp"] and call.world.get("dhcp", record["dhcp"]):
        raise errors.power(409, f"network {record['id']} is managed by dhcp server {record['dhcp']}")
    call.world.remove(record, call.now)
    return Reply(200, {})


def _render_port(record: Record) -> dict[str, Any]:
    return {
        "description": record["name"],
        "externalIP": "",
        "href": f"/pcloud/v1/cloud-instances/{record['workspace']}/networks/{record['network']}/ports/{record['id']}",
        "ipAddress": record["ip"],
        "macAddress": record["mac"],
        "portID": record["id"],
        "status": record["state"],
    }


def _new_address(call: Call, network: Record) -> tuple[str, str]:
    """Return the next IP address of the network and a MAC address."""
    number = len(_occupants(call, network)) + 10
    digits = call.world.new_hex()
    mac = ":".join(("fa", "16", "3e", digits[:2], digits[2:4], digits[4:6]))
    return str(ipaddress.IPv4Network(network["cidr"]).network_address + number), mac


def list_ports(call: Call) -> Reply:
    records = call.listed(call.world.all("port", network=_find(call)["id"]))
    return Reply(200, {"ports": [_render_port(r) for r in records]})


def create_port(call: Call) -> Reply:
    network, body = _find(call), call.json()
    ip, mac = _new_address(call, network)
    record: Record = {
        "id": call.world.new_uuid(), "name": body.get("description", ""), "workspace": network["workspace"],
        "network": network["id"], "ip": body.get("ipAddress") or ip, "mac": mac, "state": "DOWN", "by": call.actor,
    }  # fmt: skip
    return Reply(201, _render_port(call.world.add("port", call.now, record)))


def _find_port(call: Call) -> Record:
    record = call.world.get("port", call.params["port"])
    if record is None or record["network"] != _find(call)["id"]:
        raise errors.power(404, f"port {call.params['port']} does not exist")
    return record


def get_port(call: Call) -> Reply:
    return Reply(200, _render_port(_find_port(call)))


def delete_port(call: Call) -> Reply:
    call.world.remove(_find_port(call), call.now)
    return Reply(200, {})


def _render_vm(record: Record) -> dict[str, Any]:
    networks = [{"networkID": record["network"], "ipAddress": record["ip"], "macAddress": record["mac"]}]
    return {
        "creationDate": iso(record["created_at"]),
        "href": f"/pcloud/v1/cloud-instances/{record['workspace']}/pvm-instances/{record['id']}",
        "networks": networks,
        "pvmInstanceID": record["id"],
        "serverName": record["name"],
        "status": record["state"],
    }


def list_vms(call: Call) -> Reply:
    records = call.listed(call.world.all("vm", workspace=workspace_of(call)["id"]))
    return Reply(200, {"pvmInstances": [_render_vm(r) for r in records]})


def create_vm(call: Call) -> Reply:
    """Create a VM on one network: just enough to block the delete of the network."""
    workspace, body = workspace_of(call), call.json()
    wanted = next((n.get("networkID") for n in body.get("networks") or []), "")
    network = call.world.get("network", str(wanted))
    if not body.get("serverName") or network is None or network["workspace"] != workspace["id"]:
        raise errors.power(400, "serverName and networks[0].networkID are required")
    ip, mac = _new_address(call, network)
    record: Record = {
        "id": call.world.new_uuid(), "name": body["serverName"], "workspace": workspace["id"],
        "network": network["id"], "ip": ip, "mac": mac, "state": "ACTIVE", "by": call.actor,
    }  # fmt: skip
    return Reply(201, [_render_vm(call.world.add("vm", call.now, record))])


def _find_vm(call: Call) -> Record:
    workspace = workspace_of(call)
    record = call.world.get("vm", call.params["vm"])
    if record is None or record["workspace"] != workspace["id"]:
        raise errors.power(404, f"pvm-instance {call.params['vm']} does not exist")
    return record


def get_vm(call: Call) -> Reply:
    """Return a VM; a DHCP server is one too, and its id is valid here (docs/reference/ibm-cloud.md#powervs)."""
    server = call.world.get("dhcp", call.params["vm"])
    if server is not None and server["workspace"] == workspace_of(call)["id"]:
        return Reply(200, _render_vm({**server, "ip": "", "mac": ""}))
    return Reply(200, _render_vm(_find_vm(call)))


def delete_vm(call: Call) -> Reply:
    call.world.remove(_find_vm(call), call.now)
    return Reply(200, {})


_CREATE: dict[str, Field] = {
    **served("name type cidr dnsServers userTags"),
    **not_served("accessConfig advertise arpBroadcast gateway ipAddressRanges jumbo mtu peer"),
}
_UPDATE: dict[str, Field] = {
    **served("name dnsServers"),
    **not_served("advertise arpBroadcast gateway ipAddressRanges"),
}
_PORT: dict[str, Field] = {**served("description ipAddress"), **not_served("userTags")}
_NETWORKS = "/power/{region}/pcloud/v1/cloud-instances/{workspace}/networks"
_VM: dict[str, Field] = {"serverName": SERVED, "networks": served("networkID")}
_VMS = "/power/{region}/pcloud/v1/cloud-instances/{workspace}/pvm-instances"
ROUTES = (
    reads("GET", _NETWORKS, "power.list_networks", list_networks),
    writes("POST", _NETWORKS, "power.create_network", create_network, fields=_CREATE),
    reads("GET", _NETWORKS + "/{network}", "power.get_network", get_network),
    writes("PUT", _NETWORKS + "/{network}", "power.update_network", update_network, fields=_UPDATE),
    writes("DELETE", _NETWORKS + "/{network}", "power.delete_network", delete_network),
    reads("GET", _NETWORKS + "/{network}/ports", "power.list_ports", list_ports),
    writes("POST", _NETWORKS + "/{network}/ports", "power.create_port", create_port, fields=_PORT),
    reads("GET", _NETWORKS + "/{network}/ports/{port}", "power.get_port", get_port),
    writes("DELETE", _NETWORKS + "/{network}/ports/{port}", "power.delete_port", delete_port),
    reads("GET", _VMS, "power.list_pvm_instances", list_vms),
    writes("POST", _VMS, "power.create_pvm_instance", create_vm, fields=_VM),
    reads("GET", _VMS + "/{vm}", "power.get_pvm_instance", get_vm),
    writes("DELETE", _VMS + "/{vm}", "power.delete_pvm_instance", delete_vm),
)
