"""The simulated AWS under boto3 and under the AWS CLI: python examples/aws_simulated.py

It shows what AWS does and what tests against AWS often lack: a lost reply, a client token, a delete that must wait,
tags that the tagging API shows late. Needs boto3, and for the last part `aws` beside this Python (make setup has both).
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

KEY = "AKIASIMULATED0000001"  # of the account 111122223333; any secret will do


def start(folder: Path) -> tuple[subprocess.Popen[bytes], str]:
    """Start the simulator, which ends with this script; return its process and address."""
    ready = folder / "ready.json"
    command = [sys.executable, "-m", "freehold_sim", "--cloud", "aws", "--until-stdin-closes"]
    process = subprocess.Popen([*command, "--ready-file", str(ready)], stdin=subprocess.PIPE)
    while not ready.exists():
        if process.poll() is not None:
            raise SystemExit("the simulator did not start")
        time.sleep(0.05)
    return process, json.loads(ready.read_text())["url"]


def admin(url: str, path: str, body: dict[str, Any]) -> None:
    """Use the back door: clock, faults, other users of the account."""
    request = urllib.request.Request(f"{url}/_sim/{path}", json.dumps(body).encode(), method="POST")
    urllib.request.urlopen(request).close()


def with_boto3(url: str) -> None:
    config = Config(retries={"mode": "standard", "total_max_attempts": 1})
    session = boto3.Session(KEY, "any", region_name="us-east-1")
    ec2 = session.client("ec2", endpoint_url=url, config=config)
    tags = [{"Key": "owner", "Value": "me"}]

    admin(url, "faults", {"effect": "reply-lost", "operation": "ec2.CreateVpc"})
    try:
        ec2.create_vpc(CidrBlock="10.0.0.0/16", TagSpecifications=[{"ResourceType": "vpc", "Tags": tags}])
    except BotoCoreError as lost:
        print(f"CreateVpc: {type(lost).__name__}. Did it happen?")
    found = ec2.describe_vpcs(Filters=[{"Name": "tag:owner", "Values": ["me"]}])["Vpcs"]
    vpc = found[0]["VpcId"]
    print(f"It did: {vpc} is there, found by the tag that it was born with.")

    made = {ec2.create_route_table(VpcId=vpc, ClientToken="one")["RouteTable"]["RouteTableId"] for _ in range(2)}
    print(f"A route table asked for twice with one client token: {len(made)} made.")
    try:
        ec2.delete_vpc(VpcId=vpc)
    except ClientError as refused:
        print(f"DeleteVpc: {refused.response['Error']['Code']}, because of the route table.")

    tagging = session.client("resourcegroupstaggingapi", endpoint_url=url, config=config)
    counts = []
    for seconds in (0, 30):
        admin(url, "clock", {"advance": seconds})
        counts.append(len(tagging.get_resources(TagFilters=[{"Key": "owner"}])["ResourceTagMappingList"]))
    print(f"The tagging API shows {counts[0]} tagged resources now, {counts[1]} half a minute later.")
    ec2.delete_route_table(RouteTableId=made.pop())
    ec2.delete_vpc(VpcId=vpc)


def cli(url: str) -> Callable[..., str] | None:
    """Return what runs one command of the AWS CLI."""
    command = Path(sys.executable).with_name("aws")
    environment = {**os.environ, "AWS_ENDPOINT_URL": url, "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": "any",
                   "AWS_DEFAULT_REGION": "us-east-1", "AWS_PAGER": ""}  # fmt: skip

    def aws(*words: str) -> str:
        done = subprocess.run([command, *words], env=environment, capture_output=True, text=True, check=False)
        return (done.stdout or done.stderr).strip()

    return aws if command.exists() else None


def with_the_cli(aws: Callable[..., str]) -> None:
    vpc = json.loads(aws("ec2", "create-vpc", "--cidr-block", "10.0.0.0/16"))["Vpc"]["VpcId"]
    aws("ec2", "wait", "vpc-available", "--vpc-ids", vpc)
    print(f"aws ec2 create-vpc, wait vpc-available: {vpc}")
    print(f"aws ec2 delete-vpc of another: {aws('ec2', 'delete-vpc', '--vpc-id', 'vpc-0')}")
    aws("ec2", "delete-vpc", "--vpc-id", vpc)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        process, url = start(Path(folder))
        try:
            with_boto3(url)
            if aws := cli(url):
                with_the_cli(aws)
            else:
                print("No AWS CLI beside this Python: its part is left out.")
        finally:
            process.stdin.close()
            process.wait(timeout=10)


if __name__ == "__main__":
    main()
