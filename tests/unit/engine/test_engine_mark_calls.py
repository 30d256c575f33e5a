"""What marks cost: one call a wave, proofs in the look or in one call, no read from which nothing can follow.

No proof is left out for it: a mark counts when a read that followed its attach has shown it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from freehold.engine import errors, ownership
from freehold.engine.inventory import TagChange
from freehold.engine.journal import RecordState
from freehold.engine.kinds import Kind, Tagging
from freehold.engine.outcomes import Ready
from freehold.engine.ownership import Strength
from freehold.engine.port import Call, Effect, Port
from freehold.engine.resources import NodeKey
from lab import faults
from lab.cloud import ReadLags
from lab.default_cluster import FLOOR, WRITES, ClusterWorld
from lab.drivers import MemoryTagger
from lab.faults import Answer, Script
from lab.life import Life
from lab.network import GATE, NAT, TRAITS, VPC, NetworkWorld, network
from lab.outage import once_after, outage
from lab.spelling import SharedSealsCodec
from lab.world import MemoryWorld, node

ROLE = NodeKey("role", "node")


def _until_ready(life: Life) -> Counter[str]:
    """The calls of the cloud until everything is Ready."""
    for _ in range(60):
        done = life.once()
        if done is not None:
            if len(done.outcomes) == len(life.graph.nodes) and all(
                isinstance(o, Ready) for o in done.outcomes.values()
            ):
                break
            life.world.clock.advance(max(done.after, 0.001))
    else:
        raise AssertionError("not ready")
    return Counter(call.operation for call in life.port.calls if call.effect is not Effect.STORE)


@pytest.mark.parametrize("tag_lag", [0.0, 60.0], ids=["a fresh index", "an index that lags"])
def test_25_marked_resources_cost_five_calls_over_the_floor(tag_lag: float) -> None:
    """Four waves with one mark call each, and two lists for names that others may have taken; no read beside the look.

    The engine before needed 112: 25 mark calls, 25 single reads, four of the index, nine finds.
    """
    world = ClusterWorld(read_lags=ReadLags(tag_lag=tag_lag))
    calls = _until_ready(Life(world))
    finds = {name: number for name, number in calls.items() if name.startswith("find")}
    looks = {name: number for name, number in calls.items() if name.startswith("list")}
    assert len(world.living()) == 25
    assert calls["attach"] == 4
    assert finds == {"find_group": 1, "find_balancer": 1}
    assert looks == {
        "list_table": 2,
        **{f"list_{kind}": 1 for kind in ("vpc", "gate", "subnet", "address", "nat", "group", "balancer")},
    }
    assert sum(calls.values()) == WRITES + 4 + 2 + 9 == FLOOR + 5


def test_the_same_with_a_tag_for_each_seal_costs_a_call_for_each_resource() -> None:
    """As on IBM Cloud, where a tag has no room for a second seal."""
    calls = _until_ready(Life(ClusterWorld(plain=True)))
    assert calls["attach"] == 25


def test_the_seals_of_a_wave_are_in_one_value_and_each_proves_its_own_resource_only() -> None:
    world = NetworkWorld()
    life = Life(world)
    life.create()
    now, codec = world.cloud.now(), SharedSealsCodec()
    gate, group = (next(r for r in world.cloud.living() if r.kind == kind) for kind in ("gate", "group"))
    assert "+" in next(tag for tag in gate.tagged(now) if "gate/door" in tag and tag in group.tagged(now))
    seal = codec.node(GATE, life.keys.seal(life.keys.writing, GATE, gate.target))
    for target in (gate, group):
        found = ownership.proves(codec, life.owner, target.tagged(now), acceptable=[seal], recorded=False)
        assert found.strength is Strength.PROVEN  # the gate's seal is on both
    own = codec.node(GATE, life.keys.seal(life.keys.writing, GATE, group.target))
    assert (
        ownership.proves(codec, life.owner, group.tagged(now), acceptable=[own], recorded=False).strength
        is Strength.COPIED
    )


def test_more_resources_than_a_value_has_room_for_take_several_calls() -> None:
    world = NetworkWorld(nodes=[node(f"vpc/{n}", name=f"vpc-{n}") for n in range(30)])
    life = Life(world)
    calls = _until_ready(life)
    assert calls["attach"] == 2
    longest = max(tag.count("+") for r in world.cloud.living() for tag in r.tagged(world.cloud.now()))
    assert longest + 1 == SharedSealsCodec.seals_together


def test_what_a_batch_left_out_is_attached_by_the_next_one() -> None:
    world = NetworkWorld()
    golden = Life(NetworkWorld())
    golden.create()
    number = next(i for i, call in enumerate(golden.port.calls) if call.operation == "attach")
    life = Life(world, Script({number: faults.PARTIAL}))
    assert all(isinstance(outcome, Ready) for outcome in life.create().values())
    assert all(entry.state is RecordState.OWNED for entry in life.journal.entries.values())


def test_a_mark_that_somebody_took_off_at_once_is_not_counted() -> None:
    """What was attached is no proof: the look after it is, which shows what is there."""
    world = NetworkWorld(nodes=[node("vpc/main")])
    life = Life(world)

    def strip() -> None:
        world.strip("vpc")

    once_after(life, "attach", strip)
    for _ in range(3):
        life.once()
        world.clock.advance(6.0)
        assert life.journal.entries[VPC].state is RecordState.RECORDED
    life.create()
    assert life.journal.entries[VPC].state is RecordState.OWNED


def test_a_look_from_before_the_attach_proves_nothing() -> None:
    """A reply of the create that shows marks which it was born with is no read of what was attached after it."""
    world = ClusterWorld(nodes=[node("address/a")])
    life = Life(world)
    life.once()
    assert life.journal.entries[NodeKey("address", "a")].state is RecordState.RECORDED
    world.clock.advance(5.0)
    life.once()
    assert life.journal.entries[NodeKey("address", "a")].state is RecordState.OWNED
    assert [call.operation for call in life.port.calls if call.effect is Effect.READ] == ["list_address"]


def test_nothing_is_looked_for_that_nobody_else_can_have_made() -> None:
    """This process minted the identity, and these kinds have no name that somebody else could have taken."""
    life = Life(NetworkWorld())
    life.create()
    found = {call.operation for call in life.port.calls if call.operation.startswith("find")}
    assert found == {"find_role", "find_group"}


def test_a_new_process_looks_for_what_an_earlier_one_may_have_made() -> None:
    """The journal may be an older one: what was created after it is found by the mark that it was born with."""
    world = NetworkWorld()
    life = Life(world, on_crash=lambda life: life.roll_back())
    once_after(life, "create_vpc", life.restart)
    life.create()
    assert [r.kind for r in world.cloud.living()].count("vpc") == 1


def test_a_mark_that_the_first_look_does_not_show_is_looked_for_again_soon() -> None:
    """The cloud's reads may be behind for some seconds. Without another look it would be attached a second time."""
    world = ClusterWorld(nodes=[node("address/a")])
    world.cloud.read_lags = ReadLags(read_lag=12.0, list_lag=12.0)
    life = Life(world)
    with outage(life, "attach", errors.Unavailable("not now"), times=4):  # it is shown before its seal is
        calls = _until_ready(life)
    assert calls["attach"] == 1


