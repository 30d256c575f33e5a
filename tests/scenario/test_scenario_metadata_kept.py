"""``delete`` and ``add`` keep the rest of the active list; only ``update`` replaces it (A31)."""

from __future__ import annotations

import pytest

from freehold.api import names
from freehold.kube.resources import Key
from freehold.tags.context import PROVIDERS
from freehold_sim.faults import Effect, Fault
from harness.metadata import CLASSIFIER, NAMESPACE, Lab
from harness.metadata_on_both import Both

THREE = {"env": "test", "centre": "eng", "own": "us"}
REST = {"env": "test", "centre": "eng"}


@pytest.fixture
def lab() -> Lab:
    return Lab()


async def _fleet(lab: Lab, count: int = 2, **there: str) -> list[str]:
    arns = lab.groups(count, **there)
    await lab.tags("tags", THREE)
    await lab.cloud("metadata", "tags")
    await lab.settle()
    assert all(lab.tags_on(arn).items() >= THREE.items() for arn in arns)
    return arns


async def _say(lab: Lab, opcode: str, **tags: str) -> None:
    """The list in the manifest is these tags, and no other one."""
    old = lab.object("AWSMetadata", "tags")["spec"]["resourcetags"]
    await lab.edit("AWSMetadata", "tags", {"opcode": opcode, "resourcetags": {**dict.fromkeys(old), **tags}})
    await lab.settle()


def _own(lab: Lab, arn: str) -> dict[str, str]:
    return {key: value for key, value in lab.tags_on(arn).items() if key != CLASSIFIER}


def _told(lab: Lab) -> tuple[object, object]:
    status = lab.status("AWSMetadata", "tags")
    return status["activeTags"], status["resourcetags"]


async def test_a31_delete_takes_the_listed_keys_off_and_keeps_the_rest(lab: Lab) -> None:
    arns = await _fleet(lab)
    assert _told(lab) == (THREE, THREE)
    await _say(lab, "delete", own="")
    assert [_own(lab, arn) for arn in arns] == [REST, REST]
    assert _told(lab) == (REST, REST)
    assert lab.condition("Ready")[:2] == ("True", "Applied")
    await _say(lab, "delete", env="")
    assert [_own(lab, arn) for arn in arns] == [{"centre": "eng"}] * 2
    assert _told(lab) == ({"centre": "eng"}, {"centre": "eng"})


async def test_a31_add_adds_to_the_list_and_update_replaces_it(lab: Lab) -> None:
    arns = await _fleet(lab)
    await _say(lab, "add", new="1")
    assert [_own(lab, arn) for arn in arns] == [{**THREE, "new": "1"}] * 2
    assert _told(lab) == ({**THREE, "new": "1"}, {**THREE, "new": "1"})
    await _say(lab, "update", env="prod")
    assert [_own(lab, arn) for arn in arns] == [{"env": "prod"}] * 2
    assert _told(lab) == ({"env": "prod"}, {"env": "prod"})


@pytest.mark.parametrize("opcode", ["delete", "add"])
async def test_a31_what_is_kept_is_repaired_and_is_put_on_new_resources(lab: Lab, opcode: str) -> None:
    [arn] = await _fleet(lab, 1)
    await _say(lab, opcode, other="")
    lab.somebody_sets(arn, env="theirs")
    lab.somebody_strips(arn, "centre")
    new = lab.group("new", **{CLASSIFIER: "owned"})
    lab.wait()
    await lab.settle()
    assert _own(lab, arn).items() >= THREE.items()
    assert _own(lab, new).items() >= THREE.items()
    assert lab.condition("Applied")[1] == "Repaired"


async def test_a31_what_is_kept_takes_nothing_over_on_new_resources(lab: Lab) -> None:
    await _fleet(lab, 1)
    await _say(lab, "delete", own="")
    new = lab.group("new", **{CLASSIFIER: "owned", "env": "theirs"})
    lab.wait()
    await lab.settle()
    assert _own(lab, new) == {"env": "theirs", "centre": "eng"}
    assert lab.condition("Policy")[:2] == ("True", "Skipped")
    assert _told(lab) == (REST, {"centre": "eng"})


