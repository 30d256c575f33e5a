"""Every attribute that a cluster asks for is kept in sync or reported, and docs/reference/aws.md#kinds says which."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from freehold.engine.port import InlinePort
from freehold.engine.resources import NodeKey, Request
from freehold.providers.aws.calls import AwsClient
from freehold.providers.aws.cluster.desired import AWSWanted
from freehold.providers.aws.cluster.facts import AWSClusterFacts
from freehold.providers.aws.kind_facts import KINDS, KindFacts
from freehold.providers.aws.registry import aws_kinds
from freehold.providers.aws.session import AwsSession
from freehold.providers.objects.cloud_answers import Answer
from harness import aws_control_plane
from harness.aws_account import KEYS
from harness.aws_graphs import requests
from harness.aws_specs import NAMES, REGION, Spec, cluster, facts, wanted
from harness.rows import over_rows

REGISTRY = aws_kinds(AwsClient(AwsSession(KEYS, REGION), InlinePort()))
EVERYTHING: Spec = {
    "region": REGION,
    "network": {"vpc": {"ipv6": {}}},
    "bastion": {"enabled": True},
    "secondaryControlPlaneLoadBalancer": {"name": "inner", "loadBalancerType": "nlb", "scheme": "internal"},
    "s3Bucket": {"name": "boot", "presignedURLDuration": "24h"},
}
IN_VPC = {"vpc_id": "VpcId"}
MEMBERS: Mapping[str, Mapping[str, str]] = {
    "vpc": {
        "cidr": "CidrBlock", "ipv6": "AmazonProvidedIpv6CidrBlock", "enable_dns_support": "EnableDnsSupport",
        "enable_dns_hostnames": "EnableDnsHostnames",
    },
    "subnet": {
        **IN_VPC, "zone": "AvailabilityZone", "cidr": "CidrBlock", "map_public_ip_on_launch": "MapPublicIpOnLaunch",
        "assign_ipv6_address_on_creation": "AssignIpv6AddressOnCreation",
    },
    "internet-gateway": {},
    "egress-only-gateway": IN_VPC,
    "elastic-ip": {},
    "nat-gateway": {"subnet_id": "SubnetId", "allocation_id": "AllocationId"},
    "route-table": IN_VPC,
    "security-group": {**IN_VPC, "name": "GroupName", "description": "Description"},
    "vpc-endpoint": {**IN_VPC, "service_name": "ServiceName", "policy_document": "PolicyDocument"},
    "classic-load-balancer": {
        "name": "LoadBalancerName", "scheme": "Scheme", "security_groups": "SecurityGroups",
        "health_check": "HealthCheck", "idle_timeout": "ConnectionSettings", "cross_zone": "CrossZoneLoadBalancing",
    },
    "network-load-balancer": {
        "name": "Name", "scheme": "Scheme", "subnets": "Subnets", "security_groups": "SecurityGroups",
        "ip_address_type": "IpAddressType", "attributes": "LoadBalancerAttributes",
    },
    "target-group": {
        **IN_VPC, "name": "Name", "protocol": "Protocol", "port": "Port", "target_type": "TargetType",
        "ip_address_type": "IpAddressType", "health_check": "HealthCheck", "attributes": "Attributes",
    },
    "listener": {
        "balancer": "LoadBalancerArn", "port": "Port", "protocol": "Protocol", "target_groups": "DefaultActions",
    },
    "s3-bucket": {"name": "Bucket"},
    "instance": {
        "image_id": "ImageId", "instance_type": "InstanceType", "subnet_id": "SubnetId", "key_name": "KeyName",
        "security_groups": "SecurityGroups", "user_data": "UserData",
        "associate_public_ip_address": "AssociatePublicIpAddress",
    },
    "bootstrap-secret": {"name": "Name", "value": "SecretBinary"},
    "iam-role": {
        "name": "RoleName", "path": "Path", "trust": "AssumeRolePolicyDocument",
        "permissions_boundary": "PermissionsBoundary",
    },
    "oidc-provider": {"url": "Url", "client_ids": "ClientIDList"},
    "eks-cluster": {
        "name": "name", "version": "version", "role_arn": "roleArn", "subnets": "subnetIds",
        "security_groups": "securityGroupIds", "endpoint_public": "endpointPublicAccess",
        "endpoint_private": "endpointPrivateAccess", "public_cidrs": "publicAccessCidrs", "logging": "logging",
        "access_mode": "authenticationMode", "creator_admin": "bootstrapClusterCreatorAdminPermissions",
        "self_managed_addons": "bootstrapSelfManagedAddons", "encryption_key": "encryptionConfig",
        "upgrade_policy": "upgradePolicy", "service_cidr": "serviceIpv4Cidr",
    },
    "eks-addon": {
        "cluster": "clusterName", "name": "addonName", "version": "addonVersion",
        "role_arn": "serviceAccountRoleArn", "configuration": "configurationValues",
    },
    "eks-access-entry": {
        "cluster": "clusterName", "principal_arn": "principalArn", "type": "type", "groups": "kubernetesGroups",
        "username": "username",
    },
}  # fmt: skip
"""What a request calls each attribute, and what the API does."""
NEVER_ASKED: Mapping[str, set[str]] = {
    "vpc": {"InstanceTenancy"},
    "elastic-ip": {"Domain", "PublicIpv4Pool"},
    "nat-gateway": {"ConnectivityType"},
    "vpc-endpoint": {"VpcEndpointType"},
    "network-load-balancer": {"Type"},
    "s3-bucket": {"LocationConstraint"},
}
"""The same for every cluster, or the cloud's choice."""
BORN_WITH: Mapping[str, set[str]] = {
    "subnet": {"ipv6_cidr"},
    "vpc-endpoint": {"route_table_ids"},
    "classic-load-balancer": {"listeners", "subnets"},
}
"""Parts, which are kept in sync as such."""
HOW: Mapping[str, set[str]] = {"eks-addon": {"resolve_conflicts", "preserve"}}
"""How it is written and deleted, which is nothing of the resource."""
OF_CONTROL_PLANES = ("iam-role", "oidc-provider", "eks-cluster", "eks-addon", "eks-access-entry")
CONTROL_PLANE: Spec = {
    "associateOIDCProvider": True,
    "addons": [{"name": "vpc-cni", "version": "v1"}],
    "accessEntries": [{"principalARN": "arn:aws:iam::111122223333:role/admins"}],
}
EVERY_KIND = over_rows("facts_of", KINDS, ids=[kind.name for kind in KINDS])


