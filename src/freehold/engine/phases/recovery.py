"""Recovery: find what is ours by its marks and is in no journal.

After a restore from a backup, or when a create took effect long after it was given up, the cloud knows
more than the journal. The index may show what is gone, so each resource is read itself before it is recorded.
A resource that carries our uuid and is not proven ours is named to a person and left alone. It does not hold the
finalizer: otherwise everybody who may tag could block any delete.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from freehold.engine import birth_marks, proofs
from freehold.engine.context import PassContext
from freehold.engine.errors import CloudError, Denied, Invalid, NotFound
from freehold.engine.inventory import TagChange, TagsByTarget
from freehold.engine.journal import Entry, RecordState
from freehold.engine.outcomes import Blocked, Reason, Waiting, outcome_of_error
from freehold.engine.ownership import Strength
from freehold.engine.phases import keyed_tags, observe
from freehold.engine.resources import NodeKey, Observed, Ref, State, Want

SOON = 1.0
"""Seconds until what was found is observed like everything else: nothing but time wakes the object for it."""


@dataclass(frozen=True)
class _Unrecorded:
    key: NodeKey
    ref: Ref
    carried: bool


def is_anything_unrecorded(ctx: PassContext, tags_by_target: TagsByTarget) -> bool:
    """Return whether :func:`record_marked` would find something. Copies and unknown kinds are noted as there."""
    return bool(_find_nodes(ctx, tags_by_target) or _find_carried(ctx, tags_by_target))


async def record_marked(ctx: PassContext, tags_by_target: TagsByTarget, *, last: bool = False) -> None:
    """Take into the journal what has our sealed marks, still exists, and is not in it.

    ``last``: nothing can be under way any more. What this process has seen gone is asked for again, for an
    index lags, and a carrier's mark that names nothing that exists is taken off, also from others' carriers.
    """
    found = [*_find_nodes(ctx, tags_by_target), *_find_carried(ctx, tags_by_target)]
    found = [item for item in found if item.carried or item.ref.id not in ctx.absent]
    if not last:
        found = [item for item in found if not ctx.state.gone.intersection(item.ref)]
    elif ctx.deps.tagger.asks_resources:
        found = await _leave_out_untagged(ctx, found)
    by_kind: dict[str, list[_Unrecorded]] = {}
    for item in found:
        by_kind.setdefault(item.key.kind, []).append(item)
    for kind, group in by_kind.items():
        try:
            existing = await ctx.deps.registry[kind].driver.observe([item.ref for item in group])
        except (Denied, Invalid) as error:
            _report_unreadable(ctx, group, error, tags_by_target)
            continue
        except CloudError as error:
            ctx.outcomes[group[0].key] = outcome_of_error(error)
            continue
        others = await _find_others(ctx, group, existing)
        for item in group:
            observed = existing.get(item.ref.id)
            if item.ref.id in others:
                continue
            if observed is not None:
                ctx.state.missed.pop(item.ref.id, None)
                _record_or_name(ctx, item, observed, tags_by_target.get(item.ref.target, frozenset()))
            else:
                _note_missed(ctx, item)
                if last and item.carried:
                    await _take_stale_mark_off(ctx, item)


async def _find_others(ctx: PassContext, group: Sequence[_Unrecorded], existing: Mapping[str, Observed]) -> set[str]:
    """Return the ids of what has none of our marks itself, where ids return and the index is behind."""
    there = [item for item in group if item.ref.id in existing and ctx.kind(item.key).naming.id_returns]
    if not there or not ctx.deps.tagger.asks_resources:
        return set()
    tags = await ctx.deps.tagger.tags_of_each([item.ref.target for item in there])
    others: set[str] = set()
    for item in there:
        said = tags[item.ref.target]
        if isinstance(said, CloudError):
            ctx.outcomes[item.key] = outcome_of_error(said)
            others.add(item.ref.id)
        elif proofs.evidence(ctx, item.key, existing[item.ref.id], said).strength is not Strength.PROVEN:
            others.add(item.ref.id)
    return others


def _note_missed(ctx: PassContext, item: _Unrecorded) -> None:
    """Note that one read did not show it: when the kind has settled, it has gone and is not asked for again."""
    since = ctx.state.missed.setdefault(item.ref.id, ctx.now)
    if ctx.now - since >= ctx.kind(item.key).settle:
        ctx.state.gone.add(item.ref.id)


async def _leave_out_untagged(ctx: PassContext, found: Sequence[_Unrecorded]) -> list[_Unrecorded]:
    """Leave out what the cloud took our request to delete and has no tags any more: one question for all of them.

    What has lost its tags otherwise is asked for itself.
    """
    deleted = [item.ref.target for item in found if not item.carried and item.ref.id in ctx.state.deleted]
    tags = await ctx.deps.tagger.tags_of_each(list(dict.fromkeys(deleted))) if deleted else {}
    return [item for item in found if tags.get(item.ref.target) != frozenset()]


async def record_unlisted(ctx: PassContext) -> None:
    """Do the same for kinds that no index lists: by name, where the record of a wanted node was not signed by us."""
    wants = [
        Want(key, node.name, node.request(ctx.ready_nodes), birth_marks.nonces(ctx, key))
        for key, node in ctx.graph.nodes.items()
        if not ctx.kind(key).reads.indexed and _is_forged(ctx, key) and node.requires <= ctx.ready_nodes.keys()
    ]
    for key, found in (await observe.find_candidates(ctx, wants)).items():
        if isinstance(found, CloudError):
            ctx.outcomes[key] = outcome_of_error(found)
            continue
        known = {entry.id for other, entry in ctx.journal.entries.items() if other.kind == key.kind}
        for seen in found:
            if seen.id not in known and proofs.evidence(ctx, key, seen, seen.tags or ()).strength is Strength.PROVEN:
                put_on_record(ctx, key, seen, "has our marks and was not on record", marks_seen=True)


def _is_forged(ctx: PassContext, key: NodeKey) -> bool:
    entry = ctx.journal.get(key)
    return bool(entry and entry.id and entry.state.is_claimed and not ctx.is_signed(key))


def _report_unreadable(ctx: PassContext, group: Sequence[_Unrecorded], error: CloudError, marked: TagsByTarget) -> None:
    """Hold the delete by what our seal is on; name what only a carrier's mark, which others can write, names."""
    for item in group:
        if not item.carried:
            ctx.outcomes[item.key] = outcome_of_error(error)
        else:
            ctx.state.copied[item.ref.id] = (
                f"{item.ref.id} is named by a mark of ours on {item.ref.target} and may not be read "
                f"({error.message}): it is left alone. If it is not of this object, "
                f"{_explain_detach(ctx, item, marked)}"
            )


