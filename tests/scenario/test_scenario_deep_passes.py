"""Looks at idle clusters: in rounds, by lists that all clusters share, and never by a list alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest

from freehold.controllers.controller import RequeueAfter
from freehold.engine.interface import Intervals
from freehold_sim.ibm.settings import Delays, Lags, Quotas, Settings
from harness.powervs import Harness, MemoryDocument, StoredObject, example
from harness.standing import standing
from harness.stepping import run_blocking

INTERVAL = Intervals().deep
LISTS = ("vpc.list_vpcs", "vpc.list_subnets", "vpc.list_load_balancers", "transit.list_connections")


class Clusters:
    """Two idle clusters of one operator process."""

    def __init__(self) -> None:
        room = Quotas(gateways_per_region=5, gateways=10, vpcs_per_region=10)
        self.harness = Harness(settings=Settings(quotas=room))
        self.objects = [self._made(0), self._made(1)]
        self.harness.clock.advance(300.0)

    def _made(self, number: int) -> StoredObject:
        harness, old = self.harness, example()["metadata"]["name"]
        manifest = example()
        name = f"cluster-{number}"
        manifest["metadata"]["name"] = name
        for part in ("serviceInstance", "vpc", "transitGateway"):
            manifest["spec"][part]["name"] = manifest["spec"][part]["name"].replace(old, name)
        manifest["spec"]["loadBalancers"] = [{"name": f"{name}-loadbalancer"}]
        harness.object = StoredObject(manifest, harness.clock.now)
        harness.object.raw["metadata"]["uid"] = f"00000000-0000-4000-8000-{number:012d}"
        harness.up()
        harness.settle(2)
        return harness.object

    def run(self, seconds: float) -> Counter[str]:
        """Both at their times; the calls, by operation."""
        clock, before = self.harness.clock, len(self.harness.calls())
        due, until = [0.0, 0.0], clock.monotonic() + seconds
        while min(due) <= until:
            index = due.index(min(due))
            clock.advance(max(0.0, due[index] - clock.monotonic()))
            result = run_blocking(
                self.harness.process.reconcile(MemoryDocument(self.objects[index]), self.harness.around)
            )
            assert isinstance(result, RequeueAfter)
            due[index] = clock.monotonic() + max(result.seconds, 0.01)
        clock.advance(max(0.0, until - clock.monotonic()))
        return Counter(call.operation for call in self.harness.calls()[before:])


def _looks(harness: Harness) -> list[float]:
    """When an idle object is looked at, which reads its resources."""
    begun, times = harness.clock.monotonic(), []
    while harness.clock.monotonic() < begun + 6 * INTERVAL:
        before = len(harness.calls())
        result = harness.pass_once()
        if any(call.operation == "vpc.get_load_balancer" for call in harness.calls()[before:]):
            times.append(harness.clock.monotonic())
        assert isinstance(result, RequeueAfter)
        harness.clock.advance(result.seconds)
    return times


def test_an_idle_cluster_is_looked_at_once_in_a_round_and_asks_nothing_in_between() -> None:
    harness = standing(Harness)
    harness.settle(2)
    before = len(harness.calls())
    times = _looks(harness)
    assert {round(b - a) for a, b in pairwise(times[1:])} == {round(INTERVAL)}
    assert len(harness.calls()) - before <= 12 * len(times)


def test_clusters_share_lists_and_read_nothing_that_is_in_them_by_its_id() -> None:
    clusters = Clusters()
    clusters.run(2 * INTERVAL)
    asked = clusters.run(INTERVAL)
    assert all(asked[operation] == 1 for operation in LISTS), asked
    assert not {"vpc.get_vpc", "vpc.get_load_balancer", "rc.get_resource_instance"} & asked.keys()


def test_what_a_stranger_renames_has_its_name_again_within_ten_minutes() -> None:
    clusters = Clusters()
    clusters.run(2 * INTERVAL)
    harness = clusters.harness
    renamed = next(r for r in harness.cloud.strangers.resources() if r["kind"] == "vpc")
    harness.cloud.strangers.change(renamed["id"], name="renamed")
    asked = clusters.run(600.0)
    assert asked["vpc.update_vpc"] == 1
    assert asked["vpc.get_vpc"] >= 1, "it is read itself before it is changed"


@pytest.mark.parametrize("lag", (30.0, 110.0))
def test_a_list_that_does_not_show_a_resource_changes_nothing(lag: float) -> None:
    """New to a list is what is younger than its lag: here everything seems to be missing."""
    clusters = Clusters()
    stored = [obj.raw["metadata"]["resourceVersion"] for obj in clusters.objects]
    settings = clusters.harness.cloud.settings
    object.__setattr__(settings, "lags", Lags(lists=1e9))
    writes = len(clusters.harness.calls(mutating=True))
    asked = clusters.run(2 * INTERVAL + lag)
    assert asked["vpc.get_vpc"] >= 2, "it is asked for by its id"
    assert len(clusters.harness.calls(mutating=True)) == writes
    assert [obj.raw["metadata"]["resourceVersion"] for obj in clusters.objects] == stored


def _begun(delays: Delays, after: float = 0.0) -> Harness:
    """A cluster whose create begins so many seconds after a round."""
    harness = Harness(example(vpcSubnets=None), Settings(delays=delays))
    harness.clock.advance(after)
    return harness


@pytest.mark.parametrize("after", (INTERVAL / 2, INTERVAL - 1.0))
def test_a_long_create_costs_the_same_wherever_in_a_round_it_begins(after: float) -> None:
    """A look at everything is nine calls that a create under way does not need."""
    slow = Delays().scaled(2.0)
    first, other = _begun(slow), _begun(slow, after)
    assert first.up() == pytest.approx(other.up())
    assert len(other.calls()) == len(first.calls())


def test_the_look_that_a_create_puts_off_is_made_after_it() -> None:
    harness = _begun(Delays().scaled(2.0), INTERVAL - 1.0)
    harness.up()
    before = len(harness.calls())
    harness.for_a_while(INTERVAL + 1.0)
    assert any(call.operation == "rc.get_resource_instance" for call in harness.calls()[before:])


def test_a_create_that_does_not_end_does_not_put_the_look_off_for_ever() -> None:
    harness = _begun(replace(Delays(), create_dhcp=1e6))
    harness.for_a_while(600.0)
    renamed = next(r for r in harness.cloud.strangers.resources() if r["kind"] == "vpc")
    harness.cloud.strangers.change(renamed["id"], name="renamed")
    harness.for_a_while(900.0 + 2 * INTERVAL)
    assert not harness.ready()
    assert renamed["name"] in {r["name"] for r in harness.resources() if r["kind"] == "vpc"}
