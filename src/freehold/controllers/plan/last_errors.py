"""What the cloud refused in the last pass, told in the rows of a plan. Pure.

A plan sends no write, so it cannot find out that one would be denied or is beyond a quota. The last pass has found out,
and the status says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from freehold.api import names
from freehold.api.conditions import find
from freehold.api.vendor_ids import vendor_id
from freehold.controllers.plan.plan import PlanRow
from freehold.engine.reasons import Reason

_FOUND_OUT_BY_TRYING = frozenset({Reason.DENIED.value, Reason.QUOTA.value})


def with_last_refusals(rows: Iterable[PlanRow], raw: Mapping[str, Any]) -> Iterator[PlanRow]:
    """``rows``, each resource's first change with what the status of ``raw`` says of the last try.

    A create or an update that was refused says nothing of a delete, nor the other way round. ``raw`` is the object that
    is planned: with a ``deletionTimestamp`` where the plan is one of its delete, and with its stored status.
    """
    status = raw.get("status") or {}
    if ("deletionTimestamp" in (raw.get("metadata") or {})) is not _is_of_delete(status):
        yield from rows
        return
    earlier = status.get("observedGeneration") != (raw.get("metadata") or {}).get("generation")
    said = {
        _place(row.get("kind"), row.get("name"), row.get("id")): _sentence(row, earlier_spec=earlier)
        for row in status.get("resources") or ()
        if row.get("reason") in _FOUND_OUT_BY_TRYING and row.get("message")
    }
    for row in rows:
        place = _place(row.kind, row.name, vendor_id(row.id))
        if row.action.changes and place in said:
            yield replace(row, reason=f"{row.reason}; {said.pop(place)}")
        else:
            yield row


def _is_of_delete(status: Mapping[str, Any]) -> bool:
    """Whether the pass that wrote it was one of a delete."""
    return (find(status.get("conditions") or (), names.READY) or {}).get("reason") == names.REASON_DELETING


def _place(kind: object, name: object, ident: object) -> tuple[str, str, str]:
    """What was refused of an earlier resource of the name, or of surplus, says nothing of this one: ids must agree."""
    return str(kind or ""), str(name or ""), str(ident or "")


def _sentence(row: Mapping[str, Any], *, earlier_spec: bool) -> str:
    """``since`` moves with the state: of a row that is not blocked it tells nothing of the refusal."""
    since = row.get("since") if row.get("state") == "Blocked" else None
    when = f"{row['reason']}, blocked since {since}" if since else str(row["reason"])
    spec = ", with an earlier spec," if earlier_spec else ""
    return f"the last try{spec} was refused ({when}): {row['message']}"
