"""Leave: prove, delete, observe until gone, and make sure that nothing of ours stays behind.

Works from what is *owned* (journal and index), not from what the spec says today. The marks are read in
the same pass as the delete is sent; a resource that they do not prove is healed first or kept, and named.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from freehold.lifecycle import last_look, looking, strays
from freehold.lifecycle.errors import CloudError, InUse, NotFound
from freehold.lifecycle.graph import leaving
from freehold.lifecycle.inventory import TagChange, TagsByTarget
from freehold.lifecycle.journal import Entry, Phase, let_go
from freehold.lifecycle.kinds import NodeKey, Observed, Ref, State
from freehold.lifecycle.outcomes import Blocked, Kept, Reason, Waiting, of_error
from freehold.lifecycle.ownership import Evidence, Strength
from freehold.lifecycle.work import Work

RECHECK = 300.0
"""Most seconds between looks at what blocks a delete and only a person can move."""


def wave(work: Work) -> frozenset[NodeKey]:
    """What nothing else of ours depends on; a kind this version does not know blocks and is named."""
    ours = set(work.journal.ours)
    for key in [k for k in ours if k.kind not in work.tools.registry]:
        ours.discard(key)
        work.outcomes[key] = Blocked(
            Reason.UNKNOWN_KIND, f"{key} is ours and of a kind that this version does not know: use a newer one"
        )
    unproven = ours & work.memory.unproven  # somebody who may edit the object can have written them
    now = leaving(ours - unproven, work.tools.registry) | unproven
    for key in ours - now:
        work.outcomes[key] = Waiting(Reason.DEPENDENTS, work.tools.pace.slow, "waits for what depends on it")
    return frozenset(key for key in now if work.journal.entries[key].id)


async def look_through(work: Work) -> frozenset[NodeKey]:
    """Look at everything that may leave now; what is seen gone frees what it depended on in the same pass."""
    looked: set[NodeKey] = set()
    standing: frozenset[NodeKey] = frozenset()
    while now := wave(work) - looked:
        looked |= now
        standing |= await look(work, now)
    return standing


async def look(work: Work, keys: Collection[NodeKey]) -> frozenset[NodeKey]:
    """Observe what is due; what is gone leaves the journal. Returns those that still stand and may be deleted."""
    due = [key for key in keys if work.due(key)]
    for key in set(keys) - set(due):
        work.outcomes[key] = work.still(key)
    standing: set[NodeKey] = set()
    for key, seen in (await looking.by_key(work, due)).items():
        if isinstance(seen, CloudError):
            work.wait(key, _waiting(seen))
        elif seen is None:
            await _absent(work, key)
        else:
            work.remember(key, seen)
            if seen.state is State.DELETING:
                work.wait(key, Waiting(Reason.DELETING, work.poll(key, seen), f"is {seen.word or 'deleting'}", seen))
            elif work.now - work.memory.delete_sent.get(key, float("-inf")) < work.kind(key).delete_time:
                again = max(5.0, work.kind(key).delete_time / 4)
                work.wait(key, Waiting(Reason.DELETING, again, "delete was requested", seen))
            else:
                standing.add(key)
    return frozenset(standing)


async def _absent(work: Work, key: NodeKey) -> None:
    """Gone, if the cloud took our request; else a lagging read may be at fault, and the settle time decides."""
    entry = work.journal.entries[key]
    since = work.memory.absent_since.setdefault(key, work.now)
    if key not in work.memory.delete_sent and not work.settled(key, since):
        left = min(work.kind(key).settle - (work.now - since), 30.0)
        work.wait(key, Waiting(Reason.SETTLING, left, f"{entry.id} is not to be seen"))
        return
    await _drop(work, key)


async def _drop(work: Work, key: NodeKey) -> None:
    """Detach its mark from a carrier that stays, then take it out of the journal."""
    entry = work.journal.entries[key]
    carrier_ours = any(e.target == entry.target and not e.carried for k, e in work.journal.ours.items() if k != key)
    if entry.carried and entry.target and not carrier_ours:
        mark = work.tools.codec.carried(work.owner, key.kind, entry.id)
        failed = await work.tools.tagger.detach([TagChange(entry.target, frozenset({mark}))])
        error = failed.get(entry.target)
        if error is not None and not isinstance(error, NotFound):
            work.wait(key, _waiting(error))
            return
    work.memory.forget(key)
    work.absent.add(entry.id)
    work.memory.gone |= {entry.id} if entry.carried else {entry.id, entry.target}
    work.outcomes.pop(key, None)
    work.journal = work.journal.put(key, let_go(entry))


def _waiting(error: CloudError) -> Waiting:
    outcome = of_error(error)
    return outcome if isinstance(outcome, Waiting) else Waiting(outcome.reason, outcome.after, outcome.message)


async def prove(work: Work, standing: Collection[NodeKey], marked: TagsByTarget) -> frozenset[NodeKey]:
    """Of those that stand, what the marks prove now; the rest is healed, or kept, or named."""
    proven: set[NodeKey] = set()
    for key in sorted(standing):
        observed, entry = work.memory.seen[key], work.journal.entries[key]
        if not work.kind(key).markable and work.attested(key):
            proven.add(key)  # nothing can mark it: the journal is the only deed (design §4.2)
            continue
        tags = observed.tags if observed.tags is not None else marked.get(observed.target, frozenset())
        try:
            if work.evidence(key, observed, tags).strength is not Strength.PROVEN and observed.target:
                tags = await work.tools.tagger.tags_of(observed.target)
        except CloudError as error:
            work.wait(key, _waiting(error))
            continue
        evidence = work.evidence(key, observed, tags)
        work.memory.unproven.discard(key)
        if evidence.strength is Strength.PROVEN:
            proven.add(key)
        elif evidence.strength is Strength.OTHERS and work.lagging(key, work.marks(key, observed)):
            work.wait(key, Waiting(Reason.MARKING, work.tools.pace.tag_lag, "its marks are not readable yet", observed))
        elif evidence.strength is Strength.OTHERS:
            work.notes.append(f"{key}: {observed.id} has {evidence.source}: it is kept")
            work.journal = work.journal.put(key, replace(entry, phase=Phase.THEIRS, deleting=0.0, key=""))
        elif evidence.strength is Strength.DISPUTED:
            work.outcomes[key] = _disputed(observed, evidence)
        elif evidence.strength is not Strength.HEALABLE and work.bears_birth(key, observed):
            # The signature of its record cannot be checked; its nonce tells what that of an open intent would.
            looking.adopt(work, key, observed, entry)
            _heal(work, key, work.journal.entries[key], observed)
        elif evidence.strength is Strength.HEALABLE and not observed.target and observed.state is not State.PENDING:
            work.outcomes[key] = Blocked(
                Reason.UNMARKABLE,
                f"{observed.name} ({observed.id}) has nothing that could bear a mark, so nothing but our record says "
                "that it is ours: delete it in the cloud, and the delete goes on",
                RECHECK,
                observed,
            )
        elif evidence.strength is Strength.HEALABLE:
            _heal(work, key, entry, observed)
        else:
            work.memory.unproven.add(key)
            work.outcomes[key] = _unproven(key, observed, evidence)
    return frozenset(proven)


def _disputed(observed: Observed, evidence: Evidence) -> Blocked:
    return Blocked(
        Reason.NOT_OWNED,
        f"{observed.name} ({observed.id}) has our marks and {evidence.source}: two owners claim it, so nobody deletes "
        "it. Detach the marks of the one that it does not belong to",
        RECHECK,
        observed,
    )


def _unproven(key: NodeKey, observed: Observed, evidence: Evidence) -> Blocked:
    """A restored or edited journal, or a lost key: neither deleted nor forgotten."""
    return Blocked(
        Reason.NOT_OWNED,
        f"{observed.name} ({observed.id}) is on record for {key}, and nothing proves now that it is ours "
        f"({evidence.source}). Delete it in the cloud if it was made for this object; otherwise remove {key} from "
        "annotation freehold.dev/journal",
        RECHECK,
        observed,
    )


def _heal(work: Work, key: NodeKey, entry: Entry, observed: Observed) -> None:
    """Mark it (again) from the journal's evidence; the proof is read in a later pass."""
    work.memory.doubted.discard(key)
    if not work.lagging(key, work.marks(key, observed)):
        work.memory.attached.pop(key, None)
    work.journal = work.journal.put(key, replace(entry, phase=Phase.RECORDED))
    work.wait(key, Waiting(Reason.MARKING, work.tools.pace.tag_lag, "is marked again before it is deleted", observed))


