"""Machine images that exist in every region, as data: those that CAPA looks up, Canonical's, and those of EKS.

CAPA's are named capa-ami-{os}-v{kubernetes version}-{build}
(https://cluster-api-aws.sigs.k8s.io/topics/images/built-amis). Ids, dates and sizes are made up.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

_CAPA, _CAPA_UNTIL_2024 = "819546954734", "258751437250"
"""CAPA's images are in an account of the CNCF; those of before were in one of VMware's."""
_CANONICAL, _EKS = "099720109477", "602401143452"
"""https://documentation.ubuntu.com/aws/aws-how-to/instances/find-ubuntu-images/"""
_ALIASES = {_EKS: "amazon"}
ARCHITECTURES = ("x86_64", "arm64")


class ImageRow(NamedTuple):
    """One image; `root` is its root device, `size` the GiB of the snapshot behind it."""

    ident: str
    owner: str
    name: str
    created: str
    description: str = ""
    architecture: str = "x86_64"
    root: str = "/dev/sda1"
    size: int = 8


class _Os(NamedTuple):
    name: str
    described: str
    root: str


_SYSTEMS = (
    _Os("ubuntu-22.04", "Ubuntu 22.04", "/dev/sda1"),
    _Os("ubuntu-24.04", "Ubuntu 24.04", "/dev/sda1"),
    _Os("flatcar-stable", "Flatcar stable", "/dev/xvda"),
)
_FIRST_MONTHS = {
    "1.30": (2024, 5), "1.31": (2024, 11), "1.32": (2025, 3), "1.33": (2025, 6), "1.34": (2025, 10), "1.35": (2026, 1),
    "1.36": (2026, 5),
}  # fmt: skip
"""Kubernetes versions, each with the month of the images of its release; one of a patch follows a month later."""
_PATCHES = 3
EKS_VERSIONS = tuple(_FIRST_MONTHS)
AL2_VERSIONS = ("1.30", "1.31", "1.32")
"""1.32 was the last for which AWS released images with Amazon Linux 2
(https://docs.aws.amazon.com/eks/latest/userguide/eks-ami-deprecation-faqs.html)."""


def _first(number: int, version: str, built: int, created: str, architecture: str = "x86_64") -> ImageRow:
    name = f"capa-ami-ubuntu-24.04-v{version}-{built}"
    text = f"Kubernetes v{version} on Ubuntu 24.04"
    return ImageRow(f"ami-0a0000000000000c{number:x}", _CAPA, name, created, text, architecture)


def _capa() -> Iterator[ImageRow]:
    """Yield the images of each release. Of patch 0 there are two builds of one moment, the smaller id last."""
    for system, os in enumerate(_SYSTEMS):
        for minor, (year, month) in _FIRST_MONTHS.items():
            for patch in range(_PATCHES):
                for chip, architecture in enumerate(ARCHITECTURES):
                    for twin in (1, 0) if patch == 0 else (0,):
                        yield _build(os, f"{system}{minor[2:]}{patch}{chip}{twin}", f"{minor}.{patch}", architecture,
                                     _month(year, month + patch))  # fmt: skip


def _build(os: _Os, digits: str, version: str, architecture: str, created: str) -> ImageRow:
    name, text = f"capa-ami-{os.name}-v{version}-1{digits.zfill(9)}", f"Kubernetes v{version} on {os.described}"
    return ImageRow(f"ami-0d{digits.zfill(15)}", _CAPA, name, created, text, architecture, os.root)


def _month(year: int, month: int) -> str:
    return f"{year + (month - 1) // 12}-{(month - 1) % 12 + 1:02d}-15T00:00:00.000Z"


def eks_name(version: str, architecture: str, variant: str) -> str:
    """Return the name of the image of EKS; `variant` is standard or nvidia of Amazon Linux 2023, or al2 or al2-gpu.

    https://docs.aws.amazon.com/eks/latest/userguide/eks-linux-ami-versions.html
    """
    if variant.startswith("al2"):
        chip = "-arm64" if architecture == "arm64" else "-gpu" if variant == "al2-gpu" else ""
        return f"amazon-eks{chip}-node-{version}-v20251101"
    return f"amazon-eks-node-al2023-{architecture}-{variant}-{version}-v20261101"


