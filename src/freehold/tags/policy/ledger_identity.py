"""For whom the record says that tags were written: the provider object's first uid, kept over a restore (ADR 19). Pure.

The annotation is signed for the object's kind, namespace and name: copied to another object it says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from freehold.api.names import TAGS_WRITER_ANNOTATION
from freehold.engine.keys import KeyRing, is_same
from freehold.engine.ownership import Owner
from freehold.tags.policy.references import ProviderObject

_FORM: Final = re.compile(r"([A-Za-z0-9-]{1,64}) ([a-z2-7]{10}) ([a-z2-7]{16})(?: ([0-9]{1,15}))?")
"""A uid, the digest of a key, a signature (engine.keys) and, by earlier versions, a count.

Whoever may edit an object writes annotations: any other text is not ours, names no key, and must reach neither a
sentence nor a command.
"""


@dataclass(frozen=True)
class Writer:
    """For whom the ledger says that an object's tags were written. ``begun``: whether the object says so itself."""

    uid: str
    begun: bool


def writer_of(provider: ProviderObject, ring: KeyRing) -> Writer:
    """Find the uid under which the ledger has the object: that of its annotation where it is signed, else its own."""
    uid, digest, signature, said = _read_annotation(provider)
    if ring.readable(digest, uid) and is_same(signature, _signature(provider, uid, digest, said, ring)):
        return Writer(uid, begun=True)
    return Writer(str(provider.raw["metadata"]["uid"]), begun=False)


def begun_by_any(providers: Iterable[ProviderObject]) -> bool:
    """Say whether any object has the annotation, whoever signed it: then there was a ledger."""
    return any(_read_annotation(each)[0] for each in providers)


def key_of_annotation(provider: ProviderObject) -> str:
    """Return the digest of the key that signed it, empty where there is none."""
    return _read_annotation(provider)[1]


def annotation(provider: ProviderObject, uid: str, ring: KeyRing) -> str:
    """Spell what is noted on an object."""
    return f"{uid} {ring.writing} {_signature(provider, uid, ring.writing, uid, ring)}"


def _read_annotation(provider: ProviderObject) -> tuple[str, str, str, str]:
    """Read the uid, the digest of a key, the signature and what is signed: earlier versions added a count."""
    found = _FORM.fullmatch(str(provider.annotations.get(TAGS_WRITER_ANNOTATION, "")))
    if not found:
        return "", "", "", ""
    return found[1], found[2], found[3], f"{found[1]} {found[4]}" if found[4] else found[1]


def _signature(provider: ProviderObject, uid: str, digest: str, said: str, ring: KeyRing) -> str:
    kind, namespace, name = provider.reference
    return ring.derive_keys(Owner(uid, kind, namespace, name)).signature(digest, "tags writer", said)
