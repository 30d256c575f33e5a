"""Volumes: made alone, or as parts of instances, with which they go or are left behind.

https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateVolume.html, .../API_DeleteVolume.html
"""

from typing import Any

from freehold_sim.aws.call import Call, Operation, Refused, Token, writes
from freehold_sim.aws.ec2 import zones
from freehold_sim.aws.ec2.describing import describes
from freehold_sim.aws.ec2.kinds import create, find, one_of, show, tags_for
from freehold_sim.aws.ec2.resources import VOLUME
from freehold_sim.aws.world import Record

_SIZES = {
    "gp2": (1, 16384), "gp3": (1, 65536), "io1": (4, 16384), "io2": (4, 65536), "st1": (125, 16384),
    "sc1": (125, 16384), "standard": (1, 1024),
}  # fmt: skip
"""The least and the most GiB by type of volume."""
_IOPS = {"gp3": (3000, 80000, 500), "io1": (100, 64000, 50), "io2": (100, 256000, 1000)}
"""The least and the most IOPS, and the most for each GiB, by type of volume."""
_NEEDS_IOPS = ("io1", "io2")
_OF_GP3: dict[str, Any] = {"Iops": 3000, "Throughput": 125}
_THROUGHPUT, _MOST_RATIO = (125, 2000), 0.25


def create_volume(call: Call) -> dict[str, Any]:
    """Create a volume that is attached to nothing."""
    tags, zone = tags_for(call, "volume")["volume"], _zone(call)
    disk = {"VolumeType": "gp2", **{name: call.params[name] for name in _DISK if name in call.params}}
    if "Size" in call.params:
        disk["VolumeSize"] = call.params["Size"]
    check(disk)
    view = {
        **_properties(disk), "State": "creating", "CreateTime": call.now, "AvailabilityZone": zone, "Attachments": [],
        "SnapshotId": "", "MultiAttachEnabled": False,
    }  # fmt: skip
    volume = create(call, VOLUME, view, tags)
    state = "error" if call.fails else "available"
    call.world.schedule(call.takes(call.settings.delays.create_volume), volume, {"State": state})
    return show(volume, VOLUME)


def _zone(call: Call) -> str:
    name = one_of(call, ("AvailabilityZone", "AvailabilityZoneId"))
    if name == "AvailabilityZone" and call.params[name] not in call.settings.regions[call.region]:
        raise Refused("InvalidZone.NotFound", f"The zone '{call.params[name]}' does not exist.")
    return zones.of_request(call)


_DISK = ("VolumeType", "Iops", "Throughput", "Encrypted", "KmsKeyId")


def check(disk: dict[str, Any]) -> None:
    """Refuse a volume that EC2 does not make. `disk` is in the form of a block device mapping, with its type.

    Messages: rocicorp/mono#4410, runs-on#260, and the limits of API_EbsBlockDevice.
    """
    kind = disk["VolumeType"]
    if "VolumeSize" not in disk:
        raise Refused("MissingParameter", "The request must contain the parameter size or snapshotId")
    if kind not in _SIZES:
        raise Refused("InvalidParameterValue", f"Value ({kind}) for parameter volumeType is invalid.")
    size, (least, most) = int(disk["VolumeSize"]), _SIZES[kind]
    if not least <= size <= most:
        raise Refused("InvalidParameterValue", f"Volume of {size}GiB is not between {least} and {most}GiB for {kind}")
    if "KmsKeyId" in disk and not disk.get("Encrypted"):
        text = "The parameter KmsKeyId requires the parameter Encrypted to be set."
        raise Refused("InvalidParameterDependency", text)
    for name, kinds in (("Iops", tuple(_IOPS)), ("Throughput", ("gp3",))):
        if name in disk and kind not in kinds:
            text = f"The parameter {name.lower()} is not supported for {kind} volumes."
            raise Refused("InvalidParameterCombination", text)
    if kind in _NEEDS_IOPS and "Iops" not in disk:
        raise Refused("MissingParameter", f"The parameter iops must be specified for {kind} volumes.")
    if "Iops" in disk:
        _check_iops(disk["Iops"], size, *_IOPS[kind])
    if "Throughput" in disk:
        _check_throughput(disk["Throughput"], disk.get("Iops", _OF_GP3["Iops"]))


