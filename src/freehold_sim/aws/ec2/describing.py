"""The lists of EC2: by id, by filter, in pages.

https://docs.aws.amazon.com/AWSEC2/latest/APIReference/Query-Requests.html (filters, wildcards, pagination)
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from freehold_sim.aws.call import Call, Operation, Refused, reads
from freehold_sim.aws.ec2.filters import knows_tags, refusal
from freehold_sim.aws.ec2.kinds import Kind, find, show
from freehold_sim.aws.paging import BadToken, page
from freehold_sim.aws.world import Record

Shown = Callable[[Call, Record], dict[str, Any]]

_SPECIAL = re.compile(r"[*?\\]")
"""What makes a filter value more than a text: a wildcard, or what takes its meaning away."""


def describes(
    name: str,
    kind: Kind,
    ids: str,
    result: str,
    *,
    shown: Shown | None = None,
    filters: str = "Filters",
    paged: bool = True,
) -> Operation:
    """Return the Describe operation of a kind; `shown` replaces how one of its resources is shown."""
    show_one = shown or (lambda call, record: show(record, kind))

    def describe(call: Call) -> dict[str, Any]:
        found, more = described(call, kind, ids, filters, show_one) if paged else (
            selected(call, kind, ids, filters, show_one), None
        )  # fmt: skip
        return {result: [view for _, view in found], **({"NextToken": more} if more else {})}

    return reads(name, describe, f"{ids} {filters} {'MaxResults NextToken' if paged else ''}")


def described(
    call: Call, kind: Kind, ids: str, filters: str, shown: Shown
) -> tuple[list[tuple[Record, dict[str, Any]]], str | None]:
    """Return one page of what ids and filters select, and the token of the next; only what is shown is rendered."""
    refuse_pages_of_ids(call, ids)
    if ids in call.params or call.params.get(filters):
        return paged_rows(call, selected(call, kind, ids, filters, shown))
    records = sorted((row for row in call.all(kind.name) if call.sees(row)), key=lambda row: int(row["serial"]))
    page_of_records, more = paged_rows(call, [(record, record["view"]) for record in records])
    return [(record, shown(call, record)) for record, _ in page_of_records], more


_NO_PAGES_OF_IDS = ("DescribeInstances", "DescribeInstanceStatus", "DescribeNetworkInterfaces")
"""Operations whose documentation says that ids and MaxResults are not for the same request."""


def refuse_pages_of_ids(call: Call, ids: str) -> None:
    if call.operation in _NO_PAGES_OF_IDS and ids in call.params and "MaxResults" in call.params:
        text = f"The parameter {ids} cannot be used with the parameter maxResults"
        raise Refused("InvalidParameterCombination", text)


def selected(call: Call, kind: Kind, ids: str, filters: str, shown: Shown) -> list[tuple[Record, dict[str, Any]]]:
    """Return the resources that ids and filters select, each with what is shown of it, oldest first."""
    if ids in call.params:
        records: Iterable[Record] = [find(call, kind, ident) for ident in dict.fromkeys(call.params[ids])]
    else:
        records = [record for record in call.all(kind.name) if call.sees(record)]
    rows = [(record, shown(call, record)) for record in records]
    return matching(call, rows, kind.filters, filters)


def matching(
    call: Call, rows: list[tuple[Record, dict[str, Any]]], known: Mapping[str, str], filters: str = "Filters"
) -> list[tuple[Record, dict[str, Any]]]:
    """Return the rows that match every filter of the call; refuses a filter that is not served."""
    for each in call.params.get(filters, []):
        name, values = each.get("Name", ""), each.get("Values", [])
        if not values:
            raise Refused("InvalidParameterValue", f"The filter '{name}' must have at least one value")
        is_of_tags = knows_tags(call.operation) and (name == "tag-key" or name.startswith("tag:"))
        if not is_of_tags and name not in known:
            raise refusal(call.operation, name)
        test = _test(name, values, known)
        rows = [row for row in rows if test(*row)]
    return sorted(rows, key=lambda row: int(row[0]["serial"]))


def named_exactly(call: Call, name: str) -> frozenset[str]:
    """Return the values of a filter that has no wildcards, empty where there is none: they save looking at the rest."""
    values = {value for each in call.params.get("Filters", []) if each.get("Name") == name for value in each["Values"]}
    return frozenset() if any(_SPECIAL.search(value) for value in values) else frozenset(values)


def _test(name: str, values: list[str], known: Mapping[str, str]) -> Callable[[Record, dict[str, Any]], bool]:
    plain = {value for value in values if not _SPECIAL.search(value)}
    patterns = [_pattern(value) for value in values if value not in plain]

    def any_matches(texts: Iterable[str]) -> bool:
        return any(text in plain or any(pattern.fullmatch(text) for pattern in patterns) for text in texts)

    if name.startswith("tag:"):
        key = name.removeprefix("tag:")
        return lambda record, _: key in record["tags"] and any_matches([record["tags"][key]])
    if name == "tag-key":
        return lambda record, _: any_matches(record["tags"])
    parts = known[name].split(".")
    return lambda _, view: any_matches(_values(view, parts))


@lru_cache(maxsize=2048)
def _pattern(value: str) -> re.Pattern[str]:
    r"""Return a filter value as an expression: `*` and `?` are wildcards, a backslash takes their meaning away."""
    parts = re.findall(r"\\.|.", value, re.DOTALL)
    wild = {"*": ".*", "?": "."}
    return re.compile("".join(wild.get(p) or re.escape(p[-1]) for p in parts), re.DOTALL)


def _values(view: Any, parts: list[str]) -> Iterator[str]:
    """Return the values at a path as text; a list on the way means each of its items."""
    if isinstance(view, list):
        for each in view:
            yield from _values(each, parts)
    elif parts:
        if isinstance(view, dict) and view.get(parts[0]) is not None:
            yield from _values(view[parts[0]], parts[1:])
    elif isinstance(view, bool):
        yield "true" if view else "false"
    else:
        yield str(view)


def paged_rows(
    call: Call, rows: list[tuple[Record, dict[str, Any]]]
) -> tuple[list[tuple[Record, dict[str, Any]]], str | None]:
    """Return the page that MaxResults and NextToken select, and the token of the next page."""
    numbered = [(int(row[0]["serial"]), row) for row in rows]
    try:
        found, more = page(call, numbered, call.params.get("NextToken"), call.params.get("MaxResults"))
    except BadToken:
        raise Refused("InvalidNextToken", "The specified NextToken is not valid") from None
    return found, more or None
