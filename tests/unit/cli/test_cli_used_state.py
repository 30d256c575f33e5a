"""A store that was lost from a directory that has been used is refused, whichever trace of use is left."""

from __future__ import annotations

from pathlib import Path

import pytest

from freehold.cli.errors import CliError
from freehold.cli.local.server_process import _open
from freehold.cli.local.state_directory import StateDirectory

TRACES = ("cloud.json", "audit.jsonl", "simulated-cloud.json", "../state.keys")


@pytest.fixture(name="state")
def _state(tmp_path: Path) -> StateDirectory:
    return StateDirectory.open(tmp_path / "state")


@pytest.mark.parametrize("trace", TRACES)
def test_each_trace_tells(state: StateDirectory, trace: str) -> None:
    """The audit log may be rotated away, or nothing was created yet: objects were stored all the same."""
    assert not state.used
    (state.path / trace).write_text("{}")
    assert state.used


def test_an_empty_store_is_refused_in_a_used_directory_only(state: StateDirectory) -> None:
    state.store.touch()
    with pytest.raises(CliError, match=r"it is empty.*restore it from a backup"):
        _open(state, used=True)
    assert state.store.stat().st_size == 0
    _open(state, used=False).close()
    _open(state, used=True).close()


def test_a_store_that_is_gone_is_begun_anew_and_said(state: StateDirectory, capsys: pytest.CaptureFixture[str]) -> None:
    _open(state, used=True).close()
    assert not capsys.readouterr().err, "the key ring may be older than the first store"
    state.store.unlink()
    state.audit.write_text("{}")
    _open(state, used=True).close()
    assert "is gone, and the cloud was changed from here" in capsys.readouterr().err
