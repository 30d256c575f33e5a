"""Cloud calls and simulated time of PowerVS clusters, on the simulator's published delays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from benchmarks.rows import Row
from freehold.lifecycle.port import step
from freehold.operator.controller import RequeueAfter
from freehold.operator.limits import Limits
from freehold_sim.ibm.settings import Delays, Quotas, Settings
from harness.powervs import Harness, MemoryDocument, StoredObject, example

TARGET = "target of this project"
MANY = 1000
CAPIBM = "CAPIBM, counted in its code (docs/reference/ibm-cloud.md#capibm)"


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


def measure() -> Iterator[Row]:
    yield from _life()
    yield from _scaled()
    yield _hundred()


def _harness(delays: Delays) -> Harness:
    return Harness(example(vpcSubnets=None), Settings(delays=delays))


def _life() -> Iterator[Row]:
    delays = Delays()
    harness = _harness(delays)
    seconds = harness.up()
    created = harness.calls()
    tokens = [call for call in created if call.operation.startswith("iam.")]
    yield Row("powervs.create.calls", len(created), "calls", 65, "~190 + ~30 tokens", CAPIBM)
    yield Row("powervs.create.mutating", len(harness.calls(mutating=True)), "calls", None, "11, untagged", CAPIBM)
    yield Row("powervs.create.tokens", len(tokens), "calls", 1, "~30", CAPIBM)
    ratio = seconds / critical_create(delays)
    yield Row("powervs.create.time", round(ratio, 3), "× critical path", 1.10, "+3 min of waits", CAPIBM)
    yield from _idle(harness)
    before = len(harness.calls())
    seconds = harness.down()
    yield Row("powervs.delete.calls", len(harness.calls()) - before, "calls", 45, "", TARGET)
    ratio = seconds / critical_delete(delays)
    yield Row("powervs.delete.time", round(ratio, 3), "× critical path", 1.10, "+5.5 min of waits", CAPIBM)


def _idle(harness: Harness) -> Iterator[Row]:
    """Passes of a cluster in which nothing happens: shallow ones, then one whose deep look is due."""
    harness.settle(4)
    counts = []
    busiest = 0
    writes = len(harness.calls(mutating=True))
    for _ in range(40):
        before = len(harness.calls())
        result = harness.pass_once()
        asked = harness.calls()[before:]
        counts.append(len(asked))
        busiest = max(busiest, *Counter(call.operation.partition(".")[0] for call in asked).values(), 0)
        harness.clock.advance(result.seconds if isinstance(result, RequeueAfter) else 60.0)
    yield Row("powervs.idle.shallow", sorted(counts)[len(counts) // 2], "calls a pass", 2, "14 + 2 tokens", CAPIBM)
    yield Row("powervs.idle.deep", max(counts), "calls a pass", 12, "14 + 2 tokens", CAPIBM)
    rate = Limits().bucket("vpc").rate
    unit = f"s until {MANY} clusters are looked at after a restart"
    how = f"{TARGET}; the busiest API's {busiest} calls of a deep pass, at our {rate:g} a second"
    yield Row("powervs.restart.time", busiest * MANY / rate, unit, source=how)
    yield Row("powervs.idle.writes", len(harness.calls(mutating=True)) - writes, "calls", 0, "0", CAPIBM)


def _scaled() -> Iterator[Row]:
    """Delays that are not the expected ones: told, no target."""
    for factor in (0.5, 2.0):
        delays = Delays().scaled(factor)
        harness = _harness(delays)
        seconds = harness.up()
        created = len(harness.calls())
        yield Row(f"powervs.create.calls.delays×{factor:g}", created, "calls", None, "", TARGET)
        ratio = round(seconds / critical_create(delays), 3)
        yield Row(f"powervs.create.time.delays×{factor:g}", ratio, "× critical path", None, "", TARGET)
        seconds = harness.down()
        yield Row(f"powervs.delete.calls.delays×{factor:g}", len(harness.calls()) - created, "calls", None, "", TARGET)
        ratio = round(seconds / critical_delete(delays), 3)
        yield Row(f"powervs.delete.time.delays×{factor:g}", ratio, "× critical path", None, "", TARGET)


def _hundred() -> Row:
    """One operator, a hundred clusters, all idle: the shared inventory pays for everybody."""
    count = 100
    room = Quotas(gateways_per_region=count, gateways=count, vpcs_per_region=count)
    harness = Harness(example(vpcSubnets=None), Settings(delays=Delays().scaled(0.01), quotas=room))
    objects = [_named(harness, index) for index in range(count)]
    due = dict.fromkeys(range(count), 0.0)

    def turn(until: float) -> int:
        """Every pass that is due by then; how many there were."""
        passes = 0
        while (now := min(due.values())) <= until:
            harness.clock.advance(max(0.0, now - harness.clock.monotonic()))
            for index in [i for i, at in due.items() if at <= now]:
                result = step(harness.process.reconcile(MemoryDocument(objects[index]), harness.around))
                wait = result.seconds if isinstance(result, RequeueAfter) else 60.0
                due[index] = harness.clock.monotonic() + max(wait, 0.1)
                passes += 1
        return passes

    turn(1340.0)
    ready = [o for o in objects if (o.raw.get("status") or {}).get("ready")]
    if len(ready) != count:
        raise AssertionError(f"{len(ready)} of {count} clusters became ready")
    before, begun = len(harness.calls()), harness.clock.monotonic()
    # Deep looks are 540 to 660 s apart: the second was before 1320 s, the third is not before 1620 s.
    passes = turn(begun + 270.0)
    calls = (len(harness.calls()) - before) / passes
    return Row("powervs.idle.shallow.of_100", round(calls, 3), "calls a cluster's pass", 0.5, "14 + 2 tokens", CAPIBM)


def _named(harness: Harness, index: int) -> StoredObject:
    manifest = example(vpcSubnets=None)
    name = f"cluster-{index:03d}"
    old = manifest["metadata"]["name"]
    text = {"name": name}
    manifest["metadata"] |= text
    for part in ("serviceInstance", "vpc", "transitGateway"):
        manifest["spec"][part]["name"] = manifest["spec"][part]["name"].replace(old, name)
    manifest["spec"]["loadBalancers"] = [{"name": f"{name}-loadbalancer"}]
    stored = StoredObject(manifest, harness.clock.now)
    stored.raw["metadata"]["uid"] = f"00000000-0000-4000-8000-{index:012d}"
    return stored
