"""The page's server on real HTTP: who is answered, with what, and who is hung up on."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from freehold.page import server as servers
from freehold.page.assets import load_assets
from freehold.page.gate import TokenGate
from harness.page_feed import WIDGETS, widget
from harness.page_server import SECONDS, ServedFeed, serve_feed

TOKEN = "a-token-that-nobody-guesses"
_WIDGET = (WIDGETS, None, widget("one"))


@pytest.fixture
def static(tmp_path: Path) -> Path:
    (tmp_path / "secret.txt").write_text("not of the page")
    folder = tmp_path / "static"
    (folder / "vendor").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>Freehold</title>" + " " * 2000)
    (folder / "app.js").write_text("export const one = 1;\n")
    (folder / "vendor" / "graph.js").write_text("export const two = 2;\n")
    (folder / "notes.py").write_text("no file of the page")
    return folder


@pytest_asyncio.fixture
async def page(static: Path) -> AsyncIterator[ServedFeed]:
    gate = TokenGate(TOKEN, "ask the owner")
    async with serve_feed(gate, load_assets(static), loopback_only=True) as served:
        served.token = TOKEN
        yield served


async def send(page: ServedFeed, text: bytes) -> bytes:
    """Send bytes as they are, and return all that comes back until the server hangs up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", page.port)
    try:
        writer.write(text)
        async with asyncio.timeout(SECONDS):
            return await reader.read()
    finally:
        writer.close()


