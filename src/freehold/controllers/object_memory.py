"""Memory of a process about the objects of one kind. Its loss costs reads, never safety."""

from __future__ import annotations

from dataclasses import dataclass

from freehold.engine.clock import Clock
from freehold.engine.decisions import Decision
from freehold.engine.state import ObjectState
from freehold.kube.field_managers import Writer
from freehold.kube.resources import Json
from freehold.providers.access.accounts import CloudAccount


@dataclass
class ObjectMemo:
    """The memory of one object: what was seen of its resources, in which account, at which generation of its spec.

    ``open_decisions`` are those of the last pass. ``record`` is the journal as it was last read or stored; ``writers``
    are the other owners of the object's fields at that time, None before. ``is_released``: nothing of it is left, and
    its finalizer may be off already.
    """

    state: ObjectState
    cloud: CloudAccount
    generation: int
    open_decisions: tuple[Decision, ...] = ()
    record: str = ""
    writers: frozenset[Writer] | None = None
    is_released: bool = False


class ObjectMemory:
    """The objects of one kind, by UID."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: dict[str, ObjectMemo] = {}

    def find(self, raw: Json) -> ObjectMemo | None:
        """Return what is remembered of the object."""
        return self._known.get(raw["metadata"]["uid"])

    def forget(self, raw: Json) -> ObjectMemo | None:
        """Forget the object, and return what was remembered of it."""
        return self._known.pop(raw["metadata"]["uid"], None)

    def keep(self, raw: Json, cloud: CloudAccount, *, identity_is_new: bool) -> ObjectMemo:
        """Return the memory of the object, new if there is none or if it is of another account."""
        uid, generation = raw["metadata"]["uid"], generation_of(raw)
        known = self._known.get(uid)
        if known is None or known.cloud is not cloud:
            state = ObjectState(first_seen=self._clock.monotonic(), identity_is_new=identity_is_new)
            known = self._known[uid] = ObjectMemo(state, cloud, generation)
        if generation != known.generation:
            known.state.invalidate()
            known.generation = generation
        return known


def generation_of(raw: Json) -> int:
    """Return the generation of the object's spec."""
    return int(raw["metadata"].get("generation", 0))
