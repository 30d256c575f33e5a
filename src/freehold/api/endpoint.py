"""Endpoint of a cluster's API server, a field in the spec of every infrastructure kind."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from freehold.api.base import ApiModel, Int32


class APIEndpoint(ApiModel):
    """The endpoint of the API server of the cluster."""

    host: Annotated[str, Field(max_length=512)] | None = None
    """Hostname or address. Set from the public load balancer unless the user has set it."""
    port: Int32 | None = None
    """TCP port; 6443 unless the Cluster sets another one."""
