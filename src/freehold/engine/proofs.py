"""Seals, and what the tags on a resource prove in this pass: where :mod:`ownership` is asked.

:func:`evidence` is the one judge: PROVEN allows a delete, HEALABLE lets a record be marked again, all else leaves the
resource alone. It asks :func:`ownership.proves`, or :func:`ownership.proves_carried` for a mark on a carrier, with what
it knows of the record: whether its signature fits (:meth:`keys.ObjectKeys.vouches`). :func:`is_accepted` is the one
exception. Only a kind that can bear no mark at all is deleted without it (:func:`phases.delete.prove_present`).

A seal is the part of a mark that fits one resource only, and that only the operator can make.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from freehold.engine import birth_marks, ownership
from freehold.engine.context import PassContext
from freehold.engine.keys import fingerprint
from freehold.engine.ownership import CarriedMark, Evidence, Strength
from freehold.engine.resources import NodeKey, Observed, State


def seals(ctx: PassContext, key: NodeKey, observed: Observed) -> frozenset[str]:
    """Return the marks that bind this very resource to this node, one a readable key; copied ones fit nowhere else."""
    return frozenset(mark_under(ctx, key, observed, digest) for digest in ctx.keys.readable)


def seal_mark(ctx: PassContext, key: NodeKey, observed: Observed) -> str:
    """Return the one of them that we want attached."""
    return mark_under(ctx, key, observed, ctx.signing_key(key))


def mark_under(ctx: PassContext, key: NodeKey, observed: Observed, digest: str) -> str:
    """Return the mark of this node on this resource, sealed with the key ``digest``."""
    codec = ctx.deps.codec
    if observed.carried:
        seal = ctx.keys.carried_seal(digest, key.kind, codec.carried_id(key.kind, observed.id), observed.target)
        return codec.spell_carrier_mark(ctx.owner, key.kind, observed.id, seal)
    return codec.node(key, ctx.keys.seal(digest, key, observed.target))


def carried_marks(ctx: PassContext, key: NodeKey, id_: str, target: str) -> frozenset[str]:
    """Return every form of our mark for a carried resource: plain, and sealed with each key."""
    plain = ctx.deps.codec.spell_carrier_mark(ctx.owner, key.kind, id_)
    return frozenset({plain}) | seals(ctx, key, Observed(id_, "", State.READY, target, carried=True))


def evidence(ctx: PassContext, key: NodeKey, observed: Observed, tags: Collection[str]) -> Evidence:
    """Judge what the tags on a target prove about this node."""
    entry, codec = ctx.journal.get(key), ctx.deps.codec
    recorded = bool(entry and entry.id == observed.id and _is_of_record(ctx, key, observed, tags))
    if observed.carried:
        mark = CarriedMark(key.kind, ctx.owner.uuid, codec.carried_id(key.kind, observed.id))
        vouched = _has_seal_or_nonce(ctx, key, observed, tags)
        found = ownership.proves_carried(codec, tags, mark, recorded=recorded, vouched=vouched)
    else:
        found = ownership.proves(codec, ctx.owner, tags, acceptable=seals(ctx, key, observed), recorded=recorded)
    if found.strength is Strength.COPIED and is_accepted(ctx, key, observed, tags):
        return Evidence(Strength.PROVEN, "record and marks agree; a person accepted that its key is lost")
    return found


def _is_of_record(ctx: PassContext, key: NodeKey, observed: Observed, tags: Collection[str]) -> bool:
    """Return whether our record is of what has its id now.

    An id that returns, and whose delete we have asked for, shows that only with the nonce that our create has set.
    """
    if not ctx.is_signed(key):
        return False
    return not ctx.may_be_another(key) or birth_marks.has_birth_mark(ctx, key, replace(observed, tags=frozenset(tags)))


def _has_seal_or_nonce(ctx: PassContext, key: NodeKey, observed: Observed, tags: Collection[str]) -> bool:
    """Return whether the carrier's mark has our seal, or the carried resource a nonce of ours in its name."""
    if has_seal(ctx, key, observed, tags):
        return True
    entry = ctx.journal.get(key)
    own = birth_marks.has_birth_mark(ctx, key, observed) if entry and entry.id == observed.id else False
    return own or birth_marks.has_nonce(ctx, key, observed)


