"""The filters of EC2's lists, compared with botocore's documentation and with what the lists show."""

from collections.abc import Mapping
from typing import Any

from freehold_sim.aws.call import NOT_SERVED
from freehold_sim.aws.ec2 import images, instances, resources, tags, zones
from freehold_sim.aws.ec2.describing import _values
from freehold_sim.aws.ec2.filters import documented, refusal
from freehold_sim.aws.models import members, service
from freehold_sim.aws.services import OPERATIONS
from harness.rows import over_rows
from harness.simulated_aws import refused, tagged

FILTERS: Mapping[str, Mapping[str, str]] = {
    "DescribeAddresses": resources.ADDRESS.filters,
    "DescribeAvailabilityZones": zones.ZONE_FILTERS,
    "DescribeDhcpOptions": resources.DHCP_OPTIONS.filters,
    "DescribeEgressOnlyInternetGateways": resources.EGRESS_ONLY_GATEWAY.filters,
    "DescribeImages": images.IMAGE_FILTERS,
    "DescribeInstanceStatus": instances.STATUS_FILTERS,
    "DescribeInstanceTypes": images.TYPE_FILTERS,
    "DescribeInstances": resources.INSTANCE.filters,
    "DescribeInternetGateways": resources.INTERNET_GATEWAY.filters,
    "DescribeKeyPairs": resources.KEY_PAIR.filters,
    "DescribeNatGateways": resources.NAT_GATEWAY.filters,
    "DescribeNetworkInterfaces": resources.INTERFACE.filters,
    "DescribePlacementGroups": resources.PLACEMENT_GROUP.filters,
    "DescribeRegions": zones.REGION_FILTERS,
    "DescribeRouteTables": resources.ROUTE_TABLE.filters,
    "DescribeSecurityGroupRules": resources.SECURITY_GROUP_RULE.filters,
    "DescribeSecurityGroups": resources.SECURITY_GROUP.filters,
    "DescribeSnapshots": resources.SNAPSHOT.filters,
    "DescribeSpotInstanceRequests": resources.SPOT_REQUEST.filters,
    "DescribeSubnets": resources.SUBNET.filters,
    "DescribeTags": tags.FILTERS,
    "DescribeVolumes": resources.VOLUME.filters,
    "DescribeVpcEndpoints": resources.ENDPOINT.filters,
    "DescribeVpcs": resources.VPC.filters,
}
OTHER_SPELLINGS = {"availabilityZone", "cidr", "cidrBlock"}
"""Of subnets; the documentation names them in a sentence."""
FORMER = {"group-name"}
"""Of network interfaces: documented until 2023."""


def test_every_list_that_takes_filters_is_in_this_table() -> None:
    assert {each for each in FILTERS if not documented(each)} == set()
    taking = {name for name, each in OPERATIONS["ec2"].items() if {"Filters", "Filter"} & set(each.takes)}
    assert taking == FILTERS.keys()


@over_rows("operation", FILTERS)
def test_a_filter_that_is_served_is_one_that_aws_documents(operation: str) -> None:
    assert FILTERS[operation].keys() - documented(operation) <= OTHER_SPELLINGS | FORMER


@over_rows("operation", FILTERS)
def test_a_documented_filter_that_is_not_served_is_named(operation: str) -> None:
    """Nothing is found by a filter that is not looked at, which a client would take for an answer."""
    of_tags = {each for each in documented(operation) if each.startswith("tag")}
    for name in documented(operation) - FILTERS[operation].keys() - of_tags:
        assert (refusal(operation, name).code, name in refusal(operation, name).message) == (NOT_SERVED, True)


