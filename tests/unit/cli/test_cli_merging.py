"""A second apply makes only the changes of the manifest."""

import copy
from typing import Any

from freehold.api.names import LAST_APPLIED
from freehold.apiserver.patches import apply_to
from freehold.cli.merging import apply_patch, with_last_applied

WANTED: dict[str, Any] = {
    "apiVersion": "v1", "kind": "A", "metadata": {"name": "a", "annotations": {"mine": "1"}},
    "spec": {"zone": "z", "tags": ["x"], "inner": {"a": 1, "b": 2}},
}  # fmt: skip


def _applied(current: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    patch = apply_patch(current, with_last_applied(wanted))
    result: dict[str, Any] = apply_to(copy.deepcopy(current), patch, "application/merge-patch+json", custom=True)
    return result


def test_equal_fields_need_no_patch() -> None:
    current = with_last_applied(WANTED)
    assert apply_patch(current, with_last_applied(WANTED)) == {}


def test_fields_of_the_last_apply_that_this_one_omits_are_removed() -> None:
    current = with_last_applied(WANTED)
    less = copy.deepcopy(WANTED)
    del less["spec"]["inner"]["b"]
    del less["metadata"]["annotations"]
    after = _applied(current, less)
    assert after["spec"]["inner"] == {"a": 1}
    assert set(after["metadata"]["annotations"]) == {LAST_APPLIED}


def test_fields_of_others_stay() -> None:
    """The operator's journal, finalizer and endpoint are in the same object."""
    current = with_last_applied(WANTED)
    current["metadata"]["annotations"]["freehold.dev/journal"] = "{}"
    current["metadata"]["finalizers"] = ["ours"]
    current["spec"]["controlPlaneEndpoint"] = {"host": "h", "port": 1}
    more = copy.deepcopy(WANTED)
    more["spec"]["zone"] = "other"
    after = _applied(current, more)
    assert after["spec"]["zone"] == "other"
    assert after["spec"]["controlPlaneEndpoint"] == {"host": "h", "port": 1}
    assert after["metadata"]["finalizers"] == ["ours"]
    assert after["metadata"]["annotations"]["freehold.dev/journal"] == "{}"


def test_a_list_is_replaced_as_a_whole_and_null_removes() -> None:
    current = with_last_applied(WANTED)
    changed = copy.deepcopy(WANTED)
    changed["spec"]["tags"] = ["y", "x"]
    changed["spec"]["zone"] = None
    after = _applied(current, changed)
    assert after["spec"]["tags"] == ["y", "x"]
    assert "zone" not in after["spec"]


def test_an_object_that_was_never_applied_or_whose_record_is_damaged_is_merged() -> None:
    current = copy.deepcopy(WANTED)
    current["metadata"]["annotations"] = {LAST_APPLIED: "{not json", "theirs": "1"}
    after = _applied(current, WANTED)
    assert after["metadata"]["annotations"]["theirs"] == "1"
    assert after["metadata"]["annotations"]["mine"] == "1"
