"""The final check before the finalizer is removed: each place that can contain something of ours is read, and no read
may fail."""

from __future__ import annotations

from dataclasses import replace

import pytest

from freehold.engine import errors
from freehold.engine.graph import Graph
from freehold.engine.interface import EngineDeps
from freehold.engine.journal import RecordState
from freehold.engine.outcomes import Blocked, Kept, Reason
from freehold.engine.ownership import Owner
from freehold.engine.port import Port
from freehold.engine.resources import NodeKey
from lab import faults
from lab.cloud import Resource
from lab.faults import Script, Spell
from lab.life import Life
from lab.outage import outage
from lab.spelling import PlainCodec
from lab.world import MemoryWorld, node

LINK, NET, OWN = NodeKey("link", "a"), NodeKey("net", "main"), NodeKey("hub", "own")


LINKED = (node("net/main", size=1), node("hub/core"), node("link/a", "hub/core", "net/main"))


def _given() -> MemoryWorld:
    return MemoryWorld(nodes=LINKED, given_hub=True)


def _forgotten_link() -> tuple[MemoryWorld, Life, Resource]:
    """A connection of ours in a given gateway: created, not marked, and the journal restored from before it."""
    world = _given()
    life = Life(world)
    with outage(life, "attach", errors.Unavailable("503")):
        while not (link := world.ours("link")):
            life.once()
            world.clock.advance(1.0)
    life.rewrite(life.journal.drop(LINK))
    life.restart()
    return world, life, link


def _left(world: MemoryWorld) -> list[str]:
    return [thing.id for thing in world.living() if thing.ours]


def test_a_connection_in_a_given_gateway_is_found_although_our_network_is_gone() -> None:
    """The connection also requires the network, which was deleted first; the gateway is read nevertheless."""
    world, life, _ = _forgotten_link()
    life.delete()
    assert life.last is not None and life.last.released
    assert _left(world) == []


@pytest.mark.parametrize("operation", ("list_hub", "find_link"))
@pytest.mark.parametrize("error", (errors.Unavailable("503"), errors.Denied("no viewer role on hub-001")))
def test_a_failed_read_keeps_the_finalizer(operation: str, error: errors.CloudError) -> None:
    """A failed list is not an empty one; the message names the missing permission."""
    world, life, link = _forgotten_link()
    life.deleting = True
    while world.ours("net"):
        life.once()
        world.clock.advance(10.0)
    with outage(life, operation, error):
        for _ in range(40):
            done = life.once()
            assert done is None or not done.released
            world.clock.advance(30.0)
        assert life.last is not None
        assert error.message in life.hear(life.last)
    assert link.id in _left(world)
    life.delete()
    assert life.last.released
    assert _left(world) == []


def test_a_given_gateway_that_is_gone_does_not_keep_the_finalizer() -> None:
    """The cloud answered that the gateway does not exist: its connections are gone with it."""
    world, life, link = _forgotten_link()
    world.cloud.vanish(link.parent)
    life.delete()
    assert life.last is not None and life.last.released


def test_without_a_valid_spec_every_kind_is_searched() -> None:
    """The spec is invalid and the journal is from before all creates: names and places are unknown."""
    world = MemoryWorld(nodes=[node("site/home"), node("hub/core"), node("net/main", size=1)])
    life = Life(world)
    first = life.journal
    with outage(life, "attach", errors.Unavailable("503")):
        life.once()
    assert len(_left(world)) == 3
    life.rewrite(first)
    life.restart()
    world.nodes = []
    assert world.graph().nodes == Graph([]).nodes
    life.delete()
    assert life.last is not None and life.last.released
    assert _left(world) == []


def test_one_nonce_on_two_resources_needs_a_person() -> None:
    """Somebody copied the name with our nonce: which of the two is ours is unknown."""
    world, life, link = _forgotten_link()
    now = world.cloud.now()
    copy = world.cloud.create("site", "copy", {}, creator="stranger")
    world.cloud.vanish(copy.id)
    world.nodes = [*world.nodes, node("site/home")]
    with outage(life, "attach", errors.Unavailable("503")):
        while not (site := world.ours("site")):
            life.once()
            world.clock.advance(20.0)
    twin = world.cloud.create("site", site.names[0][1], {}, creator="stranger")
    life.rewrite(replace(life.journal, entries={}))
    life.restart()
    life.delete()
    assert life.last is not None and not life.last.released
    blocked = [o for o in life.last.outcomes.values() if isinstance(o, Blocked) and o.reason is Reason.AMBIGUOUS]
    assert blocked and site.id in blocked[0].message and twin.id in blocked[0].message
    assert all(f"site rename {each.id} --name NEW_NAME" in blocked[0].message for each in (site, twin))
    assert {site.id, twin.id} <= {thing.id for thing in world.living()}
    assert world.cloud.now() > now and link.id not in _left(world)


def test_a_resource_with_only_our_name_is_reported_and_kept() -> None:
    world = MemoryWorld(nodes=[node("site/home")])
    life = Life(world)
    life.create()
    life.delete()
    assert life.last is not None and life.last.released
    theirs = world.cloud.create("site", "c1-home", {}, creator="stranger")
    again = Life(world)
    again.delete()
    assert again.last is not None and again.last.released
    kept = [o for o in again.last.outcomes.values() if isinstance(o, Kept)]
    assert kept and theirs.id in kept[0].message
    assert theirs.id in [thing.id for thing in world.living()]


