"""RunInstances: one to several instances with their interfaces and volumes, all or none.

https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_RunInstances.html. What a launch consists of has a file each:
`launch_interfaces`, `launch_volumes`, `placement_groups`, `metadata_options`, `spot`, `capacity`.
"""

from base64 import b64decode
from binascii import Error as NotBase64
from dataclasses import dataclass
from typing import Any

from freehold_sim.aws.call import Call, Operation, Refused, Token, writes
from freehold_sim.aws.ec2 import (
    capacity,
    interfaces,
    launch_interfaces,
    launch_volumes,
    metadata_options,
    placement_groups,
    spot,
    volumes,
)
from freehold_sim.aws.ec2.images import image, key_pair
from freehold_sim.aws.ec2.instance_types import TYPES, InstanceType
from freehold_sim.aws.ec2.instances import shown, state
from freehold_sim.aws.ec2.kinds import create, new_id, tags_for
from freehold_sim.aws.ec2.launch_interfaces import Card
from freehold_sim.aws.ec2.resources import INSTANCE, SPOT_REQUEST
from freehold_sim.aws.world import Record, scope_of

_MOST_USER_DATA = 16384


@dataclass(frozen=True)
class Launch:
    """What every instance of a launch is to be."""

    image: dict[str, Any]
    kind: InstanceType
    profile: dict[str, str] | None
    cards: list[Card]
    disks: dict[str, dict[str, Any]]
    placement: dict[str, Any]
    metadata: dict[str, Any]
    spot: bool
    reservation: str


def run_instances(call: Call) -> dict[str, Any]:
    tags = tags_for(call, "instance", "volume", "network-interface", SPOT_REQUEST.name)
    least, most = call.params["MinCount"], call.params["MaxCount"]
    if not 1 <= least <= most:
        raise Refused("InvalidParameterValue", f"MinCount {least} and MaxCount {most} are no range of counts")
    launch = _planned(call, tags, most)
    capacity.check_capacity(call, launch.kind, launch.placement["AvailabilityZone"], spot=launch.spot)
    count = capacity.count_within_quota(call, launch.kind, least, most, spot=launch.spot)
    return _reply(call, [_make(call, launch, tags, index) for index in range(count)])


def _planned(call: Call, tags: dict[str, dict[str, str]], most: int) -> Launch:
    """Return what is to be made. Nothing is made before everything is checked."""
    picture, kind = _image_and_type(call)
    if "KeyName" in call.params:
        key_pair(call, call.params["KeyName"])
    if "UserData" in call.params:
        _check_user_data(call.params["UserData"])
    cards = launch_interfaces.planned(call, kind, most)
    zone = cards[0].subnet["view"]["AvailabilityZone"]
    return Launch(
        image=picture,
        kind=kind,
        profile=_profile(call) if "IamInstanceProfile" in call.params else None,
        cards=cards,
        disks=launch_volumes.planned(call, picture),
        placement=placement_groups.placement(call, kind, zone),
        metadata=metadata_options.of_launch(call, tags["instance"]),
        spot=spot.wanted(call, kind, tags[SPOT_REQUEST.name]),
        reservation=new_id(call, "r"),
    )


def _image_and_type(call: Call) -> tuple[dict[str, Any], InstanceType]:
    if "ImageId" not in call.params:
        raise Refused("MissingParameter", "The request must contain the parameter ImageId")
    picture, name = image(call, call.params["ImageId"]), call.params.get("InstanceType", "m1.small")
    kind = TYPES.get(name)
    if kind is None:
        raise Refused("InvalidParameterValue", f"Invalid value '{name}' for InstanceType.")
    if picture["Architecture"] != kind.architecture:
        text = f"The architecture '{kind.architecture}' of the specified instance type does not match the architecture"
        raise Refused("InvalidParameterValue", f"{text} '{picture['Architecture']}' of the specified AMI.")
    return picture, kind


def _check_user_data(text: str) -> None:
    try:
        size = len(b64decode(text, validate=True))
    except (NotBase64, ValueError):
        raise Refused("InvalidParameterValue", "Invalid BASE64 encoding of user data.") from None
    if size > _MOST_USER_DATA:
        raise Refused("InvalidParameterValue", f"User data is limited to {_MOST_USER_DATA} bytes")


def _profile(call: Call) -> dict[str, str]:
    """Return the profile of the request; a new one is not found for a while, as everything that is new."""
    given = call.params["IamInstanceProfile"]
    if "Name" in given and "Arn" in given:
        text = "The parameter 'iamInstanceProfile.name' may not be used in combination with 'iamInstanceProfile.arn'"
        raise Refused("InvalidParameterCombination", text)
    name = given.get("Name") or str(given.get("Arn", "")).rpartition("/")[2]
    record = call.world.table(scope_of(call.account, ""), "instance-profile").get(name)
    if record is None or not call.sees(record) or given.get("Arn", record["arn"]) != record["arn"]:
        member, word = ("arn", "ARN") if "Arn" in given else ("name", "name")
        text = f"Value ({given.get('Arn', name)}) for parameter iamInstanceProfile.{member} is invalid."
        raise Refused("InvalidParameterValue", f"{text} Invalid IAM Instance Profile {word}")
    if not record["roles"]:
        raise Refused("InvalidParameterValue", f'IAM Instance Profile "{record["arn"]}" has no associated IAM Roles')
    return {"Arn": record["arn"], "Id": record["view"]["InstanceProfileId"]}


