"""An installation has least rights, a pod without privileges, and CRDs that Cluster API and clusterctl find."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import click
import pytest

from freehold.cli.commands.server_commands import operator_
from freehold.controllers.peers import ConflictingProvider, refuse_peers
from freehold.install.objects import build_objects
from freehold.install.options import PROVIDER_NAMES, InstallOptions, InvalidInstallOption
from freehold.kube import errors as kube
from freehold.kube.object_client import ObjectList
from freehold.kube.resources import Json, Key, Resource
from freehold.providers.registry import EVERYTHING, PROVIDERS, SERVED

CHOICES = {
    "defaults": InstallOptions(),
    "everything": InstallOptions(
        shards=3,
        watch_filter="blue",
        feature_gates={"EKSEnableIAM": True},
        serves_namespace="team",
        cert_manager=True,
        page=True,
    ),
}


@cache
def _build(choice: str) -> list[Json]:
    return build_objects(CHOICES[choice])


@pytest.fixture(params=CHOICES)
def choice(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def options(choice: str) -> InstallOptions:
    return CHOICES[choice]


@pytest.fixture
def objects(choice: str) -> list[Json]:
    return copy.deepcopy(_build(choice))


def test_no_rule_has_a_wildcard_or_lists_secrets(objects: list[Json]) -> None:
    for rule in _rules(objects):
        assert "*" not in (*rule["apiGroups"], *rule["resources"], *rule["verbs"])
        if "secrets" in rule["resources"]:
            assert {"list", "watch", "delete", "deletecollection"}.isdisjoint(rule["verbs"])


def test_pods_that_are_not_ready_let_their_node_be_drained(objects: list[Json]) -> None:
    (budget,) = (each["spec"] for each in objects if each["kind"] == "PodDisruptionBudget")
    assert (budget["maxUnavailable"], budget["unhealthyPodEvictionPolicy"]) == (1, "AlwaysAllow")


def test_pods_run_where_there_are_only_nodes_of_a_control_plane_and_have_time_to_start(objects: list[Json]) -> None:
    (pod,) = (each["spec"]["template"]["spec"] for each in objects if each["kind"] == "Deployment")
    (toleration,) = pod["tolerations"]
    assert (toleration["key"], toleration["effect"]) == ("node-role.kubernetes.io/control-plane", "NoSchedule")
    (container,) = pod["containers"]
    start = container["startupProbe"]
    assert start["periodSeconds"] * start["failureThreshold"] >= 120


def test_operator_writes_only_what_it_serves(objects: list[Json]) -> None:
    """Roles, webhooks, workloads and CRDs are no business of the operator, but for the CA in its own webhook.

    A review is created, and stored nowhere.
    """
    writing = {"create", "update", "patch", "delete"}
    for rule in _rules(objects, but="freehold-cluster-api"):
        if not writing.isdisjoint(rule["verbs"]):
            written = {resource.partition("/")[0] for resource in rule["resources"]}
            ours = {served.plural for served in SERVED} | {"awsmanagedclusters", "cloudmetadatas"}
            ours |= {provider.tags.served.plural for provider in PROVIDERS if provider.tags}
            own = {"secrets", "configmaps", "leases", "events", "tokenreviews", "subjectaccessreviews"}
            assert written <= ours | own or rule["resourceNames"] == ["freehold-webhook.freehold-system"]


def test_cluster_wide_rights_are_few_with_one_namespace() -> None:
    objects = _build("everything")
    (cluster,) = [each for each in objects if each["kind"] == "ClusterRole" and "aggregate" not in str(each)]
    rules = [rule for rule in cluster["rules"] if rule["verbs"] != ["create"]]
    assert {verb for rule in rules for verb in rule["verbs"]} <= {"get", "list", "watch"}
    created = [each for rule in cluster["rules"] if rule not in rules for each in rule["resources"]]
    assert created == ["tokenreviews", "subjectaccessreviews"]
    assert not {resource for rule in cluster["rules"] for resource in rule["resources"]} & {"secrets", "awsclusters"}
    (role,) = [each for each in objects if each["kind"] == "Role" and each["metadata"]["namespace"] == "team"]
    assert any("awsclusters" in rule["resources"] for rule in role["rules"])


def test_each_role_is_bound_to_the_service_account_of_the_pods(objects: list[Json]) -> None:
    account = {"kind": "ServiceAccount", "name": "freehold-operator", "namespace": "freehold-system"}
    roles = {(each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"]) for each in objects}
    for each in objects:
        if each["kind"].endswith("Binding"):
            assert each["subjects"] == [account]
            assert (each["roleRef"]["kind"], each["metadata"].get("namespace"), each["roleRef"]["name"]) in roles
    (deployment,) = _of_kind(objects, "Deployment")
    assert deployment["spec"]["template"]["spec"]["serviceAccountName"] == account["name"]


def test_cluster_api_gets_its_rights_by_aggregation(objects: list[Json]) -> None:
    (role,) = [each for each in objects if each["metadata"]["name"] == "freehold-cluster-api"]
    assert role["metadata"]["labels"]["cluster.x-k8s.io/aggregate-to-manager"] == "true"
    assert all(group.endswith("cluster.x-k8s.io") for rule in role["rules"] for group in rule["apiGroups"])


def test_pods_have_no_privileges(objects: list[Json]) -> None:
    (deployment,) = _of_kind(objects, "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    assert pod["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()
    (container,) = pod["containers"]
    assert container["name"] == "manager"
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }
    assert not any("hostPath" in volume for volume in pod["volumes"])
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}


def test_selectors_find_the_pods(objects: list[Json]) -> None:
    (deployment,) = _of_kind(objects, "Deployment")
    labels = deployment["spec"]["template"]["metadata"]["labels"].items()
    (budget,), (policy,) = (_of_kind(objects, kind) for kind in ("PodDisruptionBudget", "NetworkPolicy"))
    selectors = [deployment["spec"]["selector"]["matchLabels"], budget["spec"]["selector"]["matchLabels"]]
    selectors += [policy["spec"]["podSelector"]["matchLabels"]]
    selectors += [service["spec"]["selector"] for service in _of_kind(objects, "Service")]
    assert all(selector.items() <= labels for selector in selectors)


def test_probes_and_services_name_ports_of_the_container(objects: list[Json]) -> None:
    (deployment,), services = _of_kind(objects, "Deployment"), _of_kind(objects, "Service")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    ports = {each["name"]: each["containerPort"] for each in container["ports"]}
    assert {
        container[probe]["httpGet"]["port"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")
    } <= ports.keys()
    assert services and all(each["spec"]["ports"][0]["targetPort"] in ports for each in services)
    assert f"--health-address=0.0.0.0:{ports['http']}" in container["args"]
    assert f"--webhook-address=0.0.0.0:{ports['webhook']}" in container["args"]


def test_arguments_are_options_of_the_operator(objects: list[Json]) -> None:
    (deployment,) = _of_kind(objects, "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    with click.Context(operator_) as context:
        operator_.make_parser(context).parse_args(list(container["args"]))


def test_contract_of_each_crd_names_a_version_that_it_has(objects: list[Json]) -> None:
    for crd in _of_kind(objects, "CustomResourceDefinition"):
        labels, spec = crd["metadata"]["labels"], crd["spec"]
        versions = {each["name"] for each in spec["versions"]}
        contracts = {name: value for name, value in labels.items() if name.startswith("cluster.x-k8s.io/v1")}
        assert all(set(value.split("_")) <= versions for value in contracts.values())
        assert bool(contracts) == spec["group"].endswith("cluster.x-k8s.io")
        assert labels["cluster.x-k8s.io/provider"] == "infrastructure-freehold"
        assert labels["clusterctl.cluster.x-k8s.io"] == ""
        assert crd["metadata"]["name"] == f"{spec['names']['plural']}.{spec['group']}"


def test_no_kind_is_moved_without_a_cluster_but_identities(objects: list[Json]) -> None:
    moved = {
        crd["spec"]["names"]["kind"]
        for crd in _of_kind(objects, "CustomResourceDefinition")
        if any(name.startswith("clusterctl.cluster.x-k8s.io/move") for name in crd["metadata"]["labels"])
    }
    assert moved == {served.kind for provider in PROVIDERS for served in provider.referred}


async def test_operator_starts_beside_its_own_crds_and_not_beside_those_of_another(objects: list[Json]) -> None:
    crds = {crd["metadata"]["name"]: crd for crd in _of_kind(objects, "CustomResourceDefinition")}
    await refuse_peers(_Reader(crds), EVERYTHING)
    crds["awsclusters.infrastructure.cluster.x-k8s.io"]["metadata"]["labels"]["cluster.x-k8s.io/provider"] = (
        "infrastructure-aws"
    )
    with pytest.raises(ConflictingProvider):
        await refuse_peers(_Reader(crds), EVERYTHING)


@pytest.mark.parametrize("provider", PROVIDER_NAMES)
def test_one_cloud_needs_nothing_of_the_others(options: InstallOptions, provider: str) -> None:
    objects = build_objects(replace(options, providers=(provider,)))
    others = {
        served.plural
        for each in PROVIDERS
        if each.name != provider
        for served in (*(kind.served for kind in each.objects), *each.referred, *each.templates)
    }
    named = {crd["spec"]["names"]["plural"] for crd in _of_kind(objects, "CustomResourceDefinition")}
    named |= {plural for rule in _rules(objects, but="") for plural in rule["resources"]}
    (configuration,) = _of_kind(objects, "ValidatingWebhookConfiguration")
    named |= {plural for rule in configuration["webhooks"][0]["rules"] for plural in rule["resources"]}
    assert not named & others


def test_key_ring_is_no_object_of_the_installation(objects: list[Json]) -> None:
    """What deletes the manifests must not delete the keys."""
    assert not _of_kind(objects, "Secret")


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("replicas", 0, "--replicas is 0: expected a number from 1 to 100"),
        ("shards", 0, "--shards is 0"),
        ("feature_gates", {"Fly": True}, "--feature-gates is Fly=True"),
        ("providers", ("gcp",), "--providers is gcp: expected one or more of aws, ibm"),
        ("providers", (), "--providers is empty"),
        ("namespace", "Bad_One", "--namespace is 'Bad_One'"),
        ("namespace", "", "--namespace is ''"),
        ("serves_namespace", "-x", "--namespace-only is '-x'"),
        ("image", "a\nb", "--image is 'a\\nb'"),
        ("webhook", False, "--cert-manager is for the certificate of the webhook"),
    ],
)
def test_options_that_cannot_be_are_refused(field: str, value: Any, said: str) -> None:
    with pytest.raises(InvalidInstallOption) as refused:
        build_objects(replace(InstallOptions(cert_manager=True), **{field: value}))
    assert str(refused.value).startswith(said)


def _of_kind(objects: list[Json], kind: str) -> list[Json]:
    return [each for each in objects if each["kind"] == kind]


def _rules(objects: list[Json], but: str = "") -> Iterator[Json]:
    for each in objects:
        if each["kind"] in ("Role", "ClusterRole") and each["metadata"]["name"] != but:
            yield from each["rules"]


class _Reader:
    """A reader of these CRDs."""

    def __init__(self, crds: dict[str, Json]) -> None:
        self._crds = crds

    async def get(self, resource: Resource, key: Key) -> Json:
        if key.name not in self._crds:
            raise kube.ObjectNotFound(f"there is no {key}")
        return self._crds[key.name]

    async def list(self, resource: Resource, namespace: str = "", *, label_selector: str = "") -> ObjectList:
        raise AssertionError("no CRDs are listed")
