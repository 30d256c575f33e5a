"""For whom the record says that tags were written: the provider object's first uid, kept over a restore (ADR 19). Pure.

The annotation is signed for the object's kind, namespace and name: copied to another object it says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from freehold.api.names import TAGS_WRITER_ANNOTATION
from freehold.engine.keys import KeyRing, is_same
from freehold.engine.ownership import Owner
from freehold.reconcilers.metadata.references import Provider

_FORM: Final = re.compile(r"([A-Za-z0-9-]{1,64}) ([a-z2-7]{10}) ([a-z2-7]{16})(?: ([0-9]{1,15}))?")
"""A uid, the digest of a key, a signature (engine.keys) and a count. Whoever may edit an object writes annotations:
any other text is not ours, names no key, and must reach neither a sentence nor a command.
"""


class Begun(Enum):
    """Whether something was written for the object, as far as it says so itself."""

    YES = "yes"
    NOT_YET = "not yet"


@dataclass(frozen=True)
class Writer:
    """``count``: what the record had counted when it was last noted here (StoredRecord.witnessed)."""

    uid: str
    begun: Begun
    count: int = 0


def writer_of(provider: Provider, ring: KeyRing) -> Writer:
    uid, digest, signature, count = _said(provider)
    known = ring.readable(digest, uid)
    if known and is_same(signature, _signature(provider, uid, digest, count, ring)):
        return Writer(uid, Begun.YES, count)
    return Writer(str(provider.raw["metadata"]["uid"]), Begun.NOT_YET)


def begun_by_any(providers: Iterable[Provider]) -> bool:
    """Whether any object has the annotation, whoever signed it: then there was a record."""
    return any(_said(each)[0] for each in providers)


def witnessed(providers: Iterable[Provider], ring: KeyRing) -> int:
    """The highest count of the record that an object has noted. One that is not signed says nothing."""
    noted = [(count, number, each) for number, each in enumerate(providers) if (count := _said(each)[3])]
    return next((count for count, _, each in sorted(noted, reverse=True) if writer_of(each, ring).count == count), 0)


def key_of_annotation(provider: Provider) -> str:
    """The digest of the key that signed it, empty where there is none."""
    return _said(provider)[1]


def annotation(provider: Provider, uid: str, ring: KeyRing, count: int = 0) -> str:
    text = f"{uid} {ring.writing} {_signature(provider, uid, ring.writing, count, ring)}"
    return f"{text} {count}" if count else text


def _said(provider: Provider) -> tuple[str, str, str, int]:
    found = _FORM.fullmatch(str(provider.annotations.get(TAGS_WRITER_ANNOTATION, "")))
    return (found[1], found[2], found[3], int(found[4] or 0)) if found else ("", "", "", 0)


def _signature(provider: Provider, uid: str, digest: str, count: int, ring: KeyRing) -> str:
    kind, namespace, name = provider.reference
    owner = Owner(uid, kind, namespace, name)
    said = f"{uid} {count}" if count else uid
    return ring.of(owner).signature(digest, "tags writer", said)
