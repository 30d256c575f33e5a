"""A world in which tags are a map that knows case, as on AWS, and the families of faults in it.

Few resources, with capitals in their names: of each way in which marks and tags get onto one. What is
special here is that others may have written a value under a key of ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from freehold.engine.graph import Node
from freehold.engine.keyed_codec import KeyedCodec
from freehold.engine.outcomes import Reason
from freehold.engine.ownership import Codec
from lab import catalogue, catalogue_more
from lab.catalogue import Families, Fresh, Ground
from lab.cloud import ReadLags
from lab.families import Case, crashes
from lab.life import Life
from lab.oracles import NO_EXCUSE, Excuse
from lab.world import MemoryWorld, node

CODEC = KeyedCodec()
SUFFIX = ", tags are a map"
"""Of the names of these families."""
TEAM = CODEC.user("team", "red")
CLUSTER = "kubernetes.io/cluster/c1"


def _role(role: str) -> frozenset[str]:
    return frozenset({CODEC.user("example.io/role", role)})


def _nodes() -> list[Node]:
    shared = frozenset({CODEC.user(CLUSTER, "shared")})
    owned = frozenset({CODEC.user(CLUSTER, "owned")})
    return [
        node("net/Main", size=1, tags=_role("common") | {CODEC.user("Name", "c1-Main")}),
        node("disk/Data", "net/Main", tags=_role("data")),
        node("balancer/Web", "net/Main", tags=_role("apiserver")),
        node("hub/Core", tags=owned, given_tags=shared),
        node("site/Home", tags=_role("site")),
        node("wall/Services", "net/Main", tags=owned, shared=True, notes="ours"),
        node("link/A", "hub/Core", "net/Main"),
    ]


@dataclass
class MappedWorld(MemoryWorld):
    """Seven resources; ``given_hub``: one of them is somebody else's, and another one's mark is on it."""

    nodes: Any = field(default_factory=_nodes)
    codec: Codec = CODEC

    def given_node(self, hub: str) -> Node:
        return node("hub/Core", given=hub, given_tags={CODEC.user(CLUSTER, "shared")})

    def begin(self, **how: Any) -> Life:
        return super().begin(user_tags=frozenset({TEAM}), **how)

    def _without_carried(self, tags: frozenset[str]) -> frozenset[str]:
        """A mark has the whole id here, so that a copy on another carrier is seen to be one: it stays, and is told."""
        return tags

    def write_team(self, kind: str) -> None:
        """Somebody has a value under the user's key."""
        self._write(kind, CODEC.user("team", "theirs"))

    def write_role(self, kind: str) -> None:
        """Somebody has a value under a key of the node's tags."""
        self._write(kind, CODEC.user("example.io/role", "theirs"))

    def write_seal(self, kind: str) -> None:
        """Somebody has a value in place of the proof."""
        self._write(kind, CODEC.user("freehold.dev/seal", "a-copied-one"))

    def provide(self, kind: str) -> None:
        """The in-cluster provider opens a port in what was handed to it, and describes it."""
        handed = self.ours(kind)
        if handed is not None:
            self.cloud.provide(handed.id, "allow", "30080", notes="the provider's")

    def write_on_given(self, kind: str) -> None:
        """Its owner has a value under the user's key, and under the node's."""
        theirs = next(r for r in self.cloud.living() if r.kind == kind and r.creator == "stranger")
        tags = frozenset({CODEC.user("team", "theirs"), CODEC.user(CLUSTER, "theirs")})
        self.cloud.attach(theirs.target, tags, by="stranger")

    def write_carried(self, kind: str) -> None:
        """The carrier's owner has a value under the key of our mark there."""
        hub = next(r for r in self.cloud.living() if r.kind == "hub")
        marks = [tag for tag in hub.tagged(self.cloud.now()) if CODEC.read([tag]).carried]
        self.cloud.attach(hub.target, frozenset(CODEC.user(CODEC.key(tag), "theirs") for tag in marks), by="stranger")

    def _write(self, kind: str, tag: str) -> None:
        written = self.ours(kind)
        if written is not None:
            self.cloud.attach(written.target, frozenset({tag}), by="stranger")


