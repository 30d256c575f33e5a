"""The kinds of AWS as the engine reads them: what the table says of one, and what all have in common."""

from __future__ import annotations

from dataclasses import replace

from freehold.engine.drivers import Driver
from freehold.engine.kinds import (
    AttributeRules,
    CreateRules,
    Dedupe,
    DeleteRules,
    Kind,
    NameRules,
    PartRules,
    ReadRules,
    Tagging,
)
from freehold.providers.aws.kind_facts import FACTS, KindFacts

SETTLE = 120.0
"""Seconds: longer than a create may still take effect, plus the lag of EC2's reads, plus that of the tagging API
(docs/reference/aws.md#times)."""

TOKEN_LIFE = 3600.0
"""Seconds for which a client token surely answers with the first resource. AWS promises none; then the tags decide."""

_NAMING, _CREATION, _ATTRIBUTES = NameRules(), CreateRules(), AttributeRules()
_PARTS, _DELETION, _READS = PartRules(), DeleteRules(), ReadRules()


def aws_kind(
    name: str,
    driver: Driver,
    *,
    requires: tuple[str, ...] = (),
    parent_kind: str = "",
    naming: NameRules = _NAMING,
    creation: CreateRules = _CREATION,
    attributes: AttributeRules = _ATTRIBUTES,
    parts: PartRules = _PARTS,
    deletion: DeleteRules = _DELETION,
    reads: ReadRules = _READS,
) -> Kind:
    """Return the kind ``name``, of which :data:`kind_facts.FACTS` has names, times and dedupe."""
    facts = FACTS[name]
    return Kind(
        name=name,
        tagging=Tagging.ON_CREATE,
        dedupe=_dedupe(facts),
        driver=driver,
        api=facts.service,
        settle=SETTLE,
        requires=requires,
        parent_kind=parent_kind,
        naming=naming,
        creation=replace(creation, usual_time=facts.create_time, token_life=TOKEN_LIFE),
        attributes=attributes,
        parts=parts,
        deletion=replace(deletion, usual_time=facts.delete_time),
        reads=replace(reads, indexed=bool(facts.indexed_as)),
    )


def _dedupe(facts: KindFacts) -> Dedupe:
    """Return what tells a second create from the first: without token and natural key only the birth mark does."""
    if facts.token_in:
        return Dedupe.TOKEN
    return Dedupe.KEY if facts.natural_key else Dedupe.NONCE
