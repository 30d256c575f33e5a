"""Requests: which are retried, which never are, and the errors."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import Any

import pytest
from aiohttp import web

from freehold.kube import errors
from freehold.kube.auth import Credential
from freehold.kube.client import KubeClient
from freehold.kube.config import Connection
from freehold.kube.object_client import PatchKind
from freehold.kube.resources import CONFIG_MAPS, NAMESPACES, Json, Key, Resource

A = Key("default", "a")
OK = web.json_response({"metadata": {"name": "a"}})


def config_map(name: str) -> Json:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (400, "BadRequest", errors.InvalidRequest), (401, "Unauthorized", errors.Unauthorized),
        (403, "Forbidden", errors.Forbidden), (404, "NotFound", errors.ObjectNotFound),
        (409, "Conflict", errors.Conflict), (409, "AlreadyExists", errors.AlreadyExists),
        (410, "Expired", errors.Expired), (415, "UnsupportedMediaType", errors.InvalidRequest),
        (422, "Invalid", errors.InvalidRequest), (429, "TooManyRequests", errors.TooManyRequests),
        (500, "InternalError", errors.ServerUnavailable), (504, "Timeout", errors.ServerUnavailable),
    ],
)  # fmt: skip
async def test_status_becomes_one_of_our_errors(
    code: int, reason: str, kind: type[errors.KubeError], scripted: Any, client: KubeClient, status: Any
) -> None:
    scripted.answers(status(code, reason, "because"))
    with pytest.raises(errors.KubeError) as caught:
        await client.patch(CONFIG_MAPS, A, {})
    assert type(caught.value) is kind
    assert (caught.value.code, caught.value.reason) == (code, reason)
    assert "because" in str(caught.value)


@pytest.mark.parametrize("content_type", ["application/json; charset=utf-8", "text/plain", "application/octet-stream"])
async def test_status_is_read_whatever_its_content_type(content_type: str, scripted: Any, client: KubeClient) -> None:
    body = json.dumps({"kind": "Status", "message": "why", "reason": "NotFound", "code": 404})
    scripted.answers(web.Response(status=404, body=body.encode(), headers={"Content-Type": content_type}))
    with pytest.raises(errors.ObjectNotFound, match="why"):
        await client.get(CONFIG_MAPS, A)


@pytest.mark.parametrize("body", [b"", b"<html>Bad Gateway</html>", b"[]", b"\xff\xfe"], ids=repr)
async def test_an_error_page_of_a_proxy(body: bytes, scripted: Any, client: KubeClient) -> None:
    scripted.answers(web.Response(status=502, body=body))
    with pytest.raises(errors.ServerUnavailable, match="HTTP 502"):
        await client.create(CONFIG_MAPS, config_map("a"))


async def test_success_that_is_not_json_is_unavailable(scripted: Any, client: KubeClient) -> None:
    """A captive portal answers 200; and what is nested too deep is none that Python reads."""
    for body in (b"<html>please log in</html>", b"[" * 100_000):
        scripted.answers(web.Response(body=body))
        with pytest.raises(errors.ServerUnavailable, match="not JSON"):
            await client.get(CONFIG_MAPS, A)


class Rotating:
    """Provides a new token after each refusal."""

    def __init__(self) -> None:
        self.number = 1
        self.current = Credential("Bearer t1")

    async def get(self) -> Credential:
        return self.current

    def invalidate(self, used: Credential) -> None:
        if used is self.current:
            self.number += 1
            self.current = Credential(f"Bearer t{self.number}")


@pytest.mark.parametrize("method", ["get", "write"])
async def test_a_401_renews_the_token_and_retries_once(method: str, scripted: Any, status: Any) -> None:
    scripted.answers(status(401), OK)
    async with KubeClient(Connection(scripted.url, Rotating())) as client:
        if method == "get":
            await client.get(CONFIG_MAPS, A)
        else:
            await client.patch(CONFIG_MAPS, A, {"data": {"x": "1"}})
    assert [each.headers["Authorization"] for each in scripted.requests] == ["Bearer t1", "Bearer t2"]


async def test_a_second_401_is_reported_without_the_token(scripted: Any, status: Any) -> None:
    scripted.answers(status(401))
    async with KubeClient(Connection(scripted.url, Rotating())) as client:
        with pytest.raises(errors.Unauthorized) as caught:
            await client.get(CONFIG_MAPS, A)
    assert len(scripted.requests) == 2
    assert "refuses the credentials" in str(caught.value) and "t1" not in str(caught.value)
    assert "t2" not in repr(Credential("Bearer t2"))


async def test_a_403_is_not_retried(scripted: Any, client: KubeClient, status: Any) -> None:
    scripted.answers(status(403, "Forbidden"))
    with pytest.raises(errors.Forbidden):
        await client.get(CONFIG_MAPS, A)
    assert len(scripted.requests) == 1


@pytest.mark.parametrize("code", [429, 503])
async def test_a_read_respects_the_requested_wait(code: int, scripted: Any, client: KubeClient, status: Any) -> None:
    scripted.answers(status(code, headers={"Retry-After": "3"}), status(code, headers={"Retry-After": "2"}), OK)
    assert await client.get(CONFIG_MAPS, A)
    assert [int(nap) for nap in scripted.naps] == [3, 2]


async def test_a_write_is_not_retried_and_its_error_has_the_wait(
    scripted: Any, client: KubeClient, status: Any
) -> None:
    """The caller's queue waits; a reconcile does not sleep."""
    scripted.answers(status(429, headers={"Retry-After": "7"}))
    with pytest.raises(errors.TooManyRequests) as caught:
        await client.create(CONFIG_MAPS, config_map("a"))
    assert caught.value.retry_after == 7 and scripted.naps == [] and len(scripted.requests) == 1


