"""The kinds of the metadata controller with a CRD, but for the column of each provider in that of ``CloudMetadata``."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel

from freehold.api.metadata import CloudMetadata
from freehold.api.metadata_grant import MetadataGrant
from freehold.api.served import CLOUD_METADATA, METADATA_GRANT, ServedName
from freehold.api.served_kind import Column, ServedKind, build_condition_path

_AGE = Column("Age", ".metadata.creationTimestamp", "Time since the object was created", type="date")


def provider_tags(name: ServedName, model: type[BaseModel]) -> ServedKind:
    """Describe the object with one provider's tags."""
    columns = (
        Column("Applied", build_condition_path("Applied"), "Whether the tags are as wanted"),
        Column("Reason", build_condition_path("Applied", "reason"), "Why they are, or why not"),
        _AGE,
    )
    return ServedKind(name, model, columns, categories=("metadata",))


def cloud_metadata(providers: Sequence[Column]) -> ServedKind:
    """Describe ``CloudMetadata`` with a column for the reference to each provider's object."""
    columns = (
        Column("Ready", build_condition_path("Ready"), "Whether the tags are as wanted"),
        Column("Reason", build_condition_path("Ready", "reason"), "Why they are, or why not"),
        *providers,
        _AGE,
        Column("Applied", build_condition_path("Applied", "message"), "On how many resources", priority=1),
    )
    return ServedKind(CLOUD_METADATA, CloudMetadata, columns, categories=("metadata",))


METADATA_GRANTS = ServedKind(
    METADATA_GRANT,
    MetadataGrant,
    (Column("Namespaces", ".spec.namespaces", "To whom it grants"), _AGE),
    categories=("metadata",),
)
