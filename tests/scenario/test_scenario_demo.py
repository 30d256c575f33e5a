"""The demo, as a user runs it: each step is checked, and the cloud that it leaves is checked again."""

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

STEPS = (
    "strangers with tempting names are there before us",
    "the manifest is accepted as it is",
    "the operator is killed (kill -9) in mid-create",
    "a new operator goes on, and the cluster is Ready",
    "the endpoint is the public load balancer's hostname",
    "somebody meddles behind our back",
    "it is seen and healed",
    "the object is deleted, and everything that it owned is gone",
    "what is not owned stays",
)


def test_the_demo_succeeds_from_the_first_create_to_the_last_delete(tmp_path: Path) -> None:
    """Simulated time runs fast here; nothing else differs from `make demo`."""
    done = subprocess.run(
        [sys.executable, "-m", "freehold.cli.main", "demo", "--speed", "120", "--keep", str(tmp_path)],
        capture_output=True, text=True, timeout=400, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    told = re.findall(r"^✓ (.*)$", done.stdout, re.MULTILINE)
    assert [step for step, line in zip(STEPS, told, strict=True) if not line.startswith(step)] == []
    _the_world_holds_strangers_only(tmp_path)
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


def _every_write_is_in_the_audit_log(home: Path) -> None:
    """Each requested change is in the log, written before it was sent. The log has more lines only where the
    kill cut a call off between the two: such a line has no outcome."""
    lines = [json.loads(line) for line in (home / "state" / "audit.jsonl").read_text().splitlines()]
    sent = Counter(line["call"] for line in lines if line["outcome"] == "sent")
    ended = Counter(line["call"] for line in lines if line["outcome"] != "sent")
    calls = json.loads((home / "cloud" / "simulated-cloud.json").read_text())["clouds"]["ibm"]["calls"]
    asked = Counter(operation for _, _, operation, _, _, _, mutating, actor in calls if mutating and actor == "api")
    assert asked <= sent
    assert sent - asked <= sent - ended
