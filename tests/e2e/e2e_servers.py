"""The API servers that the suite can run against: embedded, any cluster, or kube-apiserver and etcd."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

START_SECONDS = 60.0


@dataclass(frozen=True)
class Server:
    """A running API server. ``url`` takes plain HTTP; ``controllers`` says whether anything tidies up behind it."""

    label: str
    kubeconfig: Path
    url: str
    controllers: bool


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
    """Start the server of this label (or find it) and end afterwards what was started."""
    with contextlib.ExitStack() as stack:
        if label == "embedded":
            url = stack.enter_context(_embedded(folder))
            yield Server(label, write_kubeconfig(folder / "kubeconfig", url), url, controllers=True)
            return
        if label == "kubeconfig":
            kubeconfig = Path(os.environ["KUBECONFIG"])
        else:
            kubeconfig = stack.enter_context(_kube_apiserver(Path(os.environ["KUBEBUILDER_ASSETS"]), folder))
        url = stack.enter_context(_proxied(kubeconfig))
        yield Server(label, kubeconfig, url, controllers=label == "kubeconfig")


def write_kubeconfig(path: Path, url: str, token: str = "") -> Path:
    cluster = {"server": url, **({"insecure-skip-tls-verify": True} if token else {})}
    body = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "e2e", "cluster": cluster}],
        "users": [{"name": "e2e", "user": {"token": token} if token else {}}],
        "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": "e2e"}}],
        "current-context": "e2e",
    }
    path.write_text(json.dumps(body))
    return path


@contextlib.contextmanager
def _process(command: list[str], log: Path) -> Iterator[subprocess.Popen[str]]:
    with log.open("w") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdout:
                process.stdout.close()


@contextlib.contextmanager
def _embedded(folder: Path) -> Iterator[str]:
    script = Path(__file__).with_name("embedded_server.py")
    with _process([sys.executable, str(script), str(folder / "state.db")], folder / "embedded.log") as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url, f"the embedded server did not start: {(folder / 'embedded.log').read_text()}"
        yield url


@contextlib.contextmanager
def _proxied(kubeconfig: Path) -> Iterator[str]:
    """``kubectl proxy`` knows how to authenticate, so the suite need not."""
    command = ["kubectl", "--kubeconfig", str(kubeconfig), "proxy", "--port=0"]
    with _process(command, kubeconfig.with_suffix(".proxy.log")) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert "Starting to serve on" in line, "kubectl proxy did not start"
        yield f"http://{line.split()[-1]}"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def _kube_apiserver(assets: Path, folder: Path) -> Iterator[Path]:
    """etcd and kube-apiserver, without a controller manager: nothing deletes namespaces or dependants."""
    for name in ("etcd", "kube-apiserver"):
        if not (assets / name).exists():
            pytest.fail(f"KUBEBUILDER_ASSETS={assets} holds no {name}")
    etcd, peer, api = _free_port(), _free_port(), _free_port()
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
    kubeconfig = write_kubeconfig(folder / "kubeconfig", f"https://127.0.0.1:{api}", "e2e-token")
    with _process(etcd_command, folder / "etcd.log"), _process(api_command, folder / "kube-apiserver.log"):
        _await_ready(kubeconfig, folder / "kube-apiserver.log")
        yield kubeconfig


def _await_ready(kubeconfig: Path, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    command = ["kubectl", "--kubeconfig", str(kubeconfig), "get", "--raw", "/readyz", "--request-timeout=5s"]
    while subprocess.run(command, capture_output=True).returncode:
        assert time.monotonic() < deadline, f"kube-apiserver did not become ready; see {log}"
    probe = ["kubectl", "--kubeconfig", str(kubeconfig), "get", "namespace", "default", "--request-timeout=5s"]
    while subprocess.run(probe, capture_output=True).returncode:
        assert time.monotonic() < deadline, f"kube-apiserver made no default namespace; see {log}"


def kubectl_missing() -> bool:
    return shutil.which("kubectl") is None
