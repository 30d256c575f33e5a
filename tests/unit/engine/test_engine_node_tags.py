"""Tags of a node beside marks and the user's: at birth, healed, changed with the spec, and lent to what is not ours."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from freehold.engine import journal as journals
from freehold.engine.errors import Unavailable
from freehold.engine.graph import Node
from freehold.engine.inventory import NoOthers
from freehold.engine.journal import CorruptJournal, RecordState
from freehold.engine.keyed_codec import KeyedCodec
from freehold.engine.keys import KeyRing
from freehold.engine.outcomes import Category, Outcome, Ready, Reason, Surplus
from freehold.engine.ownership import Codec, Owner
from freehold.engine.resources import NodeKey, Part
from lab import faults
from lab.faults import Crash, Script
from lab.life import Life
from lab.outage import once_after, outage
from lab.spelling import PlainCodec
from lab.world import MemoryWorld, node

CODECS = pytest.mark.parametrize("codec", [PlainCodec(), KeyedCodec()], ids=["set", "map"])
KINDS = pytest.mark.parametrize("kind", ["net", "hub"])
KEYED = KeyedCodec()


def _role(codec: Codec, role: str = "common") -> frozenset[str]:
    return frozenset({codec.user("role", role)})


def _life(codec: Codec, *nodes: Node, script: Script | None = None, **how: Any) -> Life:
    world = MemoryWorld(nodes=nodes, codec=codec, **how)
    return Life(world, script or Script(), user_tags=frozenset({codec.user("team", "red")}))


def _tags(life: Life, kind: str) -> frozenset[str]:
    found = next(r for r in life.world.cloud.living() if r.kind == kind)
    return found.tagged(life.world.cloud.now())


def _edit(life: Life, **change: Any) -> Mapping[str, Outcome]:
    life.world.nodes = [replace(n, **change) for n in life.world.nodes]
    life.invalidate()
    return life.create()


@CODECS
@KINDS
def test_they_are_there_with_the_marks_and_the_users(codec: Codec, kind: str) -> None:
    life = _life(codec, node(f"{kind}/A", tags=_role(codec)))
    assert isinstance(life.create()[f"{kind}/A"], Ready)
    assert _role(codec) | life.user_tags <= _tags(life, kind)
    assert life.watch() == []


def test_a_tag_that_a_node_refuses_goes_where_an_earlier_version_has_put_it() -> None:
    """The key is one that others act on: it must not be on two resources."""
    life = _life(KEYED, node("net/A"), node("net/B"))
    life.create()
    assert life.user_tags <= _tags(life, "net")
    life.world.nodes = [replace(life.world.nodes[0], refused_tags=frozenset({"team"})), *life.world.nodes[1:]]
    life.invalidate()
    life.create()
    has = {r.name(life.world.cloud.now()): r.tagged(life.world.cloud.now()) for r in life.world.cloud.living()}
    assert [name for name, tags in has.items() if life.user_tags <= tags] == ["c1-B"]


@KINDS
def test_a_users_name_that_the_nodes_own_replaces_is_ours_until_that_is_seen(kind: str) -> None:
    """The process ends between the write of the record and the attach: the old value must not seem another's."""
    life = _life(KEYED, node(f"{kind}/A"))
    life.user_tags = frozenset({"Name=mine"})
    life.create()
    assert "Name=mine" in _tags(life, kind)
    life.user_tags = frozenset()
    life.world.nodes = [node(f"{kind}/A", tags=frozenset({"Name=own"}))]
    life.invalidate()
    with outage(life, "attach", Unavailable("503")):
        for _ in range(4):
            life.once()
            life.world.clock.advance(30.0)
    life.restart()
    life.create()
    assert "Name=own" in _tags(life, kind)
    assert life.watch() == []


def test_a_create_that_takes_tags_sets_them() -> None:
    life = _life(KEYED, node("net/A", tags=_role(KEYED)))
    life.once()
    born = life.world.cloud.log[0].tags[0][1]
    assert _role(KEYED) <= born and life.user_tags <= born


