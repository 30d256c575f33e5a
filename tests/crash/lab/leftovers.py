"""A cluster on the simulated AWS whose controllers have made what nobody else deletes, and others beside it.

The create is that of :mod:`lab.aws`, of a smaller cluster; the moment before its delete its workloads get everything
that their controllers make, and others what looks like it. To the oracles a leftover is ours, so that one that stays is
an orphan; what is not to be collected is a stranger's, and must stay byte for byte.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from freehold.api.names import EXTERNAL_RESOURCE_GC_ANNOTATION
from freehold.engine.outcomes import Outcome
from freehold.engine.port import Call
from harness.aws_account import REGION
from harness.cloud_actors import Refused
from harness.cloud_bystanders import Tempting, elsewhere, rule_that_names
from harness.cloud_controllers import CloudProvider, LoadBalancerController, Nodes, Recreating
from harness.collected import ground_of, user_of
from lab.aws import AwsLife, AwsWorld
from lab.aws_neighbours import ANOTHER, existing
from lab.faults import Answer
from lab.oracles import foreign
from lab.seam import Thing

TWO_ZONES: Mapping[str, Any] = {
    "network": {
        "subnets": [
            {"id": zone, "availabilityZone": f"{REGION}{zone}", "cidrBlock": f"10.0.{at}.0/24", "isPublic": True}
            for at, zone in enumerate("ab")
        ]
    }
}
"""As many as an application load balancer needs: eleven resources, 89 calls to create them."""
SERVICE, ITS_GROUP = "team/own", "own-clients"


@dataclass
class LitteredWorld(AwsWorld):
    """``others``: who else has something in the cluster's own VPC, by the name of a method here."""

    spec: Mapping[str, Any] = field(default_factory=lambda: TWO_ZONES)
    compared: bool = False
    others: Sequence[str] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        self.user = user_of(self.harness)
        self.leftovers: dict[str, str] = {}
        """What they are, by id: what is to be collected."""
        self.stays: set[str] = set()
        self.running: Recreating | None = None
        self._taken: list[str] = []
        """What of others had gone, or was changed, before a person took something away."""

    def begin(self, **how: Any) -> AwsLife:
        self.life = LitteredLife(self, **how)
        return self.life

    def lacking(self, ident: str) -> frozenset[str]:
        """How the create ends is a subject of other families."""
        return frozenset()

    def litter(self) -> None:
        """Each controller makes one of each kind; then the others come."""
        self.where = ground_of(self.harness)
        rows = self.harness.object.raw["status"]["resources"]
        [self._gateway] = [row["id"] for row in rows if row["kind"] == "internet-gateway"]
        self._needed = {self._gateway, self.where.vpc, *self.where.subnets}
        self.stays |= {Nodes(self.user, self.where).volume()}
        self._collected({"interface": Nodes(self.user, self.where).interface()})
        self.make_balancers()
        theirs = elsewhere(self.user, "demo")
        self.stays |= {ident for what, ident in theirs.items() if "volume" in what}
        for who in self.others:
            getattr(self, who)()
        self.neighbours.note()
        self._forget_leftovers()

    def make_balancers(self) -> None:
        """What is missing of the load balancers: none can be made without subnets and their way out.

        Else a target group would be made alone; a controller makes the load balancer first.
        """
        there = {r["id"]: r["view"] for r in existing(self.harness)}
        if not self._needed <= there.keys() or not there[self._gateway]["Attachments"]:
            return
        made: dict[str, str] = {}
        provider = CloudProvider(self.user, self.where, made)
        controller = LoadBalancerController(self.user, self.where, made)
        for make in (provider.classic, provider.network, controller.ingress, controller.service):
            with contextlib.suppress(Refused):  # the group for the nodes has gone
                make()
        self._collected(made)

    def _collected(self, made: Mapping[str, str]) -> None:
        self.leftovers |= {ident: what for what, ident in made.items() if not what.startswith("rule ")}
        self._forget_leftovers()

    def _forget_leftovers(self) -> None:
        self.neighbours.due = {each: due for each, due in self.neighbours.due.items() if each not in self.leftovers}

    def _thing(self, record: Mapping[str, Any]) -> Thing:
        thing = super()._thing(record)
        left = self.leftovers.get(thing.id)
        return thing if left is None else replace(thing, ours=True, role=f"leftover {left}")

    def tampered(self) -> list[str]:
        return self._taken + self._tampered()

    def _tampered(self) -> list[str]:
        """Volumes are in no other list: :data:`KINDS` has what holds a network. What came back was taken too early."""
        there = {str(row["id"]) for row in self.harness.cloud.strangers.resources()}
        gone = [f"{each}, which stays, is gone" for each in sorted(self.stays - there)]
        back = self.running.made_again if self.running else 0
        early = [f"{back} load balancers were deleted while their controllers ran"] if back else []
        return super().tampered() + gone + early

    def remove(self, id_: str) -> None:
        """What had to do with it is shown without it from then on; what had been taken before is not forgotten."""
        self._taken += self._tampered() + foreign(self.life)
        super().remove(id_)
        self.leftovers.pop(id_, None)
        self.neighbours.note(*self.neighbours.due)
        self._forget_leftovers()

    # -- who else is in the VPC -----------------------------------------------------------------------------------

    def tempters(self) -> None:
        Tempting(self.user, self.where).all()

    def user_of_a_group(self) -> None:
        """A user has put a group of his own on a Service, by its annotation aws-load-balancer-security-groups.

        The load balancer is the Service's, and goes; the group, which has the cluster's tag, does not.
        """
        tags = {**self.where.owned, "kubernetes.io/service-name": SERVICE}
        group = self.user.make(
            "ec2", "CreateSecurityGroup", GroupName=ITS_GROUP, Description="of a user", VpcId=self.where.vpc,
            TagSpecifications=[{"ResourceType": "security-group", "Tags": _listed(self.where.owned)}],
        )  # fmt: skip
        balancer = self.user.make(
            "elbv2", "CreateLoadBalancer", Name="team-own-clients", Type="network", Scheme="internal",
            SecurityGroups=[group], Subnets=[*self.where.subnets], Tags=_listed(tags),
        )  # fmt: skip
        self._collected({f"network {SERVICE}": balancer})

    def auditor(self) -> None:
        """A stranger's group in the VPC has a rule that names the group of a Service."""
        group = next(ident for ident, what in self.leftovers.items() if what == "group of team/web")
        rule_that_names(self.user, group, self.where.vpc)

    def owner_of_the_name(self) -> None:
        """Another owner's cluster of this name is in the same VPC: nothing tells whose the leftovers are."""
        tags = {"sigs.k8s.io/cluster-api-provider-aws/cluster/demo": "owned", **ANOTHER}
        self.user.make(
            "ec2", "CreateSecurityGroup", GroupName="other-node", Description="of another", VpcId=self.where.vpc,
            TagSpecifications=[{"ResourceType": "security-group", "Tags": _listed(tags)}],
        )  # fmt: skip
        self.leave_the_rest()

    def machine(self) -> None:
        """One runs, and so do the controllers: what is missing comes back as long."""
        provider = CloudProvider(self.user, self.where)
        self.instance = provider.instance()
        running = self.running = Recreating(provider, classic=["team/web"], network=["team/api"])

        async def tick(answer: Answer, call: Call) -> Any:
            running.tick()
            return await answer(call)

        self.life.port.interceptors.append(tick)

    # -- what happens meanwhile -----------------------------------------------------------------------------------

    def leave_the_rest(self) -> None:
        """From now on nothing more is to be collected: what is there stays as it is."""
        self.leftovers.clear()
        self.neighbours.note()

    def opt_out(self) -> None:
        if not self.harness.object.gone:
            self.harness.object.patch({"metadata": {"annotations": {EXTERNAL_RESOURCE_GC_ANNOTATION: "false"}}})
            self.leave_the_rest()

    def stop_the_machine(self) -> None:
        """Its owner ends it, and its controllers with it."""
        [held] = self.user.call("ec2", "DescribeInstances", InstanceIds=[self.instance])["Reservations"]
        cards = {each["NetworkInterfaceId"] for each in held["Instances"][0]["NetworkInterfaces"]}
        self.user.call("ec2", "TerminateInstances", InstanceIds=[self.instance])
        self.neighbours.due = {i: due for i, due in self.neighbours.due.items() if i not in cards | {self.instance}}


class LitteredLife(AwsLife):
    world: LitteredWorld

    def delete(self) -> dict[str, Outcome]:
        if self.opened_at is None:
            self.world.litter()
        return super().delete()


def _listed(tags: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]
