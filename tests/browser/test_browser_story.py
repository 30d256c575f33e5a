"""Clusters watched on the page to their end: server, operator and page are real, the clouds are simulated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from harness.cloud_stand_in import forgotten_services, left
from harness.page_laptop import Laptop, laptop

if TYPE_CHECKING:
    from harness.browser import Browser, Viewer

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laptop]:
    with laptop(tmp_path_factory.mktemp("laptop")) as started:
        yield started


def route(name: str) -> str:
    return f"#/object/AWSCluster/default/{name}"


def row(name: str) -> str:
    """The row of an object in the list."""
    return f".rows > .row[data-key='AWSCluster/default/{name}']"


def state(name: str) -> str:
    """What the list says of its state."""
    return f"{row(name)} .cell-state"


def make(world: Laptop, viewer: Viewer, name: str, zones: int = 1) -> None:
    """Make a cluster and look at the list until it is Ready."""
    world.apply(name, network={"vpc": {"availabilityZoneUsageLimit": zones}})
    viewer.open(world.url)
    viewer.go(f"#/?q={name}")
    viewer.sees("Ready", state(name))


def test_a_create_is_watched_to_its_end(viewer: Viewer, world: Laptop) -> None:
    viewer.open(world.url)
    viewer.sees("There are no objects|Nobody has to act")
    world.slow_down("ec2.CreateNatGateway", 15.0)
    world.apply("watched", network={"vpc": {"availabilityZoneUsageLimit": 1}})
    viewer.sees("Progressing", state("watched"))
    viewer.click(f"{row('watched')} a")
    viewer.sees("Progressing", ".phase")
    viewer.sees("nat-gateway", "main")
    viewer.sees("Ready", ".phase")
    viewer.sees(r"Create.*took \d+", "main")
    viewer.sees("Critical path: .*nat-gateway", "main")
    viewer.go("#/")
    viewer.sees("Ready", state("watched"))
    assert "token" not in viewer.url


def test_two_viewers_see_the_same_change(chromium: Browser, world: Laptop) -> None:
    with chromium.viewer() as one, chromium.viewer() as other:
        for each in (one, other):
            each.open(world.url)
            each.settled()
        world.apply("shared", network={"vpc": {"availabilityZoneUsageLimit": 1}})
        for each in (one, other):
            each.sees("Ready", state("shared"))


def test_drift_is_repaired_before_the_eyes_of_a_viewer(viewer: Viewer, world: Laptop) -> None:
    make(world, viewer, "drifted")
    viewer.go(route("drifted"))
    viewer.settled()
    vpc = world.find("drifted", "vpc")
    world.stranger.call("ec2", "ModifyVpcAttribute", VpcId=vpc["id"], EnableDnsHostnames={"Value": False})
    viewer.sees("Repair", "main")
    viewer.click(".node", "vpc")
    viewer.sees(r"(?s)enable_dns_hostnames.*false → true", ".panel")


def test_what_workloads_left_is_collected_before_the_eyes_of_a_viewer(viewer: Viewer, world: Laptop) -> None:
    make(world, viewer, "collected", zones=2)
    made = forgotten_services(world.simulator, "collected").made
    viewer.go(f"{route('collected')}/deletion")
    viewer.sees("load-balancer", "main")
    viewer.sees("freehold gc plan collected", "main")
    world.delete("collected")
    viewer.go("#/")
    viewer.sees("Deleting", state("collected"))
    viewer.until(lambda: viewer.count(row("collected")) == 0, "the row of what is gone")
    assert left(world.simulator, made) == []
    viewer.go("#/audit")
    viewer.sees("collected of cluster collected: load-balancer 2", "main")
    viewer.sees("(?i)chain verified", "main")


def test_a_blocked_delete_is_told_with_what_blocks_it_and_goes_on(viewer: Viewer, world: Laptop) -> None:
    make(world, viewer, "blocked")
    subnet = world.find("blocked", "subnet", "private")
    interface = world.stranger.make("ec2", "CreateNetworkInterface", SubnetId=subnet["id"])
    viewer.go(f"{route('blocked')}/deletion")
    viewer.settled()
    viewer.sees(subnet["id"], "main")
    world.delete("blocked")
    viewer.go("#/")
    viewer.sees(f"(?s)blocked.*{interface}", ".attention")
    world.stranger.call("ec2", "DeleteNetworkInterface", NetworkInterfaceId=interface)
    viewer.until(lambda: viewer.count(row("blocked")) == 0, "the row of what is gone")
    viewer.sees_no(interface)
