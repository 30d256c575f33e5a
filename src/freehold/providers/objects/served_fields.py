"""Fields that are not acted on: as notes of a plan, as problems, and as a condition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from freehold.api import names
from freehold.api.conditions import Observation
from freehold.api.served_fields import ServedField, Serving, occurrences
from freehold.providers.objects.spec_problems import Problem, SpecWarning, text


def ignored_fields(fields: Sequence[ServedField], raw: Mapping[str, Any]) -> Iterator[SpecWarning]:
    """A note for each place where an object sets a field that is not acted on, in the order of ``fields``."""
    for field, path in _set(fields, raw, Serving.IGNORED):
        yield SpecWarning(path, f"not acted on; {field.sentence}")


def refused_fields(fields: Sequence[ServedField], raw: Mapping[str, Any]) -> Iterator[Problem]:
    """A problem for each place where an object sets a field without which something else would come to be."""
    for field, path in _set(fields, raw, Serving.REFUSED):
        yield Problem(path, field.sentence)


def _set(fields: Sequence[ServedField], raw: Mapping[str, Any], serving: Serving) -> Iterator[tuple[ServedField, str]]:
    for field in fields:
        if field.serving is serving:
            yield from ((field, path) for path, _ in occurrences(raw, field.path))


def fields_served(notes: Sequence[SpecWarning]) -> Observation:
    """Which fields are accepted and kept, but not acted on."""
    ignored = [note for note in notes if not note.served]
    if ignored:
        return Observation(names.FIELDS_SERVED, "False", names.REASON_FIELDS_IGNORED, text(notes))
    return Observation(names.FIELDS_SERVED, "True", names.REASON_ALL_FIELDS_SERVED, text(notes))
