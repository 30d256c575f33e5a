"""``CloudMetadata``, the providers' kinds and ``MetadataGrant`` as kinds with a CRD."""

from __future__ import annotations

from pydantic import BaseModel

from freehold.api.metadata import CloudMetadata
from freehold.api.metadata_grant import MetadataGrant
from freehold.api.metadata_providers import AWSMetadata, IBMMetadata
from freehold.api.served import CLOUD_METADATA, METADATA_GRANT, ServedName
from freehold.api.served_kind import Column, ServedKind, condition_path
from freehold.providers.aws.types.served import AWS_METADATA
from freehold.providers.ibm.types.served import IBM_METADATA

_AGE = Column("Age", ".metadata.creationTimestamp", "Time since the object was created", type="date")


def _provider(name: ServedName, model: type[BaseModel]) -> ServedKind:
    columns = (
        Column("Applied", condition_path("Applied"), "Whether the tags are as wanted"),
        Column("Reason", condition_path("Applied", "reason"), "Why they are, or why not"),
        _AGE,
    )
    return ServedKind(name, model, columns, categories=("metadata",))


METADATA_KINDS: tuple[ServedKind, ...] = (
    ServedKind(
        CLOUD_METADATA,
        CloudMetadata,
        (
            Column("Ready", condition_path("Ready"), "Whether the tags are as wanted"),
            Column("Reason", condition_path("Ready", "reason"), "Why they are, or why not"),
            Column("AWS", ".spec.cloudprovider.awsref.name", "The AWSMetadata that it refers to"),
            Column("IBM", ".spec.cloudprovider.ibmref.name", "The IBMMetadata that it refers to"),
            _AGE,
            Column("Applied", condition_path("Applied", "message"), "On how many resources", priority=1),
        ),
        categories=("metadata",),
    ),
    _provider(AWS_METADATA, AWSMetadata),
    _provider(IBM_METADATA, IBMMetadata),
    ServedKind(
        METADATA_GRANT,
        MetadataGrant,
        (Column("Namespaces", ".spec.namespaces", "To whom it grants"), _AGE),
        categories=("metadata",),
    ),
)
