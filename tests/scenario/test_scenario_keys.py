"""The key ring: without the key nothing of an object can be proved, so nothing is done; with it all goes on."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from freehold.api import names
from freehold.lifecycle import journal as journals
from freehold.lifecycle.keys import KeyRing, derive
from freehold.operator.ibm import IbmAccount
from freehold.operator.keyring_use import need_of
from freehold.operator.planning import plan_with
from freehold.reconcilers.gate import ClusterContext, FoundCluster, Mode
from freehold.reconcilers.powervs.adapter import PowerVSClusterAdapter
from freehold_sim.faults import Effect, Fault
from freehold_sim.ibm.settings import Assumptions, Settings
from stage.powervs import Stage, example
from stage.scenery import REGION, infrastructure, made_by_us, only, photograph, said, standing

OTHER = KeyRing.single(b"the key of another operator" * 2)


def took_key_away(stage: Stage) -> KeyRing:
    """Its objects came into a cluster whose operator has another ring; what went before is not counted."""
    had = stage.rings.ring
    stage.rings.ring = OTHER
    stage.start_process()
    return had


def record(stage: Stage) -> journals.Journal:
    return journals.loads(stage.object.raw["metadata"]["annotations"][names.JOURNAL_ANNOTATION])


def without_conditions(stage: Stage) -> str:
    """All of the object but its conditions, and what counts its versions."""
    raw = json.loads(json.dumps(stage.object.raw))
    raw["status"].pop("conditions")
    raw["metadata"].pop("resourceVersion")
    return json.dumps(raw, sort_keys=True)


def ids(stage: Stage) -> list[str]:
    """What our calls created; marks and names may be renewed."""
    return [row["id"] for row in made_by_us(stage)]


def test_an_identity_is_minted_under_the_writing_key_and_status_keeps_its_digest() -> None:
    stage = Stage()
    stage.up()
    assert record(stage).key == stage.rings.ring.writing
    assert stage.status()["identity"]["key"] == stage.rings.ring.writing


@pytest.mark.parametrize("deleting", [False, True], ids=["served", "being deleted"])
def test_without_its_key_nothing_is_written_but_conditions_and_no_cloud_is_called(deleting: bool) -> None:
    """The first fence against a copy in another management cluster: even its reads could lead to a delete."""
    stage = Stage()
    stage.up()
    took_key_away(stage)
    if deleting:
        stage.object.delete()
    before, calls = without_conditions(stage), len(stage.calls())
    stage.for_a_while(3600.0)
    assert not stage.object.gone
    assert without_conditions(stage) == before
    assert len(stage.calls()) == calls
    ready = stage.condition("Ready")
    assert (ready["status"], ready["reason"]) == ("False", "KeyMissing")
    assert record(stage).key in ready["message"]
    assert "freehold keys add FILE" in ready["message"]
    assert stage.rings.asked_for_more > 0
    assert stage.passes < 60, "it is looked at slowly"


def test_half_way_through_a_creation_the_same() -> None:
    stage = Stage()
    stage.pass_once()
    stage.pass_once()
    had = took_key_away(stage)
    before, calls = without_conditions(stage), len(stage.calls())
    stage.for_a_while(1800.0)
    assert without_conditions(stage) == before
    assert len(stage.calls()) == calls
    stage.rings.ring = KeyRing(OTHER.writing, {**OTHER.keys, **had.keys})
    stage.up()
    names_of = [row["name"] for row in made_by_us(stage)]
    assert len(names_of) == len(set(names_of))
    stage.down()
    assert standing(stage) == []


def test_a_key_that_is_added_mends_it_without_a_restart() -> None:
    """Zero creates: everything is found again, and goes in the end."""
    stage = Stage()
    stage.up()
    world = photograph(stage)
    had, made = took_key_away(stage), ids(stage)
    stage.for_a_while(600.0)
    assert photograph(stage) == world
    stage.rings.ring = KeyRing(OTHER.writing, {**OTHER.keys, **had.keys})
    stage.up()
    stage.for_a_while(1200.0)
    assert stage.ready()
    assert ids(stage) == made
    stage.down()
    assert standing(stage) == []


def test_the_derived_key_of_one_object_is_enough_for_it() -> None:
    """``freehold keys export NAME`` hands on one object without the key of all the others."""
    stage = Stage()
    stage.up()
    had = took_key_away(stage)
    uuid = record(stage).owner.uuid
    handed_on = {(had.writing, uuid): derive(had.keys[had.writing], uuid)}
    stage.rings.ring = replace(OTHER, handed_on=handed_on)
    stage.run(lambda: stage.ready() and stage.condition("Ready")["reason"] != "KeyMissing")
    stage.down()
    assert standing(stage) == []


def test_a_rotation_keeps_every_object_in_service() -> None:
    """``freehold keys new``: the old key is still read, nothing is created or deleted, and all is sealed anew."""
    stage = Stage()
    stage.up()
    made, had = ids(stage), stage.rings.ring
    stage.rings.ring = KeyRing(OTHER.writing, {**OTHER.keys, **had.keys})
    stage.for_a_while(4 * 3600.0)
    assert stage.ready()
    assert ids(stage) == made
    assert record(stage).keys == {OTHER.writing}, "what the old key wrote is renewed, so that it can be removed"
    stage.rings.ring = OTHER
    stage.start_process()
    stage.down()
    assert standing(stage) == []


def test_pause_goes_on_without_the_key() -> None:
    """A pause is how the original is kept from the copy during a move: it must be acknowledged."""
    stage = Stage()
    stage.up()
    took_key_away(stage)
    stage.around = ClusterContext(
        Mode.AUTO, referrer=FoundCluster({"spec": {"paused": True}, "metadata": {"name": "c"}})
    )
    stage.pass_once()
    assert stage.condition("Paused")["status"] == "True"


def test_a_move_goes_on_without_the_key() -> None:
    """``clusterctl move`` deletes the source's copy with this annotation: the finalizer goes, the cloud stays."""
    stage = Stage()
    stage.up()
    world = photograph(stage)
    took_key_away(stage)
    stage.object.patch({"metadata": {"annotations": {names.DELETE_FOR_MOVE_ANNOTATION: ""}}})
    stage.object.delete()
    stage.pass_once()
    assert stage.object.gone
    assert photograph(stage) == world


