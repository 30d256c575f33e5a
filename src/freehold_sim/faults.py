"""Fault rules, the same for every simulated cloud: which calls fail, how, and how often.

The rules and their counters are plain dicts inside the world's state, so that snapshots include them.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any


class Effect(StrEnum):
    """The kind of fault."""

    THROTTLE = "throttle"
    ERROR_BEFORE = "error-before"
    ERROR_AFTER = "error-after"
    REPLY_LOST = "reply-lost"
    RESET = "reset"
    LATE = "late"
    DENIED = "denied"
    EXPIRED = "expired"
    QUOTA = "quota"
    PARTIAL = "partial"
    SLOW = "slow"
    FAILED = "failed"


@dataclass(frozen=True)
class Fault:
    """One fault rule.

    operation    shell pattern on the operation name: `vpc.create_load_balancer`, `tagging.*`, `*`
    contains     text that must occur in path, query or body of the request ("" matches every request)
    nth, count   the first matching call that fails (1 is the next one), and how many fail from there on (None: all)
    status       HTTP status of `error-before` and `error-after`
    retry_after  seconds in a Retry-After header of `throttle`; None sends none
    factor       multiplier of the provisioning time (`slow`)
    delay        domain seconds until the effect of a `late` call; the caller sees a lost reply
    items        zero-based positions in a batch that fail (`partial`); empty: every second one, from the second on
    """

    effect: Effect
    operation: str
    contains: str = ""
    nth: int = 1
    count: int | None = 1
    status: int = 500
    retry_after: int | None = None
    factor: float = 10.0
    delay: float = 30.0
    items: tuple[int, ...] = ()
    message: str = ""

    @staticmethod
    def from_dict(raw: Mapping[str, Any]) -> "Fault":
        """Build a rule from JSON; raises TypeError or ValueError on unknown fields or effects."""
        values = dict(raw)
        values["effect"] = Effect(values.get("effect", ""))
        values["items"] = tuple(values.get("items", ()))
        return Fault(**values)

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "effect": self.effect.value, "items": list(self.items)}


class FaultBook:
    """The active rules of one world; `rows` is part of that world's state."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self._rows = rows

    def add(self, fault: Fault) -> None:
        self._rows.append({"rule": fault.as_dict(), "seen": 0, "hits": 0})

    def clear(self) -> None:
        self._rows.clear()

    def rules(self) -> list[dict[str, Any]]:
        """Return each rule with the number of calls that matched it (`seen`) and that it made fail (`hits`)."""
        return [{**row["rule"], "seen": row["seen"], "hits": row["hits"]} for row in self._rows]

    def find_concerned(self, operation: str, text: str) -> list[dict[str, Any]]:
        """List the rows of the rules that count this call."""
        return [
            row
            for row in self._rows
            if fnmatchcase(operation, row["rule"]["operation"]) and row["rule"]["contains"] in text
        ]

    def match(self, operation: str, text: str) -> Fault | None:
        """Count this call for every matching rule; return the first rule that makes it fail, if any."""
        matched: Fault | None = None
        for row in self.find_concerned(operation, text):
            rule = row["rule"]
            row["seen"] += 1
            last = None if rule["count"] is None else rule["nth"] + rule["count"]
            if matched is None and rule["nth"] <= row["seen"] and (last is None or row["seen"] < last):
                row["hits"] += 1
                matched = Fault.from_dict(rule)
        return matched
