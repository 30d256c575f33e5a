"""``freehold gc enable|disable|configure``: which object is meant, and what is there afterwards."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests

from freehold.api import names
from freehold.cli.local.access import ServeOptions
from freehold.cli.local.state_directory import LiveServer, StateDirectory
from freehold.collection.selector import Selector
from harness.aws_cluster import aws_cluster
from harness.commands import PATIENCE, freehold, freehold_in
from harness.powervs import example
from harness.serving import served

GC, TASKS = names.EXTERNAL_RESOURCE_GC_ANNOTATION, names.EXTERNAL_RESOURCE_TASKS_ANNOTATION
AWS_PATH = "/apis/infrastructure.cluster.x-k8s.io/v1beta2/namespaces/default/awsclusters"
CLUSTER_PATH = "/apis/cluster.x-k8s.io/v1beta2/namespaces/default/clusters"


@dataclass(frozen=True)
class Served:
    """A state directory that is served, and the objects in it."""

    state: StateDirectory
    server: LiveServer

    def gc(self, verb: str, name: str, *more: str) -> subprocess.CompletedProcess[str]:
        return freehold_in(self.state.path, "gc", verb, "--cluster-name", name, *more)

    def request(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        auth = {"Authorization": f"Bearer {self.server.token}"}
        done = requests.request(method, f"{self.server.url}{path}", json=body, headers=auth, timeout=60)
        done.raise_for_status()
        return done.json()

    def add_aws(self, name: str, **metadata: Any) -> None:
        manifest = aws_cluster()
        manifest["metadata"] |= {"name": name, **metadata}
        self.request("POST", AWS_PATH, manifest)

    def add_cluster(self, name: str, **references: dict[str, str]) -> None:
        body = {
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"name": name}, "spec": references,
        }  # fmt: skip
        self.request("POST", CLUSTER_PATH, body)

    def wait_for_reason(self, name: str, reason: str) -> None:
        """Until the condition has this reason."""
        deadline = time.monotonic() + PATIENCE
        while True:
            conditions = (self.request("GET", f"{AWS_PATH}/{name}").get("status") or {}).get("conditions") or []
            if reason in [each["reason"] for each in conditions if each["type"] == names.EXTERNAL_RESOURCE_GC]:
                return
            assert time.monotonic() < deadline, conditions
            time.sleep(0.05)  # the operator works in another thread, on its own clock

    def annotations(self, name: str) -> dict[str, str]:
        found = self.request("GET", f"{AWS_PATH}/{name}")["metadata"].get("annotations") or {}
        return {each: found[each] for each in (GC, TASKS) if each in found}


def _reference(name: str, kind: str = "AWSCluster") -> dict[str, str]:
    return {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": kind, "name": name}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Served without an operator: what the commands write stays as it is."""
    state = StateDirectory.open(tmp_path_factory.mktemp("state"))
    with served(state, ServeOptions(operator=False)) as server:
        yield Served(state, server)


def test_a_cluster_is_opted_in_and_out_with_clusterawsadms_sentences(store: Served) -> None:
    """docs/reference/requirements.md G5, G17."""
    store.add_aws("turned", annotations={"keep": "it"})
    done = store.gc("enable", "turned")
    assert (done.returncode, done.stdout, done.stderr) == (
        0, "Enabled garbage collection for cluster default/turned\n", "",
    )  # fmt: skip
    assert store.annotations("turned") == {GC: "true"}
    done = store.gc("disable", "turned", "-n", "default")
    assert (done.returncode, done.stdout) == (0, "Disabled garbage collection for cluster default/turned\n")
    assert store.annotations("turned") == {GC: "false"}
    assert store.request("GET", f"{AWS_PATH}/turned")["metadata"]["annotations"]["keep"] == "it"
    said = [json.loads(line) for line in store.state.audit_of_people.read_text().splitlines()]
    assert [line["object"] for line in said if f'"{GC}": "false"' in line["reason"]] == ["AWSCluster default/turned"]


