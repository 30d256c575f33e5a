"""Drivers of kinds of AWS on a simulated account, as the engine uses them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from freehold.engine.keyed_codec import BIRTH, UUID
from freehold.engine.kinds import Kind
from freehold.engine.resources import Birth, NodeKey, Observed, ParentResource, Part, Ref, Want
from freehold.engine.tag_text import text
from freehold.providers.aws.calls import AwsClient
from freehold_sim.faults import Effect, Fault
from harness.account import NONCE, Recognised
from harness.aws_account import AwsAccount

MARKS = frozenset({text(BIRTH, NONCE), text(UUID, "11111111-2222-3333-4444-555555555555"), text("team", "a")})
Request = Mapping[str, Any]


def birth(nonce: str = NONCE, token: str = "token-1") -> Birth:  # noqa: S107 - a client token
    """What the engine gives to a create: one nonce and token for each attempt."""
    return Birth(token, nonce, frozenset({*(mark for mark in MARKS if not mark.startswith(BIRTH)), text(BIRTH, nonce)}))


class Drivers:
    """One kind on an account."""

    def __init__(self, account: AwsAccount, kind: Callable[[AwsClient], Kind]) -> None:
        self.account = account
        self.kind = kind(account.api)
        self.driver = self.kind.driver
        self._told = 0

    async def create(self, request: Request, made: Birth | None = None) -> Observed:
        return await self.driver.create(request, made or birth())

    async def look(self, ident: str) -> Observed | None:
        return (await self.driver.observe([Ref(ident)])).get(ident)

    async def there(self, ident: str) -> Observed:
        seen = await self.look(ident)
        assert seen is not None
        return seen

    async def find(self, request: Request, *nonces: str) -> list[Observed]:
        want = self.want(request, *nonces)
        return list((await self.driver.find([want]))[want.key])

    async def by_nonce(self, nonce: str, *wanted: Request, places: Sequence[ParentResource] = ()) -> list[Observed]:
        wants = [self.want(request, nonce) for request in wanted]
        return list(await self.driver.by_nonce(places, wants, Recognised(nonce)))

    def want(self, request: Request, *nonces: str) -> Want:
        return Want(NodeKey(self.kind.name, "one"), str(request.get("name", "")), request, Recognised(*nonces))

    async def inside(self, ident: str) -> frozenset[Part]:
        """The parts: as the look shows them, or by their own read."""
        seen = await self.there(ident)
        assert self.kind.parts.driver is not None
        return seen.parts if seen.parts is not None else await self.kind.parts.driver.parts(Ref(ident))

    def sent(self) -> list[str]:
        """The requests of the driver since the last time, the question who we are apart."""
        every = [name for name in self.account.sent() if not name.startswith("sts.")]
        new, self._told = every[self._told :], len(every)
        return new

    def fault(self, effect: Effect, operation: str) -> None:
        self.account.cloud.faults.add(Fault(effect, operation))
