"""``AWSMachine`` v1beta2: the status. It is a cache and a report: nothing in it proves ownership (ADR 2)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from freehold.api.base import ApiModel, Int64, Items
from freehold.api.status import Condition, Initialization, ResourceSummary
from freehold.providers.aws.types.identity import AWSMachineIdentity
from freehold.providers.aws.types.instance import MachineAddress


class DedicatedHostStatus(ApiModel):
    """A dedicated host that was made for a machine."""

    id: str | None = None
    """Its id."""


class AWSMachineStatus(ApiModel):
    """The observed state."""

    ready: bool | None = None
    """True once the instance has run for the first time; never false again."""
    phase: str | None = None
    """``Progressing``, ``Ready``, ``Blocked``, ``Paused`` or ``Deleting``: the conditions in one word, for people."""
    initialization: Initialization | None = None
    """The same for Cluster API's v1beta2 contract."""
    observed_generation: Annotated[Int64, Field(ge=0)] | None = None
    """The generation of the spec that was last reconciled."""
    addresses: Items[MachineAddress] = ()
    """Its addresses."""
    dedicated_host: DedicatedHostStatus | None = None
    """Its dedicated host. Not written."""
    failure_message: str | None = None
    """Not written: conditions say it."""
    failure_reason: str | None = None
    """Not written: conditions say it."""
    instance_state: str | None = None
    """The state of the instance, in EC2's words."""
    interruptible: bool | None = None
    """True for a spot instance: AWS can take it back at any time."""
    resources: Items[ResourceSummary] = ()
    """Every resource of the machine in one list, in the order in which they are created."""
    identity: AWSMachineIdentity | None = None
    """The identity of the owner of the resources: a copy, read only if the journal was lost."""
    conditions: Items[Condition] = ()
    """Conditions; ``Ready`` summarizes the others."""
