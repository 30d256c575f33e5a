"""The files of the front end, read once from the package: only these are served, by their whole names."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable

INDEX = "index.html"

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".md": "text/plain; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}
_PACKED = (".ico", ".png", ".woff2")


@dataclass(frozen=True)
class Asset:
    """A file as it is sent. ``packed`` is its gzip form, empty where that saves nothing."""

    body: bytes
    packed: bytes
    content_type: str
    tag: str
    """The strong ETag, a hash of the body."""


def load_assets(folder: Traversable | None = None) -> Mapping[str, Asset]:
    """Read the files of a folder, by default the package's own, by their paths in it."""
    root = folder if folder is not None else resources.files("freehold.page") / "static"
    return {name: _build_asset(name, file.read_bytes()) for name, file in _walk(root, "")} if root.is_dir() else {}


def _walk(folder: Traversable, prefix: str) -> Iterator[tuple[str, Traversable]]:
    for each in folder.iterdir():
        if each.is_dir():
            yield from _walk(each, f"{prefix}{each.name}/")
        elif _find_ending(each.name) in _TYPES:
            yield f"{prefix}{each.name}", each


def _find_ending(name: str) -> str:
    return f".{name.rpartition('.')[2]}"


def _build_asset(name: str, body: bytes) -> Asset:
    ending = _find_ending(name)
    packed = b"" if ending in _PACKED else gzip.compress(body, mtime=0)
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    return Asset(body, packed if len(packed) < len(body) else b"", _TYPES[ending], tag)
