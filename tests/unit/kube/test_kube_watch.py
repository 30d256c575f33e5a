"""List and watch with the faults that made other clients lose events, loop without pause or hang."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web

from freehold.kube.client import KubeClient
from freehold.kube.errors import ServerUnavailable, TooManyRequests
from freehold.kube.resources import CONFIG_MAPS, Json, Key
from freehold.kube.watch import ObjectChange, Origin, Reflector, Synced, WatchState, _read_lines

Seen = ObjectChange | Synced


def thing(name: str, version: int, uid: str = "") -> Json:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "d", "uid": uid or f"uid-{name}", "resourceVersion": str(version)},
    }


def listed(version: int, *items: Json, token: str = "") -> web.Response:
    return web.json_response({"metadata": {"resourceVersion": str(version), "continue": token}, "items": list(items)})


def line(kind: str, obj: Json) -> bytes:
    return json.dumps({"type": kind, "object": obj}).encode() + b"\n"


EXPIRED = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}


class Api:
    """Lists and watches in turn. A watch is a list of byte strings; None at its end keeps it open."""

    def __init__(self, lists: list[web.Response], watches: list[list[bytes | None] | web.Response]) -> None:
        self.lists, self.watches = lists, watches
        self.watched_from: list[str] = []
        self.limits: list[str] = []
        self.queries: list[dict[str, str]] = []

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        if request.query.get("watch") != "true":
            self.limits.append(request.query.get("limit", ""))
            return self.lists.pop(0)
        self.watched_from.append(request.query["resourceVersion"])
        self.queries.append(dict(request.query))
        script = self.watches.pop(0) if self.watches else [None]
        if isinstance(script, web.Response):
            return script
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for part in script:
            if part is None:
                await asyncio.Event().wait()
            elif part == b"ABORT":
                assert request.transport is not None
                request.transport.abort()
                break
            else:
                await response.write(part)
        return response


async def take(changes: AsyncIterator[Seen], count: int) -> list[Seen]:
    found: list[Seen] = []
    async with asyncio.timeout(120):
        while len(found) < count:
            found.append(await anext(changes))
    return found


def told(seen: list[Seen]) -> list[str]:
    """Short forms: +name, ~name, -name, and = for synced."""
    words = []
    for each in seen:
        if isinstance(each, Synced):
            words.append("=")
        else:
            words.append(("-" if each.new is None else "+" if each.old is None else "~") + each.key.name)
    return words


async def follow(
    scripted: Any, client: KubeClient, api: Api, count: int, **options: Any
) -> tuple[list[str], Reflector]:
    scripted.handler = api
    reflector = Reflector(client, CONFIG_MAPS, sleep=scripted.nap, **options)
    changes = reflector.follow_changes()
    seen = await take(changes, count)
    await changes.aclose()
    return told(seen), reflector


async def test_resumes_at_last_version_after_clean_end(scripted: Any, client: KubeClient) -> None:
    api = Api([listed(5, thing("a", 3))], [[line("ADDED", thing("b", 6))], [line("MODIFIED", thing("a", 7)), None]])
    words, reflector = await follow(scripted, client, api, 4)
    assert words == ["+a", "=", "+b", "~a"]
    assert api.watched_from == ["5", "6"]
    assert reflector.objects[Key("d", "a")]["metadata"]["resourceVersion"] == "7"


async def test_bookmark_moves_resume_point(scripted: Any, client: KubeClient) -> None:
    """A quiet resource must not age out of the server's history."""
    bookmark = {"metadata": {"resourceVersion": "90"}}
    api = Api([listed(5)], [[line("BOOKMARK", bookmark)], [line("ADDED", thing("b", 91)), None]])
    words, _ = await follow(scripted, client, api, 2)
    assert words == ["=", "+b"]
    assert api.watched_from == ["5", "90"]
    assert api.queries[0]["allowWatchBookmarks"] == "true"
    assert 240 <= int(api.queries[0]["timeoutSeconds"]) <= 300


@pytest.mark.parametrize("how", ["http status", "error event", "restored backup"])
async def test_an_expired_version_causes_a_list_that_reports_deleted_objects(
    how: str, scripted: Any, client: KubeClient, status: Callable[..., web.Response]
) -> None:
    too_large = {"causes": [{"reason": "ResourceVersionTooLarge"}]}
    failing: dict[str, list[bytes | None] | web.Response] = {
        "http status": status(410, "Expired"),
        "error event": [line("ERROR", EXPIRED)],
        "restored backup": web.json_response({"code": 504, "message": "x", "details": too_large}, status=504),
    }
    api = Api([listed(5, thing("a", 3), thing("b", 4)), listed(20, thing("b", 4))], [failing[how], [None]])
    words, reflector = await follow(scripted, client, api, 6)
    assert words == ["+a", "+b", "=", "~b", "-a", "="]
    assert set(reflector.objects) == {Key("d", "b")}
    assert scripted.naps, "a relist after 410 is never immediate"


