"""What causes a reconcile: changes by others, and not our own writes."""

from __future__ import annotations

from typing import Any

import pytest

from freehold.controllers import predicates

BASE: dict[str, Any] = {
    "metadata": {"name": "a", "uid": "1", "generation": 1, "resourceVersion": "5", "annotations": {"x": "1"}},
    "spec": {"size": 1},
    "status": {},
}


def changed(**meta: Any) -> dict[str, Any]:
    return {**BASE, "metadata": {**BASE["metadata"], "resourceVersion": "6", **meta}}


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (changed(), False),
        ({**changed(), "status": {"ready": True}}, False),
        (changed(annotations={"x": "1", "freehold.dev/journal": "{}"}), True),
        (changed(managedFields=[{}]), False),
        (changed(generation=2), True),
        (changed(annotations={"x": "2"}), True),
        (changed(annotations={}), True),
        (changed(labels={"a": "b"}), True),
        (changed(finalizers=["f"]), True),
        (changed(deletionTimestamp="2026-01-01T00:00:00Z"), True),
        (changed(ownerReferences=[{"uid": "9"}]), True),
    ],
    ids=["version only", "our status", "a journal that is put back", "managed fields", "spec", "annotation",
         "annotation removed", "label", "finalizer", "deletion", "owner"],
)  # fmt: skip
def test_what_wakes(new: dict[str, Any], expected: bool) -> None:
    assert predicates.spec_or_metadata_changed(BASE, new) is expected


def test_a_change_of_content_wakes_if_there_is_no_generation() -> None:
    """Secrets and ConfigMaps have no generation."""
    old = {"metadata": {"name": "s", "resourceVersion": "1"}, "data": {"k": "1"}}
    new = {"metadata": {"name": "s", "resourceVersion": "2"}, "data": {"k": "2"}}
    assert predicates.spec_or_metadata_changed(old, new)
    assert not predicates.spec_or_metadata_changed(old, {**old, "metadata": {"name": "s", "resourceVersion": "2"}})


def test_our_own_journal_wakes_nothing_until_somebody_takes_it_out() -> None:
    """A restored copy, and one whose journal is put back from a backup, would wait for the next restart."""
    first, second = (changed(annotations={"x": "1", "freehold.dev/journal": text}) for text in ("{}", "{ }"))
    assert not predicates.spec_or_metadata_changed(first, second)
    assert predicates.spec_or_metadata_changed(first, changed(annotations={"x": "1"}))


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"conditions": [{"type": "Ready"}], "resources": [{}], "phase": "Ready", "workers": {"replicas": 3}}, False),
        ({"initialization": {"infrastructureProvisioned": True}}, True),
        ({"infrastructureReady": True}, True),
        ({"nodeRef": {"name": "n1"}}, True),
        ({"ready": True}, True),
        ({"initialized": True}, True),
        ({"controlPlaneReady": True}, True),
        ({"network": {"apiServerElb": {}}}, True),
    ],
)
def test_machines_look_again_for_what_they_depend_on_and_not_for_every_status(status: Any, expected: bool) -> None:
    """A hundred of them would, for every condition and counter of their cluster."""
    new = {**changed(), "status": status}
    assert predicates.machine_inputs_changed(BASE, new) is expected
    assert predicates.machine_inputs_changed(BASE, changed(generation=2))


def test_only_the_profile_of_a_machine_matters_to_its_control_plane() -> None:
    """A hundred machines have statuses that change."""
    test = predicates.build_fields_changed(("iamInstanceProfile",))
    old = {**changed(), "spec": {"iamInstanceProfile": "nodes", "instanceType": "t3.small"}}
    assert not test(
        old, {**changed(generation=2), "spec": {**old["spec"], "instanceType": "t3.large"}, "status": {"ready": True}}
    )
    assert test(old, {**old, "spec": {**old["spec"], "iamInstanceProfile": "others"}})
    assert test(old, {**changed(labels={"cluster.x-k8s.io/cluster-name": "c2"}), "spec": old["spec"]})
