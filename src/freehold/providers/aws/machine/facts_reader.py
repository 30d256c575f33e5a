"""The questions of an AWSMachine (:mod:`facts`), answered by AWS once for all machines of an account that ask alike."""

from __future__ import annotations

from collections.abc import Awaitable, Collection, Iterable, Mapping, Sequence
from typing import TypeVar

from freehold.engine.clock import Clock
from freehold.engine.errors import CloudError, Invalid, NotFound
from freehold.providers.aws.answer_cache import AnswerCache
from freehold.providers.aws.calls import AwsClient, Json
from freehold.providers.aws.decoded import DecodedResource
from freehold.providers.aws.facts import AwsFacts
from freehold.providers.aws.kinds import security_group, subnet
from freehold.providers.aws.machine.facts import (
    ARCHITECTURE,
    ARM_SUFFIX,
    EksCluster,
    Image,
    ImageById,
    ImageByName,
    ImageByParameter,
    ImageQuestion,
    InstanceType,
    MachineFacts,
    MachineGroup,
    MachineQuestions,
    MachineSubnet,
    ResourceSelection,
)
from freehold.providers.aws.reading import Ec2Read, read_by_filters
from freehold.providers.aws.tags.capa_tags import ASSOCIATION, SECONDARY
from freehold.providers.objects.cloud_answers import Answer, NoAnswer, NotThere, to_no_answer

T = TypeVar("T")
_SLOW, _NETWORK = 3 * 3600.0, 300.0
"""Seconds for which images and types count, and subnets and groups."""
_NO_IMAGE = frozenset({"InvalidAMIID.NotFound", "InvalidAMIID.Malformed", "InvalidAMIID.Unavailable"})
_PAGE = 1000
_ARM = "arm64"
_ORDER = ("x86_64", _ARM)
"""Architectures, the one to be used first; others after them."""


