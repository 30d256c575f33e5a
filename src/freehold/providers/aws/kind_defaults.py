"""What the table of kinds says of one, and what all of AWS have in common, as the engine reads it."""

from __future__ import annotations

from typing import Any

from freehold.engine.drivers import Driver
from freehold.engine.kinds import Dedupe, Kind, Tagging
from freehold.providers.aws.kind_facts import FACTS, KindFacts
from freehold.providers.aws.times import SETTLE, TOKEN_LIFE


def aws_kind(name: str, driver: Driver, **traits: Any) -> Kind:
    """A kind; ``traits`` are the fields of :class:`Kind` that the table does not have.

    An attribute has an operation of its own, or is alone in a call of one, where a kind does not say otherwise.
    """
    facts = FACTS[name]
    traits = {"calls_a_change": len, **traits}
    return Kind(
        name=name,
        tagging=Tagging.ON_CREATE,
        dedupe=_dedupe(facts),
        driver=driver,
        api=facts.service,
        create_time=facts.create_time,
        delete_time=facts.delete_time,
        settle=SETTLE,
        token_life=TOKEN_LIFE,
        **traits,
    )


def _dedupe(facts: KindFacts) -> Dedupe:
    """Without token and natural key only the birth mark keeps a second create from being taken for the first."""
    if facts.token_in:
        return Dedupe.TOKEN
    return Dedupe.KEY if facts.natural_key else Dedupe.NONCE
