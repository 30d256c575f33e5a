"""The audit log of a run, kept in memory, and its comparison with the cloud's own record."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from freehold.engine.errors import CloudError, Unknown
from freehold.engine.port import Call, Effect
from lab.faults import Crash


class Heard(Enum):
    """The entries of the audit log for one request."""

    SENT = "sent"  # without a result: the process ended before it had an answer
    DONE = "done"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class CloudRequest:
    """A request to change the cloud, from the cloud's own record. ``subject`` occurs in the subject of its call."""

    operation: str
    subject: str
    refused: bool

    def __str__(self) -> str:
        return f"{self.operation} {self.subject}".rstrip()


@dataclass
class Line:
    """The lines of one call: when it was sent, and its result."""

    call: Call
    heard: Heard = Heard.SENT
    killed: bool = False

    @property
    def operation(self) -> str:
        return f"{self.call.api}.{self.call.operation}"


@dataclass
class Recorder:
    """The product's ``Audit`` in memory. A killed process writes nothing more, like a real one."""

    lines: list[Line] = field(default_factory=list)
    invalid: list[str] = field(default_factory=list)
    left: list[tuple[str, str]] = field(default_factory=list)

    def log_collected(self, subject: str, summary: str) -> None:
        """The deletes themselves are checked."""

    def log_kept(self, subject: str, resource: str, why: str) -> None:
        self.left.append((resource, why))

    def log_decided(self, subject: str, what: str, by: str, *, done: bool, why: str) -> None:
        """No family has a person who decides."""

    def log_sent(self, subject: str, call: Call) -> None:
        self.lines.append(Line(call))

    def log_done(self, subject: str, call: Call, error: BaseException | None) -> None:
        open_lines = [line for line in self.lines if line.call is call and line.heard is Heard.SENT and not line.killed]
        if len(open_lines) != 1:
            self.invalid.append(f"an outcome for {len(open_lines)} open lines of {call.operation} {call.subject}")
        for line in open_lines[:1]:
            if isinstance(error, Crash):
                line.killed = True
            else:
                line.heard = _heard(error)

    def unlike(self, asked: Iterable[Call], requests: Sequence[CloudRequest]) -> list[str]:
        """The differences between the log, the calls of the engine and the cloud's own record of requests."""
        wrong = list(self.invalid)
        writes = [call for call in asked if call.effect is Effect.WRITE]
        # The order is not compared: two processes that act in turn have calls under way at the same time.
        if sorted(id(line.call) for line in self.lines) != sorted(id(call) for call in writes):
            wrong.append(f"the audit log has {len(self.lines)} calls, the engine made {len(writes)}")
        wrong += [
            f"{line.operation} {line.call.subject} was sent and has no outcome, though nobody was killed"
            for line in self.lines
            if line.heard is Heard.SENT and not line.killed
        ]
        return wrong + _compared(self.lines, requests)


def _heard(error: BaseException | None) -> Heard:
    if error is None:
        return Heard.DONE
    if isinstance(error, CloudError) and not isinstance(error, Unknown):
        return Heard.REFUSED
    return Heard.UNKNOWN


def _compared(lines: Sequence[Line], requests: Sequence[CloudRequest]) -> list[str]:
    """Each request that reached the cloud belongs to one call with the same outcome.

    A call that was refused or whose outcome is not known may not have reached the cloud at all; one whose outcome
    is known to be done must have.
    """
    subjects: dict[str, set[str]] = defaultdict(set)
    for request in requests:
        subjects[request.operation].add(request.subject)
    heard: dict[tuple[str, str], list[Heard]] = defaultdict(list)
    for line in lines:
        fitting = max((s for s in subjects[line.operation] if s in line.call.subject), key=len, default=None)
        heard[line.operation, line.call.subject if fitting is None else fitting].append(line.heard)
    took: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for request in requests:
        took[request.operation, request.subject].append(request.refused)
    wrong = []
    for key in sorted({*heard, *took}):
        done, refused = took[key].count(False), took[key].count(True)
        said = heard[key]
        unsure = said.count(Heard.SENT) + said.count(Heard.UNKNOWN)
        unheard = max(0, done - said.count(Heard.DONE)) + max(0, refused - said.count(Heard.REFUSED))
        if done < said.count(Heard.DONE):
            wrong.append(f"{' '.join(key)}: done {said.count(Heard.DONE)} times in the audit log, {done} in the cloud")
        if unheard > unsure:
            wrong.append(f"{' '.join(key)}: {done} done and {refused} refused in the cloud; audited: {_words(said)}")
    return wrong


def _words(said: Sequence[Heard]) -> str:
    return ", ".join(heard.value for heard in said) or "nothing"
