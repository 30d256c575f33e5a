"""The interface of a cloud in the conformance suite, and the list of clouds: a new one is a line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from freehold.engine.kinds import Registry
from freehold.engine.resources import Observed, ParentResource, Ref

HOUR = 3600.0
STEP = 1.0

Request = dict[str, Any]
Bench = Any
"""One simulated account; :class:`conformance.ibm.IbmBench` is an example."""


def place_of(kind: str, seen: Observed) -> ParentResource:
    return ParentResource(kind, Ref(seen.id, seen.target))


def has_birth_mark(seen: Observed, nonce: str) -> bool:
    """Whether the nonce of a create is in a name of what it made, or in a tag that it was born with."""
    return any(nonce in text for text in (*seen.nonce_fields, *(seen.tags or ())))


@dataclass(frozen=True)
class CloudUnderTest:
    """``homes``: the kinds that are created inside another resource, and the kind of that resource.

    ``bench`` makes a fresh account, ``lagging`` one whose lists are that many seconds behind and step back,
    ``small_pages`` one whose lists have one item a page.
    """

    kinds: Registry
    homes: Mapping[str, str]
    bench: Callable[..., Bench]
    lagging: Callable[[float], Bench]
    small_pages: Callable[[], Bench]
