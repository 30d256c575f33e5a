"""What the last pass over each ``CloudMetadata`` came to, whole: a status names five resources, this names all."""

from __future__ import annotations

from typing import Any, Final

from freehold.kube.resources import Json, Key
from freehold.lifecycle.errors import CloudError
from freehold.reconcilers.metadata.demand import Refused
from freehold.reconcilers.metadata.outcome import Outcome

OUTCOMES: Final = "/freehold/tag-outcomes"
"""Where the server of a state directory answers with them."""


class TagOutcomes:
    """An observer (tag_observer) that remembers. In memory only: the next process begins with nothing."""

    def __init__(self) -> None:
        self._last: dict[Key, Json] = {}
        self._passes = 0

    def __call__(self, key: Key, outcome: Outcome | Refused | None) -> None:
        self._passes += 1
        self._last.pop(key, None)
        if outcome is not None:
            self._last[key] = {"pass": self._passes, **_told(outcome)}

    async def answer(self, body: Json) -> Json:
        """By ``namespace/name``. ``pass`` grows with each pass of any object."""
        return {"passes": self._passes, "objects": {str(key): found for key, found in self._last.items()}}


def _told(outcome: Outcome | Refused) -> dict[str, Any]:
    if isinstance(outcome, Refused):
        return {"refused": outcome.message, "failed": {}}
    errors = {**outcome.unasked, **outcome.failed}
    return {"refused": outcome.problem, "failed": {where: _error(error) for where, error in sorted(errors.items())}}


def _error(error: CloudError) -> dict[str, str]:
    return {"class": type(error).__name__, "code": error.code, "message": error.message}
