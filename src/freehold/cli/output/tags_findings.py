"""What a report of tags says: how each resource compares with what is asked for, and each tag that differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from freehold.tags.pass_summary import TagStanding


@dataclass(frozen=True)
class Finding:
    """One tag that is not as it is asked for; ``key`` is empty where it is the whole resource."""

    object: str
    resource: str
    kind: str
    account: str
    region: str
    key: str
    found: str
    wanted: str
    standing: str
    why: str


@dataclass(frozen=True)
class Share:
    """How many resources stand how, of one object or kind."""

    name: str
    counts: Mapping[TagStanding, int]

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def percent(self) -> str:
        """Of those that are as wanted; rounded down, so that 100 means all of them."""
        return f"{100 * self.counts.get(TagStanding.AS_WANTED, 0) // self.total} %" if self.total else "-"


@dataclass(frozen=True)
class TagsReport:
    """``open_`` are sentences: what stops an object, or could not be asked."""

    made: str
    cloud: str
    objects: tuple[Share, ...]
    kinds: tuple[Share, ...]
    findings: tuple[Finding, ...]
    open_: tuple[str, ...]

    @property
    def whole(self) -> Share:
        counts: Counter[TagStanding] = Counter()
        for each in self.objects:
            counts.update(each.counts)
        return Share("all", counts)
