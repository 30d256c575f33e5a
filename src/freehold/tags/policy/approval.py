"""A plan that overwrites foreign values or removes tags on many resources waits until a person approves its digest.

Resources on which nothing is overwritten or removed wait for nobody. One that waits does so whole, because its
additions may need the room that its removals make.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

from freehold.tags.policy.key_decision import Cause
from freehold.tags.policy.plan import Delta, ResourcePlan

DEFAULT_APPROVE_ABOVE: Final = 100
NARROW: Final = "narrow the classifiers"
RETAIN: Final = "set spec.deletionPolicy: Retain, and the tags stay"
_FOREIGN: Final = frozenset({Cause.FOREIGN, Cause.DRIFTED})


def is_risky(plan: ResourcePlan) -> bool:
    """Say whether a plan overwrites foreign values or removes tags."""
    return bool(plan.delta.removals) or not _FOREIGN.isdisjoint(plan.delta.causes)


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
    """``digest`` is what the approval annotation of ``by`` must have."""

    digest: str
    resources: int
    limit: int
    by: Approver

    @property
    def message(self) -> str:
        by = self.by
        return (
            f"the plan overwrites foreign values or removes tags on {self.resources} resources, more than {self.limit}"
            f": approve it on {by.kind} {by.namespace}/{by.name} ({by.command(self.digest)}), or {by.advice}"
        )


def approval(
    plans: Iterable[ResourcePlan], above: int, by: Approver, beside: Collection[str] = ()
) -> NotNeeded | Approved | ApprovalNeeded:
    """``beside``: resources that count too, and are not in this plan."""
    risky = sorted((plan.resource.id, _lost_values(plan.delta)) for plan in plans if is_risky(plan))
    resources = len({ident for ident, _ in risky} | set(beside))
    if not risky or resources <= above:
        return NotNeeded(len(risky))
    digest = hashlib.sha256(json.dumps(risky, ensure_ascii=True).encode()).hexdigest()
    given = by.given.replace(" ", "").split(",")
    if digest in given:
        return Approved(digest)
    return ApprovalNeeded(digest, resources, above, by)


def _lost_values(delta: Delta) -> list[tuple[str, list[str], str | None]]:
    """Key, the values that would be lost, and the one that replaces them."""
    overwritten = [(each.key, sorted(each.seen), each.value) for each in delta.upserts if each.cause in _FOREIGN]
    removed = [(each.key, sorted(each.seen), None) for each in delta.removals]
    return [*overwritten, *removed]
