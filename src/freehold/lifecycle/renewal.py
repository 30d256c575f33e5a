"""Renewal: what was sealed and signed under an older key, or under none, gets the writing key's seal and signature.

In deep passes, a few resources a pass, so that a rotation over thousands of resources is no storm of tag calls.
Both seals prove while both are attached, so it may be cut off anywhere::

    attach the new seal  ->  read it back  ->  record key and signature  ->  take the old seals off
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from freehold.lifecycle.errors import NotFound
from freehold.lifecycle.inventory import TagChange
from freehold.lifecycle.journal import Phase
from freehold.lifecycle.kinds import NodeKey, Observed
from freehold.lifecycle.outcomes import Blocked, Ready, Reason, of_error
from freehold.lifecycle.work import Work

PER_PASS = 2
"""Resources of one object that begin their renewal in one deep pass."""


async def renew(work: Work) -> None:
    """Bring records and seals of what this pass has verified to the writing key."""
    refused = work.memory.renewal_refused
    old = [key for key in sorted(work.verified, key=lambda key: (key in refused, key)) if _is_old(work, key)]
    begin: list[NodeKey] = []
    for key in old:
        if _new_mark(work, key) & work.tools.codec.fold(work.verified[key]):
            _record(work, key)
        elif len(begin) < PER_PASS:
            begin.append(key)
    for key in _signed_only(work):
        _record(work, key)
    await _attach(work, begin)
    await _take_off_old(work)
    _renew_identity(work)


def _signed_only(work: Work) -> list[NodeKey]:
    """Under an older key, seen in this deep pass, and without a mark: its record is all that there is to renew."""
    return [
        key
        for key, entry in work.journal.ours.items()
        if work.deep and entry.id and entry.key != work.keys.writing and work.attested(key) and _is_unmarked(work, key)
    ]


def _is_unmarked(work: Work, key: NodeKey) -> bool:
    outcome = work.outcomes.get(key)
    if key.kind in work.tools.registry and not work.kind(key).markable:
        return isinstance(outcome, Ready)
    return isinstance(outcome, Blocked) and outcome.reason is Reason.UNMARKABLE


def _is_old(work: Work, key: NodeKey) -> bool:
    entry, observed = work.journal.get(key), work.memory.seen.get(key)
    settled = isinstance(work.outcomes.get(key), Ready) and entry is not None and entry.phase is Phase.OWNED
    return bool(settled and observed and entry and entry.key != work.keys.writing and work.kind(key).markable)


def _new_mark(work: Work, key: NodeKey) -> frozenset[str]:
    return work.tools.codec.fold([work.mark_under(key, work.memory.seen[key], work.keys.writing)])


def _record(work: Work, key: NodeKey) -> None:
    entry = work.journal.entries[key]
    record = replace(entry, key=work.keys.writing, deed=work.deed(key, entry.id))
    work.journal = work.journal.put(key, record)


async def _attach(work: Work, keys: Collection[NodeKey]) -> None:
    """The new seals, beside the old ones; a later deep pass reads them back."""
    changes = [
        TagChange(seen.target, frozenset({work.mark_under(key, seen, work.keys.writing)}))
        for key in keys
        for seen in [work.memory.seen[key]]
    ]
    if not changes:
        return
    await work.confirm()
    work.memory.last_sent = work.now
    failed = await work.tools.tagger.attach(changes)
    for key in keys:
        target = work.memory.seen[key].target
        work.memory.renewal_refused.discard(key)
        if target in failed:
            work.memory.renewal_refused.add(key)  # the others are tried before it next time
            work.outcomes[key] = replace(of_error(failed[target]), observed=work.memory.seen[key])


async def _take_off_old(work: Work) -> None:
    """What is recorded under the writing key needs no other seal."""
    changes = []
    for key, tags in work.verified.items():
        entry = work.journal.get(key)
        if entry and entry.key == work.keys.writing and (stale := _old_marks(work, key, tags)):
            changes.append(TagChange(entry.target, stale))
    if not changes:
        return
    await work.save()
    for target, error in (await work.tools.tagger.detach(changes)).items():
        if not isinstance(error, NotFound):
            work.notes.append(f"{target}: an old seal could not be taken off: {error.message}")


def _old_marks(work: Work, key: NodeKey, tags: Collection[str]) -> frozenset[str]:
    """The marks of this very node on ``tags`` that are neither the one under the writing key nor a birth mark."""
    codec, observed = work.tools.codec, work.memory.seen[key]
    new = _new_mark(work, key)
    return frozenset(tag for tag in tags if not codec.fold([tag]) & new and _is_seal_of(work, key, observed, tag))


def _is_seal_of(work: Work, key: NodeKey, observed: Observed, tag: str) -> bool:
    marks = work.tools.codec.read([tag])
    if observed.carried:
        own = (work.owner.uuid.casefold(), observed.id.rpartition("/")[2].casefold())
        return any((mark.uuid.casefold(), mark.id.casefold()) == own for mark in marks.carried)
    born = work.nonces(key)
    return any(
        str(mark.key).casefold() == str(key).casefold()
        and mark.seal not in born
        and not work.keys.recognises(key.kind, mark.seal)
        for mark in marks.nodes
    )


def _renew_identity(work: Work) -> None:
    """Once nothing of ours needs an older key, the identity is renewed: from then on only keyed marks count.

    Not before everything that is wanted is on record, and what an index shows late has been seen.
    """
    entries, writing = work.journal.entries, work.keys.writing
    if not work.deep or work.journal.key == writing or not work.graph.nodes.keys() <= entries.keys():
        return
    long_seen = work.memory.minted or all(work.settled(key, work.memory.first_seen) for key in work.graph.nodes)
    if long_seen and all(entry.key == writing for entry in work.journal.ours.values()):
        work.journal = replace(work.journal, key=work.keys.writing)
