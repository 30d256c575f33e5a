"""The check of an id in a stored record: whoever may edit an object can write any id there. Pure."""

from __future__ import annotations

from collections.abc import Callable

from freehold.engine.journal import Entry, Journal
from freehold.engine.keys import KeyRing, fingerprint
from freehold.engine.resources import NodeKey

Vouch = Callable[[Journal, NodeKey, Entry], bool]
"""Returns whether the operator itself wrote this id."""


def vouch_with(ring: KeyRing | None) -> Vouch:
    """Return what checks signatures with this key ring. Without one all count: nothing is created then."""

    def vouch(journal: Journal, key: NodeKey, entry: Entry) -> bool:
        if ring is None:
            return True
        owner = journal.owner
        if ring.derive_keys(owner).vouches(entry.key, entry.signature, key.kind, entry.id, entry.incarnation):
            return True
        return ring.forgives(entry.key, owner.uuid, fingerprint(owner, str(key), entry.id, entry.incarnation))

    return vouch
