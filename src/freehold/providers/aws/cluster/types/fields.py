"""The fields of ``AWSCluster``: what is acted on. Data only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from freehold.api.served_fields import ServedField, ignore_field, refuse_field, serve_field

_FILLED_IN = "upstream fills it in; ids of resources are in status.resources"
_MACHINES = "for machines that name no image"
_CREATED = "of a VPC that is created"
_DERIVED = "where the spec lists no subnets"
_AS_IT_IS = "of a subnet that is created; an existing one is used as it is, and a plan says where the spec differs"


def _balancer(path: str, types: str) -> Iterator[ServedField]:
    yield serve_field(f"{path}.loadBalancerType", types)
    yield serve_field(f"{path}.name")
    yield serve_field(
        f"{path}.scheme",
        "beside ingressRules an internal one, also the second, lets the VPC's range into the group apiserver-lb: nodes "
        "reach it from there. Upstream looks at the first one alone",
    )
    yield serve_field(f"{path}.subnets", "ids, or the ids that spec.network.subnets gives")
    yield serve_field(f"{path}.additionalSecurityGroups")
    yield serve_field(f"{path}.ingressRules", "one security group is in front of both load balancers")
    yield serve_field(f"{path}.crossZoneLoadBalancing")
    yield serve_field(f"{path}.healthCheck", "of a classic load balancer too, where upstream keeps its own values")
    yield serve_field(f"{path}.healthCheckProtocol")
    yield serve_field(f"{path}.additionalListeners", "of a network load balancer")
    yield serve_field(f"{path}.preserveClientIP", "of a network load balancer")
    yield serve_field(f"{path}.targetGroupIPType")
    yield ignore_field(f"{path}.disableHostsRewrite", "it concerns the hosts file of machines")
    yield ignore_field(f"{path}.dnsResolutionCheck", "the name of the load balancer is not resolved before it is used")


AWS_CLUSTER_FIELDS: Final[tuple[ServedField, ...]] = (
    serve_field("spec.region"),
    serve_field("spec.partition", "derived from the region when omitted, as upstream does"),
    serve_field("spec.identityRef"),
    serve_field("spec.controlPlaneEndpoint", "filled in from the load balancer; a value of the user's stays"),
    serve_field("spec.additionalTags", "at most 40; tags of the cloud controller win, as upstream"),
    serve_field("spec.sshKeyName", "for the bastion, and for machines"),
    serve_field("spec.network.vpc.id"),
    serve_field("spec.network.vpc.cidrBlock", _CREATED),
    serve_field(
        "spec.network.vpc.secondaryCidrBlocks", f"{_CREATED}; not of another private range (RFC 1918) than cidrBlock"
    ),
    serve_field("spec.network.vpc.availabilityZoneUsageLimit", f"{_DERIVED}; a lower limit takes no zone away"),
    serve_field(
        "spec.network.vpc.availabilityZoneSelection", f"{_DERIVED}; Random: by a hash of the cluster's name, for life"
    ),
    serve_field("spec.network.vpc.subnetSchema", _DERIVED),
    serve_field(
        "spec.network.vpc.ipv6",
        "a range from Amazon; neither added to a living cluster nor taken away; an existing VPC must have subnets with "
        "IPv6",
    ),
    refuse_field(
        "spec.network.vpc.ipv6.cidrBlock", "ranges of your own are not served; remove it to get one from Amazon"
    ),
    refuse_field("spec.network.vpc.ipv6.poolId", "ranges of your own are not served; remove it to get one from Amazon"),
    refuse_field("spec.network.vpc.ipv6.ipamPool", "IPAM is not served; remove it to get a range from Amazon"),
    ignore_field("spec.network.vpc.ipv6.egressOnlyInternetGatewayId", _FILLED_IN),
    refuse_field("spec.network.vpc.ipamPool", "IPAM is not served; give the range in cidrBlock"),
    refuse_field(
        "spec.network.vpc.elasticIpPool", "pools of your own are not served; remove it to get Amazon's addresses"
    ),
    ignore_field("spec.network.vpc.emptyRoutesDefaultVPCSecurityGroup", "no resource of the cluster uses that group"),
    ignore_field(
        "spec.network.vpc.privateDnsHostnameTypeOnLaunch", "instances are named by their addresses, AWS' default"
    ),
    ignore_field("spec.network.vpc.internetGatewayId", _FILLED_IN),
    ignore_field("spec.network.vpc.carrierGatewayId", "Wavelength zones are not served"),
    ignore_field("spec.network.vpc.tags", "spec.additionalTags are for all resources"),
    serve_field("spec.network.subnets[*].id", "with an existing VPC one in an availability zone; others are refused"),
    serve_field("spec.network.subnets[*].availabilityZone", _AS_IT_IS),
    serve_field("spec.network.subnets[*].cidrBlock", _AS_IT_IS),
    serve_field("spec.network.subnets[*].ipv6CidrBlock", "of a subnet that is created; an existing one keeps its own"),
    serve_field("spec.network.subnets[*].isIpv6", _AS_IT_IS),
    serve_field("spec.network.subnets[*].isPublic", _AS_IT_IS),
    serve_field("spec.network.subnets[*].zoneType", "availability-zone; others are refused, with an existing VPC too"),
    ignore_field("spec.network.subnets[*].parentZoneName", "local and Wavelength zones are not served"),
    serve_field(
        "spec.network.subnets[*].tags",
        "written on a subnet that is created. With sigs.k8s.io/cluster-api-provider-aws/association: secondary, here "
        "or in AWS, it is for pods: no load balancer, NAT gateway or bastion is put into it, as upstream",
    ),
    ignore_field("spec.network.subnets[*].natGatewayId", _FILLED_IN),
    ignore_field("spec.network.subnets[*].resourceID", _FILLED_IN),
    ignore_field("spec.network.subnets[*].routeTableId", _FILLED_IN),
    serve_field(
        "spec.network.cni",
        "Calico's rules when omitted, as upstream; in a VPC with IPv6 VXLAN (UDP 4789) too, which upstream leaves out: "
        "IP-in-IP carries no IPv6",
    ),
    serve_field("spec.network.additionalControlPlaneIngressRules"),
    serve_field("spec.network.additionalNodeIngressRules"),
    serve_field("spec.network.nodePortIngressRuleCidrBlocks"),
    serve_field(
        "spec.network.securityGroupOverrides", "with an existing VPC; groups of that VPC, into which nothing is put"
    ),
    *_balancer(
        "spec.controlPlaneLoadBalancer",
        "classic, nlb or disabled. What an nlb sends to machines is let in by the group controlplane, and not, as "
        "upstream's, by lb: what is in that one is for the cloud controller to say, and control-plane machines are in "
        "both",
    ),
    *_balancer("spec.secondaryControlPlaneLoadBalancer", "nlb, as upstream"),
    serve_field(
        "spec.bastion",
        "with an existing VPC too: in a public one of the subnets that the spec lists. Upstream makes none there, and "
        "says so in its log alone; who enables one wants it, and it needs nothing of the VPC but that subnet",
    ),
    serve_field(
        "spec.s3Bucket",
        "with feature gate BootstrapFormatIgnition; deleted when nothing is in it but ours. Its policy lets nodes read "
        "node/, and not, as upstream's, machine-pool/: machine pools are not served",
    ),
    ignore_field("spec.s3Bucket.additionalIAMRoles", "the policy of the bucket names instance profiles alone"),
    ignore_field("spec.s3Bucket.bestEffortDeleteObjects", "objects of others are never deleted"),
    serve_field("spec.imageLookupBaseOS", _MACHINES),
    serve_field("spec.imageLookupFormat", _MACHINES),
    serve_field("spec.imageLookupOrg", _MACHINES),
)
"""In the order of the docs: what everything needs, the network, load balancers, the rest."""

_NETWORK_STATUS = "status.networkStatus"
_FRONT, _SECOND = f"{_NETWORK_STATUS}.apiServerElb", f"{_NETWORK_STATUS}.secondaryAPIServerELB"
_TAGS = "tags are in the cloud, where others add theirs; a copy would be behind them"
_OF_MACHINES = (
    "assignPrimaryIPv6", "capacityReservationId", "capacityReservationPreference", "cpuOptions",
    "dynamicHostAllocation", "ebsOptimized", "enaSupport", "hostAffinity", "hostID", "iamProfile",
    "instanceMetadataOptions", "ipv6Address", "marketType", "networkInterfaceType", "networkInterfaces",
    "nonRootVolumes", "placementGroupName", "placementGroupPartition", "privateDnsName", "publicIPOnLaunch",
    "rootVolume", "spotMarketOptions", "tenancy", "userData", "volumeIDs",
)  # fmt: skip

AWS_CLUSTER_STATUS_LEFT_OUT: Final[tuple[ServedField, ...]] = (
    ignore_field(
        f"{_NETWORK_STATUS}.securityGroups.*.ingressRule",
        "rules are in the spec, and in EC2 as the spec has them; who reads groups here needs their ids, and a copy of "
        "all rules would be stored with each status",
    ),
    ignore_field(f"{_NETWORK_STATUS}.securityGroups.*.tags", _TAGS),
    ignore_field(f"{_FRONT}.tags", _TAGS),
    ignore_field(f"{_SECOND}.tags", _TAGS),
    *(
        ignore_field(f"{_SECOND}.{field}", "of a classic load balancer, which the second one never is")
        for field in ("attributes", "healthChecks", "listeners")
    ),
    ignore_field("status.bastion.tags", _TAGS),
    *(
        ignore_field(f"status.bastion.{field}", "details of machines; EC2 tells those of a bastion")
        for field in _OF_MACHINES
    ),
    ignore_field("status.failureDomains.*.attributes", "upstream writes none for AWSCluster"),
    ignore_field(
        "status.conditions[*].severity", "conditions are those of Cluster API's newer contract, which has none"
    ),
)
"""Fields of upstream's status that are never written, with the reason."""
