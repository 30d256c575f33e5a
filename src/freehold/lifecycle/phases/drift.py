"""Drift: bring names, other mutable attributes and parts to the spec; report what cannot be changed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from freehold.lifecycle.context import PassContext
from freehold.lifecycle.errors import CloudError
from freehold.lifecycle.journal import Phase
from freehold.lifecycle.kinds import Kind, NodeKey, Observed, Part, Ref, Request
from freehold.lifecycle.outcomes import Ready, Reason, of_error


async def to_spec(ctx: PassContext) -> None:
    """Bring names and other mutable attributes, and parts, of proven resources to the spec."""
    due = [
        key
        for key, node in ctx.graph.nodes.items()
        if (entry := ctx.journal.get(key))
        and entry.phase is Phase.OWNED
        and ctx.is_signed(key)
        and isinstance(ctx.outcomes.get(key), Ready)
        and node.requires <= ctx.ready_nodes.keys()
    ]
    claims = {
        key: claimed_parts(ctx, key)
        for key in due
        if set(claimed_parts(ctx, key)) - set(ctx.journal.entries[key].parts)
    }
    for key, parts in claims.items():
        entry = ctx.journal.entries[key]
        ctx.journal = ctx.journal.put(key, replace(entry, parts=tuple(sorted({*entry.parts, *parts}))))
    if claims:
        await ctx.save()  # before they are there: later they are told from what others put there
    results = await ctx.deps.port.all([_sync(ctx, key) for key in due])
    for key, result in zip(due, results, strict=True):
        if isinstance(result, CloudError):
            outcome = of_error(result)
            ctx.node(key).look_now()  # it may not be any more what it was at the last look
            ctx.outcomes[key] = replace(outcome, observed=ctx.node(key).observed)
        elif isinstance(result, Exception):
            raise result


async def _sync(ctx: PassContext, key: NodeKey) -> None:
    kind, node, entry = ctx.kind(key), ctx.graph.nodes[key], ctx.journal.entries[key]
    observed, wanted = ctx.node(key).observed, node.request(ctx.ready_nodes)
    ref = Ref(entry.id, entry.target)
    changes = _changes(kind, observed, wanted)
    if changes:
        await kind.driver.update(ref, changes)
        observed = replace(
            observed,
            name=str(changes.get("name", observed.name)),
            attributes={**observed.attributes, **changes},
        )
        ctx.node(key).last_seen = ctx.ready_nodes[key] = observed
    differences = [*_drift(ctx, key, observed, wanted), *await _sync_parts(ctx, key, ref)]
    reason = Reason.DRIFTED if differences else None
    note = f"{', '.join(differences)}: {_MEND}" if differences else ""
    ctx.outcomes[key] = Ready(ctx.node(key).observed, ctx.category(key), reason, note)


def _changes(kind: Kind, observed: Observed, wanted: Request) -> dict[str, Any]:
    """The mutable attributes that differ, and what the spec says."""
    return {a: wanted[a] for a in sorted(kind.mutable) if a in wanted and observed.attributes.get(a) != wanted[a]}


def is_as_wanted(ctx: PassContext, key: NodeKey, observed: Observed, parts: frozenset[Part] | None) -> bool:
    """Whether nothing of it is to be changed or reported; ``parts`` are None where none are looked at."""
    kind, node, entry = ctx.kind(key), ctx.graph.nodes[key], ctx.journal.entries[key]
    wanted = node.request(ctx.ready_nodes)
    if _changes(kind, observed, wanted) or _drift(ctx, key, observed, wanted):
        return False
    if entry.parts != claimed_parts(ctx, key):
        return False
    if parts is None:
        return True
    inside = node.parts(ctx.ready_nodes)
    return inside <= parts and not _surplus_parts(ctx, key, parts, inside) and not _other_behavior(parts, inside)


def looks_at_parts(ctx: PassContext, key: NodeKey) -> bool:
    """Not of our own resource that the spec gives by its id: it does not say what is to be in it."""
    kind, entry, node = ctx.kind(key), ctx.journal.entries[key], ctx.graph.nodes[key]
    wanted = node.parts(ctx.ready_nodes)
    return kind.parts is not None and not node.given and bool(wanted or kind.exclusive_parts or entry.parts)


_MEND = "it is not changed in place; change it in the cloud, or delete the resource to have it created anew"


def _drift(ctx: PassContext, key: NodeKey, observed: Observed, wanted: Request) -> list[str]:
    """Immutable attributes that differ from the spec: as observed or, where no read shows them, as once requested."""
    kind, asked = ctx.kind(key), ctx.journal.entries[key].request
    pairs = {a: (observed.attributes[a], wanted[a]) for a in wanted.keys() & observed.attributes.keys() - kind.mutable}
    if asked is not None:
        pairs |= {a: (asked.get(a), wanted[a]) for a in kind.create_only & wanted.keys()}
    return [
        f"{a} is {'what the cloud chose' if is_ is None else repr(is_)}, the spec says {says!r}"
        for a, (is_, says) in sorted(pairs.items())
        if is_ != says
    ]


def claimed_parts(ctx: PassContext, key: NodeKey) -> tuple[str, ...]:
    """The parts that leave with the wish for them, although others may have put some beside them."""
    kind, node, entry = ctx.kind(key), ctx.graph.nodes[key], ctx.journal.get(key)
    if node.given:
        return entry.parts if entry else ()
    wanted = node.parts(ctx.ready_nodes) if kind.parts else ()
    return tuple(sorted(str(part) for part in wanted if part.kind not in kind.exclusive_parts and not part.retain))


def _surplus_parts(ctx: PassContext, key: NodeKey, have: frozenset[Part], wanted: frozenset[Part]) -> set[Part]:
    """What is inside, is not wanted, and is ours to remove."""
    exclusive, claimed = ctx.kind(key).exclusive_parts, ctx.journal.entries[key].parts
    return {part for part in have - wanted if part.kind in exclusive or str(part) in claimed}


def _other_behavior(have: frozenset[Part], wanted: frozenset[Part]) -> list[str]:
    seen, says = ({str(part): part.behavior for part in parts if part.behavior} for parts in (have, wanted))
    pairs = {part: (seen[part], says[part]) for part in seen.keys() & says.keys()}
    return [f"{part} is {is_!r}, the spec says {wish!r}" for part, (is_, wish) in sorted(pairs.items()) if is_ != wish]


async def _sync_parts(ctx: PassContext, key: NodeKey, ref: Ref) -> list[str]:
    """Add and remove parts; returns those whose behavior differs from the wanted one."""
    kind, entry = ctx.kind(key), ctx.journal.entries[key]
    wanted = ctx.graph.nodes[key].parts(ctx.ready_nodes)
    if kind.parts is None or ctx.node(key).parts_checked or not looks_at_parts(ctx, key):
        return []
    have = await kind.parts.parts(ref)
    extra = _surplus_parts(ctx, key, have, wanted)
    for part in sorted(wanted - have, key=str):
        await kind.parts.add_part(ref, part)
    for part in sorted(extra, key=str):
        await kind.parts.remove_part(ref, part)
    if extra or wanted - have:
        have = await kind.parts.parts(ref)
    observed = ctx.node(key).observed
    ids = sorted(part.id for part in have if part in wanted)
    ctx.node(key).last_seen = replace(observed, attributes={**observed.attributes, "parts": ids})
    if entry.parts != claimed_parts(ctx, key):
        ctx.journal = ctx.journal.put(key, replace(ctx.journal.entries[key], parts=claimed_parts(ctx, key)))
    differ = _other_behavior(have, wanted)
    if not differ:
        ctx.node(key).parts_checked = True
    return differ
