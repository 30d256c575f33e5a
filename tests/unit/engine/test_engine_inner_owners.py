"""An owner within an owner: a cluster's delete waits for its machines, takes nothing of them, believes no forgery."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from freehold.engine import journal as journals
from freehold.engine.errors import Denied, Unavailable
from freehold.engine.keyed_codec import KeyedCodec
from freehold.engine.keys import KeyRing
from freehold.engine.kinds import Registry
from freehold.engine.outcomes import Blocked, Kept, Outcome, Ready, Reason, Waiting
from freehold.engine.ownership import Codec, Owner
from freehold.engine.phases.child_owners import KIND
from freehold.engine.resources import NodeKey
from lab.cloud import NEIGHBOUR, ReadLags, Resource
from lab.inner import MACHINE, MemoryInner
from lab.life import OWNER, Life
from lab.outage import outage
from lab.spelling import PlainCodec
from lab.world import RING, MemoryWorld, node

CODECS = pytest.mark.parametrize("codec", [PlainCodec(), KeyedCodec()], ids=["set", "map"])
KEYED = KeyedCodec()
FIRST = NodeKey(KIND, "first")


@dataclass
class Account(MemoryWorld):
    """A world whose object can have machines; ``known`` kinds of resources, or all of them."""

    known: tuple[str, ...] | None = None

    def deps(self, port: Any) -> Any:
        deps = super().deps(port)
        kinds = [kind for kind in deps.registry.values() if self.known is None or kind.name in self.known]
        bare = [replace(kind, requires=(), carrier=None) for kind in kinds]
        return replace(deps, inner=MemoryInner(self.cloud, deps.port, self.codec, Registry(bare)))


def _cluster(codec: Codec, **how: Any) -> Life:
    life = Life(Account(nodes=[node("net/Main"), node("hub/core")], codec=codec, **how), user_tags=frozenset())
    life.create()
    return life


def _machine(cluster: Life, owner: Owner = MACHINE, ring: KeyRing = RING) -> Life:
    view = MemoryWorld(
        nodes=[node("disk/Root", name="m1")], owner=owner, actor=NEIGHBOUR, codec=cluster.world.codec, ring=ring
    )
    view.cloud, view.clock, view.wall = cluster.world.cloud, cluster.world.clock, cluster.world.clock
    life = Life(view, owner=owner, user_tags=frozenset())
    assert isinstance(life.create()["disk/Root"], Ready)
    return life


def _disk(life: Life) -> Resource:
    return next(r for r in life.world.cloud.living() if r.kind == "disk")


def _deleted(life: Life, passes: int = 12) -> Mapping[NodeKey, Outcome]:
    """Some passes of its delete; what the last one said."""
    life.deleting = True
    for _ in range(passes):
        done = life.once()
        if life.released:
            break
        life.world.clock.advance(done.after if done else 5.0)
    assert life.last is not None
    return life.last.outcomes


@CODECS
def test_a_machines_resource_has_both_uuids_and_is_deleted_by_the_machine(codec: Codec) -> None:
    machine = _machine(_cluster(codec))
    marks = codec.read(_disk(machine).tagged(machine.world.cloud.now()))
    assert (marks.uuids, marks.within) == ({MACHINE.uuid}, {OWNER.uuid})
    assert machine.watch() == []
    machine.delete()
    assert machine.released and not [r for r in machine.world.cloud.living() if r.kind == "disk"]


@CODECS
def test_the_clusters_delete_waits_for_it_names_it_and_goes_on_when_it_is_gone(codec: Codec) -> None:
    cluster = _cluster(codec)
    machine = _machine(cluster)
    said = _deleted(cluster)
    waits = said[FIRST]
    assert isinstance(waits, Waiting) and waits.reason is Reason.DEPENDENTS
    assert _disk(cluster).target in waits.message and "TestMachine prod/m1" in waits.message
    assert len(cluster.world.living()) == 3 and not [call for call in cluster.port.calls if "delete" in call.operation]
    machine.delete()
    cluster.delete()
    assert cluster.released and not cluster.world.living() and not cluster.world.tampered()


@CODECS
def test_the_finalizer_waits_too(codec: Codec) -> None:
    """The machine may be in what was given, where nothing of the cloud holds anything up."""
    cluster = Life(Account(nodes=[node("net/Main")], codec=codec), user_tags=frozenset())
    cluster.create()
    machine = _machine(cluster)
    cluster.world.cloud.vanish(next(r.id for r in cluster.world.cloud.living() if r.kind == "net"))
    assert isinstance(_deleted(cluster, 30)[FIRST], Waiting)
    assert not cluster.released
    machine.delete()
    _deleted(cluster)
    assert cluster.released


@CODECS
@pytest.mark.parametrize("known", [None, ("net",)], ids=["its kind is known", "its kind is not known"])
def test_an_index_that_still_shows_what_is_gone_holds_nothing(codec: Codec, known: tuple[str, ...] | None) -> None:
    cluster = _cluster(codec, read_lags=ReadLags(tag_lag=200.0), known=known)
    machine = _machine(cluster)
    cluster.world.clock.advance(300.0)
    cluster.world.cloud.vanish(_disk(machine).id)
    assert FIRST not in _deleted(cluster, 1)


@CODECS
def test_what_is_of_an_unknown_kind_holds_while_its_tags_are_there(codec: Codec) -> None:
    cluster = _cluster(codec, known=("net",))
    _machine(cluster)
    assert isinstance(_deleted(cluster)[FIRST], Waiting)


def _copied(cluster: Life, machine: Life) -> frozenset[str]:
    return _disk(machine).tagged(cluster.world.cloud.now())


def _made_up(cluster: Life, machine: Life) -> frozenset[str]:
    codec = cluster.world.codec
    return (
        codec.owner(MACHINE)
        | codec.spell_parent_mark(MACHINE)
        | codec.label(NodeKey("hub", "x"))
        | {codec.node(NodeKey("hub", "x"), "abcd2345")}
    )


@CODECS
@pytest.mark.parametrize("forged", [_copied, _made_up])
def test_a_forged_mark_neither_holds_a_delete_nor_authorises_one(codec: Codec, forged: Any) -> None:
    cluster = _cluster(codec)
    machine = _machine(cluster)
    theirs = cluster.world.cloud.create("hub", "theirs", {}, creator="stranger")
    cluster.world.cloud.attach(theirs.target, forged(cluster, machine), by="stranger")
    cluster.world.clock.advance(100.0)
    machine.delete()
    said = _deleted(cluster, 60)
    assert cluster.released and machine.released
    assert [r.id for r in cluster.world.cloud.living()] == [theirs.id] and not cluster.world.tampered()
    assert any(isinstance(o, Kept) and theirs.target in o.message for o in said.values())


def test_a_seal_of_a_machine_of_another_cluster_holds_nothing_here() -> None:
    """The seal covers the cluster's uuid: who changes that tag moves the machine into no other cluster."""
    cluster = _cluster(KEYED)
    machine = _machine(cluster, replace(MACHINE, within="99999999-aaaa-4bbb-8ccc-1234567890ab"))
    cluster.world.cloud.attach(_disk(machine).target, KEYED.spell_parent_mark(MACHINE), by="stranger")
    cluster.world.clock.advance(100.0)
    _deleted(cluster, 60)
    assert cluster.released and _disk(machine)