def test_tasks_are_set_and_an_empty_list_takes_them_off(store: Served) -> None:
    store.add_aws("tasks")
    done = store.gc("configure", "tasks", "--gc-task", "volume, target-group", "--gc-task=load-balancer")
    assert (done.returncode, done.stdout) == (0, "Configuring garbage collection for cluster default/tasks\n")
    assert store.annotations("tasks") == {TASKS: "volume,target-group,load-balancer"}
    for empty in ((), ("--gc-task", "")):
        store.gc("configure", "tasks", "--gc-task=volume")
        assert store.gc("configure", "tasks", *empty).returncode == 0
        assert store.annotations("tasks") == {}


def test_an_unknown_task_is_refused_before_anything_is_written(store: Served) -> None:
    store.add_aws("refused", annotations={TASKS: "volume"})
    done = store.gc("configure", "refused", "--gc-task", "load-balancer,foo")
    assert done.returncode == 2
    assert "'foo' is no task: there is load-balancer, target-group, security-group" in done.stderr
    assert store.annotations("refused") == {TASKS: "volume"}


@pytest.mark.parametrize("field", ["infrastructureRef", "controlPlaneRef"])
def test_the_object_is_found_by_its_clusters_name(store: Served, field: str) -> None:
    """An AWSCluster by its infrastructureRef alone; a cluster's other references name other kinds."""
    name = field.lower()
    store.add_aws(f"{name}-infra")
    store.add_cluster(name, **{field: _reference(f"{name}-infra")})
    done = store.gc("enable", name)
    if field == "infrastructureRef":
        assert (done.returncode, done.stdout) == (0, f"Enabled garbage collection for cluster default/{name}\n")
        assert store.annotations(f"{name}-infra") == {GC: "true"}
    else:
        assert done.returncode == 1
        assert store.annotations(f"{name}-infra") == {}


def test_a_cluster_that_is_not_collected_or_not_there_is_reported(store: Served) -> None:
    store.add_cluster("of-ibm", infrastructureRef=_reference("of-ibm", "IBMPowerVSCluster"))
    store.add_cluster("half", infrastructureRef=_reference("missing"))
    powervs = example()
    powervs["metadata"]["name"] = "of-ibm"
    store.request("POST", AWS_PATH.replace("awsclusters", "ibmpowervsclusters"), powervs)
    for name, sentence in {
        "nobody": "there is no cluster nobody in namespace default",
        "of-ibm": "there is no cluster of-ibm in namespace default",
        "half": "Cluster default/half refers to AWSCluster default/missing, which is not there",
        "x" * 100: f"there is no cluster {'x' * 79}… in namespace default",
    }.items():
        done = store.gc("disable", name)
        assert done.returncode == 1
        assert sentence in done.stderr
        assert f"freehold get --state {store.state.path} -A" in done.stderr


CONTROL_PLANES = AWS_PATH.replace("infrastructure.", "controlplane.").replace("awsclusters", "awsmanagedcontrolplanes")
MANAGED = AWS_PATH.replace("awsclusters", "awsmanagedclusters")


def _add_eks(store: Served, name: str, **annotations: str) -> None:
    """Add a Cluster as upstream's template has it; the annotations are those of its AWSManagedCluster."""
    control_plane = {
        "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "AWSManagedControlPlane",
        "metadata": {"name": f"{name}-control-plane"}, "spec": {"region": "eu-central-1"},
    }  # fmt: skip
    infrastructure = {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "AWSManagedCluster",
        "metadata": {"name": f"{name}-infra", "annotations": annotations}, "spec": {},
    }  # fmt: skip
    store.request("POST", CONTROL_PLANES, control_plane)
    store.request("POST", MANAGED, infrastructure)
    reference = {
        **_reference(f"{name}-control-plane", "AWSManagedControlPlane"),
        "apiGroup": "controlplane.cluster.x-k8s.io",
    }
    store.add_cluster(
        name, infrastructureRef=_reference(f"{name}-infra", "AWSManagedCluster"), controlPlaneRef=reference
    )


