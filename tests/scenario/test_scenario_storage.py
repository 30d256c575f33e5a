"""Object storage for Ignition: only where the spec asks for it (docs/reference/requirements.md I22)."""

from __future__ import annotations

from freehold_sim.faults import Effect, Fault
from freehold_sim.http import Request
from stage.powervs import Stage, example
from stage.scenery import REGION, made_by_us, marks, only, photograph, said, standing

STORAGE = {"name": "demo-cos", "bucketName": "demo-bucket", "bucketRegion": REGION}


def put_bucket(stage: Stage, name: str) -> None:
    """Another account's bucket: names are global."""
    reply = stage.cloud.handle(Request("PUT", f"/cos/{REGION}/{name}", {}, {}, b""), actor="stranger")
    assert reply.status == 200


def test_nothing_of_object_storage_is_made_unasked() -> None:
    """An instance costs money and a name."""
    stage = Stage()
    stage.up()
    assert standing(stage, "bucket") == []
    assert len(standing(stage, "instance")) == 1


def test_instance_and_bucket_come_and_go() -> None:
    """The bucket has no tags: our own instance carries its mark. Reclamation counts as gone."""
    stage = Stage(example(cosInstance=STORAGE))
    stage.up()

    instance, bucket = only(stage, "instance", "demo-cos"), only(stage, "bucket", "demo-bucket")
    assert bucket["parent"] == instance["id"]
    assert [tag for tag in marks(instance) if ".cos-bucket:" in tag and ".demo-bucket_" in tag] != []
    assert stage.status()["cosInstance"] == {"id": instance["id"], "controllerCreated": True}

    stage.down()
    assert standing(stage) == []
    assert stage.cloud.world.get("instance", instance["id"])["state"] == "pending_reclamation"


def test_a_bucket_name_that_someone_else_has_is_said() -> None:
    """Names of buckets are global: only the create tells. Nothing of the stranger's is touched; the rest comes up."""
    stage = Stage(example(cosInstance=STORAGE))
    put_bucket(stage, "demo-bucket")
    before = photograph(stage)
    stage.for_a_while(1200.0)

    condition = stage.condition("COSInstanceCreated")
    assert (condition["status"], condition["reason"]) == ("False", "NameTaken")
    assert "demo-bucket" in condition["message"]
    assert stage.condition("LoadBalancerReady")["status"] == "True"

    stage.down()
    assert photograph(stage) == before


def test_a_bucket_with_objects_is_not_emptied() -> None:
    """Data is never ours to delete: the delete waits, names the bucket, and goes on once it is empty."""
    stage = Stage(example(cosInstance=STORAGE))
    stage.up()
    record = stage.cloud.world.get("bucket", "demo-bucket")
    record["objects"]["precious"] = "data"
    stage.object.delete()
    stage.for_a_while(1800.0)

    assert stage.cloud.world.get("bucket", "demo-bucket")["objects"] == {"precious": "data"}
    assert "demo-bucket" in stage.condition("Deleting")["message"]
    assert not stage.object.gone

    stage.cloud.world.get("bucket", "demo-bucket")["objects"].clear()
    stage.run(lambda: stage.object.gone)
    assert made_by_us(stage) == []


def test_a_foreign_bucket_in_our_instance_blocks_its_delete() -> None:
    """Deleting the instance would take every bucket in it along."""
    stage = Stage(example(cosInstance=STORAGE))
    stage.up()
    instance = only(stage, "instance", "demo-cos")
    bucket = stage.cloud.world.get("bucket", "demo-bucket")
    fields = {key: value for key, value in bucket.items() if key not in ("kind", "serial", "turn", "created_at")}
    stage.cloud.world.add("bucket", stage.clock.now(), {**fields, "id": "theirs", "name": "theirs", "by": "stranger"})
    stage.object.delete()
    stage.for_a_while(1800.0)

    assert only(stage, "instance", "demo-cos")["id"] == instance["id"]
    assert "theirs" in stage.condition("Deleting")["message"]
    stage.cloud.strangers.delete("theirs")
    stage.run(lambda: stage.object.gone)
    assert standing(stage) == []


def test_a_bucket_whose_create_got_no_answer_is_only_presumed_ours() -> None:
    """Nothing of ours fits into the request, and a name is not a deed: a person is asked; nothing is laundered."""
    stage = Stage(example(cosInstance=STORAGE))
    stage.cloud.faults.add(Fault(Effect.REPLY_LOST, "cos.create_bucket"))
    stage.for_a_while(1200.0)

    assert stage.condition("COSInstanceCreated")["reason"] == "PresumedOnly"
    assert "demo-bucket" in stage.condition("COSInstanceCreated")["message"]
    stage.cloud.strangers.delete("demo-bucket")
    stage.up()
    assert "demo-bucket" not in said(stage)
    stage.down()
    assert made_by_us(stage) == []


def test_a_given_instance_stays_and_its_bucket_is_not_ours_to_mark() -> None:
    """By name: an instance that others own carries no mark of ours."""
    stage = Stage(example(cosInstance={**STORAGE, "name": "their-cos"}))
    theirs = stage.cloud.strangers.make("cos-instance", name="their-cos")
    stage.clock.advance(3600.0)
    stage.for_a_while(1500.0)

    assert only(stage, "instance", "their-cos")["tags"] == []
    assert stage.condition("COSInstanceCreated")["reason"] == "Unmarkable"
    assert "demo-bucket" in stage.condition("COSInstanceCreated")["message"]
    stage.object.delete()
    stage.for_a_while(600.0)
    assert only(stage, "instance", "their-cos")["id"] == theirs["id"]
