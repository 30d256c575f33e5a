"""Objects of the version before the key ring: served on, renewed, and deleted, whatever moment that version died at.

The fixtures are that version's own (tests/fixtures/before_key_ring). ``the API key is another``: what it signed its
records with can no longer be derived, so marks and nonces have to prove.
"""

from __future__ import annotations

import json
from collections import Counter

import pytest

from freehold.api import names
from freehold.clouds.ibm.tags import IbmCodec
from freehold.lifecycle import journal as journals
from freehold.lifecycle import ownership
from freehold.lifecycle.kinds import NodeKey
from freehold.lifecycle.ownership import Owner
from stage.before_key_ring import (
    KEYED_ONLY,
    RING,
    ROTATED,
    is_renewed,
    journal_of,
    load,
    marks_there,
    moments,
    sealed_anew,
    theirs_on_ours,
    with_api_key,
    without_marks,
)
from stage.likeness import Trait, traits
from stage.powervs import Stage
from stage.scenery import REGION, made_by_us, marks, photograph, record, said, standing

BUCKET, SERVER = NodeKey("cos-bucket", "main"), NodeKey("dhcp-server", "main")
UNPROVABLE = {
    **{f"all/after {write}": (BUCKET,) for write in (10, 15, 16, 25, 36, 37, 39)},
    **{f"all/{moment}": (BUCKET, SERVER) for moment in ("ready", "after 43")},
}
"""What nothing proves under another API key: it has no tags, the mark on its carrier has no seal, and no nonce is left.

A DHCP server whose network has no CRN loses its nonce once it is renamed.
"""
PRESUMED = "all/after 9"
"""A create of the bucket was cut off: nothing but its name tells, before the upgrade as after it."""
LONG = 3 * 3600.0
"""Seconds that are enough for any renewal or delete."""


def provable(fixtures: list[str]) -> pytest.MarkDecorator:
    """Each fixture with both API keys, but where a person has to act."""
    pairs = [(f, key) for f in fixtures for key in ("", ROTATED) if f != PRESUMED and not (key and f in UNPROVABLE)]
    ids = [f"{f}, the API key is {'another' if key else 'the same'}" for f, key in pairs]
    return pytest.mark.parametrize(("fixture", "api_key"), pairs, ids=ids)


def wanted(fixture: str) -> Counter[Trait]:
    """What the old version had made when it was Ready, but for a tag that others put on it after that."""
    return _without_theirs(traits(load(fixture.partition("/")[0] + "/ready")))


def _without_theirs(found: Counter[Trait]) -> Counter[Trait]:
    return Counter({trait: count for trait, count in found.items() if trait.value != "cost:4711"})


@provable(moments(deleting=False))
def test_an_object_from_before_the_ring_comes_up_is_renewed_and_goes(fixture: str, api_key: str) -> None:
    """Nothing is made twice, nothing is deleted, and in the end nothing needs the old rules any more."""
    stage = load(fixture, api_key=api_key)
    before, others, tags = {row["id"] for row in made_by_us(stage)}, without_marks(stage), theirs_on_ours(stage)

    stage.run(lambda: stage.ready() and is_renewed(stage), LONG)
    stage.settle(30)  # the last old seals come off after their records are renewed

    assert before <= {row["id"] for row in made_by_us(stage)}
    assert _without_theirs(traits(stage)) == wanted(fixture)
    assert json.loads(stage.object.raw["metadata"]["annotations"][names.JOURNAL_ANNOTATION])["v"] == 2
    assert marks_there(stage) == sealed_anew(stage)
    assert {id_: set(found) - set(tags[id_]) for id_, found in theirs_on_ours(stage).items() if id_ in tags} == {
        id_: {"team:red"} - set(tags[id_]) if fixture.startswith("all/") and id_ in _tagged(stage) else set()
        for id_ in tags
    }
    assert without_marks(stage) == others

    stage.rings.ring = KEYED_ONLY
    stage.start_process()
    world = photograph(stage)
    stage.for_a_while(1500.0)
    assert stage.ready()
    assert photograph(stage) == world
    stage.down()
    assert made_by_us(stage) == []
    assert without_marks(stage) == others
    assert [mark for row in standing(stage) for mark in marks(row)] == []


