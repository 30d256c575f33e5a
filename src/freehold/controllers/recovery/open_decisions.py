"""Open decisions of a person: creates and records of unknown ownership, with evidence. Nothing is written."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from freehold.controllers.read_only_context import build_read_only_context
from freehold.engine import birth_marks, proofs
from freehold.engine.context import PassContext
from freehold.engine.errors import CloudError
from freehold.engine.interface import EngineDeps
from freehold.engine.journal import MOST_VANISHED, Entry, Journal, RecordState
from freehold.engine.ownership import Strength
from freehold.engine.phases import human_decisions, lost_tags
from freehold.engine.resources import NodeKey, Observed

MOST_TAGS, LONGEST_TAG = 6, 60
"""The most tags of a candidate that are shown, and the most letters of each."""


@dataclass(frozen=True)
class Candidate:
    """A resource that the create may have made. ``evidence`` says for a person what its marks and birth marks show."""

    observed: Observed
    evidence: str


@dataclass(frozen=True)
class OpenDecision:
    """A create, or a record, that a person must decide about.

    ``owned``: the record is signed, so the resource is this object's until a person gives it up. ``lost``: it has lost
    a mark, so a delete keeps it (ADR 7). ``unread`` says why the cloud could not be asked for candidates; empty if it
    could.
    """

    key: NodeKey
    entry: Entry
    name: str
    candidates: tuple[Candidate, ...]
    unread: str = ""
    owned: bool = False
    lost: bool = False

    @property
    def vanished(self) -> bool:
        """True if the resource was created and has gone: the decision is whether to create it again."""
        return self.entry.state is RecordState.VACANT

    @property
    def recorded(self) -> bool:
        """True if it is on record as ours. Unless ``owned``, neither signature nor marks prove it."""
        return self.entry.state in (RecordState.RECORDED, RecordState.OWNED)


async def find_open_decisions(
    journal: Journal, deps: EngineDeps, *, deleting: bool = False
) -> tuple[OpenDecision, ...]:
    """Find creates that are open or were given up, lost resources that are created only once, and unproven records.

    ``deleting`` adds owned resources that have lost a mark. A pass may still resolve some of them by itself.
    """
    ctx = build_read_only_context(journal, deps)
    found = []
    for key, entry in sorted(journal.entries.items()):
        kind = deps.registry.get(key.kind)
        gone = kind is not None and kind.creation.never_recreate and bool(entry.gone)
        given_up = kind is not None and entry.state is RecordState.VACANT and (gone or entry.fails >= MOST_VANISHED)
        if kind is not None and (entry.state is RecordState.INTENDED or given_up):
            found.append(await _ask_about_create(ctx, key, entry))
        elif kind is not None and entry.state.is_claimed and not ctx.is_believed(key):
            found += await _ask_about_record(ctx, key, entry)
        elif kind is not None and deleting and entry.had_marks:
            found += [each for each in await _ask_about_owned(ctx, key, entry) if each.lost or each.unread]
    return tuple(found)


async def find_owned(journal: Journal, deps: EngineDeps, text: str, ident: str = "") -> tuple[OpenDecision, ...]:
    """Find resources on this object's signed record by node or id, which a person can give up."""
    ctx = build_read_only_context(journal, deps)
    found: list[OpenDecision] = []
    for key, entry in sorted(journal.claimed.items()):
        meant = text in {str(key), key.logical, entry.id, entry.id.rpartition("/")[2]}
        if meant and entry.id and key.kind in deps.registry and ctx.is_believed(key):
            found += await _ask_about_owned(ctx, key, entry)
    return tuple(each for each, _ in match_candidates(found, text, ident))


async def _ask_about_owned(ctx: PassContext, key: NodeKey, entry: Entry) -> list[OpenDecision]:
    """Build the decision about an owned resource; none if it has gone."""
    try:
        seen = await human_decisions.read_recorded(ctx, key, entry)
        judged = await _judge_candidates(ctx, key, seen)
        lost = [await _has_lost_a_mark(ctx, key, one) for one in seen]
    except CloudError as error:
        return [OpenDecision(key, entry, entry.id, (), error.message, owned=True)]
    return [OpenDecision(key, entry, one.name, judged, owned=True, lost=lost[0]) for one in seen]


