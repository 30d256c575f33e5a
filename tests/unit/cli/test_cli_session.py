"""Commands on one state directory share one server; when it ends, the next command takes over."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from freehold.api.feature_gates import DEFAULT_GATES, FeatureGate
from freehold.cli.errors import CliError
from freehold.cli.local import server_process
from freehold.cli.local import session as sessions
from freehold.cli.local.access import Access, ServeOptions
from freehold.cli.local.session import Session, open_session
from freehold.cli.local.state_directory import Lock, StateDirectory
from freehold.collection.selector import Selector
from freehold.kube.resources import CONFIG_MAPS, Key
from harness.serving import simulated_cloud

READER = ServeOptions(operator=False)
MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}


@pytest.fixture
def state(tmp_path: Path) -> StateDirectory:
    return StateDirectory.open(tmp_path)


async def test_the_second_command_uses_the_first_ones_server(state: StateDirectory) -> None:
    async with open_session(Access(state, READER)) as first, open_session(Access(state, READER)) as second:
        assert first.running is not None
        assert second.running is None
        await first.client.create(CONFIG_MAPS, MAP)
        assert (await second.client.get(CONFIG_MAPS, Key("default", "a")))["metadata"]["name"] == "a"


async def test_when_the_server_ends_the_next_command_takes_over_and_nothing_is_lost(state: StateDirectory) -> None:
    first, second = Session(Access(state, READER)), Session(Access(state, READER))
    await first.open()
    await second.open()
    await second.client.create(CONFIG_MAPS, MAP)
    await first.close()
    await second.renew()
    assert second.running is not None
    assert (await second.client.get(CONFIG_MAPS, Key("default", "a")))["metadata"]["name"] == "a"
    with pytest.raises(CliError, match="the server of this command has failed"):
        await second.renew()
    await second.close()


async def test_stale_content_of_a_killed_server_is_ignored(state: StateDirectory) -> None:
    state.lock.write_text('{"url": "http://127.0.0.1:9", "pid": 1, "operator": true, "simulator": ""}')
    async with open_session(Access(state, READER)) as session:
        assert session.running is not None


async def test_a_command_that_needs_an_operator_waits_for_a_reader_to_finish(state: StateDirectory) -> None:
    """A `get` holds the state for a moment, without an operator: an `up` must not use it as a server."""
    reader = Session(Access(state, READER))
    await reader.open()
    writer = Session(Access(state, ServeOptions(operator=True)))
    waiting = asyncio.create_task(writer.open())
    done, _ = await asyncio.wait((waiting,), timeout=0.5)
    assert not done
    await reader.close()
    with pytest.raises(CliError, match="no credentials: set IBMCLOUD_API_KEY"):
        await waiting
    assert state.cloud is None, "a state is not bound to a cloud that could not be reached"
    await writer.close()


async def test_a_command_without_an_operator_is_named_to_the_one_that_waits_for_it(
    state: StateDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "_PATIENCE_SECONDS", 0.0)
    async with open_session(Access(state, READER)):
        with pytest.raises(CliError, match="without an operator: it reads, or waits for the answer to a question"):
            await Session(Access(state, ServeOptions())).open()


async def test_an_operator_that_waits_begins_when_it_is_told_to(
    state: StateDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until then a command that needs one does not join; with it, nothing is left to begin."""
    monkeypatch.setattr(server_process, "simulated_cloud", simulated_cloud)
    waiting = Access(state, ServeOptions(waits=True, simulate=True))
    async with open_session(waiting) as first:
        published = Lock(state.lock).read()
        assert published is not None and not published.operator
        await first.begin()
        async with open_session(waiting) as second:
            assert second.running is None
            await second.begin()


async def test_a_full_disk_ends_the_command(state: StateDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the operator would retry every write for hours, while the user sees no progress."""
    async with open_session(Access(state, READER)) as first, open_session(Access(state, READER)) as second:
        first.refuse_full_disk()
        monkeypatch.setattr(StateDirectory, "room", 1000)
        with pytest.raises(CliError, match="no room is left for the state in"):
            first.refuse_full_disk()
        second.refuse_full_disk()  # the serving one reports it


async def test_the_kubeconfig_names_the_running_server(state: StateDirectory) -> None:
    async with open_session(Access(state, READER)) as session:
        assert session.client.connection.server.removeprefix("http://") in state.kubeconfig.read_text()
        assert state.kubeconfig.stat().st_mode & 0o777 == 0o600
    lock = Lock(state.lock)
    assert lock.take()
    assert lock.read() is None
    lock.release()


@pytest.fixture(autouse=True)
def _no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("IBMCLOUD_API_KEY", raising=False)


async def test_an_operator_without_its_key_ring_is_reported_at_once(state: StateDirectory, tmp_path: Path) -> None:
    """It serves nothing, and only its log has the reason: `up` would wait until its timeout."""
    async with open_session(Access(state, READER)) as first:
        assert first.running is not None
        elsewhere = StateDirectory.open(tmp_path / "other")
        held = Lock(elsewhere.lock)
        assert held.take()
        held.publish(replace(first.running.server, operator=True))
        with pytest.raises(CliError, match=r"other\.keys is gone.*freehold keys add FILE"):
            await Session(Access(elsewhere, ServeOptions(operator=True))).open()
        async with open_session(Access(elsewhere, READER)) as reading:
            assert reading.client
        held.release()


async def test_a_server_is_joined_only_with_the_gates_that_the_command_sets(
    state: StateDirectory, tmp_path: Path
) -> None:
    """Else it would not act on the field, and the command would wait for nothing. Defaults ask for nothing."""
    async with open_session(Access(state, READER)) as first:
        assert first.running is not None
        served = replace(first.running.server, pid=4711, operator=True)
        elsewhere = StateDirectory.open(tmp_path / "other")
        held = Lock(elsewhere.lock)
        assert held.take()
        wanted = frozenset({FeatureGate.BOOTSTRAP_FORMAT_IGNITION})
        for gates, asked, refusal in (
            (frozenset[FeatureGate](), DEFAULT_GATES, "is gone"),  # it lacks its key ring only
            (
                DEFAULT_GATES,
                wanted,
                "4711 serves .* BootstrapFormatIgnition off, ExternalResourceGC on: end it.*"
                "--feature-gates=BootstrapFormatIgnition=true,ExternalResourceGC=false$",
            ),
            (wanted, wanted, "is gone"),
        ):
            held.publish(replace(served, gates=sorted(gates)))
            with pytest.raises(CliError, match=refusal):
                await Session(Access(elsewhere, ServeOptions(gates=asked))).open()
        options = ServeOptions(gates=wanted, gc_selector=Selector("team=red"))
        with pytest.raises(CliError, match=r"4711 serves .* with no --gc-selector: .* serve --gc-selector=team=red$"):
            await Session(Access(elsewhere, options)).open()
        held.publish(replace(served, gates=sorted(wanted), gc_selector="team=red"))
        with pytest.raises(CliError, match="is gone"):
            await Session(Access(elsewhere, options)).open()
        held.release()
