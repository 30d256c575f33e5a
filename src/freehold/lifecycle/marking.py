"""Mark: attach what proves ownership, read it back, heal what was stripped; the user's tags go the same way.

An intent closes only when its mark has been *read back*. Tags are added and removed, never replaced.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from freehold.lifecycle import looking
from freehold.lifecycle.errors import CloudError, NotFound
from freehold.lifecycle.inventory import TagChange, TagsByTarget
from freehold.lifecycle.journal import Entry, Phase
from freehold.lifecycle.keys import UNKEYED
from freehold.lifecycle.kinds import NodeKey, Observed, Ref
from freehold.lifecycle.memory import Attached
from freehold.lifecycle.outcomes import Blocked, Ready, Reason, Waiting, of_error
from freehold.lifecycle.ownership import Strength
from freehold.lifecycle.work import Work


async def verify(work: Work, keys: Collection[NodeKey]) -> TagsByTarget:
    """Read marks back: one search for all, then the resource itself where the index shows nothing yet.

    Covers records whose mark was never read back and, in a deep pass, everything of ours. Returns what
    the search showed, empty when none was needed.
    """
    due = [key for key in keys if _verification_due(work, key)]
    for key in [key for key in due if not work.kind(key).markable]:
        _close_unmarkable(work, key)
        due.remove(key)
    if not due:
        return {}
    try:
        marked = await read(work)
    except CloudError as error:
        work.outcomes.update(dict.fromkeys(due, of_error(error)))
        work.memory.doubted.update(due)
        return {}
    for key in due:
        entry = work.journal.entries[key]
        observed = work.memory.seen[key]
        tags = observed.tags if observed.tags is not None else _indexed(work, key, marked)
        if not _complete(work, key, observed, tags):
            try:
                tags = await work.tools.tagger.tags_of(entry.target)
            except CloudError as error:
                work.outcomes[key] = of_error(error)
                work.memory.doubted.add(key)
                continue
        _conclude(work, key, observed, tags)
    return marked


async def read(work: Work) -> TagsByTarget:
    """What the index says now of everything that bears our uuid, and of our carriers."""
    work.memory.marks_read_at = work.now
    carriers = {e.target for e in work.journal.entries.values() if e.carried and e.target}
    return await work.tools.tagger.marked(work.owner.uuid, carriers)


def _indexed(work: Work, key: NodeKey, marked: TagsByTarget) -> frozenset[str]:
    """What the index shows, without what it may still show although we took it off."""
    tags, off = marked.get(work.journal.entries[key].target, frozenset()), work.memory.detached
    if off is None or work.now - off.at >= work.kind(key).settle:
        return tags
    fold = work.tools.codec.fold
    return frozenset(tag for tag in tags if not fold([tag]) & fold(off.tags))


def _verification_due(work: Work, key: NodeKey) -> bool:
    entry = work.journal.get(key)
    if not entry or not entry.id or key not in work.memory.seen:
        return False
    if key in work.memory.delete_sent:
        return False
    if key in work.memory.absent_since:
        return False  # not to be seen: whether it lost its mark or is gone, later looks tell
    if not work.kind(key).markable:
        return entry.phase is Phase.RECORDED
    if not entry.target:
        return False
    if key in work.memory.doubted:
        return True
    if entry.phase is Phase.OWNED:
        return work.deep or not work.attested(key)
    if entry.phase is not Phase.RECORDED:
        return False
    attached = work.memory.attached.get(key)
    if work.memory.seen[key].tags is not None:
        return True
    if attached is None:
        # Recorded by an earlier process or recovered: it may be marked already.
        return not work.memory.minted
    return work.now - attached.at >= work.tools.pace.tag_lag - 0.001


def _complete(work: Work, key: NodeKey, observed: Observed, tags: Collection[str]) -> bool:
    proven = work.evidence(key, observed, tags).strength is Strength.PROVEN
    return proven and not _missing(work, key, observed, tags)


def _missing(work: Work, key: NodeKey, observed: Observed, tags: Collection[str]) -> frozenset[str]:
    fold = work.tools.codec.fold
    return fold(work.tags(key, observed)) - fold(tags)


def _conclude(work: Work, key: NodeKey, observed: Observed, tags: Collection[str]) -> None:
    entry = work.journal.entries[key]
    evidence = work.evidence(key, observed, tags)
    work.memory.doubted.add(key)
    if _complete(work, key, observed, tags):
        work.memory.doubted.discard(key)
        _close(work, key, entry)
        work.verified[key] = frozenset(tags)
    elif evidence.strength in (Strength.OTHERS, Strength.DISPUTED):
        message = (
            f"{observed.name} ({observed.id}) bears {evidence.source}: nothing of it is changed until a person has "
            "found out whose it is"
        )
        _leave_alone(work, key, Blocked(Reason.NOT_OWNED, message, observed=observed))
    elif evidence.strength is not Strength.PROVEN and not work.attested(key):
        if not work.bears_birth(key, observed):
            _leave_alone(work, key, _unattested(work, key, observed))
            return
        # The signature of its record cannot be checked; its nonce tells what that of an open intent would.
        work.memory.doubted.discard(key)
        looking.adopt(work, key, observed, entry)
    elif not work.attested(key):
        work.memory.doubted.discard(key)
        looking.adopt(work, key, observed, entry)  # the marks prove it: its record is signed anew
    else:
        work.memory.doubted.discard(key)
        if not work.lagging(key, _missing(work, key, observed, tags)):
            if entry.phase is Phase.OWNED:
                work.notes.append(f"{key}: a mark or tag of {entry.id} was missing and is attached again")
            work.memory.attached.pop(key, None)
        work.journal = work.journal.put(key, replace(entry, phase=Phase.RECORDED))


def _close_unmarkable(work: Work, key: NodeKey) -> None:
    """Nothing but the record tells of it: it is signed anew only where we signed it, or where it has our nonce."""
    observed = work.memory.seen[key]
    if not work.attested(key) and work.bears_birth(key, observed):
        looking.adopt(work, key, observed, work.journal.entries[key])
    if work.attested(key):
        _close(work, key, work.journal.entries[key])
    else:
        _leave_alone(work, key, _unattested(work, key, observed))


def _leave_alone(work: Work, key: NodeKey, why: Blocked) -> None:
    """It may be a stranger's: nothing is changed, and nothing of ours is created in it either."""
    work.outcomes[key] = why
    work.known.pop(key, None)


