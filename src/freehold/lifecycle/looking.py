"""Look: native reads of what is recorded, and lists of what bears a wanted name. Nothing in here writes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from freehold.lifecycle.errors import CloudError
from freehold.lifecycle.journal import Entry, Phase, let_go, vacated
from freehold.lifecycle.kinds import NodeKey, Observed, Ref, State, Want
from freehold.lifecycle.outcomes import Blocked, Category, Ready, Reason, Waiting, of_error
from freehold.lifecycle.work import CLOCK_SKEW, Work


async def recorded(work: Work, keys: Iterable[NodeKey]) -> None:
    """Ask for the state of everything whose id is known and whose time has come, one call a kind where it can."""
    due: list[NodeKey] = []
    for key in keys:
        entry = work.journal.get(key)
        if entry and entry.id:
            if work.due(key):
                due.append(key)
            elif work.memory.look_at[key] < float("inf"):
                work.outcomes[key] = work.still(key)
            elif key in work.memory.seen:
                judge(work, key, work.memory.seen[key])
    for key, seen in (await by_key(work, due)).items():
        work.memory.look_at.pop(key, None)  # kept; what this look shows makes the next one
        if isinstance(seen, CloudError):
            work.outcomes[key] = of_error(seen)
        elif seen is None:
            _absent(work, key)
        else:
            work.remember(key, seen)
            judge(work, key, seen)


async def observe(work: Work, kind: str, keys: Sequence[NodeKey]) -> Mapping[str, Observed]:
    """One driver call for all of one kind."""
    refs = []
    for key in keys:
        entry = work.journal.entries[key]
        old = bool(entry.opened) and work.tools.clock.now() - entry.opened > work.kind(key).settle + CLOCK_SKEW
        refs.append(Ref(entry.id, entry.target, leaving=old and key in work.memory.delete_sent))
    return await work.tools.registry[kind].driver.observe(refs)


async def by_key(work: Work, keys: Collection[NodeKey]) -> Mapping[NodeKey, Observed | CloudError | None]:
    """Native reads, one call a kind where the driver can; None is what the cloud does not know.

    A list leaves out what the credentials may not see, so what is missing among several is asked for by
    itself, where a refusal is an error; except where we asked for its deletion.
    """
    by_kind: dict[str, list[NodeKey]] = {}
    for key in sorted(keys):
        by_kind.setdefault(key.kind, []).append(key)
    results = await work.tools.port.all([observe(work, kind, group) for kind, group in by_kind.items()])
    found: dict[NodeKey, Observed | CloudError | None] = {}
    for group, result in zip(by_kind.values(), results, strict=True):
        if isinstance(result, Exception) and not isinstance(result, CloudError):
            raise result
        for key in group:
            found[key] = result if isinstance(result, CloudError) else result.get(work.journal.entries[key].id)
    unseen = [k for k, seen in found.items() if seen is None and len(by_kind[k.kind]) > 1]
    unseen = [key for key in unseen if key not in work.memory.delete_sent]
    again = await work.tools.port.all([observe(work, key.kind, [key]) for key in unseen])
    for key, result in zip(unseen, again, strict=True):
        if isinstance(result, Exception) and not isinstance(result, CloudError):
            raise result
        found[key] = result if isinstance(result, CloudError) else result.get(work.journal.entries[key].id)
    return found


def judge(work: Work, key: NodeKey, observed: Observed) -> None:
    """What a seen state means for the node, before marks and parts are considered."""
    word = observed.word or observed.state.value
    match observed.state:
        case State.READY if complaint := _complaint(work, key, observed):
            work.memory.look_at.pop(key, None)
            work.outcomes[key] = Blocked(Reason.UNFIT, complaint, work.tools.pace.slow, observed)
        case State.READY if work.now - work.memory.delete_sent.get(key, float("-inf")) < work.kind(key).delete_time:
            after = max(5.0, work.kind(key).delete_time / 4)
            _later(work, key, Waiting(Reason.DELETING, after, "its delete was requested and does not show", observed))
        case State.READY:
            work.memory.delete_sent.pop(key, None)
            work.memory.held.pop(key, None)
            work.known[key] = observed
            work.outcomes[key] = Ready(observed, work.category(key))
            work.memory.look_at[key] = float("inf")
        case State.PENDING:
            _later(work, key, Waiting(Reason.PROVISIONING, work.poll(key, observed), f"its state is {word}", observed))
        case State.DELETING:
            _later(work, key, Waiting(Reason.DELETING, work.poll(key, observed), f"its state is {word}", observed))
        case State.FAILED:
            work.outcomes[key] = Blocked(
                Reason.FAILED,
                f"{observed.name} ({observed.id}) is {word}: look at it in the cloud; delete it there to have it "
                "created again",
                work.tools.pace.slow,
                observed,
            )


def _complaint(work: Work, key: NodeKey, observed: Observed) -> str:
    node = work.graph.nodes.get(key)
    return node.unfit(observed) if node and work.category(key) is Category.UNMANAGED else ""


def _later(work: Work, key: NodeKey, outcome: Waiting) -> None:
    """Keep an appointment that was made already; make one otherwise."""
    appointed = work.memory.look_at.get(key, float("-inf"))
    if appointed > work.now:
        work.outcomes[key] = replace(outcome, after=appointed - work.now)
    else:
        work.wait(key, outcome)


def _absent(work: Work, key: NodeKey) -> None:
    """A native read does not know it. Reads lag and step back in time: believe it after the settle time only."""
    entry = work.journal.entries[key]
    since = work.memory.absent_since.setdefault(key, work.now)
    if entry.phase is Phase.GIVEN:
        work.outcomes[key] = Blocked(Reason.NOT_FOUND, work.graph.nodes[key].absent(entry.id))
    elif not work.settled(key, since):
        left = work.kind(key).settle - (work.now - since)
        message = f"{entry.id} is not to be seen; waiting to be sure that it is gone"
        work.wait(key, Waiting(Reason.SETTLING, min(left, 30.0), message))
    elif entry.phase in (Phase.REUSED, Phase.THEIRS):
        work.notes.append(f"{key}: {entry.id}, used by name, is gone")
        work.memory.forget(key)
        work.journal = work.journal.put(key, let_go(entry))
    else:
        if key not in work.memory.delete_sent:
            work.notes.append(f"{key}: {entry.id} is gone, deleted by someone else")
        fails = entry.fails + 1 if entry.phase is Phase.RECORDED else 0
        work.memory.forget(key)
        work.journal = work.journal.put(key, vacated(entry, fails=fails))


def adopt(work: Work, key: NodeKey, observed: Observed, entry: Entry | None) -> None:
    """Record what has been shown to be ours; it still has to be marked, or the mark read back."""
    base = entry or Entry(Phase.RECORDED, opened=work.tools.clock.now())
    record = replace(base, phase=Phase.RECORDED, id=observed.id, target=observed.target, carried=observed.carried)
    record = replace(record, deed=work.deed(key, observed.id), key=work.keys.writing, by="")
    work.journal = work.journal.put(key, record)
    _only_here(work, key, observed.id)
    work.memory.open_since.pop(key, None)
    work.memory.look_at.pop(key, None)
    work.remember(key, observed)
    judge(work, key, observed)
    if work.memory.releasing:
        work.memory.look_at.pop(key, None)


def _only_here(work: Work, key: NodeKey, id_: str) -> None:
    """One resource is on record once: what was surplus under another name is wanted under this one."""
    for other, entry in work.journal.entries.items():
        if other != key and (other.kind, entry.id) == (key.kind, id_) and other not in work.graph.nodes:
            work.journal = work.journal.put(other, let_go(entry))
            work.memory.forget(other)
            work.outcomes.pop(other, None)


async def find(work: Work, wants: Sequence[Want]) -> dict[NodeKey, Sequence[Observed] | CloudError]:
    """Everything that bears a wanted name or a nonce of ours, asked once a kind."""
    by_kind: dict[str, list[Want]] = {}
    for want in wants:
        by_kind.setdefault(want.key.kind, []).append(want)
    results = await work.tools.port.all(
        [work.tools.registry[kind].driver.find(group) for kind, group in by_kind.items()]
    )
    found: dict[NodeKey, Sequence[Observed] | CloudError] = {}
    for group, result in zip(by_kind.values(), results, strict=True):
        if isinstance(result, Exception) and not isinstance(result, CloudError):
            raise result
        for want in group:
            found[want.key] = result if isinstance(result, CloudError) else result.get(want.key, ())
    return found
