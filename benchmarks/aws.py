"""Calls and simulated time of AWSClusters: an operator's first and its third, of several shapes and delays; at rest.

Upstream's figures were measured with its own manager on the simulated AWS (docs/reference/aws.md#upstream), for a
cluster, not for each shape.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from benchmarks.aws_fleet import Asked, Cluster, Fleet
from benchmarks.rows import Explained, Row
from freehold_sim.aws.settings import Delays

TARGET = "target of this project"
CAPA = "CAPA's own manager on the simulated AWS and the embedded API (docs/reference/aws.md#upstream)"
TAG_WRITES = frozenset({"resourcegroupstaggingapi.tag_resources", "ec2.create_tags", "elbv2.add_tags", "elb.add_tags"})
SEALS = 5
"""Writes of tags that the targets allow beside the creates, attachments, routes, rules and attributes."""
CLUSTERS = 3
SHARING = 20
HOURS = 6
ROUND = 540.0
NLB = {"loadBalancerType": "nlb"}
_NETWORK = frozenset({"vpc", "subnet", "internet-gateway", "route-table", "security-group"})
_NAT = frozenset({"elastic-ip", "nat-gateway"})
_CLASSIC = frozenset({"classic-load-balancer"})
_BALANCER = frozenset({"network-load-balancer", "target-group", "listener"})
_BASTION_AND_BUCKET = frozenset({"instance", "s3-bucket", "vpc-endpoint"})


@dataclass(frozen=True)
class Most:
    """Targets; None where a figure is only told. Times as multiples of the critical path.

    ``over`` and ``over_delete``: why a create, or a delete, takes more calls than its target.
    """

    create: float | None = None
    delete: float | None = None
    time: float | None = None
    writes: float | None = None
    over: Explained | None = None
    over_delete: Explained | None = None


@dataclass(frozen=True)
class Profile:
    """A shape of cluster and a speed of the cloud. ``kinds`` are those that such a cluster owns."""

    spec: Mapping[str, Any] = field(default_factory=dict)
    delays: Delays = Delays()  # noqa: RUF009 - frozen
    most: Most = Most()
    kinds: frozenset[str] = _NETWORK | _NAT | _CLASSIC

    @property
    def nat(self) -> bool:
        return "nat-gateway" in self.kinds

    @property
    def network_balancer(self) -> bool:
        return "network-load-balancer" in self.kinds

    @property
    def bastion(self) -> bool:
        return "instance" in self.kinds

    @property
    def endpoint(self) -> bool:
        return "vpc-endpoint" in self.kinds

    @property
    def critical_create(self) -> float:
        """The longest chain of delays from apply to Ready: everything but these is there at once."""
        delays = self.delays
        slow = [
            delays.create_nat_gateway if self.nat else 0.0,
            delays.create_balancer if self.network_balancer else 0.0,
            delays.start_instance if self.bastion else 0.0,
            delays.create_endpoint if self.endpoint else 0.0,
        ]
        return delays.create_vpc + max(slow)

    @property
    def critical_delete(self) -> float:
        """The same to gone: a subnet goes when the interfaces of what was in it have gone."""
        delays = self.delays
        return max(
            delays.balancer_interfaces,
            delays.delete_nat_gateway if self.nat else 0.0,
            delays.terminate_instance if self.bastion else 0.0,
            delays.delete_endpoint if self.endpoint else 0.0,
        )


def _subnets(*, public: bool) -> list[dict[str, Any]]:
    zones = "abc"
    return [
        {"id": f"{zone}", "cidrBlock": f"10.0.{at}.0/24", "availabilityZone": f"us-east-1{zone}", "isPublic": public}
        for at, zone in enumerate(zones)
    ]


_NLB: Mapping[str, Any] = {"controlPlaneLoadBalancer": NLB}
_NLB_KINDS = _NETWORK | _NAT | _BALANCER
NAMESAKES = Explained(
    69,
    "52 writes, 4 of them for seals, and 17 reads, each a proof or the end of a wait: 3 whether another cluster "
    "has the name, 2 of them by CAPA's tag and by the cloud controller's, since the tagging API has no question for "
    "one of two keys, and 1 of EC2 itself, since that API is behind; 2 whether somebody has the name of the target "
    "group or of the load balancer; 3 for the tags of what three creates answered with, which may be a stranger's; "
    "6 that the seals of 4 waves are there, 3 from EC2 and 3 from Elastic Load Balancing; 3 whether VPC, NAT "
    "gateways and load balancer are ready. With one question for the name it was 67; then a cluster of the name that "
    "another tool has made was not seen, nor what an object itself had made before it was restored",
)
MACHINES = Explained(64, "62 and 2 looks at what machines of the cluster have, those included whose objects are lost")
PROFILES: Mapping[str, Profile] = {
    "classic": Profile(most=Most(62, 60, 1.10, 47 + SEALS)),
    "nlb": Profile(_NLB, most=Most(67, 62, 1.10, 49 + SEALS, NAMESAKES, MACHINES), kinds=_NLB_KINDS),
    "classic.×0.5": Profile(delays=Delays().scaled(0.5)),
    "classic.×2": Profile(delays=Delays().scaled(2.0)),
    "nlb.×0.5": Profile(_NLB, delays=Delays().scaled(0.5), kinds=_NLB_KINDS),
    "nlb.×2": Profile(_NLB, delays=Delays().scaled(2.0), kinds=_NLB_KINDS),
    "one_zone": Profile({"network": {"vpc": {"availabilityZoneUsageLimit": 1}}}),
    "no_nat": Profile({"network": {"subnets": _subnets(public=True)}}, kinds=_NETWORK | _CLASSIC),
    "nlb_bastion_bucket": Profile(
        {
            **_NLB,
            "bastion": {"enabled": True},
            "sshKeyName": "",
            "s3Bucket": {"name": "bench-bucket", "presignedURLDuration": "24h"},
        },
        kinds=_NLB_KINDS | _BASTION_AND_BUCKET,
    ),
}
PEER: Mapping[str, tuple[str, str]] = dict.fromkeys(("classic", "nlb"), ("88 to 170", "915 to 4244"))
"""Upstream's create and delete."""
IDLE_PEER = "96 an hour"
_FIRST: Mapping[str, tuple[Explained, Explained]] = {
    "classic": (
        Explained(
            70, "61 of the third and 9 more: zones, account, and 7 looks at NAT gateways, whose time is not known"
        ),
        Explained(70, "58 of the third and 12 more: 6 looks at the load balancer, and 6 at its interfaces"),
    ),
    "nlb": (
        Explained(78, "69 of the third and 9 more: zones, account, 6 looks at the load balancer, 1 at NAT gateways"),
        Explained(70, "64 of the third and 6 more looks at the interfaces of the load balancer"),
    ),
}
"""Create and delete of an operator's first cluster, before it has learned how long something takes."""
_LOOKS: Mapping[str, tuple[float, float]] = {"classic": (9, 0.5), "nlb": (12, 1.6)}
"""Reads of a deep pass at most: alone, and a cluster of twenty."""
SELDOM = frozenset({
    "ec2.describe_vpc_attribute", "elb.describe_load_balancer_attributes", "elbv2.describe_load_balancer_attributes",
    "elbv2.describe_target_group_attributes", "ec2.describe_availability_zones",
})  # fmt: skip
"""Reads that are not due in each pass."""
_WITH_SELDOM: Mapping[str, tuple[float, float]] = {"classic": (9.38, 0.83), "nlb": (12, 2.03)}
"""The means at most, of one cluster and of twenty. In six hours a cluster's VPC attributes are due seven times at most,
those of a balancer or target group six times, the zones of the account twice: in the 40 passes of one classic cluster
15 reads (9 + 0.375), of each of twenty 13.1 (0.5 + 0.328); with a target group 19.1 (1.55 + 0.478)."""


