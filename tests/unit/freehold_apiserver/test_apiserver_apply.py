"""Server-side apply: who owns what, what an apply changes, and when it is refused."""

from __future__ import annotations

import copy
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from apiserver_testbed import (
    CONFIG_MAPS,
    CRDS,
    JSON_PATCH,
    MERGE,
    WIDGETS,
    Answer,
    Api,
    Clock,
    config_map,
    widget,
    widget_crd,
)
from hypothesis import given
from hypothesis import strategies as st

from freehold_apiserver.applying import applied, tracked
from freehold_apiserver.field_sets import (
    Fields,
    compare,
    fields_of,
    from_fields_v1,
    shown,
    to_fields_v1,
    with_declared_parents,
    without,
)
from freehold_apiserver.ownership import ApplyConflict
from freehold_apiserver.plain import PlainStrategy
from freehold_apiserver.resources import Resource
from harness.rows import over_rows

APPLY = "application/apply-patch+yaml"


async def apply(api: Api, path: str, body: Any, manager: str = "one", **query: Any) -> Answer:
    return await api.call("PATCH", path, body, APPLY, fieldManager=manager, **query)


def owners(obj: dict[str, Any]) -> dict[str, set[str]]:
    """Manager and operation -> the fields that it owns."""
    return {
        f"{entry['manager']} {entry['operation']}": {shown(path) for path in from_fields_v1(entry["fieldsV1"])}
        for entry in obj["metadata"].get("managedFields", ())
    }


async def test_applying_a_new_object_creates_it(api: Api) -> None:
    made = await apply(api, f"{WIDGETS}/a", widget("a", {"size": 1, "parts": [{"name": "x"}]}, labels={"l": "1"}))
    assert made.code == 201, made.text
    assert made.json["spec"]["colour"] == "red", "defaults are filled in"
    assert owners(made.json) == {
        "one Apply": {".metadata.labels.l", ".spec.size", '.spec.parts[name="x"]', '.spec.parts[name="x"].name'}
    }, "defaults belong to nobody"
    again = await apply(api, f"{WIDGETS}/a", widget("a", {"size": 1, "parts": [{"name": "x"}]}, labels={"l": "1"}))
    assert (again.code, again.json) == (200, made.json), "applying the same again is no write"


async def test_an_apply_without_a_name_or_namespace_takes_those_of_the_url(api: Api) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "1"}}
    made = await apply(api, f"{CONFIG_MAPS}/a", body)
    assert (made.code, made.json["metadata"]["name"], made.json["metadata"]["namespace"]) == (201, "a", "default")
    assert (await apply(api, f"{CONFIG_MAPS}/b", config_map("a"))).code == 400


async def test_yaml_is_read_as_go_reads_it(api: Api) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations: {at: 2026-01-01T00:00:00Z}\n"
    made = await apply(api, f"{CONFIG_MAPS}/a", text)
    assert made.json["metadata"]["annotations"] == {"at": "2026-01-01T00:00:00Z"}
    assert (await apply(api, f"{CONFIG_MAPS}/a", "a: [")).code == 400


async def test_a_field_of_another_manager_is_a_conflict_unless_forced(api: Api) -> None:
    await apply(api, f"{WIDGETS}/a", widget("a", {"size": 1}))
    refused = await apply(api, f"{WIDGETS}/a", widget("a", {"size": 2}), "two")
    assert (refused.code, refused.json["reason"]) == (409, "Conflict")
    assert refused.message == 'Apply failed with 1 conflict: conflict with "one": .spec.size'
    assert refused.json["details"] == {
        "causes": [{"reason": "FieldManagerConflict", "message": 'conflict with "one"', "field": ".spec.size"}]
    }
    same = await apply(api, f"{WIDGETS}/a", widget("a", {"size": 1}), "two")
    assert owners(same.json) == {"one Apply": {".spec.size"}, "two Apply": {".spec.size"}}, "equal values are shared"
    forced = await apply(api, f"{WIDGETS}/a", widget("a", {"size": 2}), "two", force="true")
    assert (forced.json["spec"]["size"], owners(forced.json)) == (2, {"two Apply": {".spec.size"}})


async def test_several_conflicts_are_listed_by_manager(api: Api) -> None:
    await api.made(f"{CONFIG_MAPS}?fieldManager=maker", config_map("a", {"x": "1", "y": "1"}))
    await apply(api, f"{CONFIG_MAPS}/a", config_map("a", {"z": "1"}))
    refused = await apply(api, f"{CONFIG_MAPS}/a", config_map("a", {"x": "2", "y": "2", "z": "2"}), "two")
    assert refused.message == (
        'Apply failed with 3 conflicts: conflicts with "maker" using v1:\n- .data.x\n- .data.y\n'
        'conflicts with "one":\n- .data.z'
    )


