"""The whole AWSCluster create and delete on the simulated AWS, with the same port, families and oracles.

Everything but the API server's store is the product: reconciler, drivers, botocore down to the bytes. What exists, and
who made it, is read from the simulated world itself.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, ClassVar

from botocore import xform_name

from freehold.engine.clock import Clock
from freehold.engine.errors import CloudError
from freehold.engine.keyed_codec import NODE, KeyedCodec
from freehold.engine.port import Call, InlinePort, Port
from freehold.engine.tag_text import text, texts
from freehold_sim.aws.call import Refused
from freehold_sim.aws.cloud import SimulatedAWS
from freehold_sim.aws.settings import Delays, Quotas, Settings
from freehold_sim.faults import Effect as CloudEffect
from freehold_sim.faults import Fault
from harness.aws_cluster import STORAGE, AwsHarness, aws_cluster
from lab.audit import CloudRequest, Recorder
from lab.aws_at_rest import AtRest
from lab.aws_neighbours import KINDS, Neighbours, existing, state_of
from lab.reconciled import ReconciledLife
from lab.seam import Thing

ONE_ZONE: Mapping[str, Any] = {"network": {"vpc": {"availabilityZoneUsageLimit": 1}}}
"""A public and a private subnet, one NAT gateway, four groups, a classic load balancer: 13 resources."""
QUICK = Delays().scaled(0.1)
"""What takes long on AWS is polled seldom there; here each poll is a call at which a fault is tried."""
ROOMY = Quotas(vpcs=100, internet_gateways=100, addresses=100, nat_gateways_per_zone=100, security_groups=1000)
"""A quota is a fault of its own."""


class NotedAWS(SimulatedAWS):
    """Remembers with which tags each resource was born: they may be gone when somebody asks for which node it was."""

    def __init__(self, clock: Any, settings: Settings | None) -> None:
        super().__init__(clock, settings)
        self.roles: dict[str, str] = {}
        self.tags_at_birth: dict[str, dict[str, str]] = {}
        self.refused: set[int] = set()  # places in ``calls``: a refusal may have the status of an error of the server

    def _run(self, call: Any, served: Any) -> dict[str, Any]:
        try:
            values = super()._run(call, served)
        except Refused:
            self.refused.add(len(self.calls))
            raise
        self.tags_at_birth |= {record["id"]: record["tags"] for record in call.made}
        self.roles |= {record["id"]: record["tags"].get(NODE, "") for record in call.made}
        return values


class QuickHarness(AwsHarness):
    def new_cloud(self) -> SimulatedAWS:
        return NotedAWS(self.clock, self._settings)


@dataclass
class AwsWorld:
    """A simulated account with resources of others, and one cluster; ``spec`` is merged into that of one zone.

    ``given``: the network is somebody else's, and given by its ids. ``delays``: how long AWS takes. ``compared``: with
    an undisturbed life, once it is at rest.
    """

    spec: Mapping[str, Any] = field(default_factory=lambda: ONE_ZONE)
    settings: Settings = field(default_factory=Settings)
    given: bool = False
    delays: Delays = QUICK
    compared: bool = True
    name: ClassVar[str] = "demo"
    """What the tags of subnets have as the cluster's name."""

    def __post_init__(self) -> None:
        self.codec = KeyedCodec()
        self.port: Port = InlinePort()
        self.audit = Recorder()
        settings = replace(self.settings, delays=self.delays, quotas=ROOMY, limits={})
        self.harness = self.new_harness(settings)
        self.clock = self.harness.clock
        self.neighbours = self.new_neighbours()
        if self.given:
            self._give()
        if self.compared:
            self._undisturbed()  # once in a process, before copies of it branch off

    def new_harness(self, settings: Settings) -> AwsHarness:
        manifest = aws_cluster(**self.spec)
        return QuickHarness(manifest, settings, port=lambda: self.port, audit=self.audit, gates=STORAGE)

    def new_neighbours(self) -> Neighbours:
        return Neighbours(self.harness)

    def _give(self) -> None:
        """Ours shall be in their network."""
        olds = self.neighbours.olds
        self.given_subnets = [olds[each] for each in ("subnet", "second-subnet") if each in olds]
        network = {"vpc": {"id": olds["vpc"]}, "subnets": [{"id": each} for each in self.given_subnets]}
        self.harness.object.patch({"spec": {"network": network}})
        roles = {f"kubernetes.io/role/{each}": "1" for each in ("elb", "internal-elb")}
        tags = {f"kubernetes.io/cluster/{self.name}": "shared", "team": "red", **roles}
        self.neighbours.given_tags = texts(tags)
        self.neighbours.note(*self.neighbours.due)

    def begin(self, **how: Any) -> AwsLife:
        self.life = AwsLife(self, **how)
        return self.life

    def living(self) -> list[Thing]:
        return [self._thing(record) for record in existing(self.harness)]

    def _thing(self, record: Mapping[str, Any]) -> Thing:
        ours, ident = record["by"] == "api", str(record["id"])
        kind, view = KINDS[record["kind"]], record["view"]
        return Thing(
            ident,
            kind,
            (self._role(ident) or f"{kind} without a mark") if ours else "",
            ours,
            str(view.get("VpcId") or view.get("VPCId") or view.get("LoadBalancerArn") or ""),
            self.neighbours.snapshot(dict(record)),
            self.neighbours.due.get(ident),
            frozenset({ident.rpartition("/")[2], str(record["arn"]), str(record["arn"]).rpartition("/")[2]}),
            texts(record["tags"]),
            self.neighbours.forged.get(ident, frozenset()),
        )

    def _role(self, ident: str) -> str:
        assert isinstance(self.harness.cloud, NotedAWS)
        return self.harness.cloud.roles.get(ident, "")

    def lacking(self, ident: str) -> frozenset[str]:
        """What an undisturbed life would have given it; of what is given, the tags of the spec."""
        if self.given and ident in self.given_subnets:
            wanted = self.harness.object.raw["spec"].get("additionalTags") or {}
            named = frozenset({text(f"kubernetes.io/cluster/{self.name}", "shared")})
            return (texts(wanted) | named) - texts(self.harness.cloud.strangers.find(ident)["tags"])
        return self.at_rest().lacking(ident, self._undisturbed(), self.neighbours.on_record())

    def at_rest(self) -> AtRest:
        """Without what has failed: nothing can be in it."""
        there = [each for each in existing(self.harness) if state_of(each["view"]) != "failed"]
        ours = {self._role(str(each["id"])): each for each in there if each["by"] == "api"}
        everything = self.harness.cloud.world.everything()
        return AtRest(ours, [each for each in everything if each["kind"] == "security-group-rule"])

    def _undisturbed(self) -> AtRest:
        """Of the spec as it is now, without the endpoint, which is the address of a load balancer."""
        spec = self.harness.object.raw["spec"]
        wanted = json.dumps({key: spec[key] for key in sorted(spec.keys() - {"controlPlaneEndpoint", "region"})})
        return _undisturbed(wanted, given=self.given)

    def tampered(self) -> list[str]:
        return self.neighbours.tampered()

    def unaudited(self, sent: int) -> list[str]:
        reached = len(self.harness.calls(mutating=True))
        return [f"{reached} requests changed the cloud, {sent} went through the port"] if reached != sent else []

    def requests(self) -> list[CloudRequest]:
        """The simulator's record. AWS throttles with 503; any other server error comes after the effect here."""
        return [
            CloudRequest(operation_of(call.operation), "", 400 <= call.status < 500 or call.status == 503)
            for call in self.harness.calls(mutating=True)
        ]

    def meddle(self, deed: str, kind: str) -> None:
        getattr(self.neighbours, deed)(kind)

    def strangers_id(self, kind: str) -> str:
        return self.neighbours.olds[kind]

    def set_clock(self, wall: Clock) -> None:
        self.harness.wall = wall

    def victim(self, kind: str, *, young: bool) -> tuple[str, str] | None:
        return self.neighbours.victim(kind, young=young)

    def victim_in_carrier(self) -> tuple[str, str, str] | None:
        """No kind here is carried by another one."""
        return None

    def forge(self, target: str, tags: frozenset[str]) -> None:
        self.neighbours.forge(target, tags)

    def spy(self, kind: str, nonce: str, tags: frozenset[str]) -> None:
        self.neighbours.spy(kind, tags)

    def remove(self, id_: str) -> None:
        self.neighbours.remove(id_)

    def later(self, seconds: float, effect: Callable[[], object]) -> None:
        self.harness.cloud.faults.add(Fault(CloudEffect.LATE, "*", delay=seconds))
        with contextlib.suppress(CloudError):
            effect()
        self.harness.cloud.faults.clear()

    def broken(self, call: Call) -> Any:
        self.harness.cloud.faults.add(Fault(CloudEffect.ERROR_AFTER, "*"))
        try:
            return call.run()
        finally:
            self.harness.cloud.faults.clear()

    def partially(self, failing: bool) -> None:
        """Every second target fails, the first one among them: a batch of one fails too."""
        self.harness.cloud.faults.clear()
        if failing:
            spoilt = tuple(range(0, 100, 2))
            self.harness.cloud.faults.add(
                Fault(CloudEffect.PARTIAL, "resourcegroupstaggingapi.*", count=None, items=spoilt)
            )


@cache
def _undisturbed(spec: str, *, given: bool) -> AtRest:
    world = AwsWorld(json.loads(spec), given=given, compared=False)
    world.begin().create()
    return world.at_rest()


def operation_of(name: str) -> str:
    """``ec2.CreateVpc`` as botocore's clients call it."""
    service, _, operation = name.partition(".")
    return f"{service}.{xform_name(operation)}"


@dataclass
class AwsLife(ReconciledLife):
    """An object that the AWSCluster reconciler serves."""

    world: AwsWorld