def test_with_status_alone_the_key_is_still_asked_for() -> None:
    """A lost annotation must not turn an object of the ring into one from before it, which anybody can forge."""
    stage = Stage()
    stage.up()
    took_key_away(stage)
    stage.object.patch({"metadata": {"annotations": {names.JOURNAL_ANNOTATION: None}}})
    before, calls = without_conditions(stage), len(stage.calls())
    stage.for_a_while(900.0)
    assert without_conditions(stage) == before
    assert len(stage.calls()) == calls
    assert stage.condition("Ready")["reason"] == "KeyMissing"


def test_a_person_is_told_once() -> None:
    """An event, not one at every pass."""
    stage = Stage()
    stage.up()
    took_key_away(stage)
    stage.for_a_while(3600.0)
    assert [reason for _, reason, _ in stage.events.said].count("KeyMissing") == 1


def test_what_happened_while_the_key_was_missing_is_seen_at_once_when_it_is_back() -> None:
    """Another operator may have served the object meanwhile: nothing that this process remembers holds any more."""
    stage = Stage()
    stage.up()
    stage.settle()
    had, stage.rings.ring = stage.rings.ring, OTHER
    stage.pass_once()
    stage.cloud.strangers.delete(only(stage, "subnet")["id"])
    stage.rings.ring = KeyRing(OTHER.writing, {**OTHER.keys, **had.keys})
    stage.pass_once()
    assert stage.condition("VPCSubnetReady")["status"] == "False"


@pytest.mark.parametrize("with_key", [True, False], ids=["key at the target", "no key at the target"])
def test_after_clusterctl_move_nothing_is_made_twice(with_key: bool) -> None:
    """The target's object has a new UID and no status, and its operator has a ring of its own."""
    stage = Stage()
    stage.up()
    had, made = took_key_away(stage), ids(stage)
    stage.object.raw.pop("status")
    stage.object.patch({"metadata": {"uid": "the-target-has-another-uid"}})
    if not with_key:
        calls = len(stage.calls())
        stage.for_a_while(1200.0)
        assert stage.condition("Ready")["reason"] == "KeyMissing"
        assert len(stage.calls()) == calls
    stage.rings.ring = KeyRing(OTHER.writing, {**OTHER.keys, **had.keys})
    stage.up()
    stage.for_a_while(900.0)
    assert ids(stage) == made
    stage.down()
    assert standing(stage) == []


async def test_a_plan_of_an_object_whose_key_is_missing_says_so() -> None:
    """It asks no cloud either: what it would tell is not known."""
    stage = Stage()
    stage.pass_once()
    raw = stage.object.raw
    with IbmAccount("a-key", "http://127.0.0.1:9", stage.clock) as account:
        adapter = PowerVSClusterAdapter(account.facts_reader())
        found = await plan_with(adapter, account, stage.clock, raw, OTHER, raw)
    assert found.rows == ()
    assert "freehold keys add FILE" in found.problems[0]


