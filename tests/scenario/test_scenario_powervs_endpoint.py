"""IBMPowerVSCluster: the endpoint is an address for life, and a load balancer that is made anew has another one."""

from __future__ import annotations

from typing import Any

import pytest

from freehold.api import names
from harness.powervs import Harness, example
from harness.resources import REGION, only
from harness.standing import standing

THEIRS = f"0a1b2c3d-{REGION}.lb.appdomain.cloud"
"""Of a load balancer of somebody's, which leads to the API server."""


def host(harness: Harness) -> Any:
    return (harness.object.raw["spec"].get("controlPlaneEndpoint") or {}).get("host")


def lost(harness: Harness) -> str:
    """A stranger deletes the load balancer, and it is made anew. Its hostname."""
    harness.cloud.strangers.delete(only(harness, "load-balancer")["id"])
    harness.for_a_while(1200.0)
    new = only(harness, "load-balancer")["id"]
    return str(harness.cloud.strangers.find(new)["hostname"])


def is_left_behind(harness: Harness, old: str, new: str) -> None:
    assert old != new
    for each in ("LoadBalancerReady", "Ready"):
        said = harness.condition(each)
        assert said["status"] == "False" and f"its address is {new}" in said["message"] and old in said["message"], said


@pytest.mark.parametrize("times", (1, 2))
def test_a_cluster_with_the_hostname_of_a_lost_load_balancer_is_not_ready(times: int) -> None:
    """Nobody reaches its API server, also after the second one is lost."""
    harness = standing(Harness)
    old = host(harness)
    for _ in range(times):
        new = lost(harness)
    is_left_behind(harness, old, new)
    harness.down()


def test_it_is_known_after_the_status_is_lost() -> None:
    """A move or a restore brings no status."""
    harness = standing(Harness)
    old, new = host(harness), lost(harness)
    harness.object.raw["status"] = {}
    harness.start_process()
    harness.for_a_while(1800.0)
    is_left_behind(harness, old, new)


def test_a_cluster_of_an_earlier_version_learns_its_endpoint() -> None:
    """The first look at its load balancer is enough."""
    harness = standing(Harness)
    harness.object.patch({"metadata": {"annotations": {names.ENDPOINT_ANNOTATION: None}}})
    harness.start_process()
    harness.for_a_while(1800.0)
    is_left_behind(harness, host(harness), lost(harness))


def test_an_endpoint_of_ones_own_is_led_to_the_new_load_balancer() -> None:
    """Also if it is a load balancer of IBM Cloud: it is not ours, and what it leads to is its owner's to say."""
    harness = Harness(example(controlPlaneEndpoint={"host": THEIRS, "port": 6443}))
    harness.up()
    lost(harness)
    assert harness.condition("Ready")["status"] == "True" and host(harness) == THEIRS
