"""RunInstances: one to several instances with their interfaces and volumes, all or none.

https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_RunInstances.html
"""

from base64 import b64decode
from binascii import Error as NotBase64
from typing import Any

from freehold_sim.aws.call import Call, Operation, Refused, Token, writes
from freehold_sim.aws.ec2 import interfaces, volumes, zones
from freehold_sim.aws.ec2.images import image, key_pair
from freehold_sim.aws.ec2.instance_types import TYPES
from freehold_sim.aws.ec2.instances import shown, state
from freehold_sim.aws.ec2.kinds import create, find, full, new_id, tags_for
from freehold_sim.aws.ec2.resources import INSTANCE, INTERFACE, SUBNET
from freehold_sim.aws.world import Record, scope_of

_MOST_USER_DATA = 16384


def run_instances(call: Call) -> dict[str, Any]:
    tags = tags_for(call, "instance", "volume", "network-interface")
    params = call.params
    least, most = params["MinCount"], params["MaxCount"]
    if not 1 <= least <= most:
        raise Refused("InvalidParameterValue", f"MinCount {least} and MaxCount {most} are no range of counts")
    machine = _machine(call)
    held = [row for row in call.all("instance") if row["view"]["State"]["Name"] not in {"terminated", "shutting-down"}]
    room = call.settings.quotas.instances - len(held)
    full(call, least, room + 1, "instances")
    count = min(most, room)
    given = params.get("NetworkInterfaces", [])
    _check_networks(given, params, most)
    subnet, groups = _subnet_and_groups(call, given[0] if given else {})
    if "AvailabilityZone" in params.get("Placement", {}):
        wanted = params["Placement"]["AvailabilityZone"]
        if wanted != subnet["view"]["AvailabilityZone"]:
            text = f"The availability zone {wanted} and the subnet {subnet['id']} do not match"
            raise Refused("InvalidParameterValue", text)
    reservation = new_id(call, "r")
    made = [
        _launch(call, machine, subnet, groups, given[0] if given else {}, tags, index, reservation)
        for index in range(count)
    ]
    return _reply(call, made)


def _machine(call: Call) -> dict[str, Any]:
    """Return what does not depend on the network: image, type, key, profile; each checked."""
    params = call.params
    if "ImageId" not in params:
        raise Refused("MissingParameter", "The request must contain the parameter ImageId")
    picture, name = image(call, params["ImageId"]), params.get("InstanceType", "m1.small")
    kind = TYPES.get(name)
    if kind is None:
        raise Refused("InvalidParameterValue", f"Invalid value '{name}' for InstanceType.")
    if picture["Architecture"] != kind.architecture:
        text = f"The architecture '{kind.architecture}' of the specified instance type does not match the architecture"
        raise Refused("InvalidParameterValue", f"{text} '{picture['Architecture']}' of the specified AMI.")
    if "KeyName" in params:
        key_pair(call, params["KeyName"])
    if "UserData" in params:
        _check_user_data(params["UserData"])
    profile = _profile(call) if "IamInstanceProfile" in params else None
    return {"image": picture, "type": name, "profile": profile}


def _check_user_data(text: str) -> None:
    try:
        size = len(b64decode(text, validate=True))
    except (NotBase64, ValueError):
        raise Refused("InvalidParameterValue", "Invalid BASE64 encoding of user data.") from None
    if size > _MOST_USER_DATA:
        raise Refused("InvalidParameterValue", f"User data is limited to {_MOST_USER_DATA} bytes")


def _profile(call: Call) -> dict[str, str]:
    given = call.params["IamInstanceProfile"]
    name = given.get("Name") or str(given.get("Arn", "")).rpartition("/")[2]
    record = call.world.table(scope_of(call.account, ""), "instance-profile").get(name)
    if record is None:
        text = f"Value ({name}) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name"
        raise Refused("InvalidParameterValue", text)
    return {"Arn": record["arn"], "Id": record["view"]["InstanceProfileId"]}


