"""The client without an event loop sends and says what the other one does."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import closing
from typing import Any

import pytest
from aiohttp import web

from freehold.kube.blocking import BlockingClient
from freehold.kube.client import KubeClient
from freehold.kube.config import Connection
from freehold.kube.errors import KubeError
from freehold.kube.object_client import ObjectClient
from freehold.kube.resources import CONFIG_MAPS, Json, Key
from freehold.kube.stepping import run_blocking

A = Key("default", "a")
MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}


async def outcome(ask: Callable[[ObjectClient], Awaitable[Any]], client: ObjectClient) -> tuple[object, ...]:
    """What comes of a request: the answer, or everything that its error says."""
    try:
        return (await ask(client),)
    except KubeError as problem:
        return type(problem), problem.message, problem.code, problem.reason, problem.retry_after


async def both(ask: Callable[[ObjectClient], Awaitable[Any]], url: str) -> list[tuple[object, ...]]:
    """The outcome with each client."""

    def blocking() -> tuple[object, ...]:
        with closing(BlockingClient(url, timeout=1.0)) as client:
            return run_blocking(outcome(ask, client))

    async with KubeClient(Connection(url), timeout=1.0) as client:
        return [await outcome(ask, client), await asyncio.to_thread(blocking)]


async def get(client: ObjectClient) -> Json:
    return await client.get(CONFIG_MAPS, A)


@pytest.mark.parametrize(
    "answer",
    [
        web.json_response({"message": "not here", "reason": "NotFound", "code": 404}, status=404),
        web.json_response({"message": "who?", "reason": "Unauthorized", "code": 401}, status=401),
        web.Response(status=502, text="<html>Bad Gateway</html>"),
        web.Response(status=302, headers={"Location": "http://elsewhere/"}),
        web.Response(text="<html>please log in</html>"),
        web.Response(text="[]"),
        web.Response(),
        web.Response(status=503, headers={"Retry-After": "3600"}),
    ],
    ids=["not found", "unauthorized", "proxy page", "redirect", "portal", "no object", "empty", "long wait"],
)
async def test_an_answer_means_the_same_to_both_clients(answer: web.Response, scripted: Any) -> None:
    scripted.answers(answer)
    first, second = await both(get, scripted.url)
    assert first == second


async def test_both_ask_for_another_form_of_the_answer(scripted: Any) -> None:
    async def as_asked(request: web.Request) -> web.Response:
        return web.json_response({"accept": request.headers["Accept"]})

    scripted.handler = as_asked
    for accept, sent in (("application/json;as=Table", "application/json;as=Table"), ("", "application/json")):

        async def ask(client: ObjectClient, accept: str = accept) -> Json:
            return await client.request("GET", "/api/v1/events", accept=accept)

        assert await both(ask, scripted.url) == [({"accept": sent},), ({"accept": sent},)]


async def test_a_server_that_is_not_there_is_named_by_the_same_sentence() -> None:
    first, second = await both(get, "http://127.0.0.1:9")
    assert first == second
    assert first[1] == (
        "GET /api/v1/namespaces/default/configmaps/a: http://127.0.0.1:9 cannot be reached: Connection refused"
    )


async def test_a_server_that_hangs_up_or_is_silent_is_named_by_the_same_sentence(scripted: Any) -> None:
    async def hang_up(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    async def silent(request: web.Request) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    async def write(client: ObjectClient) -> Json:
        return await client.create(CONFIG_MAPS, MAP)

    for scripted.handler in (hang_up, silent):
        first, second = await both(write, scripted.url)
        assert first == second


async def test_both_clients_send_the_same_requests(scripted: Any) -> None:
    """The server takes the name of the field manager from the User-Agent, and the media type from Content-Type."""
    scripted.answers(web.json_response({"items": [], "metadata": {}}))

    async def ask(client: ObjectClient) -> None:
        await client.list(CONFIG_MAPS, "a b", label_selector="x in (1,2)")
        await client.create(CONFIG_MAPS, MAP)
        await client.patch(CONFIG_MAPS, A, {"data": {"é": None}})
        await client.delete(CONFIG_MAPS, A, uid="u")

    await both(ask, scripted.url)
    names = ("Accept", "Content-Type", "User-Agent", "Host")
    sent = [(r.method, r.path_qs, await r.read(), *(r.headers.get(n) for n in names)) for r in scripted.requests]
    assert sent[:4] == sent[4:]


async def test_a_read_waits_as_long_as_the_server_says(
    scripted: Any, status: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted.answers(status(503, headers={"Retry-After": "3"}), web.json_response({"metadata": {"name": "a"}}))
    naps: list[float] = []
    monkeypatch.setattr("time.sleep", naps.append)

    def read() -> Json:
        with closing(BlockingClient(scripted.url)) as client:
            return run_blocking(get(client))

    assert (await asyncio.to_thread(read))["metadata"]["name"] == "a"
    assert [int(each) for each in naps] == [3]


def test_a_coroutine_that_needs_an_event_loop_is_refused() -> None:
    with pytest.raises(RuntimeError, match="waits for an event loop"):
        run_blocking(asyncio.sleep(0))


def test_it_imports_neither_aiohttp_nor_asyncio() -> None:
    """That is what it is for: the import of aiohttp costs more than all else that `freehold get` does."""
    code = "import sys, freehold.kube.blocking; print({'aiohttp', 'asyncio', 'yaml'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
