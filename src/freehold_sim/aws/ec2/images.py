"""Images, instance types and key pairs: what an instance is launched from."""

import hashlib
from typing import Any

from freehold_sim.aws.call import Call, Operation, Refused, reads, writes
from freehold_sim.aws.ec2.describing import matching, paged_rows
from freehold_sim.aws.ec2.image_catalog import BY_ID, IMAGES, image_view
from freehold_sim.aws.ec2.instance_types import TYPES, type_view
from freehold_sim.aws.ec2.kinds import create, find, show, tags_for
from freehold_sim.aws.ec2.resources import KEY_PAIR
from freehold_sim.aws.world import Record

IMAGE_FILTERS = {
    "image-id": "ImageId", "name": "Name", "architecture": "Architecture", "state": "State", "owner-id": "OwnerId",
    "virtualization-type": "VirtualizationType", "image-type": "ImageType", "root-device-type": "RootDeviceType",
    "is-public": "Public", "ena-support": "EnaSupport", "description": "Description", "hypervisor": "Hypervisor",
    "creation-date": "CreationDate", "root-device-name": "RootDeviceName", "manifest-location": "ImageLocation",
    "owner-alias": "ImageOwnerAlias", "block-device-mapping.device-name": "BlockDeviceMappings.DeviceName",
    "block-device-mapping.delete-on-termination": "BlockDeviceMappings.Ebs.DeleteOnTermination",
    "block-device-mapping.snapshot-id": "BlockDeviceMappings.Ebs.SnapshotId",
    "block-device-mapping.volume-size": "BlockDeviceMappings.Ebs.VolumeSize",
    "block-device-mapping.volume-type": "BlockDeviceMappings.Ebs.VolumeType",
    "block-device-mapping.encrypted": "BlockDeviceMappings.Ebs.Encrypted",
}  # fmt: skip
TYPE_FILTERS = {
    "instance-type": "InstanceType", "current-generation": "CurrentGeneration", "bare-metal": "BareMetal",
    "processor-info.supported-architecture": "ProcessorInfo.SupportedArchitectures", "hypervisor": "Hypervisor",
    "instance-storage-supported": "InstanceStorageSupported", "memory-info.size-in-mib": "MemoryInfo.SizeInMiB",
    "network-info.ipv4-addresses-per-interface": "NetworkInfo.Ipv4AddressesPerInterface",
    "network-info.ipv6-supported": "NetworkInfo.Ipv6Supported",
    "network-info.maximum-network-interfaces": "NetworkInfo.MaximumNetworkInterfaces",
    "supported-usage-class": "SupportedUsageClasses", "supported-virtualization-type": "SupportedVirtualizationTypes",
    "vcpu-info.default-vcpus": "VCpuInfo.DefaultVCpus",
    "burstable-performance-supported": "BurstablePerformanceSupported",
}  # fmt: skip


def _row(number: int) -> Record:
    return {"serial": number, "tags": {}}


def image(call: Call, ident: str) -> dict[str, Any]:
    """Return an image, or refuse as EC2 does."""
    if not ident.startswith("ami-"):
        raise Refused("InvalidAMIID.Malformed", f'Invalid id: "{ident}" (expecting "ami-...")')
    if ident in BY_ID:
        return image_view(BY_ID[ident])
    raise Refused("InvalidAMIID.NotFound", f"The image id '[{ident}]' does not exist")


def describe_images(call: Call) -> dict[str, Any]:
    if "ImageIds" in call.params:
        views = [image(call, ident) for ident in call.params["ImageIds"]]
    else:
        views = [image_view(row) for row in IMAGES]
    owners = call.params.get("Owners")
    if owners is not None:
        wanted = {call.account if owner == "self" else owner for owner in owners}
        views = [view for view in views if wanted & {view["OwnerId"], view.get("ImageOwnerAlias")}]
    rows = matching(call, [(_row(n), view) for n, view in enumerate(views, 1)], IMAGE_FILTERS)
    page, more = paged_rows(call, rows)
    return {"Images": [view for _, view in page], **({"NextToken": more} if more else {})}


def describe_types(call: Call) -> dict[str, Any]:
    views = {name: type_view(row) for name, row in TYPES.items()}
    for name in call.params.get("InstanceTypes", []):
        if name not in views:
            raise Refused("InvalidInstanceType", f"The following supplied instance types do not exist: [{name}]")
    wanted = call.params.get("InstanceTypes", list(views))
    rows = [(_row(n), view) for n, (name, view) in enumerate(views.items(), 1) if name in wanted]
    page, more = paged_rows(call, matching(call, rows, TYPE_FILTERS))
    return {"InstanceTypes": [view for _, view in page], **({"NextToken": more} if more else {})}


def key_pair(call: Call, name: str) -> Record:
    """Return a key pair by its name, or refuse as EC2 does."""
    found = call.where("key-pair", KeyName=name)
    if not found:
        raise Refused(KEY_PAIR.not_found, f"The key pair '{name}' does not exist")
    return found[0]


def import_key(call: Call) -> dict[str, Any]:
    tags, name = tags_for(call, "key-pair")["key-pair"], call.params["KeyName"]
    if call.where("key-pair", KeyName=name):
        raise Refused("InvalidKeyPair.Duplicate", f"The keypair '{name}' already exists.")
    digits = hashlib.md5(call.params["PublicKeyMaterial"], usedforsecurity=False).hexdigest()
    fingerprint = ":".join(digits[at : at + 2] for at in range(0, 32, 2))
    view = {"KeyName": name, "KeyFingerprint": fingerprint, "KeyType": "rsa", "CreateTime": call.now}
    shown = show(create(call, KEY_PAIR, view, tags), KEY_PAIR)
    return {name: shown[name] for name in ("KeyFingerprint", "KeyName", "KeyPairId", "Tags")}


def describe_keys(call: Call) -> dict[str, Any]:
    records = [row for row in call.all("key-pair") if call.sees(row)]
    if "KeyPairIds" in call.params:
        records = [find(call, KEY_PAIR, ident) for ident in call.params["KeyPairIds"]]
    if "KeyNames" in call.params:
        records = [key_pair(call, name) for name in call.params["KeyNames"]]
    rows = matching(call, [(row, show(row, KEY_PAIR)) for row in records], KEY_PAIR.filters)
    return {"KeyPairs": [view for _, view in rows]}


def delete_key(call: Call) -> dict[str, Any]:
    """Delete a key pair; one that does not exist counts as deleted."""
    for record in call.all("key-pair"):
        if call.params.get("KeyName") == record["view"]["KeyName"] or call.params.get("KeyPairId") == record["id"]:
            call.world.remove(record, call.now)
            return {"Return": True, "KeyPairId": record["id"]}
    return {"Return": True}


OPERATIONS: tuple[Operation, ...] = (
    reads("DescribeImages", describe_images, "ImageIds Owners Filters MaxResults NextToken"),
    reads("DescribeInstanceTypes", describe_types, "InstanceTypes Filters MaxResults NextToken"),
    writes("ImportKeyPair", import_key, "KeyName PublicKeyMaterial TagSpecifications"),
    reads("DescribeKeyPairs", describe_keys, "KeyNames KeyPairIds Filters"),
    writes("DeleteKeyPair", delete_key, "KeyName KeyPairId"),
)
