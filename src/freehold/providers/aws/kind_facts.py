"""AWS's API for each kind of resource: one table (docs/reference/aws.md#kinds).

Operations have the names of the API. The members for tags and client token are checked against botocore's service
models, and the page against this table. Permissions are named after the operations (docs/reference/aws.md#permissions).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class Workflow(Enum):
    """How a kind is created so that no crash leaves an orphan (docs/reference/requirements.md W17 to W22)."""

    TAGS_ON_CREATE = "tags in the create call"
    TOKEN_THEN_TAGS = "client token, tags by a second call"  # noqa: S105 - the name of a mechanism
    THEN_TAGS = "tags by a second call, no client token"
    TOKEN = "client token, no tags"  # noqa: S105 - the name of a mechanism
    NEITHER = "neither tags nor client token"


@dataclass(frozen=True)
class PartFacts:
    """A part of a resource, without tags or token: a read of its parent finds it by its natural key.

    ``service`` is botocore's name of the service of its operations, empty where that is the resource's own; then
    ``read`` is the operation that finds it.
    """

    name: str
    natural_key: str
    add: str
    remove: str
    change: str = ""
    service: str = ""
    read: str = ""

    @property
    def operations(self) -> tuple[str, ...]:
        return tuple(operation for operation in (self.add, self.remove, self.change) if operation)


@dataclass(frozen=True)
class KindFacts:
    """One kind.

    ``service`` is botocore's name, ``deleted_by`` the member of the delete request that has the id. ``arn_type`` is the
    resource type in its ARN, ``indexed_as`` that in the tag API's filters, empty where GetResources never lists it.
    ``tags_in`` and ``token_in`` are members of the create request; ``tag_type`` is the type in TagSpecifications.
    ``natural_key``: what makes a second create of the same fail, or answer with the first. ``mutable`` maps attributes
    of the create to the operation by which we change them, ``by_person`` to one that we do not use: a person can change
    them. ``immutable`` are those that nobody can change. ``reads`` and ``writes`` are the others. ``create_time`` and
    ``delete_time``: usual seconds until it is ready, and until it has gone with all that it leaves behind.
    """

    name: str
    service: str
    create: str
    describe: str
    delete: str
    deleted_by: str
    arn_type: str
    indexed_as: str
    tags_in: str = "TagSpecifications"
    tag_type: str = ""
    token_in: str = ""
    natural_key: str = ""
    mutable: Mapping[str, str] = field(default_factory=dict)
    by_person: Mapping[str, str] = field(default_factory=dict)
    immutable: tuple[str, ...] = ()
    parts: tuple[PartFacts, ...] = ()
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    create_time: float = 5.0
    delete_time: float = 5.0

    @property
    def workflow(self) -> Workflow:
        match bool(self.tags_in), bool(self.token_in), bool(self.indexed_as):
            case True, _, _:
                return Workflow.TAGS_ON_CREATE
            case False, True, True:
                return Workflow.TOKEN_THEN_TAGS
            case False, False, True:
                return Workflow.THEN_TAGS
            case False, True, False:
                return Workflow.TOKEN
        return Workflow.NEITHER

    @property
    def read_operations(self) -> frozenset[str]:
        return frozenset({self.describe, *self.reads})

    @property
    def write_operations(self) -> frozenset[str]:
        parts = (operation for part in self.parts if not part.service for operation in part.operations)
        return frozenset({self.create, self.delete, *self.mutable.values(), *self.writes, *parts})

    @property
    def part_reads(self) -> frozenset[tuple[str, str]]:
        """Reads of parts at other services, each with its service."""
        return frozenset((part.service, part.read) for part in self.parts if part.service)

    @property
    def part_writes(self) -> frozenset[tuple[str, str]]:
        """Writes of parts at other services, each with its service."""
        return frozenset((part.service, name) for part in self.parts if part.service for name in part.operations)

    @property
    def sent_writes(self) -> frozenset[str]:
        """Writes that a served object can cause."""
        return self.write_operations - NOT_SENT.keys()


NOT_SENT: Mapping[str, str] = {
    "PutObject": "machines are not served, whose bootstrap data are in the bucket",
    "DeleteObject": "machines are not served, whose bootstrap data are in the bucket",
    "PutBucketLifecycleConfiguration": "machines are not served, whose bootstrap data are in the bucket",
    "DeleteBucketLifecycle": "machines are not served, whose bootstrap data are in the bucket",
    "DeleteBucketPolicy": "a bucket of ours always has a policy",
    "AuthorizeSecurityGroupEgress": "no field of the spec asks for rules of what goes out",
}
"""Writes that drivers have and no served object causes, with the reason: no policy allows them."""

KINDS: tuple[KindFacts, ...] = (
    KindFacts(
        name="vpc",
        service="ec2",
        create="CreateVpc",
        describe="DescribeVpcs",
        delete="DeleteVpc",
        deleted_by="VpcId",
        arn_type="vpc",
        indexed_as="ec2:vpc",
        tag_type="vpc",
        mutable={"EnableDnsSupport": "ModifyVpcAttribute", "EnableDnsHostnames": "ModifyVpcAttribute"},
        by_person={"AmazonProvidedIpv6CidrBlock": "AssociateVpcCidrBlock", "InstanceTenancy": "ModifyVpcTenancy"},
        immutable=("CidrBlock",),
        parts=(PartFacts("vpc-cidr", "block", "AssociateVpcCidrBlock", "DisassociateVpcCidrBlock"),),
        reads=("DescribeVpcAttribute", "DescribeAvailabilityZones"),
        create_time=2.0,
    ),
    KindFacts(
        name="subnet",
        service="ec2",
        create="CreateSubnet",
        describe="DescribeSubnets",
        delete="DeleteSubnet",
        deleted_by="SubnetId",
        arn_type="subnet",
        indexed_as="ec2:subnet",
        tag_type="subnet",
        natural_key="block in the VPC: InvalidSubnet.Conflict",
        mutable={
            "MapPublicIpOnLaunch": "ModifySubnetAttribute",
            "AssignIpv6AddressOnCreation": "ModifySubnetAttribute",
        },
        immutable=("VpcId", "AvailabilityZone", "CidrBlock"),
        parts=(PartFacts("subnet-ipv6-cidr", "block", "AssociateSubnetCidrBlock", "DisassociateSubnetCidrBlock"),),
    ),
    KindFacts(
        name="internet-gateway",
        service="ec2",
        create="CreateInternetGateway",
        describe="DescribeInternetGateways",
        delete="DeleteInternetGateway",
        deleted_by="InternetGatewayId",
        arn_type="internet-gateway",
        indexed_as="ec2:internet-gateway",
        tag_type="internet-gateway",
        parts=(PartFacts("attachment", "VPC", "AttachInternetGateway", "DetachInternetGateway"),),
    ),
    KindFacts(
        name="egress-only-gateway",
        service="ec2",
        create="CreateEgressOnlyInternetGateway",
        describe="DescribeEgressOnlyInternetGateways",
        delete="DeleteEgressOnlyInternetGateway",
        deleted_by="EgressOnlyInternetGatewayId",
        arn_type="egress-only-internet-gateway",
        indexed_as="ec2:egress-only-internet-gateway",
        tag_type="egress-only-internet-gateway",
        token_in="ClientToken",  # noqa: S106 - the name of a parameter
        immutable=("VpcId",),
    ),
    KindFacts(
        name="elastic-ip",
        service="ec2",
        create="AllocateAddress",
        describe="DescribeAddresses",
        delete="ReleaseAddress",
        deleted_by="AllocationId",
        arn_type="elastic-ip",
        indexed_as="ec2:elastic-ip",
        tag_type="elastic-ip",
        immutable=("Domain", "PublicIpv4Pool"),
    ),
    KindFacts(
        name="nat-gateway",
        service="ec2",
        create="CreateNatGateway",
        describe="DescribeNatGateways",
        delete="DeleteNatGateway",
        deleted_by="NatGatewayId",
        arn_type="natgateway",
        indexed_as="ec2:natgateway",
        tag_type="natgateway",
        token_in="ClientToken",  # noqa: S106 - the name of a parameter
        natural_key="address: Resource.AlreadyAssociated",
        immutable=("SubnetId", "AllocationId", "ConnectivityType"),
        create_time=90.0,
        delete_time=45.0,
    ),
    KindFacts(
        name="route-table",
        service="ec2",
        create="CreateRouteTable",
        describe="DescribeRouteTables",
        delete="DeleteRouteTable",
        deleted_by="RouteTableId",
        arn_type="route-table",
        indexed_as="ec2:route-table",
        tag_type="route-table",
        token_in="ClientToken",  # noqa: S106 - the name of a parameter
        immutable=("VpcId",),
        parts=(
            PartFacts("route", "destination", "CreateRoute", "DeleteRoute", "ReplaceRoute"),
            PartFacts("route-table-association", "subnet", "AssociateRouteTable", "DisassociateRouteTable"),
        ),
    ),
    KindFacts(
        name="security-group",
        service="ec2",
        create="CreateSecurityGroup",
        describe="DescribeSecurityGroups",
        delete="DeleteSecurityGroup",
        deleted_by="GroupId",
        arn_type="security-group",
        indexed_as="ec2:security-group",
        tag_type="security-group",
        natural_key="name in the VPC: InvalidGroup.Duplicate",
        immutable=("GroupName", "Description", "VpcId"),
        parts=(
            PartFacts("ingress-rule", "content", "AuthorizeSecurityGroupIngress", "RevokeSecurityGroupIngress"),
            PartFacts("egress-rule", "content", "AuthorizeSecurityGroupEgress", "RevokeSecurityGroupEgress"),
        ),
        reads=("DescribeNetworkInterfaces",),
    ),
    KindFacts(
        name="vpc-endpoint",
        service="ec2",
        create="CreateVpcEndpoint",
        describe="DescribeVpcEndpoints",
        delete="DeleteVpcEndpoints",
        deleted_by="VpcEndpointIds",
        arn_type="vpc-endpoint",
        indexed_as="ec2:vpc-endpoint",
        tag_type="vpc-endpoint",
        token_in="ClientToken",  # noqa: S106 - the name of a parameter
        natural_key="service in the route table: RouteAlreadyExists",
        mutable={"PolicyDocument": "ModifyVpcEndpoint"},
        immutable=("VpcId", "ServiceName", "VpcEndpointType"),
        parts=(PartFacts("endpoint-route-table", "route table", "ModifyVpcEndpoint", "ModifyVpcEndpoint"),),
        delete_time=10.0,
    ),
    KindFacts(
        name="classic-load-balancer",
        service="elb",
        create="CreateLoadBalancer",
        describe="DescribeLoadBalancers",
        delete="DeleteLoadBalancer",
        deleted_by="LoadBalancerName",
        arn_type="loadbalancer",
        indexed_as="elasticloadbalancing:loadbalancer",
        tags_in="Tags",
        natural_key="name in the region: DuplicateLoadBalancerName",
        mutable={
            "HealthCheck": "ConfigureHealthCheck",
            "ConnectionSettings": "ModifyLoadBalancerAttributes",
            "CrossZoneLoadBalancing": "ModifyLoadBalancerAttributes",
            "SecurityGroups": "ApplySecurityGroupsToLoadBalancer",
        },
        immutable=("LoadBalancerName", "Scheme"),
        parts=(
            PartFacts("balancer-subnet", "subnet", "AttachLoadBalancerToSubnets", "DetachLoadBalancerFromSubnets"),
            PartFacts("classic-listener", "port", "CreateLoadBalancerListeners", "DeleteLoadBalancerListeners"),
        ),
        reads=("DescribeLoadBalancerAttributes",),
        create_time=10.0,
        delete_time=180.0,
    ),
    KindFacts(
        name="network-load-balancer",
        service="elbv2",
        create="CreateLoadBalancer",
        describe="DescribeLoadBalancers",
        delete="DeleteLoadBalancer",
        deleted_by="LoadBalancerArn",
        arn_type="loadbalancer",
        indexed_as="elasticloadbalancing:loadbalancer",
        tags_in="Tags",
        natural_key="name in the region: the same settings answer with the one that is there, "
        "others DuplicateLoadBalancerName",
        mutable={
            "LoadBalancerAttributes": "ModifyLoadBalancerAttributes",
            "SecurityGroups": "SetSecurityGroups",
            "Subnets": "SetSubnets",
        },
        by_person={"IpAddressType": "SetIpAddressType"},
        immutable=("Name", "Scheme", "Type"),
        reads=("DescribeLoadBalancerAttributes",),
        create_time=120.0,
        delete_time=180.0,
    ),
    KindFacts(
        name="target-group",
        service="elbv2",
        create="CreateTargetGroup",
        describe="DescribeTargetGroups",
        delete="DeleteTargetGroup",
        deleted_by="TargetGroupArn",
        arn_type="targetgroup",
        indexed_as="elasticloadbalancing:targetgroup",
        tags_in="Tags",
        natural_key="name in the region: the same settings answer with the one that is there, "
        "others DuplicateTargetGroupName",
        mutable={"HealthCheck": "ModifyTargetGroup", "Attributes": "ModifyTargetGroupAttributes"},
        immutable=("Name", "Protocol", "Port", "VpcId", "TargetType", "IpAddressType"),
        reads=("DescribeTargetGroupAttributes", "DescribeTargetHealth"),
    ),
    KindFacts(
        name="listener",
        service="elbv2",
        create="CreateListener",
        describe="DescribeListeners",
        delete="DeleteListener",
        deleted_by="ListenerArn",
        arn_type="listener",
        indexed_as="elasticloadbalancing:listener",
        tags_in="Tags",
        natural_key="port of the load balancer: the same settings answer with the one that is there, "
        "others DuplicateListener",
        mutable={"Port": "ModifyListener", "Protocol": "ModifyListener", "DefaultActions": "ModifyListener"},
        immutable=("LoadBalancerArn",),
    ),
    KindFacts(
        name="s3-bucket",
        service="s3",
        create="CreateBucket",
        describe="ListObjectsV2",
        delete="DeleteBucket",
        deleted_by="Bucket",
        arn_type="",
        indexed_as="s3:bucket",
        tags_in="CreateBucketConfiguration.Tags",
        natural_key="name in the partition: BucketAlreadyOwnedByYou, BucketAlreadyExists; us-east-1 answers with "
        "the one that is there",
        immutable=("Bucket", "LocationConstraint"),
        parts=(
            PartFacts("bucket-policy", "one of a bucket", "PutBucketPolicy", "DeleteBucketPolicy", "PutBucketPolicy"),
            PartFacts(
                "bucket-lifecycle",
                "one of a bucket",
                "PutBucketLifecycleConfiguration",
                "DeleteBucketLifecycle",
                "PutBucketLifecycleConfiguration",
            ),
            PartFacts("object", "key", "PutObject", "DeleteObject"),
        ),
        reads=("GetBucketPolicy", "GetBucketLifecycleConfiguration"),
    ),
    KindFacts(
        name="instance",
        service="ec2",
        create="RunInstances",
        describe="DescribeInstances",
        delete="TerminateInstances",
        deleted_by="InstanceIds",
        arn_type="instance",
        indexed_as="ec2:instance",
        tag_type="instance",
        token_in="ClientToken",  # noqa: S106 - the name of a parameter
        mutable={"SecurityGroups": "ModifyNetworkInterfaceAttribute"},
        by_person={
            "InstanceType": "ModifyInstanceAttribute",
            "UserData": "ModifyInstanceAttribute",
            "AssociatePublicIpAddress": "ModifyNetworkInterfaceAttribute",
        },
        immutable=("ImageId", "SubnetId", "KeyName"),
        parts=(
            PartFacts(
                "registration",
                "target group",
                "RegisterTargets",
                "DeregisterTargets",
                service="elbv2",
                read="DescribeTargetHealth",
            ),
            PartFacts(
                "registration",
                "classic load balancer",
                "RegisterInstancesWithLoadBalancer",
                "DeregisterInstancesFromLoadBalancer",
                service="elb",
                read="DescribeInstanceHealth",
            ),
        ),
        create_time=20.0,
        delete_time=40.0,
    ),
    KindFacts(
        name="bootstrap-secret",
        service="secretsmanager",
        create="CreateSecret",
        describe="DescribeSecret",
        delete="DeleteSecret",
        deleted_by="SecretId",
        arn_type="secret",
        indexed_as="secretsmanager:secret",
        tags_in="Tags",
        token_in="ClientRequestToken",  # noqa: S106 - the name of a parameter
        natural_key="name in the region: ResourceExistsException",
        immutable=("Name", "SecretBinary"),
        reads=("ListSecrets",),
    ),
    # -- of EKS clusters: IAM -----------------------------------------------------------------------------------
    KindFacts(
        name="iam-role",
        service="iam",
        create="CreateRole",
        describe="GetRole",
        delete="DeleteRole",
        deleted_by="RoleName",
        arn_type="role",
        indexed_as="",
        tags_in="Tags",
        natural_key="name in the account: EntityAlreadyExists",
        mutable={
            "AssumeRolePolicyDocument": "UpdateAssumeRolePolicy",
            "PermissionsBoundary": "PutRolePermissionsBoundary",
        },
        immutable=("RoleName", "Path"),
        parts=(PartFacts("policy", "ARN of the policy", "AttachRolePolicy", "DetachRolePolicy"),),
        writes=("DeleteRolePermissionsBoundary",),
        reads=("ListRoles", "ListAttachedRolePolicies", "ListRolePolicies", "ListInstanceProfilesForRole"),
    ),
    KindFacts(
        name="oidc-provider",
        service="iam",
        create="CreateOpenIDConnectProvider",
        describe="GetOpenIDConnectProvider",
        delete="DeleteOpenIDConnectProvider",
        deleted_by="OpenIDConnectProviderArn",
        arn_type="oidc-provider",
        indexed_as="",
        tags_in="Tags",
        natural_key="URL in the account: EntityAlreadyExists",
        by_person={"ClientIDList": "AddClientIDToOpenIDConnectProvider"},
        immutable=("Url",),
        reads=("ListOpenIDConnectProviders",),
    ),
)
"""The kinds of AWSCluster and AWSMachine. EKS adds its own."""

FACTS: Mapping[str, KindFacts] = {kind.name: kind for kind in KINDS}
"""The kinds by name."""

TAG_OPERATIONS: Mapping[str, frozenset[str]] = {
    "resourcegroupstaggingapi": frozenset({"GetResources", "TagResources", "UntagResources"}),
    "ec2": frozenset({"DescribeTags", "CreateTags", "DeleteTags"}),
    "elb": frozenset({"DescribeTags", "AddTags", "RemoveTags"}),
    "elbv2": frozenset({"DescribeTags", "AddTags", "RemoveTags"}),
    "s3": frozenset({"GetBucketTagging", "ListBuckets"}),
    "iam": frozenset(
        {
            "ListRoleTags",
            "TagRole",
            "UntagRole",
            "ListOpenIDConnectProviderTags",
            "TagOpenIDConnectProvider",
            "UntagOpenIDConnectProvider",
        }
    ),
    "secretsmanager": frozenset({"DescribeSecret", "TagResource", "UntagResource"}),
    "eks": frozenset({"ListTagsForResource", "TagResource", "UntagResource"}),
}
"""Operations of the tagger."""

SESSION_OPERATIONS: Mapping[str, frozenset[str]] = {"sts": frozenset({"AssumeRole", "GetCallerIdentity"})}

FACT_OPERATIONS: Mapping[str, frozenset[str]] = {
    "ssm": frozenset({"GetParameter"}),
    "ec2": frozenset({"DescribeImages", "DescribeInstanceTypes"}),
}
"""Reads of facts, besides reads of kinds."""

COLLECTION_READS: Mapping[str, frozenset[str]] = {"ec2": frozenset({"DescribeVolumes", "DescribeSnapshots"})}
COLLECTION_WRITES: Mapping[str, frozenset[str]] = {"ec2": frozenset({"CreateSnapshot"})}
COLLECTED_DELETES: Mapping[str, frozenset[str]] = {
    "ec2": frozenset({"DeleteSecurityGroup", "DeleteNetworkInterface", "DeleteVolume"}),
    "elb": frozenset({"DeleteLoadBalancer"}),
    "elbv2": frozenset({"DeleteLoadBalancer", "DeleteTargetGroup"}),
}
"""Operations of the collection of workloads' leftovers (collectors), besides reads of kinds."""

OTHER_OPERATIONS = (TAG_OPERATIONS, SESSION_OPERATIONS, FACT_OPERATIONS)
"""Operations that belong to no kind."""


def operations_of(service: str) -> frozenset[str]:
    """Return every operation of a service that we use."""
    of_kinds = (kind.read_operations | kind.write_operations for kind in KINDS if kind.service == service)
    of_parts = (name for kind in KINDS for of, name in kind.part_reads | kind.part_writes if of == service)
    tables = (*OTHER_OPERATIONS, COLLECTION_READS, COLLECTION_WRITES, COLLECTED_DELETES)
    more = (table.get(service, frozenset()) for table in tables)
    return frozenset(of_parts).union(*of_kinds, *more)
