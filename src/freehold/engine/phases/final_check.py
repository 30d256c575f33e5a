"""Final check, before the finalizer goes: is anything of ours left that no record and no mark shows?

A resource that was created and neither recorded nor marked is known by its nonce alone. It is looked for in the
account, and in everything that the journal, the marks and the spec name and that still exists, also where today's spec
wants something else. Each read must succeed: a failed list is never an empty one, and a place is gone only when the
cloud said that it does not exist.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from freehold.engine import birth_marks, proofs
from freehold.engine.context import PassContext
from freehold.engine.errors import CloudError, Denied, Invalid
from freehold.engine.graph import Node
from freehold.engine.inventory import TagsByTarget
from freehold.engine.journal import Entry, RecordState
from freehold.engine.outcomes import Blocked, Kept, Reason, outcome_of_error
from freehold.engine.phases import observe, recovery
from freehold.engine.port import run_together
from freehold.engine.resources import NodeKey, Observed, ParentResource, Ref, State, Want

RETRY = 30.0
ONLY_MARKED = "carrier "
"""Before the id of a carrier that nothing but a mark on it names."""


async def record_by_nonce(ctx: PassContext, marked: TagsByTarget) -> None:
    """Record everything with a nonce of ours; report what only has a name that we would give."""
    existing = await _find_existing(ctx, marked)
    if existing is None:
        return
    places = [ParentResource(key.kind, Ref(seen.id, seen.target)) for key, seen in existing.items()]
    nodes = _find_free_nodes(ctx, existing)
    # A backup that is older than an edit tells nothing of what the edit added; who minted the identity saw every edit.
    kinds = ctx.possible_kinds() if ctx.state.identity_is_new else ctx.usable_kinds()
    asked = [_ask(ctx, kind, places, [node for node in nodes if node.key.kind == kind], existing) for kind in kinds]
    for kind, found in zip(kinds, await run_together(asked), strict=True):
        if isinstance(found, CloudError):
            _report_failed(ctx, NodeKey(kind, "last look"), found)
        elif isinstance(found, Exception):
            raise found
        else:
            _sort_found(ctx, kind, found, [node for node in nodes if node.key.kind == kind])


async def _ask(
    ctx: PassContext,
    kind: str,
    places: Sequence[ParentResource],
    nodes: Sequence[Node],
    known: Mapping[NodeKey, Observed],
) -> Sequence[Observed]:
    nonces = birth_marks.any_nonce(ctx, kind)
    # What a name alone finds needs no request, which nobody can compute when its place has gone.
    requests = [node.request(known) if node.requires <= known.keys() else {} for node in nodes]
    wants = [Want(node.key, node.name, asked, nonces) for node, asked in zip(nodes, requests, strict=True)]
    return await ctx.deps.registry[kind].driver.by_nonce(places, wants, nonces)


def _find_free_nodes(ctx: PassContext, known: Mapping[NodeKey, Observed]) -> list[Node]:
    """Return the wanted nodes without a proven record whose place exists, or that a name alone finds."""
    return [
        node
        for node in ctx.graph.nodes.values()
        if not node.given
        and not _is_known(ctx, node.key)
        and node.key not in ctx.journal.open
        and (node.requires <= known.keys() or ctx.kind(node.key).naming.name_in_region)
    ]


def _is_known(ctx: PassContext, key: NodeKey) -> bool:
    """Return whether the record of this node can be believed: an id may be forged."""
    entry = ctx.journal.get(key)
    return bool(entry and entry.id and (not entry.state.is_claimed or ctx.is_signed(key)))


async def _find_existing(ctx: PassContext, marked: TagsByTarget) -> dict[NodeKey, Observed] | None:
    """Return everything that may hold something of ours and exists now; None when one of them could not be asked."""
    refs = _list_refs(ctx, marked)
    # What has taken a delete of ours holds nothing any more, and may be gone before it is asked.
    here = [key for key in ctx.journal.claimed if ctx.node(key).last_seen is not None and not ctx.delete_is_fresh(key)]
    found = {key: ctx.node(key).observed for key in here}
    asked = [ctx.deps.registry[key.kind].driver.observe([ref]) for key, ref in refs.items()]
    answered = True
    for (key, ref), seen in zip(refs.items(), await run_together(asked), strict=True):
        if isinstance(seen, Denied | Invalid) and key.logical.startswith(ONLY_MARKED):
            # Whoever may tag can put a mark of ours on what we may not read: that must not hold the finalizer.
            how = proofs.how_to_detach(ctx, ref.target, marked.get(ref.target, ()))
            ctx.state.copied[ref.target] = (
                f"{ref.target} has a mark of our uuid and may not be read ({seen.message}): nothing is looked for in "
                f"it. If it is not of this object, {how}"
            )
        elif isinstance(seen, CloudError):
            _report_failed(ctx, key, seen)
            answered = False
        elif isinstance(seen, Exception):
            raise seen
        elif ref.id in seen and key not in ctx.journal.claimed:
            found[key] = seen[ref.id]
        elif own := observe.pick_recorded(ctx, key, seen) if key in ctx.journal.claimed else None:
            found[key] = own
            ctx.remember(key, own)
    return found if answered else None


def _list_refs(ctx: PassContext, marked: TagsByTarget) -> dict[NodeKey, Ref]:
    """Return what is to be asked whether it exists.

    Ours that this process has not seen yet, and what is not ours to delete and is named by the journal, by the spec's
    ids or by a mark of ours that is on it, or was until now.
    """
    registry = ctx.deps.registry
    refs = {
        key: Ref(entry.id, entry.target)
        for key, entry in ctx.journal.entries.items()
        if entry.id and key.kind in registry and (not entry.state.is_claimed or ctx.node(key).last_seen is None)
    }
    for key, node in ctx.graph.nodes.items():
        if node.given and not node.requires and key not in refs:
            refs[key] = Ref(node.given({}))
    named = {(key.kind, ref.id) for key, ref in refs.items()}
    named |= {(key.kind, entry.id) for key, entry in ctx.journal.claimed.items()}
    carriers = {target for target, tags in marked.items() if ctx.deps.codec.read(tags).carried} | ctx.state.emptied
    carriers |= {entry.target for entry in ctx.journal.entries.values() if entry.carried and entry.target}
    for target in sorted(carriers):
        for kind in registry:
            id_ = registry[kind].driver.identify(target)
            if id_ and (kind, id_) not in named:
                refs[NodeKey(kind, f"{ONLY_MARKED}{id_}")] = Ref(id_, target)
    return refs


def _report_failed(ctx: PassContext, key: NodeKey, error: CloudError) -> None:
    """Report what could not be asked, and of which resource: nothing is released on an unanswered question."""
    outcome = outcome_of_error(error)
    message = f"whether something of ours is left cannot be told: {error.message}"
    ctx.outcomes[key] = Blocked(outcome.reason, message, RETRY)


def _sort_found(ctx: PassContext, kind: str, found: Sequence[Observed], nodes: Sequence[Node]) -> None:
    """Record what has a nonce of ours; one nonce on several resources needs a person; report names alone."""
    recorded = {entry.id for key, entry in ctx.journal.entries.items() if key.kind == kind}
    nonces = birth_marks.any_nonce(ctx, kind)
    by_nonce_found: dict[str, list[Observed]] = {}
    for observed in found:
        if observed.state is State.DELETING or observed.id in recorded:
            continue
        words = sorted(word for word in birth_marks.possible_nonces(ctx, NodeKey(kind, ""), observed) if word in nonces)
        if words:
            by_nonce_found.setdefault(words[0], []).append(observed)
        else:
            message = f"{observed.name} ({observed.id}) has a name that we would give and no mark of ours: left alone"
            ctx.outcomes[NodeKey(kind, observed.id)] = Kept(Reason.NOT_OWNED, message)
    for word, same in by_nonce_found.items():
        if len(same) > 1:
            ctx.outcomes[NodeKey(kind, word)] = _report_copied(ctx, kind, same)
        else:
            _record(ctx, kind, same[0], nodes)


def _record(ctx: PassContext, kind: str, observed: Observed, nodes: Sequence[Node]) -> None:
    keys = [node.key for node in nodes] + [key for key in ctx.journal.entries if key.kind == kind]
    for key in keys:
        entry = ctx.journal.get(key)
        if (entry is None or not entry.id) and birth_marks.has_birth_mark(ctx, key, observed):
            if birth_marks.not_from_intent(ctx, key, observed):
                return  # reported where open intents are resolved: a person decides
            observe.record_claim(ctx, key, observed, entry or Entry(RecordState.RECORDED, opened=ctx.deps.clock.now()))
            return
    recovery.put_on_record(
        ctx, NodeKey(kind, observed.id.rpartition("/")[2]), observed, "has a nonce of ours and was not on record"
    )


def _report_copied(ctx: PassContext, kind: str, same: Sequence[Observed]) -> Blocked:
    every = sorted(same, key=lambda observed: observed.id)
    ids = ", ".join(observed.id for observed in every)
    commands = "; ".join(f"{each.id}: {proofs.how_to_remove_birth_mark(ctx, kind, each)}" for each in every)
    return Blocked(
        Reason.AMBIGUOUS,
        f"{ids} have the same birth mark of ours ({kind}), so somebody copied it. Take it off those that are not of "
        f"this object: {commands}",
    )
