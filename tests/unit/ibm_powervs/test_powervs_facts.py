"""Reads of facts: nothing is read for omitted fields, and a failure is not an answer."""

from __future__ import annotations

from freehold.engine.errors import Denied, Throttled
from freehold.engine.outcomes import Reason
from freehold.providers.ibm.powervs.facts import PowerVSFacts, PowerZone, ask
from freehold.providers.objects.cloud_answers import NOT_ASKED, Answer, NoAnswer, NotThere
from harness.schemas import powervs_spec


class Cloud:
    async def resource_group(self, name: str) -> Answer[str] | NotThere:
        return Answer("rg-id") if name == "rg" else NotThere(("rg",))

    async def zone(self, zone: str) -> Answer[PowerZone] | NotThere:
        return Answer(PowerZone("dal", edge_router=True))

    async def vpc_zones(self, region: str) -> Answer[tuple[str, ...]] | NotThere:
        return Answer((f"{region}-1",))


class Refusing(Cloud):
    async def resource_group(self, name: str) -> Answer[str] | NotThere:
        raise Denied("the API key was refused")

    async def zone(self, zone: str) -> Answer[PowerZone] | NotThere:
        raise Throttled("too many requests", retry_after=7.0)


WHOLE = powervs_spec({"spec": {"resourceGroup": {"name": "rg"}, "zone": "dal10", "vpc": {"region": "us-south"}}})


async def test_three_questions() -> None:
    facts = await ask(Cloud(), WHOLE, 8443)
    zone = Answer(PowerZone("dal", edge_router=True))
    assert facts == PowerVSFacts(Answer("rg-id"), zone, Answer(("us-south-1",)), api_port=8443)


async def test_nothing_is_read_for_omitted_fields() -> None:
    """The missing field is an error of its own; a read with an empty name would be useless."""
    facts = await ask(Cloud(), powervs_spec({"spec": {"zone": "dal10"}}), 6443)
    assert (facts.resource_group, facts.vpc_zones) == (NOT_ASKED, NOT_ASKED)


async def test_a_failure_is_not_an_answer() -> None:
    """Unknown is not absent; the error decides when to try again."""
    facts = await ask(Refusing(), WHOLE, 6443)
    assert isinstance(facts.resource_group, NoAnswer)
    assert facts.resource_group.reason is Reason.DENIED
    assert facts.zone == NoAnswer(Reason.THROTTLED, "too many requests", 7.0)
