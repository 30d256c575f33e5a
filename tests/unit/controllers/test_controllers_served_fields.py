"""A field that is not acted on is named where it is set; one that cannot be left out is a problem."""

from __future__ import annotations

from freehold.api.served_fields import ServedField, Serving
from freehold.providers.objects.served_fields import find_ignored_fields, find_refused_fields, observe_served_fields

FIELDS = (
    ServedField("spec.a"),
    ServedField("spec.b", Serving.IGNORED, "it concerns machines"),
    ServedField("spec.list[*].c", Serving.IGNORED, "tags are for all resources"),
    ServedField("spec.pool", Serving.REFUSED, "pools are not served; give the range"),
)
RAW = {"spec": {"a": 1, "b": "x", "list": [{}, {"c": {"k": "v"}}], "pool": {"id": "p"}}}


def test_ignored_fields_are_named_where_they_are_set() -> None:
    assert [str(note) for note in find_ignored_fields(FIELDS, RAW)] == [
        "spec.b: not acted on; it concerns machines",
        "spec.list[1].c: not acted on; tags are for all resources",
    ]


def test_refused_fields_are_problems() -> None:
    assert [str(problem) for problem in find_refused_fields(FIELDS, RAW)] == [
        "spec.pool: pools are not served; give the range"
    ]


def test_the_condition_lists_what_is_ignored() -> None:
    condition = observe_served_fields(tuple(find_ignored_fields(FIELDS, RAW)))
    assert (condition.status, condition.reason) == ("False", "FieldsIgnored")
    assert condition.message.startswith("spec.b: not acted on;") and "spec.list[1].c" in condition.message
    assert observe_served_fields(()).status == "True"
