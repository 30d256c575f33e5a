"""The key ring of a cluster: one Secret in the operator's own namespace, read and written by its name only.

The operator needs ``get`` and ``update`` on this one Secret. RBAC cannot limit ``create`` to a name
(https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-resources), so an installation may
make the Secret empty beforehand: an empty one is a place without a ring, which is filled by compare-and-set.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any

from freehold.controllers.keyring.stored_form import (
    ChangedRing,
    RingDocument,
    StoredRing,
    UnreachableRing,
    UnreadableRing,
    dumps,
    loads,
)
from freehold.kube import errors as kube
from freehold.kube.object_client import ObjectClient
from freehold.kube.resources import SECRETS, Json, Key

NAMESPACE = "freehold-system"
"""The namespace of the operator, unless it runs in a pod of another namespace."""

NAME = "freehold-keys"
ENTRY = "ring.json"


class SecretRing:
    """A key ring in a Secret."""

    def __init__(self, client: ObjectClient, namespace: str = NAMESPACE, name: str = NAME) -> None:
        self._client = client
        self._key = Key(namespace, name)

    @property
    def where(self) -> str:
        return f"Secret {self._key}"

    async def read(self) -> StoredRing:
        """Read the Secret. Raises UnreadableRing, UnreachableRing."""
        try:
            found = await self._client.get(SECRETS, self._key)
        except kube.ObjectNotFound:
            return StoredRing(None)
        except kube.KubeError as problem:
            raise self._translate_error(problem, "get") from problem
        text = read_ring_text(found, self.where)
        document = None if text is None else loads(text, self.where)
        return StoredRing(document, str(found["metadata"]["resourceVersion"]))

    async def write(self, document: RingDocument, version: str) -> None:
        """Create the Secret, or replace it at the resourceVersion ``version``. Raises ChangedRing."""
        try:
            if version:
                await self._client.replace(SECRETS, self._build_secret(document, version))
            else:
                await self._client.create(SECRETS, self._build_secret(document, version))
        except (kube.AlreadyExists, kube.Conflict) as problem:
            raise ChangedRing(f"the key ring in {self.where} changed meanwhile; run the command again") from problem
        except kube.ObjectNotFound as problem:
            raise UnreadableRing(self._explain_missing_namespace()) from problem
        except kube.KubeError as problem:
            raise self._translate_error(problem, "update" if version else "create") from problem

    def _build_secret(self, document: RingDocument, version: str) -> Json:
        metadata: dict[str, Any] = {"name": self._key.name, "namespace": self._key.namespace}
        if version:
            metadata["resourceVersion"] = version
        data = {ENTRY: base64.b64encode(dumps(document).encode()).decode()}
        return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": data}

    def _explain_missing_namespace(self) -> str:
        namespace = self._key.namespace
        return (
            f"{self.where} cannot be made: there is no namespace {namespace}; make it "
            f"(kubectl create namespace {namespace}), or name the operator's own"
        )

    def _translate_error(self, problem: kube.KubeError, verb: str) -> UnreadableRing | UnreachableRing:
        if isinstance(problem, kube.Forbidden) and verb == "create":
            return UnreadableRing(
                f"the key ring {self.where} does not exist and may not be made ({problem}); make an empty one: "
                f"kubectl create secret generic {self._key.name} -n {self._key.namespace}"
            )
        if isinstance(problem, kube.TooManyRequests | kube.ServerUnavailable | kube.Unauthorized):
            return UnreachableRing(f"the key ring in {self.where} cannot be reached: {problem}")
        return UnreadableRing(
            f"the key ring in {self.where} cannot be used: {problem}; the operator needs 'get' and 'update' on "
            "this one Secret"
        )


def read_ring_text(secret: Json, where: str) -> str | None:
    """Read the ring's text from a Secret; None if the Secret is empty. Raises UnreadableRing."""
    data, plain = secret.get("data") or {}, secret.get("stringData") or {}
    if ENTRY in plain:
        return str(plain[ENTRY])
    if not data:
        return None
    try:
        return base64.b64decode(data[ENTRY], validate=True).decode()
    except KeyError:
        raise UnreadableRing(f"the key ring in {where} has no entry {ENTRY}; put it back from a backup") from None
    except (binascii.Error, UnicodeDecodeError, TypeError):
        raise UnreadableRing(f"the key ring in {where} is not base64; put it back from a backup") from None
