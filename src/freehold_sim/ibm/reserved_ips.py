"""Reserved IPs of a subnet: the provider's, the load balancers', and those that users reserve.

Sources: docs/reference/ibm-cloud.md#vpc, https://cloud.ibm.com/docs/vpc?topic=vpc-reserved-ip-about
"""

import ipaddress
from typing import Any

from freehold_sim.ibm import errors, load_balancers, subnets
from freehold_sim.ibm import vpc_common as common
from freehold_sim.ibm.call import Call, Reply, iso, reads, writes
from freehold_sim.ibm.fields import NOT_SERVED, Field, Only, served
from freehold_sim.ibm.world import Record

_PROVIDERS = (
    ("ibm-network-address", 0), ("ibm-default-gateway", 1), ("ibm-dns-address", 2), ("ibm-reserved-address", 3),
    ("ibm-broadcast-address", -1),
)  # fmt: skip


def _render(subnet: Record, ident: str, address: str, name: str, created_at: float, **more: Any) -> dict[str, Any]:
    return {
        "address": address,
        "auto_delete": False,
        "created_at": iso(created_at),
        "href": f"{common.base(subnet['region'])}/subnets/{subnet['id']}/reserved_ips/{ident}",
        "id": ident,
        "lifecycle_state": "stable",
        "name": name,
        "owner": "user",
        "resource_type": "subnet_reserved_ip",
        **more,
    }


def _every(call: Call, subnet: Record) -> list[dict[str, Any]]:
    """Return all reserved IPs of the subnet, in the order of their addresses."""
    network, created = ipaddress.IPv4Network(subnet["cidr"]), subnet["created_at"]
    found = [
        _render(subnet, f"{subnet['id'][:5]}{name}", str(network[place]), name, created, owner="provider")
        for name, place in _PROVIDERS
    ]
    for balancer in call.world.all("load-balancer", vpc=subnet["vpc"]):
        for ip in load_balancers.private_ips(call, balancer):
            if ip["href"].split("/")[-3] == subnet["id"]:
                target = common.reference(balancer, "load_balancers", "load_balancer")
                shown = _render(subnet, ip["id"], ip["address"], ip["name"], balancer["created_at"], target=target)
                found.append({**shown, "owner": "provider"})
    for record in call.world.all("reserved-ip", subnet=subnet["id"]):
        found.append(_render(subnet, record["id"], record["address"], record["name"], record["created_at"]))
    return sorted(found, key=lambda ip: ipaddress.IPv4Address(ip["address"]))


def list_ips(call: Call) -> Reply:
    subnet = subnets.find(call)
    every = _every(call, subnet)
    for query, key in (("target.id", "id"), ("target.crn", "crn"), ("target.name", "name")):
        if wanted := call.query.get(query):
            every = [ip for ip in every if ip.get("target", {}).get(key) == wanted]
    url = f"{common.base(subnet['region'])}/subnets/{subnet['id']}/reserved_ips"
    return common.page_of_parts(call, url, "reserved_ips", every)


def _find(call: Call) -> dict[str, Any]:
    for ip in _every(call, subnets.find(call)):
        if ip["id"] == call.params["ip"]:
            return ip
    raise errors.vpc(404, "not_found", "The reserved IP cannot be found")


def get_ip(call: Call) -> Reply:
    return Reply(200, _find(call))


def _address(call: Call, subnet: Record, wanted: Any) -> str:
    """Return the wanted address, or the first free one; refuses one that is taken or outside the subnet."""
    network = ipaddress.IPv4Network(subnet["cidr"])
    taken = {ip["address"] for ip in _every(call, subnet)}
    if wanted is None:
        for address in network:
            if str(address) not in taken:
                return str(address)
        raise errors.vpc(409, "subnet_no_available_address", "The subnet has no free address")
    try:
        inside = ipaddress.IPv4Address(wanted) in network
    except ValueError:
        inside = False
    if not inside:
        raise errors.vpc(400, "invalid_value", f"The address is not in the subnet: {wanted}", "address", str(wanted))
    if wanted in taken:
        raise errors.vpc(409, "reserved_ip_address_in_use", f"The address is reserved: {wanted}", "address", wanted)
    return str(wanted)


def create_ip(call: Call) -> Reply:
    subnet, body = subnets.find(call), call.json()
    name, address = common.name_of(call, body), _address(call, subnet, body.get("address"))
    common.refuse_twin(_every(call, subnet), name)
    record: Record = {
        "id": common.new_id(call, subnet["region"]), "name": name, "region": subnet["region"], "vpc": subnet["vpc"],
        "subnet": subnet["id"], "address": address, "state": "stable", "by": call.actor,
    }  # fmt: skip
    call.world.add("reserved-ip", call.now, record)
    return Reply(201, _render(subnet, record["id"], address, name, call.now))


def _find_own(call: Call) -> Record:
    """Return a reserved IP that a user made; the provider's cannot be changed."""
    record = call.world.get("reserved-ip", _find(call)["id"])
    if record is None:
        raise errors.vpc(403, "reserved_ip_owner_provider", "The reserved IP is owned by the provider")
    return record


def update_ip(call: Call) -> Reply:
    record, body = _find_own(call), call.json()
    if body.get("name") is not None:
        name = common.name_of(call, body)
        common.refuse_twin(_every(call, subnets.find(call)), name, record["id"])
        record["name"] = name
    return Reply(200, _find(call))


def delete_ip(call: Call) -> Reply:
    call.world.remove(_find_own(call), call.now)
    return Reply(204)


_IPS = "/vpc/{region}/v1/subnets/{id}/reserved_ips"
_SHARED: dict[str, Field] = {**served("name"), "auto_delete": Only((False,))}
ROUTES = (
    reads(
        "GET", _IPS, "vpc.list_subnet_reserved_ips", list_ips,
        query=f"{common.PAGES} target.id target.crn target.name",
    ),
    writes(
        "POST", _IPS, "vpc.create_subnet_reserved_ip", create_ip,
        fields={**_SHARED, **served("address"), "target": NOT_SERVED},
    ),
    reads("GET", _IPS + "/{ip}", "vpc.get_subnet_reserved_ip", get_ip),
    writes("PATCH", _IPS + "/{ip}", "vpc.update_subnet_reserved_ip", update_ip, fields=_SHARED),
    writes("DELETE", _IPS + "/{ip}", "vpc.delete_subnet_reserved_ip", delete_ip),
)  # fmt: skip
