"""Which actions know the tags of the resource that they name, in a condition (`aws:ResourceTag`).

By the tables of https://docs.aws.amazon.com/service-authorization/latest/reference/reference_policies_actions-resources-contextkeys.html
"""

from collections.abc import Mapping

_NAMES: Mapping[str, str] = {
    "ec2": """
        AllocateAddress AssociateAddress AssociateRouteTable AssociateSubnetCidrBlock AssociateVpcCidrBlock
        AttachInternetGateway AttachNetworkInterface AuthorizeSecurityGroupEgress AuthorizeSecurityGroupIngress
        CreateEgressOnlyInternetGateway CreateNatGateway CreateNetworkInterface CreatePlacementGroup CreateRoute
        CreateRouteTable CreateSecurityGroup CreateSnapshot CreateSubnet CreateTags CreateVolume CreateVpc
        CreateVpcEndpoint DeleteEgressOnlyInternetGateway DeleteInternetGateway DeleteKeyPair DeleteNatGateway
        DeleteNetworkInterface DeletePlacementGroup DeleteRoute DeleteRouteTable DeleteSecurityGroup DeleteSnapshot
        DeleteSubnet DeleteTags DeleteVolume DeleteVpc DeleteVpcEndpoints DescribeInstanceAttribute
        DescribeNetworkInterfaceAttribute DescribeVpcAttribute DetachInternetGateway DetachNetworkInterface
        DisassociateAddress DisassociateRouteTable DisassociateSubnetCidrBlock DisassociateVpcCidrBlock
        ModifyInstanceAttribute ModifyInstanceMetadataOptions ModifyNetworkInterfaceAttribute ModifySubnetAttribute
        ModifyVpcAttribute ModifyVpcEndpoint ReleaseAddress ReplaceRoute ReplaceRouteTableAssociation
        RevokeSecurityGroupEgress RevokeSecurityGroupIngress RunInstances StartInstances StopInstances
        TerminateInstances
    """,
    "elb": """
        AddTags ApplySecurityGroupsToLoadBalancer AttachLoadBalancerToSubnets ConfigureHealthCheck CreateLoadBalancer
        CreateLoadBalancerListeners DeleteLoadBalancer DeleteLoadBalancerListeners
        DeregisterInstancesFromLoadBalancer DetachLoadBalancerFromSubnets ModifyLoadBalancerAttributes
        RegisterInstancesWithLoadBalancer RemoveTags
    """,
    "elbv2": """
        AddTags CreateListener CreateLoadBalancer CreateTargetGroup DeleteListener DeleteLoadBalancer
        DeleteTargetGroup DeregisterTargets ModifyListener ModifyLoadBalancerAttributes ModifyTargetGroup
        ModifyTargetGroupAttributes RegisterTargets RemoveTags SetSecurityGroups SetSubnets
    """,
    "secretsmanager": """
        CreateSecret DeleteSecret DescribeSecret GetSecretValue PutSecretValue TagResource UntagResource
    """,
    "ssm": "GetParameter",
}
"""Services whose tables have the key in the rows of the actions. EC2 names it for nothing that only lists."""
BY_ACTION = {service: frozenset(names.split()) for service, names in _NAMES.items()}

_BY_TYPE = frozenset({"iam", "eks"})
"""Services whose tables have it with their types of resources. S3 has it so too, and heeds it only for a bucket whose
owner enabled that (https://docs.aws.amazon.com/AmazonS3/latest/userguide/buckets-tagging-enable-abac.html)."""


def knows_resource_tags(service: str, operation: str) -> bool:
    """Whether a condition of this action can test the tags of the resource."""
    return service in _BY_TYPE or operation in BY_ACTION.get(service, frozenset())
