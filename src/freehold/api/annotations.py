"""Parses annotations. Does not import pydantic."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from freehold.api.names import CREATE_INFRA_ANNOTATION

# Go's strconv.ParseBool, which upstream's webhooks use (docs/reference/ibm-cloud.md#capibm).
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})


def parse_bool(value: str) -> bool | None:
    """Return the truth value of a word; None if it has none."""
    return True if value in _TRUE else False if value in _FALSE else None


class CreateInfra(Enum):
    """The value of ``powervs.cluster.x-k8s.io/create-infra`` (docs/reference/requirements.md I5)."""

    REQUESTED = "requested"
    NOT_REQUESTED = "not requested"
    UNREADABLE = "unreadable"
    """The value is not a boolean: nothing is created, and a condition reports it."""


def create_infra(annotations: Mapping[str, str]) -> CreateInfra:
    """Whether the infrastructure is to be created; an absent annotation is ``NOT_REQUESTED``."""
    value = annotations.get(CREATE_INFRA_ANNOTATION)
    if value is None:
        return CreateInfra.NOT_REQUESTED
    return _CREATE_INFRA[parse_bool(value)]


_CREATE_INFRA = {True: CreateInfra.REQUESTED, False: CreateInfra.NOT_REQUESTED, None: CreateInfra.UNREADABLE}
