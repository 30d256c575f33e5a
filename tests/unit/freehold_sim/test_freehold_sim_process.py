"""The simulated cloud as a process: it serves the SDKs over HTTP, and its world survives SIGKILL."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ibm_boto3
import ibm_botocore
import pytest
import requests
from ibm_cloud_sdk_core.authenticators import IAMAuthenticator
from ibm_platform_services import ResourceControllerV2
from simulator_process import Process

from harness.forks import Program


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Any]:
    started: list[Process] = []

    def start(*arguments: str) -> Process:
        started.append(Process(tmp_path / "world.json", *arguments))
        return started[-1]

    yield start
    for process in started:
        if process.child.returncode is None:
            process.end(signal.SIGKILL)


def test_killed_and_started_again(processes: Any) -> None:
    first = processes()
    made = first.vpc().create_vpc(name="net").get_result()
    then = first.ask("GET", "clock")["now"]
    first.end(signal.SIGKILL)
    second = processes()
    assert second.ask("GET", "clock")["now"] >= then, "time never runs backwards"
    assert second.vpc().get_vpc(made["id"]).get_result()["name"] == "net"
    second.ask("POST", "clock", {"advance": 15})
    assert second.vpc().get_vpc(made["id"]).get_result()["status"] == "available"
    assert second.end(signal.SIGTERM) == 0


def test_what_many_change_at_a_time_is_in_the_file_when_each_has_its_answer(processes: Any, tmp_path: Path) -> None:
    """A process that is killed in the next moment loses none of them, although they share saves."""
    process = processes()

    def make(number: int) -> bool:
        name = f"theirs-{number:02}"
        process.ask("POST", "strangers/make", {"kind": "vpc", "region": "us-south", "name": name})
        return name in (tmp_path / "world.json").read_text()

    with ThreadPoolExecutor(8) as clients:
        assert all(clients.map(make, range(20)))
    process.end(signal.SIGKILL)
    kept = [each for each in processes().ask("GET", "resources")["resources"] if each["kind"] == "vpc"]
    assert len(kept) == 20


def test_the_admin_door(processes: Any) -> None:
    process = processes()
    assert process.ask("GET", "clock")["speed"] == 30
    row = {"kind": "vpc", "region": "us-south", "name": "theirs", "tags": ["a:b"]}
    theirs = process.ask("POST", "strangers/make", row)
    process.ask("POST", "strangers/attach", {"crn": theirs["crn"], "tags": ["c:d"]})
    process.ask("POST", "strangers/rename", {"id": theirs["id"], "name": "other"})
    seen = process.ask("GET", "resources")["resources"][0]
    assert (seen["name"], seen["tags"], seen["created_by"]) == ("other", ["a:b", "c:d"], "stranger")
    process.ask("POST", "strangers/strip", {"crn": theirs["crn"]})
    process.ask("POST", "strangers/change", {"id": theirs["id"], "fields": {"state": "failed"}})
    seen = process.ask("GET", "resources")["resources"][0]
    assert (seen["state"], seen["tags"]) == ("failed", [])
    process.ask("POST", "strangers/delete", {"id": theirs["id"]})
    assert process.ask("GET", "resources") == {"resources": []}
    assert "error" in process.ask("POST", "strangers/dance", {})
    assert "error" in process.ask("GET", "nowhere")


def test_faults_and_counts_over_http(processes: Any) -> None:
    process = processes()
    process.ask("POST", "faults", {"effect": "reply-lost", "operation": "vpc.create_vpc"})
    vpc = process.vpc()
    with pytest.raises(requests.exceptions.ConnectionError):
        vpc.create_vpc(name="net")
    assert process.ask("GET", "resources")["resources"][0]["name"] == "net"
    assert process.ask("GET", "faults")["faults"][0]["hits"] == 1
    assert process.ask("DELETE", "faults") == {"faults": []}
    calls = process.ask("GET", "calls")
    assert calls["by_operation"] == {"iam.issue_token": 1, "vpc.create_vpc": 1}
    assert calls["mutating"] == 1
    assert process.ask("GET", "calls?since=1")["total"] == 1


def test_object_storage_over_http(processes: Any) -> None:
    """A HEAD has a length and no body, which is easily wrong on a real socket."""
    process = processes()
    plan, group = "1e4e33e4-cfa6-4f12-9016-be594a6d5f87", "11111111111111111111111111111111"
    auth = IAMAuthenticator("simulated-api-key", url=f"{process.url}/iam")
    rc = ResourceControllerV2(auth)
    rc.set_service_url(f"{process.url}/resource-controller")
    cos = rc.create_resource_instance("cos", "Global", group, plan).get_result()
    process.ask("POST", "clock", {"advance": 10})
    key = rc.create_resource_key("k", cos["guid"], parameters={"HMAC": True}).get_result()
    pair = key["credentials"]["cos_hmac_keys"]
    config = ibm_botocore.client.Config(signature_version="s3v4", s3={"addressing_style": "path"})
    client = ibm_boto3.client(
        "s3",
        aws_access_key_id=pair["access_key_id"],
        aws_secret_access_key=pair["secret_access_key"],
        endpoint_url=f"{process.url}/cos/us-south",
        region_name="us-south",
        config=config,
    )
    client.create_bucket(Bucket="ours")
    client.put_object(Bucket="ours", Key="a b/c", Body=b"123456")
    assert client.head_object(Bucket="ours", Key="a b/c")["ContentLength"] == 6
    assert client.get_object(Bucket="ours", Key="a b/c")["Body"].read() == b"123456"
    with pytest.raises(ibm_botocore.exceptions.ClientError):
        client.head_bucket(Bucket="none")
    client.close()


def test_settings_file(processes: Any, tmp_path: Path) -> None:
    settings = tmp_path / "settings.json"
    settings.write_text(json.dumps({"delays": {"scale": 0.5}, "page_size": 1, "api_key": "other"}))
    process = processes("--settings", str(settings))
    with pytest.raises(requests.exceptions.HTTPError):
        form = {"grant_type": "urn:ibm:params:oauth:grant-type:apikey", "apikey": "simulated-api-key"}
        requests.post(f"{process.url}/iam/identity/token", data=form, timeout=60).raise_for_status()


def test_a_broken_state_file_is_one_sentence(tmp_path: Path) -> None:
    state = tmp_path / "world.json"
    state.write_text("not json")
    command = [sys.executable, "-m", "freehold_sim", "--state", str(state)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("freehold_sim: ")
    assert "Traceback" not in done.stderr


def test_it_ends_when_its_input_is_closed(tmp_path: Path) -> None:
    """However the parent dies, the kernel closes the pipe: no simulator is left behind."""
    command = [sys.executable, "-m", "freehold_sim", "--state", str(tmp_path / "world.json"), "--until-stdin-closes"]
    child = Program(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        assert json.loads(child.stdout.readline())["pid"] == child.pid
        child.stdin.close()
        assert child.wait(timeout=60) == 0
    finally:
        child.kill()
        child.stdout.close()


def test_ready_file_is_written_when_connections_are_taken(tmp_path: Path) -> None:
    """The parent process in `make demo` waits for this file."""
    ready = tmp_path / "ready.json"
    command = [sys.executable, "-m", "freehold_sim", "--ready-file", str(ready)]
    child = Program(command)
    try:
        while not ready.exists():
            assert child.poll() is None
            try:
                child.wait(timeout=0.05)
            except subprocess.TimeoutExpired:
                continue
        told = json.loads(ready.read_text())
        assert told["pid"] == child.pid
        assert requests.get(f"{told['url']}/_sim/clock", timeout=60).json()["speed"] == 1
    finally:
        child.terminate()
        assert child.wait(timeout=60) == 0
