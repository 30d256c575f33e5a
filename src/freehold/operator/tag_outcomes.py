"""What the last pass over each ``CloudMetadata`` came to, whole: a status names five resources, this names all."""

from __future__ import annotations

from typing import Any, Final

from freehold.kube.resources import Json, Key
from freehold.lifecycle.errors import CloudError
from freehold.operator.tag_observer import Outcomes
from freehold.reconcilers.metadata.outcome import Outcome
from freehold.reconcilers.metadata.references import Refused

OUTCOMES: Final = "/freehold/tag-outcomes"
"""Where the server of a state directory answers with them."""


class TagOutcomes:
    """An observer (tag_observer) that remembers. In memory only: the next process begins with nothing."""

    def __init__(self) -> None:
        self._last: dict[Key, Json] = {}
        self._passes = 0

    def __call__(self, key: Key, outcomes: Outcomes | None) -> None:
        self._passes += 1
        self._last.pop(key, None)
        if outcomes is not None:
            self._last[key] = {"pass": self._passes, **_told(outcomes)}

    async def answer(self, body: Json) -> Json:
        """By ``namespace/name``. ``pass`` grows with each pass of any object."""
        return {"passes": self._passes, "objects": {str(key): found for key, found in self._last.items()}}


def _told(outcomes: Outcomes) -> dict[str, Any]:
    """``refused`` is empty where nothing stops an object whole."""
    stopped = [each.message if isinstance(each, Refused) else each.problem for each in outcomes]
    worked = [each for each in outcomes if isinstance(each, Outcome)]
    errors = {where: error for each in worked for where, error in {**each.unasked, **each.failed}.items()}
    failed = {where: _error(error) for where, error in sorted(errors.items())}
    return {"refused": "; ".join(filter(None, stopped)), "failed": failed}


def _error(error: CloudError) -> dict[str, str]:
    return {"class": type(error).__name__, "code": error.code, "message": error.message}
