"""The requests of others: how each kind is made, and how somebody deletes one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Sent = tuple[str, str, dict[str, Any]]
"""Service, operation, parameters."""

ZONE = "us-east-1a"
S3 = "com.amazonaws.us-east-1.s3"
IMAGE = "ami-0a0000000000000c1"
TCP = {"Protocol": "TCP", "LoadBalancerPort": 6443, "InstanceProtocol": "TCP", "InstancePort": 6443}


@dataclass(frozen=True)
class Place:
    """Where something is made."""

    vpc: str
    subnet: str
    balancer: str = ""
    group: str = ""


def request_of(kind: str, name: str, place: Place, tags: Mapping[str, str]) -> Sent:
    """``name`` of a subnet is its range."""
    pairs = [{"Key": key, "Value": value} for key, value in tags.items()]
    specified = {"TagSpecifications": [{"ResourceType": _TYPES.get(kind, kind), "Tags": pairs}]} if pairs else {}
    with_tags = {"Tags": pairs} if pairs else {}
    targets = [{"Type": "forward", "TargetGroupArn": place.group}]
    range_ = {"CidrBlock": name, "AvailabilityZone": ZONE}
    named: dict[str, Sent] = {
        "vpc": ("ec2", "CreateVpc", {"CidrBlock": "10.8.0.0/16", **specified}),
        "subnet": ("ec2", "CreateSubnet", {"VpcId": place.vpc, **range_, **specified}),
        "internet-gateway": ("ec2", "CreateInternetGateway", specified),
        "egress-only-gateway": ("ec2", "CreateEgressOnlyInternetGateway", {"VpcId": place.vpc, **specified}),
        "vpc-endpoint": ("ec2", "CreateVpcEndpoint", {"VpcId": place.vpc, "ServiceName": S3, **specified}),
        "elastic-ip": ("ec2", "AllocateAddress", {"Domain": "vpc", **specified}),
        "nat-gateway": (
            "ec2",
            "CreateNatGateway",
            {"SubnetId": place.subnet, "ConnectivityType": "private", **specified},
        ),
        "route-table": ("ec2", "CreateRouteTable", {"VpcId": place.vpc, **specified}),
        "security-group": (
            "ec2",
            "CreateSecurityGroup",
            {"VpcId": place.vpc, "GroupName": name, "Description": "theirs", **specified},
        ),
        "instance": (
            "ec2",
            "RunInstances",
            {
                "ImageId": IMAGE,
                "InstanceType": "t3.micro",
                "MinCount": 1,
                "MaxCount": 1,
                "SubnetId": place.subnet,
                **specified,
            },
        ),
        "classic-load-balancer": (
            "elb",
            "CreateLoadBalancer",
            {"LoadBalancerName": name, "Listeners": [TCP], "Subnets": [place.subnet], **with_tags},
        ),
        "network-load-balancer": (
            "elbv2",
            "CreateLoadBalancer",
            {"Name": name, "Subnets": [place.subnet], "Type": "network", **with_tags},
        ),
        "target-group": (
            "elbv2",
            "CreateTargetGroup",
            {"Name": name, "Protocol": "TCP", "Port": 6443, "VpcId": place.vpc, **with_tags},
        ),
        "listener": (
            "elbv2",
            "CreateListener",
            {
                "LoadBalancerArn": place.balancer,
                "Protocol": "TCP",
                "Port": 7000 + len(name),
                "DefaultActions": targets,
                **with_tags,
            },
        ),
        "bootstrap-secret": ("secretsmanager", "CreateSecret", {"Name": name, "SecretString": "theirs", **with_tags}),
        "s3-bucket": (
            "s3",
            "CreateBucket",
            {"Bucket": name, **({"CreateBucketConfiguration": {"Tags": pairs}} if pairs else {})},
        ),
    }
    return named[kind]


_TYPES = {"nat-gateway": "natgateway", "egress-only-gateway": "egress-only-internet-gateway"}


def _detached(gateway: Mapping[str, Any]) -> Iterable[Sent]:
    ident = gateway["id"]
    for held in list(gateway["view"]["Attachments"]):
        yield "ec2", "DetachInternetGateway", {"InternetGatewayId": ident, "VpcId": held["VpcId"]}
    yield "ec2", "DeleteInternetGateway", {"InternetGatewayId": ident}


def _dissociated(table: Mapping[str, Any]) -> Iterable[Sent]:
    for held in list(table["view"]["Associations"]):
        yield "ec2", "DisassociateRouteTable", {"AssociationId": held["RouteTableAssociationId"]}
    yield "ec2", "DeleteRouteTable", {"RouteTableId": table["id"]}


def _one(service: str, operation: str, parameter: str, *, several: bool = False) -> Callable[..., Iterable[Sent]]:
    return lambda record: [(service, operation, {parameter: [record["id"]] if several else record["id"]})]


def _within(record: Mapping[str, Any], name: str) -> dict[str, str]:
    return {each: record["view"][each] for each in ("clusterName", name)}


def _without_policies(role: Mapping[str, Any]) -> Iterable[Sent]:
    for arn in list(role["attached"]):
        yield "iam", "DetachRolePolicy", {"RoleName": role["id"], "PolicyArn": arn}
    yield "iam", "DeleteRole", {"RoleName": role["id"]}


STRIKES: Mapping[str, Callable[[Mapping[str, Any]], Iterable[Sent]]] = {
    "vpc": _one("ec2", "DeleteVpc", "VpcId"),
    "subnet": _one("ec2", "DeleteSubnet", "SubnetId"),
    "internet-gateway": _detached,
    "egress-only-gateway": _one("ec2", "DeleteEgressOnlyInternetGateway", "EgressOnlyInternetGatewayId"),
    "vpc-endpoint": _one("ec2", "DeleteVpcEndpoints", "VpcEndpointIds", several=True),
    "elastic-ip": _one("ec2", "ReleaseAddress", "AllocationId"),
    "nat-gateway": _one("ec2", "DeleteNatGateway", "NatGatewayId"),
    "route-table": _dissociated,
    "security-group": _one("ec2", "DeleteSecurityGroup", "GroupId"),
    "instance": _one("ec2", "TerminateInstances", "InstanceIds", several=True),
    "classic-load-balancer": _one("elb", "DeleteLoadBalancer", "LoadBalancerName"),
    "network-load-balancer": _one("elbv2", "DeleteLoadBalancer", "LoadBalancerArn"),
    "target-group": _one("elbv2", "DeleteTargetGroup", "TargetGroupArn"),
    "listener": _one("elbv2", "DeleteListener", "ListenerArn"),
    "s3-bucket": _one("s3", "DeleteBucket", "Bucket"),
    "eks-cluster": _one("eks", "DeleteCluster", "name"),
    "eks-addon": lambda record: [("eks", "DeleteAddon", _within(record, "addonName"))],
    "eks-access-entry": lambda record: [("eks", "DeleteAccessEntry", _within(record, "principalArn"))],
    "oidc-provider": lambda record: [
        ("iam", "DeleteOpenIDConnectProvider", {"OpenIDConnectProviderArn": record["arn"]})
    ],
    "iam-role": _without_policies,
    "bootstrap-secret": lambda record: [
        ("secretsmanager", "DeleteSecret", {"SecretId": record["arn"], "ForceDeleteWithoutRecovery": True})
    ],
}
"""How somebody deletes one: the cloud may refuse."""
