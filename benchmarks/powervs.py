"""Cloud calls and simulated time of PowerVS clusters, an operator's first and its third, at five profiles of delays.

The published delays are only one profile. A cloud may be faster or slower, and each of its services by another factor:
the skewed profile has one of 0.3 to 3 for each delay, drawn once.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace

from benchmarks.rows import Row
from freehold_sim.ibm.settings import Delays, Quotas, Settings
from harness.powervs import Harness, StoredObject, example

TARGET = "target of this project"
CAPIBM = "CAPIBM unmodified on our API server and simulator (docs/reference/ibm-cloud.md#capibm)"
POLICIES = frozenset({"cos_reclamation"})
"""Fields of the delays that are no time that something takes."""
SKEW = 7
"""The seed of the skewed profile."""
CLUSTERS = 3


def skewed(seed: int) -> Delays:
    """Each delay by a factor of its own, 0.3 to 3."""
    factors = random.Random(seed)
    plain = Delays()
    times = {f.name: getattr(plain, f.name) for f in fields(plain) if f.name not in POLICIES}
    return replace(plain, **{name: time * 10 ** factors.uniform(-0.523, 0.477) for name, time in times.items()})


PROFILES: Mapping[str, Delays] = {
    **{f"×{factor:g}": Delays().scaled(factor) for factor in (0.5, 0.77, 1.0, 2.0)},
    "skewed": skewed(SKEW),
}
PEER_CREATE: Mapping[str, str] = {
    "×0.5": "371",
    "×0.77": "366",
    "×1": "434; 245 and 294 where load balancers may wait for subnets",
    "×2": "559",
}
"""Measured in real processes at speed 1, as the times and the deletes are."""
PEER_CREATE_TIME: Mapping[str, str] = {"×0.5": "1.09", "×0.77": "1.07", "×1": "1.03", "×2": "1.02"}
PEER_DELETE: Mapping[str, str] = dict.fromkeys(PEER_CREATE, "75 to 107, of all four scales")
PEER_DELETE_TIME: Mapping[str, str] = {"×0.5": "2.2", "×0.77": "1.4 to 2.2", "×1": "1.4 to 2.2", "×2": "1.4"}


def critical_create(delays: Delays) -> float:
    """The longest chain of delays from apply to Ready."""
    return max(
        delays.create_workspace + delays.create_dhcp,
        delays.create_vpc + delays.create_subnet + delays.create_load_balancer,
        max(delays.create_workspace, delays.create_vpc, delays.create_gateway) + delays.create_connection,
    )


def critical_delete(delays: Delays) -> float:
    """The longest chain from delete to gone; the DHCP network outlives its server, and blocks the workspace."""
    return max(
        max(delays.delete_dhcp + delays.delete_dhcp_network, delays.delete_connection) + delays.delete_workspace,
        max(delays.delete_load_balancer + delays.delete_subnet, delays.delete_connection) + delays.delete_vpc,
        delays.delete_connection + delays.delete_gateway,
    )


@dataclass(frozen=True)
class Life:
    """What the create and the delete of one cluster cost; times as multiples of the longest chain of delays."""

    create_calls: int
    create_time: float
    delete_calls: int
    delete_time: float


def lives(delays: Delays, count: int = CLUSTERS) -> list[Life]:
    """One cluster after the other, by one operator process."""
    harness = _harness(delays)
    found = []
    for index in range(count):
        harness.object = named(harness.clock.now, index)
        before = len(harness.calls())
        created = harness.up() / critical_create(delays)
        up = len(harness.calls())
        harness.clock.advance(300.0)  # so that nothing of the create settles any more
        deleted = harness.down() / critical_delete(delays)
        found.append(Life(up - before, round(created, 3), len(harness.calls()) - up, round(deleted, 3)))
    return found


def measure() -> Iterator[Row]:
    """Yield all rows. Seven calls of a delete ask a resource for its tags: a budget removes no proof (ADR 7)."""
    for profile, delays in PROFILES.items():
        first, *_, third = lives(delays)
        yield from _rows(f"powervs.{profile}.first", first, Life(90, 1.30, 75, 1.30), profile)
        yield from _rows(f"powervs.{profile}.third", third, Life(70, 1.10, 56, 1.10), "")
    yield from _writes()


def _rows(name: str, life: Life, most: Life, peer: str) -> Iterator[Row]:
    chain = "× critical path"
    yield Row(f"{name}.create.calls", life.create_calls, "calls", most.create_calls, PEER_CREATE.get(peer, ""), CAPIBM)
    peer_time = PEER_CREATE_TIME.get(peer, "")
    yield Row(f"{name}.create.time", life.create_time, chain, most.create_time, peer_time, CAPIBM)
    yield Row(f"{name}.delete.calls", life.delete_calls, "calls", most.delete_calls, PEER_DELETE.get(peer, ""), CAPIBM)
    peer_time = PEER_DELETE_TIME.get(peer, "")
    yield Row(f"{name}.delete.time", life.delete_time, chain, most.delete_time, peer_time, CAPIBM)


def _writes() -> Iterator[Row]:
    """Of the calls, those that change something, and those for a token."""
    harness = _harness(Delays())
    harness.up()
    tokens = [call for call in harness.calls() if call.operation.startswith("iam.")]
    yield Row("powervs.create.mutating", len(harness.calls(mutating=True)), "calls", None, "11, untagged", CAPIBM)
    yield Row("powervs.create.tokens", len(tokens), "calls", 1, "41 to 67", CAPIBM)


def _harness(delays: Delays) -> Harness:
    room = Quotas(gateways_per_region=100, gateways=100, vpcs_per_region=100)
    return Harness(example(vpcSubnets=None), Settings(delays=delays, quotas=room))


def named(now: Callable[[], float], index: int) -> StoredObject:
    """The example cluster under a name and UID of its own."""
    manifest = example(vpcSubnets=None)
    name = f"cluster-{index:03d}"
    old = manifest["metadata"]["name"]
    manifest["metadata"] |= {"name": name}
    for part in ("serviceInstance", "vpc", "transitGateway"):
        manifest["spec"][part]["name"] = manifest["spec"][part]["name"].replace(old, name)
    manifest["spec"]["loadBalancers"] = [{"name": f"{name}-loadbalancer"}]
    stored = StoredObject(manifest, now)
    stored.raw["metadata"]["uid"] = f"00000000-0000-4000-8000-{index:012d}"
    return stored
