"""The API behaviour that a controller relies on, over plain HTTP, on any API server."""

from __future__ import annotations

from typing import Any

import pytest
from e2e_client import JSON_PATCH, STRATEGIC, TABLE, Http, config_map

pytestmark = pytest.mark.e2e


def names(answer: dict[str, Any]) -> list[str]:
    return [each["metadata"]["name"] for each in answer["items"]]


def causes(answer: dict[str, Any]) -> dict[str, str]:
    return {each["field"]: each["message"] for each in answer["details"]["causes"]}


def test_create_fills_in_metadata_and_defaults(http: Http) -> None:
    made = http.made(http.widgets, {**http.widget("a", {"parts": [{"name": "x"}]}), "status": {"ready": True}})
    assert made["spec"] == {"parts": [{"name": "x", "count": 1}], "colour": "red", "nested": {"deep": True}}
    assert "status" not in made and made["metadata"]["generation"] == 1
    assert {"uid", "creationTimestamp", "resourceVersion"} <= made["metadata"].keys()


def test_generate_name(http: Http) -> None:
    body = {**http.widget(""), "metadata": {"generateName": "w-"}}
    assert http.made(http.widgets, body)["metadata"]["name"].startswith("w-")


def test_status_and_spec_are_written_apart_and_counted_apart(http: Http) -> None:
    made = http.made(http.widgets, http.widget("a", {"size": 1}))
    main = http.put(f"{http.widgets}/a", {**made, "spec": {"size": 2}, "status": {"ready": True}}).json()
    assert "status" not in main and main["metadata"]["generation"] == 2
    status = http.put(f"{http.widgets}/a/status", {**main, "spec": {"size": 3}, "status": {"ready": True}}).json()
    assert (status["spec"]["size"], status["status"]["ready"], status["metadata"]["generation"]) == (2, True, 2)
    labelled = http.merge(f"{http.widgets}/a", {"metadata": {"labels": {"x": "y"}}}).json()
    assert labelled["metadata"]["generation"] == 2


def test_writes_that_change_nothing_are_not_writes(http: Http) -> None:
    made = http.made(http.widgets, http.widget("a", {"size": 1}))
    version = made["metadata"]["resourceVersion"]
    for answer in (
        http.put(f"{http.widgets}/a", made),
        http.merge(f"{http.widgets}/a", {"spec": {"size": 1}}),
        http.merge(f"{http.widgets}/a", {"metadata": {"annotations": {}, "finalizers": []}}),
    ):
        assert (answer.status_code, answer.json()["metadata"]["resourceVersion"]) == (200, version)


def test_stale_writes_are_conflicts(http: Http) -> None:
    made = http.made(http.widgets, http.widget("a", {"size": 1}))
    assert http.put(f"{http.widgets}/a", {**made, "spec": {"size": 2}}).status_code == 200
    for stale in (
        http.put(f"{http.widgets}/a", {**made, "spec": {"size": 3}}),
        http.put(f"{http.widgets}/a/status", {**made, "status": {"ready": True}}),
        http.merge(f"{http.widgets}/a", {"metadata": {"resourceVersion": made["metadata"]["resourceVersion"]},
                                         "spec": {"size": 3}}),
    ):  # fmt: skip
        assert (stale.status_code, stale.json()["reason"]) == (409, "Conflict")
    assert http.put(f"{http.widgets}/a", http.widget("a", {"size": 3})).status_code == 422, "no version at all"


def test_json_patch_tests_before_it_writes(http: Http) -> None:
    http.made(http.widgets, http.widget("a", {"size": 1}))
    operations = [{"op": "test", "path": "/spec/size", "value": 1}, {"op": "replace", "path": "/spec/size", "value": 2}]
    assert http.call("PATCH", f"{http.widgets}/a", operations, JSON_PATCH).json()["spec"]["size"] == 2
    assert http.call("PATCH", f"{http.widgets}/a", operations, JSON_PATCH).status_code == 422


