"""Pure parts: protobuf bodies, CEL values and patches."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from apiserver_testbed import Api
from hypothesis import given
from hypothesis import strategies as st

from freehold_apiserver import patches, protobuf
from freehold_apiserver.cel_rules import Rules, escaped, to_cel
from freehold_apiserver.errors import ApiError


def field(number: int, value: bytes) -> bytes:
    assert len(value) < 128
    return bytes([number << 3 | 2, len(value)]) + value


def envelope(api_version: str, kind: str, raw: bytes) -> bytes:
    return b"k8s\0" + field(1, field(1, api_version.encode()) + field(2, kind.encode())) + field(2, raw)


NAME = field(1, field(1, b"made"))
ENTRY = field(1, b"key") + field(2, b"value")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (envelope("v1", "Namespace", NAME), {"metadata": {"name": "made"}}),
        (envelope("v1", "ConfigMap", NAME + field(2, ENTRY)), {"metadata": {"name": "made"}, "data": {"key": "value"}}),
        (
            envelope("v1", "Secret", NAME + field(2, ENTRY) + field(3, b"Opaque")),
            {"metadata": {"name": "made"}, "data": {"key": "dmFsdWU="}, "type": "Opaque"},
        ),
    ],
)
def test_protobuf_of_what_kubectl_creates(body: bytes, expected: dict[str, Any]) -> None:
    decoded = protobuf.decode(body)
    assert {key: value for key, value in decoded.items() if key not in ("apiVersion", "kind")} == expected


async def test_protobuf_is_accepted_over_http(api: Api) -> None:
    made = await api.session.post(
        f"{api.url}/api/v1/namespaces",
        data=envelope("v1", "Namespace", NAME),
        headers={"Content-Type": protobuf.CONTENT_TYPE},
    )
    assert made.status == 201
    review = envelope("authorization.k8s.io/v1", "SelfSubjectAccessReview", field(2, field(1, field(2, b"get"))))
    answer = await api.session.post(
        f"{api.url}/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        data=review,
        headers={"Content-Type": protobuf.CONTENT_TYPE},
    )
    body = await answer.json()
    assert body["status"]["allowed"] is True and body["spec"]["resourceAttributes"] == {"verb": "get"}


def test_a_kind_without_a_table_is_415() -> None:
    with pytest.raises(ApiError) as refused:
        protobuf.decode(envelope("apps/v1", "Deployment", NAME))
    assert refused.value.code == 415


@given(st.binary(max_size=64))
def test_broken_protobuf_is_refused_and_nothing_worse(noise: bytes) -> None:
    for body in (noise, b"k8s\0" + noise, envelope("v1", "Secret", noise[:60])):
        try:
            protobuf.decode(body)
        except ApiError as refused:
            assert refused.code in (400, 415)


def rules(rule: str, schema: dict[str, Any] | None = None, **more: Any) -> Rules:
    return Rules({"type": "object", **(schema or {}), "x-kubernetes-validations": [{"rule": rule, **more}]})


@pytest.mark.parametrize(
    ("rule", "passes", "fails"),
    [
        ("has(self.id) || has(self.name)", {"id": "x"}, {}),
        ("self.high >= self.low", {"high": 2, "low": 1}, {"high": 1, "low": 2}),
        ("self.list.all(x, x.startsWith('a'))", {"list": ["ab"]}, {"list": ["b"]}),
        ("self.list.exists_one(x, x == 'a')", {"list": ["a", "b"]}, {"list": ["a", "a"]}),
        ("self.text.lowerAscii() == 'abc'", {"text": "ABC"}, {"text": "X"}),
        ("self.text.split(',').size() == 2", {"text": "a,b"}, {"text": "a"}),
        ("size(self.text) == 2 && self.text.size() == 2", {"text": "é\U0001f600"}, {"text": "é"}),
        ("self.text == 'size()' && size( self.list ) == 1", {"text": "size()", "list": [1]}, {"text": "", "list": []}),
        ("self.text.find('[0-9]+') == '12'", {"text": "ab12"}, {"text": "ab"}),
        ("isCIDR(self.text) && cidr(self.text).containsIP('10.0.0.1')", {"text": "10.0.0.0/8"}, {"text": "11.0.0.0/8"}),
        ("isIP(self.text)", {"text": "::1"}, {"text": "x"}),
        ("self.text.matches('^a+$')", {"text": "aa"}, {"text": "b"}),
        ("self.list.isSorted()", {"list": [1, 2]}, {"list": [2, 1]}),
        ("self.all(key, key != 'b')", {"a": 1}, {"b": 1}),
        ("size(self) == 1", {"a": 1}, {"a": 1, "b": 1}),
        ("has( self.a ) && self.a == {'b': 1}", {"a": {"b": 1}}, {"a": {"b": 1, "c": 1}}),
        ("has(self.a.b) && self.a.b.c == 1", {"a": {"b": {"c": 1}}}, {"a": {"b": {"c": 2}}}),
        ("has(self.a) && [self.a].all(x, has(x.b))", {"a": {"b": {}}}, {"a": {"c": 1}}),
        ("self.a['b'] == 1", {"a": {"b": 1}}, {"a": {"b": 2}}),
        ("self.a.b.exists(key, key == 'c')", {"a": {"b": {"c": 1}}}, {"a": {"b": {"d": 1}}}),
        ("self.?text.orValue('a') == 'a'", {}, None),
    ],
)
def test_rules_decide(rule: str, passes: dict[str, Any], fails: dict[str, Any] | None) -> None:
    compiled = rules(rule)
    if compiled.unenforceable:
        assert ".?" in rule, compiled.unenforceable
        return
    assert compiled.errors(passes, None) == []
    assert len(compiled.errors(fails or {}, None)) == 1


def test_a_rule_sets_message_path_and_reason_of_the_error() -> None:
    compiled = rules(
        "self.a > 1",
        message="fixed",
        messageExpression="'a is ' + string(self.a)",
        fieldPath=".a",
        reason="FieldValueForbidden",
    )
    (error,) = compiled.errors({"a": 1}, None)
    assert (error.path, error.reason, error.body) == ("a", "FieldValueForbidden", "Forbidden: a is 1")


@pytest.mark.parametrize("expression", ("'  '", "'a\\nb'", "string(self.b)"), ids=["empty", "two lines", "fails"])
def test_the_fixed_message_is_told_where_the_expression_gives_none(expression: str) -> None:
    """https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#the-messageexpression-field"""
    (error,) = rules("self.a > 1", message="fixed", messageExpression=expression).errors({"a": 1}, None)
    assert error.body.endswith("fixed")


