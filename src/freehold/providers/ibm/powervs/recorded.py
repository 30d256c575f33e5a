"""Which record of the journal an entry of a list in the spec means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from freehold.engine.journal import Entry, RecordState
from freehold.engine.keys import NONCE
from freehold.engine.resources import NodeKey

_SECOND = "~"
"""In the logical name of a resource whose own name another one has (``recovery.free_key``): no entry means it."""


def is_nonce(logical: str) -> bool:
    """Return whether it is a birth mark: what was found by it, and has no node, is recorded under it."""
    return NONCE.fullmatch(logical) is not None


def list_recorded(kind: str, record: Mapping[NodeKey, Entry]) -> Iterator[tuple[NodeKey, Entry]]:
    """Yield the records of ``kind`` that an entry without an id may mean."""
    for key, entry in record.items():
        if key.kind == kind and entry.state is not RecordState.GIVEN and _SECOND not in key.logical:
            yield key, entry


def own_by_id(kind: str, ident: str, record: Mapping[NodeKey, Entry]) -> NodeKey | None:
    """Find this object's own resource with this id; None where it is none of its own.

    A DHCP server is known by its network too, which its mark is on.
    """
    for key, entry in record.items():
        on_mark = "" if entry.carried else entry.target.rpartition(":")[2]
        if key.kind == kind and entry.state.is_claimed and ident in (entry.id.rpartition("/")[2], on_mark):
            return key
    return None
