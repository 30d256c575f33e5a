"""Parts: shown by the look, essential ones first, changed in place, taken out before what holds them goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from freehold.engine import errors
from freehold.engine.clock import ManualClock
from freehold.engine.dry_run import dry_run_deps
from freehold.engine.dry_run_overlay import Action, Overlay
from freehold.engine.engine import ensure, release
from freehold.engine.graph import Graph, Node
from freehold.engine.journal import Journal, StaleObject
from freehold.engine.kinds import Kind
from freehold.engine.outcomes import Blocked, Ready, Reason, Waiting
from freehold.engine.port import Call, Effect, Port, ReadOnlyPort
from freehold.engine.resources import Part
from harness.stepping import run_blocking
from lab import faults
from lab.cloud import Resource, Traits
from lab.drivers import MemoryDriver
from lab.faults import Answer, Crash, Script
from lab.life import Life
from lab.network import (
    ALLOW,
    ATTACHMENT,
    BACK,
    EVERYWHERE,
    FRONT,
    GATE,
    JOIN,
    NAT,
    ROUTE,
    TABLE,
    TRAITS,
    VPC,
    NetworkWorld,
    network,
)
from lab.outage import once_after, outage
from lab.world import node

PEERING = "10.9.0.0/16"


def _made(world: NetworkWorld, kind: str, name: str = "") -> Resource:
    return next(r for r in world.cloud.living() if r.kind == kind and name in r.name(world.cloud.now()))


def _living() -> tuple[NetworkWorld, Life]:
    world = NetworkWorld()
    life = Life(world)
    assert all(isinstance(outcome, Ready) for outcome in life.create().values())
    return world, life


def _refused(world: NetworkWorld) -> list[str]:
    return [str(request) for request in world.requests() if request.refused]


def _routing(world: NetworkWorld, *more: Part) -> list[Node]:
    """The same network, whose table has more routes."""

    def wider(plain: Node) -> Node:
        return replace(plain, parts=lambda known: plain.parts(known) | frozenset(more))

    return [wider(each) if each.key == TABLE else each for each in network()]


def test_a_look_that_shows_the_parts_makes_no_call_for_them() -> None:
    world, life = _living()
    life.state.invalidate()
    life.once()
    life.delete()
    assert [call.operation for call in life.port.calls if call.operation.startswith("parts_")] == []
    assert not world.living()


def test_what_depends_on_a_resource_waits_for_its_essential_parts() -> None:
    """The cloud refuses a NAT gateway in a VPC whose internet gateway is not attached."""
    world, _ = _living()
    assert _refused(world) == []
    assert set(_made(world, "gate").parts) == {(ATTACHMENT, _made(world, "vpc").id)}


def test_nothing_is_made_behind_a_resource_whose_essential_part_cannot_be_added() -> None:
    """It waits for the resource by its name, and goes on when the part is there."""
    world = NetworkWorld()
    life = Life(world)
    with outage(life, "add_part_gate", errors.Unavailable("not now")):
        for _ in range(6):
            life.once()
            world.clock.advance(10.0)
        assert world.ours("gate") is not None and world.ours("nat") is None
        assert life.last is not None
        waiting = life.last.outcomes[NAT]
        assert isinstance(waiting, Waiting) and waiting.reason is Reason.REQUIREMENT and waiting.waits_for
        assert "waits for gate c1-door" in waiting.message
    life.create()
    assert world.ours("nat") is not None and _refused(world) == []


@pytest.mark.parametrize("operation", ["create_gate", "add_part_gate"])
def test_a_process_that_died_before_or_after_the_essential_part_leaves_nothing_behind(operation: str) -> None:
    """Such as an internet gateway that was made and never attached."""
    world = NetworkWorld()
    life = Life(world)

    def die() -> None:
        raise Crash(operation)

    once_after(life, operation, die)
    life.create()
    assert life.crashes == 1
    assert [r.kind for r in world.cloud.living() if r.kind == "gate"] == ["gate"]
    assert _refused(world) == []
    life.delete()
    assert not world.living()


def test_an_essential_part_that_somebody_removed_is_added_again() -> None:
    world, life = _living()
    gate = _made(world, "gate")
    world.cloud.remove_part(gate.id, ATTACHMENT, _made(world, "vpc").id, "stranger")
    life.state.invalidate()
    life.create()
    assert set(gate.parts) == {(ATTACHMENT, _made(world, "vpc").id)}


def test_a_route_to_a_replaced_gateway_is_changed_in_place() -> None:
    """Neither the table nor the route is made anew: traffic through the table would stop."""
    world, life = _living()
    table, before = _made(world, "table"), _made(world, "nat").id
    assert table.behaviors[ROUTE, EVERYWHERE] == before
    world.strike("nat")
    life.state.invalidate()
    life.create()
    after = _made(world, "nat").id
    assert after != before and table.behaviors[ROUTE, EVERYWHERE] == after
    changes = [str(request) for request in world.requests() if "part_table" in request.operation]
    assert changes.count(f"memory.change_part_table {table.id}") == 1
    assert f"memory.remove_part_table {table.id}" not in changes


def test_a_part_of_another_behavior_that_is_not_ours_is_reported_and_not_changed() -> None:
    world = NetworkWorld(nodes=_routing(NetworkWorld(), Part(ROUTE, PEERING, behavior="ours")))
    life = Life(world)

    def somebody_was_first() -> None:
        world.cloud.add_part(_made(world, "table").id, ROUTE, PEERING, "stranger", "their-machine")

    once_after(life, "create_table", somebody_was_first)
    ready = life.create()["table/private"]
    assert isinstance(ready, Ready) and ready.reason is Reason.DRIFTED
    assert f"route {PEERING} is 'their-machine'" in ready.note
    assert _made(world, "table").behaviors[ROUTE, PEERING] == "their-machine"


@pytest.mark.parametrize("restart", [False, True], ids=["the same process", "a new process"])
def test_a_route_that_somebody_led_elsewhere_is_led_back(restart: bool) -> None:
    """The object is at rest, and looks at it read a list that other objects share, again and again."""
    world, life = _living()
    table = _made(world, "table")
    world.redirect("table")
    assert table.behaviors[ROUTE, EVERYWHERE] == "their-machine"
    if restart:
        life.restart()
    life.create()
    assert table.behaviors[ROUTE, EVERYWHERE] == _made(world, "nat").id


def test_two_groups_that_name_each_other_are_made_and_deleted() -> None:
    """Neither can go first while the other has a rule that names it."""
    world, life = _living()
    front, back = _made(world, "group", "front"), _made(world, "group", "back")
    assert set(front.parts) == {(ALLOW, back.id)} and set(back.parts) == {(ALLOW, front.id)}
    life.delete()
    assert not world.living()
    assert _refused(world) == []


def test_a_rule_stays_while_the_group_that_it_names_is_made_anew_and_names_the_new_one_then() -> None:
    """What it is to name is not known meanwhile: it must not be taken for surplus."""
    world, life = _living()
    front, back = _made(world, "group", "front"), _made(world, "group", "back")
    world.cloud.vanish(front.id)
    life.state.invalidate()
    with outage(life, "create_group", errors.Unavailable("not now")):
        for _ in range(8):
            life.once()
            world.clock.advance(15.0)
    assert set(back.parts) == {(ALLOW, front.id)}
    life.create()
    assert set(back.parts) == {(ALLOW, _made(world, "group", "front").id)}


def test_a_route_of_a_stranger_stays_until_the_table_goes() -> None:
    world, life = _living()
    world.drop_in("table")
    life.state.invalidate()
    life.create()
    assert (ROUTE, PEERING) in _made(world, "table").parts
    life.delete()
    assert world.tampered() == [] and not world.living()


def test_a_part_that_was_there_before_us_is_not_removed_with_the_wish_for_it() -> None:
    """A wish is no proof: only what we added is removed."""
    world, life = _living()
    world.drop_in("table")
    wish = Part(ROUTE, PEERING, behavior="their-machine")
    for nodes in (_routing(world, wish), network()):
        world.nodes = nodes
        life.state.invalidate()
        life.create()
    assert (ROUTE, PEERING) in _made(world, "table").parts
    assert world.tampered() == []


@pytest.mark.parametrize("dies", [False, True], ids=["in one process", "after a crash"])
def test_a_part_that_we_added_is_removed_with_the_wish_for_it(dies: bool) -> None:
    """It is on record before it is added, so that a new process knows whose it is."""
    world, life = _living()
    world.nodes = _routing(world, Part(ROUTE, PEERING, behavior="ours"))
    life.state.invalidate()
    if dies:

        def die() -> None:
            raise Crash("added")

        once_after(life, "add_part_table", die)
        life.once()
        assert life.crashes == 1
    else:
        life.create()
    assert (ROUTE, PEERING) in _made(world, "table").parts
    world.nodes = network()
    life.state.invalidate()
    life.create()
    assert (ROUTE, PEERING) not in _made(world, "table").parts


@pytest.mark.parametrize("fault", [faults.late(20.0), faults.late_crash(20.0)], ids=str)
def test_a_part_whose_add_takes_effect_late_is_removed_although_nothing_wants_it_any_more(fault: faults.Fault) -> None:
    """The wish for it went while the add was under way: looks that do not show it yet say nothing."""
    wider = _routing(NetworkWorld(), Part(ROUTE, PEERING, behavior="ours"))
    world, life = _living()
    begun = len(life.port.calls)
    world.nodes = wider
    life.state.invalidate()
    life.create()
    number = next(i for i, c in enumerate(life.port.calls) if i >= begun and c.operation == "add_part_table")
    world = NetworkWorld()
    life = Life(world, Script({number: fault}))
    life.create()
    world.nodes = wider
    life.state.invalidate()
    life.once()
    world.nodes = network()
    life.state.invalidate()
    life.once()
    assert (ROUTE, PEERING) not in _made(world, "table").parts
    life.create()
    assert (ROUTE, PEERING) not in _made(world, "table").parts
    assert life.journal.entries[TABLE].parts == (f"{ROUTE} {EVERYWHERE}",)


@pytest.mark.parametrize("dropped", [True, False], ids=["the wish is dropped first", "it is seen first"])
def test_a_part_that_was_never_added_and_that_somebody_else_adds_is_theirs(dropped: bool) -> None:
    """It is on record as ours from before the add, which the cloud refused."""
    world, life = _living()
    world.nodes = _routing(world, Part(ROUTE, PEERING, behavior="ours"))
    life.state.invalidate()
    with outage(life, "add_part_table", errors.Denied("no permission to add routes")):
        for _ in range(3):
            life.once()
            world.clock.advance(10.0)
    world.drop_in("table")
    if not dropped:
        life.state.invalidate()
        life.create()
        life.restart()
    world.nodes = network()
    life.state.invalidate()
    life.create()
    assert (ROUTE, PEERING) in _made(world, "table").parts and world.tampered() == []


def test_what_is_theirs_stays_theirs_when_the_object_changes_while_that_is_put_on_record() -> None:
    """The wish is dropped just then, so that the write is refused."""
    world, life = _living()
    world.nodes = _routing(world, Part(ROUTE, PEERING, behavior="ours"))
    life.state.invalidate()
    with outage(life, "add_part_table", errors.Denied("no permission to add routes")):
        life.once()
    world.drop_in("table")
    dropped = []

    async def drop(answer: Answer, call: Call) -> object:
        if call.effect is Effect.STORE and not dropped:
            dropped.append(call)
            raise StaleObject
        return await answer(call)

    life.port.interceptors.append(drop)
    life.state.invalidate()
    life.once()
    assert dropped
    world.nodes = network()
    life.state.invalidate()
    life.create()
    assert (ROUTE, PEERING) in _made(world, "table").parts and world.tampered() == []


def test_a_part_that_somebody_takes_out_is_put_back() -> None:
    """It is on record already, and a create is sent only soon after a write of the object."""
    world, life = _living()
    table = _made(world, "table")
    world.clock.advance(3600.0)
    world.cloud.remove_part(table.id, ROUTE, EVERYWHERE, "somebody")
    life.state.invalidate()
    life.create()
    assert (ROUTE, EVERYWHERE) in table.parts


def test_parts_that_an_earlier_version_recorded_are_still_ours() -> None:
    """It recorded every wanted part, whoever had put it there."""
    world, life = _living()
    world.nodes = _routing(world, Part(ROUTE, PEERING, behavior="ours"))
    table = _made(world, "table")
    world.cloud.add_part(table.id, ROUTE, PEERING, world.actor, "ours")
    entry = life.journal.entries[TABLE]
    life.rewrite(life.journal.put(TABLE, replace(entry, parts=(f"{ROUTE} {EVERYWHERE}", f"{ROUTE} {PEERING}"))))
    life.create()
    world.nodes = network()
    life.state.invalidate()
    life.create()
    assert set(table.parts) == {(ROUTE, EVERYWHERE), (JOIN, _made(world, "vpc").id)}


def test_nothing_is_taken_out_of_what_the_marks_do_not_prove() -> None:
    """Another owner has it now: to detach its gateway would cut off somebody's machines."""
    world, life = _living()
    gate, vpc = _made(world, "gate"), _made(world, "vpc")
    world.steal("gate")
    life.delete()
    assert set(gate.parts) == {(ATTACHMENT, vpc.id)}


