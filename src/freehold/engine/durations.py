"""How long creates and deletes take: learned from what was seen, on top of the times that the vendor publishes.

A duration says when a look is worth it, never what a look proves. It is kept in memory only.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from freehold.engine.clock import Clock

SAMPLES = 5
"""The newest of one kind, region and verb that count. One that is far off changes nothing, three change all."""

FEW = 3
"""Below so many samples the published time is one of them."""

SAMPLE_LIFE = 86_400.0
"""Seconds for which a sample counts."""

FASTEST, SLOWEST = 0.3, 3.0
"""Factors of the published time between which a duration is believed to be before anything is learned."""


class Verb(Enum):
    """What takes time."""

    CREATE = "create"
    DELETE = "delete"


class DurationKey(NamedTuple):
    """What durations are kept apart by. ``region`` is empty where a kind has none."""

    kind: str
    region: str
    verb: Verb


class Span(NamedTuple):
    """A duration in seconds: more than ``low``, when it was not over yet, and at most ``high``, when it was."""

    low: float
    high: float


@dataclass(frozen=True)
class Estimate:
    """Where a duration is believed to be. ``samples``: how many looks it rests on; with none, on ``published``."""

    span: Span
    samples: int
    published: float


def estimate(published: float, samples: Sequence[Span]) -> Estimate:
    """Return the span of a create or delete. ``region`` is None where it is not known yet: then all count.

    While there are few, the published time counts as one of them: a first one that is absurd moves nothing.
    """
    prior = Span(published * FASTEST, published * SLOWEST)
    if not samples:
        return Estimate(prior, 0, published)
    newest_first = [*reversed(samples), *([prior] if len(samples) < FEW else ())]
    ends = sorted({end for span in newest_first for end in span})
    pieces = [Span(low, high) for low, high in pairwise(ends)] or [prior]
    best = max(pieces, key=lambda piece: _votes(piece, newest_first, prior))
    off = median(_distance(sample, best) for sample in samples)
    return Estimate(Span(max(0.0, best.low - off), best.high + off), len(samples), published)


def _votes(piece: Span, newest_first: Sequence[Span], prior: Span) -> tuple[int, bool, int]:
    """Count how many agree; among equals what the published time allows is believed first, then what was seen last."""
    agreeing = [age for age, span in enumerate(newest_first) if span.low <= piece.low and piece.high <= span.high]
    return len(agreeing), prior.low <= piece.low and piece.high <= prior.high, -min(agreeing, default=0)


def _distance(sample: Span, best: Span) -> float:
    return max(0.0, sample.low - best.high, best.low - sample.high)


_estimate_once = lru_cache(maxsize=4096)(estimate)
"""A pass asks for each of its resources, and little is learned between two passes."""


class Durations:
    """What was seen of one account, shared by all of its objects."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen: dict[tuple[str, Verb], dict[str, deque[tuple[float, Span]]]] = {}
        """Samples by kind and verb, and then by region."""

    def add(self, key: DurationKey, span: Span) -> None:
        """Learn from one create or delete that was seen from its request to its end."""
        by_region = self._seen.setdefault((key.kind, key.verb), {})
        by_region.setdefault(key.region, deque(maxlen=SAMPLES)).append((self._clock.monotonic(), span))

    @property
    def learned_actions(self) -> Collection[tuple[str, Verb]]:
        """Kinds with a verb of which anything was learned, perhaps long ago."""
        return self._seen.keys()

    def estimate(self, kind: str, verb: Verb, published: float, region: str | None = None) -> Estimate:
        """Return the span of a create or delete. ``region`` is None where it is not known yet: then all count."""
        if (kind, verb) not in self._seen:
            return _estimate_once(published, ())
        since = self._clock.monotonic() - SAMPLE_LIFE
        regions = self._seen[kind, verb].items()
        fresh = sorted(one for at, seen in regions if region in (None, at) for one in seen if one[0] >= since)
        return _estimate_once(published, tuple(span for _, span in fresh[-SAMPLES:]))