def test_rules_and_messages_read_properties_by_their_escaped_names() -> None:
    schema = {"properties": {name: {"properties": {"in": {"type": "integer"}}} for name in ("a-b", "c")}}
    compiled = rules("self.a__dash__b.__in__ > oldSelf.c.__in__", schema, messageExpression="string(self.c.__in__)")
    old = {"a-b": {"in": 1}, "c": {"in": 2}}
    assert compiled.errors({**old, "a-b": {"in": 3}}, old) == []
    (error,) = compiled.errors({"a-b": {"in": 2}, "c": {"in": 7}}, old)
    assert error.body.endswith(": 7")


def test_a_rule_that_fails_to_run_refuses() -> None:
    (error,) = rules("self.a.b == 1").errors({}, None)
    assert "could not be evaluated" in error.body


def test_elements_of_map_lists_are_compared_with_their_old_values() -> None:
    element = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "size": {"type": "integer"}},
        "x-kubernetes-validations": [{"rule": "self.size >= oldSelf.size", "message": "may not shrink"}],
    }
    listed = {
        "type": "array",
        "items": element,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    }
    compiled = Rules({"type": "object", "properties": {"parts": listed}})
    old = {"parts": [{"name": "a", "size": 5}, {"name": "b", "size": 1}]}
    new = {"parts": [{"name": "b", "size": 2}, {"name": "a", "size": 4}, {"name": "new", "size": 0}]}
    assert [error.path for error in compiled.errors(new, old)] == ["parts[1]"]


def test_values_are_seen_through_the_schema() -> None:
    schema = {"properties": {"a-b": {"type": "number"}, "when": {"type": "string", "format": "date-time"}}}
    seen = to_cel({"a-b": 1, "when": "2026-01-01T00:00:00Z"}, schema)
    assert seen == {"a__dash__b": 1.0, "when": datetime(2026, 1, 1, tzinfo=UTC)} and isinstance(
        seen["a__dash__b"], float
    )
    assert (escaped("namespace"), escaped("a.b/c"), escaped("x__y")) == (
        "__namespace__",
        "a__dot__b__slash__c",
        "x__underscores__y",
    )


@pytest.mark.parametrize(
    ("target", "patch", "merged"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": [1]}, {"a": [2]}, {"a": [2]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [1]}, {"a": {"b": None, "c": 1}}, {"a": {"c": 1}}),
        ({}, {"a": {"b": {"c": None}}}, {"a": {"b": {}}}),
    ],
)
def test_merge_patch_examples_of_rfc_7386(target: Any, patch: Any, merged: Any) -> None:
    assert patches.merge(target, patch) == merged


@pytest.mark.parametrize(
    ("target", "patch", "merged"),
    [
        ({"a": {"x": 1}}, {"a": {"$patch": "replace", "y": 2}}, {"a": {"y": 2}}),
        ({"a": {"x": 1}}, {"a": {"$patch": "delete"}}, {}),
        ({"finalizers": ["a", "b"]}, {"$deleteFromPrimitiveList/finalizers": ["a"]}, {"finalizers": ["b"]}),
        ({"finalizers": ["a"]}, {"finalizers": ["a", "b"]}, {"finalizers": ["a", "b"]}),
        (
            {"ownerReferences": [{"uid": "1", "name": "x"}, {"uid": "2"}]},
            {"ownerReferences": [{"uid": "1", "name": "y"}, {"uid": "2", "$patch": "delete"}]},
            {"ownerReferences": [{"uid": "1", "name": "y"}]},
        ),
    ],
)
def test_strategic_merge_obeys_its_directives(target: Any, patch: Any, merged: Any) -> None:
    assert patches.strategic(target, patch) == merged
