"""Two objects of ours in one cloud: their resources side by side, or a resource of one given to the other.

The first one is as in the other families: faults hit its calls. The second one, the neighbour, is served in turn
with it, without faults. In the end it must have what it wants, once, and its delete must remove exactly that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from typing import Any

from freehold.engine.graph import Node
from freehold.engine.interface import PassResult
from freehold.engine.ownership import Owner
from lab import catalogue, oracles
from lab.audit import Recorder
from lab.catalogue import Families, Fresh, Ground
from lab.cloud import NEIGHBOUR, ReadLags
from lab.families import Case, crashes
from lab.life import Life
from lab.oracles import Verdict
from lab.world import MemoryWorld, node, standard

OTHER = Owner("7d6c5b4a-bbbb-4ccc-8ddd-ba0987654321", "TestCluster", "prod", "c2")


class Between(Enum):
    """The relation of the two."""

    NOTHING = "side by side"
    OURS_IN_THEIRS = "ours in what is the neighbour's"
    THEIRS_IN_OURS = "the neighbour's in what is ours"


@dataclass
class NeighbouredWorld(MemoryWorld):
    """The usual world, and another object's resources in the same cloud."""

    between: Between = Between.NOTHING
    neighbour: Neighbour = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.neighbour = Neighbour(self)
        if self.between is Between.OURS_IN_THEIRS:
            self.neighbour.life.create()
            hub = self.neighbour.view.ours("hub")
            assert hub is not None
            self.nodes = [n for n in self.nodes if n.key.kind != "hub"] + [node("hub/core", given=hub.id)]

    def begin(self, **how: Any) -> Life:
        self.life = _InTurn(self, **how)
        return self.life

    def remove(self, id_: str) -> None:
        """A person removes a resource of the neighbour by deleting the object that owns it."""
        there = {r.id: r for r in self.cloud.living()}
        if id_ in there and there[id_].creator == NEIGHBOUR:
            self.neighbour.delete()
        elif id_ in there:
            super().remove(id_)

    def tampered(self) -> list[str]:
        """Called at the very end: the neighbour is judged, too, and then deleted."""
        return super().tampered() + [f"the neighbour: {fault}" for fault in self.neighbour.judge()]


class Neighbour:
    """The other object: it wants the usual resources with other names, or some inside ours once those exist."""

    def __init__(self, host: NeighbouredWorld) -> None:
        self.host = host
        self.view = MemoryWorld(nodes=[], owner=OTHER, actor=NEIGHBOUR, ring=host.ring)
        self.view.cloud, self.view.clock, self.view.wall = host.cloud, host.clock, host.clock
        self.view.audit = Recorder()
        self.view.nodes = self._wanted()
        self.life = Life(self.view, owner=OTHER)

    def _wanted(self) -> Sequence[Node]:
        if self.host.between is not Between.THEIRS_IN_OURS:
            return [replace(n, name=n.name.replace("c1-", "c2-"), request=_of_c2(n)) for n in standard()]
        net, hub = (self._ready(kind) for kind in ("net", "hub"))
        if not net or not hub:
            return []
        return [
            node("net/main", given=net),
            node("hub/core", given=hub),
            node("disk/data", "net/main", name="c2-data"),
            node("link/a", "hub/core", "net/main", name="c2-a"),
        ]

    def _ready(self, kind: str) -> str:
        found = self.host.ours(kind)
        return found.id if found and found.ready_at <= self.host.cloud.now() else ""

    def once(self) -> None:
        """One pass, due or not."""
        if not self.view.nodes:
            self.view.nodes = self._wanted()
        if self.view.nodes and not self.life.released:
            self.life.once()

    def delete(self) -> None:
        if not self.life.released:
            self.life.delete()

    def judge(self) -> list[str]:
        """The faults of the neighbour, which is at rest, and gone in the end."""
        verdict = Verdict()
        if self.view.nodes and not self.life.deleting:
            oracles.after_create(self.life, self.life.create(), verdict)
        self.delete()
        if self.view.nodes:
            oracles.after_delete(self.life, verdict)
        return verdict.faults


def _of_c2(wanted: Node) -> Any:
    return lambda known: {**wanted.request(known), "name": wanted.name.replace("c1-", "c2-")}


@dataclass
class _InTurn(Life):
    """After each of our passes the neighbour has one."""

    world: NeighbouredWorld

    def one_pass(self) -> PassResult:
        self.world.neighbour.once()
        return super().one_pass()


def _grounds(on: Ground) -> Mapping[str, Ground]:
    def lagging(between: Between, lag: float, tag_lag: float, restless: bool) -> Fresh:
        return partial(NeighbouredWorld, ReadLags(lag, lag, tag_lag, restless), between=between)

    return {
        between.value: replace(
            on, world=partial(NeighbouredWorld, between=between), read_lags=partial(lagging, between)
        )
        for between in Between
    }


def families(on: Ground) -> Families:
    """Every fault at every call of the one, while the other works in the same cloud."""
    table: Mapping[str, Callable[[Ground], Iterator[Case]]] = {
        "crashes": lambda ground: crashes(ground.world),
        "single faults": catalogue.single_faults,
        "late effects": catalogue.late_effects,
        "delete after a crash": catalogue.delete_after_crash,
    }
    return {
        f"{name}, {between}": partial(family, ground)
        for between, ground in _grounds(on).items()
        for name, family in table.items()
    }