def _tagged(stage: Stage) -> set[str]:
    """What has marks of its own, and so the user's tags."""
    crns = {entry.target for entry in journal_of(stage).ours.values() if not entry.carried}
    return {row["id"] for row in made_by_us(stage) if record(stage, row["id"])["crn"] in crns}


@provable([*moments(deleting=False), *moments(deleting=True)])
def test_an_object_from_before_the_ring_is_deleted_before_it_is_renewed(fixture: str, api_key: str) -> None:
    """Everything of ours goes and nothing else."""
    stage = load(fixture, api_key=api_key)
    others = without_marks(stage)
    if "deletionTimestamp" not in stage.object.raw["metadata"]:
        stage.object.delete()
    stage.run(lambda: stage.object.gone)
    assert made_by_us(stage) == []
    assert [mark for row in standing(stage) for mark in marks(row)] == []
    assert without_marks(stage) == others


@pytest.mark.parametrize("fixture", [f for f in UNPROVABLE if f in moments(deleting=False)])
def test_what_nothing_proves_is_named_and_the_rest_is_renewed(fixture: str) -> None:
    """A record that somebody may have written, and a mark that somebody may have put there: a person has to say."""
    stage = load(fixture, api_key=ROTATED)
    entries, before = journal_of(stage).entries, {row["id"] for row in made_by_us(stage)}
    stage.for_a_while(LONG)
    assert not stage.ready()
    for key in UNPROVABLE[fixture]:
        assert entries[key].id in said(stage)
        assert f"remove {key} from annotation freehold.dev/journal" in said(stage)
        assert "run the operator with the API key that it was recorded with" in said(stage)
    assert before <= {row["id"] for row in made_by_us(stage)}
    assert _without_theirs(traits(stage)) == wanted(fixture)
    unproven = set(UNPROVABLE[fixture])
    assert {e.key for key, e in journal_of(stage).ours.items() if key not in unproven} == {RING.writing}


def test_the_old_api_key_mends_what_nothing_proves() -> None:
    """As the message tells: with the key that signed the records they count until they are renewed."""
    stage = load("all/ready", api_key=ROTATED)
    stage.for_a_while(1800.0)
    stage = with_api_key("all/ready", stage)
    stage.run(lambda: stage.ready() and is_renewed(stage), LONG)
    stage.down()
    assert made_by_us(stage) == []


@pytest.mark.parametrize("fixture", list(UNPROVABLE))
def test_what_nothing_proves_holds_the_finalizer(fixture: str) -> None:
    """Never released silently: it stays, with what it is in, until a person has deleted it or struck it out."""
    stage = load(fixture, api_key=ROTATED)
    others, entries = without_marks(stage), journal_of(stage).entries
    if "deletionTimestamp" not in stage.object.raw["metadata"]:
        stage.object.delete()
    stage.for_a_while(LONG)
    assert not stage.object.gone
    for key in UNPROVABLE[fixture]:
        assert entries[key].id in said(stage)
        assert f"Delete it in the cloud if it was made for this object; otherwise remove {key}" in said(stage)
    stage.cloud.strangers.delete("demo-bucket")
    if SERVER in UNPROVABLE[fixture]:
        stage.cloud.strangers.delete(entries[SERVER].id.rpartition("/")[2])
        for network in standing(stage, "network", "DHCPSERVERfreehold-demo_Private"):
            stage.cloud.strangers.delete(network["id"])
    stage.run(lambda: stage.object.gone)
    assert made_by_us(stage) == []
    assert without_marks(stage) == others


@pytest.mark.parametrize("api_key", ["", ROTATED], ids=["the API key is the same", "the API key is another"])
@pytest.mark.parametrize("deleted", [False, True], ids=["served", "deleted"])
def test_a_presumed_create_still_waits_for_a_person(api_key: str, deleted: bool) -> None:
    """The upgrade makes a name no better proof than it was."""
    stage = load(PRESUMED, api_key=api_key)
    if deleted:
        stage.object.delete()
    stage.for_a_while(LONG)
    assert not stage.object.gone
    assert "a create of cos-bucket/main was cut off" in said(stage)
    assert standing(stage, "bucket", "demo-bucket") != []
    stage.cloud.strangers.delete("demo-bucket")
    if deleted:
        stage.run(lambda: stage.object.gone)
        assert made_by_us(stage) == []
    else:
        stage.run(lambda: stage.ready() and is_renewed(stage), LONG)
        assert _without_theirs(traits(stage)) == wanted(PRESUMED)


