"""What an AWSCluster depends on, asked of the cloud: only what the spec leaves open."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import replace
from typing import Protocol, TypeVar

from freehold.api.aws_cluster import AWSClusterSpec
from freehold.lifecycle.errors import CloudError
from freehold.lifecycle.journal import Journal
from freehold.lifecycle.outcomes import of_error
from freehold.reconcilers.answers import Answer, NoAnswer, NoSuch
from freehold.reconcilers.aws_cluster.facts import Facts, GivenNetwork, Namesake
from freehold.reconcilers.aws_cluster.keys import BASTION
from freehold.reconcilers.aws_cluster.names import DefaultNames
from freehold.reconcilers.aws_cluster.recorded import recorded_in

T = TypeVar("T")


class FactsReader(Protocol):
    """Where the answers come from. A CloudError means that the cloud could not be asked."""

    async def zones(self) -> Answer[tuple[str, ...]] | NoSuch:
        """The availability zones of the region."""
        ...

    async def network(self, vpc: str) -> Answer[GivenNetwork] | NoSuch:
        """A VPC that is there already."""
        ...

    async def image(self) -> Answer[str] | NoSuch:
        """The newest image for a bastion."""
        ...

    async def namesakes(self, cluster: str, uuid: str) -> Answer[tuple[Namesake, ...]]:
        """What has the cluster's name in CAPA's tag or in the cloud controller's, of this owner too."""
        ...


async def discover(
    reader: FactsReader,
    names: DefaultNames,
    spec: AWSClusterSpec,
    port: int,
    journal: Journal,
    *,
    deleting: bool = False,
) -> Facts:
    """What :func:`desired.wanted` must know. A delete asks only what says where to look for strays.

    What it does not need must not hold it: a permission may be gone by then.
    """
    recorded = recorded_in(journal.entries)
    vpc = spec.network.vpc.id if spec.network and spec.network.vpc else None
    given = vpc if vpc != recorded.vpc else None
    zones = await _answer(reader.zones())
    known = Facts(
        zones=None if deleting and isinstance(zones, NoAnswer) else zones,
        api_port=port,
        recorded=recorded,
        network=await _answer(reader.network(given)) if given else None,
        image=await _answer(reader.image()) if not deleting and _needs_image(spec, journal) else None,
    )
    named = None if deleting or journal.ours else await _namesakes(reader, names.cluster, journal.owner.uuid)
    if not isinstance(named, Answer):
        return replace(known, namesakes=named)
    others = tuple(each for each in named.value if each.uuid != journal.owner.uuid)
    return replace(known, namesakes=Answer(others), known_before=others != named.value)


def _needs_image(spec: AWSClusterSpec, journal: Journal) -> bool:
    """A bastion that is there keeps its image."""
    there = journal.get(BASTION)
    return bool(spec.bastion and spec.bastion.enabled and not spec.bastion.ami) and not (there and there.id)


async def _answer(question: Awaitable[Answer[T] | NoSuch]) -> Answer[T] | NoSuch | NoAnswer:
    try:
        return await question
    except CloudError as error:
        return _unanswered(error)


async def _namesakes(reader: FactsReader, cluster: str, uuid: str) -> Answer[tuple[Namesake, ...]] | NoAnswer:
    try:
        return await reader.namesakes(cluster, uuid)
    except CloudError as error:
        return _unanswered(error)


def _unanswered(error: CloudError) -> NoAnswer:
    outcome = of_error(error)
    return NoAnswer(outcome.reason, outcome.message, outcome.after)
