"""The whole PowerVS create and delete on the simulated IBM Cloud, with the same port, families and oracles.

Everything but the API server's store is the product: reconciler, drivers, the vendor's SDKs down to the
bytes. What exists, and who made it, is read from the simulated world itself.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from freehold.engine.clock import Clock
from freehold.engine.errors import CloudError
from freehold.engine.port import Call, InlinePort, Port
from freehold.providers.ibm.marks import IbmCodec
from freehold_sim.faults import Effect as CloudEffect
from freehold_sim.faults import Fault
from freehold_sim.ibm.settings import Settings
from harness.powervs import IGNITION, Harness, example
from harness.resources import REGION
from lab.audit import CloudRequest, Recorder
from lab.faults import FaultPort
from lab.powervs_neighbours import USER_TAGS, Neighbours, existing
from lab.reconciled import ReconciledLife
from lab.seam import Thing

MOVING_IN = ("namesake", "rival", "move_in")
GIVEN_STORAGE = {"name": "storage-of-others", "bucketName": "freehold-demo-bucket", "bucketRegion": "us-south"}


@dataclass
class PowerVSWorld:
    """A simulated account with resources of others, and one cluster; ``spec`` is merged into that of the example.

    ``given``: the gateway, which carries marks, is somebody else's and given by its id. ``storage_given``: the
    storage instance, which carries the bucket's mark, is somebody else's and given by its name.
    """

    spec: Mapping[str, Any] = field(default_factory=dict)
    settings: Settings | None = None
    given: bool = False
    storage_given: bool = False

    def __post_init__(self) -> None:
        self.codec = IbmCodec()
        self.port: Port = InlinePort()
        self.audit = Recorder()
        self.harness = Harness(
            example(**self.spec), self.settings, port=lambda: self.port, audit=self.audit, gates=IGNITION
        )
        self.clock = self.harness.clock
        self.neighbours = Neighbours(self.harness)
        if self.storage_given:
            self.neighbours.offer_storage(GIVEN_STORAGE["name"])
            self.harness.object.patch({"spec": {"cosInstance": GIVEN_STORAGE}})
        if self.given:
            self.harness.object.patch(
                {
                    "spec": {
                        "transitGateway": {"name": None, "id": self.neighbours.theirs.gateway["id"]},
                        "tags": [{"key": "team", "value": "red"}],
                    }
                }
            )

    def begin(self, **how: Any) -> PowerVSLife:
        self.life = PowerVSLife(self, **how)
        return self.life

    def living(self) -> list[Thing]:
        theirs = self.neighbours.due
        return [
            Thing(
                self.neighbours.engine_id(row),
                row["kind"],
                role if row["created_by"] == "api" else "",
                row["created_by"] == "api",
                row["parent"],
                self.neighbours.snapshot(row["id"], self._user_tags(row["id"])),
                theirs.get(row["id"]),
                self.neighbours.aliases(row),
                frozenset(self.neighbours.tags(row)),
                frozenset(self.neighbours.forged.get(row["id"], ())),
            )
            for role, row in existing(self.harness)
        ]

    def _user_tags(self, ident: str) -> frozenset[str]:
        """They are on the given gateway until the object is gone, or for ever if a restored record forgot them."""
        if not self._uses(ident) or (self.harness.object.gone and not self.life.restored):
            return frozenset()
        return USER_TAGS

    def _uses(self, ident: str) -> bool:
        return self.given and ident == self.neighbours.theirs.gateway["id"]

    def lacking(self, ident: str) -> frozenset[str]:
        if not self._uses(ident):
            return frozenset()
        wanted = {f"{tag['key']}:{tag['value']}" for tag in self.harness.object.raw["spec"].get("tags") or ()}
        return frozenset(wanted - set(self.neighbours.tags(self.neighbours.theirs.gateway)))

    def tampered(self) -> list[str]:
        return self.neighbours.missing()

    def unaudited(self, sent: int) -> list[str]:
        reached = len(self.harness.calls(mutating=True))
        return [f"{reached} requests changed the cloud, {sent} went through the port"] if reached != sent else []

    def requests(self) -> list[CloudRequest]:
        """The simulator's record. The end of the path is the id that a request changes or deletes."""
        return [
            CloudRequest(
                call.operation,
                call.path.rpartition("/")[2] if call.method in ("PATCH", "PUT", "DELETE") else "",
                400 <= call.status < 500,  # a server error comes after the effect here
            )
            for call in self.harness.calls(mutating=True)
        ]

    def meddle(self, deed: str, kind: str) -> None:
        """No stranger adds something after the last read of the contents: no cloud here has a conditional delete."""
        if deed not in MOVING_IN or not self._looked_inside():
            getattr(self.neighbours, deed)(kind)

    def _looked_inside(self) -> bool:
        """Whether the next call is the delete of the workspace, or the last read of its contents before that."""
        assert isinstance(self.port, FaultPort)
        return self.port.calls[-1].operation in ("list_pvm_instances", "delete_resource_instance")

    def strangers_id(self, kind: str) -> str:
        return str(self.neighbours.old(kind)["id"])

    def set_clock(self, wall: Clock) -> None:
        self.harness.wall = wall

    def victim(self, kind: str, *, young: bool) -> tuple[str, str] | None:
        return self.neighbours.victim(kind, young=young)

    def victim_in_carrier(self) -> tuple[str, str, str] | None:
        return self.neighbours.victim_in_carrier()

    def forge(self, target: str, tags: frozenset[str]) -> None:
        self.neighbours.forge(target, tags)

    def spy(self, kind: str, nonce: str, tags: frozenset[str]) -> None:
        self.neighbours.spy(kind, nonce)

    def remove(self, id_: str) -> None:
        """The id of a bucket is its name after instance and region."""
        self.neighbours.remove(id_.rpartition("/")[2].removeprefix(f"{REGION}."))

    def later(self, seconds: float, effect: Callable[[], object]) -> None:
        self.harness.cloud.faults.add(Fault(CloudEffect.LATE, "*", delay=seconds))
        with contextlib.suppress(CloudError):
            effect()
        self.harness.cloud.faults.clear()

    def broken(self, call: Call) -> Any:
        self.harness.cloud.faults.add(Fault(CloudEffect.ERROR_AFTER, "*"))
        try:
            return call.run()
        finally:
            self.harness.cloud.faults.clear()

    def partially(self, failing: bool) -> None:
        """Every second target fails, the first one among them: a batch of one fails too."""
        self.harness.cloud.faults.clear()
        if failing:
            spoilt = tuple(range(0, 100, 2))
            self.harness.cloud.faults.add(Fault(CloudEffect.PARTIAL, "tagging.*", count=None, items=spoilt))


@dataclass
class PowerVSLife(ReconciledLife):
    """An object that the PowerVS reconciler serves."""

    world: PowerVSWorld

    def __post_init__(self) -> None:
        super().__post_init__()
        self.stage = self.harness  # the name that scripts outside this repository use
