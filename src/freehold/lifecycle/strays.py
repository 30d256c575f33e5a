"""Strays: what is ours by its marks, or was born of a create of ours, and stands in no journal.

After a restore from a backup, or when a create took effect long after it was given up, the cloud knows
more than the journal. Presence in an index proves nothing about now: each is asked natively first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from freehold.lifecycle import looking
from freehold.lifecycle.errors import CloudError
from freehold.lifecycle.inventory import TagsByTarget
from freehold.lifecycle.journal import Entry, Phase
from freehold.lifecycle.kinds import NodeKey, Observed, Ref, State, Want
from freehold.lifecycle.outcomes import Blocked, Kept, Reason, of_error
from freehold.lifecycle.ownership import Strength
from freehold.lifecycle.work import STRANGER, Work


@dataclass(frozen=True)
class _Stray:
    key: NodeKey
    ref: Ref
    carried: bool


async def marked(work: Work, tags_by_target: TagsByTarget, *, thorough: bool = False) -> None:
    """Take into the journal what bears our sealed marks, still stands, and is not in it.

    What this process has seen gone lingers in the index; it is asked again only by a ``thorough`` look.
    """
    _dispute(work, tags_by_target)
    if work.disputed:
        return
    found = [*_nodes(work, tags_by_target), *_carried(work, tags_by_target)]
    if not thorough:
        found = [stray for stray in found if not work.memory.gone.intersection(stray.ref)]
    by_kind: dict[str, list[_Stray]] = {}
    for stray in found:
        by_kind.setdefault(stray.key.kind, []).append(stray)
    for kind, group in by_kind.items():
        try:
            standing = await work.tools.registry[kind].driver.observe([stray.ref for stray in group])
        except CloudError as error:
            work.outcomes[group[0].key] = of_error(error)
            continue
        for stray in group:
            observed = standing.get(stray.ref.id)
            if observed is None:
                work.memory.gone.add(stray.ref.id)
            else:
                _take(work, stray, observed)


def _dispute(work: Work, tags_by_target: TagsByTarget) -> None:
    """Whether our uuid stands beside another owner's name: an object claims the identity of another one.

    The uuid is no secret, and a carrier's mark holds nothing but it and an id; an identity in an annotation
    may be made up.
    """
    ours = work.tools.codec.read(work.tools.codec.owner(work.owner))
    for target, tags in sorted(tags_by_target.items()):
        marks = work.tools.codec.read(tags)
        rivals = {name.casefold() for name in marks.owners} - {name.casefold() for name in ours.owners}
        if rivals and work.owner.uuid.casefold() in {uuid.casefold() for uuid in marks.uuids}:
            work.disputed = True
            message = (
                f"{target} bears our uuid {work.owner.uuid} and belongs to {', '.join(sorted(rivals))}: one of two "
                "objects has the identity of the other. Nothing is deleted until a person has found out which"
            )
            work.outcomes[NodeKey(STRANGER, target)] = Blocked(Reason.NOT_OWNED, message, work.tools.pace.slow)


def _take(work: Work, stray: _Stray, observed: Observed) -> None:
    key = free_key(work, stray.key, stray.ref.id)
    target, deed = observed.target or stray.ref.target, work.deed(key, observed.id)
    work.journal = work.journal.put(key, Entry(Phase.RECORDED, observed.id, target, stray.carried, deed=deed))
    work.remember(key, observed)
    work.notes.append(f"{key}: {observed.id} bears our marks and was not on record: it is now")


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
        if not any(strays):
            work.memory.copied[target] = "bears marks that were copied from a resource of ours: left alone"
    return found


def _node(work: Work, key: NodeKey, target: str, tags: frozenset[str]) -> _Stray | None:
    if key.kind not in work.tools.registry:
        _unknown(work, key, target)
        return None
    id_ = work.kind(key).driver.identify(target)
    stub = Observed(id=id_, name="", state=State.READY, target=target)
    sealed = work.evidence(key, stub, tags).strength is Strength.PROVEN
    return _Stray(key, Ref(id_, target), carried=False) if id_ and sealed else None


def _carried(work: Work, tags_by_target: TagsByTarget) -> Sequence[_Stray]:
    known = {(k.kind, i.rpartition("/")[2]) for k, e in work.journal.entries.items() for i in (e.id, *e.earlier)}
    found = []
    for target, tags in tags_by_target.items():
        for mark in work.tools.codec.read(tags).carried:
            if mark.uuid.casefold() != work.owner.uuid.casefold() or (mark.kind, mark.id) in known:
                continue
            key = NodeKey(mark.kind, mark.id)
            if mark.kind not in work.tools.registry:
                _unknown(work, key, target)
            elif id_ := work.kind(key).driver.identify(target, mark.id):
                found.append(_Stray(key, Ref(id_, target), carried=True))
    return found


def _unknown(work: Work, key: NodeKey, target: str) -> None:
    work.outcomes[key] = Blocked(
        Reason.UNKNOWN_KIND, f"{target} bears our marks and is of kind {key.kind}, which this version does not know"
    )


async def born(work: Work) -> None:
    """Ask native lists for anything that bears a birth mark of ours, in every scope that still stands."""
    entries = work.journal.entries
    kept = [k for k, e in entries.items() if e.phase in (Phase.GIVEN, Phase.REUSED)]
    unmanaged = [key for key in kept if key.kind in work.tools.registry]
    stand = {k: o for k, o in (await looking.by_key(work, unmanaged)).items() if isinstance(o, Observed)}
    stand |= {k: work.memory.seen[k] for k in work.journal.ours if k in work.memory.seen}
    free = [n for n in work.graph.nodes.values() if not n.given and not (n.key in entries and entries[n.key].id)]
    nodes = [n for n in free if n.requires <= stand.keys() and n.key not in work.journal.open]
    wants = [Want(n.key, n.name, n.request(stand), work.nonces(n.key)) for n in nodes]
    for key, found in (await looking.find(work, wants)).items():
        if isinstance(found, CloudError):
            work.outcomes[key] = Blocked(of_error(found).reason, found.message, 30.0)
            continue
        for stray in found:
            if stray.state is State.DELETING:
                continue
            if work.born_here(key, stray):
                looking.adopt(work, key, stray, work.journal.get(key))
            else:
                message = f"{stray.name} ({stray.id}) has a name that we would give and no mark made for it: left alone"
                work.outcomes[NodeKey(key.kind, stray.id)] = Kept(Reason.NOT_OWNED, message)