async def _has_lost_a_mark(ctx: PassContext, key: NodeKey, seen: Observed) -> bool:
    if not ctx.kind(key).markable:
        return False
    tags = await _read_tags(ctx, seen) if seen.target else ()
    return proofs.evidence(ctx, key, seen, tags).strength is Strength.HEALABLE


async def _ask_about_record(ctx: PassContext, key: NodeKey, entry: Entry) -> list[OpenDecision]:
    """Build the decision about an unproven record; none if a pass resolves it: it has gone, or its marks tell."""
    try:
        seen = await human_decisions.read_recorded(ctx, key, entry)
        unclear = [one for one in seen if not await _is_resolved_by_marks(ctx, key, one)]
        return [OpenDecision(key, entry, one.name, await _judge_candidates(ctx, key, [one])) for one in unclear]
    except CloudError as error:
        return [OpenDecision(key, entry, entry.id, (), error.message)]


async def _is_resolved_by_marks(ctx: PassContext, key: NodeKey, seen: Observed) -> bool:
    tags = await _read_tags(ctx, seen) if seen.target else ()
    told = proofs.evidence(ctx, key, seen, tags).strength in (Strength.PROVEN, Strength.HEALABLE)
    return told or birth_marks.has_birth_mark(ctx, key, seen)


async def _ask_about_create(ctx: PassContext, key: NodeKey, entry: Entry) -> OpenDecision:
    request = entry.request or {}
    name = str(request.get("name", ""))
    try:
        seen = await lost_tags.find_candidates(ctx, key, entry)
        return OpenDecision(key, entry, name, await _judge_candidates(ctx, key, seen))
    except CloudError as error:
        return OpenDecision(key, entry, name, (), error.message)


async def _judge_candidates(ctx: PassContext, key: NodeKey, several: Sequence[Observed]) -> tuple[Candidate, ...]:
    claims = await lost_tags.find_claims(ctx, key, several)
    return tuple([Candidate(one, await _describe_evidence(ctx, key, one, claims.get(one.id, ""))) for one in several])


async def _describe_evidence(ctx: PassContext, key: NodeKey, seen: Observed, claim: str) -> str:
    said = []
    if birth_marks.has_birth_mark(ctx, key, seen):
        said.append("has the birth mark of this create")
        if why := birth_marks.not_from_intent(ctx, key, seen):
            said.append(why)
    if claim:
        said.append(f"not this object's: it has {claim}")
    elif seen.target:
        tags = await _read_tags(ctx, seen)
        said.append(proofs.evidence(ctx, key, seen, tags).source)
        if not seen.carried:
            said.append(_quote_tags(tags))
    return "; ".join(said) or "nothing but its name speaks for it"


def _quote_tags(tags: Collection[str]) -> str:
    """Quote the first tags, so that a tag does not look like evidence."""
    shown = [json.dumps(tag[:LONGEST_TAG], ensure_ascii=False) for tag in sorted(tags)[:MOST_TAGS]]
    return f"tags: {', '.join(shown)}" if shown else "no tags"


async def _read_tags(ctx: PassContext, seen: Observed) -> Collection[str]:
    return seen.tags if seen.tags is not None else await ctx.deps.tagger.tags_of(seen.target)


def match_candidates(
    found: Sequence[OpenDecision], text: str, ident: str = ""
) -> list[tuple[OpenDecision, Candidate | None]]:
    """Match ``text`` with a candidate's id, a node, or its name; with ``ident``, with that candidate of the node."""
    of_node = [each for each in found if text in (str(each.key), each.key.logical, each.name)]
    if ident:
        return _match_by_id(of_node, ident)
    return _match_by_id(found, text) or [
        (each, each.candidates[0] if len(each.candidates) == 1 else None) for each in of_node
    ]


def _match_by_id(found: Sequence[OpenDecision], ident: str) -> list[tuple[OpenDecision, Candidate | None]]:
    return [
        (each, one)
        for each in found
        for one in each.candidates
        if ident in (one.observed.id, one.observed.id.rpartition("/")[2])
    ]
