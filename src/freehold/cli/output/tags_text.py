"""Plans of tags for people. Keys and values are anybody's: each is escaped where it is put into a line."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from freehold.cli.output.tables import Rows, format_table
from freehold.cli.output.terminal import escape_text, fold_text, say, shorten_names, tell, width

if TYPE_CHECKING:
    from freehold.tags.tag_plan import ResourceChanges, TagCall, TagPlan, TagRow

SIGNS: Final = {"add": "+", "change": "~", "remove": "-", "leave": "="}

_CAUSES: Final = {
    "Missing": "it is missing",
    "Stripped": "ours; somebody took it off",
    "Outdated": "ours; the spec has changed",
    "Drifted": "ours; somebody changed it",
    "Foreign": "somebody else's value is taken over",
    "Deleted": "the spec asks for its removal",
    "Dropped": "ours; no object names it any more",
    "Trimmed": "ours; beyond the limit, and what sorts before it needs the room",
}
_NAMED: Final = 12
"""Resources with equal changes that a plan names."""
_PLAIN = re.compile(r"[^\s\"'=:,→]+")


def quote_tag_text(text: str) -> str:
    """Spell a key or value in a line: quoted where its ends would not be seen."""
    return escape_text(text) if _PLAIN.fullmatch(text) else escape_text(json.dumps(text, ensure_ascii=False))


def change(row: TagRow) -> str:
    """``+ env: test``, ``~ env: prod → test``."""
    before = " and ".join(map(quote_tag_text, row.before))
    values = [each for each in (before, None if row.after is None else quote_tag_text(row.after)) if each]
    return f"{SIGNS[row.action.value]} {quote_tag_text(row.key)}: {' → '.join(values)}"


def why(row: TagRow) -> str:
    if row.action.value != "leave":
        return _CAUSES.get(row.cause, row.cause)
    return row.why


def print_plan(plan: TagPlan) -> None:
    """Nothing of what is as wanted is listed but by its number; resources with equal changes are listed together."""
    tell(f"CloudMetadata {plan.object}: {summary(plan)}")
    room = width() - 2
    several = len({(each.account, each.region) for each in plan.resources}) > 1
    for rows, alike in _alike(plan.resources):
        names = [_name(each, several=several) for each in alike]
        say(f"  {names[0] if len(names) == 1 else f'{len(names)} resources'}")
        for line in format_table(Rows(("TAG", "WHY"), rows), room - 2)[1:]:
            say(f"    {line}")
        for told in (_others(alike), _name_resources(names)):
            for line in fold_text(told, "      ", width(), first="    ") if told else ():
                say(line)
    if plan.calls:
        tell("  calls, in their order:")
        for line in format_table(Rows(("API", "WHERE", "RESOURCES", "TAGS"), tuple(map(_call, plan.calls))), room):
            say(f"  {line}")
    if plan.approval:
        tell(f"  waits: {plan.approval}")
    for note in plan.notes:
        tell(f"  note: {note}")


def summary(plan: TagPlan) -> str:
    if not plan.selected and (plan.problems or plan.unanswered):
        return "nothing can be done yet"
    counts = Counter(row.action for row in plan.rows() if row.action.changes)
    found = f"{plan.selected} resource{'' if plan.selected == 1 else 's'} found"
    touched = sum(each.changes for each in plan.resources)
    left = f"; {len(plan.left)} left other than asked for" if plan.left else ""
    left += f"; {len(plan.unread)} could not be read" if plan.unread else ""
    if not counts:
        return f"{found}, {'none' if not plan.selected else 'nothing'} to change{left}"
    told = ", ".join(f"{number} to {action}" for action, number in sorted(counts.items()))
    calls = f"{len(plan.calls)} call{'s' * (len(plan.calls) != 1)}"
    return f"{found}; tags on {touched} of them: {told}, in {calls}{left}"


def _rows(resource: ResourceChanges) -> Iterator[tuple[str, str]]:
    for row in resource.rows:
        if _is_foreign(row):
            continue
        told = omit_resource_name(resource, why(row))
        yield change(row), told + (" (waits)" if resource.waits and row.action.changes else "")
    for note in resource.notes:
        yield "!", omit_resource_name(resource, note)


def omit_resource_name(resource: ResourceChanges, sentence: str) -> str:
    """Without the resource, whose name is shown beside it, so that equal sentences are equal."""
    return sentence.replace(f" on {resource.resource}", "")


def _alike(resources: Iterable[ResourceChanges]) -> list[tuple[tuple[tuple[str, str], ...], list[ResourceChanges]]]:
    """Resources by what is said of them, in the order of the first of each."""
    found: dict[tuple[tuple[str, str], ...], list[ResourceChanges]] = {}
    for each in resources:
        found.setdefault(tuple(_rows(each)), []).append(each)
    return list(found.items())


def _name_resources(names: Sequence[str]) -> str:
    """Which resources, where there are several; empty for one, which is named above."""
    if len(names) == 1:
        return ""
    more = len(names) - _NAMED
    return f"on {', '.join(names[:_NAMED])}" + (f" and {more} more (-o json names each)" if more > 0 else "")


def _is_foreign(row: TagRow) -> bool:
    """Somebody else's, which nobody asks to change."""
    return not row.action.changes and not row.why


def _others(alike: Sequence[ResourceChanges]) -> str:
    """Say in one line what is on them and nobody asks to change: it is only there to be seen."""
    rows = [row for each in alike for row in each.rows if _is_foreign(row)]
    if not rows:
        return ""
    if len(alike) > 1:
        return "= their other tags stay as they are"
    found = [f"{quote_tag_text(row.key)}: {' and '.join(map(quote_tag_text, row.before))}" for row in rows]
    return f"= stays as it is: {', '.join(found)}"


def _name(changes: ResourceChanges, *, several: bool) -> str:
    """Cut to what tells it apart, with its region where there are several."""
    short = shorten_names(changes.resource)
    return f"{short} ({changes.region})" if several else short


def _call(call: TagCall) -> tuple[str, str, str, str]:
    given = ", ".join(_pairs(call.tags))
    where = f"{call.account}/{call.region}" if call.region else call.account
    return call.verb, where, str(len(call.targets)), given + (" (waits)" if call.waits else "")


def _pairs(tags: Iterable[tuple[str, str | None]]) -> Iterator[str]:
    for key, value in tags:
        yield quote_tag_text(key) if value is None else f"{quote_tag_text(key)}={quote_tag_text(value)}"
