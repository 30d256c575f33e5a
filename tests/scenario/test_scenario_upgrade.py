"""Objects of the version before the key ring are served, renewed and deleted, whenever that version died.

That version wrote the fixtures (tests/fixtures/before_key_ring). ``the API key is another``: what it signed its
records with can no longer be derived, so marks and nonces have to prove.
"""

from __future__ import annotations

import json
from collections import Counter

import pytest

from freehold.api import names
from freehold.clouds.ibm.marks import IbmCodec
from freehold.lifecycle import journal as journals
from freehold.lifecycle import ownership
from freehold.lifecycle.ownership import Owner
from freehold.lifecycle.resources import NodeKey
from harness.before_key_ring import (
    KEYED_ONLY,
    RING,
    ROTATED,
    is_renewed,
    journal_of,
    load,
    marks_there,
    moments,
    new_seals,
    theirs_on_ours,
    with_api_key,
    without_marks,
)
from harness.powervs import Harness
from harness.resources import REGION, existing, made_by_us, marks, messages, record, snapshot
from harness.traits import Trait, traits

BUCKET, SERVER = NodeKey("cos-bucket", "main"), NodeKey("dhcp-server", "main")
UNPROVABLE = {
    **{f"all/after {write}": (BUCKET,) for write in (10, 15, 16, 25, 36, 37, 39)},
    **{f"all/{moment}": (BUCKET, SERVER) for moment in ("ready", "after 43")},
}
"""Not provable under another API key: it has no tags, the mark on its carrier has no seal, and no nonce is left.

A DHCP server whose network has no CRN loses its nonce once it is renamed.
"""
PRESUMED = "all/after 9"
"""A create of the bucket was interrupted: only its name shows whose it is, before and after the upgrade."""
LONG = 3 * 3600.0
"""Seconds that are enough for any renewal or delete."""


def provable(fixtures: list[str]) -> pytest.MarkDecorator:
    """Each fixture with both API keys, except those that need a person; in ``make test`` a third of them."""
    pairs = [(f, key) for f in fixtures for key in ("", ROTATED) if f != PRESUMED and not (key and f in UNPROVABLE)]
    return pytest.mark.parametrize(
        ("fixture", "api_key"),
        [
            pytest.param(
                f, key, id=f"{f}, the API key is {'another' if key else 'the same'}",
                marks=[] if index % 3 == 0 else pytest.mark.slow,
            )
            for index, (f, key) in enumerate(pairs)
        ],
    )  # fmt: skip


def wanted(fixture: str) -> Counter[Trait]:
    """The resources of the old version when it was Ready, without a tag that others attached after that."""
    return _without_theirs(traits(load(fixture.partition("/")[0] + "/ready")))


def _without_theirs(found: Counter[Trait]) -> Counter[Trait]:
    return Counter({trait: count for trait, count in found.items() if trait.value != "cost:4711"})


@provable(moments(deleting=False))
def test_an_object_from_before_the_ring_becomes_ready_is_renewed_and_deleted(fixture: str, api_key: str) -> None:
    """Nothing is made twice, nothing is deleted, and in the end nothing needs the old rules any more."""
    harness = load(fixture, api_key=api_key)
    before, others, tags = {row["id"] for row in made_by_us(harness)}, without_marks(harness), theirs_on_ours(harness)

    harness.run(lambda: harness.ready() and is_renewed(harness), LONG)
    harness.settle(30)  # the last old seals are detached after their records are renewed

    assert before <= {row["id"] for row in made_by_us(harness)}
    assert _without_theirs(traits(harness)) == wanted(fixture)
    assert json.loads(harness.object.raw["metadata"]["annotations"][names.JOURNAL_ANNOTATION])["v"] == 2
    assert marks_there(harness) == new_seals(harness)
    assert {id_: set(found) - set(tags[id_]) for id_, found in theirs_on_ours(harness).items() if id_ in tags} == {
        id_: {"team:red"} - set(tags[id_]) if fixture.startswith("all/") and id_ in _tagged(harness) else set()
        for id_ in tags
    }
    assert without_marks(harness) == others

    harness.rings.ring = KEYED_ONLY
    harness.start_process()
    world = snapshot(harness)
    harness.for_a_while(1500.0)
    assert harness.ready()
    assert snapshot(harness) == world
    harness.down()
    assert made_by_us(harness) == []
    assert without_marks(harness) == others
    assert [mark for row in existing(harness) for mark in marks(row)] == []


