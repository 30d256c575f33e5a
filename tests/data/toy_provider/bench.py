"""The toy cloud in the conformance suite. It stands in ``tests/conformance/toy.py``, and in the list beside it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from conformance.bench import CloudUnderTest, Request, Verbs
from freehold.engine.clock import ManualClock
from freehold.engine.keyed_codec import BIRTH
from freehold.engine.port import InlinePort
from freehold.engine.resources import Birth, Observed
from freehold.engine.tag_text import texts
from freehold.providers.toy.access import VARIABLE
from freehold.providers.toy.calls import API, ToyClient
from freehold.providers.toy.cloud import Row, ToyCloud, ToyError
from freehold.providers.toy.kinds import NET, toy_kinds
from freehold_sim.faults import Effect, FaultBook
from harness.account import RecordingPort

STATUS = {Effect.DENIED: 403, Effect.EXPIRED: 401, Effect.QUOTA: 402, Effect.THROTTLE: 429}


class FaultyCloud(ToyCloud):
    """The toy cloud in memory, with the faults that every simulated cloud has."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(Path("in memory"))
        self.calls: list[str] = []
        self.faults = FaultBook([])
        self._clock = clock
        self._world: Row = {"created": 0, "resources": {}}
        self._late: list[tuple[float, str, Row]] = []

    def load(self) -> Row:
        return self._world

    def save(self, world: Row) -> None:
        self._world = world

    def request(self, operation: str, **arguments: Any) -> Any:
        self.calls.append(operation)
        while self._late and self._late[0][0] <= self._clock.now():
            _, late, given = self._late.pop(0)
            super().request(late, **given)
        fault = self.faults.match(operation, "")
        if fault is None:
            return super().request(operation, **arguments)
        match fault.effect:
            case Effect.LATE:
                self._late.append((self._clock.now() + fault.delay, operation, arguments))
                raise ConnectionError("no reply yet")
            case Effect.RESET:
                raise ConnectionError("connection reset")
            case Effect.REPLY_LOST:
                super().request(operation, **arguments)
                raise ConnectionError("reply lost")
            case Effect.ERROR_AFTER:
                super().request(operation, **arguments)
        raise ToyError(STATUS.get(fault.effect, fault.status))


class ToyBench(Verbs):
    """An account in which the net of every box exists, with the operations of the suite."""

    homes: Mapping[str, str] = MappingProxyType({})
    keeps_nonce = goes_twice = other_lists = frozenset[str]()
    all_but_tokens = "*"
    credentials = VARIABLE
    region = ""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.cloud = FaultyCloud(self.clock)
        self.port = RecordingPort()
        self.kinds = toy_kinds(ToyClient(self.cloud, self.port))
        self.stands: dict[str, Observed] = {}

    def creates(self, kind: str) -> str:
        return "create"

    def secret(self) -> str:
        return "a secret of the toy cloud"

    def elsewhere_in_account(self, request: Request) -> Request:
        return request

    def declared_times(self, kind: str) -> None:
        """None are published."""

    def longest_doubt(self) -> float:
        """What a request changes shows at once."""
        return 0.0

    def requests(self) -> list[str]:
        return list(self.cloud.calls)

    def writes(self) -> list[str]:
        return [call for call in self.cloud.calls if call != "list"]

    def passed(self) -> list[str]:
        assert {call.api for call in self.port.calls} <= {API}
        return [call.operation for call in self.port.calls]

    async def request(self, kind: str) -> Request:
        if kind == NET:
            return {"name": "my-net"}
        if NET not in self.stands:
            self.stands[NET] = await self.create(NET, await self.request(NET), "frequire")
        return {"name": "my-box", "net": self.stands[NET].id, "size": 3}

    async def create(self, kind: str, request: Request, nonce: str) -> Observed:
        birth = Birth("token", nonce, texts({BIRTH: nonce}))
        return await self.kinds[kind].driver.create(request, birth)

    async def crowd(self, kind: str, name: str) -> None:
        await self.create(kind, {**await self.request(kind), "name": name}, "fcrowded")


TOY = CloudUnderTest(
    kinds=toy_kinds(ToyClient(ToyCloud(Path()), InlinePort())),
    homes=ToyBench.homes,
    bench=ToyBench,
    lagging=lambda seconds: ToyBench(),
    small_pages=ToyBench,
)
