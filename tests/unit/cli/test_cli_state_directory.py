"""The state directory has one writer, whichever process dies, and belongs to one cloud."""

import subprocess
import sys
from pathlib import Path

import pytest

from freehold.cli.errors import CliError
from freehold.cli.local.state_directory import CloudChoice, LiveServer, Lock, StateDirectory, default_path

SERVER = LiveServer("http://127.0.0.1:1", 4711, operator=True, simulator="http://127.0.0.1:2")


def test_where_the_state_is_by_default() -> None:
    assert default_path({"FREEHOLD_STATE": "/x/y", "XDG_STATE_HOME": "/z"}) == Path("/x/y")
    assert default_path({"XDG_STATE_HOME": "/z", "HOME": "/h"}) == Path("/z/freehold")
    assert default_path({"HOME": "/h"}) == Path("/h/.local/state/freehold")


def test_only_the_owner_can_use_the_directory(tmp_path: Path) -> None:
    state = StateDirectory.open(tmp_path / "a" / "b")
    assert state.path.stat().st_mode & 0o777 == 0o700


def test_a_directory_that_cannot_be_created_is_reported_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CliError, match=r"cannot be used: Not a directory; choose another one with --state"):
        StateDirectory.open(tmp_path / "file" / "below")


def test_a_lock_has_one_holder(tmp_path: Path) -> None:
    first, second = Lock(tmp_path / "lock"), Lock(tmp_path / "lock")
    assert first.take()
    first.publish(SERVER)
    assert not second.take()
    assert second.read() == SERVER
    first.release()
    assert second.take()
    assert second.read() is None
    second.release()


def test_the_lock_of_a_killed_process_is_free_whatever_its_file_says(tmp_path: Path) -> None:
    """After kill -9 the file still names a server; only the kernel knows that the lock is free."""
    code = (
        "import sys, pathlib; from freehold.cli.local.state_directory import Lock, LiveServer;"
        "lock = Lock(pathlib.Path(sys.argv[1])); assert lock.take();"
        "lock.publish(LiveServer('http://127.0.0.1:1', 1, True)); print('held', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "lock")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        mine = Lock(tmp_path / "lock")
        assert not mine.take()
        holder.kill()
        holder.wait()
    assert mine.read() is not None
    assert mine.take()
    mine.release()


def test_half_written_content_does_not_count_as_a_server(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text('{"url": "http')
    assert Lock(tmp_path / "lock").read() is None


def test_the_lock_can_be_passed_to_a_child(tmp_path: Path) -> None:
    """The simulator holds the lock of its world until it has ended."""
    lock, other = Lock(tmp_path / "lock"), Lock(tmp_path / "lock")
    assert lock.take()
    child = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE, pass_fds=(lock.descriptor,)
    )
    with child:
        lock.let_go()
        assert not other.take()
        child.kill()
        child.wait()
    assert other.take()
    other.release()


def test_a_state_is_bound_to_the_cloud_of_its_first_use(tmp_path: Path) -> None:
    """Objects of a simulated world must never be reconciled with a real account, or the reverse."""
    simulated = StateDirectory.open(tmp_path / "simulated")
    assert simulated.cloud is None
    assert simulated.choose(simulate=True) is CloudChoice.SIMULATED
    assert simulated.cloud is None, "choosing does not bind"
    assert simulated.bind(simulate=True) is CloudChoice.SIMULATED
    assert simulated.bind(simulate=False) is CloudChoice.SIMULATED
    real = StateDirectory.open(tmp_path / "real")
    assert real.bind(simulate=False) is CloudChoice.REAL
    with pytest.raises(CliError, match="state of real accounts"):
        real.bind(simulate=True)


@pytest.mark.parametrize("content", ["", "[]", '{"cloud": "other"}', "{}"])
def test_an_unreadable_binding_is_not_guessed(tmp_path: Path, content: str) -> None:
    state = StateDirectory.open(tmp_path)
    (tmp_path / "cloud.json").write_text(content)
    with pytest.raises(CliError, match=r"cloud\.json cannot be read"):
        _ = state.cloud
