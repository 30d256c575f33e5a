"""A person's decisions, from a command to the operator: signed, stored beside the journal, answered there."""

from __future__ import annotations

import asyncio
import getpass
import socket
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from freehold.api.names import DECISIONS_ANNOTATION, JOURNAL_ANNOTATION
from freehold.cli import hints
from freehold.cli.access import Access
from freehold.cli.down import absent, named
from freehold.cli.errors import CliError
from freehold.cli.lookup import key_ring
from freehold.cli.session import Session
from freehold.cli.terminal import tell
from freehold.kube.errors import NotFound
from freehold.kube.resources import Json, Key, Resource

if TYPE_CHECKING:
    from freehold.lifecycle.decisions import Decision
    from freehold.lifecycle.journal import Journal
    from freehold.lifecycle.keys import KeyRing

PATIENCE_SECONDS = 300.0
"""Real seconds until a command stops to wait for the operator's answers; they are not lost."""
_GLANCE_SECONDS = 0.2


async def the_object(session: Session, key: Key) -> tuple[Resource, Json]:
    """The stored object of that name. Raises CliError."""
    found = await named(session, key)
    if not found:
        raise absent(key, session)
    resource, _ = found[0]
    raw = await session.client.get(resource, key)
    return resource, {"apiVersion": resource.api_version, "kind": resource.kind, **raw}


def journal_of(raw: Json) -> Journal:
    """Raises CliError where there is none, or it cannot be read."""
    from freehold.lifecycle import journal as journals

    metadata = raw["metadata"]
    text = (metadata.get("annotations") or {}).get(JOURNAL_ANNOTATION)
    if text is None:
        raise CliError(f"{metadata.get('namespace', '')}/{metadata['name']} has no journal yet: nothing is on record")
    try:
        return journals.loads(text)
    except journals.CorruptJournal as problem:
        raise CliError(str(problem)) from problem


async def required_ring(target: Access, session: Session) -> KeyRing:
    """Who cannot read the ring cannot decide. Raises CliError."""
    ring = await key_ring(target, session)
    if ring is None:
        raise CliError("there is no key ring that this command can read, so it cannot sign; see freehold keys list")
    return ring


def who() -> str:
    """Who decides, for the audit log."""
    return f"{getpass.getuser()}@{socket.gethostname()}"


def with_decisions(raw: Json, made: Sequence[Decision], ring: KeyRing) -> Json:
    """The object with ``made``, signed. Earlier decisions that have their answers are dropped. Raises CliError."""
    from freehold.lifecycle import decisions

    metadata = raw["metadata"]
    annotations = metadata.get("annotations") or {}
    try:
        stored = decisions.loads(annotations.get(DECISIONS_ANNOTATION) or "[]")
    except decisions.DamagedDecisions as problem:
        raise CliError(f"annotation {DECISIONS_ANNOTATION}: {problem}; remove it first") from problem
    keys = ring.of(journal_of(raw).owner, unkeyed=False)
    all_of_them = [*decisions.pending(stored), *(decisions.signed(each, keys) for each in made)]
    return {
        **raw,
        "metadata": {**metadata, "annotations": {**annotations, DECISIONS_ANNOTATION: decisions.dumps(all_of_them)}},
    }


async def decide(session: Session, resource: Resource, raw: Json) -> None:
    """Store the decisions that ``raw`` carries, on the version that was looked at, and tell the answers."""
    from freehold.lifecycle import decisions

    key = Key(raw["metadata"].get("namespace", ""), raw["metadata"]["name"])
    text = raw["metadata"]["annotations"][DECISIONS_ANNOTATION]
    version = raw["metadata"]["resourceVersion"]
    patch = {"metadata": {"resourceVersion": version, "annotations": {DECISIONS_ANNOTATION: text}}}
    await session.client.patch(resource, key, patch)
    deadline, told = time.monotonic() + PATIENCE_SECONDS, set[str]()
    refused = []
    while time.monotonic() < deadline:
        try:
            stored = await session.client.get(resource, key)
        except NotFound as gone:
            raise CliError(f"{key} is gone meanwhile") from gone
        now = decisions.loads((stored["metadata"].get("annotations") or {}).get(DECISIONS_ANNOTATION) or "[]")
        for each in now:
            if each.answer and each.node not in told:
                told.add(each.node)
                tell(f"{each.verdict} {each.node}: {each.answer}")
                refused += [each.node] if each.answer.startswith(decisions.REFUSED) else []
        if not decisions.pending(now):
            if refused:
                raise CliError(f"not done: {', '.join(refused)}")
            return
        await asyncio.sleep(_GLANCE_SECONDS)
    more = hints.command("tree", key.name, namespace=key.namespace, usual=session.namespace)
    raise CliError(f"the operator has not answered yet; the decision is stored: {more} shows more")
