"""HTTP requests and responses as values, independent of the transport."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Request:
    """One request. `path` is still percent-encoded, `query` is decoded (`joined`), header names are lower case."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Response:
    """One response; header names are as sent."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    def json(self) -> Any:
        """Return the decoded body, None when it is empty."""
        return json.loads(self.body) if self.body else None


def joined(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return a decoded query string as a mapping; the values of a name that is given several times, line by line."""
    found: dict[str, str] = {}
    for name, value in pairs:
        found[name] = f"{found[name]}\n{value}" if name in found else value
    return found


class TransportFault(Exception):
    """There is no response: the transport must fail as a real one would."""


class ConnectionReset(TransportFault):
    """The connection broke before the request had any effect."""


class ReplyLost(TransportFault):
    """The reply is lost: the caller cannot know whether the request had, or will have, an effect."""
