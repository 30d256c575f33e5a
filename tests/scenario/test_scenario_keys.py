"""The key ring: without its key nothing of an object can be proved, so nothing is done until the key is back."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from freehold.api import names
from freehold.controllers.keyring.needs import need_of
from freehold.controllers.plan.planner import plan_with_accounts
from freehold.engine import decisions
from freehold.engine import journal as journals
from freehold.engine.decisions import Decision, Verdict
from freehold.engine.keys import KeyRing, derive
from freehold.providers.access.accounts import Binding, OneAccount
from freehold.providers.ibm.accounts import IbmAccount
from freehold.providers.ibm.powervs.adapter import PowerVSClusterAdapter
from freehold.providers.ibm.powervs.kind import POWERVS_CLUSTER
from freehold.providers.objects.gate import ClusterApiMode, ClusterContext, FoundCluster
from freehold_sim.faults import Effect, Fault
from freehold_sim.ibm.settings import Assumptions, Settings
from harness.powervs import IGNITION, Harness, example
from harness.resources import REGION, existing, infrastructure, made_by_us, messages, only, snapshot
from harness.standing import standing

OTHER = KeyRing.single(b"the key of another operator" * 2)


def replace_ring(harness: Harness) -> KeyRing:
    """The operator gets another ring, as after a move of the objects; calls before that are not counted."""
    had = harness.rings.ring
    harness.rings.ring = OTHER
    harness.start_process()
    return had


def record(harness: Harness) -> journals.Journal:
    return journals.loads(harness.object.raw["metadata"]["annotations"][names.JOURNAL_ANNOTATION])


def without_conditions(harness: Harness) -> str:
    """The object without its conditions, their phase, and versions."""
    raw = json.loads(json.dumps(harness.object.raw))
    raw["status"].pop("conditions")
    raw["status"].pop("phase", None)
    raw["metadata"].pop("resourceVersion")
    return json.dumps(raw, sort_keys=True)


def ids(harness: Harness) -> list[str]:
    """The ids of our resources; marks and names may be renewed."""
    return [row["id"] for row in made_by_us(harness)]


def test_an_identity_is_created_under_the_writing_key_and_status_has_its_digest() -> None:
    harness = standing(Harness)
    assert record(harness).key == harness.rings.ring.writing
    assert harness.status()["identity"]["key"] == harness.rings.ring.writing


@pytest.mark.parametrize("deleting", [False, True], ids=["served", "being deleted"])
def test_without_its_key_nothing_is_written_but_conditions_and_no_cloud_is_called(deleting: bool) -> None:
    """This stops a copy in another management cluster: even its reads could lead to a delete."""
    harness = standing(Harness)
    replace_ring(harness)
    if deleting:
        harness.object.delete()
    before, calls = without_conditions(harness), len(harness.calls())
    harness.for_a_while(3600.0)
    assert not harness.object.gone
    assert without_conditions(harness) == before
    assert len(harness.calls()) == calls
    ready = harness.condition("Ready")
    assert (ready["status"], ready["reason"]) == ("False", "KeyMissing")
    assert record(harness).key in ready["message"]
    assert "freehold keys add FILE" in ready["message"]
    assert harness.rings.asked_for_more > 0
    assert harness.passes < 60, "it is rechecked slowly"


def test_without_its_key_nothing_is_written_in_the_middle_of_a_creation() -> None:
    harness = Harness()
    harness.pass_once()
    harness.pass_once()
    had = replace_ring(harness)
    before, calls = without_conditions(harness), len(harness.calls())
    harness.for_a_while(1800.0)
    assert without_conditions(harness) == before
    assert len(harness.calls()) == calls
    harness.rings.ring = KeyRing(OTHER.writing, {**OTHER.keys, **had.keys})
    harness.up()
    names_of = [row["name"] for row in made_by_us(harness)]
    assert len(names_of) == len(set(names_of))
    harness.down()
    assert existing(harness) == []


def test_adding_the_key_repairs_the_object_without_a_restart() -> None:
    """No create: everything is found again, and deleted in the end."""
    harness = standing(Harness)
    world = snapshot(harness)
    had, made = replace_ring(harness), ids(harness)
    harness.for_a_while(600.0)
    assert snapshot(harness) == world
    harness.rings.ring = KeyRing(OTHER.writing, {**OTHER.keys, **had.keys})
    harness.up()
    harness.for_a_while(1200.0)
    assert harness.ready()
    assert ids(harness) == made
    harness.down()
    assert existing(harness) == []


def test_the_derived_key_of_one_object_is_enough_to_serve_it() -> None:
    """``freehold keys export NAME`` exports the key of one object and not that of all others."""
    harness = standing(Harness)
    had = replace_ring(harness)
    uuid = record(harness).owner.uuid
    handed_on = {(had.writing, uuid): derive(had.keys[had.writing], uuid)}
    harness.rings.ring = replace(OTHER, handed_on=handed_on)
    harness.run(lambda: harness.ready() and harness.condition("Ready")["reason"] != "KeyMissing")
    harness.down()
    assert existing(harness) == []


def test_every_object_is_served_during_a_rotation() -> None:
    """``freehold keys new``: the old key is still read, nothing is created or deleted, and all is sealed again."""
    harness = standing(Harness)
    made, had = ids(harness), harness.rings.ring
    harness.rings.ring = KeyRing(OTHER.writing, {**OTHER.keys, **had.keys})
    harness.for_a_while(4 * 3600.0)
    assert harness.ready()
    assert ids(harness) == made
    assert record(harness).keys == {OTHER.writing}, "all of the old key is renewed, so that it can be removed"
    harness.rings.ring = OTHER
    harness.start_process()
    harness.down()
    assert existing(harness) == []


def test_a_pause_is_acknowledged_without_the_key() -> None:
    """During a move the original is paused so that only the copy is served: it must acknowledge the pause."""
    harness = standing(Harness)
    replace_ring(harness)
    harness.around = ClusterContext(
        ClusterApiMode.AUTO, referrer=FoundCluster({"spec": {"paused": True}, "metadata": {"name": "c"}})
    )
    harness.pass_once()
    assert harness.condition("Paused")["status"] == "True"


def test_a_move_works_without_the_key() -> None:
    """``clusterctl move`` deletes the source's copy with this annotation: the finalizer goes, the resources stay."""
    harness = standing(Harness)
    world = snapshot(harness)
    replace_ring(harness)
    harness.object.patch({"metadata": {"annotations": {names.DELETE_FOR_MOVE_ANNOTATION: ""}}})
    harness.object.delete()
    harness.pass_once()
    assert harness.object.gone
    assert snapshot(harness) == world