class _Occupied(NetworkWorld):
    """A gate in which others may put something."""

    def __init__(self) -> None:
        super().__init__(traits={**TRAITS, "guest": Traits("guest", parent="gate")})

    def kinds(self, port: Port) -> tuple[Kind, ...]:
        driver = MemoryDriver(self.cloud, port, "gate", actor=self.actor)
        return tuple(
            replace(kind, deletion=replace(kind.deletion, contains=("guest",), container=driver))
            if kind.name == "gate"
            else kind
            for kind in super().kinds(port)
        )


def test_nothing_is_taken_out_of_a_resource_whose_delete_waits_for_what_is_in_it() -> None:
    """It goes on working for the stranger until a person has moved what is in it."""
    world = _Occupied()
    life = Life(world)
    life.create()
    gate, vpc = _made(world, "gate"), _made(world, "vpc")
    world.cloud.create("guest", "their-machine", {"gate": gate.id}, creator="stranger")
    life.delete()
    assert life.last is not None
    held = life.last.outcomes[GATE]
    assert isinstance(held, Waiting) and held.reason is Reason.IN_USE
    assert set(gate.parts) == {(ATTACHMENT, vpc.id)}


def test_a_part_that_cannot_be_taken_out_holds_the_delete_and_is_named() -> None:
    world, life = _living()
    life.deleting = True
    with outage(life, "remove_part_gate", errors.Denied("no permission to detach c1-door")):
        for _ in range(12):
            life.once()
            world.clock.advance(15.0)
        assert life.last is not None
        held = life.last.outcomes[GATE]
        assert isinstance(held, Waiting | Blocked) and "no permission to detach c1-door" in held.message
        assert world.ours("gate") is not None and world.ours("vpc") is not None
    life.delete()
    assert not world.living()


