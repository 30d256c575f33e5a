"""What a cloud refuses is told with the place in the manifest that asks for it; what is wrong holds up nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from freehold.engine.errors import CloudError, Denied, Invalid, NotFound, Quota
from freehold.engine.kinds import Kind
from freehold.engine.outcomes import Blocked, Ready, Reason
from freehold.engine.port import Port
from freehold.engine.resources import NodeKey, Part, Ref
from lab.drivers import MemoryDriver
from lab.life import Life
from lab.network import ALLOW, FRONT, NetworkWorld, network
from lab.outage import outage
from lab.world import MemoryWorld, node

BAD = frozenset({"bad", "worse"})


@pytest.mark.parametrize("refusal", [Invalid("no"), NotFound("no"), Denied("no"), Quota("no")], ids=repr)
def test_a_create_that_is_refused_for_what_it_asks_names_the_field(refusal: CloudError) -> None:
    """Of a missing permission and of a quota no field is to blame."""
    life = Life(MemoryWorld(nodes=[replace(node("net/A"), field="spec.net")]))
    with outage(life, "create_net", refusal):
        life.once()
    assert life.last is not None
    outcome = life.last.outcomes[NodeKey("net", "A")]
    about_it = isinstance(refusal, Invalid | NotFound)
    assert isinstance(outcome, Blocked) and outcome.message == ("spec.net: no" if about_it else "no")


class _Picky(MemoryDriver):
    """Takes all parts of a call or none, as EC2 does with the rules of a group. ``room`` is for how many of a sort."""

    refusal: Callable[[str], CloudError] = Invalid
    room = 99

    async def add_parts(self, ref: Ref, parts: Sequence[Part]) -> None:
        if bad := sorted(BAD & {part.natural_key for part in parts}):
            raise self.refusal(f"{bad[0]} is refused")
        there = [part for part in await self.parts(ref) if part.kind == ALLOW]
        if len(there) + len(parts) > self.room:
            raise Quota("the group is full")
        await super().add_parts(ref, parts)


class _PickyWorld(NetworkWorld):
    independent = True
    driver = _Picky

    def kinds(self, port: Port) -> tuple[Kind, ...]:
        picky = self.driver(self.cloud, port, "group", actor=self.actor)
        return tuple(
            replace(kind, parts=replace(kind.parts, batches=picky, independent=self.independent))
            if kind.name == "group"
            else kind
            for kind in super().kinds(port)
        )


class _DependentWorld(_PickyWorld):
    independent = False


def _front(*more: str, world: type[_PickyWorld] = _PickyWorld) -> Life:
    life = Life(world())
    life.create()
    _edit(life, *more)
    return life


def _edit(life: Life, *more: str) -> None:
    """Want these beside what is wanted inside anyway."""
    plain = next(each for each in network() if each.key == FRONT)
    parts = frozenset(Part(ALLOW, each) for each in more)
    wider = replace(
        plain, parts=lambda known: plain.parts(known) | parts, part_field=lambda part: f"spec.rules[{part.natural_key}]"
    )
    life.world.nodes = [wider if each.key == FRONT else each for each in network()]
    life.state.invalidate()
    life.once()


def _allowed(life: Life) -> set[str]:
    (front,) = [each for each in life.world.cloud.living() if each.role == str(FRONT)]
    return {natural for kind, natural in front.parts if kind == ALLOW}


def test_a_part_that_is_refused_keeps_no_other_out_and_is_told_with_its_field() -> None:
    life = _front("a", "bad", "c", "worse")
    assert life.last is not None
    outcome = life.last.outcomes[FRONT]
    assert isinstance(outcome, Blocked) and outcome.reason is Reason.INVALID
    assert outcome.message == "spec.rules[bad]: bad is refused", "in the same pass, of the first that is refused"
    assert {"a", "c"} <= _allowed(life) and BAD.isdisjoint(_allowed(life))


def test_parts_that_are_right_go_in_together() -> None:
    life = _front("a", "c")
    assert life.last is not None
    assert isinstance(life.last.outcomes[FRONT], Ready) and {"a", "c"} <= _allowed(life)
    sent = [call.operation for call in life.port.calls]
    assert sent.count("add_parts_group") == 3, "one for each group, and one for both rules"


@pytest.mark.parametrize("refusal", [Invalid, NotFound], ids=["it is invalid", "what it names is not there"])
def test_a_part_that_is_refused_keeps_none_in_that_the_spec_has_withdrawn(
    refusal: type[CloudError], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rule that opens a port to the world must go, whatever is wrong with the one that replaces it."""
    monkeypatch.setattr(_Picky, "refusal", refusal)
    life = _front("a")
    _edit(life, "bad")
    assert life.last is not None
    outcome = life.last.outcomes[FRONT]
    assert isinstance(outcome, Blocked) and outcome.message == "spec.rules[bad]: bad is refused"
    assert "a" not in _allowed(life)


def test_where_no_part_may_be_added_none_is_taken_out() -> None:
    """The right to open is missing, not the one to close: what works goes on working until a person has looked."""
    life = _front("a")
    with outage(life, "add_parts_group", Denied("no")):
        _edit(life, "c")
    assert "a" in _allowed(life)


def test_in_a_resource_that_is_full_a_part_is_replaced_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    life = _front("a")
    monkeypatch.setattr(_Picky, "room", len(_allowed(life)))
    _edit(life, "c")
    assert life.last is not None
    assert isinstance(life.last.outcomes[FRONT], Ready), life.last.outcomes[FRONT]
    assert "a" not in _allowed(life) and "c" in _allowed(life)


def test_where_a_part_may_need_another_one_none_goes_before_what_takes_its_place_is_in() -> None:
    """As a route whose replacement is refused."""
    life = _front("a", world=_DependentWorld)
    _edit(life, "bad")
    assert "a" in _allowed(life)


class _PickyWall(MemoryDriver):
    refusal: type[CloudError] = Invalid

    async def add_part(self, ref: Ref, part: Part) -> None:
        if part.natural_key in BAD:
            raise self.refusal(f"{part.natural_key} is refused")
        await super().add_part(ref, part)


class _PickyWallWorld(MemoryWorld):
    def kinds(self, port: Port) -> tuple[Kind, ...]:
        picky = _PickyWall(self.cloud, port, "wall", actor=self.actor)
        return tuple(
            replace(kind, parts=replace(kind.parts, driver=picky)) if kind.name == "wall" else kind
            for kind in super().kinds(port)
        )


@pytest.mark.parametrize("refusal", [Invalid, NotFound, Denied, Quota])
def test_what_was_put_into_a_shared_resource_is_on_record_although_another_part_was_refused(
    refusal: type[CloudError], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The in-cluster provider takes it out: it stays out."""
    monkeypatch.setattr(_PickyWall, "refusal", refusal)
    first = frozenset(Part("allow", each) for each in ("443", "bad"))
    shared = replace(node("wall/Services", "net/A", shared=True), first_parts=lambda known: first)
    life = Life(_PickyWallWorld(nodes=[node("net/A"), shared]))
    for _ in range(9):
        done = life.once()
        life.world.clock.advance(done.after if done else 1.0)
    (wall,) = [each for each in life.world.cloud.living() if each.kind == "wall"]
    assert set(wall.parts) == {("allow", "443")}
    life.world.cloud.remove_part(wall.id, "allow", "443", "in-cluster provider")
    for _ in range(3):
        life.state.invalidate()
        life.once()
    assert set(wall.parts) == set()
