"""The questions that an AWSCluster asks of the cloud: only what the spec leaves open."""

from __future__ import annotations

from collections.abc import Awaitable, Collection, Mapping
from dataclasses import replace
from typing import Protocol, TypeVar

from freehold.engine.dry_run_overlay import is_planned
from freehold.engine.errors import CloudError
from freehold.engine.journal import Journal
from freehold.providers.aws.cluster import node_sources
from freehold.providers.aws.cluster.facts import AWSClusterFacts, GivenNetwork, Namesake, Recorded
from freehold.providers.aws.cluster.group_checks import named_groups
from freehold.providers.aws.cluster.keys import BASTION
from freehold.providers.aws.cluster.names import AWSClusterNames
from freehold.providers.aws.cluster.recorded import recorded_in
from freehold.providers.aws.cluster.types.spec import AWSClusterSpec
from freehold.providers.objects.cloud_answers import Answer, NoAnswer, NotThere, to_no_answer

T = TypeVar("T")


class AWSClusterFactsReader(Protocol):
    """A source of answers. A CloudError means that the cloud could not be asked."""

    @property
    def not_bound(self) -> str:
        """Say why AWS does not check whose a resource is before the object's role deletes it; empty where it does."""
        ...

    async def zones(self) -> Answer[tuple[str, ...]] | NotThere:
        """Return the availability zones of the region."""
        ...

    async def network(self, vpc: str) -> Answer[GivenNetwork] | NotThere:
        """Return the subnets of a VPC that is there already."""
        ...

    async def nat_addresses(self, vpc: str) -> Answer[Mapping[str, tuple[str, ...]]]:
        """Return the public addresses of the NAT gateways of a VPC, by id."""
        ...

    async def has_ipv6(self, vpc: str) -> Answer[bool] | NotThere:
        """Return whether a VPC has, or is being given, a range of IPv6."""
        ...

    async def image(self) -> Answer[str] | NotThere:
        """Return the newest image for a bastion."""
        ...

    async def groups(self, idents: Collection[str]) -> Answer[Mapping[str, str]]:
        """Return the VPC of each of these security groups that is there, by id."""
        ...

    async def namesakes(self, cluster: str, uuid: str, of_workloads: str = "") -> Answer[tuple[Namesake, ...]]:
        """List what has the cluster's name in CAPA's tag or in the cloud controller's, of this owner too.

        ``of_workloads`` is the name in the cloud controller's tag, ``cluster`` where it is empty.
        """
        ...


async def discover(
    reader: AWSClusterFactsReader,
    names: AWSClusterNames,
    spec: AWSClusterSpec,
    port: int,
    journal: Journal,
    *,
    deleting: bool = False,
) -> AWSClusterFacts:
    """Ask AWS what :func:`desired.build_desired` must know: only what the spec leaves open.

    A delete asks only what says where to look for strays: a permission for more may be gone by then.
    """
    recorded = recorded_in(journal.entries, journal.defaults)
    given = recorded.given_vpc_of(spec.network.vpc if spec.network else None)
    zones = await _answer(reader.zones())
    known = AWSClusterFacts(
        zones=None if deleting and isinstance(zones, NoAnswer) else zones,
        api_port=port,
        recorded=recorded,
        not_bound=reader.not_bound,
        network=await _answer(reader.network(given)) if given else None,
        nat_addresses=None if deleting else await _nat_addresses(reader, spec, given),
        own_vpc_has_ipv6=None if deleting else await _family(reader, spec, recorded),
        image=await _answer(reader.image()) if not deleting and _needs_image(spec, journal) else None,
    )
    named = None if deleting or journal.claimed else await _namesakes(reader, names, journal.owner.uuid)
    if not isinstance(named, Answer):
        return replace(known, namesakes=named)
    others = tuple(each for each in named.value if each.uuid != journal.owner.uuid)
    before, idents = others != named.value, {each.id for each in named_groups(spec)}
    groups = await _groups(reader, idents) if idents and not before else None
    return replace(known, namesakes=Answer(others), known_before=before, groups=groups)


async def _family(
    reader: AWSClusterFactsReader, spec: AWSClusterSpec, recorded: Recorded
) -> Answer[bool] | NotThere | NoAnswer | None:
    """Ask for IPv6 while a cluster with it is young, and where a person adds it to one without."""
    wanted = spec.network and spec.network.vpc and spec.network.vpc.ipv6 is not None
    if not wanted or recorded.ipv6 or not recorded.vpc or is_planned(recorded.vpc):
        return None
    return await _answer(reader.has_ipv6(recorded.vpc))


def _needs_image(spec: AWSClusterSpec, journal: Journal) -> bool:
    """Return whether an image must be found: a bastion that is there keeps its own."""
    there = journal.get(BASTION)
    return bool(spec.bastion and spec.bastion.enabled and not spec.bastion.ami) and not (there and there.id)


async def _answer(question: Awaitable[Answer[T] | NotThere]) -> Answer[T] | NotThere | NoAnswer:
    try:
        return await question
    except CloudError as error:
        return to_no_answer(error)


async def _nat_addresses(
    reader: AWSClusterFactsReader, spec: AWSClusterSpec, vpc: str
) -> Answer[Mapping[str, tuple[str, ...]]] | NoAnswer | None:
    try:
        return await reader.nat_addresses(vpc) if vpc and node_sources.are_needed(spec) else None
    except CloudError as error:
        return to_no_answer(error)


async def _groups(reader: AWSClusterFactsReader, idents: Collection[str]) -> Answer[Mapping[str, str]] | NoAnswer:
    try:
        return await reader.groups(idents)
    except CloudError as error:
        return to_no_answer(error)


async def _namesakes(
    reader: AWSClusterFactsReader, names: AWSClusterNames, uuid: str
) -> Answer[tuple[Namesake, ...]] | NoAnswer:
    try:
        return await reader.namesakes(names.cluster, uuid, names.eks)
    except CloudError as error:
        return to_no_answer(error)
