"""``CloudMetadata`` and ``AWSMetadata`` as kinds with a CRD."""

from __future__ import annotations

from freehold.api.metadata import CloudMetadata
from freehold.api.metadata_providers import AWSMetadata
from freehold.api.served import AWS_METADATA, CLOUD_METADATA
from freehold.api.served_kind import Column, ServedKind, condition_path

_AGE = Column("Age", ".metadata.creationTimestamp", "Time since the object was created", type="date")

METADATA_KINDS: tuple[ServedKind, ...] = (
    ServedKind(
        CLOUD_METADATA,
        CloudMetadata,
        (
            Column("Ready", condition_path("Ready"), "Whether the tags are as wanted"),
            Column("Reason", condition_path("Ready", "reason"), "Why they are, or why not"),
            Column("Tags", ".spec.cloudprovider.awsref.name", "The AWSMetadata that it refers to"),
            _AGE,
            Column("Applied", condition_path("Applied", "message"), "On how many resources", priority=1),
        ),
        categories=("metadata",),
    ),
    ServedKind(
        AWS_METADATA,
        AWSMetadata,
        (
            Column("Applied", condition_path("Applied"), "Whether the tags are as wanted"),
            Column("Reason", condition_path("Applied", "reason"), "Why they are, or why not"),
            _AGE,
        ),
        categories=("metadata",),
    ),
)
