"""For whom the record says that tags were written: the provider object's first uid, kept over a restore (ADR 37). Pure.

The annotation is signed for the object's kind, namespace and name: copied to another object it says nothing.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from freehold.api.names import TAGS_WRITER_ANNOTATION
from freehold.lifecycle.keys import KeyRing
from freehold.lifecycle.ownership import Owner


class Begun(Enum):
    """Whether something was written for the object, as far as it says so itself."""

    YES = "yes"
    NOT_YET = "not yet"


@dataclass(frozen=True)
class Writer:
    uid: str
    begun: Begun


def writer_of(provider: Mapping[str, Any], ring: KeyRing) -> Writer:
    metadata = provider["metadata"]
    uid, digest, signature = _said(metadata)
    known = ring.readable(digest, uid)
    if known and hmac.compare_digest(signature, _signature(provider, uid, digest, ring)):
        return Writer(uid, Begun.YES)
    return Writer(str(metadata["uid"]), Begun.NOT_YET)


def begun_by_any(providers: Iterable[Mapping[str, Any]]) -> bool:
    """Whether any object has the annotation, whoever signed it: then there was a record."""
    return any(_said(each["metadata"])[0] for each in providers)


def annotation(provider: Mapping[str, Any], uid: str, ring: KeyRing) -> str:
    return f"{uid} {ring.writing} {_signature(provider, uid, ring.writing, ring)}"


def _said(metadata: Mapping[str, Any]) -> tuple[str, str, str]:
    text = str((metadata.get("annotations") or {}).get(TAGS_WRITER_ANNOTATION, ""))
    words = text.split(" ")
    return (words[0], words[1], words[2]) if len(words) == 3 else ("", "", "")


def _signature(provider: Mapping[str, Any], uid: str, digest: str, ring: KeyRing) -> str:
    metadata = provider["metadata"]
    owner = Owner(uid, "AWSMetadata", str(metadata.get("namespace", "")), str(metadata["name"]))
    return ring.of(owner, unkeyed=False).signature(digest, "tags writer", uid)
