"""What the cloud answered to a question of a reconciler: values, so that the decisions stay pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from freehold.engine.outcomes import Reason

T = TypeVar("T")


@dataclass(frozen=True)
class Answer(Generic[T]):
    """The cloud's answer."""

    value: T


@dataclass(frozen=True)
class NoSuch:
    """The cloud answered that there is no such thing; ``known`` lists what there is, for the message."""

    known: tuple[str, ...] = ()


@dataclass(frozen=True)
class Several:
    """More than one has the name: a person must say which is meant."""

    ids: tuple[str, ...]


@dataclass(frozen=True)
class NoAnswer:
    """The cloud could not be asked; ``after`` is seconds of domain time until it is worth asking again."""

    reason: Reason
    message: str
    after: float = 10.0


NOT_ASKED = NoAnswer(Reason.REQUIREMENT, "the cloud has not been asked yet", 0.0)