class _SharedJoins(NetworkWorld):
    """Tables to which others join networks of theirs."""

    def kinds(self, port: Port) -> tuple[Kind, ...]:
        return tuple(
            replace(kind, parts=replace(kind.parts, exclusive=frozenset())) if kind.name == "table" else kind
            for kind in super().kinds(port)
        )


def test_a_holding_part_of_others_is_not_taken_out() -> None:
    """The cloud refuses the delete and names it: a person decides, whose network it is."""
    world = _SharedJoins()
    life = Life(world)
    life.create()
    table = _made(world, "table")
    world.cloud.add_part(table.id, JOIN, "their-network", "stranger")
    life.delete()
    assert (JOIN, "their-network") in table.parts and world.tampered() == []
    assert life.last is not None
    held = life.last.outcomes[TABLE]
    assert isinstance(held, Waiting) and held.reason is Reason.IN_USE and "their-network" in held.message


def test_a_holding_part_of_others_is_not_taken_out_although_we_had_tried_to_add_the_same() -> None:
    world = _SharedJoins()
    life = Life(world)
    life.create()
    world.nodes = _routing(world, Part(JOIN, "their-network"))
    life.state.invalidate()
    with outage(life, "add_part_table", errors.Denied("no permission to join their-network")):
        life.once()
    table = _made(world, "table")
    assert f"{JOIN} their-network" in life.journal.entries[TABLE].parts
    world.cloud.add_part(table.id, JOIN, "their-network", "stranger")
    life.delete()
    assert (JOIN, "their-network") in table.parts and world.tampered() == []


