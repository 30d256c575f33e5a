"""Plans of tags for people. Keys and values are anybody's: each is escaped where it is put into a line."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from freehold.cli.tables import Rows, printed
from freehold.cli.terminal import escaped, folded, say, shortened, tell, width

if TYPE_CHECKING:
    from freehold.operator.metadata.plan import ResourceChanges, TagCall, TagPlan, TagRow

SIGNS: Final = {"add": "+", "change": "~", "remove": "-", "leave": "="}

_CAUSES: Final = {
    "Missing": "it is missing",
    "Stripped": "ours; somebody took it off",
    "Outdated": "ours; the spec has changed",
    "Drifted": "ours; somebody changed it",
    "Foreign": "somebody else's value is taken over",
    "Deleted": "the spec asks for its removal",
    "Dropped": "ours; no object names it any more",
}
_PLAIN = re.compile(r"[^\s\"'=:,→]+")


def shown(text: str) -> str:
    """A key or value as it can stand in a line: quoted where its ends would not be seen."""
    return escaped(text) if _PLAIN.fullmatch(text) else escaped(json.dumps(text, ensure_ascii=False))


def change(row: TagRow) -> str:
    """``+ env: test``, ``~ env: prod → test``."""
    before = " and ".join(map(shown, row.before))
    values = [each for each in (before, None if row.after is None else shown(row.after)) if each]
    return f"{SIGNS[row.action.value]} {shown(row.key)}: {' → '.join(values)}"


def why(row: TagRow) -> str:
    if row.action.value != "leave":
        return _CAUSES.get(row.cause, row.cause)
    return row.why


def print_plan(plan: TagPlan) -> None:
    """Nothing of what is as wanted is listed but by its number."""
    tell(f"{plan.object}: {summary(plan)}")
    room = width() - 2
    several = len({(each.account, each.region) for each in plan.resources}) > 1
    for each in plan.resources:
        say(f"  {_name(each, several=several)}")
        rows = tuple(_rows(each))
        for line in printed(Rows(("TAG", "WHY"), rows), room - 2)[1:]:
            say(f"    {line}")
        for line in folded(_foreign(each), "      ", width(), first="    ") if _foreign(each) else ():
            say(line)
    if plan.calls:
        tell("  calls, in their order:")
        for line in printed(Rows(("API", "WHERE", "RESOURCES", "TAGS"), tuple(map(_call, plan.calls))), room):
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
    if not counts:
        return f"{found}, {'none' if not plan.selected else 'nothing'} to change"
    told = ", ".join(f"{number} to {action}" for action, number in sorted(counts.items()))
    return f"{found}; on {touched} of them {told} (tags), in {len(plan.calls)} call{'s' * (len(plan.calls) != 1)}"


def _rows(resource: ResourceChanges) -> Iterator[tuple[str, str]]:
    for row in resource.rows:
        if _is_foreign(row):
            continue
        yield change(row), why(row) + (" (waits)" if resource.waits and row.action.changes else "")
    for note in resource.notes:
        yield "!", note


def _is_foreign(row: TagRow) -> bool:
    """Somebody else's, which nobody asks to change."""
    return not row.action.changes and not row.why


def _foreign(resource: ResourceChanges) -> str:
    """In one line: what is not ours is only there to be seen."""
    found = [f"{shown(row.key)}: {' and '.join(map(shown, row.before))}" for row in resource.rows if _is_foreign(row)]
    return f"= left, not ours: {', '.join(found)}" if found else ""


def _name(changes: ResourceChanges, *, several: bool) -> str:
    """Cut to what tells it apart, with its region where there are several."""
    short = shortened(changes.resource)
    return f"{short} ({changes.region})" if several else short


def _call(call: TagCall) -> tuple[str, str, str, str]:
    given = ", ".join(_pairs(call.tags))
    where = call.region if call.region in call.account else f"{call.account}/{call.region}"
    return call.verb, where, str(len(call.targets)), given + (" (waits)" if call.waits else "")


def _pairs(tags: Iterable[tuple[str, str | None]]) -> Iterator[str]:
    for key, value in tags:
        yield shown(key) if value is None else f"{shown(key)}={shown(value)}"
