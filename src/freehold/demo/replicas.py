"""``freehold operator --leader-elect`` as a process that can be killed."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from freehold.demo.checks import NotSo
from freehold.demo.servers import Server

_START_SECONDS = 120.0


class Replica(Server):
    """One of several operators; its log is a file."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        super().__init__(process)
        self.log = log

    def require_alive(self) -> None:
        """Raise NotSo when it has ended by itself."""
        code = self._process.returncode
        if code is not None:
            raise NotSo(f"operator {self.pid} ended by itself (exit {code}); its log is {self.log}")

    async def end(self) -> None:
        """Ask it to stop. Raises NotSo when it did not end well."""
        await self.stop()
        if self._process.returncode != 0:
            raise NotSo(
                f"SIGTERM ended operator {self.pid} with exit {self._process.returncode}; its log is {self.log}"
            )


@asynccontextmanager
async def replica(kubeconfig: Path, simulator: str, log: Path) -> AsyncIterator[Replica]:
    """Start one and wait until it has read its settings. Raises NotSo when it does not."""
    with log.open("w") as said:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "freehold.demo.operator_process", "operator", "--kubeconfig", str(kubeconfig),
            "--leader-elect", "--cluster-api", "off", "--simulator", simulator,
            "--audit", str(log.with_suffix(".audit.jsonl")),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=said, start_new_session=True,
        )  # fmt: skip
    started = Replica(process, log)
    try:
        assert process.stdout is not None
        try:
            line = (await asyncio.wait_for(process.stdout.readline(), _START_SECONDS)).decode()
        except TimeoutError:
            line = ""
        if not line.startswith("serving "):
            raise NotSo(f"an operator did not start; its log is {log}")
        yield started
    finally:
        await started.stop()
