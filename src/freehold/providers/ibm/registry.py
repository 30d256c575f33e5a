"""The kinds that an IBM Cloud cluster may use: an explicit list. A new kind is one file and one line here."""

from __future__ import annotations

from freehold.engine.kinds import Registry
from freehold.engine.port import Port
from freehold.providers.ibm.calls import IbmClient
from freehold.providers.ibm.kinds import (
    cos_bucket,
    cos_instance,
    dhcp_server,
    load_balancer,
    security_group,
    transit_gateway,
    transit_gateway_connection,
    vpc,
    vpc_subnet,
    workspace,
)
from freehold.providers.ibm.session import IbmSession


def ibm_kinds(session: IbmSession, port: Port) -> Registry:
    """Return every kind; its driver sends through ``port`` with the clients of ``session``."""
    client = IbmClient(session, port)
    return Registry(
        (
            workspace.kind(client),
            dhcp_server.kind(client),
            vpc.kind(client),
            vpc_subnet.kind(client),
            security_group.kind(client),
            load_balancer.kind(client),
            transit_gateway.kind(client),
            transit_gateway_connection.kind(client),
            cos_instance.kind(client),
            cos_bucket.kind(client),
        )
    )
