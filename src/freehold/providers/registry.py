"""The only list of providers. It imports no SDK of a cloud."""

from __future__ import annotations

from collections.abc import Mapping

from freehold.api.served import CLOUD_METADATA, METADATA_GRANT, ServedName
from freehold.kube.resources import Resource
from freehold.providers.aws.provider import AWS
from freehold.providers.base import MirrorKind, ObjectKind, Provider, TagKind
from freehold.providers.ibm.provider import IBM
from freehold.providers.objects.served_resources import resource_of

PROVIDERS: tuple[Provider, ...] = (IBM, AWS)

SERVED: tuple[ServedName, ...] = tuple(kind.served for provider in PROVIDERS for kind in provider.objects)
"""The kinds that are reconciled."""
*_FIRST, _LAST = (provider.title for provider in PROVIDERS)
REAL_CLOUDS = f"{', '.join(_FIRST)} and {_LAST}"
"""For people."""
MIRRORS: tuple[MirrorKind, ...] = tuple(kind for provider in PROVIDERS for kind in provider.mirrors)
"""The kinds that only show what another object has."""
REFERRED_TO: tuple[ServedName, ...] = tuple(served for provider in PROVIDERS for served in provider.referred)
"""The kinds that are only read, if an object of a kind above names one."""
TEMPLATES: tuple[ServedName, ...] = tuple(served for provider in PROVIDERS for served in provider.templates)
"""The kinds of which Cluster API makes objects: data, which nothing here reads."""
METADATA: tuple[ServedName, ...] = (
    CLOUD_METADATA,
    *(provider.tags.served for provider in PROVIDERS if provider.tags),
    METADATA_GRANT,
)
"""The kinds of the metadata controller."""
TAG_KINDS: Mapping[str, TagKind] = {
    provider.name: provider.tags for provider in sorted(PROVIDERS, key=lambda each: each.title) if provider.tags
}
"""The kinds of objects with one provider's tags, by the name of the provider."""

SERVED_RESOURCES: tuple[Resource, ...] = tuple(resource_of(served) for served in SERVED)
MIRROR_RESOURCES: tuple[Resource, ...] = tuple(resource_of(kind.served) for kind in MIRRORS)
READ_RESOURCES: tuple[Resource, ...] = tuple(resource_of(served) for served in REFERRED_TO)
TEMPLATE_RESOURCES: tuple[Resource, ...] = tuple(resource_of(served) for served in TEMPLATES)
METADATA_RESOURCES: tuple[Resource, ...] = tuple(resource_of(served) for served in METADATA)


def served_of(kind: str) -> ServedName:
    """Return the reconciled kind of this name. Raises KeyError."""
    return {each.kind: each for each in SERVED}[kind]


def provider_of(served: ServedName) -> Provider:
    """Return the provider of a reconciled kind. Raises KeyError."""
    return {kind.served: provider for provider in PROVIDERS for kind in provider.objects}[served]


def object_kind_of(served: ServedName) -> ObjectKind:
    """Return all of a reconciled kind. Raises KeyError."""
    return {kind.served: kind for provider in PROVIDERS for kind in provider.objects}[served]
