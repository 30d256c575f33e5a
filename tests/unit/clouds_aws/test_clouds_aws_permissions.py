"""Policies are generated from the operations in use, and a session policy keeps deletes to one owner's resources."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from freehold.clouds.aws import permissions, policy_files
from freehold.clouds.aws.calls import ApiClient
from freehold.clouds.aws.identities import AssumedRole
from freehold.clouds.aws.kind_facts import KINDS, OTHER_OPERATIONS, operations_of
from freehold.lifecycle import errors
from freehold.lifecycle.keyed_codec import UUID as OWNER_UUID
from harness.aws_account import KEYS, AwsAccount
from harness.simulated_aws import tagged

UUID, OTHER_UUID = "0d0f1e2a-1111-4222-8333-444455556666", "0d0f1e2a-1111-4222-8333-444455557777"
SERVICES = {kind.service for kind in KINDS}.union(*OTHER_OPERATIONS)


def _actions(policy: dict[str, Any]) -> list[str]:
    return [action for statement in policy["Statement"] for action in statement["Action"]]


def test_the_three_policies_are_what_we_use_and_nothing_else() -> None:
    used = {permissions.iam_action(service, name) for service in SERVICES for name in operations_of(service)}
    granted = [_actions(policy()) for policy in (permissions.reader, permissions.creator, permissions.deleter)]
    assert set().union(*granted) == used | permissions.IMPLIED | {"iam:CreateServiceLinkedRole"}


def test_a_reader_changes_nothing_and_a_creator_deletes_no_resource() -> None:
    verbs = ("Describe", "Get", "List", "AssumeRole")
    assert all(action.partition(":")[2].startswith(verbs) for action in _actions(permissions.reader()))
    assert set(_actions(permissions.creator())).isdisjoint(_actions(permissions.deleter()))


@pytest.mark.parametrize(
    ("service", "operation", "action"),
    [
        ("ec2", "CreateVpc", "ec2:CreateVpc"),
        ("elbv2", "CreateListener", "elasticloadbalancing:CreateListener"),
        ("resourcegroupstaggingapi", "TagResources", "tag:TagResources"),
        ("s3", "ListObjectsV2", "s3:ListBucket"),
        ("s3", "DeleteBucketLifecycle", "s3:PutLifecycleConfiguration"),
        ("s3", "DeleteBucket", "s3:DeleteBucket"),
    ],
)
def test_the_permission_of_an_operation(service: str, operation: str, action: str) -> None:
    assert permissions.iam_action(service, operation) == action


def test_the_session_policy_is_as_short_as_sts_asks() -> None:
    assert len(permissions.bound_deletes(UUID)) <= permissions.MOST_SESSION_POLICY


def test_the_policy_files_are_those_of_today_and_fit_into_managed_policies() -> None:
    """At most 6,144 characters without white space (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html)."""
    assert policy_files.stale(Path(__file__).parents[3] / policy_files.DIRECTORY) == ()
    assert max(len("".join(text.split())) for text in policy_files.rendered().values()) <= 6144


# -- on the simulated AWS ---------------------------------------------------------------------------------------


class Owned:
    """A resource of each kind that deletes may be bound for, all with one owner's uuid."""

    def __init__(self, account: AwsAccount, uuid: str) -> None:
        marks = {OWNER_UUID: uuid}
        tags = [{"Key": OWNER_UUID, "Value": uuid}]
        ec2, elbv2 = account.ec2, account.elbv2
        self.vpc = account.vpc(TagSpecifications=tagged("vpc", **marks))
        account.gateway(self.vpc)
        subnets = [
            account.subnet(self.vpc, n, zone, TagSpecifications=tagged("subnet", **marks))
            for n, zone in enumerate("ab")
        ]
        gateway = ec2.create_internet_gateway(TagSpecifications=tagged("internet-gateway", **marks))
        address = ec2.allocate_address(Domain="vpc", TagSpecifications=tagged("elastic-ip", **marks))
        table = ec2.create_route_table(VpcId=self.vpc, TagSpecifications=tagged("route-table", **marks))
        group = account.group(self.vpc, "g", TagSpecifications=tagged("security-group", **marks))
        egress = ec2.create_egress_only_internet_gateway(
            VpcId=self.vpc, ClientToken="t", TagSpecifications=tagged("egress-only-internet-gateway", **marks)
        )
        endpoint = ec2.create_vpc_endpoint(
            VpcId=self.vpc, ServiceName="com.amazonaws.us-east-1.s3", TagSpecifications=tagged("vpc-endpoint", **marks)
        )["VpcEndpoint"]["VpcEndpointId"]
        instance = account.instance(subnets[0], TagSpecifications=tagged("instance", **marks))
        nat = account.nat(subnets[1], TagSpecifications=tagged("natgateway", **marks))
        balancer = account.balancer(subnets, Tags=tags)
        target = account.target_group(self.vpc, Tags=tags)
        listener = elbv2.create_listener(
            LoadBalancerArn=balancer, Protocol="TCP", Port=6443, Tags=tags,
            DefaultActions=[{"Type": "forward", "TargetGroupArn": target}],
        )["Listeners"][0]["ListenerArn"]  # fmt: skip
        port = {"Protocol": "TCP", "LoadBalancerPort": 6443, "InstanceProtocol": "TCP", "InstancePort": 6443}
        account.elb.create_load_balancer(LoadBalancerName="classic", Listeners=[port], Subnets=subnets, Tags=tags)
        account.clock.advance(200)
        self.deletes: dict[str, tuple[str, str, dict[str, Any]]] = {
            "listener": ("elbv2", "delete_listener", {"ListenerArn": listener}),
            "target-group": ("elbv2", "delete_target_group", {"TargetGroupArn": target}),
            "network-load-balancer": ("elbv2", "delete_load_balancer", {"LoadBalancerArn": balancer}),
            "classic-load-balancer": ("elb", "delete_load_balancer", {"LoadBalancerName": "classic"}),
            "instance": ("ec2", "terminate_instances", {"InstanceIds": [instance]}),
            "nat-gateway": ("ec2", "delete_nat_gateway", {"NatGatewayId": nat}),
            "vpc-endpoint": ("ec2", "delete_vpc_endpoints", {"VpcEndpointIds": [endpoint]}),
            "egress-only-gateway": ("ec2", "delete_egress_only_internet_gateway", {
                "EgressOnlyInternetGatewayId": egress["EgressOnlyInternetGateway"]["EgressOnlyInternetGatewayId"],
            }),
            "internet-gateway": ("ec2", "delete_internet_gateway", {
                "InternetGatewayId": gateway["InternetGateway"]["InternetGatewayId"],
            }),
            "elastic-ip": ("ec2", "release_address", {"AllocationId": address["AllocationId"]}),
            "route-table": ("ec2", "delete_route_table", {"RouteTableId": table["RouteTable"]["RouteTableId"]}),
            "security-group": ("ec2", "delete_security_group", {"GroupId": group}),
            "subnet": ("ec2", "delete_subnet", {"SubnetId": subnets[0]}),
            "vpc": ("ec2", "delete_vpc", {"VpcId": self.vpc}),
        }  # fmt: skip


