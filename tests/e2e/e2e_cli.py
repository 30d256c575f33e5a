"""``freehold`` with a kubeconfig, beside an operator of any API server."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from e2e_operator_lab import Stage
from e2e_rights import judged, shipped_rights
from e2e_servers import ended

from freehold.install.options import InstallOptions
from harness.commands import PROGRAM, freehold, freehold_process
from harness.forks import Program


class Cli:
    """``freehold`` beside the operator of one namespace, with the key ring in that namespace."""

    def __init__(self, stage: Stage, folder: Path) -> None:
        self._stage = stage
        self._folder = folder
        kubeconfig = stage.server.kubeconfig
        if os.pathsep in kubeconfig:
            pytest.skip("KUBECONFIG names several files, and --kubeconfig takes one")
        self.place = ("--kubeconfig", kubeconfig, "--simulator", stage.cloud.url, "--keys-namespace", stage.namespace)

    @contextlib.contextmanager
    def operator(self) -> Iterator[None]:
        """``freehold operator`` as a process, with the rights that are shipped for one namespace, its own."""
        log, namespace = self._folder / "operator.log", self._stage.namespace
        rights = shipped_rights(InstallOptions(namespace, serves_namespace=namespace))
        with judged(self._stage.server.url, rights, self._folder) as (proxy, kubeconfig):
            command = [*PROGRAM, "operator", *self.place, "--kubeconfig", kubeconfig, "-n", namespace]
            with log.open("a") as said:
                process = Program([*command, "--cluster-api", "off"], stdout=subprocess.PIPE, stderr=said, text=True)
            with ended(process):
                assert process.stdout is not None and "serving" in process.stdout.readline(), log.read_text()
                yield
        assert proxy.verdicts.refused == []

    def run(self, *words: str, stdin: str = "", place: Sequence[str] = (), code: int = 0, alone: bool = False) -> str:
        """What it printed, both streams; it must end with this exit code. ``alone``: as a process of its own."""
        inside = () if words[0] == "orphans" else ("-n", self._stage.namespace)
        run = freehold_process if alone else freehold
        done = run(*words, *inside, *(place or self.place), stdin=stdin)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr
