"""Decisions of a person about single resources: read from the object, and answered there."""

from __future__ import annotations

from collections.abc import Sequence

from freehold.api import names
from freehold.controllers.events import Severity
from freehold.controllers.object_memory import ObjectMemo
from freehold.controllers.record_guard import ObjectHandle, Recorder, subject_of
from freehold.engine import decisions
from freehold.engine.decisions import Conclusion, Decision
from freehold.kube.resources import Json
from freehold.providers.access.accounts import CloudAccount


def read_decisions(raw: Json, known: ObjectMemo) -> tuple[Decision, ...]:
    """Read the decisions that nothing has acted on. New ones cause a full read, so that the evidence is fresh."""
    asked = decisions.pending(_load_decisions(raw))
    if asked and asked != known.open_decisions:
        known.state.invalidate()
    known.open_decisions = asked
    return asked


async def record_conclusions(
    document: ObjectHandle, recorder: Recorder, cloud: CloudAccount, decided: Sequence[Conclusion]
) -> None:
    """Record the answer to each decision: in its annotation, in the audit log with who made it, and as an event."""
    if not decided:
        return
    for each in decided:
        what = f"{each.decision.verdict} {each.decision.node} {each.decision.id}".rstrip()
        by = each.decision.by if each.is_signed else ""
        cloud.audit_decided(subject_of(document.raw), what, by, done=each.done, why=each.message)
        severity, reason = (Severity.NORMAL, "Decided") if each.done else (Severity.WARNING, "DecisionRefused")
        recorder.record(document.raw, severity, reason, f"{what}: {each.message}")
    text = decisions.dumps(decisions.add_answers(_load_decisions(document.raw), decided))
    await document.apply({"metadata": {"annotations": {names.DECISIONS_ANNOTATION: text}}})


def _load_decisions(raw: Json) -> tuple[Decision, ...]:
    try:
        return decisions.loads((raw["metadata"].get("annotations") or {}).get(names.DECISIONS_ANNOTATION) or "[]")
    except decisions.DamagedDecisions:  # somebody else wrote them: none counts
        return ()
