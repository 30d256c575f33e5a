"""A machine's passes with the engine and the drivers of AWS on the simulated AWS."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from freehold.engine.engine import ensure, release
from freehold.engine.graph import Graph, Node
from freehold.engine.interface import PassResult
from freehold.engine.journal import Journal
from freehold.engine.port import Effect
from freehold.engine.resources import NodeKey
from freehold.engine.tag_text import text
from freehold.providers.aws.registrations import registration_part
from freehold_sim.aws.settings import Lags
from freehold_sim.aws.strangers import Strangers
from harness.aws_account import AwsAccount
from harness.aws_passes import OWNER, Life

KEY = NodeKey("instance", "machine")
MACHINE = replace(OWNER, kind="AWSMachine", uuid="0a1b2c3d-1111-4222-8333-444455557777")
IMAGE = "ami-0a0000000000000c1"
NAME = text("Name", "one")


class Machine(Life):
    """A worker in the first of three subnets; :meth:`behind` gives it load balancers."""

    def __init__(self, account: AwsAccount, **more: Any) -> None:
        self.vpc, self.subnets = account.network()
        group = account.group(self.vpc, "nodes")
        self.request = {
            "name": "one", "image_id": IMAGE, "instance_type": "t3.micro", "subnet_id": self.subnets[0],
            "security_groups": [group], **more,
        }  # fmt: skip
        super().__init__(account, [self._node()])
        self.journal = Journal(MACHINE)
        self.world = Strangers(account.cloud)
        account.port.calls.clear()

    def _node(self, *balancers: str) -> Node:
        parts = frozenset(map(registration_part, balancers))
        return Node(KEY, "one", lambda known: self.request, parts=lambda known: parts, tags=frozenset({NAME}))

    def behind(self, *balancers: str) -> None:
        self.graph = Graph([self._node(*balancers)])

    def target_group(self, name: str = "api") -> str:
        group = self.account.target_group(self.vpc, name)
        balancer = self.account.balancer(self.subnets, name)
        self.account.elbv2.create_listener(
            LoadBalancerArn=balancer, Protocol="TCP", Port=6443,
            DefaultActions=[{"Type": "forward", "TargetGroupArn": group}],
        )  # fmt: skip
        return group

    def show_late(self, seconds: float) -> None:
        """Let reads not show what is new for a time; the network is old enough."""
        self.later(seconds)
        cloud = self.account.cloud
        cloud.settings = replace(cloud.settings, lags=Lags(new=seconds))

    def instances(self) -> list[dict[str, Any]]:
        """All that ever were and are shown."""
        rows = self.account.ec2.describe_instances()["Reservations"]
        return [each for row in rows for each in row["Instances"]]

    def targets(self, group: str) -> set[str]:
        rows = self.account.elbv2.describe_target_health(TargetGroupArn=group)["TargetHealthDescriptions"]
        return {row["Target"]["Id"] for row in rows if row["TargetHealth"]["State"] != "draining"}

    async def one_pass(self) -> PassResult:
        done = await ensure(self.deps, self.graph, self.journal, self.store, self.state)
        self.journal = done.journal
        return done

    async def one_release_pass(self) -> PassResult:
        done = await release(self.deps, self.graph, self.journal, self.store, self.state)
        self.journal = done.journal
        return done

    def sent(self) -> list[str]:
        """What went to AWS since the last time, the question who we are apart."""
        names = [f"{call.api}.{call.operation}" for call in self.account.port.calls if call.effect is not Effect.STORE]
        self.account.port.calls.clear()
        return [name for name in names if not name.startswith("sts.")]