def test_a_mark_that_was_attached_after_its_detach_is_removed_from_a_given_carrier() -> None:
    """An attach was in flight when its process died: the gateway would keep our mark for ever."""
    world = _given()
    life = Life(world)
    life.create()
    link, hub = world.ours("link"), next(r for r in world.cloud.living() if r.kind == "hub")
    assert link is not None
    mark = next(tag for tag in hub.tagged(world.cloud.now()) if tag.startswith("carried:"))
    life.deleting = True
    while world.ours("net"):
        life.once()
        world.clock.advance(10.0)
    world.cloud.attach(hub.target, frozenset({mark}))
    life.delete()
    assert life.last is not None and life.last.released
    assert hub.tagged(world.cloud.now()) == {"team:blue"}


class _SealingCodec(PlainCodec):
    """The codec of a cloud whose tags have room for the seal of a carrier's mark."""

    def spell_carrier_mark(self, owner: Owner, kind: str, ident: str, seal: str = "") -> str:
        return super().spell_carrier_mark(owner, kind, ident) + (f":{seal}" if seal else "")


class _SealingWorld(MemoryWorld):
    def deps(self, port: Port) -> EngineDeps:
        return replace(super().deps(port), codec=_SealingCodec())


@pytest.mark.parametrize("cloud", [MemoryWorld, _SealingWorld], ids=["no room for a seal", "sealed"])
def test_a_mark_is_removed_from_a_given_carrier_as_soon_as_its_resource_is_gone(cloud: type[MemoryWorld]) -> None:
    """The final check would find it, too; until then our mark would be on their resource."""
    world = cloud(nodes=LINKED, given_hub=True)
    life = Life(world)
    life.create()
    hub = next(r for r in world.cloud.living() if r.kind == "hub")
    life.deleting = True
    while world.ours("net"):  # which is deleted after the connection
        life.once()
        world.clock.advance(10.0)
    assert hub.tagged(world.cloud.now()) - life.user_tags == {"team:blue"}
    assert life.last is not None and not life.last.released


def test_a_mark_of_ours_that_names_a_strangers_resource_is_reported_and_keeps_no_finalizer() -> None:
    """Anybody who may tag the carrier can write it: it must neither delete what it names nor keep our finalizer."""
    world = _given()
    life = Life(world)
    life.create()
    hub = next(r for r in world.cloud.living() if r.kind == "hub")
    theirs = world.cloud.create("link", "theirs", {"hub": hub.id}, creator="stranger")
    world.cloud.attach(hub.target, frozenset({f"carried:link:{life.journal.owner.uuid}:{theirs.id}"}), by="stranger")
    life.delete()
    assert life.last is not None and life.last.released
    assert theirs.id in [thing.id for thing in world.living()]
    assert theirs.id in life.hear(life.last)


def test_the_given_gateway_is_searched_although_the_spec_is_invalid_now() -> None:
    """The journal has its id: without this search our connection would stay in it."""
    world, life, link = _forgotten_link()
    world.nodes = []
    life.delete()
    assert life.released
    assert link.id not in _left(world)


def test_a_carrier_that_is_known_only_by_a_mark_is_searched() -> None:
    """Journal and spec are lost. The mark is of a connection that is gone; another connection has no mark yet."""
    world, life, _ = _forgotten_link()
    hub = next(r for r in world.cloud.living() if r.kind == "hub")
    gone = f"carried:link:{life.journal.owner.uuid}:link-of-old"
    world.cloud.attach(hub.target, frozenset({gone}))
    life.rewrite(replace(life.journal, entries={}))
    life.restart()
    world.nodes = []
    life.delete()
    assert life.released
    assert _left(world) == []
    assert hub.tagged(world.cloud.now()) == {"team:blue"}


def test_a_copied_nonce_does_not_count_while_the_place_of_ours_cannot_be_read() -> None:
    """Found alone, the copy would count as ours and be deleted: all places must be read before a nonce counts."""
    world, life, link = _forgotten_link()
    world.nodes = [*world.nodes, node("hub/own")]
    life.restart()
    with outage(life, "find_link", errors.Unavailable("503")):
        while not (own := world.ours("hub")) or life.journal.entries[OWN].state is not RecordState.OWNED:
            life.once()
            world.clock.advance(5.0)
    theirs = world.cloud.create("link", link.names[0][1], {"hub": own.id}, creator="stranger")
    given = link.parent
    life.port.script = Script(
        spells=[Spell(0, 1e6, faults.UNAVAILABLE, lambda call: (call.operation, call.subject) == ("list_hub", given))]
    )
    life.deleting = True
    for _ in range(40):
        life.once()
        world.clock.advance(30.0)
    life.port.script = Script()
    life.delete()
    assert theirs.id in [thing.id for thing in world.living()] and not world.tampered()
    assert theirs.tagged(world.cloud.now()) == frozenset()


def test_a_resource_that_is_being_deleted_keeps_no_finalizer() -> None:
    """Some clouds keep a deleted resource for a week, so that it can be restored: it need not be deleted again."""
    world = MemoryWorld(nodes=[node("site/home")])
    life = Life(world)
    with outage(life, "attach", errors.Unavailable("503")):
        life.once()
    life.rewrite(replace(life.journal, entries={}))
    life.restart()
    (site,) = world.cloud.living()
    world.cloud.delete(site.id, "stranger")
    site.gone_at = world.cloud.now() + 7 * 86_400.0
    life.delete()
    assert life.released
    assert world.cloud.now() < site.gone_at
