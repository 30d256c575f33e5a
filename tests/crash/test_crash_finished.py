"""``make crash-pairs`` goes on where it was stopped, and forgets what has passed when a source changes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.source_state import ROOT
from lab import finished
from lab.finished import Finished, of_this_state

TESTS = """
def test_good():
    print({"family": "crashes", "runs": 268})

def test_bad(request):
    assert request.config.rootpath.joinpath("mended").exists()
"""


def _finished(folder: Path, kept: Path) -> Finished:
    return Finished(kept, notes=True, root=folder)


def _run(folder: Path, kept: Path, ends: pytest.ExitCode = pytest.ExitCode.OK) -> list[str]:
    """The tests that ran."""
    ran: list[str] = []

    class Ran:
        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            if report.when == "call":
                ran.append(report.nodeid.partition("::")[2])

    # At its end a plugin of pytest collects garbage five times, which takes seconds in a process with many tests.
    without = [
        word for name in ("cacheprovider", "asyncio", "xdist", "unraisableexception") for word in ("-p", f"no:{name}")
    ]
    options = ["-q", *without, "--rootdir", str(folder), "-c", "/dev/null"]
    assert ends == pytest.main([*options, str(folder / "test_some.py")], plugins=[_finished(folder, kept), Ran()])
    return ran


def test_what_has_passed_is_left_out_and_what_has_failed_runs_again(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    kept = tmp_path / "kept" / "state.jsonl"
    assert _run(tmp_path, kept, pytest.ExitCode.TESTS_FAILED) == ["test_good", "test_bad"]
    assert list(_finished(tmp_path, kept).rows().values()) == [{"family": "crashes", "runs": 268}]
    assert _run(tmp_path, kept, pytest.ExitCode.TESTS_FAILED) == ["test_bad"]
    (tmp_path / "mended").touch()
    assert _run(tmp_path, kept) == ["test_bad"]
    assert _run(tmp_path, kept) == []
    (tmp_path / "test_some.py").write_text(TESTS.replace("268", "269"))
    assert _run(tmp_path, kept) == ["test_good", "test_bad"], "the module of tests has changed"


def test_the_results_of_other_sources_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A family that passed with another engine says nothing about this one."""
    monkeypatch.setattr(finished, "KEPT", tmp_path)
    (tmp_path / "0123456789abcdef.jsonl").write_text("")
    kept = of_this_state()
    assert kept.parent == tmp_path and not list(tmp_path.iterdir())
    assert kept == of_this_state()
    assert ROOT not in tmp_path.parents


def test_no_life_runs_a_command_or_the_embedded_api_server() -> None:
    """Their sources are not among those of a state. In a process of its own: other tests here import them."""
    worlds = ("aws", "machines", "memory", "network", "powervs")
    imports = "".join(f"import lab.families_{world}\n" for world in worlds) + "import lab.tagged, sys\n"
    told = "print([name for name in sys.modules if name.startswith(('freehold.cli', 'freehold_apiserver'))])"
    done = subprocess.run(
        [sys.executable, "-c", imports + told],
        capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.stdout.strip() == "[]"
