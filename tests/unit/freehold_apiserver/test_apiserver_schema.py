"""Pruning, defaulting, validation and rules of custom resources, with the messages of a real API server."""

from __future__ import annotations

from typing import Any

import pytest
from apiserver_testbed import CRDS, GROUP, WIDGETS, Api, widget


@pytest.mark.parametrize(
    ("spec", "field", "reason", "message"),
    [
        ({"size": "x"}, "spec.size", "FieldValueTypeInvalid",
         'Invalid value: "string": spec.size in body must be of type integer: "string"'),
        ({"size": 0}, "spec.size", "FieldValueInvalid",
         "Invalid value: 0: spec.size in body should be greater than or equal to 1"),
        ({"size": 101}, "spec.size", "FieldValueInvalid",
         "Invalid value: 101: spec.size in body should be less than or equal to 100"),
        ({"colour": "blue"}, "spec.colour", "FieldValueNotSupported",
         'Unsupported value: "blue": supported values: "red", "green"'),
        ({"name": "ABC"}, "spec.name", "FieldValueInvalid",
         "Invalid value: \"ABC\": spec.name in body should match '^[a-z]+$'"),
        ({"name": "abcdef"}, "spec.name", "FieldValueTooLong", "Too long: may not be more than 5 bytes"),
        ({"parts": [{}]}, "spec.parts[0].name", "FieldValueRequired", "Required value"),
        ({"port": True}, "spec.port", "FieldValueTypeInvalid",
         'Invalid value: "boolean": spec.port in body must be of type integer,string: "boolean"'),
        ({"tags": ["a", "b", "a"]}, "spec.tags[2]", "FieldValueDuplicate", 'Duplicate value: "a"'),
        ({"parts": [{"name": "a"}, {"name": "a"}]}, "spec.parts[1]", "FieldValueDuplicate",
         'Duplicate value: {"name":"a"}'),
        ({"size": 13}, "spec", "FieldValueInvalid", 'Invalid value: "object": size may not be 13'),
    ],
)  # fmt: skip
async def test_each_error_has_its_path(api: Api, spec: dict[str, Any], field: str, reason: str, message: str) -> None:
    answer = await api.post(WIDGETS, widget("a", spec))
    assert answer.code == 422
    assert {"field": field, "reason": reason, "message": message} in answer.json["details"]["causes"]
    assert answer.message.startswith('Widget.test.freehold.dev "a" is invalid: ')
    assert f"{field}: {message}" in answer.message


async def test_all_errors_are_listed_at_once(api: Api) -> None:
    answer = await api.post(WIDGETS, widget("a", {"size": "x", "colour": "blue"}))
    assert {each["field"] for each in answer.json["details"]["causes"]} >= {"spec.size", "spec.colour"}
    assert ": [" in answer.message


async def test_transition_rules_compare_with_the_old_value(api: Api) -> None:
    await api.made(WIDGETS, widget("a", {"fixed": "x"}))
    assert (await api.merge(f"{WIDGETS}/a", {"spec": {"size": 2}})).code == 200
    answer = await api.merge(f"{WIDGETS}/a", {"spec": {"fixed": "y"}})
    assert answer.code == 422
    assert 'spec.fixed: Invalid value: "string": fixed is immutable' in answer.message


async def test_a_transition_rule_runs_on_a_value_that_did_not_change_too(api: Api) -> None:
    crd = (await api.get(f"{CRDS}/widgets.{GROUP}")).json
    for version in crd["spec"]["versions"]:
        spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
        spec["properties"]["size"]["x-kubernetes-validations"] = [{"rule": "self > oldSelf", "message": "it grows"}]
    assert (await api.put(f"{CRDS}/widgets.{GROUP}", crd)).code == 200
    await api.made(WIDGETS, widget("a", {"size": 1}))
    answer = await api.merge(f"{WIDGETS}/a", {"metadata": {"labels": {"x": "y"}}})
    assert answer.code == 422 and "spec.size: Invalid value" in answer.message and "it grows" in answer.message
    assert (await api.merge(f"{WIDGETS}/a", {"spec": {"size": 2}})).code == 200