async def test_a31_a_key_that_one_resource_would_not_give_up_does_not_come_back_on_the_others(lab: Lab) -> None:
    """It was deleted from the list; what is left of it there stays where it is."""
    [arn] = await _fleet(lab, 1)
    [secret] = lab.secrets(1)
    lab.wait()
    await lab.settle()
    lab.account.cloud.faults.add(Fault(Effect.DENIED, "resourcegroupstaggingapi.UntagResources", count=None))
    old = lab.object("AWSMetadata", "tags")["spec"]["resourcetags"]
    await lab.edit("AWSMetadata", "tags", {"opcode": "delete", "resourcetags": {**dict.fromkeys(old), "own": ""}})
    await lab.work()
    assert "own" in lab.tags_on(secret) and "own" not in lab.tags_on(arn)
    await _say(lab, "add", new="1")
    assert _own(lab, arn) == {**REST, "new": "1"}
    assert _told(lab)[0] == {**REST, "new": "1"}


async def test_a31_a_lost_status_loses_no_tag_and_an_edited_one_writes_none(lab: Lab) -> None:
    arns = await _fleet(lab)
    await _say(lab, "delete", own="")
    for status in ({}, {"activeTags": {"env": "prod", "invented": "1"}}):
        lab.object("AWSMetadata", "tags")["status"] = status
        lab.restart()
        lab.wait()
        await lab.settle()
        assert [_own(lab, arn) for arn in arns] == [REST, REST]
        assert _told(lab) == (REST, REST)


async def test_a31_what_somebody_else_had_set_alike_stays_on_the_list_and_is_nobody_elses(lab: Lab) -> None:
    [arn] = await _fleet(lab, 1, env="test")
    await _say(lab, "delete", own="")
    assert _told(lab) == (REST, REST)
    lab.somebody_strips(arn, "env")
    lab.wait()
    await lab.settle()
    assert _own(lab, arn) == {"centre": "eng"}
    assert _told(lab) == ({"centre": "eng"}, {"centre": "eng"})


async def test_a31_another_object_that_names_a_key_goes_before_the_one_that_keeps_it(lab: Lab) -> None:
    [arn] = await _fleet(lab, 1)
    await _say(lab, "delete", own="")
    await lab.tags("second", {"env": "prod"})
    await lab.cloud("second", "second")
    await lab.settle("second", "metadata")
    assert _own(lab, arn) == {"env": "prod", "centre": "eng"}
    assert lab.condition("Ready")[0] == "True"
    assert _told(lab) == ({"centre": "eng"}, {"centre": "eng"})


async def test_a31_what_is_kept_goes_with_the_object_where_it_says_so(lab: Lab) -> None:
    [arn] = await _fleet(lab, 1)
    await _say(lab, "delete", own="")
    await lab.edit("AWSMetadata", "tags", {"deletionPolicy": "Remove"})
    await lab.settle()
    assert names.TAGS_FINALIZER in lab.object("AWSMetadata", "tags")["metadata"]["finalizers"]
    await lab.remove("tags")
    assert _own(lab, arn) == {}
    assert (PROVIDERS["AWSMetadata"].kind, Key(NAMESPACE, "tags")) not in lab.objects.objects


async def test_a31_on_ibm_cloud_delete_keeps_the_rest_in_its_spelling() -> None:
    both = Both()
    [crn] = both.on_ibm(1)
    await both.ibm_only()
    await both.settle()
    spec = {"opcode": "delete", "resourcetags": {"env": None, "Centre": "", "centre": None}}
    await both.edit("IBMMetadata", "ibmtags", spec)
    await both.settle()
    assert both.ibm_tags_on(crn) == {"fleet:a", "env:test"}
    assert both.status("IBMMetadata", "ibmtags")["activeTags"] == {"env": "test"}
