"""Configuration of the connection: from kubeconfig files, or from the service account files of a pod.

https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/ describes
the merge rules: the first file that sets a value, or defines a named entry, wins.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from freehold.kube import auth
from freehold.kube.errors import ConfigError
from freehold.kube.resources import Json
from freehold.kube.tls import TlsSettings

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True)
class Connection:
    """The connection settings of one API server. ``namespace`` is the default of the context."""

    server: str
    credentials: auth.CredentialSource = field(default_factory=lambda: auth.StaticCredential(auth.Credential()))
    tls: TlsSettings = field(default_factory=TlsSettings)
    proxy: str | None = None
    namespace: str = "default"


def load(env: Mapping[str, str] = os.environ, context: str = "", kubeconfig: str = "") -> Connection:
    """Load the connection in kubectl's order: ``kubeconfig``, KUBECONFIG, the pod's files, ~/.kube/config.

    Raises ConfigError naming the file and what is missing in it.
    """
    given = kubeconfig or env.get("KUBECONFIG", "")
    if _is_in_pod(given, env, SERVICE_ACCOUNT):
        return load_in_cluster(env)
    paths = [Path(each).expanduser() for each in given.split(os.pathsep) if each]
    return load_files(paths or [Path(env.get("HOME", "~")).expanduser() / ".kube" / "config"], context, env)


def read_pod_namespace(
    kubeconfig: str = "", env: Mapping[str, str] = os.environ, account: Path = SERVICE_ACCOUNT
) -> str:
    """Read the namespace of this pod; empty outside a pod, or if a kubeconfig is given."""
    given = kubeconfig or env.get("KUBECONFIG", "")
    return load_in_cluster(env, account).namespace if _is_in_pod(given, env, account) else ""


def _is_in_pod(given: str, env: Mapping[str, str], account: Path) -> bool:
    return not given and bool(env.get("KUBERNETES_SERVICE_HOST")) and account.is_dir()


def load_in_cluster(env: Mapping[str, str] = os.environ, account: Path = SERVICE_ACCOUNT) -> Connection:
    """Load the connection of this pod to its cluster. Raises ConfigError outside a pod."""
    host, port = env.get("KUBERNETES_SERVICE_HOST", ""), env.get("KUBERNETES_SERVICE_PORT", "443")
    token, namespace = account / "token", account / "namespace"
    if not host or not token.exists():
        raise ConfigError(f"not inside a cluster: KUBERNETES_SERVICE_HOST or {token} is missing; specify a kubeconfig")
    return Connection(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        credentials=auth.build_file_credential(token),
        tls=TlsSettings(ca_file=account / "ca.crt"),
        namespace=namespace.read_text().strip() if namespace.exists() else "default",
    )


def load_files(paths: list[Path], context: str = "", env: Mapping[str, str] = os.environ) -> Connection:
    """Load the ``context`` (else the current one) of these kubeconfig files, merged. Missing files are skipped."""
    merged = _merge(paths)
    shown = os.pathsep.join(str(path) for path in paths)
    name = context or merged.current
    if not name:
        raise ConfigError(f"no kubeconfig with a current-context at {shown}; set KUBECONFIG or specify a context")
    chosen = _find_entry(merged.contexts, name, "context", shown)
    cluster = _find_entry(merged.clusters, str(chosen.get("cluster") or ""), "cluster", shown)
    user_name = str(chosen.get("user") or "")
    user = _find_entry(merged.users, user_name, "user", shown) if user_name else {}
    server = str(cluster.get("server") or "")
    if urlsplit(server).scheme not in ("http", "https"):
        raise ConfigError(f"{shown}: the cluster of context {name!r} has no http(s) server URL")
    return Connection(
        server=_remove_credentials(server),
        credentials=_build_credentials(user, cluster, f"{shown}: user {user_name!r}"),
        tls=_build_tls(cluster, user),
        proxy=str(cluster.get("proxy-url") or "") or find_proxy(server, env),
        namespace=str(chosen.get("namespace") or "default"),
    )


def find_proxy(server: str, env: Mapping[str, str]) -> str | None:
    """Find the proxy in the environment; it is resolved once (not per request, see ``client``)."""
    parts = urlsplit(server)
    host = (parts.hostname or "").lower()
    for entry in _read_either_case(env, "NO_PROXY").split(","):
        excluded = entry.strip().lower().lstrip(".")
        if excluded and (
            excluded == "*" or host == excluded or host.endswith(f".{excluded}") or _is_inside(host, excluded)
        ):
            return None
    if host in ("localhost", "::1") or host.startswith("127."):
        return None
    return _read_either_case(env, f"{parts.scheme.upper()}_PROXY") or None


def _is_inside(host: str, network: str) -> bool:
    """Return whether ``host`` is an address within the CIDR ``network``."""
    try:
        return "/" in network and ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False


def _read_either_case(env: Mapping[str, str], name: str) -> str:
    return env.get(name) or env.get(name.lower()) or ""


@dataclass
class _MergedFiles:
    current: str = ""
    clusters: dict[str, Json] = field(default_factory=dict)
    users: dict[str, Json] = field(default_factory=dict)
    contexts: dict[str, Json] = field(default_factory=dict)


def _merge(paths: list[Path]) -> _MergedFiles:
    merged = _MergedFiles()
    for path in paths:
        if not path.exists():
            continue
        content = _parse(path)
        merged.current = merged.current or str(content.get("current-context") or "")
        for plural, singular, into in (
            ("clusters", "cluster", merged.clusters),
            ("users", "user", merged.users),
            ("contexts", "context", merged.contexts),
        ):
            for entry in content.get(plural) or []:
                body = entry.get(singular) if isinstance(entry, dict) else None
                if not isinstance(body, dict) or not entry.get("name"):
                    if isinstance(entry, dict) and entry.get("name") and body is None:
                        body = {}
                    else:
                        raise ConfigError(f"{path}: an entry of {plural!r} lacks its name or its {singular!r}")
                into.setdefault(str(entry["name"]), _make_absolute(body, path.parent))
    return merged


def _parse(path: Path) -> Json:
    import yaml  # imported here because only a kubeconfig needs it

    try:
        content = yaml.safe_load(path.read_text())
    except OSError as problem:
        raise ConfigError(f"the kubeconfig {path} cannot be read: {problem.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError):
        raise ConfigError(f"the kubeconfig {path} is not valid YAML") from None
    if content is not None and not isinstance(content, dict):
        raise ConfigError(f"the kubeconfig {path} is not a mapping")
    return content or {}


_PATHS = ("certificate-authority", "client-certificate", "client-key", "tokenFile")


def _make_absolute(body: Json, folder: Path) -> Json:
    """Make paths, and an exec command with a slash, absolute: they are relative to the file that contains them."""
    found = dict(body)
    for name in _PATHS:
        if found.get(name):
            found[name] = str(folder.absolute() / str(found[name]))
    plugin = found.get("exec")
    if isinstance(plugin, dict) and "/" in str(plugin.get("command") or ""):
        found["exec"] = {**plugin, "command": str(folder.absolute() / str(plugin["command"]))}
    return found


def _find_entry(entries: Mapping[str, Json], name: str, what: str, where: str) -> Json:
    if name not in entries:
        known = ", ".join(sorted(entries)) or "none"
        raise ConfigError(f"{where}: there is no {what} {name!r}; known: {known}")
    return entries[name]


def _build_tls(cluster: Json, user: Json) -> TlsSettings:
    return TlsSettings(
        ca_data=_read_data(cluster, "certificate-authority-data"),
        ca_file=_read_path(cluster, "certificate-authority"),
        cert_data=_read_data(user, "client-certificate-data"),
        cert_file=_read_path(user, "client-certificate"),
        key_data=_read_data(user, "client-key-data"),
        key_file=_read_path(user, "client-key"),
        insecure=cluster.get("insecure-skip-tls-verify") is True,
        server_name=str(cluster.get("tls-server-name") or ""),
    )


def _read_path(body: Json, name: str) -> Path | None:
    return Path(str(body[name])) if body.get(name) and not body.get(f"{name}-data") else None


def _read_data(body: Json, name: str) -> bytes | None:
    if not body.get(name):
        return None
    try:
        return base64.b64decode(str(body[name]), validate=True)
    except binascii.Error:
        raise ConfigError(f"the kubeconfig's {name} is not base64") from None


def _build_credentials(user: Json, cluster: Json, where: str) -> auth.CredentialSource:
    if user.get("auth-provider"):
        name = (user["auth-provider"] or {}).get("name", "")
        raise ConfigError(
            f"{where} uses the auth-provider {name!r}, which Kubernetes removed in 1.26; "
            "use the provider's exec plugin (for example gke-gcloud-auth-plugin or kubelogin)"
        )
    if user.get("exec"):
        return auth.build_plugin_credential(_build_plugin(user["exec"], cluster, where))
    if user.get("tokenFile"):
        return auth.build_file_credential(Path(str(user["tokenFile"])))
    if user.get("token"):
        return auth.StaticCredential(auth.build_bearer(str(user["token"]).strip()))
    if user.get("username"):
        return auth.StaticCredential(auth.build_basic(str(user["username"]), str(user.get("password") or "")))
    parts = urlsplit(str(cluster.get("server") or ""))
    if parts.username or parts.password:  # as in Go's HTTP client, if there are no other credentials
        return auth.StaticCredential(auth.build_basic(unquote(parts.username or ""), unquote(parts.password or "")))
    return auth.StaticCredential(auth.Credential())


def _remove_credentials(server: str) -> str:
    parts = urlsplit(server)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _build_plugin(given: Any, cluster: Json, where: str) -> auth.ExecPlugin:
    version = str(given.get("apiVersion") or "")
    if version not in auth.EXEC_VERSIONS:
        raise ConfigError(f"{where}: exec apiVersion {version!r} is not supported; use one of {auth.EXEC_VERSIONS}")
    if not given.get("command"):
        raise ConfigError(f"{where}: exec has no command")
    if given.get("interactiveMode") == "Always":
        raise ConfigError(
            f"{where}: the exec plugin requires a terminal (interactiveMode: Always); log in with kubectl first"
        )
    return auth.ExecPlugin(
        command=str(given["command"]),
        args=tuple(str(each) for each in given.get("args") or ()),
        env={str(each["name"]): str(each["value"]) for each in given.get("env") or ()},
        api_version=version,
        install_hint=str(given.get("installHint") or ""),
        cluster=_build_cluster_info(cluster) if given.get("provideClusterInfo") is True else None,
    )


def _build_cluster_info(cluster: Json) -> dict[str, object]:
    """Build the cluster information for ``provideClusterInfo``, with the CA always as data."""
    names = ("server", "tls-server-name", "insecure-skip-tls-verify", "certificate-authority-data", "proxy-url")
    info: dict[str, object] = {name: cluster[name] for name in names if cluster.get(name)}
    authority = _read_path(cluster, "certificate-authority")
    if authority:
        try:
            info["certificate-authority-data"] = base64.b64encode(authority.read_bytes()).decode()
        except OSError as problem:
            raise ConfigError(f"the certificate authority {authority} cannot be read: {problem.strerror}") from None
    for extension in cluster.get("extensions") or ():
        if extension.get("name") == "client.authentication.k8s.io/exec":
            info["config"] = extension.get("extension")
    return info
