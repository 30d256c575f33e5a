"""Clients of botocore that all simulated accounts of a process share: to build that of EC2 takes 0.05 CPU-seconds."""

from __future__ import annotations

from functools import cache
from typing import Any

from freehold.providers.aws.identities import StaticKeys
from freehold.providers.aws.session import AwsSession
from freehold_sim.aws.cloud import SimulatedAWS
from freehold_sim.mount import mount_client
from harness.simulated_aws import KEY, Exchange

KEYS = StaticKeys(KEY, "secret of the test")


@cache
def _shared(region: str) -> tuple[Exchange, AwsSession]:
    exchange = Exchange()
    return exchange, AwsSession(KEYS, region, mount=lambda client: mount_client(client, exchange))


class SharedClients(AwsSession):
    """A session of its own on clients that are built once; for worlds on one thread."""

    def __init__(self, cloud: SimulatedAWS, region: str, **how: Any) -> None:
        super().__init__(KEYS, region, **how)
        self._cloud = cloud

    def client(self, service: str) -> Any:
        exchange, session = _shared(self.region)
        exchange.cloud = self._cloud
        return session.client(service)
