"""Fields that are not acted on, as notes of a plan, as problems, and as a condition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from freehold.api import names
from freehold.api.conditions import Observation
from freehold.api.served_fields import ServedField, Serving, find_occurrences
from freehold.providers.objects.spec_problems import SpecProblem, SpecWarning, join_problems


def find_ignored_fields(fields: Sequence[ServedField], raw: Mapping[str, Any]) -> Iterator[SpecWarning]:
    """Find each place where an object sets a field that is not acted on, in the order of ``fields``."""
    for field, path in _find_set_fields(fields, raw, Serving.IGNORED):
        yield SpecWarning(path, f"not acted on; {field.sentence}")


def find_refused_fields(fields: Sequence[ServedField], raw: Mapping[str, Any]) -> Iterator[SpecProblem]:
    """Find each place where an object sets a refused field: without it something else would be created."""
    for field, path in _find_set_fields(fields, raw, Serving.REFUSED):
        yield SpecProblem(path, field.sentence)


def _find_set_fields(
    fields: Sequence[ServedField], raw: Mapping[str, Any], serving: Serving
) -> Iterator[tuple[ServedField, str]]:
    for field in fields:
        if field.serving is serving:
            yield from ((field, path) for path, _ in find_occurrences(raw, field.path))


def observe_served_fields(notes: Sequence[SpecWarning]) -> Observation:
    """Build the condition that lists the fields that are accepted and stored, but not acted on."""
    ignored = [note for note in notes if not note.served]
    if ignored:
        return Observation(names.FIELDS_SERVED, "False", names.REASON_FIELDS_IGNORED, join_problems(notes))
    return Observation(names.FIELDS_SERVED, "True", names.REASON_ALL_FIELDS_SERVED, join_problems(notes))