async def test_read_gives_up_in_the_end_and_on_long_waits(scripted: Any, client: KubeClient, status: Any) -> None:
    scripted.answers(status(429))
    with pytest.raises(errors.TooManyRequests):
        await client.get(CONFIG_MAPS, A)
    assert len(scripted.requests) == 4
    scripted.answers(status(503, headers={"Retry-After": "3600"}))
    with pytest.raises(errors.ServerUnavailable):
        await client.get(CONFIG_MAPS, A)
    assert len(scripted.requests) == 5


async def test_the_error_of_an_unreachable_server_names_it() -> None:
    async with KubeClient(Connection("http://127.0.0.1:1")) as client:
        with pytest.raises(
            errors.ServerUnavailable, match=r"http://127\.0\.0\.1:1 cannot be reached: Connection refused$"
        ):
            await client.get(CONFIG_MAPS, A)


async def test_server_that_never_answers_is_timed_out(scripted: Any) -> None:
    async def silent(_: web.Request) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    scripted.handler = silent
    async with KubeClient(Connection(scripted.url), timeout=0.2) as client:
        with pytest.raises(errors.ServerUnavailable, match="did not answer in time"):
            await client.get(CONFIG_MAPS, A)


async def test_environment_proxy_is_not_consulted_per_request(
    scripted: Any, client: KubeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """trust_env costs two thread switches per request; config resolves the proxy once."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    scripted.answers(OK)
    assert await client.get(CONFIG_MAPS, A)


async def test_objects_are_created_and_deleted_on_a_real_server(embedded: KubeClient) -> None:
    created = await embedded.create(CONFIG_MAPS, config_map("a"))
    with pytest.raises(errors.AlreadyExists):
        await embedded.create(CONFIG_MAPS, config_map("a"))
    patched = await embedded.patch(CONFIG_MAPS, A, {"data": {"x": "1"}})
    assert patched["data"] == {"x": "1"}
    operations = [{"op": "test", "path": "/data/x", "value": "1"}, {"op": "add", "path": "/data/y", "value": "2"}]
    await embedded.patch(CONFIG_MAPS, A, operations, PatchKind.JSON)
    with pytest.raises(errors.Conflict):
        await embedded.replace(CONFIG_MAPS, created | {"data": {"lost": "update"}})
    latest = await embedded.get(CONFIG_MAPS, A)
    replaced = await embedded.replace(CONFIG_MAPS, latest | {"data": {"x": "3"}})
    assert replaced["data"] == {"x": "3"}
    await embedded.delete(CONFIG_MAPS, A)
    with pytest.raises(errors.ObjectNotFound):
        await embedded.get(CONFIG_MAPS, A)
    assert (await embedded.get(NAMESPACES, Key("", "default")))["kind"] == "Namespace"


async def test_delete_spares_another_object_of_the_same_name(embedded: KubeClient) -> None:
    first = await embedded.create(CONFIG_MAPS, config_map("a"))
    await embedded.delete(CONFIG_MAPS, A, uid=first["metadata"]["uid"])
    second = await embedded.create(CONFIG_MAPS, config_map("a"))
    with pytest.raises(errors.Conflict):
        await embedded.delete(CONFIG_MAPS, A, uid=first["metadata"]["uid"])
    await embedded.patch(CONFIG_MAPS, A, {"data": {"x": "1"}})
    with pytest.raises(errors.Conflict):
        await embedded.delete(CONFIG_MAPS, A, resource_version=second["metadata"]["resourceVersion"])
    assert (await embedded.get(CONFIG_MAPS, A))["metadata"]["uid"] == second["metadata"]["uid"]


async def test_pages_are_one_snapshot(embedded: KubeClient) -> None:
    for name in "abcde":
        await embedded.create(CONFIG_MAPS, config_map(name))
    pages = embedded.list_pages(CONFIG_MAPS, "default", limit=2)
    first = await anext(pages)
    await embedded.delete(CONFIG_MAPS, Key("default", "e"))
    rest = [page async for page in pages]
    assert [each["metadata"]["name"] for page in (first, *rest) for each in page.items] == list("abcde")
    assert {page.resource_version for page in (first, *rest)} == {first.resource_version}
    whole = await embedded.list(CONFIG_MAPS, "default", limit=3)
    assert [each["metadata"]["name"] for each in whole.items] == list("abcd")


async def test_list_whose_pages_expire_is_fetched_whole(scripted: Any, client: KubeClient, status: Any) -> None:
    first = web.json_response({"metadata": {"resourceVersion": "5", "continue": "t"}, "items": [config_map("old")]})
    whole = web.json_response({"metadata": {"resourceVersion": "9"}, "items": [config_map("new")]})
    scripted.answers(first, status(410, "Expired"), whole)
    found = await client.list(CONFIG_MAPS)
    assert [each["metadata"]["name"] for each in found.items] == ["new"] and found.resource_version == "9"


@pytest.mark.parametrize("code", [301, 302, 307, 308])
@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_a_redirect_is_an_error_and_not_followed(
    method: str, code: int, scripted: Any, client: KubeClient
) -> None:
    """Our token would be sent to its target, and a DELETE would become a GET, whose 200 would count as success."""
    elsewhere = web.Response(status=code, headers={"Location": f"{scripted.url}/elsewhere"})
    scripted.answers(elsewhere, OK)
    with pytest.raises(errors.KubeError):
        await client.request(method, "/api/v1/namespaces/default/configmaps/a")
    assert [request.path for request in scripted.requests] == ["/api/v1/namespaces/default/configmaps/a"]


@pytest.mark.parametrize("body", ["[]", '"fine"', "null", "3"])
async def test_a_success_that_is_not_an_object_is_unavailable(body: str, scripted: Any, client: KubeClient) -> None:
    """The answer is not from an API server; whether a write took effect is unknown."""
    scripted.answers(web.Response(text=body, content_type="application/json"))
    with pytest.raises(errors.ServerUnavailable, match="not a JSON object"):
        await client.patch(CONFIG_MAPS, A, {})


async def test_cookies_are_not_kept(scripted: Any) -> None:
    """A load balancer's cookie would bind all our requests to one API server, even if that one is down."""
    sticky = web.Response(text='{"metadata": {"name": "a"}}', headers={"Set-Cookie": "server=1; Path=/"})
    scripted.answers(sticky)
    named = Connection(scripted.url.replace("127.0.0.1", "localhost"))  # clients do not keep cookies of bare addresses
    async with KubeClient(named) as client:
        await client.get(CONFIG_MAPS, A)
        await client.get(CONFIG_MAPS, A)
    assert ["Cookie" in request.headers for request in scripted.requests] == [False, False]


def test_paths_of_resources() -> None:
    thing = Resource("g.io", "v1", "things", "Thing")
    assert thing.build_object_path(Key("ns", "a"), "status") == "/apis/g.io/v1/namespaces/ns/things/a/status"
    assert thing.build_collection_path() == "/apis/g.io/v1/things"
    assert NAMESPACES.build_object_path(Key("", "x")) == "/api/v1/namespaces/x"
    assert thing.build_object_path(Key("ns", "../up")).endswith("/..%2Fup")
    with pytest.raises(ValueError, match="needs a namespace"):
        thing.build_object_path(Key("", "a"))


def test_importing_the_client_stays_light() -> None:
    code = "import sys, freehold.kube; print([m for m in ('pydantic', 'yaml', 'rich', 'click') if m in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"
