"""The gate of the live page: who looks, and which objects that viewer may see."""

from __future__ import annotations

import hmac
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from freehold.kube.resources import Resource

Places = Mapping[Resource, Collection[str]]
"""The namespaces in which rights are asked for, by resource; the empty one for what is in no namespace."""


class TokenRefused(Exception):
    """A token that is missing, wrong or expired. The message says how to get one."""


class GateUnavailable(Exception):
    """Nobody can tell now who looks, or what they may see; the message says why. The viewer tries again."""


@dataclass(frozen=True)
class Rights:
    """The right to see objects: of kinds in all namespaces, and of a kind in one namespace. Equal ones share bytes."""

    everywhere: frozenset[str] = frozenset()
    within: frozenset[tuple[str, str]] = frozenset()

    def allow(self, kind: str, namespace: str) -> bool:
        """Return whether objects of the kind in the namespace may be seen."""
        return kind in self.everywhere or (kind, namespace) in self.within


class Viewer(Protocol):
    """Whoever looks."""

    @property
    def name(self) -> str:
        """The name, for the page to show."""
        ...

    async def read_rights(self, places: Places) -> Rights:
        """Read which objects of ``places`` may be seen: those that the viewer may list. Raises GateUnavailable.

        It is called for each request, and every few seconds for each stream: answers are to be kept.
        """
        ...


class Gate(Protocol):
    """The judge of tokens."""

    async def identify(self, token: str) -> Viewer:
        """Find out whose token it is; it may be empty. Raises TokenRefused, GateUnavailable.

        It is called as often as ``Viewer.read_rights``: a token that has expired ends its streams.
        """
        ...


@dataclass(frozen=True)
class Owner:
    """The owner of a laptop, who may see all."""

    name: str = "the owner of the state directory"

    async def read_rights(self, places: Places) -> Rights:
        """Return the right to see everything."""
        return Rights(frozenset(each.kind for each in places))


class TokenGate:
    """The gate of a laptop: one token, one viewer."""

    def __init__(self, token: str, advice: str) -> None:
        if not token:
            raise ValueError("a gate needs a token")
        self._token = token.encode()
        self._advice = advice

    async def identify(self, token: str) -> Viewer:
        """Compare the token in a time that tells nothing of it."""
        if not hmac.compare_digest(token.encode("utf-8", "surrogatepass"), self._token):
            raise TokenRefused(f"the token is wrong: {self._advice}" if token else f"a token is needed: {self._advice}")
        return Owner()


def read_bearer(headers: Sequence[str]) -> str:
    """Return the token of the Authorization headers of a request; empty where there is none, or more than one."""
    if len(headers) != 1:
        return ""
    scheme, _, token = headers[0].partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""
