"""Delete: the finalizer stays until everything of ours is gone, and every read that shows this has succeeded."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from freehold.engine import errors
from freehold.engine import journal as journals
from freehold.engine.clock import ManualClock
from freehold.engine.interface import EngineDeps
from freehold.engine.journal import Entry, RecordState, StaleObject
from freehold.engine.kinds import Dedupe, Kind, Registry, Tagging
from freehold.engine.outcomes import Blocked, Kept, Reason, Waiting
from freehold.engine.port import Port
from freehold.engine.resources import NodeKey
from lab import faults
from lab.cloud import ReadLags
from lab.drivers import MemoryDriver
from lab.faults import Script
from lab.life import Life
from lab.network import NetworkWorld
from lab.outage import outage
from lab.world import SETTLE, MemoryWorld, node


@dataclass
class Ticking:
    """Real time: no two readings are equal."""

    clock: ManualClock
    readings: int = 0

    def now(self) -> float:
        return self.clock.now()

    def monotonic(self) -> float:
        self.readings += 1
        return self.clock.monotonic() + self.readings / 1e6


def _forget(life: Life, kind: str) -> None:
    """Restore the journal from a backup from before its record, and strip its marks."""
    assert isinstance(life.world, MemoryWorld)
    life.world.strip(kind)
    kept = life.journal
    for key in kept.entries:
        kept = kept.drop(key) if key.kind == kind else kept
    life.stored.versions.append(journals.dumps(kept))
    life.stored.touch()


def test_a_resource_with_our_marks_that_cannot_be_read_keeps_the_finalizer() -> None:
    """Otherwise one 503, while an object from a backup is deleted, would leave our resource behind for ever."""
    world = MemoryWorld(nodes=[node("hub/core"), node("site/home")])
    life = Life(world)
    life.create()
    world.edit(drop="hub/core")
    life.roll_back(100)
    life.restart()
    with outage(life, "list_hub", errors.Unavailable("503")):
        life.deleting = True
        for _ in range(60):
            done = life.once()
            assert done is not None and not done.released
            world.clock.advance(max(done.after, 0.001))
    life.delete()
    assert life.last is not None and life.last.released
    assert not world.living()


@pytest.mark.parametrize("kind", ("balancer", "guest"))
def test_a_forgotten_resource_that_prevents_a_delete_is_recognised_by_its_nonce(kind: str) -> None:
    """The clock moves with each reading, as a real one does."""
    parent = {"balancer": "net/main", "guest": "site/home"}[kind]
    world = MemoryWorld(nodes=[node(parent), node(f"{kind}/x", parent)])
    life = Life(world)
    guests = MemoryDriver(world.cloud, life.port, "guest", nonce="nested")
    guest = Kind("guest", Tagging.AFTER, Dedupe.NONCE, guests, requires=("site",), settle=SETTLE)
    life.deps = replace(life.deps, registry=Registry([*life.deps.registry.values(), guest]))
    life.create()
    _forget(life, kind)
    life.deps = replace(life.deps, clock=Ticking(world.clock))
    life.delete()
    assert life.last is not None and life.last.released, life.last
    assert not world.living()
    assert NodeKey(kind, "x") in life.journal.entries


def test_a_resource_that_can_no_longer_be_marked_is_reported_as_keeping_the_finalizer() -> None:
    """Once, a DHCP server that had lost its network waited for ever to be marked, without a message."""
    world = MemoryWorld(nodes=[node("hub/core")])
    life = Life(world)
    life.create()
    world.cloud.traits["hub"] = replace(world.cloud.traits["hub"], taggable=False)
    outcome = life.delete()["hub/core"]
    assert isinstance(outcome, Blocked) and outcome.reason is Reason.UNMARKABLE
    assert life.last is not None and not life.last.released
    (hub,) = world.living()
    assert hub.id in outcome.message
    world.remove(hub.id)
    life.delete()
    assert life.last.released


def test_a_resource_found_by_its_mark_is_deleted_before_its_container() -> None:
    """The backup is from before the disk. A cloud that destroys what is in a network would delete the disk unasked."""
    world = MemoryWorld(nodes=[node("net/main"), node("disk/data", "net/main")])
    life = Life(world)
    life.create()
    net, disk = (life.journal.entries[NodeKey.parse(key)].id for key in ("net/main", "disk/data"))
    life.rewrite(life.journal.drop(NodeKey("disk", "data")))
    life.restart()
    life.delete()
    assert life.released
    deletes = [request for request in world.requests() if "delete" in request.operation]
    assert [request.subject for request in deletes] == [disk, net]


def test_nothing_is_attached_while_the_marks_cannot_be_read() -> None:
    """It may be another owner's by now. Our marks beside theirs are a claim, and their operator would not delete it."""
    world = MemoryWorld(nodes=[node("site/home")])
    life = Life(world)
    life.create()
    world.steal("site")
    (site,) = world.cloud.living()
    theirs = site.tagged(world.cloud.now())
    life.deleting = True
    with outage(life, "tags_of", errors.Unavailable("503")):
        for _ in range(5):
            done = life.once()
            assert done is not None and not done.released
            world.clock.advance(60.0)
    assert site.tagged(world.cloud.now()) == theirs
    life.delete()
    assert life.released
    assert site.tagged(world.cloud.now()) == theirs and not world.tampered()


