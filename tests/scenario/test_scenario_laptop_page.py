"""The page about laptops shows what the commands print today."""

import re
from pathlib import Path

from freehold.cli.local.simulator import ask, simulated_cloud
from freehold.cli.local.state_directory import StateDirectory
from freehold.demo.world import IBMWorld
from harness.terminals import freehold_on_terminal

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "laptop.md").read_text()
PROD = """
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: IBMPowerVSCluster
metadata:
  name: prod
  annotations: {powervs.cluster.x-k8s.io/create-infra: "true"}
spec:
  zone: dal10
  resourceGroup: {name: Default}
  serviceInstance: {name: team-a}
  vpc: {region: us-south}
  vpcSubnets: [{name: a, zone: us-south-1}]
"""
COLUMNS = 124


async def test_the_plan_on_the_page_is_what_is_printed(tmp_path: Path) -> None:
    """Somebody else's VPC has the name that ours would get by default, and a stranger's workspace is named."""
    state = StateDirectory.open(tmp_path / "state")
    state.bind(simulate=True)
    async with simulated_cloud(state, 1.0) as url:
        world = IBMWorld(url)
        await world.make("vpc", region="us-south", name="prod-vpc")
        await world.make("workspace", name="team-a", zone="dal10")
        await ask(url, "clock", {"advance": 600})
    manifest = tmp_path / "prod.yaml"
    manifest.write_text(PROD)
    shown = freehold_on_terminal("plan", "-f", str(manifest), "--state", str(state.path), columns=COLUMNS)
    told = re.search(r"```\n\$ freehold plan -f prod\.yaml\n(.*?)```", PAGE, re.DOTALL)
    assert told is not None
    starting = f"starting on the state in {state.path}\n"
    assert shown.text == starting + told[1], "what takes its time is told before anything slow is loaded"
    assert shown.code == 1
