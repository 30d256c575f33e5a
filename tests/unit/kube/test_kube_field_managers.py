"""The one manager of earlier versions is split: what the manifest said, and what the operator wrote."""

from __future__ import annotations

import json
from typing import Any

import pytest

from freehold.kube.field_managers import (
    CLI,
    EARLIER,
    LAST_APPLIED,
    OPERATOR,
    build_separation_patch,
    list_other_writers,
)

MANIFEST = {"metadata": {"name": "c", "labels": {"a": "b"}}, "spec": {"zone": "dal10", "subnets": [{"id": "s1"}]}}
OBJECT: dict[str, Any] = {
    "metadata": {
        "name": "c", "resourceVersion": "7", "labels": {"a": "b"}, "finalizers": ["f"],
        "annotations": {LAST_APPLIED: json.dumps(MANIFEST), "freehold.dev/journal": "{}"},
    },
    "spec": {
        "zone": "dal10", "subnets": [{"id": "s1", "tags": 1}, {"id": "s2"}], "controlPlaneEndpoint": {"host": "h"},
    },
}  # fmt: skip
FIELDS: dict[str, Any] = {
    "f:metadata": {
        "f:labels": {".": {}, "f:a": {}},
        "f:finalizers": {".": {}, 'v:"f"': {}},
        "f:annotations": {".": {}, f"f:{LAST_APPLIED}": {}, "f:freehold.dev/journal": {}},
    },
    "f:spec": {
        "f:zone": {},
        "f:subnets": {'k:{"id":"s1"}': {".": {}, "f:id": {}, "f:tags": {}}, 'k:{"id":"s2"}': {".": {}, "f:id": {}}},
        "f:controlPlaneEndpoint": {".": {}, "f:host": {}},
    },
}
SAID = {
    "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
    "f:spec": {"f:zone": {}, "f:subnets": {'k:{"id":"s1"}': {".": {}, "f:id": {}}}},
}


def entry(manager: str, operation: str, fields: dict[str, Any], **more: str) -> dict[str, Any]:
    return {"manager": manager, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1",
            "time": "t", "fieldsV1": fields, **more}  # fmt: skip


def obj(*entries: dict[str, Any]) -> dict[str, Any]:
    return {**OBJECT, "metadata": {**OBJECT["metadata"], "managedFields": list(entries)}}


def split(*entries: dict[str, Any]) -> dict[tuple[str, str], Any]:
    patch = build_separation_patch(obj(*entries))
    assert patch is not None and patch["metadata"]["resourceVersion"] == "7"
    return {(each["manager"], each["operation"]): each["fieldsV1"] for each in patch["metadata"]["managedFields"]}


def test_what_the_last_manifest_said_goes_to_the_cli_and_all_else_to_the_operator() -> None:
    found = split(entry(EARLIER, "Update", FIELDS))
    assert set(found) == {(CLI, "Apply"), (OPERATOR, "Update")}
    assert found[CLI, "Apply"] == SAID
    rest = found[OPERATOR, "Update"]
    assert rest["f:metadata"] == {
        "f:finalizers": {".": {}, 'v:"f"': {}},
        "f:annotations": {".": {}, "f:freehold.dev/journal": {}},
    }
    assert rest["f:spec"]["f:controlPlaneEndpoint"] == {".": {}, "f:host": {}}
    assert "f:zone" not in rest["f:spec"] and 'k:{"id":"s2"}' in rest["f:spec"]["f:subnets"]


def test_the_annotation_of_kubectl_goes_where_it_was_ours_and_stays_where_it_is_kubectls() -> None:
    ours = build_separation_patch(obj(entry(EARLIER, "Update", FIELDS)))
    assert ours is not None and ours["metadata"]["annotations"] == {LAST_APPLIED: None}
    annotations = {".": {}, f"f:{LAST_APPLIED}": {}}
    kubectls = entry("kubectl-client-side-apply", "Update", {"f:metadata": {"f:annotations": annotations}})
    finalizer = {"f:metadata": {"f:finalizers": {".": {}, 'v:"f"': {}}}}
    theirs = build_separation_patch(obj(entry(EARLIER, "Update", finalizer), kubectls))
    assert theirs is not None and "annotations" not in theirs["metadata"]
    assert kubectls in theirs["metadata"]["managedFields"]
    assert entry(OPERATOR, "Update", finalizer) in theirs["metadata"]["managedFields"]


def test_what_the_operator_has_changed_since_is_the_operators() -> None:
    """The installer's manifest says an empty endpoint."""
    before = {**MANIFEST, "spec": {"zone": "another"}}
    changed = obj(entry(EARLIER, "Update", FIELDS))
    changed["metadata"]["annotations"] = {LAST_APPLIED: json.dumps(before)}
    patch = build_separation_patch(changed)
    assert patch is not None
    found = {each["manager"]: each["fieldsV1"] for each in patch["metadata"]["managedFields"]}
    assert "f:zone" in found[OPERATOR]["f:spec"] and "f:spec" not in found[CLI]


@pytest.mark.parametrize("text", ["{not json", "[]", ""])
def test_an_unreadable_annotation_gives_the_cli_nothing(text: str) -> None:
    broken = obj(entry(EARLIER, "Update", FIELDS))
    broken["metadata"]["annotations"] = {LAST_APPLIED: text}
    patch = build_separation_patch(broken)
    assert patch is not None
    assert [each["manager"] for each in patch["metadata"]["managedFields"]] == [OPERATOR]


def test_managers_that_are_there_already_are_joined_and_the_status_moves_along() -> None:
    """Two entries of one manager and operation make the list unreadable for a server."""
    labels = {"f:metadata": {"f:labels": {"f:z": {}}}}
    status = entry(EARLIER, "Update", {"f:status": {"f:ready": {}}}, subresource="status")
    patch = build_separation_patch(obj(entry(CLI, "Apply", labels), entry(EARLIER, "Update", FIELDS), status))
    assert patch is not None
    found = [(each["manager"], each.get("subresource", "")) for each in patch["metadata"]["managedFields"]]
    assert sorted(found) == [(CLI, ""), (OPERATOR, ""), (OPERATOR, "status")]
    (ours,) = [each for each in patch["metadata"]["managedFields"] if each["manager"] == CLI]
    assert ours["fieldsV1"]["f:metadata"]["f:labels"] == {"f:z": {}, ".": {}, "f:a": {}}


def test_an_object_of_todays_managers_is_left_alone() -> None:
    assert build_separation_patch(obj(entry(CLI, "Apply", SAID), entry(OPERATOR, "Update", FIELDS))) is None
    assert list_other_writers(obj(entry(CLI, "Apply", SAID), entry(OPERATOR, "Update", FIELDS))["metadata"]) == {
        (CLI, "Apply", "t")
    }
