"""A view of one object: read from its status, decided here, printed elsewhere. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any

from freehold.api import names
from freehold.api.conditions import find_condition
from freehold.engine.reasons import EXTERNAL, MACHINES, Reason

Json = Mapping[str, Any]

_ON_THE_WAY = frozenset({names.REASON_NOT_READY, names.REASON_READY, names.REASON_READY_UNKNOWN, names.REASON_DELETING})
"""Reasons of the Ready condition that ask nothing of anybody."""

_RETRIED = frozenset({Reason.RETRYING.value, Reason.THROTTLED.value})
"""The cloud gave no answer, or asked for patience: it is asked again, and nobody has to act."""

_HELD = Reason.IN_USE.value
"""The cloud refuses a delete because of what is in it or uses it: that may leave by itself, or be a stranger's."""

_HELD_BY_OTHERS = frozenset({names.REASON_WAITING_FOR_CLUSTER_INFRASTRUCTURE})
"""Reasons of the Ready condition of an object that waits for another one, which is made or not there."""

_IDLE = _RETRIED | {_HELD, Reason.REQUIREMENT.value, Reason.DEPENDENTS.value}
"""Reasons of a Waiting resource that does not get on by itself: another one must first, or the cloud must answer."""

_LEFT_OF_OURS = frozenset({Reason.MARK_LOST.value, Reason.SERVES_KEPT.value, Reason.GIVEN_UP.value})


@dataclass(frozen=True)
class Line:
    """One resource, as the status reports it. ``since`` is domain time in epoch seconds, 0 when unknown."""

    kind: str
    name: str
    id: str
    state: str
    ownership: str
    reason: str
    message: str
    since: float
    waits_for: tuple[str, ...] = ()
    """Kind and name of each resource that must be ready first."""

    @property
    def key(self) -> tuple[str, str]:
        return self.kind, self.name

    @property
    def moving(self) -> bool:
        return self.state in ("Waiting", "Deleting") and self.reason not in _IDLE

    @property
    def note(self) -> str:
        """Why it is in this state, in few words."""
        if self.state == "Ready":
            return self.message if self.ownership != "unmanaged" else self.message or "given, not ours"
        return self.message or self.reason


@dataclass(frozen=True)
class Blocker:
    """Something that blocks: the reason as a value, and a sentence on what it is, and who must act.

    ``line`` is the resource that it is about; None where it is the object as a whole. ``since`` as in :class:`Line`.
    """

    reason: str
    sentence: str
    since: float = 0.0
    line: Line | None = None


class ViewPhase(Enum):
    """The state of an object as a whole."""

    READY = "Ready"
    PROGRESSING = "Progressing"
    BLOCKED = "Blocked"
    PAUSED = "Paused"
    DELETING = "Deleting"


