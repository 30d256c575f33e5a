"""The engine with groups, load balancers, an endpoint, a bucket and a bastion, from nothing to Ready and back."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import pytest

from freehold.engine.engine import ensure
from freehold.engine.graph import Node, ReadyNodes
from freehold.engine.journal import Journal
from freehold.engine.outcomes import Blocked, Ready, Reason
from freehold.engine.resources import NodeKey, Part
from freehold.providers.aws.kinds import classic_load_balancer, s3_bucket, security_group, vpc_endpoint
from freehold_sim.aws.settings import Settings
from freehold_sim.faults import Effect as FaultEffect
from freehold_sim.faults import Fault
from harness.aws_account import TARGET_ATTRIBUTES, AwsAccount
from harness.aws_passes import HOUR, Life
from unit.aws.test_aws_engine import (
    GATEWAY,
    OUT,
    PUBLIC,
    VPC,
    WITHOUT_ANSWER,
    _network,
    _node,
    up_to_a_lost_reply,
)

NODES, FRONT = NodeKey("security-group", "node"), NodeKey("security-group", "lb")
CLASSIC, NETWORK = NodeKey("classic-load-balancer", "api"), NodeKey("network-load-balancer", "api")
GROUP, LISTENER = NodeKey("target-group", "api"), NodeKey("listener", "api")
ENDPOINT, BUCKET, BASTION = NodeKey("vpc-endpoint", "s3"), NodeKey("s3-bucket", "main"), NodeKey("instance", "bastion")
CHECK = {"Target": "TCP:6443", "Interval": 10, "Timeout": 5, "HealthyThreshold": 5, "UnhealthyThreshold": 3}
ROW = {"Protocol": "TCP", "LoadBalancerPort": 6443, "InstanceProtocol": "TCP", "InstancePort": 6443}
TARGET_CHECK = {
    "HealthCheckProtocol": "TCP", "HealthCheckPort": "6443", "HealthCheckIntervalSeconds": 10,
    "HealthCheckTimeoutSeconds": 5, "HealthyThresholdCount": 5, "UnhealthyThresholdCount": 3,
}  # fmt: skip
POLICY = {"Statement": [{"Effect": "Deny", "Principal": {"AWS": ["*"]}, "Action": ["s3:*"], "Resource": ["*"]}]}


def _with(plain: Node, parts: Callable[[ReadyNodes], Collection[Part]], *named: NodeKey) -> Node:
    return replace(plain, parts=lambda known: frozenset(parts(known)), parts_require=frozenset(named))


def _named(key: NodeKey, name: str, request: Callable[[ReadyNodes], dict[str, Any]], *requires: NodeKey) -> Node:
    plain = _node(key, request, *requires)
    return replace(plain, name=name, request=lambda known: {"name": name, **request(known)})


def _groups() -> list[Node]:
    """Two groups that name each other, with several rules."""

    def group(key: NodeKey, other: NodeKey) -> Node:
        plain = _named(key, f"demo-{key.logical}", lambda known: {"description": "x", "vpc_id": known[VPC].id}, VPC)

        def parts(known: ReadyNodes) -> list[Part]:
            peers = [{"group": known[other].id}, {"group": known[key].id}, {"cidr": "10.0.0.0/8"}]
            return [security_group.rule_part(security_group.INGRESS, "tcp", 6443, 6443, **peer) for peer in peers]

        return _with(plain, parts, key, other)

    return [group(NODES, FRONT), group(FRONT, NODES)]


def _balancers() -> list[Node]:
    def common(known: ReadyNodes) -> dict[str, Any]:
        return {
            "scheme": "internet-facing", "subnets": [known[PUBLIC].id], "security_groups": [known[FRONT].id],
        }  # fmt: skip

    needs = (VPC, GATEWAY, PUBLIC, FRONT)
    attributes = {"health_check": CHECK, "idle_timeout": 600, "cross_zone": False, "listeners": [ROW]}
    classic = _named(CLASSIC, "demo-api", lambda known: {**common(known), **attributes}, *needs)
    cross_zone = {"attributes": {"load_balancing.cross_zone.enabled": "false"}}
    group = {"protocol": "TCP", "port": 6443, "target_type": "instance", "health_check": TARGET_CHECK}
    keep = {"attributes": TARGET_ATTRIBUTES}
    return [
        _with(
            classic,
            lambda known: [
                classic_load_balancer.listener_part(ROW),
                Part(classic_load_balancer.SUBNET, known[PUBLIC].id),
            ],
        ),
        _named(NETWORK, "demo-nlb", lambda known: {**common(known), **cross_zone}, *needs),
        _named(GROUP, "demo-target", lambda known: {"vpc_id": known[VPC].id, **group, **keep}, VPC),
        _node(
            LISTENER,
            lambda known: {
                "balancer": known[NETWORK].id, "protocol": "TCP", "port": 6443, "target_groups": [known[GROUP].id],
            },
            NETWORK, GROUP,
        ),
    ]  # fmt: skip


def _others() -> list[Node]:
    def endpoint(known: ReadyNodes) -> dict[str, Any]:
        return {
            "vpc_id": known[VPC].id, "service_name": "com.amazonaws.us-east-1.s3", "route_table_ids": [known[OUT].id],
        }  # fmt: skip

    def bastion(known: ReadyNodes) -> dict[str, Any]:
        return {
            "image_id": "ami-0a0000000000000c1", "instance_type": "t3.micro", "subnet_id": known[PUBLIC].id,
            "security_groups": [known[NODES].id], "associate_public_ip_address": True,
        }  # fmt: skip

    return [
        _with(_node(ENDPOINT, endpoint, VPC, OUT), lambda known: [Part(vpc_endpoint.ROUTE_TABLE, known[OUT].id)]),
        _with(_named(BUCKET, "demo-bootstrap", lambda known: {}), lambda known: [s3_bucket.policy_part(POLICY)]),
        _node(BASTION, bastion, GATEWAY, PUBLIC, NODES),
    ]


class Cluster(Life):
    def __init__(self, account: AwsAccount) -> None:
        super().__init__(account, [*_network(), *_groups(), *_balancers(), *_others()])

    def standing(self) -> dict[str, list[str]]:
        rows = {kind: self._rows(kind) for kind in ONE_OF_EACH}
        rows["security-group"] = [row for row in rows["security-group"] if row["view"]["GroupName"] != "default"]
        rows["instance"] = [row for row in rows["instance"] if row["view"]["State"]["Name"] != "terminated"]
        more = {kind: sorted(row["id"] for row in some) for kind, some in rows.items() if some}
        return super().standing() | more


ONE_OF_EACH = {
    "security-group": 2, "vpc-endpoint": 1, "classic-balancer": 1, "balancer": 1, "target-group": 1, "listener": 1,
    "bucket": 1, "instance": 1,
}  # fmt: skip


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(AwsAccount(Settings(limits={})))


def _counts(cluster: Cluster) -> dict[str, int]:
    return {kind: len(idents) for kind, idents in cluster.standing().items() if kind in ONE_OF_EACH}


async def test_a_cluster_is_created_once_and_leaves_nothing(cluster: Cluster) -> None:
    done = await cluster.up()
    assert _counts(cluster) == ONE_OF_EACH
    assert [outcome.note for outcome in done.outcomes.values() if isinstance(outcome, Ready) and outcome.note] == []
    assert cluster.notes == []
    writes = cluster.writes()
    made_here = [name for name in writes if _is_of(name)]
    assert sorted(made_here) == sorted(
        ["create_security_group"] * 2 + ["authorize_security_group_ingress"] * 2
        + ["create_vpc_endpoint", "create_load_balancer", "configure_health_check", "modify_load_balancer_attributes"]
        + ["create_load_balancer", "create_target_group", "modify_target_group_attributes", "create_listener"]
        + ["create_bucket", "put_bucket_policy", "run_instances"]
    )  # fmt: skip
    cluster.later(600.0)
    await cluster.up()
    assert cluster.writes() == writes, "an object at rest is only looked at"
    await cluster.down()
    assert cluster.standing() == {}


def _is_of(operation: str) -> bool:
    words = ("security_group", "endpoint", "balancer", "health", "target", "listener", "bucket", "instances")
    return any(word in operation for word in words)


async def test_what_people_change_is_brought_back(cluster: Cluster) -> None:
    await cluster.up()
    account, ids = cluster.account, {key: entry.id for key, entry in cluster.journal.entries.items()}
    theirs = [{"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}]
    account.ec2.authorize_security_group_ingress(GroupId=ids[NODES], IpPermissions=theirs)
    account.elb.configure_health_check(LoadBalancerName="demo-api", HealthCheck={**CHECK, "Interval": 30})
    other = account.target_group(ids[VPC], "theirs")
    forward = [{"Type": "forward", "TargetGroupArn": other}]
    account.elbv2.modify_listener(ListenerArn=ids[LISTENER], DefaultActions=forward)
    account.s3.delete_bucket_policy(Bucket="demo-bootstrap")
    cluster.later(600.0)
    await cluster.up()
    (group,) = account.ec2.describe_security_groups(GroupIds=[ids[NODES]])["SecurityGroups"]
    assert [row["FromPort"] for row in group["IpPermissions"]] == [6443]
    (classic,) = account.elb.describe_load_balancers()["LoadBalancerDescriptions"]
    assert classic["HealthCheck"] == CHECK
    (shown,) = account.elbv2.describe_listeners(ListenerArns=[ids[LISTENER]])["Listeners"]
    assert shown["DefaultActions"][0]["TargetGroupArn"] == ids[GROUP]
    assert "Deny" in account.s3.get_bucket_policy(Bucket="demo-bootstrap")["Policy"]


async def test_with_the_journal_lost_all_of_it_is_found_by_its_tags(cluster: Cluster) -> None:
    await cluster.up()
    before = cluster.standing()
    cluster.later(HOUR)
    cluster.die(Journal(cluster.journal.owner))
    await cluster.up()
    assert cluster.standing() == before
    cluster.die(Journal(cluster.journal.owner))
    await cluster.down()
    assert cluster.standing() == {}


async def test_a_bastion_that_somebody_terminated_is_not_made_again_by_itself(cluster: Cluster) -> None:
    await cluster.up()
    bastion = cluster.journal.entries[BASTION].id
    cluster.account.ec2.terminate_instances(InstanceIds=[bastion])
    for _ in range(6):
        cluster.later(600.0)
        cluster.state.invalidate()
        done = await ensure(cluster.deps, cluster.graph, cluster.journal, cluster.store, cluster.state)
        cluster.journal = done.journal
    told = done.outcomes[BASTION]
    assert isinstance(told, Blocked) and told.reason is Reason.GONE and bastion in told.message
    assert "instance" not in cluster.standing()
    await cluster.down()
    assert cluster.standing() == {}


async def test_a_bucket_with_a_strangers_object_holds_the_delete_and_nothing_else(cluster: Cluster) -> None:
    await cluster.up()
    cluster.account.s3.put_object(Bucket="demo-bootstrap", Key="theirs", Body=b"x")
    with pytest.raises(AssertionError, match="theirs"):
        await cluster.down(1.0)
    assert cluster.standing() == {"bucket": ["demo-bootstrap"]}
    cluster.account.s3.delete_object(Bucket="demo-bootstrap", Key="theirs")
    await cluster.down()
    assert cluster.standing() == {}


async def test_what_has_the_names_and_is_a_strangers_is_told_and_left(cluster: Cluster) -> None:
    """ELBv2 would answer a create with it: it gets no mark of ours, and the delete leaves it."""
    theirs = cluster.account.vpc("10.5.0.0/16")
    group = cluster.account.target_group(theirs, "demo-target")
    cluster.account.s3.create_bucket(Bucket="demo-bootstrap")
    for _ in range(12):
        done = await ensure(cluster.deps, cluster.graph, cluster.journal, cluster.store, cluster.state)
        cluster.journal = done.journal
        cluster.later(max(done.after, 1.0))
    for key in (GROUP, BUCKET):
        told = done.outcomes[key]
        assert isinstance(told, Blocked) and told.reason is Reason.NAME_TAKEN
    await cluster.down()
    assert {kind: ids for kind, ids in cluster.standing().items() if kind in ("target-group", "bucket")} == {
        "target-group": [group], "bucket": ["demo-bootstrap"],
    }  # fmt: skip
    assert cluster.account.elbv2.describe_tags(ResourceArns=[group])["TagDescriptions"][0]["Tags"] == []


CREATES = ["ec2.CreateSecurityGroup", "ec2.AuthorizeSecurityGroupIngress", "ec2.CreateVpcEndpoint",
           "elb.CreateLoadBalancer", "elb.ConfigureHealthCheck", "elb.ModifyLoadBalancerAttributes",
           "elbv2.CreateLoadBalancer", "elbv2.CreateTargetGroup", "elbv2.ModifyTargetGroupAttributes",
           "elbv2.CreateListener", "s3.CreateBucket", "s3.PutBucketPolicy", "ec2.RunInstances"]  # fmt: skip
DELETES = ["ec2.DeleteSecurityGroup", "ec2.RevokeSecurityGroupIngress", "ec2.DeleteVpcEndpoints",
           "elb.DeleteLoadBalancer", "elbv2.DeleteLoadBalancer", "elbv2.DeleteTargetGroup", "elbv2.DeleteListener",
           "s3.DeleteBucket", "ec2.TerminateInstances"]  # fmt: skip


@WITHOUT_ANSWER
async def test_writes_without_an_answer_make_no_second_one(cluster: Cluster, effect: FaultEffect) -> None:
    for operation in (*CREATES, *DELETES):
        cluster.account.cloud.faults.add(Fault(effect, operation, status=504))
    await cluster.up()
    assert _counts(cluster) == ONE_OF_EACH
    await cluster.down()
    rules = cluster.account.cloud.faults.rules()
    assert {rule["operation"]: rule["hits"] for rule in rules if rule["hits"] != 1} == {}
    assert cluster.standing() == {}


@pytest.mark.slow
@pytest.mark.parametrize("operation", CREATES)
async def test_a_process_that_dies_with_the_reply_leaves_no_second_one(cluster: Cluster, operation: str) -> None:
    """Such as a target group that was made and has no listener."""
    await up_to_a_lost_reply(cluster, operation)
    await cluster.up()
    assert _counts(cluster) == ONE_OF_EACH
    await cluster.down()
    assert cluster.standing() == {}
