"""Strays: what is ours by its marks and is in no journal.

After a restore from a backup, or when a create took effect long after it was given up, the cloud knows
more than the journal. Presence in an index proves nothing about now: each is asked natively first.
What carries our uuid and is not proven ours is named to a person, left alone, and holds nothing up:
otherwise everybody who may tag could block any delete.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from freehold.lifecycle.errors import CloudError, Denied, Invalid, NotFound
from freehold.lifecycle.inventory import TagChange, TagsByTarget
from freehold.lifecycle.journal import Entry, Phase
from freehold.lifecycle.kinds import NodeKey, Observed, Ref, State
from freehold.lifecycle.outcomes import Blocked, Reason, of_error
from freehold.lifecycle.ownership import Strength
from freehold.lifecycle.work import Work


@dataclass(frozen=True)
class _Stray:
    key: NodeKey
    ref: Ref
    carried: bool


async def marked(work: Work, tags_by_target: TagsByTarget, *, last: bool = False) -> None:
    """Take into the journal what has our sealed marks, still exists, and is not in it.

    ``last``: nothing can be under way any more. What this process has seen gone is asked for again, for an
    index lags, and a carrier's mark that names nothing which exists is taken off, whoever owns the carrier.
    """
    found = [*_nodes(work, tags_by_target), *_carried(work, tags_by_target)]
    found = [stray for stray in found if stray.carried or stray.ref.id not in work.absent]
    if not last:
        found = [stray for stray in found if not work.memory.gone.intersection(stray.ref)]
    by_kind: dict[str, list[_Stray]] = {}
    for stray in found:
        by_kind.setdefault(stray.key.kind, []).append(stray)
    for kind, group in by_kind.items():
        try:
            existing = await work.tools.registry[kind].driver.observe([stray.ref for stray in group])
        except (Denied, Invalid) as error:
            _may_not_be_read(work, group, error)
            continue
        except CloudError as error:
            work.outcomes[group[0].key] = of_error(error)
            continue
        for stray in group:
            observed = existing.get(stray.ref.id)
            if observed is not None:
                _judge(work, stray, observed, tags_by_target.get(stray.ref.target, frozenset()))
            else:
                work.memory.gone.add(stray.ref.id)
                if last and stray.carried:
                    await _take_off(work, stray)


def _may_not_be_read(work: Work, group: Sequence[_Stray], error: CloudError) -> None:
    """What our seal is on holds the delete; a carrier's mark can be written by everybody who may tag the carrier."""
    for stray in group:
        if not stray.carried:
            work.outcomes[stray.key] = of_error(error)
        else:
            work.memory.copied[stray.ref.id] = (
                f"{stray.ref.id} is named by a mark of ours on {stray.ref.target} and may not be read "
                f"({error.message}): it is left alone. Detach the mark if it is not of this object"
            )


def _judge(work: Work, stray: _Stray, observed: Observed, tags: frozenset[str]) -> None:
    """Ours, or named: a carrier's mark can be written by everybody who may tag the carrier."""
    seen = replace(observed, target=observed.target or stray.ref.target)
    if not stray.carried or work.evidence(stray.key, seen, tags).strength is Strength.PROVEN:
        take(work, stray.key, seen, "has our marks and was not on record")
        return
    work.memory.copied[stray.ref.id] = (
        f"{observed.name} ({observed.id}) is named by a mark of ours on {stray.ref.target} that nothing shows to be "
        f"written by us: it is left alone. If it is not of this object, detach the mark"
    )


async def _take_off(work: Work, stray: _Stray) -> None:
    """An attach that was in flight may have come after its detach. The index may be behind: the carrier is asked."""
    codec = work.tools.codec
    ident = stray.ref.id.rpartition("/")[2].casefold()
    try:
        tags = await work.tools.tagger.tags_of(stray.ref.target)
        stale = {tag for tag in tags for mark in codec.read([tag]).carried if _names(work, stray, mark.uuid, mark.id)}
    except CloudError as error:
        work.outcomes[stray.key] = of_error(error)
        return
    if not stale:
        return
    failed = await work.tools.tagger.detach([TagChange(stray.ref.target, frozenset(stale))])
    error_ = failed.get(stray.ref.target)
    if error_ is not None and not isinstance(error_, NotFound):
        work.outcomes[stray.key] = of_error(error_)
    else:
        work.notes.append(f"{stray.key}: {ident} is gone, and its mark is taken off {stray.ref.target}")


def _names(work: Work, stray: _Stray, uuid: str, ident: str) -> bool:
    """Whether a carrier's mark with this uuid and id is the stray's."""
    own = stray.ref.id.rpartition("/")[2]
    return (uuid.casefold(), ident.casefold()) == (work.owner.uuid.casefold(), own.casefold())


