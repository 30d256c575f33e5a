"""Decisions about creates that were cut off, on the simulated cloud: each shows what goes wrong without its rule."""

from __future__ import annotations

import json

import pytest

from freehold.api import names
from freehold.engine import decisions, journal
from freehold.engine.decisions import Decision, Verdict
from freehold.engine.journal import Entry, Journal, RecordState, StaleObject
from freehold.engine.resources import NodeKey
from freehold_sim.faults import Effect, Fault
from harness.powervs import IGNITION, Harness, MemoryDocument, example
from harness.resources import REGION, existing, made_by_us, only

VPC = NodeKey("vpc", "main")
STORAGE = {"name": "demo-cos", "bucketName": "demo-bucket", "bucketRegion": REGION}


def record(harness: Harness) -> Journal:
    text = harness.object.raw["metadata"].get("annotations", {}).get(names.JOURNAL_ANNOTATION)
    return journal.loads(text) if text else journal.Journal(journal.Owner("", "", "", ""))


def decide(harness: Harness, verdict: Verdict, key: NodeKey, ident: str = "") -> None:
    ring = harness.rings.ring.derive_keys(record(harness).owner)
    made = Decision(verdict, str(key), ident, record(harness).entries[key].attempt, "ada", harness.clock.now())
    text = decisions.dumps([decisions.sign_decision(made, ring)])
    harness.object.patch({"metadata": {"annotations": {names.DECISIONS_ANNOTATION: text}}})


def answer(harness: Harness) -> str:
    (row,) = json.loads(harness.object.raw["metadata"]["annotations"][names.DECISIONS_ANNOTATION])
    return str(row["answer"])


def cut_off(harness: Harness, operation: str, effect: Effect = Effect.REPLY_LOST, **how: float) -> NodeKey:
    """Run until the create of that operation is open."""
    harness.cloud.faults.add(Fault(effect, operation, **how))  # type: ignore[arg-type]  # fields of a Fault
    kind = "vpc" if operation == "vpc.create_vpc" else "cos-bucket"
    harness.run(lambda: any(key.kind == kind for key in record(harness).open))
    return next(key for key in record(harness).open if key.kind == kind)


@pytest.mark.parametrize("instance", ["own", "given"])
def test_a_bucket_that_a_person_calls_ours_gets_its_mark_and_is_deleted(instance: str) -> None:
    """Its mark is on its instance: without a target nothing would carry it, and the delete would never end."""
    harness = Harness(example(cosInstance=STORAGE), gates=IGNITION)
    if instance == "given":
        harness.cloud.strangers.make("cos-instance", name="demo-cos")
        harness.clock.advance(3600.0)
    harness.cloud.faults.add(Fault(Effect.REPLY_LOST, "*create_bucket*"))
    harness.for_a_while(700.0)
    (key,) = record(harness).open
    request = record(harness).entries[key].request or {}
    decide(harness, Verdict.MINE, key, f"{request['instance']}/{request['region']}.{request['name']}")
    harness.up()
    assert answer(harness).startswith("done")
    harness.down()
    assert made_by_us(harness) == []


def test_a_create_that_may_still_take_effect_is_not_given_up() -> None:
    """A person cannot see what the cloud has not made yet: a second VPC would be made beside it."""
    harness = Harness()
    cut_off(harness, "vpc.create_vpc", Effect.LATE, delay=45.0)
    harness.clock.advance(5.0)
    decide(harness, Verdict.NOT_MINE, VPC)
    harness.up()
    assert len(existing(harness, "vpc")) == 1
    harness.down()
    harness.clock.advance(600.0)
    assert existing(harness) == []


def test_one_decision_lets_one_create_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pass that acts on it creates, and loses the object before it has answered."""
    harness = Harness()
    for _ in range(400):
        result = harness.pass_once()
        for row in existing(harness, "vpc"):
            harness.cloud.strangers.delete(row["id"])
        entry = record(harness).entries.get(VPC)
        if entry and entry.state is RecordState.VACANT and entry.fails >= 2:
            break
        harness.clock.advance(max(getattr(result, "seconds", 60.0), 0.01))
    harness.for_a_while(600.0)
    decide(harness, Verdict.NOT_MINE, VPC)
    harness.cloud.faults.add(Fault(Effect.LATE, "vpc.create_vpc", delay=45.0))
    sent = sum(call.operation == "vpc.create_vpc" for call in harness.cloud.calls)

    async def stale(self: MemoryDocument, status: object) -> None:
        raise StaleObject("somebody edits the object meanwhile")

    with monkeypatch.context() as patched:
        patched.setattr(MemoryDocument, "patch_status", stale)
        for _ in range(10):
            result = harness.pass_once()
            if sum(call.operation == "vpc.create_vpc" for call in harness.cloud.calls) > sent:
                break
            harness.clock.advance(max(getattr(result, "seconds", 60.0), 0.01))
    harness.up()
    assert len(existing(harness, "vpc")) == 1
    harness.down()
    harness.clock.advance(600.0)
    assert existing(harness) == []


def test_what_another_object_has_on_record_is_not_ours() -> None:
    """Its marks may not be readable yet: the record of the other object is asked, too."""
    first = Harness()
    first.cloud.faults.add(Fault(Effect.DENIED, "tagging.attach_tag", count=None))
    first.for_a_while(900.0)
    vpc = only(first, "vpc")
    manifest = example(vpc={"name": "second-vpc", "region": REGION})
    manifest["metadata"]["name"] = "second"
    second = Harness(manifest, beside=first)
    cut_off(second, "vpc.create_vpc", Effect.ERROR_BEFORE)
    first.cloud.strangers.rename(vpc["id"], "second-vpc")
    decide(second, Verdict.MINE, VPC, f"{REGION}/{vpc['id']}")
    second.pass_once()
    assert "default/freehold-demo" in answer(second)


def test_what_another_owner_marked_on_a_shared_carrier_is_not_ours() -> None:
    """A bucket's mark is on its instance, which two clusters of two API servers share."""
    first = Harness(example(cosInstance=STORAGE), gates=IGNITION)
    first.cloud.strangers.make("cos-instance", name="demo-cos")
    first.clock.advance(3600.0)
    first.up()
    manifest = example(cosInstance=STORAGE)
    manifest["metadata"]["name"] = "second"
    second = Harness(manifest, gates=IGNITION, beside=first)
    first.together.remove(first)
    second.for_a_while(1800.0)
    journaled = record(first)
    key = next(key for key in journaled.entries if key.kind == "cos-bucket")
    instance = only(first, "instance", "demo-cos")
    request = {"name": "demo-bucket", "region": REGION, "instance": instance["id"], "instance_crn": instance["crn"]}
    entry = Entry(RecordState.INTENDED, request=request, opened=1.0, key=record(second).key)
    text = journal.dumps(record(second).put(key, entry))
    second.object.patch({"metadata": {"annotations": {names.JOURNAL_ANNOTATION: text}}})
    decide(second, Verdict.MINE, key, journaled.entries[key].id)
    second.for_a_while(600.0)
    assert f"a mark of uuid {record(first).owner.uuid}" in answer(second)


def test_what_the_create_cannot_have_made_is_not_ours() -> None:
    """A typing error in an id must not make a stranger's VPC ours."""
    harness = Harness()
    theirs = harness.cloud.strangers.make("vpc", region=REGION, name="theirs")
    cut_off(harness, "vpc.create_vpc", Effect.ERROR_BEFORE)
    decide(harness, Verdict.MINE, VPC, f"{REGION}/{theirs['id']}")
    harness.pass_once()
    assert "cannot have made it" in answer(harness)
