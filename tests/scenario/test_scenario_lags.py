"""Pages of one, lists and indexes that lag and step back in time: still one of each, and nothing left behind."""

from __future__ import annotations

from dataclasses import replace

import pytest

from freehold_sim.ibm.settings import Assumptions, Delays, Lags, Settings
from stage.powervs import Stage, example
from stage.scenery import infrastructure, made_by_us, omitted, photograph, standing

WORLDS = {
    "no-lag": Settings(lags=Lags.none()),
    "20s": Settings(lags=Lags.uniform(20.0)),
    "60s": Settings(lags=Lags.uniform(60.0)),
    "non-monotonic": Settings(lags=Lags.uniform(20.0, non_monotonic=True)),
    "page-size-1": Settings(page_size=1),
    "pages-and-lags": Settings(page_size=1, lags=Lags.uniform(20.0, non_monotonic=True)),
    "slow": Settings(delays=Delays().scaled(3.0)),
    "fast": Settings(delays=Delays().scaled(0.1)),
    "names-not-unique": Settings(assumptions=Assumptions(gateway_names_unique=False, connection_names_unique=False)),
    "lower-case-tags": Settings(assumptions=Assumptions(lowercases_tags=True)),
    "attach-needs-index": Settings(assumptions=Assumptions(attach_needs_index=True)),
    "dhcp-without-network": Settings(assumptions=Assumptions(dhcp_post_shows_network=False)),
    "other-codes": Settings(
        assumptions=Assumptions(
            gateway_with_connections_status=400, instance_create_status=202, duplicate_rules_refused=True
        )
    ),
}  # fmt: skip


@pytest.mark.parametrize("world", WORLDS)
def test_up_and_down_whatever_the_cloud_is_like(world: str) -> None:
    """Each is an assumption that nobody could check (docs/reference/ibm-cloud.md#not-verified)."""
    stage = Stage(example(**omitted()), WORLDS[world])
    infrastructure(stage)
    before = photograph(stage)
    stage.pass_once()
    stage.for_a_while(40.0)
    stage.start_process()
    stage.up()
    stage.for_a_while(900.0)

    assert stage.ready()
    ours = [row["kind"] for row in made_by_us(stage)]
    once = ["vpc", "gateway", "load-balancer", "dhcp", "network", "instance"]
    assert {kind: ours.count(kind) for kind in once} == dict.fromkeys(once, 1)
    assert (ours.count("subnet"), ours.count("connection")) == (3, 2)
    stage.down()
    stage.clock.advance(600.0)
    assert photograph(stage) == before


def test_a_stranger_on_a_later_page_is_seen() -> None:
    """A client that reads the first page only would create a second VPC of one name, or take the wrong one."""
    stage = Stage(example(**omitted()), replace(Settings(), page_size=1))
    for name in ("a", "freehold-demo-vpc", "z"):
        stage.cloud.strangers.make("vpc", region="us-south", name=name)
    stage.clock.advance(3600.0)
    stage.pass_once()
    assert stage.condition("VPCReady")["reason"] == "NameTaken"
    assert standing(stage, "subnet") == []