def _tagged(harness: Harness) -> set[str]:
    """Resources that have their own marks, and so the user tags."""
    crns = {entry.target for entry in journal_of(harness).ours.values() if not entry.carried}
    return {row["id"] for row in made_by_us(harness) if record(harness, row["id"])["crn"] in crns}


@provable([*moments(deleting=False), *moments(deleting=True)])
def test_an_object_from_before_the_ring_can_be_deleted_before_it_is_renewed(fixture: str, api_key: str) -> None:
    """Everything of ours is deleted, and nothing else."""
    harness = load(fixture, api_key=api_key)
    others = without_marks(harness)
    if "deletionTimestamp" not in harness.object.raw["metadata"]:
        harness.object.delete()
    harness.run(lambda: harness.object.gone)
    assert made_by_us(harness) == []
    assert [mark for row in existing(harness) for mark in marks(row)] == []
    assert without_marks(harness) == others


@pytest.mark.parametrize("fixture", [f for f in UNPROVABLE if f in moments(deleting=False)])
def test_an_unproven_resource_is_named_and_the_rest_is_renewed(fixture: str) -> None:
    """Somebody else may have written the record and attached the mark: a person has to decide."""
    harness = load(fixture, api_key=ROTATED)
    entries, before = journal_of(harness).entries, {row["id"] for row in made_by_us(harness)}
    harness.for_a_while(LONG)
    assert not harness.ready()
    for key in UNPROVABLE[fixture]:
        assert entries[key].id in messages(harness)
        assert f"{key} --mine if it was made for this object, or --not-mine" in messages(harness)
        assert "Run the operator with the API key that it was recorded with" in messages(harness)
    assert before <= {row["id"] for row in made_by_us(harness)}
    assert _without_theirs(traits(harness)) == wanted(fixture)
    unproven = set(UNPROVABLE[fixture])
    assert {e.key for key, e in journal_of(harness).ours.items() if key not in unproven} == {RING.writing}


def test_the_old_api_key_proves_what_nothing_else_proves() -> None:
    """As the message explains: with the API key that signed the records they count until they are renewed."""
    harness = load("all/ready", api_key=ROTATED)
    harness.for_a_while(1800.0)
    harness = with_api_key("all/ready", harness)
    harness.run(lambda: harness.ready() and is_renewed(harness), LONG)
    harness.down()
    assert made_by_us(harness) == []


@pytest.mark.parametrize("fixture", list(UNPROVABLE))
def test_an_unproven_resource_holds_the_finalizer(fixture: str) -> None:
    """It stays, with its container, until a person has decided about it or deleted it."""
    harness = load(fixture, api_key=ROTATED)
    others, entries = without_marks(harness), journal_of(harness).entries
    if "deletionTimestamp" not in harness.object.raw["metadata"]:
        harness.object.delete()
    harness.for_a_while(LONG)
    assert not harness.object.gone
    for key in UNPROVABLE[fixture]:
        assert entries[key].id in messages(harness)
        assert f"{key} --mine, and it is deleted; or --not-mine, and it stays" in messages(harness)
    harness.cloud.strangers.delete("demo-bucket")
    if SERVER in UNPROVABLE[fixture]:
        harness.cloud.strangers.delete(entries[SERVER].id.rpartition("/")[2])
        for network in existing(harness, "network", "DHCPSERVERfreehold-demo_Private"):
            harness.cloud.strangers.delete(network["id"])
    harness.run(lambda: harness.object.gone)
    assert made_by_us(harness) == []
    assert without_marks(harness) == others


