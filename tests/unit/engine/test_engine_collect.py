"""In the middle of a delete what others made in the network is collected: after our own, before the network goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from freehold.engine import errors
from freehold.engine.collection import ALL, KIND, Collected, Prove, Site
from freehold.engine.inventory import TagsByTarget
from freehold.engine.journal import Entry, RecordState
from freehold.engine.kinds import Registry
from freehold.engine.outcomes import Blocked, Outcome, Reason, Waiting
from freehold.engine.resources import NodeKey
from lab.life import Life
from lab.network import TRAITS, VPC, NetworkWorld
from lab.outage import outage

OF_THE_NETWORK = ("vpc", "gate", "nat", "table", "group")
LOOKING = Collected(False, {"look": Waiting(Reason.COLLECTING, 15.0, "are looked for")}, ("a note",))
HELD = Collected(False, {"policy": Blocked(Reason.COLLECTION_UNREADABLE, "an annotation makes no sense")})


@dataclass
class Collector:
    """Says what it is told to; ``asked``: what was there, where it was told to look, and whether something was held."""

    life: Life
    answer: Collected = LOOKING
    asked: list[tuple[list[str], Site | Outcome, bool]] = field(default_factory=list)

    async def sweep(self, prove: Prove, *, refused: bool) -> Collected:
        there = sorted(thing.kind for thing in self.life.world.living() if thing.ours)
        self.asked.append((there, await prove(), refused))
        return self.answer

    @property
    def sites(self) -> list[Site | Outcome]:
        return [site for _, site, _ in self.asked]


class Denying:
    """Machines and such, of which the index cannot be asked."""

    kinds = ("Machine",)
    registry = Registry(())

    async def find_inner_targets(self, uuid: str) -> TagsByTarget:
        raise errors.Denied("no permission")


def collected(of: Sequence[str] = OF_THE_NETWORK, world: NetworkWorld | None = None) -> tuple[Life, Collector]:
    """An object at rest, ``of`` whose kinds wait for the collection."""
    life = Life(world or NetworkWorld())
    life.create()
    collector = Collector(life)
    kinds = [
        replace(
            kind, deletion=replace(kind.deletion, after_collection=kind.name in of, holds_external=kind.name == "vpc")
        )
        for kind in life.deps.registry.values()
    ]
    life.deps = replace(life.deps, registry=Registry(kinds), collection=collector)
    life.deleting = True
    return life, collector


def run(life: Life, seconds: float = 600.0) -> None:
    end = life.world.clock.now() + seconds
    while not life.released and life.world.clock.now() < end:
        done = life.once()
        life.world.clock.advance(max(done.after, 0.1) if done else 0.1)


def kinds_left(life: Life) -> set[str]:
    return {thing.kind for thing in life.world.living() if thing.ours}


def test_nothing_of_the_network_goes_before_the_collection_is_done() -> None:
    life, collector = collected()
    run(life)
    assert kinds_left(life) == set(OF_THE_NETWORK)
    assert life.last is not None
    waiting = {key: outcome for key, outcome in life.last.outcomes.items() if key.kind in OF_THE_NETWORK}
    assert waiting.keys() == {key for key in life.journal.claimed if key.kind != "role"}
    assert {getattr(outcome, "reason", None) for outcome in waiting.values()} == {Reason.DEPENDENTS}
    assert life.last.collection == LOOKING
    collector.answer = Collected(done=True)
    run(life)
    assert life.released
    assert not kinds_left(life)


@pytest.mark.parametrize("answer", [LOOKING, Collected(False)], ids=["says why", "says nothing"])
def test_an_object_without_anything_of_a_network_is_not_released_before_either(answer: Collected) -> None:
    life, collector = collected(of=())
    collector.answer = answer
    run(life)
    assert not kinds_left(life)
    assert not life.released
    collector.answer = Collected(done=True)
    run(life)
    assert life.released


def test_the_collection_begins_when_the_deletes_of_what_goes_before_were_taken() -> None:
    """As long as a load balancer of ours is there, so may be the controllers."""
    life, collector = collected()
    assert isinstance(life.world, NetworkWorld)
    with outage(life, "delete_role", errors.InUse("something uses it")):
        run(life)
    assert not collector.asked
    assert life.last is not None
    begin = life.last.outcomes[NodeKey(KIND, ALL)]
    assert isinstance(begin, Waiting)
    assert "role node" in begin.message
    run(life)
    assert collector.asked


def test_the_collection_begins_when_what_hosts_the_controllers_is_seen_gone() -> None:
    """EKS runs the cloud controller in its cluster until that is gone: it would make again what is collected."""
    life, collector = collected(
        world=NetworkWorld(traits=TRAITS | {"role": replace(TRAITS["role"], delete_time=300.0)})
    )
    kinds = [
        replace(kind, deletion=replace(kind.deletion, before_collection=kind.name == "role"))
        for kind in life.deps.registry.values()
    ]
    life.deps = replace(life.deps, registry=Registry(kinds))
    run(life, 250.0)
    assert not collector.asked
    run(life)
    there, _, _ = collector.asked[0]
    assert there == sorted([*OF_THE_NETWORK, "group"])


def test_it_stops_while_a_machine_of_the_cluster_may_be_there() -> None:
    """A machine may come after the collection has begun; whether one is there cannot be told now."""
    life, collector = collected()
    run(life, 60.0)
    asked = len(collector.asked)
    life.deps = replace(life.deps, inner=Denying())
    run(life, 60.0)
    assert len(collector.asked) == asked


def test_what_stays_because_nobody_knows_whose_it_is_does_not_hold_the_collection_up() -> None:
    life, collector = collected()
    assert isinstance(life.world, NetworkWorld)
    life.world.strip("role")
    run(life, 1200.0)
    assert "role" in kinds_left(life)
    assert collector.asked


@pytest.mark.parametrize("of", [OF_THE_NETWORK, ()], ids=["before the network", "before the release"])
def test_it_is_asked_once_a_pass(of: Sequence[str]) -> None:
    life, collector = collected(of)
    collector.answer = HELD
    run(life)
    asked = len(collector.asked)
    life.once()
    assert len(collector.asked) == asked + 1


def test_the_network_is_what_our_marks_prove_now() -> None:
    life, collector = collected()
    run(life, 60.0)
    assert collector.sites[-1] == Site(life.owner, life.journal.entries[VPC].id)


def test_a_network_that_lost_its_marks_is_nobodys() -> None:
    life, collector = collected()
    assert isinstance(life.world, NetworkWorld)
    life.world.strip("vpc")
    run(life, 60.0)
    assert set(collector.sites) == {Site(life.owner)}


def test_a_strangers_network_in_the_record_is_nobodys() -> None:
    life, collector = collected()
    assert isinstance(life.world, NetworkWorld)
    life.world.namesake("vpc")
    theirs = life.world.strangers_id("vpc")
    forged = replace(life.journal.entries[VPC], id=theirs)
    life.rewrite(replace(life.journal, entries={**life.journal.entries, VPC: forged}))
    run(life, 60.0)
    assert all(site != Site(life.owner, theirs) for site in collector.sites)


def test_a_network_that_the_user_gives_needs_no_marks() -> None:
    life, collector = collected()
    assert isinstance(life.world, NetworkWorld)
    life.world.namesake("vpc")
    theirs = life.world.strangers_id("vpc")
    life.world.strip("vpc")
    given = Entry(RecordState.GIVEN, id=theirs)
    life.rewrite(replace(life.journal, entries={**life.journal.entries, VPC: given}))
    run(life, 60.0)
    assert set(collector.sites) == {Site(life.owner, theirs, given=True)}


def test_a_network_that_cannot_be_read_now_is_not_taken_for_gone() -> None:
    life, collector = collected()
    run(life, 60.0)
    with outage(life, "list_vpc", errors.Unavailable("503")):
        run(life, 60.0)
    assert isinstance(collector.sites[-1], Waiting | Blocked)


def test_a_network_whose_marks_cannot_be_read_now_is_not_taken_for_anothers() -> None:
    life, collector = collected()
    assert isinstance(life.world, NetworkWorld)
    life.world.strip("vpc")
    run(life, 60.0)
    with outage(life, "tags_of_each", errors.Unavailable("503")):
        run(life, 60.0)
    assert isinstance(collector.sites[-1], Waiting | Blocked)


def test_a_network_that_has_gone_holds_nothing() -> None:
    life, collector = collected(of=("role",))
    run(life)
    assert kinds_left(life) == {"role"}
    assert collector.sites[-1] == Site(life.owner)


def test_it_hears_that_something_holds_the_network() -> None:
    """What came after the last look holds it: it is looked for again."""
    life, collector = collected()
    collector.answer = Collected(done=True)
    with outage(life, "delete_vpc", errors.InUse("something is in it")):
        run(life)
        assert not collector.asked[0][2]
        assert collector.asked[-1][2]
        assert kinds_left(life) == {"vpc"}
    run(life)
    assert life.released