async def test_what_a_manager_leaves_out_goes_unless_others_own_it(api: Api) -> None:
    await apply(api, f"{CONFIG_MAPS}/a", config_map("a", {"mine": "1", "ours": "1"}))
    await apply(api, f"{CONFIG_MAPS}/a", config_map("a", {"theirs": "1", "ours": "1"}), "two")
    left = await apply(api, f"{CONFIG_MAPS}/a", config_map("a", {"new": "1"}))
    assert left.json["data"] == {"theirs": "1", "ours": "1", "new": "1"}
    last = await apply(api, f"{CONFIG_MAPS}/a", {"apiVersion": "v1", "kind": "ConfigMap"}, "two")
    assert last.json["data"] == {"new": "1"}
    gone = await apply(api, f"{CONFIG_MAPS}/a", {"apiVersion": "v1", "kind": "ConfigMap"})
    assert "data" not in gone.json and "managedFields" not in gone.json["metadata"]


async def test_items_of_keyed_lists_are_owned_one_by_one(api: Api) -> None:
    await apply(api, f"{WIDGETS}/a", widget("a", {"parts": [{"name": "x", "count": 1}, {"name": "y", "count": 1}]}))
    await apply(api, f"{WIDGETS}/a", widget("a", {"parts": [{"name": "z", "count": 3}]}), "two")
    changed = (await apply(api, f"{WIDGETS}/a", widget("a", {"parts": [{"name": "y", "count": 2}]}))).json
    assert {each["name"]: each["count"] for each in changed["spec"]["parts"]} == {"y": 2, "z": 3}
    twice = await apply(api, f"{WIDGETS}/a", widget("a", {"parts": [{"name": "x"}, {"name": "x"}]}))
    assert twice.code == 400 and '.spec.parts: duplicate entries for key [name="x"]' in twice.message


async def test_the_status_is_applied_apart(api: Api) -> None:
    await apply(api, f"{WIDGETS}/a", {**widget("a", {"size": 1}), "status": {"ready": True}})
    status = await apply(api, f"{WIDGETS}/a/status", {**widget("a", {"size": 9}), "status": {"ready": True}})
    assert (status.json["spec"]["size"], status.json["status"]) == (1, {"ready": True})
    entries = status.json["metadata"]["managedFields"]
    assert [(each["manager"], each.get("subresource", "")) for each in entries] == [("one", ""), ("one", "status")]
    refused = await apply(api, f"{WIDGETS}/a/status", {**widget("a"), "status": {"ready": False}}, "two")
    assert refused.message == (
        'Apply failed with 1 conflict: conflict with "one" with subresource "status": .status.ready'
    )
    missing = await apply(api, f"{WIDGETS}/b/status", {**widget("b"), "status": {"ready": True}})
    assert missing.code == 404, "a subresource creates no object"


async def test_a_dry_run_decides_and_writes_nothing(api: Api) -> None:
    made = await apply(api, f"{CONFIG_MAPS}/a", config_map("a", {"x": "1"}), dryRun="All")
    assert (made.code, made.json["data"]) == (201, {"x": "1"})
    assert (await api.get(f"{CONFIG_MAPS}/a")).code == 404
    before = (await apply(api, f"{CONFIG_MAPS}/a", config_map("a", {"x": "1"}))).json
    assert (await apply(api, f"{CONFIG_MAPS}/a", config_map("a", {"x": "2"}), "two", dryRun="All")).code == 409
    assert (await apply(api, f"{CONFIG_MAPS}/a", config_map("a", {"x": "2"}), dryRun="All")).json["data"] == {"x": "2"}
    assert (await api.get(f"{CONFIG_MAPS}/a")).json == before


@pytest.mark.parametrize(
    ("query", "content_type", "said"),
    [
        pytest.param({}, APPLY, "fieldManager: Required value: is required for apply patch", id="no manager"),
        pytest.param({"fieldManager": "m" * 129}, APPLY, "fieldManager: Too long", id="a long manager"),
        pytest.param({"fieldManager": "a\nb"}, APPLY, "invalid character U+000A (at position 1)", id="a line break"),
        pytest.param({"force": "true"}, MERGE, "force: Forbidden: may not be specified", id="force"),
    ],
)
async def test_options_are_checked(api: Api, query: dict[str, str], content_type: str, said: str) -> None:
    await api.made(CONFIG_MAPS, config_map("a"))
    answer = await api.call("PATCH", f"{CONFIG_MAPS}/a", config_map("a"), content_type, **query)
    assert answer.code == 422 and answer.message.startswith('PatchOptions.meta.k8s.io "" is invalid: '), answer.text
    assert said in answer.message