def test_with_status_alone_the_key_is_still_required() -> None:
    """A lost annotation must not make it an object that any ring serves."""
    harness = standing(Harness)
    replace_ring(harness)
    harness.object.patch({"metadata": {"annotations": {names.JOURNAL_ANNOTATION: None}}})
    before, calls = without_conditions(harness), len(harness.calls())
    harness.for_a_while(900.0)
    assert without_conditions(harness) == before
    assert len(harness.calls()) == calls
    assert harness.condition("Ready")["reason"] == "KeyMissing"


def test_a_person_is_told_once() -> None:
    """One event, and not one in every pass."""
    harness = standing(Harness)
    replace_ring(harness)
    harness.for_a_while(3600.0)
    assert [reason for _, reason, _ in harness.events.said].count("KeyMissing") == 1


def test_changes_while_the_key_was_missing_are_seen_as_soon_as_it_is_back() -> None:
    """Another operator may have served the object meanwhile: all that this process remembers is outdated."""
    harness = standing(Harness)
    harness.settle()
    had, harness.rings.ring = harness.rings.ring, OTHER
    harness.pass_once()
    harness.cloud.strangers.delete(only(harness, "subnet")["id"])
    harness.rings.ring = KeyRing(OTHER.writing, {**OTHER.keys, **had.keys})
    harness.pass_once()
    assert harness.condition("VPCSubnetReady")["status"] == "False"


@pytest.mark.parametrize("with_key", [True, False], ids=["key at the target", "no key at the target"])
def test_after_clusterctl_move_nothing_is_made_twice(with_key: bool) -> None:
    """The object at the target has a new UID and no status, and the operator there has its own ring."""
    harness = standing(Harness)
    had, made = replace_ring(harness), ids(harness)
    harness.object.raw.pop("status")
    harness.object.patch({"metadata": {"uid": "the-target-has-another-uid"}})
    if not with_key:
        calls = len(harness.calls())
        harness.for_a_while(1200.0)
        assert harness.condition("Ready")["reason"] == "KeyMissing"
        assert len(harness.calls()) == calls
    harness.rings.ring = KeyRing(OTHER.writing, {**OTHER.keys, **had.keys})
    harness.up()
    harness.for_a_while(900.0)
    assert ids(harness) == made
    harness.down()
    assert existing(harness) == []


