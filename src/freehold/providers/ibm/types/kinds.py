"""``IBMMetadata`` as a kind with a CRD."""

from __future__ import annotations

from freehold.api.metadata_kinds import provider_tags
from freehold.providers.ibm.types.metadata import IBMMetadata
from freehold.providers.ibm.types.served import IBM_METADATA

IBM_TAGS = provider_tags(IBM_METADATA, IBMMetadata)
