"""The kinds of resources of EC2: ids, error codes and filters. Filters: the Describe pages of the EC2 API reference."""

from freehold_sim.aws.ec2.kinds import Kind

VPC = Kind(
    "vpc", "vpc", "VpcId", "InvalidVpcID.NotFound", "vpc ID", "InvalidVpcID.Malformed",
    {
        "vpc-id": "VpcId", "state": "State", "cidr": "CidrBlock", "is-default": "IsDefault", "owner-id": "OwnerId",
        "dhcp-options-id": "DhcpOptionsId", "cidr-block-association.cidr-block": "CidrBlockAssociationSet.CidrBlock",
        "cidr-block-association.association-id": "CidrBlockAssociationSet.AssociationId",
        "cidr-block-association.state": "CidrBlockAssociationSet.CidrBlockState.State",
        "ipv6-cidr-block-association.association-id": "Ipv6CidrBlockAssociationSet.AssociationId",
        "ipv6-cidr-block-association.state": "Ipv6CidrBlockAssociationSet.Ipv6CidrBlockState.State",
        "ipv6-cidr-block-association.ipv6-cidr-block": "Ipv6CidrBlockAssociationSet.Ipv6CidrBlock",
    },
)  # fmt: skip
SUBNET = Kind(
    "subnet", "subnet", "SubnetId", "InvalidSubnetID.NotFound", "subnet ID", "InvalidSubnetID.Malformed",
    {
        "subnet-id": "SubnetId", "vpc-id": "VpcId", "state": "State", "cidr-block": "CidrBlock", "cidr": "CidrBlock",
        "availability-zone": "AvailabilityZone", "availabilityZone": "AvailabilityZone", "owner-id": "OwnerId",
        "availability-zone-id": "AvailabilityZoneId", "map-public-ip-on-launch": "MapPublicIpOnLaunch",
        "default-for-az": "DefaultForAz", "subnet-arn": "SubnetArn", "enable-dns64": "EnableDns64",
        "ipv6-native": "Ipv6Native", "available-ip-address-count": "AvailableIpAddressCount",
        "cidrBlock": "CidrBlock", "map-customer-owned-ip-on-launch": "MapCustomerOwnedIpOnLaunch",
        "private-dns-name-options-on-launch.hostname-type": "PrivateDnsNameOptionsOnLaunch.HostnameType",
        "private-dns-name-options-on-launch.enable-resource-name-dns-a-record":
            "PrivateDnsNameOptionsOnLaunch.EnableResourceNameDnsARecord",
        "private-dns-name-options-on-launch.enable-resource-name-dns-aaaa-record":
            "PrivateDnsNameOptionsOnLaunch.EnableResourceNameDnsAAAARecord",
        "ipv6-cidr-block-association.association-id": "Ipv6CidrBlockAssociationSet.AssociationId",
        "ipv6-cidr-block-association.state": "Ipv6CidrBlockAssociationSet.Ipv6CidrBlockState.State",
        "ipv6-cidr-block-association.ipv6-cidr-block": "Ipv6CidrBlockAssociationSet.Ipv6CidrBlock",
    },
)  # fmt: skip
INTERNET_GATEWAY = Kind(
    "internet-gateway", "igw", "InternetGatewayId", "InvalidInternetGatewayID.NotFound", "internetGateway ID",
    "InvalidInternetGatewayId.Malformed",
    {
        "internet-gateway-id": "InternetGatewayId", "attachment.vpc-id": "Attachments.VpcId",
        "attachment.state": "Attachments.State", "owner-id": "OwnerId",
    },
)  # fmt: skip
EGRESS_ONLY_GATEWAY = Kind(
    "egress-only-internet-gateway", "eigw", "EgressOnlyInternetGatewayId", "InvalidGatewayID.NotFound",
    "egressOnlyInternetGateway ID", "InvalidEgressOnlyInternetGatewayId.Malformed",
)  # fmt: skip
ADDRESS = Kind(
    "elastic-ip", "eipalloc", "AllocationId", "InvalidAllocationID.NotFound", "allocation ID",
    "InvalidAllocationID.Malformed",
    {
        "allocation-id": "AllocationId", "association-id": "AssociationId", "instance-id": "InstanceId",
        "public-ip": "PublicIp", "private-ip-address": "PrivateIpAddress", "network-interface-id": "NetworkInterfaceId",
        "network-border-group": "NetworkBorderGroup", "network-interface-owner-id": "NetworkInterfaceOwnerId",
    },
)  # fmt: skip
NAT_GATEWAY = Kind(
    "natgateway", "nat", "NatGatewayId", "NatGatewayNotFound", "NAT gateway", "NatGatewayMalformed",
    {"nat-gateway-id": "NatGatewayId", "state": "State", "subnet-id": "SubnetId", "vpc-id": "VpcId"},
)  # fmt: skip
ROUTE_TABLE = Kind(
    "route-table", "rtb", "RouteTableId", "InvalidRouteTableID.NotFound", "routeTable ID",
    "InvalidRouteTableId.Malformed",
    {
        "route-table-id": "RouteTableId", "vpc-id": "VpcId", "owner-id": "OwnerId",
        "association.main": "Associations.Main", "association.subnet-id": "Associations.SubnetId",
        "association.route-table-id": "Associations.RouteTableId",
        "association.route-table-association-id": "Associations.RouteTableAssociationId",
        "association.gateway-id": "Associations.GatewayId", "route.state": "Routes.State",
        "route.destination-cidr-block": "Routes.DestinationCidrBlock", "route.origin": "Routes.Origin",
        "route.gateway-id": "Routes.GatewayId", "route.nat-gateway-id": "Routes.NatGatewayId",
        "route.destination-ipv6-cidr-block": "Routes.DestinationIpv6CidrBlock",
        "route.egress-only-internet-gateway-id": "Routes.EgressOnlyInternetGatewayId",
        "route.destination-prefix-list-id": "Routes.DestinationPrefixListId", "route.instance-id": "Routes.InstanceId",
    },
)  # fmt: skip