@EVERY_KIND
def test_a_driver_changes_what_the_table_says_and_reports_the_rest(facts_of: KindFacts) -> None:
    kind, members = REGISTRY[facts_of.name], MEMBERS[facts_of.name]
    fixed = NEVER_ASKED.get(facts_of.name, set())
    assert {members[name] for name in kind.attributes.mutable} == set(facts_of.mutable)
    assert {members[name] for name in kind.attributes.changeable} == set(facts_of.by_person) - fixed
    reported = members.keys() - kind.attributes.mutable - kind.attributes.changeable
    assert {members[name] for name in reported} == set(facts_of.immutable) - fixed
    assert fixed <= {*facts_of.by_person, *facts_of.immutable}


@over_rows("name", [kind.name for kind in KINDS if kind.name != "bootstrap-secret"])
def test_whatever_a_cluster_asks_for_is_in_the_table(name: str) -> None:
    """A new key of a request is compared with nothing until it has its place here."""
    asked = list(asked_of_control_plane(name) if name in OF_CONTROL_PLANES else asked_of(name))
    label = {"name"} if "name" not in MEMBERS[name] else set()
    assert asked
    for request in asked:
        more = BORN_WITH.get(name, set()) | HOW.get(name, set())
        assert request.keys() - more - label <= MEMBERS[name].keys()


def asked_of(kind: str) -> Iterator[Request]:
    known = AWSClusterFacts(**{**vars(facts()), "image": Answer("ami-1"), "namesakes": Answer(())})
    plan = wanted(NAMES, cluster(EVERYTHING), known, account="111122223333", storage=True)
    assert isinstance(plan, AWSWanted)
    yield from (request for key, request in requests(plan.graph).items() if NodeKey.parse(key).kind == kind)


def asked_of_control_plane(kind: str) -> Iterator[Request]:
    plan = aws_control_plane.wanted(aws_control_plane.control_plane(**CONTROL_PLANE), gates=aws_control_plane.OWN_ROLE)
    yield from (aws_control_plane.request_of(plan, key) for key in plan.graph.nodes if key.kind == kind)