@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        pytest.param({"kind": "ConfigMap"}, 400, "API version", id="no version"),
        pytest.param(config_map("a", uid="x"), 409, "uid mismatch", id="the uid of an object that is gone"),
        pytest.param(config_map("a", managedFields=[]), 400, "metadata.managedFields must be nil", id="managedFields"),
        pytest.param({**config_map("a"), "colour": 1}, 400, ".colour: field not declared", id="unknown field"),
        pytest.param([], 400, "not an object", id="a list"),
    ],
)
async def test_configurations_that_cannot_be_applied(api: Api, body: Any, code: int, said: str) -> None:
    answer = await apply(api, f"{CONFIG_MAPS}/a", body)
    assert answer.code == code and said in answer.message, answer.text


async def test_a_stale_version_is_a_conflict(api: Api) -> None:
    made = (await apply(api, f"{CONFIG_MAPS}/a", config_map("a", {"x": "1"}))).json
    await apply(api, f"{CONFIG_MAPS}/a", config_map("a", {"x": "2"}))
    stale = config_map("a", {"x": "3"}, resourceVersion=made["metadata"]["resourceVersion"])
    assert (await apply(api, f"{CONFIG_MAPS}/a", stale)).code == 409


async def test_other_writes_take_over_the_fields_that_they_change(api: Api, clock: Clock) -> None:
    await apply(api, f"{CONFIG_MAPS}/a", config_map("a", {"x": "1", "y": "1"}))
    clock.advance(timedelta(minutes=1))
    patched = await api.call("PATCH", f"{CONFIG_MAPS}/a", {"data": {"x": "2"}}, MERGE, fieldManager="editor")
    assert owners(patched.json) == {"one Apply": {".data.y"}, "editor Update": {".data.x"}}
    times = {each["manager"]: each["time"] for each in patched.json["metadata"]["managedFields"]}
    assert times == {"one": "2026-01-01T00:00:00Z", "editor": "2026-01-01T00:01:00Z"}
    removed = await api.merge(f"{CONFIG_MAPS}/a", {"data": {"y": None}})
    assert owners(removed.json) == {"editor Update": {".data.x"}}, "who owns nothing is no owner"


async def test_nobody_is_recorded_until_somebody_says_who_they_are(api: Api) -> None:
    made = await api.made(WIDGETS, widget("a", {"size": 1}))
    changed = (await api.merge(f"{WIDGETS}/a", {"spec": {"size": 2}}, fieldManager="editor")).json
    assert "managedFields" not in made["metadata"] and "managedFields" not in changed["metadata"]
    refused = await apply(api, f"{WIDGETS}/a", widget("a", {"size": 3}))
    assert f'"before-first-apply" using {made["apiVersion"]}: .spec.size' in refused.message


async def test_clients_may_clear_the_owners(api: Api) -> None:
    await apply(api, f"{CONFIG_MAPS}/a", config_map("a", {"x": "1"}))
    clear = [{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}]
    assert owners((await api.call("PATCH", f"{CONFIG_MAPS}/a", clear, JSON_PATCH)).json) == {}


async def test_kubectl_goes_on_with_what_it_applied_on_the_client_side(api: Api) -> None:
    """``kubectl apply`` and later ``kubectl apply --server-side``: no conflict with itself."""
    note = "kubectl.kubernetes.io/last-applied-configuration"
    last = json.dumps(config_map("a", {"x": "1"}))
    await api.made(f"{CONFIG_MAPS}?fieldManager=kubectl-client-side-apply",
                   config_map("a", {"x": "1"}, annotations={note: last}))  # fmt: skip
    applied = await apply(api, f"{CONFIG_MAPS}/a", config_map("a", {"x": "2"}), "kubectl")
    assert applied.code == 200 and applied.json["data"] == {"x": "2"}
    assert json.loads(applied.json["metadata"]["annotations"][note])["data"] == {"x": "2"}
    assert (await apply(api, f"{CONFIG_MAPS}/a", config_map("a", {"x": "3"}), "other")).code == 409


