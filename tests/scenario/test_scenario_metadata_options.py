"""What the operator's options say for all metadata objects: how often, what needs a person, what is left alone."""

from __future__ import annotations

import re

import pytest

from freehold.controllers.controller import RequeueAfter
from freehold.tags.policy.protected import IgnoreList
from harness.metadata import CLASSIFIER, WANTED, Lab

APPROVE = "freehold.dev/approve-tags"


async def _edit_annotation(lab: Lab, message: str) -> str:
    """Approve the plan whose digest a message names."""
    found = re.search(r"\b[0-9a-f]{64}\b", message)
    assert found is not None, message
    lab.object("CloudMetadata", "metadata")["metadata"].setdefault("annotations", {})[APPROVE] = found[0]
    return found[0]


@pytest.mark.parametrize(
    ("syncevery", "fraction", "seconds"),
    [(None, 0.5, 120.0), ("20m", 0.5, 1200.0), ("30s", 0.5, 30.0), (None, 0.0, 108.0), (None, 0.999, 131.976)],
    ids=["A8 the flag", "A8 the object's own goes first", "A8 the floor", "A8 earliest", "A8 latest"],
)
async def test_a8_how_often_is_a_flag_and_a_field(syncevery: str | None, fraction: float, seconds: float) -> None:
    lab = Lab(period=120.0)
    lab.fraction = fraction
    lab.groups(1)
    await lab.tags("tags", WANTED)
    await lab.cloud("metadata", "tags", controllerconfig={"syncevery": syncevery} if syncevery else {})
    await lab.work()
    lab.wait(60)
    assert await lab.work() == RequeueAfter(pytest.approx(seconds), at_rest=True)


async def test_a8_a_period_below_the_least_is_refused_with_its_path() -> None:
    """Of an object that is stored already; the schema refuses a new one, and the command the option."""
    lab = Lab()
    await lab.tags("tags", WANTED)
    await lab.cloud("metadata", "tags", controllerconfig={"syncevery": "10s"})
    await lab.work()
    status, reason, message = lab.condition("Approved")
    assert (status, reason) == ("False", "InvalidSpec")
    assert message == "spec.controllerconfig.syncevery: it is shorter than 30s: choose at least 30s ('10s')"
    assert not lab.sent()


async def test_an_ignored_key_is_in_no_operation_and_the_object_says_so() -> None:
    """The cloud's own policies set values that nobody may answer."""
    lab = Lab(ignored=IgnoreList(frozenset({"env"}), ("cost/",)))
    (arn,) = lab.groups(1, env="of a policy", **{"cost/center": "7"})
    await lab.tags("tags", {"env": "test", "cost/center": "8", "centre": "eng"})
    await lab.cloud("metadata", "tags")
    await lab.settle()
    assert lab.tags_on(arn) == {CLASSIFIER: "owned", "env": "of a policy", "cost/center": "7", "centre": "eng"}
    status, reason, message = lab.condition("Policy")
    assert (status, reason) == ("True", "Ignored")
    assert "'env'" in message and "'cost/center'" in message
    await lab.edit("AWSMetadata", "tags", {"opcode": "delete"})
    await lab.settle()
    assert lab.tags_on(arn) == {CLASSIFIER: "owned", "env": "of a policy", "cost/center": "7"}


async def test_a_key_that_is_ignored_from_now_on_is_not_removed_when_it_leaves_the_spec() -> None:
    lab = Lab()
    (arn,) = lab.groups(1)
    await lab.apply_examples()
    await lab.settle()
    lab.configure(ignored=IgnoreList(frozenset({"centre"})))
    await lab.edit("AWSMetadata", "awstags", {"resourcetags": {"centre": None}})
    lab.wait()
    await lab.settle()
    assert lab.tags_on(arn) == {CLASSIFIER: "owned", **WANTED}


