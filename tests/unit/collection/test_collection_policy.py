"""Who is collected, and by which tasks (docs/reference/requirements.md G4, G9, G21, G22)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freehold.api import names
from freehold.collection.policy import Collect, Policy, SkipCollection, UnreadablePolicy, Volumes, decide
from freehold.collection.selector import Selector
from freehold.collection.things import DEFAULT_TASKS, CollectionTask

GC = names.EXTERNAL_RESOURCE_GC_ANNOTATION
TASKS = names.EXTERNAL_RESOURCE_TASKS_ANNOTATION
VOLUMES = names.GC_VOLUMES_ANNOTATION
RED = Selector("team=red")


def policy(
    annotations: dict[str, str] | None = None,
    *,
    gate_on: bool = True,
    marked: bool = True,
    selector: Selector | None = None,
    **metadata: Any,
) -> Policy:
    metadata = {"name": "c1", "namespace": "ns", "annotations": annotations, **metadata}
    return decide({"kind": "AWSCluster", "metadata": metadata}, gate_on=gate_on, marked=marked, selector=selector)


def test_annotations_have_upstreams_names() -> None:
    """docs/reference/requirements.md G10."""
    assert (GC, TASKS) == (
        "aws.cluster.x-k8s.io/external-resource-gc",
        "aws.cluster.x-k8s.io/external-resource-tasks-gc",
    )


def test_without_annotations_a_marked_object_is_collected() -> None:
    assert policy() == Collect(DEFAULT_TASKS, Volumes.RETAIN, "default")


@pytest.mark.parametrize("word", ["1", "t", "T", "TRUE", "true", "True"])
def test_true_is_what_go_takes_for_it(word: str) -> None:
    assert policy({GC: word}) == Collect(DEFAULT_TASKS, Volumes.RETAIN, f"annotation {GC}={word}")


@pytest.mark.parametrize("word", ["0", "f", "F", "FALSE", "false", "False"])
def test_false_opts_out(word: str) -> None:
    found = policy({GC: word})
    assert isinstance(found, SkipCollection)
    assert found.reason == "OptedOut"
    assert "freehold gc enable --cluster-name c1 -n ns" in found.message


@pytest.mark.parametrize("word", ["", " ", "yes", "tRUE", "true ", "fals" + "e" * 1000])
def test_a_word_without_truth_value_is_reported(word: str) -> None:
    found = policy({GC: word})
    assert isinstance(found, UnreadablePolicy)
    assert f"annotation {GC} is {word[:80]!r}"[:80] in found.message
    assert "freehold gc enable --cluster-name c1 -n ns, or freehold gc disable --cluster-name c1 -n ns" in found.message
    assert len(found.message) < 500


def test_an_object_older_than_the_gate_is_collected_only_when_asked_for() -> None:
    found = policy(marked=False)
    assert isinstance(found, SkipCollection)
    assert found.reason == "NotMarked"
    assert found.message.endswith("freehold gc enable --cluster-name c1 -n ns")
    assert isinstance(policy({GC: "true"}, marked=False), Collect)


def test_a_command_names_the_cluster_that_owns_the_object() -> None:
    owners = [
        {"apiVersion": "apps/v1", "kind": "Cluster", "name": "other"},
        {"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "name": "demo"},
    ]
    found = policy(marked=False, ownerReferences=owners)
    assert isinstance(found, SkipCollection)
    assert found.message.endswith("freehold gc enable --cluster-name demo -n ns")


def test_without_the_gate_nothing_is_collected_and_nothing_waits() -> None:
    for given_ones in (None, {GC: "true"}, {GC: "junk"}, {TASKS: "junk"}):
        found = policy(given_ones, gate_on=False)
        assert isinstance(found, SkipCollection)
        assert found.reason == "FeatureGateOff"
        assert "--feature-gates=ExternalResourceGC=true" in found.message


def test_an_object_that_the_selector_leaves_out_is_not_collected() -> None:
    found = policy(selector=RED, labels={"team": "blue"})
    assert isinstance(found, SkipCollection)
    assert found.reason == "NotSelected"
    assert "--gc-selector='team=red'" in found.message
    assert isinstance(policy(selector=RED, labels={"team": "red"}), Collect)
    assert isinstance(policy({GC: "true"}, selector=RED), Collect), "its own annotation counts for more"


@pytest.mark.parametrize(
    ("listed", "tasks"),
    [
        ("security-group, load-balancer", (CollectionTask.LOAD_BALANCER, CollectionTask.SECURITY_GROUP)),
        (" volume ,network-interface,volume", (CollectionTask.NETWORK_INTERFACE, CollectionTask.VOLUME)),
        (",".join(reversed(CollectionTask)), tuple(CollectionTask)),
        ("", DEFAULT_TASKS),
        (" ", DEFAULT_TASKS),
    ],
)
def test_tasks_run_in_order_of_dependency(listed: str, tasks: tuple[CollectionTask, ...]) -> None:
    """An empty list is as none, as for upstream's webhook and its command."""
    assert policy({TASKS: listed}) == Collect(tasks, Volumes.RETAIN, "default")


