"""Elastic IP addresses.

https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_ReleaseAddress.html
"""

from typing import Any

from freehold_sim.aws.call import Call, Operation, Refused, not_served, reads, writes
from freehold_sim.aws.ec2 import interfaces
from freehold_sim.aws.ec2.describing import matching
from freehold_sim.aws.ec2.kinds import create, find, full, new_id, one_of, show, tags_for
from freehold_sim.aws.ec2.resources import ADDRESS, INSTANCE, INTERFACE
from freehold_sim.aws.world import Record


def allocate(call: Call) -> dict[str, Any]:
    tags = tags_for(call, "elastic-ip")["elastic-ip"]
    if call.params.get("Domain", "vpc") != "vpc":
        raise Refused("InvalidParameterValue", "EC2-Classic has been retired: the domain is vpc")
    if call.params.get("NetworkBorderGroup", call.region) != call.region:
        raise not_served("network border groups other than the region")
    full(call, len(call.all("elastic-ip")), call.settings.quotas.addresses, "addresses")
    number = call.world.serial()
    view = {
        "PublicIp": f"54.{number // 65536 % 256}.{number // 256 % 256}.{number % 256}", "Domain": "vpc",
        "PublicIpv4Pool": "amazon", "NetworkBorderGroup": call.region,
    }  # fmt: skip
    address = create(call, ADDRESS, view, tags)
    return dict(address["view"])


def describe(call: Call) -> dict[str, Any]:
    records = [row for row in call.all("elastic-ip") if call.sees(row)]
    if "AllocationIds" in call.params:
        records = [find(call, ADDRESS, ident) for ident in call.params["AllocationIds"]]
    for public in call.params.get("PublicIps", []):
        if public not in {row["view"]["PublicIp"] for row in records}:
            raise Refused("InvalidAddress.NotFound", f"Address '{public}' not found.")
    wanted = call.params.get("PublicIps")
    rows = [(row, show(row, ADDRESS)) for row in records if wanted is None or row["view"]["PublicIp"] in wanted]
    return {"Addresses": [view for _, view in matching(call, rows, ADDRESS.filters)]}


def release(call: Call) -> dict[str, Any]:
    if "AllocationId" not in call.params:
        raise Refused("MissingParameter", "Either public IP or allocation id must be specified")
    address = find(call, ADDRESS, call.params["AllocationId"])
    if "AssociationId" in address["view"]:
        if _holder(call, address)["view"]["RequesterManaged"]:
            raise _not_permitted()
        raise Refused("InvalidIPAddress.InUse", f"Address {address['view']['PublicIp']} is in use.")
    call.world.remove(address, call.now)
    return {}


def _not_permitted() -> Refused:
    return Refused("AuthFailure", "You do not have permission to access the specified resource.", 401)


def _holder(call: Call, address: Record) -> Record:
    return call.world.table(call.scope, "network-interface")[address["view"]["NetworkInterfaceId"]]


def associate(call: Call) -> dict[str, Any]:
    if "AllocationId" not in call.params:
        raise Refused("MissingParameter", "Either public IP or allocation id must be specified")
    address = find(call, ADDRESS, call.params["AllocationId"])
    if one_of(call, ("InstanceId", "NetworkInterfaceId")) == "InstanceId":
        instance = find(call, INSTANCE, call.params["InstanceId"])
        if instance["view"]["State"]["Name"] not in {"running", "stopped", "pending"}:
            raise Refused("IncorrectInstanceState", f"The instance '{instance['id']}' is not in a valid state")
        interface = find(call, INTERFACE, instance["interfaces"][0])
    else:
        interface = find(call, INTERFACE, call.params["NetworkInterfaceId"])
    if address["view"].get("NetworkInterfaceId") == interface["id"]:
        return {"AssociationId": address["view"]["AssociationId"]}
    if "AssociationId" in address["view"] and not call.params.get("AllowReassociation", True):
        text = f"resource {address['id']} is already associated with associate-id {address['view']['AssociationId']}"
        raise Refused("Resource.AlreadyAssociated", text)
    if "AssociationId" in address["view"]:
        if _holder(call, address)["view"]["RequesterManaged"]:
            raise _not_permitted()
        interfaces.release_address(call.world, _holder(call, address))
    interfaces.release_address(call.world, interface)  # an address that it had stays allocated
    return {"AssociationId": bind(call, address, interface)}


def bind(call: Call, address: Record, interface: Record) -> str:
    """Associate an address with an interface; returns the id of the association."""
    ident = new_id(call, "eipassoc")
    address["view"].update(
        AssociationId=ident, NetworkInterfaceId=interface["id"], NetworkInterfaceOwnerId=call.account,
        PrivateIpAddress=interface["view"]["PrivateIpAddress"],
    )  # fmt: skip
    if "Attachment" in interface["view"] and "InstanceId" in interface["view"]["Attachment"]:
        address["view"]["InstanceId"] = interface["view"]["Attachment"]["InstanceId"]
    interface["view"]["Association"] = {
        "AllocationId": address["id"], "AssociationId": ident, "IpOwnerId": call.account,
        "PublicIp": address["view"]["PublicIp"],
    }  # fmt: skip
    return ident


def disassociate(call: Call) -> dict[str, Any]:
    if "AssociationId" not in call.params:
        raise Refused("MissingParameter", "Either public IP or association id must be specified")
    ident = call.params["AssociationId"]
    for address in call.all("elastic-ip"):
        if address["view"].get("AssociationId") == ident:
            if _holder(call, address)["view"]["RequesterManaged"]:
                raise _not_permitted()
            interfaces.release_address(call.world, _holder(call, address))
            return {}
    raise Refused("InvalidAssociationID.NotFound", f"The association ID '{ident}' does not exist")


OPERATIONS: tuple[Operation, ...] = (
    writes("AllocateAddress", allocate, "Domain NetworkBorderGroup TagSpecifications"),
    reads("DescribeAddresses", describe, "AllocationIds PublicIps Filters"),
    writes("ReleaseAddress", release, "AllocationId"),
    writes("AssociateAddress", associate, "AllocationId InstanceId NetworkInterfaceId AllowReassociation"),
    writes("DisassociateAddress", disassociate, "AssociationId"),
)