@CODECS
@KINDS
def test_they_are_healed(codec: Codec, kind: str) -> None:
    life = _life(codec, node(f"{kind}/A", tags=_role(codec)))
    life.create()
    target = next(r for r in life.world.cloud.living()).target
    life.world.cloud.detach(target, _role(codec))
    life.world.clock.advance(700.0)
    life.create()
    assert _role(codec) <= _tags(life, kind)


@CODECS
@KINDS
def test_they_follow_the_spec(codec: Codec, kind: str) -> None:
    life = _life(codec, node(f"{kind}/A", tags=_role(codec)))
    life.create()
    for wanted in (_role(codec, "other"), _role(codec, "other") | {codec.user("Name", "a")}, frozenset[str]()):
        assert isinstance(_edit(life, tags=wanted)[f"{kind}/A"], Ready)
        life.world.clock.advance(700.0)
        life.create()
        theirs = {tag for tag in _tags(life, kind) if not codec.is_mark(tag)} - life.user_tags
        assert theirs == wanted
        assert set(life.journal.entries[NodeKey(kind, "A")].node_tags) == wanted
        assert life.watch() == []


@CODECS
@pytest.mark.parametrize("fault", [faults.AFTER, faults.late_crash(20.0)], ids=str)
def test_one_that_a_create_under_way_has_set_and_nothing_wants_any_more_is_taken_off(
    codec: Codec, fault: faults.Fault
) -> None:
    """The intent has the tags of its time: when the resource is found, they may be on it."""
    undisturbed = _life(codec, node("net/A", tags=_role(codec)))
    undisturbed.create()
    number = next(i for i, call in enumerate(undisturbed.port.calls) if call.operation == "create_net")
    life = _life(codec, node("net/A", tags=_role(codec)), script=Script({number: fault}))
    life.once()
    assert life.crashes == 1 and life.journal.entries[NodeKey("net", "A")].state is RecordState.INTENDED
    _edit(life, tags=frozenset())
    life.world.clock.advance(700.0)
    life.create()
    assert _role(codec).isdisjoint(_tags(life, "net"))


def test_of_a_key_that_both_want_the_nodes_value_counts_and_a_marks_before_it() -> None:
    wanted = frozenset({KEYED.user("team", "the-node's"), KEYED.user("freehold.dev/owner", "the-node's")})
    life = _life(KEYED, node("net/A", tags=wanted), node("hub/A"))
    life.create()
    assert KEYED.user("team", "the-node's") in _tags(life, "net") and KEYED.read(_tags(life, "net")).owners == {
        "prod/c1"
    }
    assert KEYED.user("team", "red") in _tags(life, "hub")
    assert life.watch() == []


@CODECS
def test_they_are_lent_to_what_is_given_and_taken_back(codec: Codec) -> None:
    life = _given(codec)
    assert _role(codec, "shared") | life.user_tags <= _tags(life, "hub")
    [row] = life.journal.attached.values()
    assert set(row.tags) == _role(codec, "shared") | life.user_tags
    assert life.watch() == []
    life.delete()
    assert life.released and _tags(life, "hub") == frozenset({"team:blue"})


def _given(codec: Codec, before: Collection[str] = (), **how: Any) -> Life:
    life = _life(codec, node("net/A", tags=_role(codec)), given_hub=True, **how)
    hub = next(r for r in life.world.cloud.living() if r.kind == "hub")
    if before:
        life.world.cloud.attach(hub.target, frozenset(before), by="stranger")
        life.world.clock.advance(100.0)
    life.world.nodes = [
        replace(n, tags=_role(codec), given_tags=_role(codec, "shared")) if n.given else n for n in life.world.nodes
    ]
    life.create()
    return life


@CODECS
def test_on_what_is_given_one_that_was_there_stays(codec: Codec) -> None:
    life = _given(codec, before=_role(codec, "shared"))
    assert [set(row.tags) for row in life.journal.attached.values()] == [life.user_tags]
    life.delete()
    assert life.released and _role(codec, "shared") <= _tags(life, "hub")


