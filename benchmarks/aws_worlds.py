"""``python -m benchmarks.aws_worlds NAME``: what runs in the processes of the benchmarks of the simulated AWS.

ours, moto              CPU-seconds of a fresh world with its first call, those of a default cluster's life, its calls
large_ours, large_moto  MB that the process grows through a large world, the tags in it, its peak

Each side has boto3 in its own process; moto also because it patches botocore.
"""

from __future__ import annotations

import gc
import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.processes import Usage, say

FRESH, LIVES, GATEWAYS, INSTANCES = 20, 5, 7000, 1000
SERVICES = ("ec2", "elb", "resourcegroupstaggingapi")
_TAGS = [{"Key": "own", "Value": "1"}]
World = tuple[tuple[Any, Any, Any], Callable[[float], None]]
"""A client of each of SERVICES, and what lets time pass."""


@contextmanager
def _ours() -> Iterator[World]:
    from freehold_sim.aws.settings import Quotas, Settings
    from harness.simulated_aws import Sim

    sim = Sim(Settings(limits={}, quotas=Quotas(vcpus=4 * INSTANCES, internet_gateways=2 * GATEWAYS)))
    yield (sim.ec2, sim.elb, sim.tagging), sim.clock.advance


@contextmanager
def _moto() -> Iterator[World]:
    from botocore.config import Config
    from moto import mock_aws

    config = Config(retries={"mode": "standard", "total_max_attempts": 1})
    with mock_aws():
        ec2, elb, tagging = (_session().client(name, "us-east-1", config=config) for name in SERVICES)
        yield (ec2, elb, tagging), lambda seconds: None


@cache
def _session() -> Any:
    """A session keeps the service models that it has read; moto replaces the one of boto3 with each world."""
    import boto3

    return boto3.Session("x", "x")


WORLDS = {"ours": _ours, "moto": _moto}


def small(name: str) -> dict[str, float]:
    from harness.aws_life import live

    with WORLDS[name]() as (clients, later):
        live(*clients, later)  # what is loaded once
    fresh = _cost(lambda: [_fresh(name) for _ in range(FRESH)]) / FRESH
    with WORLDS[name]() as (clients, later):
        calls = [0]
        for client in clients:
            client.meta.events.register("before-call", lambda **_: calls.__setitem__(0, calls[0] + 1))
        life = _cost(lambda: [live(*clients, later) for _ in range(LIVES)]) / LIVES
    return {"fresh": fresh, "life": life, "calls": calls[0] / LIVES}


def _fresh(name: str) -> Any:
    with WORLDS[name]() as (clients, _):
        return clients[0].describe_vpcs()


def large(name: str) -> dict[str, float]:
    """1,000 instances with volume and interface, and 7,000 gateways, each with a tag."""
    with WORLDS[name]() as (clients, _):
        ec2 = clients[0]
        image = ec2.describe_images()["Images"][0]["ImageId"]
        _fill(ec2, image, 1, 1)  # what is loaded once; in the same world, for one that has gone leaves free memory
        gc.collect()
        before = _resident()
        _fill(ec2, image, INSTANCES, GATEWAYS)
        gc.collect()
        grown = _resident() - before
        pages = ec2.get_paginator("describe_tags").paginate(Filters=[{"Name": "key", "Values": ["own"]}])
        tagged = sum(len(page["Tags"]) for page in pages)
    return {"grown": grown / 2**20, "tagged": tagged, "peak": Usage.so_far().peak}


def _fill(ec2: Any, image: str, instances: int, gateways: int) -> None:
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.0.0/18")["Subnet"]["SubnetId"]
    kinds = ("instance", "volume", "network-interface")
    ec2.run_instances(
        ImageId=image, InstanceType="t3.micro", MinCount=instances, MaxCount=instances, SubnetId=subnet,
        TagSpecifications=[{"ResourceType": kind, "Tags": _TAGS} for kind in kinds],
    )  # fmt: skip
    for _ in range(gateways):
        ec2.create_internet_gateway(TagSpecifications=[{"ResourceType": "internet-gateway", "Tags": _TAGS}])


def _cost(act: Callable[[], Any]) -> float:
    begun = time.process_time()
    act()
    return time.process_time() - begun


def _resident() -> int:
    """Return the resident memory of this process in bytes (Linux)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def main(program: str) -> None:
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # the harness is the tests' own
    measure, _, name = program.rpartition("_")
    say((large if measure else small)(name))


if __name__ == "__main__":
    main(sys.argv[1])
