"""How long the metadata controller takes: its passes as the operator makes them, in virtual time that requests take."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from freehold.controllers.controller import RequeueAfter
from freehold.engine.port import Call, Effect, InlinePort
from freehold.kube.resources import Key
from freehold.providers.access.limits import Limits
from freehold.providers.access.ports import PacedPort
from freehold.providers.aws.session import READ
from freehold_sim.faults import Effect as Trouble
from freehold_sim.faults import Fault
from harness.loop_port import LATENCY
from harness.metadata import CLASSIFIER, NAMESPACE, WANTED, Lab
from harness.virtual_loop import LoopTime, VirtualLoop

T = TypeVar("T")
LONGEST = 3600.0
WRITES = ("ec2.CreateTags", "resourcegroupstaggingapi.TagResources")
OF_LOST = 0
"""The status that the simulated cloud logs where no reply was given."""


class TimedPort(InlinePort):
    """Each call takes its time; a reply that never comes takes as long as the client waits for one."""

    def __init__(self, lab: Lab, loop: asyncio.AbstractEventLoop) -> None:
        self._lab = lab
        self._loop = loop
        self._seen = loop.time()
        self.writes = 0

    async def send(self, call: Call) -> Any:
        if call.effect is Effect.STORE:
            return await super().send(call)
        self.writes += call.effect is Effect.WRITE
        await asyncio.sleep(LATENCY)
        self.follow()
        try:
            return await super().send(call)
        finally:
            if self._lab.account.cloud.calls[-1].status == OF_LOST:
                await asyncio.sleep(READ)

    def follow(self) -> None:
        """The clocks of the cloud and of the controller go with the loop's."""
        now = self._loop.time()
        self._lab.wait(now - self._seen)
        self._seen = now


@dataclass(frozen=True)
class Took:
    """Seconds until the object said Ready, the writes that were sent, and whether every resource was right then."""

    seconds: float
    writes: int
    right: bool


def until_ready(fleet: Callable[[Lab], list[str]], trouble: Trouble | None = None) -> Took:
    """The operator's own limits of calls a second; with ``trouble`` in one write of three, from the first one on."""
    loop = VirtualLoop()
    try:
        return loop.run_until_complete(_until_ready(loop, fleet, trouble))
    finally:
        loop.close()


async def _until_ready(loop: VirtualLoop, fleet: Callable[[Lab], list[str]], trouble: Trouble | None) -> Took:
    lab = Lab()
    timed = TimedPort(lab, loop)
    time = LoopTime(loop)
    lab.use(PacedPort(timed, Limits(now=loop.time, pause=asyncio.sleep), time, loop.time))
    await lab.apply_examples()
    arns = fleet(lab)
    for nth in range(1, 2 * len(arns), 3):
        for operation in WRITES if trouble else ():
            assert trouble is not None
            lab.account.cloud.faults.add(Fault(trouble, operation, nth=nth))
    begun = loop.time()
    while True:
        result = await lab.process.reconcile(Key(NAMESPACE, "metadata"))
        timed.follow()
        took, ready = loop.time() - begun, lab.condition("Ready")[0] == "True"
        if ready or took > LONGEST:
            wanted = {CLASSIFIER: "owned", **WANTED}
            return Took(took, timed.writes, ready and all(lab.tags_on(arn) == wanted for arn in arns))
        assert isinstance(result, RequeueAfter)
        await asyncio.sleep(result.seconds)
        timed.follow()
