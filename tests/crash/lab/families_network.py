"""The families on a network with parts, by name (:mod:`lab.network`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from freehold.engine.graph import Naming
from lab import catalogue, catalogue_forgeries, catalogue_keys, catalogue_more, catalogue_restores
from lab.at_once import AtOnceNetwork
from lab.catalogue import Families, Ground
from lab.cloud import ReadLags
from lab.families import Case, Named, crashes
from lab.life import Course, Life
from lab.network import NetworkWorld, network
from lab.oracles import NO_EXCUSE, Excuse
from lab.world import node

KINDS = ("vpc", "gate", "nat", "table", "group", "role")
UNNAMED = ("role",)
"""Of these a namesake is used where the spec names it."""


def _lagging(lag: float, tag_lag: float, restless: bool) -> Callable[[], NetworkWorld]:
    return partial(NetworkWorld, ReadLags(lag, lag, tag_lag, restless))


def _edit(**change: object) -> Callable[[Course], object]:
    return lambda life: life.world.edit(**change)  # type: ignore[attr-defined]  # the in-memory world


def _edits() -> Iterator[tuple[str, tuple[Callable[[Course], object], Excuse]]]:
    for leaf in ("table/private", "role/node"):
        yield f"without {leaf}", (_edit(drop=leaf), Excuse(surplus=True))
    yield "one more role", (_edit(add=node("role/more")), NO_EXCUSE)


EXPLICIT = partial(
    NetworkWorld, nodes=[n if n.key.kind != "role" else node("role/node", naming=Naming.EXPLICIT) for n in network()]
)
NETWORK = Ground(
    world=NetworkWorld,
    read_lags=_lagging,
    kinds=KINDS,
    tagged=KINDS,
    loose=("role", "table"),
    hosts=("vpc",),
    named=(EXPLICIT, UNNAMED),
    branded=(partial(NetworkWorld, old_strangers=KINDS), KINDS),
    edits=dict(_edits()),
    step=5,
    first_creates=range(4, 12),
    fails=KINDS,
)


@dataclass
class KeyedNetwork(NetworkWorld, catalogue_keys.KeyedWorld):
    """With a ring that changes."""


def routes_of_others(on: Ground) -> Iterator[Case]:
    """Somebody adds a route to our table, alone or while the process dies: it stays until the table goes."""
    for crash in catalogue.NO_CRASH_TOO:
        yield from catalogue.meddling(on.world, "drop_in", ("table",), crash, range(on.last))


def parts_undone(on: Ground) -> Iterator[Case]:
    """Somebody takes our parts out, or lets them do something else."""
    for crash in catalogue.NO_CRASH_TOO:
        for deed in ("take_out", "redirect"):
            yield from catalogue.meddling(on.world, deed, ("gate", "table", "group"), crash, on.moments)


def _families(on: Ground) -> Families:
    return {
        **catalogue.families(on),
        **catalogue_more.more(on),
        **catalogue_keys.families(on, KeyedNetwork),
        "forged seals": lambda: catalogue_forgeries.seals(on),
        "forged seals beside a restored journal": lambda: catalogue_forgeries.seals_and_restore(on),
        "a spy who knows the nonce": lambda: catalogue_forgeries.spies(on),
        "routes of others": partial(routes_of_others, on),
        "parts taken out or redirected": partial(parts_undone, on),
    }


SMALL = partial(NetworkWorld, nodes=[each for each in network() if each.key.kind == "vpc"])


def _wants_more(life: Course) -> None:
    assert isinstance(life, Life)
    life.world.nodes = network()


NO_TAG_API = partial(NetworkWorld, tag_api=False)
FAMILIES: Families = {
    **_families(NETWORK),
    "crashes, the tag API denied": lambda: crashes(NO_TAG_API),
    "single faults, the tag API denied": lambda: catalogue.single_faults(replace(NETWORK, world=NO_TAG_API)),
    "delete after a crash, the tag API denied": lambda: crashes(NO_TAG_API, on_crash=catalogue.delete_now),
    "restored from before an edit": lambda: catalogue_restores.before_an_edit(SMALL, _wants_more, 40),
    **catalogue_more.lagging(NETWORK, 10),
    "crashes, gone at once": lambda: crashes(AtOnceNetwork),
    "single faults, gone at once": lambda: catalogue.single_faults(replace(NETWORK, world=AtOnceNetwork)),
    "delete after a crash, gone at once": lambda: crashes(AtOnceNetwork, on_crash=catalogue.delete_now),
    "crashes, gone at once, every read behind": lambda: crashes(partial(AtOnceNetwork, ReadLags(20, 20, 20, True))),
}
NAMED: Mapping[str, Named] = {}
