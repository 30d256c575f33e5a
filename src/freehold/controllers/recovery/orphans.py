"""What carries our marks in an account and has no object in this API server: listed by owner, never touched.

Another management cluster or a laptop may serve the owner, so nothing follows from being listed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from freehold.engine.errors import CloudError
from freehold.engine.interface import EngineDeps
from freehold.engine.inventory import TagsByTarget
from freehold.engine.kinds import Registry, Tagging
from freehold.engine.ownership import UUID, Codec
from freehold.engine.resources import NodeKey, NonceSet, Observed, ParentResource, Ref, State
from freehold.providers.ibm.names import NONCE

UNKNOWN_KIND = "this version does not know its kind"


@dataclass(frozen=True)
class Marked:
    """One resource; ``key`` has no logical name where no mark says which node it is. ``target`` is what the mark is on:
    the resource itself, or its carrier, with all its ``tags``.

    ``seen`` is how it was read now, None where it could not be: ``unread`` says why.
    """

    key: NodeKey
    id: str
    target: str
    tags: frozenset[str]
    seen: Observed | None = None
    unread: str = ""

    @property
    def name(self) -> str:
        """Empty for what has none of its own, and is shown with its id."""
        return self.seen.name if self.seen and self.seen.name != self.seen.id else ""

    @property
    def created_at(self) -> float | None:
        """In epoch seconds of the cloud's clock, None where it is not known."""
        return self.seen.created_at if self.seen else None


@dataclass(frozen=True)
class MarkedOwner:
    """All that carries the marks of one uuid. ``names`` are the owners that its marks name: ``namespace/name``."""

    uuid: str
    names: tuple[str, ...]
    resources: tuple[Marked, ...]

    @property
    def since(self) -> float | None:
        """When the oldest of its resources was created."""
        return min((one.created_at for one in self.resources if one.created_at is not None), default=None)


async def orphans(deps: EngineDeps, present: Collection[str]) -> tuple[MarkedOwner, ...]:
    """Owners whose uuid is not among ``present``, with what exists of theirs; by uuid. Raises CloudError.

    The index may be behind: each resource is read itself, and one that is gone is left out.
    """
    here = {uuid.casefold() for uuid in present}
    targets = await deps.tagger.everything()
    found: dict[str, list[Marked]] = {}
    for uuid, one in _marked(targets, deps.codec, deps.registry):
        if uuid not in here:
            found.setdefault(uuid, []).append(one)
    existing = await _as_tagged_now(deps, await _existing(deps, [one for ones in found.values() for one in ones]))
    owners = []
    for uuid, ones in found.items():
        there = [existing[place] for one in ones if (place := (one.key, one.target)) in existing]
        marked = [one for one in there if uuid in _uuids(deps.codec, one.tags)]
        owners.append(_owner(uuid, targets, deps.codec, marked))
    return tuple(sorted((owner for owner in owners if owner.resources), key=lambda owner: owner.uuid))


@dataclass(frozen=True)
class Unmarked:
    """Resources with the birth name of a create, and no mark: nothing tells of which object.

    ``problems``: what could not be listed, and why.
    """

    resources: tuple[tuple[str, Observed], ...]
    problems: tuple[str, ...]


class _Everything:
    def __contains__(self, word: object) -> bool:
        return True


class _BirthMarks:
    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and NONCE.fullmatch(word) is not None


async def unmarked(deps: EngineDeps, recorded: Collection[str]) -> Unmarked:
    """What a create made that was cut off before anything carried its owner's uuid, and whose object was lost.

    ``recorded`` are the ids that the objects of this API server have on record. A create that sets tags leaves nothing
    of the sort.
    """
    if all(kind.tagging is Tagging.ON_CREATE for kind in deps.registry.values()):
        return Unmarked((), ())
    targets = await deps.tagger.everything()
    carried = {mark.id for tags in targets.values() for mark in deps.codec.read(tags).carried}
    homes, problems = await _by_nonce(deps, (), _Everything())
    places = [ParentResource(kind, Ref(one.id, one.target)) for kind, one in homes]
    born, more = await _by_nonce(deps, places, _BirthMarks())
    left = [
        (kind, one)
        for kind, one in born
        if one.id not in recorded
        and (one.carried or one.target not in targets)
        and deps.codec.carried_id(kind, one.id) not in carried
        and one.state is not State.DELETING
    ]
    return Unmarked(tuple(sorted(left, key=lambda pair: (pair[0], pair[1].name))), (*problems, *more))


async def _by_nonce(
    deps: EngineDeps, places: Sequence[ParentResource], nonces: NonceSet
) -> tuple[list[tuple[str, Observed]], list[str]]:
    found: list[tuple[str, Observed]] = []
    problems: list[str] = []
    for name, kind in deps.registry.items():
        try:
            found += [(name, one) for one in await kind.driver.by_nonce(places, (), nonces)]
        except CloudError as error:
            problems.append(f"{name}: {error.message}")
    return found, problems


def _marked(targets: TagsByTarget, codec: Codec, registry: Registry) -> Iterator[tuple[str, Marked]]:
    for target, tags in sorted(targets.items()):
        marks = codec.read(tags)
        for uuid in sorted({uuid.casefold() for uuid in marks.uuids if UUID.fullmatch(uuid)}):
            key = min((mark.key for mark in marks.nodes), default=NodeKey(_kind_of(target, registry), ""))
            kind = registry.get(key.kind)
            yield uuid, Marked(key, kind.driver.identify(target) if kind else "", target, tags)
        for mark in sorted(marks.carried, key=lambda mark: (mark.kind, mark.id)):
            kind = registry.get(mark.kind)
            ident = kind.driver.identify(target, mark.id) if kind else ""
            yield mark.uuid.casefold(), Marked(NodeKey(mark.kind, mark.id), ident, target, tags)


def _kind_of(target: str, registry: Registry) -> str:
    """Of what has no mark that names its node: it was not made by Freehold, or has lost that mark."""
    return next((name for name, kind in registry.items() if kind.driver.identify(target)), "unknown")


_Place = tuple[NodeKey, str]


async def _existing(deps: EngineDeps, marked: Iterable[Marked]) -> Mapping[_Place, Marked]:
    """As they were read now, a call a kind where the driver can. What cannot be read may exist, and is kept."""
    found: dict[_Place, Marked] = {}
    by_kind: dict[str, list[Marked]] = {}
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


async def _as_tagged_now(deps: EngineDeps, existing: Mapping[_Place, Marked]) -> Mapping[_Place, Marked]:
    """With the tags that the resources themselves have, where these can be asked: an index shows what was."""
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


def _uuids(codec: Codec, tags: frozenset[str]) -> frozenset[str]:
    """Those that the marks name, of what is on a carrier too."""
    marks = codec.read(tags)
    return frozenset(uuid.casefold() for uuid in (*marks.uuids, *(mark.uuid for mark in marks.carried)))


def _owner(uuid: str, targets: TagsByTarget, codec: Codec, resources: Iterable[Marked]) -> MarkedOwner:
    """A carrier may be somebody else's: only what has the uuid itself names its owner."""
    names: set[str] = set()
    for tags in targets.values():
        marks = codec.read(tags)
        if uuid in {each.casefold() for each in marks.uuids}:
            names |= {"/".join(codec.namespace_and_name(said)) for said in marks.owners}
    return MarkedOwner(uuid, tuple(sorted(names)), tuple(sorted(resources, key=lambda one: (one.key, one.target))))
