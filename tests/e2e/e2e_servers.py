"""The API servers that the suite can run against: embedded, any cluster, or kube-apiserver and etcd."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import requests

from harness.forks import Program

PATIENCE = 240.0
"""Seconds after which a test gives up; none should need a tenth of it, however busy the machine."""

PATIENTLY = f"--timeout={PATIENCE:.0f}s"
"""The same for kubectl when it waits."""


@dataclass(frozen=True)
class Server:
    """A running API server.

    ``kubeconfig`` is what the variable KUBECONFIG takes: a path, or several. ``url`` takes plain HTTP and has the
    credentials in it; ``controllers`` says whether anything tidies up behind it.
    """

    label: str
    kubeconfig: str
    url: str
    controllers: bool

    def environment(self) -> dict[str, str]:
        """The environment with which kubectl uses it. HOME stays: a credential plugin may keep its login there."""
        return {**os.environ, "KUBECONFIG": self.kubeconfig}


def until(wanted: Callable[[], Any], what: str, seconds: float = PATIENCE) -> None:
    """Check repeatedly until it is true."""
    tick, deadline = threading.Event(), time.monotonic() + seconds
    while not wanted():
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what}"
        tick.wait(0.1)


def chosen(arguments: list[str]) -> str:
    """``embedded``, ``kubeconfig`` or ``kube-apiserver``, by the environment.

    A cluster that KUBECONFIG names is used only when this suite is asked for by path: whoever runs all
    tests with a cluster at hand does not expect them to write to it.
    """
    if os.environ.get("KUBEBUILDER_ASSETS"):
        return "kube-apiserver"
    if os.environ.get("KUBECONFIG") and any("e2e" in argument for argument in arguments):
        return "kubeconfig"
    return "embedded"


@contextlib.contextmanager
def running(label: str, folder: Path) -> Iterator[Server]:
    """Start the server of this label (or find it), and end it afterwards if it was started here."""
    with contextlib.ExitStack() as stack:
        if label == "embedded":
            url = stack.enter_context(_embedded(folder))
            yield Server(label, write_kubeconfig(folder / "kubeconfig", url), url, controllers=True)
            return
        if label == "kubeconfig":
            kubeconfig = os.environ["KUBECONFIG"]
        else:
            kubeconfig = stack.enter_context(_kube_apiserver(Path(os.environ["KUBEBUILDER_ASSETS"]), folder))
        server = Server(label, kubeconfig, "", controllers=False)
        url = stack.enter_context(_proxied(server, folder / "proxy.log"))
        yield replace(server, url=url, controllers=_tidies_up(url))


def _tidies_up(url: str) -> bool:
    """Whether a controller manager runs: only it creates this account."""
    asked = requests.get(f"{url}/api/v1/namespaces/default/serviceaccounts/default", timeout=PATIENCE)
    return asked.status_code == 200


def write_kubeconfig(path: Path, url: str, token: str = "", authority: Path | None = None) -> str:
    cluster = {"server": url, **({"certificate-authority": str(authority)} if authority else {})}
    body = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "e2e", "cluster": cluster}],
        "users": [{"name": "e2e", "user": {"token": token} if token else {}}],
        "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": "e2e"}}],
        "current-context": "e2e",
    }
    path.write_text(json.dumps(body))
    return str(path)


@contextlib.contextmanager
def new_namespace(server: Server) -> Iterator[str]:
    """Create a namespace for the length of the block, and yield its name."""
    name = f"e2e-{uuid.uuid4().hex[:8]}"
    url = f"{server.url}/api/v1/namespaces"
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    requests.post(url, json=body, timeout=PATIENCE).raise_for_status()
    yield name
    requests.delete(f"{url}/{name}", timeout=PATIENCE).raise_for_status()


@contextlib.contextmanager
def ended(process: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
    """End a process, gently first, and close its pipes."""
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


@contextlib.contextmanager
def _process(
    command: list[str], log: Path, environment: dict[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    with log.open("w") as errors:
        process = Program(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment)
    with ended(process):
        yield process


@contextlib.contextmanager
def _embedded(folder: Path) -> Iterator[str]:
    script = Path(__file__).with_name("embedded_server.py")
    with _process([sys.executable, str(script), str(folder / "state.db")], folder / "embedded.log") as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url, f"the embedded server did not start: {(folder / 'embedded.log').read_text()}"
        yield url


@contextlib.contextmanager
def _proxied(server: Server, log: Path) -> Iterator[str]:
    """``kubectl proxy`` supports every way to authenticate, so the suite need not."""
    with _process(["kubectl", "proxy", "--port=0"], log, server.environment()) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert "Starting to serve on" in line, f"kubectl proxy did not start: {log.read_text()}"
        yield f"http://{line.split()[-1]}"


def steady_port() -> int:
    """A free port that stays free while nothing listens: below the range from which a kernel assigns ports."""
    while True:
        port = random.randrange(20000, 30000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


@contextlib.contextmanager
def _kube_apiserver(assets: Path, folder: Path) -> Iterator[str]:
    """etcd and kube-apiserver, without a controller manager: nothing deletes namespaces or dependants."""
    for name in ("etcd", "kube-apiserver"):
        if not (assets / name).exists():
            pytest.fail(f"KUBEBUILDER_ASSETS={assets} holds no {name}")
    etcd, peer, api = steady_port(), steady_port(), steady_port()
    key = folder / "service-account.key"
    subprocess.run(["openssl", "genrsa", "-out", str(key), "2048"], check=True, capture_output=True)
    tokens = folder / "tokens.csv"
    tokens.write_text('e2e-token,admin,admin,"system:masters"\n')
    etcd_url = f"http://127.0.0.1:{etcd}"
    etcd_command = [
        str(assets / "etcd"), "--data-dir", str(folder / "etcd"), "--listen-client-urls", etcd_url,
        "--advertise-client-urls", etcd_url, "--listen-peer-urls", f"http://127.0.0.1:{peer}", "--unsafe-no-fsync",
    ]  # fmt: skip
    api_command = [
        str(assets / "kube-apiserver"), "--etcd-servers", etcd_url, "--secure-port", str(api),
        "--bind-address", "127.0.0.1", "--cert-dir", str(folder / "certs"), "--token-auth-file", str(tokens),
        "--authorization-mode", "RBAC", "--service-cluster-ip-range", "10.0.0.0/24",
        "--service-account-issuer", "https://localhost", "--service-account-key-file", str(key),
        "--service-account-signing-key-file", str(key), "--disable-admission-plugins", "ServiceAccount",
    ]  # fmt: skip
    authority = folder / "certs/apiserver.crt"  # it signs for itself
    kubeconfig = write_kubeconfig(folder / "kubeconfig", f"https://127.0.0.1:{api}", "e2e-token", authority)
    log = folder / "kube-apiserver.log"
    with _process(etcd_command, folder / "etcd.log"), _process(api_command, log) as process:
        for what in (["--raw", "/readyz"], ["namespace", "default"]):
            command = ["kubectl", "--kubeconfig", kubeconfig, "get", *what, "--request-timeout=30s"]

            def answers(command: list[str] = command) -> bool:
                assert process.poll() is None, f"kube-apiserver has ended; see {log}"
                return subprocess.run(command, capture_output=True).returncode == 0

            until(answers, f"{' '.join(what)} of kube-apiserver; see {log}")
        yield kubeconfig


def kubectl_missing() -> bool:
    return shutil.which("kubectl") is None
