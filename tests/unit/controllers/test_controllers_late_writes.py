"""A write that waited long in the queue was decided on old reads, so it must not be sent."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from freehold.engine.clock import ManualClock
from freehold.engine.errors import Unavailable
from freehold.engine.port import Call, Effect, InlinePort
from freehold.providers.access.limits import Limits
from freehold.providers.access.ports import STALE_WRITE, PacedPort, ThreadPort


@pytest.mark.parametrize(
    ("effect", "waited", "sent"),
    [
        (Effect.WRITE, STALE_WRITE + 1, False),  # another process may have closed the intent of this create by now
        (Effect.WRITE, 1.0, True),
        (Effect.READ, STALE_WRITE + 1, True),  # a late read still answers with the current state
    ],
)
async def test_a_write_that_waited_too_long_is_not_sent(effect: Effect, waited: float, sent: bool) -> None:
    """The call waits ``waited`` seconds after its turn came, for a thread."""
    times = iter([100.0, 100.0 + waited])
    world: list[str] = []
    with ThreadPoolExecutor(1) as pool:
        port = PacedPort(ThreadPort(pool), Limits(now=lambda: 100.0), ManualClock(), lambda: next(times))
        call = Call("vpc", "create_vpc", effect, lambda: world.append("made"), "vpc one")
        if sent:
            await port.send(call)
        else:
            with pytest.raises(Unavailable, match="not sent"):
                await port.send(call)
    assert world == (["made"] if sent else [])


async def test_a_write_whose_turn_comes_too_late_is_not_sent() -> None:
    port = PacedPort(InlinePort(), Limits(now=lambda: 101.0 + STALE_WRITE), ManualClock(), lambda: 100.0)
    with pytest.raises(Unavailable, match="waited too long for its turn and was not sent"):
        await port.send(Call("vpc", "create_vpc", Effect.WRITE, lambda: pytest.fail("sent"), "vpc one"))
