"""Objects from before the key ring whose renewal is interrupted: the process dies at a call, the next one continues.

It uses the PowerVS fixtures, which the old version itself wrote.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from freehold.lifecycle.clock import Clock
from harness.before_key_ring import (
    KEYED_ONLY,
    is_renewed,
    load,
    marks_there,
    new_seals,
    theirs_on_ours,
    without_marks,
)
from harness.resources import made_by_us
from lab import faults
from lab.faults import Crash, Fault, FaultPort, Script

ENOUGH = 3 * 3600.0
TAGS = {"tagging.attach_tag", "tagging.detach_tag"}


@dataclass
class _Timed:
    """The part of a world that these faults need: its clock."""

    clock: Clock | None = None


@dataclass
class Renewal:
    """One object that is Ready, its process, and the faults at its calls."""

    fixture: str
    script: Script = field(default_factory=Script)
    crashes: int = 0

    def __post_init__(self) -> None:
        world: Any = _Timed()
        self.port = FaultPort(world, self.script)
        self.harness = load(self.fixture, port=lambda: self.port)
        world.clock = self.harness.clock
        self.ids = {row["id"] for row in made_by_us(self.harness)}
        self.others, self.tags = without_marks(self.harness), theirs_on_ours(self.harness)

    def step(self) -> None:
        """One pass; a process that dies is started again at once."""
        harness = self.harness
        try:
            result = harness.pass_once()
        except Crash:
            self.crashes += 1
            harness.start_process()
        else:
            harness.clock.advance(max(getattr(result, "seconds", 60.0), 0.01))

    def finish(self) -> None:
        """Run until everything is renewed, the old seals are detached, and the object is Ready."""
        harness, begun = self.harness, self.harness.clock.monotonic()
        while not (harness.ready() and is_renewed(harness) and marks_there(harness) == new_seals(harness)):
            if harness.clock.monotonic() - begun > ENOUGH:
                raise AssertionError(f"not renewed: {harness.conditions()} {marks_there(harness)}")
            self.step()

    def until_crash(self) -> None:
        begun = self.harness.clock.monotonic()
        while not self.crashes and self.harness.clock.monotonic() - begun < ENOUGH:
            self.step()

    def delete(self) -> None:
        """Delete with a ring that requires keyed records if the object is renewed: nothing may need the old ones."""
        if is_renewed(self.harness):
            self.harness.rings.ring = KEYED_ONLY
            self.harness.start_process()
        self.harness.down()

    def faults(self) -> list[str]:
        """Forbidden effects of the renewal, from the cloud's own log and records."""
        changed = {call.operation for call in self.harness.calls(mutating=True)} - TAGS
        found = [f"{operation} during a renewal" for operation in sorted(changed)]
        found += ["others' resources changed"] if without_marks(self.harness) != self.others else []
        found += ["tags that are not marks changed"] if theirs_on_ours(self.harness) != self.tags else []
        found += (
            ["resources were created or deleted"] if {row["id"] for row in made_by_us(self.harness)} != self.ids else []
        )
        return found


def calls(fixture: str) -> int:
    """How many calls an undisturbed renewal makes."""
    renewal = Renewal(fixture)
    renewal.finish()
    return len(renewal.port.calls)


def cases(fixture: str) -> list[tuple[int, Fault]]:
    """Dying before and after each call."""
    return [(number, fault) for number in range(calls(fixture)) for fault in (faults.BEFORE, faults.AFTER)]