def has_seal(ctx: PassContext, key: NodeKey, observed: Observed, tags: Collection[str]) -> bool:
    """Return whether the carrier has our mark for this carried resource with a seal, which only we can write."""
    keyed = {mark_under(ctx, key, observed, digest) for digest in ctx.keys.readable}
    plain = ctx.deps.codec.spell_carrier_mark(ctx.owner, key.kind, observed.id)
    return not ctx.deps.codec.fold(keyed - {plain}).isdisjoint(ctx.deps.codec.fold(tags))


def own_marks(ctx: PassContext, key: NodeKey, observed: Observed, tags: Collection[str]) -> frozenset[str]:
    """Return those of ``tags`` that claim the resource for this object: no marks of what it carries, and no others'."""
    codec = ctx.deps.codec
    if observed.carried:
        own = codec.fold(carried_marks(ctx, key, observed.id, observed.target))
        return frozenset(tag for tag in tags if not codec.fold([tag]).isdisjoint(own))
    own = codec.fold(
        codec.owner(ctx.owner) | codec.spell_parent_mark(ctx.owner) | codec.label(key) | seals(ctx, key, observed)
    )
    marks = {tag: codec.read([tag]) for tag in tags if codec.is_mark(tag) and not codec.read([tag]).carried}
    others = {tag for tag, read in marks.items() if (read.owners or read.uuids) and codec.fold([tag]).isdisjoint(own)}
    return frozenset(tag for tag in marks if not others or not codec.fold([tag]).isdisjoint(own))


def how_to_detach(ctx: PassContext, target: str, tags: Collection[str]) -> str:
    """Return for a person the command that takes off those of ``tags`` that are marks of anybody's."""
    marks = [tag for tag in tags if ctx.deps.codec.is_mark(tag)]
    return f"detach its marks: {ctx.deps.codec.detach_command(target, marks)}" if marks else "detach its marks"


def how_to_remove_birth_mark(ctx: PassContext, kind: str, observed: Observed) -> str:
    """Return for a person the command for one resource, which has it in its tags or in its name."""
    if observed.tags and ctx.deps.codec.read(observed.tags).nodes:
        return how_to_detach(ctx, observed.target, observed.tags)
    return (
        ctx.deps.registry[kind].naming.rename_command.format_map({"id": observed.id, **observed.attributes})
        or "rename it"
    )


def how_to_delete(ctx: PassContext, key: NodeKey) -> str:
    """Return for a person the vendor's command that deletes what is on record for ``key``, where one is known."""
    seen = ctx.node(key).last_seen
    values = {"id": ctx.journal.entries[key].id, **(seen.attributes if seen else {})}
    try:
        command = ctx.kind(key).deletion.delete_command.format_map(values)
    except KeyError:  # it is named by what only a look shows
        command = ""
    return command or "delete it in the cloud"


def is_accepted(ctx: PassContext, key: NodeKey, observed: Observed, tags: Collection[str]) -> bool:
    """Return whether its key is lost for ever, a person accepted this very record, and it agrees with the marks."""
    entry = ctx.journal.get(key)
    if entry is None or entry.id != observed.id or not entry.state.is_claimed:
        return False
    record = fingerprint(ctx.owner, str(key), entry.id, entry.incarnation)
    if not ctx.deps.ring.forgives(entry.key, ctx.owner.uuid, record):
        return False
    return observed.carried or marks_name(ctx, key, tags)


def is_decided(ctx: PassContext, key: NodeKey, observed: Observed, tags: Collection[str]) -> bool:
    """Return whether a person decided about it: signed anew, marks agree, and the object lost a key."""
    lost = any(uuid == ctx.owner.uuid for _, uuid in ctx.deps.ring.accepted)
    return lost and not observed.carried and ctx.is_believed(key) and marks_name(ctx, key, tags)


def marks_name(ctx: PassContext, key: NodeKey, tags: Collection[str]) -> bool:
    """Return whether these are the owner's marks, and name this node, with whatever seal."""
    codec = ctx.deps.codec
    nodes = {str(mark.key).casefold() for mark in codec.read(tags).nodes}
    return codec.fold(codec.owner(ctx.owner)) <= codec.fold(tags) and str(key).casefold() in nodes


def is_carried_by(ctx: PassContext, key: NodeKey, id_: str, target: str) -> bool:
    """Return whether ``target`` can carry the mark of this resource: the journal may be forged."""
    if key.kind not in ctx.deps.registry:
        return False
    return ctx.kind(key).driver.identify(target, ctx.deps.codec.carried_id(key.kind, id_)) == id_
