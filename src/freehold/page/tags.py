"""The report of tags: each CloudMetadata, how far its tags are as wanted, and what is not.

Counts and lists are of the last pass of this process, so that no cloud is called; before it there is only the status.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from freehold.api.conditions import find_condition
from freehold.kube.resources import Json, Key, key_of
from freehold.tags.pass_summary import LeftTag, PassSummary, RepairedTag, TagStanding
from freehold.tags.policy.status import APPLIED
from freehold.view.object_view import view

KIND: Final = "CloudMetadata"

_COUNTED: Final = {
    "as_wanted": TagStanding.AS_WANTED,
    "differs": TagStanding.DIFFERS,
    "drifted": TagStanding.DRIFTED,
    "left": TagStanding.REFUSED,
    "not_known": TagStanding.UNKNOWN,
}
_NOT_LOOKED: Final = "this process has not looked at its tags yet: the status is all that is known, and counts follow"


def build_report(objects: Iterable[Json], find: Callable[[Key], PassSummary | None]) -> Json:
    """Build the report of the CloudMetadata objects that a viewer may see.

    ``find``: the summary of an object's last pass (PassSummaries.find).
    """
    ordered = sorted(objects, key=key_of)
    return {"objects": [_build_object(raw, find(key_of(raw))) for raw in ordered]}


def _build_object(raw: Json, summary: PassSummary | None) -> Json:
    key, seen = key_of(raw), view(raw)
    head = {
        "key": f"{KIND}/{key.namespace}/{key.name}",
        "namespace": key.namespace,
        "name": key.name,
        "phase": seen.phase.value,
    }
    if summary is None:
        return {**head, **_build_unknown(raw)}
    return {
        **head,
        "total": summary.total,
        "counts": {name: summary.counts.get(standing, 0) for name, standing in _COUNTED.items()},
        "conflicts": [_describe_left(each) for each in summary.conflicts],
        "trimmed": [_describe_left(each) for each in summary.trimmed],
        "unlisted": summary.unlisted,
        "repaired": summary.repaired,
        "repairs": [_describe_repair(each) for each in reversed(summary.repairs)],
        "open": list(summary.open),
        "looked": summary.looked,
    }


def _build_unknown(raw: Json) -> Json:
    """Build the part of an object of which only the status is known."""
    nothing: Json = dict.fromkeys(("total", "counts", "repaired", "looked"))
    return {
        **nothing,
        "conflicts": [],
        "trimmed": [],
        "unlisted": 0,
        "repairs": [],
        "open": [*_read_problem(raw), _NOT_LOOKED],
    }


def _read_problem(raw: Json) -> list[str]:
    """Read what the status says of tags that are not as asked for; empty where it says none."""
    conditions = (raw.get("status") or {}).get("conditions") or ()
    applied = find_condition(conditions, APPLIED) or {}
    is_good = applied.get("status") == "True" and applied.get("reason") in ("Applied", "Repaired")
    return [] if is_good or not applied.get("message") else [str(applied["message"])]


def _describe_left(tag: LeftTag) -> Json:
    return {"resource": tag.resource, "tag": tag.key, "is": tag.found, "wanted": tag.wanted, "why": tag.why}


def _describe_repair(tag: RepairedTag) -> Json:
    return {"resource": tag.resource, "tag": tag.key, "was": tag.found, "is": tag.value, "at": tag.at}
