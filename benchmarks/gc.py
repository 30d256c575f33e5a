"""Calls and simulated time of a delete that collects what the workloads of its cluster made.

Upstream's collector, run unmodified on the simulated AWS, needed 4,384 calls for the delete of a cluster with one
network load balancer, one classic one, a target group and a group (docs/reference/aws.md#upstream).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import ceil

from benchmarks.rows import Row
from freehold.api.feature_gates import DEFAULT_GATES, FeatureGates
from freehold_sim.aws.settings import Delays, Quotas, Settings
from harness.aws_cluster import AwsHarness, aws_cluster
from harness.cloud_controllers import CloudProvider, Nodes, everything
from harness.collected import ground_of, user_of

TARGET = "target of this project"
CLUSTERS, SERVICES = 20, 10
"""Each cluster has so many classic and network load balancers, target groups, security groups and interfaces."""
LEFT_LATE = 600.0
"""Seconds after which the tag index shows what was made."""
LARGE = Quotas(
    vpcs=100, addresses=100, internet_gateways=100, nat_gateways_per_zone=50, classic_balancers=1000, balancers=1000
)
PAGE, BATCH = 100, 20
"""Of GetResources; and of what Elastic Load Balancing describes in one call."""


def measure() -> Iterator[Row]:
    yield from _nothing_left()
    yield from _demo()
    yield from _one_of_each()
    yield from _many()


def _deleted(harness: AwsHarness) -> tuple[int, float]:
    """Delete the cluster: calls, and seconds of simulated time."""
    harness.cloud.calls.clear()
    seconds = harness.down()
    return len(harness.calls()), seconds


def _cluster(
    leave: Callable[[AwsHarness], object] = lambda harness: None, gates: FeatureGates = DEFAULT_GATES
) -> AwsHarness:
    harness = AwsHarness(gates=gates)
    harness.up()
    leave(harness)
    harness.clock.advance(LEFT_LATE)
    return harness


def _nothing_left() -> Iterator[Row]:
    without, _ = _deleted(_cluster(gates=frozenset()))
    calls, _ = _deleted(_cluster())
    yield Row("gc.nothing.calls", calls - without, "calls more than with the gate off", 8, "", TARGET)


def _demo() -> Iterator[Row]:
    """One of all that controllers make: its load balancers' interfaces go, then the NAT gateways."""
    delays = Delays()
    path = delays.balancer_interfaces + delays.delete_nat_gateway
    calls, seconds = _deleted(_cluster(lambda harness: everything(user_of(harness), ground_of(harness))))
    yield Row("gc.everything.time", round(seconds / path, 3), "× critical path", 1.10, "", TARGET)
    yield Row("gc.everything.calls", calls, "calls")


def _one_of_each() -> Iterator[Row]:
    """What upstream's collector was measured with."""

    def leave(harness: AwsHarness) -> None:
        works = CloudProvider(user_of(harness), ground_of(harness))
        works.network()
        works.classic()

    calls, _ = _deleted(_cluster(leave))
    source = "CAPA's own manager on the simulated AWS (docs/reference/aws.md#upstream)"
    yield Row("gc.nlb_and_classic.calls", calls, "calls", None, "4384", source)


def _many() -> Iterator[Row]:
    first = _of_many(None, 0)
    clusters = [first, *(_of_many(first, number) for number in range(1, CLUSTERS))]
    bare = _of_many(first, CLUSTERS)
    bare_calls = _calls_of(bare)
    for each in clusters:
        _leave_many(each)
    first.clock.advance(LEFT_LATE)
    calls = sum(_calls_of(each) for each in clusters) - CLUSTERS * bare_calls
    yield Row(
        "gc.many.calls", round(calls / (CLUSTERS * _least()), 3), "× the least that the APIs allow", 1.2, "", TARGET
    )
    yield Row("gc.many.things", CLUSTERS * SERVICES * 5, "leftovers")


def _of_many(first: AwsHarness | None, number: int) -> AwsHarness:
    manifest = aws_cluster()
    manifest["metadata"]["name"] = f"c{number}"
    harness = AwsHarness(manifest, Settings(quotas=LARGE), beside=first)
    harness.up()
    return harness


def _leave_many(harness: AwsHarness) -> None:
    works = CloudProvider(user_of(harness), ground_of(harness))
    nodes = Nodes(user_of(harness), ground_of(harness))
    for number in range(SERVICES):
        works.classic(f"team/web{number}")
        works.network(f"team/api{number}")
        nodes.interface()


def _calls_of(harness: AwsHarness) -> int:
    before = len(harness.cloud.calls)
    harness.down()
    return len(harness.cloud.calls) - before


def _least() -> int:
    """Calls beyond those of a delete with nothing to collect, which has one look at everything.

    What was found, described with its tags; one call for each rule and each thing, since no API takes several; both
    kinds of load balancers seen gone, and their interfaces; one more look, which finds nothing.
    """
    described = 3 * 2 * ceil(SERVICES / BATCH)
    indexed = ceil(4 * SERVICES / PAGE) - 1
    changes = SERVICES + 5 * SERVICES
    look = 6
    return described + indexed + changes + 2 + 1 + look
