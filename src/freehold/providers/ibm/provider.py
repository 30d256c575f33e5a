"""IBM Cloud as a provider. Imports no SDK and no types: commands that need neither start faster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from freehold.api.names import INFRASTRUCTURE_GROUP, V1BETA2
from freehold.api.placeholders import Placeholder
from freehold.providers.base import Provider, TagKind
from freehold.providers.ibm.access import KEY_VARIABLE, PROFILE_VARIABLE, access_of, has_credentials
from freehold.providers.ibm.powervs.kind import CLUSTER
from freehold.providers.ibm.types.served import IBM_METADATA

if TYPE_CHECKING:
    from freehold.api.base import ApiModel
    from freehold.api.served_kind import ServedKind
    from freehold.tags.policy.dialect import TagDialect


def _types() -> tuple[ServedKind, ...]:
    from freehold.providers.ibm.types.kinds import IBM_TAGS

    return (IBM_TAGS,)


def _tag_spec() -> type[ApiModel]:
    from freehold.providers.ibm.types.metadata import IBMMetadataSpec

    return IBMMetadataSpec


def _tag_dialect() -> TagDialect:
    from freehold.providers.ibm import tag_dialect

    return tag_dialect.IBM


IBM = Provider(
    name="ibm",
    title="IBM Cloud",
    objects=(CLUSTER,),
    tags=TagKind(IBM_METADATA, _tag_spec, _tag_dialect),
    access=access_of,
    has_credentials=has_credentials,
    variable=KEY_VARIABLE,
    how=f"{KEY_VARIABLE} to your API key of IBM Cloud",
    without=(
        f"no credentials for IBM Cloud ({KEY_VARIABLE}, or {PROFILE_VARIABLE} with a token file): its objects will "
        "say NoCredentials"
    ),
    types=_types,
    secrets=(KEY_VARIABLE,),
    placeholders=(
        Placeholder(INFRASTRUCTURE_GROUP, V1BETA2, "IBMPowerVSMachineTemplate", "ibmpowervsmachinetemplates"),
        Placeholder(INFRASTRUCTURE_GROUP, V1BETA2, "IBMPowerVSImage", "ibmpowervsimages"),
    ),
    upstream="infrastructure-ibmcloud",
    example="examples/powervs-create-infra.yaml",
)
