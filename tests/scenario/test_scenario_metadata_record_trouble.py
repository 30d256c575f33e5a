"""The record of what was written cannot be kept: that is told, repaired where it can be, and no loop."""

from __future__ import annotations

import pytest

from freehold.controllers.controller import RequeueAfter
from freehold.kube import errors as kube
from freehold.kube.resources import Key
from freehold.operator.metadata.means import SLOW_SECONDS
from freehold.operator.metadata.record import LABEL, NAME
from freehold.tagging.stored_record import shard_of
from harness.metadata import CLASSIFIER, NAMESPACE, PLACE, WANTED, Killed, Lab


@pytest.fixture
def lab() -> Lab:
    return Lab()


async def _at_work(lab: Lab, **spec: str) -> str:
    (arn,) = lab.groups(1)
    await lab.tags("awstags", WANTED, **spec)
    await lab.cloud("metadata", "awstags")
    await lab.settle()
    lab.wait()
    return arn


def _strip_labels(lab: Lab, *, head: bool) -> None:
    for (kind, key), row in lab.objects.objects.items():
        if kind == "ConfigMap" and (head or key.name != NAME):
            row["metadata"]["labels"] = {}


@pytest.mark.parametrize("head", [False, True], ids=["the shards", "the head too"])
async def test_a_record_that_lost_its_label_is_found_and_labelled_again(lab: Lab, head: bool) -> None:
    """A list by the label shows nothing of it: it is neither lost nor in the way."""
    arn = await _at_work(lab)
    _strip_labels(lab, head=head)
    lab.somebody_strips(arn, "env")
    lab.wait()
    await lab.settle(passes=2)
    assert lab.tags_on(arn)["env"] == "test"
    assert lab.condition("Policy")[1] == "AsAsked"
    rows = [row for (kind, _), row in lab.objects.objects.items() if kind == "ConfigMap"]
    assert {row["metadata"]["labels"].get(LABEL) for row in rows} == {NAME}


async def test_a24_an_object_does_not_go_because_the_record_lost_its_label(lab: Lab) -> None:
    arn = await _at_work(lab, deletionPolicy="Remove")
    _strip_labels(lab, head=True)
    await lab.remove("awstags")
    assert lab.tags_on(arn) == {CLASSIFIER: "owned"}


async def test_a_config_map_of_that_name_that_somebody_made_before_is_taken_as_a_lost_part(lab: Lab) -> None:
    """It has no label either: the first write meets it."""
    (arn,) = lab.groups(1)
    name = f"{NAME}-{shard_of(arn):02d}"
    metadata = {"name": name, "namespace": PLACE, "resourceVersion": "1", "uid": "u"}
    lab.objects.objects["ConfigMap", Key(PLACE, name)] = {"metadata": metadata, "data": {}}
    await lab.apply_examples()
    await lab.settle(passes=4)
    assert lab.tags_on(arn)["env"] == "test"


async def test_a_record_that_the_api_server_refuses_is_told_at_once(lab: Lab) -> None:
    """An immutable ConfigMap does not become another one."""
    arn = await _at_work(lab)
    await lab.edit("AWSMetadata", "awstags", {"resourcetags": {"team": "x"}})

    def refuse(verb: str, name: str) -> None:
        if name.startswith(NAME):
            raise kube.Invalid(f"ConfigMap {name} is immutable", code=422)

    lab.objects.before = refuse
    assert await lab.work() == RequeueAfter(SLOW_SECONDS, at_rest=True)
    for type_ in ("Ready", "Applied"):
        status, reason, message = lab.condition(type_)
        assert (status, reason) == ("False", "RecordNotKept") and "is immutable" in message
    lab.objects.before = lambda verb, name: None
    lab.wait()
    await lab.settle()
    assert lab.tags_on(arn)["team"] == "x" and lab.condition("Ready")[0] == "True"


