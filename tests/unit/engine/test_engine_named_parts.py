"""A delete of what a rule of another group of ours names waits until that group can go too, and is not refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from freehold.engine import errors
from freehold.engine.graph import Node
from freehold.engine.outcomes import Kept, Reason, Waiting
from lab.life import Life
from lab.network import ALLOW, BACK, FRONT, NAT, NetworkWorld, network
from lab.outage import outage


def _behind() -> Iterator[Node]:
    """The NAT gateway stands in the front group, as a load balancer does: that group goes after it."""
    for each in network():
        yield replace(each, requires=each.requires | {FRONT}) if each.key == NAT else each


def _living() -> tuple[NetworkWorld, Life]:
    world = NetworkWorld(nodes=_behind())
    life = Life(world)
    life.create()
    return world, life


def _refused(world: NetworkWorld) -> list[str]:
    return [str(request) for request in world.requests() if request.refused]


@pytest.mark.parametrize("restart", [False, True], ids=["the process that made them", "another process"])
def test_a_group_that_another_one_names_goes_with_it(restart: bool) -> None:
    """Four times the cloud refused it, and a person was told to take the rule out."""
    world, life = _living()
    if restart:
        life.restart()
    life.deleting = True
    life.once()
    assert life.last is not None
    held = life.last.outcomes[BACK]
    assert isinstance(held, Waiting) and held.reason is Reason.DEPENDENTS
    assert held.message == "waits for group c1-front, which names it: they go together"
    life.delete()
    assert not world.living()
    assert _refused(world) == []


def test_a_group_that_nobody_names_goes_at_once() -> None:
    world, life = _living()
    back = next(r for r in world.cloud.living() if r.role == str(BACK))
    front = next(r for r in world.cloud.living() if r.role == str(FRONT))
    world.cloud.remove_part(front.id, ALLOW, back.id, "freehold")
    life.state.invalidate()
    world.nodes = [replace(each, parts=lambda known: frozenset()) if each.key == FRONT else each for each in _behind()]
    life.create()
    life.deleting = True
    life.once()
    assert back.delete_at is not None and front.delete_at is None


def test_a_rule_in_what_stays_is_told_by_the_clouds_refusal() -> None:
    """It is another owner's now: nothing that goes frees it, so nothing waits for it."""
    world, life = _living()
    world.steal("group")
    outcomes = life.delete()
    stolen = next(key for key, outcome in outcomes.items() if isinstance(outcome, Kept))
    other = outcomes[str(BACK if stolen == str(FRONT) else FRONT)]
    assert isinstance(other, Waiting) and other.reason is Reason.IN_USE


def test_what_would_wait_for_what_waits_for_it_is_tried() -> None:
    """Each would wait for the other for ever, and nobody would be told why."""
    nodes = [replace(each, requires=each.requires | {FRONT}) if each.key == BACK else each for each in network()]
    life = Life(NetworkWorld(nodes=nodes))
    life.create()
    outcome = life.delete()[str(BACK)]
    assert isinstance(outcome, Waiting) and outcome.reason is Reason.IN_USE


def test_what_is_named_waits_as_long_as_what_frees_the_other_cannot_go() -> None:
    """The delete of the NAT gateway is refused for a while: no rule is taken out, and nothing else is refused."""
    world, life = _living()
    life.deleting = True
    with outage(life, "delete_nat", errors.Denied("no permission to delete c1-out")):
        for _ in range(8):
            life.once()
            world.clock.advance(60.0)
        front = next(r for r in world.cloud.living() if r.role == str(FRONT))
        assert [kind for kind, _ in front.parts] == [ALLOW]
        assert world.ours("group") is not None
    life.delete()
    assert not world.living() and _refused(world) == []
