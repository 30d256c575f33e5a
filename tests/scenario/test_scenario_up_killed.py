"""`freehold up` and its simulator are killed at a bad moment: a second run converges, and nothing is made twice."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

MINIMAL = Path(__file__).parents[2] / "examples" / "powervs-minimal.yaml"


def _up(state: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "freehold.cli.main", "up", "-f", str(MINIMAL), "--simulate", "--speed", "120",
         "--state", str(state)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def test_kill_9_of_up_during_a_create_loses_nothing(tmp_path: Path) -> None:
    with _up(tmp_path) as killed:
        assert killed.stdout is not None
        for line in killed.stdout:
            if " load-balancer " in line and "create_pending" in line:
                break
        killed.kill()
        killed.wait()
    with _up(tmp_path) as again:
        told, _ = again.communicate(timeout=300)
    assert again.returncode == 0, told
    assert "IBMPowerVSCluster default/minimal is Ready: 10 resources" in told
    world = json.loads((tmp_path / "simulated-cloud.json").read_text())["clouds"]["ibm"]["data"]
    ours = [record for kind in world["resources"].values() for record in kind.values() if record["by"] == "api"]
    made = Counter(record["kind"] for record in ours)
    expected = {"instance": 1, "dhcp": 1, "vpc": 1, "subnet": 3, "load-balancer": 1, "gateway": 1, "connection": 2}
    assert {kind: made[kind] for kind in expected} == expected