@dataclass(frozen=True)
class Life:
    """What the create and the delete of one cluster cost; times as multiples of the critical path."""

    create_calls: int
    create_time: float
    delete_calls: int
    delete_time: float
    writes: int
    seals: int


def require_kinds(cluster: Cluster, profile: Profile) -> None:
    """Raises ValueError where the figures would be of something else than the profile is called."""
    if cluster.kinds != profile.kinds:
        missing, other = sorted(profile.kinds - cluster.kinds), sorted(cluster.kinds - profile.kinds)
        raise ValueError(f"a cluster of this profile does not own {missing}, and owns {other}: mend its spec or kinds")


def lives(profile: Profile, count: int = CLUSTERS) -> list[Life]:
    """One cluster after the other, by one operator process."""
    fleet = Fleet(profile.delays)
    found = []
    for _ in range(count):
        cluster = fleet.cluster(profile.spec)
        with fleet.watched() as created:
            up = fleet.up(cluster) / profile.critical_create
        require_kinds(cluster, profile)
        fleet.later(300.0)  # so that nothing of the create settles any more
        with fleet.watched() as deleted:
            down = fleet.down(cluster) / profile.critical_delete
        writes = [each for each in created if each.is_write]
        seals = sum(each.operation in TAG_WRITES for each in writes)
        found.append(Life(len(created), round(up, 3), len(deleted), round(down, 3), len(writes), seals))
    return found


