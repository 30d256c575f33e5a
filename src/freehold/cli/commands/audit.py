"""``freehold audit``: the audit log for people, and the check of its chain. Reads files, and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from freehold.cli.errors import CliError
from freehold.cli.local.state_directory import StateDirectory, default_path
from freehold.cli.output.tables import Rows, format_table
from freehold.cli.output.terminal import say, shorten_names, tell, warn, width
from freehold.providers.access.audit_files import BEGUN, CHANGES, find_log_files, parse_line

if TYPE_CHECKING:
    from freehold.providers.access.audit_chain import VerifiedFile


def run(files: Sequence[Path], verify: bool, state: Path | None) -> None:
    """Run the command. Raises CliError."""
    logs = [list(files)] if files else logs_of(StateDirectory.open(state or default_path()))
    if verify:
        check(logs)
        return
    rows = tuple(_row(row) for log in logs for path in log for row in documents(path) if row.get("outcome") != CHANGES)
    if not rows:
        tell("nothing was changed in the cloud from here")
        return
    for line in format_table(Rows(("TIME", "OBJECT", "CALL", "RESOURCE", "OUTCOME", "WHY"), rows), width()):
        say(line)


def logs_of(directory: StateDirectory) -> list[list[Path]]:
    """Find the operator's log and that of people, each with its rotated files, the oldest first."""
    return [find_log_files(path) for path in (directory.audit, directory.audit_of_people)]


def check(logs: Sequence[Sequence[Path]]) -> None:
    """Check the chain of each log. Raises CliError where one is not whole."""
    from freehold.providers.access.audit_chain import verify_lines

    if not any(logs):
        raise CliError("there is no audit log to check: nothing was changed in the cloud from here")
    broken = False
    for log in logs:
        head = ""
        for path in log:
            found = verify_lines(_lines(path), head)
            _tell(path, found)
            head, broken = found.head, broken or bool(found.problems)
    if broken:
        raise CliError("the audit log is not whole, see above")


def _tell(path: Path, found: VerifiedFile) -> None:
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


def documents(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of a log, without those that only link files."""
    for line in _lines(path):
        row = parse_line(line)
        if row is not None and row.get("outcome") != BEGUN:
            yield row


def _row(row: dict[str, Any]) -> tuple[str, ...]:
    said = (shorten_names(str(row.get(name, ""))) for name in ("object", "call", "resource", "outcome"))
    return when(row.get("time")), *said, _why(row)


def _why(row: dict[str, Any]) -> str:
    said = str(row.get("error") or row.get("reason") or "")
    return f"by {row['by']}: {said}" if row.get("by") else said


def when(seconds: Any) -> str:
    """Say when, in UTC; of a simulated cloud, in its own time."""
    if not isinstance(seconds, int | float):
        return "?"
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
