"""``freehold audit``: the audit log for people, and the check of its chain. Reads files, and changes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from freehold.cli.errors import CliError
from freehold.cli.state_directory import StateDirectory
from freehold.cli.tables import Rows, printed
from freehold.cli.terminal import say, shortened, tell, warn, width

if TYPE_CHECKING:
    from freehold.operator.audit_chain import Verified


def run(files: Sequence[Path], verify: bool, state: Path) -> None:
    """The command. Raises CliError."""
    paths = list(files) or _of_state(StateDirectory.open(state))
    if verify:
        _verify(paths)
        return
    rows = tuple(_row(row) for path in paths for row in _documents(path))
    if not rows:
        tell("nothing was changed in the cloud from here")
        return
    for line in printed(Rows(("TIME", "OBJECT", "CALL", "RESOURCE", "OUTCOME", "WHY"), rows), width()):
        say(line)


def _of_state(directory: StateDirectory) -> list[Path]:
    """The oldest first."""
    rotated = sorted(directory.path.glob(f"{directory.audit.name}.*"), key=lambda path: path.stat().st_mtime)
    return [*rotated, *([directory.audit] if directory.audit.exists() else [])]


def _verify(paths: Sequence[Path]) -> None:
    from freehold.operator.audit_chain import verified

    if not paths:
        raise CliError("there is no audit log to check: nothing was changed in the cloud from here")
    head, broken = "", False
    for path in paths:
        found = verified(_lines(path), head)
        _tell(path, found)
        head, broken = found.head, broken or bool(found.problems)
    if broken:
        raise CliError("the audit log is not whole, see above")


def _tell(path: Path, found: Verified) -> None:
    if found.unsealed:
        tell(f"{path}: the first {found.unsealed} lines are from before lines were chained, and are not checked")
    for problem in found.problems:
        warn(f"{path}: {problem}")
    if not found.problems:
        tell(f"{path}: {found.lines} lines, none changed, taken out or added")
    say(f"  chain {found.head or '-'} (compare it with the last one in the operator's log)")


def _lines(path: Path) -> Iterator[str]:
    try:
        with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
            for line in file:
                yield line.rstrip("\n")
    except OSError as problem:
        raise CliError(f"the audit log {path} cannot be read: {problem.strerror}") from problem


def _documents(path: Path) -> Iterable[Any]:
    for line in _lines(path):
        try:
            row = json.loads(line)
        except ValueError:
            continue  # cut off; --verify tells it
        if isinstance(row, dict) and row.get("outcome") != "begun":
            yield row


def _row(row: dict[str, Any]) -> tuple[str, ...]:
    said = (shortened(str(row.get(name, ""))) for name in ("object", "call", "resource", "outcome"))
    return _time(row.get("time")), *said, _why(row)


def _why(row: dict[str, Any]) -> str:
    said = str(row.get("error") or row.get("reason") or "")
    return f"by {row['by']}: {said}" if row.get("by") else said


def _time(seconds: Any) -> str:
    """In UTC; of a simulated cloud, its own time."""
    if not isinstance(seconds, int | float):
        return "?"
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
