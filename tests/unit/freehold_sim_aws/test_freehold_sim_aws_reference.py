"""The tables of docs/reference/simulator-aws.md are true: what is served, where it is tested, how moto differs."""

import ast
import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from freehold_sim.aws.protocols.lengths import LENGTHS
from freehold_sim.aws.services import OPERATIONS
from freehold_sim.aws.settings import Lags, Quotas
from harness.aws_limits import LIMITS
from harness.aws_script import STEPS, run

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/reference/simulator-aws.md").read_text()
NAMES = {
    "EC2": "ec2", "ELB classic": "elb", "ELBv2": "elbv2", "Resource Groups Tagging API": "resourcegroupstaggingapi",
    "IAM": "iam", "STS": "sts", "S3": "s3", "SSM": "ssm", "Secrets Manager": "secretsmanager", "EKS": "eks",
    "KMS": "kms",
}  # fmt: skip
_MOTO = """
import gc
gc.disable()  # moto imports so much that looking for garbage takes a quarter of its time
import json, boto3
from moto import mock_aws
from harness.aws_script import run
with mock_aws():
    session, made = boto3.Session(region_name="us-east-1"), {}
    def client(name):
        return made.setdefault(name, None) or made.__setitem__(name, session.client(name)) or made[name]
    image = client("ec2").describe_images(Owners=["amazon"])["Images"][0]["ImageId"]
    print(json.dumps(run(client, image)))
"""


def table(heading: str) -> list[list[str]]:
    """Return the rows of the table under a heading."""
    text = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    return rows[2:]


def test_the_page_names_every_operation_that_is_served() -> None:
    listed = {NAMES[name]: set(operations.split(", ")) for name, operations in table("Served")}
    assert listed == {name: set(operations) for name, operations in OPERATIONS.items()}


@pytest.mark.parametrize("heading", ["Rules", "States"])
def test_every_rule_and_state_has_a_source_and_a_test(heading: str) -> None:
    tests = {
        node.name
        for path in Path(__file__).parent.glob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef)
    }
    rows = table(heading)
    assert len(rows) > 5
    for row in rows:
        assert row[3].strip("`") in tests, row
        assert "](https://" in row[2], row


def test_the_limits_are_those_of_the_settings_and_each_has_its_test() -> None:
    listed = {row[0].strip("`"): int(row[1]) for row in table("Limits")}
    assert listed == asdict(Quotas())
    assert listed.keys() == LIMITS.keys()
    for name, _, source, test in table("Limits"):
        assert "](https://" in source
        assert test.strip("`") == f"test_a_limit_is_reached[{name.strip('`')}]"


def test_the_lengths_are_those_that_are_refused() -> None:
    rows = table("Lengths")
    assert {row[0].strip("`"): int(row[1]) for row in rows} == LENGTHS
    assert all("](https://" in row[2] for row in rows)


@pytest.fixture(scope="module")
def of_moto() -> dict[str, str]:
    """The outcomes of moto, in a process of its own: moto patches botocore."""
    environment = {
        **os.environ, "PYTHONPATH": str(ROOT / "tests"), "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x",
    }  # fmt: skip
    command = [sys.executable, "-W", "ignore", "-c", _MOTO]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, timeout=120)
    found: dict[str, str] = json.loads(done.stdout)
    return found


def test_every_difference_to_moto_is_listed_and_wanted(make_sim: Any, of_moto: dict[str, str]) -> None:
    """A difference that goes, because moto learned it, must go from the page too."""
    sim = make_sim(lags=Lags.none(), limits={})
    ours = run(lambda name: sim.client(name), "ami-0a0000000000000c1")
    assert set(ours) == set(STEPS)
    different = {name: (ours[name], of_moto[name]) for name in STEPS if ours[name] != of_moto[name]}
    assert different == {row[0]: (row[1], row[2]) for row in table("moto")}
