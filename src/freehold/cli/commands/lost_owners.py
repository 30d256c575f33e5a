"""The lost objects of all accounts that are looked through, each once.

An account is looked through for each kind of object that it may have, and what is global is in every region.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from freehold.cli.commands.search_scope import Searched, SearchScope

if TYPE_CHECKING:
    from freehold.controllers.recovery.orphans import MarkedOwner


@dataclass(frozen=True)
class LostOwner:
    """A lost object, as a search for objects of one kind in one account shows it."""

    at: Searched
    owner: MarkedOwner

    @property
    def targets(self) -> frozenset[str]:
        return frozenset(one.target for one in self.owner.resources)

    @property
    def is_possible(self) -> bool:
        """Whether an object of the kind that was searched for can have had all of it."""
        from freehold.controllers.recovery.orphans import may_be_of

        return may_be_of(self.owner, self.at.served.kind, self.at.deps.registry)

    @property
    def is_proven(self) -> bool:
        """Whether the key ring has made a mark of its that fits this kind of object."""
        from freehold.controllers.recovery.lost_objects import NoOwner, build_recovery

        try:
            recovery = build_recovery(self.owner, self.at.served, self.at.deps)
        except NoOwner:
            return False
        return bool(recovery.proven or recovery.born)


@dataclass(frozen=True)
class FoundOwners:
    """What was found. ``problems`` are kinds that could not be listed, and why."""

    lost: tuple[LostOwner, ...]
    problems: tuple[str, ...]


async def find_lost_owners(scope: SearchScope, present: Collection[str]) -> FoundOwners:
    """Find the owners without an object here. Several findings of one are kept where nothing tells its kind yet.

    Raises CloudError.
    """
    from freehold.controllers.recovery.orphans import find_orphans, find_unlisted

    found: dict[str, list[LostOwner]] = {}
    problems: dict[str, None] = {}
    for at in scope.searched:
        unlisted = await find_unlisted(at.deps, at.served.kind)
        problems |= {f"{each} (in {at.name})": None for each in unlisted.problems}
        for owner in await find_orphans(at.deps, present, unlisted.targets):
            found.setdefault(owner.uuid, []).append(LostOwner(at, owner))
    return FoundOwners(tuple(each for same in found.values() for each in _keep_fullest(same)), tuple(problems))


def _keep_fullest(same: Sequence[LostOwner]) -> Iterator[LostOwner]:
    """Yield those findings of one owner that show more than the others."""
    able = [each for each in same if each.is_possible] or same
    for each in able:
        if not any(each.targets < other.targets for other in able):
            yield each


def keep_proven(lost: Iterable[LostOwner]) -> list[LostOwner]:
    """Keep, of several findings of one owner, that whose kind its marks prove; all where none does."""
    by_owner: dict[str, list[LostOwner]] = {}
    for each in lost:
        by_owner.setdefault(each.owner.uuid, []).append(each)
    kept: list[LostOwner] = []
    for same in by_owner.values():
        proven = [each for each in same if each.is_proven] if len(same) > 1 else same
        kept += proven or same
    return kept


def keep_one_each(lost: Iterable[LostOwner]) -> list[LostOwner]:
    """Keep the first of several findings that show the same."""
    first: dict[tuple[str, frozenset[str]], LostOwner] = {}
    for each in lost:
        first.setdefault((each.owner.uuid, each.targets), each)
    return list(first.values())
