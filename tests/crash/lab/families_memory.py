"""The families on the in-memory cloud, by name: those of CI, and those that only ``make crash-pairs`` runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from freehold.engine.graph import Naming, Node
from lab import (
    catalogue,
    catalogue_forgeries,
    catalogue_keys,
    catalogue_more,
    catalogue_restores,
    catalogue_tokens,
    inner,
    mapped,
    neighbour,
    two_lives,
)
from lab.catalogue import Families, Ground
from lab.cloud import ReadLags
from lab.families import UNMEASURED, Case, Named, crashes
from lab.life import Course, Life
from lab.oracles import NO_EXCUSE, Excuse
from lab.world import MemoryWorld, node, standard

TAGGED = ("net", "site", "disk", "balancer", "wall", "hub")
GIVEN = partial(MemoryWorld, given_hub=True)
EXPLICIT = partial(MemoryWorld, nodes=standard(net=Naming.EXPLICIT))


def _lagging_world(lag: float, tag_lag: float, restless: bool) -> Callable[[], MemoryWorld]:
    return partial(MemoryWorld, ReadLags(lag, lag, tag_lag, restless))


def edit(**change: object) -> Callable[[Course], object]:
    return lambda life: life.world.edit(**change)  # type: ignore[attr-defined]  # the in-memory world


def _edits() -> Iterator[tuple[str, tuple[Callable[[Course], object], Excuse]]]:
    for leaf in ("disk/data", "balancer/web", "link/a", "rule/ssh", "record/www", "ticket/seat", "site/home"):
        yield f"without {leaf}", (edit(drop=leaf), Excuse(surplus=True))
        yield f"{leaf} renamed", (edit(rename=leaf), NO_EXCUSE)
    yield "one more disk", (edit(add=node("disk/more", "net/main")), NO_EXCUSE)


def _namesake_nodes() -> list[Node]:
    """As usual, but with the names of old strangers, so that lists show both."""
    return [n if n.key.kind != "net" else node("net/main", size=1, name="c1-net") for n in standard()]


MEMORY = Ground(
    world=MemoryWorld,
    read_lags=_lagging_world,
    kinds=("net", "site", "disk", "balancer", "wall", "ticket", "rule", "record", "hub", "link"),
    tagged=TAGGED,
    loose=TAGGED,
    hosts=("site",),
    named=(EXPLICIT, ("net",)),
    branded=(
        partial(MemoryWorld, nodes=_namesake_nodes(), old_strangers=("net", "site", "disk", "hub")),
        ("net", "site", "disk", "hub"),
    ),
    edits=dict(_edits()),
    step=5,
    first_creates=range(4, 12),
    fails=("net", "site", "disk", "balancer", "wall", "ticket", "rule", "record", "hub", "link"),
)
LINKED = partial(
    MemoryWorld,
    nodes=[node("net/main", size=1), node("hub/core"), node("link/a", "hub/core", "net/main")],
    given_hub=True,
)
"""Only a link on a given hub and its needs: few calls, so that each one can be tried."""
RECOGNISABLE = partial(
    MemoryWorld,
    nodes=[n for n in standard() if n.key.kind in ("net", "site", "balancer", "hub", "link")],
)
"""Only kinds with a mark or a nonce: without record and spec the names of others are unknown."""
UNMARKABLE = ("ticket", "rule", "record")
VICTIMS = partial(MemoryWorld, old_strangers=UNMARKABLE)


SMALL = partial(MemoryWorld, nodes=[node("net/main", size=1)])


def _wants_more(life: Course) -> None:
    """A site, which nothing else holds, and a hub with a link."""
    world = RECOGNISABLE()
    assert isinstance(life, Life)
    life.world.nodes = world.nodes


def _wants_nothing(life: Course) -> None:
    assert isinstance(life, Life)
    life.world.nodes = []


def _struck_on_a_given_carrier() -> Iterator[Case]:
    """Its mark is on somebody else's resource, and must not stay there."""
    for crash in catalogue.NO_CRASH_TOO:
        yield from catalogue.meddling(GIVEN, "strike", ("link",), crash, MEMORY.moments)


FAMILIES: Families = {
    **catalogue.families(MEMORY),
    "crashes, carrier given": lambda: crashes(GIVEN),
    "delete after a crash, carrier given": lambda: crashes(GIVEN, on_crash=catalogue.delete_now),
    "carried resource deleted, carrier given": _struck_on_a_given_carrier,
    **catalogue_more.more(MEMORY),
    **catalogue_more.lagging(MEMORY, 30),
    **catalogue_restores.given_families(MEMORY, GIVEN, LINKED),
    **catalogue_restores.refused_families(replace(MEMORY, world=RECOGNISABLE), _wants_nothing),
    "restored from before an edit": lambda: catalogue_restores.before_an_edit(SMALL, _wants_more, 40),
    **catalogue_tokens.families(MEMORY),
    **catalogue_keys.families(MEMORY, catalogue_keys.KeyedWorld),
    **two_lives.twin_families(MEMORY),
    **neighbour.families(MEMORY),
    **catalogue_forgeries.families(MEMORY, LINKED, UNMARKABLE, VICTIMS, range(24)),
    **mapped.families(),
    **inner.families(),
}
PAIRS = partial(catalogue.pairs, MEMORY)

NAMED: Mapping[str, Named] = {
    "journal rolled back one write": Named(0, 24),
    "journal rolled back, object deleted": Named(0, 26),
    "journal rolled back, create in flight": Named(0, 16),
    "journal rolled back far": Named(6, 136),
    "an outage when a restored process comes back": Named(0, 22),
    "journal restored while the process lives": Named(1, 94),
    "journal restored while the process lives, object deleted": Named(1, 94),
    "journal restored while the process lives, then a crash": Named(0, 60),
    "journal rolled back, a read fails": Named(0, 204),
    "journal restored under a wrong clock": Named(0, 48),
    "journal rolled back, carrier given": Named(0, 24),
    "journal rolled back and deleted, carrier given": Named(0, 26),
    "journal rolled back, create in flight, carrier given": Named(0, 16),
    "journal rolled back, a read fails, carrier given": Named(1, 204),
    "the token of another request": Named(0, 816),
    "the token of another request, refused at first": Named(0, 223),
    "a new writing key, journal rolled back": Named(1, 62),
    "forged seals beside a restored journal": Named(1, 62),
    "forged ids of unmarkable kinds": Named(0, 46),
    "every family in a lagging cloud": Named(0, 334),
    "journal rolled back, object deleted, carrier given, tags are a map": Named(0, 8),
    "our tags stripped": Named(0, UNMEASURED),
    "our tags stripped, tags are a map": Named(0, UNMEASURED),
    "a value of another's on what is given, tags are a map": Named(2, UNMEASURED),
    "journal rolled back one write, tags are a map": Named(0, 12),
    "journal rolled back, create in flight, tags are a map": Named(0, 8),
    "journal rolled back, object deleted, tags are a map": Named(0, 12),
    "journal rolled back, object deleted, with a machine, tags are a map": Named(0, 14),
    "journal rolled back, a read fails, tags are a map": Named(0, 102),
    "an outage when a restored process comes back, tags are a map": Named(0, 11),
    "journal restored while the process lives, then a crash, tags are a map": Named(0, 16),
    "journal restored under a wrong clock, tags are a map": Named(0, 24),
}
