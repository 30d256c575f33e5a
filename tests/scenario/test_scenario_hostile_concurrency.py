"""Two operators at once, and facts that cannot be read at the end."""

from __future__ import annotations

import json
from typing import Any

from freehold.api import names as api_names
from freehold_sim.http import Request, Response
from harness.powervs import Harness, MemoryDocument
from harness.resources import existing, only
from harness.stepping import run_blocking


def test_two_operators_that_take_turns_create_once_and_delete_all() -> None:
    """Leader election does not help with a process that was suspended: only compare-and-set and settle times do."""
    harness = Harness()
    first = harness.process
    harness.start_process()
    second = harness.process
    for turn in range(400):
        harness.process = (first, second)[turn % 2]
        harness.pass_once()
        harness.clock.advance(5.0)
        if turn == 200:
            assert harness.ready(), harness.conditions()
            kinds = sorted(row["kind"] for row in existing(harness) if row["created_by"] == "api")
            assert len(kinds) == len(set(kinds)) + 1, kinds  # two connections, one of each other kind
            harness.object.delete()
        if harness.object.gone:
            break
    assert harness.object.gone
    assert existing(harness) == []


def test_a_process_that_lost_the_race_for_the_identity_waits() -> None:
    """It did not create the identity, so creates of the other process may be under way and must settle."""
    harness = Harness()
    late = MemoryDocument(harness.object)
    harness.object.patch({"metadata": {"labels": {"somebody": "was-faster"}}})
    run_blocking(harness.process.reconcile(late, harness.around))
    raw = harness.object.raw
    assert api_names.JOURNAL_ANNOTATION not in (raw["metadata"].get("annotations") or {})
    assert harness.process._memory.find(raw) is None
    run_blocking(harness.process.reconcile(MemoryDocument(harness.object), harness.around))
    known = harness.process._memory.find(harness.object.raw)
    assert known is not None and known.state.identity_is_new, "this one created the identity itself"


def test_a_lost_journal_and_unreadable_facts_orphan_nothing() -> None:
    """The places to search for nonces follow from the facts: without them the finalizer must stay."""
    harness = Harness()
    harness.run(lambda: bool(existing(harness, "vpc")))
    annotations = harness.object.raw["metadata"]["annotations"]
    journal: dict[str, Any] = json.loads(annotations[api_names.JOURNAL_ANNOTATION])
    for row in existing(harness):
        if row["tags"]:
            harness.cloud.strangers.strip(only(harness, row["kind"])["crn"])
    text = json.dumps({**journal, "nodes": {}})
    harness.object.patch({"metadata": {"annotations": {api_names.JOURNAL_ANNOTATION: text}}})
    harness.start_process()
    through = harness.cloud.handle

    def silent(request: Request, actor: str = "api") -> Response:
        if actor == "api" and "resource_groups" in request.path:
            return Response(503, b"{}", {})
        return through(request, actor)

    harness.cloud.handle = silent  # type: ignore[method-assign]  # a service that is down
    harness.object.delete()
    harness.for_a_while(300.0)
    assert not harness.object.gone

    harness.cloud.handle = through  # type: ignore[method-assign]  # and is back
    harness.run(lambda: harness.object.gone)
    assert existing(harness) == []