def measure() -> Iterator[Row]:
    for name, profile in PROFILES.items():
        first, *_, third = lives(profile)
        told = PEER.get(name, ("", ""))
        yield from _rows(f"aws.{name}.first", first, replace(profile.most, writes=None), told, _FIRST.get(name))
        yield from _rows(f"aws.{name}.third", third, profile.most, told)
    for name in _LOOKS:
        yield from _idle(name)


def _rows(
    name: str, life: Life, most: Most, peer: tuple[str, str], why: tuple[Explained, Explained] | None = None
) -> Iterator[Row]:
    chain = "× critical path"
    create, delete = why or (most.over, most.over_delete)
    source = CAPA if peer[0] else TARGET
    yield Row(f"{name}.create.calls", life.create_calls, "calls", most.create, peer[0], source, create)
    yield Row(f"{name}.create.time", life.create_time, chain, most.time, source=TARGET)
    yield Row(f"{name}.delete.calls", life.delete_calls, "calls", most.delete, peer[1], source, delete)
    yield Row(f"{name}.delete.time", life.delete_time, chain, most.time, source=TARGET)
    if most.writes:
        yield Row(f"{name}.create.writes", life.writes, "calls", most.writes, source=TARGET)
        yield Row(f"{name}.create.seals", life.seals, "calls", SEALS, source=TARGET)


def _idle(name: str) -> Iterator[Row]:
    """At rest, for hours: the reads of a deep pass of one cluster, and of one among twenty; and the writes."""
    alone, shared = _LOOKS[name]
    for count, most, explained in zip((1, SHARING), (alone, shared), _WITH_SELDOM[name], strict=True):
        asked = _asked_at_rest(PROFILES[name], count)
        reads = [each.operation for each in asked if not each.is_write]
        passes = count * HOURS * 3600.0 / ROUND
        seldom = Counter(each for each in reads if each in SELDOM)
        plain, mean = (len(reads) - seldom.total()) / passes, len(reads) / passes
        row = f"aws.{name}.idle" if count == 1 else f"aws.{name}.idle.of_{count}"
        unit = "reads a deep pass" if count == 1 else "reads a cluster and deep pass"
        why = Explained(
            explained,
            f"{plain:.3f} in each pass and {seldom.total()} / {passes:.0f} = {seldom.total() / passes:.3f} that are "
            f"seldom due: {', '.join(f'{number} {each}' for each, number in sorted(seldom.items()))}. Attributes are "
            "in no list: those of a VPC are read at every sixth look, the others at the first look after an hour, "
            "every seventh; the zones every three hours, once for all clusters",
        )
        known = (IDLE_PEER, CAPA) if count == 1 else ("", TARGET)
        yield Row(f"{row}.reads", round(plain, 2), f"{unit}, without those that are seldom due", most, *known)
        yield Row(f"{row}.mean", round(mean, 2), unit, most, source=TARGET, explained=why)
        yield Row(f"{row}.writes", len(asked) - len(reads), f"calls in {HOURS} hours", 0, source=TARGET)


def _asked_at_rest(profile: Profile, count: int) -> list[Asked]:
    """By so many clusters, once all of them are at rest."""
    fleet = Fleet()
    clusters = [fleet.cluster(profile.spec) for _ in range(count)]
    for cluster in clusters:
        fleet.up(cluster)
        require_kinds(cluster, profile)
    fleet.for_a_while(clusters, 2 * ROUND)
    with fleet.watched() as asked:
        fleet.for_a_while(clusters, HOURS * 3600.0)
    return asked
