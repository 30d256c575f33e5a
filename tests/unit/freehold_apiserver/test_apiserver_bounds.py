"""No request stops the server for others, and what cannot be read is refused as a client's error."""

from __future__ import annotations

import io
import json
import time
from typing import Any

import pytest
from apiserver_testbed import Api

from freehold_apiserver import bounds, patches, yaml_body
from freehold_apiserver.errors import ApiError
from freehold_apiserver.requests import decode_body

MAPS = "/api/v1/namespaces/default/configmaps"
APPLY = "application/apply-patch+yaml"


def _bomb(levels: int, joined: str) -> bytes:
    """A few lines that stand for 9 ** ``levels`` values."""
    lines = ["apiVersion: v1", "kind: ConfigMap", "metadata: {name: bomb}", "data:", "  a: &a {x: x}"]
    for number in range(levels):
        inner = ",".join([f"*{chr(97 + number)}"] * 9)
        lines.append(f"  {chr(98 + number)}: &{chr(98 + number)} " + joined % inner)
    return "\n".join(lines).encode()


@pytest.mark.parametrize(
    "body",
    [
        _bomb(9, "[%s]"), _bomb(9, "{<<: [%s]}"), b"a: &a [*a]", b"a: &a\n  b: *a\n",
        b"- &a " + b"x" * 1_000_000 + b"\n- [" + b",".join([b"*a"] * 9) + b"]",
        b"[" * 5000 + b"]" * 5000, b"a: " + b"9" * 5000, b"a: .inf", b"a: !!binary aGk=", b"a: !!set {b}",
        b"a: !!timestamp 2001-01-01", b"? [a]\n: b", b"a: &a b\n\xff", b"*nobody", b"a: 1\n---\nb: 2",
        "- a".encode("utf-16"), ("- " * 740_000).encode("utf-16-le"),
    ],
)  # fmt: skip
def test_yaml_that_stands_for_too_much_or_for_no_json_is_refused_at_once(body: bytes) -> None:
    began = time.monotonic()
    for kind in (APPLY, "application/yaml"):
        with pytest.raises(ApiError) as refused:
            decode_body(body, kind)
        assert refused.value.code == 400
    assert time.monotonic() - began < 10, "seconds, where it was for good"


def test_yaml_is_read_as_kube_apiserver_reads_it() -> None:
    read = yaml_body.decode(b"a: &a {b: [1, 2.5, true, null]}\nc: *a\nd: 2001-01-01\n7: {<<: *a}\n")
    inner = {"b": [1, 2.5, True, None]}
    assert read == {"a": inner, "c": inner, "d": "2001-01-01", "7": inner}


def test_a_json_patch_copies_no_more_than_kube_apiserver_lets_it() -> None:
    doc: dict[str, Any] = {"metadata": {"name": "x"}, "data": {"a": "x" * 1000}}
    doubling = [{"op": "copy", "from": "/data", "path": f"/data/k{each}"} for each in range(20)]
    with pytest.raises(ApiError, match="the accumulated size increase of copy is") as refused:
        patches.json_patch(doc, doubling)
    assert refused.value.code == 422
    assert len(patches.json_patch(doc, doubling[:8])["data"]) == 9
    with pytest.raises(ApiError, match=r"maximum operations in a JSON patch is 10000, got 10001") as refused:
        patches.json_patch(doc, [{"op": "test", "path": "/metadata/name", "value": "x"}] * 10_001)
    assert refused.value.code == 413


async def test_small_parts_that_nest_too_deep_are_refused(api: Api) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": {}}}
    async with api.session.post(api.url + MAPS, json={**body, "data": {}}) as made:
        assert made.status == 201
    part = json.loads('{"a":' * 100 + "{}" + "}" * 100)
    deep = [{"op": "add", "path": "/data" + "/a" * (101 * number + 1), "value": part} for number in range(12)]
    async with api.session.patch(
        f"{api.url}{MAPS}/a", data=io.BytesIO(json.dumps(deep).encode()), headers={"Content-Type": patches.JSON_PATCH}
    ) as answer:
        assert answer.status == 400, await answer.text()


@pytest.mark.parametrize("size", [bounds.MAX_DEPTH, bounds.MAX_DEPTH + 1])
def test_the_deepest_body(size: int) -> None:
    body = b'{"a":' * size + b"1" + b"}" * size
    if size <= bounds.MAX_DEPTH:
        assert decode_body(body, "application/json")[0]
        return
    for kind in ("application/json", APPLY):
        with pytest.raises(ApiError, match="nested"):
            decode_body(body, kind)