def test_filters_are_refused_by_name_or_as_invalid(sim: Any) -> None:
    def wanted(name: str) -> list[dict[str, Any]]:
        return [{"Name": name, "Values": ["x"]}]

    with refused(NOT_SERVED, "the filter boot-mode of ec2.DescribeImages"):
        sim.ec2.describe_images(Filters=wanted("boot-mode"))
    with refused("InvalidParameterValue", "nonsense"):
        sim.ec2.describe_nat_gateways(Filter=wanted("nonsense"))
    with refused("InvalidParameterValue", "tag:Name"):
        sim.ec2.describe_regions(Filters=wanted("tag:Name"))


ABSENT = {"DescribeRouteTables": {"association.gateway-id"}}
"""What nothing can have here: only subnets are associated."""


def _lists(sim: Any) -> dict[str, list[dict[str, Any]]]:
    """A world in which each list has something, with most of what can be shown; and the lists."""
    vpc, subnets = sim.network()
    six = sim.ec2.associate_vpc_cidr_block(VpcId=vpc, AmazonProvidedIpv6CidrBlock=True)
    sim.clock.advance(60)
    block = sim.ec2.describe_vpcs(VpcIds=[vpc])["Vpcs"][0]["Ipv6CidrBlockAssociationSet"][0]["Ipv6CidrBlock"]
    assert six["Ipv6CidrBlockAssociation"]
    sim.ec2.associate_subnet_cidr_block(SubnetId=subnets[0], Ipv6CidrBlock=block.replace("/56", "/64"))
    egress = sim.ec2.create_egress_only_internet_gateway(VpcId=vpc)["EgressOnlyInternetGateway"]
    nat = sim.nat(subnets[0])
    sim.clock.advance(200)
    groups = [sim.group(vpc, name) for name in ("one", "two")]
    for add in (sim.ec2.authorize_security_group_ingress, sim.ec2.authorize_security_group_egress):
        add(
            GroupId=groups[0],
            IpPermissions=[
                {
                    "IpProtocol": "tcp",
                    "FromPort": 22,
                    "ToPort": 22,
                    "IpRanges": [{"CidrIp": "10.0.0.0/8"}],
                    "Ipv6Ranges": [{"CidrIpv6": "2001:db8::/32"}],
                    "PrefixListIds": [{"PrefixListId": "pl-63a5400a"}],
                    "UserIdGroupPairs": [{"GroupId": groups[1]}],
                }
            ],
        )
    sim.ec2.import_key_pair(KeyName="k", PublicKeyMaterial=b"ssh-rsa A", TagSpecifications=tagged("key-pair", a="b"))
    profile = sim.profile("p")
    machine = sim.instance(
        subnets[0], KeyName="k", ClientToken="t", IamInstanceProfile={"Arn": profile}, SecurityGroupIds=groups
    )
    address = sim.ec2.allocate_address(Domain="vpc")["AllocationId"]
    sim.ec2.associate_address(AllocationId=address, InstanceId=machine)
    sim.ec2.create_placement_group(GroupName="g", Strategy="spread")
    sim.instance(subnets[1], InstanceMarketOptions={"MarketType": "spot"}, Placement={"GroupName": "g"})
    gone = sim.instance(subnets[1])
    sim.ec2.terminate_instances(InstanceIds=[gone])
    table = sim.ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]
    sim.ec2.associate_route_table(RouteTableId=table, SubnetId=subnets[0])
    for route in (
        {"DestinationCidrBlock": "0.0.0.0/0", "NatGatewayId": nat},
        {"DestinationCidrBlock": "192.168.0.0/16", "InstanceId": machine},
        {"DestinationIpv6CidrBlock": "::/0", "EgressOnlyInternetGatewayId": egress["EgressOnlyInternetGatewayId"]},
    ):
        sim.ec2.create_route(RouteTableId=table, **route)
    sim.ec2.create_vpc_endpoint(VpcId=vpc, ServiceName="com.amazonaws.us-east-1.s3", RouteTableIds=[table])
    sim.ec2.create_snapshot(VolumeId=sim.ec2.describe_volumes()["Volumes"][0]["VolumeId"])
    reservations = sim.ec2.describe_instances()["Reservations"]
    return {
        "DescribeAddresses": sim.ec2.describe_addresses()["Addresses"],
        "DescribeAvailabilityZones": sim.ec2.describe_availability_zones()["AvailabilityZones"],
        "DescribeDhcpOptions": sim.ec2.describe_dhcp_options()["DhcpOptions"],
        "DescribeImages": sim.ec2.describe_images()["Images"],
        "DescribeInstanceStatus": sim.ec2.describe_instance_status()["InstanceStatuses"],
        "DescribeInstanceTypes": sim.ec2.describe_instance_types()["InstanceTypes"],
        "DescribeInstances": [row for each in reservations for row in each["Instances"]],
        "DescribeInternetGateways": sim.ec2.describe_internet_gateways()["InternetGateways"],
        "DescribeKeyPairs": sim.ec2.describe_key_pairs()["KeyPairs"],
        "DescribeNatGateways": sim.ec2.describe_nat_gateways()["NatGateways"],
        "DescribeNetworkInterfaces": sim.ec2.describe_network_interfaces()["NetworkInterfaces"],
        "DescribePlacementGroups": sim.ec2.describe_placement_groups()["PlacementGroups"],
        "DescribeRegions": sim.ec2.describe_regions()["Regions"],
        "DescribeRouteTables": sim.ec2.describe_route_tables()["RouteTables"],
        "DescribeSecurityGroupRules": sim.ec2.describe_security_group_rules()["SecurityGroupRules"],
        "DescribeSecurityGroups": sim.ec2.describe_security_groups()["SecurityGroups"],
        "DescribeSnapshots": sim.ec2.describe_snapshots()["Snapshots"],
        "DescribeSpotInstanceRequests": sim.ec2.describe_spot_instance_requests()["SpotInstanceRequests"],
        "DescribeSubnets": sim.ec2.describe_subnets()["Subnets"],
        "DescribeTags": sim.ec2.describe_tags()["Tags"],
        "DescribeVolumes": sim.ec2.describe_volumes()["Volumes"],
        "DescribeVpcEndpoints": sim.ec2.describe_vpc_endpoints()["VpcEndpoints"],
        "DescribeVpcs": sim.ec2.describe_vpcs()["Vpcs"],
    }


