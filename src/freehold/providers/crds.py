"""CRDs of all providers' kinds, of the metadata controller's, and of the kinds that are only stored."""

from __future__ import annotations

from typing import Any

from freehold.api import crd
from freehold.api.metadata_kinds import METADATA_GRANTS, cloud_metadata
from freehold.api.placeholders import CLUSTER_API, Placeholder
from freehold.api.served_kind import Column, ServedKind
from freehold.providers.registry import PROVIDERS

_REFERENCES = [
    Column(
        each.name.upper(), f".spec.cloudprovider.{each.name}ref.name", f"The {each.tags.served.kind} that it refers to"
    )
    for each in sorted(PROVIDERS, key=lambda provider: provider.name)
    if each.tags
]

SERVED: tuple[ServedKind, ...] = (
    *(kind.describe() for provider in PROVIDERS for kind in provider.objects),
    *(kind.describe() for provider in PROVIDERS for kind in provider.mirrors),
    *(served for provider in PROVIDERS for served in provider.types()),
    cloud_metadata(_REFERENCES),
    METADATA_GRANTS,
)
"""Every kind with a CRD: those that are reconciled, and those that their objects refer to."""

PLACEHOLDERS: tuple[Placeholder, ...] = (
    *CLUSTER_API,
    *(each for provider in PROVIDERS for each in provider.placeholders),
)
"""The kinds in upstream's templates that are neither served nor built in."""


def build_crds() -> tuple[dict[str, Any], ...]:
    """Return the CRDs of all kinds in ``SERVED``."""
    return crd.build_crds(SERVED)