def forged(stage: Stage, key: NodeKey, crn: str) -> list[str]:
    """What somebody who knows uuid and rules, and may tag, writes on a thing: a seal from before the ring is public."""
    owner, codec = journal_of(stage).owner, IbmCodec()
    return [*codec.owner(owner), codec.node(key, ownership.seal(owner, key, crn))]


@pytest.mark.parametrize("logical", ["main", "freehold-demo-vpcsubnet:us-south-1", "another"])
def test_a_forged_seal_from_before_the_ring_has_no_effect_once_the_object_is_renewed(logical: str) -> None:
    """Until it is renewed the old rules count, and somebody who may only tag can have a stranger's thing deleted.

    That is the known weakness of an object from before the ring. It ends with the renewal.
    """
    stage = load("plain/ready")
    stage.run(lambda: stage.ready() and is_renewed(stage), LONG)
    kind = "vpc-subnet" if logical.startswith("freehold") else "vpc"
    make = stage.cloud.strangers.make
    vpc = make("vpc", region=REGION, name="strangers-vpc")
    theirs = vpc if kind == "vpc" else make("subnet", region=REGION, vpc=vpc["id"], zone="us-south-1", name="strangers")
    stage.cloud.strangers.attach(theirs["crn"], *forged(stage, NodeKey(kind, logical), theirs["crn"]))
    stage.clock.advance(3600.0)
    world = photograph(stage, [theirs["id"]])
    stage.for_a_while(3600.0)
    assert stage.ready()
    stage.object.delete()
    stage.for_a_while(3600.0)
    assert photograph(stage, [theirs["id"]]) == world
    assert made_by_us(stage) == []
    assert stage.object.gone
    left = [row for row in stage.object.history[-2]["status"]["resources"] if row.get("state") == "Kept"]
    assert any(theirs["crn"] in row["message"] for row in left), left


def test_a_forged_mark_on_a_given_carrier_has_no_effect_even_before_the_object_is_renewed() -> None:
    """A carrier's mark has proved nothing alone since there is a ring: record, nonce or keyed seal must agree."""
    stage = load("all/ready")
    owner, codec = journal_of(stage).owner, IbmCodec()
    gateway = next(row for row in standing(stage, "gateway"))
    link = next(row for row in standing(stage, "connection") if row["created_by"] == "stranger")
    crn = record(stage, gateway["id"])["crn"]
    stage.cloud.strangers.attach(
        crn, codec.carried(owner, "transit-gateway-connection", f"{gateway['id']}/{link['id']}")
    )
    stage.clock.advance(3600.0)
    world = photograph(stage, [link["id"]])
    stage.down()
    assert photograph(stage, [link["id"]]) == world
    assert made_by_us(stage) == []
    assert any(link["id"] in row.get("message", "") for row in stage.object.history[-2]["status"]["resources"])


@pytest.mark.parametrize("restarted", [False, True], ids=["the process lives", "the process is new"])
@pytest.mark.parametrize(
    "backup", ["plain/before 1", "plain/after 1", "plain/after 4", "plain/after 28", "plain/ready"]
)
def test_a_backup_from_before_the_upgrade_comes_back_after_the_renewal(backup: str, restarted: bool) -> None:
    """Its old seals are gone from the cloud and its intents long resolved: the keyed seals tell, nothing is doubled.

    The operator lists a renewed object no more, so a person lets the backup's records count again.
    """
    stage = load(backup)
    text = stage.object.raw["metadata"]["annotations"][names.JOURNAL_ANNOTATION]
    stage.run(lambda: stage.ready() and is_renewed(stage), LONG)
    stage.settle(30)
    ids = {row["id"] for row in made_by_us(stage)}
    stage.rings.ring = KEYED_ONLY
    stage.object.patch({"metadata": {"annotations": {names.JOURNAL_ANNOTATION: text}}})
    if restarted:
        stage.start_process()
    stage.for_a_while(900.0)
    assert {row["id"] for row in made_by_us(stage)} == ids
    assert "freehold keys require --undo" in stage.condition("Ready")["message"]
    stage.rings.ring = RING
    stage.run(lambda: stage.ready() and is_renewed(stage), LONG)
    stage.settle(30)
    assert {row["id"] for row in made_by_us(stage)} == ids
    assert marks_there(stage) == sealed_anew(stage)
    stage.down()
    assert made_by_us(stage) == []


