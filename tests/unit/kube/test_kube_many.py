"""Many requests in one do what the same requests do one by one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from aiohttp import web

from freehold.kube.client import KubeClient
from freehold.kube.errors import KubeError, ObjectNotFound, ServerUnavailable
from freehold.kube.object_client import BATCH_BYTES, BATCH_REQUESTS, Request
from freehold.kube.resources import CONFIG_MAPS, NAMESPACES, Json, Key

MAPS = CONFIG_MAPS.build_collection_path("default")
STRICT = {"fieldValidation": "Strict", "fieldManager": "freehold"}


def config_map(name: str, **fields: Any) -> Json:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **fields}


REQUESTS = [
    Request("POST", MAPS, STRICT, config_map("a", data={"x": "1"})),
    Request("POST", MAPS, STRICT, config_map("a")),
    Request("POST", MAPS, STRICT, config_map("b", colour="red")),
    Request("POST", MAPS, {"dryRun": "All"}, config_map("trial")),
    Request("GET", f"{MAPS}/trial"),
    Request("PATCH", f"{MAPS}/a", STRICT, {"data": {"x": None, "y": "é"}}, "application/merge-patch+json"),
    Request("PATCH", f"{MAPS}/a", {}, {"metadata": {"resourceVersion": "1"}}, "application/merge-patch+json"),
    Request("PATCH", f"{MAPS}/a", {}, [{"op": "test", "path": "/data/y", "value": "z"}], "application/json-patch+json"),
    Request("GET", f"{MAPS}/a"),
    Request("GET", "/api/v1/namespaces/gone/configmaps/a"),
    Request("GET", "/apis/none/v1/things/a"),
    Request("POST", CONFIG_MAPS.build_collection_path("gone"), {}, config_map("c")),
    Request("POST", MAPS, {"dryRun": "some"}, config_map("d")),
    Request("GET", "/api/v1/namespaces/default"),
    Request("GET", f"{MAPS}/a%20b"),
]


def same(outcome: Json | KubeError) -> object:
    """What must agree; versions, uids and times differ from server to server."""
    if isinstance(outcome, KubeError):
        return type(outcome), outcome.message, outcome.code, outcome.reason, outcome.details
    metadata = {**outcome["metadata"], "uid": "", "resourceVersion": "", "creationTimestamp": ""}
    managed = [{**each, "time": ""} for each in metadata.get("managedFields", ())]
    return {**outcome, "metadata": {**metadata, "managedFields": managed}}


async def test_each_request_of_a_batch_does_what_it_does_alone(embedded: KubeClient, other: KubeClient) -> None:
    """Also that one which is refused stops no other, and that their order holds."""
    told: list[int] = []
    alone = await embedded.send_many(REQUESTS, told.append)
    other.batches = True
    together = await other.send_many(REQUESTS)
    assert list(map(same, together)) == list(map(same, alone))
    assert told == list(range(1, len(REQUESTS) + 1))
    assert (await other.get(CONFIG_MAPS, Key("default", "a")))["data"] == {"y": "é"}


async def test_a_brief_answer_has_the_version_and_refusals_in_full(embedded: KubeClient) -> None:
    embedded.batches = True
    made, twin = await embedded.send_many([REQUESTS[0], REQUESTS[1]], brief=True)
    stored = await embedded.get(CONFIG_MAPS, Key("default", "a"))
    assert made == {"metadata": {"resourceVersion": stored["metadata"]["resourceVersion"]}}
    assert isinstance(twin, KubeError) and "already exists" in twin.message


async def test_batches_are_small_enough_for_the_server(embedded: KubeClient) -> None:
    embedded.batches = True
    large = [Request("POST", MAPS, {}, config_map(f"l{i}", data={"x": "y" * (BATCH_BYTES // 3)})) for i in range(9)]
    small = [Request("POST", MAPS, {}, config_map(f"s{i}")) for i in range(BATCH_REQUESTS + 1)]
    told: list[int] = []
    outcomes = await embedded.send_many([*large, *small], told.append)
    assert not [each for each in outcomes if isinstance(each, KubeError)]
    assert len(told) > 4 and told[-1] == len(outcomes)


async def test_a_server_without_batches_gets_the_requests_one_by_one(scripted: Any, client: KubeClient) -> None:
    async def answer(request: web.Request) -> web.Response:
        if request.path.startswith("/freehold"):
            body = {"message": "the server does not allow this method on the requested resource: POST"}
            return web.json_response(body, status=405)
        return web.json_response({"metadata": {"name": "default"}})

    scripted.handler = answer
    client.batches = True
    for _ in range(2):
        assert await client.send_many([Request("GET", NAMESPACES.build_object_path(Key("", "default")))]) == [
            {"metadata": {"name": "default"}}
        ]
    assert [each.path for each in scripted.requests].count("/freehold/batch") == 1


async def test_a_server_that_fails_ends_the_row(scripted: Any, client: KubeClient, status: Any) -> None:
    """Ten thousand requests to a server that is gone would say the same ten thousand times."""
    scripted.answers(status(404), status(500))
    with pytest.raises(ServerUnavailable):
        await client.send_many([Request("PATCH", f"{MAPS}/{n}", {}, {}) for n in range(9)])
    assert len(scripted.requests) == 2


@pytest.mark.parametrize("body", [{}, {"requests": 5}, {"requests": ["x"]}], ids=json.dumps)
async def test_what_is_no_batch_is_refused(body: Json, embedded: KubeClient) -> None:
    with pytest.raises(KubeError, match="requests is not a list of objects"):
        await embedded.request("POST", "/freehold/batch", body=body)
    (nothing,) = await embedded.send_many([Request("DELETE", f"{MAPS}/a")])
    assert isinstance(nothing, ObjectNotFound)
