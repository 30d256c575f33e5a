"""The main path: :func:`ensure` brings what is wanted about, :func:`release` deletes what is owned.

Both are level-triggered: called again and again with the newest spec and journal, each call one *pass*
that does what can be done now and says when to come back. A pass never waits.

A creating pass moves in phases, and may be cut off between any two calls::

    look*   native reads of what is recorded; witnesses of open intents; candidates for new nodes
    intend  one patch of the journal: the exact requests of this wave
    create* the whole wave at once
    record  one patch: the ids
    mark*   attach the marks; a later look reads them back, which closes the intent

A deleting pass::

    resolve open intents  ->  prove by marks, read in this pass  ->  record the requests  ->  delete*
    ->  observe until gone  ->  nothing of ours in journal, index and native lists  ->  released
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from freehold.lifecycle import candidates, last_look, leaving, looking, marking, renewal, strays, syncing, witnesses
from freehold.lifecycle.errors import CloudError, TokenReused, Unknown
from freehold.lifecycle.graph import Graph, Node
from freehold.lifecycle.inventory import TagsByTarget
from freehold.lifecycle.journal import Entry, Journal, Phase, Store
from freehold.lifecycle.kinds import NodeKey, Observed
from freehold.lifecycle.memory import Memory
from freehold.lifecycle.outcomes import Blocked, Ready, Reason, Surplus, Waiting, of_error
from freehold.lifecycle.port import WouldWrite
from freehold.lifecycle.work import Pass, Tools, Work


async def ensure(
    tools: Tools,
    graph: Graph,
    journal: Journal,
    store: Store,
    memory: Memory,
    user_tags: frozenset[str] = frozenset(),
) -> Pass:
    """One pass towards what ``graph`` wants.

    Raises StaleObject when the object changed underneath, and CloudError when the journal cannot be saved or
    the shared index cannot be read: the next pass starts from what is on record.
    """
    work = Work(tools, graph, journal, store, memory, user_tags)
    if not _may_begin(work) or await _nothing_stirs(work):
        return work.finish()
    work.deep = work.now >= memory.deep_at
    if work.deep:
        memory.parts_checked.clear()
    work.journal = replace(work.journal, tags=work.journal.tags | user_tags)
    left_to_prune = memory.delete_sent.keys() & set(_prunable(work))
    await looking.recorded(work, [*graph.nodes, *(key for key in _surplus(work) if key not in left_to_prune)])
    await witnesses.open_intents(work)
    await marking.clean(work)
    marked = await marking.verify(work, list(work.journal.ours))
    if _marks_come_first(work):
        marked = await marking.read(work)
    await strays.marked(work, marked)
    candidates.reconsider(work)
    wave = await candidates.fresh(work)
    work.creating = [node.key for node in wave]
    for node in wave:
        work.outcomes[node.key] = Waiting(Reason.CREATING, 0.0, "is being created")
    _blame_requirements(work)
    await _create(work, wave)
    marking.awaiting(work, list(graph.nodes))
    await syncing.to_spec(work)
    await marking.attach(work, list(work.journal.ours))
    await marking.detach_dropped(work)
    marking.awaiting(work, list(graph.nodes))
    await renewal.renew(work)
    await _prune(work, marked)
    await work.save()
    _report_surplus(work)
    if work.deep:
        memory.deep_at = work.now + tools.pace.deep * work.spread
    return work.finish()


async def plan(tools: Tools, graph: Graph, journal: Journal, store: Store, memory: Memory) -> Pass:
    """What :func:`ensure` would do: the same code behind a port that stops at the first write.

    Nodes in ``creating`` would be created now; those that wait for a requirement, after it.
    """
    work = Work(tools, graph, journal, store, memory.rehearsal())
    if not _may_begin(work):
        return work.finish()
    work.deep = True
    try:
        await looking.recorded(work, list(graph.nodes))
        await witnesses.open_intents(work)
        wave = await candidates.fresh(work)
        work.creating = [node.key for node in wave]
        for node in wave:
            work.outcomes[node.key] = Waiting(Reason.CREATING, 0.0, "would be created")
        _blame_requirements(work)
        await _create(work, wave)
    except WouldWrite:
        pass
    return work.finish()


def _may_begin(work: Work) -> bool:
    """Whether this process can check what the journal says; and what it remembers is of this very journal.

    A journal that is neither what this process last read or wrote, nor what it last tried to write, was put there by
    somebody else (a restore, GitOps, another process): creates of its time may be under way.
    """
    memory = work.memory
    missing = work.tools.ring.missing(work.journal.keys, work.owner.uuid)
    for digest in missing:
        work.outcomes[NodeKey("key", digest)] = Blocked(
            Reason.KEY_MISSING,
            f"key {digest}, which this object's records are signed with, is not in the operator's key ring: nothing is "
            "read, created or deleted. Add it with `freehold keys add FILE`, from the ring that has it",
            work.tools.pace.slow,
        )
    if not missing and not work.journal.key and work.owner.uuid not in work.tools.ring.unkeyed:
        message = (
            "its records are from before the key ring, which does not count them: nothing is done for it. If it was "
            "there before the ring: freehold keys require --undo"
        )
        work.outcomes[NodeKey("key", "none")] = Blocked(Reason.KEY_MISSING, message, work.tools.pace.slow)
    if work.outcomes:
        return False
    if not memory.recognises(work.journal):
        memory.begin_again(work.now)
    memory.confirmed = work.journal
    return True


def _marks_come_first(work: Work) -> bool:
    """Whether something may be created by a process that did not mint the identity, and marks are to be read before.

    The journal may be an older one, and names may have changed since; marks have not. Read when this process
    first sees the object, and again when nothing can be under way any more.
    """
    memory, entries = work.memory, work.journal.entries
    if memory.minted or all(key in entries and entries[key].id for key in work.graph.nodes):
        return False
    settled = memory.first_seen + max(kind.settle for kind in work.tools.registry.values())
    return memory.marks_read_at < memory.first_seen or work.now >= settled > memory.marks_read_at


async def _nothing_stirs(work: Work) -> bool:
    """A shallow pass: everything was Ready at the last look, and the shared index still shows our marks.

    What that look had to say besides (drift, surplus) stays said.
    """
    memory, tools = work.memory, work.tools
    if work.now >= memory.deep_at or not work.graph.nodes.keys() <= work.journal.entries.keys():
        return False
    if work.journal.tags != work.user_tags:
        return False
    entries = {key: work.journal.entries[key] for key in work.graph.nodes}
    if any(_unfinished(work, key, entry) for key, entry in work.journal.entries.items()):
        return False
    if not {key for key, outcome in memory.settled.items() if isinstance(outcome, Ready)} >= entries.keys():
        return False
    snapshot = await tools.inventory.shared(tools.pace.shallow)
    for key, entry in entries.items():
        observed = memory.seen[key]
        if entry.phase is Phase.OWNED and work.kind(key).markable and not entry.carried:
            have = tools.codec.fold(snapshot.targets.get(entry.target, frozenset()))
            if not tools.codec.fold(work.marks(key, observed) | work.user_tags) <= have:
                memory.hurry()  # missing from an index is a hint: ask the resource itself
                return False
    work.outcomes.update(memory.settled)
    return True


def _unfinished(work: Work, key: NodeKey, entry: Entry) -> bool:
    """What was pruned leaves only the number of its attempt behind: that is no work."""
    if entry.phase is Phase.VACANT:
        return key in work.graph.nodes or bool(entry.earlier)
    return entry.phase in (Phase.INTENDED, Phase.RECORDED)


def _blame_requirements(work: Work) -> None:
    """Say of every node that has no outcome yet what it waits for."""
    for key in work.graph.order:
        if key in work.outcomes:
            continue
        nodes = work.graph.nodes
        names = ", ".join(sorted(f"{r.kind} {nodes[r].name}" for r in nodes[key].requires if r not in work.known))
        work.outcomes[key] = Waiting(Reason.REQUIREMENT, work.tools.pace.slow, f"waits for {names}")


async def _create(work: Work, wave: Sequence[Node]) -> None:
    """Intend, create, record: two patches around one wave of creates."""
    for node in wave:
        entry = work.journal.get(node.key)
        opened = round(work.tools.clock.now(), 3)
        intent = replace(
            entry or Entry(Phase.INTENDED),
            phase=Phase.INTENDED,
            opened=opened,
            key=work.keys.writing,
            by=work.tools.identity,
            request=dict(node.request(work.known)),
            parts=syncing.claimed(work, node.key),
        )
        work.journal = work.journal.put(node.key, intent)
    await work.save()
    if not wave:
        return
    work.memory.last_sent = work.now
    results = await work.tools.port.all([_send(work, node.key) for node in wave])
    for node, result in zip(wave, results, strict=True):
        _created(work, node.key, result)
    await work.save()
    for defect in results:
        if not isinstance(defect, Observed | CloudError):
            raise defect  # not before what the others made is on record


async def _send(work: Work, key: NodeKey) -> Observed:
    entry = work.journal.entries[key]
    assert entry.request is not None
    return await work.kind(key).driver.create(entry.request, witnesses.birth_of(work, key, entry.attempt))


def _created(work: Work, key: NodeKey, result: Observed | Exception) -> None:
    """An id is recorded; an unknown effect stays an open intent; a refusal closes it: nothing happened."""
    entry = work.journal.entries[key]
    if isinstance(result, Observed):
        work.memory.made[key, entry.attempt] = result
        looking.adopt(work, key, result, entry)
        work.memory.look_at.setdefault(key, work.now)
        if work.kind(key).born_with_parts:
            work.memory.parts_checked.add(key)
    elif isinstance(result, Unknown | TokenReused):
        work.memory.open_since[key] = work.now
        work.wait(key, Waiting(Reason.RETRYING, 5.0, result.message))
    elif isinstance(result, CloudError):
        work.journal = work.journal.put(
            key, replace(entry, phase=Phase.VACANT, request=None, opened=0.0, key="", by="")
        )
        work.hold(key, of_error(result))


def _surplus(work: Work) -> list[NodeKey]:
    """Ours, of a kind we know, and no longer wanted."""
    return [k for k in work.journal.ours if k not in work.graph.nodes and k.kind in work.tools.registry]


def _requirements(work: Work, key: NodeKey) -> tuple[str, ...]:
    return work.kind(key).requires if key.kind in work.tools.registry else ()


def _prunable(work: Work) -> list[NodeKey]:
    """Surplus that may go: its kind allows it, and nothing of ours is in the way (design §4.3)."""
    needed = {required for key in work.journal.ours for required in _requirements(work, key)}
    keys = [key for key in _surplus(work) if work.kind(key).prunable and key.kind not in needed]
    return [k for k in keys if work.journal.entries[k].phase is Phase.OWNED or k in work.memory.delete_sent]


async def _prune(work: Work, marked: TagsByTarget) -> None:
    """Delete what is surplus and proven now; see that it goes."""
    free = _prunable(work)
    for key in free:
        if key not in work.memory.delete_sent and work.memory.look_at.get(key) == float("inf"):
            del work.memory.look_at[key]  # it stood as wanted; now it is not wanted
    standing = await leaving.look(work, free)
    if standing and not marked:
        try:
            marked = await marking.read(work)
        except CloudError as error:
            work.outcomes.update(dict.fromkeys(standing, of_error(error)))
            return
        await strays.marked(work, marked)  # who disputes it, too
    await leaving.delete(work, await leaving.prove(work, standing, marked))


def _report_surplus(work: Work) -> None:
    """Ours, but no longer wanted: said, and deleted only where the kind allows it (design §4.3)."""
    for key in _surplus(work):
        outcome, entry = work.outcomes.get(key), work.journal.entries[key]
        leaving_now = isinstance(outcome, Waiting) and work.kind(key).prunable
        if entry.id and not leaving_now and not isinstance(outcome, Blocked):
            message = f"{entry.id} is ours and the spec no longer wants it"
            work.outcomes[key] = Surplus(work.memory.seen.get(key), f"{message}; it goes with the object")
    said = work.outcomes.items()
    stirs = any(isinstance(outcome, Waiting | Blocked) for _, outcome in said)
    work.memory.settled = {} if stirs else {k: o for k, o in said if isinstance(o, Ready | Surplus)}


async def release(tools: Tools, graph: Graph, journal: Journal, store: Store, memory: Memory) -> Pass:
    """One pass of deleting everything that is provably owned, whatever the spec says today.

    ``graph`` serves only to look for strays of our own in native lists; it may be empty. Raises as
    :func:`ensure` does.
    """
    work = Work(tools, graph, journal, store, memory)
    if not _may_begin(work):
        return work.finish()
    if not memory.releasing:
        memory.hurry()
        memory.releasing = True
    await witnesses.open_intents(work)
    await marking.clean(work)
    standing, held = await leaving.look_through(work), frozenset[NodeKey]()
    if standing or not memory.index_read:
        marked = await marking.read(work)
        memory.index_read = True
        await strays.marked(work, marked)
        proven = await leaving.prove(work, standing, marked)
        await marking.attach(work, list(work.journal.ours))
        held = await leaving.delete(work, proven & leaving.wave(work))  # marks may have shown what has to go first
    if held:
        await last_look.by_nonce(work, {})  # what holds it may be ours and forgotten
    leaving.wave(work)
    done = await leaving.finished(work)
    await work.save()
    return work.finish(released=done)
