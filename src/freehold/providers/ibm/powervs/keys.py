"""The kinds that a PowerVS cluster may use, the logical names of single ones, and what given nodes ask for."""

from __future__ import annotations

from typing import Final

from freehold.engine.graph import ReadyNodes
from freehold.engine.resources import NodeKey, Request

SUBNET_KIND: Final = "vpc-subnet"
GROUP_KIND: Final = "security-group"
BALANCER_KIND: Final = "load-balancer"
CONNECTION_KIND: Final = "transit-gateway-connection"

WORKSPACE: Final = NodeKey("workspace", "main")
NETWORK: Final = NodeKey("dhcp-server", "main")
VPC: Final = NodeKey("vpc", "main")
GATEWAY: Final = NodeKey("transit-gateway", "main")
VPC_CONNECTION: Final = NodeKey(CONNECTION_KIND, "vpc")
POWERVS_CONNECTION: Final = NodeKey(CONNECTION_KIND, "powervs")
COS_INSTANCE: Final = NodeKey("cos-instance", "main")
COS_BUCKET: Final = NodeKey("cos-bucket", "main")


def no_request(known: ReadyNodes) -> Request:
    """Return the empty request of a node that is given by its id: it is never created."""
    return {}


def constant(ident: str, known: ReadyNodes) -> str:
    """Return the id of a node that is given by its id, whatever is known of others."""
    return ident
