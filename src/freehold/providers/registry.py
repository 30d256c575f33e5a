"""The only list of providers. It imports no SDK of a cloud."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from freehold.api.served import CLOUD_METADATA, METADATA_GRANT, ServedName
from freehold.kube.resources import Resource
from freehold.providers.aws.provider import AWS
from freehold.providers.base import MirrorKind, ObjectKind, Provider, TagKind
from freehold.providers.ibm.provider import IBM
from freehold.providers.objects.served_resources import resource_of

PROVIDERS: tuple[Provider, ...] = (IBM, AWS)


@dataclass(frozen=True)
class Kinds:
    """The kinds of some providers."""

    providers: tuple[Provider, ...]

    @property
    def served(self) -> tuple[ServedName, ...]:
        """The kinds that are reconciled."""
        return tuple(kind.served for provider in self.providers for kind in provider.objects)

    @property
    def resources(self) -> tuple[Resource, ...]:
        """The resources of :attr:`served`."""
        return tuple(resource_of(served) for served in self.served)

    @property
    def mirrors(self) -> tuple[MirrorKind, ...]:
        """The kinds that only show what another object has."""
        return tuple(kind for provider in self.providers for kind in provider.mirrors)

    @property
    def referred_to(self) -> tuple[ServedName, ...]:
        """The kinds that are only read, if an object of a kind above names one."""
        return tuple(served for provider in self.providers for served in provider.referred)

    @property
    def templates(self) -> tuple[ServedName, ...]:
        """The kinds of which Cluster API makes objects: data, which nothing here reads."""
        return tuple(served for provider in self.providers for served in provider.templates)

    @property
    def metadata(self) -> tuple[ServedName, ...]:
        """The kinds of the metadata controller."""
        tags = (provider.tags.served for provider in self.providers if provider.tags)
        return (CLOUD_METADATA, *tags, METADATA_GRANT)

    @property
    def tags(self) -> Mapping[str, TagKind]:
        """The kinds of objects with one provider's tags, by the name of the provider."""
        ordered = sorted(self.providers, key=lambda each: each.title)
        return {provider.name: provider.tags for provider in ordered if provider.tags}


EVERYTHING = Kinds(PROVIDERS)
SERVED: tuple[ServedName, ...] = EVERYTHING.served
*_FIRST, _LAST = (provider.title for provider in PROVIDERS)
REAL_CLOUDS = f"{', '.join(_FIRST)} and {_LAST}"
"""For people."""
MIRRORS: tuple[MirrorKind, ...] = EVERYTHING.mirrors
REFERRED_TO: tuple[ServedName, ...] = EVERYTHING.referred_to
TEMPLATES: tuple[ServedName, ...] = EVERYTHING.templates
METADATA: tuple[ServedName, ...] = EVERYTHING.metadata
TAG_KINDS: Mapping[str, TagKind] = EVERYTHING.tags

SERVED_RESOURCES: tuple[Resource, ...] = EVERYTHING.resources
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
