"""Machine images and instance types that exist in every region, as data.

Images follow the names that CAPA looks up: capa-ami-{os}-{version}-?{kubernetes version}-*.
"""

from typing import Any

OWNER = "258751437250"
"""The account that owns the images."""

ImageRow = tuple[str, str, str, str]
IMAGES: tuple[ImageRow, ...] = (
    ("ami-0a0000000000000c1", "capa-ami-ubuntu-24.04-v1.31.0-1730000000", "x86_64", "2024-10-27T00:00:00.000Z"),
    ("ami-0a0000000000000c2", "capa-ami-ubuntu-24.04-v1.32.0-1740000000", "x86_64", "2025-02-19T00:00:00.000Z"),
    ("ami-0a0000000000000c3", "capa-ami-ubuntu-24.04-v1.32.0-1740000001", "arm64", "2025-02-19T00:00:00.000Z"),
    ("ami-0a0000000000000b1", "ubuntu/images/hvm-ssd/ubuntu-focal-20.04-amd64-server-20250101", "x86_64",
     "2025-01-01T00:00:00.000Z"),
    ("ami-0a0000000000000e1", "amazon-eks-node-al2023-x86_64-standard-1.32-v20250201", "x86_64",
     "2025-02-01T00:00:00.000Z"),
)  # fmt: skip
"""Id, name, architecture and creation date of each image."""

TypeRow = tuple[str, int, int, tuple[str, ...]]
TYPES: tuple[TypeRow, ...] = (
    ("t2.micro", 1, 1024, ("x86_64",)),
    ("t3.micro", 2, 1024, ("x86_64",)),
    ("t3.small", 2, 2048, ("x86_64",)),
    ("t3.medium", 2, 4096, ("x86_64",)),
    ("t3.large", 2, 8192, ("x86_64",)),
    ("m5.large", 2, 8192, ("x86_64",)),
    ("m5.xlarge", 4, 16384, ("x86_64",)),
    ("m6g.large", 2, 8192, ("arm64",)),
    ("c5.large", 2, 4096, ("x86_64",)),
)
"""Name, vCPUs, memory in MiB and architectures of each instance type."""


def image_view(row: ImageRow, region: str) -> dict[str, Any]:
    """Return an image as DescribeImages shows it."""
    ident, name, architecture, created = row
    disk = {"SnapshotId": f"snap-{ident[4:]}", "VolumeSize": 8, "VolumeType": "gp3", "DeleteOnTermination": True,
            "Encrypted": False}  # fmt: skip
    return {
        "ImageId": ident, "Name": name, "Architecture": architecture, "CreationDate": created, "State": "available",
        "OwnerId": OWNER, "Public": True, "ImageType": "machine", "ImageLocation": f"{region}/{name}",
        "RootDeviceName": "/dev/sda1", "RootDeviceType": "ebs", "VirtualizationType": "hvm", "Hypervisor": "xen",
        "EnaSupport": True, "BlockDeviceMappings": [{"DeviceName": "/dev/sda1", "Ebs": disk}],
    }  # fmt: skip


def type_view(row: TypeRow) -> dict[str, Any]:
    """Return an instance type as DescribeInstanceTypes shows it."""
    name, cores, memory, architectures = row
    return {
        "InstanceType": name, "CurrentGeneration": True, "SupportedUsageClasses": ["on-demand"],
        "SupportedVirtualizationTypes": ["hvm"], "BareMetal": False, "Hypervisor": "nitro",
        "ProcessorInfo": {"SupportedArchitectures": list(architectures)}, "VCpuInfo": {"DefaultVCpus": cores},
        "MemoryInfo": {"SizeInMiB": memory}, "InstanceStorageSupported": False,
        "NetworkInfo": {"MaximumNetworkInterfaces": 3, "Ipv4AddressesPerInterface": 12, "Ipv6Supported": True},
    }  # fmt: skip