def _check_networks(given: list[dict[str, Any]], params: dict[str, Any], most: int) -> None:
    if len(given) > 1 or (given and given[0].get("DeviceIndex", 0) != 0):
        raise Refused("InvalidParameterValue", "The simulated AWS launches instances with one interface, at index 0")
    if given and any(name in params for name in ("SubnetId", "SecurityGroupIds", "PrivateIpAddress")):
        text = "Network interfaces and an instance-level subnet ID or security groups may not be specified together"
        raise Refused("InvalidParameterCombination", text)
    if given and "NetworkInterfaceId" in given[0] and most > 1:
        raise Refused("InvalidParameterCombination", "One network interface cannot serve several instances")


def _subnet_and_groups(call: Call, network: dict[str, Any]) -> tuple[Record, list[dict[str, str]]]:
    if "NetworkInterfaceId" in network:
        interface = find(call, INTERFACE, network["NetworkInterfaceId"])
        if interface["view"]["Status"] != "available":
            text = f"Network interface '{interface['id']}' is currently in use."
            raise Refused("InvalidNetworkInterface.InUse", text)
        return find(call, SUBNET, interface["view"]["SubnetId"]), interface["view"]["Groups"]
    ident = network.get("SubnetId", call.params.get("SubnetId"))
    if ident is None:
        raise Refused("MissingInput", "No subnets found for the default VPC. Please specify a subnet.")
    subnet = find(call, SUBNET, ident)
    wanted = network.get("Groups", call.params.get("SecurityGroupIds"))
    return subnet, interfaces.groups_of(call, subnet["view"]["VpcId"], wanted)


def _launch(
    call: Call, machine: dict[str, Any], subnet: Record, groups: list[dict[str, str]], network: dict[str, Any],
    tags: dict[str, dict[str, str]], index: int, reservation: str,
) -> Record:  # fmt: skip
    instance = create(
        call, INSTANCE, _view(call, machine, subnet, groups, index), tags["instance"], reservation=reservation,
        user_data=call.params.get("UserData"), protected=call.params.get("DisableApiTermination", False),
        on_shutdown=call.params.get("InstanceInitiatedShutdownBehavior", "stop"), interfaces=[], volumes=[],
    )  # fmt: skip
    interface = _interface(call, subnet, groups, network, tags["network-interface"])
    ends = network.get("DeleteOnTermination", "NetworkInterfaceId" not in network)
    interfaces.attach(call, interface, instance, 0, ends_with_instance=ends)
    instance["view"]["PrivateIpAddress"] = interface["view"]["PrivateIpAddress"]
    instance["view"]["PrivateDnsName"] = interface["view"]["PrivateDnsName"]
    instance["interfaces"].append(interface["id"])
    _public_address(call, interface, subnet, network)
    for device, disk in _disks(call, machine["image"]).items():
        instance["volumes"].append(volumes.attached(call, instance, device, disk, tags["volume"])["id"])
    _finish(call, instance)
    return instance


def _view(
    call: Call, machine: dict[str, Any], subnet: Record, groups: list[dict[str, str]], index: int
) -> dict[str, Any]:
    params, picture = call.params, machine["image"]
    metadata = {"HttpTokens": "optional", "HttpPutResponseHopLimit": 1, "HttpEndpoint": "enabled", "State": "applied"}
    zone = subnet["view"]["AvailabilityZone"]
    view: dict[str, Any] = {
        "ImageId": picture["ImageId"], "InstanceType": machine["type"], "State": state("pending"),
        "AmiLaunchIndex": index, "LaunchTime": call.now, "Architecture": picture["Architecture"],
        "Placement": {"AvailabilityZone": zone, "AvailabilityZoneId": zones.zone_id(call, zone), "Tenancy": "default"},
        "Monitoring": {"State": "enabled" if params.get("Monitoring", {}).get("Enabled") else "disabled"},
        "SubnetId": subnet["id"], "VpcId": subnet["view"]["VpcId"], "SecurityGroups": groups, "EnaSupport": True,
        "RootDeviceName": picture["RootDeviceName"], "RootDeviceType": "ebs", "VirtualizationType": "hvm",
        "Hypervisor": "xen", "SourceDestCheck": True, "EbsOptimized": params.get("EbsOptimized", False),
        "StateTransitionReason": "", "PublicDnsName": "",
        "MetadataOptions": {**metadata, **params.get("MetadataOptions", {})},
    }  # fmt: skip
    for name in ("KeyName", "ClientToken"):
        if name in params:
            view[name] = params[name]
    if machine["profile"] is not None:
        view["IamInstanceProfile"] = machine["profile"]
    return view