async def test_unknown_fields_are_pruned_and_reported_as_requested(api: Api) -> None:
    body = widget("a", {"sise": 1, "parts": [{"name": "x", "extra": 1}], "free": {"any": {"thing": 1}}})
    body["more"] = 1
    strict = await api.post(WIDGETS, body, fieldValidation="Strict")
    assert strict.code == 400
    assert strict.message == (
        'Widget in version "v1" cannot be handled as a Widget: strict decoding error: unknown field "spec.sise", '
        'unknown field "spec.parts[0].extra", unknown field "more"'
    )
    warned = await api.post(WIDGETS, body, fieldValidation="Warn")
    assert warned.code == 201
    assert '299 - "unknown field \\"spec.sise\\""' in warned.headers.getall("Warning")
    assert warned.json["spec"]["free"] == {"any": {"thing": 1}}, "preserved where the schema says so"
    assert "sise" not in warned.json["spec"] and warned.json["spec"]["parts"] == [{"name": "x", "count": 1}]
    ignored = await api.post(WIDGETS, {**body, "metadata": {"name": "b"}}, fieldValidation="Ignore")
    assert ignored.code == 201 and "Warning" not in ignored.headers
    assert (await api.post(WIDGETS, body, fieldValidation="Maybe")).code == 400


async def test_unknown_metadata_is_noticed(api: Api) -> None:
    answer = await api.post(WIDGETS, widget("a", {}, lables={"x": "y"}), fieldValidation="Strict")
    assert answer.code == 400 and 'unknown field "metadata.lables"' in answer.message


async def test_defaults_reach_nested_objects_and_list_elements(api: Api) -> None:
    made = await api.made(WIDGETS, widget("a", {"parts": [{"name": "x"}, {"name": "y", "count": 2}]}))
    assert made["spec"]["nested"] == {"deep": True}
    assert [each["count"] for each in made["spec"]["parts"]] == [1, 2]


async def test_null_means_absent_unless_nullable(api: Api) -> None:
    made = await api.made(WIDGETS, widget("a", {"colour": None, "size": None, "nested": {"maybe": None}}))
    assert made["spec"]["colour"] == "red", "a default takes the place of null"
    assert "size" not in made["spec"]
    assert made["spec"]["nested"] == {"deep": True, "maybe": None}


@pytest.mark.parametrize("port", [80, "http"])
async def test_int_or_string_accepts_both(api: Api, port: object) -> None:
    assert (await api.made(WIDGETS, widget("a", {"port": port})))["spec"]["port"] == port


async def test_misspelt_fields_of_built_in_kinds_are_noticed(api: Api) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "dta": {"x": "y"}}
    answer = await api.post("/api/v1/namespaces/default/configmaps", body, fieldValidation="Strict")
    assert answer.code == 400 and 'unknown field "dta"' in answer.message
    wrong = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": 1}}
    assert (await api.post("/api/v1/namespaces/default/configmaps", wrong)).code == 422


async def test_a_rule_that_comes_later_blocks_no_write_that_leaves_the_field_alone(api: Api) -> None:
    """Else a finalizer could not be removed from an object from before the rule."""
    made = await api.made(WIDGETS, widget("a", {"size": 50, "tags": ["x"]}, finalizers=["test.freehold.dev/hold"]))
    crd = (await api.get(f"{CRDS}/widgets.{GROUP}")).json
    for version in crd["spec"]["versions"]:
        spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
        spec["x-kubernetes-validations"].append({"rule": "!has(self.size) || self.size < 20", "message": "too large",
                                                 "fieldPath": ".size"})  # fmt: skip
        spec["properties"]["tags"]["maxItems"] = 0
    assert (await api.put(f"{CRDS}/widgets.{GROUP}", crd)).code == 200
    status = await api.put(f"{WIDGETS}/a/status", {**made, "status": {"ready": True}})
    assert status.code == 200, status.text
    assert (await api.merge(f"{WIDGETS}/a", {"spec": {"colour": "green"}})).code == 200
    worse = await api.merge(f"{WIDGETS}/a", {"spec": {"size": 60}})
    assert worse.code == 422 and "too large" in worse.message, "another wrong value is refused"
    assert (await api.merge(f"{WIDGETS}/a", {"spec": {"size": 10}})).code == 200
    assert (await api.merge(f"{WIDGETS}/a", {"metadata": {"finalizers": None}})).code == 200
    assert (await api.post(WIDGETS, widget("b", {"size": 50}))).code == 422, "a new object is checked whole"
