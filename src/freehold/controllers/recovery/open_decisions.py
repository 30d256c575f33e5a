"""Creates and records of which only a person can decide whose they are, and the evidence for it. Reads only."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from freehold.engine import birth_marks, proofs
from freehold.engine.context import PassContext
from freehold.engine.errors import CloudError
from freehold.engine.graph import Graph
from freehold.engine.interface import EngineDeps
from freehold.engine.journal import MOST_VANISHED, Entry, Journal, Phase
from freehold.engine.ownership import Strength
from freehold.engine.phases import human_decisions, lost_tags
from freehold.engine.resources import NodeKey, Observed
from freehold.engine.state import ObjectState

MOST_TAGS, LONGEST_TAG = 6, 60
"""So many of a candidate's tags are shown, and so many letters of each."""


@dataclass(frozen=True)
class Candidate:
    """A resource that the create may have made. ``evidence``: what its marks and birth marks say, for a person."""

    observed: Observed
    evidence: str


@dataclass(frozen=True)
class Question:
    """One create, or one record.

    ``owned``: the record is signed, so that the resource is this object's until a person gives it up; ``lost``: a mark
    that it had is not on it any more, so that a delete keeps it (ADR 7). ``unread`` says why the cloud could not be
    asked for candidates; empty where it could.
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
        """It was made and has gone, once or again and again: whether it is made once more is the question."""
        return self.entry.phase is Phase.VACANT

    @property
    def recorded(self) -> bool:
        """It is on record as ours. Unless ``owned``, neither a signature nor its marks show that it is."""
        return self.entry.phase in (Phase.RECORDED, Phase.OWNED)


async def questions(journal: Journal, deps: EngineDeps, *, deleting: bool = False) -> tuple[Question, ...]:
    """The creates that are open, or were given up; what is made only once and has gone; and records without proof.

    ``deleting``: also what is ours and has lost a mark. A pass may still resolve some of them by itself.
    """
    ctx = _context(journal, deps)
    found = []
    for key, entry in sorted(journal.entries.items()):
        kind = deps.registry.get(key.kind)
        gone = kind is not None and kind.creation.never_recreate and bool(entry.gone)
        given_up = kind is not None and entry.phase is Phase.VACANT and (gone or entry.fails >= MOST_VANISHED)
        if kind is not None and (entry.phase is Phase.INTENDED or given_up):
            found.append(await _question(ctx, key, entry))
        elif kind is not None and entry.phase.ours and not ctx.is_believed(key):
            found += await _of_record(ctx, key, entry)
        elif kind is not None and deleting and entry.had_marks:
            found += [each for each in await _of_owned(ctx, key, entry) if each.lost or each.unread]
    return tuple(found)


async def owned(journal: Journal, deps: EngineDeps, text: str, ident: str = "") -> tuple[Question, ...]:
    """What is on record as this object's, with a signature, by node or id: a person can give it up."""
    ctx = _context(journal, deps)
    found: list[Question] = []
    for key, entry in sorted(journal.ours.items()):
        meant = text in {str(key), key.logical, entry.id, entry.id.rpartition("/")[2]}
        if meant and entry.id and key.kind in deps.registry and ctx.is_believed(key):
            found += await _of_owned(ctx, key, entry)
    return tuple(each for each, _ in matching(found, text, ident))


def _context(journal: Journal, deps: EngineDeps) -> PassContext:
    return PassContext(deps, Graph(()), journal, _Unsaved(), ObjectState(deps.clock.monotonic()))


async def _of_owned(ctx: PassContext, key: NodeKey, entry: Entry) -> list[Question]:
    """One resource of ours; none where it has gone."""
    try:
        seen = await human_decisions.read_recorded(ctx, key, entry)
        judged = await _judged(ctx, key, seen)
        lost = [await _has_lost_a_mark(ctx, key, one) for one in seen]
    except CloudError as error:
        return [Question(key, entry, entry.id, (), error.message, owned=True)]
    return [Question(key, entry, one.name, judged, owned=True, lost=lost[0]) for one in seen]


