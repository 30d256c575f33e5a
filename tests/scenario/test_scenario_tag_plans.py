"""A plan of tags is the controller's own pass: the same calls, and nothing is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import yaml
from test_scenario_metadata_providers import Both

from freehold.engine.errors import CloudError, Throttled
from freehold.engine.port import Effect
from freehold.kube.resources import Json, Key
from freehold.providers.access.audit import Changes
from freehold.tags.cloud_reconcile import CloudReconciler
from freehold.tags.context import CLOUD_METADATAS
from freehold.tags.pass_hooks import AuditedChanges, PassHooks
from freehold.tags.planning import StoredObjects, TagPlanner
from freehold.tags.tag_plan import TagPlan
from harness.aws_account import REGION
from harness.metadata import CLASSIFIER, EXAMPLES, NAMESPACE, PLACE, WANTED, Lab


@pytest.fixture
def lab() -> Lab:
    return Lab()


async def planned(lab: Lab, *wanted: Json) -> TagPlan:
    """By another process, with ``wanted`` as if it were stored."""
    return (await plans(lab, "metadata", wanted=wanted))["metadata"]


async def plans(lab: Lab, *names: str, wanted: Sequence[Json] = ()) -> dict[str, TagPlan]:
    objects, record = await StoredObjects.read(lab.objects, wanted), (PLACE, "freehold-tags")
    planner = TagPlanner(objects, lab, lab.clock, lab.rings.ring, record, (REGION,), lab.configuration)
    return {name: await planner.plan(Key(NAMESPACE, name)) for name in names}


async def split(lab: Lab, parts: str, number: int, **theirs: str) -> None:
    """A CloudMetadata for each part of a fleet of ``number`` resources with ``theirs``, all of one AWSMetadata."""
    for part in parts:
        for each in range(number):
            lab.group(f"{part}-{each}", **{CLASSIFIER: "owned"}, part=part, **theirs)
    lab.wait(60)
    await lab.tags("tags", {"env": "test"})
    for part in parts:
        await lab.cloud(part, "tags", matchAll={"part": part})


def changes(plan: TagPlan) -> set[tuple[str, str, str, str | None]]:
    """Short: what is left is told by other tests."""
    return {
        (each.resource, row.action.value, row.key, row.after)
        for each in plan.resources
        for row in each.rows
        if row.action.changes
    }


def sent(lab: Lab) -> list[tuple[str, list[str], dict[str, Any]]]:
    """The writes as AWS got them."""
    found = []
    for call in lab.port.calls:
        detail = dict(call.detail)
        if call.operation in ("create_tags", "delete_tags"):
            tags = {row["Key"]: row.get("Value") for row in detail["Tags"]}
            found.append((call.operation.replace("_", ""), sorted(detail["Resources"]), tags))
        elif call.operation in ("tag_resources", "untag_resources"):
            arns = [each.rpartition("/")[2].rpartition(":")[2] for each in detail["ResourceARNList"]]
            tags = detail.get("Tags") or dict.fromkeys(detail["TagKeys"])
            found.append((call.operation.replace("_", ""), sorted(arns), tags))
    lab.port.calls.clear()
    return found


def as_sent(plan: TagPlan) -> list[tuple[str, list[str], dict[str, Any]]]:
    return [
        (
            each.verb.lower(),
            sorted(target.rpartition("/")[2].rpartition(":")[2] for target in each.targets),
            dict(each.tags),
        )
        for each in plan.calls
    ]


async def test_the_calls_of_a_plan_are_those_that_the_controller_then_sends(lab: Lab) -> None:
    """Additions, changes and removals, of two services: one mechanism, not two lists of rules."""
    groups, secrets = lab.groups(3, env="prod"), lab.secrets(2)
    await lab.apply_examples()
    await lab.settle()
    await lab.edit("AWSMetadata", "awstags", {"resourcetags": {"env": "test", "centre": None, "team": "a"}})
    lab.somebody_sets(groups[0], env="mine")
    lab.wait()
    sent(lab)
    plan = await planned(lab)
    assert sent(lab) == []
    await lab.work()
    assert as_sent(plan) == sent(lab)
    assert {each[0] for each in as_sent(plan)} == {"createtags", "deletetags", "tagresources", "untagresources"}
    gone = {(arn, "remove", "centre", None) for arn in (*groups, *secrets)}
    new = {(arn, "add", "team", "a") for arn in (*groups, *secrets)}
    assert changes(plan) == gone | new | {(groups[0], "change", "env", "test")}
    lab.wait()
    assert not (await planned(lab)).changes


async def test_a_plan_writes_nothing_to_the_cloud_nor_to_the_api_server(lab: Lab) -> None:
    """Neither the record of what we wrote, nor a status, nor the annotation of an object."""
    (arn,) = lab.groups(1)
    await lab.apply_examples()
    lab.objects.written.clear()
    before = lab.tags_on(arn)
    plan = await planned(lab)
    assert plan.changes and plan.selected == 1
    assert lab.writes() == [] and lab.objects.written == [] and lab.tags_on(arn) == before


async def test_foreign_tags_are_listed_as_left(lab: Lab) -> None:
    (arn,) = lab.groups(1, owner="somebody", env="prod")
    await lab.apply_examples()
    (found,) = (await planned(lab)).resources
    assert found.resource == arn
    rows = {row.key: (row.action.value, row.before, row.after, row.cause) for row in found.rows}
    assert rows == {
        "centre": ("add", (), "eng", "Missing"),
        "env": ("change", ("prod",), "test", "Foreign"),
        "owner": ("leave", ("somebody",), None, "Foreign"),
        CLASSIFIER: ("leave", ("owned",), None, "Foreign"),
    }


async def test_a_manifest_is_planned_as_if_it_were_stored(lab: Lab) -> None:
    """Both objects are new: the server has never seen them."""
    (arn,) = lab.groups(1)
    cloud, tags = yaml.safe_load_all(EXAMPLES)
    plan = await planned(lab, cloud, tags)
    assert changes(plan) == {(arn, "add", "centre", "eng"), (arn, "add", "env", "test")}
    assert await lab.objects.list(CLOUD_METADATAS) == await lab.objects.list(CLOUD_METADATAS, "nowhere")


async def test_what_waits_for_a_person_is_marked_and_its_digest_is_the_controllers() -> None:
    lab = Lab(approve_above=1)
    ours = lab.groups(3)
    for arn in ours[:2]:
        lab.somebody_sets(arn, env="theirs")
    lab.wait()
    await lab.apply_examples()
    plan = await planned(lab)
    assert [each.waits for each in plan.resources] == [arn in ours[:2] for arn in sorted(ours)]
    assert [(sorted(call.targets), call.waits) for call in plan.calls] == [
        ([ours[2]], False),
        (sorted(ours[:2]), True),
    ]
    await lab.work()
    assert plan.digest and plan.digest in lab.condition("Approved")[2]


@pytest.mark.parametrize("theirs", [{}, {"env": "theirs"}], ids=["added", "overwritten"])
async def test_a_plan_is_the_same_alone_and_beside_others(lab: Lab, theirs: dict[str, str]) -> None:
    """What the first of them would store is not there for the next one."""
    await split(lab, "abc", 1, **theirs)
    together = await plans(lab, "a", "b", "c")
    assert together == {name: (await plans(lab, name))[name] for name in "abc"}
    assert all(each.changes and not each.problems and not each.notes for each in together.values())


async def test_what_stands_against_it_is_a_problem_and_what_passes_is_not(lab: Lab) -> None:
    lab.groups(1)
    await lab.apply_examples([0])
    (problem,) = (await planned(lab)).problems
    assert "AWSMetadata metadata-controller/awstags does not exist" in problem
    await lab.apply_examples([1])

    def refuse(call: Any) -> None:
        if call.operation == "get_resources":
            raise Throttled("too many requests")

    lab.port.before_each = refuse
    plan = await planned(lab)
    assert plan.problems == () and plan.unanswered == (f"{REGION}: too many requests",)
    assert not plan.changes


async def test_an_object_that_is_refused_for_one_key_says_so_by_resource(lab: Lab) -> None:
    """Opcode add errors on a key that is there: the row says why it is left."""
    (arn,) = lab.groups(1, env="theirs")
    await lab.tags("awstags", {"env": "test"}, opcode="add")
    await lab.cloud("metadata", "awstags")
    plan = await planned(lab)
    rows = {row.key: row for each in plan.resources for row in each.rows}
    assert rows["env"].cause == "TagExists" and arn in rows["env"].why
    assert not plan.changes


class Lines:
    """An audit of changes in memory, beside the calls that were sent by then."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self.rows: list[tuple[str, str, str | None, str | None]] = []
        self.refusals: list[tuple[str, str]] = []
        self.written_before: list[int] = []

    def log_changes(self, subject: str, changes: Changes) -> None:
        writes = [call for call in self._lab.port.calls if call.effect is Effect.WRITE]
        self.written_before.append(len(writes))
        for resource, tags in changes.items():
            self.rows += [(resource, key, *change) for key, change in tags.items()]

    def log_refused(self, subject: str, resource: str, error: CloudError) -> None:
        self.refusals.append((resource, error.code))


