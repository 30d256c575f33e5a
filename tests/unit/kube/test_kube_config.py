"""Kubeconfig files as they are in use."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from freehold.kube import auth, config
from freehold.kube.errors import ConfigError


def write(path: Path, **parts: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", **parts}))
    return path


def one(path: Path, cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None) -> Path:
    return write(
        path,
        **{"current-context": "c"},
        contexts=[{"name": "c", "context": {"cluster": "k", "user": "u", "namespace": "team"}}],
        clusters=[{"name": "k", "cluster": {"server": "https://k.example:6443", **(cluster or {})}}],
        users=[{"name": "u", "user": user or {}}],
    )


async def authorization(connection: config.Connection) -> str:
    return (await connection.credentials.get()).authorization


async def test_files_are_merged_first_wins(tmp_path: Path) -> None:
    first = write(
        tmp_path / "a" / "config",
        contexts=[{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        users=[{"name": "u", "user": {"tokenFile": "token"}}],
    )
    (tmp_path / "a" / "token").write_text("from-a")
    second = one(tmp_path / "b", user={"token": "from-b"})
    env = {"KUBECONFIG": os.pathsep.join((str(first), str(tmp_path / "missing"), str(second)))}
    found = config.load(env)
    assert found.server == "https://k.example:6443"
    assert found.namespace == "default"
    assert await authorization(found) == "Bearer from-a", "relative to the file that names it"


async def test_users_credentials(tmp_path: Path) -> None:
    path = tmp_path / "config"
    assert await authorization(config.load_files([one(path, user={"token": " t \n"})])) == "Bearer t"
    basic = {"username": "me", "password": "pw"}
    assert await authorization(config.load_files([one(path, user=basic)])) == auth.build_basic("me", "pw").authorization
    assert await authorization(config.load_files([one(path)])) == ""


def test_cluster_settings(tmp_path: Path) -> None:
    data = base64.b64encode(b"PEM").decode()
    given = {
        "certificate-authority-data": data, "certificate-authority": "ignored.pem", "tls-server-name": "inner",
        "insecure-skip-tls-verify": True, "proxy-url": "http://proxy:3128",
    }  # fmt: skip
    user = {"client-certificate": "me.pem", "client-key-data": data}
    found = config.load_files([one(tmp_path / "config", given, user)], env={"HTTPS_PROXY": "http://other:1"})
    assert found.namespace == "team"
    assert found.proxy == "http://proxy:3128"
    assert (found.tls.ca_data, found.tls.ca_file) == (b"PEM", None), "data wins over the file"
    assert (found.tls.server_name, found.tls.insecure) == ("inner", True)
    assert (found.tls.cert_file, found.tls.key_data) == (tmp_path / "me.pem", b"PEM")


@pytest.mark.parametrize(
    ("server", "env", "expected"),
    [
        ("https://k.example", {"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
        ("https://k.example", {"https_proxy": "http://p:1"}, "http://p:1"),
        ("https://k.example", {"HTTP_PROXY": "http://p:1"}, None),
        ("https://k.example", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "x, .example"}, None),
        ("https://k.example", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "*"}, None),
        ("https://k.example", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "10.0.0.0/8"}, "http://p:1"),
        ("https://10.1.2.3", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "10.0.0.0/8"}, None),
        ("http://127.0.0.1:80", {"HTTP_PROXY": "http://p:1"}, None),
        ("http://localhost:80", {"HTTP_PROXY": "http://p:1"}, None),
    ],
)
def test_proxy_from_the_environment(server: str, env: dict[str, str], expected: str | None) -> None:
    assert config.find_proxy(server, env) == expected


EXEC = {"apiVersion": auth.EXEC_VERSIONS[0], "command": "bin/login"}


@pytest.mark.parametrize(
    ("user", "said"),
    [
        ({"auth-provider": {"name": "gcp", "config": {"access-token": "s3cret"}}}, "auth-provider 'gcp'.*exec plugin"),
        ({"exec": {**EXEC, "apiVersion": "client.authentication.k8s.io/v1alpha1"}}, "v1alpha1.*not supported"),
        ({"exec": {**EXEC, "interactiveMode": "Always"}}, "requires a terminal"),
        ({"exec": {"apiVersion": auth.EXEC_VERSIONS[0]}}, "no command"),
        ({"client-key-data": "s3cret!!"}, "client-key-data is not base64"),
    ],
    ids=["auth-provider", "v1alpha1", "interactive", "no command", "not base64"],
)
def test_errors_contain_no_secrets(user: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        config.load_files([one(tmp_path / "config", user=user)])
    assert "s3cret" not in str(caught.value)


async def test_exec_command_with_a_slash_is_relative_to_its_file(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "login"
    script.write_text(
        '#!/bin/sh\necho "{\\"apiVersion\\":\\"client.authentication.k8s.io/v1\\",\\"kind\\":\\"ExecCredential\\",'
        '\\"status\\":{\\"token\\":\\"$WHO-$1\\"}}"\n'
    )
    script.chmod(0o755)
    user = {"exec": {**EXEC, "args": ["now"], "env": [{"name": "WHO", "value": "me"}]}}
    assert await authorization(config.load_files([one(tmp_path / "config", user=user)])) == "Bearer me-now"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [", "not valid YAML"),
        ("- a", "not a mapping"),
        ("clusters: [{cluster: {server: x}}]", "lacks its name"),
        ("current-context: x", "no context 'x'"),
        ("", "current-context"),
    ],
)
def test_broken_files_are_named(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(ConfigError, match=said) as caught:
        config.load_files([path])
    assert str(path) in str(caught.value)


def test_the_error_for_a_missing_kubeconfig_tells_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="set KUBECONFIG"):
        config.load({"HOME": str(tmp_path)})


async def test_in_cluster(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("pod-token\n")
    (tmp_path / "namespace").write_text("freehold-system")
    env = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    found = config.load_in_cluster(env, tmp_path)
    assert found.server == "https://[fd00::1]:443"
    assert found.namespace == "freehold-system"
    assert await authorization(found) == "Bearer pod-token"
    with pytest.raises(ConfigError, match="not inside a cluster"):
        config.load_in_cluster({}, tmp_path)
    assert found.tls.ca_file == tmp_path / "ca.crt", "the cluster's own authority, not the system's"


@pytest.mark.parametrize("given", [False, "true", None])
def test_a_server_is_checked_unless_the_kubeconfig_says_otherwise(tmp_path: Path, given: object) -> None:
    """Only ``true`` switches the check off, as in kubectl."""
    found = config.load_files([one(tmp_path / "config", {"insecure-skip-tls-verify": given})])
    assert not found.tls.insecure


def test_the_pods_own_namespace_is_known_only_in_a_pod_that_uses_its_own_cluster(tmp_path: Path) -> None:
    """The operator's Secret is in that namespace; it means nothing for a kubeconfig of another cluster."""
    (tmp_path / "token").write_text("t")
    (tmp_path / "namespace").write_text("operators\n")
    pod = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}
    assert config.read_pod_namespace("", pod, tmp_path) == "operators"
    assert config.read_pod_namespace("file", pod, tmp_path) == ""
    assert config.read_pod_namespace("", {**pod, "KUBECONFIG": "file"}, tmp_path) == ""
    assert config.read_pod_namespace("", {}, tmp_path) == ""
