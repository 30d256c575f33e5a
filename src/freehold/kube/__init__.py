"""Thin Kubernetes client: connection, requests, list + watch. Imports no large library except aiohttp."""

from freehold.kube.client import KubeClient, ObjectList, PatchKind
from freehold.kube.config import Connection
from freehold.kube.resources import Json, Key, Resource, key_of

__all__ = ["Connection", "Json", "Key", "KubeClient", "ObjectList", "PatchKind", "Resource", "key_of"]
