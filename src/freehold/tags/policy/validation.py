"""What is wrong with the tags of a spec, before anything is read or written.

Source: docs/reference/metadata-compat.md#limits-and-legal-tags. The schema says the same as far as a schema can, in the
same sentences.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from freehold.api import tag_sentences as sentences
from freehold.tags.policy.classifiers import Classifiers, changed_classifiers
from freehold.tags.policy.dialect import TagDialect
from freehold.tags.policy.operations import Contradictions, Opcode, ParsedOperation, merge
from freehold.tags.policy.protected import IgnoreList, KeyAccess, access

MOST_TAGS: Final = 50
_LOOK_ALIKE: Final = "two keys look the same and are not: keep one"
"""Of this the schema says nothing: CEL has no normal forms of Unicode."""


@dataclass(frozen=True)
class Problem:
    """``path`` is the field in the manifest."""

    path: str
    message: str


def problems(
    cloud: TagDialect, operations: Sequence[ParsedOperation], classifiers: Classifiers | None, path: str
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


def _of_operation(cloud: TagDialect, operation: ParsedOperation, path: str) -> Iterator[Problem]:
    for key, value in sorted(operation.tags.items()):
        at = f"{path}{operation.path(key)}"
        if access(cloud, key, IgnoreList(prefixes=())) is KeyAccess.PROTECTED:
            yield Problem(at, f"{sentences.PROTECTED_KEY} ({quote_shortened(key)})")
        yield from (Problem(at, message) for message in cloud.complaints(key, value or ""))


def quote_shortened(text: str) -> str:
    """Quote a key or a value, cut where it is long."""
    return repr(text if len(text) <= 40 else f"{text[:40]}…")


def _twins(cloud: TagDialect, paths: Mapping[str, str]) -> Iterator[Problem]:
    """Different keys that a person, or the cloud, takes for the same. ``paths``: of the field, by key."""
    yield from _same_under(paths, lambda key: unicodedata.normalize("NFC", key), _LOOK_ALIKE)
    if cloud.case_twins:
        yield from _same_under(paths, str.lower, cloud.case_twins)


def _same_under(paths: Mapping[str, str], fold: Callable[[str], str], sentence: str) -> Iterator[Problem]:
    first: dict[str, str] = {}
    for key, path in paths.items():
        other = first.setdefault(fold(key), key)
        if other != key:
            yield Problem(path, f"{sentence} ({other!a} and {key!a})")
