"""``python -m benchmarks.tag_programs NAME …``: what runs in the processes of the benchmarks of tags.

aws KIND COUNT  the simulated AWS with one resource that has the classifier; says its URL. At a line of input it makes
                the rest of a fleet: COUNT resources of KIND (volumes, secrets) with the classifier, OTHERS without
controller URL  the metadata controller as the operator runs it: threads, record, audit log; its API server is in
                memory. At each line of input it makes one pass, and says the CPU-seconds of it, and its use in all
loop URL KIND   the requests of such a pass alone, in a loop of boto3; likewise
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.processes import Usage, say

OTHERS = 100
CLASSIFIER, WANTED = "kubernetes.io/cluster/test-7lpkm-crhfx", {"env": "test", "centre": "eng"}
REGION = "us-east-1"
SPEED = 1000.0
"""Simulated seconds in a second: the index shows the fleet soon, and each pass asks it anew."""


# -- the cloud --------------------------------------------------------------------------------------------------


async def aws(kind: str, count: str) -> None:
    from freehold_sim.aws.cloud import SimulatedAWS
    from freehold_sim.server import Options, Server

    server = Server(Options(clouds=("aws",), settings={"aws": {"limits": {}}}, speed=SPEED))
    cloud, make = server.clouds["aws"], {"volumes": volume, "secrets": secret}[kind]
    assert isinstance(cloud, SimulatedAWS)
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    serving = asyncio.create_task(server.serve(lambda port: say(f"http://127.0.0.1:{port}"), stop))
    make(cloud, 0, {CLASSIFIER: "owned"})
    while await loop.run_in_executor(None, sys.stdin.readline):
        for number in range(1, int(count) + OTHERS):
            make(cloud, number, {CLASSIFIER: "owned"} if number < int(count) else {"owner": "somebody"})
        await asyncio.sleep(60 / SPEED)  # the index shows all of them
        say("made")
    stop.set()
    await serving


def volume(cloud: Any, number: int, tags: dict[str, str]) -> None:
    given = {"TagSpecifications": [{"ResourceType": "volume", "Tags": _rows(tags)}]}
    cloud.strangers.create("ec2", "CreateVolume", {"AvailabilityZone": f"{REGION}a", "Size": 1, **given})


def secret(cloud: Any, number: int, tags: dict[str, str]) -> None:
    given = {"Name": f"s{number}", "SecretString": "s", "ClientRequestToken": f"{number:032d}"}
    cloud.strangers.create("secretsmanager", "CreateSecret", {**given, "Tags": _rows(tags)})


def _rows(tags: dict[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]


# -- who asks ---------------------------------------------------------------------------------------------------


async def controller(url: str) -> None:
    from freehold.cli.local.memory import collected_seldom
    from freehold.engine.clock import SystemClock
    from freehold.providers.access.audit import FileAudit
    from freehold.providers.access.limits import Limits
    from freehold.providers.aws.accounts import AwsCloud
    from harness.bare_controller import BareController

    clock = SystemClock(SPEED, (time.time(), time.time()))
    with tempfile.TemporaryDirectory() as folder, FileAudit(Path(folder) / "audit.jsonl", clock) as audit:
        cloud = AwsCloud(url, clock, audit, limits=lambda: Limits(1e6, 1_000_000))
        made = BareController(cloud, clock, audit, REGION)
        await made.asked_for({CLASSIFIER: "owned"}, {"resourcetags": WANTED})
        loop = asyncio.get_running_loop()
        with collected_seldom():
            while await loop.run_in_executor(None, sys.stdin.readline):
                begun = time.process_time()
                await made.work()
                _tell(begun)


async def loop(url: str, kind: str) -> None:
    import boto3
    from botocore.config import Config

    config = Config(retries={"mode": "standard", "total_max_attempts": 1})
    session = boto3.Session("AKIASIMULATED0000001", "any secret", region_name=REGION)

    def client(service: str) -> Any:
        return session.client(service, endpoint_url=url, config=config)

    client("sts").get_caller_identity()
    tagging, ec2 = client("resourcegroupstaggingapi"), client("ec2")
    native = kind == "volumes"
    for _ in sys.stdin:
        begun, token, arns = time.process_time(), "", list[str]()
        while True:
            filters = [{"Key": CLASSIFIER, "Values": ["owned"]}]
            page = tagging.get_resources(TagFilters=filters, ResourcesPerPage=100, PaginationToken=token)
            arns += [row["ResourceARN"] for row in page["ResourceTagMappingList"]]
            if not (token := page["PaginationToken"]):
                break
        idents = [arn.rpartition("/")[2] for arn in arns]
        for some in _chunks(idents if native else (), 200):
            asked = [{"Name": "resource-id", "Values": list(some)}]
            for _ in ec2.get_paginator("describe_tags").paginate(Filters=asked, MaxResults=1000):
                pass
        for some in _chunks(idents if native else (), 200):
            ec2.create_tags(Resources=list(some), Tags=_rows(WANTED))
        for some in _chunks(() if native else arns, 20):
            tagging.tag_resources(ResourceARNList=list(some), Tags=WANTED)
        _tell(begun)


def _chunks(items: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (items[at : at + size] for at in range(0, len(items), size))


def _tell(begun: float) -> None:
    say({"passed": time.process_time() - begun, **asdict(Usage.so_far())})


PROGRAMS: dict[str, Callable[..., object]] = {program.__name__: program for program in (aws, controller, loop)}

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))  # the API server in memory is the tests' own
    asyncio.run(PROGRAMS[sys.argv[1]](*sys.argv[2:]))  # type: ignore[arg-type]  # each is a coroutine function
