"""Two writers of ours on one resource, the engine and the metadata controller: neither undoes the other.

Source: docs/reference/metadata-compat.md A18.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from freehold.kube import errors as kube
from freehold.kube.object_client import ObjectList
from freehold.kube.resources import Key, Resource
from freehold.providers.registry import SERVED_RESOURCES
from freehold.tags.controller import GRANTS
from freehold.tags.ledger_store import NAME
from freehold.tags.planning import StoredObjects, TagPlanner
from freehold.tags.tag_plan import TagPlan
from harness.aws_account import REGION
from harness.metadata import NAMESPACE, PLACE, Lab
from harness.metadata_beside_clusters import Beside, BesideAws, BesidePowerVS
from harness.powervs import Harness, example
from harness.resources import everything_by_id, infrastructure

Make = Callable[[Mapping[str, str]], Beside]
CLOUDS = pytest.mark.parametrize("make", [BesideAws, BesidePowerVS], ids=["AWS", "IBM"])
WANTED = {"env": "test", "centre": "eng"}


async def _up(make: Make, tags: Mapping[str, str]) -> tuple[Beside, str]:
    """A cluster that is ready, and its VPC in the fleet of the metadata object."""
    lab = make(tags)
    vpc = lab.vpc_of_cluster()
    lab.classify(vpc)
    await lab.ask(WANTED)
    return lab, vpc


def _says_conflict(lab: Beside, name: str = "metadata") -> bool:
    status, reason, message = lab.condition("Policy", name=name)
    return (status, reason) == ("False", "Conflict") and lab.kind in message and "'env'" in message


@CLOUDS
async def test_a18_a_key_that_a_cluster_asks_for_is_left_to_it_and_said(make: Make) -> None:
    """The engine would set it back, and the metadata controller again, for ever."""
    lab, vpc = await _up(make, {"env": "cluster"})
    for _ in range(3):
        await lab.settle()
        assert lab.tags_of(vpc) == {"env=cluster", "centre=eng"}
        assert _says_conflict(lab)
        assert lab.cluster_writes() == []


@CLOUDS
async def test_the_engine_leaves_what_a_metadata_object_put_on(make: Make) -> None:
    """Also where its spec changes, in a new process, and for other keys that it takes off itself."""
    lab, vpc = await _up(make, {"stage": "blue"})
    await lab.settle()
    expected = {"env=test", "centre=eng"}
    assert lab.tags_of(vpc) == {"stage=blue", *expected}
    lab.edit_cluster({"colour": "red"})
    lab.cluster_writes()
    assert lab.tags_of(vpc) == {"colour=red", *expected}
    lab.edit_cluster({})
    lab.cluster.start_process()
    lab.cluster_writes()
    assert lab.tags_of(vpc) == expected
    assert lab.cluster.ready()


@CLOUDS
async def test_a_cluster_that_asks_for_a_key_later_is_not_fought(make: Make) -> None:
    """Where tags are a map the engine tells what it finds under its key; where they are a set its own stands beside."""
    lab, vpc = await _up(make, {})
    await lab.settle()
    lab.edit_cluster({"env": "cluster"})
    lab.cluster_writes()
    then = lab.tags_of(vpc)
    assert "env=test" in then
    lab.wait()
    await lab.settle()
    assert _says_conflict(lab)
    lab.sent()
    assert lab.cluster_writes() == []
    lab.wait()
    await lab.settle()
    assert lab.writes() == []
    assert lab.tags_of(vpc) == then


@CLOUDS
async def test_a_second_pass_beside_a_cluster_makes_one_call(make: Make) -> None:
    """Which keys clusters ask for is known from the API server alone."""
    lab, _ = await _up(make, {"env": "cluster"})
    await lab.settle()
    lab.wait()
    lab.sent()
    await lab.settle()
    assert len(lab.sent()) == 1


async def _planned(lab: Lab) -> TagPlan:
    planner = TagPlanner(
        await StoredObjects.read(lab.objects, ()), lab, lab.clock, lab.rings.ring, (PLACE, NAME), (REGION,)
    )
    return await planner.plan(Key(NAMESPACE, "metadata"))


@CLOUDS
async def test_a_plan_leaves_the_keys_of_a_cluster_too(make: Make) -> None:
    lab, vpc = await _up(make, {"env": "cluster"})
    plan = await _planned(lab)
    (resource,) = plan.resources
    assert resource.resource == vpc
    assert [row.key for row in resource.rows if row.action.changes] == ["centre"]
    assert "Conflict" in plan.left[vpc] and lab.kind in plan.left[vpc]


@pytest.mark.parametrize("absent", SERVED_RESOURCES, ids=str)
async def test_a_plan_needs_no_kind_of_clusters(absent: Resource, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where one is not installed there is none of it; without the kinds of metadata there is no plan."""
    lab = Lab()
    (arn,) = lab.groups(1)
    await lab.apply_examples()
    listed = lab.objects.list
    missing = absent

    async def list_(resource: Resource, namespace: str = "", *, label_selector: str = "") -> ObjectList:
        if resource == missing:
            raise kube.ObjectNotFound("the server could not find the requested resource", code=404)
        return await listed(resource, namespace, label_selector=label_selector)

    monkeypatch.setattr(lab.objects, "list", list_)
    assert [each.resource for each in (await _planned(lab)).resources] == [arn]
    missing = GRANTS
    with pytest.raises(kube.ObjectNotFound):
        await _planned(lab)


@CLOUDS
async def test_nothing_is_done_while_the_clusters_are_not_known(make: Make) -> None:
    lab, vpc = await _up(make, {"env": "cluster"})
    lab.clusters_known = False
    await lab.settle()
    assert lab.condition("Approved")[1] == "ObjectsUnknown"
    assert lab.tags_of(vpc) == {"env=cluster"}


async def test_a18_keys_of_a_cluster_have_no_case_on_ibm_cloud() -> None:
    """Nor has a value that the cluster gives none, or whose colon ends the key for the metadata object."""
    lab, vpc = await _up(BesidePowerVS, {"Env": "Cluster", "Centre": ""})
    await lab.settle()
    assert {each.lower() for each in lab.tags_of(vpc)} == {"env=cluster", "centre"}
    assert _says_conflict(lab)


async def test_a18_a_key_that_a_cluster_puts_on_a_given_resource_is_left_to_it() -> None:
    """It has no mark of ours: the cluster's record says what it tags."""
    harness = Harness()
    theirs = infrastructure(harness)
    harness.object.patch({"spec": example(**everything_by_id(theirs))["spec"]})
    lab = BesidePowerVS({}, harness)
    lab.edit_cluster({"env": "cluster"})
    vpc = str(theirs.vpc["crn"])
    harness.up()
    lab.classify(vpc)
    await lab.ask(WANTED)
    for _ in range(2):
        await lab.settle()
        assert lab.tags_of(vpc) == {"env=cluster", "centre=eng"}
        assert _says_conflict(lab)
        assert lab.cluster_writes() == []
