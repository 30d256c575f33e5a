"""Plans for people: what belongs together is one row, with the values of what is made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from freehold.api.vendor_ids import vendor_id
from freehold.cli.output.tables import with_ids
from freehold.cli.output.terminal import say, shorten_names, tell, width
from freehold.controllers.plan.plan import TAG_ACTIONS, Plan, PlanAction, PlanRow

_WORDS = {
    PlanAction.MAY_CREATE: ("perhaps to create", "perhaps to create"),
    PlanAction.SURPLUS: ("surplus", "surplus"),
    PlanAction.ADD_PART: ("part to add", "parts to add"),
    PlanAction.REMOVE_PART: ("part to remove", "parts to remove"),
    PlanAction.ADD_TAG: ("tag to add", "tags to add"),
    PlanAction.CHANGE_TAG: ("tag to change", "tags to change"),
    PlanAction.REMOVE_TAG: ("tag to remove", "tags to remove"),
}
_PARTS_OF = {
    PlanAction.CREATE: PlanAction.ADD_PART,
    PlanAction.MAY_CREATE: PlanAction.ADD_PART,
    PlanAction.DELETE: PlanAction.REMOVE_PART,
}
_UNSHOWN_VALUES = frozenset({"name", "description", "resource_group"})
"""They say the same in most rows; ``-o json`` has them."""
_NAMED = 3
"""Resources that the row of a tag names; of more it tells how many there are of each kind."""
_LONGEST_VALUE = 60

Cells = tuple[str, str, str, str, str]


def print_plan(plan: Plan) -> None:
    """Print a plan: what it comes to, its rows, how many calls they are at most, and its notes."""
    nothing = "nothing can be done yet" if plan.problems or plan.unanswered else "nothing to do"
    say(f"{plan.title}: {', '.join(_summary(plan.rows)) or nothing}")
    for line in plan_table(plan.rows, width() - 2):
        say(f"  {line}")
    if plan.writes:
        total = sum(plan.writes.values())
        calls = ", ".join(f"{api} {number}" for api, number in sorted(plan.writes.items()))
        tell(f"  up to {total} write call{'s' * (total != 1)}: {calls}")
    for note in plan.notes:
        tell(f"  note: {note}")


def plan_table(rows: Sequence[PlanRow], room: int) -> list[str]:
    """Lay out the rows with their reasons beside them, or below them where ``room`` (characters) is less."""
    cells = list(_cells(rows))
    return with_ids(("ACTION", "KIND", "NAME", "ID", "WHY"), cells, room) if cells else []


def _summary(rows: Sequence[PlanRow]) -> Iterator[str]:
    """Count by action; a tag counts once, on however many resources it changes."""
    tags = {_group(row): row.action for row in rows if row.action in TAG_ACTIONS}
    counts = Counter(row.action for row in rows if row.action not in TAG_ACTIONS) + Counter(tags.values())
    for action in dict.fromkeys(row.action for row in rows):
        one, several = _WORDS.get(action, (f"to {action}", f"to {action}"))
        yield f"{counts[action]} {one if counts[action] == 1 else several}"


def _cells(rows: Sequence[PlanRow]) -> Iterator[Cells]:
    whole = {(row.kind, row.logical): _PARTS_OF[row.action] for row in rows if row.action in _PARTS_OF}
    parts: dict[tuple[str, str], list[str]] = {}
    groups: dict[object, list[PlanRow]] = {}
    for row in rows:
        key = row.kind, row.logical
        if whole.get(key) is row.action:
            parts.setdefault(key, []).append(row.attribute)
        else:
            groups.setdefault(_group(row), []).append(row)
    for alike in sorted(groups.values(), key=lambda group: _section(group[0])):
        first = alike[0]
        if first.action in TAG_ACTIONS:
            yield first.action, _count_resources(alike), _tag(first), "", _why_tag(alike)
        elif len(alike) > 1:
            yield first.action, _count_resources(alike), "", "", f"{first.reason} ({_by_kind(alike)})"
        else:
            yield _cells_of(first, parts.get((first.kind, first.logical), ()))


def _section(row: PlanRow) -> int:
    """Resources first, then tags; deletions are last, as in the plan."""
    return 2 if row.action is PlanAction.DELETE else int(row.action in TAG_ACTIONS)


def _group(row: PlanRow) -> object:
    """Return what rows must have in common to be shown as one."""
    if row.action in TAG_ACTIONS:
        return row.action, _tag(row), row.reason
    if row.action is PlanAction.KEEP:
        return row.action, row.reason
    return row.action, row.kind, row.logical, row.attribute


def _count_resources(alike: Sequence[PlanRow]) -> str:
    return f"{len(alike)} resource{'s' * (len(alike) != 1)}"


def _tag(row: PlanRow) -> str:
    """Seals differ from resource to resource, so that marks are shown together."""
    if row.mark:
        return "marks of ours"
    return f"{row.before} → {row.after}" if row.action is PlanAction.CHANGE_TAG else row.attribute


def _why_tag(alike: Sequence[PlanRow]) -> str:
    resources = list(dict.fromkeys(f"{row.kind} {row.name}" for row in alike))
    if len(resources) <= _NAMED:
        return f"{', '.join(resources)}: {alike[0].reason}"
    return f"{alike[0].reason} ({_by_kind(alike)})"


def _by_kind(rows: Iterable[PlanRow]) -> str:
    counts = Counter(row.kind for row in rows)
    return ", ".join(f"{kind} {number}" for kind, number in sorted(counts.items()))


def _cells_of(row: PlanRow, parts: Sequence[str]) -> Cells:
    name, ident = shorten_names(row.name), shorten_names(vendor_id(row.id))
    # An EKS cluster, add-on or access entry has its name in its ARN: both say the same.
    told = ident == name or ("/" in ident and ident.rpartition("/")[2] == name.rpartition("/")[2])
    return row.action, row.kind, name, "" if told else ident, _why(row, parts)


def _why(row: PlanRow, parts: Sequence[str]) -> str:
    if row.attribute:
        return f"{row.attribute}: {row.reason}"
    if row.action is PlanAction.DELETE:
        return row.reason + _say_parts(len(parts))
    made = [_values(row.values), f"with {', '.join(parts)}" if parts else "", row.reason]
    return "; ".join(filter(None, made))


def _say_parts(parts: int) -> str:
    if not parts:
        return ""
    return f"; first its {parts} parts are taken out" if parts > 1 else "; first its part is taken out"


def _values(values: Mapping[str, Any]) -> str:
    """``cidr 10.0.0.0/24, zone us-east-1a``; of a flag that is set its name."""
    shown = {name: value for name, value in values.items() if name not in _UNSHOWN_VALUES and value is not False}
    return ", ".join(name if value is True else f"{name} {_value(value)}" for name, value in shown.items())


def _value(value: Any) -> str:
    match value:
        case Mapping():
            text = f"({', '.join(f'{name} {_value(each)}' for name, each in value.items())})"
        case list() | tuple():
            text = ", ".join(map(_value, value))
        case _:
            text = str(value)
            return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"
    return text
