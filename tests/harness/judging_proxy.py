"""A proxy in front of an API server that judges each request by Roles, as kube-apiserver's RBAC would.

It answers what is refused itself, passes the rest on, streams watches, and records which rights were used. With
``users`` it also answers reviews, for a server that knows no users.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

import aiohttp
from aiohttp import web
from yarl import URL

from harness.cluster_users import ClusterUsers, Json
from harness.rbac import Attributes, Right, explain_refusal, find_right, parse_request

APPLY = "application/apply-patch+yaml"
_PASSED_ON = ("Accept", "Content-Type")
_START_SECONDS = 60.0


@dataclass
class Verdicts:
    """What was judged so far: the rights that were used, and the requests that were refused."""

    used: set[Right] = field(default_factory=set)
    refused: list[Attributes] = field(default_factory=list)


class JudgingProxy:
    """A proxy for one account, ``user``. ``rights`` may be replaced while it runs."""

    def __init__(self, upstream: str, rights: Iterable[Right], user: str, users: ClusterUsers | None = None) -> None:
        self.url = ""
        self.rights = tuple(rights)
        self.before: Callable[[Attributes], None] = lambda asked: None
        """Called with each request that is passed on."""
        self.verdicts = Verdicts()
        self._upstream = upstream
        self._user = user
        self._users = users
        self._following: set[asyncio.Task[object]] = set()

    @property
    def unused(self) -> list[Right]:
        """The rights that no request has needed so far."""
        return sorted(set(self.rights) - self.verdicts.used)

    @contextlib.contextmanager
    def running(self) -> Iterator[JudgingProxy]:
        """Serve in a thread with a loop of its own."""
        with contextlib.ExitStack() as stack:
            loop = asyncio.new_event_loop()
            stack.callback(loop.close)
            thread = threading.Thread(target=loop.run_forever, name="judging proxy")
            thread.start()
            stack.callback(thread.join, _START_SECONDS)
            stack.callback(loop.call_soon_threadsafe, loop.stop)
            session, runner = asyncio.run_coroutine_threadsafe(self._start(), loop).result(_START_SECONDS)
            try:
                yield self
            finally:
                asyncio.run_coroutine_threadsafe(self._end(session, runner), loop).result(_START_SECONDS)

    def hang_up(self) -> None:
        """End all requests that are open, also watches: only then do other rights count for them."""
        for each in list(self._following):
            each.get_loop().call_soon_threadsafe(each.cancel)

    async def _start(self) -> tuple[aiohttp.ClientSession, web.AppRunner]:
        connector = aiohttp.TCPConnector(limit=0)
        session = aiohttp.ClientSession(
            connector=connector, auto_decompress=False, timeout=aiohttp.ClientTimeout(total=None)
        )

        async def serve(request: web.BaseRequest) -> web.StreamResponse:
            return await self._serve(session, request)

        runner = web.ServerRunner(web.Server(serve), shutdown_timeout=0.0)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        return session, runner

    async def _end(self, session: aiohttp.ClientSession, runner: web.ServerRunner) -> None:
        for each in self._following:
            each.cancel()
        await asyncio.gather(*self._following, return_exceptions=True)
        await runner.cleanup()
        await session.close()

    async def _serve(self, session: aiohttp.ClientSession, request: web.BaseRequest) -> web.StreamResponse:
        for asked in await self._find_needed(session, request):
            right = find_right(self.rights, asked)
            if right is None:
                self.verdicts.refused.append(asked)
                return web.json_response(explain_refusal(asked, self._user), status=403)
            self.verdicts.used.add(right)
            self.before(asked)
        if self._users is not None and request.method == "POST":
            answer = await self._answer_review(session, request, self._users)
            if answer is not None:
                return web.json_response(answer, status=201)
        return await self._pass_on(session, request)

    async def _answer_review(
        self, session: aiohttp.ClientSession, request: web.BaseRequest, users: ClusterUsers
    ) -> Json | None:
        async def read(path: str) -> Json | None:
            async with session.get(self._upstream_url(path)) as found:
                return await found.json() if found.status == 200 else None

        if request.content_type != "application/json":
            return None
        return await users.answer(request.path, await request.json(), read)

    async def _find_needed(self, session: aiohttp.ClientSession, request: web.BaseRequest) -> list[Attributes]:
        """Find what must be allowed: an apply of an object that is not there needs ``create``, too."""
        asked = parse_request(request.method, request.path, request.query)
        if asked.verb != "patch" or request.content_type != APPLY:
            return [asked]
        async with session.get(self._upstream_url(request.rel_url.path)) as found:
            return [asked] if found.status != 404 else [asked, replace(asked, verb="create")]

    async def _pass_on(self, session: aiohttp.ClientSession, request: web.BaseRequest) -> web.StreamResponse:
        task = asyncio.current_task()
        assert task is not None
        self._following.add(task)
        try:
            return await self._stream(session, request)
        except aiohttp.ClientError:  # the server behind is away: so is this one
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=502)
        finally:
            self._following.discard(task)

    async def _stream(self, session: aiohttp.ClientSession, request: web.BaseRequest) -> web.StreamResponse:
        headers = {name: request.headers[name] for name in _PASSED_ON if name in request.headers}
        data = await request.read()
        url = self._upstream_url(request.raw_path)
        async with session.request(request.method, url, headers=headers, data=data or None) as found:
            kept = {name: found.headers[name] for name in ("Content-Type", "Retry-After") if name in found.headers}
            response = web.StreamResponse(status=found.status, headers=kept)
            with contextlib.suppress(ConnectionError):  # whoever asked has gone
                await response.prepare(request)
                async for chunk in found.content.iter_any():
                    await response.write(chunk)
                await response.write_eof()
            return response

    def _upstream_url(self, raw_path: str) -> URL:
        return URL(self._upstream.rstrip("/") + raw_path, encoded=True)


def without(rights: Iterable[Right], refused: Callable[[Right], bool]) -> tuple[Right, ...]:
    """Leave out the rights for which ``refused`` is true."""
    return tuple(each for each in rights if not refused(each))
