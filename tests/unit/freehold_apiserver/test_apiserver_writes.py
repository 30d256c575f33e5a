"""Create, update, patch, delete: what a write may change, and when it is refused."""

from __future__ import annotations

from typing import Any

import pytest
from apiserver_testbed import CONFIG_MAPS, JSON_PATCH, SECRETS, STRATEGIC, WIDGETS, Api, config_map, widget


async def test_a_new_object_gets_identity_defaults_and_no_status(api: Api) -> None:
    made = await api.made(WIDGETS, {**widget("a", {"size": 1}), "status": {"ready": True}})
    assert made["metadata"]["creationTimestamp"] == "2026-01-01T00:00:00Z"
    assert made["metadata"]["uid"] and made["metadata"]["generation"] == 1
    assert made["spec"] == {"size": 1, "colour": "red", "nested": {"deep": True}}
    assert "status" not in made, "a creator cannot claim a status"
    assert (await api.get(f"{WIDGETS}/a")).json == made


async def test_generate_name_adds_a_suffix(api: Api) -> None:
    body = widget("")
    body["metadata"] = {"generateName": "w-"}
    first, second = await api.made(WIDGETS, body), await api.made(WIDGETS, body)
    assert first["metadata"]["name"].startswith("w-") and first["metadata"]["name"] != second["metadata"]["name"]


async def test_a_stale_put_is_a_conflict_and_loses_nothing(api: Api) -> None:
    made = await api.made(WIDGETS, widget("a", {"size": 1}))
    assert (await api.put(f"{WIDGETS}/a", {**made, "spec": {"size": 2}})).code == 200
    stale = await api.put(f"{WIDGETS}/a", {**made, "spec": {"size": 3}})
    assert (stale.code, stale.json["reason"]) == (409, "Conflict")
    assert (await api.get(f"{WIDGETS}/a")).json["spec"]["size"] == 2


async def test_put_without_a_version_is_refused_for_custom_resources(api: Api) -> None:
    await api.made(WIDGETS, widget("a"))
    answer = await api.put(f"{WIDGETS}/a", widget("a", {"size": 2}))
    assert answer.code == 422
    assert "metadata.resourceVersion: Invalid value: 0: must be specified for an update" in answer.message


async def test_status_and_the_rest_are_written_apart(api: Api) -> None:
    made = await api.made(WIDGETS, widget("a", {"size": 1}))
    both = {**made, "spec": {"size": 2}, "status": {"ready": True}}
    main = (await api.put(f"{WIDGETS}/a", both)).json
    assert main["spec"]["size"] == 2 and "status" not in main
    both["metadata"] = {**main["metadata"], "labels": {"x": "y"}}
    both["spec"] = {"size": 3}
    status = (await api.put(f"{WIDGETS}/a/status", both)).json
    assert status["status"] == {"ready": True}
    assert status["spec"]["size"] == 2 and "labels" not in status["metadata"]


async def test_a_write_that_changes_nothing_is_not_a_write(api: Api) -> None:
    made = await api.made(WIDGETS, widget("a", {"size": 1}, labels={"x": "y"}))
    version = made["metadata"]["resourceVersion"]
    for answer in (
        await api.put(f"{WIDGETS}/a", made),
        await api.merge(f"{WIDGETS}/a", {"spec": {"size": 1}}),
        await api.merge(f"{WIDGETS}/a", {"metadata": {"finalizers": [], "annotations": {}}}),
        await api.put(f"{WIDGETS}/a/status", made),
    ):
        assert (answer.code, answer.json["metadata"]["resourceVersion"]) == (200, version)
    assert await api.watch(WIDGETS, resourceVersion=version, timeoutSeconds=1) == []


async def test_true_is_not_one(api: Api) -> None:
    """In Python True equals 1; a write that changes one to the other must not be lost as a no-op."""
    await api.made(WIDGETS, widget("a", {"free": {"x": 1}}))
    assert (await api.merge(f"{WIDGETS}/a", {"spec": {"free": {"x": True}}})).json["spec"]["free"]["x"] is True


async def test_server_owned_metadata_cannot_be_changed(api: Api) -> None:
    made = await api.made(WIDGETS, widget("a"))
    forged = {"uid": made["metadata"]["uid"], "creationTimestamp": "2001-01-01T00:00:00Z", "generation": 99,
              "deletionTimestamp": "2001-01-01T00:00:00Z"}  # fmt: skip
    patched = (await api.merge(f"{WIDGETS}/a", {"metadata": forged})).json
    assert patched["metadata"] == made["metadata"]


async def test_another_uid_is_a_conflict(api: Api) -> None:
    await api.made(WIDGETS, widget("a"))
    answer = await api.merge(f"{WIDGETS}/a", {"metadata": {"uid": "someone-else"}})
    assert answer.code == 409 and "UID in precondition" in answer.message


