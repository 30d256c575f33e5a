"""The nodes of an AWSCluster on the simulated AWS, with the real drivers: from nothing to Ready, at rest, and gone."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from freehold.engine.engine import ensure
from freehold.engine.graph import Graph
from freehold.engine.interface import PassResult
from freehold.engine.journal import Journal
from freehold.engine.outcomes import Ready, Reason
from freehold.engine.port import Effect
from freehold.providers.aws.calls import AwsClient
from freehold.providers.aws.cluster.adapter import AWSClusterAdapter
from freehold.providers.aws.cluster.desired import AWSWanted
from freehold.providers.aws.cluster.facts_reader import AwsFactsReader
from freehold.providers.aws.facts import BASTION_IMAGE, AwsFacts
from freehold.providers.aws.identities import AssumedRole
from freehold.providers.aws.registry import aws_kinds
from freehold.providers.aws.session import AwsSession
from freehold.providers.objects.adapter import Desired, RefusedSpec
from freehold.providers.objects.gate import Proceed
from harness.aws_account import KEYS, REGION, AwsAccount
from harness.aws_passes import OWNER, Life

NLB = {"loadBalancerType": "nlb", "additionalListeners": [{"port": 22623}]}
INNER = {"name": "inner", "loadBalancerType": "nlb", "scheme": "internal"}
SPECS: dict[str, dict[str, Any]] = {
    "classic": {},
    "network load balancers": {"controlPlaneLoadBalancer": NLB, "secondaryControlPlaneLoadBalancer": INNER},
    "IPv6 and a second range": {
        "network": {"vpc": {"ipv6": {}, "secondaryCidrBlocks": [{"ipv4CidrBlock": "10.1.0.0/16"}]}}
    },
    "bastion": {"bastion": {"enabled": True}, "sshKeyName": ""},
}
NO_ATTRIBUTES = {
    "subnet": ("ipv6_cidr",), "vpc-endpoint": ("route_table_ids",), "classic-load-balancer": ("listeners", "subnets"),
    "listener": ("name",),
}  # fmt: skip
"""What it is born with is compared part by part."""


class Cluster:
    """An account, the adapter on it, and the life of one object's nodes."""

    def __init__(self, **spec: Any) -> None:
        self.account = AwsAccount()
        self.life = Life(self.account, [])
        self.adapter = AWSClusterAdapter(AwsFactsReader(AwsFacts(self.account.api, self.life.tagger, self.life.clock)))
        self.spec: dict[str, Any] = {"region": REGION, **spec}

    async def desired(self, journal: Journal) -> Desired:
        raw = {"metadata": {"name": OWNER.name, "namespace": OWNER.namespace}, "spec": self.spec}
        return await self.adapter.find_desired(raw, Proceed(OWNER.name), journal)

    async def up(self) -> None:
        plan = await self.desired(self.life.journal)
        assert isinstance(plan, AWSWanted), plan
        self.life.graph = Graph(plan.graph.nodes.values())
        await self.life.up()


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS.keys())
async def test_a_cluster_comes_to_be_rests_without_a_write_and_leaves_nothing(spec: dict[str, Any]) -> None:
    """It is deleted by a role that is bound to our uuid. That second lock must not hold up what is ours: each kind
    carries the uuid where AWS looks for it."""
    cluster = Cluster(**spec)
    life, account = cluster.life, cluster.account
    await cluster.up()
    sent = len(account.port.calls)
    life.later(600)
    looked = await ensure(life.deps, life.graph, life.journal, life.store, life.state)
    life.journal = looked.journal
    assert [str(key) for key, one in looked.outcomes.items() if not isinstance(one, Ready) or one.reason] == []
    assert [call.operation for call in account.port.calls[sent:] if call.effect is Effect.WRITE] == []
    assert _not_shown(life, looked) == set()
    bind_to_our_uuid(cluster)
    await life.down()
    assert life.standing() == {}


def bind_to_our_uuid(cluster: Cluster) -> None:
    """Have it work as a role from now on, in a session that may delete only what carries its uuid."""
    life, account = cluster.life, cluster.account
    arn = account.role("infra")
    allowed = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
    account.iam.put_role_policy(RoleName="infra", PolicyName="all", PolicyDocument=json.dumps(allowed))
    role = AwsSession(AssumedRole(arn, KEYS), REGION, mount=account.mount)
    life.deps = replace(life.deps, registry=aws_kinds(AwsClient(role, account.port, role.owner_session(OWNER.uuid))))


