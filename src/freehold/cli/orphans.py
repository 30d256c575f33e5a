"""``freehold orphans``: what carries our marks on IBM Cloud and has no object here. Lists, and changes nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from freehold.cli.access import Access, access
from freehold.cli.errors import CliError
from freehold.cli.formats import emit
from freehold.cli.kinds import OURS
from freehold.cli.local_plans import ibm_of
from freehold.cli.running import run as run_to_end
from freehold.cli.session import Session, opened
from freehold.cli.tables import Rows, printed
from freehold.cli.terminal import duration, say, tell, warn, width

if TYPE_CHECKING:
    from freehold.operator.orphans import Marked, MarkedOwner, Unmarked

_NOBODY_KNOWS = (
    "Another management cluster or laptop may serve these owners: nothing may be deleted because it is listed here. Of "
    "one that was lost: freehold recover --uuid U, then up -f its manifest, or down."
)
_ONLY_IBM = (
    "IBM Cloud alone was looked through. On AWS what carries our marks has the tag freehold.dev/owner-uuid: aws "
    "resourcegroupstaggingapi get-resources --tag-filters Key=freehold.dev/owner-uuid"
)


def run(
    simulate: bool, speed: float, output: str, state: Path | None, kubeconfig: str, simulator: str,
    keys_namespace: str,
) -> None:  # fmt: skip
    """The command. Raises CliError."""
    target = access(
        state, kubeconfig=kubeconfig, operator=False, install=False, simulate=simulate, speed=speed,
        simulator=simulator, keys_namespace=keys_namespace,
    )  # fmt: skip
    found, born, now = run_to_end(_found(target))
    if output != "table":
        emit(output, [*map(_document, found), *([_unmarked_document(born)] if born.resources else [])])
        return
    if not found and not born.resources:
        tell("none: all on IBM Cloud that carries our marks has an object here")
    for owner in found:
        _print(owner, now)
    if found:
        tell(_NOBODY_KNOWS)
    _print_unmarked(born, now)
    tell(_ONLY_IBM)


async def _found(target: Access) -> tuple[Sequence[MarkedOwner], Unmarked, float]:
    from freehold.lifecycle.errors import CloudError
    from freehold.lifecycle.keys import KeyRing
    from freehold.operator.orphans import orphans, unmarked

    async with opened(target) as session, AsyncExitStack() as stack:
        present = await present_uuids(session)
        account = await ibm_of(session, target, stack)
        try:
            deps = account.read_only_deps(KeyRing.single(b"nothing is signed or checked here"))
            found = await orphans(deps, present)
            return found, await unmarked(deps, await _recorded_ids(session)), session.clock.now()
        except CloudError as error:
            raise CliError(error.message) from error


async def _recorded_ids(session: Session) -> set[str]:
    from freehold.lifecycle.journal import CorruptJournal
    from freehold.reconcilers.identity import recorded

    found: set[str] = set()
    for resource in OURS:
        for raw in (await session.client.list(resource)).items:
            with contextlib.suppress(CorruptJournal):  # told of when its uuid is asked for
                journal = recorded({"kind": resource.kind, **raw})
                found |= {entry.id for entry in journal.entries.values()} if journal else set()
    return found


async def present_uuids(session: Session) -> set[str]:
    """Of every object that this server has.

    A journal that names another object was copied, or written by somebody who may edit objects: it hides nothing.
    """
    from freehold.lifecycle.journal import CorruptJournal
    from freehold.reconcilers.identity import recorded

    found: set[str] = set()
    for resource in OURS:
        for raw in (await session.client.list(resource)).items:
            metadata = raw["metadata"]
            own = str(metadata.get("namespace", "")), str(metadata["name"])
            found.add(str(metadata["uid"]))
            try:
                journal = recorded({"kind": resource.kind, **raw})
            except CorruptJournal as error:
                warn(f"what {resource.kind} {own[0]}/{own[1]} owns cannot be told, and may be listed: {error}")
                continue
            if journal and (journal.owner.namespace, journal.owner.name) == own:
                found.add(journal.owner.uuid)
    return found


def _document(owner: MarkedOwner) -> Mapping[str, Any]:
    return {
        "uuid": owner.uuid,
        "owners": list(owner.names),
        "createdAt": owner.since,
        "resources": [
            {"kind": one.key.kind, "logical": one.key.logical, "name": one.name, "id": _id(one), "mark": one.target,
             "createdAt": one.created_at, "unread": one.unread}
            for one in owner.resources
        ],
    }  # fmt: skip


def _unmarked_document(born: Unmarked) -> Mapping[str, Any]:
    rows = [{"kind": kind, "name": one.name, "id": one.id, "createdAt": one.created_at} for kind, one in born.resources]
    return {"uuid": "", "owners": [], "createdAt": None, "resources": rows}


def _print_unmarked(born: Unmarked, now: float) -> None:
    for problem in born.problems:
        warn(f"could not be listed: {problem}")
    if not born.resources:
        return
    tell("without a mark, but with the name of a create of Freehold's that was cut off; nothing tells whose they are:")
    rows = []
    for kind, one in born.resources:
        age = duration(now - one.created_at) if one.created_at is not None else "?"
        rows.append((kind, one.name, age, one.id.rpartition("/")[2]))
    _print_rows(rows)
    tell("Be sure that no other operator is making them just now; then delete them in the cloud.")


def _print(owner: MarkedOwner, now: float) -> None:
    names = " and ".join(name.replace(".", "/", 1) for name in owner.names) or "no owner named"
    age = f", the oldest {duration(now - owner.since)} old" if owner.since is not None else ""
    tell(f"{names} (uuid {owner.uuid}): {len(owner.resources)} resources{age}")
    _print_rows([_row(one, now) for one in owner.resources])


def _print_rows(rows: Sequence[tuple[str, ...]]) -> None:
    for line in printed(Rows(("KIND", "NAME", "AGE", "ID"), tuple(rows)), width()):
        say(line)


def _row(one: Marked, now: float) -> tuple[str, ...]:
    age = duration(now - one.created_at) if one.created_at is not None else ""
    return one.key.kind, one.name or one.unread or one.key.logical, age, _id(one) or one.target


def _id(one: Marked) -> str:
    return one.id.rpartition("/")[2]