def test_what_we_put_into_our_own_resource_stays_when_the_spec_gives_it_by_its_id() -> None:
    """The spec need not say any more what is to be inside."""
    world = _SharedJoins()
    life = Life(world)
    life.create()
    table = _made(world, "table")
    before = set(table.parts)
    assert before
    given = node(str(TABLE), given=table.id)
    world.nodes = [given if each.key == TABLE else each for each in world.nodes]
    life.state.invalidate()
    life.create()
    assert set(table.parts) == before
    life.delete()
    assert not world.living()


def test_a_resource_in_which_all_is_ours_keeps_it_when_the_spec_gives_it_by_its_id() -> None:
    """What the spec says of it then is not what is to be inside."""
    world, life = _living()
    group = _made(world, "group", "front")
    before, other = set(group.parts), frozenset({Part(ALLOW, "everybody")})
    world.nodes = [
        replace(each, given=lambda known: group.id, parts=lambda known: other) if each.key == FRONT else each
        for each in world.nodes
    ]
    life.state.invalidate()
    life.create()
    assert set(group.parts) == before


def _handed(world: NetworkWorld, *more: Part, over: bool) -> list[Node]:
    return [replace(each, shared=over) if each.key == TABLE else each for each in _routing(world, *more)]


def test_a_part_of_what_was_handed_over_and_came_back_stays() -> None:
    """We had added it first; the in-cluster provider has made it anew since."""
    world, life = _living()
    table, more = _made(world, "table"), Part(ROUTE, PEERING, behavior="ours")
    for nodes in (_handed(world, more, over=False), _handed(world, more, over=True)):
        world.nodes = nodes
        life.state.invalidate()
        life.create()
    world.cloud.remove_part(table.id, ROUTE, PEERING, "somebody")
    world.cloud.provide(table.id, ROUTE, PEERING)
    world.nodes = _handed(world, over=False)
    life.state.invalidate()
    life.create()
    assert (ROUTE, PEERING) in table.parts and world.tampered() == []