def _interface(
    call: Call, subnet: Record, groups: list[dict[str, str]], network: dict[str, Any], tags: dict[str, str]
) -> Record:
    if "NetworkInterfaceId" in network:
        return find(call, INTERFACE, network["NetworkInterfaceId"])
    wanted = network.get("PrivateIpAddress", call.params.get("PrivateIpAddress"))
    return interfaces.place(call, subnet, network.get("Description", ""), groups=groups, tags=tags, wanted=wanted)


def _public_address(call: Call, interface: Record, subnet: Record, network: dict[str, Any]) -> None:
    """Give the instance a public address if the request or the subnet asks for one."""
    if not network.get("AssociatePublicIpAddress", subnet["view"]["MapPublicIpOnLaunch"]):
        return
    number = call.world.serial()
    public = f"3.{number // 65536 % 256}.{number // 256 % 256}.{number % 256}"
    interface["view"]["Association"] = {"PublicIp": public, "IpOwnerId": "amazon"}


def _disks(call: Call, picture: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the volumes to make by device: those of the image, changed and added to by the request."""
    disks = {row["DeviceName"]: dict(row["Ebs"]) for row in picture["BlockDeviceMappings"]}
    for row in call.params.get("BlockDeviceMappings", []):
        if "DeviceName" not in row or "Ebs" not in row:
            raise Refused("MissingParameter", "A block device mapping needs DeviceName and Ebs")
        disks[row["DeviceName"]] = {**disks.get(row["DeviceName"], {}), **row["Ebs"]}
    return disks


def _finish(call: Call, instance: Record) -> None:
    when = call.takes(call.settings.delays.start_instance)
    if not call.fails:
        call.world.schedule(when, instance, {"State": state("running")})
        return
    reason = {"Code": "Server.InternalError", "Message": "Server.InternalError: Internal error on launch"}
    failed = {"State": state("terminated"), "StateReason": reason}
    call.world.schedule(when, instance, failed, "release-instance")
    call.world.schedule(when + call.settings.delays.instance_listed, instance, None)


def _reply(call: Call, made: list[Record]) -> dict[str, Any]:
    views = [shown(call, record) for record in made]
    return {"ReservationId": made[0]["reservation"], "OwnerId": call.account, "Groups": [], "Instances": views}


_NETWORK = ("DeviceIndex SubnetId Groups AssociatePublicIpAddress DeleteOnTermination Description NetworkInterfaceId "
            "PrivateIpAddress")  # fmt: skip
_TAKES = " ".join([
    "ImageId InstanceType MinCount MaxCount KeyName SubnetId SecurityGroupIds PrivateIpAddress UserData EbsOptimized",
    "IamInstanceProfile TagSpecifications ClientToken DisableApiTermination InstanceInitiatedShutdownBehavior",
    "Monitoring.Enabled Placement.AvailabilityZone MetadataOptions",
    *(f"NetworkInterfaces.{name}" for name in _NETWORK.split()),
    *(f"BlockDeviceMappings.{name}" for name in volumes.SERVED.split()),
])  # fmt: skip
OPERATIONS: tuple[Operation, ...] = (
    writes("RunInstances", run_instances, _TAKES, Token("ClientToken", "instance", _reply)),
)
