"""Those who look at the live page: ServiceAccounts with tokens, which may list what Roles give them.

On kube-apiserver these are its own. In front of the embedded server, which knows no users, the judging proxy answers.
"""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from e2e_rights import USER, shipped_rights
from e2e_servers import PATIENCE, Server

from freehold.install.names import VIEWER
from freehold.install.objects import build_rights
from freehold.install.options import InstallOptions
from harness.cluster_users import ClusterUsers
from harness.judging_proxy import JudgingProxy
from harness.rbac import Right

Json = dict[str, Any]

_RBAC = "rbac.authorization.k8s.io"
_ADMIN = (Right("cluster-admin", "", "*", "*", "*"),)


@dataclass
class Lookers:
    """Lookers of one server. ``proxy`` gives the operator its shipped rights and no others."""

    server: Server
    proxy: JudgingProxy
    users: ClusterUsers
    admin: str
    everywhere: list[str] = field(default_factory=list)
    """The paths of the bindings that are in no namespace."""

    def admit(self, name: str, namespace: str, *, everywhere: bool = False) -> str:
        """Make an account that may look at its namespace, or everywhere; return its token."""
        token = self.make_account(name, namespace)
        if everywhere:
            self.bind(name, namespace, everywhere=True)
        else:
            self.bind(name, namespace)
        return token

    def make_account(self, name: str, namespace: str) -> str:
        """Make an account without rights, and return a token of it."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts"
        self._post(path, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}})
        return self.issue(name, namespace)

    def issue(self, name: str, namespace: str, *audiences: str) -> str:
        """Issue a token of an account."""
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": audiences}}
        found = self._post(f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token", body)
        return str(found["status"]["token"])

    def bind(self, name: str, namespace: str, *, place: str = "", everywhere: bool = False) -> None:
        """Bind the role of viewers to an account: in a namespace, its own by default, or everywhere."""
        kind, folder = (
            ("ClusterRoleBinding", "") if everywhere else ("RoleBinding", f"namespaces/{place or namespace}/")
        )
        body = {
            "apiVersion": f"{_RBAC}/v1",
            "kind": kind,
            "metadata": {"name": f"{namespace}-{name}"},
            "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": VIEWER},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
        }
        path = f"/apis/{_RBAC}/v1/{folder}{kind.lower()}s"
        self._post(path, body)
        if everywhere:
            self.everywhere.append(f"{path}/{namespace}-{name}")

    def unbind(self, name: str, namespace: str) -> None:
        """Take the right to look at its namespace from an account."""
        self._delete(f"/apis/{_RBAC}/v1/namespaces/{namespace}/rolebindings/{namespace}-{name}")

    def delete_account(self, name: str, namespace: str) -> None:
        """Delete an account, and with it its tokens."""
        self._delete(f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}")

    def make_stale(self, token: str) -> str:
        """Return a token like this one whose time is over."""
        if self.server.label == "embedded":
            self.users.expire(token)
            return token
        head, claims, _ = token.split(".")
        said = {**json.loads(_decode(claims)), "iat": 1_600_000_000, "nbf": 1_600_000_000, "exp": 1_600_003_600}
        signed = f"{head}.{_encode(json.dumps(said).encode())}"
        key = load_pem_private_key((Path(self.server.kubeconfig).parent / "service-account.key").read_bytes(), None)
        assert isinstance(key, RSAPrivateKey)
        return f"{signed}.{_encode(key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256()))}"

    def _post(self, path: str, body: Json) -> Json:
        answer = requests.post(f"{self.admin}{path}", json=body, timeout=PATIENCE)
        assert answer.status_code == 201, answer.text
        found: Json = answer.json()
        return found

    def _delete(self, path: str) -> None:
        requests.delete(f"{self.admin}{path}", timeout=PATIENCE).raise_for_status()


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


@contextlib.contextmanager
def looking(server: Server, options: InstallOptions) -> Iterator[Lookers]:
    """Let accounts look, for the length of the block. The role of viewers is on the server meanwhile."""
    users = ClusterUsers()
    own = users if server.label == "embedded" else None
    with (
        JudgingProxy(server.url, shipped_rights(options), USER, own).running() as proxy,
        JudgingProxy(server.url, _ADMIN, "admin", own).running() as admin,
    ):
        role = next(each for each in build_rights(options) if each["metadata"]["name"] == VIEWER)
        roles = f"{server.url}/apis/{_RBAC}/v1/clusterroles"
        answer = requests.post(roles, json=role, timeout=PATIENCE)
        assert answer.status_code == 201, answer.text
        try:
            found = Lookers(server, proxy, users, admin.url)
            yield found
            for path in found.everywhere:
                requests.delete(f"{server.url}{path}", timeout=PATIENCE).raise_for_status()
        finally:
            requests.delete(f"{roles}/{VIEWER}", timeout=PATIENCE).raise_for_status()