def test_what_is_inside_resources_of_others_is_seen_in_the_same_look() -> None:
    world = NetworkWorld(nodes=[])
    vpc = world.cloud.create("vpc", "their-vpc", {}, creator="stranger")
    table = world.cloud.create("table", "their-table", {"vpc": vpc.id}, creator="stranger")

    def closed(inside: frozenset[Part]) -> str:
        return "" if any(part.kind == ROUTE for part in inside) else "has no route: add one"

    world.nodes = [replace(node("table/private", given=table.id), missing_inside=closed)]
    world.clock.advance(3600.0)
    life = Life(world)
    life.once()
    assert life.last is not None
    refusal = life.last.outcomes[TABLE]
    assert isinstance(refusal, Blocked) and "has no route: add one" in refusal.message
    world.cloud.add_part(table.id, ROUTE, EVERYWHERE, "stranger", "their-gateway")
    assert isinstance(life.create()["table/private"], Ready)
    assert [call.operation for call in life.port.calls if call.operation.startswith("parts_")] == []


def _guarded(*more: str) -> list[Node]:
    """The same network, whose front group lets more in."""

    def wider(plain: Node) -> Node:
        return replace(plain, parts=lambda known: plain.parts(known) | {Part(ALLOW, each) for each in more})

    return [wider(each) if each.key == FRONT else each for each in network()]


def _part_calls(life: Life, since: int = 0) -> list[str]:
    calls = (call.operation for call in life.port.calls[since:])
    return [name for name in calls if name.endswith("_group") and "part" in name]


def test_all_rules_of_a_group_cost_one_call() -> None:
    """Seventeen rules of a default cluster are three calls: to be added, and to be taken out before a delete."""
    world = NetworkWorld(nodes=_guarded("one", "two", "three"))
    life = Life(world)
    life.create()
    assert len(_made(world, "group", "front").parts) == 4
    assert _part_calls(life) == ["add_parts_group", "add_parts_group"]
    before = len(life.port.calls)
    world.nodes = _guarded("three", "four")
    life.state.invalidate()
    life.create()
    assert {natural for _, natural in _made(world, "group", "front").parts} >= {"three", "four"}
    assert len(_made(world, "group", "front").parts) == 3
    assert _part_calls(life, before) == ["add_parts_group", "remove_parts_group"]
    before = len(life.port.calls)
    life.delete()
    assert _part_calls(life, before) == ["remove_parts_group", "remove_parts_group"]
    assert not world.living()


