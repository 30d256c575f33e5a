"""Security groups in the simulated AWS account of a state directory, and ``freehold`` beside them as a process."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from freehold.cli.simulator import ask, simulated_cloud
from freehold.cli.state_directory import Lock, StateDirectory
from harness.commands import PROGRAM, freehold
from harness.metadata import CLASSIFIER
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
        self.ids: dict[str, str] = asyncio.run(self._make(groups))

    async def _make(self, groups: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
        async with simulated_cloud(self.state, 1.0) as url:
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

    def tag(self, name: str, **tags: str) -> None:
        """Somebody sets tags; the index shows it by then."""
        with self._admin() as asked:
            asked("POST", "strangers/tag", {"id": self.ids[name], "tags": tags})
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
    def _admin(self) -> Iterator[Admin]:
        """Of the cloud that is served, else of one that is started for a moment."""
        if self._serving is not None:
            yield self._serving
            return
        with self._process(sys.executable, "-m", "freehold_sim", "--cloud", "ibm", "--speed", "1",
                           "--state", str(self.state.world), "--until-stdin-closes") as said:  # fmt: skip
            yield _admin_of(re.search(r"http://[0-9.:]+", said)[0])  # type: ignore[index]  # it prints one

    @contextmanager
    def served(self, *options: str) -> Iterator[Admin]:
        """``freehold serve`` as a process, which the commands join; its operator looks every ten minutes."""
        words = ("serve", "--simulate", "--speed", "1", "--until-stdin-closes", "--state", str(self.state.path))
        with self._process(*PROGRAM, *words, *options):
            server = Lock(self.state.lock).read()
            assert server is not None
            self._serving = _admin_of(server.simulator)
            yield self._serving
            self._serving = None

    @contextmanager
    def _process(self, *words: str) -> Iterator[str]:
        """One that ends with its standard input; gives its first line."""
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        with process:
            assert process.stdout is not None and process.stdin is not None
            try:
                yield process.stdout.readline()
            finally:
                process.stdin.close()
                process.stdout.read()

    def run(self, *words: str, stdin: str = "", **env: str) -> Said:
        """One command on this state directory."""
        done = freehold(*words, "--state", str(self.state.path), stdin=stdin, **env)
        return Said(done.stdout, done.stderr, done.returncode)