async def _occupied(work: Work, key: NodeKey) -> Waiting | None:
    """What its delete would destroy that is not provably ours (a stranger's VM in a workspace), or None."""
    kind, entry = work.kind(key), work.journal.entries[key]
    if not kind.contains or kind.container is None:
        return None
    children = await kind.container.children(Ref(entry.id, entry.target))
    ours = {e.id for key, e in work.journal.ours.items() if key not in work.memory.unproven}
    foreign = [child for child in children if child.id not in ours and child.state is not State.DELETING]
    if foreign:
        names = ", ".join(sorted(f"{child.name} ({child.id})" for child in foreign))
        message = f"{entry.id} holds what is not provably ours: {names}. Remove it, or move it, and the delete goes on"
        return Waiting(Reason.IN_USE, RECHECK, message, work.memory.seen.get(key))
    leaving_now = [child for child in children if child.state is State.DELETING]
    if leaving_now:
        return Waiting(Reason.DEPENDENTS, 10.0, f"{leaving_now[0].name} in it is still being deleted")
    return None


async def delete(work: Work, proven: Collection[NodeKey]) -> frozenset[NodeKey]:
    """Record the requests in one patch, then send them together.

    Returns what something holds that nobody has looked for yet, or not for long: it may be ours and forgotten.
    """
    if not proven:
        return frozenset()
    keys = sorted(proven)
    stamp = round(work.tools.clock.now(), 3)
    for key in keys:
        entry = work.journal.entries[key]
        if not entry.deleting:
            work.journal = work.journal.put(key, replace(entry, deleting=stamp))
    await work.save()
    held: set[NodeKey] = set()
    results = await work.tools.port.all([_send(work, key) for key in keys])
    for key, result in zip(keys, results, strict=True):
        if result is None:
            seen = replace(work.memory.seen[key], state=State.DELETING)
            work.memory.seen[key] = seen
            work.memory.pending_since.pop(key, None)
            work.memory.delete_sent[key] = work.now
            work.wait(key, Waiting(Reason.DELETING, work.poll(key, seen), "delete was requested", seen))
        elif isinstance(result, Waiting):
            held |= {key} if result.reason is Reason.IN_USE else set()
            work.wait(key, result)
        elif isinstance(result, NotFound):
            # Seen a moment ago: one of the two reads is behind. The next looks decide.
            work.wait(key, Waiting(Reason.DELETING, 5.0, "the cloud no longer knows it", work.memory.seen[key]))
        elif isinstance(result, InUse):
            message = f"{result.message}" + (f" (held by {result.blocker})" if result.blocker else "")
            first = key not in work.memory.refused_since
            since = work.memory.refused_since.setdefault(key, work.now)
            after = min(max(10.0, (work.now - since) / 4), RECHECK)
            held |= {key} if first or after == RECHECK else set()
            work.wait(key, Waiting(Reason.IN_USE, after, message, work.memory.seen[key]))
        elif isinstance(result, CloudError):
            work.wait(key, _waiting(result))
        else:
            raise result
    return frozenset(held)


