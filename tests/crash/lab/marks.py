"""After a release no mark of ours is left on a stranger's resource, and copied marks were reported."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from freehold.engine.outcomes import Blocked, Kept, Waiting
from lab.seam import Thing, World

if TYPE_CHECKING:
    from lab.life import Course


def _with_uuid(life: Course, tags: frozenset[str]) -> set[str]:
    uuid = life.journal.owner.uuid.casefold()
    return {tag for tag in tags if uuid in tag.casefold()}


def of_strangers(life: Course) -> frozenset[str]:
    """Strangers' resources to which they attached a mark with our uuid."""
    return frozenset(
        thing.id for thing in life.world.living() if not thing.ours and _with_uuid(life, thing.tags_of_others)
    )


def left(life: Course) -> list[str]:
    """Marks that we left behind, and copied ones that no message named. Empty before the release.

    A carrier's mark that a stranger attached may be gone: what it named was seen gone.
    """
    done = life.last
    if done is None or not done.released:
        return []
    said = life.hear(done) + " ".join(
        f" {key}" for key, outcome in done.outcomes.items() if isinstance(outcome, Blocked | Waiting | Kept)
    )
    found: list[str] = []
    for thing in life.world.living():
        if not thing.ours:
            found += [f"{tag} is still on {thing.id}" for tag in sorted(_ours(life, thing)) if not _named(tag, said)]
            copied = _with_uuid(life, thing.tags & thing.tags_of_others)
            names = {thing.id, *(alias for alias in thing.aliases if alias.startswith("arn:"))}
            told = any(name in said for name in names) or any(_named(tag, said) for tag in copied)
            if copied and thing.listed and thing.id in life.marked_by_strangers and not told:
                found.append(f"{thing.id} has copied marks of ours ({', '.join(sorted(copied))}) and nobody says so")
    return found


def stale(life: Course) -> list[str]:
    """Marks on strangers' resources that name no existing resource of ours, while the object is at rest."""
    things = life.world.living()
    there = {id_.rpartition("/")[2] for thing in things if thing.ours for id_ in (thing.id, *thing.aliases)}
    return [
        f"{tag} on {thing.id} names what is gone"
        for thing in things
        if not thing.ours
        for tag in sorted(_ours(life, thing))
        if _carried_id(tag) not in there
    ]


def read_back(life: Course) -> set[str]:
    """Ids of what has had its marks read back, by the stored record."""
    return {_bare(entry.id) for entry in life.journal.entries.values() if entry.had_marks}


def lacking(world: World, ids: Collection[str]) -> frozenset[str]:
    """Those of ours among ``ids`` that have not both the owner's and the uuid's mark."""
    things = [thing for thing in world.living() if thing.ours and _bare(thing.id) in ids]
    return frozenset(thing.id for thing in things if len(_of_owner(world.life, thing.tags)) < 2)


def _bare(ident: str) -> str:
    return ident.rpartition("/")[2]


def _of_owner(life: Course, tags: frozenset[str]) -> set[str]:
    """The owner's and the uuid's mark, in whatever spelling: a carrier's mark says more."""
    owner = life.journal.owner
    names = {owner.uuid, f"{owner.namespace}.{owner.name}", f"{owner.namespace}/{owner.name}"}
    said = {name.casefold() for name in names}
    return {tag for tag in tags if tag.replace("=", ":").rpartition(":")[2].casefold() in said}


def _ours(life: Course, thing: Thing) -> set[str]:
    """Marks that no stranger attached."""
    return _with_uuid(life, thing.tags - thing.tags_of_others)


def _named(tag: str, said: str) -> bool:
    """A mark that names an existing resource which is not proven ours stays, and a message names it."""
    return tag.rpartition(":")[2].rpartition(".")[2] in said or _carried_id(tag) in said


def _carried_id(tag: str) -> str:
    """The own id in a carrier's mark, between uuid and seal, with a bucket's dots; in a map it ends the key."""
    key, is_in_map, _ = tag.partition("=")
    if is_in_map:
        return key.rpartition(".")[2].rpartition("/")[2]
    last = tag.rpartition(":")[2]
    return (last.partition(".")[2] or last).partition("_")[0]
