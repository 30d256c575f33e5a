"""Child owners: a cluster's delete waits for what its machines still have, and never takes it.

A machine's resource has the machine's marks and the cluster's uuid under another key. That mark alone says nothing:
whoever may tag can write it. It holds a delete only with the machine's seal, which covers the cluster's uuid and which
only the operator can make; nothing of it ever lets the cluster delete anything (:func:`ownership.proves` does not ask).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from freehold.engine.context import STRANGER, PassContext
from freehold.engine.errors import CloudError
from freehold.engine.inventory import InnerOwners
from freehold.engine.outcomes import Kept, Reason, Waiting, outcome_of_error
from freehold.engine.ownership import NodeMark, Owner
from freehold.engine.resources import NodeKey, Ref

KIND = "inner owner"
"""In place of a kind, in outcomes about what an owner within this one has."""
RECHECK = 30.0
NONE_SECONDS = 120.0
"""Seconds until the index is asked again that showed nothing: it lags, and a create may have been under way."""


async def hold_delete(ctx: PassContext, present: Collection[NodeKey]) -> bool:
    """Hold the delete while an owner within this one still has something: nothing of ``present`` is deleted then."""
    inner, told = ctx.deps.inner, NodeKey(KIND, "first")
    if inner is None or told in ctx.outcomes:
        return inner is not None
    if ctx.now - ctx.state.none_within_at < NONE_SECONDS:
        return False
    try:
        waiting = await _find_first_within(ctx, inner)
    except CloudError as error:
        outcome = outcome_of_error(error)
        waiting = Waiting(
            outcome.reason, outcome.after, f"whether something must go first cannot be told: {error.message}"
        )
    if waiting is None:
        return False
    ctx.outcomes[told] = waiting
    for key in present:
        ctx.outcomes[key] = Waiting(Reason.DEPENDENTS, RECHECK, waiting.message, ctx.node(key).last_seen)
    return True


async def _find_first_within(ctx: PassContext, inner: InnerOwners) -> Waiting | None:
    """Find one resource of an owner within this one that exists; the index also shows what is gone."""
    found = await inner.find_inner_targets(ctx.owner.uuid)
    if not found:
        ctx.state.none_within_at = ctx.now
    for target in sorted(found):
        sealed = _find_sealed(ctx, inner, target, found[target])
        if sealed is None:
            message = f"{target} has a mark that its owner is part of this object, which nothing proves: left alone"
            ctx.outcomes[NodeKey(STRANGER, target)] = Kept(Reason.NOT_OWNED, message)
        elif await _exists(ctx, inner, target, sealed[1]):
            owner, mark = sealed
            whose = f"{owner.kind} {owner.namespace}/{owner.name}"
            message = (
                f"{mark.key} ({target}) of {whose}, which is part of this object, goes first: delete {whose}. If that "
                "object is gone, delete the resource in the cloud"
            )
            return Waiting(Reason.DEPENDENTS, RECHECK, message)
    return None


def _find_sealed(
    ctx: PassContext, inner: InnerOwners, target: str, tags: Collection[str]
) -> tuple[Owner, NodeMark] | None:
    """Return the owner within this one whose seal is on it, and the mark; None where no seal of ours fits."""
    marks = ctx.deps.codec.read(tags)
    for owner in _list_named(ctx, inner, tags):
        keys = ctx.deps.ring.derive_keys(owner)
        for mark in sorted(marks.nodes, key=lambda mark: (mark.key, mark.word)):
            if mark.word in {keys.seal(digest, mark.key, target) for digest in keys.readable}:
                return owner, mark
    return None


def _list_named(ctx: PassContext, inner: InnerOwners, tags: Collection[str]) -> Iterator[Owner]:
    """List who the marks may mean: they do not tell an owner's kind."""
    codec = ctx.deps.codec
    marks = codec.read(tags)
    for uuid in sorted(marks.uuids):
        for said in sorted(marks.owners):
            namespace, name = codec.namespace_and_name(said)
            yield from (Owner(uuid, kind, namespace, name, ctx.owner.uuid) for kind in inner.kinds)


async def _exists(ctx: PassContext, inner: InnerOwners, target: str, mark: NodeMark) -> bool:
    """Ask the resource itself; of a kind that is not known here, whether its tags are still there."""
    if mark.key.kind not in inner.registry:
        return _find_sealed(ctx, inner, target, await ctx.deps.tagger.tags_of(target)) is not None
    driver = inner.registry[mark.key.kind].driver
    ident = driver.identify(target)
    return not ident or ident in await driver.observe([Ref(ident, target)])
