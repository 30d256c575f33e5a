"""Objects that want something different of one key of one resource: the older one wins.

Source: docs/reference/metadata-compat.md A18. The tags that a cluster's spec asks for go before every metadata object.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from freehold.tags.policy.ledger import ForeignValuePolicy
from freehold.tags.policy.limits import LimitPolicy
from freehold.tags.policy.operations import Opcode, WantedTag, Wants


@dataclass(frozen=True, order=True)
class Claimant:
    """A metadata object, ordered by age. ``created`` is its creationTimestamp in seconds."""

    created: float
    uid: str
    name: str
    """``<kind> <namespace>/<name>``, for people."""


@dataclass(frozen=True)
class Claim:
    """What one object wants of a resource that its classifiers select.

    ``kept``: None where ``wants`` is the whole list, so that what was written under another key goes. Else that stays
    (docs/reference/metadata-compat.md A31), and these are the tags of the active list that ``wants`` does not name.
    They are known of the object that acts; whoever names a key goes before who only keeps it.
    """

    claimant: Claimant
    wants: Wants
    limit: LimitPolicy = LimitPolicy.STRICT
    foreign: ForeignValuePolicy = ForeignValuePolicy.TAKE_OVER
    kept: Mapping[str, str] | None = None

    @cached_property
    def minded(self) -> frozenset[str]:
        """Keys under which a value of somebody else would not be taken over."""
        takes_over = self.foreign is ForeignValuePolicy.TAKE_OVER
        named = (key for key, want in self.wants.items() if not takes_over or want.opcode is Opcode.ADD)
        return frozenset((*named, *(self.kept or ())))


@dataclass(frozen=True)
class Granted:
    """What is left of a claim: the wants that nobody older has, and for the others who does; sorted by key.

    ``lost`` are contradicted. Of ``shared`` ones somebody older wants the same, and is the one who writes it, or not.
    """

    claim: Claim
    wants: Wants
    lost: Mapping[str, str]
    shared: Mapping[str, str]


def grant_by_age(claims: Sequence[Claim], cluster_keys: Mapping[str, str]) -> tuple[Granted, ...]:
    """Grant keys, the oldest first. ``cluster_keys``: those that clusters ask for, with the name of the cluster."""
    winners: dict[str, tuple[WantedTag, Claimant]] = {}
    granted: list[Granted] = []
    for claim in sorted(claims, key=lambda each: each.claimant):
        wants: dict[str, WantedTag] = {}
        lost: dict[str, str] = {}
        shared: dict[str, str] = {}
        for key, want in sorted(claim.wants.items()):
            winner, by = winners.setdefault(key, (want, claim.claimant))
            if key in cluster_keys:
                lost[key] = cluster_keys[key]
            elif not winner.agrees_with(want):
                lost[key] = by.name
            elif by == claim.claimant:
                wants[key] = want
            else:
                shared[key] = by.name
        granted.append(Granted(claim, wants, lost, shared))
    return tuple(granted)
