"""``freehold orphans``: what carries our marks in the clouds and has no object here. Lists, and changes nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

from freehold.api.vendor_ids import vendor_id
from freehold.cli.commands.search_scope import Searched, SearchScope, find_search_scope
from freehold.cli.errors import CliError
from freehold.cli.local.access import Access, Where, access
from freehold.cli.local.event_loop import run as run_to_end
from freehold.cli.local.session import Session, open_session
from freehold.cli.objects.kinds import OURS
from freehold.cli.output.formats import emit
from freehold.cli.output.hints import hint
from freehold.cli.output.tables import Rows, format_table
from freehold.cli.output.terminal import duration, say, tell, warn, width

if TYPE_CHECKING:
    from freehold.controllers.recovery.orphans import MarkedOwner, MarkedResource, UnmarkedResources


@dataclass(frozen=True)
class Lost:
    """Lost objects and births without a mark, found in one account."""

    at: Searched
    owners: Sequence[MarkedOwner]
    born: UnmarkedResources


def run(regions: Sequence[str], output: str, **where: Unpack[Where]) -> None:
    """Run the command. Raises CliError, also where an account that is known did not answer: something may be there."""
    target = access(operator=False, **where)
    places, found, now = run_to_end(_find_lost_resources(target, regions))
    if output != "table":
        emit(output, [document for each in found for document in _documents(each)])
    else:
        _show(places, found, now)
    for each in places.unknown:
        warn(f"not looked through: {each}")
    if places.failed:
        raise CliError("not all that is known could be looked through", places.failed)


def _show(places: SearchScope, found: Sequence[Lost], now: float) -> None:
    if not any(each.owners or each.born.resources for each in found):
        tell(f"none: all that carries our marks has an object here; looked through: {places}")
    for each in found:
        for owner in each.owners:
            _print(owner, each.at, now)
    if any(each.owners for each in found):
        tell(
            "Another management cluster or laptop may serve these owners: nothing may be deleted because it is listed "
            f"here. Of one that was lost: {hint('recover', '--uuid', 'U')}, then up -f its manifest, or down."
        )
    for each in found:
        _print_unmarked(each.born, now)


async def _find_lost_resources(target: Access, regions: Sequence[str]) -> tuple[SearchScope, Sequence[Lost], float]:
    from freehold.controllers.recovery.orphans import find_unmarked
    from freehold.engine.errors import CloudError
    from freehold.engine.keys import KeyRing

    async with open_session(target) as session, AsyncExitStack() as stack:
        present = await present_uuids(session)
        ring = KeyRing.single(b"nothing is signed or checked here")
        places = await find_search_scope(session, target, regions, ring, stack)
        recorded = await _recorded_ids(session)
        found = []
        try:
            for at in places.list_accounts():
                deps, owners = at[0].deps, await find_marked_owners(at, present)
                found.append(Lost(at[0], owners, await find_unmarked(deps, recorded)))
        except CloudError as error:
            raise CliError(error.message) from error
        return places, _leave_out_repeated(found), session.clock.now()


async def find_marked_owners(at: Sequence[Searched], present: Collection[str]) -> Sequence[MarkedOwner]:
    """Find the owners without an object here in an account, with what no index lists. Raises CloudError."""
    from freehold.controllers.recovery.orphans import find_orphans, find_unlisted

    unlisted = await find_unlisted(at[0].deps, [each.served.kind for each in at])
    for problem in unlisted.problems:
        warn(f"could not be listed in {at[0].name}: {problem}")
    return await find_orphans(at[0].deps, present, unlisted.targets)


def _leave_out_repeated(found: Sequence[Lost]) -> Sequence[Lost]:
    """Leave out what another region shows too, and more of: what is global is in every region."""
    owners = [owner for each in found for owner in each.owners]
    return [replace(each, owners=[one for one in each.owners if not is_repeated(one, owners)]) for each in found]


def is_repeated(one: MarkedOwner, found: Iterable[MarkedOwner]) -> bool:
    """Return whether another finding of the same owner has all of this one's resources, and more."""
    same = [other for other in found if other.uuid == one.uuid]
    return any(_list_targets(one) < _list_targets(other) for other in same)


