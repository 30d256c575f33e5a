"""Decide for each wanted node without a resource: use what exists, say why not, or create it (design §4.2).

A name is not a deed: nothing is ever adopted because of its name. Nothing in here writes to the cloud.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from freehold.lifecycle import looking, strays, witnesses
from freehold.lifecycle.errors import CloudError
from freehold.lifecycle.graph import Naming, Node
from freehold.lifecycle.journal import Entry, Phase, let_go, unmanaged
from freehold.lifecycle.kinds import NodeKey, Observed, Ref, State, Tagging, Want
from freehold.lifecycle.outcomes import Blocked, Reason, Waiting, of_error
from freehold.lifecycle.ownership import Strength
from freehold.lifecycle.work import Work


def reconsider(work: Work) -> None:
    """The spec may name another resource now, or none: let go of what it gave before."""
    for key, node in work.graph.nodes.items():
        entry = work.journal.get(key)
        if entry is None or not entry.id:
            continue
        given = node.given(work.known) if node.given and node.requires <= work.known.keys() else ""
        if entry.phase is Phase.GIVEN:
            stale = given != entry.id if given else node.given is None
        elif entry.phase is Phase.REUSED:
            seen = work.memory.seen.get(key)
            stale = bool(given) or (seen is not None and seen.name != node.name)
        else:
            stale = bool(given) and given != entry.id
        if stale:
            _let_go(work, key, entry)


def _let_go(work: Work, key: NodeKey, entry: Entry) -> None:
    """What was given is forgotten; what is ours stays on record under a name of its own, as surplus."""
    if entry.phase.ours:
        work.journal = work.journal.put(strays.free_key(work, key, entry.id), replace(entry, earlier=()))
    work.journal = work.journal.put(key, let_go(entry))
    work.memory.forget(key)
    work.outcomes.pop(key, None)
    work.known.pop(key, None)


def _let_go_before(work: Work, key: NodeKey) -> Observed | None:
    """What had this name until another was given, still stands, and is wanted again."""
    memory = work.memory
    for other, entry in work.journal.ours.items():
        namesake = other.kind == key.kind and other.logical.startswith(f"{key.logical}~")
        if namesake and entry.opened and other not in work.graph.nodes:  # not one that only a mark brought to light
            seen = memory.seen.get(other)
            leaves = other in memory.delete_sent or other in memory.absent_since or other in memory.doubted
            if seen and seen.state in (State.PENDING, State.READY) and not leaves:
                return seen
    return None


async def fresh(work: Work) -> list[Node]:
    """Nodes without a resource whose requirements stand: use what exists, or say why not, or return them to create."""
    todo: list[Node] = []
    for node in work.graph.wave(work.known):
        entry = work.journal.get(node.key)
        if entry and entry.phase is not Phase.VACANT:
            continue
        if work.now < work.memory.retry_at.get(node.key, float("-inf")):
            left = work.memory.retry_at[node.key] - work.now
            work.outcomes[node.key] = replace(work.memory.held[node.key], after=left)
        elif node.given:
            await _given(work, node)
        elif returning := _let_go_before(work, node.key):
            looking.adopt(work, node.key, returning, entry)
        else:
            todo.append(node)
    wants = [Want(n.key, n.name, n.request(work.known), work.nonces(n.key)) for n in todo]
    found = await looking.find(work, wants)
    create: list[Node] = []
    for node in todo:
        candidates = found[node.key]
        if isinstance(candidates, CloudError):
            work.hold(node.key, of_error(candidates))
        elif await _free(work, node, candidates):
            create.append(node)
    return create


async def _given(work: Work, node: Node) -> None:
    assert node.given is not None
    id_ = node.given(work.known)
    try:
        observed = (await work.kind(node.key).driver.observe([Ref(id_)])).get(id_)
    except CloudError as error:
        work.hold(node.key, of_error(error))
        return
    if observed is None:
        work.hold(
            node.key,
            Blocked(
                Reason.NOT_FOUND,
                node.absent(id_),
                work.tools.pace.slow,
            ),
        )
        return
    entry = unmanaged(work.journal.get(node.key), Phase.GIVEN, observed)
    work.journal = work.journal.put(node.key, entry)
    work.remember(node.key, observed)
    looking.judge(work, node.key, observed)


async def _free(work: Work, node: Node, candidates: Sequence[Observed]) -> bool:
    """Whether nothing stands in the way of a create: the decision order of design §4.2."""
    key = node.key
    try:
        ours = await _claimed(work, key, candidates)
    except CloudError as error:
        work.hold(key, of_error(error))
        return False
    if len(ours) == 1:
        looking.adopt(work, key, ours[0], work.journal.get(key))
        return False
    if ours:
        work.hold(key, witnesses.ambiguous(work, key, ours))
        return False
    named = [c for c in candidates if c.state is not State.DELETING]
    if len(named) > 1:
        ids = ", ".join(sorted(c.id for c in named))
        work.hold(
            key,
            Blocked(
                Reason.AMBIGUOUS,
                f"{len(named)} resources of kind {key.kind} are named {node.name} ({ids}): give the id in the spec",
                work.tools.pace.slow,
            ),
        )
        return False
    if candidates and not named:
        work.hold(key, Waiting(Reason.DELETING, 15.0, f"an older {node.name} is still being deleted"))
        return False
    if named:
        await _namesake(work, node, named[0])
        return False
    return _may_create(work, node)


async def _claimed(work: Work, key: NodeKey, candidates: Sequence[Observed]) -> Sequence[Observed]:
    """What a restored journal may have forgotten: ours by sealed mark or birth mark, asked where unclear."""
    ours = witnesses.testified(work, key, candidates)
    unread = {c.target for c in candidates if c.tags is None and c.target}
    if len(ours) == 1 or len(candidates) < 2 or not unread:
        return ours
    return witnesses.testified(
        work, key, candidates, {target: await work.tools.tagger.tags_of(target) for target in unread}
    )


async def _namesake(work: Work, node: Node, candidate: Observed) -> None:
    """A resource with the wanted name that no nonce of ours explains: a name is not a deed."""
    key, codec = node.key, work.tools.codec
    try:
        tags = candidate.tags if candidate.tags is not None else await work.tools.tagger.tags_of(candidate.target)
    except CloudError as error:
        work.hold(key, of_error(error))
        return
    strength = work.evidence(key, candidate, tags).strength
    marks = codec.read(tags)
    if strength is Strength.PROVEN:
        looking.adopt(work, key, candidate, work.journal.get(key))
        return
    taken = False if candidate.carried else strength in (Strength.OTHERS, Strength.DISPUTED, Strength.COPIED)
    if taken:
        owners = ", ".join(sorted(marks.owners)) or "another owner"
        message = f"{node.name} ({candidate.id}) belongs to {owners}: choose another name, or remove that resource"
        work.hold(key, Blocked(Reason.NAME_TAKEN, message, work.tools.pace.slow, candidate))
        return
    young = work.kind(key).settle - (work.tools.clock.now() - candidate.created_at) if candidate.created_at else 0.0
    if young > 0:
        message = f"{node.name} ({candidate.id}) is too young to tell whose it is"
        work.hold(key, Waiting(Reason.SETTLING, min(young, 30.0), message))
    elif node.naming is Naming.EXPLICIT:
        work.journal = work.journal.put(key, unmanaged(work.journal.get(key), Phase.REUSED, candidate))
        work.remember(key, candidate)
        looking.judge(work, key, candidate)
    else:
        work.hold(
            key,
            Blocked(
                Reason.NAME_TAKEN,
                f"{node.name} ({candidate.id}) exists and is not ours: name it in the spec to use it as it is, or "
                "choose another name for the cluster",
                work.tools.pace.slow,
                candidate,
            ),
        )


def _may_create(work: Work, node: Node) -> bool:
    key, kind = node.key, work.kind(node.key)
    entry = work.journal.get(key)
    if entry and entry.fails >= kind.attempts:
        message = (
            f"{key} was created {entry.fails} times and vanished each time before it could be marked: "
            "find out who deletes it"
        )
        work.hold(key, Blocked(Reason.VANISHING, message, work.tools.pace.slow))
        return False
    if not work.memory.minted and not work.settled(key, work.memory.first_seen):
        left = kind.settle - (work.now - work.memory.first_seen)
        work.hold(key, Waiting(Reason.SETTLING, left, "a create of an earlier process may still take effect"))
        return False
    if kind.carrier and kind.carrier_owned and kind.tagging is Tagging.NEVER:
        carriers = [k for k in node.requires if k.kind == kind.carrier]
        if not any((e := work.journal.get(k)) and e.phase.ours for k in carriers):
            work.hold(
                key,
                Blocked(Reason.UNMARKABLE, f"{key} bears no tags and its {kind.carrier} is not ours to mark it on"),
            )
            return False
    return True
