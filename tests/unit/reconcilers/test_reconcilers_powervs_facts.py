"""Questions to the cloud: what the manifest leaves out is not asked, and a failure is no answer."""

from __future__ import annotations

from freehold.api.parse import parse_spec
from freehold.lifecycle.errors import Denied, Throttled
from freehold.lifecycle.outcomes import Reason
from freehold.reconcilers.answers import NOT_ASKED, Answer, NoAnswer, NoSuch
from freehold.reconcilers.powervs.facts import Facts, PowerZone, ask


class Cloud:
    async def resource_group(self, name: str) -> Answer[str] | NoSuch:
        return Answer("rg-id") if name == "rg" else NoSuch(("rg",))

    async def zone(self, zone: str) -> Answer[PowerZone] | NoSuch:
        return Answer(PowerZone("dal", edge_router=True))

    async def vpc_zones(self, region: str) -> Answer[tuple[str, ...]] | NoSuch:
        return Answer((f"{region}-1",))


class Refusing(Cloud):
    async def resource_group(self, name: str) -> Answer[str] | NoSuch:
        raise Denied("the API key was refused")

    async def zone(self, zone: str) -> Answer[PowerZone] | NoSuch:
        raise Throttled("too many requests", retry_after=7.0)


WHOLE = parse_spec({"spec": {"resourceGroup": {"name": "rg"}, "zone": "dal10", "vpc": {"region": "us-south"}}})


async def test_three_questions() -> None:
    facts = await ask(Cloud(), WHOLE, 8443)
    zone = Answer(PowerZone("dal", edge_router=True))
    assert facts == Facts(Answer("rg-id"), zone, Answer(("us-south-1",)), api_port=8443)


async def test_what_is_left_out_is_not_asked() -> None:
    """The missing field is a problem of its own; an empty name would be asked of the cloud for nothing."""
    facts = await ask(Cloud(), parse_spec({"spec": {"zone": "dal10"}}), 6443)
    assert (facts.resource_group, facts.vpc_zones) == (NOT_ASKED, NOT_ASKED)


async def test_a_failure_is_no_answer() -> None:
    """Unknown is not absent; when to ask again follows from the error."""
    facts = await ask(Refusing(), WHOLE, 6443)
    assert isinstance(facts.resource_group, NoAnswer)
    assert facts.resource_group.reason is Reason.DENIED
    assert facts.zone == NoAnswer(Reason.THROTTLED, "too many requests", 7.0)
