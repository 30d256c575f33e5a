"""A machine of the cluster, in the same cloud: its resources have its own uuid, and the cluster's under another key.

The cluster is as in the other families: faults hit its calls. The machine is served in turn with it, without faults,
and is deleted some time after the cluster's delete began. The cluster must wait for it, and take nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from freehold.engine.interface import EngineDeps, PassResult
from freehold.engine.inventory import TagsByTarget
from freehold.engine.keyed_codec import SEAL
from freehold.engine.kinds import Registry
from freehold.engine.ownership import Codec, Owner
from freehold.engine.port import Call, Effect, Port
from lab import catalogue, oracles
from lab.audit import Recorder
from lab.catalogue import Families, Fresh
from lab.cloud import NEIGHBOUR, US, Cloud, ReadLags
from lab.families import Case, crashes
from lab.life import OWNER, Life
from lab.mapped import CODEC, MAPPED, SUFFIX, MappedWorld
from lab.oracles import Verdict
from lab.world import MemoryWorld, node

MACHINE = Owner("5e4d3c2b-cccc-4ddd-8eee-0123456789ab", "TestMachine", "prod", "m1", within=OWNER.uuid)
STAYS = 120.0
"""Seconds for which the machine outlives the wish to delete its cluster."""


@dataclass(frozen=True)
class MemoryInner:
    """What machines have, from the tag index."""

    cloud: Cloud
    port: Port
    codec: Codec
    registry: Registry
    kinds: tuple[str, ...] = ("TestPool", MACHINE.kind)

    async def find_inner_targets(self, uuid: str) -> TagsByTarget:
        call = Call("tags", "search_within", Effect.READ, self.cloud.index, uuid)
        index: TagsByTarget = await self.port.send(call)
        return {target: tags for target, tags in index.items() if uuid in self.codec.read(tags).within}


@dataclass
class InnerWorld(MappedWorld):
    """The usual cluster, and a machine in it."""

    machine: Machine = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.machine = Machine(self)

    def deps(self, port: Port) -> EngineDeps:
        deps = super().deps(port)
        return replace(deps, inner=MemoryInner(self.cloud, deps.port, self.codec, deps.registry))

    def begin(self, **how: Any) -> Life:
        self.life = _InTurn(self, user_tags=frozenset({CODEC.user("team", "red")}), **how)
        return self.life

    def tampered(self) -> list[str]:
        """Called at the very end: the machine is judged, too."""
        early = [f"{ours} was deleted before {its} of the machine" for ours, its in self._too_early()]
        return super().tampered() + early + [f"the machine: {fault}" for fault in self.machine.judge()]

    def _too_early(self) -> Iterator[tuple[str, str]]:
        """Deletes of the cluster, which goes, while the machine had what an index shows."""
        begun = self.life.deleting_since if isinstance(self.life, _InTurn) else None
        for when, who, ours in self.cloud.deletes:
            if who != US or begun is None or when < begun:
                continue
            shown = when - self.read_lags.tag_lag - 0.001
            for its in (r for r in self.cloud.log if r.creator == NEIGHBOUR and r.exists(shown)):
                sealed = any(CODEC.key(tag) == SEAL for tag in its.tagged(shown))
                if sealed and (its.delete_at is None or its.delete_at > when):
                    yield ours, its.id

    # -- strangers ----------------------------------------------------------------------------------

    def pretend(self, kind: str) -> None:
        """A stranger's resource says that a machine of the cluster has it: with marks that are copied or made up."""
        made = self.cloud.create(kind, "their-own", {}, creator="stranger")
        its = next((r for r in self.cloud.living() if r.creator == NEIGHBOUR), None)
        tags = its.tagged(self.cloud.now()) if its else CODEC.owner(MACHINE) | CODEC.spell_parent_mark(MACHINE)
        self.cloud.attach(made.target, tags, by="stranger")

    def claim_within(self, kind: str) -> None:
        """Somebody writes on ours that a machine of the cluster has it."""
        ours = self.ours(kind)
        if ours is not None:
            self.cloud.attach(ours.target, CODEC.spell_parent_mark(MACHINE), by="stranger")


class Machine:
    """It lives in the cluster's net: two resources, once that is there."""

    def __init__(self, host: InnerWorld) -> None:
        self.host = host
        self.view = MemoryWorld(nodes=[], owner=MACHINE, actor=NEIGHBOUR, ring=host.ring, codec=CODEC)
        self.view.cloud, self.view.clock, self.view.wall = host.cloud, host.clock, host.clock
        self.view.audit = Recorder()
        self.life = Life(self.view, owner=MACHINE, user_tags=frozenset())

    def once(self) -> None:
        """One pass, due or not. It goes some time after its cluster is to go."""
        begun = self.host.life.deleting_since if isinstance(self.host.life, _InTurn) else None
        if not self.view.nodes and begun is None:
            self._want()
        if self.view.nodes and not self.life.released:
            self.life.deleting = begun is not None and self.host.clock.now() > begun + STAYS
            self.life.once()

    def _want(self) -> None:
        net = self.host.ours("net")
        if net and net.ready_at <= self.host.cloud.now():
            self.view.nodes = [
                node("net/Main", given=net.id),
                node("disk/Root", "net/Main", name="m1-root"),
                node("balancer/Eni", "net/Main", name="m1-eni"),
            ]

    def judge(self) -> list[str]:
        """The faults of the machine, which is gone in the end."""
        verdict = Verdict()
        if self.view.nodes:
            if not self.life.deleting:
                oracles.after_create(self.life, self.life.create(), verdict)
            if not self.life.released:
                self.life.delete()
            oracles.after_delete(self.life, verdict)
        return verdict.faults


@dataclass
class _InTurn(Life):
    """After each pass of the cluster the machine has one."""

    world: InnerWorld
    deleting_since: float | None = None

    def one_pass(self) -> PassResult:
        if self.deleting and self.deleting_since is None:
            self.deleting_since = self.world.clock.now()
        self.world.machine.once()
        return super().one_pass()


def _lagging(lag: float, tag_lag: float, restless: bool) -> Fresh:
    return partial(InnerWorld, ReadLags(lag, lag, tag_lag, restless))


INNER = replace(MAPPED, world=InnerWorld, read_lags=_lagging)


def _forged() -> Iterator[Case]:
    """Marks of an owner within ours that are copied or made up, on a stranger's resource and on ours."""
    for crash in catalogue.NO_CRASH_TOO:
        numbers = range(INNER.stands, INNER.last, 5)
        yield from catalogue.meddling(InnerWorld, "pretend", ("disk", "hub"), crash, numbers)
        yield from catalogue.meddling(InnerWorld, "claim_within", ("disk", "hub"), crash, numbers)


def families() -> Families:
    """Faults at every call of the cluster, while its machine works in the same cloud."""
    table = {
        "crashes": lambda: crashes(InnerWorld),
        "single faults": lambda: catalogue.single_faults(INNER),
        "late effects": lambda: catalogue.late_effects(INNER),
        "delete after a crash": lambda: catalogue.delete_after_crash(INNER),
        "journal rolled back, object deleted": lambda: catalogue.rolled_back_and_deleted(INNER),
        "lags and reads that step back": lambda: catalogue.lags(INNER),
        "marks of a machine that are forged": _forged,
    }
    return {f"{name}, with a machine{SUFFIX}": family for name, family in table.items()}
