"""The simulated AWS as a process: state file, back door, two clouds on one clock."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import requests
from botocore.config import Config

from harness.forks import Program
from harness.simulated_aws import KEY


@contextmanager
def simulator(folder: Path, *more: str) -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
    """A simulator that keeps its state in `folder`, killed at the end without a chance to say farewell."""
    ready = folder / "ready.json"
    ready.unlink(missing_ok=True)
    command = [sys.executable, "-m", "freehold_sim", *more, "--state", str(folder / "state.json")]
    process = Program([*command, "--ready-file", str(ready)])
    try:
        while not ready.exists():
            try:
                process.wait(timeout=0.05)
            except subprocess.TimeoutExpired:
                continue
            raise AssertionError("the simulator did not start")
        yield json.loads(ready.read_text())["url"], process
    finally:
        process.kill()
        process.wait()


def admin(url: str, path: str, body: dict[str, Any] | None = None) -> Any:
    address = f"{url}/_sim/{path}"
    answer = requests.get(address, timeout=10) if body is None else requests.post(address, json=body, timeout=10)
    answer.raise_for_status()
    return answer.json()


def client(service: str, url: str) -> Any:
    config = Config(retries={"mode": "standard", "total_max_attempts": 1})
    return boto3.Session(KEY, "x").client(service, region_name="us-east-1", endpoint_url=url, config=config)


def test_a_world_survives_the_kill_of_its_process(tmp_path: Path) -> None:
    with simulator(tmp_path, "--cloud", "aws") as (url, _):
        vpc = client("ec2", url).create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
        table = client("ec2", url).create_route_table(VpcId=vpc, ClientToken="one")["RouteTable"]["RouteTableId"]
    with simulator(tmp_path, "--cloud", "aws") as (url, _):
        again = client("ec2", url).create_route_table(VpcId=vpc, ClientToken="one")["RouteTable"]["RouteTableId"]
        assert again == table
        assert [call["operation"] for call in admin(url, "calls")["calls"]] == [
            "ec2.CreateVpc", "ec2.CreateRouteTable", "ec2.CreateRouteTable",
        ]  # fmt: skip


def test_two_clouds_share_a_clock_and_each_has_a_back_door(tmp_path: Path) -> None:
    with simulator(tmp_path, "--cloud", "ibm", "--cloud", "aws", "--speed", "0.001") as (url, _):
        made = client("ec2", f"{url}/aws").create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
        assert admin(url, "resources")["resources"] == [], "the first cloud is IBM's"
        before = admin(url, "clock")["now"]
        admin(url, "clock", {"advance": 60})
        assert admin(url, "clock")["now"] >= before + 60
        rows = admin(url, "resources?cloud=aws")["resources"]
        assert (made, "available") in {(row["id"], row["state"]) for row in rows}
        foreign = {"service": "ec2", "operation": "CreateVpc", "params": {"CidrBlock": "10.1.0.0/16"}}
        assert admin(url, "strangers/create?cloud=aws", foreign)["by"] == "stranger"
        admin(url, "faults?cloud=aws", {"effect": "throttle", "operation": "ec2.DescribeVpcs"})
        assert admin(url, "faults?cloud=aws")["faults"][0]["hits"] == 0
        assert admin(url, "calls?cloud=aws")["mutating"] == 1
