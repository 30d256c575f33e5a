"""The name of the kind for tags on IBM Cloud. Data only."""

from __future__ import annotations

from freehold.api import names
from freehold.api.served import ClusterLink, ServedName
from freehold.providers.ibm import api_names as ibm_names

IBM_METADATA = ServedName(
    ibm_names.IBM_METADATA_GROUP, names.METADATA_VERSION, "IBMMetadata", "ibmmetadatas", "", link=ClusterLink.NONE
)
"""It owns no resource: it has no finalizer, but for tags that are to go with it."""
