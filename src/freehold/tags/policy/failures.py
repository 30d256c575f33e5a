"""What to do after a call that did not work: by resource, so that one never fails the others.

A whole call that is refused because of one resource is halved until the resource is found.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from freehold.engine.errors import CloudError, NotFound, Retryable, Throttled, Unknown
from freehold.tags.policy.batches import Batch, TagVerb
from freehold.tags.policy.ledger import Record
from freehold.tags.policy.plan import ResourcePlan
from freehold.tags.policy.resources import TaggedResource


@dataclass(frozen=True)
class SendAgain:
    """``after`` is in seconds, None when the cloud does not say."""

    batch: Batch
    after: float | None = None


@dataclass(frozen=True)
class ReadFirst:
    """The call may have had its effect: the targets are read, and without one planned again before anything is sent."""

    targets: tuple[str, ...]


@dataclass(frozen=True)
class Vanished:
    """The index lists resources for a while after they were deleted: they are skipped."""

    targets: tuple[str, ...]


@dataclass(frozen=True)
class Failed:
    target: str
    error: CloudError


Step = SendAgain | ReadFirst | Vanished | Failed


def after_refused_call(batch: Batch, error: CloudError, named: Collection[str] = ()) -> tuple[Step, ...]:
    """``named``: the targets that the error names as bad; the others go again without them."""
    match error:
        case Throttled():
            return (SendAgain(batch, error.retry_after),)
        case Retryable():
            return (SendAgain(batch),)
        case Unknown():
            return (ReadFirst(batch.targets),)
    bad = [target for target in batch.targets if target in named] or list(batch.targets[: len(batch.targets) == 1])
    if not bad:
        return tuple(SendAgain(half) for half in batch.halves())
    good = [target for target in batch.targets if target not in bad]
    rest = (SendAgain(batch.only(good)),) if good else ()
    return (*_final(dict.fromkeys(bad, error)), *rest)


def after_partial_failure(batch: Batch, errors: Mapping[str, CloudError]) -> tuple[Step, ...]:
    """Decide what follows a call that was answered with errors for some of its targets."""
    again = [target for target, error in errors.items() if isinstance(error, Retryable)]
    unknown = tuple(sorted(target for target, error in errors.items() if isinstance(error, Unknown)))
    final = {target: error for target, error in errors.items() if not isinstance(error, Retryable | Unknown)}
    waits = [error.retry_after for error in errors.values() if isinstance(error, Throttled) and error.retry_after]
    steps: list[Step] = [*_final(final)]
    if again:
        steps.append(SendAgain(batch.only(again), max(waits, default=None)))
    if unknown:
        steps.append(ReadFirst(unknown))
    return tuple(steps)


def took_effect(batch: Batch, resource: TaggedResource) -> bool:
    """Whether the resource, as it was read, is as the call leaves it."""
    there = resource.tags
    canonical = resource.cloud.canonical
    for key, value in ((canonical(key), value) for key, value in batch.tags):
        spelled = canonical(value or "")
        if batch.verb is TagVerb.DETACH:
            right = spelled not in there.get(key, ())
        elif batch.verb.removes:
            right = key not in there
        else:
            right = spelled in there.get(key, ()) and (batch.verb is TagVerb.ATTACH or len(there[key]) == 1)
        if not right:
            return False
    return True


def _final(errors: Mapping[str, CloudError]) -> Iterator[Step]:
    gone = tuple(sorted(target for target, error in errors.items() if isinstance(error, NotFound)))
    if gone:
        yield Vanished(gone)
    for target, error in sorted(errors.items()):
        if not isinstance(error, NotFound):
            yield Failed(target, error)


@dataclass
class DoneKeys:
    """Keys on one resource that calls have removed or written, or may have: their replies were lost."""

    removed: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    perhaps_removed: set[str] = field(default_factory=set)
    perhaps_written: set[str] = field(default_factory=set)


def record_of_part(plan: ResourcePlan, earlier: Record, done: DoneKeys) -> Record:
    """``earlier``: the record as it was before the intentions of this plan were stored.

    It counts again for the keys of calls that were refused, or never sent.
    """
    found = dict(plan.record_before)
    for changes, keys, perhaps in (
        (plan.delta.removals, done.removed, done.perhaps_removed),
        (plan.delta.upserts, done.written, done.perhaps_written),
    ):
        for key in (each.key for each in changes):
            source = plan.record_after if key in keys else plan.record_before if key in perhaps else earlier
            found.pop(key, None)
            if key in source:
                found[key] = source[key]
    return found