async def _has_lost_a_mark(ctx: PassContext, key: NodeKey, seen: Observed) -> bool:
    if not ctx.kind(key).markable:
        return False
    tags = await _tags(ctx, seen) if seen.target else ()
    return proofs.evidence(ctx, key, seen, tags).strength is Strength.HEALABLE


async def _of_record(ctx: PassContext, key: NodeKey, entry: Entry) -> list[Question]:
    """None where a pass resolves it by itself: it has gone, or its marks or its birth mark tell."""
    try:
        seen = await human_decisions.read_recorded(ctx, key, entry)
        unclear = [one for one in seen if not await _is_told(ctx, key, one)]
        return [Question(key, entry, one.name, await _judged(ctx, key, [one])) for one in unclear]
    except CloudError as error:
        return [Question(key, entry, entry.id, (), error.message)]


async def _is_told(ctx: PassContext, key: NodeKey, seen: Observed) -> bool:
    tags = await _tags(ctx, seen) if seen.target else ()
    told = proofs.evidence(ctx, key, seen, tags).strength in (Strength.PROVEN, Strength.HEALABLE)
    return told or birth_marks.has_birth_mark(ctx, key, seen)


async def _question(ctx: PassContext, key: NodeKey, entry: Entry) -> Question:
    request = entry.request or {}
    name = str(request.get("name", ""))
    try:
        seen = await lost_tags.find_candidates(ctx, key, entry)
        return Question(key, entry, name, await _judged(ctx, key, seen))
    except CloudError as error:
        return Question(key, entry, name, (), error.message)


async def _judged(ctx: PassContext, key: NodeKey, several: Sequence[Observed]) -> tuple[Candidate, ...]:
    claims = await lost_tags.find_claims(ctx, key, several)
    return tuple([Candidate(one, await _evidence(ctx, key, one, claims.get(one.id, ""))) for one in several])


async def _evidence(ctx: PassContext, key: NodeKey, seen: Observed, claim: str) -> str:
    said = []
    if birth_marks.has_birth_mark(ctx, key, seen):
        said.append("has the birth mark of this create")
        if why := birth_marks.not_from_intent(ctx, key, seen):
            said.append(why)
    if claim:
        said.append(f"not this object's: it has {claim}")
    elif seen.target:
        tags = await _tags(ctx, seen)
        said.append(proofs.evidence(ctx, key, seen, tags).source)
        if not seen.carried:
            said.append(_told(tags))
    return "; ".join(said) or "nothing but its name speaks for it"


def _told(tags: Collection[str]) -> str:
    """In quotation marks: a tag must not look like evidence."""
    shown = [json.dumps(tag[:LONGEST_TAG], ensure_ascii=False) for tag in sorted(tags)[:MOST_TAGS]]
    return f"tags: {', '.join(shown)}" if shown else "no tags"


async def _tags(ctx: PassContext, seen: Observed) -> Collection[str]:
    return seen.tags if seen.tags is not None else await ctx.deps.tagger.tags_of(seen.target)


def matching(found: Sequence[Question], text: str, ident: str = "") -> list[tuple[Question, Candidate | None]]:
    """What ``text`` means: a candidate by its id, a node, or its name; with ``ident``, that candidate of the node."""
    of_node = [each for each in found if text in (str(each.key), each.key.logical, each.name)]
    if ident:
        return _by_id(of_node, ident)
    return _by_id(found, text) or [
        (each, each.candidates[0] if len(each.candidates) == 1 else None) for each in of_node
    ]


def _by_id(found: Sequence[Question], ident: str) -> list[tuple[Question, Candidate | None]]:
    return [
        (each, one)
        for each in found
        for one in each.candidates
        if ident in (one.observed.id, one.observed.id.rpartition("/")[2])
    ]


class _Unsaved:
    async def save(self, journal: Journal) -> None:
        """Nothing is stored by asking."""