def test_in_a_delete_one_read_that_shows_nothing_does_not_mean_gone() -> None:
    """The object is deleted right after its create. A ticket has no marks: if forgotten, it would stay for ever."""
    world = MemoryWorld(nodes=[node("ticket/seat")], read_lags=ReadLags(read_lag=SETTLE - 10.0))
    life = Life(world)
    life.once()
    assert len(world.living()) == 1
    life.delete()
    assert life.released
    assert world.living() == []


@pytest.mark.parametrize("restarted", [False, True], ids=["same process", "new process"])
def test_a_resource_whose_marks_were_never_read_back_is_marked_by_the_delete(restarted: bool) -> None:
    """Its create was interrupted: nobody can have taken them off to keep it."""
    world = MemoryWorld(nodes=[node("hub/core")])
    life = Life(world)
    with outage(life, "attach", errors.Unavailable("503")):
        while (
            not (entry := life.journal.entries.get(NodeKey("hub", "core"))) or entry.state is not RecordState.RECORDED
        ):
            life.once()
            world.clock.advance(1.0)
    if restarted:
        life.restart()
    life.delete()
    assert life.released
    assert world.living() == []


@pytest.mark.parametrize("restarted", [False, True], ids=["same process", "new process"])
def test_a_resource_that_had_its_marks_and_lost_them_is_kept_and_named(restarted: bool) -> None:
    """What this process remembers as attached is gone, and proves nothing; a new one knows from the record."""
    world = MemoryWorld(nodes=[node("hub/core"), node("site/home")])
    life = Life(world)
    life.create()
    world.strip("hub")
    if restarted:
        life.restart()
    life.delete()
    (hub,) = world.living()
    assert life.released and hub.kind == "hub" and not hub.tags
    assert life.ended is not None
    kept = life.ended.outcomes[NodeKey("hub", "core")]
    assert isinstance(kept, Kept) and kept.reason is Reason.MARK_LOST
    assert hub.id in kept.message and "freehold resolve c1 -n prod hub/core --mine --yes" in kept.message


def test_one_read_that_does_not_show_the_marks_keeps_nothing() -> None:
    """Reads lag and step back: a mark counts as lost when it was not shown for the settle time."""
    world = MemoryWorld(nodes=[node("hub/core")])
    life = Life(world)
    life.create()
    target = life.journal.entries[NodeKey("hub", "core")].target
    tags = world.cloud.tags_of(target)
    world.strip("hub")
    life.deleting = True
    done = life.once()
    assert done is not None and isinstance(done.outcomes[NodeKey("hub", "core")], Waiting)
    world.cloud.attach(target, tags, "stranger")
    life.delete()
    assert life.released and world.living() == []


def test_what_an_index_still_shows_does_not_delete_what_has_lost_its_marks() -> None:
    """The resource itself is asked: its tags were taken off a moment before the delete."""
    world = MemoryWorld(ReadLags(tag_lag=600.0), nodes=[node("hub/core")])
    life = Life(world)
    life.create()
    world.strip("hub")
    life.delete()
    assert life.released and {thing.kind for thing in world.living()} == {"hub"}


