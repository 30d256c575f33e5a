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

SERVED = (
    "DeviceName Ebs.VolumeSize Ebs.VolumeType Ebs.DeleteOnTermination Ebs.Encrypted Ebs.Iops Ebs.Throughput "
    "Ebs.KmsKeyId"
)
"""The members of a block device mapping that RunInstances takes."""

_MOST_GIB = 16384
_SIZES = {
    "gp2": (1, 16384), "gp3": (1, 65536), "io1": (4, 16384), "io2": (4, 65536), "st1": (125, 16384),
    "sc1": (125, 16384), "standard": (1, 1024),
}  # fmt: skip
"""The least and the most GiB by type of volume."""
_WITH_IOPS, _NEEDS_IOPS = ("gp3", "io1", "io2"), ("io1", "io2")
_OF_GP3: dict[str, Any] = {"Iops": 3000, "Throughput": 125}


def create_volume(call: Call) -> dict[str, Any]:
    """Create a volume that is attached to nothing."""
    tags, kind = tags_for(call, "volume")["volume"], call.params.get("VolumeType", "gp2")
    view = {
        "Size": _size(call, kind), "VolumeType": kind, "State": "creating", "CreateTime": call.now,
        "AvailabilityZone": _zone(call), "Attachments": [], "SnapshotId": "", "MultiAttachEnabled": False,
        **_encryption(call), **_performance(call, kind),
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


def _size(call: Call, kind: str) -> int:
    if "Size" not in call.params:
        raise Refused("MissingParameter", "The request must contain the parameter size or snapshotId")
    if kind not in _SIZES:
        raise Refused("InvalidParameterValue", f"Value ({kind}) for parameter volumeType is invalid.")
    size, (least, most) = int(call.params["Size"]), _SIZES[kind]
    if not least <= size <= most:
        raise Refused("InvalidParameterValue", f"Volume of {size}GiB is not between {least} and {most}GiB for {kind}")
    return size


def _encryption(call: Call) -> dict[str, Any]:
    if "KmsKeyId" not in call.params:
        return {"Encrypted": call.params.get("Encrypted", False)}
    if not call.params.get("Encrypted"):
        text = "The parameter KmsKeyId requires the parameter Encrypted to be set."
        raise Refused("InvalidParameterDependency", text)
    return {"Encrypted": True, "KmsKeyId": call.params["KmsKeyId"]}


def _performance(call: Call, kind: str) -> dict[str, Any]:
    given: dict[str, Any] = {name: call.params[name] for name in ("Iops", "Throughput") if name in call.params}
    for name, kinds in (("Iops", _WITH_IOPS), ("Throughput", ("gp3",))):
        if name in given and kind not in kinds:
            text = f"The parameter {name.lower()} is not supported for {kind} volumes."
            raise Refused("InvalidParameterCombination", text)
    if kind in _NEEDS_IOPS and "Iops" not in given:
        raise Refused("MissingParameter", f"The parameter iops must be specified for {kind} volumes.")
    return {**(_OF_GP3 if kind == "gp3" else {}), **given}


def _again(call: Call, made: list[Record]) -> dict[str, Any]:
    return show(made[0], VOLUME)


def attached(call: Call, instance: Record, device: str, disk: dict[str, Any], tags: dict[str, str]) -> Record:
    """Create a volume that is attached to an instance."""
    size = disk.get("VolumeSize", 8)
    if not 1 <= size <= _MOST_GIB:
        raise Refused("InvalidParameterValue", f"Volume of {size}GiB is not between 1 and {_MOST_GIB}GiB")
    attachment = {
        "InstanceId": instance["id"], "Device": device, "State": "attached", "AttachTime": call.now,
        "DeleteOnTermination": disk.get("DeleteOnTermination", True),
    }  # fmt: skip
    view: dict[str, Any] = {
        "Size": size, "VolumeType": disk.get("VolumeType", "gp2"), "State": "in-use", "CreateTime": call.now,
        "AvailabilityZone": instance["view"]["Placement"]["AvailabilityZone"], "Attachments": [attachment],
        "Encrypted": disk.get("Encrypted", False), "MultiAttachEnabled": False,
        **{name: disk[name] for name in ("Iops", "Throughput", "KmsKeyId") if name in disk},
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
