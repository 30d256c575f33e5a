"""Refusal to serve beside another provider of the same kinds."""

from __future__ import annotations

from freehold.api import names
from freehold.kube import errors as kube
from freehold.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, Key
from freehold.providers.base import ObjectReader
from freehold.providers.registry import PROVIDERS, Kinds


class ConflictingProvider(Exception):
    """Another provider that serves the same kinds is installed: two controllers must not share an object.

    Source: docs/reference/capi-contract.md C2.
    """


async def refuse_peers(client: ObjectReader, kinds: Kinds) -> None:
    """Refuse to start beside another provider of the same kinds, or where RBAC hides whether there is one."""
    mirrors = (kind.served for kind in kinds.mirrors)
    for served in (*kinds.served, *mirrors, *kinds.templates, *kinds.referred_to, *kinds.metadata):
        await _refuse_peer_of(client, served.crd)


async def _refuse_peer_of(client: ObjectReader, crd: str) -> None:
    try:
        found = await client.get(CUSTOM_RESOURCE_DEFINITIONS, Key("", crd))
    except kube.ObjectNotFound as error:
        raise kube.ConfigError(f"the API server does not serve {crd}: apply deploy/crds first") from error
    except kube.Forbidden as error:
        raise kube.ConfigError(
            f"{error}: whether another provider serves these objects must be known; "
            "grant 'get' on customresourcedefinitions, also to an operator of one namespace"
        ) from error
    label = (found["metadata"].get("labels") or {}).get(names.PROVIDER_LABEL)
    if label in {provider.upstream for provider in PROVIDERS if provider.upstream}:
        raise ConflictingProvider(
            f"CRD {crd} belongs to provider {label}: two controllers must not serve one object. Uninstall it first"
        )