async def test_json_patch_applies_tests_and_refuses(api: Api) -> None:
    await api.made(WIDGETS, widget("a", {"size": 1}))
    good = [{"op": "test", "path": "/spec/size", "value": 1}, {"op": "replace", "path": "/spec/size", "value": 2}]
    assert (await api.call("PATCH", f"{WIDGETS}/a", good, JSON_PATCH)).json["spec"]["size"] == 2
    assert (await api.call("PATCH", f"{WIDGETS}/a", good, JSON_PATCH)).code == 422, "the test op fails now"
    missing = [{"op": "remove", "path": "/spec/nothing"}]
    assert (await api.call("PATCH", f"{WIDGETS}/a", missing, JSON_PATCH)).code == 422
    assert (await api.call("PATCH", f"{WIDGETS}/a", {"op": "add"}, JSON_PATCH)).code == 400


_MISSING = "operation does not apply: doc is missing path: "


@pytest.mark.parametrize(
    ("operations", "code", "said"),
    [
        pytest.param([{"op": "remove", "path": "/spec/no"}], 422, f"remove {_MISSING}/spec/no", id="remove nothing"),
        pytest.param([{"op": "replace", "path": "/spec/no", "value": 1}], 422, f"replace {_MISSING}/spec/no",
                     id="replace nothing"),
        pytest.param([{"op": "add", "path": "/no/size", "value": 1}], 422, f"add {_MISSING}/no/size", id="no parent"),
        pytest.param([{"op": "add", "path": "/spec/size/x", "value": 1}], 422, f"add {_MISSING}/spec/size/x",
                     id="below a number"),
        pytest.param([{"op": "add", "path": "/spec/tags/7", "value": "x"}], 422, f"add {_MISSING}/spec/tags/7",
                     id="past the end of a list"),
        pytest.param([{"op": "add", "path": "/spec/tags/x", "value": "x"}], 422, f"add {_MISSING}/spec/tags/x",
                     id="no index"),
        pytest.param([{"op": "move", "from": "/spec/no", "path": "/spec/name"}], 422, f"move {_MISSING}/spec/no",
                     id="move nothing"),
        pytest.param([{"op": "test", "path": "/spec/size", "value": "1"}], 422,
                     "testing value /spec/size failed: test failed", id="a number is no text"),
        pytest.param([{"op": "test", "path": "/spec/no", "value": 1}], 422, "/spec/no", id="test nothing"),
        pytest.param(["add"], 400, "operation 0: it is not an object", id="text"),
        pytest.param([{"op": "zap", "path": "/spec"}], 400, 'operation 0: op is "zap"; use one of', id="unknown"),
        pytest.param([{"path": "/spec"}], 400, "operation 0: op is null", id="no op"),
        pytest.param([{"op": "add", "path": "spec", "value": 1}], 400, "add needs path, a JSON pointer", id="no slash"),
        pytest.param([{"op": "add", "path": "/spec/size"}], 400, "add needs a value", id="no value"),
        pytest.param([{"op": "copy", "path": "/spec/size"}], 400, "copy needs from", id="no source"),
        pytest.param([{"op": "replace", "path": "", "value": 1}], 400, "the patch leaves no object", id="no object"),
        pytest.param([{"op": "add", "path": "/metadata/labels", "value": []}], 400,
                     "metadata.labels is of the wrong type: it must be of type object", id="a list of labels"),
    ],
)  # fmt: skip
async def test_json_patches_are_refused_in_the_words_of_json(api: Api, operations: Any, code: int, said: str) -> None:
    made = await api.made(WIDGETS, widget("a", {"size": 1, "tags": ["x"]}))
    answer = await api.call("PATCH", f"{WIDGETS}/a", operations, JSON_PATCH)
    assert answer.code == code and said in answer.message, answer.text
    for word in ("class", "dict", "NoneType", "<", "'str'"):
        assert word not in answer.message, "no Python in it"
    assert (await api.get(f"{WIDGETS}/a")).json == made


@pytest.mark.parametrize("content_type", [STRATEGIC, "application/apply-patch+cbor", "text/plain"])
async def test_patch_types_that_are_not_offered_are_415(api: Api, content_type: str) -> None:
    await api.made(WIDGETS, widget("a"))
    answer = await api.call("PATCH", f"{WIDGETS}/a", "{}", content_type)
    assert (answer.code, answer.json["reason"]) == (415, "UnsupportedMediaType")


async def test_strategic_merge_works_on_built_in_kinds(api: Api) -> None:
    await api.made(CONFIG_MAPS, config_map("a", {"x": "1", "y": "2"}, finalizers=["test.freehold.dev/a"]))
    patch = {"data": {"x": None}, "metadata": {"finalizers": ["test.freehold.dev/b"]}}
    patched = (await api.call("PATCH", f"{CONFIG_MAPS}/a", patch, STRATEGIC)).json
    assert patched["data"] == {"y": "2"}
    assert patched["metadata"]["finalizers"] == ["test.freehold.dev/a", "test.freehold.dev/b"], "finalizers are a set"