class AwsMachineFactsReader:
    """The answers of one account and region (:class:`facts.MachineFactsReader`)."""

    def __init__(self, client: AwsClient, facts: AwsFacts, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self.renew(facts)

    def renew(self, facts: AwsFacts) -> None:
        """Forget all answers: ``facts`` have been asked nothing yet."""
        self._facts = facts
        self._answers = AnswerCache(self._clock)

    async def read(self, questions: MachineQuestions) -> MachineFacts:
        name = questions.instance_type
        kind = await _answer(self._read_type(name)) if name else None
        image = await self._ask_image(questions.image, kind) if questions.image else None
        subnets = await _answer(self._read_subnets(questions.vpc)) if questions.vpc else None
        chosen = await _list(self._select_subnets(questions.subnet)) if questions.subnet else None
        groups = await _list(self._select_groups(questions.groups)) if questions.groups else None
        full = self._find_full(name, [each for each in (subnets, chosen) if isinstance(each, Answer)])
        eks_group = await _answer(self._read_eks_group(questions.eks)) if questions.eks else None
        return MachineFacts(image, kind, subnets, chosen, groups, full, eks_group)

    # -- what it is made of ------------------------------------------------------------------------------------

    async def _read_type(self, name: str) -> Answer[InstanceType] | NotThere:
        """Read a type. A filter leaves out an unknown one, where a list of names would be refused."""
        found = await self._answers.ask_once(("type", name), _SLOW, lambda: self._list_types(name))
        return Answer(found[0]) if found else NotThere()

    async def _list_types(self, name: str) -> Sequence[InstanceType]:
        filters = [{"Name": "instance-type", "Values": [name]}]
        rows = await self._client.read_list("ec2", "describe_instance_types", "InstanceTypes", name, Filters=filters)
        return [
            InstanceType(row["InstanceType"], _in_order(row["ProcessorInfo"]["SupportedArchitectures"]))
            for row in rows
            if row["InstanceType"] == name  # a filter's value may be a pattern
        ]

    async def _ask_image(
        self, question: ImageQuestion, kind: Answer[InstanceType] | NotThere | NoAnswer | None
    ) -> Answer[Image] | NotThere | NoAnswer | None:
        """Ask for an image; without the architecture only for one that is named by its id."""
        if isinstance(question, ImageById):
            return await _answer(self._read_image(question.id))
        if not isinstance(kind, Answer):
            return kind if isinstance(kind, NoAnswer) else None
        architecture = kind.value.architectures[0]
        if isinstance(question, ImageByName):
            return await _answer(self._find_newest(question, architecture))
        return await _answer(self._read_parameter(question, architecture))

    async def _read_image(self, ident: str) -> Answer[Image] | NotThere:
        found = await self._answers.ask_once(("image", ident), _SLOW, lambda: self._list_image(ident))
        return Answer(_image(found[0])) if found else NotThere()

    async def _list_image(self, ident: str) -> Sequence[Json]:
        """Ask by the id itself, which shows a deprecated image too, as a filter does not.

        https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ami-deprecate.html
        """
        try:
            return await self._client.read_list("ec2", "describe_images", "Images", ident, ImageIds=[ident])
        except Invalid as refused:
            if refused.code not in _NO_IMAGE:
                raise
            return []

    async def _find_newest(self, question: ImageByName, architecture: str) -> Answer[Image] | NotThere:
        """Find the newest image, then the smallest id: of two of one moment each machine takes the same.

        A deprecated one is not listed.
        """
        selected = {
            "name": question.name,
            "architecture": architecture,
            "state": "available",
            "virtualization-type": "hvm",
        }
        found = await self._answers.ask_once(
            (question, architecture),
            _SLOW,
            lambda: self._list_images(question, selected),
        )
        newest = max((str(row.get("CreationDate", "")) for row in found), default="")
        ids = sorted(
            (row["ImageId"], index) for index, row in enumerate(found) if row.get("CreationDate", "") == newest
        )
        return Answer(_image(found[ids[0][1]])) if ids else NotThere()

    async def _read_parameter(self, question: ImageByParameter, architecture: str) -> Answer[Image] | NotThere:
        arm = f"-{_ARM}" if architecture == _ARM else ""
        name = question.name.replace(ARCHITECTURE, architecture).replace(ARM_SUFFIX, arm)
        ident = await self._answers.ask_once(("parameter", name), _SLOW, lambda: self._get_parameter(name))
        return await self._read_image(ident) if ident else NotThere()

    async def _get_parameter(self, name: str) -> str:
        try:
            body = await self._client.read("ssm", "get_parameter", name, Name=name)
        except NotFound:
            return ""
        return str(body["Parameter"]["Value"])

    async def _list_images(self, question: ImageByName, selected: Mapping[str, str]) -> Sequence[Json]:
        filters = [{"Name": name, "Values": [value]} for name, value in selected.items()]
        return await self._client.read_list(
            "ec2", "describe_images", "Images", f"{question.name} of {question.owner}",
            Filters=filters, Owners=[question.owner], MaxResults=_PAGE,
        )  # fmt: skip

    # -- where it is -------------------------------------------------------------------------------------------

    async def _read_subnets(self, vpc: str) -> Answer[tuple[MachineSubnet, ...]] | NotThere:
        found = await self._facts.subnets(vpc)
        if found is None:
            return NotThere()
        return Answer(
            tuple(
                MachineSubnet(each.id, vpc, each.zone, each.public, each.tags.get(ASSOCIATION) == SECONDARY, each.ipv6)
                for each in found
            )
        )

    async def _select_subnets(self, selection: ResourceSelection) -> tuple[MachineSubnet, ...]:
        """Return what the spec selects in any VPC, each as its VPC shows it."""
        found = await self._select(selection, subnet.READ)
        shown: dict[str, MachineSubnet] = {}
        for vpc in sorted({each.attributes["vpc_id"] for each in found}):
            there = await self._read_subnets(vpc)
            shown |= {each.id: each for each in there.value} if isinstance(there, Answer) else {}
        return tuple(shown[each.id] for each in sorted(found, key=lambda each: each.id) if each.id in shown)

    async def _select_groups(
        self, selections: Sequence[ResourceSelection]
    ) -> Mapping[ResourceSelection, tuple[MachineGroup, ...]]:
        return {each: await self._select_group(each) for each in selections}

    async def _select_group(self, selection: ResourceSelection) -> tuple[MachineGroup, ...]:
        found = await self._select(selection, security_group.READ)
        return tuple(sorted((MachineGroup(each.id, each.attributes["vpc_id"]) for each in found), key=lambda g: g.id))

    async def _select(self, selection: ResourceSelection, read: Ec2Read) -> Sequence[DecodedResource]:
        """Return what all filters of a selection select; nothing where it has none, which would select everything."""
        filters: dict[str, Sequence[str]] = {read.id_filter: [selection.id]} if selection.id else {}
        filters |= {each.name: each.values for each in selection.filters}
        if not filters:
            return []
        subject = "; ".join(f"{name} {', '.join(values)}" for name, values in filters.items())
        return await self._answers.ask_once(
            (read.operation, selection), _NETWORK, lambda: read_by_filters(self._client, read, filters, subject)
        )

    async def _read_eks_group(self, cluster: EksCluster) -> Answer[str] | NotThere:
        """Read which security group EKS made for a cluster: it keeps it for life."""
        found = await self._answers.ask_once(cluster, _SLOW, lambda: self._describe_eks(cluster.name))
        return Answer(found) if found else NotThere()

    async def _describe_eks(self, name: str) -> str:
        try:
            body = await self._client.read("eks", "describe_cluster", name, name=name)
        except NotFound:
            return ""
        return str(body["cluster"]["resourcesVpcConfig"].get("clusterSecurityGroupId") or "")

    def _find_full(self, name: str, known: Iterable[Answer[tuple[MachineSubnet, ...]]]) -> frozenset[str]:
        refused = self._client.session.capacity_log.full_subnets(name)
        return frozenset(each.zone for answer in known for each in answer.value if each.id in refused)


def _in_order(architectures: Collection[str]) -> tuple[str, ...]:
    return tuple(sorted(architectures, key=lambda each: (_ORDER.index(each) if each in _ORDER else len(_ORDER), each)))


def _image(row: Json) -> Image:
    """Read an image: its root volume is at least as large as the snapshot that it is made of."""
    root = row.get("RootDeviceName", "")
    sizes = [
        each["Ebs"].get("VolumeSize", 0)
        for each in row.get("BlockDeviceMappings", ())
        if each.get("DeviceName") == root and "Ebs" in each
    ]
    return Image(row["ImageId"], row.get("Architecture", ""), root, max(sizes, default=0))


async def _answer(question: Awaitable[Answer[T] | NotThere]) -> Answer[T] | NotThere | NoAnswer:
    try:
        return await question
    except CloudError as error:
        return to_no_answer(error)


async def _list(question: Awaitable[T]) -> Answer[T] | NoAnswer:
    try:
        return Answer(await question)
    except CloudError as error:
        return to_no_answer(error)
