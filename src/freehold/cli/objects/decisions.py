"""A person's decisions, from a command to the operator: signed, stored beside the journal, answered there."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from freehold.api.names import DECISIONS_ANNOTATION, JOURNAL_ANNOTATION
from freehold.cli.errors import CliError
from freehold.cli.local.access import Access
from freehold.cli.local.key_ring import key_ring
from freehold.cli.local.session import Session
from freehold.cli.objects.naming import NameSyntax, find_object
from freehold.cli.output.hints import hint
from freehold.cli.output.terminal import tell
from freehold.kube.errors import Conflict, ObjectNotFound
from freehold.kube.resources import Json, Key, Resource, key_of

if TYPE_CHECKING:
    from freehold.engine.decisions import Decision
    from freehold.engine.journal import Entry, Journal
    from freehold.engine.keys import KeyRing

PATIENCE_SECONDS = 300.0
"""Real seconds until a command stops to wait for the operator's answers; they are not lost."""
_GLANCE_SECONDS = 0.2
_ATTEMPTS = 10
"""Of a write that the operator, which may have work of its own on the object, was faster than."""


class _Objects(Protocol):
    """The stored objects, as far as a decision needs them."""

    async def get(self, resource: Resource, key: Key) -> Json: ...

    async def patch(self, resource: Resource, key: Key, body: Json) -> Json: ...


async def read_object(
    session: Session, naming: NameSyntax, words: Sequence[str], namespace: str
) -> tuple[Resource, Json]:
    """Read the stored object that the words name. Raises CliError."""
    resource, key = await find_object(session, naming, words, namespace)
    raw = await session.client.get(resource, key)
    return resource, {"apiVersion": resource.api_version, "kind": resource.kind, **raw}


def journal_of(raw: Json) -> Journal:
    """Read the journal of an object. Raises CliError where there is none, or it cannot be read."""
    from freehold.engine import journal as journals

    metadata = raw["metadata"]
    text = (metadata.get("annotations") or {}).get(JOURNAL_ANNOTATION)
    if text is None:
        raise CliError(f"{metadata.get('namespace', '')}/{metadata['name']} has no journal yet: nothing is on record")
    try:
        return journals.loads(text)
    except journals.CorruptJournal as problem:
        raise CliError(str(problem)) from problem


async def require_ring(target: Access, session: Session) -> KeyRing:
    """Who cannot read the ring cannot decide. Raises CliError."""
    ring = await key_ring(target, session)
    if ring is None:
        raise CliError(f"there is no key ring that this command can read, so it cannot sign; see {hint('keys list')}")
    return ring


def add_decisions(raw: Json, made: Sequence[Decision], ring: KeyRing) -> Json:
    """Add ``made`` to the object, signed. Earlier decisions that have their answers are dropped. Raises CliError."""
    from freehold.engine import decisions

    metadata = raw["metadata"]
    annotations = metadata.get("annotations") or {}
    try:
        stored = decisions.loads(annotations.get(DECISIONS_ANNOTATION) or "[]")
    except decisions.DamagedDecisions as problem:
        raise CliError(f"annotation {DECISIONS_ANNOTATION}: {problem}; remove it first") from problem
    keys = ring.derive_keys(journal_of(raw).owner)
    all_of_them = [*decisions.pending(stored), *(decisions.sign_decision(each, keys) for each in made)]
    return {
        **raw,
        "metadata": {**metadata, "annotations": {**annotations, DECISIONS_ANNOTATION: decisions.dumps(all_of_them)}},
    }


async def decide(session: Session, resource: Resource, raw: Json, made: Sequence[Decision], ring: KeyRing) -> None:
    """Store what was decided on the grounds of ``raw``, and tell the answers. Raises CliError."""
    from freehold.engine import decisions

    key = key_of(raw)
    await _store(session.client, resource, raw, made, ring)
    deadline, told = time.monotonic() + PATIENCE_SECONDS, set[str]()
    refused = []
    while time.monotonic() < deadline:
        stored = await _read(session.client, resource, key)
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
    more = hint("tree", key.name, namespace=key.namespace, usual=session.namespace)
    raise CliError(f"the operator has not answered yet; the decision is stored: {more} shows more")


async def _store(client: _Objects, resource: Resource, raw: Json, made: Sequence[Decision], ring: KeyRing) -> None:
    """Store by compare-and-set, on the newest version that still shows the grounds: the operator writes, too."""
    key, newest = key_of(raw), raw
    for _ in range(_ATTEMPTS):
        metadata = add_decisions(newest, made, ring)["metadata"]
        annotations = {DECISIONS_ANNOTATION: metadata["annotations"][DECISIONS_ANNOTATION]}
        patch = {"metadata": {"resourceVersion": metadata["resourceVersion"], "annotations": annotations}}
        try:
            await client.patch(resource, key, patch)
            return
        except Conflict:
            newest = await _read(client, resource, key)
            if why := _describe_change(raw, newest, made):
                raise CliError(f"{key}: nothing was stored: {why}. The same command shows what is so now") from None
        except ObjectNotFound as gone:
            raise CliError(f"{key} is gone meanwhile") from gone
    raise CliError(f"{key}: nothing was stored: the operator changes it too fast; run the same command again")


async def _read(client: _Objects, resource: Resource, key: Key) -> Json:
    try:
        return await client.get(resource, key)
    except ObjectNotFound as gone:
        raise CliError(f"{key} is gone meanwhile") from gone


def _describe_change(before: Json, now: Json, made: Sequence[Decision]) -> str:
    """Say which ground of the decisions is another one now; empty where all is as it was. Raises CliError."""
    if before["metadata"]["uid"] != now["metadata"]["uid"]:
        return "it is another object of this name now"
    if "deletionTimestamp" in now["metadata"] and "deletionTimestamp" not in before["metadata"]:
        return "it is being deleted"
    if _spec_of_user(before) != _spec_of_user(now):
        return "its spec was changed meanwhile"
    then, today = journal_of(before).entries, journal_of(now).entries
    for decision in made:
        if _grounds(then.get(decision.about)) != _grounds(today.get(decision.about)):
            return f"what is on record of {decision.node} was changed meanwhile"
    return ""


def _spec_of_user(raw: Json) -> Json:
    """Return the spec without the endpoint, which the operator itself fills in."""
    return {name: value for name, value in (raw.get("spec") or {}).items() if name != "controlPlaneEndpoint"}


def _grounds(entry: Entry | None) -> tuple[str, int, bool]:
    """Return what a decision names and supposes. Whether a mark was read back is no news of it."""
    return (entry.id, entry.attempt, entry.state.is_claimed) if entry else ("", 0, False)