def _close(work: Work, key: NodeKey, entry: Entry) -> None:
    """The mark was read back. The record keeps its key until its seal is renewed (:mod:`renewal`)."""
    asked = entry.request or {}
    kept = {name: asked[name] for name in sorted(work.kind(key).unseen) if name in asked} or None
    digest = work.signing_key(key)
    deed = work.keys.signature(digest, key.kind, entry.id)
    record = replace(entry, phase=Phase.OWNED, request=kept, fails=0, deed=deed, key=digest, by="")
    work.journal = work.journal.put(key, record)


def _unattested(work: Work, key: NodeKey, observed: Observed) -> Blocked:
    """An id that a person, a backup of another operator or an attacker wrote: a record is not laundered into a mark."""
    before_ring = work.journal.entries[key].key == UNKEYED
    way = "run the operator with the API key that it was recorded with until it is Ready, or " if before_ring else ""
    return Blocked(
        Reason.NOT_OWNED,
        f"{observed.name} ({observed.id}) is in the journal, but neither its marks nor this operator's signature show "
        f"that it is ours: it is neither changed nor deleted. If it was made for this object, {way}delete it in the "
        f"cloud to have it created again; otherwise remove {key} from annotation freehold.dev/journal",
        observed=observed,
    )


async def attach(work: Work, keys: Collection[NodeKey]) -> None:
    """Attach the marks and the user's tags to what is recorded and not yet marked, batched by the tagger."""
    wanted: dict[str, frozenset[str]] = {}
    due: dict[NodeKey, Observed] = {}
    for key in keys:
        entry, observed = work.journal.get(key), work.memory.seen.get(key)
        if not entry or entry.phase is not Phase.RECORDED or observed is None or key in work.memory.absent_since:
            continue
        if key in work.memory.doubted:
            continue
        if key in work.memory.attached and work.tags(key, observed) <= work.memory.attached[key].tags:
            continue
        if not work.kind(key).markable or not observed.target or isinstance(work.outcomes.get(key), Blocked):
            continue
        if not work.attested(key):
            work.outcomes[key] = _unattested(work, key, observed)
            continue
        if observed.carried and not (_is_its_carrier(work, key, observed) and _carrier_fits(work, key, observed)):
            continue
        wanted[observed.target] = wanted.get(observed.target, frozenset()) | work.tags(key, observed)
        due[key] = observed
    if not due:
        return
    await (
        work.confirm()
    )  # a process that dies here must not forget what it put there, nor one that lost its turn attach
    work.memory.last_sent = work.now
    failed = await work.tools.tagger.attach([TagChange(target, tags) for target, tags in wanted.items()])
    for key, observed in due.items():
        if observed.target in failed:
            work.outcomes[key] = of_error(failed[observed.target])
        else:
            work.memory.attached[key] = Attached(work.now, work.tags(key, observed))


