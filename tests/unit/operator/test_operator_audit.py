"""The lines of the audit log."""

from __future__ import annotations

import json
from pathlib import Path

from freehold.lifecycle.clock import ManualClock
from freehold.operator.audit import FileAudit


def test_a_kept_resource_has_a_line_with_its_name_and_the_reason(tmp_path: Path) -> None:
    """An auditor finds it after the object and its events are gone; it is not counted as a call."""
    clock = ManualClock()
    with FileAudit(tmp_path / "audit.jsonl", clock) as audit:
        audit.kept("IBMPowerVSCluster team/c1", "vpc main r006-1", "found by its name")
    assert json.loads((tmp_path / "audit.jsonl").read_text()) == {
        "time": round(clock.now(), 3),
        "object": "IBMPowerVSCluster team/c1",
        "call": "",
        "resource": "vpc main r006-1",
        "outcome": "kept",
        "reason": "found by its name",
    }
