"""Rows of the page's list: one for each object, from what is stored. Pure, and fast: one is built for each change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from freehold.api import names
from freehold.api.conditions import find_condition
from freehold.api.served import ClusterLink
from freehold.kube.resources import Json, Resource
from freehold.page.attention import Attention, Need, find_attention, find_tag_attention
from freehold.page.stored_object import as_mapping, cut_name, object_key, read_stored
from freehold.providers.objects.gate import owner_of
from freehold.providers.registry import METADATA, PROVIDERS
from freehold.tags.policy.status import APPLIED
from freehold.view.object_view import View, ViewPhase, read_seconds, view

CLOUDS: Final = {
    served.kind: provider.name
    for provider in PROVIDERS
    for served in (
        *(each.served for each in provider.objects),
        *(each.served for each in provider.mirrors),
        *((provider.tags.served,) if provider.tags else ()),
    )
}
"""The name of its provider, by kind of object."""
_OF_TAGS: Final = frozenset(each.kind for each in METADATA)

ReadTime = Callable[[float], float]
"""Turns a time that the API server wrote into domain time."""


def same_time(at: float) -> float:
    """Return the time as it is: domain time runs as the API server's does."""
    return at


@dataclass(frozen=True)
class Row:
    """One object in the list. Times are domain time, None when unknown.

    ``since``: since when it is in its phase. ``version`` is its resourceVersion. ``changes_at``: when the row must be
    built again although the object stays the same, as its delete then takes long; None for never.
    """

    kind: str
    namespace: str
    name: str
    phase: ViewPhase
    reason: str
    since: float | None
    created: float | None
    deleting_since: float | None
    done: int
    total: int
    cloud: str
    place: str
    cluster: str
    version: str
    needs: tuple[Need, ...] = ()
    changes_at: float | None = None

    @property
    def key(self) -> str:
        return object_key(self.kind, self.namespace, self.name)

    def to_json(self) -> Json:
        """Return the row as the page gets it."""
        return {
            "key": self.key, "kind": self.kind, "namespace": self.namespace, "name": self.name,
            "phase": self.phase.value, "reason": self.reason, "since": self.since, "created": self.created,
            "deleting_since": self.deleting_since, "done": self.done, "total": self.total, "cloud": self.cloud,
            "place": self.place, "cluster": self.cluster, "version": self.version,
            "needs": [need.to_json() for need in self.needs],
        }  # fmt: skip


def build_row(resource: Resource, raw: Json, now: float, read_time: ReadTime = same_time) -> Row:
    """Build the row of a stored object. ``now`` is domain time. Whatever the object has in it, there is a row."""
    return build_row_of_stored(read_stored(resource, raw), now, read_time)


def build_row_of_stored(stored: Json, now: float, read_time: ReadTime = same_time) -> Row:
    """Build the row of an object that :func:`stored_object.read_stored` has read."""
    metadata = stored["metadata"]
    of_tags = stored["kind"] in _OF_TAGS
    seen = view(_with_ready(stored) if of_tags else stored)
    created = _read_api_time(metadata["creationTimestamp"], read_time)
    deleting = _read_api_time(metadata.get("deletionTimestamp"), read_time)
    attention = find_tag_attention(stored) if of_tags else find_attention(seen, stored, now, deleting or 0.0)
    return Row(
        kind=stored["kind"],
        namespace=metadata["namespace"],
        name=metadata["name"],
        phase=_choose_phase(seen, attention, of_tags=of_tags),
        reason=cut_name(_find_reason(seen, stored)),
        since=_find_since(seen, stored, deleting),
        created=created,
        deleting_since=deleting,
        done=sum(line.state == "Ready" for line in seen.lines),
        total=len(seen.lines),
        cloud=CLOUDS.get(stored["kind"], ""),
        place=cut_name(_find_place(stored)),
        cluster=cut_name(_find_cluster(metadata)),
        version=metadata["resourceVersion"],
        needs=attention.needs,
        changes_at=attention.changes_at,
    )


def _with_ready(stored: Json) -> Json:
    """Return an object of the metadata controller whose ``Applied`` sums up as one that is ``Ready`` by it."""
    conditions = stored["status"]["conditions"]
    applied = find_condition(conditions, APPLIED)
    if applied is None or find_condition(conditions, names.READY):
        return stored
    return {**stored, "status": {**stored["status"], "conditions": [{**applied, "type": names.READY}, *conditions]}}


def _choose_phase(seen: View, attention: Attention, *, of_tags: bool) -> ViewPhase:
    """Choose the phase. Tags that are on their way are not ``Ready``, and need nobody."""
    if of_tags and seen.phase is ViewPhase.BLOCKED and not attention.needs:
        return ViewPhase.PROGRESSING
    return seen.phase


def _find_reason(seen: View, stored: Json) -> str:
    if seen.phase is ViewPhase.BLOCKED and seen.blockers:
        return seen.blockers[0].reason
    condition = _find_telling(seen, stored)
    return str(condition.get("reason") or "")


def _find_telling(seen: View, stored: Json) -> Json:
    """Return the condition that tells of the phase."""
    types = {ViewPhase.PAUSED: names.PAUSED, ViewPhase.DELETING: names.DELETING}
    conditions = stored["status"]["conditions"]
    wanted = types.get(seen.phase, names.READY)
    found = find_condition(conditions, wanted) or find_condition(conditions, names.READY)
    return dict(found or find_condition(conditions, APPLIED) or {})


def _find_since(seen: View, stored: Json, deleting: float | None) -> float | None:
    if seen.phase is ViewPhase.DELETING:
        return deleting
    if seen.phase is ViewPhase.BLOCKED and seen.blockers:
        return seen.blockers[0].since or None
    return read_seconds(_find_telling(seen, stored).get("lastTransitionTime")) or None


def _read_api_time(text: Any, read_time: ReadTime) -> float | None:
    seconds = read_seconds(text) if text else 0.0
    return round(read_time(seconds), 3) if seconds else None


def _find_place(stored: Json) -> str:
    """Find region or zone, as its spec names them; else as its identity does, which has those of its parent."""
    spec, placed = stored["spec"], as_mapping(stored["status"]["identity"].get("place"))
    named = (spec.get("region"), spec.get("zone"), as_mapping(spec.get("vpc")).get("region"), placed.get("region"))
    return next((each for each in named if each and isinstance(each, str)), "")


def _find_cluster(metadata: Json) -> str:
    """Find the Cluster that it belongs to."""
    label: str = metadata["labels"].get(names.CLUSTER_NAME_LABEL, "")
    owner = owner_of({"metadata": metadata}, ClusterLink.INFRASTRUCTURE)
    return label or (owner.name if owner else "")