async def test_a_crd_is_applied_too(api: Api) -> None:
    crd = widget_crd(group="other.freehold.dev")
    crd["metadata"]["name"] = "widgets.other.freehold.dev"
    made = await apply(api, f"{CRDS}/widgets.other.freehold.dev", crd)
    assert made.code == 201 and made.json["status"]["conditions"]
    path = "/apis/other.freehold.dev/v1/namespaces/default/widgets/a"
    body = {**widget("a", {"size": 1}), "apiVersion": "other.freehold.dev/v1"}
    assert (await apply(api, path, body)).code == 201


# The sets themselves

SCHEMA: dict[str, Any] = {
    "properties": {
        "spec": {
            "properties": {
                "map": {"additionalProperties": {}},
                "whole": {"x-kubernetes-map-type": "atomic", "additionalProperties": {}},
                "set": {"x-kubernetes-list-type": "set"},
                "keyed": {
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {"properties": {"name": {}, "value": {}}},
                },
            }
        }
    }
}
WORDS = st.sampled_from("abcd")
NUMBERS = st.integers(0, 3)
SPECS = st.fixed_dictionaries(
    {},
    optional={
        "map": st.dictionaries(WORDS, NUMBERS, min_size=1),
        "whole": st.dictionaries(WORDS, NUMBERS, min_size=1),
        "set": st.lists(WORDS, unique=True, min_size=1),
        "keyed": st.lists(st.fixed_dictionaries({"name": WORDS}, optional={"value": NUMBERS}),
                          unique_by=lambda each: each["name"], min_size=1),
        "list": st.lists(NUMBERS, min_size=1),
    },
)  # fmt: skip
OBJECTS = st.builds(lambda spec: {"spec": spec} if spec else {}, SPECS)


def owned(obj: Any) -> Fields:
    return frozenset(fields_of(obj, SCHEMA))


@given(OBJECTS)
def test_sets_survive_the_form_in_which_they_are_stored(obj: Any) -> None:
    assert frozenset(from_fields_v1(json.loads(json.dumps(to_fields_v1(owned(obj)))))) == owned(obj)


@given(OBJECTS)
def test_an_object_without_all_its_fields_is_empty(obj: Any) -> None:
    assert not without(obj, with_declared_parents(owned(obj), SCHEMA), SCHEMA)


@given(OBJECTS, OBJECTS)
def test_two_objects_differ_only_in_the_fields_that_comparing_finds(old: Any, new: Any) -> None:
    change = compare(old, new, SCHEMA)
    assert bool(change) == (ordered(old) != ordered(new))
    untouched = owned(old) & owned(new) - change.modified
    assert not untouched & (change.added | change.removed)
    back = compare(new, old, SCHEMA)
    assert (back.added, back.removed, back.modified) == (change.removed, change.added, change.modified)


def ordered(obj: Any) -> Any:
    """Order is no difference in a set or a keyed list."""
    spec = dict(obj.get("spec") or {})
    for name in ("set", "keyed"):
        if name in spec:
            spec[name] = sorted(spec[name], key=str)
    return {"spec": spec} if spec else {}


# What structured-merge-diff itself made of random sequences of applies and updates (tests/data/apply/README.md)

RECORDED = Path(__file__).parents[2] / "data" / "apply" / "structured-merge-diff-4.4.2.jsonl"
LINES = RECORDED.read_text().splitlines()
RECORDED_SCHEMA = copy.deepcopy(SCHEMA)
RECORDED_SCHEMA["properties"]["spec"]["properties"] |= {"size": {}, "list": {}}
RECORDED_KIND = Resource("g", "v1", "K", "ks", True, "v1", PlainStrategy(), schema=RECORDED_SCHEMA)


@over_rows("line", LINES, ids=range(1, len(LINES) + 1))
def test_objects_owners_and_conflicts_are_those_of_upstreams_library(line: str) -> None:
    live: dict[str, Any] | None = None
    for step in json.loads(line):
        given = {"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "x"}, **step["given"]}
        conflicts: list[str] = []
        if step["operation"] == "update":
            managed = tracked(RECORDED_KIND, live, given, None, step["manager"], True, "", "now")
            live = given
        else:
            try:
                live, managed = applied(RECORDED_KIND, live, given, step["manager"], step["force"], "", "now")
            except ApplyConflict as refused:
                conflicts = sorted(
                    f"{who.operation[0]}:{who.name} {shown(path)}"
                    for who, fields in refused.contested.items()
                    for path in fields
                )
        assert conflicts == step["conflicts"]
        assert {f"{each['operation'][0]}:{each['manager']}": each["fieldsV1"] for each in managed} == step["owners"]
        assert live is not None and live.get("spec") == (step["object"] or {}).get("spec")
        live = {**live, "metadata": {"name": "x", "managedFields": managed}}