def take(work: Work, key: NodeKey, observed: Observed, why: str) -> None:
    """Put on record what is ours and in no journal; ``why`` is told to a person."""
    free = free_key(work, key, observed.id)
    record = Entry(Phase.RECORDED, observed.id, observed.target, observed.carried)
    record = replace(record, deed=work.deed(free, observed.id), key=work.keys.writing)
    work.journal = work.journal.put(free, record)
    work.remember(free, observed)
    work.notes.append(f"{free}: {observed.id} {why}: it is now")


def free_key(work: Work, key: NodeKey, id_: str) -> NodeKey:
    """The logical name, or, where another resource has it, one that tells the two apart."""
    return NodeKey(key.kind, f"{key.logical}~{id_.rpartition('/')[2]}") if key in work.journal.entries else key


def _nodes(work: Work, tags_by_target: TagsByTarget) -> Sequence[_Stray]:
    known = {e.target for e in work.journal.entries.values() if e.id and not e.carried}
    ours = work.owner.uuid.casefold()
    found = []
    if tags_by_target:
        work.memory.copied.clear()
    for target, tags in tags_by_target.items():
        marks = work.tools.codec.read(tags)
        if target in known or ours not in {uuid.casefold() for uuid in marks.uuids}:
            continue
        strays = [_node(work, key, target, tags) for key in sorted({mark.key for mark in marks.nodes})]
        found += [stray for stray in strays if stray]
        if not any(strays) and not any(_unknown(work, mark.key, target, tags) for mark in marks.nodes):
            rivals = {name.casefold() for name in marks.owners} - {n.casefold() for n in _own_names(work)}
            whose = f", and belongs to {', '.join(sorted(rivals))}" if rivals else ""
            work.memory.copied[target] = f"{target} has our uuid and no mark that we made for it{whose}: left alone"
    return found


def _own_names(work: Work) -> frozenset[str]:
    return work.tools.codec.read(work.tools.codec.owner(work.owner)).owners


def _node(work: Work, key: NodeKey, target: str, tags: frozenset[str]) -> _Stray | None:
    if key.kind not in work.tools.registry:
        return None
    id_ = work.kind(key).driver.identify(target)
    stub = Observed(id=id_, name="", state=State.READY, target=target)
    strength = work.evidence(key, stub, tags).strength
    ours = strength is Strength.PROVEN or (strength is Strength.DISPUTED and _sealed(work, key, stub, tags))
    if (key.kind, id_) in {(known.kind, entry.id) for known, entry in work.journal.entries.items()}:
        return None  # on record, without what its mark is on
    return _Stray(key, Ref(id_, target), carried=False) if id_ and ours else None


def _sealed(work: Work, key: NodeKey, stub: Observed, tags: frozenset[str]) -> bool:
    """Whether our seal fits, so that it was ours before another owner claimed it: a person decides."""
    fold = work.tools.codec.fold
    plain = fold([work.tools.codec.carried(work.owner, key.kind, stub.id)] if stub.carried else ())
    return not (fold(work.seals(key, stub)) - plain).isdisjoint(fold(tags))


def _carried(work: Work, tags_by_target: TagsByTarget) -> Sequence[_Stray]:
    known = {(k.kind, i.rpartition("/")[2]) for k, e in work.journal.entries.items() for i in (e.id, *e.earlier)}
    found = []
    for target, tags in tags_by_target.items():
        for mark in work.tools.codec.read(tags).carried:
            if mark.uuid.casefold() != work.owner.uuid.casefold() or (mark.kind, mark.id) in known:
                continue
            key = NodeKey(mark.kind, mark.id)
            if mark.kind not in work.tools.registry:
                if not _unknown(work, key, target, tags, carried=True):
                    work.memory.copied[target] = (
                        f"{target} has a mark of our uuid of unknown kind {mark.kind}: left alone"
                    )
            elif id_ := work.kind(key).driver.identify(target, mark.id):
                found.append(_Stray(key, Ref(id_, target), carried=True))
    return found


def _unknown(work: Work, key: NodeKey, target: str, tags: frozenset[str], *, carried: bool = False) -> bool:
    """Whether a kind that this version does not know has a mark that only we can have made: it holds the finalizer."""
    if key.kind in work.tools.registry:
        return False
    stub = Observed(id=key.logical if carried else target, name="", state=State.READY, target=target, carried=carried)
    if not _sealed(work, key, stub, tags):
        return False
    work.outcomes[key] = Blocked(
        Reason.UNKNOWN_KIND, f"{target} has our marks and is of kind {key.kind}, which this version does not know"
    )
    return True
