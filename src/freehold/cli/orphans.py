"""``freehold orphans``: what carries our marks in the account and has no object here. Lists, and changes nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from freehold.cli.errors import CliError
from freehold.cli.kinds import OURS
from freehold.cli.live import api_key_of
from freehold.cli.planning import cloud_of
from freehold.cli.reading import emit
from freehold.cli.running import access
from freehold.cli.running import run as run_to_end
from freehold.cli.session import Access, Session, opened
from freehold.cli.terminal import columns, duration, say, warn

if TYPE_CHECKING:
    from freehold.operator.orphans import Marked, MarkedOwner

_NOBODY_KNOWS = (
    "Another management cluster or laptop may serve these owners: nothing may be deleted because it is listed here. Of "
    "one that was lost: freehold recover --uuid U, then up -f its manifest, or down."
)


def run(simulate: bool, speed: float, output: str, state: Path | None, kubeconfig: str) -> None:
    """The command. Raises CliError."""
    target = access(state, kubeconfig=kubeconfig, operator=False, install=False, simulate=simulate, speed=speed)
    found, now = run_to_end(_found(target))
    if output != "table":
        emit(output, [_document(owner) for owner in found])
        return
    if not found:
        say("none: all that carries our marks has an object here")
        return
    for owner in found:
        _print(owner, now)
    say(_NOBODY_KNOWS)


async def _found(target: Access) -> tuple[Sequence[MarkedOwner], float]:
    from freehold.lifecycle.errors import CloudError
    from freehold.lifecycle.keys import KeyRing
    from freehold.operator.ibm import IbmAccount
    from freehold.operator.orphans import orphans

    async with opened(target) as session, AsyncExitStack() as stack:
        present = await present_uuids(session)
        url, key = ("", api_key_of(os.environ)) if target.kubeconfig else await cloud_of(session, target, stack)
        account = stack.enter_context(IbmAccount(key, url or None, session.clock))
        try:
            deps = account.read_only_deps(KeyRing.single(b"nothing is signed or checked here"))
            return await orphans(deps, present), session.clock.now()
        except CloudError as error:
            raise CliError(error.message) from error


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


def _print(owner: MarkedOwner, now: float) -> None:
    names = " and ".join(name.replace(".", "/", 1) for name in owner.names) or "no owner named"
    age = f", the oldest {duration(now - owner.since)} old" if owner.since is not None else ""
    say(f"{names} (uuid {owner.uuid}): {len(owner.resources)} resources{age}")
    rows = [("KIND", "NAME", "AGE", "ID"), *(_row(one, now) for one in owner.resources)]
    for line in columns(rows, "  "):
        say(line)


def _row(one: Marked, now: float) -> tuple[str, ...]:
    age = duration(now - one.created_at) if one.created_at is not None else ""
    return one.key.kind, one.name or one.unread or one.key.logical, age, _id(one) or one.target


def _id(one: Marked) -> str:
    return one.id.rpartition("/")[2]
