"""``clusterctl move`` between two API servers with an operator each: the cloud is not touched, and nothing is lost."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e_client import Http, Kubectl
from e2e_core_stand_in import CoreStandIn, fill_in
from e2e_mover import Mover
from e2e_operator_lab import (
    OUR_CRDS,
    UPSTREAM_CRDS,
    Cloud,
    Json,
    ServeOptions,
    condition,
    embedded_with,
    is_ready,
    manifests,
    operator_here,
    simulated_cloud,
)
from e2e_servers import PATIENCE, PATIENTLY, Server, until
from test_e2e_operator_machines import MACHINE_CRD, TEMPLATE, VALUES

from freehold.api import names
from freehold.api.placeholders import Placeholder
from harness.commands import freehold

pytestmark = pytest.mark.e2e

SPEED = 240.0
CLUSTERCTL = "clusterctl.cluster.x-k8s.io"
PROVIDERS = {"cluster-api": "CoreProvider", "infrastructure-freehold": "InfrastructureProvider"}
"""What clusterctl has installed, by the name of its record."""


def labelled(crd: Json) -> Json:
    """The CRD as clusterctl installs it: by its label the mover finds it, by the contract's it knows the version."""
    contract = {"cluster.x-k8s.io/v1beta2": "v1beta2"} if crd["spec"]["group"] == "cluster.x-k8s.io" else {}
    labels = {**crd["metadata"].get("labels", {}), CLUSTERCTL: "", **contract}
    return {**crd, "metadata": {**crd["metadata"], "labels": labels}}


CRDS = [labelled(each) for each in (*OUR_CRDS, *UPSTREAM_CRDS, MACHINE_CRD)]
INVENTORY = Placeholder(CLUSTERCTL, "v1alpha3", "Provider", "providers").build_crd()
TEAM, OWN = "team", "freehold-system"
OWNED = ("awsmachinetemplates", "kubeadmcontrolplanes", "machinedeployments", "machines.v1beta2.cluster.x-k8s.io")
INITIALIZED = {"infrastructureProvisioned": True, "controlPlaneInitialized": True}
MARKING = {"resourcegroupstaggingapi.TagResources", "tagging.attach_tag", "tagging.detach_tag"}
KINDS = "awscluster,awsmachine,ibmpowervscluster"


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    with simulated_cloud(tmp_path_factory.mktemp("cloud"), SPEED) as started:
        yield started


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[tuple[Server, Server]]:
    with contextlib.ExitStack() as stack:
        for name in ("source", "target"):
            (tmp_path / name).mkdir()
        yield tuple(stack.enter_context(embedded_with(tmp_path / name, CRDS)) for name in ("source", "target"))