@dataclass(frozen=True)
class View:
    """One object of ours. ``blockers`` are what somebody must act on; empty while nobody must.

    ``held`` are sentences too: what keeps a delete waiting, and may need somebody or not.
    ``retrying`` are what the cloud gave no answer to, and is asked again. ``outdated``: it says nothing yet of what is
    wanted now, or of what its resources are like now. ``reason`` is that of the Ready condition. ``deleting``: its
    deletion was requested, also where a pause holds it up.
    """

    kind: str
    namespace: str
    name: str
    phase: ViewPhase
    lines: tuple[Line, ...]
    endpoint: str
    blockers: tuple[Blocker, ...]
    held: tuple[str, ...]
    retrying: tuple[str, ...]
    notes: tuple[str, ...]
    moving: bool
    has_status: bool
    outdated: bool = False
    reason: str = ""
    deleting: bool = False

    @property
    def title(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"

    @property
    def blocked(self) -> tuple[str, ...]:
        """The sentences of the blockers."""
        return tuple(each.sentence for each in self.blockers)

    @property
    def ready_count(self) -> str:
        return f"{sum(line.state == 'Ready' for line in self.lines)}/{len(self.lines)}"

    @property
    def deviations(self) -> tuple[str, ...]:
        """Sentences on what is not as the spec wants although the object is Ready: drift and surplus."""
        drifted = Reason.DRIFTED.value
        lines = (line for line in self.lines if line.state == "Surplus" or line.reason == drifted)
        return tuple(f"{line.kind} {line.name}: {line.message or line.state.lower()}" for line in lines)

    @property
    def not_ours(self) -> tuple[Line, ...]:
        """Resources that a delete leaves alone; what has no id never came to be."""
        return tuple(
            line
            for line in self.lines
            if line.state == "Kept" or (line.id and line.ownership in ("unmanaged", "unknown"))
        )

    @property
    def left_of_ours(self) -> bool:
        """Return whether a delete left something that the object owned."""
        return any(line.reason in _LEFT_OF_OURS for line in self.lines if line.state == "Kept")

    @property
    def not_looked_for(self) -> tuple[Line, ...]:
        """Resources that status called ours, and that a delete had on no record."""
        return tuple(line for line in self.lines if line.state == "Unknown" and line.ownership in names.OURS)

    @property
    def behind(self) -> str:
        """Name what waits until others are there; empty where nothing does."""
        waiting = Reason.REQUIREMENT.value
        return ", ".join(
            f"{line.kind} {line.name}" for line in self.lines if line.reason == waiting and not line.moving
        )

    @property
    def owned(self) -> bool:
        """Return whether a delete removed anything."""
        return any(line.state == "Gone" for line in self.lines)


def view(obj: Json, *, news: bool = True) -> View:
    """Read what the object says of itself. An older generation's status, or one that is no ``news``, counts as none."""
    metadata, status = obj["metadata"], obj.get("status") or {}
    conditions = status.get("conditions") or []
    lines = tuple(map(read_line, status.get("resources") or ()))
    deleting = "deletionTimestamp" in metadata
    waits = not conditions and (metadata.get("annotations") or {}).get(names.PAUSED_ANNOTATION) == names.RECOVERED
    current = (_current(metadata, conditions) or waits) and news
    # The request of a delete is a generation of its own. While paused, nothing but the pause is reported.
    paused = news and (waits or _is_paused(metadata, conditions))
    outdated = not current and not paused
    blockers = () if outdated else tuple(_find_blockers(conditions, lines, deleting=deleting))
    if waits:
        blockers = (*blockers, Blocker(names.RECOVERED, f"paused: {names.RECOVERED_WAITS}"))
    return View(
        kind=str(obj.get("kind", "")),
        namespace=str(metadata.get("namespace") or ""),
        name=str(metadata["name"]),
        phase=ViewPhase.PAUSED if paused else _phase(deleting, conditions, blockers, current),
        lines=lines,
        endpoint=_endpoint(obj),
        blockers=blockers,
        held=tuple(_find_holds(conditions, lines, outdated=outdated)),
        retrying=() if outdated else tuple(_retrying(conditions, lines)),
        outdated=outdated,
        notes=tuple(_notes(conditions)),
        moving=outdated or any(line.moving for line in lines) or (not lines and not blockers),
        has_status=bool(conditions),
        reason=str((find_condition(conditions, names.READY) or {}).get("reason") or ""),
        deleting=deleting,
    )


def _find_holds(conditions: Sequence[Json], lines: Iterable[Line], *, outdated: bool) -> Iterable[str]:
    """Yield what may need somebody, or end by itself."""
    ready = find_condition(conditions, names.READY) or {}
    if ready.get("reason") in _HELD_BY_OTHERS and not outdated:
        yield str(ready.get("message") or ready["reason"])
    yield from (sentence(line) for line in lines if line.state == "Waiting" and _is_held(line))


def _is_held(line: Line) -> bool:
    """Return whether it may need somebody, or end by itself: machines that run hold the collection."""
    return line.reason == _HELD or line.key == (EXTERNAL, MACHINES)


def read_line(row: Json) -> Line:
    """Read one row of a status. Whatever its fields are, they are read as texts."""
    kind, name, ident, state, ownership, reason, message = [str(row.get(field) or "") for field in _LINE_FIELDS]
    waits_for = tuple(map(str, row.get("waitsFor") or ()))
    return Line(kind, name, ident, state, ownership, reason, message, read_seconds(row.get("since")), waits_for)


_LINE_FIELDS = ("kind", "name", "id", "state", "ownership", "reason", "message")


def _current(metadata: Json, conditions: Sequence[Json], type_: str = names.READY) -> bool:
    found = find_condition(conditions, type_) or {}
    return int(found.get("observedGeneration") or 0) >= int(metadata.get("generation") or 0)


def _is_paused(metadata: Json, conditions: Sequence[Json]) -> bool:
    paused = find_condition(conditions, names.PAUSED) or {}
    return paused.get("status") == "True" and _current(metadata, conditions, names.PAUSED)


def _phase(deleting: bool, conditions: Sequence[Json], blockers: Sequence[Blocker], current: bool) -> ViewPhase:
    if deleting:
        return ViewPhase.DELETING
    if not current:
        return ViewPhase.PROGRESSING
    if (find_condition(conditions, names.READY) or {}).get("status") == "True":
        return ViewPhase.READY
    return ViewPhase.BLOCKED if blockers else ViewPhase.PROGRESSING


def _find_blockers(conditions: Sequence[Json], lines: Iterable[Line], *, deleting: bool) -> Iterable[Blocker]:
    """Yield what blocks. A delete does not ask the spec, so a wrong one does not hold it up."""
    paused = find_condition(conditions, names.PAUSED) or {}
    if paused.get("status") == "True":
        yield _block(paused, f"paused: {paused.get('message') or 'nothing is done until the pause is lifted'}")
    invalid = find_condition(conditions, names.SPEC_VALID) or {}
    if invalid.get("status") == "False" and not deleting:
        for each in _findings(str(invalid.get("message") or "the spec is not valid")):
            yield _block(invalid, each)
    rows = [Blocker(line.reason, sentence(line), line.since, line) for line in lines if line.state == "Blocked"]
    yield from rows
    ready = find_condition(conditions, names.READY) or {}
    held = ready.get("status") != "True" and ready.get("reason") not in _ON_THE_WAY | _RETRIED | _HELD_BY_OTHERS
    if ready and held and not rows and invalid.get("status") != "False" and paused.get("status") != "True":
        yield _block(ready, str(ready.get("message") or ready.get("reason")))


def _block(condition: Json, said: str) -> Blocker:
    return Blocker(str(condition.get("reason") or ""), said, read_seconds(condition.get("lastTransitionTime")))


def sentence(line: Line) -> str:
    """Say which resource, and why it is in its state."""
    return f"{line.kind} {line.name}: {line.message or line.reason}"


def _retrying(conditions: Sequence[Json], lines: Iterable[Line]) -> Iterable[str]:
    ready = find_condition(conditions, names.READY) or {}
    if ready.get("reason") in _RETRIED:
        yield from _findings(str(ready.get("message") or ready["reason"]))
    yield from (sentence(line) for line in lines if line.state == "Waiting" and line.reason in _RETRIED)


def _notes(conditions: Sequence[Json]) -> Iterable[str]:
    served = find_condition(conditions, names.FIELDS_SERVED) or {}
    if served.get("message"):
        yield from _findings(str(served["message"]))
    collection = find_condition(conditions, names.EXTERNAL_RESOURCE_GC) or {}
    if collection.get("reason") == names.REASON_INVALID_COLLECTION_POLICY:
        yield str(collection.get("message") or collection["reason"])


def _findings(message: str) -> list[str]:
    """Split the findings of a condition, which are in one line; each begins with the path of its field."""
    return re.split(r"; (?=(?:spec|metadata)[.\[])", message)


def _endpoint(obj: Json) -> str:
    endpoint = (obj.get("spec") or {}).get("controlPlaneEndpoint") or {}
    host, port = endpoint.get("host"), endpoint.get("port", 0)
    if not host:
        return ""
    return host if host.startswith("https://") and port == 443 else f"{host}:{port}"  # EKS gives a URL


def read_seconds(timestamp: Any) -> float:
    """Read a time in wire form as epoch seconds; 0 where there is none, or none that can be read."""
    try:
        return datetime.fromisoformat(str(timestamp)).timestamp()
    except (ValueError, OverflowError):
        return 0.0
