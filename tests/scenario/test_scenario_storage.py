"""Object storage for Ignition: only if the spec requests it (docs/reference/requirements.md I22)."""

from __future__ import annotations

from freehold.api import names
from freehold.api.feature_gates import DEFAULT_GATES
from freehold_sim.faults import Effect, Fault
from freehold_sim.http import Request
from harness.plans import planned
from harness.powervs import IGNITION, UID, Harness, example
from harness.resources import MARK, REGION, Row, existing, made_by_us, marks, messages, only, snapshot
from harness.standing import standing

STORAGE = {"name": "demo-cos", "bucketName": "demo-bucket", "bucketRegion": REGION}


def put_bucket(harness: Harness, name: str) -> None:
    """A bucket of another account: names are global."""
    reply = harness.cloud.handle(Request("PUT", f"/cos/{REGION}/{name}", {}, {}, b""), actor="stranger")
    assert reply.status == 200


def test_no_object_storage_is_created_by_default() -> None:
    """An instance costs money and a name."""
    harness = standing(Harness)
    assert existing(harness, "bucket") == []
    assert len(existing(harness, "instance")) == 1


def test_instance_and_bucket_are_created_and_deleted() -> None:
    """The bucket has no tags: our own instance carries its mark. An instance in reclamation counts as gone."""
    harness = standing(Harness, example(cosInstance=STORAGE), gates=IGNITION)

    instance, bucket = only(harness, "instance", "demo-cos"), only(harness, "bucket", "demo-bucket")
    assert bucket["parent"] == instance["id"]
    assert [tag for tag in marks(instance) if ".cos-bucket:" in tag and ".demo-bucket_" in tag] != []
    assert harness.status()["cosInstance"] == {"id": instance["id"], "controllerCreated": True}

    harness.down()
    assert existing(harness) == []
    assert harness.cloud.world.get("instance", instance["id"])["state"] == "pending_reclamation"


def test_a_bucket_name_that_is_taken_is_reported() -> None:
    """Names of buckets are global, so only the create shows it. Theirs is not changed, and the rest becomes ready."""
    harness = Harness(example(cosInstance=STORAGE), gates=IGNITION)
    put_bucket(harness, "demo-bucket")
    before = snapshot(harness)
    harness.for_a_while(1200.0)

    condition = harness.condition("COSInstanceCreated")
    assert (condition["status"], condition["reason"]) == ("False", "NameTaken")
    assert "demo-bucket" in condition["message"]
    assert harness.condition("LoadBalancerReady")["status"] == "True"

    harness.down()
    assert snapshot(harness) == before


def test_a_bucket_with_objects_is_not_emptied() -> None:
    """We never delete data: the delete waits, names the bucket, and continues once it is empty."""
    harness = standing(Harness, example(cosInstance=STORAGE), gates=IGNITION)
    record = harness.cloud.world.get("bucket", "demo-bucket")
    record["objects"]["precious"] = "data"
    harness.object.delete()
    harness.for_a_while(1800.0)

    assert harness.cloud.world.get("bucket", "demo-bucket")["objects"] == {"precious": "data"}
    assert "demo-bucket" in harness.condition("Deleting")["message"]
    assert not harness.object.gone

    harness.cloud.world.get("bucket", "demo-bucket")["objects"].clear()
    harness.run(lambda: harness.object.gone)
    assert made_by_us(harness) == []


def test_a_foreign_bucket_in_our_instance_blocks_its_delete() -> None:
    """Deleting the instance would delete every bucket in it."""
    harness = standing(Harness, example(cosInstance=STORAGE), gates=IGNITION)
    instance = only(harness, "instance", "demo-cos")
    bucket = harness.cloud.world.get("bucket", "demo-bucket")
    fields = {key: value for key, value in bucket.items() if key not in ("kind", "serial", "turn", "created_at")}
    harness.cloud.world.add(
        "bucket", harness.clock.now(), {**fields, "id": "theirs", "name": "theirs", "by": "stranger"}
    )
    harness.object.delete()
    harness.for_a_while(1800.0)

    assert only(harness, "instance", "demo-cos")["id"] == instance["id"]
    assert "theirs" in harness.condition("Deleting")["message"]
    harness.cloud.strangers.delete("theirs")
    harness.run(lambda: harness.object.gone)
    assert existing(harness) == []


def test_a_bucket_whose_create_got_no_answer_is_only_presumed_ours() -> None:
    """The request has no room for token or mark, and a name is no proof: a person is asked, and nothing is marked."""
    harness = Harness(example(cosInstance=STORAGE), gates=IGNITION)
    harness.cloud.faults.add(Fault(Effect.REPLY_LOST, "cos.create_bucket"))
    harness.for_a_while(1200.0)

    assert harness.condition("COSInstanceCreated")["reason"] == "PresumedOnly"
    assert "demo-bucket" in harness.condition("COSInstanceCreated")["message"]
    harness.cloud.strangers.delete("demo-bucket")
    harness.up()
    assert "demo-bucket" not in messages(harness)
    harness.down()
    assert made_by_us(harness) == []


GIVEN_STORAGE = {**STORAGE, "name": "their-cos"}


