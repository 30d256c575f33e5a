"""Names and URL paths of resources and objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import quote

Json = dict[str, Any]
"""A Kubernetes object, or another JSON object, as received."""


class Key(NamedTuple):
    """The key of an object of a resource; ``namespace`` is empty for a cluster-scoped one."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def key_of(obj: Json) -> Key:
    """Return the key of an object. Raises KeyError when it has no name."""
    meta = obj["metadata"]
    return Key(meta.get("namespace") or "", meta["name"])


@dataclass(frozen=True, slots=True)
class Resource:
    """One served resource. ``group`` is empty for the core group."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def build_collection_path(self, namespace: str = "") -> str:
        """Build the path of the collection, in all namespaces or in one."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        if namespace and self.namespaced:
            return f"{root}/namespaces/{quote(namespace, safe='')}/{self.plural}"
        return f"{root}/{self.plural}"

    def build_object_path(self, key: Key, subresource: str = "") -> str:
        """Build the path of one object, or of a subresource such as ``status``.

        Raises ValueError for a namespaced object without a namespace.
        """
        if self.namespaced and not key.namespace:
            raise ValueError(f"{self} {key.name!r} needs a namespace")
        path = f"{self.build_collection_path(key.namespace)}/{quote(key.name, safe='')}"
        return f"{path}/{subresource}" if subresource else path


EVENTS = Resource("", "v1", "events", "Event")
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
SECRETS = Resource("", "v1", "secrets", "Secret")
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
CUSTOM_RESOURCE_DEFINITIONS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
TOKEN_REVIEWS = Resource("authentication.k8s.io", "v1", "tokenreviews", "TokenReview", namespaced=False)
ACCESS_REVIEWS = Resource("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False)
