"""Identities: who may use them, and what is refused when one is applied."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from freehold.api.crd import build_crd
from freehold.api.parse import parse
from freehold.providers.aws.cluster.cluster_plan import CallerIdentity
from freehold.providers.aws.cluster.identities import Allowed, NotAllowed, may_use
from freehold.providers.aws.types.identity import AWSClusterControllerIdentitySpec
from freehold.providers.aws.types.kinds import AWS_IDENTITIES
from freehold_apiserver.cel_rules import Rules
from freehold_apiserver.custom import CustomStrategy
from harness.rows import over_rows
from harness.schemas import schema_of

IDENTITY = CallerIdentity("AWSClusterRoleIdentity", "deployer")
TEAM = {"team": "a", "stage": "prod"}


def expression(operator: str, *values: str, key: str = "team") -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, **({"values": list(values)} if values else {})}]}


USES: dict[str, tuple[dict[str, Any], bool]] = {
    "left out": ({}, False),
    "null": ({"allowedNamespaces": None}, False),
    "empty": ({"allowedNamespaces": {}}, True),
    "null list": ({"allowedNamespaces": {"list": None}}, True),
    "empty list": ({"allowedNamespaces": {"list": []}}, False),
    "in the list": ({"allowedNamespaces": {"list": ["other", "team-a"]}}, True),
    "not in the list": ({"allowedNamespaces": {"list": ["team-ab"]}}, False),
    "only begins like one in the list": ({"allowedNamespaces": {"list": ["team"]}}, False),
    "empty selector": ({"allowedNamespaces": {"selector": {}}}, False),
    "empty selector beside a list": ({"allowedNamespaces": {"list": ["other"], "selector": {}}}, False),
    "label": ({"allowedNamespaces": {"selector": {"matchLabels": {"team": "a"}}}}, True),
    "two labels, one wrong": (
        {"allowedNamespaces": {"selector": {"matchLabels": {"team": "a", "stage": "test"}}}}, False,
    ),
    "not in the list, but selected": (
        {"allowedNamespaces": {"list": ["other"], "selector": {"matchLabels": {"team": "a"}}}}, True,
    ),
    "In": ({"allowedNamespaces": {"selector": expression("In", "a", "b")}}, True),
    "In, others": ({"allowedNamespaces": {"selector": expression("In", "b")}}, False),
    "NotIn": ({"allowedNamespaces": {"selector": expression("NotIn", "b")}}, True),
    "NotIn, it is": ({"allowedNamespaces": {"selector": expression("NotIn", "a")}}, False),
    "NotIn, no label": ({"allowedNamespaces": {"selector": expression("NotIn", "a", key="x")}}, True),
    "Exists": ({"allowedNamespaces": {"selector": expression("Exists")}}, True),
    "Exists, it does not": ({"allowedNamespaces": {"selector": expression("Exists", key="x")}}, False),
    "DoesNotExist": ({"allowedNamespaces": {"selector": expression("DoesNotExist", key="x")}}, True),
    "DoesNotExist, it does": ({"allowedNamespaces": {"selector": expression("DoesNotExist")}}, False),
    "an operator that nobody knows": ({"allowedNamespaces": {"selector": expression("Near", "a")}}, False),
}  # fmt: skip


@over_rows(("spec", "allowed"), USES.values(), ids=USES.keys())
def test_an_identity_is_for_the_namespaces_that_it_allows(spec: dict[str, Any], allowed: bool) -> None:
    """As in upstream; a mistake on the open side would hand an account to every namespace."""
    parsed = parse(AWSClusterControllerIdentitySpec, spec, at="spec")
    found = may_use(IDENTITY, parsed.allowed_namespaces, "team-a", TEAM)
    assert isinstance(found, Allowed if allowed else NotAllowed)


def test_the_refusal_says_who_and_what_to_do() -> None:
    found = may_use(IDENTITY, None, "team-a", TEAM)
    assert isinstance(found, NotAllowed)
    assert found.message == (
        "AWSClusterRoleIdentity deployer does not allow namespace team-a; add it to the identity's "
        "spec.allowedNamespaces, or name another identity"
    )


SCHEMAS = {kind.kind: schema_of(build_crd(kind)) for kind in AWS_IDENTITIES}
STRATEGIES = {kind: CustomStrategy(schema, has_status=False) for kind, schema in SCHEMAS.items()}
STATIC, ROLE, CONTROLLER = "AWSClusterStaticIdentity", "AWSClusterRoleIdentity", "AWSClusterControllerIdentity"
SOURCE = {"sourceIdentityRef": {"kind": CONTROLLER, "name": "default"}}
ARN = {"roleARN": "arn:aws:iam::123456789012:role/r"}


def refusals(kind: str, spec: dict[str, Any], old: dict[str, Any] | None = None, name: str = "default") -> list[str]:
    def stored(spec: dict[str, Any]) -> dict[str, Any]:
        obj = {
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": name},
            "spec": copy.deepcopy(spec),
        }  # fmt: skip
        STRATEGIES[kind].decode(obj)
        return obj

    return [str(each) for each in STRATEGIES[kind].validate(stored(spec), stored(old) if old is not None else None)]


REFUSED: dict[str, tuple[str, dict[str, Any], dict[str, Any] | None, str, str]] = {
    "static without a Secret": (STATIC, {}, None, "spec.secretRef", ""),
    "another Secret": (STATIC, {"secretRef": "b"}, {"secretRef": "a"}, "spec.secretRef", "cannot change"),
    "role without an ARN": (ROLE, SOURCE, None, "spec.roleARN", ""),
    "role of nobody": (ROLE, ARN, None, "spec", "name an identity in sourceIdentityRef"),
    "source taken out": (ROLE, ARN, {**ARN, **SOURCE}, "spec", "name an identity in sourceIdentityRef"),
    "role of itself": (
        ROLE, {**ARN, "sourceIdentityRef": {"kind": ROLE, "name": "default"}}, None, "spec.sourceIdentityRef",
        "cannot assume itself",
    ),
    "a short session": (ROLE, {**ARN, **SOURCE, "durationSeconds": 899}, None, "spec.durationSeconds", "900"),
    "the operator's own, changed": (
        CONTROLLER, {"allowedNamespaces": {}}, {"allowedNamespaces": {"list": ["a"]}}, "spec", "cannot change",
    ),
    "an operator that nobody knows": (
        CONTROLLER, {"allowedNamespaces": {"selector": expression("Near", "a")}}, None,
        "spec.allowedNamespaces.selector.matchExpressions[0]", "In or NotIn",
    ),
    "In without values": (
        CONTROLLER, {"allowedNamespaces": {"selector": expression("In")}}, None,
        "spec.allowedNamespaces.selector.matchExpressions[0]", "with values",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_upstreams_webhooks_refuse_is_refused_at_apply_time(case: str) -> None:
    kind, spec, old, field, said = REFUSED[case]
    found = refusals(kind, spec, old)
    assert [each for each in found if each.startswith(f"{field}: ") and said in each], found


def test_the_operators_own_identity_has_one_name() -> None:
    assert not refusals(CONTROLLER, {"allowedNamespaces": {}})
    (found,) = refusals(CONTROLLER, {"allowedNamespaces": {}}, name="other")
    assert "called default" in found


ACCEPTED: dict[str, tuple[str, dict[str, Any]]] = {
    "static": (STATIC, {"secretRef": "keys", "allowedNamespaces": None}),
    "role": (ROLE, {**ARN, **SOURCE, "externalID": "x", "durationSeconds": 900, "policyARNs": ["arn"]}),
    "role by a role": (ROLE, {**ARN, "sourceIdentityRef": {"kind": ROLE, "name": "jump"}}),
    "controller, null list": (CONTROLLER, {"allowedNamespaces": {"list": None}}),
    "controller, nobody": (CONTROLLER, {}),
}


@pytest.mark.parametrize(("kind", "spec"), ACCEPTED.values(), ids=ACCEPTED.keys())
def test_the_rest_is_accepted(kind: str, spec: dict[str, Any]) -> None:
    assert not refusals(kind, spec)


@pytest.mark.parametrize("kind", SCHEMAS)
def test_every_rule_is_one_that_the_api_server_can_check(kind: str) -> None:
    assert Rules(SCHEMAS[kind]).unenforceable == []