def _record_or_name(ctx: PassContext, item: _Unrecorded, observed: Observed, tags: frozenset[str]) -> None:
    """Record it as ours, or name it: a carrier's mark can be written by everybody who may tag the carrier.

    With our birth mark and no seal it may be a copy of ours, which then is somewhere else: the places that ask for all
    resources with our birth marks decide (:mod:`create`, :mod:`final_check`).
    """
    seen = replace(observed, target=observed.target or item.ref.target)
    if not item.carried or proofs.has_seal(ctx, item.key, seen, tags):
        put_on_record(ctx, item.key, seen, "has our marks and was not on record", marks_seen=True)
        return
    if proofs.evidence(ctx, item.key, seen, tags).strength is Strength.PROVEN:
        return
    ctx.state.copied[item.ref.id] = (
        f"{observed.name} ({observed.id}) is named by a mark of ours on {item.ref.target} that nothing shows to be "
        "written by us: it is left alone. If it is not of this object, "
        f"{_explain_detach(ctx, item, {item.ref.target: tags})}"
    )


def _explain_detach(ctx: PassContext, item: _Unrecorded, marked: TagsByTarget) -> str:
    return proofs.how_to_detach(ctx, item.ref.target, _find_naming(ctx, item, marked.get(item.ref.target, ())))


async def _take_stale_mark_off(ctx: PassContext, item: _Unrecorded) -> None:
    """Take off a stale mark: an attach in flight may have come after its detach. The carrier itself is asked."""
    ident = item.ref.id.rpartition("/")[2].casefold()
    try:
        tags = await ctx.deps.tagger.tags_of(item.ref.target)
        stale = _find_naming(ctx, item, tags)
    except CloudError as error:
        ctx.outcomes[item.key] = outcome_of_error(error)
        return
    if not stale:
        return
    failed = await keyed_tags.detach_exact(ctx, [TagChange(item.ref.target, frozenset(stale))])
    error_ = failed.get(item.ref.target)
    if error_ is not None and not isinstance(error_, NotFound):
        ctx.outcomes[item.key] = outcome_of_error(error_)
    else:
        ctx.state.emptied.add(item.ref.target)
        ctx.notes.append(f"{item.key}: {ident} is gone, and its mark is taken off {item.ref.target}")


