"""The demo, as a user runs it: each step is checked, and the cloud that it leaves is checked again."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

STEPS = (
    "strangers with tempting names are there before us",
    "the manifest is accepted as it is: 12 objects of 10 kinds",
    "the operator is killed (kill -9) in mid-create",
    "a new operator goes on, and the cluster is Ready",
    "the endpoint is the public load balancer's hostname",
    "somebody meddles behind our back",
    "it is seen and healed: the connection is made anew",
    "strangers with tempting names are there before us",
    "the manifest is accepted as it is: 1 AWSCluster",
    "the operator is killed (kill -9) in mid-create",
    "a new operator goes on, and the cluster is Ready",
    "the endpoint is the internet-facing load balancer's DNS name",
    "somebody meddles behind our back",
    "it is seen and healed: the route leads to its NAT gateway again",
    "one operator (process",
    "both objects are deleted, and everything that they owned is gone",
    "what is not owned stays",
)


def test_the_demo_succeeds_from_the_first_create_to_the_last_delete(tmp_path: Path) -> None:
    """Simulated time runs fast here, and no account is named; nothing else differs from `make demo`."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "IBMCLOUD_"))}
    done = subprocess.run(
        [sys.executable, "-m", "freehold.cli.main", "demo", "--speed", "120", "--keep", str(tmp_path)],
        capture_output=True, text=True, timeout=400, check=False, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    told = re.findall(r"^✓ (.*)$", done.stdout, re.MULTILINE)
    assert [step for step, line in zip(STEPS, told, strict=True) if not line.startswith(step)] == []
    _the_world_holds_strangers_only(tmp_path)
    _the_simulated_aws_holds_strangers_only(tmp_path)
    _every_write_is_in_the_audit_log(tmp_path)


def _the_world_holds_strangers_only(home: Path) -> None:
    world = json.loads((home / "cloud" / "simulated-cloud.json").read_text())["clouds"]["ibm"]["data"]
    records = [record for kind in world["resources"].values() for record in kind.values()]
    left = [record for record in records if record["state"] not in ("removed", "deleted")]
    assert {record["by"] for record in left} == {"stranger"}
    assert {"freehold-demo-vpc2", "freehold-demo2-vpc", "freehold-demo-vpcsubnet"} <= {each["name"] for each in left}
    beside = next(each for each in left if each["name"] == "freehold-demo-vpc2")
    tags = world["tags"][beside["crn"]][-1][1]
    assert any(tag.startswith("powervs.cluster.x-k8s.io.owner:") for tag in tags), "the copied tags are still there"


def _the_simulated_aws_holds_strangers_only(home: Path) -> None:
    world = json.loads((home / "cloud" / "simulated-cloud.json").read_text())["clouds"]["aws"]["data"]
    records = [each for kinds in world["resources"].values() for kind in kinds.values() for each in kind.values()]
    left = [each for each in records if each["view"].get("State") != "deleted"]
    assert {each["by"] for each in left} == {"stranger"}
    [beside] = [each for each in left if each["kind"] == "vpc"]
    assert beside["tags"]["Name"] == "minimal-vpc"
    assert beside["tags"]["freehold.dev/owner"] == "default/minimal", "the copied tags are still there"


def _every_write_is_in_the_audit_log(home: Path) -> None:
    """Each requested change is in the log, written before it was sent. The log has more lines only where the
    kill cut a call off between the two: such a line has no outcome."""
    lines = [json.loads(line) for line in (home / "state" / "audit.jsonl").read_text().splitlines()]
    sent = Counter(_spelled(line["call"]) for line in lines if line["outcome"] == "sent")
    ended = Counter(_spelled(line["call"]) for line in lines if line["outcome"] != "sent")
    clouds = json.loads((home / "cloud" / "simulated-cloud.json").read_text())["clouds"]
    calls = [each for cloud in clouds.values() for each in cloud["calls"]]
    asked = Counter(
        _spelled(operation) for _, _, operation, _, _, _, mutating, actor in calls if mutating and actor == "api"
    )
    assert asked <= sent
    assert not (sent - asked) - (sent - ended)


def _spelled(call: str) -> str:
    """boto3 and the log say ``delete_subnet``, AWS says ``DeleteSubnet``."""
    return call.replace("_", "").lower()