async def detach_dropped(work: Work) -> None:
    """Take off what the spec asked for before and asks for no more, wherever we may have put it."""
    fold = work.tools.codec.fold
    # Whoever may edit the object can write tags and targets in here: no mark is one of the user's tags, and only a
    # target that the cloud has shown with the resource is the resource's.
    dropped = frozenset(
        tag for tag in work.journal.tags if not fold([tag]) & fold(work.user_tags) and not _is_mark(work, tag)
    )
    if dropped and work.journal.open:
        return  # what comes of an open intent may bear them from birth
    ours = {
        key: entry
        for key, entry in work.journal.ours.items()
        if entry.target and not entry.carried and work.attested(key) and not _disowned(work, key) and _seen(work, key)
    }
    if dropped and ours:
        targets = sorted({entry.target for entry in ours.values()})
        failed = await work.tools.tagger.detach([TagChange(target, dropped) for target in targets])
        work.memory.detached = Attached(work.now, dropped)
        wrong = {target: e for target, e in failed.items() if not isinstance(e, NotFound)}
        work.outcomes |= {key: of_error(wrong[e.target]) for key, e in ours.items() if e.target in wrong}
        if wrong:
            return
    work.journal = replace(work.journal, tags=work.user_tags)


def _seen(work: Work, key: NodeKey) -> bool:
    """Whether the last look showed it, and on this very target."""
    seen, entry = work.memory.seen.get(key), work.journal.entries[key]
    return bool(seen and key not in work.memory.absent_since and seen.target == entry.target and not seen.carried)


def _is_mark(work: Work, tag: str) -> bool:
    marks = work.tools.codec.read([tag])
    return bool(marks.owners or marks.uuids or marks.nodes or marks.carried)


def _disowned(work: Work, key: NodeKey) -> bool:
    """Whether this pass has seen that somebody else has a claim to it."""
    outcome = work.outcomes.get(key)
    return isinstance(outcome, Blocked) and outcome.reason is Reason.NOT_OWNED


async def clean(work: Work) -> None:
    """Take the marks of carried resources that are gone off their carrier, which may be somebody else's.

    Asked for once more: what exists keeps its mark, whatever the journal says of it.
    """
    stale = {key: e for key, e in work.journal.entries.items() if e.earlier and e.target}
    for key, entry in stale.items():
        try:
            await _clean(work, key, entry)
        except CloudError as error:
            work.outcomes.setdefault(key, of_error(error))


async def _clean(work: Work, key: NodeKey, entry: Entry) -> None:
    refs = [Ref(id_, entry.target) for id_ in entry.earlier]
    existing = await work.kind(key).driver.observe(refs) if key.kind in work.tools.registry else {}
    gone = [id_ for id_ in entry.earlier if id_ not in existing]
    if gone:
        tags = frozenset(work.tools.codec.carried(work.owner, key.kind, id_) for id_ in gone)
        failed = (await work.tools.tagger.detach([TagChange(entry.target, tags)])).get(entry.target)
        if failed is not None and not isinstance(failed, NotFound):
            raise failed
    work.journal = work.journal.put(key, replace(entry, earlier=()))


def _is_its_carrier(work: Work, key: NodeKey, observed: Observed) -> bool:
    """The target of a carried resource comes from the journal, where somebody may have written another one."""
    return work.kind(key).driver.identify(observed.target, observed.id.rpartition("/")[2]) == observed.id


def _carrier_fits(work: Work, key: NodeKey, observed: Observed) -> bool:
    kind = work.kind(key)
    if not kind.carrier_owned:
        return True
    for other, entry in work.journal.entries.items():
        if other.kind == kind.carrier and entry.target == observed.target and entry.phase.ours:
            return True
    work.outcomes[key] = Blocked(
        Reason.UNMARKABLE,
        f"{observed.name} ({observed.id}) bears no tags and its {kind.carrier} is not ours to mark it on: it stands, "
        "recorded in the journal only, and will not be deleted by us",
        observed=observed,
    )
    return False


def awaiting(work: Work, keys: Collection[NodeKey]) -> None:
    """A resource that stands is not Ready before its mark has been read back."""
    for key in keys:
        entry, outcome = work.journal.get(key), work.outcomes.get(key)
        if entry and entry.phase is Phase.RECORDED and isinstance(outcome, Ready):
            attached = work.memory.attached.get(key)
            left = max(work.tools.pace.tag_lag - (work.now - attached.at if attached else 0.0), 5.0)
            if not entry.target:
                work.memory.look_at.pop(key, None)  # what bears its mark is to be learnt yet
            work.outcomes[key] = Waiting(Reason.MARKING, left, "its mark is not readable yet", outcome.observed)
