"""Decisions about one Lease, with the semantics of client-go's leader election. Pure: times are given.

The times in a record are for people. Nobody compares them with a clock: a process that wants the Lease measures, by its
own monotonic clock, for how long it has not seen the record change
(https://pkg.go.dev/k8s.io/client-go/tools/leaderelection).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from freehold.kube.resources import Json, Resource

LEASES: Final = Resource("coordination.k8s.io", "v1", "leases", "Lease")
NAME: Final = "freehold-operator"
"""The name of the Lease of the one process that works on all objects."""

LEASE_SECONDS: Final = 15
"""Others take a Lease that has not changed for so long."""
LONGEST_SECONDS: Final = 60
"""The longest that a record may ask for, so that a slip of a hand does not leave all objects unserved."""
MARGIN_SECONDS: Final = 1.0
"""The holder counts on so much less: clocks do not run at quite the same speed."""
RENEW_SECONDS: Final = 5.0
RETRY_SECONDS: Final = 1.0
"""Between two looks of a process that waits, and after a failed attempt."""
RELEASED_SECONDS: Final = 1
"""The duration in a record that was given back, as client-go writes it."""


@dataclass(frozen=True)
class LeaseRecord:
    """The spec of a Lease. Without a ``holder`` it is free."""

    holder: str = ""
    duration: int = LEASE_SECONDS
    acquired: str = ""
    renewed: str = ""
    transitions: int = 0

    def build_spec(self) -> Json:
        """Build the spec of the Lease."""
        return {
            "holderIdentity": self.holder,
            "leaseDurationSeconds": self.duration,
            "acquireTime": self.acquired,
            "renewTime": self.renewed,
            "leaseTransitions": self.transitions,
        }


@dataclass(frozen=True)
class Observation:
    """A record, and when this process saw it change, by its monotonic clock."""

    record: LeaseRecord
    since: float


def read_record(stored: Json) -> LeaseRecord:
    """Read the record of a stored Lease, also one that somebody edited by hand."""
    spec = stored.get("spec") or {}
    return LeaseRecord(
        holder=str(spec.get("holderIdentity") or ""),
        duration=_read_number(spec.get("leaseDurationSeconds"), LEASE_SECONDS),
        acquired=str(spec.get("acquireTime") or ""),
        renewed=str(spec.get("renewTime") or ""),
        transitions=_read_number(spec.get("leaseTransitions"), 0),
    )


def observe(before: Observation | None, record: LeaseRecord, now: float) -> Observation:
    """Note a record that was read: its time counts anew only if it has changed."""
    return before if before is not None and before.record == record else Observation(record, now)


def find_wait(seen: Observation, identity: str, now: float) -> float:
    """Return the seconds for which the Lease must be left to its holder; 0 if it may be taken or renewed."""
    record = seen.record
    if record.holder in ("", identity):
        return 0.0
    return max(0.0, seen.since + min(max(record.duration, LEASE_SECONDS), LONGEST_SECONDS) - now)


def build_claim(record: LeaseRecord | None, identity: str, wall: float) -> LeaseRecord:
    """Build the record with which ``identity`` takes the Lease, or renews its own."""
    now = format_time(wall)
    if record is None:
        return LeaseRecord(identity, LEASE_SECONDS, now, now, 0)
    if record.holder == identity:
        return replace(record, duration=LEASE_SECONDS, renewed=now)
    return LeaseRecord(identity, LEASE_SECONDS, now, now, record.transitions + 1)


def build_release(record: LeaseRecord, wall: float) -> LeaseRecord:
    """Build the record with which the holder gives the Lease back."""
    now = format_time(wall)
    return LeaseRecord("", RELEASED_SECONDS, now, now, record.transitions)


def format_time(wall: float) -> str:
    """Format epoch seconds as MicroTime."""
    return datetime.fromtimestamp(wall, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _read_number(value: Any, otherwise: int) -> int:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else otherwise
