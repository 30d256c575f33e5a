"""The simulator ends with its parent process, however that ends, and its world stays."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import boto3
import pytest
import requests

from freehold.cli.commands.options import BaseUrl
from freehold.cli.errors import CliError
from freehold.cli.local.clocks import stopped_clock
from freehold.cli.local.simulator import CALLS_A_SECOND, ask, clock_of, limits_of, simulated_cloud
from freehold.cli.local.state_directory import Lock, StateDirectory
from freehold.engine.clock import SystemClock
from freehold.providers.aws.access import SIMULATED_ACCESS_KEY, SIMULATED_SECRET_KEY
from freehold.providers.aws.access import access_of as aws_access
from freehold.providers.ibm.access import access_of as ibm_access
from freehold.providers.ibm.session import Endpoints
from freehold_sim.http import Request, Response
from freehold_sim.mount import WorldAdapter, mount_client
from freehold_sim.server import Options, Server
from harness.commands import PROGRAM, freehold
from harness.forks import Program

MINIMAL = str(Path(__file__).parents[3] / "examples" / "powervs-minimal.yaml")

PARENT = """
import asyncio, pathlib, sys
from freehold.cli.local.simulator import simulated_cloud
from freehold.cli.local.state_directory import StateDirectory
async def main():
    async with simulated_cloud(StateDirectory.open(pathlib.Path(sys.argv[1])), 1000.0) as url:
        print(url, flush=True)
        await asyncio.Event().wait()
asyncio.run(main())
"""


@pytest.fixture(autouse=True)
def _forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each simulator would spend half a CPU-second on imports."""
    monkeypatch.setattr(subprocess, "Popen", Program)


async def _until_free(lock: Lock) -> None:
    while not lock.take():
        await asyncio.to_thread(os.sched_yield)
    lock.release()


async def test_kill_9_of_the_parent_ends_the_simulator_and_keeps_the_world(tmp_path: Path) -> None:
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PARENT, str(tmp_path), stdout=asyncio.subprocess.PIPE
    )
    assert parent.stdout is not None
    url = (await asyncio.wait_for(parent.stdout.readline(), 30)).decode().strip()
    await ask(url, "strangers/make", {"kind": "vpc", "region": "us-south", "name": "theirs"})
    parent.send_signal(signal.SIGKILL)
    await parent.wait()
    state = StateDirectory.open(tmp_path)
    await asyncio.wait_for(_until_free(Lock(state.world_lock)), 30)
    with pytest.raises(CliError, match="cannot be reached"):
        await ask(url, "clock")
    left = stopped_clock(state.world).now()
    async with simulated_cloud(state, 1000.0) as again:
        names = [row["name"] for row in (await ask(again, "resources"))["resources"]]
        assert "theirs" in names
        assert (await clock_of(again)).now() >= left, "simulated time never runs backwards"


async def test_a_world_that_is_none_is_a_sentence(tmp_path: Path) -> None:
    state = StateDirectory.open(tmp_path)
    state.world.write_text("{")
    with pytest.raises(CliError, match="is not a simulator state file"):
        async with simulated_cloud(state):
            raise AssertionError("it must not start")


async def test_the_back_door_refuses_in_its_own_words(tmp_path: Path) -> None:
    async with simulated_cloud(StateDirectory.open(tmp_path)) as url:
        with pytest.raises(CliError, match=r"refuses strangers/fly.*unknown verb: fly"):
            await ask(url, "strangers/fly", {})


async def test_settings_are_kept_with_the_simulated_cloud(tmp_path: Path) -> None:
    """`freehold down` starts the same account again, and nobody has to name its settings twice."""
    given = tmp_path / "settings.json"
    given.write_text('{"api_key": "another", "quotas": {"vpcs_per_region": 3}}')
    state = StateDirectory.open(tmp_path / "state")
    for settings in (given, None):
        async with simulated_cloud(state, 1000.0, settings) as url:
            form = {"grant_type": "urn:ibm:params:oauth:grant-type:apikey", "apikey": "another"}
            answer = await asyncio.to_thread(requests.post, f"{url}/iam/identity/token", data=form, timeout=60)
            assert answer.status_code == 200, answer.text


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "settings.json cannot be read: No such file or directory"),
        ("{", "settings.json are not JSON: Expecting property name"),
        ("[1]", "settings.json: settings: must be an object with names and values, not [1]"),
        ('{"quota": {}}', "settings: there is no quota; there are: account_id, api_key, assumptions, delays"),
        ('{"quotas": {"vpcs": 1}}', "quotas: there is no vpcs; there are: access_tags, gateways, gateways_per_region"),
        ('{"quotas": 5}', "quotas: must be an object with names and values, not 5"),
        ('{"quotas": {"gateways": "x"}}', "quotas: gateways must be a number, not 'x'"),
        ('{"rate_limits": {"vpc.*": 5}}', "rate_limits: vpc.* must be two numbers: calls, and seconds; not 5"),
    ],
    ids=["missing", "no JSON", "a list", "unknown part", "unknown quota", "no object", "no number", "no rate"],
)
async def test_bad_settings_are_one_sentence(tmp_path: Path, text: str | None, sentence: str) -> None:
    given = tmp_path / "settings.json"
    if text is not None:
        given.write_text(text)
    state = StateDirectory.open(tmp_path / "state")
    with pytest.raises(CliError) as refused:
        async with simulated_cloud(state, 1000.0, given):
            raise AssertionError("it must not start")
    assert sentence in refused.value.sentence
    assert not state.simulator_settings.exists(), "what is refused is not kept"