@pytest.mark.parametrize("api_key", ["", ROTATED], ids=["the API key is the same", "the API key is another"])
@pytest.mark.parametrize("deleted", [False, True], ids=["served", "deleted"])
def test_a_presumed_create_still_waits_for_a_person(api_key: str, deleted: bool) -> None:
    """A name is no proof after the upgrade either."""
    harness = load(PRESUMED, api_key=api_key)
    if deleted:
        harness.object.delete()
    harness.for_a_while(LONG)
    assert not harness.object.gone
    assert "a create of cos-bucket/main was interrupted" in messages(harness)
    assert existing(harness, "bucket", "demo-bucket") != []
    harness.cloud.strangers.delete("demo-bucket")
    if deleted:
        harness.run(lambda: harness.object.gone)
        assert made_by_us(harness) == []
    else:
        harness.run(lambda: harness.ready() and is_renewed(harness), LONG)
        assert _without_theirs(traits(harness)) == wanted(PRESUMED)


def forged(harness: Harness, key: NodeKey, crn: str) -> list[str]:
    """The marks that somebody can forge who knows uuid and rules: a seal from before the ring is public."""
    owner, codec = journal_of(harness).owner, IbmCodec()
    return [*codec.owner(owner), codec.node(key, ownership.seal(owner, key, crn))]


@pytest.mark.parametrize("logical", ["main", "freehold-demo-vpcsubnet:us-south-1", "another"])
def test_a_forged_seal_from_before_the_ring_has_no_effect_on_a_renewed_object(logical: str) -> None:
    """Until it is renewed the old rules count, and anybody who may tag can cause the delete of a stranger's resource.

    That is the known weakness of an object from before the ring. It ends with the renewal.
    """
    harness = load("plain/ready")
    harness.run(lambda: harness.ready() and is_renewed(harness), LONG)
    kind = "vpc-subnet" if logical.startswith("freehold") else "vpc"
    make = harness.cloud.strangers.make
    vpc = make("vpc", region=REGION, name="strangers-vpc")
    theirs = vpc if kind == "vpc" else make("subnet", region=REGION, vpc=vpc["id"], zone="us-south-1", name="strangers")
    harness.cloud.strangers.attach(theirs["crn"], *forged(harness, NodeKey(kind, logical), theirs["crn"]))
    harness.clock.advance(3600.0)
    world = snapshot(harness, [theirs["id"]])
    harness.for_a_while(3600.0)
    assert harness.ready()
    harness.object.delete()
    harness.for_a_while(3600.0)
    assert snapshot(harness, [theirs["id"]]) == world
    assert made_by_us(harness) == []
    assert harness.object.gone
    left = [row for row in harness.object.history[-2]["status"]["resources"] if row.get("state") == "Kept"]
    assert any(theirs["crn"] in row["message"] for row in left), left


def test_a_forged_mark_on_a_given_carrier_has_no_effect_before_the_renewal_either() -> None:
    """Since there is a ring, a carrier's mark alone proves nothing: record, nonce or keyed seal must agree."""
    harness = load("all/ready")
    owner, codec = journal_of(harness).owner, IbmCodec()
    gateway = next(row for row in existing(harness, "gateway"))
    link = next(row for row in existing(harness, "connection") if row["created_by"] == "stranger")
    crn = record(harness, gateway["id"])["crn"]
    harness.cloud.strangers.attach(
        crn, codec.carried(owner, "transit-gateway-connection", f"{gateway['id']}/{link['id']}")
    )
    harness.clock.advance(3600.0)
    world = snapshot(harness, [link["id"]])
    harness.down()
    assert snapshot(harness, [link["id"]]) == world
    assert made_by_us(harness) == []
    assert any(link["id"] in row.get("message", "") for row in harness.object.history[-2]["status"]["resources"])


@pytest.mark.parametrize("restarted", [False, True], ids=["the process lives", "the process is new"])
@pytest.mark.parametrize(
    "backup", ["plain/before 1", "plain/after 1", "plain/after 4", "plain/after 28", "plain/ready"]
)
def test_a_backup_from_before_the_upgrade_is_restored_after_the_renewal(backup: str, restarted: bool) -> None:
    """Its old seals are gone and its intents were resolved long ago: keyed seals prove, and nothing is created twice.

    The operator no longer lists a renewed object, so a person accepts the records of the backup again.
    """
    harness = load(backup)
    text = harness.object.raw["metadata"]["annotations"][names.JOURNAL_ANNOTATION]
    harness.run(lambda: harness.ready() and is_renewed(harness), LONG)
    harness.settle(30)
    ids = {row["id"] for row in made_by_us(harness)}
    harness.rings.ring = KEYED_ONLY
    harness.object.patch({"metadata": {"annotations": {names.JOURNAL_ANNOTATION: text}}})
    if restarted:
        harness.start_process()
    harness.for_a_while(900.0)
    assert {row["id"] for row in made_by_us(harness)} == ids
    assert "freehold keys require --undo" in harness.condition("Ready")["message"]
    harness.rings.ring = RING
    harness.run(lambda: harness.ready() and is_renewed(harness), LONG)
    harness.settle(30)
    assert {row["id"] for row in made_by_us(harness)} == ids
    assert marks_there(harness) == new_seals(harness)
    harness.down()
    assert made_by_us(harness) == []