@CODECS
def test_on_what_is_given_they_follow_the_spec(codec: Codec) -> None:
    life = _given(codec)
    assert isinstance(_edit(life, given_tags=_role(codec, "other"))["hub/core"], Ready)
    assert _role(codec, "other") <= _tags(life, "hub") and _role(codec, "shared").isdisjoint(_tags(life, "hub"))
    _edit(life, given_tags=frozenset())
    assert _tags(life, "hub") == life.user_tags | {"team:blue"}


@CODECS
def test_on_what_is_given_a_value_that_could_not_be_replaced_yet_is_still_ours(codec: Codec) -> None:
    """The spec changed while the resource could not be read: what is on it was not overwritten meanwhile."""
    life = _given(codec)
    life.world.nodes = [replace(n, given_tags=_role(codec, "other")) if n.given else n for n in life.world.nodes]
    life.invalidate()
    with outage(life, "list_hub", Unavailable("503")):
        for _ in range(8):
            life.once()
            life.world.clock.advance(20.0)
    life.invalidate()
    outcome = life.create()["hub/core"]
    assert isinstance(outcome, Ready) and outcome.reason is None
    assert _role(codec, "other") <= _tags(life, "hub") and _role(codec, "shared").isdisjoint(_tags(life, "hub"))
    life.delete()
    assert life.released and _tags(life, "hub") == frozenset({"team:blue"})


@CODECS
def test_without_tags_of_the_user_they_are_lent_all_the_same(codec: Codec) -> None:
    life = _given(codec)
    life.user_tags = frozenset()
    life.invalidate()
    life.create()
    assert _tags(life, "hub") == _role(codec, "shared") | {"team:blue"}
    life.delete()
    assert life.released and _tags(life, "hub") == frozenset({"team:blue"})


@dataclass
class Others(NoOthers):
    """Another live object has put these tags on every target."""

    tags: frozenset[str] = frozenset()

    async def tags_on(self, owner: Owner, target: str, ring: KeyRing | None = None) -> frozenset[str]:
        return self.tags


@dataclass
class Among(MemoryWorld):
    """A world with another object of ours."""

    others: Others = field(default_factory=Others)

    def deps(self, port: Any) -> Any:
        return replace(super().deps(port), others=self.others)


@CODECS
def test_what_another_live_object_wants_stays_for_it(codec: Codec) -> None:
    world = Among(nodes=[node("net/A")], codec=codec, given_hub=True)
    world.nodes = [replace(n, given_tags=_role(codec)) if n.given else n for n in world.nodes]
    life = Life(world, user_tags=frozenset({codec.user("team", "red")}))
    life.create()
    world.others.tags = _role(codec)
    life.delete()
    assert life.released and _tags(life, "hub") == _role(codec) | {"team:blue"}


def test_a_record_without_such_tags_is_spelled_as_before() -> None:
    """Journals of objects that have none are not written anew by this version."""
    life = _life(PlainCodec(), node("net/A"))
    life.create()
    text = journals.dumps(life.journal)
    assert '"w":' not in text and '"x":' not in text
    assert journals.loads(text) == life.journal


WRONG = {"a number among the tags": ('"w":["role=common"]', '"w":[1]'), "a number": ('"x":true', '"x":1')}


@pytest.mark.parametrize(("written", "wrong"), WRONG.values(), ids=WRONG)
def test_a_record_that_we_never_write_is_not_read(written: str, wrong: str) -> None:
    life = _life(KEYED, node("net/A", tags=_role(KEYED), shared=True))
    life.create()
    text = journals.dumps(life.journal)
    assert journals.loads(text) == life.journal and written in text
    with pytest.raises(CorruptJournal):
        journals.loads(text.replace(written, wrong))


WALL = "wall/Services"


def _shared(*nodes: Node) -> Life:
    life = _life(KEYED, node("net/A"), node(WALL, "net/A", shared=True, notes="ours"), *nodes)
    life.create()
    return life


