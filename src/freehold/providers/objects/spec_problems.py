"""Findings in a manifest: a problem stops the object, a warning does not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from freehold.api.parse import SpecProblem as SpecProblem


@dataclass(frozen=True)
class SpecWarning:
    """A warning for a person although nothing is wrong, most often about a field that is not acted on.

    ``served``: the field is acted on, but not as a person may expect.
    """

    field: str
    message: str
    served: bool = False

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def join_problems(findings: Iterable[SpecProblem | SpecWarning]) -> str:
    """Join the findings, in their order, to one line for a condition."""
    return "; ".join(map(str, findings))
