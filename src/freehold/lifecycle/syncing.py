"""Sync: names and other mutable attributes, and parts, follow the spec; what cannot be changed is told as drift."""

from __future__ import annotations

from dataclasses import replace

from freehold.lifecycle.errors import CloudError
from freehold.lifecycle.journal import Phase
from freehold.lifecycle.kinds import NodeKey, Observed, Ref, Request
from freehold.lifecycle.outcomes import Ready, Reason, of_error
from freehold.lifecycle.work import Work


async def to_spec(work: Work) -> None:
    """Bring names and other mutable attributes, and parts, of proven resources to the spec."""
    due = [
        key
        for key, node in work.graph.nodes.items()
        if (entry := work.journal.get(key))
        and entry.phase is Phase.OWNED
        and work.attested(key)
        and isinstance(work.outcomes.get(key), Ready)
        and node.requires <= work.known.keys()
    ]
    claims = {key: claimed(work, key) for key in due if set(claimed(work, key)) - set(work.journal.entries[key].parts)}
    for key, parts in claims.items():
        entry = work.journal.entries[key]
        work.journal = work.journal.put(key, replace(entry, parts=tuple(sorted({*entry.parts, *parts}))))
    if claims:
        await work.save()  # before they are there: later they are told from what others put there
    results = await work.tools.port.all([_sync(work, key) for key in due])
    for key, result in zip(due, results, strict=True):
        if isinstance(result, CloudError):
            outcome = of_error(result)
            work.memory.look_at.pop(key, None)  # it may not be any more what it was at the last look
            work.outcomes[key] = replace(outcome, observed=work.memory.seen[key])
        elif isinstance(result, Exception):
            raise result


async def _sync(work: Work, key: NodeKey) -> None:
    kind, node, entry = work.kind(key), work.graph.nodes[key], work.journal.entries[key]
    observed, wanted = work.memory.seen[key], node.request(work.known)
    ref = Ref(entry.id, entry.target)
    changes = {a: wanted[a] for a in sorted(kind.mutable) if a in wanted and observed.attributes.get(a) != wanted[a]}
    if changes:
        await kind.driver.update(ref, changes)
        observed = replace(
            observed,
            name=str(changes.get("name", observed.name)),
            attributes={**observed.attributes, **changes},
        )
        work.memory.seen[key] = work.known[key] = observed
    differences = [*_drift(work, key, observed, wanted), *await _sync_parts(work, key, ref)]
    reason = Reason.DRIFTED if differences else None
    note = f"{', '.join(differences)}: {_MEND}" if differences else ""
    work.outcomes[key] = Ready(work.memory.seen[key], work.category(key), reason, note)


_MEND = "it is not changed in place; change it in the cloud, or delete the resource to have it created anew"


def _drift(work: Work, key: NodeKey, observed: Observed, wanted: Request) -> list[str]:
    """Where what cannot be changed is not as the spec says: as seen or, where no read shows it, as once asked for."""
    kind, asked = work.kind(key), work.journal.entries[key].request
    pairs = {a: (observed.attributes[a], wanted[a]) for a in wanted.keys() & observed.attributes.keys() - kind.mutable}
    if asked is not None:
        pairs |= {a: (asked.get(a), wanted[a]) for a in kind.unseen & wanted.keys()}
    return [
        f"{a} is {'what the cloud chose' if is_ is None else repr(is_)}, the spec says {says!r}"
        for a, (is_, says) in sorted(pairs.items())
        if is_ != says
    ]


def claimed(work: Work, key: NodeKey) -> tuple[str, ...]:
    """The parts that leave with the wish for them, although others may have put some beside them."""
    kind = work.kind(key)
    wanted = work.graph.nodes[key].parts(work.known) if kind.parts else ()
    return tuple(sorted(str(part) for part in wanted if part.kind not in kind.exclusive_parts and not part.stays))


async def _sync_parts(work: Work, key: NodeKey, ref: Ref) -> list[str]:
    """Add and remove parts; says which of them do something else than is wanted."""
    kind, entry = work.kind(key), work.journal.entries[key]
    wanted = work.graph.nodes[key].parts(work.known)
    if kind.parts is None or key in work.memory.parts_checked or not (wanted or kind.exclusive_parts or entry.parts):
        return []
    have = await kind.parts.parts(ref)
    extra = {part for part in have - wanted if part.kind in kind.exclusive_parts or str(part) in entry.parts}
    for part in sorted(wanted - have, key=str):
        await kind.parts.add_part(ref, part)
    for part in sorted(extra, key=str):
        await kind.parts.remove_part(ref, part)
    if extra or wanted - have:
        have = await kind.parts.parts(ref)
    observed = work.memory.seen[key]
    ids = sorted(part.id for part in have if part in wanted)
    work.memory.seen[key] = replace(observed, attributes={**observed.attributes, "parts": ids})
    if entry.parts != claimed(work, key):
        work.journal = work.journal.put(key, replace(work.journal.entries[key], parts=claimed(work, key)))
    seen, says = ({str(part): part.does for part in parts if part.does} for parts in (have, wanted))
    pairs = {part: (seen[part], says[part]) for part in seen.keys() & says.keys()}
    differ = [
        f"{part} is {is_!r}, the spec says {wish!r}" for part, (is_, wish) in sorted(pairs.items()) if is_ != wish
    ]
    if not differ:
        work.memory.parts_checked.add(key)
    return differ
