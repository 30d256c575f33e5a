"""Who is told what each pass of the metadata controller came to: metrics, the server of a state directory, plans."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Protocol

from freehold.engine.errors import CloudError
from freehold.kube.resources import Json, Key
from freehold.providers.access.audit import Changes
from freehold.tags.policy.batches import Batch
from freehold.tags.policy.configuration import Configuration
from freehold.tags.policy.outcome import Outcome
from freehold.tags.policy.protected import IgnoreList
from freehold.tags.policy.references import Refused
from freehold.tags.policy.resources import Tags
from freehold.tags.policy.status import left_of


class ChangeWatch(Protocol):
    """Is told of each call that changes tags. ``subject`` is the object that it is sent for."""

    def sending(self, subject: str, changes: Changes) -> None: ...

    def note_answer(self, subject: str, batch: Batch, changes: Changes, errors: Mapping[str, CloudError]) -> None:
        """Hear that the call succeeded, but for the resources in ``errors``."""
        ...


class ChangeAudit(Protocol):
    """Where the lines go (audit.FileAudit)."""

    def log_changes(self, subject: str, changes: Changes) -> None: ...

    def log_refused(self, subject: str, resource: str, error: CloudError) -> None: ...


class AuditedChanges:
    """A line before each call, and one after it for each resource that the service refused within it."""

    def __init__(self, audit: ChangeAudit) -> None:
        self._audit = audit

    def sending(self, subject: str, changes: Changes) -> None:
        self._audit.log_changes(subject, changes)

    def note_answer(self, subject: str, batch: Batch, changes: Changes, errors: Mapping[str, CloudError]) -> None:
        for resource, error in errors.items():
            self._audit.log_refused(subject, resource, error)


@dataclass(frozen=True)
class Announcer:
    """Tells all who watch of the calls of one pass. ``seen``: the tags of each resource as they were read."""

    subject: str = ""
    seen: Mapping[str, Tags] | None = None
    watches: Sequence[ChangeWatch] = ()

    def sending(self, batch: Batch) -> None:
        for watch in self.watches:
            watch.sending(self.subject, changes_of(batch, self.seen or {}))

    def note_answer(self, batch: Batch, errors: Mapping[str, CloudError]) -> None:
        for watch in self.watches:
            watch.note_answer(self.subject, batch, changes_of(batch, self.seen or {}), errors)


def changes_of(batch: Batch, seen: Mapping[str, Tags]) -> Changes:
    """Spell out what a call does. ``seen``: the tags of each resource as they were read."""
    removes = batch.verb.removes
    return {
        target: {key: (_value(seen.get(target, {}).get(key)), None if removes else value) for key, value in batch.tags}
        for target in batch.targets
    }


def _value(found: frozenset[str] | None) -> str | None:
    """Of a cloud with several values for a key all of them."""
    return None if found is None else ", ".join(sorted(found))


OUTCOMES: Final = "/freehold/tag-outcomes"
"""Where the server of a state directory answers with them."""

Outcomes = Sequence[Outcome | Refused]
"""One for each provider's object, or why there are none."""

Observer = Callable[[Key, Outcomes | None], None]
"""Called for a CloudMetadata after each pass, with None once it is gone."""

ReadyObserver = Callable[[Key, bool], None]
"""Called for a CloudMetadata when its status is told, also where it has not changed: with whether it is Ready."""


@dataclass(frozen=True)
class PassHooks:
    """``watches`` are told of calls that change tags. ``dry``: where calls are kept instead of being sent."""

    passed: Observer = lambda key, outcomes: None
    ready: ReadyObserver = lambda key, is_ready: None
    watches: Sequence[ChangeWatch] = ()
    dry: list[Batch] | None = None


class TagOutcomes:
    """An Observer that remembers what the last pass over each object came to: a status names five resources, this all.

    In memory only: the next process begins with nothing. ``configuration`` is the operator's: a plan that is made
    elsewhere goes by it.
    """

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self._last: dict[Key, Json] = {}
        self._passes = 0

    def __call__(self, key: Key, outcomes: Outcomes | None) -> None:
        self._passes += 1
        self._last.pop(key, None)
        if outcomes is not None:
            self._last[key] = {"pass": self._passes, **_document(outcomes)}

    async def answer(self, body: Json) -> Json:
        """By ``namespace/name``. ``pass`` grows with each pass of any object."""
        ignored = self._configuration.ignored
        listed = {"keys": sorted(ignored.keys), "prefixes": list(ignored.prefixes)}
        return {
            "passes": self._passes,
            "objects": {str(key): found for key, found in self._last.items()},
            "configuration": {**asdict(self._configuration), "ignored": listed},
        }


def configuration_of(answer: Json) -> Configuration | None:
    """Read the operator's configuration from an answer; None where a server of an earlier version does not say it."""
    said = answer.get("configuration")
    if said is None:
        return None
    ignored = IgnoreList(frozenset(said["ignored"]["keys"]), tuple(said["ignored"]["prefixes"]))
    return Configuration(float(said["period"]), int(said["approve_above"]), ignored)


def _document(outcomes: Outcomes) -> dict[str, Any]:
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
