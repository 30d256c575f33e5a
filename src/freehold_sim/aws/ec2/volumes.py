"""Volumes, as parts of instances: made with them, and gone with them or left behind.

https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeleteVolume.html
"""

from typing import Any

from freehold_sim.aws.call import Call, Operation, Refused, writes
from freehold_sim.aws.ec2.describing import describes
from freehold_sim.aws.ec2.kinds import create, find
from freehold_sim.aws.ec2.resources import VOLUME
from freehold_sim.aws.world import Record

SERVED = (
    "DeviceName Ebs.VolumeSize Ebs.VolumeType Ebs.DeleteOnTermination Ebs.Encrypted Ebs.Iops Ebs.Throughput "
    "Ebs.KmsKeyId"
)
"""The members of a block device mapping that RunInstances takes."""

_MOST_GIB = 16384


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
    call.world.remove(volume, call.now)
    return {}


OPERATIONS: tuple[Operation, ...] = (
    describes("DescribeVolumes", VOLUME, "VolumeIds", "Volumes"),
    writes("DeleteVolume", delete_volume, "VolumeId"),
)