class _Noting(MemoryTagger):
    """Remembers what was attached."""

    attached: ClassVar[list[frozenset[str]]] = []

    async def attach(self, changes: Sequence[TagChange]) -> Mapping[str, errors.CloudError]:
        self.attached += [change.tags for change in changes]
        return await super().attach(changes)


class _NotingWorld(NetworkWorld):
    def tagger(self, port: Port) -> MemoryTagger:
        return _Noting(self.cloud, port, self.codec, self.actor)


def test_what_a_resource_was_born_with_is_not_attached_again() -> None:
    """It names the resource's own node, so that no two resources of a wave would get the same tags."""
    _Noting.attached.clear()
    Life(_NotingWorld()).create()
    assert _Noting.attached
    assert all(tag.startswith("node:") for tags in _Noting.attached for tag in tags)


def test_what_is_ours_and_on_no_record_is_found_although_looks_show_all_marks() -> None:
    """A deep look reads the index once: only that shows what nothing names."""
    world = NetworkWorld(nodes=[*network(), node("vpc/more")])
    life = Life(world)
    life.create()
    forgotten = life.journal.entries[NodeKey("vpc", "more")].id
    world.nodes = network()
    life.rewrite(life.journal.drop(NodeKey("vpc", "more")))
    life.create()
    assert forgotten in {entry.id for entry in life.journal.entries.values()}