def _permissions(name: str, member: str) -> dict[str, str]:
    """Return the filters of the rules of a direction; a rule does not show the names of groups."""
    paths = {
        "group-id": "UserIdGroupPairs.GroupId", "user-id": "UserIdGroupPairs.UserId", "cidr": "IpRanges.CidrIp",
        "ipv6-cidr": "Ipv6Ranges.CidrIpv6", "prefix-list-id": "PrefixListIds.PrefixListId", "protocol": "IpProtocol",
        "from-port": "FromPort", "to-port": "ToPort",
    }  # fmt: skip
    return {f"{name}.{each}": f"{member}.{path}" for each, path in paths.items()}


SECURITY_GROUP = Kind(
    "security-group", "sg", "GroupId", "InvalidGroup.NotFound", "security group", "InvalidGroupId.Malformed",
    {
        "group-id": "GroupId", "group-name": "GroupName", "vpc-id": "VpcId", "description": "Description",
        "owner-id": "OwnerId", **_permissions("ip-permission", "IpPermissions"),
        **_permissions("egress.ip-permission", "IpPermissionsEgress"),
    },
)  # fmt: skip
SECURITY_GROUP_RULE = Kind(
    "security-group-rule", "sgr", "SecurityGroupRuleId", "InvalidSecurityGroupRuleId.NotFound",
    "security group rule ID", "InvalidSecurityGroupRuleId.Malformed",
    {"group-id": "GroupId", "security-group-rule-id": "SecurityGroupRuleId"},
)  # fmt: skip
INTERFACE = Kind(
    "network-interface", "eni", "NetworkInterfaceId", "InvalidNetworkInterfaceID.NotFound", "networkInterface ID",
    "InvalidNetworkInterfaceId.Malformed",
    {
        "network-interface-id": "NetworkInterfaceId", "vpc-id": "VpcId", "subnet-id": "SubnetId", "status": "Status",
        "group-id": "Groups.GroupId", "group-name": "Groups.GroupName", "description": "Description",
        "private-dns-name": "PrivateDnsName",
        "requester-id": "RequesterId", "requester-managed": "RequesterManaged", "owner-id": "OwnerId",
        "private-ip-address": "PrivateIpAddress", "availability-zone": "AvailabilityZone",
        "interface-type": "InterfaceType", "attachment.instance-id": "Attachment.InstanceId",
        "attachment.attachment-id": "Attachment.AttachmentId", "attachment.status": "Attachment.Status",
        "attachment.device-index": "Attachment.DeviceIndex", "mac-address": "MacAddress",
        "association.public-ip": "Association.PublicIp", "association.allocation-id": "Association.AllocationId",
        "association.association-id": "Association.AssociationId", "association.ip-owner-id": "Association.IpOwnerId",
        "attachment.delete-on-termination": "Attachment.DeleteOnTermination", "source-dest-check": "SourceDestCheck",
        "attachment.instance-owner-id": "Attachment.InstanceOwnerId", "addresses.primary": "PrivateIpAddresses.Primary",
        "addresses.private-ip-address": "PrivateIpAddresses.PrivateIpAddress",
    },
    "TagSet",
)  # fmt: skip
ENDPOINT = Kind(
    "vpc-endpoint", "vpce", "VpcEndpointId", "InvalidVpcEndpointId.NotFound", "Vpc Endpoint Id",
    "InvalidVpcEndpointId.Malformed",
    {
        "vpc-endpoint-id": "VpcEndpointId", "vpc-id": "VpcId", "service-name": "ServiceName",
        "vpc-endpoint-state": "State", "vpc-endpoint-type": "VpcEndpointType",
    },
)  # fmt: skip
_CARD = {
    "group-id": "Groups.GroupId", "group-name": "Groups.GroupName", "description": "Description",
    "mac-address": "MacAddress", "owner-id": "OwnerId", "private-dns-name": "PrivateDnsName", "status": "Status",
    "private-ip-address": "PrivateIpAddress", "source-dest-check": "SourceDestCheck", "subnet-id": "SubnetId",
    "vpc-id": "VpcId", "addresses.primary": "PrivateIpAddresses.Primary",
    "addresses.private-ip-address": "PrivateIpAddresses.PrivateIpAddress",
    "addresses.private-dns-name": "PrivateIpAddresses.PrivateDnsName", "association.public-ip": "Association.PublicIp",
    "association.ip-owner-id": "Association.IpOwnerId", "attachment.attachment-id": "Attachment.AttachmentId",
    "attachment.device-index": "Attachment.DeviceIndex", "attachment.status": "Attachment.Status",
    "attachment.delete-on-termination": "Attachment.DeleteOnTermination",
}  # fmt: skip
"""Filters of the interfaces of an instance."""
INSTANCE = Kind(
    "instance", "i", "InstanceId", "InvalidInstanceID.NotFound", "instance ID", "InvalidInstanceID.Malformed",
    {
        "instance-id": "InstanceId", "vpc-id": "VpcId", "subnet-id": "SubnetId", "image-id": "ImageId",
        "instance-state-name": "State.Name", "instance-state-code": "State.Code", "instance-type": "InstanceType",
        "availability-zone": "Placement.AvailabilityZone", "client-token": "ClientToken", "key-name": "KeyName",
        "private-ip-address": "PrivateIpAddress", "private-dns-name": "PrivateDnsName", "ip-address": "PublicIpAddress",
        "instance.group-id": "SecurityGroups.GroupId", "instance.group-name": "SecurityGroups.GroupName",
        "network-interface.network-interface-id": "NetworkInterfaces.NetworkInterfaceId",
        "iam-instance-profile.arn": "IamInstanceProfile.Arn", "architecture": "Architecture",
        "iam-instance-profile.id": "IamInstanceProfile.Id", "dns-name": "PublicDnsName",
        "ebs-optimized": "EbsOptimized",
        "instance-lifecycle": "InstanceLifecycle", "spot-instance-request-id": "SpotInstanceRequestId",
        "tenancy": "Placement.Tenancy", "placement-group-name": "Placement.GroupName",
        "availability-zone-id": "Placement.AvailabilityZoneId",
        "block-device-mapping.volume-id": "BlockDeviceMappings.Ebs.VolumeId", "ena-support": "EnaSupport",
        "block-device-mapping.status": "BlockDeviceMappings.Ebs.Status", "hypervisor": "Hypervisor",
        "block-device-mapping.delete-on-termination": "BlockDeviceMappings.Ebs.DeleteOnTermination",
        "block-device-mapping.device-name": "BlockDeviceMappings.DeviceName", "launch-index": "AmiLaunchIndex",
        "metadata-options.http-endpoint": "MetadataOptions.HttpEndpoint",
        "metadata-options.http-put-response-hop-limit": "MetadataOptions.HttpPutResponseHopLimit",
        "metadata-options.http-tokens": "MetadataOptions.HttpTokens", "metadata-options.state": "MetadataOptions.State",
        "monitoring-state": "Monitoring.State", "reason": "StateTransitionReason", "root-device-name": "RootDeviceName",
        "root-device-type": "RootDeviceType", "source-dest-check": "SourceDestCheck",
        "state-reason-code": "StateReason.Code", "state-reason-message": "StateReason.Message",
        "virtualization-type": "VirtualizationType",
        **{f"network-interface.{name}": f"NetworkInterfaces.{path}" for name, path in _CARD.items()},
    },
)  # fmt: skip
VOLUME = Kind(
    "volume", "vol", "VolumeId", "InvalidVolume.NotFound", "volume", "InvalidVolumeID.Malformed",
    {
        "volume-id": "VolumeId", "status": "State", "size": "Size", "volume-type": "VolumeType",
        "availability-zone": "AvailabilityZone", "attachment.instance-id": "Attachments.InstanceId",
        "attachment.status": "Attachments.State", "encrypted": "Encrypted", "snapshot-id": "SnapshotId",
        "attachment.delete-on-termination": "Attachments.DeleteOnTermination",
        "attachment.device": "Attachments.Device", "multi-attach-enabled": "MultiAttachEnabled",
    },
)  # fmt: skip
SNAPSHOT = Kind(
    "snapshot", "snap", "SnapshotId", "InvalidSnapshot.NotFound", "snapshot", "InvalidSnapshotID.Malformed",
    {
        "snapshot-id": "SnapshotId", "volume-id": "VolumeId", "status": "State", "description": "Description",
        "owner-id": "OwnerId", "volume-size": "VolumeSize", "encrypted": "Encrypted", "progress": "Progress",
        "storage-tier": "StorageTier",
    },
)  # fmt: skip
KEY_PAIR = Kind(
    "key-pair", "key", "KeyPairId", "InvalidKeyPair.NotFound", "key pair", "InvalidParameterValue",
    {"key-pair-id": "KeyPairId", "key-name": "KeyName", "fingerprint": "KeyFingerprint"},
)  # fmt: skip
PLACEMENT_GROUP = Kind(
    "placement-group", "pg", "GroupId", "InvalidPlacementGroup.Unknown", "Placement Group ID",
    "InvalidParameterValue",
    {"group-name": "GroupName", "group-arn": "GroupArn", "state": "State", "strategy": "Strategy"},
)  # fmt: skip
SPOT_REQUEST = Kind(
    "spot-instances-request", "sir", "SpotInstanceRequestId", "InvalidSpotInstanceRequestID.NotFound",
    "spot instance request ID", "InvalidSpotInstanceRequestID.Malformed",
    {
        "spot-instance-request-id": "SpotInstanceRequestId", "instance-id": "InstanceId", "state": "State",
        "status-code": "Status.Code", "type": "Type", "launched-availability-zone": "LaunchedAvailabilityZone",
    },
)  # fmt: skip
DHCP_OPTIONS = Kind(
    "dhcp-options", "dopt", "DhcpOptionsId", "InvalidDhcpOptionID.NotFound", "dhcpOption ID",
    "InvalidDhcpOptionsId.Malformed",
    {"dhcp-options-id": "DhcpOptionsId", "key": "DhcpConfigurations.Key", "owner-id": "OwnerId",
     "value": "DhcpConfigurations.Values.Value"},
)  # fmt: skip

TAGGABLE: dict[str, Kind] = {
    kind.prefix: kind
    for kind in (
        VPC, SUBNET, INTERNET_GATEWAY, EGRESS_ONLY_GATEWAY, ADDRESS, NAT_GATEWAY, ROUTE_TABLE, SECURITY_GROUP,
        SECURITY_GROUP_RULE, INTERFACE, ENDPOINT, INSTANCE, VOLUME, SNAPSHOT, KEY_PAIR, PLACEMENT_GROUP, SPOT_REQUEST,
    )
}  # fmt: skip
"""Kinds that CreateTags and DeleteTags know, by the prefix of their ids."""
