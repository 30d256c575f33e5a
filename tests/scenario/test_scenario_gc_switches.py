"""Whether an AWSCluster is collected: by the operator's gate, by its record, and by its annotations, at any time."""

from __future__ import annotations

import pytest

from freehold.api import names
from freehold.api.feature_gates import DEFAULT_GATES, FeatureGates
from freehold.collection.selector import Selector
from freehold.engine import journal as journals
from harness.aws_cluster import AwsHarness
from harness.standing import standing

OFF: FeatureGates = frozenset()


def policy(harness: AwsHarness) -> tuple[str, str]:
    """What the condition says after one more pass."""
    harness.pass_once()
    found = harness.condition("ExternalResourceGC")
    return found["status"], found["reason"]


def annotate(harness: AwsHarness, name: str, value: str | None) -> None:
    harness.object.patch({"metadata": {"annotations": {name: value}}})


def warnings(harness: AwsHarness) -> set[str]:
    return {reason for severity, reason, _ in harness.events.said if severity == "Warning"}


def test_a_new_cluster_is_collected_until_it_is_opted_out() -> None:
    """docs/reference/requirements.md G4, G5, G9."""
    harness = standing(AwsHarness)
    assert policy(harness) == ("True", "Collected")
    annotate(harness, names.EXTERNAL_RESOURCE_GC_ANNOTATION, "false")
    assert policy(harness) == ("False", "OptedOut")
    annotate(harness, names.EXTERNAL_RESOURCE_GC_ANNOTATION, "ture")
    assert policy(harness) == ("False", "InvalidCollectionPolicy")
    assert harness.ready()
    annotate(harness, names.EXTERNAL_RESOURCE_GC_ANNOTATION, None)
    assert policy(harness) == ("True", "Collected")


def test_a_cluster_older_than_the_gate_is_collected_once_it_is_opted_in() -> None:
    """docs/reference/requirements.md G21."""
    harness = AwsHarness(gates=OFF)
    assert policy(harness) == ("False", "FeatureGateOff")
    harness.gates = DEFAULT_GATES
    harness.start_process()
    assert policy(harness) == ("False", "NotMarked")
    assert "freehold gc enable --cluster-name demo -n default" in harness.condition("ExternalResourceGC")["message"]
    annotate(harness, names.EXTERNAL_RESOURCE_GC_ANNOTATION, "true")
    assert policy(harness) == ("True", "Collected")


def test_a_deleting_cluster_shows_a_change_of_mind() -> None:
    harness = standing(AwsHarness)
    harness.object.delete()
    assert policy(harness) == ("True", "Collected")
    annotate(harness, names.EXTERNAL_RESOURCE_GC_ANNOTATION, "0")
    assert policy(harness) == ("False", "OptedOut")


@pytest.mark.parametrize("gates", [OFF, DEFAULT_GATES], ids=["off", "on"])
def test_a_lost_journal_comes_back_with_what_it_says_of_collection(gates: FeatureGates) -> None:
    """The mark is in status too: a cluster must neither become collected nor lose it."""
    harness = AwsHarness(gates=gates)
    harness.up()
    harness.gates = DEFAULT_GATES
    annotate(harness, names.JOURNAL_ANNOTATION, None)
    harness.start_process()
    assert policy(harness) == (("True", "Collected") if gates else ("False", "NotMarked"))
    assert journals.loads(harness.object.raw["metadata"]["annotations"][names.JOURNAL_ANNOTATION]).collects is bool(
        gates
    )


def test_only_selected_clusters_are_collected() -> None:
    """docs/reference/requirements.md G22."""
    harness = AwsHarness(gc_selector=Selector("team=red"))
    assert policy(harness) == ("False", "NotSelected")
    harness.object.patch({"metadata": {"labels": {"team": "red"}}})
    assert policy(harness) == ("True", "Collected")


def test_opting_out_makes_no_warning() -> None:
    """Somebody has asked for it; what cannot be read is another matter."""
    harness = AwsHarness()
    harness.pass_once()
    annotate(harness, names.EXTERNAL_RESOURCE_GC_ANNOTATION, "false")
    harness.pass_once()
    assert not {"OptedOut", "InvalidCollectionPolicy"} & warnings(harness)
    annotate(harness, names.EXTERNAL_RESOURCE_TASKS_ANNOTATION, "junk")
    annotate(harness, names.EXTERNAL_RESOURCE_GC_ANNOTATION, "true")
    harness.pass_once()
    assert "InvalidCollectionPolicy" in warnings(harness)