@pytest.mark.parametrize("deleted", [False, True], ids=["served", "deleted"])
def test_a_new_object_with_a_journal_without_a_key_does_not_count_as_one_from_before_the_ring(deleted: bool) -> None:
    """Otherwise who may edit objects and tag in the account could cause the delete of a stranger's VPC."""
    harness = Harness()
    harness.rings.ring = RING
    harness.object.patch({"metadata": {"uid": "made-after-the-upgrade"}})
    theirs = harness.cloud.strangers.make("vpc", region=REGION, name="strangers-vpc")
    metadata = harness.object.raw["metadata"]
    owner = Owner(metadata["uid"], harness.object.raw["kind"], metadata["namespace"], metadata["name"])
    node, codec = NodeKey("vpc", "main"), IbmCodec()
    seal = ownership.seal(owner, node, theirs["crn"])
    harness.cloud.strangers.attach(theirs["crn"], *codec.owner(owner), codec.node(node, seal))
    entry = journals.Entry(journals.Phase.OWNED, id=f"{REGION}/{theirs['id']}", target=theirs["crn"])
    text = journals.dumps(journals.Journal(owner, {node: entry}))
    harness.object.patch({"metadata": {"annotations": {names.JOURNAL_ANNOTATION: text}}})
    world, calls = snapshot(harness), len(harness.calls())
    harness.for_a_while(1800.0)
    assert harness.condition("Ready")["reason"] == "KeyMissing"
    if deleted:
        harness.object.delete()
        harness.for_a_while(1800.0)
    assert snapshot(harness) == world
    assert len(harness.calls()) == calls


SERVED, DELETED, LOST, BOTH = "served", "deleted", "journal lost", "journal lost, then deleted"
NO_STATUS = {("plain/after 1", LOST), ("plain/after 1", BOTH)}
"""The first pass never ended, so without the journal the identity of the object is unknown: IdentityLost."""


@pytest.mark.parametrize(
    ("fixture", "event"),
    [
        (fixture, event)
        for fixture in ("plain/ready", "plain/after 1", "plain/after 10", "all/after 36")
        for event in (SERVED, DELETED, LOST, BOTH)
        if (fixture, event) not in NO_STATUS
    ],
)
def test_if_the_ring_requires_keyed_records_an_object_that_is_not_renewed_is_not_served(
    fixture: str, event: str
) -> None:
    """An older backup than `freehold keys require` may be restored: the resources that it names cannot be proven.

    A second set of resources, or a release that leaves the first one, would be worse than an object which waits for a
    person. All goes on once such records count again.
    """
    harness = load(fixture, ring=KEYED_ONLY)
    if event in (LOST, BOTH):
        harness.object.patch({"metadata": {"annotations": {names.JOURNAL_ANNOTATION: None}}})
    if event == DELETED:
        harness.object.delete()
    harness.cloud.settle()
    world, ids = without_marks(harness), {row["id"] for row in made_by_us(harness)}
    harness.for_a_while(LONG)
    assert not harness.ready()
    if event == BOTH:
        harness.object.delete()
        harness.for_a_while(LONG)
    assert not harness.object.gone
    assert {row["id"] for row in made_by_us(harness)} == ids
    assert without_marks(harness) == world
    harness.rings.ring = RING
    if event in (SERVED, LOST):
        harness.run(lambda: harness.ready() and is_renewed(harness), LONG)
        assert _without_theirs(traits(harness)) == wanted(fixture)
    elif event == DELETED:
        harness.run(lambda: harness.object.gone, LONG)
        assert made_by_us(harness) == []
