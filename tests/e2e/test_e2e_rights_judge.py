"""The judge of the harness and kube-apiserver's own authorizer say the same of the shipped Roles."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
import requests
from e2e_rights import USER, shipped_rights
from e2e_servers import PATIENCE, Server

from freehold.install.objects import build_rights
from freehold.install.options import NAMESPACE, InstallOptions
from harness.rbac import Attributes, Right, find_right

pytestmark = pytest.mark.e2e

GROUPS = ["system:serviceaccounts", f"system:serviceaccounts:{NAMESPACE}", "system:authenticated"]
OPTIONS = [InstallOptions(page=True), InstallOptions(serves_namespace="team", shards=3)]


@pytest.fixture(params=OPTIONS, ids=["whole cluster", "one namespace"])
def options(request: pytest.FixtureRequest, server: Server) -> Iterator[InstallOptions]:
    """An installation, whose Roles are on the server."""
    if server.label == "embedded":
        pytest.skip("the embedded server does not judge by Roles")
    urls = []
    for name in (NAMESPACE, "team"):
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        answer = requests.post(f"{server.url}/api/v1/namespaces", json=body, timeout=PATIENCE)
        assert answer.status_code in (201, 409), answer.text
    for each in build_rights(request.param):
        namespace = each["metadata"].get("namespace")
        place = f"namespaces/{namespace}/" if namespace else ""
        url = f"{server.url}/apis/{each['apiVersion']}/{place}{each['kind'].lower()}s"
        assert requests.post(url, json=each, timeout=PATIENCE).status_code == 201
        urls.append(f"{url}/{each['metadata']['name']}")
    yield request.param
    for url in urls:
        requests.delete(url, timeout=PATIENCE).raise_for_status()


def questions(rights: tuple[Right, ...]) -> set[Attributes]:
    """Every verb on every resource of the Roles, by names that they have and others, here and elsewhere."""
    verbs = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
    resources = {(each.group, each.resource) for each in rights}
    names = {name for each in rights for name in each.names[:1]} | {"", "other"}
    found = set()
    for verb, (group, target), namespace in itertools.product(verbs, resources, ("", NAMESPACE, "team", "elsewhere")):
        resource, _, subresource = target.partition("/")
        for name in names if verb in ("get", "update", "patch") else ("",):
            found.add(Attributes(verb, group, resource, subresource, namespace, name))
    return found


def test_the_judge_agrees_with_a_kube_apiserver(server: Server, options: InstallOptions) -> None:
    rights = shipped_rights(options)
    url = f"{server.url}/apis/authorization.k8s.io/v1/subjectaccessreviews"
    differing = []
    with requests.Session() as session:
        for asked in sorted(questions(rights), key=str):
            fields = {name: value for name, value in vars(asked).items() if name != "path"}
            spec = {"user": USER, "groups": GROUPS, "resourceAttributes": fields}
            review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
            allowed = session.post(url, json=review, timeout=PATIENCE).json()["status"]["allowed"]
            if allowed is not (find_right(rights, asked) is not None):
                differing.append((asked, allowed))
    assert differing == []
