"""Status fields of every kind: conditions, the list of resources, the copy of the identity."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from freehold.api import patterns
from freehold.api.base import ApiModel, Int64, Items, Timestamp, build_extensions

Ownership = Literal["managed", "shared", "unmanaged", "unknown"]


class Condition(ApiModel):
    """One condition in the format of the v1beta1 contract, with the additional fields of v1beta2."""

    last_transition_time: Timestamp
    """When ``status`` last changed."""
    message: Annotated[str, Field(max_length=32768)] | None = None
    """Human-readable message: what is wrong, where, and what to do."""
    observed_generation: Annotated[Int64, Field(ge=0)] | None = None
    """The generation of the spec that was observed."""
    reason: Annotated[str, Field(max_length=1024)] | None = None
    """Machine-readable reason: one word, stable."""
    severity: Annotated[str, Field(max_length=32)] | None = None
    """``Error``, ``Warning`` or ``Info`` of v1beta1. Accepted, not used."""
    status: str
    """``True``, ``False`` or ``Unknown``."""
    type: Annotated[str, Field(min_length=1, max_length=316)]
    """Type of the condition."""


class V1Beta2Condition(ApiModel):
    """One condition in the format of Kubernetes."""

    last_transition_time: Timestamp
    """When ``status`` last changed."""
    message: Annotated[str, Field(max_length=32768)]
    """Human-readable message."""
    observed_generation: Annotated[Int64, Field(ge=0)] | None = None
    """The generation of the spec that was observed."""
    reason: Annotated[str, Field(min_length=1, max_length=1024, pattern=patterns.CONDITION_REASON)]
    """Machine-readable reason."""
    status: Literal["True", "False", "Unknown"]
    """``True``, ``False`` or ``Unknown``."""
    type: Annotated[
        str,
        Field(
            max_length=316,
            pattern=patterns.CONDITION_TYPE,
        ),
    ]
    """Type of the condition."""


class V1Beta2Status(ApiModel):
    """Upstream's field for conditions of the next contract. Preserved when present, not written."""

    conditions: Annotated[
        Items[V1Beta2Condition],
        Field(max_length=32, json_schema_extra=build_extensions(list_type="map", list_map_keys=["type"])),
    ] = ()
    """Conditions of the next contract."""


class Initialization(ApiModel):
    """The fields that Cluster API's v1beta2 contract reads."""

    provisioned: bool | None = None
    """True once the infrastructure has been complete for the first time; never false again."""


class ResourceSummary(ApiModel):
    """A summary of one resource for users, shown by ``freehold tree`` and the live progress."""

    kind: str
    """The kind of resource, for example ``vpc-subnet``."""
    name: str
    """Its name in the cloud."""
    id: str | None = None
    """Its id in the cloud, once known."""
    state: str | None = None
    """Its state: ``Ready``, ``Waiting``, ``Blocked``, ``Surplus``, ``Deleting``; after a delete ``Gone``, ``Kept``,
    ``NotCreated``, or ``Unknown``: not on record, so nobody looked whether it exists."""
    ownership: Ownership | None = None
    """``managed``: created by Freehold, deleted with the object. ``shared``: the same, but also used by the cluster's
    cloud provider. ``unmanaged``: an existing resource, never changed or deleted. ``unknown``: not yet decided."""
    reason: str | None = None
    """Reason of the state, one word."""
    message: str | None = None
    """Why it is in this state, and what to do; one sentence."""
    waits_for: Items[str] = ()
    """The resources that must be ready first, each by kind and name."""
    since: Timestamp | None = None
    """When it entered this state."""


class Identity(ApiModel):
    """A copy of the identity, used if the journal annotation is lost."""

    uid: str
    """The UID of the object that this status belongs to: a status copied to another object is not used."""
    uuid: str
    """The owner uuid in the ownership tags in the cloud."""
    key: str | None = None
    """The digest of the key of the operator's key ring that the identity was made with; it does not reveal the key."""
    account: str | None = None
    """The cloud account, on AWS with the region, that its resources are in; absent until something is on record."""
    collects: bool | None = None
    """True if the object was created with garbage collection on; absent if not, or if its kind has none."""
    defaults: int | None = None
    """The generation of the defaults that the object was created with; absent for the first one."""