async def test_conflicts_in_a_row_are_told_and_tried_slowly(lab: Lab) -> None:
    """A few are two writers who meet; more are a loop that nobody sees, with Ready as it was."""
    await _at_work(lab)
    await lab.edit("AWSMetadata", "awstags", {"resourcetags": {"team": "x"}})

    def conflict(verb: str, name: str) -> None:
        if name.startswith(f"{NAME}-"):
            lab.objects.objects["ConfigMap", Key(PLACE, name)]["data"]["record"] = f"x{len(lab.objects.written)}"
            lab.objects.objects["ConfigMap", Key(PLACE, name)]["metadata"]["resourceVersion"] += "0"

    lab.objects.before = conflict
    results = [await lab.work() for _ in range(7)]
    assert results[:5] == [RequeueAfter(1.0)] * 5
    assert results[5:] == [RequeueAfter(SLOW_SECONDS, at_rest=True)] * 2
    assert lab.condition("Applied")[:2] == ("False", "RecordNotKept")
    lab.objects.before = lambda verb, name: None
    lab.wait()
    await lab.settle()
    assert lab.condition("Ready")[0] == "True"


async def test_a24_a_removal_that_the_record_stops_is_told(lab: Lab) -> None:
    await _at_work(lab, deletionPolicy="Remove")

    def refuse(verb: str, name: str) -> None:
        if name.startswith(NAME):
            raise kube.Invalid(f"ConfigMap {name} is immutable", code=422)

    lab.objects.before = refuse
    await lab.remove("awstags")
    assert ("AWSMetadata", Key(NAMESPACE, "awstags")) in lab.objects.objects
    message = lab.condition("Applied", "AWSMetadata", "awstags")[2]
    assert "is immutable" in message and "spec.deletionPolicy: Retain" in message


async def test_a12_an_object_that_only_deletes_foreign_keys_leaves_nothing_that_could_be_lost(lab: Lab) -> None:
    """Nothing is on record by that. Its annotation without a record would read as: the record was lost."""
    (arn,) = lab.groups(1, bad="x")
    await lab.tags("cleaner", {"bad": ""}, opcode="delete")
    await lab.cloud("metadata", "cleaner")
    for _ in range(2):
        await lab.settle()
        assert lab.tags_on(arn) == {CLASSIFIER: "owned"}
        assert lab.condition("Policy")[:2] == ("True", "AsAsked")
        lab.somebody_sets(arn, bad="x")
        lab.wait()
    await lab.tags("tags", WANTED)
    await lab.cloud("other", "tags")
    await lab.settle("other")
    assert lab.condition("Policy", name="other")[:2] == ("True", "AsAsked")


async def test_a12_an_object_that_deletes_foreign_keys_says_so_once_there_is_a_record(lab: Lab) -> None:
    """Then the loss of the record is told, also where the object that had written is gone by then."""
    (arn,) = lab.groups(1)
    await lab.apply_examples()
    await lab.settle()
    await lab.tags("cleaner", {"bad": ""}, opcode="delete")
    await lab.cloud("other", "cleaner")
    lab.somebody_sets(arn, bad="x")
    lab.wait()
    await lab.settle("other")
    assert lab.tags_on(arn) == {CLASSIFIER: "owned", **WANTED}
    await lab.delete("CloudMetadata", "metadata")
    await lab.delete("AWSMetadata", "awstags")
    await lab.lose_record()
    lab.restart()
    lab.wait()
    await lab.settle("other")
    assert lab.condition("Policy", name="other")[:2] == ("True", "RecordLost")


@pytest.mark.parametrize("times", [1, 2])
async def test_a12_no_object_says_that_something_was_written_before_the_head_is_stored(lab: Lab, times: int) -> None:
    """A process that ends between a shard and the head leaves a record that knows all; the next one may end too."""
    (arn,) = lab.groups(1)
    await lab.apply_examples()

    def kill(verb: str, name: str) -> None:
        if (verb, name) == ("create", NAME):
            raise Killed

    lab.objects.before = kill
    for _ in range(times):
        with pytest.raises(Killed):
            await lab.settle()
        lab.restart()
        lab.wait()
    lab.objects.before = lambda verb, name: None
    await lab.settle()
    assert lab.tags_on(arn) == {CLASSIFIER: "owned", **WANTED}
    assert lab.condition("Policy")[:2] == ("True", "AsAsked")
    written = lab.objects.written
    assert written.index(f"create {NAME}") < written.index("patch awstags")