def test_many_duplicate_fields_cost_no_square() -> None:
    keys = ",".join(f'"k{each}":1' for each in range(100_000))
    began = time.monotonic()
    assert len(decode_body(f"{{{keys},{keys}}}".encode(), "application/json")[1]) == 100
    assert decode_body(b'{"a":[{"b":1,"b":2}]}', "application/json")[1] == ("a[0].b",)
    assert time.monotonic() - began < 10


BIG = "9" * 5000
META: list[Any] = [
    None, 1, [], "x", {"name": 1}, {"name": ["x"]}, {"name": {}}, {"name": "a", "labels": []},
    {"name": "a", "labels": {"a": {}}}, {"name": "a", "annotations": {"a": 1}}, {"name": "a", "finalizers": [1]},
    {"name": "a", "finalizers": {"a": 1}}, {"name": "a", "ownerReferences": [1]},
    {"name": "a", "ownerReferences": [{"apiVersion": [], "kind": {}, "name": 1, "uid": []}]},
    {"name": "a", "ownerReferences": [{"apiVersion": "v1", "kind": "X", "name": "a", "uid": ["u"]}]},
    {"name": "a", "managedFields": [1]}, {"name": "a", "generateName": 7}, {"generateName": ["a"]},
    {"name": "a", "resourceVersion": 1}, {"name": "a", "resourceVersion": {}}, {"name": "a", "uid": []},
    {"name": "a", "namespace": []}, {"name": "a", "generation": "x"}, {"name": "\ud800"}, {"name": "a\n"},
    {"name": "a", "annotations": {"x": "\ud800"}}, {"name": "a", "labels": {"\ud800": "x"}},
    *({"name": "a", "managedFields": [{"manager": manager, "operation": "Update", "apiVersion": version,
       "fieldsType": "FieldsV1", "fieldsV1": fields, "time": moment, "subresource": sub}]}
      for manager, version, fields, moment, sub in (
          ([], "v1", {}, "", ""), ("x", [], {}, "", ""), ("x", "v1", [], "", ""), ("x", "v1", {"a": 1}, "", ""),
          ("x", "v1", {"f:a": 1}, 7, ""), ("x", "v1", {"k:x": {}}, "", ""), ("x", "v1", {"v:{": {}}, "", {}),
          ("x", "v1", {"i:x": {}}, "", ""), ("x", "v1", {"k:[]": {}}, {}, ""), ("x", "v1", {'v:{"a":1}': {}}, "", ""),
          ("x", "v1", {"k:" + "[" * 5000: {}}, "", ""), ("x", "v1", {"i:" + BIG: {}}, "", ""),
          ("x", "v1", {"k:{\"a\":[]}": {}}, "", ""), ("x", "v1", {"k:1": {}}, "", ""),
      )),
]  # fmt: skip


@pytest.mark.parametrize("collection", [MAPS, "/apis/demo.freehold.dev/v1/namespaces/default/widgets"])
async def test_wrong_metadata_is_no_error_of_the_server(api: Api, collection: str) -> None:
    group, kind = ("v1", "ConfigMap") if collection == MAPS else ("demo.freehold.dev/v1", "Widget")
    sound = {"apiVersion": group, "kind": kind, "metadata": {"name": "a"}}
    await api.session.post(api.url + collection, json=sound)
    for meta in META:
        data = json.dumps({**sound, "metadata": meta})
        for method, path, content_type in (
            ("POST", collection, "application/json"), ("PUT", f"{collection}/a", "application/json"),
            ("PATCH", f"{collection}/a?fieldManager=x&force=true", APPLY),
            ("PATCH", f"{collection}/b?fieldManager=x", APPLY),
            ("PATCH", f"{collection}/a", patches.MERGE), ("PATCH", f"{collection}/a", patches.STRATEGIC),
        ):  # fmt: skip
            await _refused_or_done(api, method, path, data.encode(), content_type)


async def _refused_or_done(api: Api, method: str, path: str, data: bytes, content_type: str) -> None:
    async with api.session.request(
        method, api.url + path, data=data or None, headers={"Content-Type": content_type}
    ) as answer:
        text = await answer.text()
        assert answer.status < 500 or answer.status == 504, (method, path, data[:300], text)
        assert json.loads(text)