URL = "http://cloud.sim"


class Served:
    """A simulator as clients see it, without a socket."""

    def __init__(self, *clouds: str) -> None:
        self._server = Server(Options(clouds=clouds, speed=0.0))

    def handle(self, request: Request) -> Response:
        return self._server.answer(request)


@pytest.mark.parametrize("clouds", [("ibm",), ("aws",), ("ibm", "aws"), ("aws", "ibm")], ids="+".join)
def test_a_simulator_that_was_started_in_any_way_serves_both_clouds_to_the_operator(clouds: tuple[str, ...]) -> None:
    access, served = ibm_access({}, URL), Served(*clouds)
    storage = boto3.Session(SIMULATED_ACCESS_KEY, SIMULATED_SECRET_KEY).client(
        "s3", region_name="us-east-1", endpoint_url=aws_access({}, URL).url
    )
    mount_client(storage, served)
    storage.create_bucket(Bucket="ours")
    storage.put_object(Bucket="ours", Key="a/b", Body=b"one")
    assert [row["Name"] for row in storage.list_buckets()["Buckets"]] == ["ours"]
    storage.close()
    assert access.url is not None
    with requests.Session() as session:
        session.mount("http://cloud.sim", WorldAdapter(served))
        form = {"grant_type": "urn:ibm:params:oauth:grant-type:apikey", "apikey": access.key}
        token = session.post(f"{Endpoints.from_base(access.url).iam}/identity/token", data=form).json()["access_token"]
        power = Endpoints.from_base(access.url).power.format(region="us-south")
        answer = session.get(f"{power}/v1/datacenters", headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 200, answer.text


def test_a_slash_at_the_end_of_the_address_of_a_simulator_is_none_of_a_path() -> None:
    assert BaseUrl().convert("http://127.0.0.1:1/", None, None) == "http://127.0.0.1:1"


def test_settings_without_a_simulated_cloud_are_refused(tmp_path: Path) -> None:
    for arguments, sentence in (
        (["serve", "--state", str(tmp_path)], "--simulate-settings is for the simulated cloud: add --simulate"),
        (["up", "-f", MINIMAL, "--kubeconfig", "x"], "--simulate and --kubeconfig exclude each other"),
        (["serve", "--state", str(tmp_path), "--simulator", "http://x"], "that this command starts, not for --simulat"),
    ):
        done = freehold(*arguments, "--simulate-settings", "x.json", IBMCLOUD_API_KEY="a-key-that-nobody-sees")
        assert done.returncode in (1, 2)
        assert sentence in done.stderr
        assert done.stderr.count("\n") == 1


def test_a_plan_with_other_settings_keeps_none_and_is_refused_where_they_cannot_count(tmp_path: Path) -> None:
    """A server that runs has a cloud with settings of its own; a plan on them would be another one than was asked."""
    state, settings = tmp_path / "state", tmp_path / "settings.json"
    settings.write_text(json.dumps({"quotas": {"vpcs_per_region": 0}}))
    options = ["-f", MINIMAL, "--state", str(state), "--simulate-settings", str(settings)]
    with Program(
        [*PROGRAM, "serve", "--simulate", "--state", str(state)], stdout=subprocess.PIPE, text=True
    ) as serving:
        try:
            assert serving.stdout is not None and "serving" in serving.stdout.readline()
            refused = freehold("plan", *options)
        finally:
            serving.terminate()
    assert refused.returncode == 1
    assert f"process {serving.pid} serves this state, and its cloud has settings of its own" in refused.stderr
    alone = freehold("plan", *options)
    assert "to create" in alone.stdout, alone.stderr
    assert not StateDirectory.open(state).simulator_settings.exists(), "a plan writes nothing"


def test_several_clusters_at_a_high_speed_are_ready(tmp_path: Path) -> None:
    """At ten calls in a real second, creates would come too late in simulated time, each time again."""
    text = Path(MINIMAL).read_text()
    manifest = tmp_path / "three.yaml"
    manifest.write_text("---\n".join(text.replace("minimal", f"m{number}") for number in (1, 2, 3)))
    options = ["--speed", "500", "--state", str(tmp_path / "state"), "--timeout", "120"]
    done = freehold("up", "-f", str(manifest), "--simulate", *options)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(" is Ready: ") == 3


def test_the_rate_for_a_simulated_cloud_is_that_for_a_real_one_in_its_own_time() -> None:
    real, simulated = limits_of(SystemClock(), ""), limits_of(SystemClock(speed=30.0), "http://127.0.0.1:9")
    assert (real.find_bucket("vpc").rate, simulated.find_bucket("vpc").rate) == (CALLS_A_SECOND, 30 * CALLS_A_SECOND)
