"""A control-plane machine whose process dies before or after its calls, on the simulated AWS."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

import pytest

from freehold.engine.journal import Journal
from freehold.engine.port import Call, Effect
from freehold.providers.aws.calls import AwsClient
from harness.account import RecordingPort
from harness.aws_account import AwsAccount
from harness.aws_machine_life import KEY, Machine


class Crash(BaseException):
    """The process ends."""


class CrashingPort(RecordingPort):
    """Ends the process at one call: before it is sent, or when it was answered."""

    def __init__(self, at: int, *, after: bool) -> None:
        super().__init__()
        self.left, self.after, self.hit = at, after, False

    async def send(self, call: Call) -> Any:
        self.left -= 1
        if self.left == 0 and not self.after:
            self._die()
        reply = await super().send(call)
        if self.left == 0:
            self._die()
        return reply

    def _die(self) -> None:
        self.hit = True
        raise Crash


class Kept:
    """The object behind the API: it has what was saved."""

    journal: Journal | None = None

    async def save(self, journal: Journal) -> None:
        self.journal = journal


async def _live(machine: Machine, kept: Kept, go_on: Callable[[], Awaitable[object]]) -> None:
    while True:
        try:
            await go_on()
        except Crash:
            machine.die(kept.journal)
        else:
            return


async def _life_with_a_crash(at: int, *, after: bool) -> CrashingPort:
    """Return what the calls went through; with ``at`` 0 nothing dies."""
    account = AwsAccount()
    port, kept = CrashingPort(0, after=after), Kept()
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
    assert port.hit is bool(at)
    return port


def _numbers(calls: Sequence[Call], *, after: bool) -> Iterator[int]:
    """The calls at which it makes a difference that the process dies: only the object and the cloud stay.

    After a read they are as before it; before a look that is repeated they are as before the first one.
    """
    last = None
    for number, call in enumerate(calls, 1):
        read = call.operation if call.effect is Effect.READ else None
        if (read is None) if after else (read is None or read != last):
            yield number
        last = read


@pytest.mark.parametrize(("after", "fewest"), [(False, 20), (True, 10)], ids=["before", "after"])
async def test_a_machine_is_made_once_and_goes_wherever_its_process_dies(*, after: bool, fewest: int) -> None:
    undisturbed = await _life_with_a_crash(0, after=after)
    numbers = list(_numbers(undisturbed.calls, after=after))
    assert len(numbers) >= fewest
    for number in numbers:
        await _life_with_a_crash(number, after=after)