async def test_a_marker_exempts_a_resource_from_every_operation() -> None:
    """Also where the index does not show the marker yet: what is changed was read from its service."""
    lab = Lab()
    marked, late, other = lab.groups(3)
    lab.somebody_sets(marked, **{"freehold.dev/metadata": "ignore"})
    lab.wait()
    lab.somebody_sets(late, **{"freehold.dev/metadata": "ignore"})
    await lab.apply_examples()
    await lab.settle()
    assert [lab.tags_on(arn).get("env") for arn in (marked, late, other)] == [None, None, "test"]
    told = "the tags are as wanted on 1 resource; 2 resources exempt by tag and left alone"
    assert lab.condition("Applied")[2] == told, "a person who looks for a missing resource finds it"
    lab.somebody_sets(other, **{"freehold.dev/metadata": "ignore"})
    await lab.edit("AWSMetadata", "awstags", {"resourcetags": {"env": None}})
    lab.wait()
    await lab.settle()
    assert lab.tags_on(other)["env"] == "test", "what was written before stays as it is"
    lab.somebody_strips(other, "freehold.dev/metadata")
    lab.wait()
    await lab.settle()
    assert "env" not in lab.tags_on(other)


async def test_many_removals_wait_for_an_approval_and_additions_do_not() -> None:
    lab = Lab(approve_above=2)
    ours = lab.groups(3)
    await lab.apply_examples()
    await lab.settle()
    fresh = lab.group("fresh", **{CLASSIFIER: "owned"})
    lab.wait()
    await lab.edit("AWSMetadata", "awstags", {"resourcetags": {"centre": None}})
    await lab.settle()
    assert ["centre" in lab.tags_on(arn) for arn in ours] == [True] * 3
    assert lab.tags_on(fresh)["env"] == "test"
    status, reason, message = lab.condition("Approved")
    assert (status, reason) == ("False", "ApprovalNeeded")
    assert "3 resources, more than 2" in message
    await _edit_annotation(lab, message)
    await lab.settle()
    assert ["centre" in lab.tags_on(arn) for arn in ours] == [False] * 3
    assert lab.condition("Approved")[0] == "True"


async def test_an_approval_is_for_one_plan_only() -> None:
    """What has changed since is another plan, and nobody has seen it."""
    lab = Lab(approve_above=1)
    ours = lab.groups(3, env="theirs")
    await lab.apply_examples()
    await lab.settle()
    digest = await _edit_annotation(lab, lab.condition("Approved")[2])
    lab.somebody_sets(ours[0], env="changed since")
    lab.wait()
    await lab.settle()
    assert [lab.tags_on(arn)["env"] for arn in ours] == ["changed since", "theirs", "theirs"]
    assert digest not in lab.condition("Approved")[2]
    await _edit_annotation(lab, lab.condition("Approved")[2])
    await lab.settle()
    assert [lab.tags_on(arn)["env"] for arn in ours] == ["test"] * 3


async def test_plans_of_several_providers_are_approved_side_by_side() -> None:
    """Each provider's object has a plan of its own, and one annotation has room for all of them."""
    lab = Lab(approve_above=0)
    (arn,) = lab.groups(1, env="theirs", team="theirs")
    await lab.tags("a", {"env": "test"})
    await lab.tags("b", {"team": "x"})
    references = {"awsref": {"name": "a"}, "refs": [{"kind": "AWSMetadata", "name": "b"}]}
    await lab.cloud("metadata", "", cloudprovider=references)
    await lab.settle()
    digests = re.findall(r"\b[0-9a-f]{64}\b", lab.condition("Approved")[2])
    assert len(digests) == 2
    lab.object("CloudMetadata", "metadata")["metadata"]["annotations"] = {APPROVE: ", ".join(digests)}
    lab.wait()
    await lab.settle()
    assert lab.tags_on(arn) == {CLASSIFIER: "owned", "env": "test", "team": "x"}


async def test_a_key_that_is_ignored_is_not_listed_as_there() -> None:
    """The prefix of the default: what is not written is told, and is no part of the active list."""
    lab = Lab()
    (arn,) = lab.groups(1)
    await lab.tags("tags", {"openshift.io/team": "x", "env": "test"})
    await lab.cloud("metadata", "tags")
    await lab.settle()
    assert lab.tags_on(arn) == {CLASSIFIER: "owned", "env": "test"}
    assert lab.condition("Policy")[:2] == ("True", "Ignored")
    assert lab.status("AWSMetadata", "tags")["resourcetags"] == {"env": "test"}