@CODECS
def test_on_ours_the_mark_of_an_inner_owner_changes_nothing(codec: Codec) -> None:
    cluster = _cluster(codec)
    net = next(r for r in cluster.world.cloud.living() if r.kind == "net")
    cluster.world.cloud.attach(net.target, codec.spell_parent_mark(MACHINE), by="stranger")
    cluster.world.clock.advance(100.0)
    _deleted(cluster, 60)
    assert cluster.released and not cluster.world.living()


@CODECS
def test_what_a_machine_claims_is_not_the_clusters_to_delete(codec: Codec) -> None:
    """Its uuid beside ours, or in place of it: a person decides."""
    cluster = _cluster(codec)
    net = next(r for r in cluster.world.cloud.living() if r.kind == "net")
    [uuid] = [tag for tag in codec.owner(MACHINE) if codec.read([tag]).uuids]
    cluster.world.cloud.attach(net.target, codec.spell_parent_mark(MACHINE) | {uuid}, by="stranger")
    cluster.world.clock.advance(100.0)
    said = _deleted(cluster, 60)
    assert not cluster.released and net.delete_at is None
    assert isinstance(blocked := said[NodeKey("net", "Main")], Blocked) and blocked.reason is Reason.NOT_OWNED


def test_another_cluster_in_place_of_ours_is_told_and_does_not_hold_the_machines_delete() -> None:
    """What the mark says proves nothing, so nothing rests on it."""
    machine = _machine(_cluster(KEYED))
    foreign = KEYED.spell_parent_mark(replace(MACHINE, within="another"))
    machine.world.cloud.attach(_disk(machine).target, foreign, by="stranger")
    machine.world.clock.advance(100.0)
    machine.invalidate()
    outcome = machine.create()["disk/Root"]
    assert isinstance(outcome, Ready) and outcome.reason is Reason.TAG_TAKEN
    machine.delete()
    assert machine.released and not machine.world.tampered()


@pytest.mark.parametrize(("operation", "error"), [("search_within", Unavailable("503")), ("list_disk", Denied("no"))])
def test_an_unanswered_question_holds_the_delete(operation: str, error: Exception) -> None:
    cluster = _cluster(KEYED)
    _machine(cluster)
    with outage(cluster, operation, error):
        said = _deleted(cluster, 4)
    assert isinstance(waits := said[FIRST], Waiting) and "cannot be told" in waits.message
    assert len(cluster.world.living()) == 3


def test_the_identity_keeps_what_it_is_part_of_and_others_are_spelled_as_before() -> None:
    machine = _machine(_cluster(KEYED))
    text = journals.dumps(machine.journal)
    assert journals.loads(text).owner == MACHINE
    assert f'"{OWNER.uuid}"]' in text
    plain = journals.dumps(replace(machine.journal, owner=OWNER))
    assert f'"owner":["{OWNER.uuid}","TestCluster","prod","c1"]' in plain


def test_an_object_that_can_have_nothing_within_it_asks_nothing() -> None:
    life = Life(MemoryWorld(nodes=[node("net/Main")], codec=KEYED))
    life.create()
    life.delete()
    assert life.released and not [call for call in life.port.calls if call.operation == "search_within"]