def _deleter(account: AwsAccount, uuid: str) -> ApiClient:
    """A role that may delete anything, narrowed to one owner."""
    account.role("deleter")
    account.iam.put_role_policy(
        RoleName="deleter", PolicyName="deletes", PolicyDocument=json.dumps(permissions.deleter())
    )
    arn = account.iam.get_role(RoleName="deleter")["Role"]["Arn"]
    return account.session_of(AssumedRole(arn, KEYS, policy=permissions.bound_deletes(uuid)))


async def _denied(api: ApiClient, owned: Owned) -> set[str]:
    """The kinds whose delete is denied. What is refused because something uses it was not denied."""
    found = set()
    for kind, (service, operation, params) in owned.deletes.items():
        try:
            await api.write(service, operation, kind, **params)
        except errors.Denied:
            found.add(kind)
        except errors.InUse:
            continue
    return found


async def test_every_kind_that_can_be_bound_is_tried(account: AwsAccount) -> None:
    assert set(Owned(account, UUID).deletes) == {kind.name for kind in KINDS if kind.name != "s3-bucket"}


async def test_an_owner_deletes_its_own(account: AwsAccount) -> None:
    owned = Owned(account, UUID)
    assert await _denied(_deleter(account, UUID), owned) == set()
    assert account.elb.describe_load_balancers()["LoadBalancerDescriptions"] == []


async def test_the_cloud_denies_the_delete_of_another_owners(account: AwsAccount) -> None:
    """Behind every check of ours."""
    owned = Owned(account, OTHER_UUID)
    assert await _denied(_deleter(account, UUID), owned) == set(owned.deletes)
    assert owned.vpc in str(account.ec2.describe_vpcs())


async def test_a_creator_may_make_the_first_load_balancer_and_a_bucket_with_tags(account: AwsAccount) -> None:
    """What a call needs beside the permission of its name: the role of the service, and the right to tag."""
    account.role("creator")
    arn = account.iam.get_role(RoleName="creator")["Role"]["Arn"]
    documents = {"creates": permissions.creator(), "reads": permissions.reader()}
    for name, document in documents.items():
        account.iam.put_role_policy(RoleName="creator", PolicyName=name, PolicyDocument=json.dumps(document))
    api = account.session_of(AssumedRole(arn, KEYS))
    _, subnets = account.network()
    port = {"Protocol": "TCP", "LoadBalancerPort": 6443, "InstanceProtocol": "TCP", "InstancePort": 6443}
    tags = [{"Key": OWNER_UUID, "Value": UUID}]
    await api.write(
        "elb", "create_load_balancer", "a", LoadBalancerName="a", Listeners=[port], Subnets=subnets[:1], Tags=tags
    )
    await api.write("s3", "create_bucket", "boot", Bucket="boot", CreateBucketConfiguration={"Tags": tags})
    account.clock.advance(60)
    failed = await api.write(
        "resourcegroupstaggingapi", "tag_resources", "boot", ResourceARNList=["arn:aws:s3:::boot"], Tags={"a": "b"}
    )
    assert not failed.get("FailedResourcesMap")
