"""Orphans: resources in an account with our marks, but without an object in this API server. They are only listed.

Another management cluster or a laptop may serve their owner.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from freehold.engine.errors import CloudError
from freehold.engine.interface import EngineDeps
from freehold.engine.inventory import TagsByTarget
from freehold.engine.keys import NONCE
from freehold.engine.kinds import Kind, Registry, Tagging
from freehold.engine.ownership import UUID, Codec
from freehold.engine.resources import NodeKey, NonceSet, Observed, ParentResource, Ref, State

UNKNOWN_KIND = "this version does not know its kind"


@dataclass(frozen=True)
class MarkedResource:
    """A resource with marks. ``key`` has no logical name if no mark names the node.

    ``target`` has the mark: it is the resource itself, or its carrier; ``tags`` are all tags of the target.
    ``seen`` is the result of a read; None if it failed, and ``unread`` says why.
    """

    key: NodeKey
    id: str
    target: str
    tags: frozenset[str]
    seen: Observed | None = None
    unread: str = ""

    @property
    def name(self) -> str:
        """The name; empty for a resource whose name is its id."""
        return self.seen.name if self.seen and self.seen.name != self.seen.id else ""

    @property
    def created_at(self) -> float | None:
        """The creation time in epoch seconds of the cloud's clock; None if it is not known."""
        return self.seen.created_at if self.seen else None


@dataclass(frozen=True)
class MarkedOwner:
    """The resources with the marks of one uuid. ``names`` are the owners in these marks: ``namespace/name``.

    ``within`` is the uuid of the cluster that the owner was part of, if all of the marks say so.
    """

    uuid: str
    names: tuple[str, ...]
    resources: tuple[MarkedResource, ...]
    within: str = ""

    @property
    def since(self) -> float | None:
        """The creation time of the oldest resource."""
        return min((one.created_at for one in self.resources if one.created_at is not None), default=None)


@dataclass(frozen=True)
class UnlistedTargets:
    """Marked resources of kinds that no index lists. ``problems`` are kinds that could not be listed, and why."""

    targets: TagsByTarget
    problems: tuple[str, ...] = ()


async def find_unlisted(deps: EngineDeps, kinds: Collection[str]) -> UnlistedTargets:
    """Find the resources of kinds that no index lists, of all objects of these kinds, by their birth marks."""
    unlisted = {
        name: each
        for name, each in deps.registry.items()
        if not each.reads.indexed and each.tagging is Tagging.ON_CREATE and not each.never_of.issuperset(kinds)
    }
    found, problems = await _find_by_nonce(unlisted, (), _AnyNonce())
    return UnlistedTargets({one.target: one.tags for _, one in found if one.target and one.tags}, tuple(problems))


async def find_orphans(
    deps: EngineDeps, present: Collection[str], unlisted: TagsByTarget = MappingProxyType({})
) -> tuple[MarkedOwner, ...]:
    """Find owners whose uuid is not among ``present``, with their existing resources, by uuid. Raises CloudError.

    The index may lag, so each resource is read itself, and left out if it is gone. ``unlisted``: what it never has.
    """
    here = {uuid.casefold() for uuid in present}
    targets = {**await deps.tagger.everything(), **unlisted}
    found: dict[str, list[MarkedResource]] = {}
    for uuid, one in _read_marks(targets, deps.codec, deps.registry):
        if uuid not in here:
            found.setdefault(uuid, []).append(one)
    existing = await _read_tags_now(deps, await _read_existing(deps, [one for ones in found.values() for one in ones]))
    owners = []
    for uuid, ones in found.items():
        there = [existing[place] for one in ones if (place := (one.key, one.target)) in existing]
        marked = [one for one in there if uuid in _read_uuids(deps.codec, one.tags)]
        owners.append(_build_owner(uuid, targets, deps.codec, marked))
    return tuple(sorted((owner for owner in owners if owner.resources), key=lambda owner: owner.uuid))


@dataclass(frozen=True)
class UnmarkedResources:
    """Resources with the birth name of a create and without any mark: their object is unknown.

    ``problems`` are kinds that could not be listed, and why.
    """

    resources: tuple[tuple[str, Observed], ...]
    problems: tuple[str, ...]


class _AnyNonce:
    def __contains__(self, word: object) -> bool:
        return True


class _OurNonces:
    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and NONCE.fullmatch(word) is not None


async def find_unmarked(deps: EngineDeps, recorded: Collection[str]) -> UnmarkedResources:
    """Find resources of lost objects whose create was interrupted before anything had the owner's uuid.

    ``recorded`` are the ids that the objects of this API server have on record. A create that sets tags leaves no such
    resource.
    """
    if all(kind.tagging is Tagging.ON_CREATE for kind in deps.registry.values()):
        return UnmarkedResources((), ())
    targets = await deps.tagger.everything()
    carried = {mark.id for tags in targets.values() for mark in deps.codec.read(tags).carried}
    homes, problems = await _find_by_nonce(deps.registry, (), _AnyNonce())
    places = [ParentResource(kind, Ref(one.id, one.target)) for kind, one in homes]
    born, more = await _find_by_nonce(deps.registry, places, _OurNonces())
    left = [
        (kind, one)
        for kind, one in born
        if one.id not in recorded
        and (one.carried or one.target not in targets)
        and deps.codec.carried_id(kind, one.id) not in carried
        and one.state is not State.DELETING
    ]
    return UnmarkedResources(tuple(sorted(left, key=lambda pair: (pair[0], pair[1].name))), (*problems, *more))