def _find_naming(ctx: PassContext, item: _Unrecorded, tags: Collection[str]) -> set[str]:
    """Return those of a carrier's ``tags`` that are marks of the unrecorded resource."""
    read = ctx.deps.codec.read
    return {tag for tag in tags for mark in read([tag]).carried if _names(ctx, item, mark.uuid, mark.id)}


def _names(ctx: PassContext, item: _Unrecorded, uuid: str, ident: str) -> bool:
    """Return whether this uuid and id in a carrier's mark are those of the unrecorded resource."""
    own = ctx.deps.codec.carried_id(item.key.kind, item.ref.id)
    return (uuid.casefold(), ident.casefold()) == (ctx.owner.uuid.casefold(), own.casefold())


def put_on_record(ctx: PassContext, key: NodeKey, observed: Observed, why: str, *, marks_seen: bool = False) -> None:
    """Put on record what is ours and in no journal; ``why`` is told to a person.

    Under the node whose birth mark it has, or under the birth mark itself, so that it counts as spent also when the
    resource is gone and the process a new one; else under ``key``. Whether what the spec does not want was handed to
    the in-cluster provider is on no record: it may have been, so it is not pruned by itself. ``marks_seen``: its marks
    were shown, so that a delete does not attach them if somebody has taken them off since.
    """
    for other in _find_called_others(ctx):
        if (other.kind, ctx.journal.entries[other].id) == (key.kind, observed.id):
            ctx.journal = ctx.journal.drop(other)
    free_nodes = [node for node in ctx.graph.nodes if node.kind == key.kind and not ctx.journal.get(node)]
    born = [node for node in free_nodes if birth_marks.attempt_of(ctx, node, observed)]
    words = sorted(w for w in birth_marks.possible_nonces(ctx, key, observed) if ctx.keys.recognises(key.kind, w))
    free = born[0] if born else free_key(ctx, NodeKey(key.kind, words[0]) if words else key, observed.id)
    attempt = max(birth_marks.attempt_of(ctx, free, observed), 1)
    record = Entry(RecordState.RECORDED, observed.id, observed.target, observed.carried, attempt)
    signature = ctx.sign(free, observed.id, observed.incarnation)
    record = replace(record, signature=signature, key=ctx.keys.writing, incarnation=observed.incarnation)
    record = replace(record, shared=free not in ctx.graph.nodes, read_back=marks_seen)
    ctx.record(free, record)
    ctx.remember(free, observed)
    ctx.outcomes[free] = Waiting(Reason.MARKING, SOON, f"{observed.id} was found and is on record now", observed)
    ctx.notes.append(f"{free}: {observed.id} {why}: it is now")


def free_key(ctx: PassContext, key: NodeKey, id_: str) -> NodeKey:
    """Return the logical name, or, where another resource has it, one that tells the two apart."""
    return key.with_id(id_) if key in ctx.journal.entries else key


def _find_nodes(ctx: PassContext, tags_by_target: TagsByTarget) -> Sequence[_Unrecorded]:
    called_others = _find_called_others(ctx)
    known = {e.target for k, e in ctx.journal.entries.items() if e.id and not e.carried and k not in called_others}
    ours = ctx.owner.uuid.casefold()
    found = []
    if tags_by_target:
        ctx.state.copied.clear()
    for target, tags in tags_by_target.items():
        marks = ctx.deps.codec.read(tags)
        if target in known or ours not in {uuid.casefold() for uuid in marks.uuids}:
            continue
        unrecorded = [_read_node(ctx, key, target, tags) for key in sorted({mark.key for mark in marks.nodes})]
        found += [item for item in unrecorded if item]
        if not any(unrecorded) and not any(_is_of_unknown_kind(ctx, mark.key, target, tags) for mark in marks.nodes):
            rivals = {name.casefold() for name in marks.owners} - {n.casefold() for n in _read_own_names(ctx)}
            whose = f", and belongs to {', '.join(sorted(rivals))}" if rivals else ""
            ctx.state.copied[target] = f"{target} has our uuid and no mark that we made for it{whose}: left alone"
    return found


