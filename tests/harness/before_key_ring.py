"""Objects and worlds of the version before the key ring, loaded into today's harness."""

from __future__ import annotations

import json
from collections.abc import Callable

from freehold.api import names
from freehold.clouds.ibm.marks import IbmCodec
from freehold.lifecycle import journal as journals
from freehold.lifecycle.journal import Journal
from freehold.lifecycle.keys import KeyRing
from freehold.lifecycle.port import InlinePort, Port
from harness import earlier_versions
from harness.earlier_versions import BEFORE_KEY_RING, put
from harness.powervs import Harness
from harness.resources import MARK, existing, made_by_others, made_by_us, marks, record

KEY = b"the first key of the upgraded operator"
RING = KeyRing.single(KEY, unkeyed=earlier_versions.uuids(BEFORE_KEY_RING))
"""The ring of an operator that finds objects and no ring: their older records still count."""
KEYED_ONLY = KeyRing.single(KEY)
"""The same ring after `freehold keys require`, or when every object has been renewed."""
ROTATED = "another-api-key"
"""With another API key the secret of the old signatures cannot be derived any more."""


def moments(*, deleting: bool) -> list[str]:
    """The fixtures, as ``world/moment``, in which the object is being deleted or not."""
    return earlier_versions.moments(BEFORE_KEY_RING, deleting=deleting)


def load(fixture: str, *, api_key: str = "", ring: KeyRing = RING, port: Callable[[], Port] = InlinePort) -> Harness:
    """Today's operator, just started, with the fixture of that moment."""
    return earlier_versions.load(BEFORE_KEY_RING, fixture, api_key=api_key, ring=ring, port=port)


def with_api_key(fixture: str, harness: Harness, api_key: str = "") -> Harness:
    """The same object and world, with an operator that is started with another API key."""
    other = load(fixture, api_key=api_key, ring=harness.rings.ring)
    put(other, harness.object.raw, harness.cloud.world.data, harness.clock.now())
    return other


def without_marks(harness: Harness) -> dict[str, str]:
    """All resources that are not ours, byte for byte, without our marks, which change on a carrier.

    And without the user's tags: earlier versions did not put them on what is given.
    """
    ids = {row["id"]: row["tags"] for row in made_by_others(harness)}
    users = _user_tags(harness)
    return {
        record["id"]: json.dumps([record, [tag for tag in foreign(ids[record["id"]]) if tag not in users]])
        for record in harness.cloud.world.everything()
        if record["id"] in ids
    }


def _user_tags(harness: Harness) -> set[str]:
    wanted = harness.object.raw["spec"].get("tags") or ()
    return {f"{tag['key']}:{tag['value']}" if tag.get("value") else tag["key"] for tag in wanted}


def foreign(tags: list[str]) -> list[str]:
    """The tags that are not marks."""
    return sorted(tag for tag in tags if not tag.startswith(MARK))


def journal_of(harness: Harness) -> Journal:
    return journals.loads(harness.object.raw["metadata"]["annotations"][names.JOURNAL_ANNOTATION])


def is_renewed(harness: Harness) -> bool:
    journal = journal_of(harness)
    return journal.key == RING.writing and {entry.key for entry in journal.ours.values()} == {RING.writing}


def new_seals(harness: Harness) -> dict[str, set[str]]:
    """The marks that each target must have, by CRN: one for each record, with the ring's key."""
    journal, codec = journal_of(harness), IbmCodec()
    keys = RING.of(journal.owner, unkeyed=False)
    found: dict[str, set[str]] = {}
    for key, entry in journal.ours.items():
        if entry.carried:
            bare = entry.id.rpartition("/")[2]
            seal = keys.carried_seal(RING.writing, key.kind, bare, entry.target)
            found.setdefault(entry.target, set()).add(codec.carried(journal.owner, key.kind, entry.id, seal))
        else:
            seal = keys.seal(RING.writing, key, entry.target)
            found.setdefault(entry.target, set()).update({*codec.owner(journal.owner), codec.node(key, seal)})
    return found


def marks_there(harness: Harness) -> dict[str, set[str]]:
    return {record(harness, row["id"])["crn"]: set(marks(row)) for row in existing(harness) if marks(row)}


def theirs_on_ours(harness: Harness) -> dict[str, list[str]]:
    """The tags of ours that are not marks, by id."""
    return {row["id"]: foreign(row["tags"]) for row in made_by_us(harness)}
