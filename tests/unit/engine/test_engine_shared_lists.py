"""Lists that many objects share: they save reads, and nothing is proven or changed because of what they show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from freehold.engine import errors
from freehold.engine.clock import ManualClock
from freehold.engine.context import PassContext
from freehold.engine.drivers import Listed
from freehold.engine.journal import Entry, RecordState
from freehold.engine.keys import KeyRing
from freehold.engine.kinds import Registry
from freehold.engine.outcomes import Blocked, Ready
from freehold.engine.phases import quick_confirm
from freehold.engine.port import InlinePort
from freehold.engine.resources import NodeKey, Observed, Ref, State
from freehold.engine.shared_lists import WINDOW, SharedLists
from harness.stepping import run_blocking
from lab.cloud import Cloud, ReadLags, Resource
from lab.life import Handle, Life
from lab.spelling import PlainCodec
from lab.world import RING, TRAITS, MemoryWorld, kinds, node

REF = Ref("net-1")
AGE = 60.0
HUB = NodeKey("hub", "core")
NEW = KeyRing.single(b"the laboratory's second key, 32 bytes")
BOTH = KeyRing(NEW.writing, {**RING.keys, **NEW.keys})


class Counted:
    """One list, whose readings are counted."""

    page = 100

    def __init__(self, *ids: str) -> None:
        self.ids = ids
        self.read = 0
        self.error: errors.CloudError | None = None

    def list_of(self, ref: Ref) -> str:
        return ""

    async def read_rows(self, name: str) -> Sequence[Listed]:
        self.read += 1
        if self.error is not None:
            raise self.error
        return [Listed(Observed(ident, ident, State.READY)) for ident in self.ids]


def _lists(listing: Counted, clock: ManualClock) -> SharedLists:
    net = kinds(Cloud(TRAITS, ReadLags(), clock), InlinePort())[0]
    return SharedLists(Registry([replace(net, reads=replace(net.reads, listing=listing))]), clock)


def _show(lists: SharedLists, asker: str) -> bool:
    return bool(run_blocking(lists.show("net", [REF], asker, AGE)))


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
    while life.journal.open or not life.journal.entries or any(e.state is RecordState.RECORDED for e in _ours(life)):
        life.once()
        life.world.clock.advance(5.0)
    operations = [call.operation for call in life.port.calls]
    assert not [operation for operation in operations if operation.startswith(("list_all_", "search_all"))]


def _ours(life: Life) -> Sequence[Entry]:
    return list(life.journal.claimed.values())


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


def test_what_lists_showed_is_not_used_by_the_pass_that_goes_on() -> None:
    world, life = _idle("hub/core", "site/home")
    world.strip("site")  # not confirmed, after the lists were read
    life.restart()
    ctx = PassContext(life.deps, life.graph, life.journal, Handle(life.stored), life.state, life.user_tags)
    assert not run_blocking(quick_confirm.confirm_by_lists(ctx))
    assert (ctx.ready_nodes, ctx.outcomes) == ({}, {})


def test_a_reading_from_before_the_last_own_pass_confirms_nothing() -> None:
    """It is younger than a shared reading may be, and older than what this process did since."""
    world, life = _idle("hub/core", "site/home")
    _look(life)  # reads the lists
    world.clock.advance(10.0)
    life.invalidate()
    life.once()
    world.clock.advance(10.0)
    assert [operation for operation in _look(life) if operation.startswith("list_all_")]


def test_one_who_asks_alone_does_not_read_lists_because_others_did_once() -> None:
    listing, clock = Counted("net-1"), ManualClock()
    lists = _shared(listing, clock)
    for seconds, asker in ((WINDOW + 1, "b"), (10, "b"), (WINDOW - 5, "a"), (AGE + 1, "a")):
        clock.advance(seconds)
        shown = _show(lists, asker)
    assert not shown


def test_a_row_of_a_form_that_nobody_knew_hides_a_list_and_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    class Odd(Counted):
        async def read_rows(self, name: str) -> Sequence[Listed]:
            raise KeyError("crn")

    lists = _lists(Odd("net-1"), ManualClock())
    assert not _show(lists, "a")
    assert not _show(lists, "b")
    assert "cannot be read, and is not used: KeyError" in caplog.text


def _failed(world: MemoryWorld, *, is_failed: bool) -> None:
    """The one resource, as the cloud shows it from now on."""
    world.cloud.log[:] = [replace(thing, failed=is_failed) for thing in world.cloud.log]


Alter = Callable[[MemoryWorld, Life], None]


def _on_record(**changes: Any) -> Alter:
    return lambda _, life: life.rewrite(life.journal.put(HUB, replace(life.journal.entries[HUB], **changes)))


def _newer_key(world: MemoryWorld, _: Life) -> None:
    world.ring = BOTH


def _renewed(world: MemoryWorld, life: Life) -> None:
    world.ring = BOTH
    life.restart()
    for _ in range(8):
        life.invalidate()
        life.once()
        world.clock.advance(60.0)
    assert life.journal.keys == {NEW.writing}


def _one_of_an_older_key(world: MemoryWorld, life: Life) -> None:
    """Its record and its marks are from before the renewal of all others."""
    before = life.journal.entries[HUB]
    hub = world.cloud.get(before.id)
    marks = hub.tagged(world.cloud.now())
    _renewed(world, life)
    world.cloud.detach(hub.target, hub.tagged(world.cloud.now()) - marks)
    world.cloud.attach(hub.target, marks)
    life.rewrite(life.journal.put(HUB, before))


def _seal_that_was_not_taken_off(world: MemoryWorld, life: Life) -> None:
    _renewed(world, life)
    target = life.journal.entries[HUB].target
    old = PlainCodec().node(HUB, life.keys.seal(RING.writing, HUB, target))
    world.cloud.attach(target, frozenset({old}), by="freehold")
    world.clock.advance(60.0)


def _no_tags_wanted(_: MemoryWorld, life: Life) -> None:
    life.user_tags = frozenset()


def _not_wanted(world: MemoryWorld, _: Life) -> None:
    world.nodes = [each for each in world.nodes if each.key.kind != "site"]


def _forgotten(world: MemoryWorld, life: Life) -> None:
    life.rewrite(replace(life.journal, entries={k: e for k, e in life.journal.entries.items() if k.kind != "site"}))
    world.nodes = [each for each in world.nodes if each.key.kind != "site"]


def _wall(world: MemoryWorld) -> Resource:
    return next(resource for resource in world.cloud.living() if resource.kind == "wall")


NOT_CONFIRMED: dict[str, Alter] = {
    "its mark was not read back": _on_record(state=RecordState.RECORDED),
    "somebody edited its record": _on_record(signature="forged"),
    "its record is signed with an older key": _newer_key,
    "its record alone is signed with an older key": _one_of_an_older_key,
    "a seal of an older key is on it": _seal_that_was_not_taken_off,
    "a user's tag is not wanted any more": _no_tags_wanted,
    "another resource is not wanted any more": _not_wanted,
    "a resource of ours is on no record": _forgotten,
    "a rule is missing": lambda world, _: _wall(world).parts.clear(),
    "it has failed": lambda world, _: _failed(world, is_failed=True),
}


def _walled() -> tuple[MemoryWorld, Life]:
    nodes = [each for each in MemoryWorld().nodes if each.key.kind in ("hub", "site", "net", "wall")]
    world = MemoryWorld(nodes=nodes)
    life = Life(world)
    life.create()
    return world, life


@pytest.mark.parametrize("alter", NOT_CONFIRMED.values(), ids=NOT_CONFIRMED)
def test_a_new_process_reads_itself_what_lists_must_not_confirm(alter: Alter) -> None:
    world, life = _walled()
    alter(world, life)
    life.restart()
    assert "list_hub" in _look(life)


def test_a_new_process_confirms_by_lists_what_nobody_touched() -> None:
    """Otherwise the test before this one says nothing."""
    _, life = _walled()
    life.restart()
    assert "list_hub" not in _look(life)


def test_a_given_resource_that_does_not_fit_any_more_is_told_of_by_a_new_process() -> None:
    world = MemoryWorld(nodes=[node("hub/core"), node("site/home")], given_hub=True)
    life = Life(world)
    life.create()
    world.nodes = [
        replace(each, given_problem=lambda _: "too small") if each.key == HUB else each for each in world.nodes
    ]
    life.restart()
    _look(life)
    assert isinstance(life.last and life.last.outcomes[HUB], Blocked)


def test_after_a_restore_the_first_look_reads_everything_itself() -> None:
    """Lists and index may be from before it."""
    _, life = _idle("hub/core", "site/home")
    older = life.journal
    life.rewrite(replace(older, account="another"))
    operations = _look(life)
    assert "list_hub" in operations


def test_what_is_not_at_rest_is_read_itself() -> None:
    """Its last pass left something to do or to tell, which a list of everything as it was does not settle."""
    _, life = _idle("hub/core")
    life.state.at_rest = {}
    assert "list_hub" in _look(life)


def test_an_edge_that_an_edit_added_is_recorded_by_the_next_look_of_the_process() -> None:
    """The spec may be gone by the time of the delete: what is on record says what must be deleted first."""
    world, life = _idle("net/main", "net/second", "disk/data")
    world.nodes = [node("net/main"), node("net/second"), node("disk/data", "net/main", "net/second")]
    life.restart()
    life.create()
    assert set(life.journal.entries[NodeKey("disk", "data")].requires or ()) == {"net/main", "net/second"}