def test_a_delete_finds_what_is_ours_and_on_no_record_before_it_begins() -> None:
    """Otherwise what it stands in would be refused, and held up for long."""
    world = NetworkWorld(nodes=[*network(), node("nat/more", "vpc/main", "gate/door")])
    life = Life(world)
    life.create()
    life.rewrite(life.journal.drop(NodeKey("nat", "more")))
    life.delete()
    assert not world.living()
    assert [str(request) for request in world.requests() if request.refused] == []


class _Unlisted(NetworkWorld):
    """A role whose tags are attached after its create, and that neither index nor look shows."""

    def __init__(self, count: int = 1) -> None:
        role = replace(TRAITS["role"], tags_on_create=False)
        super().__init__(
            nodes=[node(f"role/{n}", name=f"role-{n}") for n in range(count)], traits={**TRAITS, "role": role}
        )

    def kinds(self, port: Port) -> tuple[Kind, ...]:
        return tuple(
            replace(kind, tagging=Tagging.AFTER) if kind.name == "role" else kind for kind in super().kinds(port)
        )


def test_what_no_index_lists_is_read_itself_all_of_it_in_one_call() -> None:
    life = Life(_Unlisted(3))
    calls = _until_ready(life)
    assert calls["search"] == 0 and calls["tags_of"] == 0
    assert calls["tags_of_each"] == 1
    assert all(entry.state is RecordState.OWNED for entry in life.journal.entries.values())


def test_an_object_with_what_no_index_lists_comes_to_rest() -> None:
    """That the index does not show its marks is no hint."""
    life = Life(_Unlisted())
    life.create()
    begun = len(life.port.calls)
    life.once()
    assert [call.operation for call in life.port.calls[begun:]] in ([], ["search_all"])


def test_a_stripped_mark_of_what_no_index_lists_is_attached_again() -> None:
    """The look at what is at rest reads it itself."""
    world = _Unlisted()
    life = Life(world)
    life.create()
    world.strip("role")
    life.state.deep_at = float("-inf")
    life.once()
    life.create()
    role = world.ours("role")
    assert role is not None and role.tagged(world.cloud.now())


def test_what_no_index_lists_is_deleted_on_its_own_tags() -> None:
    world = _Unlisted(2)
    life = Life(world)
    life.create()
    world.steal("role")
    life.delete()
    assert [r.creator for r in world.cloud.living()] == ["another owner"]


class _BatchingWorld(MemoryWorld):
    def tagger(self, port: Port) -> MemoryTagger:
        tagger = MemoryTagger(self.cloud, port, self.codec, self.actor)
        tagger.batches_reads = True
        return tagger


def test_where_the_index_lags_the_resources_are_asked_in_one_call() -> None:
    """Those of which the index shows nothing yet: five a pass would be five calls."""
    world = _BatchingWorld(nodes=[node("site/home"), node("hub/core")])
    world.cloud.read_lags = ReadLags(tag_lag=1000.0)  # longer than the engine expects
    life = Life(world)
    calls = _until_ready(life)
    assert calls["tags_of"] == 0 and calls["tags_of_each"] >= 1


