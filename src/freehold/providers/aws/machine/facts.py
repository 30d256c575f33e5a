"""The questions that a machine asks of AWS, and the answers: values only, so that the decision stays pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from freehold.providers.objects.cloud_answers import Answer, NoAnswer, NotThere

ARCHITECTURE = "{architecture}"
"""The place in the name of a parameter where the architecture of the instance type goes."""
ARM_SUFFIX = "{arm}"
"""The place where ``-arm64`` goes if it is that, and nothing if it is another one."""


@dataclass(frozen=True)
class Filter:
    """One filter of EC2, as the spec writes it."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class ResourceSelection:
    """The resources that the spec selects: by id, by filters, or by both."""

    id: str = ""
    filters: tuple[Filter, ...] = ()


@dataclass(frozen=True)
class ImageById:
    """An image that the spec names."""

    id: str


@dataclass(frozen=True)
class ImageByName:
    """The newest image of ``owner`` whose name fits EC2's pattern ``name`` (``*`` and ``?``), then the smallest id.

    Only available ones of the architecture of the instance type, with hardware virtualization.
    """

    owner: str
    name: str


@dataclass(frozen=True)
class ImageByParameter:
    """The image whose id is the value of a public parameter of SSM.

    Its name may hold :data:`ARCHITECTURE` and :data:`ARM_SUFFIX`.
    """

    name: str


ImageQuestion = ImageById | ImageByName | ImageByParameter


@dataclass(frozen=True)
class EksCluster:
    """The EKS cluster of a control plane. ``incarnation`` tells it from a later one of the name, where it is known."""

    name: str
    incarnation: str = ""


@dataclass(frozen=True)
class MachineQuestions:
    """The open questions of one machine; an empty one is not asked.

    ``vpc``: whose subnets. ``subnet``: the spec's own choice among all subnets of the account. ``groups``: those that
    the spec adds. ``eks``: whose own security group.
    """

    image: ImageQuestion | None = None
    instance_type: str = ""
    vpc: str = ""
    subnet: ResourceSelection | None = None
    groups: tuple[ResourceSelection, ...] = ()
    eks: EksCluster | None = None


@dataclass(frozen=True)
class Image:
    """An image. ``root_size`` is the size of its root volume in GiB, 0 where that is not known."""

    id: str
    architecture: str
    root_device: str
    root_size: int = 0


@dataclass(frozen=True)
class InstanceType:
    """An instance type. ``architectures`` are EC2's words (``x86_64``, ``arm64``), the one to be used first."""

    name: str
    architectures: tuple[str, ...]


@dataclass(frozen=True)
class MachineSubnet:
    """A subnet. ``public``: its routes lead to an internet gateway. ``for_pods``: CAPA's tag says secondary."""

    id: str
    vpc: str
    zone: str
    public: bool = False
    for_pods: bool = False
    ipv6: bool = False


@dataclass(frozen=True)
class MachineGroup:
    """A security group."""

    id: str
    vpc: str


@dataclass(frozen=True)
class MachineFacts:
    """The answers; None where the question was not asked.

    ``image`` is NotThere where no image fits, ``type`` where the region has no type of this name. ``subnets`` are all
    those of the VPC, sorted by id, NotThere where there is no such VPC. ``chosen`` are the subnets that the spec
    selects, empty where none fits. ``groups`` has an entry for each selection, empty where none fits. ``full``: the
    zones in which AWS lately had no capacity for this instance type. ``eks_group`` is the id of the security group that
    EKS made for its cluster, NotThere where there is none.
    """

    image: Answer[Image] | NotThere | NoAnswer | None = None
    type: Answer[InstanceType] | NotThere | NoAnswer | None = None
    subnets: Answer[tuple[MachineSubnet, ...]] | NotThere | NoAnswer | None = None
    chosen: Answer[tuple[MachineSubnet, ...]] | NoAnswer | None = None
    groups: Answer[Mapping[ResourceSelection, tuple[MachineGroup, ...]]] | NoAnswer | None = None
    full: frozenset[str] = frozenset()
    eks_group: Answer[str] | NotThere | NoAnswer | None = None


class MachineFactsReader(Protocol):
    """A source of answers. It never raises CloudError: what could not be asked is NoAnswer."""

    async def read(self, questions: MachineQuestions) -> MachineFacts: ...
