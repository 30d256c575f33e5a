"""A state directory of an earlier version works with this one (tests/fixtures/keyed_objects)."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

from harness.commands import freehold_in
from harness.earlier_versions import FIXTURES, KEYED

ROOT = Path(__file__).parents[3]


def unpacked(folder: Path) -> Path:
    """The state directory, with the key ring beside it."""
    state = folder / "state"
    with tarfile.open(FIXTURES / KEYED / "state.tar.xz") as packed:
        packed.extractall(state, filter="data")
    ring = (state / "ring.keys").rename(folder / "state.keys")
    ring.chmod(0o600)
    return state


def test_a_stored_cluster_is_ready_without_a_write_and_is_deleted_completely(tmp_path: Path) -> None:
    """Store, simulated cloud and key ring, as `freehold up` of that version left them."""
    state = unpacked(tmp_path)
    how = ["--simulate", "--speed", "1000"]
    up = freehold_in(state, "up", "-f", str(ROOT / "examples" / "powervs-create-infra.yaml"), *how)
    assert up.returncode == 0, up.stderr
    assert "default/freehold-demo is Ready: 8 resources" in up.stdout
    audit = state / "audit.jsonl"
    assert [json.loads(line)["call"] for line in audit.read_text().splitlines()] == []
    down = freehold_in(state, "down", "freehold-demo", "--yes", *how)
    assert down.returncode == 0, down.stderr
    done = [each for each in map(json.loads, audit.read_text().splitlines()) if each["outcome"] == "done"]
    deleted = [each["resource"] for each in done if ".delete_" in each["call"]]
    assert len(deleted) == 8, deleted
    assert len(done) == 8, "and nothing else was changed"