async def _send(work: Work, key: NodeKey) -> Waiting | None:
    """Look inside as late as can be, then ask for the delete."""
    occupied = await _occupied(work, key)
    if occupied is None:
        entry = work.journal.entries[key]
        await work.kind(key).driver.delete(Ref(entry.id, entry.target))
    return occupied


async def finished(work: Work) -> bool:
    """No intent open, settled since the last create or attach, and native lists and index show nothing of ours."""
    _keep_unmanaged(work)
    unclean = any(entry.earlier for entry in work.journal.entries.values())
    if unclean or any(key not in work.outcomes for key in work.journal.ours) or _moving(work):
        return False
    left = _unsettled(work)
    if left > 0:
        work.outcomes[NodeKey("finalizer", "settle")] = Waiting(
            Reason.SETTLING, left, "a create or a mark that was cut off may still take effect"
        )
        return False
    try:
        marked = await work.tools.tagger.marked(work.owner.uuid)
    except CloudError as error:
        work.outcomes[NodeKey("finalizer", "index")] = of_error(error)
        return False
    await strays.marked(work, marked, last=True)
    await last_look.by_nonce(work, marked)
    # One that could not be asked after may stand: only answers let go.
    return not work.journal.ours and not any(isinstance(o, Blocked | Waiting) for o in work.outcomes.values())


def _moving(work: Work) -> bool:
    """Whether something goes on by itself. What only a person can move does not keep us from looking for the rest."""
    waits = [o for o in work.outcomes.values() if isinstance(o, Waiting) and o.reason is not Reason.DEPENDENTS]
    return bool(waits) or not all(isinstance(work.outcomes[key], Blocked | Waiting) for key in work.journal.ours)


def _keep_unmanaged(work: Work) -> None:
    for key, entry in work.journal.entries.items():
        if entry.phase is Phase.GIVEN:
            work.outcomes[key] = Kept(Reason.GIVEN, f"{entry.id} was given by id in the spec")
        elif entry.phase is Phase.THEIRS:
            work.outcomes[key] = Kept(Reason.NOT_OWNED, f"{entry.id} has only another owner's marks now: it is theirs")
        elif entry.phase is Phase.REUSED:
            work.outcomes[key] = Kept(Reason.REUSED_BY_NAME, f"{entry.id} existed before and was used by its name")


def _unsettled(work: Work) -> float:
    """Seconds until no create or attach of this or an earlier process can take effect any more."""
    since = work.memory.last_sent
    if not work.memory.minted:
        since = max(since, work.memory.first_seen)
    longest = max((kind.settle for kind in work.tools.registry.values()), default=0.0)
    return since + longest - work.now


def blocked_by(outcomes: Sequence[object]) -> str:
    """One sentence on what holds a delete up; empty when nothing but time does."""
    for outcome in outcomes:
        if isinstance(outcome, Blocked) or (isinstance(outcome, Waiting) and outcome.reason is Reason.IN_USE):
            return outcome.message
    return ""
