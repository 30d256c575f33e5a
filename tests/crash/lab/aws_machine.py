"""An AWSMachine of a standing AWSCluster on the simulated AWS: reconciler, drivers and botocore are the product's.

The cluster is made once in a process and copied into each world. Its machine has an owner Machine and bootstrap data.
The guest is what runs on the instance: it reads its secrets and deletes them; then the Machine has a node.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from gzip import decompress
from typing import Any

from freehold.engine.interface import PassResult
from freehold.engine.keyed_codec import NODE, UUID
from freehold.engine.port import InlinePort, Port
from freehold_sim.simulated import LoggedCall
from harness.aws_account import REGION
from lab.audit import CloudRequest, Recorder
from lab.aws import ROOMY, AwsLife, AwsWorld, NotedAWS, operation_of
from lab.aws_at_rest import AtRest
from lab.aws_machine_cluster import (
    BOOTS,
    CANARY,
    CLASSIC,
    DATA,
    INSTANCE,
    JOINS,
    MINE,
    SECRET,
    WORKER,
    OwnedMachine,
    copy_of,
    standing_with,
    targets_of,
)
from lab.aws_neighbours import existing, state_of
from lab.aws_other_machine import OtherMachine
from lab.aws_requests import IMAGE, ZONE
from lab.seam import Thing


@dataclass
class MachineWorld(AwsWorld):
    """A machine in a cluster that stands. ``spec`` is the machine's, ``balancer`` the rest of the cluster's.

    ``control``: it is of the control plane. ``joins``: it becomes a node; ``reads``: its guest reads its secrets and
    deletes them, at its time, unless an act did so before. ``paired``: another machine of the same sort is made beside
    it, in turn, and deleted after it.
    """

    spec: Mapping[str, Any] = field(default_factory=lambda: WORKER)
    balancer: Mapping[str, Any] = field(default_factory=lambda: CLASSIC)
    control: bool = False
    reads: bool = True
    joins: bool = True
    paired: bool = False

    def __post_init__(self) -> None:
        stands = standing_with(json.dumps(dict(self.balancer)))
        self.port: Port = InlinePort()
        self.audit = Recorder()
        settings = replace(self.settings, delays=self.delays, quotas=ROOMY, limits={})
        self.cluster = copy_of(stands, settings)
        self.harness: OwnedMachine = OwnedMachine(  # type: ignore[assignment]  # of the same account
            self.cluster, "m1", self.spec, control=self.control, audit=self.audit
        )
        self.clock = self.harness.clock
        self.neighbours = stands.neighbours.moved_to(self.harness)
        self.neighbours.is_ours = self.is_ours
        self._foreign = {
            str(each["id"]): self.neighbours.snapshot(_without_targets(each)) for each in existing(self.harness)
        }
        self._targets = stands.targets
        self._sent_by_others: set[int] = set()
        self.tells: list[str] = []
        """What went wrong on the instance or beside the machine."""
        self.ending: float | None = None
        """Since when the cluster is being deleted."""
        self.other = OtherMachine(self) if self.paired else None
        if self.compared:
            self._undisturbed()

    def begin(self, **how: Any) -> MachineLife:
        self.life = MachineLife(self, **how)
        return self.life

    @property
    def cloud(self) -> NotedAWS:
        assert isinstance(self.harness.cloud, NotedAWS)
        return self.harness.cloud

    def is_ours(self, record: Mapping[str, Any]) -> bool:
        return self.cloud.tags_at_birth.get(str(record["id"]), {}).get(UUID) == self.harness.uid

    # -- what is there --------------------------------------------------------------------------------------

    def _thing(self, record: Mapping[str, Any]) -> Thing:
        ours = record["by"] == "api" and self.is_ours(record)
        thing = super()._thing({**record, "by": "api" if ours else "stranger"})
        if ours or thing.due is not None or record["by"] == "stranger":
            return thing
        shown = _without_targets(record)
        due = None if self._others_work else self._foreign.get(thing.id)
        state = self.neighbours.snapshot(shown)
        return replace(thing, state=state, due=due or state, listed=False)

    @property
    def _others_work(self) -> bool:
        return self.paired or self.ending is not None

    def at_rest(self) -> AtRest:
        there = [each for each in existing(self.harness) if each["by"] == "api" and self.is_ours(each)]
        return AtRest({self._role(str(each["id"])): _without_targets(each) for each in there}, ())

    def _undisturbed(self) -> AtRest:
        spec = self.harness.object.raw["spec"]
        wanted = {key: spec[key] for key in sorted(spec.keys() - {"providerID", "instanceID"})}
        return _undisturbed(json.dumps(wanted), json.dumps(dict(self.balancer)), control=self.control)

    def lacking(self, ident: str) -> frozenset[str]:
        lacks = super().lacking(ident) if self.compared else frozenset()
        if self.renamed:  # another's value is said and left
            lacks = frozenset(each for each in lacks if not each.startswith("tag Name"))
        fronts = {front for front, _ in self._targets} if self.control and ident.startswith("i-") else set()
        there = targets_of(self.cloud)
        return lacks | {f"the registration with {front}" for front in fronts if (front, ident) not in there}

    def tampered(self) -> list[str]:
        """Called at the very end."""
        there = {str(each["id"]) for each in existing(self.harness)}
        lost = [f"{ident} of the cluster is gone" for ident in self._foreign.keys() - there if self.ending is None]
        targets = targets_of(self.cloud)
        fronts = {front for front, _ in targets} & there
        lost += [f"the target {two} of somebody else is gone" for two in self._targets - targets if two[0] in fronts]
        lost += [f"target {ident} is still registered with {front}" for front, ident in targets if self._is_over(ident)]
        made = [ident for ident, tags in self.cloud.tags_at_birth.items() if self._is_instance(ident, tags)]
        lost += [f"instances were made {len(made)} times: {', '.join(made)}"] if len(made) > 1 else []
        if self.life.released:
            every = (each for each in self.cloud.world.everything() if each["kind"] == "volume" and self.is_ours(each))
            lost += [f"volume {each['id']} is left" for each in every]
        if CANARY.decode() in json.dumps(self.harness.object.history):
            lost.append("the object has its bootstrap data")
        lost += self.other.judge() if self.other else []
        lost += self._end_cluster() if self.ending is not None else []
        return self.neighbours.tampered() + self.tells + lost

    def _is_instance(self, ident: str, tags: Mapping[str, str]) -> bool:
        return ident.startswith("i-") and tags.get(UUID) == self.harness.uid and tags.get(NODE) == "instance/machine"

    def _is_over(self, ident: str) -> bool:
        born = self.cloud.tags_at_birth.get(ident, {})
        return self.life.released and born.get(UUID) == self.harness.uid and INSTANCE not in self.struck

    # -- what was sent --------------------------------------------------------------------------------------

    def _sent(self) -> list[tuple[int, LoggedCall]]:
        every = enumerate(self.cloud.calls)
        own = ((at, call) for at, call in every if at not in self._sent_by_others and call.actor != "stranger")
        return [(at, call) for at, call in own if call.mutating]

    def unaudited(self, sent: int) -> list[str]:
        reached = len(self._sent())
        return [f"{reached} requests changed the cloud, {sent} went through the port"] if reached != sent else []

    def requests(self) -> list[CloudRequest]:
        return [
            CloudRequest(
                operation_of(call.operation),
                "",
                at in self.cloud.refused or 400 <= call.status < 500 or call.status == 503,
            )
            for at, call in self._sent()
        ]

    def by_others(self, act: Any) -> Any:
        """Run what another process does with the same credentials."""
        first = len(self.cloud.calls)
        try:
            return act()
        finally:
            self._sent_by_others |= set(range(first, len(self.cloud.calls)))

    # -- what happens beside it -----------------------------------------------------------------------------

    def meddle(self, deed: str, kind: str) -> None:
        if deed in ("boot", "half_boot", "end_cluster", "rename", "deregister", "register_theirs", "fill_zone"):
            getattr(self, deed)()
        else:
            self.struck |= {kind} if deed == "strike" and self.neighbours.ours(kind) else set()
            super().meddle(deed, kind)

    def boot(self, most: int = 1000) -> None:
        """The guest reads its secrets, and deletes the first ``most`` of them, if its instance runs."""
        instance = self.neighbours.ours(INSTANCE)
        if instance is None or state_of(instance["view"]) != "running" or instance["id"] in self.booted:
            return
        self.booted.add(str(instance["id"]))
        named = f"aws.cluster.x-k8s.io/{self.harness.uid}/"
        held = sorted(
            (e for e in existing(self.harness) if e["kind"] == "secret" and e["id"].startswith(named)), key=_place
        )
        found = b"".join(b64decode(each["versions"][each["current"]]["content"]["SecretBinary"]) for each in held)
        wants = self._wants_secrets and not self.life.deleting and SECRET not in self.struck
        if wants and _unpacked(found) != DATA:
            self.tells.append(f"{instance['id']} boots without its data: {[each['id'] for each in held]}")
        for each in held[:most]:
            params = {"SecretId": each["arn"], "ForceDeleteWithoutRecovery": True}
            self.cloud.strangers.call("secretsmanager", "DeleteSecret", params, region=REGION)

    @property
    def _wants_secrets(self) -> bool:
        return not (self.spec.get("cloudInit") or {}).get("insecureSkipSecretsManager")

    def half_boot(self) -> None:
        """The guest dies when it has deleted one of its secrets."""
        self.boot(1)

    def rename(self) -> None:
        """A user gives it another name."""
        if (instance := self.neighbours.ours(INSTANCE)) is not None:
            self.renamed = True
            self.cloud.strangers.tag(instance["id"], {"Name": MINE})

    def deregister(self) -> None:
        """Somebody takes our instance out of each load balancer."""
        if (instance := self.neighbours.ours(INSTANCE)) is not None:
            self._turn(str(instance["id"]), "DeregisterTargets", "DeregisterInstancesFromLoadBalancer")

    def register_theirs(self) -> None:
        """They start another instance in the cluster's network, behind its load balancers."""
        subnet = next(e for e in existing(self.harness) if e["kind"] == "subnet" and e["by"] == "api")
        asked = {"ImageId": IMAGE, "InstanceType": "t3.micro", "MinCount": 1, "MaxCount": 1, "SubnetId": subnet["id"]}
        theirs = str(self.cloud.strangers.create("ec2", "RunInstances", asked, region=REGION)["id"])
        self._turn(theirs, "RegisterTargets", "RegisterInstancesWithLoadBalancer")
        self._targets |= {(front, ident) for front, ident in targets_of(self.cloud) if ident == theirs}
        self.neighbours.note()

    def _turn(self, ident: str, operation: str, classic: str) -> None:
        for front in {front for front, _ in self._targets}:
            if front.startswith("arn:"):
                params = {"TargetGroupArn": front, "Targets": [{"Id": ident}]}
                self.cloud.strangers.call("elbv2", operation, params, region=REGION)
            else:
                params = {"LoadBalancerName": front, "Instances": [{"InstanceId": ident}]}
                self.cloud.strangers.call("elb", classic, params, region=REGION)

    def fill_zone(self) -> None:
        """The first zone has no capacity any more."""
        self.cloud.strangers.exhaust(ZONE)

    def end_cluster(self) -> None:
        """The cluster is deleted."""
        if self.ending is None:
            self.ending = self.clock.now()
            self.cluster.object.delete()

    def others_turn(self) -> None:
        """Guest, node, the other machine and the cluster's own process each do what is due."""
        since = self._runs_since()
        if since is not None:
            if self.reads and since > BOOTS:
                self.boot()
            if self.joins and since > BOOTS + JOINS:
                self.harness.node = "m1"
        if self.other:
            self.by_others(self.other.once)
        if self.ending is not None and not self.cluster.object.gone:
            self.by_others(self._serve_cluster)

    def _runs_since(self) -> float | None:
        """Seconds for which our instance has been there."""
        instance = self.neighbours.ours(INSTANCE)
        return None if instance is None else self.clock.now() - float(instance["created_at"])

    def _serve_cluster(self) -> None:
        """One pass of the cluster, which takes nothing from under an instance that an index shows."""
        there = {str(each["id"]): each for each in existing(self.harness) if each["kind"] == "instance"}
        since, before = self._runs_since(), len(self.cloud.calls)
        self.cluster.pass_once()
        removed = [each for each in self.cloud.calls[before:] if each.mutating and "Delete" in each.operation]
        shown = since is not None and since > self.settings.lags.tagged + self.settings.lags.tags + 60.0
        if removed and shown and any(self.is_ours(each) for each in there.values()):
            self.tells.append(f"the cluster sent {removed[0].operation} while its machine had an instance")

    def _end_cluster(self) -> list[str]:
        """The cluster goes when its machines have gone, and nothing is left."""
        if not self.life.released:
            return []
        for record in [each for each in existing(self.harness) if each["kind"] == "instance"]:
            if record["by"] == "stranger" and record["id"] not in self.neighbours.olds.values():
                self.neighbours.remove(str(record["id"]))  # its owner takes it out of the cluster's network
        for _ in range(100):
            if self.cluster.object.gone:
                break
            self.by_others(self.cluster.pass_once)
            self.clock.advance(15.0)
        left = [str(each["id"]) for each in existing(self.harness) if each["by"] == "api" and not self.is_ours(each)]
        said = "" if self.cluster.object.gone else f"the cluster is not gone: {self.cluster.conditions()}"
        return [f"{each} of the cluster is left" for each in left] + ([said] if said else [])

    booted: set[str] = field(default_factory=set)
    """Instances whose guest has had its data."""
    struck: set[str] = field(default_factory=set)
    """Kinds of which somebody has deleted one of ours."""
    renamed: bool = False


def _place(secret: Mapping[str, Any]) -> int:
    return int(str(secret["id"]).rpartition("-")[2])


def _unpacked(data: bytes) -> bytes:
    try:
        return decompress(data)
    except (OSError, EOFError):
        return b""


def _without_targets(record: Mapping[str, Any]) -> dict[str, Any]:
    view = {key: value for key, value in record["view"].items() if key != "Instances"}
    return {**record, "view": view}


@cache
def _undisturbed(spec: str, balancer: str, *, control: bool) -> AtRest:
    world = MachineWorld(json.loads(spec), balancer=json.loads(balancer), control=control, compared=False)
    world.begin().create()
    return world.at_rest()


STAYS = 120.0
"""Seconds for which a machine outlives the wish to delete its cluster."""


@dataclass
class MachineLife(AwsLife):
    """An object that the AWSMachine reconciler serves."""

    world: MachineWorld

    def start(self, *, minted: bool) -> None:
        self.world.harness.port = self.port
        super().start(minted=minted)

    def one_pass(self) -> PassResult | None:
        self.world.others_turn()
        ending = self.world.ending
        if ending is not None and self.world.clock.now() > ending + STAYS:
            self.deleting = True
        self.world.harness.look_around()
        return super().one_pass()
