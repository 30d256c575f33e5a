"""What is wrong with the tags of a spec, before anything is read or written.

Source: docs/reference/metadata-compat.md#limits-and-legal-tags. The schema says the same as far as a schema can, in the
same sentences.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from freehold.api import tag_sentences as sentences
from freehold.tagging.classifiers import Classifiers, changed_classifiers
from freehold.tagging.operations import Contradictions, Opcode, Operation, merge
from freehold.tagging.protected import Access, IgnoreList, access, is_reserved
from freehold.tagging.resources import Cloud, ibm_tag_name

LONGEST_KEY: Final = 128
LONGEST_VALUE: Final = 256
LONGEST_IBM_TAG: Final = 128
MOST_TAGS: Final = 50
_LOOK_ALIKE: Final = "two keys look the same and are not: keep one"
"""Of this the schema says nothing: CEL has no normal forms of Unicode."""

_AWS_SIGNS: Final = frozenset("_.:/=+-@")
_IBM_ILLEGAL: Final = re.compile(r"[^A-Za-z0-9 _\-.:]")
_IBM_ILLEGAL_IN_KEY: Final = re.compile(r"[^A-Za-z0-9 _\-.]")


@dataclass(frozen=True)
class Problem:
    """``path`` is the field in the manifest."""

    path: str
    message: str


def problems(
    cloud: Cloud, operations: Sequence[Operation], classifiers: Classifiers | None, path: str
) -> tuple[Problem, ...]:
    """``path``: of the spec; ``classifiers``: None where the object does not name them itself."""
    found = [problem for operation in operations for problem in _of_operation(cloud, operation, path)]
    keys = [key for operation in operations for key in operation.tags]
    present = {key for each in operations if each.opcode is not Opcode.DELETE for key in each.tags}
    if len(present) > MOST_TAGS:
        found.append(Problem(path, f"there are {len(present)} tags, and a resource can have {MOST_TAGS}: remove some"))
    found += _twins(cloud, {key: f"{path}{each.path(key)}" for each in operations for key in each.tags})
    if isinstance(merged := merge(cloud, operations), Contradictions):
        found.append(Problem(path, merged.message))
    for key in changed_classifiers(cloud, classifiers, keys) if classifiers else ():
        message = f"the tag {key!r} is a classifier, by which the resources are found: it is read only. Remove it here"
        found.append(Problem(path, message))
    return tuple(found)


def _of_operation(cloud: Cloud, operation: Operation, path: str) -> Iterator[Problem]:
    for key, value in sorted(operation.tags.items()):
        at = f"{path}{operation.path(key)}"
        if access(cloud, key, IgnoreList(prefixes=())) is Access.PROTECTED:
            yield Problem(at, f"{sentences.PROTECTED_KEY} ({_shown(key)})")
        complaints = _aws(key, value or "") if cloud is Cloud.AWS else _ibm(key, value or "")
        yield from (Problem(at, message) for message in complaints)


def _aws(key: str, value: str) -> Iterator[str]:
    if not 1 <= len(key) <= LONGEST_KEY:
        yield f"{sentences.AWS_KEY_LENGTH} ({_shown(key)} has {len(key)})"
    if len(value) > LONGEST_VALUE:
        yield f"a value has at most {LONGEST_VALUE} characters on AWS ({_shown(value)} has {len(value)})"
    for word, text in (("key", key), ("value", value)):
        if bad := next((each for each in text if not _aws_legal(each)), ""):
            yield f"{sentences.AWS_CHARACTER} (the {word} {_shown(text)} has {bad!r})"
    if is_reserved(key) is Access.PROTECTED:
        yield f"{sentences.AWS_RESERVED_KEY} ({_shown(key)})"
    if value.lower().startswith("aws:"):
        yield f"{sentences.AWS_RESERVED_VALUE} ({_shown(value)})"


def _aws_legal(character: str) -> bool:
    return character in _AWS_SIGNS or unicodedata.category(character)[0] in "LZN"


def _ibm(key: str, value: str) -> Iterator[str]:
    name = ibm_tag_name(key, value)
    if not key.strip():
        yield f"{sentences.IBM_TAG} (a key is empty)"
    if len(name) > LONGEST_IBM_TAG:
        yield f"{sentences.IBM_TAG} ({_shown(name)} has {len(name)})"
    if bad := _IBM_ILLEGAL_IN_KEY.search(key):
        ends = ", which on IBM Cloud ends the key" if bad.group() == ":" else ""
        yield f"{sentences.IBM_TAG} (the key {_shown(key)} has {bad.group()!r}{ends})"
    if bad := _IBM_ILLEGAL.search(value):
        yield f"{sentences.IBM_VALUE} ({_shown(value)} has {bad.group()!r})"
    for word, text in (("key", key), ("value", value)):
        if text != text.strip():
            yield f"{sentences.IBM_OUTER_SPACE} (the {word} {_shown(text)})"


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:40]}…")


def _twins(cloud: Cloud, paths: Mapping[str, str]) -> Iterator[Problem]:
    """Different keys that a person, or the cloud, takes for the same. ``paths``: of the field, by key."""
    yield from _same_under(paths, lambda key: unicodedata.normalize("NFC", key), _LOOK_ALIKE)
    if cloud is Cloud.IBM:
        yield from _same_under(paths, str.lower, sentences.IBM_CASE_TWINS)


def _same_under(paths: Mapping[str, str], fold: Callable[[str], str], sentence: str) -> Iterator[Problem]:
    first: dict[str, str] = {}
    for key, path in paths.items():
        other = first.setdefault(fold(key), key)
        if other != key:
            yield Problem(path, f"{sentence} ({other!a} and {key!a})")
