"""`freehold up` and its simulator are killed at a bad moment: a second run converges, and nothing is made twice.

A third run, of the unchanged manifest, looks at the cloud again.
"""

import asyncio
import json
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from freehold.cli.local.simulator import simulated_cloud
from freehold.cli.local.state_directory import StateDirectory
from freehold.demo.world import IBMWorld
from harness.commands import PROGRAM
from harness.forks import Program

pytestmark = pytest.mark.early

MINIMAL = Path(__file__).parents[2] / "examples" / "powervs-minimal.yaml"


def _up(state: Path) -> subprocess.Popen[str]:
    return Program(
        [*PROGRAM, "up", "-f", str(MINIMAL), "--simulate", "--speed", "240",
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
    made = _made(tmp_path)
    expected = {"instance": 1, "dhcp": 1, "vpc": 1, "subnet": 3, "load-balancer": 1, "gateway": 1, "connection": 2}
    assert {kind: made[kind] for kind in expected} == expected
    asyncio.run(_delete_load_balancer(tmp_path))
    assert _made(tmp_path)["load-balancer"] == 0
    _an_unchanged_manifest_is_no_success_unseen(tmp_path)


def _made(state: Path) -> Counter[str]:
    """What our calls created in the simulated world and is there, by kind."""
    world = json.loads((state / "simulated-cloud.json").read_text())["clouds"]["ibm"]["data"]
    ours = [record for kind in world["resources"].values() for record in kind.values() if record["by"] == "api"]
    return Counter(record["kind"] for record in ours)


async def _delete_load_balancer(state: Path) -> None:
    async with simulated_cloud(StateDirectory.open(state), 120.0) as url:
        world = IBMWorld(url)
        (found,) = [each for each in await world.resources() if each.kind == "load-balancer"]
        await world.delete(found.id)


def _an_unchanged_manifest_is_no_success_unseen(state: Path) -> None:
    """The status still says Ready; the one who has lost the load balancer of the API server must hear of it."""
    with _up(state) as again:
        told, _ = again.communicate(timeout=300)
    assert "default/minimal: unchanged" in told
    assert "is Ready: " not in told
    assert "the address of an earlier one that has gone" in told
    assert again.returncode == 1
    assert _made(state)["load-balancer"] == 1, "it is there again, under another address"