async def test_the_token_is_asked_for(page: ServedFeed) -> None:
    for path in ("session", "objects", "stream", "objects/Widget/a/b", "objects/Widget/a/b/deletion", "tags", "audit"):
        async with page.session.get(f"{page.url}/api/{path}") as answer:
            assert (answer.status, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
            assert await answer.json() == {"problem": "a token is needed: ask the owner"}
    async with page.session.get(f"{page.url}/api/session", headers=page.headers("wrong")) as answer:
        assert (answer.status, await answer.json()) == (401, {"problem": "the token is wrong: ask the owner"})
    async with page.session.get(f"{page.url}/api/session", headers=page.headers()) as answer:
        assert (answer.status, (await answer.json())["viewer"]) == (200, "the owner of the state directory")


@pytest.mark.parametrize(
    "given", [f"Basic {TOKEN}", TOKEN, "Bearer", f"Bearer {TOKEN} {TOKEN}", f"Bearer {TOKEN}x", "é"]
)
async def test_another_form_of_token_is_refused(page: ServedFeed, given: str) -> None:
    async with page.session.get(f"{page.url}/api/session", headers={"Authorization": given}) as answer:
        assert answer.status == 401


async def test_two_tokens_are_refused(page: ServedFeed) -> None:
    head = f"GET /api/session HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {TOKEN}\r\n"
    assert b" 401 " in (await send(page, f"{head}Authorization: Bearer x\r\n\r\n".encode())).partition(b"\r\n")[0]


@pytest.mark.parametrize("path", ["/?token=x", "/api/session?access_token=x", "/static/app.js?token=x"])
async def test_a_token_in_the_address_is_refused(page: ServedFeed, path: str) -> None:
    async with page.session.get(f"{page.url}{path}", headers=page.headers()) as answer:
        assert answer.status == 400
        assert "Authorization: Bearer TOKEN" in (await answer.json())["problem"]


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PURGE"])
async def test_only_reads_are_answered(page: ServedFeed, method: str) -> None:
    for path in ("/", "/api/session", "/api/objects/Widget/a/b"):
        async with page.session.request(method, f"{page.url}{path}", headers=page.headers(), data=b"x") as answer:
            assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD")


async def test_a_head_is_a_get_without_body(page: ServedFeed) -> None:
    for path in ("/", "/static/app.js", "/api/session", "/api/stream"):
        async with page.session.head(f"{page.url}{path}", headers=page.headers()) as answer:
            assert (answer.status, await answer.read()) == (200, b"")


async def test_each_answer_is_guarded(page: ServedFeed) -> None:
    paths = {
        "/": 200,
        "/static/app.js": 200,
        "/nothing": 404,
        "/api/session": 200,
        "/api/tags": 500,
        "/api/stream": 200,
    }
    for path, status in paths.items():
        async with page.session.get(f"{page.url}{path}", headers=page.headers()) as answer:
            assert answer.status == status
            assert answer.headers["Content-Security-Policy"] == (
                "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
                "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
            )
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["Referrer-Policy"] == "no-referrer"
            assert answer.headers["Cross-Origin-Opener-Policy"] == "same-origin"
            assert answer.headers["Server"] == "freehold"
            assert answer.headers["Cache-Control"] == ("no-cache" if path in ("/", "/static/app.js") else "no-store")
            assert not any(name.lower().startswith("access-control-") for name in answer.headers)


async def test_a_defect_is_logged_and_not_shown(page: ServedFeed, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        async with page.session.get(f"{page.url}/api/tags", headers=page.headers()) as answer:
            text = await answer.text()
    assert json.loads(text) == {"problem": "the page has a defect: the operator's log tells more"}
    assert "ZeroDivisionError" in caplog.text
    assert TOKEN not in caplog.text


# --- files -------------------------------------------------------------------------------------


async def test_files_are_found_by_their_whole_names(page: ServedFeed) -> None:
    for path, kind in (
        ("/", "text/html"), ("/static/index.html", "text/html"), ("/static/app.js", "text/javascript"),
        ("/static/vendor/graph.js", "text/javascript"),
    ):  # fmt: skip
        async with page.session.get(f"{page.url}{path}") as answer:
            assert (answer.status, answer.content_type) == (200, kind)


@pytest.mark.parametrize(
    "path",
    ["/static/../secret.txt", "/static/%2e%2e/secret.txt", "/static/..%2fsecret.txt", "/static/vendor/../../secret.txt",
     "/static//etc/passwd", "/static/", "/static", "/static/vendor", "/static/notes.py", "/static/%00",
     "/static/app.js%00", "/static/.", "//etc/passwd", "/..", "/static/vendor%5c..%5capp.js"],
)  # fmt: skip
async def test_nothing_else_is_found(page: ServedFeed, path: str) -> None:
    answer = await send(page, f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    assert answer.partition(b"\r\n")[0].split()[1] in (b"404", b"400")
    assert b"not of the page" not in answer


async def test_a_file_is_packed_and_known_again_by_its_tag(page: ServedFeed) -> None:
    async with page.session.get(f"{page.url}/", headers={"Accept-Encoding": "gzip"}, auto_decompress=False) as answer:  # type: ignore[call-arg]  # it is taken, and its types lack it
        packed = await answer.read()
    assert answer.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed).startswith(b"<!doctype html>")
    known = {"If-None-Match": answer.headers["ETag"], "Accept-Encoding": "gzip"}
    async with page.session.get(f"{page.url}/", headers=known) as again:
        assert (again.status, await again.read()) == (304, b"")
    async with page.session.get(f"{page.url}/", headers={**known, "Accept-Encoding": "identity"}) as plain:
        assert (plain.status, "Content-Encoding" in plain.headers) == (200, False)
        assert (await plain.read()).startswith(b"<!doctype html>")


async def test_json_is_packed_for_whoever_takes_it(page: ServedFeed) -> None:
    lengths = []
    for accepted in ("gzip, br", "identity", "gzip;q=0"):
        headers = {**page.headers(), "Accept-Encoding": accepted}
        async with page.session.get(f"{page.url}/api/session", headers=headers) as answer:
            assert (await answer.json())["viewer"]
            lengths.append(int(answer.headers["Content-Length"]))
    assert lengths[0] < 500 < 4000 < lengths[1] == lengths[2]


# --- strangers ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "localhost.evil.example", "10.0.0.1", "[::2]", "127.0.0.1.", "a b"]
)
async def test_a_name_that_somebody_lets_lead_here_is_refused(page: ServedFeed, host: str) -> None:
    for path in ("/", "/api/session"):
        head = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
        assert b" 200 " not in (await send(page, head.encode())).partition(b"\r\n")[0]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:1", "[::1]:8080", "127.8.8.8"])
async def test_names_of_this_machine_are_answered(page: ServedFeed, host: str) -> None:
    head = f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    assert (await send(page, head.encode())).startswith(b"HTTP/1.1 200 ")


async def test_a_page_of_a_stranger_is_refused(page: ServedFeed) -> None:
    headers = {**page.headers(), "Origin": "http://evil.example"}
    async with page.session.get(f"{page.url}/api/session", headers=headers) as answer:
        assert answer.status == 403


async def test_a_request_without_host_is_refused(page: ServedFeed) -> None:
    head = f"GET /api/session HTTP/1.0\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
    assert (await send(page, head.encode())).partition(b"\r\n")[0].split()[1] in (b"400", b"403")


@pytest.mark.parametrize(
    "text",
    [
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + TOKEN.encode() + b"b" * 100_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"x: y\r\n" * 1000 + b"\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET http://[bad/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"G\x00T / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
    ],
)
async def test_what_is_no_request_is_refused_and_not_logged(
    page: ServedFeed, text: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        answer = await send(page, text)
    assert answer == b"" or answer.partition(b"\r\n")[0].split()[1] in (b"400", b"403", b"431", b"505", b"404")
    assert b"Traceback" not in answer
    assert TOKEN not in caplog.text
    assert "Traceback" not in caplog.text
    async with page.session.get(f"{page.url}/") as alive:
        assert alive.status == 200


async def test_whoever_says_nothing_is_hung_up_on(page: ServedFeed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "HEAD_SECONDS", 0.05)
    for said in (b"", b"GET / HTTP/1.1\r\nHost: loc"):
        assert await send(page, said) == b""


async def test_whoever_asks_is_not_hung_up_on(page: ServedFeed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "HEAD_SECONDS", 0.05)
    async with page.stream() as events:
        assert await events.read() == ("reset", "{}")
        assert await send(page, b"") == b""
        with page.feed.watch():
            page.feed.note(*_WIDGET)
        assert (await events.read())[0] == "rows"


@pytest.mark.parametrize("said", [b"", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"])
async def test_idle_connections_keep_nobody_out(page: ServedFeed, said: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "MOST_CONNECTIONS", 10)
    idle = []
    for _ in range(30):
        idle.append(await asyncio.open_connection("127.0.0.1", page.port))
        idle[-1][1].write(said)
        if said:
            assert (await idle[-1][0].readline()).startswith(b"HTTP/1.1 200 ")
    async with page.session.get(f"{page.url}/") as answer:
        assert answer.status == 200
    async with asyncio.timeout(SECONDS):
        for reader, _ in idle[:15]:
            with contextlib.suppress(ConnectionResetError):
                await reader.read()
    for _, writer in idle:
        writer.close()


async def test_a_stream_is_not_idle(page: ServedFeed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "MOST_CONNECTIONS", 2)
    async with page.stream() as events:
        assert await events.read() == ("reset", "{}")
        for _ in range(5):
            async with page.session.get(f"{page.url}/", headers={"Connection": "close"}) as answer:
                assert answer.status == 200
        page.feed.note(*_WIDGET)
        assert (await events.read())[0] == "rows"


async def test_whoever_does_not_take_an_answer_is_hung_up_on(page: ServedFeed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "ANSWER_SECONDS", 0.05)
    answer = await send(page, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200 ")
