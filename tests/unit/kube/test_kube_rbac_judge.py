"""The judge of requests by Roles (harness.rbac), which the proof of the operator's rights stands on."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from harness.rbac import (
    Attributes,
    User,
    collect_rights,
    collect_rights_of,
    explain_refusal,
    find_right,
    name_account,
    parse_request,
)
from harness.rows import over_rows

SUBJECT = {"kind": "ServiceAccount", "name": "operator", "namespace": "own"}
PODS, POD = "/api/v1/namespaces/a/pods", "/api/v1/namespaces/a/pods/p"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def asked(method: str, url: str) -> Attributes:
    parts = urlsplit(url)
    return parse_request(method, parts.path, dict(parse_qsl(parts.query)))


@over_rows(
    ("method", "url", "verb", "resource", "namespace", "name"),
    [
        ("GET", POD, "get", "pods", "a", "p"),
        ("GET", PODS, "list", "pods", "a", ""),
        ("GET", "/api/v1/pods", "list", "pods", "", ""),
        ("GET", f"{PODS}?watch=true", "watch", "pods", "a", ""),
        ("GET", "/api/v1/watch/namespaces/a/pods", "watch", "pods", "a", ""),
        ("GET", f"{PODS}?watch=true&fieldSelector=metadata.name%3Dp", "watch", "pods", "a", "p"),
        ("GET", f"{PODS}?fieldSelector=metadata.name%3Dp", "list", "pods", "a", "p"),
        ("POST", PODS, "create", "pods", "a", ""),
        ("PUT", POD, "update", "pods", "a", "p"),
        ("PATCH", f"{POD}/status", "patch", "pods/status", "a", "p"),
        ("DELETE", POD, "delete", "pods", "a", "p"),
        ("DELETE", PODS, "deletecollection", "pods", "a", ""),
        ("GET", "/api/v1/namespaces/a", "get", "namespaces", "a", "a"),
        ("PUT", "/api/v1/namespaces/a/finalize", "update", "namespaces/finalize", "a", "a"),
        ("GET", f"{CRDS}/x.y", "get", "customresourcedefinitions", "", "x.y"),
    ],
)
def test_a_request_is_parsed_as_kube_apiserver_does(
    method: str, url: str, verb: str, resource: str, namespace: str, name: str
) -> None:
    found = asked(method, url)
    assert (found.verb, found.target, found.namespace, found.name) == (verb, resource, namespace, name)


def role(name: str, *rules: dict[str, Any], namespace: str = "") -> list[dict[str, Any]]:
    """A role and its binding to the operator: cluster-wide, or of one namespace."""
    kind = "Role" if namespace else "ClusterRole"
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    reference = {"kind": kind, "name": name}
    binding = {"kind": f"{kind}Binding", "metadata": metadata, "roleRef": reference, "subjects": [SUBJECT]}
    return [{"kind": kind, "metadata": metadata, "rules": list(rules)}, binding]


def rule(resources: str, verbs: str, *names: str, group: str = "") -> dict[str, Any]:
    limit = {"resourceNames": list(names)} if names else {}
    return {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split(), **limit}


def allowed(objects: list[dict[str, Any]], method: str, url: str) -> bool:
    return find_right(collect_rights(objects, "operator", "own"), asked(method, url)) is not None


@over_rows(
    ("given", "method", "url", "answer"),
    [
        (rule("pods", "get"), "GET", POD, True),
        (rule("pods", "get"), "GET", PODS, False),
        (rule("pods", "list"), "GET", f"{PODS}?watch=1", False),
        (rule("pods", "patch"), "PUT", POD, False),
        (rule("pods", "update"), "PATCH", POD, False),
        (rule("pods", "patch"), "PATCH", f"{POD}/status", False),
        (rule("pods/status", "patch"), "PATCH", f"{POD}/status", True),
        (rule("pods/status", "patch"), "PATCH", POD, False),
        (rule("*/status", "patch"), "PATCH", f"{POD}/status", True),
        (rule("pods/*", "patch"), "PATCH", f"{POD}/status", False),
        (rule("*", "*"), "PATCH", f"{POD}/status", True),
        (rule("pods", "get", group="*"), "GET", POD, True),
        (rule("pods", "get", group="apps"), "GET", POD, False),
        (rule("pods", "*", "p"), "GET", POD, True),
        (rule("pods", "*", "other"), "GET", POD, False),
        (rule("pods", "*", "p"), "POST", PODS, False),
        (rule("pods", "*", "p"), "GET", PODS, False),
        (rule("pods", "*", "p"), "DELETE", PODS, False),
        (rule("pods", "*", "p"), "GET", f"{PODS}?fieldSelector=metadata.name%3Dp", True),
        ({"nonResourceURLs": ["/metrics"], "verbs": ["get"]}, "GET", "/metrics", True),
        ({"nonResourceURLs": ["/debug/*"], "verbs": ["get"]}, "GET", "/debug/pprof", True),
        ({"nonResourceURLs": ["/metrics"], "verbs": ["get"]}, "GET", "/logs", False),
        (rule("*", "*"), "GET", "/metrics", False),
    ],
)
def test_a_rule_allows_what_kubernetes_lets_it(given: dict[str, Any], method: str, url: str, answer: bool) -> None:
    assert allowed(role("r", given), method, url) is answer


@pytest.mark.parametrize(
    "url", ["/api", "/apis", "/apis/apps", "/apis/apps/v1", "/version", "/openapi/v3/api", "/readyz"]
)
def test_everybody_may_discover(url: str) -> None:
    assert allowed([], "GET", url)


def test_a_role_counts_in_its_namespace_only() -> None:
    objects = role("r", rule("pods namespaces", "get list"), namespace="a")
    assert allowed(objects, "GET", POD) and allowed(objects, "GET", "/api/v1/namespaces/a")
    assert not allowed(objects, "GET", "/api/v1/namespaces/b/pods/p")
    assert not allowed(objects, "GET", "/api/v1/pods"), "not all namespaces"


def test_a_binding_of_another_account_gives_nothing() -> None:
    _, binding = objects = role("r", rule("pods", "get"))
    binding["subjects"] = [{**SUBJECT, "namespace": "elsewhere"}]
    assert not allowed(objects, "GET", POD)


@pytest.mark.parametrize(
    ("subject", "answer"),
    [
        ({"kind": "User", "name": "anna"}, True),
        ({"kind": "User", "name": "dev"}, False),
        ({"kind": "Group", "name": "dev"}, True),
        ({"kind": "Group", "name": "anna"}, False),
        ({"kind": "ServiceAccount", "name": "anna", "namespace": "a"}, False),
    ],
)
def test_a_binding_names_a_user_or_a_group(subject: dict[str, str], answer: bool) -> None:
    _, binding = objects = role("r", rule("pods", "get"))
    binding["subjects"] = [subject]
    rights = collect_rights_of(objects, User("anna", ("dev",)))
    assert (find_right(rights, asked("GET", POD)) is not None) is answer


def test_an_account_without_a_namespace_is_of_the_bindings() -> None:
    _, binding = objects = role("r", rule("pods", "get"), namespace="a")
    binding["subjects"] = [{"kind": "ServiceAccount", "name": "looker"}]
    assert collect_rights_of(objects, name_account("looker", "a"))
    assert not collect_rights_of(objects, name_account("looker", "b"))


def test_a_binding_of_a_role_that_is_not_there_gives_nothing_and_is_a_mistake_in_what_is_shipped() -> None:
    _, binding = role("r", rule("pods", "get"))
    assert collect_rights_of([binding], name_account("operator", "own")) == ()
    with pytest.raises(KeyError):
        collect_rights([binding], "operator", "own")


def test_the_narrowest_right_is_the_one_that_is_used() -> None:
    wide, narrow = role("wide", rule("pods", "get")), role("narrow", rule("pods", "get", "p"), namespace="a")
    found = find_right(collect_rights([*wide, *narrow], "operator", "own"), asked("GET", POD))
    assert str(found) == "Role narrow: get pods ['p']"


def test_a_refusal_says_what_kube_apiserver_says() -> None:
    status = explain_refusal(asked("PATCH", "/apis/apps/v1/namespaces/a/deployments/d/status"), "somebody")
    assert status["message"] == (
        'deployments.apps "d" is forbidden: User "somebody" cannot patch resource "deployments/status" in API group '
        '"apps" in the namespace "a"'
    )
    assert (status["reason"], status["code"]) == ("Forbidden", 403)
    assert explain_refusal(asked("GET", CRDS), "x")["message"].endswith(
        'cannot list resource "customresourcedefinitions" in API group "apiextensions.k8s.io" at the cluster scope'
    )