def test_what_is_shared_is_left_to_the_in_cluster_provider() -> None:
    life = _shared()
    wall = next(r for r in life.world.cloud.living() if r.kind == "wall")
    life.world.cloud.provide(wall.id, "allow", "30080", notes="the provider's")
    life.invalidate()
    outcome = life.create()[WALL]
    assert isinstance(outcome, Ready) and outcome.category is Category.SHARED and not outcome.note
    assert wall.parts == {("allow", "30080"): "in-cluster provider"} and wall.attributes["notes"] == "the provider's"
    assert not life.world.tampered() and life.watch() == []
    life.delete()
    assert life.released and not life.world.living()


def _first(life: Life, *ports: str) -> None:
    """Let these be put into what is shared before the provider has it."""
    first = frozenset(Part("allow", port) for port in ports)
    life.world.nodes = [replace(n, first_parts=lambda known: first) if n.shared else n for n in life.world.nodes]
    life.invalidate()


def test_what_is_put_into_a_shared_resource_is_put_in_once() -> None:
    """The provider takes one out and adds its own: both stay as it has left them, also after a restart."""
    life = _life(KEYED, node("net/A"), node(WALL, "net/A", shared=True))
    _first(life, "443", "80")
    life.create()
    wall = next(r for r in life.world.cloud.living() if r.kind == "wall")
    assert set(wall.parts) == {("allow", "443"), ("allow", "80")}
    life.world.cloud.remove_part(wall.id, "allow", "80", "somebody")
    life.world.cloud.provide(wall.id, "allow", "30080")
    for minted in (True, False):
        life.start(minted=minted)
        life.create()
        assert set(wall.parts) == {("allow", "443"), ("allow", "30080")}
    _first(life, "443", "80", "8132")
    life.create()
    assert set(wall.parts) == {("allow", "443"), ("allow", "30080"), ("allow", "8132")}, "what is new is put in"
    assert life.watch() == [], "and then it is at rest"
    _first(life)
    life.create()
    assert ("allow", "443") in wall.parts, "it may be the provider's by now"
    life.delete()
    assert life.released and not life.world.living()


def test_what_a_newer_version_wants_in_a_shared_resource_is_put_in_by_an_object_at_rest() -> None:
    """Nothing of the object changes with the version, so a look at lists is all that it gets."""
    life = _life(KEYED, node("net/A"), node(WALL, "net/A", shared=True))
    life.create()
    life.watch()
    life.start(minted=False)
    life.create()
    wall = next(r for r in life.world.cloud.living() if r.kind == "wall")
    first = frozenset({Part("allow", "80")})
    life.world.nodes = [replace(n, first_parts=lambda known: first) if n.shared else n for n in life.world.nodes]
    life.watch()
    assert set(wall.parts) == {("allow", "80")}


def test_what_is_put_in_once_is_put_in_again_by_a_process_that_does_not_know() -> None:
    """The one before it died between the write to the cloud and that of the record."""
    life = _life(KEYED, node("net/A"), node(WALL, "net/A", shared=True))
    _first(life, "80")

    def die() -> None:
        raise Crash("add_part_wall")

    once_after(life, "add_part_wall", die)
    life.create()
    wall = next(r for r in life.world.cloud.living() if r.kind == "wall")
    assert life.crashes == 1 and set(wall.parts) == {("allow", "80")}


def test_what_was_ours_alone_is_handed_over_when_the_spec_says_so() -> None:
    life = _shared()
    life.world.nodes = [
        replace(n, shared=False, parts=_one_part) if str(n.key) == WALL else n for n in life.world.nodes
    ]
    life.invalidate()
    life.create()
    wall = next(r for r in life.world.cloud.living() if r.kind == "wall")
    assert ("allow", "80") in wall.parts
    life.world.nodes = [replace(n, shared=True) for n in life.world.nodes]
    life.world.cloud.provide(wall.id, "allow", "30080")
    life.invalidate()
    life.create()
    assert set(wall.parts) == {("allow", "80"), ("allow", "30080")}


def _one_part(known: object) -> frozenset[Part]:
    return frozenset({Part("allow", "80")})


