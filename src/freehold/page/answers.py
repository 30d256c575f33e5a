"""Answers of the live page: JSON, packed where that helps, and problems as sentences."""

from __future__ import annotations

import asyncio
import gzip
import json
from http import HTTPStatus

from aiohttp import web

from freehold.kube.resources import Json

SMALLEST_PACKED = 1024

SAFETY = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Server": "freehold",
}
"""The headers of every answer."""
UNKEPT = {"Cache-Control": "no-store"}
"""The header of every answer that is not a file."""


class Problem(Exception):
    """An answer that is a sentence for people, with its HTTP status."""

    def __init__(self, status: HTTPStatus, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence


def build_problem(status: HTTPStatus, sentence: str) -> web.Response:
    """Build the answer that tells a problem."""
    return web.json_response({"problem": sentence}, status=status)


async def build_json(request: web.Request, body: bytes | Json) -> web.Response:
    """Build an answer of JSON, packed where that helps; a large one is packed in a thread."""
    data = body if isinstance(body, bytes) else dump_json(body)
    headers = {"Vary": "Accept-Encoding"}
    if len(data) >= SMALLEST_PACKED and accepts_gzip(request):
        data = await asyncio.to_thread(gzip.compress, data, 5)
        headers["Content-Encoding"] = "gzip"
    return web.Response(body=data, content_type="application/json", headers=headers)


def dump_json(value: object) -> bytes:
    """Write JSON in its shortest form, in ASCII and without line breaks."""
    return json.dumps(value, separators=(",", ":")).encode()


def accepts_gzip(request: web.Request) -> bool:
    """Return whether the client takes gzip."""
    for each in request.headers.get("Accept-Encoding", "").split(","):
        name, _, quality = each.partition(";")
        if name.strip().lower() == "gzip":
            return quality.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False