def audited(lab: Lab) -> Lines:
    """From now on the process of the lab is audited."""
    lines = Lines(lab)
    hooks = PassHooks(watches=[AuditedChanges(lines)])
    lab.process = CloudReconciler(replace(lab.means, hooks=hooks))
    return lines


async def test_each_change_is_audited_once_with_the_value_that_was_there_before_it_is_sent(lab: Lab) -> None:
    """Also somebody else's value that is taken over (A11): the log is what is left of it."""
    (group,) = lab.groups(1, env="theirs")
    lines = audited(lab)
    await lab.apply_examples()
    await lab.settle()
    assert sorted(lines.rows) == [(group, "centre", None, "eng"), (group, "env", "theirs", "test")]
    assert lines.written_before == [0]
    lines.rows.clear()
    await lab.edit("AWSMetadata", "awstags", {"resourcetags": {"env": None, "centre": "eng"}})
    lab.wait()
    await lab.settle()
    assert lines.rows == [(group, "env", "test", None)]


async def test_several_providers_are_one_plan_in_the_calls_of_each_cloud() -> None:
    """What the operator then does is what was planned, on IBM Cloud too."""
    both = Both()
    crns, (arn,) = both.on_ibm(2, "env:prod"), both.groups(1, fleet="a")
    await both.tags("awstags", WANTED)
    await both.ibm_tags("ibmtags", {"env": "test"})
    references = {"awsref": {"name": "awstags"}, "ibmref": {"name": "ibmtags"}}
    await both.cloud("metadata", "", cloudprovider=references, classifiers={"fleet": "a"})
    plan = await planned(both)
    assert plan.selected == 3 and not plan.problems
    assert changes(plan) == {
        *((crn, "change", "env", "test") for crn in crns),
        (arn, "add", "env", "test"),
        (arn, "add", "centre", "eng"),
    }
    assert [call.verb for call in plan.calls] == ["CreateTags", "detach_tag", "attach_tag"]
    assert both.ibm_tags_on(crns[0]) == {"fleet:a", "env:prod"}, "a plan writes nothing"
    await both.settle()
    assert both.ibm_tags_on(crns[0]) == {"fleet:a", "env:test"}
    both.wait()
    assert not (await planned(both)).changes


async def test_where_nobody_may_the_plan_says_so(lab: Lab) -> None:
    """Grants hold for a plan as for the controller."""
    lab.groups(1)
    await lab.apply_examples()
    metadata = {"name": "others"}
    await lab.apply({"kind": "MetadataGrant", "metadata": metadata, "spec": {"namespaces": ["elsewhere"]}})
    plan = await planned(lab)
    assert not plan.changes and plan.selected == 0
    assert "MetadataGrant" in plan.problems[0]
