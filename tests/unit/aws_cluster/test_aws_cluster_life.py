"""The nodes of an AWSCluster through the engine, on an in-memory cloud whose kinds have AWS's names and parts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from freehold.engine.graph import Node
from freehold.engine.kinds import Dedupe, Kind
from freehold.engine.outcomes import Category, Ready
from freehold.engine.port import Effect, Port
from freehold.providers.aws.cluster.desired import AWSWanted
from freehold.providers.aws.cluster.facts import AWSClusterFacts
from freehold.providers.objects.cloud_answers import Answer
from harness.aws_specs import NAMES, REGION, ZONES, Spec, cluster, wanted
from lab.cloud import Traits
from lab.life import Life
from lab.network import NetworkWorld

TABLE: tuple[tuple[Traits, tuple[str, ...], frozenset[str]], ...] = tuple(
    (
        Traits(name, tags_on_create=True, shows_parts=bool(parts), create_time=0.0, bound_by=frozenset(bound)),
        requires,
        frozenset(parts),
    )
    for name, requires, parts, bound in (
        ("vpc", (), ("vpc-cidr",), ()),
        ("subnet", ("vpc",), ("subnet-ipv6-cidr",), ()),
        ("internet-gateway", ("vpc",), ("attachment",), ("attachment",)),
        ("egress-only-gateway", ("vpc",), (), ()),
        ("elastic-ip", (), (), ()),
        ("nat-gateway", ("vpc", "internet-gateway", "subnet", "elastic-ip"), (), ()),
        ("route-table", ("vpc", "subnet", "nat-gateway"), ("route", "route-table-association"),
         ("route-table-association",)),
        ("security-group", ("vpc",), ("ingress-rule",), ("ingress-rule",)),
        ("classic-load-balancer", ("subnet", "security-group"), ("balancer-subnet", "classic-listener"), ()),
        ("network-load-balancer", ("subnet", "security-group"), (), ()),
        ("target-group", ("vpc",), (), ()),
        ("listener", ("network-load-balancer", "target-group"), (), ()),
        ("instance", ("subnet", "security-group"), (), ()),
    )
)  # fmt: skip
"""Each kind with the kinds that must outlive it, its parts, and those that are taken out before it is deleted."""


@dataclass
class AwsShapedWorld(NetworkWorld):
    """The in-memory cloud with the kinds of an AWSCluster."""

    traits: dict[str, Traits] = field(default_factory=lambda: {traits.name: traits for traits, _, _ in TABLE})

    def kinds(self, port: Port) -> tuple[Kind, ...]:
        return tuple(self._shaped(port, *row) for row in TABLE)

    def _shaped(self, port: Port, traits: Traits, requires: tuple[str, ...], parts: frozenset[str]) -> Kind:
        found = self.kind(port, traits.name, Dedupe.NONCE, *requires)
        essential = parts & {"attachment"}
        return replace(found, parts=replace(found.parts, exclusive=parts, holding=traits.bound_by, essential=essential))


def named(node: Node) -> Node:
    """The in-memory cloud names everything; a listener has no name in AWS."""
    return replace(node, request=lambda known: {"name": node.name, **node.request(known)})


def plan(spec: Spec) -> AWSWanted:
    found = wanted(
        NAMES,
        cluster({"region": REGION, **spec}),
        AWSClusterFacts(Answer(ZONES), namesakes=Answer(()), image=Answer("ami-1")),
    )
    assert isinstance(found, AWSWanted)
    return found


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({}, id="a default cluster"),
        pytest.param(
            {
                "bastion": {"enabled": True},
                "controlPlaneLoadBalancer": {"loadBalancerType": "nlb", "additionalListeners": [{"port": 22623}]},
                "network": {"vpc": {"secondaryCidrBlocks": [{"ipv4CidrBlock": "10.1.0.0/16"}]}},
            },
            id="network load balancer, bastion, second range",
        ),
    ],
)
def test_the_graph_lives_a_whole_life(spec: Spec) -> None:
    found = plan(spec)
    world = AwsShapedWorld(nodes=map(named, found.graph.nodes.values()))
    life = Life(world)
    outcomes = life.create()
    assert {key: outcome for key, outcome in outcomes.items() if not isinstance(outcome, Ready)} == {}
    assert len(world.living()) == len(found.graph.nodes)
    shared = [key for key, each in outcomes.items() if isinstance(each, Ready) and each.category is Category.SHARED]
    assert shared == ["security-group/lb"]
    sent = len(life.port.calls)
    life.once()
    assert [call.operation for call in life.port.calls[sent:] if call.effect is Effect.WRITE] == []
    life.delete()
    assert world.living() == []
