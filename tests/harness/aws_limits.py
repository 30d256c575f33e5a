"""How each limit of the simulated AWS is reached, and the code that the service then has."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from harness.simulated_aws import ACCOUNT, TRUST

MOST = 2
"""What the test sets each limit to, beside what is held."""
Make = Callable[[int], Any]
"""Makes one more; numbered, for what has a name or a block."""


@dataclass(frozen=True)
class Limit:
    """`prepare` makes what the counted things need; `held` of them are there with it."""

    code: str
    prepare: Callable[[Any], Make]
    held: int = 0


def _cidrs(sim: Any) -> Make:
    vpc = sim.vpc()
    return lambda number: sim.ec2.associate_vpc_cidr_block(VpcId=vpc, CidrBlock=f"10.{number + 1}.0.0/16")


def _egress_only(sim: Any) -> Make:
    vpcs = [sim.vpc() for _ in range(MOST + 1)]
    return lambda number: sim.ec2.create_egress_only_internet_gateway(VpcId=vpcs[number])


def _subnets(sim: Any) -> Make:
    vpc = sim.vpc()
    return lambda number: sim.subnet(vpc, number)


def _nats(sim: Any) -> Make:
    _, (subnet, *_) = sim.network()
    return lambda number: sim.nat(subnet)


def _route_tables(sim: Any) -> Make:
    vpc = sim.vpc()
    return lambda number: sim.ec2.create_route_table(VpcId=vpc)


def _routes(sim: Any) -> Make:
    vpc = sim.vpc()
    table, gateway = sim.ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"], sim.gateway(vpc)
    return lambda number: sim.ec2.create_route(
        RouteTableId=table, DestinationCidrBlock=f"192.168.{number}.0/24", GatewayId=gateway
    )


def _groups(sim: Any) -> Make:
    vpc = sim.vpc()
    return lambda number: sim.group(vpc, f"group-{number}")


def _rules(sim: Any) -> Make:
    group = sim.group(sim.vpc())

    def make(number: int) -> Any:
        ranges = [{"CidrIp": f"10.{number}.0.0/16"}]
        rule = {"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "IpRanges": ranges}
        return sim.ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=[rule])

    return make


def _groups_of_interface(sim: Any) -> Make:
    vpc = sim.vpc()
    subnet, groups = sim.subnet(vpc), [sim.group(vpc, f"group-{number}") for number in range(MOST + 1)]
    return lambda number: sim.ec2.create_network_interface(SubnetId=subnet, Groups=groups[: number + 1])


def _endpoints(sim: Any) -> Make:
    vpc = sim.vpc()
    name = "com.amazonaws.us-east-1.s3"
    return lambda number: sim.ec2.create_vpc_endpoint(VpcId=vpc, ServiceName=name)


def _interfaces(sim: Any) -> Make:
    subnet = sim.subnet(sim.vpc())
    return lambda number: sim.ec2.create_network_interface(SubnetId=subnet)


def _vcpus(sim: Any) -> Make:
    subnet = sim.subnet(sim.vpc())
    return lambda number: sim.instance(subnet, InstanceType="t2.micro")


def _spot_vcpus(sim: Any) -> Make:
    subnet = sim.subnet(sim.vpc())
    spot = {"MarketType": "spot"}
    return lambda number: sim.instance(subnet, InstanceType="t2.micro", InstanceMarketOptions=spot)


def _classic_balancers(sim: Any) -> Make:
    _, subnets = sim.network()
    listener = {"Protocol": "TCP", "LoadBalancerPort": 80, "InstancePort": 80}
    return lambda number: sim.elb.create_load_balancer(
        LoadBalancerName=f"lb-{number}", Listeners=[listener], Subnets=subnets
    )


def _balancers(sim: Any) -> Make:
    _, subnets = sim.network()
    return lambda number: sim.balancer(subnets, f"lb-{number}")


def _target_groups(sim: Any) -> Make:
    vpc = sim.vpc()
    return lambda number: sim.target_group(vpc, f"tg-{number}")


def _listeners(sim: Any) -> Make:
    vpc, subnets = sim.network()
    balancer, group = sim.balancer(subnets), sim.target_group(vpc)
    actions = [{"Type": "forward", "TargetGroupArn": group}]
    return lambda number: sim.elbv2.create_listener(
        LoadBalancerArn=balancer, Protocol="TCP", Port=80 + number, DefaultActions=actions
    )


def _clusters(sim: Any) -> Make:
    (_, subnets), role = sim.network(), sim.role()
    where = {"roleArn": role, "resourcesVpcConfig": {"subnetIds": subnets}}
    return lambda number: sim.eks.create_cluster(name=f"cluster-{number}", **where)


def _nodegroups(sim: Any) -> Make:
    cluster = sim.cluster()
    where = {"nodeRole": cluster["roleArn"], "subnets": cluster["resourcesVpcConfig"]["subnetIds"]}
    return lambda number: sim.eks.create_nodegroup(clusterName="one", nodegroupName=f"nodes-{number}", **where)


def _roles(sim: Any) -> Make:
    return lambda number: sim.iam.create_role(RoleName=f"role-{number}", AssumeRolePolicyDocument=TRUST)


def _oidc_providers(sim: Any) -> Make:
    return lambda number: sim.iam.create_open_id_connect_provider(Url=f"https://{number}.example")


def _tags(sim: Any) -> Make:
    vpc = sim.vpc()
    return lambda number: sim.ec2.create_tags(Resources=[vpc], Tags=[{"Key": f"tag-{number}", "Value": ""}])


def _arns(sim: Any) -> Make:
    arns = [f"arn:aws:ec2:us-east-1:{ACCOUNT}:vpc/{sim.vpc()}" for _ in range(MOST + 1)]
    return lambda number: sim.tagging.tag_resources(ResourceARNList=arns[: number + 1], Tags={"a": "b"})


LIMITS = {
    "vpcs": Limit("VpcLimitExceeded", lambda sim: lambda number: sim.vpc()),
    "subnets_per_vpc": Limit("SubnetLimitExceeded", _subnets),
    "cidrs_per_vpc": Limit("CidrLimitExceeded", _cidrs, held=1),
    "internet_gateways": Limit(
        "InternetGatewayLimitExceeded", lambda sim: lambda number: sim.ec2.create_internet_gateway()
    ),
    "egress_only_gateways": Limit("ResourceLimitExceeded", _egress_only),
    "addresses": Limit("AddressLimitExceeded", lambda sim: lambda number: sim.ec2.allocate_address()),
    "nat_gateways_per_zone": Limit("NatGatewayLimitExceeded", _nats),
    "route_tables_per_vpc": Limit("RouteTableLimitExceeded", _route_tables, held=1),
    "routes_per_table": Limit("RouteLimitExceeded", _routes),
    "security_groups": Limit("SecurityGroupLimitExceeded", _groups, held=1),
    "rules_per_group": Limit("RulesPerSecurityGroupLimitExceeded", _rules),
    "groups_per_interface": Limit("SecurityGroupsPerInterfaceLimitExceeded", _groups_of_interface),
    "endpoints_per_vpc": Limit("VpcEndpointLimitExceeded", _endpoints),
    "interfaces": Limit("NetworkInterfaceLimitExceeded", _interfaces),
    "vcpus": Limit("VcpuLimitExceeded", _vcpus),
    "spot_vcpus": Limit("MaxSpotInstanceCountExceeded", _spot_vcpus),
    "classic_balancers": Limit("TooManyLoadBalancers", _classic_balancers),
    "balancers": Limit("TooManyLoadBalancers", _balancers),
    "target_groups": Limit("TooManyTargetGroups", _target_groups),
    "listeners_per_balancer": Limit("TooManyListeners", _listeners),
    "clusters": Limit("ResourceLimitExceededException", _clusters),
    "nodegroups_per_cluster": Limit("ResourceLimitExceededException", _nodegroups),
    "buckets": Limit("TooManyBuckets", lambda sim: lambda number: sim.s3.create_bucket(Bucket=f"bucket-{number}")),
    "roles": Limit("LimitExceeded", _roles),
    "oidc_providers": Limit("LimitExceeded", _oidc_providers),
    "tags": Limit("TagLimitExceeded", _tags),
    "arns_per_tag_call": Limit("InvalidParameterException", _arns),
}