def test_what_is_shared_is_not_pruned_when_the_spec_wants_it_no_more() -> None:
    """The in-cluster provider may use it; it goes with the object."""
    life = _life(KEYED, node("net/A"), node("disk/A", "net/A", shared=True), node("disk/B", "net/A"))
    life.create()
    life.world.nodes = [n for n in life.world.nodes if n.key.kind != "disk"]
    life.invalidate()
    outcomes = life.create()
    assert isinstance(outcomes["disk/A"], Surplus) and "disk/B" not in outcomes
    life.start(minted=False)
    assert isinstance(life.create()["disk/A"], Surplus), "after a restart, too"
    life.delete()
    assert life.released and not life.world.living()


def test_what_is_shared_gets_the_name_that_it_is_to_have_and_keeps_a_later_one() -> None:
    """The name with the nonce is part of its birth; after that the provider may name it."""
    life = _life(KEYED, node("hub/A", shared=True))
    life.create()
    hub = next(r for r in life.world.cloud.living())
    assert hub.name(life.world.cloud.now()) == "c1-A"
    life.world.cloud.rename(hub.id, "the provider's", by="in-cluster provider")
    life.invalidate()
    outcome = life.create()["hub/A"]
    assert isinstance(outcome, Ready) and outcome.reason is not Reason.DRIFTED
    assert hub.name(life.world.cloud.now()) == "the provider's"


class _Renaming(MemoryWorld):
    """Nets can be renamed. Their birth mark is a tag, which stays for life."""

    def kinds(self, port: Any) -> Any:
        return tuple(
            replace(kind, attributes=replace(kind.attributes, mutable=frozenset({"name"})))
            if kind.name == "net"
            else kind
            for kind in super().kinds(port)
        )


def test_what_is_shared_and_has_its_birth_mark_among_its_tags_keeps_the_providers_name() -> None:
    life = Life(_Renaming(nodes=[node("net/A", shared=True)], codec=KEYED))
    life.create()
    net = next(r for r in life.world.cloud.living())
    life.world.cloud.rename(net.id, "the provider's", by="in-cluster provider")
    life.invalidate()
    life.create()
    assert net.name(life.world.cloud.now()) == "the provider's"


def test_what_is_shared_and_dropped_while_it_is_being_made_is_not_pruned_either() -> None:
    life = _life(KEYED, node("disk/A", shared=True))
    life.once()
    life.world.nodes = []
    life.invalidate()
    assert isinstance(life.create()["disk/A"], Surplus)


@CODECS
@KINDS
def test_one_that_was_attached_and_not_read_back_when_the_spec_dropped_it_is_taken_off(codec: Codec, kind: str) -> None:
    life = _life(codec, node(f"{kind}/A"))
    life.create()
    life.world.nodes = [replace(n, tags=_role(codec)) for n in life.world.nodes]
    life.invalidate()
    life.once()
    assert _role(codec) <= _tags(life, kind)
    _edit(life, tags=frozenset())
    assert _role(codec).isdisjoint(_tags(life, kind))


@CODECS
@KINDS
def test_a_changed_one_follows_although_the_first_attach_failed(codec: Codec, kind: str) -> None:
    """Until the new value is there the old one is ours, and no value of another's."""
    life = _life(codec, node(f"{kind}/A", tags=_role(codec)))
    life.create()
    life.world.nodes = [replace(n, tags=_role(codec, "other")) for n in life.world.nodes]
    life.invalidate()
    with outage(life, "attach", Unavailable("503"), times=1):
        life.once()
    life.start(minted=False)
    assert isinstance(outcome := life.create()[f"{kind}/A"], Ready) and outcome.reason is None
    assert _role(codec, "other") <= _tags(life, kind) and _role(codec).isdisjoint(_tags(life, kind))


@CODECS
def test_a_kind_that_cannot_be_tagged_gets_none_and_rests(codec: Codec) -> None:
    life = _life(codec, node("ticket/A", tags=_role(codec)))
    assert isinstance(life.create()["ticket/A"], Ready)
    assert not life.journal.entries[NodeKey("ticket", "A")].node_tags and life.watch() == []
    called = len(life.port.calls)
    life.once()
    assert len(life.port.calls) == called, "an idle pass"
