"""Status of an object of any kind: what is written while nothing may be done for it, and how conditions are merged."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from freehold.api import conditions as api_conditions
from freehold.api import names
from freehold.api.conditions import Observation
from freehold.providers.objects.adapter import StatusUpdate


def paused(raw: Mapping[str, Any], message: str, now: datetime, order: Sequence[str] = ()) -> StatusUpdate:
    """Tell of a pause: the only write while it lasts (docs/reference/capi-contract.md C24).

    Ready stays as it was, but not on an object that is being deleted: that is never Ready (C9).
    """
    observed = [Observation(names.PAUSED, "True", names.REASON_PAUSED, message)]
    if "deletionTimestamp" in raw["metadata"]:
        waits = f"it is being deleted once the pause ends: {message}"
        observed.append(Observation(names.READY, "False", names.REASON_DELETING, waits))
    return _with_conditions(raw, observed, now, order)


def held(
    raw: Mapping[str, Any],
    reason: str,
    message: str,
    now: datetime,
    parts: Sequence[Observation] = (),
    order: Sequence[str] = (),
) -> StatusUpdate:
    """The object waits for somebody, is read-only, or cannot be read: Ready says why.

    All parts but ``parts`` stay as they were.
    """
    ready = Observation(names.READY, "False", reason, message)
    return _with_conditions(raw, [ready, *parts, not_paused()], now, order)


def waiting_for_machines(
    raw: Mapping[str, Any], message: str, now: datetime, order: Sequence[str] = ()
) -> StatusUpdate:
    """It is being deleted, and the machines that use it go first (docs/reference/capi-contract.md C22)."""
    ready = Observation(names.READY, "False", names.REASON_DELETING, message)
    deleting = Observation(names.DELETING, "True", names.REASON_WAITING_FOR_DEPENDENTS, message)
    return _with_conditions(raw, [ready, deleting, not_paused()], now, order)


def not_paused() -> Observation:
    return Observation(names.PAUSED, "False", names.REASON_NOT_PAUSED)


def updated(
    raw: Mapping[str, Any],
    status: dict[str, Any],
    observations: Sequence[Observation],
    now: datetime,
    *,
    spec: Mapping[str, Any] | None = None,
    obsolete: Collection[str] = (),
    order: Sequence[str] = (),
) -> StatusUpdate:
    """Return ``status`` with these conditions and without the ``obsolete`` types; ``order`` is that of its kind."""
    generation = int(raw["metadata"].get("generation", 0))
    before: Sequence[Mapping[str, Any]] = status.get("conditions") or ()
    kept = api_conditions.without(before, set(obsolete))
    status["conditions"] = api_conditions.merge(kept, observations, generation=generation, now=now, parts=order)
    deleting = "deletionTimestamp" in raw["metadata"]
    status["phase"] = api_conditions.phase(status["conditions"], status.get("resources") or (), deleting=deleting)
    if observations[0].type != names.PAUSED:  # while paused, nothing of the spec was looked at
        status["observedGeneration"] = generation
    return StatusUpdate(status, spec, status != (raw.get("status") or {}))


def _with_conditions(
    raw: Mapping[str, Any], observations: Sequence[Observation], now: datetime, order: Sequence[str]
) -> StatusUpdate:
    before = raw.get("status") or {}
    return updated(raw, {**before, "ready": before.get("ready") is True}, observations, now, order=order)