@pytest.mark.parametrize("operation", ["add_parts_group", "remove_parts_group"])
def test_a_process_that_died_after_a_batch_of_rules_leaves_nothing_behind(operation: str) -> None:
    world = NetworkWorld(nodes=_guarded("one", "two"))
    life = Life(world)

    def die() -> None:
        raise Crash(operation)

    once_after(life, operation, die)
    life.create()
    assert len(_made(world, "group", "front").parts) == 3
    life.delete()
    assert life.crashes == 1
    assert not world.living()


class _Unsaved:
    async def save(self, journal: Journal) -> None:
        """A dry run's object is a copy."""


def _planned(life: Life, passes: int, *, deleting: bool = False) -> list[tuple[Action, str, str]]:
    overlay = Overlay(ManualClock(life.world.clock.now(), life.world.clock.monotonic()))
    deps = dry_run_deps(life.world.deps(ReadOnlyPort(life.port)), overlay)
    journal, state = life.journal, life.state.dry_run_copy()
    verb: Callable[..., object] = release if deleting else ensure
    for _ in range(passes):
        state.invalidate()
        done = run_blocking(verb(deps, Graph(life.world.nodes), journal, _Unsaved(), state))  # type: ignore[arg-type]  # either verb
        journal = done.journal
        overlay.clock.advance(600.0)
    return [(write.action, write.kind, write.attribute) for write in overlay.writes]


def test_a_plan_counts_one_call_for_the_rules_of_a_group() -> None:
    """It lists each of them."""
    few, many = (_plan_of(nodes) for nodes in (network(), _guarded("one", "two", "three")))
    assert len(many.writes) == len(few.writes) + 3
    assert many.calls == few.calls


def _plan_of(nodes: list[Node]) -> Overlay:
    world = NetworkWorld(nodes=nodes)
    life = Life(world)
    overlay = Overlay(ManualClock(world.clock.now(), world.clock.monotonic()))
    deps = dry_run_deps(world.deps(ReadOnlyPort(life.port)), overlay)
    journal, state = life.journal, life.state.dry_run_copy()
    for _ in range(8):
        state.invalidate()
        journal = run_blocking(ensure(deps, Graph(world.nodes), journal, _Unsaved(), state)).journal  # type: ignore[arg-type]  # saves nothing
        overlay.clock.advance(600.0)
    return overlay


def test_a_plan_lists_the_parts_of_what_it_would_create() -> None:
    world = NetworkWorld()
    life = Life(world)
    planned = _planned(life, 8)
    parts = [(kind, part.partition(" ")[0]) for action, kind, part in planned if action is Action.ADD_PART]
    assert sorted(parts) == [
        ("gate", ATTACHMENT),
        ("group", ALLOW),
        ("group", ALLOW),
        ("table", JOIN),
        ("table", ROUTE),
    ]
    assert life.port.writes == 0


def test_a_plan_lists_a_part_that_would_be_changed_and_the_parts_that_would_be_taken_out() -> None:
    world, life = _living()
    writes = life.port.writes
    world.strike("nat")
    assert _planned(life, 8).count((Action.UPDATE, "table", f"{ROUTE} {EVERYWHERE}")) == 1
    out = {
        (kind, part.partition(" ")[0])
        for action, kind, part in _planned(life, 8, deleting=True)
        if action is Action.REMOVE_PART
    }
    assert out == {("gate", ATTACHMENT), ("table", JOIN), ("group", ALLOW)}
    assert life.port.writes == writes


def test_a_graph_refuses_parts_that_name_what_nothing_wants() -> None:
    with pytest.raises(ValueError, match="group/front requires group/back"):
        Graph([each for each in network() if each.key != BACK])


def test_parts_may_name_each_other_without_a_cycle() -> None:
    assert {FRONT, BACK, VPC} <= set(Graph(network()).order)
