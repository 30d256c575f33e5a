"""Clients of botocore that all simulated accounts of a process share: to build that of EC2 takes 0.05 CPU-seconds."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from typing import Any

from freehold.providers.aws.accounts import AwsCloud
from freehold.providers.aws.credentials import Keys, SigningCredentials, StaticCredentials
from freehold.providers.aws.identities import Identity, StaticKeys
from freehold.providers.aws.session import AwsSession
from freehold_sim.aws.cloud import SimulatedAWS
from freehold_sim.http import Request, Response
from freehold_sim.mount import mount_client
from harness.simulated_aws import KEY, resolve_once

KEYS = StaticKeys(KEY, "secret of the test")


class _Turn(threading.local):
    """Whose keys sign the next request of this thread, and which cloud gets it."""

    session: AwsSession
    cloud: SimulatedAWS

    def handle(self, request: Request) -> Response:
        return self.cloud.handle(request)


class _KeysOfTurn(StaticCredentials):
    """The keys of the session whose turn it is."""

    def __init__(self, turn: _Turn) -> None:
        super().__init__(KEYS)
        self._turn = turn

    def get_frozen_credentials(self) -> Keys:
        return self._turn.session.keys


class _Lent(AwsSession):
    """The session that builds the clients, once for each service."""

    def __init__(self, region: str) -> None:
        self.turn = _Turn()
        super().__init__(KEYS, region, mount=self._mount_turn)

    def _mount_turn(self, client: Any) -> None:
        mount_client(client, self.turn)
        resolve_once(client)

    def _credentials_of(self, identity: Identity, wall: Callable[[], float]) -> SigningCredentials:
        return _KeysOfTurn(self.turn)


_lent = cache(_Lent)


class SharedClients(AwsSession):
    """A session of its own on clients that are built once."""

    def __init__(self, cloud: SimulatedAWS, region: str, identity: Identity = KEYS, **how: Any) -> None:
        self._cloud = cloud
        super().__init__(identity, region, **how)

    def client(self, service: str) -> Any:
        """Return the client for one request, which is to be sent next by this thread."""
        lent = _lent(self.region)
        lent.turn.session, lent.turn.cloud = self, self._cloud
        return lent.client(service)

    def _session_of(self, identity: Identity) -> AwsSession:
        return SharedClients(self._cloud, self.region, identity, wall=self._wall)


class SharingCloud(AwsCloud):
    """An AwsCloud whose accounts are in one simulated cloud and share its clients."""

    def __init__(self, cloud: SimulatedAWS, *arguments: Any, **how: Any) -> None:
        self._cloud = cloud
        super().__init__(None, *arguments, **how)

    def _session_of(self, identity: Identity, region: str) -> AwsSession:
        return SharedClients(self._cloud, region, identity, wall=self._clock.now)
