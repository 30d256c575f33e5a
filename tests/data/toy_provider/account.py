"""One account of the toy cloud, as the operator uses it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from freehold.engine.durations import Durations
from freehold.engine.interface import EngineDeps
from freehold.engine.inventory import Inventory
from freehold.engine.keyed_codec import KeyedCodec
from freehold.engine.keys import KeyRing
from freehold.engine.port import Port
from freehold.providers.access.ports import PacedPort, ThreadPort, shared_look_port
from freehold.providers.access.served_account import ServedAccount
from freehold.providers.base import ConnectionContext
from freehold.providers.toy.calls import ToyClient
from freehold.providers.toy.cloud import ToyCloud
from freehold.providers.toy.kinds import toy_kinds
from freehold.providers.toy.tags import ToyTagger


class ToyAccount(ServedAccount):
    """ConnectionContext by all objects: one pool of threads, one set of limits, one inventory."""

    name = "Toy Cloud"

    def __init__(self, path: Path, shared: ConnectionContext) -> None:
        pool = shared.stack.enter_context(ThreadPoolExecutor(thread_name_prefix="toy"))
        port = PacedPort(shared.wrap(ThreadPort(pool)), shared.new_limits(), shared.clock)
        super().__init__(port, shared.clock, shared.audit, shared.intervals)
        self._cloud = ToyCloud(path)
        self._inventory = Inventory(ToyTagger(ToyClient(self._cloud, shared_look_port(port))), shared.clock)
        self._durations = Durations(shared.clock)

    def _build_deps_behind(self, port: Port, ring: KeyRing, uuid: str = "") -> EngineDeps:
        client = ToyClient(self._cloud, port)
        return EngineDeps(
            registry=toy_kinds(client),
            codec=KeyedCodec(),
            tagger=ToyTagger(client),
            inventory=self._inventory,
            port=port,
            clock=self._clock,
            intervals=self._intervals,
            durations=self._durations,
            ring=ring,
        )

    async def read_account(self) -> str:
        return str(self._cloud.path)

    def forget_answers(self) -> None:
        """Nothing that was asked before is kept."""

    def _forget_owner(self, uuid: str) -> None:
        """Nothing is kept for one owner alone."""