def test_strategic_merge_is_for_built_in_kinds_only(http: Http) -> None:
    http.made(http.widgets, http.widget("a"))
    assert http.call("PATCH", f"{http.widgets}/a", {"spec": {}}, STRATEGIC).status_code == 415
    http.made(http.config_maps, config_map("c", {"x": "1"}, finalizers=["freehold.dev/a"]))
    patch = {"data": {"y": "2"}, "metadata": {"finalizers": ["freehold.dev/b"]}}
    patched = http.call("PATCH", f"{http.config_maps}/c", patch, STRATEGIC).json()
    assert patched["data"] == {"x": "1", "y": "2"}
    assert sorted(patched["metadata"]["finalizers"]) == ["freehold.dev/a", "freehold.dev/b"]
    http.merge(f"{http.config_maps}/c", {"metadata": {"finalizers": None}})


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        ({"size": "x"}, "spec.size", 'Invalid value: "string": spec.size in body must be of type integer: "string"'),
        ({"size": 0}, "spec.size", "Invalid value: 0: spec.size in body should be greater than or equal to 1"),
        ({"colour": "blue"}, "spec.colour", 'Unsupported value: "blue": supported values: "red", "green"'),
        ({"name": "AB"}, "spec.name", "Invalid value: \"AB\": spec.name in body should match '^[a-z]+$'"),
        ({"name": "abcdef"}, "spec.name", "Too long: may not be more than 5 bytes"),
        ({"parts": [{}]}, "spec.parts[0].name", "Required value"),
        ({"tags": ["a", "a"]}, "spec.tags[1]", 'Duplicate value: "a"'),
        ({"parts": [{"name": "a"}, {"name": "a"}]}, "spec.parts[1]", 'Duplicate value: {"name":"a"}'),
        ({"size": 13}, "spec", "Invalid value: \"object\": size may not be 13"),
        ({"port": True}, "spec.port",
         'Invalid value: "boolean": spec.port in body must be of type integer,string: "boolean"'),
        ({"nested": []}, "spec.nested", 'Invalid value: "array": spec.nested in body must be of type object: "array"'),
    ],
)  # fmt: skip
def test_error_messages_are_the_same(http: Http, spec: dict[str, Any], field: str, message: str) -> None:
    answer = http.post(http.widgets, http.widget("a", spec))
    assert answer.status_code == 422, answer.text
    # Servers up to 1.32 print objects in Go syntax, later ones (and ours) as JSON.
    said = causes(answer.json()).get(field, "").replace("map[string]interface {}", "")
    # Servers from 1.36 on leave out the type of an object that breaks a rule.
    assert said in (message, message.replace('"object": ', "")), answer.text
    assert answer.json()["reason"] == "Invalid"


def test_transition_rules(http: Http) -> None:
    http.made(http.widgets, http.widget("a", {"fixed": "x"}))
    answer = http.merge(f"{http.widgets}/a", {"spec": {"fixed": "y"}})
    assert answer.status_code == 422
    # From 1.36 on servers print the value; earlier ones (and ours) its type.
    assert (
        causes(answer.json())["spec.fixed"].replace('"y"', '"string"') == 'Invalid value: "string": fixed is immutable'
    )


def test_field_validation_is_as_strict_as_asked(http: Http) -> None:
    body = http.widget("a", {"sise": 1, "free": {"any": 1}})
    strict = http.post(http.widgets, body, fieldValidation="Strict")
    assert (strict.status_code, strict.json()["reason"]) == (400, "BadRequest")
    assert strict.json()["message"].endswith('strict decoding error: unknown field "spec.sise"')
    warned = http.post(http.widgets, body, fieldValidation="Warn")
    assert warned.status_code == 201 and 'unknown field \\"spec.sise\\"' in warned.headers["Warning"]
    assert warned.json()["spec"]["free"] == {"any": 1} and "sise" not in warned.json()["spec"]
    twice = f'{{"apiVersion":"{http.group}/v1","kind":"Widget","metadata":{{"name":"b"}},"spec":{{"size":1,"size":2}}}}'
    answer = http.call("POST", http.widgets, twice, fieldValidation="Strict")
    assert answer.status_code == 400 and 'duplicate field "spec.size"' in answer.json()["message"]


def test_null_is_absent(http: Http) -> None:
    made = http.made(http.widgets, http.widget("a", {"colour": None, "size": None}))
    assert made["spec"] == {"colour": "red", "nested": {"deep": True}}


def test_finalizers_hold_and_release(http: Http) -> None:
    http.made(http.widgets, http.widget("a", {}, finalizers=["freehold.dev/hold"]))
    begun = http.delete(f"{http.widgets}/a").json()
    assert begun["metadata"]["deletionTimestamp"] and begun["metadata"]["generation"] == 2
    added = http.merge(f"{http.widgets}/a", {"metadata": {"finalizers": ["freehold.dev/hold", "freehold.dev/new"]}})
    assert added.status_code == 422 and "no new finalizers can be added" in added.json()["message"]
    assert http.merge(f"{http.widgets}/a", {"metadata": {"finalizers": None}}).status_code == 200
    assert http.get(f"{http.widgets}/a").status_code == 404