async def test_finalizers_hold_an_object_until_they_are_gone(api: Api) -> None:
    await api.made(WIDGETS, widget("a", {}, finalizers=["test.freehold.dev/hold"]))
    begun = (await api.delete(f"{WIDGETS}/a")).json
    assert begun["metadata"]["deletionTimestamp"] and begun["metadata"]["generation"] == 2
    again = (await api.delete(f"{WIDGETS}/a")).json
    assert again == begun, "asking twice changes nothing"
    added = await api.merge(f"{WIDGETS}/a", {"metadata": {"finalizers": ["test.freehold.dev/hold", "x.dev/new"]}})
    assert added.code == 422 and 'found new finalizers []string{"x.dev/new"}' in added.message
    assert (await api.merge(f"{WIDGETS}/a", {"metadata": {"finalizers": None}})).code == 200
    assert (await api.get(f"{WIDGETS}/a")).code == 404


async def test_finalizers_of_cluster_api_have_no_slash(api: Api) -> None:
    await api.made(WIDGETS, widget("a", {}, finalizers=["ibmpowervscluster.infrastructure.cluster.x-k8s.io"]))


async def test_delete_without_finalizers_answers_success(api: Api) -> None:
    made = await api.made(WIDGETS, widget("a"))
    answer = await api.delete(f"{WIDGETS}/a")
    assert answer.json["status"] == "Success" and answer.json["details"]["uid"] == made["metadata"]["uid"]
    assert (await api.delete(f"{WIDGETS}/a")).code == 404


async def test_dry_run_stores_nothing(api: Api) -> None:
    assert (await api.post(WIDGETS, widget("ghost"), dryRun="All")).code == 201
    assert (await api.get(f"{WIDGETS}/ghost")).code == 404
    made = await api.made(WIDGETS, widget("a", {"size": 1}))
    assert (await api.merge(f"{WIDGETS}/a", {"spec": {"size": 2}}, dryRun="All")).json["spec"]["size"] == 2
    assert (await api.delete(f"{WIDGETS}/a", dryRun="All")).code == 200
    assert (await api.get(f"{WIDGETS}/a")).json == made
    assert (await api.post(WIDGETS, widget("b"), dryRun="Some")).code == 400


async def test_secrets_fold_string_data_and_keep_their_type(api: Api) -> None:
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": "b"}}
    made = await api.made(SECRETS, body)
    assert made["data"] == {"a": "Yg=="} and made["type"] == "Opaque" and "stringData" not in made
    changed = await api.merge(f"{SECRETS}/s", {"type": "other"})
    assert changed.code == 422 and "type: Invalid value" in changed.message
    broken = await api.merge(f"{SECRETS}/s", {"data": {"a": "hunter2!"}})
    assert broken.code == 422 and "hunter2" not in broken.text, "a refused secret is not repeated"


async def test_an_immutable_config_map_stays(api: Api) -> None:
    await api.made(CONFIG_MAPS, {**config_map("a", {"x": "1"}), "immutable": True})
    assert (await api.merge(f"{CONFIG_MAPS}/a", {"data": {"x": "2"}})).code == 422


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ({"name": "Has_Capitals"}, "metadata.name: Invalid value"),
        ({"name": "a", "labels": {"ok": "not ok!"}}, "metadata.labels: Invalid value"),
        ({"name": "a", "annotations": {"bad key": "x"}}, "metadata.annotations: Invalid value"),
        ({"name": "a", "finalizers": ["no slash, spaces"]}, "metadata.finalizers[0]: Invalid value"),
        ({"name": "a", "ownerReferences": [{"kind": "X"}]}, "metadata.ownerReferences[0].uid"),
        ({}, "name or generateName is required"),
    ],
)
async def test_bad_metadata_is_refused_with_its_path(api: Api, metadata: dict[str, object], said: str) -> None:
    answer = await api.post(WIDGETS, {**widget("a"), "metadata": metadata})
    assert answer.code == 422 and said in answer.message


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("{", "JSON"),
        ("[]", "not an object"),
        ('{"apiVersion":"v1"}', "Object 'Kind' is missing"),
        ('{"apiVersion":"v1","kind":"Secret"}', "does not match the expected"),
        ('{"apiVersion":"test.freehold.dev/v1","kind":"Widget","metadata":[]}', "metadata of the object"),
        ('{"apiVersion":"test.freehold.dev/v1","kind":"Widget","metadata":{"labels":[1],"name":"a"}}', "wrong type"),
        ('{"apiVersion":"test.freehold.dev/v1","kind":"Widget","metadata":{"namespace":"x","name":"a"}}', "namespace"),
    ],
)
async def test_a_body_that_is_not_a_widget_is_a_bad_request(api: Api, body: str, said: str) -> None:
    answer = await api.post(WIDGETS, body)
    assert answer.code == 400 and said in answer.message


async def test_yaml_bodies_are_read(api: Api) -> None:
    text = "apiVersion: test.freehold.dev/v1\nkind: Widget\nmetadata: {name: a}\nspec: {size: 3}\n"
    answer = await api.call("POST", WIDGETS, text, "application/yaml")
    assert answer.code == 201 and answer.json["spec"]["size"] == 3