async def test_endless_410_does_not_loop_hot(
    scripted: Any, client: KubeClient, status: Callable[..., web.Response]
) -> None:
    api = Api([listed(5) for _ in range(6)], [status(410, "Gone") for _ in range(6)])
    await follow(scripted, client, api, 3)
    # Each list succeeds, so each failure is a first one; but each has its wait.
    assert all(nap >= 0.4 for nap in scripted.naps) and len(scripted.naps) >= 2


@pytest.mark.parametrize(
    "broken",
    [[b'{"type":"ADDED","obj'], [b"not json\n", None], [b"ABORT"], [b'{"type":"ADDED"}\n', None], [b"[1]\n", None]],
    ids=["cut off at the end", "garbage line", "connection reset", "no object", "not an event"],
)
async def test_broken_stream_resumes_without_loss(broken: Any, scripted: Any, client: KubeClient) -> None:
    first = [line("ADDED", thing("b", 6)), *broken]
    api = Api([listed(5)], [first, [line("ADDED", thing("c", 7)), None]])
    words, _ = await follow(scripted, client, api, 3)
    assert words == ["=", "+b", "+c"]
    assert api.watched_from == ["5", "6"]


async def test_error_event_other_than_410_resumes(scripted: Any, client: KubeClient) -> None:
    broken = {"kind": "Status", "code": 500, "message": "etcd"}
    api = Api([listed(5)], [[line("ERROR", broken)], [line("ADDED", thing("c", 7)), None]])
    words, _ = await follow(scripted, client, api, 2)
    assert words == ["=", "+c"]
    assert api.watched_from == ["5", "5"]


async def test_a_silent_stream_is_closed(scripted: Any, client: KubeClient) -> None:
    """A half-open connection hung another client for ever."""
    api = Api([listed(5)], [[None], [line("ADDED", thing("c", 7)), None]])
    words, _ = await follow(scripted, client, api, 2, watch_seconds=(1, 1), idle_margin=-0.9)
    assert words == ["=", "+c"]


async def test_line_longer_than_any_buffer(scripted: Any, client: KubeClient) -> None:
    big = thing("big", 6) | {"data": {"x": "y" * 1_500_000}}
    whole = line("ADDED", big)
    api = Api([listed(5)], [[whole[:700_000], whole[700_000:], None]])
    words, reflector = await follow(scripted, client, api, 2)
    assert words == ["=", "+big"]
    assert len(reflector.objects[Key("d", "big")]["data"]["x"]) == 1_500_000


async def test_what_is_listed_again_and_equal_keeps_the_object_and_equal_texts_are_one(
    scripted: Any, client: KubeClient
) -> None:
    """A thousand objects would be in memory twice, and each with its own copy of what all of them say."""
    kept, changed = thing("a", 3), thing("b", 4)
    api = Api([listed(5, kept, changed), listed(9, kept, thing("b", 8))], [[line("ERROR", EXPIRED)], [None]])
    scripted.handler = api
    reflector = Reflector(client, CONFIG_MAPS, sleep=scripted.nap)
    changes = reflector.follow_changes()
    await take(changes, 3)
    first, second = (reflector.objects[Key("d", name)] for name in ("a", "b"))
    assert first["metadata"]["namespace"] is second["metadata"]["namespace"]
    assert told(await take(changes, 3)) == ["~a", "~b", "="]
    await changes.aclose()
    assert reflector.objects[Key("d", "a")] is first
    assert reflector.objects[Key("d", "b")]["metadata"]["resourceVersion"] == "8"


async def test_an_object_deleted_and_created_in_the_gap_is_two_objects(
    scripted: Any, client: KubeClient, status: Callable[..., web.Response]
) -> None:
    """Same name, another uid: state of the first must not count for the second."""
    api = Api([listed(5, thing("a", 3)), listed(20, thing("a", 19, uid="second"))], [status(410), [None]])
    words, _ = await follow(scripted, client, api, 5)
    assert words == ["+a", "=", "-a", "+a", "="]


async def test_lost_event_is_repaired_by_resync(scripted: Any, client: KubeClient) -> None:
    """The server "forgets" b's event (docs/reference/kubernetes.md#watching); the next list brings it."""
    clock = [0.0]
    api = Api(
        [listed(5), listed(9, thing("b", 6))], [[line("BOOKMARK", {"metadata": {"resourceVersion": "9"}})], [None]]
    )
    scripted.handler = api

    async def nap(_: float) -> None:
        clock[0] += 1000.0

    reflector = Reflector(client, CONFIG_MAPS, sleep=nap, now=lambda: clock[0], resync=600.0)
    changes = reflector.follow_changes()
    assert told(await take(changes, 3)) == ["=", "+b", "="]
    await changes.aclose()


async def test_watch_starts_at_first_page_when_pages_disagree(scripted: Any, client: KubeClient) -> None:
    api = Api([listed(5, thing("a", 3), token="next"), listed(8, thing("b", 4))], [[None]])
    scripted.handler = api
    reflector = Reflector(client, CONFIG_MAPS, sleep=scripted.nap)
    changes = reflector.follow_changes()
    seen = await take(changes, 3)
    assert told(seen) == ["+a", "+b", "="] and isinstance(seen[-1], Synced)
    assert seen[-1].resource_version == "5"
    await changes.aclose()