def _eks_annotations(store: Served, name: str) -> list[str | None]:
    """The word on the control plane, and that on its AWSManagedCluster."""
    paths = f"{CONTROL_PLANES}/{name}-control-plane", f"{MANAGED}/{name}-infra"
    return [(store.request("GET", path)["metadata"].get("annotations") or {}).get(GC) for path in paths]


def test_of_an_eks_cluster_the_control_plane_is_annotated(store: Served) -> None:
    """clusterawsadm annotates the AWSManagedCluster, at which upstream's collector never looks."""
    _add_eks(store, "eks")
    done = store.gc("enable", "eks")
    assert (done.returncode, done.stdout) == (0, "Enabled garbage collection for cluster default/eks\n")
    assert _eks_annotations(store, "eks") == ["true", None]
    assert store.gc("disable", "eks-control-plane").returncode == 0
    assert _eks_annotations(store, "eks") == ["false", None]


def test_a_word_on_the_managed_cluster_that_would_contradict_is_changed_too(store: Served) -> None:
    """Else *false* would win there, and a word that cannot be read would hold the network."""
    _add_eks(store, "both", **{GC: "no"})
    for verb, word, name in (("disable", "false", "both"), ("enable", "true", "both-control-plane")):
        assert store.gc(verb, name).returncode == 0
        assert _eks_annotations(store, "both") == [word, word]


def test_a_kubeconfig_leads_to_the_same(store: Served) -> None:
    """Nothing is said of the operator there: nobody can know its gates."""
    store.add_aws("by-kubeconfig")
    done = freehold(
        "gc", "enable", "--cluster-name=by-kubeconfig", "-n", "default", "--kubeconfig", str(store.state.kubeconfig)
    )
    assert (done.returncode, done.stdout, done.stderr) == (
        0, "Enabled garbage collection for cluster default/by-kubeconfig\n", "",
    )  # fmt: skip
    assert store.annotations("by-kubeconfig") == {GC: "true"}


def test_an_object_that_is_being_deleted_is_changed_with_a_warning(store: Served) -> None:
    store.add_aws("going", finalizers=["tests.freehold.dev/held"])
    store.request("DELETE", f"{AWS_PATH}/going")
    done = store.gc("disable", "going")
    assert done.returncode == 0
    assert "warning: AWSCluster default/going is being deleted already" in done.stderr
    assert store.annotations("going") == {GC: "false"}


def test_a_server_with_the_gate_off_is_warned_of(tmp_path: Path) -> None:
    state = StateDirectory.open(tmp_path)
    with served(state, ServeOptions(simulate=True, gates=frozenset())) as server:
        there = Served(state, server)
        there.add_aws("demo")
        done = there.gc("enable", "demo")
    assert (done.returncode, done.stdout) == (0, "Enabled garbage collection for cluster default/demo\n")
    assert "warning: nothing is collected by the operator at work here" in done.stderr
    assert "--feature-gates=ExternalResourceGC=true" in done.stderr


def test_a_cluster_that_the_servers_selector_leaves_out_is_collected_once_it_is_opted_in(tmp_path: Path) -> None:
    """docs/reference/requirements.md G22."""
    state = StateDirectory.open(tmp_path)
    with served(state, ServeOptions(simulate=True, gc_selector=Selector("team=red"))) as server:
        there = Served(state, server)
        there.add_aws("demo")
        there.wait_for_reason("demo", "NotSelected")
        there.gc("enable", "demo")
        there.wait_for_reason("demo", "Collected")


def test_a_store_that_nobody_serves_is_changed_too(tmp_path: Path) -> None:
    state = StateDirectory.open(tmp_path)
    with served(state, ServeOptions(operator=False)) as server:
        Served(state, server).add_aws("demo")
    assert freehold_in(tmp_path, "gc", "enable", "--cluster-name", "demo").returncode == 0
    assert GC in freehold_in(tmp_path, "get", "AWSCluster/demo", "-o", "yaml").stdout
