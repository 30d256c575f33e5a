"""Volumes hold data: they go only where a user asks for it, where nothing else has the name; with a copy if asked."""

from __future__ import annotations

import pytest

from freehold.api import names
from harness.aws_cluster import AwsHarness
from harness.cloud_bystanders import elsewhere
from harness.cloud_controllers import Nodes
from harness.collected import ground_of, left, user_of
from harness.standing import standing


def with_a_volume(volumes: str, tasks: str = "volume") -> tuple[AwsHarness, str]:
    harness = standing(AwsHarness)
    annotations = {names.EXTERNAL_RESOURCE_TASKS_ANNOTATION: tasks, names.GC_VOLUMES_ANNOTATION: volumes}
    harness.object.patch({"metadata": {"annotations": annotations}})
    return harness, Nodes(user_of(harness), ground_of(harness)).volume()


def kinds(harness: AwsHarness) -> set[str]:
    return {row["kind"] for row in left(harness)}


def test_a_volume_goes_where_the_user_asks_for_it() -> None:
    harness, _ = with_a_volume("delete")
    harness.down()
    assert kinds(harness) == set()


def test_a_copy_is_complete_before_its_volume_goes() -> None:
    harness, volume = with_a_volume("snapshot")
    harness.down()
    (copy,) = left(harness)
    assert (copy["kind"], copy["tags"]["freehold.dev/snapshot-of"]) == ("snapshot", volume)
    assert copy["tags"]["CSIVolumeName"].startswith("pvc-")
    (made,) = [call for call in harness.calls() if call.operation == "ec2.CreateSnapshot"]
    (gone,) = [call for call in harness.calls() if call.operation == "ec2.DeleteVolume"]
    assert gone.time - made.time >= 5.0


@pytest.mark.parametrize(("volumes", "tasks"), [("retain", "volume"), ("delete", "load-balancer")])
def test_a_volume_stays_where_nobody_asks_for_it(volumes: str, tasks: str) -> None:
    harness, _ = with_a_volume(volumes, tasks)
    harness.down()
    assert kinds(harness) == {"volume"}


def test_a_volume_stays_where_something_else_has_the_name() -> None:
    """However young: the tag index shows it too late."""
    harness, volume = with_a_volume("delete")
    elsewhere(user_of(harness), "demo")
    harness.down()
    assert volume in {row["id"] for row in left(harness)}
    assert any("another cluster may have this name" in message for *_, message in harness.events.said)
