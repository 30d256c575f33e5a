"""A plan that overwrites foreign values or removes tags on many resources waits until a person approves its digest.

Resources on which nothing is overwritten or removed wait for nobody. One that waits does so whole, because its
additions may need the room that its removals make.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from freehold.tagging.plan import Delta, ResourcePlan
from freehold.tagging.wanted_keys import Cause

DEFAULT_APPROVE_ABOVE: Final = 100
NARROW: Final = "narrow the classifiers"
RETAIN: Final = "set spec.deletionPolicy: Retain, and the tags stay"
_FOREIGN: Final = frozenset({Cause.FOREIGN, Cause.DRIFTED})


class Risk(StrEnum):
    NONE = "None"
    OVERWRITES_OR_REMOVES = "OverwritesOrRemoves"


def risk(plan: ResourcePlan) -> Risk:
    overwrites = not _FOREIGN.isdisjoint(plan.delta.causes)
    return Risk.OVERWRITES_OR_REMOVES if overwrites or plan.delta.removals else Risk.NONE


@dataclass(frozen=True)
class NotNeeded:
    resources: int


@dataclass(frozen=True)
class Approved:
    digest: str


@dataclass(frozen=True)
class Approver:
    """The object whose annotation approves, and what is in it: digests, with commas between those of several providers.

    ``advice``: what can be done instead of an approval.
    """

    kind: str
    namespace: str
    name: str
    given: str = ""
    advice: str = NARROW

    def command(self, digest: str) -> str:
        where = f"{self.kind.lower()} {self.name} -n {self.namespace}"
        return f"kubectl annotate {where} --overwrite freehold.dev/approve-tags={digest}"


@dataclass(frozen=True)
class ApprovalNeeded:
    """``digest`` is what the approval annotation of ``by`` must have.

    ``is_outdated``: it has the first digits of this digest, which earlier versions took for an approval.
    """

    digest: str
    resources: int
    limit: int
    by: Approver
    is_outdated: bool = False

    @property
    def message(self) -> str:
        by = self.by
        again = "it was approved by the first digits of its digest only, which counts no more: approve it again. "
        return (
            f"{again if self.is_outdated else ''}"
            f"the plan overwrites foreign values or removes tags on {self.resources} resources, more than {self.limit}"
            f": approve it on {by.kind} {by.namespace}/{by.name} ({by.command(self.digest)}), or {by.advice}"
        )


def approval(
    plans: Iterable[ResourcePlan], above: int, by: Approver, beside: Collection[str] = ()
) -> NotNeeded | Approved | ApprovalNeeded:
    """``beside``: resources that count too, and are not in this plan."""
    risky = sorted((plan.resource.id, _lost_values(plan.delta)) for plan in plans if risk(plan) is not Risk.NONE)
    resources = len({ident for ident, _ in risky} | set(beside))
    if not risky or resources <= above:
        return NotNeeded(len(risky))
    digest = hashlib.sha256(json.dumps(risky, ensure_ascii=True).encode()).hexdigest()
    given = by.given.replace(" ", "").split(",")
    if digest in given:
        return Approved(digest)
    return ApprovalNeeded(digest, resources, above, by, any(is_shortened(each, digest) for each in given))


def is_shortened(given: str, digest: str) -> bool:
    """Say whether only the first digits of a digest are given, which approve nothing."""
    return 0 < len(given) < len(digest) and digest.startswith(given)


def _lost_values(delta: Delta) -> list[tuple[str, list[str], str | None]]:
    """Key, the values that would be lost, and the one that replaces them."""
    overwritten = [(each.key, sorted(each.seen), each.value) for each in delta.upserts if each.cause in _FOREIGN]
    removed = [(each.key, sorted(each.seen), None) for each in delta.removals]
    return [*overwritten, *removed]