async def test_a_wrong_query_is_no_error_of_the_server(api: Api) -> None:
    values = (
        "%C2%B2", BIG, "9" * 30, "-1", "1.5", "%ff%fe", "%00", "%ED%A0%80", "x", "(((", "a%20in%20(", "W10=", "WzFd",
        "W3t9LDEsMV0=", "WzFlOTk5LDEsMV0=", "WyIxIixbXSx7fV0=", f"a%3E{BIG}", "metadata.name%3D%ff",
    )  # fmt: skip
    names = ("limit", "resourceVersion", "continue", "dryRun", "labelSelector", "fieldSelector", "resourceVersionMatch")
    for query in (f"{name}={value}" for name in names for value in values):
        await _refused_or_done(api, "GET", f"/api/v1/namespaces?{query}", b"", "application/json")
    for value in values:
        watching = f"/api/v1/namespaces?watch=true&timeoutSeconds={value}&limit=x&labelSelector=((("
        await _refused_or_done(api, "GET", watching, b"", "application/json")
        await _refused_or_done(api, "PATCH", f"{MAPS}/none?fieldManager={value}", b"{}", patches.MERGE)


async def test_a_wrong_number_is_refused_with_400(api: Api) -> None:
    for query in ("limit=%C2%B2", f"limit={BIG}", f"resourceVersion={BIG}", "timeoutSeconds=%D9%A1&watch=true"):
        async with api.session.get(f"{api.url}/api/v1/namespaces?{query}") as answer:
            body = await answer.json()
            assert (answer.status, body["kind"], body["reason"]) == (400, "Status", "BadRequest")


@pytest.mark.parametrize(
    "path", ["/api/v1/namespaces/%ff",
             "/api/v1/namespaces/%2e%2e/x", "/api/%00", "/apis//x", "/api/v1/namespaces/a%2fb",
             "/openapi/v3/%ff", "/apis/%F0%9F%98%80/v1/x", "/" + "a/" * 2000, "/api/v1/namespaces/default/%ED%A0%80"],
)  # fmt: skip
async def test_a_wrong_path_is_no_error_of_the_server(api: Api, path: str) -> None:
    from yarl import URL

    for method in ("GET", "PUT", "DELETE", "POST"):
        url = URL(api.url + path, encoded=True)
        async with api.session.request(method, url, data=b"{}") as answer:
            assert answer.status < 500, (method, path, await answer.text())


async def test_wrong_bodies_are_no_error_of_the_server(api: Api) -> None:
    one = {"method": "POST", "path": MAPS, "body": {}}
    batches: list[Any] = [
        {**one, "query": "x"}, {**one, "query": [1]}, {**one, "query": {"dryRun": 1}}, {**one, "body": "x"},
        {**one, "path": 7}, {**one, "path": None}, {**one, "contentType": []}, {**one, "method": {}},
        {"method": "PATCH", "path": f"{MAPS}/a", "body": [1], "contentType": patches.JSON_PATCH},
        {"method": "GET", "path": "/api/v1/namespaces/%ff"},
    ]  # fmt: skip
    for each in batches:
        await _refused_or_done(
            api, "POST", "/freehold/batch", json.dumps({"requests": [each]}).encode(), "application/json"
        )
    for options in ('{"dryRun":"All"}', '{"preconditions":[1]}', '{"preconditions":{"uid":[]}}', '{"dryRun":[1]}',
                    '{"propagationPolicy":{}}', "[1]", "NaN", '{"dryRun":{"a":1}}'):  # fmt: skip
        await _refused_or_done(api, "DELETE", f"{MAPS}/none", options.encode(), "application/json")
    for operations in ([{"op": [], "path": ""}], [{"op": "add", "path": "/a/~5", "value": 1}],
                       [{"op": "test", "path": "/metadata/labels/0", "value": {}}],
                       [{"op": "add", "path": "/data/" + BIG, "value": 1}],
                       [{"op": "remove", "path": ""}]):  # fmt: skip
        await _refused_or_done(api, "PATCH", f"{MAPS}/a", json.dumps(operations).encode(), patches.JSON_PATCH)
    for directive in ({"metadata": {"$deleteFromPrimitiveList/finalizers": 7}}, {"metadata": {"finalizers": [{}]}},
                      {"metadata": {"ownerReferences": ["x"]}},
                      {"metadata": {"ownerReferences": [{"uid": []}]}}):  # fmt: skip
        await _refused_or_done(api, "PATCH", f"{MAPS}/a", json.dumps(directive).encode(), patches.STRATEGIC)
    for bad in (b'{"a":NaN}', b'{"a":1e999}', b'{"a":' + BIG.encode() + b"}", b"\xff", b"[" * 100_000, b""):
        async with api.session.post(api.url + MAPS, data=bad, headers={"Content-Type": "application/json"}) as answer:
            assert answer.status == 400, (bad[:20], await answer.text())