def test_one_resource_that_cannot_be_asked_holds_up_no_other() -> None:
    world = MemoryWorld(nodes=[node("site/home"), node("hub/core")])
    world.cloud.read_lags = ReadLags(tag_lag=1000.0)
    life = Life(world)

    async def fail(answer: Answer, call: Call) -> Any:
        if call.operation == "tags_of" and "site" in call.subject:
            raise errors.Unavailable("not now")
        return await answer(call)

    life.port.interceptors.append(fail)
    for _ in range(8):
        done = life.once()
        world.clock.advance(done.after if done else 1.0)
    assert life.journal.entries[NodeKey("hub", "core")].state is RecordState.OWNED
    assert life.journal.entries[NodeKey("site", "home")].state is RecordState.RECORDED


def test_a_delete_reads_no_index_beyond_the_first_and_the_last_time() -> None:
    """The looks show the marks in the pass that deletes; the first search finds what is on no record."""
    life = Life(NetworkWorld())
    life.create()
    begun = len(life.port.calls)
    life.delete()
    assert [call.operation for call in life.port.calls[begun:]].count("search") == 2


def test_a_mark_that_was_taken_off_before_the_delete_is_seen_without_the_index() -> None:
    world = NetworkWorld()
    life = Life(world)
    life.create()
    life.deleting = True
    life.once()
    world.steal("nat")
    nat = next(r for r in world.cloud.living() if r.kind == "nat")
    life.delete()
    assert nat.delete_at is None and NAT not in life.journal.claimed


def _forged(world: NetworkWorld, life: Life, ident: str) -> None:
    """Somebody who may edit the object writes another id over that of our role."""
    entry = life.journal.entries[ROLE]
    life.rewrite(life.journal.put(ROLE, replace(entry, id=ident, target=f"crn:role:{ident}")))


def test_what_no_index_lists_is_found_behind_a_forged_record() -> None:
    """Our role is on no record then, and no search by marks shows it: its name does."""
    world = NetworkWorld(old_strangers=("role",))
    life = Life(world)
    life.create()
    ours, theirs = world.ours("role"), world.strangers_id("role")
    assert ours is not None
    _forged(world, life, theirs)
    life.create()
    assert ours.id in {entry.id for entry in life.journal.entries.values()}
    life.delete()
    assert [r.id for r in world.cloud.living()] == [theirs]


def test_behind_a_forged_record_only_what_our_seal_is_on_counts_as_ours() -> None:
    """A stranger's copy of its marks is found in the same list."""
    world = NetworkWorld(old_strangers=("role",))
    life = Life(world)
    life.create()
    world.copycat("role")
    copy = world.cloud.log[-1]
    _forged(world, life, world.strangers_id("role"))
    life.create()
    assert copy.creator == "stranger" and copy.id not in {entry.id for entry in life.journal.entries.values()}


def test_a_look_that_cannot_read_what_no_index_lists_confirms_nothing() -> None:
    world = _Unlisted()
    life = Life(world)
    life.create()
    world.strip("role")
    with outage(life, "tags_of_each", errors.Unavailable("not now")):
        life.restart()
        done = life.once()
        assert done is not None and not isinstance(done.outcomes[NodeKey("role", "0")], Ready)
    life.create()
    assert life.journal.entries[NodeKey("role", "0")].state is RecordState.OWNED


def test_tags_that_cannot_be_read_prove_no_delete() -> None:
    world = MemoryWorld(nodes=[node("hub/core")])
    life = Life(world)
    life.create()
    world.cloud.read_lags = ReadLags(tag_lag=1e9)  # the index shows nothing
    life.deleting = True
    with outage(life, "tags_of", errors.Unavailable("not now")):
        for _ in range(4):
            life.once()
            world.clock.advance(10.0)
        assert world.ours("hub") is not None
    life.delete()
    assert world.ours("hub") is None
