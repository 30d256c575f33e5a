"""Parts of the operator's end-to-end tests: a simulated cloud, operators, manifests, and a witness.

Every operator serves one namespace only, so that no test changes other objects in a shared cluster.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import logging
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml
from e2e_client import MERGE, Kubectl
from e2e_operator_process import API_KEY, SPEED, ServeOptions
from e2e_operator_witness import Json, Witness
from e2e_rights import judged, shipped_rights
from e2e_servers import PATIENCE, PATIENTLY, Server, ended, kubectl_missing, running, until

from freehold.controllers.app import Operator
from freehold.install.options import InstallOptions
from freehold.providers.aws.access import SIMULATED_SECRET_KEY
from freehold.providers.crds import PLACEHOLDERS
from freehold.providers.ibm import api_names as ibm_names
from harness.forks import Program

ROOT = Path(__file__).resolve().parents[2]
CRD = ROOT / "deploy/crds/infrastructure.cluster.x-k8s.io_ibmpowervsclusters.yaml"
OUR_CRDS: list[Json] = [yaml.load(each.read_text(), yaml.CSafeLoader) for each in sorted(CRD.parent.iterdir())]
CLUSTER_CRD = next(each.build_crd() for each in PLACEHOLDERS if each.kind == "Cluster")
UPSTREAM_CRDS = [each.build_crd() for each in PLACEHOLDERS]
EXAMPLE = ROOT / "examples/powervs-create-infra.yaml"
KIND = "ibmpowervscluster"
AWS_KIND, EKS_KIND = "awscluster", "awsmanagedcontrolplane"


class Cloud:
    """The simulated clouds in a separate process, queried through the admin API; IBM's where none is named."""

    def __init__(self, url: str) -> None:
        self.url = url

    def ask(self, path: str, body: Any = None) -> Any:
        method = "GET" if body is None else "POST"
        answer = requests.request(method, f"{self.url}/_sim/{path}", json=body, timeout=PATIENCE)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def of(self, cluster: str) -> list[Json]:
        """What exists, without lag, and was created over the API for a cluster of this (or a similar) name."""
        found = [row for row in self.ask("resources")["resources"] if row["state"] != "removed"]
        return [row for row in found if cluster in row["name"] or any(cluster in tag for tag in row["tags"])]

    def of_aws(self, cluster: str) -> list[Json]:
        """What exists on AWS, without lag, and was created for a cluster of this name."""
        found = self.ask("resources?cloud=aws")["resources"]
        there = [row for row in found if row["state"] not in ("deleted", "terminated")]
        return [row for row in there if any(cluster in f"{key}={value}" for key, value in row["tags"].items())]

    def kinds(self, cluster: str) -> list[str]:
        """The kinds of :meth:`of`, sorted."""
        return sorted(row["kind"] for row in self.of(cluster))

    def slow(self, cluster: str) -> None:
        """Slow down all creates of this cluster, so that a test can act before they end."""
        self.ask("faults", {"effect": "slow", "operation": "*", "contains": cluster, "count": None, "factor": 4.0})

    def calls(self, since: int = 0) -> Json:
        found: Json = self.ask(f"calls?since={since}")
        return found


@contextlib.contextmanager
def simulated_cloud(folder: Path, speed: float = SPEED, settings: Json | None = None) -> Iterator[Cloud]:
    """A fresh account with clusterawsadm's profiles, its process ended afterwards. ``settings`` are by cloud."""
    log = folder / "simulator.log"
    command = [sys.executable, "-m", "freehold_sim", "--speed", str(speed), "--prepared", "--until-stdin-closes"]
    if settings:
        (folder / "settings.json").write_text(json.dumps(settings))
        command += ["--settings", str(folder / "settings.json")]
    with log.open("w") as errors:
        process = Program(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True)
    with ended(process):
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, f"the simulated cloud did not start: {log.read_text()}"
        yield Cloud(json.loads(line)["url"])


