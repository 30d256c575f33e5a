"""Status of an object of any kind: of one that is paused or held, and the merge of conditions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from freehold.api import conditions as api_conditions
from freehold.api import names
from freehold.api.conditions import Observation
from freehold.providers.objects.adapter import StatusUpdate


def build_paused_update(raw: Mapping[str, Any], message: str, now: datetime, order: Sequence[str] = ()) -> StatusUpdate:
    """Build the status of a paused object, the only write during a pause (docs/reference/capi-contract.md C24).

    Ready stays as it was, but an object that is being deleted is never Ready (C9).
    """
    observed = [Observation(names.PAUSED, "True", names.REASON_PAUSED, message)]
    if "deletionTimestamp" in raw["metadata"]:
        waits = f"it is being deleted once the pause ends: {message}"
        observed.append(Observation(names.READY, "False", names.REASON_DELETING, waits))
    return _update_conditions(raw, observed, now, order)


def build_held_update(
    raw: Mapping[str, Any],
    reason: str,
    message: str,
    now: datetime,
    parts: Sequence[Observation] = (),
    order: Sequence[str] = (),
) -> StatusUpdate:
    """Build the status of an object that waits, is read-only, or cannot be read: Ready says why.

    Other conditions than Ready, Paused and ``parts`` stay as they were.
    """
    ready = Observation(names.READY, "False", reason, message)
    return _update_conditions(raw, [ready, *parts, observe_not_paused()], now, order)


def build_machine_wait_update(
    raw: Mapping[str, Any], message: str, now: datetime, order: Sequence[str] = ()
) -> StatusUpdate:
    """Build the status of an object in deletion whose machines go first (docs/reference/capi-contract.md C22)."""
    ready = Observation(names.READY, "False", names.REASON_DELETING, message)
    deleting = Observation(names.DELETING, "True", names.REASON_WAITING_FOR_DEPENDENTS, message)
    return _update_conditions(raw, [ready, deleting, observe_not_paused()], now, order)


def observe_not_paused() -> Observation:
    return Observation(names.PAUSED, "False", names.REASON_NOT_PAUSED)


def build_update(
    raw: Mapping[str, Any],
    status: dict[str, Any],
    observations: Sequence[Observation],
    now: datetime,
    *,
    spec: Mapping[str, Any] | None = None,
    obsolete: Collection[str] = (),
    order: Sequence[str] = (),
) -> StatusUpdate:
    """Merge these conditions into ``status``, and drop the ``obsolete`` types; ``order`` is the kind's."""
    generation = int(raw["metadata"].get("generation", 0))
    before: Sequence[Mapping[str, Any]] = status.get("conditions") or ()
    kept = api_conditions.remove_types(before, set(obsolete))
    status["conditions"] = api_conditions.merge(kept, observations, generation=generation, now=now, parts=order)
    deleting = "deletionTimestamp" in raw["metadata"]
    status["phase"] = api_conditions.choose_phase(
        status["conditions"], status.get("resources") or (), deleting=deleting
    )
    if observations[0].type != names.PAUSED:  # while paused, nothing of the spec was looked at
        status["observedGeneration"] = generation
    return StatusUpdate(status, spec, status != (raw.get("status") or {}))


def _update_conditions(
    raw: Mapping[str, Any], observations: Sequence[Observation], now: datetime, order: Sequence[str]
) -> StatusUpdate:
    before = raw.get("status") or {}
    return build_update(raw, {**before, "ready": before.get("ready") is True}, observations, now, order=order)