def test_a_key_that_a_person_gave_up_for_lost_is_replaced_where_record_and_marks_agree() -> None:
    """``freehold keys accept``: everything is proved by what is in the cloud, renewed, and goes in the end."""
    stage = Stage()
    stage.up()
    had, made = took_key_away(stage), ids(stage)
    stage.for_a_while(600.0)
    assert stage.condition("Ready")["reason"] == "KeyMissing"
    stage.rings.ring = gave_up(stage, had.writing)
    stage.up()
    stage.for_a_while(1800.0)
    assert ids(stage) == made
    assert record(stage).keys == {OTHER.writing}
    stage.down()
    assert standing(stage) == []


def lost_and_accepted(stage: Stage) -> None:
    """The key is lost for ever, and a person has accepted that: `freehold keys accept`."""
    had = took_key_away(stage)
    stage.rings.ring = gave_up(stage, had.writing)


def gave_up(stage: Stage, digest: str) -> KeyRing:
    """What `freehold keys accept` makes of the ring: it notes what the object has on record now."""
    need = need_of(stage.object.raw)
    return replace(OTHER, accepted={(digest, need.uuid): need.records.get(digest, frozenset())})


def strike_out(stage: Stage, node: str) -> None:
    """A person removes one entry from the journal, as a message tells."""
    document = json.loads(stage.object.raw["metadata"]["annotations"][names.JOURNAL_ANNOTATION])
    del document["nodes"][node]
    stage.object.patch({"metadata": {"annotations": {names.JOURNAL_ANNOTATION: json.dumps(document)}}})


@pytest.mark.parametrize("deleted", [False, True], ids=["served", "deleted at once"])
def test_a_lost_key_is_replaced_for_what_has_no_tags_of_its_own_too(deleted: bool) -> None:
    """Bucket, connections in a given gateway, and a DHCP server without a CRN: record and carrier's mark agree."""
    storage = {"name": "demo-cos", "bucketName": "demo-bucket", "bucketRegion": REGION}
    settings = Settings(assumptions=Assumptions(dhcp_network_has_crn=False))
    stage = Stage(example(cosInstance=storage, transitGateway={"name": "theirs-tg"}), settings)
    infrastructure(stage)
    before = photograph(stage)
    stage.up()
    made = ids(stage)
    lost_and_accepted(stage)
    if not deleted:
        stage.for_a_while(3 * 3600.0)
        assert stage.ready()
        assert ids(stage) == made
        assert record(stage).keys == {OTHER.writing}
        stage.rings.ring = OTHER  # what is renewed needs nobody's word any more
        stage.start_process()
    stage.down()
    assert photograph(stage) == before


@pytest.mark.parametrize("deleted", [False, True], ids=["served", "deleted"])
@pytest.mark.parametrize("effect", [Effect.REPLY_LOST, Effect.RESET], ids=["it took effect", "it had no effect"])
@pytest.mark.parametrize(
    ("operation", "node", "kind"),
    [
        ("rc.create_resource_instance", "workspace/main", "instance"),
        ("transit.create_transit_gateway", "transit-gateway/main", "gateway"),
    ],
)
def test_an_open_create_under_a_lost_key_waits_for_a_person(
    operation: str, node: str, kind: str, effect: Effect, deleted: bool
) -> None:
    """Its nonce cannot be computed any more, so a second create could be a duplicate and a release an orphan."""
    stage = Stage()
    stage.cloud.faults.add(Fault(effect, operation))
    stage.pass_once()
    stage.cloud.faults.clear()
    lost_and_accepted(stage)
    digest, made = record(stage).entries[journals.NodeKey.parse(node)].key, {r["id"] for r in standing(stage, kind)}
    if deleted:
        stage.object.delete()
    stage.for_a_while(3600.0)
    assert not stage.object.gone
    assert {row["id"] for row in standing(stage, kind)} == made
    assert f"a create of {node} was cut off" in said(stage)
    assert f"its key {digest} is lost" in said(stage)
    assert f"remove {node} from annotation freehold.dev/journal" in said(stage)
    for id_ in made:
        stage.cloud.strangers.delete(id_)
    strike_out(stage, node)
    if deleted:
        stage.run(lambda: stage.object.gone)
        assert standing(stage) == []
    else:
        stage.up()
        assert len(standing(stage, kind)) == 1


