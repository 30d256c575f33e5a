"""What is really there: a simulated cloud asked through its admin API, and strangers who act in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from freehold.cli.local.simulator import ask

_GONE = frozenset({"removed", "deleted", "terminated"})
"""States of records that the cloud keeps of what is no longer there."""


@dataclass(frozen=True)
class CloudResource:
    """One resource, without any lag. ``by`` is ``api`` (made with our credentials) or ``stranger``.

    ``default``: it came unasked, with its VPC. ``digest`` differs when anything differs that the cloud keeps of it.
    """

    kind: str
    name: str
    id: str
    address: str
    """Its CRN or ARN."""
    state: str
    by: str
    parent: str
    tags: frozenset[str]
    """IBM's as they are, AWS's as ``key=value``."""
    default: bool = False
    digest: str = ""


@dataclass(frozen=True)
class SentCall:
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

    def __init__(self, base: str, cloud: str) -> None:
        self._base = base
        self._cloud = cloud

    async def resources(self) -> list[CloudResource]:
        """Everything that is there, oldest first."""
        rows = (await self._ask("resources"))["resources"]
        return [_resource(row) for row in rows if row["state"] not in _GONE]

    async def calls(self, since: int = 0) -> list[SentCall]:
        """Return the calls after that of number ``since``, oldest first."""
        rows = (await self._ask("calls", since=since))["calls"]
        return [
            SentCall(row["sequence"], row["time"], row["operation"], row["path"], row["status"], row["mutating"])
            for row in rows
        ]

    async def last_call(self) -> int:
        """Return the number of the newest call; 0 if there was none."""
        return max((call.sequence for call in await self.calls()), default=0)

    async def delete(self, ident: str) -> None:
        await self._strange("delete", id=ident)

    async def lose_reply(self, operation: str) -> None:
        """Let the next call of this operation take effect without an answer."""
        await self._ask("faults", {"effect": "reply-lost", "operation": operation})

    async def _strange(self, verb: str, **body: Any) -> Any:
        return await self._ask(f"strangers/{verb}", body)

    async def _ask(self, path: str, body: Any = None, **query: Any) -> Any:
        return await ask(self._base, f"{path}?{urlencode({**query, 'cloud': self._cloud})}", body)


class IBMWorld(World):
    """The simulated IBM Cloud, and what strangers do there."""

    def __init__(self, base: str) -> None:
        super().__init__(base, "ibm")

    async def make(self, kind: str, **fields: Any) -> str:
        """Let a stranger create something; its id."""
        return str((await self._strange("make", kind=kind, **fields))["id"])

    async def attach(self, crn: str, tags: Iterable[str]) -> None:
        await self._strange("attach", crn=crn, tags=sorted(tags))

    async def detach(self, crn: str, tags: Iterable[str]) -> None:
        await self._strange("detach", crn=crn, tags=sorted(tags))

    async def look(self, path: str) -> Any:
        """Return what the cloud's own API answers to a GET; its log shows no call of ours."""
        return await self._strange("send", method="GET", path=path)


class AWSWorld(World):
    """The simulated AWS in one region, and what strangers do there."""

    def __init__(self, base: str, region: str) -> None:
        super().__init__(base, "aws")
        self._region = region

    async def call(self, operation: str, **params: Any) -> Any:
        """Call ``service.Operation`` as another user of the account; its answer."""
        service, _, name = operation.partition(".")
        return await self._strange("call", service=service, operation=name, params=params, region=self._region)

    async def make(self, operation: str, **params: Any) -> str:
        """Create a resource, which is ready at once, and return its id."""
        service, _, name = operation.partition(".")
        made = await self._strange("create", service=service, operation=name, params=params, region=self._region)
        return str(made["id"])

    async def enter(self, token: str, cluster: str) -> Any:
        """Show a token to an EKS cluster; who its bearer is there."""
        return await self._strange("enter", token=token, cluster=cluster, region=self._region)

    async def target_health(self, group: str) -> dict[str, str]:
        """Return the state of each target of a target group."""
        answer = await self.call("elbv2.DescribeTargetHealth", TargetGroupArn=group)
        return {each["Target"]["Id"]: each["TargetHealth"]["State"] for each in answer["TargetHealthDescriptions"]}

    async def tag(self, ident: str, tags: Iterable[str]) -> None:
        await self._strange("tag", id=ident, tags=dict(each.split("=", 1) for each in tags))

    async def untag(self, ident: str, tags: Iterable[str]) -> None:
        await self._strange("untag", id=ident, keys=sorted(each.split("=", 1)[0] for each in tags))


def _resource(row: dict[str, Any]) -> CloudResource:
    tags = row["tags"]
    return CloudResource(
        row["kind"], row["name"] or row["id"], row["id"], row["arn" if "arn" in row else "crn"], row["state"],
        row["created_by"], row["parent"],
        frozenset(map("=".join, tags.items()) if isinstance(tags, dict) else tags),
        row.get("default", False), row["digest"],
    )  # fmt: skip


def select_ours(resources: Sequence[CloudResource]) -> list[CloudResource]:
    """Return what was created with our credentials."""
    return [each for each in resources if each.by == "api"]


def others(resources: Sequence[CloudResource]) -> list[CloudResource]:
    """Return what strangers created."""
    return [each for each in resources if each.by != "api"]
