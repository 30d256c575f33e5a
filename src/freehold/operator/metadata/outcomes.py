"""What the last pass over each ``CloudMetadata`` came to, whole: a status names five resources, this names all."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

from freehold.engine.errors import CloudError
from freehold.kube.resources import Json, Key
from freehold.operator.metadata.observer import Outcomes
from freehold.reconcilers.metadata.outcome import Outcome
from freehold.reconcilers.metadata.references import Refused
from freehold.reconcilers.metadata.status import left_of
from freehold.tagging.configuration import Configuration
from freehold.tagging.protected import IgnoreList

OUTCOMES: Final = "/freehold/tag-outcomes"
"""Where the server of a state directory answers with them."""


class TagOutcomes:
    """An observer (observer) that remembers. In memory only: the next process begins with nothing.

    ``configuration`` is the operator's: a plan that is made elsewhere goes by it.
    """

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self._last: dict[Key, Json] = {}
        self._passes = 0

    def __call__(self, key: Key, outcomes: Outcomes | None) -> None:
        self._passes += 1
        self._last.pop(key, None)
        if outcomes is not None:
            self._last[key] = {"pass": self._passes, **_told(outcomes)}

    async def answer(self, body: Json) -> Json:
        """By ``namespace/name``. ``pass`` grows with each pass of any object."""
        objects = {str(key): found for key, found in self._last.items()}
        return {"passes": self._passes, "objects": objects, "configuration": _plain(self._configuration)}


def _plain(configuration: Configuration) -> dict[str, Any]:
    ignored = {"keys": sorted(configuration.ignored.keys), "prefixes": list(configuration.ignored.prefixes)}
    return {**asdict(configuration), "ignored": ignored}


def configuration_of(answer: Json) -> Configuration | None:
    """The operator's, as an answer tells it; None where a server of an earlier version does not."""
    told = answer.get("configuration")
    if told is None:
        return None
    ignored = IgnoreList(frozenset(told["ignored"]["keys"]), tuple(told["ignored"]["prefixes"]))
    return Configuration(float(told["period"]), int(told["approve_above"]), ignored)


def _told(outcomes: Outcomes) -> dict[str, Any]:
    """``refused`` is empty where nothing stops an object whole, ``waits`` where nothing waits for a person.

    ``left``: resources on which something that was asked for is not so, and why.
    """
    stopped = [each.message if isinstance(each, Refused) else each.problem for each in outcomes]
    worked = [each for each in outcomes if isinstance(each, Outcome)]
    errors = {where: error for each in worked for where, error in {**each.unasked, **each.failed}.items()}
    failed = {where: _error(error) for where, error in sorted(errors.items())}
    waits = "; ".join(each.approval.message for each in worked if each.approval)
    left = {where: why for each in worked for where, why in left_of(each).items()}
    return {"refused": "; ".join(filter(None, stopped)), "waits": waits, "failed": failed, "left": left}


def _error(error: CloudError) -> dict[str, str]:
    return {"class": type(error).__name__, "code": error.code, "message": error.message}