def test_what_a_filter_compares_is_shown(make_sim: Any) -> None:
    """A path that nothing has would find nothing, whatever there is."""
    zones_of = {"us-east-1": ("us-east-1a", "us-east-1b", "us-east-1c", "us-east-1-nyc-1a")}
    unseen: dict[str, set[str]] = {}
    for operation, rows in _lists(make_sim(regions=zones_of)).items():
        for name, path in FILTERS[operation].items():
            if not any(list(_values(row, path.split("."))) for row in rows):
                unseen.setdefault(operation, set()).add(name)
    assert unseen == ABSENT


def _says_no_pages_of_ids(operation: str) -> bool:
    shape = service("ec2").model.operation_model(operation).input_shape
    limit = members(shape).get("MaxResults") if shape else None
    return limit is not None and "in the same request" in limit.documentation


def test_ids_are_not_asked_for_in_pages_where_aws_documents_it(sim: Any) -> None:
    lists = {
        "DescribeInstances": lambda: sim.ec2.describe_instances(InstanceIds=["i-1"], MaxResults=5),
        "DescribeInstanceStatus": lambda: sim.ec2.describe_instance_status(InstanceIds=["i-1"], MaxResults=5),
        "DescribeNetworkInterfaces": lambda: sim.ec2.describe_network_interfaces(
            NetworkInterfaceIds=["eni-1"], MaxResults=5
        ),
    }
    assert {each for each in OPERATIONS["ec2"] if _says_no_pages_of_ids(each)} == lists.keys()
    for ask in lists.values():
        with refused("InvalidParameterCombination"):
            ask()
