"""Five workflows, each with the edge cases 1-4 of creating one resource, on the in-memory cloud.

The workflows are docs/reference/requirements.md W17 to W22, the edge cases W4 to W7.

1. the create succeeds, the tagging fails;
2. the create succeeds, the update of the object fails;
3. the delete of a rollback fails (here nothing is ever deleted to roll back, so a failing delete costs nothing);
4. the process dies after the create, before tagging or recording.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pytest

from freehold.engine.errors import Unavailable
from freehold.engine.journal import RecordState
from freehold.engine.outcomes import Blocked, Ready, Reason
from freehold.engine.port import Call
from freehold.engine.resources import NodeKey
from lab import faults
from lab.families import Case, run
from lab.faults import Answer, Fault, Script
from lab.life import Life
from lab.world import MemoryWorld, node

WORKFLOWS = {
    "tags on create": ("net/main",),
    "client token, tags after": ("disk/data", "net/main"),
    "tags after, no token, nonce in its own name": ("site/home",),
    "tags after, no token, nonce in a nested name": ("balancer/web", "net/main"),
    "client token, no tags": ("ticket/seat",),
    "neither, nonce": ("rule/ssh", "wall/edge", "net/main"),
    "neither, carried by another": ("link/a", "hub/core", "net/main"),
}
TAGGED = [name for name in WORKFLOWS if "tags" in name and "no tags" not in name] + ["neither, carried by another"]


def _world(workflow: str) -> Callable[[], MemoryWorld]:
    first, *rest = WORKFLOWS[workflow]
    chain = [first, *rest]
    needs = {"disk": ["net"], "balancer": ["net"], "wall": ["net"], "rule": ["wall"], "link": ["hub", "net"]}
    nodes = [node(key, *[k for k in chain if k.split("/")[0] in needs.get(key.split("/")[0], [])]) for key in chain]
    return lambda: MemoryWorld(nodes=list(reversed(nodes)))


def _numbers(workflow: str, wanted: Callable[[str, str], bool]) -> list[int]:
    """The indexes of the calls of an undisturbed create that ``wanted`` picks by operation and subject."""
    life = Life(_world(workflow)())
    life.create()
    return [i for i, call in enumerate(life.port.calls) if wanted(call.operation, call.subject)]


def _kind(workflow: str) -> str:
    return NodeKey.parse(WORKFLOWS[workflow][0]).kind


def _hold(workflow: str, found: Iterable[tuple[int, Fault]], **more: object) -> None:
    checked = 0
    for number, fault in found:
        script = Script({number: fault})
        verdict = run(Case(workflow, _world(workflow), lambda _, s=script: s, **more))  # type: ignore[arg-type,misc]
        assert not verdict.faults
        assert not verdict.named
        checked += 1
    assert checked, "the case never arose"


def _after_create(workflow: str) -> int:
    return _numbers(workflow, lambda operation, _: operation == f"create_{_kind(workflow)}")[0]


@pytest.mark.parametrize("workflow", TAGGED)
@pytest.mark.parametrize(
    "fault", (faults.DENIED, faults.UNAVAILABLE, faults.LOST, faults.PARTIAL, faults.NEVER_SENT), ids=str
)
def test_edge_case_1_tagging_fails(workflow: str, fault: Fault) -> None:
    """The mark is attached later; the resource is neither lost nor made twice."""
    numbers = _numbers(workflow, lambda operation, _: operation == "attach")
    _hold(workflow, [(number, fault) for number in numbers])


@pytest.mark.parametrize("workflow", WORKFLOWS)
@pytest.mark.parametrize("fault", (faults.STALE, faults.UNAVAILABLE, faults.LOST), ids=str)
def test_edge_case_2_the_object_cannot_be_updated(workflow: str, fault: Fault) -> None:
    """The intent is already stored in the object: the next pass finds what was created."""
    created = _after_create(workflow)
    numbers = [n for n in _numbers(workflow, lambda operation, _: operation == "save_journal") if n > created][:2]
    _hold(workflow, [(number, fault) for number in numbers])


@dataclass
class _FailAfterCreate:
    """Once ``create`` has been answered, the next call of each operation in ``pending`` fails."""

    create: str
    pending: set[str]
    created: bool = False

    async def __call__(self, answer: Answer, call: Call) -> Any:
        if self.created and call.operation in self.pending:
            self.pending.remove(call.operation)
            raise Unavailable(f"{call.operation} {call.subject}")
        reply = await answer(call)
        self.created = self.created or call.operation == self.create
        return reply


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_edge_case_3_nothing_is_deleted_to_roll_back(workflow: str) -> None:
    """With recording and then tagging (where the kind has tags) failing no delete is sent at all, so none can fail."""
    life = Life(_world(workflow)())
    failing = _FailAfterCreate(
        f"create_{_kind(workflow)}", {"save_journal", "attach"} if workflow in TAGGED else {"save_journal"}
    )
    life.port.interceptors.append(failing)
    outcomes = life.create()
    assert not failing.pending, "a fault was never met"
    assert not [call for call in life.port.calls if call.operation.startswith("delete_")]
    assert all(isinstance(outcome, Ready) for outcome in outcomes.values())
    assert len(life.world.living()) == len(WORKFLOWS[workflow])


@pytest.mark.parametrize("workflow", WORKFLOWS)
@pytest.mark.parametrize("fault", (faults.AFTER, faults.late_crash(10), faults.late_crash(30)), ids=str)
def test_edge_case_4_the_process_dies_before_it_records(workflow: str, fault: Fault) -> None:
    """Also if the request was still under way when the process died."""
    _hold(workflow, [(_after_create(workflow), fault)])


@pytest.mark.parametrize("fault", (faults.AFTER, faults.late_crash(10), faults.LOST), ids=str)
def test_a_resource_identified_only_by_its_name_is_presumed_ours_and_never_changed(fault: Fault) -> None:
    """docs/reference/requirements.md W22 leaves an orphan here: now it is recorded and named, and a person decides."""
    world = MemoryWorld(nodes=[node("net/main"), node("record/www", "net/main")])
    golden = Life(MemoryWorld(nodes=[node("net/main"), node("record/www", "net/main")]))
    golden.create()
    number = next(i for i, call in enumerate(golden.port.calls) if call.operation == "create_record")
    life = Life(world, Script({number: fault}))
    outcome = life.create()["record/www"]
    made = next(thing for thing in world.living() if thing.kind == "record")
    assert isinstance(outcome, Blocked)
    assert outcome.reason is Reason.PRESUMED_ONLY
    assert made.id in outcome.message
    assert [thing.id for thing in world.living() if thing.kind == "record"] == [made.id]


def test_an_intent_closes_only_when_its_mark_was_read_back() -> None:
    """The index shows a mark late; until then the resource is recorded, not owned, and not Ready."""
    life = Life(_world("tags after, no token, nonce in its own name")())
    life.once()
    key = NodeKey("site", "home")
    assert life.journal.entries[key].state is RecordState.RECORDED
    assert life.journal.entries[key].request is not None
    life.create()
    assert life.journal.entries[key].state is RecordState.OWNED
    assert life.journal.entries[key].request is None
