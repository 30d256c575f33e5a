"""The state directory and the token in it are their user's alone."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from freehold.cli.errors import CliError
from freehold.cli.local.access import Access, ServeOptions
from freehold.cli.local.serving_address import keep_token, kubeconfig
from freehold.cli.local.session import open_session
from freehold.cli.local.state_directory import StateDirectory
from freehold.kube import config
from freehold.kube.client import KubeClient
from freehold.kube.errors import Unauthorized

READER = ServeOptions(operator=False)


@pytest.mark.parametrize("mode", [0o755, 0o775, 0o777])
def test_an_empty_directory_of_ours_is_closed_to_others(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(mode)
    StateDirectory.open(tmp_path)
    assert tmp_path.stat().st_mode & 0o777 == 0o700


def test_a_state_that_others_may_only_read_is_closed_to_them(tmp_path: Path) -> None:
    StateDirectory.open(tmp_path).lock.touch()
    tmp_path.chmod(0o755)
    StateDirectory.open(tmp_path)
    assert tmp_path.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(("mode", "name"), [(0o775, "server.lock"), (0o777, "server.lock"), (0o755, "homework")])
def test_what_others_may_write_or_is_no_state_is_refused_with_the_command_that_mends_it(
    tmp_path: Path, mode: int, name: str
) -> None:
    """``--state`` of a home directory or of /tmp must not close it to everybody else."""
    place = tmp_path / "my state"
    place.mkdir()
    (place / name).touch()
    place.chmod(mode)
    with pytest.raises(CliError, match=rf"open to other users \(mode {mode:o}\).*chmod 700 '{place}'; or choose"):
        StateDirectory.open(place)
    assert place.stat().st_mode & 0o777 == mode
    place.chmod(0o700)
    StateDirectory.open(place)


def test_a_directory_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(CliError, match=rf"belongs to another user \(uid {owner}\); choose another one with --state"):
        StateDirectory.open(tmp_path)


def test_a_token_is_kept_and_one_that_others_could_know_is_not(tmp_path: Path) -> None:
    path = tmp_path / "api-token"
    token = keep_token(path)
    assert (len(token) > 40, path.stat().st_mode & 0o777, keep_token(path)) == (True, 0o600, token)
    path.chmod(0o640)
    second = keep_token(path)
    assert (second != token, path.stat().st_mode & 0o777) == (True, 0o600)
    path.write_text("")
    assert len(keep_token(path)) > 40
    path.unlink()
    (tmp_path / "planted").write_text("x" * 64)
    path.symlink_to(tmp_path / "planted")
    assert keep_token(path) != "x" * 64


async def test_the_server_of_a_state_asks_for_its_token(tmp_path: Path) -> None:
    """Kubeconfig and lock have it, are 0600, and the next server on the state takes the same."""
    state = StateDirectory.open(tmp_path / "state")
    tokens = []
    for _ in range(2):
        async with open_session(Access(state, READER)) as session:
            for path in (state.lock, state.kubeconfig, state.token):
                assert path.stat().st_mode & 0o777 == 0o600, path
            token = json.loads(state.lock.read_text())["token"]
            tokens.append(token)
            assert token not in repr(session.running)
            connection = config.load({}, kubeconfig=str(state.kubeconfig))
            assert token not in connection.server
            async with KubeClient(connection) as client:
                await client.request("GET", "/api/v1/namespaces/default/secrets")
            async with KubeClient(config.Connection(connection.server)) as nobody:
                with pytest.raises(Unauthorized):
                    await nobody.request("GET", "/api/v1/namespaces/default/secrets")
    assert tokens[0] == tokens[1]


def test_a_lock_that_others_can_read_is_closed_before_the_token_is_in_it(tmp_path: Path) -> None:
    from freehold.cli.local.state_directory import Lock

    path = tmp_path / "server.lock"
    path.touch()
    path.chmod(0o644)
    lock = Lock(path)
    assert lock.take()
    assert path.stat().st_mode & 0o777 == 0o600
    lock.release()


async def test_credentials_in_a_url_are_those_of_a_user_that_has_none(tmp_path: Path) -> None:
    """As Go's HTTP client takes them."""
    path = tmp_path / "kubeconfig"
    path.write_text(kubeconfig("http://127.0.0.1:1", "secret").replace("{token: secret}", "{}"))
    found = config.load({}, kubeconfig=str(path))
    assert found.server == "http://127.0.0.1:1"
    assert (await found.credentials.get()).authorization == "Basic ZnJlZWhvbGQ6c2VjcmV0"