def _not_shown(life: Life, looked: PassResult) -> set[str]:
    """Attributes that are asked for, and that no look shows and no record keeps: nobody would notice a difference."""
    known = {key: one.observed for key, one in looked.outcomes.items() if isinstance(one, Ready)}
    return {
        f"{key.kind} {name}"
        for key, node in life.graph.nodes.items()
        for name in node.request(known).keys() - known[key].attributes.keys()
        if name not in {*life.deps.registry[key.kind].attributes.create_only, *NO_ATTRIBUTES.get(key.kind, ())}
        and not (name == "name" and life.deps.registry[key.kind].naming.has_no_name)
    }


async def test_of_a_network_load_balancer_the_port_is_restored_and_the_address_family_told() -> None:
    """A listener's port can be changed at any time. The family hangs on the VPC's and the target groups', which stay
    (docs/reference/aws.md#kinds)."""
    cluster = Cluster(controlPlaneLoadBalancer={"loadBalancerType": "nlb"}, network={"vpc": {"ipv6": {}}})
    life, elbv2 = cluster.life, cluster.account.elbv2
    await cluster.up()
    (balancer,) = elbv2.describe_load_balancers()["LoadBalancers"]
    arn = balancer["LoadBalancerArn"]
    (listener,) = elbv2.describe_listeners(LoadBalancerArn=arn)["Listeners"]
    elbv2.modify_listener(ListenerArn=listener["ListenerArn"], Port=7443)
    elbv2.set_ip_address_type(LoadBalancerArn=arn, IpAddressType="ipv4")
    life.later(600)
    looked = await ensure(life.deps, life.graph, life.journal, life.store, life.state)
    assert elbv2.describe_listeners(LoadBalancerArn=arn)["Listeners"] == [listener]
    (told,) = [one for one in looked.outcomes.values() if not isinstance(one, Ready) or one.reason]
    assert isinstance(told, Ready) and told.reason is Reason.DRIFTED
    assert told.note.startswith(
        "ip_address_type is 'ipv4', the spec says 'dualstack': it is not changed in place; change it in the cloud;"
    )


async def test_a_second_cluster_of_the_name_is_refused_until_the_first_has_gone() -> None:
    cluster = Cluster()
    await cluster.up()
    cluster.life.later(120)
    other = Journal(replace(OWNER, uuid="99999999-1111-4222-8333-444455556666"))
    refused = await cluster.desired(other)
    assert isinstance(refused, RefusedSpec)
    assert refused.reason == "NameTaken"
    assert isinstance(await cluster.desired(Journal(OWNER)), AWSWanted)  # with its own journal lost, it is no other
    await cluster.life.down()
    assert isinstance(await cluster.desired(other), AWSWanted)


async def test_a_given_network_is_used_tagged_and_left_as_it_was() -> None:
    cluster = Cluster(bastion={"enabled": True}, sshKeyName="")
    account = cluster.account
    assert account.ssm.get_parameter(Name=BASTION_IMAGE)
    vpc = account.vpc()
    gateway = account.gateway(vpc)
    public, private = account.subnet(vpc, 0, "a"), account.subnet(vpc, 1, "b")
    table = account.ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]
    account.ec2.create_route(RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", GatewayId=gateway)
    account.ec2.associate_route_table(RouteTableId=table, SubnetId=public)
    cluster.spec["network"] = {"vpc": {"id": vpc}, "subnets": [{"id": public}, {"id": private}]}
    await cluster.up()

    def tags(subnet: str) -> dict[str, str]:
        (row,) = account.ec2.describe_subnets(SubnetIds=[subnet])["Subnets"]
        return {tag["Key"]: tag["Value"] for tag in row.get("Tags", ())}

    assert tags(public) == {"kubernetes.io/cluster/demo": "shared", "kubernetes.io/role/elb": "1"}
    assert tags(private) == {"kubernetes.io/cluster/demo": "shared", "kubernetes.io/role/internal-elb": "1"}
    await cluster.life.down()
    assert (tags(public), tags(private)) == ({}, {})
