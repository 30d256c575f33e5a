"""Tags of IBM Cloud: one text each, ``key:value`` or ``label``; a key may have several values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from freehold.api import tag_sentences as sentences
from freehold.providers.ibm import marks
from freehold.providers.ibm.tagged import kind_of
from freehold.tags.policy.batches import CallPart, TagVerb
from freehold.tags.policy.dialect import TagDialect
from freehold.tags.policy.key_decision import Cause, Upsert
from freehold.tags.policy.plan import Delta
from freehold.tags.policy.resources import Tags
from freehold.tags.policy.validation import quote_shortened

LONGEST_TAG: Final = 128
_ILLEGAL: Final = re.compile(r"[^A-Za-z0-9 _\-.:]")
_ILLEGAL_IN_KEY: Final = re.compile(r"[^A-Za-z0-9 _\-.]")


def _canonical(text: str) -> str:
    """In tags IBM Cloud knows neither case nor outer spaces."""
    return text.strip().lower()


def ibm_tags(names: Iterable[str]) -> Tags:
    """Read tags; the value may have colons, the key has none. A label is a key with an empty value."""
    found: dict[str, frozenset[str]] = {}
    for name in names:
        key, _, value = _canonical(name).partition(":")
        found[key] = found.get(key, frozenset()) | {value}
    return found


def ibm_tag_name(key: str, value: str) -> str:
    """Spell a tag."""
    return f"{key}:{value}" if value else key


def _slots_used(tags: Tags) -> int:
    return sum(map(len, tags.values()))


def _complaints(key: str, value: str) -> Iterator[str]:
    name = ibm_tag_name(key, value)
    if not key.strip():
        yield f"{sentences.IBM_TAG} (a key is empty)"
    if len(name) > LONGEST_TAG:
        yield f"{sentences.IBM_TAG} ({quote_shortened(name)} has {len(name)})"
    if bad := _ILLEGAL_IN_KEY.search(key):
        ends = ", which on IBM Cloud ends the key" if bad.group() == ":" else ""
        yield f"{sentences.IBM_TAG} (the key {quote_shortened(key)} has {bad.group()!r}{ends})"
    if bad := _ILLEGAL.search(value):
        yield f"{sentences.IBM_VALUE} ({quote_shortened(value)} has {bad.group()!r})"
    for word, text in (("key", key), ("value", value)):
        if text != text.strip():
            yield f"{sentences.IBM_OUTER_SPACE} (the {word} {quote_shortened(text)})"


def _parts(kind: str, delta: Delta) -> Iterator[CallPart]:
    """Detach a foreign value by its name, so that nothing goes that was not read."""
    outdated = [each for each in delta.upserts if each.cause is Cause.OUTDATED and not _has_label(each)]
    new = [each for each in delta.upserts if each not in outdated]
    detached = [(each.key, value) for each in delta.removals for value in each.seen]
    detached += [(each.key, value) for each in new for value in each.seen - {each.value}]
    attached = [(each.key, each.value) for each in new]
    changed = [(each.key, each.value) for each in outdated]
    for verb, tags in ((TagVerb.DETACH, detached), (TagVerb.ATTACH_UPDATE, changed), (TagVerb.ATTACH, attached)):
        if tags:
            yield CallPart(verb, tuple(sorted(tags)))


def _has_label(upsert: Upsert) -> bool:
    """``update=true`` replaces ``key:*``, and a label has no colon."""
    return not upsert.value or "" in upsert.seen


def _tags_of_cluster(spec: Mapping[str, Any]) -> Iterable[str]:
    rows = spec.get("tags") or ()
    return ibm_tags(ibm_tag_name(each["key"], each.get("value") or "") for each in rows if each.get("key"))


IBM: Final = TagDialect(
    name="ibm",
    canonical=_canonical,
    limit=1000,  # the docstring of attach_tag in ibm-platform-services
    slots_used=_slots_used,
    complaints=_complaints,
    parts=_parts,
    kind_of=kind_of,
    exempt_key="freehold.dev.metadata",
    owner_marks=(marks.UUID,),
    tags_of_cluster=_tags_of_cluster,
    has_regions=False,
    has_several_values=True,
    case_twins=sentences.IBM_CASE_TWINS,
)
