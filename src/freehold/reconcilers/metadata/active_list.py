"""Which tags every resource has: ``status.resourcetags`` of a provider's object. Pure.

Source: docs/reference/metadata-compat.md A5.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from freehold.reconcilers.metadata.outcome import Outcome
from freehold.tagging.plan import ResourcePlan


def on_all(wanted: Mapping[str, str], plans: Iterable[ResourcePlan], done: Collection[str] = ()) -> dict[str, str]:
    """Those of ``wanted`` that no resource lacks. ``done``: resources whose plans were carried out whole."""
    found = dict(wanted)
    for plan in plans:
        if not found:
            break
        carried_out, tags, written = plan.resource.id in done, plan.resource.tags, plan.delta.written
        for key, value in tuple(found.items()):
            if not (carried_out if key in written else value in tags.get(key, ())):
                del found[key]
    return found


def active_list(listed: Mapping[str, str], outcome: Outcome) -> dict[str, str]:
    """``listed``: what the status has so far. What could not be looked at makes no tag come or go."""
    if outcome.has_unseen:
        return {key: value for key, value in outcome.applied.items() if listed.get(key) == value}
    return dict(outcome.applied) if outcome.selected else {}
