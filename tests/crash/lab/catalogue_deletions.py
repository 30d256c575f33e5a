"""Deletions at any call: in the middle of a pass, in the foreground, with the whole namespace."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from freehold.engine.interface import PassResult
from freehold.providers.objects.gate import ClusterApiMode, ClusterContext, FoundCluster, NoCluster, Presence
from lab import faults
from lab.catalogue import Families, Fresh, Ground
from lab.families import Case
from lab.faults import Fault, Script
from lab.life import Wedged
from lab.powervs import PowerVSLife, PowerVSWorld
from lab.reconciled import ReconciledLife
from lab.seam import World

FOREGROUND = "foregroundDeletion"
CLUSTER = {"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "name": "freehold-demo", "uid": "c-1"}

Act = Callable[[World], object]


def _script(world: World, *, number: int, act: Act, crashes: dict[int, Fault]) -> Script:
    return Script(crashes, {number: partial(act, world)})


def _deleted(world: World) -> None:
    """The deletion timestamp makes the object newer than what the pass under way has read."""
    world.life.deleting = True
    if isinstance(world.life, ReconciledLife):
        world.life.harness.object.delete()
    else:
        world.life.touch()


def in_a_pass(on: Ground) -> Iterator[Case]:
    """The object is deleted in the middle of a pass; the process lives, or dies soon after."""
    for world, name in ((on.world, "no lag"), (on.read_lags(3, 20, False), "lag")):
        for number, gap in itertools.product(range(on.begun), (None, 0, 1, 2, 5)):
            for fault in (faults.AFTER, faults.late_crash(20)) if gap is not None else (faults.AFTER,):
                crashes = {number + gap: fault} if gap is not None else {}
                script = partial(_script, number=number, act=_deleted, crashes=crashes)
                yield Case(f"deleted at {number}, {fault} {gap} later, {name}", world, script)


# -- Kubernetes' other ways to delete -------------------------------------------------------------------


@dataclass
class OwnedLife(PowerVSLife):
    """The garbage collector removes its own finalizer last."""

    def one_pass(self) -> PassResult | None:
        done = super().one_pass()
        stored = self.harness.object
        if not stored.gone and stored.raw["metadata"].get("finalizers") == [FOREGROUND]:
            if FOREGROUND in self.world.wanted_by_others:
                stored.patch({"metadata": {"finalizers": []}})
            else:
                raise Wedged("an unexpected finalizer was added")
        return done


@dataclass
class OwnedWorld(PowerVSWorld):
    """The object has a Cluster that owns it, and which may be deleted first."""

    wanted_by_others: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.harness.object.patch({"metadata": {"ownerReferences": [CLUSTER]}})
        cluster = {"metadata": {"name": CLUSTER["name"], "uid": CLUSTER["uid"]}, "spec": {}}
        self.harness.around = ClusterContext(ClusterApiMode.REQUIRED, Presence.PRESENT, owner=FoundCluster(cluster))

    def begin(self, **how: Any) -> OwnedLife:
        self.life = OwnedLife(self, **how)
        return self.life

    def delete(self, *, foreground: bool, namespace: bool) -> None:
        stored, self.life.deleting = self.harness.object, True
        if foreground and not stored.gone:
            self.wanted_by_others.append(FOREGROUND)
            have = stored.raw["metadata"].get("finalizers") or []
            stored.patch({"metadata": {"finalizers": [*have, FOREGROUND]}})
        stored.delete()
        if namespace:
            self.harness.around = replace(self.harness.around, owner=NoCluster())
            self.harness.events.refused = True


def _others_delete(world: World, *, foreground: bool, namespace: bool) -> None:
    assert isinstance(world, OwnedWorld)
    world.delete(foreground=foreground, namespace=namespace)


def by_others(on: Ground, owned: Fresh) -> Iterator[Case]:
    """Foreground deletion (Argo CD's default), deletion of the namespace, and both: at each call, with crashes."""
    ways = ((True, False), (False, True), (True, True))
    for number, (foreground, namespace) in itertools.product(range(on.begun), ways):
        for gap in (None, 0, 3):
            act = partial(_others_delete, foreground=foreground, namespace=namespace)
            crashes = {number + gap: faults.AFTER} if gap is not None else {}
            script = partial(_script, number=number, act=act, crashes=crashes)
            what = " and ".join(["foreground"] * foreground + ["namespace"] * namespace)
            yield Case(f"{what} at {number}, crash {gap}", owned, script)


def families(on: Ground) -> Families:
    return {"deleted in the middle of a pass": lambda: in_a_pass(on)}


def owned_families(on: Ground) -> Families:
    return {"deleted in the foreground, or with its namespace": lambda: by_others(on, OwnedWorld)}