def _eks() -> Iterator[ImageRow]:
    rows = [(version, chip, variant) for version in EKS_VERSIONS for chip in ARCHITECTURES
            for variant in ("standard", "nvidia")]  # fmt: skip
    rows += [(version, *each) for version in AL2_VERSIONS
             for each in (("x86_64", "al2"), ("arm64", "al2"), ("x86_64", "al2-gpu"))]  # fmt: skip
    for number, (version, architecture, variant) in enumerate(rows):
        text = f"EKS-optimized Kubernetes node, (k8s: {version}.0)"
        name = eks_name(version, architecture, variant)
        yield ImageRow(f"ami-0e{number:015x}", _EKS, name, "2026-11-01T00:00:00.000Z", text, architecture,
                       "/dev/xvda", 20)  # fmt: skip


IMAGES: tuple[ImageRow, ...] = (
    ImageRow("ami-0a0000000000000c0", _CAPA_UNTIL_2024, "capa-ami-ubuntu-20.04-v1.28.3-1698000000",
             "2023-10-22T00:00:00.000Z"),
    _first(1, "1.31.0", 1730000000, "2024-10-27T00:00:00.000Z"),
    _first(2, "1.32.0", 1740000000, "2025-02-19T00:00:00.000Z"),
    _first(3, "1.32.0", 1740000001, "2025-02-19T00:00:00.000Z", "arm64"),
    _first(4, "1.33.0", 1746000000, "2025-04-30T00:00:00.000Z"),
    _first(5, "1.33.0", 1746000001, "2025-04-30T00:00:00.000Z", "arm64"),
    _first(6, "1.34.0", 1757000000, "2025-09-04T00:00:00.000Z"),
    _first(7, "1.34.0", 1757000001, "2025-09-04T00:00:00.000Z", "arm64"),
    _first(8, "1.35.0", 1766500000, "2025-12-23T00:00:00.000Z"),
    _first(9, "1.35.0", 1766500001, "2025-12-23T00:00:00.000Z", "arm64"),
    *_capa(),
    ImageRow("ami-0a0000000000000b1", _CANONICAL, "ubuntu/images/hvm-ssd/ubuntu-focal-20.04-amd64-server-20250101",
             "2025-01-01T00:00:00.000Z", "Canonical, Ubuntu, 20.04 LTS, amd64 focal image build on 2025-01-01"),
    ImageRow("ami-0a0000000000000b2", _CANONICAL, "ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-amd64-server-20251001",
             "2025-10-01T00:00:00.000Z", "Canonical, Ubuntu, 24.04, amd64 noble image"),
    *_eks(),
)  # fmt: skip
BY_ID = {row.ident: row for row in IMAGES}


@cache
def image_view(row: ImageRow) -> dict[str, Any]:
    """Return an image as DescribeImages shows it; nobody changes it."""
    disk = {"SnapshotId": f"snap-{row.ident[4:]}", "VolumeSize": row.size, "VolumeType": "gp3",
            "DeleteOnTermination": True, "Encrypted": False}  # fmt: skip
    view = {
        "ImageId": row.ident, "Name": row.name, "Architecture": row.architecture, "CreationDate": row.created,
        "OwnerId": row.owner, "Public": True, "ImageType": "machine", "ImageLocation": f"{row.owner}/{row.name}",
        "RootDeviceName": row.root, "RootDeviceType": "ebs", "VirtualizationType": "hvm", "Hypervisor": "xen",
        "EnaSupport": True, "BlockDeviceMappings": [{"DeviceName": row.root, "Ebs": disk}], "State": "available",
    }  # fmt: skip
    alias = {"ImageOwnerAlias": _ALIASES[row.owner]} if row.owner in _ALIASES else {}
    return {**view, **alias, **({"Description": row.description} if row.description else {})}
