"""``Toy``: a box in a net."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from freehold.api.base import ApiModel, Int64, Items
from freehold.api.served_kind import Column, ServedKind, build_condition_path
from freehold.api.status import Condition, Identity, ResourceSummary
from freehold.providers.toy.kind import TOY_OBJECT


class ToySpec(ApiModel):
    """What is wanted."""

    size: Annotated[Int64, Field(ge=1)]
    """The size of the box. It can be changed."""
    tags: dict[str, str] = Field(default_factory=dict)
    """The user's tags, for the net and the box."""
    color: str | None = None
    """The color of the box. Accepted, not used."""


class ToyStatus(ApiModel):
    """What there is; written by the operator."""

    ready: bool = False
    """True once everything has been there."""
    phase: str | None = None
    """The state in one word."""
    observed_generation: Int64 | None = None
    """The generation of the spec that was last reconciled."""
    resources: Items[ResourceSummary] = ()
    """The net and the box."""
    identity: Identity | None = None
    """A copy of the identity of the owner of the resources."""
    conditions: Items[Condition] = ()
    """Conditions; ``Ready`` summarizes the others."""


class Toy(ApiModel):
    """A box in a net."""

    spec: ToySpec
    """What is wanted."""
    status: ToyStatus | None = None
    """What there is."""


TOYS = ServedKind(
    TOY_OBJECT,
    Toy,
    columns=(
        Column("Size", ".spec.size", "The size of the box", type="integer"),
        Column("Phase", ".status.phase", "The state of the object in one word"),
        Column("Ready", build_condition_path("Ready"), "Whether net and box are there"),
    ),
)
