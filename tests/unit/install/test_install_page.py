"""The live page is off by default; with it come a port, a Service, two rights of the operator and a role of viewers."""

from __future__ import annotations

from functools import cache

import pytest

from freehold.install.objects import build_objects
from freehold.install.options import InstallOptions
from freehold.kube.resources import Json
from freehold.providers.registry import SERVED

CHOICES = {
    "defaults": InstallOptions(),
    "whole cluster": InstallOptions(page=True),
    "one namespace": InstallOptions(page=True, serves_namespace="team", webhook=False),
}
REVIEWS = [("authentication.k8s.io", "tokenreviews"), ("authorization.k8s.io", "subjectaccessreviews")]


Objects = dict[tuple[str, str], Json]
"""By kind and name."""


@cache
def build(choice: str) -> Objects:
    found = [each for each in build_objects(CHOICES[choice]) if each["kind"] != "CustomResourceDefinition"]
    return {(each["kind"], each["metadata"]["name"]): each for each in found}


@pytest.fixture(params=["whole cluster", "one namespace"])
def objects(request: pytest.FixtureRequest) -> Objects:
    return build(request.param)


def test_nothing_of_the_page_is_there_by_default() -> None:
    text = str(build("defaults"))
    assert not [word for word in ("reviews", "page", "freehold-viewer", "8090") if word in text]


def test_the_page_brings_the_right_to_ask_for_reviews_and_no_other(objects: Objects) -> None:
    role = objects["ClusterRole", "freehold-operator"]
    asked = [rule for rule in role["rules"] if "reviews" in str(rule)]
    assert asked == [{"apiGroups": [group], "resources": [plural], "verbs": ["create"]} for group, plural in REVIEWS]


def test_the_page_changes_no_other_role() -> None:
    without, objects = build("defaults"), build("whole cluster")
    changed = {name for (kind, name), each in objects.items() if "Role" in kind and without.get((kind, name)) != each}
    assert changed == {"freehold-operator", "freehold-viewer"}
    operator = [objects["ClusterRole", "freehold-operator"], without["ClusterRole", "freehold-operator"]]
    assert len(operator[0]["rules"]) == len(operator[1]["rules"]) + len(REVIEWS)


def test_viewers_may_read_what_the_page_shows_and_nothing_else(objects: Objects) -> None:
    role = objects["ClusterRole", "freehold-viewer"]
    assert {verb for rule in role["rules"] for verb in rule["verbs"]} == {"get", "list", "watch"}
    read = {resource for rule in role["rules"] for resource in rule["resources"]}
    tags = {"cloudmetadatas", "awsmetadatas", "ibmmetadatas"}
    assert read == {served.plural for served in SERVED} | tags | {"awsmanagedclusters"}
    assert role["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-view"] == "true"


def test_nobody_is_a_viewer_before_an_administrator_says_so(objects: Objects) -> None:
    bound = {each["roleRef"]["name"] for (kind, _), each in objects.items() if kind.endswith("Binding")}
    assert "freehold-viewer" not in bound


def test_service_leads_to_the_address_that_the_operator_is_given(objects: Objects) -> None:
    service = objects["Service", "freehold-page"]["spec"]
    template = objects["Deployment", "freehold-operator"]["spec"]["template"]
    (container,) = template["spec"]["containers"]
    (port,) = [
        each["containerPort"] for each in container["ports"] if each["name"] == service["ports"][0]["targetPort"]
    ]
    assert f"--page-address=0.0.0.0:{port}" in container["args"]
    assert service["selector"].items() <= template["metadata"]["labels"].items()
    assert service["type"] == "ClusterIP"


def test_network_policy_lets_viewers_in(objects: Objects) -> None:
    (ingress,) = objects["NetworkPolicy", "freehold-operator"]["spec"]["ingress"]
    assert {"port": 8090, "protocol": "TCP"} in ingress["ports"]
