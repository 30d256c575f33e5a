"""Security groups in the simulated AWS account of a state directory, and ``freehold`` beside them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from freehold.cli.local.access import ServeOptions
from freehold.cli.local.simulator import ask
from freehold.cli.local.state_directory import StateDirectory
from freehold.tags.policy.configuration import Configuration
from harness.commands import freehold
from harness.metadata import CLASSIFIER
from harness.serving import served, simulator
from harness.simulated_aws import tagged

Admin = Callable[[str, str, Any], Any]
"""The admin API of the simulated AWS: method, path, body."""


def _admin_of(simulator: str) -> Admin:
    def asked(method: str, path: str, body: Any) -> Any:
        answer = requests.request(method, f"{simulator}/_sim/{path}?cloud=aws", json=body, timeout=60)
        assert answer.status_code == 200, answer.text
        return answer.json()

    return asked


@dataclass(frozen=True)
class Said:
    out: str
    err: str
    code: int

    def json(self) -> Any:
        return json.loads(self.out)


class TagWorld:
    """``groups`` by their name: somebody else made them, with these tags beside the classifier."""

    def __init__(self, path: Path, groups: Mapping[str, Mapping[str, str]]) -> None:
        self.state = StateDirectory.open(path)
        self.state.bind(simulate=True)
        self._serving: Admin | None = None
        with simulator(self.state.world) as url:
            self.ids: dict[str, str] = asyncio.run(self._make(url, groups))

    async def _make(self, url: str, groups: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
        vpc = await self._create(url, "CreateVpc", {"CidrBlock": "10.0.0.0/16"})
        found = {}
        for name, tags in groups.items():
            specs = tagged("security-group", **{CLASSIFIER: "owned"}, **tags)
            request = {"GroupName": name, "Description": "x", "VpcId": vpc, "TagSpecifications": specs}
            found[name] = await self._create(url, "CreateSecurityGroup", request)
        await ask(url, "clock", {"advance": 600})
        return found

    async def _create(self, url: str, operation: str, params: dict[str, Any]) -> str:
        body = {"service": "ec2", "operation": operation, "params": params}
        return str((await ask(url, "strangers/create?cloud=aws", body))["id"])

    def tag(self, *names: str, **tags: str) -> None:
        """Somebody sets tags on these groups in one call; the index shows it by then."""
        with self._admin() as asked:
            asked("POST", "strangers/tag_each", {"ids": [self.ids[name] for name in names], "tags": tags})
            asked("POST", "clock", {"advance": 600})

    def tags(self) -> dict[str, dict[str, str]]:
        """By the name of the group, without the classifier."""
        with self._admin() as asked:
            rows = {row["id"]: row["tags"] for row in asked("GET", "resources", None)["resources"]}
        return {
            name: {key: value for key, value in rows[ident].items() if key != CLASSIFIER}
            for name, ident in self.ids.items()
        }

    @contextmanager
    def denying(self, operation: str) -> Iterator[None]:
        """The cloud denies this operation for the length of the block."""
        with self._admin() as asked:
            asked("POST", "faults", {"effect": "denied", "operation": operation, "count": None})
        yield
        with self._admin() as asked:
            asked("DELETE", "faults", None)

    @contextmanager
    def _admin(self) -> Iterator[Admin]:
        """Of the cloud that is served, else of one that is started for a moment."""
        if self._serving is not None:
            yield self._serving
            return
        with simulator(self.state.world) as url:
            yield _admin_of(url)

    @contextmanager
    def served(self, configuration: Configuration | None = None) -> Iterator[Admin]:
        """A server that the commands join; its operator looks every ten minutes."""
        options = ServeOptions(simulate=True, speed=1.0, metadata=configuration)
        with served(self.state, options) as server:
            self._serving = _admin_of(server.simulator)
            yield self._serving
            self._serving = None

    def run(self, *words: str, stdin: str = "", **env: str) -> Said:
        """One command on this state directory."""
        done = freehold(*words, "--state", str(self.state.path), stdin=stdin, **env)
        return Said(done.stdout, done.stderr, done.returncode)
