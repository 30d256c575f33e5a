"""The status of the metadata kinds: a list of conditions, and one flat condition as the proposal spells it.

Source: docs/reference/metadata-compat.md A5 to A7.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from freehold.api.base import ApiModel, Int64, Items, Timestamp, build_extensions
from freehold.api.status import V1Beta2Condition

Labels = Annotated[dict[str, Annotated[str, Field(max_length=256)]], Field(max_length=50)]


class MetadataStatus(ApiModel):
    """What became of the last pass. A report: all of it can be lost."""

    conditions: Annotated[
        Items[V1Beta2Condition],
        Field(max_length=32, json_schema_extra=build_extensions(list_type="map", list_map_keys=["type"])),
    ] = ()
    """Ready, Approved, Policy, Request, Applied."""
    type: str | None = None
    """Type of the condition that sums up."""
    status: Any = None
    """``True``, ``False`` or ``Unknown``; a boolean of an old manifest is accepted."""
    last_transition_time: Timestamp | None = None
    """When ``status`` last changed."""
    reason: str | None = None
    """One word; the cloud's code where a cloud refused."""
    message: str | None = None
    """Which resources, and who must do what."""
    resourcetags: Labels | None = None
    """The tags that are applied now: those of the active list that every resource has."""
    active_tags: Annotated[dict[str, Annotated[str, Field(max_length=256)]], Field(max_length=1000)] | None = None
    """The active list, by which tags are written and repaired: the tags of the spec, and under add and delete those
    that were on it before and are not deleted."""
    observed_generation: Annotated[Int64, Field(ge=0)] | None = None
    """The generation of the spec that was observed."""
