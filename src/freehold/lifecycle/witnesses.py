"""Resolve: did a create that was cut off take effect, and which resource came of it?

Nothing is written to the cloud but the replay of a client token, which is how that witness speaks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType

from freehold.lifecycle import looking, strays
from freehold.lifecycle.errors import CloudError, Invalid, NameTaken, NeedsPerson, NotFound, TokenReused
from freehold.lifecycle.inventory import TagsByTarget
from freehold.lifecycle.journal import Entry, Phase, vacated
from freehold.lifecycle.kinds import Birth, NodeKey, Observed, Tagging, Want, Witness
from freehold.lifecycle.outcomes import Blocked, Reason, Waiting, of_error
from freehold.lifecycle.ownership import Strength
from freehold.lifecycle.port import WouldWrite
from freehold.lifecycle.work import CLOCK_SKEW, Work


async def open_intents(work: Work) -> None:
    """Resolve every create of which we do not know whether it took effect (design §4.2, seed 003).

    ====================  =====================  ==================================================
    workflow              witnesses              seed 003's edge cases 1-4
    ====================  =====================  ==================================================
    tags on create        mark                   1 none; 2-4 found by the mark that was born with it
    token, tags after     mark, token            1 marked later; 2-4 the same request answers the same
    tags after, no token  mark, nonce            1 marked later; 2-4 found by the nonce in its body
    token, no tags        token                  1 none; 2-4 the same request answers the same
    neither               nonce, else key        1 none; 2-4 nonce finds it; by key only: presumed
    ====================  =====================  ==================================================

    Nothing is ever deleted to roll back, so edge case 3 (the rollback fails) cannot arise.
    """
    _record_made(work)
    open_now = {key: entry for key, entry in work.journal.open.items() if key.kind in work.tools.registry}
    if not open_now:
        return
    due = [key for key in open_now if work.due(key)]
    for key in open_now.keys() - set(due):
        work.outcomes[key] = work.still(key)
    for key in due:
        work.memory.open_since.setdefault(key, work.now)
    if not due:
        return
    found = await looking.find(work, [_want_of(work, key, open_now[key]) for key in due])
    marked = await _marked(work, due, found)
    for key in due:
        outcome = found.get(key)
        if isinstance(outcome, NotFound):
            outcome = ()  # what it would stand in is gone
        if isinstance(outcome, CloudError):
            work.outcomes[key] = of_error(outcome)
        elif isinstance(marked, CloudError):
            work.outcomes[key] = of_error(marked)
        else:
            await _resolve(work, key, open_now[key], outcome or (), marked)


def _record_made(work: Work) -> None:
    """What creates of this process answered and is on no record: the save failed, or another process was faster."""
    for (key, attempt), made in list(work.memory.made.items()):
        on_record = {(other.kind, entry.id) for other, entry in work.journal.entries.items()}
        if (key.kind, made.id) in on_record:
            continue
        entry = work.journal.get(key)
        if entry is None or entry.phase is Phase.VACANT or (key in work.journal.open and entry.attempt == attempt):
            looking.adopt(work, key, made, entry)
        else:
            strays.take(work, key, made, "was created by this process and could not be put on record then")


def _want_of(work: Work, key: NodeKey, entry: Entry) -> Want:
    request = entry.request or {}
    return Want(key, str(request.get("name", "")), request, work.nonces(key))


async def _marked(
    work: Work, keys: Sequence[NodeKey], found: Mapping[NodeKey, Sequence[Observed] | CloudError]
) -> TagsByTarget | CloudError:
    """One search for the marks of candidates whose tags did not come with them; none when there is none."""
    unread = [
        c.target
        for key in keys
        if work.kind(key).markable and not isinstance(found.get(key, ()), CloudError)
        for c in found.get(key, ())  # type: ignore[union-attr]  # errors were sorted out above
        if c.tags is None
    ]
    if not unread:
        return {}
    try:
        return await work.tools.tagger.marked(work.owner.uuid, unread)
    except CloudError as error:
        return error


async def _resolve(
    work: Work, key: NodeKey, entry: Entry, candidates: Sequence[Observed], marked: TagsByTarget
) -> None:
    """Ask the witnesses in turn: ours, or no effect, or wait, or unclear."""
    ours = testified(work, key, candidates, marked)
    if len(ours) == 1:
        looking.adopt(work, key, ours[0], entry)
    elif ours:
        work.outcomes[key] = ambiguous(work, key, ours)
    elif foreign := [c for c in candidates if work.bears_birth(key, c)]:
        work.outcomes[key] = _not_from_intent(work, key, foreign)
    elif entry.key and entry.key not in work.keys.readable:
        work.outcomes[key] = _key_lost(work, key, entry)
    elif (still := work.memory.held.get(key)) and still.reason is Reason.PRESUMED_ONLY and _young(entry, candidates):
        _ask_later(work, key, still)  # a person decides; sending it once more would be refused once more
    elif Witness.TOKEN in work.kind(key).witnesses and not _expired(work, key, entry):
        await _replay(work, key, entry, candidates)
    elif not work.kind(key).tells_apart and candidates:
        names = ", ".join(c.id for c in candidates)
        work.outcomes[key] = Blocked(
            Reason.PRESUMED_ONLY,
            f"a create of {key} was cut off and {names} has its name: whether it is ours cannot be proved. "
            "A person must say so, or remove it",
            work.tools.pace.slow,
        )
    else:
        _no_effect(work, key, entry)


def testified(
    work: Work, key: NodeKey, candidates: Sequence[Observed], marked: TagsByTarget = MappingProxyType({})
) -> Sequence[Observed]:
    """Those that a sealed mark names; failing that, those that bear a birth mark of ours."""
    sealed = [
        c
        for c in candidates
        if work.evidence(key, c, c.tags if c.tags is not None else marked.get(c.target, frozenset())).strength
        is Strength.PROVEN
    ]
    return sealed or [c for c in candidates if work.born_here(key, c)]


def ambiguous(work: Work, key: NodeKey, several: Sequence[Observed]) -> Blocked:
    ids = ", ".join(sorted(c.id for c in several))
    return Blocked(
        Reason.AMBIGUOUS,
        f"{ids} all bear the birth mark of {key}, so somebody copied it: remove the mark from what is not ours",
        work.tools.pace.slow,
    )


def _not_from_intent(work: Work, key: NodeKey, foreign: Sequence[Observed]) -> Blocked:
    """The birth mark says ours, age or creator say not; were our clock wrong, a second create would be a duplicate."""
    reasons = "; ".join(f"{c.id}: {work.not_from_intent(key, c)}" for c in sorted(foreign, key=lambda c: c.id))
    return Blocked(
        Reason.AMBIGUOUS,
        f"a resource has the birth mark of {key} and cannot have come of its create ({reasons}). Delete it if it was "
        "made for this object, rename it if somebody copied the mark",
        work.tools.pace.slow,
    )


def _ask_later(work: Work, key: NodeKey, outcome: Waiting | Blocked) -> None:
    work.hold(key, outcome)
    work.memory.look_at[key] = work.memory.retry_at[key]


def _young(entry: Entry, candidates: Sequence[Observed]) -> list[Observed]:
    """Those that are not older than the create that was sent."""
    return [c for c in candidates if c.created_at is None or c.created_at >= entry.opened - CLOCK_SKEW]


def _reused(work: Work, key: NodeKey, candidates: Sequence[Observed], error: CloudError) -> Blocked:
    """Its create may have had an effect that the replay does not answer with: a second one would be a duplicate."""
    ids = ", ".join(sorted(c.id for c in candidates)) or "what it made"
    return Blocked(
        Reason.PRESUMED_ONLY,
        f"a create of {key} was cut off, and sending it again is refused ({error.message}): {ids} may be ours, which "
        "cannot be proved. Delete it in the cloud if it is, to have it created again",
        work.tools.pace.slow,
    )


def _key_lost(work: Work, key: NodeKey, entry: Entry) -> Blocked:
    """Its nonce cannot be computed any more, so nothing tells whether the create took effect."""
    opened = datetime.fromtimestamp(entry.opened, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return Blocked(
        Reason.AMBIGUOUS,
        f"a create of {key} was cut off at {opened} and its key {entry.key} is lost, so its outcome is unknown: delete "
        f"what it made in the cloud, and remove {key} from annotation freehold.dev/journal",
        work.tools.pace.slow,
    )


def _expired(work: Work, key: NodeKey, entry: Entry) -> bool:
    """Past its life a token makes a second resource instead of naming the first."""
    return work.tools.clock.now() - entry.opened > work.kind(key).token_life - CLOCK_SKEW


def _no_effect(work: Work, key: NodeKey, entry: Entry) -> None:
    """No witness speaks: after the settle time the create has come to nothing."""
    since = work.memory.open_since[key]
    if not work.settled(key, since):
        left = min(work.kind(key).settle - (work.now - since), 30.0)
        work.wait(key, Waiting(Reason.SETTLING, left, "a create may still take effect"))
        return
    work.memory.open_since.pop(key, None)
    work.memory.look_at.pop(key, None)
    work.outcomes.pop(key, None)
    work.journal = work.journal.put(key, vacated(entry, fails=entry.fails))


async def _replay(work: Work, key: NodeKey, entry: Entry, candidates: Sequence[Observed]) -> None:
    """The same request under the same token answers with the same resource, or creates it now."""
    birth = birth_of(work, key, entry.attempt)
    try:
        await work.confirm()
        work.memory.last_sent = work.now
        observed = await work.kind(key).driver.create(entry.request or {}, birth)
    except WouldWrite:
        work.outcomes[key] = Waiting(Reason.CREATING, 0.0, "a create that was cut off would be sent again")
    except TokenReused as error:
        _ask_later(work, key, _reused(work, key, candidates, error))
    except NameTaken as error:
        if not (young := _young(entry, candidates)):
            _no_effect(work, key, entry)  # somebody else's has the name, and had it before
        else:
            _ask_later(work, key, _reused(work, key, young, error))
    except (Invalid, NotFound):
        # Refused as such, or its place is gone: the token has made nothing, neither now nor before.
        _no_effect(work, key, entry)
    except NeedsPerson as error:
        # No quota, no permission: that is no answer about the first request. It is asked again.
        _ask_later(work, key, of_error(error))
    except CloudError as error:
        work.outcomes[key] = of_error(error)
    else:
        looking.adopt(work, key, observed, entry)


def birth_of(work: Work, key: NodeKey, attempt: int) -> Birth:
    """What the create of this attempt carries."""
    entry = work.journal.get(key)
    digest = work.signing_key(key) if entry and entry.phase is Phase.INTENDED else work.keys.writing
    nonce = work.keys.nonce(digest, key, attempt)
    marks: frozenset[str] = frozenset()
    if work.kind(key).tagging is Tagging.ON_CREATE:
        codec = work.tools.codec
        marks = codec.owner(work.owner) | {codec.node(key, nonce)} | work.user_tags
    return Birth(work.keys.token(digest, key, attempt), nonce, marks)
