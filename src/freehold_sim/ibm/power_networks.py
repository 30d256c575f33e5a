"""PowerVS networks (docs/reference/ibm-cloud.md#powervs).

Fields: power/models of https://github.com/IBM-Cloud/power-go-client.
"""

import ipaddress
import re
from typing import Any

from freehold_sim.ibm import errors
from freehold_sim.ibm.call import Call, Reply, reads, writes
from freehold_sim.ibm.fields import Field, not_served, served
from freehold_sim.ibm.power_workspaces import workspace_of
from freehold_sim.ibm.world import Record

_NAME = re.compile(r"[a-zA-Z0-9\-_]{1,128}")
_TYPES = {"vlan", "pub-vlan", "dhcp-vlan"}
_MTU, _JUMBO = 1450, 9000
_DNS = {"vlan": ("127.0.0.1",), "pub-vlan": ("9.9.9.9",), "dhcp-vlan": ("9.9.9.9",)}
"""Name servers of a network that names none (NetworkCreate in power-go-client)."""

_CHOICES = {
    "accessConfig": (
        "internal-only", "outbound-only", "bidirectional-static-route", "bidirectional-bgp", "bidirectional-l2out",
    ),
    "advertise": ("enable", "disable"),
    "arpBroadcast": ("enable", "disable"),
}  # fmt: skip


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


def _mtu(record: Record) -> int:
    return int(record.get("mtu") or _MTU)


def _ranges(record: Record) -> list[dict[str, str]]:
    """Return the address ranges that were given, or all of the network but its first two and its last address."""
    if given := record.get("ranges"):
        return [dict(one) for one in given]
    network = ipaddress.IPv4Network(record["cidr"])
    first, last = network.network_address + 2, network.broadcast_address - 1
    return [{"startingIPAddress": str(first), "endingIPAddress": str(last)}]


def _count(one: dict[str, str]) -> int:
    first, last = (ipaddress.IPv4Address(one[key]) for key in ("startingIPAddress", "endingIPAddress"))
    return int(last) - int(first) + 1


def _reference(record: Record) -> dict[str, Any]:
    shown = {
        "dhcpManaged": bool(record["dhcp"]),
        "href": f"/pcloud/v1/cloud-instances/{record['workspace']}/networks/{record['id']}",
        "accessConfig": record.get("accessConfig", "internal-only"),
        "advertise": record.get("advertise", "enable"),
        "arpBroadcast": record.get("arpBroadcast", "disable"),
        "jumbo": _mtu(record) > _MTU,
        "mtu": _mtu(record),
        "name": record["name"],
        "networkID": record["id"],
        "type": record["type"],
        "vlanID": record["vlan"],
    }
    return {**shown, "crn": record["crn"]} if record["crn"] else shown


def _render(call: Call, record: Record) -> dict[str, Any]:
    network = ipaddress.IPv4Network(record["cidr"])
    used = len(occupants(call, record))
    ranges = _ranges(record)
    total = sum(_count(one) for one in ranges)
    metrics = {"available": total - used, "total": total, "used": used, "utilization": round(100 * used / total, 2)}
    plain = {key: value for key, value in _reference(record).items() if key != "href"}
    tags = sorted(call.world.tags_at(record["crn"], call.now).values()) if record["crn"] else []
    return {
        **plain,
        "cidr": record["cidr"],
        "dnsServers": record["dns"],
        "gateway": record.get("gateway") or str(network.network_address + 1),
        "ipAddressMetrics": metrics,
        "ipAddressRanges": ranges,
        "userTags": tags,
    }


def occupants(call: Call, record: Record) -> list[Record]:
    return [r for kind in ("vm", "port", "network-interface") for r in call.world.all(kind, network=record["id"])]


def find(call: Call) -> Record:
    workspace = workspace_of(call)
    record = call.world.get("network", call.params["network"])
    if record is None or record["workspace"] != workspace["id"]:
        raise errors.power(404, f"network {call.params['network']} does not exist")
    return record


def list_networks(call: Call) -> Reply:
    records = call.listed(call.world.all("network", workspace=workspace_of(call)["id"]))
    return Reply(200, {"networks": [_reference(r) for r in records]})


def get_network(call: Call) -> Reply:
    return Reply(200, _render(call, find(call)))


def check_cidr(text: Any) -> str:
    try:
        return str(ipaddress.IPv4Network(text))
    except (ValueError, TypeError):
        raise errors.power(400, f"invalid cidr: {text}") from None


def _address(text: Any, field: str) -> ipaddress.IPv4Address:
    try:
        return ipaddress.IPv4Address(text)
    except (ValueError, TypeError):
        raise errors.power(400, f"invalid {field}: {text}") from None


def _options(body: dict[str, Any], cidr: str) -> dict[str, Any]:
    """Check the optional fields of a network and return those that were given, as they are stored."""
    found: dict[str, Any] = {}
    for key, choices in _CHOICES.items():
        if body.get(key) is not None:
            if body[key] not in choices:
                raise errors.power(400, f"invalid {key}: {body[key]} (one of {', '.join(choices)})")
            found[key] = body[key]
    if body.get("dnsServers"):
        found["dns"] = [str(_address(server, "dnsServers")) for server in body["dnsServers"]]
    block = ipaddress.IPv4Network(cidr)
    if body.get("gateway"):
        if _address(body["gateway"], "gateway") not in block:
            raise errors.power(400, f"gateway {body['gateway']} is not in the network {cidr}")
        found["gateway"] = body["gateway"]
    if body.get("ipAddressRanges"):
        found["ranges"] = [_checked_range(one, block) for one in body["ipAddressRanges"]]
    if (mtu := _mtu_in(body)) is not None:
        found["mtu"] = mtu
    return found