def _find_called_others(ctx: PassContext) -> frozenset[NodeKey]:
    """Return the keys under which the record says, without a signature, that something was not made by us.

    Our seal on it says the contrary.
    """
    entries = ctx.journal.entries.items()
    unmanaged = {key: entry.id for key, entry in entries if entry.state in (RecordState.GIVEN, RecordState.REUSED)}
    return frozenset(key for key, id_ in unmanaged.items() if not is_given_up(ctx, key.kind, id_))


def is_given_up(ctx: PassContext, kind: str, id_: str) -> bool:
    """Return whether a person gave it up; a look and the index may show our marks for a while."""
    entries = ctx.journal.entries.items()
    return any((key.kind, entry.id, entry.state) == (kind, id_, RecordState.GIVEN_UP) for key, entry in entries)


def _read_own_names(ctx: PassContext) -> frozenset[str]:
    return ctx.deps.codec.read(ctx.deps.codec.owner(ctx.owner)).owners


def _read_node(ctx: PassContext, key: NodeKey, target: str, tags: frozenset[str]) -> _Unrecorded | None:
    if key.kind not in ctx.deps.registry:
        return None
    id_ = ctx.kind(key).driver.identify(target)
    stub = Observed(id=id_, name="", state=State.READY, target=target)
    strength = proofs.evidence(ctx, key, stub, tags).strength
    ours = strength is Strength.PROVEN or (strength is Strength.DISPUTED and _has_own_seal(ctx, key, stub, tags))
    others = _find_called_others(ctx)
    if (key.kind, id_) in {(k.kind, entry.id) for k, entry in ctx.journal.entries.items() if k not in others}:
        return None  # on record, without what its mark is on
    return _Unrecorded(key, Ref(id_, target), carried=False) if id_ and ours else None


def _has_own_seal(ctx: PassContext, key: NodeKey, stub: Observed, tags: frozenset[str]) -> bool:
    """Return whether our seal fits, so that it was ours before another owner claimed it: a person decides."""
    fold = ctx.deps.codec.fold
    plain = fold([ctx.deps.codec.spell_carrier_mark(ctx.owner, key.kind, stub.id)] if stub.carried else ())
    return not (fold(proofs.seals(ctx, key, stub)) - plain).isdisjoint(fold(tags))


def _find_carried(ctx: PassContext, tags_by_target: TagsByTarget) -> Sequence[_Unrecorded]:
    carried_id, entries = ctx.deps.codec.carried_id, ctx.journal.entries
    known = {(key.kind, carried_id(key.kind, i)) for key, entry in entries.items() for i in (entry.id, *entry.earlier)}
    found = []
    for target, tags in tags_by_target.items():
        for mark in ctx.deps.codec.read(tags).carried:
            if mark.uuid.casefold() != ctx.owner.uuid.casefold() or (mark.kind, mark.id) in known:
                continue
            key = NodeKey(mark.kind, mark.id)
            if mark.kind not in ctx.deps.registry:
                if not _is_of_unknown_kind(ctx, key, target, tags, carried=True):
                    ctx.state.copied[target] = (
                        f"{target} has a mark of our uuid of unknown kind {mark.kind}: left alone"
                    )
            elif id_ := ctx.kind(key).driver.identify(target, mark.id):
                found.append(_Unrecorded(key, Ref(id_, target), carried=True))
            else:  # where a mark has the whole id, it says in which carrier it was written
                ctx.state.copied[target] = (
                    f"{target} has a mark of our uuid that names {mark.kind} {mark.id}, which cannot be in it: "
                    "somebody copied it, and it is left alone"
                )
    return found


def _is_of_unknown_kind(
    ctx: PassContext, key: NodeKey, target: str, tags: frozenset[str], *, carried: bool = False
) -> bool:
    """Return whether a kind that is not known here has a mark that only we can have made; it holds the delete."""
    if key.kind in ctx.deps.registry:
        return False
    stub = Observed(id=key.logical if carried else target, name="", state=State.READY, target=target, carried=carried)
    if not _has_own_seal(ctx, key, stub, tags):
        return False
    ctx.outcomes[key] = Blocked(
        Reason.UNKNOWN_KIND, f"{target} has our marks and is of kind {key.kind}, which this version does not know"
    )
    return True
