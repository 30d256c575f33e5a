"""Answers of the cloud to the questions of an adapter, as values, so that the decisions stay pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from freehold.engine.errors import CloudError
from freehold.engine.outcomes import Reason, outcome_of_error

T = TypeVar("T")


@dataclass(frozen=True)
class Answer(Generic[T]):
    """An answer of the cloud."""

    value: T


@dataclass(frozen=True)
class NotThere:
    """The answer that there is no such thing; ``known`` lists what there is, for the message."""

    known: tuple[str, ...] = ()


@dataclass(frozen=True)
class SeveralFound:
    """The answer that several have the name: a person must say which is meant."""

    ids: tuple[str, ...]


@dataclass(frozen=True)
class NoAnswer:
    """The cloud did not answer; ``after`` is the seconds of domain time until it should be asked again."""

    reason: Reason
    message: str
    after: float = 10.0


def to_no_answer(error: CloudError) -> NoAnswer:
    """Turn the error of a question into the answer that there is none."""
    outcome = outcome_of_error(error)
    return NoAnswer(outcome.reason, outcome.message, outcome.after)


NOT_ASKED = NoAnswer(Reason.REQUIREMENT, "the cloud has not been asked yet", 0.0)
