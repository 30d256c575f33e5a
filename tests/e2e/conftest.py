"""One server a session, one CRD group a session, one namespace a test.

The server is the embedded one, unless KUBEBUILDER_ASSETS holds ``etcd`` and ``kube-apiserver``, or
KUBECONFIG names a cluster and this folder is requested (``pytest -n 0 tests/e2e``): then CRDs that exist
already stay as they are, and a test that cannot be held with them is skipped. Every test's id ends with the
server that it ran on.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e_client import Http, Kubectl
from e2e_operator_lab import (
    CLUSTER_CRD,
    OUR_CRDS,
    UPSTREAM_CRDS,
    Cloud,
    Served,
    Stage,
    crd_found,
    crd_is_the_same,
    crds_installed,
    simulated_cloud,
    staged,
)
from e2e_servers import PATIENTLY, Server, chosen, kubectl_missing, new_namespace, running
from e2e_widgets import widget_crd


def pytest_configure(config: pytest.Config) -> None:
    if chosen([str(each) for each in config.args]) == "kubeconfig" and getattr(config.option, "numprocesses", None):
        raise pytest.UsageError("tests/e2e adds CRDs to the cluster of KUBECONFIG and removes them: run it with -n 0")


def pytest_report_header(config: pytest.Config) -> str:
    return f"e2e server: {chosen([str(each) for each in config.args])}"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "server" in metafunc.fixturenames:
        label = chosen([str(each) for each in metafunc.config.args])
        metafunc.parametrize("server", [label], indirect=True, scope="session", ids=[label])


@pytest.fixture(scope="session")
def server(request: pytest.FixtureRequest, home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    if kubectl_missing():
        pytest.skip("kubectl is not on PATH")
    with running(request.param, tmp_path_factory.mktemp("server")) as started:
        if started.label == "kubeconfig":
            admin = Kubectl(started, "default", home)
            for what in ("namespaces", "customresourcedefinitions"):
                if not admin.run("auth", "can-i", "create", what, ok=False).startswith("yes"):
                    pytest.skip(f"the user of KUBECONFIG may not create {what}, which this suite needs")
        yield started


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="session")
def group(server: Server, home: Path) -> Iterator[str]:
    """The API group of the session's Widgets."""
    name = f"e2e-{uuid.uuid4().hex[:8]}.freehold.dev"
    admin = Kubectl(server, "default", home)
    admin.apply(widget_crd(name))
    admin.run("wait", "--for=condition=Established", f"crd/widgets.{name}", PATIENTLY)
    yield name
    admin.run("delete", "crd", f"widgets.{name}", "--wait=false")


@pytest.fixture
def namespace(server: Server) -> Iterator[str]:
    with new_namespace(server) as name:
        yield name


@pytest.fixture
def kubectl(server: Server, namespace: str, home: Path) -> Kubectl:
    return Kubectl(server, namespace, home)


@pytest.fixture
def http(server: Server, group: str, namespace: str) -> Iterator[Http]:
    client = Http(server, group, namespace)
    yield client
    client.close()


@pytest.fixture
def with_controllers(server: Server) -> None:
    if not server.controllers:
        pytest.skip(f"{server.label} runs without a controller manager")


@pytest.fixture(scope="session")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """The simulated clouds of the session."""
    with simulated_cloud(tmp_path_factory.mktemp("cloud")) as started:
        yield started


@pytest.fixture(scope="session")
def our_crds(server: Server) -> Iterator[None]:
    """Our CRDs. An existing one is not changed, and used only if it is the same."""
    for each in OUR_CRDS:
        if crd_found(server, each) and not crd_is_the_same(server, each):
            name = each["metadata"]["name"]
            pytest.skip(f"{server.label} has a CRD {name} of another provider or version: nothing is put in its place")
    with crds_installed(server, OUR_CRDS):
        yield


@pytest.fixture
def stage(server: Server, cloud: Cloud, our_crds: None, home: Path, tmp_path: Path) -> Iterator[Stage]:
    """The stage of one test of the operator."""
    with staged(server, cloud, home, tmp_path) as set_up:
        yield set_up


@pytest.fixture(scope="module")
def served(
    server: Server, cloud: Cloud, our_crds: None, home: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    """A Ready cluster that is still served, watched since before it existed; for tests that only read."""
    folder = tmp_path_factory.mktemp("served")
    with staged(server, cloud, home, folder) as stage, stage.witness() as witness, stage.operator():
        stage.kubectl.apply(stage.powervs())
        stage.await_ready()
        yield Served(stage, witness)
        stage.delete()


@pytest.fixture
def cluster_api(server: Server) -> Iterator[None]:
    """Cluster API's Cluster, a placeholder where it is not installed."""
    with crds_installed(server, [CLUSTER_CRD]):
        yield


@pytest.fixture
def upstream_kinds(server: Server) -> Iterator[None]:
    """Every kind of upstream's templates."""
    with crds_installed(server, UPSTREAM_CRDS):
        yield


@pytest.fixture
def no_cluster_api(server: Server, home: Path) -> None:
    if "NotFound" not in Kubectl(server, "default", home).run("get", "crd", "clusters.cluster.x-k8s.io", ok=False):
        pytest.skip(f"{server.label} has Cluster API")