def _check_iops(iops: int, size: int, least: int, most: int, most_by_size: int) -> None:
    if iops < least:
        raise Refused("InvalidParameterValue", f"Volume iops of {iops} is too low; minimum is {least}.")
    if iops > most:
        raise Refused("InvalidParameterValue", f"Volume iops of {iops} is too high; maximum is {most}.")
    if iops > max(size * most_by_size, _OF_GP3["Iops"] if least == _OF_GP3["Iops"] else 0):
        text = f"Iops to volume size ratio of {iops / size:.6f} is too high; maximum is {most_by_size}"
        raise Refused("InvalidParameterValue", text)


def _check_throughput(throughput: int, iops: int) -> None:
    least, most = _THROUGHPUT
    if not least <= throughput <= most:
        word, limit = ("low; minimum", least) if throughput < least else ("high; maximum", most)
        raise Refused("InvalidParameterValue", f"Volume throughput of {throughput} is too {word} is {limit}.")
    if throughput / iops > _MOST_RATIO:
        text = f"Throughput (MiBps) to iops ratio of {throughput / iops:.6f} is too high; maximum is"
        raise Refused("InvalidParameterValue", f"{text} {_MOST_RATIO:.6f} MiBps per iops")


def _properties(disk: dict[str, Any]) -> dict[str, Any]:
    """Return what a volume shows of what it was asked to be."""
    kind = disk["VolumeType"]
    given: dict[str, Any] = {name: disk[name] for name in ("Iops", "Throughput", "KmsKeyId") if name in disk}
    return {
        "Size": int(disk["VolumeSize"]), "VolumeType": kind, "Encrypted": disk.get("Encrypted", False),
        **(_OF_GP3 if kind == "gp3" else {}), **given,
    }  # fmt: skip


def _again(call: Call, made: list[Record]) -> dict[str, Any]:
    return show(made[0], VOLUME)


def attached(call: Call, instance: Record, device: str, disk: dict[str, Any], tags: dict[str, str]) -> Record:
    """Create a volume that is attached to an instance; `disk` has been checked."""
    attachment = {
        "InstanceId": instance["id"], "Device": device, "State": "attached", "AttachTime": call.now,
        "DeleteOnTermination": disk.get("DeleteOnTermination", True),
    }  # fmt: skip
    view: dict[str, Any] = {
        **_properties(disk), "State": "in-use", "CreateTime": call.now, "Attachments": [attachment],
        "AvailabilityZone": instance["view"]["Placement"]["AvailabilityZone"], "MultiAttachEnabled": False,
    }  # fmt: skip
    if "SnapshotId" in disk:
        view["SnapshotId"] = disk["SnapshotId"]
    volume = create(call, VOLUME, view, tags)
    attachment["VolumeId"] = volume["id"]
    return volume


def mappings(disks: list[Record]) -> list[dict[str, Any]]:
    """Return how an instance shows the volumes that are attached to it."""
    return [_mapping(volume) for volume in disks if volume["view"]["Attachments"]]


def _mapping(volume: Record) -> dict[str, Any]:
    attachment = volume["view"]["Attachments"][0]
    disk = {
        "VolumeId": volume["id"], "Status": "attached", "AttachTime": attachment["AttachTime"],
        "DeleteOnTermination": attachment["DeleteOnTermination"],
    }  # fmt: skip
    return {"DeviceName": attachment["Device"], "Ebs": disk}


def delete_volume(call: Call) -> dict[str, Any]:
    volume = find(call, VOLUME, call.params["VolumeId"])
    if attachments := volume["view"]["Attachments"]:
        text = f"Volume {volume['id']} is currently attached to {attachments[0]['InstanceId']}"
        raise Refused("VolumeInUse", text)
    if volume["view"]["State"] == "creating":
        raise Refused("IncorrectState", f"The volume '{volume['id']}' is 'creating'")
    call.world.remove(volume, call.now)
    return {}


OPERATIONS: tuple[Operation, ...] = (
    writes("CreateVolume", create_volume,
           "AvailabilityZone AvailabilityZoneId Size VolumeType Iops Throughput Encrypted KmsKeyId TagSpecifications "
           "ClientToken",
           Token("ClientToken", "volume", _again)),
    describes("DescribeVolumes", VOLUME, "VolumeIds", "Volumes"),
    writes("DeleteVolume", delete_volume, "VolumeId"),
)  # fmt: skip
