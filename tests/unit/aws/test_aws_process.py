"""Sessions against the simulated AWS as a process of its own, over HTTP; and what importing the room costs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from freehold.engine.port import InlinePort
from freehold.providers.aws import reading
from freehold.providers.aws.calls import AwsClient
from freehold.providers.aws.kinds import vpc
from freehold.providers.aws.session import AwsSession
from harness.aws_account import KEYS
from harness.forks import Program
from harness.simulated_aws import ACCOUNT


async def test_one_address_serves_all_services_and_regions(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "freehold_sim", "--cloud", "aws", "--state", str(tmp_path / "state.json")]
    with Program(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            url = json.loads(process.stdout.readline())["url"]
            here, there = (AwsSession(KEYS, region, endpoint=url) for region in ("us-east-1", "eu-west-1"))
            api = AwsClient(here, InlinePort())
            made = await api.write("ec2", "create_vpc", "x", CidrBlock="10.0.0.0/16")
            await api.write("s3", "create_bucket", "our-bucket", Bucket="our-bucket")
            assert await api.account() == ACCOUNT
            assert [seen.id for seen in await reading.read_all(api, vpc.READ)] == [made["Vpc"]["VpcId"]]
            assert await reading.read_all(AwsClient(there, InlinePort()), vpc.READ) == []
            here.close()
            there.close()
        finally:
            process.kill()


def test_importing_the_room_imports_no_sdk() -> None:
    """botocore takes 0.2 CPU-seconds: commands that call no AWS must not pay for it."""
    modules = ("kind_facts", "tags.tagger", "balancing", "reading", "session", "permissions.policies", "kinds.vpc")
    names = ", ".join(f"freehold.providers.aws.{name}" for name in modules)
    code = f"import sys, {names}; print([m for m in ('botocore', 'boto3') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
