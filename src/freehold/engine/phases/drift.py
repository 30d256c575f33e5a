"""Drift: bring names, other mutable attributes and parts to the spec; report what cannot be changed."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import replace
from typing import Any

from freehold.engine import birth_marks
from freehold.engine.context import PassContext
from freehold.engine.errors import CloudError, Invalid, NeedsPerson, NotFound, NotReady, Surpassed
from freehold.engine.journal import RecordState
from freehold.engine.kinds import Kind
from freehold.engine.outcomes import Blocked, Category, Ready, Reason, Waiting, describe_repair, outcome_of_error
from freehold.engine.phases import parts
from freehold.engine.port import run_together
from freehold.engine.resources import NodeKey, Observed, Part, Ref, Request
from freehold.engine.secret_values import without_digests
from freehold.engine.state import earliest

BUSY_LOOK, BUSY_LOOKS = 15.0, 60.0
"""Seconds until the next look at what the cloud changes, while another change waits for that: at first, and at most."""


async def apply_spec(ctx: PassContext) -> None:
    """Bring names and other mutable attributes, and parts, of proven resources to the spec."""
    await _bring(ctx, [key for key in ctx.graph.nodes if _is_due(ctx, key)])


async def add_essential_parts(ctx: PassContext) -> None:
    """Add what must be inside a resource before anything that depends on it is made; until then nothing is."""
    lacking = [key for key in ctx.graph.nodes if key in ctx.ready_nodes and parts.lacks_essential(ctx, key)]
    await _bring(ctx, [key for key in lacking if _is_due(ctx, key)])
    for key in lacking:
        if parts.lacks_essential(ctx, key) or not isinstance(ctx.outcomes.get(key), Ready):
            ctx.ready_nodes.pop(key, None)


def _is_due(ctx: PassContext, key: NodeKey) -> bool:
    entry, node = ctx.journal.get(key), ctx.graph.nodes[key]
    return bool(
        entry
        and entry.state is RecordState.OWNED
        and ctx.is_believed(key)
        and isinstance(ctx.outcomes.get(key), Ready)
        and node.requires <= ctx.ready_nodes.keys()
    )


async def _bring(ctx: PassContext, due: Sequence[NodeKey]) -> None:
    for key in due:
        entry, shared = ctx.journal.entries[key], ctx.graph.nodes[key].shared
        if shared is not entry.shared:
            # What was put in before it was handed over is the provider's too: it may have made it anew since.
            ctx.record(key, replace(entry, shared=shared, parts=()))
    inside = await parts.look_inside(ctx, [key for key in due if parts.are_looked_at(ctx, key)])
    await parts.claim_missing(ctx, inside)
    if any(parts.find_first_parts(ctx, key) for key in due):
        await ctx.save_before_write()
    results = await run_together([_correct_node(ctx, key, inside.get(key)) for key in due])
    for key, result in zip(due, results, strict=True):
        if isinstance(result, CloudError):
            outcome = _wait_longer(ctx, outcome_of_error(result))
            ctx.node(key).look_now()  # it may not be any more what it was at the last look
            ctx.outcomes[key] = replace(outcome, observed=ctx.node(key).observed)
        elif isinstance(result, Exception):
            raise result


def _wait_longer(ctx: PassContext, outcome: Waiting | Blocked) -> Waiting | Blocked:
    """Wait longer each time for a part that something uses: it stays for as long as somebody wants it to."""
    if outcome.reason is Reason.IN_USE:
        return replace(outcome, after=max(outcome.after, ctx.deps.intervals.slow))
    return outcome


async def _correct_node(ctx: PassContext, key: NodeKey, inside: frozenset[Part] | CloudError | None) -> None:
    no_part = await _catch_refusal(parts.add_first_parts(ctx, key), of_part=True)
    await _sync_node(ctx, key, inside)
    if no_part:
        raise no_part


async def _sync_node(ctx: PassContext, key: NodeKey, inside: frozenset[Part] | CloudError | None) -> None:
    """Bring one resource to the spec. ``inside``: its parts, or why they could not be read; None: not looked at.

    Parts are put in before attributes change, and taken out after that: an attribute may need a part, as the addresses
    that a subnet gives do its block. A write counts only if the cloud took all of it. If one was refused, the resource
    is not ready, and is read again. What only a person can make possible, like a name that somebody else has, does not
    hold up the rest.
    """
    kind, node = ctx.kind(key), ctx.graph.nodes[key]
    due = None if inside is None or isinstance(inside, CloudError) else parts.plan_changes(ctx, key, inside)
    no_part = await _catch_refusal(parts.add_and_change(ctx, key, due), of_part=True) if due else None
    wanted = node.request(ctx.ready_nodes)
    surpassed: list[str] = []
    no_change = await _catch_refusal(_change_attributes(ctx, key, wanted, surpassed))
    if isinstance(inside, CloudError):
        raise inside
    if due and isinstance(no_part, Invalid | NotFound):
        await _catch_refusal(parts.remove_surplus_anyway(ctx, key, due), of_part=True)  # the first refusal is reported
    if no_part:
        raise no_part
    drifted = _find_drift(ctx, key, ctx.node(key).observed, wanted)
    inner = await parts.remove_surplus(ctx, key, due) if due else []
    if no_change:
        raise no_change
    if not drifted and not inner and parts.are_as_wanted(ctx, key):
        ctx.as_wanted.add(key)
    differences = [*drifted.values(), *inner]
    reason = Reason.DRIFTED if differences else None
    fixed = sorted(drifted.keys() - kind.attributes.changeable)
    note = f"{', '.join(differences)}: it is not changed in place; {_explain_mend(kind, fixed)}" if differences else ""
    note = "; ".join(filter(None, (note, *surpassed, *ctx.node(key).parts.waiting)))
    ctx.outcomes[key] = Ready(ctx.node(key).observed, ctx.category(key), reason, note)


async def _catch_refusal(write: Awaitable[None], *, of_part: bool = False) -> CloudError | None:
    """Say why a person must act before the cloud takes it. Raises what a later pass may mend by itself.

    ``of_part``: what is not found is what a part names, unless the resource itself is gone, which the next look shows.
    """
    try:
        await write
    except NeedsPerson as refused:
        return refused
    except NotFound as missing:
        if not of_part:
            raise
        return missing
    return None


async def _change_attributes(ctx: PassContext, key: NodeKey, wanted: Request, surpassed: list[str]) -> None:
    """Bring the attributes to the spec. What they were stays known until the cloud has taken all of the change.

    Puts into ``surpassed`` what the cloud has changed beyond the spec by itself. A change that it never makes does not
    hold up the others.
    """
    observed, judge = ctx.node(key).observed, ctx.kind(key).attributes.judge
    changes = _find_changes(ctx, key, observed, wanted)
    impossible = await judge.find_impossible(observed, changes) if judge and changes else {}
    possible = {name: value for name, value in changes.items() if name not in impossible}
    if possible:
        beside = {name: wanted[name] for name in ctx.kind(key).attributes.beside if name in wanted}
        await _send_changes(ctx, key, observed, possible, beside)
    surpassed += [each.message for each in impossible.values() if isinstance(each, Surpassed)]
    fields = ctx.graph.nodes[key].attribute_fields
    for name, refused in impossible.items():
        if not isinstance(refused, Surpassed):
            raise refused.with_field(fields.get(name, ""))


async def _send_changes(ctx: PassContext, key: NodeKey, observed: Observed, changes: Request, beside: Request) -> None:
    """Send changes, unless the cloud takes none before it is done with another one."""
    node, entry = ctx.node(key), ctx.journal.entries[key]
    if observed.busy and not ctx.deps.foresees:
        node.busy_since = earliest(node.busy_since, ctx.now)
        after = min(max(BUSY_LOOK, (ctx.now - node.busy_since) / 4), BUSY_LOOKS)
        raise NotReady(f"{observed.busy}; {', '.join(sorted(changes))} follows", after=after)
    node.busy_since = None
    await ctx.kind(key).driver.update(Ref(entry.id, entry.target), {**beside, **changes})
    ctx.note_repair(
        key, *(describe_repair(each, _find_shown(observed, each), changes[each]) for each in sorted(changes))
    )
    name, attributes = str(changes.get("name", observed.name)), {**observed.attributes, **changes}
    node.last_seen = ctx.ready_nodes[key] = replace(observed, name=name, attributes=attributes)


def _find_shown(observed: Observed, attribute: str) -> Any:
    """Return what a read has shown of an attribute; the name is no attribute."""
    return observed.name if attribute == "name" else observed.attributes.get(attribute)


def _find_changes(ctx: PassContext, key: NodeKey, observed: Observed, wanted: Request) -> dict[str, Any]:
    """Return the mutable attributes that differ, and what the spec says. Of what is handed over only a nonce goes."""
    mutable = ctx.kind(key).attributes.mutable
    if _is_shared(ctx, key):
        by_name = replace(observed, tags=None)  # a birth mark among its tags stays for life
        born = birth_marks.has_birth_mark(ctx, key, by_name)
        mutable &= {"name"} if born else frozenset()
    compared = mutable - _left_to_cloud(ctx.kind(key), wanted)
    return {a: wanted[a] for a in sorted(compared) if a in wanted and observed.attributes.get(a) != wanted[a]}


def _left_to_cloud(kind: Kind, wanted: Request) -> frozenset[str]:
    """Return the attributes that the cloud chooses, because the request says nothing of them."""
    return frozenset(name for name in kind.attributes.chosen if not wanted.get(name))


def _is_shared(ctx: PassContext, key: NodeKey) -> bool:
    return ctx.category(key) is Category.SHARED


def is_as_wanted(ctx: PassContext, key: NodeKey, observed: Observed, inside: frozenset[Part] | None) -> bool:
    """Return whether nothing of it is to be changed or reported; ``inside`` is None where no parts are looked at."""
    node, entry = ctx.graph.nodes[key], ctx.journal.entries[key]
    wanted = node.request(ctx.ready_nodes)
    if (
        _find_changes(ctx, key, observed, wanted)
        or _find_drift(ctx, key, observed, wanted)
        or entry.shared != node.shared
    ):
        return False
    if not set(entry.parts) <= set(parts.find_claimable(ctx, key)) or parts.find_first_parts(ctx, key):
        return False
    if inside is None:
        return True
    wish = parts.find_wanted(ctx, key) or frozenset()
    differs = parts.compare(ctx, key, inside, wish)
    return not differs.missing and not differs.surplus and not parts.describe_other_behavior(inside, wish)


def _explain_mend(kind: Kind, fixed: Sequence[str]) -> str:
    """Say what helps. ``fixed``: the attributes that differ and that nobody can change in the cloud."""
    what = "change it in the cloud"
    if fixed:
        what = f"nobody can change {', '.join(fixed)} in the cloud: write into the spec what is there"
    if kind.creation.never_recreate:
        return what
    if kind.attributes.addresses:
        return f"{what}; a new one would have another address, to which nobody who uses this one is led"
    return f"{what}, or delete the resource to have it created anew"


def _find_drift(ctx: PassContext, key: NodeKey, observed: Observed, wanted: Request) -> dict[str, str]:
    """Return the immutable attributes that differ from the spec, each with a sentence.

    As observed or, where no read shows them, as once requested.
    """
    kind, asked = ctx.kind(key), ctx.journal.entries[key].request
    if _is_shared(ctx, key):
        return {}
    pairs = {
        a: (observed.attributes[a], wanted[a])
        for a in (wanted.keys() & observed.attributes.keys()) - kind.attributes.mutable - _left_to_cloud(kind, wanted)
    }
    if asked is not None:
        pairs |= {a: (without_digests(asked.get(a)), wanted[a]) for a in kind.attributes.create_only & wanted.keys()}
    return {
        a: f"{a} is {'what the cloud chose' if is_ is None else repr(is_)}, the spec says {says!r}"
        for a, (is_, says) in sorted(pairs.items())
        if is_ != says
    }