class Place:
    """A management cluster: a server, its operator's options, and Cluster API's core for its Clusters."""

    def __init__(self, server: Server, cloud: Cloud, folder: Path) -> None:
        self.server = server
        self.http = Http(server, "", TEAM)
        self.kubectl = Kubectl(server, TEAM, folder)
        self.wish = ServeOptions(server.kubeconfig, cloud.url, TEAM, "auto", keys_namespace=OWN)
        for name in (TEAM, OWN):
            self.kubectl.run("create", "namespace", name)

    def keys(self, *words: str) -> str:
        """``freehold keys``, as docs/howto/keys.md says."""
        done = freehold("keys", *words, "--kubeconfig", self.server.kubeconfig, "-n", OWN)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def is_up(self) -> bool:
        """Say whether both Machines have their nodes, and everything is Ready."""
        if len(CoreStandIn(self.http, TEAM, "aws").machines_with_nodes()) != 2:
            return False
        found = [*self.objects().values()]
        return len(found) == 4 and all(map(is_ready, found))

    def is_paused(self) -> bool:
        found = [condition(each, names.PAUSED).get("status") == "True" for each in self.objects().values()]
        return len(found) == 4 and all(found)

    def chain(self) -> None:
        """Make everything that Cluster API's core makes for a Cluster its property, as core does."""
        for name in ("aws", "power"):
            cluster = self.kubectl.json("get", "clusters.v1beta2.cluster.x-k8s.io", name)
            for kind in OWNED if name == "aws" else ():
                self._own(cluster, kind)
            status = {"initialization": INITIALIZED, "conditions": [is_true("ControlPlaneInitialized")]}
            self._patch("clusters.v1beta2.cluster.x-k8s.io", name, {"status": status})
        for each in self.kubectl.json("get", "machines.v1beta2.cluster.x-k8s.io")["items"]:
            self._patch("secret", each["metadata"]["name"], {"metadata": {"ownerReferences": [reference_to(each)]}})

    def _own(self, cluster: Json, kind: str) -> None:
        for each in self.kubectl.json("get", kind)["items"]:
            self._patch(kind, each["metadata"]["name"], {"metadata": {"ownerReferences": [reference_to(cluster)]}})

    def _patch(self, kind: str, name: str, body: Json) -> None:
        self.kubectl.run("patch", kind, name, "--type=merge", "-p", json.dumps(body))

    def objects(self) -> dict[str, Json]:
        """Our objects, by kind and name."""
        return {f"{each['kind']} {each['metadata']['name']}": each for each in self.kubectl.json("get", KINDS)["items"]}

    @contextlib.contextmanager
    def core(self) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            for name in ("aws", "power"):
                stack.enter_context(CoreStandIn(self.http, TEAM, name).running())
            yield