def _lagging(lag: float, tag_lag: float, restless: bool) -> Fresh:
    return partial(MappedWorld, ReadLags(lag, lag, tag_lag, restless))


def _edit_tags(life: Any, key: str, tags: frozenset[str]) -> None:
    world = life.world
    world.nodes = [replace(n, tags=tags) if str(n.key) == key else n for n in world.nodes]


TAGGED = ("net", "disk", "balancer", "site", "wall", "hub")
GIVEN = partial(MappedWorld, given_hub=True)
MAPPED = Ground(
    world=MappedWorld,
    read_lags=_lagging,
    kinds=(*TAGGED, "link"),
    tagged=TAGGED,
    loose=TAGGED,
    hosts=("site",),
    named=(MappedWorld, ("net",)),
    branded=(partial(MappedWorld, old_strangers=("net", "disk", "hub")), ("net", "disk", "hub")),
    edits={
        "another role of the disk": (lambda life: _edit_tags(life, "disk/Data", _role("other")), NO_EXCUSE),
        "no tags of the balancer": (lambda life: _edit_tags(life, "balancer/Web", frozenset()), NO_EXCUSE),
        "site renamed": (lambda life: life.world.edit(rename="site/Home"), NO_EXCUSE),
        "without the link": (lambda life: life.world.edit(drop="link/A"), Excuse(surplus=True)),
    },
    step=5,
    stripped=(Reason.NAME_TAKEN,),
    first_creates=range(4, 10),
    fails=TAGGED,
)


def others_values() -> Iterator[Case]:
    """Somebody writes a value under a key of ours, once everything stands: it is told, and stays."""
    numbers = range(MAPPED.stands, MAPPED.begun, 2)
    for crash in catalogue.NO_CRASH_TOO:
        for deed in ("write_team", "write_role", "write_seal"):
            yield from catalogue.meddling(MappedWorld, deed, TAGGED, crash, numbers, [Reason.TAG_TAKEN])


def others_values_on_given() -> Iterator[Case]:
    """The owner of what is given writes under our keys: it stays, also when the object goes."""
    given = replace(MAPPED, world=GIVEN)
    for crash in catalogue.NO_CRASH_TOO:
        numbers = range(given.stands, given.begun, 2)
        yield from catalogue.meddling(GIVEN, "write_on_given", ("hub",), crash, numbers)
        yield from catalogue.meddling(GIVEN, "write_carried", ("link",), crash, numbers, [Reason.TAG_TAKEN])


def handed_over() -> Iterator[Case]:
    """The in-cluster provider works on what is shared with it: nothing of that is undone, and it goes with the rest."""
    for crash in catalogue.NO_CRASH_TOO:
        yield from catalogue.meddling(MappedWorld, "provide", ("wall",), crash, MAPPED.moments)


def families() -> Families:
    """All families that a world has, and those in which tags that are a map matter."""
    table = {
        **catalogue.families(MAPPED),
        **catalogue_more.more(MAPPED),
        "another's value under a key of ours": others_values,
        "a value of another's on what is given": others_values_on_given,
        "the in-cluster provider at work on what is shared": handed_over,
        "crashes, carrier given": lambda: crashes(GIVEN),
        "delete after a crash, carrier given": lambda: crashes(GIVEN, on_crash=catalogue.delete_now),
        "journal rolled back, object deleted, carrier given": lambda: crashes(GIVEN, on_crash=_restored_and_deleted),
    }
    return {f"{name}{SUFFIX}": family for name, family in table.items()}


def _restored_and_deleted(life: Any) -> None:
    life.roll_back()
    life.deleting = True
