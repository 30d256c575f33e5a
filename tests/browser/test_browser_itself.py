"""What the browser of these tests notices of a page that does what ours may not."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from harness.browser import Browser

pytestmark = pytest.mark.slow

WRONG = b"""<!doctype html><html lang=en><title>Wrong</title><main><h1>Wrong</h1><img src='/missing.png'>
<script>document.title = 'ran'</script><link rel=stylesheet href='http://192.0.2.1/style.css'>
<script src='/late.js'></script></main>"""
LATE = b"setTimeout(() => { document.querySelector('h1').textContent = 'Done'; throw new Error('broken'); }, 1)"


class _Wrong(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body, kind = (LATE, "text/javascript") if self.path == "/late.js" else (WRONG, "text/html")
        self.send_response(404 if self.path.endswith(".png") else 200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Security-Policy", "default-src 'self'; style-src *")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing to tell."""


@pytest.fixture
def wrong() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Wrong) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_errors_breaches_and_requests_to_elsewhere_are_noticed(chromium: Browser, wrong: str) -> None:
    with pytest.raises(AssertionError) as noticed, chromium.viewer() as viewer:
        viewer.open(wrong)
        viewer.sees("Done", "h1")
    told = str(noticed.value)
    assert "Executing inline script violates" in told and "Error: broken" in told
    assert "a request that leaves" in told and "http://192.0.2.1/style.css" in told and "404" in told


def test_a_complaint_is_the_viewer_s_who_has_it(chromium: Browser, wrong: str) -> None:
    with chromium.viewer() as innocent:
        innocent.open("about:blank")
        with chromium.viewer(expected=["."]) as viewer:
            viewer.open(wrong)
            viewer.sees("Done", "h1")


def test_barriers_are_found(chromium: Browser, wrong: str, axe: str) -> None:
    with chromium.viewer(expected=["."]) as viewer:
        viewer.open(wrong)
        viewer.sees("Done", "h1")
        assert any(each.startswith("image-alt:") for each in viewer.find_barriers(axe))
