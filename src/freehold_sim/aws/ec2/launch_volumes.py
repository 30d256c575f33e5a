"""Volumes that RunInstances makes: those of the image, changed and added to by the request.

https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/device_naming.html, .../block-device-mapping-concepts.html
"""

import re
from typing import Any

from freehold_sim.aws.call import Call, Refused
from freehold_sim.aws.ec2 import volumes

SERVED = (
    "DeviceName Ebs.VolumeSize Ebs.VolumeType Ebs.DeleteOnTermination Ebs.Encrypted Ebs.Iops Ebs.Throughput "
    "Ebs.KmsKeyId"
)
"""The members of a block device mapping that RunInstances takes."""
_DEVICE = re.compile(r"(/dev/)?(sd[a-z]\d{0,2}|xvd[a-z]{1,2}\d{0,2})")


def planned(call: Call, picture: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what each volume is to be, by device, or refuse it as EC2 does."""
    disks = {row["DeviceName"]: dict(row["Ebs"]) for row in picture["BlockDeviceMappings"]}
    given = call.params.get("BlockDeviceMappings", [])
    for row in given:
        if "DeviceName" not in row or "Ebs" not in row:
            raise Refused("MissingParameter", "A block device mapping needs DeviceName and Ebs")
        name = row["DeviceName"]
        if not _DEVICE.fullmatch(name):
            raise Refused("InvalidBlockDeviceMapping", f"Invalid device name {name}")
        if [each.get("DeviceName") for each in given].count(name) > 1:
            text = f"The device '{name}' is used in more than one block-device mapping"
            raise Refused("InvalidBlockDeviceMapping", text)
        disks[name] = _merged(disks.get(name, {}), row["Ebs"])
    for disk in disks.values():
        volumes.check(disk)
    return disks


def _merged(of_image: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Return a volume of the image with what the request says of it: it may grow, and never shrink."""
    least = of_image.get("VolumeSize", 0)
    if given.get("VolumeSize", least) < least:
        text = f"Volume of size {given['VolumeSize']}GB is smaller than snapshot '{of_image['SnapshotId']}', expect"
        raise Refused("InvalidBlockDeviceMapping", f"{text} size >= {least}GB")  # scylla-cluster-tests#2484
    return {"VolumeType": "gp2", **of_image, **given}
