"""The Dockerfile's own steps, run in a folder instead of an image: no builder is needed, nor root."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
ENVIRONMENT = "/opt/freehold"
_PLACES = (ENVIRONMENT, "/opt/build", "/wheels", "/src")


class Step(NamedTuple):
    """One instruction of a Dockerfile: ``COPY`` and what follows it."""

    word: str
    rest: str


def read_stages(dockerfile: Path = ROOT / "Dockerfile") -> list[list[Step]]:
    """The instructions of each stage, its ``FROM`` first; what precedes the first one is left out."""
    text = re.sub(r"^\s*#.*\n", "", dockerfile.read_text(encoding="utf-8"), flags=re.MULTILINE)
    lines = re.sub(r"\\\n", " ", text).splitlines()
    steps = [Step(*line.split(maxsplit=1)) for line in lines if line.strip()]
    starts = [number for number, step in enumerate(steps) if step.word == "FROM"]
    return [steps[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)]


def entrypoint(stage: Sequence[Step]) -> list[str]:
    """The words of the entry point, which has no shell."""
    found: list[str] = json.loads(next(step.rest for step in stage if step.word == "ENTRYPOINT"))
    return found


def user(stage: Sequence[Step]) -> tuple[int, int]:
    number, _, group = next(step.rest for step in stage if step.word == "USER").partition(":")
    return int(number), int(group)


@dataclass(frozen=True)
class Image:
    """An image below ``folder``, built by the steps of the Dockerfile."""

    folder: Path

    def place(self, path: str) -> Path:
        return self.folder / path.lstrip("/")

    def copy(self, step: Step) -> None:
        *sources, target = step.rest.split()
        for source in sources:
            into = self.place("/src") / target
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, into, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
            else:
                shutil.copy(ROOT / source, into)

    def run(self, step: Step, arguments: Mapping[str, str]) -> None:
        """Run a command of the build stage, as a builder would but for its paths."""
        command = re.sub(rf"(?<![\w.])({'|'.join(_PLACES)})\b", lambda found: str(self.place(found[1])), step.rest)
        done = subprocess.run(
            ["/bin/sh", "-c", command], cwd=self.place("/src"), env={**os.environ, **arguments},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{step.rest}\n{done.stdout}{done.stderr}"

    def seal(self) -> None:
        """Let everybody read the image and nobody write to it."""
        for folder, _, files in os.walk(self.folder):
            Path(folder).chmod(0o555)
            for name in files:
                path = Path(folder, name)
                if not path.is_symlink():
                    path.chmod(0o555 if os.access(path, os.X_OK) else 0o444)

    def unseal(self) -> None:
        for folder, _, _ in os.walk(self.folder):
            Path(folder).chmod(0o755)

    def command(self, *words: str) -> list[str]:
        """A command in the image, by its user where this process may become another one."""
        stage = read_stages()[-1]
        number, group = user(stage)
        become = ["setpriv", f"--reuid={number}", f"--regid={group}", "--clear-groups"] if os.geteuid() == 0 else []
        program, *rest = words
        return [*become, str(self.place(program)), *rest]

    def environment(self, **more: str) -> dict[str, str]:
        """What the last stage sets, and nothing of ours."""
        given = " ".join(step.rest for step in read_stages()[-1] if step.word == "ENV")
        found = dict(word.split("=", 1) for word in shlex.split(given))
        return {
            **{name: value.replace(ENVIRONMENT, str(self.place(ENVIRONMENT))) for name, value in found.items()},
            **more,
        }
