"""Lists that many objects share: they save reads, and nothing is proven or changed because of what they show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from freehold.lifecycle import errors
from freehold.lifecycle.clock import ManualClock
from freehold.lifecycle.journal import Entry, Phase
from freehold.lifecycle.kinds import Listed, NodeKey, Observed, Ref, Registry, State
from freehold.lifecycle.outcomes import Ready
from freehold.lifecycle.port import InlinePort, step
from freehold.lifecycle.shared_lists import WINDOW, SharedLists
from lab.cloud import Cloud, ReadLags
from lab.life import Life
from lab.world import TRAITS, MemoryWorld, kinds, node

REF = Ref("net-1")
AGE = 60.0
HUB = NodeKey("hub", "core")


class Counted:
    """One list, whose readings are counted."""

    page = 100

    def __init__(self, *ids: str) -> None:
        self.ids = ids
        self.read = 0
        self.error: errors.CloudError | None = None

    def list_of(self, ref: Ref) -> str:
        return ""

    async def listed(self, name: str) -> Sequence[Listed]:
        self.read += 1
        if self.error is not None:
            raise self.error
        return [Listed(Observed(ident, ident, State.READY)) for ident in self.ids]


def _lists(listing: Counted, clock: ManualClock) -> SharedLists:
    net = kinds(Cloud(TRAITS, ReadLags(), clock), InlinePort())[0]
    return SharedLists(Registry([replace(net, listing=listing)]), clock)


def _show(lists: SharedLists, asker: str) -> bool:
    return bool(step(lists.show("net", [REF], asker, AGE)))


def test_one_object_does_not_pay_for_a_list_and_the_second_does() -> None:
    """An account may have thousands of resources of others."""
    listing, clock = Counted("net-1"), ManualClock()
    lists = _lists(listing, clock)
    assert not _show(lists, "a")
    assert not _show(lists, "a")
    assert _show(lists, "b")
    assert _show(lists, "a")
    assert listing.read == 1


def _shared(listing: Counted, clock: ManualClock) -> SharedLists:
    """Two objects have asked, so the list was read once."""
    lists = _lists(listing, clock)
    _show(lists, "a")
    _show(lists, "b")
    return lists


def test_a_list_of_more_pages_than_objects_is_not_read_again() -> None:
    listing, clock = Counted(*(f"net-{n}" for n in range(1000))), ManualClock()
    lists = _lists(listing, clock)
    for _ in range(5):
        for asker in ("a", "b", "c"):
            _show(lists, asker)
        clock.advance(AGE + 1)
    assert listing.read == 1


def test_a_list_is_read_again_when_it_is_too_old() -> None:
    """Drift is seen after the interval of looks and the age of a list at the latest."""
    listing, clock = Counted("net-1"), ManualClock()
    lists = _shared(listing, clock)
    clock.advance(AGE - 1)
    _show(lists, "a")
    assert listing.read == 1
    clock.advance(2)
    _show(lists, "a")
    assert listing.read == 2


def test_an_object_that_no_longer_asks_pays_for_nothing() -> None:
    listing, clock = Counted("net-1"), ManualClock()
    lists = _shared(listing, clock)
    clock.advance(WINDOW + 1)
    assert not _show(lists, "a")
    assert listing.read == 1


def test_a_list_that_cannot_be_read_shows_nothing() -> None:
    """Each resource is asked for by its id then, and what is wrong is told by that read."""
    listing, clock = Counted("net-1"), ManualClock()
    lists = _lists(listing, clock)
    listing.error = errors.Denied("may not list")
    _show(lists, "a")
    assert not _show(lists, "b")


# --- the engine on such lists ----------------------------------------------------------------------


def _idle(*nodes: str) -> tuple[MemoryWorld, Life]:
    world = MemoryWorld(nodes=[node(key) for key in nodes]) if nodes else MemoryWorld()
    life = Life(world)
    life.create()
    return world, life


def _look(life: Life) -> list[str]:
    """The operations of one deep pass."""
    life.state.deep_at = float("-inf")
    before = len(life.port.calls)
    life.once()
    return [call.operation for call in life.port.calls[before:]]


def test_a_look_confirms_by_lists_and_reads_nothing_by_id() -> None:
    _, life = _idle("net/main", "site/home", "hub/core")
    operations = _look(life)
    assert any(operation.startswith("list_all_") for operation in operations)
    assert not [operation for operation in operations if operation in {f"list_{kind}" for kind in TRAITS}]


@pytest.mark.parametrize("lag", (0.0, 10.0))
def test_what_a_list_leaves_out_is_asked_for_by_its_id_and_stays(lag: float) -> None:
    """A list may miss a page: nothing is created, forgotten or reported because of it."""
    world, life = _idle("site/home", "hub/core")
    world.cloud.read_lags = replace(world.cloud.read_lags, list_lag=lag, restless=True)
    before = life.stored.text
    for _ in range(4):
        _look(life)
        world.clock.advance(AGE + 1)
    assert life.stored.text == before
    assert len(world.living()) == 2


def _renamed(world: MemoryWorld, ident: str) -> None:
    world.cloud.rename(ident, "another", "stranger")


def _resized(world: MemoryWorld, ident: str) -> None:
    world.cloud.change(ident, "size", 7, "stranger")


@pytest.mark.parametrize(
    ("key", "meddle"), (("hub/core", _renamed), ("site/home", _renamed)), ids=("a hub is renamed", "a site is renamed")
)
def test_drift_that_a_list_shows_is_read_itself_before_it_is_mended(
    key: str, meddle: Callable[[MemoryWorld, str], None]
) -> None:
    """The list may be behind our own change."""
    world, life = _idle(key)
    (thing,) = world.living()
    meddle(world, thing.id)
    operations = _look(life)
    kind = key.partition("/")[0]
    assert operations.index(f"list_{kind}") < operations.index(f"rename_{kind}")


def test_a_list_that_is_behind_our_own_change_causes_none() -> None:
    """After a restart only the list tells of it: what it shows is asked for before it is changed."""
    world, life = _idle("hub/core")
    (hub,) = world.living()
    _renamed(world, hub.id)
    world.cloud.read_lags = ReadLags(list_lag=300.0)
    world.cloud.rename(hub.id, "c1-core", "freehold")
    life.restart()
    writes = life.port.writes
    life.create()
    assert life.port.writes == writes


def test_a_resource_that_is_gone_is_created_again_although_lists_still_show_it() -> None:
    world, life = _idle("hub/core")
    (hub,) = world.living()
    world.strike("hub")
    world.cloud.read_lags = ReadLags(list_lag=30.0)
    life.create()
    while not world.living():
        _look(life)
        world.clock.advance(60.0)
        assert world.clock.monotonic() < 50_000
    assert world.living()[0].id != hub.id


def test_a_part_that_a_list_does_not_show_is_asked_for_before_it_is_added() -> None:
    world, life = _idle()
    wall = next(resource for resource in world.cloud.living() if resource.kind == "wall")
    del wall.parts[next(iter(wall.parts))]
    operations = _look(life)
    assert operations.index("parts_wall") < operations.index("add_part_wall")


def test_what_its_own_read_did_not_find_is_not_confirmed_by_a_list() -> None:
    """A list may show it for a while: its absence would be forgotten, and counted from the start."""
    world, life = _idle("hub/core")
    world.strike("hub")
    _look(life)
    assert life.state.node(HUB).absent_since is not None
    world.cloud.read_lags = ReadLags(list_lag=3600.0)
    _look(life)
    assert life.state.node(HUB).absent_since is not None


def test_a_failed_resource_is_asked_for_itself() -> None:
    """A person repairs it: a list alone could also be behind its failure."""
    _, life = _idle("hub/core")
    seen = life.state.node(HUB).observed
    life.state.node(HUB).last_seen = replace(seen, state=State.FAILED)
    assert "list_hub" in _look(life)
    assert isinstance(life.last and life.last.outcomes[HUB], Ready)


def test_a_record_that_is_not_signed_is_judged_by_marks_that_the_pass_reads() -> None:
    """Somebody edited the object: what the index showed for all objects some time ago is no proof."""
    _, life = _idle("hub/core")
    entry = life.journal.entries[HUB]
    life.rewrite(replace(life.journal, entries={HUB: replace(entry, signature="forged")}))
    operations = _look(life)
    assert "search" in operations
    assert "search_all" not in operations


def test_what_a_shared_index_shows_unrecorded_goes_on_record_by_marks_that_the_pass_reads() -> None:
    world, life = _idle("hub/core", "site/home")
    life.rewrite(replace(life.journal, entries={HUB: life.journal.entries[HUB]}))
    world.nodes = [node("hub/core")]
    operations = _look(life)
    assert operations.index("search") < operations.index("save_journal")
    assert any(key.kind == "site" for key in life.journal.entries)


def test_a_pass_that_proves_something_asks_no_shared_list() -> None:
    """A mark that was attached a moment ago is read back by the pass itself."""
    life = Life(MemoryWorld())
    while life.journal.open or not life.journal.entries or any(e.phase is Phase.RECORDED for e in _ours(life)):
        life.once()
        life.world.clock.advance(5.0)
    operations = [call.operation for call in life.port.calls]
    assert not [operation for operation in operations if operation.startswith(("list_all_", "search_all"))]


def _ours(life: Life) -> Sequence[Entry]:
    return list(life.journal.ours.values())


# --- what a look by lists must not confirm ---------------------------------------------------------


def test_stripped_marks_are_seen_by_a_look_and_attached_again() -> None:
    world, life = _idle("hub/core")
    hub = world.cloud.living()[0]
    world.strip("hub")
    for _ in range(3):
        _look(life)
        world.clock.advance(AGE + 1)
    assert hub.tagged(world.cloud.now())


def test_a_claim_of_another_owner_is_not_overlooked_when_drift_is_mended() -> None:
    """Marks are read again, for this object, before anything is changed."""
    world, life = _idle("hub/core")
    _look(life)
    hub = world.cloud.living()[0]
    world.claim_owner("hub")
    _renamed(world, hub.id)
    world.clock.advance(AGE + 1)
    operations = _look(life)
    assert "rename_hub" not in operations
    assert "search" in operations


def test_a_missing_rule_is_not_confirmed() -> None:
    world, life = _idle()
    wall = next(resource for resource in world.cloud.living() if resource.kind == "wall")
    wall.parts.clear()
    assert "add_part_wall" in _look(life)