def reference_to(owner: Json) -> Json:
    metadata = owner["metadata"]
    return {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": metadata["name"], "uid": metadata["uid"]}


def is_true(kind: str) -> Json:
    return {"type": kind, "status": "True", "reason": kind, "lastTransitionTime": "2026-01-01T00:00:00Z"}


def a_list(*items: Json) -> Json:
    return {"apiVersion": "v1", "kind": "List", "items": [*items]}


def provider(name: str) -> Json:
    """The record of an installed provider, by which clusterctl checks that the target has all of them."""
    labels = {CLUSTERCTL: "", "cluster.x-k8s.io/provider": name}
    return {
        "apiVersion": f"{CLUSTERCTL}/v1alpha3", "kind": "Provider",
        "metadata": {"name": name, "namespace": OWN, "labels": labels},
        "providerName": name.removeprefix("infrastructure-"), "type": PROVIDERS[name], "version": "v1.0.0",
    }  # fmt: skip


def writes(cloud: Cloud) -> Counter[str]:
    """The calls that have changed something in any cloud, by operation."""
    called = [each for name in ("ibm", "aws") for each in cloud.ask(f"calls?cloud={name}")["calls"]]
    return Counter(each["operation"] for each in called if each["mutating"])


def bootstraps(cloud: Cloud) -> list[Json]:
    """The bootstrap data of machines in the cloud, which goes when they have started."""
    return [row for row in cloud.of_aws("freehold.dev/owner") if row["arn"].split(":")[2] == "secretsmanager"]


def kept(objects: dict[str, Json]) -> dict[str, Json]:
    """What a move keeps of objects, as long as nobody writes them."""
    fields = ("annotations", "labels", "finalizers")
    return {
        name: {**{field: obj["metadata"].get(field) for field in fields}, "spec": obj["spec"]}
        for name, obj in objects.items()
    }


def told(objects: dict[str, Json]) -> dict[str, Json]:
    """Return what each status says of the cloud: nothing of keys and marks, and of when it was written.

    Nor whether it is Ready: `Place.is_up` is waited for, at either place, and a pause keeps what a busy machine made of
    the last look.
    """
    return {name: _told(each["status"]) for name, each in objects.items()}


def _told(status: Json) -> Json:
    conditions = {
        each["type"]: each["status"] for each in status["conditions"] if each["type"] not in (names.PAUSED, "Ready")
    }
    resources = {(row["kind"], row.get("name"), row.get("id")) for row in status["resources"]}
    left_out = ("identity", "observedGeneration", "phase")  # the phase is Paused before
    rest = {name: value for name, value in status.items() if name not in left_out}
    return {**rest, "conditions": conditions, "resources": resources}


@pytest.fixture
def places(servers: tuple[Server, Server], cloud: Cloud, tmp_path: Path) -> Iterator[tuple[Place, Place]]:
    """Two management clusters with living operators: everything is up in the first one, the second has its keys."""
    source, target = (Place(server, cloud, tmp_path) for server in servers)
    counts = {"CONTROL_PLANE_MACHINE_COUNT": "1", "WORKER_MACHINE_COUNT": "1"}
    with operator_here(source.wish), operator_here(target.wish):
        with source.core():
            source.kubectl.run("apply", "-f", "-", stdin=fill_in(TEMPLATE, {**VALUES, **counts, "CLUSTER_NAME": "aws"}))
            for each in manifests("power", TEAM)[:2]:
                source.kubectl.apply(each)
            until(lambda: source.is_up() and not bootstraps(cloud), "all is there")
        (tmp_path / "ring").write_text(source.keys("export"))
        target.keys("add", str(tmp_path / "ring"))
        yield source, target


def check_taken_over(target: Place, cloud: Cloud, before: dict[str, Json], seen: Counter[str]) -> None:
    """Check that the target has what the source had, changed nothing but marks, and deletes all of it."""
    assert writes(cloud) == seen, "nothing is written while it moves"
    with target.core():
        until(target.is_up, "the target has taken over")
        assert set(writes(cloud) - seen) <= MARKING, "only the marks are renewed, with the key that writes here"
        assert told(target.objects()) == told(before)
        target.kubectl.run("delete", "clusters.v1beta2.cluster.x-k8s.io", "--all", PATIENTLY)
    assert [*cloud.of("power"), *cloud.of_aws("freehold.dev/owner")] == []


def test_a_move_touches_nothing_in_the_cloud_and_the_target_takes_over(
    places: tuple[Place, Place], cloud: Cloud
) -> None:
    """docs/reference/capi-contract.md C28, C29, C32; with the key ring brought as docs/howto/keys.md says."""
    source, target = places
    mover = Mover(source.http, target.http, TEAM)
    mover.pause()
    until(source.is_paused, "the source has ended what it was at")
    before, seen = source.objects(), writes(cloud)
    mover.create()
    until(target.is_paused, "the target waits")
    assert kept(target.objects()) == kept(before)
    mover.delete()
    until(lambda: not source.objects(), "the source is empty")
    assert writes(cloud) == seen
    mover.resume()
    check_taken_over(target, cloud, before, seen)


@pytest.mark.skipif(shutil.which("clusterctl") is None, reason="clusterctl is not on PATH")
def test_clusterctl_itself_moves_them(places: tuple[Place, Place], cloud: Cloud, tmp_path: Path) -> None:
    source, target = places
    source.chain()
    for place in places:
        place.kubectl.apply(a_list(INVENTORY))
        place.kubectl.run("wait", "--for=condition=Established", f"crd/{INVENTORY['metadata']['name']}", PATIENTLY)
        Kubectl(place.server, OWN, tmp_path).apply(a_list(*map(provider, PROVIDERS)))
    before, seen = source.objects(), writes(cloud)
    where = ("--kubeconfig", source.server.kubeconfig, "--to-kubeconfig", target.server.kubeconfig)
    done = subprocess.run(
        ["clusterctl", "move", "-n", TEAM, *where], capture_output=True, text=True, timeout=PATIENCE,
        env={**os.environ, "XDG_CONFIG_HOME": str(tmp_path), "CLUSTERCTL_DISABLE_VERSIONCHECK": "true"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert source.objects() == {}
    check_taken_over(target, cloud, before, seen)