def given_storage(harness: Harness, *buckets: str) -> Row:
    """An instance of others, with buckets of theirs in it and a tag on it."""
    theirs = harness.cloud.strangers.make("cos-instance", name="their-cos")
    for name in buckets:
        request = Request("PUT", f"/cos/{REGION}/{name}", {}, {"ibm-service-instance-id": theirs["id"]}, b"")
        assert harness.cloud.handle(request, actor="stranger").status == 200
    harness.cloud.strangers.attach(theirs["crn"], "team:storage")
    harness.clock.advance(3600.0)
    return theirs


def test_a_bucket_in_a_given_instance_is_ours_and_the_instance_is_not() -> None:
    """The given instance carries the bucket's mark, as a given gateway does that of connections (ADR 16)."""
    harness = Harness(example(cosInstance=GIVEN_STORAGE), gates=IGNITION)
    theirs = given_storage(harness, "theirs")
    before = snapshot(harness)

    harness.up()

    bucket = only(harness, "bucket", "demo-bucket")
    assert bucket["parent"] == theirs["id"]
    mark, *others = marks(only(harness, "instance", "their-cos"))
    assert (".cos-bucket:" in mark, others) == (True, [])
    assert harness.status()["cosInstance"] == {"id": theirs["id"], "controllerCreated": False}

    harness.down()
    assert snapshot(harness) == before


def test_a_bucket_that_is_in_a_given_instance_already_is_used_and_stays() -> None:
    """Its name is in the spec: it is somebody else's, never marked, never deleted."""
    harness = Harness(example(cosInstance=GIVEN_STORAGE), gates=IGNITION)
    given_storage(harness, "demo-bucket")
    before = snapshot(harness)
    harness.up()
    assert marks(only(harness, "instance", "their-cos")) == []
    harness.down()
    assert snapshot(harness) == before


def test_a_forged_mark_on_a_given_instance_does_not_make_its_bucket_ours() -> None:
    """Whoever may tag the instance can write a mark with our uuid; it has no seal of ours."""
    harness = Harness(example(cosInstance=GIVEN_STORAGE), gates=IGNITION)
    theirs = given_storage(harness, "theirs")
    before = snapshot(harness)
    harness.cloud.strangers.attach(theirs["crn"], f"{MARK}cos-bucket:{UID}.{REGION}.theirs_aaaaaaaa")
    harness.up()
    harness.start_process()
    harness.for_a_while(1800.0)
    harness.down()
    assert "theirs" in {row["name"] for row in existing(harness, "bucket")}
    assert {row["id"] for row in existing(harness)} == before.keys()


def test_the_record_of_a_bucket_in_a_given_instance_can_be_lost() -> None:
    """The sealed mark on the instance is enough after a restore of the object as it was before."""
    harness = Harness(example(cosInstance=GIVEN_STORAGE), gates=IGNITION)
    given_storage(harness)
    before = snapshot(harness)
    harness.up()
    bucket = only(harness, "bucket")
    journals = [v["metadata"]["annotations"].get(names.JOURNAL_ANNOTATION, "") for v in harness.object.history]
    journal = next(text for text in journals if "cos-instance" in text)
    assert "demo-bucket" not in journal
    harness.object.raw.pop("status")
    harness.object.patch({"metadata": {"annotations": {names.JOURNAL_ANNOTATION: journal}}})
    harness.start_process()
    harness.up()
    assert only(harness, "bucket") == bucket
    harness.down()
    assert snapshot(harness) == before


def test_without_the_feature_gate_object_storage_is_not_created_and_that_is_said() -> None:
    """Upstream's gate BootstrapFormatIgnition: the condition and the plan name the option."""
    harness = Harness(example(cosInstance=STORAGE))
    notes = planned(harness).notes
    harness.up()
    assert existing(harness, "bucket") == []
    assert len(existing(harness, "instance")) == 1
    said = harness.condition("FieldsServed")
    assert (said["status"], said["reason"]) == ("False", "FieldsIgnored")
    for text in (said["message"], " ".join(notes)):
        assert "spec.cosInstance: not acted on" in text
        assert "--feature-gates=BootstrapFormatIgnition=true" in text


def test_object_storage_goes_on_if_the_gate_is_off_after_an_upgrade() -> None:
    """It was created without a gate: it stays ours, is no surplus, is healed, and goes with the object."""
    harness = standing(Harness, example(cosInstance=STORAGE), gates=IGNITION)
    bucket, instance = only(harness, "bucket"), only(harness, "instance", "demo-cos")
    harness.gates = DEFAULT_GATES
    harness.start_process()
    harness.for_a_while(1800.0)

    assert harness.ready()
    assert only(harness, "bucket") == bucket
    assert harness.condition("COSInstanceCreated") | {"lastTransitionTime": ""} == {
        "type": "COSInstanceCreated", "status": "True", "reason": "Ready", "observedGeneration": 2,
        "lastTransitionTime": "",
    }  # fmt: skip
    assert "--feature-gates=BootstrapFormatIgnition=true" in harness.condition("FieldsServed")["message"]
    assert not any(row.action.changes for row in planned(harness).rows)
    harness.cloud.strangers.detach(instance["crn"], *marks(instance))
    harness.for_a_while(1800.0)
    assert marks(only(harness, "instance", "demo-cos")) == marks(instance)
    harness.down()
    assert existing(harness) == []


def test_object_storage_is_deleted_although_the_gate_is_off() -> None:
    """The operator is started without the option between create and delete."""
    harness = standing(Harness, example(cosInstance=STORAGE), gates=IGNITION)
    harness.gates = DEFAULT_GATES
    harness.start_process()
    harness.down()
    assert existing(harness) == []