def _mtu_in(body: dict[str, Any]) -> int | None:
    """Return the unit that a body gives as `mtu`, or as the deprecated `jumbo`; refuse two that contradict."""
    mtu, jumbo = body.get("mtu"), body.get("jumbo")
    if mtu is None:
        return _JUMBO if jumbo else None
    if not isinstance(mtu, int) or not _MTU <= mtu <= _JUMBO:
        raise errors.power(400, f"invalid mtu: {mtu} ({_MTU} to {_JUMBO})")
    if jumbo is not None and bool(jumbo) != (mtu > _MTU):
        raise errors.power(400, f"jumbo is {str(jumbo).lower()} and mtu is {mtu}: give mtu alone")
    return mtu


def _checked_range(one: dict[str, Any], block: ipaddress.IPv4Network) -> dict[str, str]:
    keys = ("startingIPAddress", "endingIPAddress")
    first, last = (_address(one.get(key), key) for key in keys)
    if first not in block or last not in block or first > last:
        raise errors.power(400, f"invalid ipAddressRanges: {first} to {last} is not in the network {block}")
    return dict(zip(keys, (str(first), str(last)), strict=True))


def _refuse_twin(call: Call, workspace: str, name: str, own_id: str = "") -> None:
    if any(other["id"] != own_id for other in call.world.all("network", workspace=workspace, name=name)):
        raise errors.power(409, f"network {name} already exists")


def create_network(call: Call) -> Reply:
    workspace, body = workspace_of(call), call.json()
    call.require(body, "type")
    name, kind = body.get("name") or f"network-{call.world.new_hex()[:8]}", body.get("type")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise errors.power(400, f"invalid network name: {name}")
    if kind not in _TYPES:
        raise errors.power(400, f"invalid network type: {kind}")
    _refuse_twin(call, workspace["id"], name)
    cidr = check_cidr(body.get("cidr", "192.168.0.0/24"))
    options = _options(body, cidr)
    record = add(call, workspace, name, cidr, options.pop("dns", list(_DNS[kind])), kind=kind)
    record.update(options)
    for tag in body.get("userTags") or ():
        call.world.tag(record["crn"], tag, call.now)
    call.provision(record, call.settings.delays.create_network, {"state": "ACTIVE"}, {"state": "ERROR"})
    return Reply(201, _render(call, record))


def update_network(call: Call) -> Reply:
    record, body = find(call), call.json()
    name = str(body.get("name") or record["name"])
    if not _NAME.fullmatch(name):
        raise errors.power(400, f"invalid network name: {name}")
    _refuse_twin(call, record["workspace"], name, record["id"])
    record.update(_options(body, record["cidr"]), name=name)
    return Reply(200, _render(call, record))


def delete_network(call: Call) -> Reply:
    record = find(call)
    if attached := occupants(call, record):
        raise errors.power(409, f"network {record['id']} still attached to pvm-instances: {attached[0]['id']}")
    if record["dhcp"] and call.world.get("dhcp", record["dhcp"]):
        raise errors.power(409, f"network {record['id']} is managed by dhcp server {record['dhcp']}")
    call.world.remove(record, call.now)
    return Reply(200, {})


def new_address(call: Call, network: Record, wanted: Any = None) -> tuple[str, str]:
    """Return the wanted IP address of the network, or its next one, and a MAC address."""
    block, taken = ipaddress.IPv4Network(network["cidr"]), {one["ip"] for one in occupants(call, network)}
    digits = call.world.new_hex()
    mac = ":".join(("fa", "16", "3e", digits[:2], digits[2:4], digits[4:6]))
    if wanted:
        if (address := _address(wanted, "ipAddress")) not in block:
            raise errors.power(400, f"ipAddress {wanted} is not in the network {network['cidr']}")
        if str(address) in taken:
            raise errors.power(409, f"ipAddress {wanted} is in use")
        return str(address), mac
    first = (block.network_address + number for number in range(10 + len(taken), block.num_addresses - 1))
    free = next((str(address) for address in first if str(address) not in taken), None)
    if free is None:
        raise errors.power(409, f"network {network['id']} has no free ip address")
    return free, mac


def vm_of(call: Call, workspace: str, ident: str) -> str:
    """Return the id of a VM of the workspace, "" for none; refuses another id with 404."""
    vm = call.world.get("vm", ident) if ident else None
    if ident and (vm is None or vm["workspace"] != workspace):
        raise errors.power(404, f"pvm-instance {ident} does not exist")
    return ident


_NETWORKS = "/power/{region}/pcloud/v1/cloud-instances/{workspace}/networks"
_UPDATE: dict[str, Field] = {
    **served("name dnsServers advertise arpBroadcast gateway"),
    "ipAddressRanges": served("startingIPAddress endingIPAddress"),
}
_CREATE: dict[str, Field] = {**_UPDATE, **served("type cidr userTags accessConfig jumbo mtu"), **not_served("peer")}
ROUTES = (
    reads("GET", _NETWORKS, "power.list_networks", list_networks),
    writes("POST", _NETWORKS, "power.create_network", create_network, fields=_CREATE),
    reads("GET", _NETWORKS + "/{network}", "power.get_network", get_network),
    writes("PUT", _NETWORKS + "/{network}", "power.update_network", update_network, fields=_UPDATE),
    writes("DELETE", _NETWORKS + "/{network}", "power.delete_network", delete_network),
)