def _make(call: Call, launch: Launch, tags: dict[str, dict[str, str]], index: int) -> Record:
    instance = create(
        call, INSTANCE, _view(call, launch, index), tags["instance"], reservation=launch.reservation,
        user_data=call.params.get("UserData"), protected=call.params.get("DisableApiTermination", False),
        on_shutdown=call.params.get("InstanceInitiatedShutdownBehavior", "stop"), interfaces=[], volumes=[],
    )  # fmt: skip
    for card in launch.cards:
        launch_interfaces.attach(call, instance, card, tags["network-interface"])
    _name_addresses(call, instance)
    for device, disk in launch.disks.items():
        instance["volumes"].append(volumes.attached(call, instance, device, disk, tags["volume"])["id"])
    if launch.spot:
        spot.add_request(call, instance, tags[SPOT_REQUEST.name])
    _finish(call, instance)
    return instance


def _view(call: Call, launch: Launch, index: int) -> dict[str, Any]:
    params, first = call.params, launch.cards[0]
    view: dict[str, Any] = {
        "ImageId": launch.image["ImageId"], "InstanceType": launch.kind.name, "State": state("pending"),
        "AmiLaunchIndex": index, "LaunchTime": call.now, "Architecture": launch.image["Architecture"],
        "Placement": launch.placement, "PrivateDnsNameOptions": _dns_options(params, first.subnet),
        "Monitoring": {"State": "enabled" if params.get("Monitoring", {}).get("Enabled") else "disabled"},
        "SubnetId": first.subnet["id"], "VpcId": first.subnet["view"]["VpcId"], "SecurityGroups": first.groups,
        "RootDeviceName": launch.image["RootDeviceName"], "RootDeviceType": "ebs", "VirtualizationType": "hvm",
        "Hypervisor": "xen", "SourceDestCheck": True, "EbsOptimized": params.get("EbsOptimized", False),
        "EnaSupport": True, "StateTransitionReason": "", "PublicDnsName": "", "MetadataOptions": launch.metadata,
    }  # fmt: skip
    for name in ("KeyName", "ClientToken"):
        if name in params:
            view[name] = params[name]
    if launch.profile is not None:
        view["IamInstanceProfile"] = launch.profile
    return view


def _dns_options(params: dict[str, Any], subnet: Record) -> dict[str, Any]:
    return {**subnet["view"]["PrivateDnsNameOptionsOnLaunch"], **params.get("PrivateDnsNameOptions", {})}


def _name_addresses(call: Call, instance: Record) -> None:
    """Give an instance the addresses and names of its first interface.

    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/hostname-types.html
    """
    view = instance["view"]
    card = call.world.table(call.scope, "network-interface")[instance["interfaces"][0]]["view"]
    view.update(PrivateIpAddress=card["PrivateIpAddress"], PrivateDnsName=card["PrivateDnsName"])
    if view["PrivateDnsNameOptions"]["HostnameType"] == "resource-name":
        view["PrivateDnsName"] = f"{instance['id']}.{interfaces.domain(call.region)}"
    if card["Ipv6Addresses"]:
        view["Ipv6Address"] = card["Ipv6Addresses"][0]["Ipv6Address"]


def _finish(call: Call, instance: Record) -> None:
    when = call.takes(call.settings.delays.start_instance)
    if not call.fails:
        call.world.schedule(when, instance, {"State": state("running")})
        return
    text = (call.fault.message if call.fault else "") or "Server.InternalError: Internal error on launch"
    reason = {"Code": text.partition(":")[0], "Message": text}
    failed = {"State": state("terminated"), "StateReason": reason}
    call.world.schedule(when, instance, failed, "release-instance")
    call.world.schedule(when + call.settings.delays.instance_listed, instance, None)


def _reply(call: Call, made: list[Record]) -> dict[str, Any]:
    views = [shown(call, record) for record in made]
    return {"ReservationId": made[0]["reservation"], "OwnerId": call.account, "Groups": [], "Instances": views}


_TAKES = " ".join([
    "ImageId InstanceType MinCount MaxCount KeyName SubnetId SecurityGroupIds PrivateIpAddress UserData EbsOptimized",
    "IamInstanceProfile TagSpecifications ClientToken DisableApiTermination InstanceInitiatedShutdownBehavior",
    "Monitoring.Enabled MetadataOptions PrivateDnsNameOptions Ipv6AddressCount EnablePrimaryIpv6",
    *(f"NetworkInterfaces.{name}" for name in launch_interfaces.SERVED.split()),
    *(f"BlockDeviceMappings.{name}" for name in launch_volumes.SERVED.split()),
    *(f"Placement.{name}" for name in placement_groups.SERVED.split()),
    *(f"InstanceMarketOptions.{name}" for name in spot.SERVED.split()),
])  # fmt: skip
OPERATIONS: tuple[Operation, ...] = (
    writes("RunInstances", run_instances, _TAKES, Token("ClientToken", "instance", _reply)),
)
