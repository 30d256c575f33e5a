"""Machine images and instance types that exist in every region, as data.

Images follow the names and descriptions that CAPA looks up: capa-ami-{os}-{version}-?{kubernetes version}-*, and those
of Canonical's daily builds.
"""

from typing import Any, NamedTuple

_CAPA, _CAPA_UNTIL_2024 = "819546954734", "258751437250"
"""CAPA's images are in an account of the CNCF; those of before were in one of VMware's."""
_CANONICAL, _EKS = "099720109477", "602401143452"
"""https://documentation.ubuntu.com/aws/aws-how-to/instances/find-ubuntu-images/"""
_ALIASES = {_EKS: "amazon"}


class ImageRow(NamedTuple):
    ident: str
    owner: str
    name: str
    created: str
    description: str = ""
    architecture: str = "x86_64"


def _capa(number: int, version: str, built: int, created: str, architecture: str = "x86_64") -> ImageRow:
    name = f"capa-ami-ubuntu-24.04-v{version}-{built}"
    text = f"Kubernetes v{version} on Ubuntu 24.04"
    return ImageRow(f"ami-0a0000000000000c{number:x}", _CAPA, name, created, text, architecture)


IMAGES: tuple[ImageRow, ...] = (
    ImageRow("ami-0a0000000000000c0", _CAPA_UNTIL_2024, "capa-ami-ubuntu-20.04-v1.28.3-1698000000",
             "2023-10-22T00:00:00.000Z"),
    _capa(1, "1.31.0", 1730000000, "2024-10-27T00:00:00.000Z"),
    _capa(2, "1.32.0", 1740000000, "2025-02-19T00:00:00.000Z"),
    _capa(3, "1.32.0", 1740000001, "2025-02-19T00:00:00.000Z", "arm64"),
    _capa(4, "1.33.0", 1746000000, "2025-04-30T00:00:00.000Z"),
    _capa(5, "1.33.0", 1746000001, "2025-04-30T00:00:00.000Z", "arm64"),
    _capa(6, "1.34.0", 1757000000, "2025-09-04T00:00:00.000Z"),
    _capa(7, "1.34.0", 1757000001, "2025-09-04T00:00:00.000Z", "arm64"),
    _capa(8, "1.35.0", 1766500000, "2025-12-23T00:00:00.000Z"),
    _capa(9, "1.35.0", 1766500001, "2025-12-23T00:00:00.000Z", "arm64"),
    ImageRow("ami-0a0000000000000b1", _CANONICAL, "ubuntu/images/hvm-ssd/ubuntu-focal-20.04-amd64-server-20250101",
             "2025-01-01T00:00:00.000Z", "Canonical, Ubuntu, 20.04 LTS, amd64 focal image build on 2025-01-01"),
    ImageRow("ami-0a0000000000000b2", _CANONICAL, "ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-amd64-server-20251001",
             "2025-10-01T00:00:00.000Z", "Canonical, Ubuntu, 24.04, amd64 noble image"),
    ImageRow("ami-0a0000000000000e1", _EKS, "amazon-eks-node-al2023-x86_64-standard-1.32-v20250201",
             "2025-02-01T00:00:00.000Z", "EKS-optimized Kubernetes node based on Amazon Linux 2023, (k8s: 1.32.0)"),
)  # fmt: skip

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


def image_view(row: ImageRow) -> dict[str, Any]:
    """Return an image as DescribeImages shows it."""
    disk = {"SnapshotId": f"snap-{row.ident[4:]}", "VolumeSize": 8, "VolumeType": "gp3", "DeleteOnTermination": True,
            "Encrypted": False}  # fmt: skip
    view = {
        "ImageId": row.ident, "Name": row.name, "Architecture": row.architecture, "CreationDate": row.created,
        "OwnerId": row.owner, "Public": True, "ImageType": "machine", "ImageLocation": f"{row.owner}/{row.name}",
        "RootDeviceName": "/dev/sda1", "RootDeviceType": "ebs", "VirtualizationType": "hvm", "Hypervisor": "xen",
        "EnaSupport": True, "BlockDeviceMappings": [{"DeviceName": "/dev/sda1", "Ebs": disk}], "State": "available",
    }  # fmt: skip
    alias = {"ImageOwnerAlias": _ALIASES[row.owner]} if row.owner in _ALIASES else {}
    return {**view, **alias, **({"Description": row.description} if row.description else {})}


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
