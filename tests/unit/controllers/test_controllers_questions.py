"""Creates whose outcome only a person can decide, with the evidence for each candidate."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from freehold.controllers.recovery.open_decisions import OpenDecision, find_open_decisions, find_owned, match_candidates
from freehold.engine.resources import NodeKey
from harness.stepping import run_blocking
from lab import faults
from lab.faults import Script
from lab.life import Life
from lab.machines import MachineWorld
from lab.world import MemoryWorld, node

NODES = [node("net/main"), node("record/www", "net/main"), node("site/home")]


def _cut_off(operation: str) -> Life:
    golden = Life(MemoryWorld(nodes=NODES))
    golden.create()
    number = next(i for i, call in enumerate(golden.port.calls) if call.operation == operation)
    life = Life(MemoryWorld(nodes=NODES), Script({number: faults.AFTER}))
    while not life.crashes:
        done = life.once()
        life.world.clock.advance(max(done.after, 0.001) if done else 0.001)
    return life


def _asked(life: Life) -> list[OpenDecision]:
    return [
        each
        for each in run_blocking(find_open_decisions(life.journal, life.deps))
        if each.key.kind in ("record", "site")
    ]


def test_a_create_with_a_birth_mark_names_it_as_evidence() -> None:
    life = _cut_off("create_site")
    (question,) = _asked(life)
    assert question.key == NodeKey("site", "home")
    (candidate,) = question.candidates
    assert "birth mark of this create" in candidate.evidence


def test_a_create_without_one_has_a_name_only() -> None:
    life = _cut_off("create_record")
    (question,) = _asked(life)
    (candidate,) = question.candidates
    assert candidate.evidence == "nothing but its name speaks for it"
    for text in ("record/www", "www", "c1-www", candidate.observed.id):
        assert match_candidates([question], text) == [(question, candidate)], text
    assert match_candidates([question], "another") == []


def test_what_could_not_be_read_is_said() -> None:
    life = _cut_off("create_record")
    life.port.script.faults.update({len(life.port.calls) + more: faults.UNAVAILABLE for more in range(9)})
    assert all(question.unread and not question.candidates for question in _asked(life))


def test_a_resource_that_vanished_again_and_again_is_a_question() -> None:
    world = MemoryWorld(nodes=[node("balancer/web", "net/main"), node("net/main")])
    life = Life(world)
    for _ in range(60):
        life.once()
        world.strike("balancer")
        assert life.last is not None
        world.clock.advance(max(1.0, min(life.last.after, 60.0)))
    (question,) = run_blocking(find_open_decisions(life.journal, life.deps))
    assert question.vanished


def test_an_object_at_rest_has_no_question() -> None:
    life = Life(MemoryWorld(nodes=NODES))
    life.create()
    assert run_blocking(find_open_decisions(life.journal, life.deps)) == ()


def test_what_is_made_only_once_and_has_gone_is_a_question_with_its_id() -> None:
    """Whether it is made again; until it is decided nothing is."""
    world = MachineWorld()
    life = Life(world)
    life.create()
    (machine,) = [resource for resource in world.cloud.living() if resource.kind == "machine"]
    world.strike("machine")
    life.invalidate()
    life.create()
    (question,) = run_blocking(find_open_decisions(life.journal, life.deps))
    assert question.vanished and question.entry.gone == machine.id


SITE = NodeKey("site", "home")


def _of_a_record(*tags: str, **change: Any) -> list[OpenDecision]:
    """The record of the site is of a resource that a stranger made, and says so with ``change``."""
    life = Life(MemoryWorld(nodes=[node("site/home")]))
    life.create()
    theirs = life.world.cloud.create("site", "theirs", {}, creator="stranger", tags=frozenset(tags))
    entry = replace(life.journal.entries[SITE], id=theirs.id, target=theirs.target)
    life.rewrite(life.journal.put(SITE, replace(entry, **change)))
    return _asked(life)


def test_a_record_without_proof_is_a_question_with_what_its_marks_say() -> None:
    (question,) = _of_a_record()
    assert question.recorded and not question.vanished
    assert [(one.observed.name, one.evidence) for one in question.candidates] == [("theirs", "no mark; no tags")]
    (question,) = _of_a_record("x; has the birth mark of this create")
    assert question.candidates[0].evidence == 'no mark; tags: "x; has the birth mark of this create"'
    (question,) = _of_a_record("owner:elsewhere.other", "uuid:another")
    assert "not this object's: it has another owner's mark" in question.candidates[0].evidence


def test_a_record_that_its_marks_prove_or_whose_resource_has_gone_is_no_question() -> None:
    """A pass signs the one anew, and takes the other off."""
    life = Life(MemoryWorld(nodes=[node("site/home")]))
    life.create()
    entry = life.journal.entries[SITE]
    changes: list[dict[str, Any]] = [{"signature": "not one"}, {"signature": "not one", "id": "site-999"}]
    for change in changes:
        life.rewrite(life.journal.put(SITE, replace(entry, **change)))
        assert _asked(life) == []


def test_while_an_object_is_deleted_a_person_is_asked_of_what_has_lost_a_mark_and_of_nothing_else() -> None:
    """Nothing can mark a ticket: its record is its proof."""
    life = Life(MemoryWorld(nodes=[node("site/home"), node("ticket/seat")]))
    life.create()
    assert run_blocking(find_open_decisions(life.journal, life.deps, deleting=True)) == ()
    life.world.meddle("strip", "site")
    assert run_blocking(find_open_decisions(life.journal, life.deps)) == (), "its marks are healed"
    (question,) = run_blocking(find_open_decisions(life.journal, life.deps, deleting=True))
    assert question.key == NodeKey("site", "home") and question.lost and question.owned


def test_what_is_owned_is_found_by_its_node_or_its_id() -> None:
    life = Life(MemoryWorld(nodes=[node("site/home"), node("net/main")]))
    life.create()
    ident = life.journal.entries[NodeKey("site", "home")].id
    for text in ("site/home", "home", ident):
        (question,) = run_blocking(find_owned(life.journal, life.deps, text))
        assert question.key == NodeKey("site", "home") and not question.lost, text
    assert run_blocking(find_owned(life.journal, life.deps, "site/other")) == ()
