"""Who has no token, or comes by a name that is not the server's, gets nothing but health."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator

import aiohttp
import pytest
from apiserver_testbed import Api, Clock, widget_crd

from freehold_apiserver.server import ApiServer
from freehold_apiserver.store import Store

TOKEN = "a-long-random-token"
WITH_TOKEN = {"Authorization": f"Bearer {TOKEN}"}
UNAUTHORIZED = {
    "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
    "message": "Unauthorized", "reason": "Unauthorized", "code": 401,
}  # fmt: skip
"""As kube-apiserver 1.32 answers."""


@pytest.fixture
async def guarded(clock: Clock) -> AsyncIterator[Api]:
    store = Store.open(":memory:", history=50)
    server = ApiServer(store, [widget_crd()], now=clock, token=TOKEN)
    url = await server.start()
    async with aiohttp.ClientSession() as session:
        yield Api(url, session)
    await server.stop()
    store.close()


def _basic(password: str) -> str:
    return "Basic " + base64.b64encode(f"freehold:{password}".encode()).decode()


async def _code(api: Api, method: str, path: str, **headers: str) -> int:
    async with api.session.request(method, api.url + path, headers=headers, data=b"{}") as answer:
        await answer.read()
        return answer.status


@pytest.mark.parametrize(
    "given",
    ["", TOKEN, f"Bearer {TOKEN}x", "Bearer ", f"Token {TOKEN}", _basic(""), _basic("x"), "Basic !", "Bearer \xe9"],
)
async def test_nothing_is_answered_without_the_token(guarded: Api, given: str) -> None:
    headers = {"Authorization": given} if given else {}
    for method, path in (
        ("GET", "/api/v1/namespaces/default/secrets"), ("GET", "/version"), ("GET", "/api"), ("GET", "/healthzx"),
        ("GET", "/openapi/v3"), ("DELETE", "/api/v1/namespaces/default"), ("POST", "/freehold/batch"),
        ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"),
        ("GET", "/api/v1/namespaces?watch=true"), ("GET", "/nowhere"),
    ):  # fmt: skip
        async with guarded.session.request(method, guarded.url + path, headers=headers, data=b"{}") as answer:
            assert (answer.status, await answer.json()) == (401, UNAUTHORIZED), (method, path)


async def test_health_needs_no_token(guarded: Api) -> None:
    for path in ("/healthz", "/livez", "/readyz", "/readyz/ping"):
        assert await _code(guarded, "GET", path) == 200


@pytest.mark.parametrize("given", [f"Bearer {TOKEN}", f"bearer {TOKEN}", _basic(TOKEN)])
async def test_the_token_opens_everything(guarded: Api, given: str) -> None:
    assert await _code(guarded, "GET", "/api/v1/namespaces", Authorization=given) == 200


async def test_a_page_that_is_led_here_by_its_own_name_gets_nothing(guarded: Api) -> None:
    """DNS rebinding: the browser sends the name of the page."""
    for headers in (
        {"Host": "evil.example:21300"}, {"Host": "localhost.evil.example"}, {"Host": "127.0.0.1.evil.example"},
        {"Origin": "http://evil.example:21300"}, {"Origin": "null"}, {"Origin": "https://localhost.evil.example"},
        {"Host": "evil@["}, {"Host": "192.168.1.5"},
    ):  # fmt: skip
        for path in ("/api/v1/namespaces", "/healthz"):
            assert await _code(guarded, "GET", path, **WITH_TOKEN, **headers) == 403, headers


async def test_names_of_this_machine_are_served(guarded: Api) -> None:
    for headers in ({"Host": "localhost:8080"}, {"Host": "[::1]:1"}, {"Origin": "http://localhost:3000"}, {}):
        assert await _code(guarded, "GET", "/api/v1/namespaces", **WITH_TOKEN, **headers) == 200, headers
