"""The life of a default AWS cluster in plain boto3: the calls that an operator needs at least, create to delete.

Three zones, six subnets, three NAT gateways, four security groups, a classic load balancer.
"""

from collections.abc import Callable
from typing import Any

OWN = "kubernetes.io/cluster/one"
Later = Callable[[float], None]
"""Lets time pass."""


def _born(kind: str, name: str) -> list[dict[str, Any]]:
    tags = {"Name": name, OWN: "owned", "role": "common", "mark": "0123456789abcdef", "seal": "fedcba9876543210"}
    return [{"ResourceType": kind, "Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}]


def _filters(**by: str) -> list[dict[str, Any]]:
    return [{"Name": name.replace("_", "-"), "Values": [value]} for name, value in by.items()]


def live(ec2: Any, elb: Any, tagging: Any, later: Later) -> int:
    """Create, look twice, delete. Returns how many resources the tagging API showed in between."""
    network = _create_network(ec2, later)
    groups = _create_groups(ec2, network["vpc"])
    _create_balancer(elb, network, groups)
    later(60)
    for _ in range(2):
        shown = _look(ec2, elb, tagging, network["vpc"])
    _delete(ec2, elb, network, groups, later)
    return shown


def _create_network(ec2: Any, later: Later) -> dict[str, Any]:
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16", TagSpecifications=_born("vpc", "one-vpc"))["Vpc"]["VpcId"]
    later(2)
    ec2.describe_vpcs(VpcIds=[vpc])
    ec2.modify_vpc_attribute(VpcId=vpc, EnableDnsHostnames={"Value": True})
    gateway = ec2.create_internet_gateway(TagSpecifications=_born("internet-gateway", "one-igw"))
    gateway = gateway["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    zones = [zone["ZoneName"] for zone in ec2.describe_availability_zones()["AvailabilityZones"][:3]]
    subnets = [
        ec2.create_subnet(
            VpcId=vpc, CidrBlock=f"10.0.{number}.0/24", AvailabilityZone=zones[number % 3],
            TagSpecifications=_born("subnet", f"one-{number}"),
        )["Subnet"]["SubnetId"]
        for number in range(6)
    ]  # fmt: skip
    for subnet in subnets[:3]:
        ec2.modify_subnet_attribute(SubnetId=subnet, MapPublicIpOnLaunch={"Value": True})
    addresses = [
        ec2.allocate_address(Domain="vpc", TagSpecifications=_born("elastic-ip", "one"))["AllocationId"]
        for _ in range(3)
    ]
    nats = [
        ec2.create_nat_gateway(SubnetId=subnet, AllocationId=address, TagSpecifications=_born("natgateway", "one"))
        for subnet, address in zip(subnets, addresses, strict=False)
    ]
    nats = [each["NatGateway"]["NatGatewayId"] for each in nats]
    later(100)
    ec2.describe_nat_gateways(NatGatewayIds=nats)
    tables, associations = [], []
    for number, subnet in enumerate(subnets):
        made = ec2.create_route_table(VpcId=vpc, TagSpecifications=_born("route-table", f"one-{number}"))
        table = made["RouteTable"]["RouteTableId"]
        target = {"GatewayId": gateway} if number < 3 else {"NatGatewayId": nats[number - 3]}
        ec2.create_route(RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", **target)
        associations.append(ec2.associate_route_table(RouteTableId=table, SubnetId=subnet)["AssociationId"])
        tables.append(table)
    return {
        "vpc": vpc, "gateway": gateway, "subnets": subnets, "addresses": addresses, "nats": nats, "tables": tables,
        "associations": associations,
    }  # fmt: skip


def _create_groups(ec2: Any, vpc: str) -> list[str]:
    groups = [
        ec2.create_security_group(
            VpcId=vpc, GroupName=f"one-{role}", Description=role, TagSpecifications=_born("security-group", role)
        )["GroupId"]
        for role in ("lb", "apiserver", "controlplane", "node")
    ]
    anywhere = {"IpRanges": [{"CidrIp": "0.0.0.0/0"}]}
    for group in groups[1:]:
        rules = [
            {"IpProtocol": "tcp", "FromPort": 6443, "ToPort": 6443, **anywhere},
            {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": groups[3]}]},
        ]
        ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=rules)
    return groups


def _create_balancer(elb: Any, network: dict[str, Any], groups: list[str]) -> None:
    listeners = [{"Protocol": "TCP", "LoadBalancerPort": 6443, "InstanceProtocol": "TCP", "InstancePort": 6443}]
    tags = _born("load-balancer", "one-apiserver")[0]["Tags"]
    elb.create_load_balancer(
        LoadBalancerName="one-apiserver", Listeners=listeners, Subnets=network["subnets"][:3],
        SecurityGroups=groups[1:2], Tags=tags,
    )  # fmt: skip
    check = {"Target": "TCP:6443", "Interval": 10, "Timeout": 5, "HealthyThreshold": 5, "UnhealthyThreshold": 3}
    elb.configure_health_check(LoadBalancerName="one-apiserver", HealthCheck=check)
    elb.modify_load_balancer_attributes(
        LoadBalancerName="one-apiserver", LoadBalancerAttributes={"ConnectionSettings": {"IdleTimeout": 600}}
    )


def _look(ec2: Any, elb: Any, tagging: Any, vpc: str) -> int:
    ec2.describe_vpcs(VpcIds=[vpc])
    ec2.describe_vpc_attribute(VpcId=vpc, Attribute="enableDnsHostnames")
    ec2.describe_subnets(Filters=_filters(vpc_id=vpc))
    ec2.describe_route_tables(Filters=_filters(vpc_id=vpc))
    ec2.describe_security_groups(Filters=_filters(vpc_id=vpc))
    ec2.describe_nat_gateways(Filter=_filters(vpc_id=vpc))
    ec2.describe_internet_gateways(Filters=[{"Name": "attachment.vpc-id", "Values": [vpc]}])
    ec2.describe_addresses(Filters=[{"Name": f"tag:{OWN}", "Values": ["owned"]}])
    elb.describe_load_balancers(LoadBalancerNames=["one-apiserver"])
    elb.describe_tags(LoadBalancerNames=["one-apiserver"])
    found = tagging.get_resources(TagFilters=[{"Key": OWN, "Values": ["owned"]}])
    return len(found["ResourceTagMappingList"])


def _delete(ec2: Any, elb: Any, network: dict[str, Any], groups: list[str], later: Later) -> None:
    elb.delete_load_balancer(LoadBalancerName="one-apiserver")
    for association in network["associations"]:
        ec2.disassociate_route_table(AssociationId=association)
    for table in network["tables"]:
        ec2.delete_route_table(RouteTableId=table)
    for nat in network["nats"]:
        ec2.delete_nat_gateway(NatGatewayId=nat)
    later(60)
    ec2.describe_nat_gateways(NatGatewayIds=network["nats"])
    for address in network["addresses"]:
        ec2.release_address(AllocationId=address)
    later(200)
    for group in groups[1:]:
        held = ec2.describe_security_groups(GroupIds=[group])["SecurityGroups"][0]
        rules = [
            {**rule, "UserIdGroupPairs": [{"GroupId": pair["GroupId"]} for pair in rule["UserIdGroupPairs"]]}
            for rule in held["IpPermissions"]
        ]
        ec2.revoke_security_group_ingress(GroupId=group, IpPermissions=rules)
    for group in groups:
        ec2.delete_security_group(GroupId=group)
    ec2.detach_internet_gateway(InternetGatewayId=network["gateway"], VpcId=network["vpc"])
    ec2.delete_internet_gateway(InternetGatewayId=network["gateway"])
    for subnet in network["subnets"]:
        ec2.delete_subnet(SubnetId=subnet)
    ec2.delete_vpc(VpcId=network["vpc"])
