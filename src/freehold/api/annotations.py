"""What annotations say, as named answers. No import of pydantic."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from freehold.api.names import CREATE_INFRA_ANNOTATION

# Go's strconv.ParseBool, which upstream's webhook uses (docs/reference/ibm-cloud.md#capibm).
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})


class CreateInfra(Enum):
    """What ``powervs.cluster.x-k8s.io/create-infra`` asks for (docs/reference/requirements.md I5)."""

    REQUESTED = "requested"
    NOT_REQUESTED = "not requested"
    UNREADABLE = "unreadable"
    """The value is no boolean: nothing is created, and a condition says so."""


def create_infra(annotations: Mapping[str, str]) -> CreateInfra:
    """Whether the infrastructure is to be created; an absent annotation is ``NOT_REQUESTED``."""
    value = annotations.get(CREATE_INFRA_ANNOTATION)
    if value is None or value in _FALSE:
        return CreateInfra.NOT_REQUESTED
    return CreateInfra.REQUESTED if value in _TRUE else CreateInfra.UNREADABLE
