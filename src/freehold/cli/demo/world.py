"""What is really there: the simulated cloud asked through its admin API, and strangers who act in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from freehold.cli.simulator import ask

_GONE = frozenset({"removed", "deleted"})
"""States of records that the cloud keeps of what is no longer there."""


@dataclass(frozen=True)
class Resource:
    """One resource, without any lag. ``by`` is ``api`` (made with our credentials) or ``stranger``."""

    kind: str
    name: str
    id: str
    crn: str
    state: str
    by: str
    parent: str
    tags: frozenset[str]


@dataclass(frozen=True)
class Call:
    """One request that the cloud was sent with our credentials; ``status`` 0: no answer reached the sender."""

    sequence: int
    time: float
    operation: str
    path: str
    status: int
    mutating: bool

    @property
    def effective(self) -> bool:
        """Whether it may have changed something."""
        return self.mutating and (self.status == 0 or 200 <= self.status < 300)


class World:
    """The admin API of one simulated cloud. Every method raises CliError when it is refused."""

    def __init__(self, base: str) -> None:
        self.base = base

    async def resources(self) -> list[Resource]:
        """Everything that is there, oldest first."""
        rows = (await ask(self.base, "resources"))["resources"]
        return [_resource(row) for row in rows if row["state"] not in _GONE]

    async def calls(self, since: int = 0) -> list[Call]:
        """What was asked of the cloud after the call of number ``since``, oldest first."""
        rows = (await ask(self.base, f"calls?since={since}"))["calls"]
        return [
            Call(row["sequence"], row["time"], row["operation"], row["path"], row["status"], row["mutating"])
            for row in rows
        ]

    async def make(self, kind: str, **fields: Any) -> str:
        """Let a stranger create something; its id."""
        return str((await self._strange("make", kind=kind, **fields))["id"])

    async def attach(self, crn: str, tags: Iterable[str]) -> None:
        await self._strange("attach", crn=crn, tags=sorted(tags))

    async def detach(self, crn: str, tags: Iterable[str]) -> None:
        await self._strange("detach", crn=crn, tags=sorted(tags))

    async def delete(self, ident: str) -> None:
        await self._strange("delete", id=ident)

    async def look(self, path: str) -> Any:
        """What the cloud's own API answers to a GET; its log shows no call of ours."""
        return await self._strange("send", method="GET", path=path)

    async def lose_reply(self, operation: str) -> None:
        """Let the next call of this operation take effect without an answer."""
        await ask(self.base, "faults", {"effect": "reply-lost", "operation": operation})

    async def _strange(self, verb: str, **body: Any) -> Any:
        return await ask(self.base, f"strangers/{verb}", body)


def _resource(row: dict[str, Any]) -> Resource:
    return Resource(
        row["kind"], row["name"], row["id"], row["crn"], row["state"], row["created_by"], row["parent"],
        frozenset(row["tags"]),
    )  # fmt: skip


def ours(resources: Sequence[Resource]) -> list[Resource]:
    """What was created with our credentials."""
    return [each for each in resources if each.by == "api"]


def others(resources: Sequence[Resource]) -> list[Resource]:
    """What strangers created."""
    return [each for each in resources if each.by != "api"]
