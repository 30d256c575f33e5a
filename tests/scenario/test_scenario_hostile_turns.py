"""Two operators at once, and facts that cannot be asked at the end."""

from __future__ import annotations

import json
from typing import Any

from freehold.api import names as api_names
from freehold.lifecycle.port import step
from freehold_sim.http import Request, Response
from stage.powervs import MemoryDocument, Stage
from stage.scenery import only, standing


def test_two_operators_that_take_turns_create_once_and_delete_all() -> None:
    """No leader election saves a process that was suspended: only compare-and-set and settle times do."""
    stage = Stage()
    first = stage.process
    stage.start_process()
    second = stage.process
    for turn in range(400):
        stage.process = (first, second)[turn % 2]
        stage.pass_once()
        stage.clock.advance(5.0)
        if turn == 200:
            assert stage.ready(), stage.conditions()
            kinds = sorted(row["kind"] for row in standing(stage) if row["created_by"] == "api")
            assert len(kinds) == len(set(kinds)) + 1, kinds  # two connections, one of everything else
            stage.object.delete()
        if stage.object.gone:
            break
    assert stage.object.gone
    assert standing(stage) == []


def test_who_lost_the_race_for_the_identity_does_not_take_it_for_its_own() -> None:
    """It minted nothing, so creates of the other process may be under way: it must wait for them to settle."""
    stage = Stage()
    late = MemoryDocument(stage.object)
    stage.object.patch({"metadata": {"labels": {"somebody": "was-faster"}}})
    step(stage.process.reconcile(late, stage.around))
    raw = stage.object.raw
    assert api_names.JOURNAL_ANNOTATION not in (raw["metadata"].get("annotations") or {})
    known = stage.process._known
    assert not any(one.memory.minted for one in known.values())


def test_a_lost_journal_and_a_cloud_that_answers_no_facts_orphan_nothing() -> None:
    """Where a birth mark has to be looked for follows from facts: without them the finalizer must stay."""
    stage = Stage()
    stage.run(lambda: bool(standing(stage, "vpc")))
    annotations = stage.object.raw["metadata"]["annotations"]
    journal: dict[str, Any] = json.loads(annotations[api_names.JOURNAL_ANNOTATION])
    for row in standing(stage):
        if row["tags"]:
            stage.cloud.strangers.strip(only(stage, row["kind"])["crn"])
    text = json.dumps({**journal, "nodes": {}})
    stage.object.patch({"metadata": {"annotations": {api_names.JOURNAL_ANNOTATION: text}}})
    stage.start_process()
    through = stage.cloud.handle

    def silent(request: Request, actor: str = "api") -> Response:
        if actor == "api" and "resource_groups" in request.path:
            return Response(503, b"{}", {})
        return through(request, actor)

    stage.cloud.handle = silent  # type: ignore[method-assign]  # a service that is down
    stage.object.delete()
    stage.for_a_while(1800.0)
    assert not stage.object.gone

    stage.cloud.handle = through  # type: ignore[method-assign]  # and is back
    stage.run(lambda: stage.object.gone)
    assert standing(stage) == []