def test_what_an_index_shows_of_a_lost_record_is_not_marked_again_to_be_deleted() -> None:
    """An older backup was restored, and somebody has taken the tags off since to keep the resource."""
    world = MemoryWorld(ReadLags(tag_lag=600.0), nodes=[node("hub/core"), node("site/home")])
    life = Life(world)
    life.create()
    world.clock.advance(2000.0)
    life.rewrite(life.journal.drop(NodeKey("hub", "core")))
    life.restart()
    world.strip("hub")
    life.delete()
    (hub,) = world.living()
    assert life.released and hub.kind == "hub" and not hub.tags


def test_what_lost_its_marks_after_the_delete_was_asked_for_is_kept_too() -> None:
    """The process that healed it died before its marks were read back; in the delete they were, and were lost again."""
    world = MemoryWorld(nodes=[node("site/home")])
    life = Life(world)
    with outage(life, "attach", errors.Unavailable("503")):
        while (
            not (entry := life.journal.entries.get(NodeKey("site", "home"))) or entry.state is not RecordState.RECORDED
        ):
            life.once()
            world.clock.advance(1.0)
    life.deleting = True
    with outage(life, "delete_site", errors.InUse("it is in use")):
        while not life.journal.entries[NodeKey("site", "home")].deleting:
            life.once()
            world.clock.advance(10.0)
        world.strip("site")
    life.delete()
    assert life.released and {thing.kind for thing in world.living()} == {"site"}


def test_a_failed_detach_is_repeated_although_something_else_keeps_the_finalizer() -> None:
    """The final check would find the mark, but runs only when everything else is gone: a person may need weeks."""
    nodes = [node("net/main"), node("hub/core"), node("link/a", "hub/core", "net/main"), node("site/home")]
    world = MemoryWorld(nodes=nodes, given_hub=True)
    life = Life(world)
    life.create()
    world.move_in("site")
    with outage(life, "detach", errors.Unavailable("503"), times=1):
        life.delete()
    hub = next(r for r in world.cloud.living() if r.kind == "hub")
    assert not life.released
    assert hub.tagged(world.cloud.now()) - life.user_tags == {"team:blue"}


@pytest.mark.parametrize("error", (errors.Unavailable("no API server"), StaleObject("changed")))
def test_no_delete_is_sent_by_a_process_that_cannot_write_the_object(error: Exception) -> None:
    """The object may belong to another process by now, or a restore may have ended the delete."""
    world = MemoryWorld(nodes=[node("hub/core")])
    life = Life(world)
    life.create()
    life.deleting = True
    with outage(life, "save_journal", error):
        for _ in range(3):
            assert life.once() is None
            world.clock.advance(10.0)
    assert [thing.role for thing in world.living()] == ["hub/core"]
    life.delete()
    assert life.released


def test_the_finalizer_waits_for_creates_that_an_earlier_process_may_have_sent() -> None:
    """A restore lost the intent, and the request was under way when its process died: nothing finds the resource."""
    nodes = [node("hub/core")]
    undisturbed = Life(MemoryWorld(nodes=nodes))
    undisturbed.create()
    number = next(i for i, call in enumerate(undisturbed.port.calls) if call.operation == "create_hub")
    world = MemoryWorld(nodes=nodes)
    life = Life(world, Script({number: faults.late_crash(20.0)}))
    assert life.once() is None and life.journal.open
    life.rewrite(life.journal.drop(NodeKey("hub", "core")))
    life.restart()
    life.delete()
    assert life.released
    world.clock.advance(SETTLE)
    assert world.living() == []


SLOW = 2000.0


class _SlowStrangerKind(MemoryWorld):
    """The registry has a kind whose creates may take effect late, and which this object never wanted."""

    def deps(self, port: Port) -> EngineDeps:
        deps = super().deps(port)
        slow = replace(deps.registry["site"], name="slow", settle=SLOW)
        return replace(deps, registry=Registry([*deps.registry.values(), slow]))