@contextlib.contextmanager
def operator_here(wish: ServeOptions) -> Iterator[Operator]:
    """The operator in a thread with a loop of its own; it is stopped gracefully and must end without an error."""
    operator = Operator(wish.settings())
    loops: list[asyncio.AbstractEventLoop] = []
    failures: list[BaseException] = []

    async def run() -> None:
        loops.append(asyncio.get_running_loop())
        await operator.run()

    def live() -> None:
        try:
            asyncio.run(run())
        except BaseException as failure:
            failures.append(failure)

    thread = threading.Thread(target=live, name="operator")
    thread.start()
    try:
        until(
            lambda: failures or ((health := operator.read_health()) is not None and health.ready),
            "the operator is ready",
        )
        if not failures:
            yield operator
    finally:
        if loops and thread.is_alive():
            loops[0].call_soon_threadsafe(operator.stop)
        thread.join(PATIENCE)
    if failures:
        raise failures[0]
    assert not thread.is_alive(), "the operator did not stop"


class OperatorProcess:
    """The operator as a process, which can be killed."""

    def __init__(self, wish: ServeOptions, log: Path) -> None:
        self._log = log
        command = [sys.executable, str(Path(__file__).with_name("e2e_operator_process.py")), json.dumps(wish.__dict__)]
        with log.open("a") as errors:
            self.process = Program(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "started\n", f"the operator did not start: {self.said()}"

    def kill(self) -> None:
        """Kill it, as the kernel does."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """Stop it, as Kubernetes does; returns the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def said(self) -> str:
        """Standard error so far."""
        return self._log.read_text()


@contextlib.contextmanager
def operator_process(wish: ServeOptions, log: Path) -> Iterator[OperatorProcess]:
    running = OperatorProcess(wish, log)
    with ended(running.process):
        yield running


def condition(obj: Json, kind: str) -> Json:
    """The condition of this type; empty if there is none."""
    for each in obj.get("status", {}).get("conditions", ()):
        if each["type"] == kind:
            found: Json = each
            return found
    return {}


def is_ready(obj: Json) -> bool:
    return bool(condition(obj, "Ready").get("status") == "True")


def holds_for(reason: str) -> Callable[[Json], bool]:
    """Whether Ready is false for this reason."""
    return lambda obj: bool(condition(obj, "Ready").get("reason") == reason)


def cluster_name() -> str:
    """A name that no other test uses; every resource of the cluster has it in its name."""
    return f"c{uuid.uuid4().hex[:8]}"


def manifests(name: str, namespace: str) -> list[Json]:
    """All objects of the example, with another name."""
    text = EXAMPLE.read_text().replace("freehold-demo", name).replace("namespace: default", f"namespace: {namespace}")
    return [each for each in yaml.safe_load_all(text) if each]


def powervs(name: str, namespace: str) -> Json:
    """The example's IBMPowerVSCluster without the label that announces a Cluster."""
    found = next(each for each in manifests(name, namespace) if each["kind"] == ibm_names.POWERVS_CLUSTER_KIND)
    del found["metadata"]["labels"]
    return found


def aws(name: str, namespace: str) -> Json:
    """The example's AWSCluster, with another name."""
    found: Json = yaml.safe_load((ROOT / "examples/aws-cluster.yaml").read_text())
    found["metadata"] = {"name": name, "namespace": namespace}
    return found


def capi_cluster(name: str, namespace: str, **spec: Any) -> Json:
    found = next(each for each in manifests(name, namespace) if each["kind"] == "Cluster")
    found["spec"].update(spec)
    return found


class Logs(logging.Handler):
    """The log of the operators in this process, checked at the end of every test."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.setFormatter(logging.Formatter("%(levelname)s %(name)s %(message)s"))
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)

    def text(self) -> str:
        return "\n".join(self.format(each) for each in self.records)


def clean(text: str) -> None:
    """Check that the log has no secret and no traceback."""
    assert "Traceback" not in text, text
    assert API_KEY not in text, "the API key is in the log"
    assert SIMULATED_SECRET_KEY not in text, "the secret key is in the log"
    assert "Bearer" not in text and "apikey" not in text.casefold(), text


class Stage:
    """The surroundings of one test: a namespace, a cluster name, and operators that may be started there."""

    def __init__(
        self,
        server: Server,
        cloud: Cloud,
        kubectl: Kubectl,
        namespace: str,
        folder: Path,
        logs: Logs,
        kubeconfig: str,
    ) -> None:
        self.logs = logs
        self._kubeconfig = kubeconfig
        self.server, self.cloud, self.kubectl, self.namespace = server, cloud, kubectl, namespace
        self.name = cluster_name()
        self.log = folder / "operator.log"

    def wish(self, cluster_api: str = "off") -> ServeOptions:
        return ServeOptions(self._kubeconfig, self.cloud.url, self.namespace, cluster_api)

    def operator(self, cluster_api: str = "off") -> contextlib.AbstractContextManager[Operator]:
        return operator_here(self.wish(cluster_api))

    def operator_process(self, cluster_api: str = "off") -> contextlib.AbstractContextManager[OperatorProcess]:
        return operator_process(self.wish(cluster_api), self.log)

    @contextlib.contextmanager
    def witness(self) -> Iterator[Witness]:
        witness = Witness(self.server, self.namespace, self.name)
        try:
            yield witness
        finally:
            witness.close()

    def powervs(self) -> Json:
        return powervs(self.name, self.namespace)

    def object(self) -> Json:
        return self.kubectl.json("get", KIND, self.name)

    def patch(self, body: Json, *arguments: str, of: str = "") -> str:
        return self.kubectl.run("patch", of or KIND, self.name, "--type=merge", "-p", json.dumps(body), *arguments)

    def await_ready(self) -> None:
        self.kubectl.run("wait", f"{KIND}/{self.name}", "--for=condition=Ready", PATIENTLY)

    def delete(self) -> None:
        """Delete, and check that the delete ends, here and in the cloud."""
        self.kubectl.run("delete", KIND, self.name, "--wait=false")
        self.gone()

    def gone(self) -> None:
        """Check that a requested delete ends, or has ended, here and in the cloud."""
        self.kubectl.run("delete", KIND, self.name, "--ignore-not-found", PATIENTLY)
        assert self.cloud.of(self.name) == [], "everything that was ours is gone"

    def leave(self) -> None:
        """Clean up: nothing of a test, failed or not, may hold its namespace or a CRD."""
        ring = f"{self.server.url}/api/v1/namespaces/default/secrets/keys-of-{self.namespace}"
        assert requests.delete(ring, timeout=PATIENCE).status_code in (200, 404)
        for kind in (KIND, AWS_KIND, EKS_KIND):
            for each in self.kubectl.json("get", kind)["items"]:
                free = '{"metadata":{"finalizers":null}}'
                self.kubectl.run("patch", kind, each["metadata"]["name"], "--type=merge", "-p", free, ok=False)
        for crd in (*(each for each in OUR_CRDS if each["spec"]["scope"] == "Namespaced"), *UPSTREAM_CRDS):
            gone = requests.delete(_objects_url(self.server, crd, self.namespace), timeout=PATIENCE)
            assert gone.status_code in (200, 404), gone.text


@contextlib.contextmanager
def embedded_with(folder: Path, crds: list[Json]) -> Iterator[Server]:
    """An embedded server of a module alone, with these CRDs."""
    if kubectl_missing():
        pytest.skip("kubectl is not on PATH")
    with running("embedded", folder) as started:
        for each in crds:
            assert requests.post(_crds_url(started), json=each, timeout=PATIENCE).status_code in (201, 409)
        yield started


@contextlib.contextmanager
def crds_installed(server: Server, crds: list[Json]) -> Iterator[None]:
    """Install missing CRDs, and remove them again unless others have objects of them by then."""
    missing = [each for each in crds if not served_there(server, each)]
    for each in missing:
        strict = {"fieldValidation": "Strict"}
        made = requests.post(_crds_url(server), json=each, params=strict, timeout=PATIENCE)
        assert made.status_code == 201, made.text
    for each in crds:  # a kube-apiserver reports Established a moment before it serves
        url = _objects_url(server, each)
        until(functools.partial(_answers, url), f"{url} is served")
    yield
    free = [each for each in missing if not requests.get(_objects_url(server, each), timeout=PATIENCE).json()["items"]]
    for each in free:
        assert requests.delete(_crd_url(server, each), timeout=PATIENCE).ok
    until(lambda: not any(crd_found(server, each) for each in free), "the CRDs are gone")


def _answers(url: str) -> bool:
    return requests.get(url, timeout=PATIENCE).ok


def served_there(server: Server, crd: Json) -> bool:
    """Whether it is installed already; skips the test if it is not in the needed version."""
    found, version = crd_found(server, crd), crd["spec"]["versions"][0]["name"]
    if found and not any(each["name"] == version and each["served"] for each in found["spec"]["versions"]):
        pytest.skip(f"{server.label} has a CRD {crd['metadata']['name']} that does not serve {version}")
    return found is not None


def crd_is_the_same(server: Server, crd: Json) -> bool:
    """Whether replacing the installed CRD by ``crd`` would change nothing. It is a dry run."""
    patch = {"spec": crd["spec"]}
    asked = requests.patch(
        _crd_url(server, crd), json=patch, params={"dryRun": "All"}, headers={"Content-Type": MERGE}, timeout=PATIENCE
    )
    found = crd_found(server, crd)
    return asked.ok and found is not None and asked.json()["metadata"]["generation"] == found["metadata"]["generation"]


def crd_found(server: Server, crd: Json) -> Json | None:
    """The installed CRD of this name."""
    answer = requests.get(_crd_url(server, crd), timeout=PATIENCE)
    assert answer.status_code in (200, 404), answer.text
    return answer.json() if answer.status_code == 200 else None


def _crds_url(server: Server) -> str:
    return f"{server.url}/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def _crd_url(server: Server, crd: Json) -> str:
    return f"{_crds_url(server)}/{crd['metadata']['name']}"


def _objects_url(server: Server, crd: Json, namespace: str = "") -> str:
    spec = crd["spec"]
    where = f"namespaces/{namespace}/" if namespace else ""
    return f"{server.url}/apis/{spec['group']}/{spec['versions'][0]['name']}/{where}{spec['names']['plural']}"


@contextlib.contextmanager
def staged(server: Server, cloud: Cloud, home: Path, folder: Path) -> Iterator[Stage]:
    """A stage in a namespace of its own, whose operators have the rights that are shipped for one namespace.

    The log of the operators there must have no secret and no traceback, and nothing may have been refused to them.
    """
    namespace, logs = f"e2e-{uuid.uuid4().hex[:8]}", Logs()
    kubectl = Kubectl(server, namespace, home)
    kubectl.run("create", "namespace", namespace)
    logging.getLogger("freehold").addHandler(logs)
    rights = shipped_rights(InstallOptions("default", serves_namespace=namespace), f"keys-of-{namespace}")
    with judged(server.url, rights, folder) as (proxy, kubeconfig):
        stage = Stage(server, cloud, kubectl, namespace, folder, logs, kubeconfig)
        try:
            yield stage
        finally:
            logging.getLogger("freehold").removeHandler(logs)
            stage.leave()
            kubectl.run("delete", "namespace", namespace, "--wait=false", "--ignore-not-found")
    clean(logs.text() + (stage.log.read_text() if stage.log.exists() else ""))
    assert proxy.verdicts.refused == []


@dataclass(frozen=True)
class Served:
    """A Ready cluster, and a witness that has seen it become Ready."""

    stage: Stage
    witness: Witness
