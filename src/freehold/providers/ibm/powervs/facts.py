"""What the cloud must be asked before a PowerVS manifest can be turned into wanted resources.

The questions are few and change slowly; the answers are values, so that the decisions stay pure. Zone and
region are checked against the cloud, never against a list of ours (upstream's static list ages).
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from freehold.engine.errors import CloudError
from freehold.engine.outcomes import outcome_of_error
from freehold.engine.resources import NodeKey, Observed
from freehold.providers.ibm.powervs.types.spec import IBMPowerVSClusterSpec
from freehold.providers.objects.cloud_answers import NOT_ASKED, Answer, NoAnswer, NotThere, SeveralFound

T = TypeVar("T")


@dataclass(frozen=True)
class PowerZone:
    """A PowerVS zone: its region (``dal`` of ``dal10``), and whether it has a Power Edge Router."""

    region: str
    edge_router: bool


@dataclass(frozen=True)
class Given:
    """A resource that ``field`` of the spec gives by its id."""

    field: str
    kind: str
    id: str


@dataclass(frozen=True)
class Places:
    """The answers: the zone of a workspace, the id of the VPC of all others; ``vpc`` is that of a VPC given by name."""

    of: Mapping[Given, Answer[str] | NotThere | NoAnswer]
    vpc: Answer[Observed] | NotThere | SeveralFound | NoAnswer | None = None


NOTHING_GIVEN = Places({})


@dataclass(frozen=True)
class PowerVSFacts:
    """The answers.

    ``resource_group`` is the id for ``spec.resourceGroup.name``; ``vpc_zones`` the zones of
    ``spec.vpc.region``. ``existing`` answers the lookups of :func:`existing.lookups`, and is used
    only without the create-infra annotation. ``api_port`` is the API server's. ``places``: where the resources are
    that the spec gives by id.
    """

    resource_group: Answer[str] | NotThere | NoAnswer = NOT_ASKED
    zone: Answer[PowerZone] | NotThere | NoAnswer = NOT_ASKED
    vpc_zones: Answer[tuple[str, ...]] | NotThere | NoAnswer = NOT_ASKED
    api_port: int = 6443
    existing: Mapping[NodeKey, Answer[Observed] | NotThere | SeveralFound | NoAnswer] = field(default_factory=dict)
    places: Places = NOTHING_GIVEN


class SpecFactsReader(Protocol):
    """Where the answers come from. A CloudError means that the cloud could not be asked."""

    async def resource_group(self, name: str) -> Answer[str] | NotThere: ...

    async def zone(self, zone: str) -> Answer[PowerZone] | NotThere: ...

    async def vpc_zones(self, region: str) -> Answer[tuple[str, ...]] | NotThere: ...


async def ask(questions: SpecFactsReader, spec: IBMPowerVSClusterSpec, api_port: int) -> PowerVSFacts:
    """Ask for the facts of a manifest with the create-infra annotation; what it leaves out is not asked."""
    facts = PowerVSFacts(api_port=api_port)
    group, region = spec.resource_group and spec.resource_group.name, spec.vpc and spec.vpc.region
    if group:
        facts = replace(facts, resource_group=await _answer(questions.resource_group(group)))
    if spec.zone:
        facts = replace(facts, zone=await _answer(questions.zone(spec.zone)))
    if region:
        facts = replace(facts, vpc_zones=await _answer(questions.vpc_zones(region)))
    return facts


async def _answer(question: Awaitable[Answer[T] | NotThere]) -> Answer[T] | NotThere | NoAnswer:
    try:
        return await question
    except CloudError as error:
        outcome = outcome_of_error(error)
        return NoAnswer(outcome.reason, outcome.message, outcome.after)


VPC_REGIONS: Mapping[str, str] = {
    "dal": "us-south",
    "us-south": "us-south",
    "wdc": "us-east",
    "us-east": "us-east",
    "tor": "ca-tor",
    "sao": "br-sao",
    "eu-de": "eu-de",
    "lon": "eu-gb",
    "mad": "eu-es",
    "osa": "jp-osa",
    "syd": "au-syd",
    "tok": "jp-tok",
}
"""The VPC region beside each PowerVS region. Montreal has none.

Source: https://cluster-api-ibmcloud.sigs.k8s.io/reference/regions-zones-mapping.
"""


def needs_global_routing(power_region: str, vpc_region: str) -> bool:
    """Return whether a gateway between the two must route globally. An unknown pair is taken for distant."""
    return VPC_REGIONS.get(power_region) != vpc_region
