"""The kinds that an IBM Cloud cluster may use: an explicit list. A new kind is one file and one line here."""

from __future__ import annotations

from freehold.clouds.ibm.calls import Caller
from freehold.clouds.ibm.kinds import (
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
from freehold.clouds.ibm.session import IbmSession
from freehold.lifecycle.kinds import Registry
from freehold.lifecycle.port import Port


def ibm_kinds(session: IbmSession, port: Port) -> Registry:
    """Every kind, its driver sending through ``port`` with the clients of ``session``."""
    caller = Caller(session, port)
    return Registry(
        (
            workspace.kind(caller),
            dhcp_server.kind(caller),
            vpc.kind(caller),
            vpc_subnet.kind(caller),
            security_group.kind(caller),
            load_balancer.kind(caller),
            transit_gateway.kind(caller),
            transit_gateway_connection.kind(caller),
            cos_instance.kind(caller),
            cos_bucket.kind(caller),
        )
    )
