"""What a cloud refuses is told with the place in the manifest that asks for it; what is wrong holds up nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from freehold.lifecycle.errors import CloudError, Denied, Invalid, NotFound, Quota
from freehold.lifecycle.kinds import Kind
from freehold.lifecycle.outcomes import Blocked, Ready, Reason
from freehold.lifecycle.port import Port
from freehold.lifecycle.resources import NodeKey, Part, Ref
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
    """Takes all parts of a call or none, as EC2 does with the rules of a group."""

    async def add_parts(self, ref: Ref, parts: Sequence[Part]) -> None:
        if bad := sorted(BAD & {part.natural_key for part in parts}):
            raise Invalid(f"{bad[0]} is refused")
        await super().add_parts(ref, parts)


class _PickyWorld(NetworkWorld):
    def kinds(self, port: Port) -> tuple[Kind, ...]:
        picky = _Picky(self.cloud, port, "group", actor=self.actor)
        return tuple(
            replace(kind, part_batches=picky, independent_parts=True) if kind.name == "group" else kind
            for kind in super().kinds(port)
        )


def _front(*more: str) -> Life:
    world = _PickyWorld()
    life = Life(world)
    life.create()
    plain = next(each for each in network() if each.key == FRONT)
    parts = frozenset(Part(ALLOW, each) for each in more)
    wider = replace(
        plain, parts=lambda known: plain.parts(known) | parts, part_field=lambda part: f"spec.rules[{part.natural_key}]"
    )
    world.nodes = [wider if each.key == FRONT else each for each in network()]
    life.state.invalidate()
    life.once()
    return life


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
