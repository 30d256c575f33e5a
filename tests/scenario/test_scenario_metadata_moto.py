"""An independent cloud: on a bare moto the controller leaves what the peer's policies leave.

Cloud Custodian's `tag` adds the keys that a policy names to what its filter selects, over any value that is there, and
`remove-tag` takes keys off; nothing else changes (https://cloudcustodian.io/docs/aws/resources/aws-common-actions.html).
The peer itself is no dependency of this project and is run by hand, on this fleet (benchmarks/custodian_on_moto.py).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from harness.moto_fleet import COUNT, left_of

ROOT = Path(__file__).parents[2]
_MOTO = """
import gc
gc.disable()  # moto imports so much that looking for garbage takes a quarter of its time
import asyncio, json, tempfile
from pathlib import Path
import boto3
from moto import mock_aws
from freehold.engine.clock import ManualClock
from freehold.providers.access.audit import FileAudit
from freehold.providers.aws.accounts import AwsCloud
from harness.bare_controller import BareController
from harness.moto_fleet import CHOSEN, CLASSIFIER, REGION, WANTED, make, tags_of

async def main():
    ec2, clock, told = boto3.client("ec2", REGION), ManualClock(), {}
    make(ec2)
    told["before"] = tags_of(ec2)
    with tempfile.TemporaryDirectory() as folder, FileAudit(Path(folder) / "audit.jsonl", clock) as audit:
        with AwsCloud(None, clock, audit) as cloud:
            made = BareController(cloud, clock, audit, REGION)
            await made.asked_for({CLASSIFIER: CHOSEN}, {"resourcetags": WANTED})
            for name in ("tagged", "tagged again"):
                status = await made.work()
                told[name], told[f"{name}: ready"] = tags_of(ec2), status["status"]
                clock.advance(600)
            await made.edit({"opcode": "delete", "resourcetags": None, "tagkeys": list(WANTED)})
            for name in ("removed", "removed again"):
                await made.work()
                told[name] = tags_of(ec2)
                clock.advance(600)
        told["writes"] = (Path(folder) / "audit.jsonl").read_text().count('"outcome": "sent"')
    print(json.dumps(told))

with mock_aws():
    asyncio.run(main())
"""


@cache
def _told() -> dict[str, Any]:
    """In a process of its own: moto patches botocore."""
    keys = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"}
    environment = {**os.environ, **keys, "PYTHONPATH": str(ROOT / "tests")}
    command = [sys.executable, "-W", "ignore", "-c", _MOTO]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_tags_end_as_after_the_policy_that_tags() -> None:
    told = _told()
    assert len(told["before"]) == COUNT
    assert told["tagged"] == left_of(told["before"], tagged=True)
    assert told["tagged: ready"] == "True"


def test_a_second_pass_leaves_them_so_and_sends_nothing() -> None:
    """The peer sends all of its writes again."""
    told = _told()
    assert told["tagged again"] == told["tagged"]
    assert told["writes"] == 2, "one call that tags, and one that removes"


def test_tags_end_as_after_the_policy_that_removes() -> None:
    told = _told()
    assert told["removed"] == told["removed again"] == left_of(told["before"], tagged=False)
