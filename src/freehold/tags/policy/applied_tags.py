"""The active list of a provider's object, and which of its tags every resource has: ``status``. Pure.

Source: docs/reference/metadata-compat.md A5, A31.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from freehold.tags.policy.ledger import Proof, Record
from freehold.tags.policy.outcome import Outcome
from freehold.tags.policy.plan import ResourcePlan
from freehold.tags.policy.protected import IgnoreList, KeyAccess, access
from freehold.tags.policy.resources import TaggedResource
from freehold.tags.policy.tag_request import TagRequest

Found = Sequence[tuple[TaggedResource, Record]]
"""What the classifiers select, with the record of each."""


def add_kept_tags(request: TagRequest, found: Found, ignored: IgnoreList) -> TagRequest:
    """Add the tags of the active list to a request: those that stay though the spec does not name them.

    A tag of the list is believed where a record proves that it was written, or all resources have it: whoever may
    write a status must not have tags written. Without a status, what is on record of all resources is on the list.
    """
    if request.claim.kept is None or not found:
        return request
    written = _count_written_values(request, found)
    kept: dict[str, str] = {}
    for key in sorted({*written, *request.listed} - {*request.claim.wants, *request.classifiers.keys}):
        values, listed = written.get(key, Counter[str]()), request.listed.get(key)
        on_all = next((value for value, count in values.items() if count == len(found)), None)
        proven = listed in values or all(listed in resource.tags.get(key, ()) for resource, _ in found)
        value = listed if proven else on_all
        if value is not None and access(request.place.cloud, key, ignored) is KeyAccess.ALLOWED:
            kept[key] = value
    return replace(request, claim=replace(request.claim, kept=kept))


def _count_written_values(request: TagRequest, found: Found) -> Mapping[str, Counter[str]]:
    """On how many resources each value of a key is that was written for the object."""
    counts: dict[str, Counter[str]] = {}
    for _, record in found:
        for key, entry in record.items():
            if entry.writer == request.claim.claimant.uid and entry.proof is Proof.CONFIRMED and len(entry.values) == 1:
                counts.setdefault(key, Counter()).update(entry.values)
    return counts


def next_active_list(request: TagRequest, wanted: Mapping[str, str], *, seen: bool) -> dict[str, str]:
    """Return the active list. ``seen``: whether all resources were; else what is not proven stays on it."""
    if request.claim.kept is None:
        return dict(wanted)
    before = {} if seen else {key: each for key, each in request.listed.items() if key not in request.claim.wants}
    return dict(sorted({**before, **wanted}.items()))


def tags_on_all(wanted: Mapping[str, str], plans: Iterable[ResourcePlan], done: Collection[str] = ()) -> dict[str, str]:
    """Those of ``wanted`` that no resource lacks. ``done``: resources whose plans were carried out whole."""
    found = dict(wanted)
    for plan in plans:
        if not found:
            break
        carried_out, tags, written = plan.resource.id in done, plan.resource.tags, plan.delta.written
        removed = {each.key for each in plan.delta.removals}
        for key, value in tuple(found.items()):
            if (key in removed and carried_out) or not (carried_out if key in written else value in tags.get(key, ())):
                del found[key]
    return found


def active_list(listed: Mapping[str, str], outcome: Outcome) -> dict[str, str]:
    """Return what the status lists. ``listed``: what it has so far; what was not looked at makes no tag come or go."""
    if outcome.has_unseen:
        return {key: value for key, value in outcome.applied.items() if listed.get(key) == value}
    return dict(outcome.applied) if outcome.selected else {}
