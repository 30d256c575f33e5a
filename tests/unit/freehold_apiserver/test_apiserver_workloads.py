"""The kinds that an installation consists of: stored, validated, merged by key."""

from __future__ import annotations

from typing import Any

import pytest
from apiserver_testbed import MERGE, STRATEGIC, Api

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
RBAC = "/apis/rbac.authorization.k8s.io/v1"


def deployment(name: str = "d", **spec: Any) -> dict[str, Any]:
    containers = [
        {"name": "manager", "image": "a:1", "ports": [{"containerPort": 8080}], "env": [{"name": "A", "value": "1"}]},
        {"name": "proxy", "image": "b:1"},
    ]
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": containers}}
    selector = {"matchLabels": {"app": name}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
            "spec": {"selector": selector, "template": template, **spec}}  # fmt: skip


def body(api_version: str, kind: str, name: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **fields}


SERVICE = body("v1", "Service", "s", spec={"selector": {"app": "a"}, "ports": [{"port": 443, "targetPort": "https"}]})
POLICY = body("networking.k8s.io/v1", "NetworkPolicy", "p", spec={"podSelector": {}, "policyTypes": ["Ingress"]})
BUDGET = body("policy/v1", "PodDisruptionBudget", "b", spec={"minAvailable": 1, "selector": {"matchLabels": {}}})
RULES = [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]
ROLE_REF = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "a:b"}
BINDING = body("rbac.authorization.k8s.io/v1", "RoleBinding", "a:b", roleRef=ROLE_REF,
               subjects=[{"kind": "ServiceAccount", "name": "x", "namespace": "default"}])  # fmt: skip
IN_DEFAULT = "namespaces/default"


@pytest.mark.parametrize(
    ("path", "given"),
    [
        (DEPLOYMENTS, deployment()),
        (f"/api/v1/{IN_DEFAULT}/services", SERVICE),
        (f"/api/v1/{IN_DEFAULT}/serviceaccounts", body("v1", "ServiceAccount", "x")),
        (f"/apis/networking.k8s.io/v1/{IN_DEFAULT}/networkpolicies", POLICY),
        (f"/apis/policy/v1/{IN_DEFAULT}/poddisruptionbudgets", BUDGET),
        (f"{RBAC}/{IN_DEFAULT}/roles", body("rbac.authorization.k8s.io/v1", "Role", "a:b", rules=RULES)),
        (f"{RBAC}/{IN_DEFAULT}/rolebindings", BINDING),
        (f"{RBAC}/clusterroles", body("rbac.authorization.k8s.io/v1", "ClusterRole", "a:b", rules=RULES)),
        (f"{RBAC}/clusterrolebindings", {**BINDING, "kind": "ClusterRoleBinding"}),
    ],
)
async def test_objects_of_an_installation_are_stored_as_they_are_given(
    api: Api, path: str, given: dict[str, Any]
) -> None:
    answer = await api.post(path, given, fieldValidation="Strict")
    assert answer.code == 201, answer.text
    name = given["metadata"]["name"]
    assert (await api.get(f"{path}/{name}")).json == answer.json
    applied = await api.call("PATCH", f"{path}/{name}", given, "application/apply-patch+yaml", fieldManager="me")
    assert applied.code == 200, applied.text


async def test_containers_are_merged_by_name_and_keep_the_order_that_is_asked_for(api: Api) -> None:
    await api.made(DEPLOYMENTS, deployment())
    containers = [{"name": "proxy", "image": "b:2"}, {"name": "new", "image": "c:1"}]
    order = [{"name": "proxy"}, {"name": "new"}, {"name": "manager"}]
    patch = {"spec": {"template": {"spec": {"$setElementOrder/containers": order, "containers": containers}}}}
    answer = await api.call("PATCH", f"{DEPLOYMENTS}/d", patch, STRATEGIC)
    found = answer.json["spec"]["template"]["spec"]["containers"]
    assert [(each["name"], each["image"]) for each in found] == [("proxy", "b:2"), ("new", "c:1"), ("manager", "a:1")]
    assert found[2]["env"] == [{"name": "A", "value": "1"}]
    gone = {"spec": {"template": {"spec": {"containers": [{"$patch": "delete", "name": "manager"}]}}}}
    answer = await api.call("PATCH", f"{DEPLOYMENTS}/d", gone, STRATEGIC)
    assert [each["name"] for each in answer.json["spec"]["template"]["spec"]["containers"]] == ["proxy", "new"]


async def test_retained_keys_drop_the_others(api: Api) -> None:
    await api.made(DEPLOYMENTS, deployment(strategy={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}))
    patch = {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}
    answer = await api.call("PATCH", f"{DEPLOYMENTS}/d", patch, STRATEGIC)
    assert answer.json["spec"]["strategy"] == {"type": "Recreate"}


async def test_changes_of_a_deployment_are_counted_and_its_status_is_apart(api: Api) -> None:
    made = await api.made(DEPLOYMENTS, {**deployment(), "status": {"replicas": 9}})
    assert "status" not in made and made["metadata"]["generation"] == 1 and made["spec"]["replicas"] == 1
    scaled = await api.merge(f"{DEPLOYMENTS}/d", {"spec": {"replicas": 2}, "status": {"replicas": 9}})
    assert scaled.json["metadata"]["generation"] == 2 and "status" not in scaled.json
    status = await api.call("PATCH", f"{DEPLOYMENTS}/d/status", {"status": {"readyReplicas": 2}}, MERGE)
    assert (status.json["status"], status.json["metadata"]["generation"]) == ({"readyReplicas": 2}, 2)
    table = await api.get(DEPLOYMENTS, accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    assert table.json["rows"][0]["cells"][:2] == ["d", "2/2"]


@pytest.mark.parametrize(
    ("path", "given", "told"),
    [
        (DEPLOYMENTS, deployment(replicas=-1), "spec.replicas"),
        (DEPLOYMENTS, body("apps/v1", "Deployment", "d", spec={"selector": {}}), "spec.template: Required value"),
        (f"/api/v1/{IN_DEFAULT}/services", {**SERVICE, "metadata": {"name": "1s"}}, "DNS-1035"),
        (f"{RBAC}/{IN_DEFAULT}/roles", body("rbac.authorization.k8s.io/v1", "Role", "a%b"), "may not contain '%'"),
    ],
)
async def test_wrong_objects_are_refused_by_field(api: Api, path: str, given: dict[str, Any], told: str) -> None:
    answer = await api.post(path, given)
    assert (answer.code, answer.json["reason"]) == (422, "Invalid")
    assert told in answer.message


async def test_misspelt_field_is_refused_where_asked(api: Api) -> None:
    answer = await api.post(DEPLOYMENTS, deployment(replica=2), fieldValidation="Strict")
    assert (answer.code, 'unknown field "spec.replica"' in answer.message) == (400, True)


async def test_role_of_a_binding_cannot_be_changed(api: Api) -> None:
    path = f"{RBAC}/{IN_DEFAULT}/rolebindings"
    await api.made(path, BINDING)
    answer = await api.merge(f"{path}/a:b", {"roleRef": {"name": "other"}})
    assert answer.code == 422 and "cannot change roleRef" in answer.message
