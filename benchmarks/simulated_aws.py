"""What the simulated AWS costs, in-process under boto3, and moto beside it."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.rows import Row
from freehold_sim.aws.cloud import SimulatedAWS
from freehold_sim.aws.settings import Quotas, Settings
from freehold_sim.clock import VirtualClock
from harness.aws_life import live
from harness.simulated_aws import Sim

TARGET = "target of this project: 10,000 lives in an hour on two cores (ADR 28)"
_MOTO = """
import time, boto3
from botocore.config import Config
from moto import mock_aws
from harness.aws_life import live
with mock_aws():
    config = Config(retries={"mode": "standard", "total_max_attempts": 1})
    calls = [0]
    def client(name):
        made = boto3.client(name, "us-east-1", config=config)
        made.meta.events.register("before-send", lambda **_: calls.__setitem__(0, calls[0] + 1))
        return made
    made = [client(name) for name in ("ec2", "elb", "resourcegroupstaggingapi")]
    live(*made, lambda seconds: None)
    calls[0], begun = 0, time.process_time()
    live(*made, lambda seconds: None)
    print(time.process_time() - begun, calls[0])
"""


def measure() -> list[Row]:
    sim = Sim(Settings(limits={}))
    clients = (sim.ec2, sim.elb, sim.tagging)
    live(*clients, sim.clock.advance)
    before = len(sim.cloud.calls)
    life = _cost(lambda: [live(*clients, sim.clock.advance) for _ in range(5)]) / 5
    calls = (len(sim.cloud.calls) - before) / 5
    moto_life, moto_calls = _moto()
    peer = f"moto 5.2.5: {moto_life:.2g}"
    return [
        Row("sim.aws.fresh_world", round(_cost(_worlds) / 20, 6), "CPU-s", 0.1, source=TARGET),
        Row("sim.aws.life", round(life, 3), "CPU-s", 0.7, peer, f"{TARGET}; {calls:.0f} calls, client included"),
        Row("sim.aws.call", round(life / calls * 1000, 2), "CPU-ms", 5, f"moto: {moto_life / moto_calls * 1000:.2g}"),
        Row("sim.aws.calls_per_second", round(calls / life), "1/s", peer=f"moto: {moto_calls / moto_life:.0f}"),
        Row("sim.aws.memory", _memory(), "MB", source="1,000 instances, 10,000 tagged resources in all"),
    ]  # fmt: skip


def _cost(act: Callable[[], Any]) -> float:
    begun = time.process_time()
    act()
    return time.process_time() - begun


def _worlds() -> None:
    for _ in range(20):
        SimulatedAWS(VirtualClock())


def _moto() -> tuple[float, int]:
    """Run the same life on moto, in a process of its own: moto patches botocore."""
    environment = {"PYTHONPATH": "tests", "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _MOTO], capture_output=True, text=True, check=True, env=environment
    )
    seconds, calls = done.stdout.split()
    return float(seconds), int(calls)


def _memory() -> int:
    """Return how much the process grows through a large world, in MB."""
    before = _resident()
    quotas = Quotas(instances=1000, internet_gateways=7000)
    sim = Sim(Settings(limits={}, quotas=quotas))
    strangers, tags = sim.cloud.strangers, [{"Key": "own", "Value": "1"}]
    vpc = strangers.create("ec2", "CreateVpc", {"CidrBlock": "10.0.0.0/16"})["id"]
    subnet = strangers.create("ec2", "CreateSubnet", {"VpcId": vpc, "CidrBlock": "10.0.0.0/18"})["id"]
    kinds = ("instance", "volume", "network-interface")
    machine = {
        "ImageId": "ami-0a0000000000000c1", "InstanceType": "t3.micro", "MinCount": 1000, "MaxCount": 1000,
        "SubnetId": subnet, "TagSpecifications": [{"ResourceType": kind, "Tags": tags} for kind in kinds],
    }  # fmt: skip
    strangers.create("ec2", "RunInstances", machine)
    gateway = {"TagSpecifications": [{"ResourceType": "internet-gateway", "Tags": tags}]}
    for _ in range(7000):
        strangers.call("ec2", "CreateInternetGateway", gateway)
    return round((_resident() - before) / 2**20)


def _resident() -> int:
    """Return the resident memory of this process in bytes (Linux)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()
