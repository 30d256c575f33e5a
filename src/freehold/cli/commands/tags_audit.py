"""``freehold tags audit``: who changed which tag, when, from what to what. It reads the audit logs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from freehold.cli.commands.audit import check, documents, logs_of, when
from freehold.cli.local.state_directory import StateDirectory, default_path
from freehold.cli.output.formats import emit
from freehold.cli.output.tables import Rows, format_table
from freehold.cli.output.tags_text import quote_tag_text
from freehold.cli.output.terminal import say, shorten_names, tell, width
from freehold.providers.access.audit_files import CHANGES, list_tag_changes

_METADATA = ("CloudMetadata", "AWSMetadata", "IBMMetadata")
_ENDS = ("done", "refused", "unknown")
_SEVERAL = re.compile(r", | and \d+ more")
"""How the line of a call goes on after its first resource."""


@dataclass(frozen=True)
class Change:
    """One tag of one resource, or, without a resource, what a person did to an object.

    ``outcome`` is empty while no line tells it: the process ended between the two.
    """

    time: float
    who: str
    object: str
    resource: str
    key: str
    before: str | None
    after: str | None
    outcome: str = ""
    why: str = ""


def run(files: Sequence[Path], verify: bool, resource: str, key: str, output: str, state: Path | None) -> None:
    """Run the command. Raises CliError."""
    logs = [list(files)] if files else logs_of(StateDirectory.open(state or default_path()))
    if verify:
        check(logs)
        return
    rows = (row for log in logs for path in log for row in documents(path))
    found = [each for each in changes(rows) if _is_asked_for(each, resource, key)]
    if output != "table":
        emit(output, [_document(each) for each in found])
        return
    if not found:
        tell("no tag was changed from here")
        return
    heads = ("TIME", "OUTCOME", "RESOURCE", "MESSAGE")
    for line in format_table(Rows(heads, tuple(map(_cells, found))), width()):
        say(line)


def _is_asked_for(change: Change, resource: str, key: str) -> bool:
    """Return whether a change matches the filters; an object's own line matches only without a filter."""
    return resource in change.resource and (not key or key == change.key)


def changes(rows: Iterator[dict[str, Any]]) -> list[Change]:
    """In the order of their times. A call's outcome is that of the lines that follow it and name its first resource.

    Calls for different resources are in flight together; a resource has one at a time.
    """
    found: list[Change] = []
    of_last_call: dict[tuple[str, str], list[int]] = {}
    for row in rows:
        subject, outcome = str(row.get("object", "")), str(row.get("outcome", ""))
        if not subject.startswith(_METADATA):
            continue
        if outcome == CHANGES:
            made = list(_of_line(row, subject))
            places = list(range(len(found), len(found) + len(made)))
            of_last_call |= {(subject, each.resource): places for each in made}
            found += made
        elif row.get("by"):
            found.append(_of_person(row, subject))
        elif outcome in _ENDS:
            first = _SEVERAL.split(str(row.get("resource", "")))[0]
            _end(found, of_last_call.get((subject, first), []), row, outcome)
    return sorted(found, key=lambda each: each.time)


def _end(found: list[Change], of_call: Sequence[int], row: dict[str, Any], outcome: str) -> None:
    """End the changes that a line is about: all of its call, or the one resource that was refused without a call."""
    for at in of_call:
        if row.get("call") or found[at].resource == row.get("resource"):
            found[at] = replace(found[at], outcome=outcome, why=str(row.get("error") or ""))


def _of_line(row: dict[str, Any], subject: str) -> Iterator[Change]:
    for resource, key, before, after in list_tag_changes(row):
        yield Change(float(row.get("time", 0)), "freehold", subject, resource, key, before, after)


def _of_person(row: dict[str, Any], subject: str) -> Change:
    why = str(row.get("reason", ""))
    return Change(float(row.get("time", 0)), str(row["by"]), subject, "", "", None, None, str(row["outcome"]), why)


def _document(change: Change) -> dict[str, Any]:
    fields = asdict(change)
    return {{"before": "from", "after": "to"}.get(name, name): value for name, value in fields.items()}


def _cells(change: Change) -> tuple[str, ...]:
    time = when(change.time)
    if not change.resource:
        return time, change.outcome, change.object, f"by {change.who}: {change.why}"
    message = f"{quote_tag_text(change.key)}: {_value(change.before)} → {_value(change.after)}, for {change.object}"
    return time, change.outcome or "not known", shorten_names(change.resource), f"{message} {change.why}".rstrip()


def _value(value: str | None) -> str:
    return "(none)" if value is None else quote_tag_text(value)
