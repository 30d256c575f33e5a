"""``-o jsonpath=`` is read as kubectl reads it, as far as it goes, and what it cannot read is refused."""

import pytest

from freehold.cli.jsonpath import compile_template

OBJECT = {
    "metadata": {
        "name": "a",
        "labels": {"team": "b", "app.kubernetes.io/name": "web"},
        "finalizers": ["x/a", "x/b", "x/c"],
    },
    "status": {
        "ready": True,
        "conditions": [
            {"type": "Ready", "status": "True", "observedGeneration": 3},
            {"type": "Other", "status": "False", "observedGeneration": 12, "reason": "Because"},
        ],
    },
    "text": "\x1b[31mred",
}

AS_KUBECTL = (
    ("{.metadata.name}", "a"),
    (".metadata.name", "a"),
    ("metadata.name", "a"),
    ("{$.metadata.name}={@.status.ready}", "a=true"),
    ("{.metadata.labels}", '{"app.kubernetes.io/name":"web","team":"b"}'),
    ("{.metadata.finalizers}", '["x/a","x/b","x/c"]'),
    ("{.nothing.here}", ""),
    ("{.status.conditions[*].type}", "Ready Other"),
    ("{.metadata.finalizers[1]}", "x/b"),
    ("{.metadata.finalizers[-1]}", "x/c"),
    ("{.metadata.finalizers[0:2]}", "x/a x/b"),
    ("{.metadata.finalizers[-2:]}", "x/b x/c"),
    ("{.metadata.finalizers[0:-1]}", "x/a x/b"),
    ("{.metadata.finalizers[::2]}", "x/a x/c"),
    ("{.metadata.finalizers[:]}", "x/a x/b x/c"),
    ("{.metadata.finalizers[0,2]}", "x/a x/c"),
    ("{.metadata['name', 'labels.team']}", "a b"),
    ("{.metadata.labels['app\\.kubernetes\\.io/name']}", "web"),
    ("{.metadata.labels.app\\.kubernetes\\.io/name}", "web"),
    ("{..name}", "a"),
    ("{.status..type}", "Ready Other"),
    ("{.status.conditions[?(@.type=='Ready')].status}", "True"),
    ('{.status.conditions[?(@.type != "Ready")].status}', "False"),
    ("{.status.conditions[?(@.reason)].type}", "Other"),
    ("{.status.conditions[?(@.observedGeneration>3)].type}", "Other"),
    ("{.status.conditions[?(@.observedGeneration <= 3)].type}", "Ready"),
    ('{.metadata.finalizers[?(@=="x/b")]}', "x/b"),
    ('{range .status.conditions[*]}{.type}{"\\t"}{.status}{"\\n"}{end}', "Ready\tTrue\nOther\tFalse\n"),
    ("{range .metadata.finalizers[0:2]}<{@}>{end}", "<x/a><x/b>"),
)
"""Templates, and what kubectl prints for them."""

BEYOND_KUBECTL = (
    ("{.metadata.labels['app.kubernetes.io/name']}", "web"),
    ('{.metadata.labels["team"]}', "b"),
    ("{.metadata.finalizers[9]}", ""),
    ("{.metadata.finalizers[1:9]}", "x/b x/c"),
    ("{.text}", "\\x1b[31mred"),
)


@pytest.mark.parametrize(("template", "shown"), AS_KUBECTL + BEYOND_KUBECTL)
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
        ("{.items[1:3:0]}", r"cannot read JSONPath '.items\[1:3:0\]' at '\[1:3:0\]'; a path has .field"),
        ("{.items[name]}", "cannot read JSONPath"),
        ("{.items[?(@.a && @.b)]}", "cannot read JSONPath"),
        ("{.items[?(@.a =~ 'x')]}", "cannot read JSONPath"),
        ("{..*}", "cannot read JSONPath"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_reason(template: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        compile_template(template)
