"""What is on record of a resource whose calls did not all succeed.

An entry says that we wrote a key. A call that was surely without effect leaves none: what a person sets there later
would count as ours, and go with the key.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from freehold.tagging.ownership import Record, RecordLost
from freehold.tagging.plan import ResourcePlan


@dataclass
class Done:
    """Keys on one resource that calls have removed or written, or may have: their replies were lost."""

    removed: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    perhaps_removed: set[str] = field(default_factory=set)
    perhaps_written: set[str] = field(default_factory=set)


def record_of_part(plan: ResourcePlan, earlier: Record | RecordLost, done: Done) -> Record | RecordLost:
    """``earlier``: the record as it was before the intentions of this plan were stored.

    It counts again for the keys of calls that were refused, or never sent.
    """
    was, before, after = (_entries(each) for each in (earlier, plan.record_before, plan.record_after))
    found = dict(before)
    for changes, keys, perhaps in (
        (plan.delta.removals, done.removed, done.perhaps_removed),
        (plan.delta.upserts, done.written, done.perhaps_written),
    ):
        for key in (each.key for each in changes):
            source = after if key in keys else before if key in perhaps else was
            found.pop(key, None)
            if key in source:
                found[key] = source[key]
    return earlier if not found and isinstance(earlier, RecordLost) else found


def _entries(record: Record | RecordLost) -> Record:
    return {} if isinstance(record, RecordLost) else record
