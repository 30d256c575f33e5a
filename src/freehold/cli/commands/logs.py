"""``freehold logs``: the log of a state directory."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from freehold.cli.errors import CliError
from freehold.cli.local.state_directory import StateDirectory, default_path
from freehold.cli.output.hints import kubectl
from freehold.cli.output.terminal import say, warn


def run(follow: bool, state: Path | None, kubeconfig: str) -> None:
    """Run the command. Raises CliError."""
    if kubeconfig:
        raise CliError(
            f"an operator in a cluster logs where it runs: {kubectl('logs', '-n', 'NAMESPACE', 'POD', '--follow')} "
            f"({kubectl('get', 'pods', '-A')} shows namespace and pod)"
        )
    log = StateDirectory.open(state or default_path()).log
    if not log.exists():
        warn(f"nothing has worked on {log.parent} yet: there is no {log.name}")
    for line in lines(log, _next_look if follow else lambda: False):
        say(line)


def _next_look() -> bool:
    """Wait as ``tail -f`` does: this is a command of a person, and nothing is reconciled here."""
    time.sleep(0.3)
    return True


def lines(log: Path, again: Callable[[], bool]) -> Iterator[str]:
    """Yield the lines of a log, and those that are added as long as ``again`` says so; it need not be there yet."""
    seen, rest = 0, ""
    while True:
        if log.exists():
            with log.open(encoding="utf-8", errors="replace") as file:
                file.seek(seen)
                *whole, rest = (rest + file.read()).split("\n")
                seen = file.tell()
            yield from whole
        if not again():
            break
    if rest:
        yield rest