async def test_a_list_whose_pages_expire_is_read_in_one_piece(
    scripted: Any, client: KubeClient, status: Callable[..., web.Response]
) -> None:
    api = Api([listed(5, thing("a", 3), token="next"), status(410, "Expired"), listed(9, thing("a", 3))], [[None]])
    words, _ = await follow(scripted, client, api, 3)
    assert words == ["+a", "~a", "="]
    assert api.limits == ["500", "500", ""]


async def test_resource_not_served_is_absent_until_it_is(
    scripted: Any, client: KubeClient, status: Callable[..., web.Response]
) -> None:
    """Cluster API may be installed later (docs/reference/capi-contract.md C20)."""
    states: list[WatchState] = []
    api = Api([status(404, "NotFound"), status(404, "NotFound"), listed(5)], [[None]])
    scripted.handler = api
    reflector = Reflector(client, CONFIG_MAPS, sleep=scripted.nap)
    reflector.on_state = lambda: states.append(reflector.state)
    changes = reflector.follow_changes()
    assert told(await take(changes, 1)) == ["="]
    assert states == [WatchState.ABSENT, WatchState.ABSENT, WatchState.SYNCED]
    await changes.aclose()


@pytest.mark.parametrize("code", [401, 403, 500, 503])
async def test_refused_or_broken_is_failing_never_absent(
    code: int, scripted: Any, client: KubeClient, status: Callable[..., web.Response]
) -> None:
    """docs/reference/capi-contract.md C19: unknown is not absent."""
    api = Api([status(code), status(code), listed(5)], [[None]])
    scripted.handler = api
    states: list[WatchState] = []
    reflector = Reflector(client, CONFIG_MAPS, sleep=scripted.nap)
    reflector.on_state = lambda: states.append(reflector.state)
    changes = reflector.follow_changes()
    await take(changes, 1)
    await changes.aclose()
    assert WatchState.ABSENT not in states and states[-1] is WatchState.SYNCED
    assert states[0] is (WatchState.REFUSED if code == 403 else WatchState.FAILING)
    assert reflector.problem == ""


async def test_a_server_that_is_down_is_waited_for(
    scripted: Any, client: KubeClient, within: Callable[[Awaitable[Any]], Awaitable[Any]]
) -> None:
    scripted.handler = Api([listed(5)], [[None]])
    async with KubeClient(type(client.connection)("http://127.0.0.1:1")) as nobody:
        tried = asyncio.Event()

        async def nap(_: float) -> None:
            tried.set()
            await asyncio.Event().wait()

        reflector = Reflector(nobody, CONFIG_MAPS, sleep=nap)
        task = asyncio.ensure_future(anext(reflector.follow_changes()))
        await within(tried.wait())
        assert reflector.state is WatchState.FAILING
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_changes_of_the_real_server(embedded: KubeClient) -> None:
    """List, watch, patch and delete of the embedded server, as the reflector reports them."""

    def config_map(name: str) -> Json:
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}

    await embedded.create(CONFIG_MAPS, config_map("a"))
    reflector = Reflector(embedded, CONFIG_MAPS)
    changes = reflector.follow_changes()
    assert told(await take(changes, 2)) == ["+a", "="]
    await embedded.create(CONFIG_MAPS, config_map("b"))
    await embedded.patch(CONFIG_MAPS, Key("default", "a"), {"data": {"x": "1"}})
    await embedded.delete(CONFIG_MAPS, Key("default", "b"))
    seen = await take(changes, 3)
    assert told(seen) == ["+b", "~a", "-b"]
    assert all(isinstance(each, ObjectChange) and each.origin is Origin.WATCH for each in seen)
    assert set(reflector.objects) == {Key("default", "a")}
    await changes.aclose()


async def test_a_server_that_is_down_is_called_less_and_less_often(client: KubeClient) -> None:
    """The interval grows to half a minute; a wait that the server asks for is respected."""
    reflector = Reflector(client, CONFIG_MAPS)
    waits = [reflector._choose_delay(ServerUnavailable("no connection")) for _ in range(12)]
    assert waits[0] < 1.0
    assert 20.0 < waits[-1] < 40.0
    assert reflector._choose_delay(TooManyRequests("slow down", retry_after=90.0)) == 90.0


async def test_events_in_several_chunks_are_joined() -> None:
    """A chunk may end anywhere: inside an event or after one."""

    class Content:
        async def iter_any(self) -> AsyncIterator[bytes]:
            for chunk in (b"one\ntw", b"o\nthr", b"e", b"e\n", b"cut off"):
                yield chunk

    assert [line async for line in _read_lines(Content())] == [b"one", b"two", b"three"]  # type: ignore[arg-type]  # a stand-in for a reply