def _list_targets(owner: MarkedOwner) -> frozenset[str]:
    return frozenset(each.target for each in owner.resources)


async def _recorded_ids(session: Session) -> set[str]:
    from freehold.engine.journal import CorruptJournal
    from freehold.providers.objects.identity import read_record

    found: set[str] = set()
    for resource in OURS:
        for raw in (await session.client.list(resource)).items:
            with contextlib.suppress(CorruptJournal):  # told of when its uuid is asked for
                journal = read_record({"kind": resource.kind, **raw})
                found |= {entry.id for entry in journal.entries.values()} if journal else set()
    return found


async def present_uuids(session: Session) -> set[str]:
    """Return the uuids of every object that this server has.

    A journal that names another object was copied, or written by somebody who may edit objects: it hides nothing.
    """
    from freehold.engine.journal import CorruptJournal
    from freehold.providers.objects.identity import read_record

    found: set[str] = set()
    for resource in OURS:
        for raw in (await session.client.list(resource)).items:
            metadata = raw["metadata"]
            own = str(metadata.get("namespace", "")), str(metadata["name"])
            found.add(str(metadata["uid"]))
            try:
                journal = read_record({"kind": resource.kind, **raw})
            except CorruptJournal as error:
                warn(f"what {resource.kind} {own[0]}/{own[1]} owns cannot be told, and may be listed: {error}")
                continue
            if journal and (journal.owner.namespace, journal.owner.name) == own:
                found.add(journal.owner.uuid)
    return found


def _documents(lost: Lost) -> Iterator[Mapping[str, Any]]:
    for owner in lost.owners:
        yield {
            "uuid": owner.uuid,
            "owners": list(owner.names),
            "within": owner.within,
            "account": lost.at.name,
            "createdAt": owner.since,
            "resources": [
                {"kind": one.key.kind, "logical": one.key.logical, "name": one.name, "id": _id(one),
                 "mark": one.target, "createdAt": one.created_at, "unread": one.unread}
                for one in owner.resources
            ],
        }  # fmt: skip
    if lost.born.resources:
        rows = [
            {"kind": kind, "name": one.name, "id": one.id, "createdAt": one.created_at}
            for kind, one in lost.born.resources
        ]
        yield {"uuid": "", "owners": [], "within": "", "account": lost.at.name, "createdAt": None, "resources": rows}


def _print_unmarked(born: UnmarkedResources, now: float) -> None:
    for problem in born.problems:
        warn(f"could not be listed: {problem}")
    if not born.resources:
        return
    tell("without a mark, but with the name of a create of Freehold's that was cut off; nothing tells whose they are:")
    rows = []
    for kind, one in born.resources:
        age = duration(now - one.created_at) if one.created_at is not None else "?"
        rows.append((kind, one.name, age, vendor_id(one.id)))
    _print_rows(rows)
    tell("Be sure that no other operator is making them just now; then delete them in the cloud.")


def _print(owner: MarkedOwner, at: Searched, now: float) -> None:
    names = " and ".join(owner.names) or "no owner named"
    age = f", the oldest {duration(now - owner.since)} old" if owner.since is not None else ""
    within = f", within {owner.within}" if owner.within else ""
    tell(f"{names} (uuid {owner.uuid}{within}): {len(owner.resources)} resources in {at.name}{age}")
    _print_rows([_row(one, now) for one in owner.resources])


def _print_rows(rows: Sequence[tuple[str, ...]]) -> None:
    for line in format_table(Rows(("KIND", "NAME", "AGE", "ID"), tuple(rows)), width()):
        say(line)


def _row(one: MarkedResource, now: float) -> tuple[str, ...]:
    age = duration(now - one.created_at) if one.created_at is not None else ""
    return one.key.kind, one.name or one.unread or one.key.logical, age, _id(one) or one.target


def _id(one: MarkedResource) -> str:
    return vendor_id(one.id)