@pytest.mark.parametrize("deleted", [False, True], ids=["served", "deleted"])
def test_a_record_without_marks_under_a_lost_key_waits_for_a_person(deleted: bool) -> None:
    """Only the record says that it is ours, and nobody can tell who wrote it."""
    stage = Stage()
    stage.cloud.faults.add(Fault(Effect.ERROR_BEFORE, "tagging.attach_tag", count=None))
    stage.pass_once()
    stage.cloud.faults.clear()
    lost_and_accepted(stage)
    nodes = {str(key): entry.id for key, entry in record(stage).entries.items()}
    made = [row["id"] for row in made_by_us(stage) if row["kind"] in ("instance", "vpc", "gateway")]
    assert len(nodes) == len(made) == 3
    if deleted:
        stage.object.delete()
    stage.for_a_while(3600.0)
    assert not stage.object.gone
    assert [row["id"] for row in made_by_us(stage) if row["kind"] != "security-group"] == made, (
        "nothing is put into them"
    )
    for node, id_ in nodes.items():
        assert id_ in said(stage)
        assert f"remove {node} from annotation freehold.dev/journal" in said(stage)
    marked = [tag for row in standing(stage) if row["id"] in made for tag in row["tags"] if ".node:" in tag]
    assert marked == [], "a record that may be forged is not laundered into a mark"
    if deleted:
        for id_ in made:
            stage.cloud.strangers.delete(id_)
        stage.run(lambda: stage.object.gone)
        assert standing(stage) == []


def test_marks_of_a_lost_key_on_a_strangers_resource_prove_nothing_without_a_record() -> None:
    """Acceptance is for what record and marks agree on: copied marks alone make nothing ours."""
    stage = Stage()
    stage.up()
    ours = only(stage, "vpc")
    theirs = stage.cloud.strangers.make("vpc", region=REGION, name="strangers-vpc")
    stage.cloud.strangers.attach(theirs["crn"], *ours["tags"])
    stage.clock.advance(3600.0)
    lost_and_accepted(stage)
    world = photograph(stage, [theirs["id"]])
    stage.for_a_while(3600.0)
    stage.down()
    assert photograph(stage, [theirs["id"]]) == world
    assert made_by_us(stage) == []


@pytest.mark.parametrize("other_rights", [False, True], ids=["edits the object", "and tags in the account"])
def test_a_record_that_names_an_accepted_key_later_proves_nothing(other_rights: bool) -> None:
    """The loss was accepted for the records of that moment: an editor could write any id beside the lost key."""
    stage = Stage()
    stage.up()
    theirs = stage.cloud.strangers.make("vpc", region=REGION, name="strangers-vpc")
    lost_and_accepted(stage)
    stage.up()
    stage.for_a_while(1800.0)
    lost = next(digest for digest, _ in stage.rings.ring.accepted)
    if other_rights:
        ours = next(row for row in made_by_us(stage) if row["kind"] == "vpc")
        stage.cloud.strangers.attach(theirs["crn"], *ours["tags"])
    document = json.loads(stage.object.raw["metadata"]["annotations"][names.JOURNAL_ANNOTATION])
    row = document["nodes"]["vpc/main"]
    row |= {"id": f"{REGION}/{theirs['id']}", "t": theirs["crn"], "k": lost}
    stage.object.patch({"metadata": {"annotations": {names.JOURNAL_ANNOTATION: json.dumps(document)}}})
    world = photograph(stage, [theirs["id"]])
    stage.for_a_while(1800.0)
    stage.object.delete()
    stage.for_a_while(3600.0)
    assert photograph(stage, [theirs["id"]]) == world


def test_a_rotation_ends_for_what_has_no_place_for_a_mark_too() -> None:
    """A DHCP server without a CRN in a given workspace is on record only: its signature is all there is to renew."""
    stage = Stage(example(), Settings(assumptions=Assumptions(dhcp_network_has_crn=False)))
    theirs = infrastructure(stage)
    stage.cloud.strangers.delete(theirs.network["id"])
    stage.object.patch({"spec": {"serviceInstance": {"id": theirs.workspace["id"], "name": None}}})
    stage.for_a_while(3600.0)
    assert stage.condition("NetworkReady")["reason"] == "Unmarkable"
    had = stage.rings.ring
    stage.rings.ring = KeyRing(OTHER.writing, {**OTHER.keys, **had.keys})
    stage.for_a_while(3 * 3600.0)
    assert record(stage).keys == {OTHER.writing}