async def test_a_plan_of_an_object_without_its_key_reports_the_missing_key() -> None:
    """It calls no cloud: nothing that it reads could be proved."""
    harness = Harness()
    harness.pass_once()
    raw = harness.object.raw
    with IbmAccount("a-key", "http://127.0.0.1:9", harness.clock) as account:
        accounts = OneAccount(Binding(account, PowerVSClusterAdapter(account.facts_reader())))
        found = await plan_with_accounts(POWERVS_CLUSTER, accounts, harness.clock, raw, OTHER, harness.around)
    assert found.rows == ()
    assert "freehold keys add FILE" in found.problems[0]


def test_a_key_that_a_person_accepts_as_lost_is_replaced_if_record_and_marks_agree() -> None:
    """``freehold keys accept``: everything is proved by the marks in the cloud, renewed, and deleted in the end."""
    harness = standing(Harness)
    had, made = replace_ring(harness), ids(harness)
    harness.for_a_while(600.0)
    assert harness.condition("Ready")["reason"] == "KeyMissing"
    harness.rings.ring = accept_loss(harness, had.writing)
    harness.up()
    harness.for_a_while(1800.0)
    assert ids(harness) == made
    assert record(harness).keys == {OTHER.writing}
    harness.down()
    assert existing(harness) == []


def lost_and_accepted(harness: Harness) -> None:
    """The key is lost for ever, and a person has accepted that by `freehold keys accept`."""
    had = replace_ring(harness)
    harness.rings.ring = accept_loss(harness, had.writing)


def accept_loss(harness: Harness, digest: str) -> KeyRing:
    """Change the ring as `freehold keys accept` does: it lists the present records of the object."""
    need = need_of(harness.object.raw)
    records = frozenset(each.digest for each in need.records.get(digest, ()))
    return replace(OTHER, accepted={(digest, need.uuid): records})


@pytest.mark.parametrize("deleted", [False, True], ids=["served", "deleted at once"])
def test_a_lost_key_is_also_replaced_for_resources_that_cannot_be_tagged(deleted: bool) -> None:
    """Bucket, connections in a given gateway, and a DHCP server without a CRN: record and carrier's mark agree."""
    storage = {"name": "demo-cos", "bucketName": "demo-bucket", "bucketRegion": REGION}
    settings = Settings(assumptions=Assumptions(dhcp_network_has_crn=False))
    harness = Harness(example(cosInstance=storage, transitGateway={"name": "theirs-tg"}), settings, gates=IGNITION)
    infrastructure(harness)
    before = snapshot(harness)
    harness.up()
    made = ids(harness)
    lost_and_accepted(harness)
    if not deleted:
        harness.for_a_while(3 * 3600.0)
        assert harness.ready()
        assert ids(harness) == made
        assert record(harness).keys == {OTHER.writing}
        harness.rings.ring = OTHER  # what is renewed needs no acceptance any more
        harness.start_process()
    harness.down()
    assert snapshot(harness) == before


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
    """Its nonce cannot be computed any more: a second create could be a duplicate, and a release leave an orphan."""
    harness = Harness()
    harness.cloud.faults.add(Fault(effect, operation))
    harness.pass_once()
    harness.cloud.faults.clear()
    lost_and_accepted(harness)
    digest, made = record(harness).entries[journals.NodeKey.parse(node)].key, {r["id"] for r in existing(harness, kind)}
    if deleted:
        harness.object.delete()
    harness.for_a_while(700.0)
    assert not harness.object.gone
    assert {row["id"] for row in existing(harness, kind)} == made
    assert f"a create of {node} was cut off" in messages(harness)
    assert f"its key {digest} is lost" in messages(harness)
    assert f"freehold resolve freehold-demo -n default {node}" in messages(harness)
    for id_ in made:
        harness.cloud.strangers.delete(id_)
    entry, ring = record(harness).entries[journals.NodeKey.parse(node)], harness.rings.ring
    decided = Decision(Verdict.NOT_MINE, node, "", entry.attempt, "ada", harness.clock.now())
    text = decisions.dumps([decisions.sign_decision(decided, ring.derive_keys(record(harness).owner))])
    harness.object.patch({"metadata": {"annotations": {names.DECISIONS_ANNOTATION: text}}})
    if deleted:
        harness.run(lambda: harness.object.gone)
        assert existing(harness) == []
    else:
        harness.up()
        assert len(existing(harness, kind)) == 1