@pytest.mark.parametrize("deleted", [False, True], ids=["served", "deleted"])
def test_a_journal_without_a_key_makes_a_new_object_none_from_before_the_ring(deleted: bool) -> None:
    """Whoever may edit objects and tag in the account could else have a stranger's VPC deleted by public rules."""
    stage = Stage()
    stage.rings.ring = RING
    stage.object.patch({"metadata": {"uid": "made-after-the-upgrade"}})
    theirs = stage.cloud.strangers.make("vpc", region=REGION, name="strangers-vpc")
    metadata = stage.object.raw["metadata"]
    owner = Owner(metadata["uid"], stage.object.raw["kind"], metadata["namespace"], metadata["name"])
    node, codec = NodeKey("vpc", "main"), IbmCodec()
    seal = ownership.seal(owner, node, theirs["crn"])
    stage.cloud.strangers.attach(theirs["crn"], *codec.owner(owner), codec.node(node, seal))
    entry = journals.Entry(journals.Phase.OWNED, id=f"{REGION}/{theirs['id']}", target=theirs["crn"])
    text = journals.dumps(journals.Journal(owner, {node: entry}))
    stage.object.patch({"metadata": {"annotations": {names.JOURNAL_ANNOTATION: text}}})
    world, calls = photograph(stage), len(stage.calls())
    stage.for_a_while(1800.0)
    assert stage.condition("Ready")["reason"] == "KeyMissing"
    if deleted:
        stage.object.delete()
        stage.for_a_while(1800.0)
    assert photograph(stage) == world
    assert len(stage.calls()) == calls


SERVED, DELETED, LOST, BOTH = "served", "deleted", "journal lost", "journal lost, then deleted"
NO_STATUS = {("plain/after 1", LOST), ("plain/after 1", BOTH)}
"""The first pass never ended, so without the journal nothing tells whose the object was: IdentityLost."""


@pytest.mark.parametrize(
    ("fixture", "event"),
    [
        (fixture, event)
        for fixture in ("plain/ready", "plain/after 1", "plain/after 10", "all/after 36")
        for event in (SERVED, DELETED, LOST, BOTH)
        if (fixture, event) not in NO_STATUS
    ],
)
def test_where_the_ring_requires_keyed_records_nothing_is_done_for_an_object_that_is_not_renewed(
    fixture: str, event: str
) -> None:
    """A backup that is older than `freehold keys require` may come back: what it names cannot be proven.

    A second set of resources, or a release that leaves the first one, would be worse than an object which waits for a
    person. All goes on once such records count again.
    """
    stage = load(fixture, ring=KEYED_ONLY)
    if event in (LOST, BOTH):
        stage.object.patch({"metadata": {"annotations": {names.JOURNAL_ANNOTATION: None}}})
    if event == DELETED:
        stage.object.delete()
    stage.cloud.settle()
    world, ids = without_marks(stage), {row["id"] for row in made_by_us(stage)}
    stage.for_a_while(LONG)
    assert not stage.ready()
    if event == BOTH:
        stage.object.delete()
        stage.for_a_while(LONG)
    assert not stage.object.gone
    assert {row["id"] for row in made_by_us(stage)} == ids
    assert without_marks(stage) == world
    stage.rings.ring = RING
    if event in (SERVED, LOST):
        stage.run(lambda: stage.ready() and is_renewed(stage), LONG)
        assert _without_theirs(traits(stage)) == wanted(fixture)
    elif event == DELETED:
        stage.run(lambda: stage.object.gone, LONG)
        assert made_by_us(stage) == []
