"""A simulated IBM account with the real SDKs and without the engine: no socket, no thread, virtual time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import requests

from freehold.engine.clock import ManualClock
from freehold.engine.port import Call, InlinePort
from freehold.engine.resources import Birth, NodeKey, Observed, ParentResource, Ref, Want
from freehold.providers.ibm.calls import IbmClient
from freehold.providers.ibm.registry import ibm_kinds
from freehold.providers.ibm.session import ApiKey, Endpoints, IbmSession
from freehold.providers.ibm.tags import IbmTagger
from freehold_sim.ibm.cloud import SimulatedIBM
from freehold_sim.ibm.settings import Settings
from freehold_sim.mount import WorldAdapter, mount_client

BASE = "http://ibm.sim"
GROUP = "11111111111111111111111111111111"
NONCE = "fabcdefg"


class Recognised:
    """Nonces as the engine gives them to a driver: membership can be tested, but they cannot be listed."""

    def __init__(self, *nonces: str) -> None:
        self._nonces = nonces

    def __contains__(self, word: object) -> bool:
        return word in self._nonces


class SimMount:
    """Puts the simulated cloud under the vendors' SDKs (providers.ibm.session.Mount)."""

    def __init__(self, cloud: SimulatedIBM) -> None:
        self._cloud = cloud

    def http(self, session: requests.Session) -> None:
        session.mount(BASE, WorldAdapter(self._cloud))

    def s3(self, client: Any) -> None:
        mount_client(client, self._cloud)


class RecordingPort(InlinePort):
    """Records every call."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    async def send(self, call: Call) -> Any:
        self.calls.append(call)
        return await super().send(call)


class Account:
    """One simulated account with our adapters on it."""

    def __init__(self, settings: Settings | None = None, api_key: str | None = None) -> None:
        self.settings = settings or Settings()
        self.clock = ManualClock()
        self.cloud = SimulatedIBM(self.clock, self.settings)
        self.port = RecordingPort()
        credentials = ApiKey(api_key or self.settings.api_key)
        self.session = IbmSession(credentials, Endpoints.from_base(BASE), SimMount(self.cloud))
        self.client = IbmClient(self.session, self.port)
        self.kinds = ibm_kinds(self.session, self.port)
        self.tagger = IbmTagger(self.client, self.kinds.carried)

    def requests(self) -> list[str]:
        """The operations of our requests to the cloud."""
        return [call.operation for call in self.cloud.calls if call.actor == "api"]

    def passed(self) -> list[str]:
        """The operations that went through the port, with the names of the cloud's log."""
        return [f"{call.api}.{call.operation}" for call in self.port.calls]

    async def create(self, kind: str, request: Mapping[str, Any], nonce: str = NONCE) -> Observed:
        return await self.kinds[kind].driver.create(request, Birth("token", nonce))

    async def look(self, kind: str, seen: Observed) -> Observed | None:
        """One native read."""
        return (await self.kinds[kind].driver.observe([Ref(seen.id, seen.target)])).get(seen.id)

    async def find(self, kind: str, request: Mapping[str, Any], *nonces: str) -> list[Observed]:
        """The resources with the name of the request, or with a nonce."""
        want = self.want(kind, request, *nonces)
        return list((await self.kinds[kind].driver.find([want]))[want.key])

    def want(self, kind: str, request: Mapping[str, Any], *nonces: str) -> Want:
        name = str(request.get("network") or request["name"])
        return Want(NodeKey(kind, "main"), name, request, Recognised(*nonces))

    async def by_nonce(self, kind: str, places: Sequence[ParentResource], nonce: str, *wants: Want) -> list[Observed]:
        """The resources with a nonce in these places, and those that ``wants`` name."""
        return list(await self.kinds[kind].driver.by_nonce(places, wants, Recognised(nonce)))
