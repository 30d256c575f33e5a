"""A control-plane machine whose process dies whenever it has written something, on the simulated AWS."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from freehold.engine.journal import Journal
from freehold.engine.port import Call, Effect
from freehold.providers.aws.calls import AwsClient
from harness.account import RecordingPort
from harness.aws_account import AwsAccount
from harness.aws_machine_life import KEY, Machine


class Crash(BaseException):
    """The process ends."""


class Kept:
    """The object behind the API: it has what was saved."""

    journal: Journal | None = None
    saves = 0

    async def save(self, journal: Journal) -> None:
        self.journal = journal
        self.saves += 1


class CrashingPort(RecordingPort):
    """Ends the process before a call or after its answer, at the moment ``left``. Moments between which nothing was
    written are one: the next process finds the same object and the same cloud."""

    def __init__(self, kept: Kept) -> None:
        super().__init__()
        self.left, self.hit = 0, False
        self._kept, self._writes, self._seen = kept, 0, (0, 0)

    async def send(self, call: Call) -> Any:
        self._may_die()
        reply = await super().send(call)
        self._writes += call.effect is not Effect.READ
        self._may_die()
        return reply

    def _may_die(self) -> None:
        if self._seen == (now := (self._kept.saves, self._writes)):
            return
        self._seen, self.left = now, self.left - 1
        if self.left == 0:
            self.hit = True
            raise Crash


async def _live(machine: Machine, kept: Kept, go_on: Callable[[], Awaitable[object]]) -> None:
    while True:
        try:
            await go_on()
        except Crash:
            machine.die(kept.journal)
        else:
            return


async def _life_with_a_crash(at: int) -> bool:
    """Return whether there were so many moments."""
    account = AwsAccount()
    kept = Kept()
    port = CrashingPort(kept)
    account.port, account.api = port, AwsClient(account.session, port)
    machine = Machine(account)
    group, stranger = machine.target_group(), account.instance(machine.subnets[1])
    account.elbv2.register_targets(TargetGroupArn=group, Targets=[{"Id": stranger}])
    machine.behind(group)
    machine.store = kept  # type: ignore[assignment]  # it saves, too
    kept.journal = machine.journal
    port.left = at
    await _live(machine, kept, machine.up)
    ident = machine.journal.entries[KEY].id
    assert {each["InstanceId"] for each in machine.instances()} == {ident, stranger}
    assert machine.targets(group) == {ident, stranger}
    await _live(machine, kept, machine.down)
    states = {each["InstanceId"]: each["State"]["Name"] for each in machine.instances()}
    assert states.pop(stranger) == "running" and set(states.values()) <= {"terminated"}
    assert machine.targets(group) == {stranger}
    return port.hit


async def test_a_machine_is_made_once_and_goes_wherever_its_process_dies() -> None:
    at = 1
    while await _life_with_a_crash(at):
        at += 1
    assert at > 10, "it writes more often than that"
