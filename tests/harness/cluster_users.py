"""Users of a cluster whose server knows none: tokens of its ServiceAccounts, and reviews by its stored Roles.

The answers are those of kube-apiserver (docs/reference/kubernetes.md#reviews), but for the text of an error.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from harness.rbac import Attributes, User, collect_rights_of, find_right, name_account

Json = dict[str, Any]
Read = Callable[[str], Awaitable[Json | None]]
"""Reads a path of the server; None where there is nothing."""

TOKEN_REQUEST = re.compile(r"/api/v1/namespaces/([^/]+)/serviceaccounts/([^/]+)/token")
TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_KINDS = {
    "roles": "Role", "rolebindings": "RoleBinding", "clusterroles": "ClusterRole",
    "clusterrolebindings": "ClusterRoleBinding",
}  # fmt: skip


@dataclass(frozen=True)
class _Token:
    """A token that was issued: of which account, and until when it is good."""

    namespace: str
    account: str
    uid: str
    until: float

    @property
    def path(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/serviceaccounts/{self.account}"


class ClusterUsers:
    """Issues tokens and answers reviews in front of a server that does neither."""

    def __init__(self) -> None:
        self._tokens: dict[str, _Token] = {}

    def expire(self, token: str) -> None:
        """Let the time of a token be over."""
        found = self._tokens[token]
        self._tokens[token] = _Token(found.namespace, found.account, found.uid, 0.0)

    async def answer(self, path: str, body: Json, read: Read) -> Json | None:
        """Answer a POST; None if it is none of these."""
        if requested := TOKEN_REQUEST.fullmatch(path):
            return {**body, "status": await self._issue(*requested.groups(), read=read)}
        if path == TOKEN_REVIEWS:
            return {**body, "status": await self._review_token(body["spec"]["token"], read)}
        if path == ACCESS_REVIEWS:
            return {**body, "status": {"allowed": await self._allows(body["spec"], read)}}
        return None

    async def _issue(self, namespace: str, account: str, *, read: Read) -> Json:
        stored = await read(_Token(namespace, account, "", 0.0).path)
        assert stored is not None, f"there is no account {namespace}/{account}"
        token = secrets.token_urlsafe(32)
        self._tokens[token] = _Token(namespace, account, stored["metadata"]["uid"], time.time() + 3600.0)
        return {"token": token}

    async def _review_token(self, token: str, read: Read) -> Json:
        found = self._tokens.get(token)
        if found is None or found.until < time.time():
            return {"user": {}, "error": "invalid bearer token"}
        stored = await read(found.path)
        if stored is None or stored["metadata"]["uid"] != found.uid:
            return {"user": {}, "error": "the account is not found"}
        user = name_account(found.account, found.namespace)
        said = {"username": user.name, "uid": found.uid, "groups": list(user.groups)}
        return {"authenticated": True, "user": said, "audiences": ["https://localhost"]}

    async def _allows(self, spec: Json, read: Read) -> bool:
        names = ("verb", "group", "resource", "subresource", "namespace", "name")
        asked = Attributes(**{name: spec["resourceAttributes"].get(name, "") for name in names})
        user = User(spec.get("user", ""), tuple(spec.get("groups") or ()))
        stored = [
            {**each, "kind": kind}
            for plural, kind in _KINDS.items()
            for each in (await read(f"{_RBAC}/{plural}") or {}).get("items", ())
        ]
        return find_right(collect_rights_of(stored, user), asked) is not None