async def _find_by_nonce(
    kinds: Mapping[str, Kind], places: Sequence[ParentResource], nonces: NonceSet
) -> tuple[list[tuple[str, Observed]], list[str]]:
    found: list[tuple[str, Observed]] = []
    problems: list[str] = []
    for name, kind in kinds.items():
        try:
            found += [(name, one) for one in await kind.driver.by_nonce(places, (), nonces)]
        except CloudError as error:
            problems.append(f"{name}: {error.message}")
    return found, problems


def _read_marks(targets: TagsByTarget, codec: Codec, registry: Registry) -> Iterator[tuple[str, MarkedResource]]:
    for target, tags in sorted(targets.items()):
        marks = codec.read(tags)
        for uuid in sorted({uuid.casefold() for uuid in marks.uuids if UUID.fullmatch(uuid)}):
            key = min((mark.key for mark in marks.nodes), default=NodeKey(_find_kind(target, registry), ""))
            kind = registry.get(key.kind)
            yield uuid, MarkedResource(key, kind.driver.identify(target) if kind else "", target, tags)
        for mark in sorted(marks.carried, key=lambda mark: (mark.kind, mark.id)):
            kind = registry.get(mark.kind)
            ident = kind.driver.identify(target, mark.id) if kind else ""
            yield mark.uuid.casefold(), MarkedResource(NodeKey(mark.kind, mark.id), ident, target, tags)


def _find_kind(target: str, registry: Registry) -> str:
    """Find the kind of a target without a mark that names its node: Freehold did not make it, or the mark is lost."""
    return next((name for name, kind in registry.items() if kind.driver.identify(target)), "unknown")


_Place = tuple[NodeKey, str]


async def _read_existing(deps: EngineDeps, marked: Iterable[MarkedResource]) -> Mapping[_Place, MarkedResource]:
    """Read the resources now, with one call for a kind if the driver can. Unreadable ones may exist, and are kept."""
    found: dict[_Place, MarkedResource] = {}
    by_kind: dict[str, list[MarkedResource]] = {}
    for one in marked:
        if one.id:
            by_kind.setdefault(one.key.kind, []).append(one)
        else:
            found[one.key, one.target] = replace(one, unread=UNKNOWN_KIND)
    for kind, ones in sorted(by_kind.items()):
        try:
            seen = await deps.registry[kind].driver.observe([Ref(one.id, one.target) for one in ones])
        except CloudError as error:
            found |= {(one.key, one.target): replace(one, unread=error.message) for one in ones}
            continue
        for one in ones:
            if (now := seen.get(one.id)) is not None:
                found[one.key, one.target] = replace(one, seen=now)
    return found


async def _read_tags_now(
    deps: EngineDeps, existing: Mapping[_Place, MarkedResource]
) -> Mapping[_Place, MarkedResource]:
    """Read the tags from the resources themselves, if the cloud offers that: the index may be old."""
    if not deps.tagger.asks_resources:
        return existing
    own = {place: one.seen for place, one in existing.items() if one.seen and not one.seen.carried}
    unread = sorted({existing[place].target for place, seen in own.items() if seen.tags is None})
    asked = await deps.tagger.tags_of_each(unread) if unread else {}
    found = dict(existing)
    for place, seen in own.items():
        now = asked[existing[place].target] if seen.tags is None else seen.tags
        if isinstance(now, CloudError):
            found[place] = replace(existing[place], seen=None, unread=now.message)
        else:
            found[place] = replace(existing[place], tags=now)
    return found


def _read_uuids(codec: Codec, tags: frozenset[str]) -> frozenset[str]:
    """Read the uuids that the marks name, also those of resources whose mark is on this carrier."""
    marks = codec.read(tags)
    return frozenset(uuid.casefold() for uuid in (*marks.uuids, *(mark.uuid for mark in marks.carried)))


def _build_owner(uuid: str, targets: TagsByTarget, codec: Codec, resources: Iterable[MarkedResource]) -> MarkedOwner:
    """Build the owner. Names come only from targets with the uuid itself: a carrier may be somebody else's."""
    own = [marks for tags in targets.values() if uuid in map(str.casefold, (marks := codec.read(tags)).uuids)]
    names = {"/".join(codec.namespace_and_name(said)) for marks in own for said in marks.owners}
    within = frozenset[str]().union(*(marks.within for marks in own)).intersection(*(marks.within for marks in own))
    told = min((each for each in within if UUID.fullmatch(each)), default="")
    ordered = sorted(resources, key=lambda one: (one.key, one.target))
    return MarkedOwner(uuid, tuple(sorted(names)), tuple(ordered), told)
