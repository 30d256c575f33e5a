"""The objects of an installation with kubectl, on any API server: applied, changed, and applied again."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from e2e_client import Kubectl

pytestmark = pytest.mark.e2e

Json = dict[str, Any]
RBAC = "rbac.authorization.k8s.io"


def installation(namespace: str) -> list[Json]:
    """What an operator is installed with, without pods: no controller of a cluster acts on it."""

    def obj(api_version: str, kind: str, name: str, **fields: Any) -> Json:
        return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **fields}

    container = {
        "name": "manager", "image": "example.com/a:1", "args": ["operator"],
        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
        "ports": [{"name": "health", "containerPort": 8080}, {"name": "webhook", "containerPort": 9443}],
        "volumeMounts": [{"name": "certs", "mountPath": "/certs", "readOnly": True}],
    }  # fmt: skip
    pod = {"containers": [container], "volumes": [{"name": "certs", "secret": {"secretName": "certs"}}],
           "serviceAccountName": "operator"}  # fmt: skip
    labels = {"app": "operator"}
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels},
            "spec": pod}}  # fmt: skip
    rules = [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]
    account = {"kind": "ServiceAccount", "name": "operator", "namespace": namespace}
    return [
        obj("v1", "ServiceAccount", "operator"),
        obj(f"{RBAC}/v1", "Role", "operator", rules=rules),
        obj(f"{RBAC}/v1", "RoleBinding", "operator", subjects=[account],
            roleRef={"apiGroup": RBAC, "kind": "Role", "name": "operator"}),
        obj("apps/v1", "Deployment", "operator", spec=spec),
        obj("v1", "Service", "webhook", spec={"selector": labels, "ports": [{"port": 443, "targetPort": "webhook"}]}),
        obj("policy/v1", "PodDisruptionBudget", "operator",
            spec={"minAvailable": 1, "selector": {"matchLabels": labels}}),
        obj("networking.k8s.io/v1", "NetworkPolicy", "operator",
            spec={"podSelector": {"matchLabels": labels}, "policyTypes": ["Ingress"],
                  "ingress": [{"ports": [{"port": 9443, "protocol": "TCP"}]}]}),
    ]  # fmt: skip


def apply(kubectl: Kubectl, objects: list[Json], *arguments: str) -> list[str]:
    """What became of each."""
    listed = {"apiVersion": "v1", "kind": "List", "items": objects}
    said = kubectl.run("apply", *arguments, "-f", "-", stdin=json.dumps(listed))
    return [line.split()[1] for line in said.splitlines() if "/" in line]


@pytest.mark.parametrize("arguments", [(), ("--server-side",)], ids=["client", "server"])
def test_installation_is_applied_and_upgraded(kubectl: Kubectl, namespace: str, arguments: tuple[str, ...]) -> None:
    objects = installation(namespace)
    first, again = ("created", "unchanged") if not arguments else ("serverside-applied", "serverside-applied")
    assert apply(kubectl, objects, *arguments) == [first] * len(objects)
    became = apply(kubectl, objects, *arguments)
    del became[5]  # kubectl sends the selector of a PodDisruptionBudget each time
    assert became == [again] * (len(objects) - 1)
    other = {"spec": {"template": {"spec": {"containers": [{"name": "sidecar", "image": "example.com/s:1"}]}}}}
    kubectl.run("patch", "deployment", "operator", "--patch", json.dumps(other))
    newer = copy.deepcopy(objects)
    container = newer[3]["spec"]["template"]["spec"]["containers"][0]
    container.update(image="example.com/a:2", env=[{"name": "B", "value": "3"}])
    apply(kubectl, newer, *arguments)
    found = kubectl.json("get", "deployment", "operator")
    containers = {each["name"]: each for each in found["spec"]["template"]["spec"]["containers"]}
    assert containers["sidecar"]["image"] == "example.com/s:1", "what another tool added stays"
    manager = containers["manager"]
    assert (manager["image"], manager["env"]) == ("example.com/a:2", [{"name": "B", "value": "3"}])
    assert [each["containerPort"] for each in manager["ports"]] == [8080, 9443]
    assert manager["volumeMounts"] == [{"name": "certs", "mountPath": "/certs", "readOnly": True}]
    assert found["metadata"]["generation"] == 3
