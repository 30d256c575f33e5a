"""Discovery, OpenAPI and Tables, as kubectl reads them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from apiserver_testbed import CONFIG_MAPS, CRDS, GROUP, WIDGETS, Api, Clock, config_map, widget

from freehold_apiserver.jsonpath import compile_path
from freehold_apiserver.tables import human_duration
from harness.rows import over_rows

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


async def test_discovery_lists_groups_versions_and_names(api: Api) -> None:
    assert (await api.get("/api")).json["versions"] == ["v1"]
    groups = {each["name"]: each for each in (await api.get("/apis")).json["groups"]}
    assert groups["test.freehold.dev"]["preferredVersion"]["version"] == "v1"
    assert [each["version"] for each in groups["test.freehold.dev"]["versions"]] == ["v1", "v1beta1"]
    resources = {each["name"]: each for each in (await api.get("/apis/test.freehold.dev/v1")).json["resources"]}
    assert resources["widgets"]["shortNames"] == ["wd"] and resources["widgets"]["categories"] == ["toys"]
    assert "watch" in resources["widgets"]["verbs"] and "widgets/status" in resources
    core = {each["name"] for each in (await api.get("/api/v1")).json["resources"]}
    assert {"namespaces", "secrets", "configmaps", "events", "serviceaccounts"} <= core
    assert (await api.get("/version")).json["major"] == "1"


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/livez"])
async def test_health(api: Api, path: str) -> None:
    answer = await api.get(path)
    assert (answer.code, answer.text) == (200, "ok")


@pytest.mark.parametrize("path", ["/openapi/v1", "/apis/none.dev/v1", "/apis/none.dev", "/api/v1/pods", "/nothing"])
async def test_what_is_not_served_is_404(api: Api, path: str) -> None:
    answer = await api.get(path)
    assert (answer.code, answer.json["reason"]) == (404, "NotFound")


async def test_openapi_v2_is_an_empty_protobuf_document(api: Api) -> None:
    """kubectl requests it to validate ``kind: List``; field 1 is ``swagger``, field 2 ``info``."""
    answer = await api.get("/openapi/v2")
    assert answer.code == 200 and answer.text.startswith("\x0a\x032.0\x12\x19")


async def test_openapi_has_the_fields_that_kubectl_needs(api: Api) -> None:
    paths = (await api.get("/openapi/v3")).json["paths"]
    url = paths["apis/test.freehold.dev/v1"]["serverRelativeURL"]
    document = (await api.get(url.partition("?")[0])).json
    gvk = {"group": "test.freehold.dev", "version": "v1", "kind": "Widget"}
    patch = document["paths"]["/apis/test.freehold.dev/v1/namespaces/{namespace}/widgets/{name}"]["patch"]
    assert patch["x-kubernetes-group-version-kind"] == gvk, "or apply falls back to OpenAPI v2"
    assert "fieldValidation" in {each["name"] for each in patch["parameters"]}, "or kubectl validates itself"
    schema = document["components"]["schemas"]["dev.freehold.test.v1.Widget"]
    assert schema["x-kubernetes-group-version-kind"] == [gvk], "or explain finds nothing"
    assert schema["properties"]["spec"]["properties"]["size"]["type"] == "integer"


async def test_the_index_of_openapi_follows_the_crds(api: Api) -> None:
    """kubectl keeps each document by its hash."""
    path, url = f"{CRDS}/widgets.{GROUP}", "/openapi/v3"
    before, crd = (await api.get(url)).json["paths"], (await api.get(path)).json
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["description"] = "What it is."
    assert (await api.put(path, crd)).code == 200
    after = (await api.get(url)).json["paths"]
    assert {each for each in after if after[each] != before[each]} == {"apis/test.freehold.dev/v1"}


async def test_tables_have_the_columns_of_the_crd(api: Api, clock: Clock) -> None:
    await api.made(WIDGETS, widget("a", {"size": 3}, labels={"example.com/team": "x"}))
    await api.made(WIDGETS, widget("b"))
    clock.advance(timedelta(minutes=5))
    table = (await api.get(WIDGETS, accept=TABLE)).json
    assert [each["name"] for each in table["columnDefinitions"]] == ["Name", "Size", "Team", "Age"]
    assert [each["cells"] for each in table["rows"]] == [["a", 3, "x", "5m"], ["b", None, None, "5m"]]
    assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"
    one = (await api.get(f"{WIDGETS}/a", accept=TABLE, includeObject="Object")).json
    assert one["rows"][0]["object"]["spec"]["size"] == 3
    events = await api.get(WIDGETS, accept=TABLE, watch="true", timeoutSeconds=1)
    assert '"kind":"Table"' in events.text


async def test_tables_of_built_in_kinds_have_counts(api: Api) -> None:
    await api.made(CONFIG_MAPS, config_map("a", {"x": "1", "y": "2"}))
    table = (await api.get(CONFIG_MAPS, accept=TABLE)).json
    assert table["rows"][0]["cells"][:2] == ["a", 2]


async def test_metadata_alone_can_be_requested(api: Api) -> None:
    await api.made(CONFIG_MAPS, config_map("a", {"x": "1"}))
    found = (await api.get(CONFIG_MAPS, accept="application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")).json
    assert found["kind"] == "PartialObjectMetadataList" and "data" not in found["items"][0]


OBJ = {
    "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Paused", "status": "False"}]},
    "metadata": {"labels": {"a.b/c": "x"}},
    "list": [1, 2, 3],
}


@over_rows(
    ("path", "found"),
    [
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".status.conditions[?(@.type=='Paused')].status", ["False"]),
        (".status.conditions[?(@.type!='Ready')].type", ["Paused"]),
        (r".metadata.labels.a\.b/c", ["x"]),
        (".metadata.labels['a.b/c']", ["x"]),
        (".list[1]", [2]),
        (".list[-1]", [3]),
        (".list[*]", [1, 2, 3]),
        (".list[9]", []),
        ("{.list[0]}", [1]),
        (".nothing.here", []),
        ("", [OBJ]),
    ],
)
def test_json_paths_of_columns(path: str, found: list[object]) -> None:
    assert compile_path(path)(OBJ) == found


def test_a_path_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(ValueError, match="cannot read JSONPath"):
        compile_path(".a[?(@.b =~ 1)]")


@over_rows(
    ("seconds", "text"),
    [(0, "0s"), (119, "119s"), (120, "2m"), (150, "2m30s"), (600, "10m"), (3 * 3600, "3h"), (4 * 3600 + 60, "4h1m"),
     (9 * 3600, "9h"), (3 * 86400, "3d"), (3 * 86400 + 3600, "3d1h"), (30 * 86400, "30d"), (3 * 365 * 86400, "3y")],
)  # fmt: skip
def test_ages_have_the_format_of_kubectl(seconds: int, text: str) -> None:
    assert human_duration(seconds) == text