def _until_released(life: Life) -> float:
    begun = life.world.clock.monotonic()
    life.deleting = True
    for _ in range(200):
        done = life.once()
        if life.released:
            return life.world.clock.monotonic() - begun
        life.world.clock.advance(max(done.after, 0.001) if done else 1.0)
    raise AssertionError("never released")


def test_the_finalizer_waits_for_the_kinds_that_the_object_may_have_used() -> None:
    """It does not wait for the slowest kind of the registry: then each object would be deleted that slowly."""
    life = Life(_SlowStrangerKind(nodes=[node("hub/core")]))
    life.create()
    life.restart()
    assert SETTLE <= _until_released(life) < 3 * SETTLE < SLOW


def test_without_a_journal_the_finalizer_waits_for_every_kind() -> None:
    """The kinds in a lost journal are unknown, and a create of any may still be under way."""
    life = Life(_SlowStrangerKind(nodes=[node("hub/core")]))
    life.rewrite(replace(life.journal, entries={}))
    life.restart()
    assert _until_released(life) >= SLOW


@pytest.mark.parametrize("recorded", [True, False], ids=["edges on record", "a journal of an older version"])
def test_a_network_does_not_wait_for_a_disk_in_another_network(recorded: bool) -> None:
    """Without recorded edges it waits for every disk; the edges show that no disk is in it."""
    world = MemoryWorld(nodes=[node("net/a"), node("net/b"), node("disk/d", "net/a")])
    life = Life(world)
    life.create()
    if not recorded:
        entries = {key: replace(entry, requires=None) for key, entry in life.journal.entries.items()}
        life.rewrite(replace(life.journal, entries=entries))
    sent, life.deleting = len(world.requests()), True
    while len(world.requests()) == sent:
        life.once()
        world.clock.advance(1.0)
    deleted = [request.operation for request in world.requests()[sent:]]
    assert sorted(deleted) == ["memory.delete_disk", "memory.delete_net"][: 1 + recorded]
    life.delete()
    assert life.released


def test_what_an_unknown_kind_depends_on_is_not_deleted() -> None:
    """A newer version recorded the edge; this one does not know the kind, and leaves both."""
    world = MemoryWorld(nodes=[node("net/main"), node("site/home")])
    life = Life(world)
    life.create()
    newer = Entry(RecordState.OWNED, id="gadget-1", target="crn:gadget:gadget-1", requires=("net/main",))
    life.rewrite(life.journal.put(NodeKey("gadget", "g"), newer))
    life.delete()
    assert not life.released
    assert [thing.kind for thing in world.living() if thing.ours] == ["net"]


def test_a_container_is_deleted_when_nothing_can_be_created_in_it_any_more() -> None:
    """A restore forgot a create that is under way: it would take effect in what is being deleted, and stay behind."""
    world = MemoryWorld(nodes=[node("site/home"), node("hub/core")])
    life = Life(world)
    life.create()
    life.restart()
    begun, sent = world.clock.monotonic(), len(world.requests())
    life.deleting = True
    deleted: dict[str, float] = {}
    while not life.released:
        done = life.once()
        for request in world.requests()[sent:]:
            deleted.setdefault(request.operation, world.clock.monotonic() - begun)
        world.clock.advance(max(done.after, 0.001) if done else 1.0)
    assert deleted["memory.delete_hub"] < SETTLE <= deleted["memory.delete_site"]


def test_what_a_rule_of_a_kept_group_names_stays_with_it_untouched() -> None:
    """The cloud refuses to delete it as long as the rule is there, and its own rules were taken out for nothing."""
    life = NetworkWorld().begin()
    life.create()
    cloud = life.world.cloud
    front, back = (life.journal.entries[NodeKey("group", name)].id for name in ("front", "back"))
    rules = cloud.get(back).present()
    cloud.detach(cloud.get(front).target, cloud.get(front).tagged(cloud.now()))
    life.delete()
    assert life.released and cloud.get(back).present() == rules
    assert {thing.kind for thing in life.world.living()} == {"group", "vpc"}
    assert life.ended is not None
    kept = life.ended.outcomes[NodeKey("group", "back")]
    assert isinstance(kept, Kept) and kept.reason is Reason.SERVES_KEPT and front in kept.message
