"""The kinds on IBM Cloud that Freehold serves, by name. Data only."""

from __future__ import annotations

from freehold.api import names
from freehold.api.served import ClusterLink, MachineName, ServedName
from freehold.providers.ibm import api_names as ibm_names

POWERVS_CLUSTER = ServedName(
    names.INFRASTRUCTURE_GROUP,
    names.V1BETA2,
    ibm_names.POWERVS_CLUSTER_KIND,
    ibm_names.POWERVS_CLUSTER_PLURAL,
    ibm_names.POWERVS_CLUSTER_FINALIZER,
    machines=MachineName(ibm_names.POWERVS_MACHINE_KIND, ibm_names.POWERVS_MACHINE_PLURAL),
    parts=ibm_names.POWERVS_PART_CONDITIONS,
)

IBM_METADATA = ServedName(
    ibm_names.IBM_METADATA_GROUP, names.METADATA_VERSION, "IBMMetadata", "ibmmetadatas", "", link=ClusterLink.NONE
)
"""It owns no resource: it has no finalizer, but for tags that are to go with it."""