@pytest.mark.parametrize("field", ["uid", "resourceVersion"])
def test_delete_preconditions(http: Http, field: str) -> None:
    made = http.made(http.widgets, http.widget("a"))
    options = {"kind": "DeleteOptions", "apiVersion": "v1"}
    wrong = {**options, "preconditions": {field: "1"}}
    assert http.delete(f"{http.widgets}/a", wrong).status_code == 409
    right = {**options, "preconditions": {field: made["metadata"][field]}}
    deleted = http.delete(f"{http.widgets}/a", right)
    assert (deleted.status_code, deleted.json()["status"]) == (200, "Success")


def test_dry_run_stores_nothing(http: Http) -> None:
    assert http.post(http.widgets, http.widget("a"), dryRun="All").status_code == 201
    assert http.get(f"{http.widgets}/a").status_code == 404


def test_pages_show_one_state(http: Http) -> None:
    for name in "abcde":
        http.made(http.widgets, http.widget(name, {"size": 1}))
    first = http.get(http.widgets, limit=2).json()
    assert names(first) == ["a", "b"] and first["metadata"]["remainingItemCount"] == 3
    http.delete(f"{http.widgets}/c")
    http.merge(f"{http.widgets}/d", {"spec": {"size": 9}})
    http.made(http.widgets, http.widget("bb"))
    rest = http.get(http.widgets, limit=9, **{"continue": first["metadata"]["continue"]}).json()
    assert names(rest) == ["c", "d", "e"] and rest["items"][1]["spec"]["size"] == 1
    assert rest["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


def test_a_watch_resumes_where_a_list_ended(http: Http) -> None:
    http.made(http.widgets, http.widget("a", {"size": 1}))
    version = http.get(http.widgets).json()["metadata"]["resourceVersion"]
    http.merge(f"{http.widgets}/a", {"spec": {"size": 2}})
    http.delete(f"{http.widgets}/a")
    http.made(http.widgets, http.widget("last"))
    events = http.watch_until("last", http.widgets, resourceVersion=version)
    assert [each["type"] for each in events] == ["MODIFIED", "DELETED"]
    assert int(events[1]["object"]["metadata"]["resourceVersion"]) > int(
        events[0]["object"]["metadata"]["resourceVersion"]
    )


def test_a_watch_without_a_version_starts_with_the_existing_objects(http: Http) -> None:
    http.made(http.widgets, http.widget("a"))
    for size, version in ((1, ""), (2, "0")):
        events = http.watch(http.widgets, resourceVersion=version)
        first = next(events)
        http.merge(f"{http.widgets}/a", {"spec": {"size": size}})
        assert [first["type"], next(events)["type"]] == ["ADDED", "MODIFIED"]


def test_a_watch_ends_when_its_time_is_up(http: Http) -> None:
    version = http.get(http.widgets).json()["metadata"]["resourceVersion"]
    assert list(http.watch(http.widgets, resourceVersion=version, timeoutSeconds=1)) == []


def test_a_watch_with_a_selector_shows_objects_as_added_and_deleted(http: Http) -> None:
    version = http.get(http.widgets).json()["metadata"]["resourceVersion"]
    http.made(http.widgets, http.widget("a", {}, labels={"on": "no"}))
    for value in ("yes", "no"):
        http.merge(f"{http.widgets}/a", {"metadata": {"labels": {"on": value}}})
    http.made(http.widgets, http.widget("last", {}, labels={"on": "yes"}))
    events = http.watch_until("last", http.widgets, resourceVersion=version, labelSelector="on=yes")
    assert [each["type"] for each in events] == ["ADDED", "DELETED"]


@pytest.mark.parametrize(
    ("selector", "expected"),
    [("team=x", ["a"]), ("team!=x", ["b", "c"]), ("team in (x,y)", ["a", "b"]), ("team notin (x)", ["b", "c"]),
     ("team", ["a", "b"]), ("!team", ["c"]), ("team in (x,y),tier=1", ["b"])],
)  # fmt: skip
def test_label_selectors(http: Http, selector: str, expected: list[str]) -> None:
    for name, labels in (("a", {"team": "x"}), ("b", {"team": "y", "tier": "1"}), ("c", {})):
        http.made(http.widgets, http.widget(name, {}, labels=labels))
    assert names(http.get(http.widgets, labelSelector=selector).json()) == expected


def test_other_field_selectors_are_refused(http: Http) -> None:
    answer = http.get(http.widgets, fieldSelector="spec.size=1")
    assert answer.status_code == 400 and "field label not supported" in answer.json()["message"]


def test_delete_collection(http: Http) -> None:
    for name, team in (("a", "x"), ("b", "x"), ("c", "y")):
        http.made(http.widgets, http.widget(name, {}, labels={"team": team}))
    assert http.delete(http.widgets, labelSelector="team=x").status_code == 200
    assert names(http.get(http.widgets).json()) == ["c"]


def test_tables(http: Http) -> None:
    http.made(http.widgets, http.widget("a", {"size": 3}, labels={"example.com/team": "x"}))
    http.made(http.widgets, http.widget("b"))
    table = http.get(http.widgets, accept=TABLE).json()
    assert [each["name"] for each in table["columnDefinitions"]] == ["Name", "Size", "Team", "Ready", "Colour", "Age"]
    assert [each["cells"][:5] for each in table["rows"]] == [["a", 3, "x", None, "red"], ["b", None, None, None, None]]
    assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"


def test_every_served_version_shows_every_object(http: Http) -> None:
    http.made(http.widgets, http.widget("a", {"size": 1}))
    other = http.widgets.replace("/v1/", "/v1beta1/")
    assert http.get(f"{other}/a").json()["apiVersion"] == f"{http.group}/v1beta1"
    assert http.merge(f"{other}/a", {"spec": {"size": 2}}).json()["apiVersion"] == f"{http.group}/v1beta1"
    assert http.get(f"{http.widgets}/a").json()["apiVersion"] == f"{http.group}/v1"


def test_secrets(http: Http) -> None:
    path = f"/api/v1/namespaces/{http.namespace}/secrets"
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": "b"}}
    made = http.made(path, body)
    assert (made["data"], made["type"], "stringData" in made) == ({"a": "Yg=="}, "Opaque", False)
    assert http.merge(f"{path}/s", {"type": "other"}).status_code == 422


def test_leases_are_taken_by_version(http: Http) -> None:
    path = f"/apis/coordination.k8s.io/v1/namespaces/{http.namespace}/leases"
    spec = {"holderIdentity": "one", "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000000Z"}
    body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}, "spec": spec}
    made = http.made(path, body)
    taken = {**made, "spec": {**spec, "holderIdentity": "two"}}
    assert http.put(f"{path}/l", taken).json()["spec"]["holderIdentity"] == "two"
    assert http.put(f"{path}/l", {**made, "spec": {**spec, "holderIdentity": "three"}}).status_code == 409


