"""Pages of one item, lists and indexes that lag or go back in time: still one of each, and nothing left behind."""

from __future__ import annotations

from dataclasses import replace

import pytest

from freehold_sim.ibm.settings import Assumptions, Delays, Lags, Settings
from harness.powervs import Harness, example
from harness.resources import existing, infrastructure, made_by_us, omitted, snapshot

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
def test_create_and_delete_whatever_the_cloud_does(world: str) -> None:
    """Each is a behaviour that could not be verified (docs/reference/ibm-cloud.md#not-verified)."""
    harness = Harness(example(**omitted()), WORLDS[world])
    infrastructure(harness)
    before = snapshot(harness)
    harness.pass_once()
    harness.for_a_while(40.0)
    harness.start_process()
    harness.up()
    harness.for_a_while(900.0)

    assert harness.ready()
    ours = [row["kind"] for row in made_by_us(harness)]
    once = ["vpc", "gateway", "load-balancer", "dhcp", "network", "instance"]
    assert {kind: ours.count(kind) for kind in once} == dict.fromkeys(once, 1)
    assert (ours.count("subnet"), ours.count("connection")) == (3, 2)
    harness.down()
    harness.clock.advance(600.0)
    assert snapshot(harness) == before


def test_a_stranger_on_a_later_page_is_seen() -> None:
    """A client that reads only the first page would create a second VPC with one name, or take the wrong one."""
    harness = Harness(example(**omitted()), replace(Settings(), page_size=1))
    for name in ("a", "freehold-demo-vpc", "z"):
        harness.cloud.strangers.make("vpc", region="us-south", name=name)
    harness.clock.advance(3600.0)
    harness.pass_once()
    assert harness.condition("VPCReady")["reason"] == "NameTaken"
    assert existing(harness, "subnet") == []
