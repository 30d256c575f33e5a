"""Security groups in the simulated AWS account of a state directory, and ``freehold`` beside them as a process."""

from __future__ import annotations

import asyncio
import json
import os
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
from harness.metadata import CLASSIFIER
from harness.simulated_aws import tagged


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
        """Somebody sets tags while nobody looks; the index shows it by then."""
        asyncio.run(self._tag(name, tags))

    async def _tag(self, name: str, tags: Mapping[str, str]) -> None:
        async with simulated_cloud(self.state, 1.0) as url:
            await ask(url, "strangers/tag?cloud=aws", {"id": self.ids[name], "tags": dict(tags)})
            await ask(url, "clock", {"advance": 600})

    def tags(self) -> dict[str, dict[str, str]]:
        """By the name of the group, without the classifier."""
        return asyncio.run(self._tags())

    async def _tags(self) -> dict[str, dict[str, str]]:
        async with simulated_cloud(self.state, 1.0) as url:
            rows = {row["id"]: row["tags"] for row in (await ask(url, "resources?cloud=aws"))["resources"]}
        return {
            name: {key: value for key, value in rows[ident].items() if key != CLASSIFIER}
            for name, ident in self.ids.items()
        }

    @contextmanager
    def served(self) -> Iterator[Callable[[str, str, Any], Any]]:
        """``freehold serve`` as a process; gives the admin API of its simulated AWS: method, path, body."""
        command = [sys.executable, "-m", "freehold.cli.main", "serve", "--simulate", "--until-stdin-closes"]
        process = subprocess.Popen(
            [*command, "--state", str(self.state.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        with process:
            assert process.stdout is not None and process.stdin is not None
            assert "serving" in process.stdout.readline()
            server = Lock(self.state.lock).read()
            assert server is not None

            def asked(method: str, path: str, body: Any) -> Any:
                url = f"{server.simulator}/_sim/{path}?cloud=aws"
                answer = requests.request(method, url, json=body, timeout=60)
                assert answer.status_code == 200, answer.text
                return answer.json()

            yield asked
            process.stdin.close()
            process.stdout.read()

    def run(self, *words: str, stdin: str = "", **env: str) -> Said:
        """One command on this state directory."""
        done = subprocess.run(
            [sys.executable, "-m", "freehold.cli.main", *words, "--state", str(self.state.path)],
            input=stdin, capture_output=True, text=True, timeout=240, check=False, env={**os.environ, **env},
        )  # fmt: skip
        return Said(done.stdout, done.stderr, done.returncode)