@pytest.mark.parametrize(
    ("method", "path", "code", "reason"),
    [
        ("GET", "{widgets}/missing", 404, "NotFound"),
        ("DELETE", "{widgets}/missing", 404, "NotFound"),
        ("GET", "/apis/none.freehold.dev/v1/things", 404, "NotFound"),
        ("GET", "{widgets}?limit=1&continue=nonsense", 400, "BadRequest"),
        ("GET", "{widgets}?labelSelector=a%20in%20x", 400, "BadRequest"),
    ],
)
def test_refusals_are_status_objects(http: Http, method: str, path: str, code: int, reason: str) -> None:
    answer = http.call(method, path.replace("{widgets}", http.widgets))
    assert answer.status_code == code
    if answer.headers["Content-Type"] == "application/json":
        assert (answer.json()["kind"], answer.json()["reason"]) == ("Status", reason)


def test_creating_an_existing_object_or_in_a_missing_namespace(http: Http) -> None:
    http.made(http.widgets, http.widget("a"))
    again = http.post(http.widgets, http.widget("a"))
    assert (again.status_code, again.json()["reason"]) == (409, "AlreadyExists")
    assert again.json()["message"] == f'widgets.{http.group} "a" already exists'
    nowhere = http.post(http.config_maps.replace(http.namespace, "e2e-nowhere"), config_map("a"))
    assert (nowhere.status_code, nowhere.json()["message"]) == (404, 'namespaces "e2e-nowhere" not found')


def test_an_annotation_without_a_value_is_empty(http: Http) -> None:
    """``key:`` in YAML is null, which Go decodes into a string as ""."""
    made = http.made(http.widgets, http.widget("a", annotations={"example.com/x": None}, labels={"y": None}))
    assert (made["metadata"]["annotations"], made["metadata"]["labels"]) == ({"example.com/x": ""}, {"y": ""})
