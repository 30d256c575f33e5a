"""What a look at a manifest finds: a problem stops the object, a note does not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from freehold.api.parse import Problem as Problem


@dataclass(frozen=True)
class SpecWarning:
    """Something that a person should know although nothing is wrong, most often a field that is not acted on.

    ``served`` tells the others apart: the field is acted on, but not quite as a person may expect.
    """

    field: str
    message: str
    served: bool = False

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def text(findings: Iterable[Problem | SpecWarning]) -> str:
    """Join all findings to one line for a condition; deterministic: in the order in which they were made."""
    return "; ".join(map(str, findings))
