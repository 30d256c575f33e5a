"""``-o jsonpath=`` is read as kubectl reads it, as far as it goes, and what it cannot read is refused."""

import pytest

from freehold.cli.jsonpath import compile_template

OBJECT = {
    "metadata": {"name": "a", "labels": {"team": "b"}},
    "status": {
        "ready": True,
        "conditions": [{"type": "Ready", "status": "True"}, {"type": "Other", "status": "False"}],
    },
    "text": "\x1b[31mred",
}


@pytest.mark.parametrize(
    ("template", "shown"),
    [
        ("{.metadata.name}", "a"),
        (".metadata.name", "a"),
        ("metadata.name", "a"),
        ("{$.metadata.name}={@.status.ready}", "a=true"),
        ("{.metadata.labels}", '{"team": "b"}'),
        ("{.nothing.here}", ""),
        ("{.status.conditions[*].type}", "Ready Other"),
        ("{.status.conditions[?(@.type=='Ready')].status}", "True"),
        ('{range .status.conditions[*]}{.type}{"\\t"}{.status}{"\\n"}{end}', "Ready\tTrue\nOther\tFalse\n"),
        ("{.text}", "\\x1b[31mred"),
    ],
)
def test_a_template_is_rendered(template: str, shown: str) -> None:
    assert compile_template(template)(OBJECT) == shown


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("", "empty"),
        ("{.metadata.name", "closing brace"),
        ("{range .items[*]}{.a}", "no {end}"),
        ("{end}", "without a {range}"),
        ("{name}", "begins with a dot"),
        ("{.items[1:3]}", "cannot read JSONPath"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_reason(template: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        compile_template(template)
