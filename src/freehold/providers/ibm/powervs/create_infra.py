"""The annotation that requests the infrastructure of an IBMPowerVSCluster."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from freehold.api.annotations import parse_bool
from freehold.providers.ibm.api_names import CREATE_INFRA_ANNOTATION


class CreateInfra(Enum):
    """The value of ``powervs.cluster.x-k8s.io/create-infra`` (docs/reference/requirements.md I5)."""

    REQUESTED = "requested"
    NOT_REQUESTED = "not requested"
    UNREADABLE = "unreadable"
    """The value is not a boolean: nothing is created, and a condition reports it."""


def create_infra(annotations: Mapping[str, str]) -> CreateInfra:
    """Return whether the infrastructure is to be created; an absent annotation is ``NOT_REQUESTED``."""
    value = annotations.get(CREATE_INFRA_ANNOTATION)
    if value is None:
        return CreateInfra.NOT_REQUESTED
    return _CREATE_INFRA[parse_bool(value)]


_CREATE_INFRA = {True: CreateInfra.REQUESTED, False: CreateInfra.NOT_REQUESTED, None: CreateInfra.UNREADABLE}
