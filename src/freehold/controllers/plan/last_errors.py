"""Errors of the last pass, added to the rows of a plan. Pure.

A plan sends no write, so it cannot find out that one would be denied, is beyond a quota or finds no capacity.
The last pass did, and the status has its errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from freehold.api import names
from freehold.api.conditions import find_condition
from freehold.api.vendor_ids import vendor_id
from freehold.controllers.plan.plan import PlanRow
from freehold.engine.reasons import Reason

_FOUND_OUT_BY_TRYING = frozenset({Reason.DENIED.value, Reason.QUOTA.value, Reason.NO_CAPACITY.value})


def add_last_errors(rows: Iterable[PlanRow], raw: Mapping[str, Any]) -> Iterator[PlanRow]:
    """Add to each resource's first change the error of the last try, from the status of ``raw``.

    An error of a create or an update says nothing about a delete, nor the other way round. ``raw`` is the planned
    object with its stored status, and with a ``deletionTimestamp`` if its delete is planned.
    """
    status = raw.get("status") or {}
    if ("deletionTimestamp" in (raw.get("metadata") or {})) is not _is_of_delete(status):
        yield from rows
        return
    earlier = status.get("observedGeneration") != (raw.get("metadata") or {}).get("generation")
    said = {
        _build_row_key(row.get("kind"), row.get("name"), row.get("id")): _describe_error(row, earlier_spec=earlier)
        for row in status.get("resources") or ()
        if row.get("reason") in _FOUND_OUT_BY_TRYING and row.get("message")
    }
    for row in rows:
        place = _build_row_key(row.kind, row.name, vendor_id(row.id))
        if row.action.changes and place in said:
            yield replace(row, reason=f"{row.reason}; {said.pop(place)}")
        else:
            yield row


def _is_of_delete(status: Mapping[str, Any]) -> bool:
    """Return whether a pass of a delete wrote this status."""
    return (find_condition(status.get("conditions") or (), names.READY) or {}).get("reason") == names.REASON_DELETING


def _build_row_key(kind: object, name: object, ident: object) -> tuple[str, str, str]:
    """Return the key of a row. It has the id, because another resource of the name may have had the error."""
    return str(kind or ""), str(name or ""), str(ident or "")


def _describe_error(row: Mapping[str, Any], *, earlier_spec: bool) -> str:
    """Describe the error of a status row. Its ``since`` is that of the error only while the row is blocked."""
    since = row.get("since") if row.get("state") == "Blocked" else None
    when = f"{row['reason']}, blocked since {since}" if since else str(row["reason"])
    spec = ", with an earlier spec," if earlier_spec else ""
    return f"the last try{spec} was refused ({when}): {row['message']}"