@pytest.mark.parametrize("deleted", [False, True], ids=["served", "deleted"])
def test_a_record_without_marks_under_a_lost_key_waits_for_a_person(deleted: bool) -> None:
    """Only the record shows that it is ours, and its author is unknown."""
    harness = Harness()
    harness.cloud.faults.add(Fault(Effect.ERROR_BEFORE, "tagging.attach_tag", count=None))
    harness.pass_once()
    harness.cloud.faults.clear()
    lost_and_accepted(harness)
    nodes = {str(key): entry.id for key, entry in record(harness).entries.items()}
    made = [row["id"] for row in made_by_us(harness) if row["kind"] in ("instance", "vpc", "gateway")]
    assert len(nodes) == len(made) == 3
    if deleted:
        harness.object.delete()
    harness.for_a_while(700.0)
    assert not harness.object.gone
    assert [row["id"] for row in made_by_us(harness) if row["kind"] != "security-group"] == made, (
        "nothing is put into them"
    )
    for node, id_ in nodes.items():
        assert id_ in messages(harness)
        assert f"freehold resolve freehold-demo -n default {node} --mine" in messages(harness)
    marked = [tag for row in existing(harness) if row["id"] in made for tag in row["tags"] if ".node:" in tag]
    assert marked == [], "a record that may be forged does not lead to a mark"
    if deleted:
        for id_ in made:
            harness.cloud.strangers.delete(id_)
        harness.run(lambda: harness.object.gone)
        assert existing(harness) == []


def test_marks_of_a_lost_key_on_a_strangers_resource_prove_nothing_without_a_record() -> None:
    """An acceptance needs record and marks that agree: copied marks alone prove nothing."""
    harness = standing(Harness)
    ours = only(harness, "vpc")
    theirs = harness.cloud.strangers.make("vpc", region=REGION, name="strangers-vpc")
    harness.cloud.strangers.attach(theirs["crn"], *ours["tags"])
    harness.clock.advance(3600.0)
    lost_and_accepted(harness)
    world = snapshot(harness, [theirs["id"]])
    harness.for_a_while(3600.0)
    harness.down()
    assert snapshot(harness, [theirs["id"]]) == world
    assert made_by_us(harness) == []


@pytest.mark.parametrize("other_rights", [False, True], ids=["edits the object", "and tags in the account"])
def test_a_record_that_names_an_accepted_key_later_proves_nothing(other_rights: bool) -> None:
    """The loss was accepted for the records of that moment: an editor could write any id with the lost key."""
    harness = standing(Harness)
    theirs = harness.cloud.strangers.make("vpc", region=REGION, name="strangers-vpc")
    lost_and_accepted(harness)
    harness.up()
    harness.for_a_while(1800.0)
    lost = next(digest for digest, _ in harness.rings.ring.accepted)
    if other_rights:
        ours = next(row for row in made_by_us(harness) if row["kind"] == "vpc")
        harness.cloud.strangers.attach(theirs["crn"], *ours["tags"])
    document = json.loads(harness.object.raw["metadata"]["annotations"][names.JOURNAL_ANNOTATION])
    row = document["nodes"]["vpc/main"]
    row |= {"id": f"{REGION}/{theirs['id']}", "t": theirs["crn"], "k": lost}
    harness.object.patch({"metadata": {"annotations": {names.JOURNAL_ANNOTATION: json.dumps(document)}}})
    world = snapshot(harness, [theirs["id"]])
    harness.for_a_while(1800.0)
    harness.object.delete()
    harness.for_a_while(1200.0)
    assert snapshot(harness, [theirs["id"]]) == world


def test_a_rotation_also_ends_for_unmarkable_resources() -> None:
    """A DHCP server without a CRN in a given workspace has no marks: only the signature of its record is renewed."""
    harness = Harness(example(), Settings(assumptions=Assumptions(dhcp_network_has_crn=False)))
    theirs = infrastructure(harness)
    harness.cloud.strangers.delete(theirs.network["id"])
    harness.object.patch({"spec": {"serviceInstance": {"id": theirs.workspace["id"], "name": None}}})
    harness.for_a_while(3600.0)
    assert harness.condition("NetworkReady")["reason"] == "Unmarkable"
    had = harness.rings.ring
    harness.rings.ring = KeyRing(OTHER.writing, {**OTHER.keys, **had.keys})
    harness.for_a_while(3 * 3600.0)
    assert record(harness).keys == {OTHER.writing}
