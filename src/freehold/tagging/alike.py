"""The plans of a fleet: of resources that are alike, one is worked out.

A fleet is tagged by one list, so nearly all of its resources are in one of a few states. This is the same as a plan of
each, in a third of the time.
"""

from __future__ import annotations

from collections.abc import Hashable

from freehold.tagging.limits import limit_of, slots_used
from freehold.tagging.ownership import Record, RecordLost
from freehold.tagging.plan import ResourcePlan, Terms, plan_on
from freehold.tagging.resources import Resource


class Plans:
    """For the one whose uid is ``acting``. The terms that it was given are kept: they are compared by identity."""

    def __init__(self, acting: str) -> None:
        self._acting = acting
        self._known: dict[Hashable, ResourcePlan] = {}
        self._terms: dict[int, Terms] = {}

    def on(self, resource: Resource, terms: Terms, record: Record | RecordLost) -> ResourcePlan:
        """What :func:`freehold.tagging.plan.plan_on` returns."""
        if isinstance(record, RecordLost):
            return plan_on(resource, terms, record, self._acting)
        self._terms[id(terms)] = terms
        state = _state(resource, terms, record)
        if (known := self._known.get(state)) is not None:
            return ResourcePlan(resource, known.delta, known.notes, known.record_before, known.record_after)
        plan = plan_on(resource, terms, record, self._acting)
        if not plan.notes:  # these name the resource
            self._known[state] = plan
        return plan


def _state(resource: Resource, terms: Terms, record: Record) -> Hashable:
    """All of a resource that its plan depends on."""
    tags = resource.tags
    return (
        id(terms),
        resource.cloud,
        limit_of(resource) - slots_used(resource),
        tuple(map(tags.get, terms.decisive)),
        tuple([(key, entry, tags.get(key)) for key, entry in record.items()]),
    )