@pytest.mark.parametrize(
    ("listed", "word"),
    [
        ("load-balancer,volumes", "volumes"),
        ("load-balancer,", ""),
        ("Load-Balancer", "Load-Balancer"),
        (";" * 9, ";" * 9),
    ],
)
def test_an_unknown_task_is_reported(listed: str, word: str) -> None:
    """Upstream's collector panics."""
    found = policy({TASKS: listed})
    assert isinstance(found, UnreadablePolicy)
    assert f"annotation {TASKS} is {listed!r}, and {word!r} is no task" in found.message
    assert "freehold gc configure --cluster-name c1 -n ns --gc-task load-balancer,target-group" in found.message


def test_volumes_are_retained_unless_their_annotation_says_otherwise() -> None:
    for word in Volumes:
        found = policy({TASKS: "volume", VOLUMES: word})
        assert found == Collect((CollectionTask.VOLUME,), word, "default")


def test_an_unknown_word_for_volumes_is_reported() -> None:
    found = policy({VOLUMES: "Delete"})
    assert isinstance(found, UnreadablePolicy)
    assert f"annotation {VOLUMES} is 'Delete', none of retain, delete, snapshot" in found.message
    assert f"kubectl annotate awscluster c1 -n ns {VOLUMES}=retain --overwrite" in found.message


def test_opting_out_counts_whatever_the_other_annotations_are() -> None:
    """It is the way out of a deletion that a list which makes no sense holds."""
    assert isinstance(policy({GC: "false", TASKS: "junk", VOLUMES: "junk"}), SkipCollection)


WORDS = st.sampled_from(["true", "false", "volume", "load-balancer", "delete", ","]) | st.text()


@given(
    annotations=st.none() | st.dictionaries(st.sampled_from([GC, TASKS, VOLUMES]) | st.text(), WORDS),
    labels=st.none() | st.dictionaries(st.text(), st.text()),
    gate_on=st.booleans(),
    marked=st.booleans(),
    selector=st.none() | st.just(RED),
)
def test_any_annotations_have_an_answer(
    annotations: dict[str, str] | None,
    labels: dict[str, str] | None,
    gate_on: bool,
    marked: bool,
    selector: Selector | None,
) -> None:
    found = policy(annotations, labels=labels, gate_on=gate_on, marked=marked, selector=selector)
    if isinstance(found, Collect):
        assert gate_on
        assert found.tasks == tuple(task for task in CollectionTask if task in found.tasks)


# --- two objects of one cluster ------------------------------------------------------------------


def with_mirror(own: dict[str, str], beside: dict[str, str], *, marked: bool = True) -> Policy:
    """Of a control plane whose AWSManagedCluster has annotations too."""
    raw = {"kind": "AWSManagedControlPlane", "metadata": {"name": "cp", "namespace": "ns", "annotations": own}}
    mirror = {"kind": "AWSManagedCluster", "metadata": {"name": "infra", "namespace": "ns", "annotations": beside}}
    return decide(raw, gate_on=True, marked=marked, selector=None, mirror=mirror)


@pytest.mark.parametrize(
    ("own", "beside", "collected"),
    [
        ({}, {}, True), ({}, {GC: "true"}, True), ({GC: "true"}, {}, True), ({GC: "true"}, {GC: "true"}, True),
        ({}, {GC: "false"}, False), ({GC: "true"}, {GC: "false"}, False), ({GC: "false"}, {GC: "true"}, False),
    ],
)  # fmt: skip
def test_the_annotation_counts_on_both_objects_and_false_wins(
    own: dict[str, str], beside: dict[str, str], collected: bool
) -> None:
    found = with_mirror(own, beside)
    assert isinstance(found, Collect if collected else SkipCollection)
    if isinstance(found, SkipCollection) and own != {GC: "false"}:
        assert f"annotation {GC} of AWSManagedCluster infra is false" in found.message


@pytest.mark.parametrize("own", ["true", "false"])
def test_what_cannot_be_read_holds_on_either_object(own: str) -> None:
    """Whoever wrote it wanted something: nothing is guessed."""
    found = with_mirror({GC: own}, {GC: "no"})
    assert isinstance(found, UnreadablePolicy) and "of AWSManagedCluster infra is 'no'" in found.message
    assert isinstance(with_mirror({GC: "no"}, {GC: own}), UnreadablePolicy)


def test_the_mirrors_true_opts_in_an_object_older_than_the_gate() -> None:
    assert isinstance(with_mirror({}, {GC: "true"}, marked=False), Collect)
    assert isinstance(with_mirror({}, {}, marked=False), SkipCollection)


def test_the_mirrors_tasks_and_volumes_count_where_the_object_has_none() -> None:
    """clusterawsadm writes them there."""
    beside = {TASKS: "volume", VOLUMES: "snapshot"}
    assert with_mirror({}, beside) == Collect((CollectionTask.VOLUME,), Volumes.SNAPSHOT, "default")
    own = {TASKS: "load-balancer", VOLUMES: "delete"}
    assert with_mirror(own, beside) == Collect((CollectionTask.LOAD_BALANCER,), Volumes.DELETE, "default")


@pytest.mark.parametrize(("name", "word"), [(TASKS, "foo"), (VOLUMES, "burn")])
def test_a_wrong_list_of_the_mirror_is_said_with_its_name(name: str, word: str) -> None:
    found = with_mirror({}, {name: word})
    assert isinstance(found, UnreadablePolicy)
    assert f"annotation {name} of AWSManagedCluster infra is '{word}'" in found.message
    if name == VOLUMES:
        assert f"kubectl annotate awsmanagedcluster infra -n ns {VOLUMES}=retain --overwrite" in found.message
