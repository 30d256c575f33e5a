"""Another machine of the cluster, beside the one that is tested."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from freehold.engine.keyed_codec import UUID
from lab.aws_machine_cluster import OwnedMachine, targets_of
from lab.aws_neighbours import existing

if TYPE_CHECKING:
    from lab.aws_machine import MachineWorld


class OtherMachine:
    """Another machine of the cluster, which is served in turn with the first one, without faults."""

    def __init__(self, world: MachineWorld) -> None:
        self._world = world
        self.harness = OwnedMachine(world.cluster, "m2", world.spec, control=world.control)
        self.due = world.clock.now()

    def once(self) -> None:
        """A pass, if it is due."""
        if self.harness.object.gone or self._world.clock.now() < self.due:
            return
        result = self.harness.pass_once()
        self.due = self._world.clock.now() + getattr(result, "seconds", 60.0)

    def judge(self) -> list[str]:
        """It is there whatever became of the first one, and goes when it is deleted."""
        world, mine = self._world, self.harness.uid
        self._run(lambda: self.harness.status().get("ready") is True)
        wrong = [] if self.harness.status().get("ready") is True else [f"it is not ready: {self.harness.conditions()}"]
        instances = [each for each in self._made(mine) if each["kind"] == "instance"]
        wrong += [f"it has {len(instances)} instances"] if len(instances) != 1 else []
        targets = {ident for _, ident in targets_of(world.cloud)}
        if world.control and not {str(each["id"]) for each in instances} <= targets:
            wrong.append("it is not registered")
        if not self.harness.object.gone:
            self.harness.object.delete()
        self._run(lambda: self.harness.object.gone)
        wrong += [] if self.harness.object.gone else [f"it is not gone: {self.harness.conditions()}"]
        wrong += [f"{each['id']} of it is left" for each in self._made(mine)]
        return [f"the other machine: {each}" for each in wrong]

    def _run(self, until: Any) -> None:
        for _ in range(200):
            if until():
                return
            self._world.by_others(self.once)
            self._world.clock.advance(10.0)

    def _made(self, uid: str) -> list[Mapping[str, Any]]:
        tags_at_birth = self._world.cloud.tags_at_birth
        return [each for each in existing(self.harness) if tags_at_birth.get(str(each["id"]), {}).get(UUID) == uid]
