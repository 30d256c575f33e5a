"""Evidence for a person about the records that a lost key has signed, read from the cloud. Nothing is written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Sequence
from dataclasses import astuple, dataclass, replace
from enum import StrEnum

from freehold.controllers.keyring.stored_form import RecordName
from freehold.controllers.read_only_context import build_read_only_context
from freehold.engine import proofs
from freehold.engine.context import PassContext
from freehold.engine.drivers import User
from freehold.engine.errors import CloudError
from freehold.engine.interface import EngineDeps
from freehold.engine.journal import Journal
from freehold.engine.ownership import Strength
from freehold.engine.phases import observe
from freehold.engine.resources import NodeKey, Observed, Ref
from freehold.kube.resources import Key


class RecordStanding(StrEnum):
    """The effect that acceptance would have on a record."""

    AGREES = "agrees"  # record and marks agree: it is believed, if a person accepts it
    DIFFERS = "differs"  # the marks do not show it: it is not believed
    GONE = "gone"  # there is no such resource
    UNREAD = "unread"  # the cloud could not be asked


@dataclass(frozen=True)
class RecordEvidence:
    """The evidence for one record from its resource in the cloud.

    ``why`` says why the record is not believed, or not read. ``created_at`` is epoch seconds, None if the cloud does
    not tell. ``tags`` has no marks. ``inside`` and ``users`` are None where no read shows them. ``marked_on`` is the
    carrier of its mark. ``others`` are further objects that have the resource on record.
    """

    record: RecordName
    standing: RecordStanding
    why: str = ""
    name: str = ""
    created_at: float | None = None
    created_by: str = ""
    tags: tuple[str, ...] = ()
    inside: tuple[User, ...] | None = None
    users: tuple[User, ...] | None = None
    marked_on: str = ""
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class ObjectEvidence:
    """One object that names the lost key. ``rows`` is empty if no record of a resource names the key."""

    kind: str
    object: Key
    uuid: str
    rows: tuple[RecordEvidence, ...] = ()


def digest_list(lost: str, objects: Sequence[ObjectEvidence]) -> str:
    """Return the SHA-256 of all that a person is shown before key ``lost`` is given up.

    It is not shortened: whoever may edit objects and tag resources could find two lists with one short digest.
    Messages of failed reads are left out, because they differ each time.
    """
    said = [
        [each.kind, str(each.object), each.uuid, [[*astuple(row)[:2], *astuple(row)[3:]] for row in each.rows]]
        for each in objects
    ]
    return hashlib.sha256(json.dumps(["freehold keys accept", lost, said]).encode()).hexdigest()


def build_unread_rows(records: Collection[RecordName], why: str) -> tuple[RecordEvidence, ...]:
    """Build the rows of an object whose account could not be read."""
    return tuple(RecordEvidence(each, RecordStanding.UNREAD, why) for each in sorted(records))


async def gather_evidence(
    journal: Journal, records: Collection[RecordName], deps: EngineDeps
) -> tuple[RecordEvidence, ...]:
    """Read the resource of each record. The ring of ``deps`` accepts all records, so that the marks alone decide.

    Each resource is read by itself, so that an id that the cloud refuses does not hide the others.
    """
    ctx = build_read_only_context(journal, deps)
    rows = [await _gather_for_record(ctx, each) for each in sorted(records)]
    claims = await _find_claims(
        ctx, [row.record for row in rows if row.standing in (RecordStanding.AGREES, RecordStanding.DIFFERS)]
    )
    return tuple(replace(row, others=claims.get(row.record, ())) for row in rows)


async def _find_claims(ctx: PassContext, records: Sequence[RecordName]) -> dict[RecordName, tuple[str, ...]]:
    """Find the other objects that have these resources on record, with one read for each kind."""
    found = {}
    for kind in {NodeKey.parse(each.node).kind for each in records}:
        ids = {each.id: each for each in records if NodeKey.parse(each.node).kind == kind}
        for ident, objects in (await ctx.deps.others.owning(ctx.owner, kind, ids.keys())).items():
            found[ids[ident]] = objects
    return found


async def _gather_for_record(ctx: PassContext, record: RecordName) -> RecordEvidence:
    key = NodeKey.parse(record.node)
    if key.kind not in ctx.deps.registry:
        return RecordEvidence(record, RecordStanding.UNREAD, f"no kind of resource is called {key.kind!r}")
    seen = (await observe.read_each(ctx, [key]))[key]
    if seen is None:
        return RecordEvidence(record, RecordStanding.GONE)
    try:
        if isinstance(seen, CloudError):
            raise seen
        return await _judge_marks(ctx, key, record, seen)
    except CloudError as error:
        return RecordEvidence(record, RecordStanding.UNREAD, error.message)


async def _judge_marks(ctx: PassContext, key: NodeKey, record: RecordName, seen: Observed) -> RecordEvidence:
    """Judge a record by the marks of its resource. Raises CloudError."""
    tags = seen.tags
    if tags is None:
        tags = await ctx.deps.tagger.tags_of(seen.target) if seen.target else frozenset()
    found = proofs.evidence(ctx, key, seen, tags)
    agrees = found.strength is Strength.PROVEN
    kind, ref = ctx.kind(key), Ref(seen.id, seen.target)
    inside: Sequence[User] | None = None
    if kind.deletion.container is not None:
        inside = [User(each.name, each.id) for each in await kind.deletion.container.children(ref)]
    elif kind.deletion.contents is not None:
        inside = await kind.deletion.contents.contents(ref)
    users = await kind.deletion.usage.users(ref) if kind.deletion.usage is not None else None
    return RecordEvidence(
        record,
        RecordStanding.AGREES if agrees else RecordStanding.DIFFERS,
        "" if agrees else found.source,
        seen.name,
        seen.created_at,
        seen.created_by,
        () if seen.carried else tuple(sorted(tag for tag in tags if not ctx.deps.codec.is_mark(tag))),
        None if inside is None else tuple(sorted(inside)),
        None if users is None else tuple(sorted(users)),
        seen.target if seen.carried else "",
    )
