"""EC2 networks: what AWS refuses, each with AWS's own code (docs/reference/simulator-aws.md#rules)."""

from typing import Any

import pytest

from harness.simulated_aws import refused, tagged

ANY = [{"CidrIp": "0.0.0.0/0"}]


def rule(port: int = 22, **source: Any) -> list[dict[str, Any]]:
    return [{"IpProtocol": "tcp", "FromPort": port, "ToPort": port, **(source or {"IpRanges": ANY})}]


# -- delete only after ----------------------------------------------------------------------------------------


def test_a_vpc_goes_after_all_that_is_in_it(sim: Any) -> None:
    vpc = sim.vpc()
    subnet, group = sim.subnet(vpc), sim.group(vpc)
    gateway = sim.gateway(vpc)
    table = sim.ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]
    egress = sim.ec2.create_egress_only_internet_gateway(VpcId=vpc)["EgressOnlyInternetGateway"]
    for clear in (
        lambda: sim.ec2.delete_subnet(SubnetId=subnet),
        lambda: sim.ec2.delete_security_group(GroupId=group),
        lambda: sim.ec2.detach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc),
        lambda: sim.ec2.delete_route_table(RouteTableId=table),
        lambda: sim.ec2.delete_egress_only_internet_gateway(
            EgressOnlyInternetGatewayId=egress["EgressOnlyInternetGatewayId"]
        ),
    ):
        with refused("DependencyViolation"):
            sim.ec2.delete_vpc(VpcId=vpc)
        clear()
    sim.ec2.delete_vpc(VpcId=vpc)
    assert [row["kind"] for row in sim.cloud.resources()] == ["internet-gateway"], "main table and default group went"
    with refused("InvalidVpcID.NotFound"):
        sim.ec2.delete_vpc(VpcId=vpc)


@pytest.mark.parametrize("holder", ["nat", "instance", "balancer", "interface", "stranger"])
def test_a_subnet_goes_after_its_interfaces(sim: Any, holder: str) -> None:
    _, subnets = sim.network()
    if holder == "nat":
        sim.nat(subnets[0])
    elif holder == "instance":
        sim.instance(subnets[0])
    elif holder == "balancer":
        sim.balancer(subnets)
    elif holder == "interface":
        sim.ec2.create_network_interface(SubnetId=subnets[0])
    else:
        sim.cloud.strangers.occupy(subnets[0])
    with refused("DependencyViolation"):
        sim.ec2.delete_subnet(SubnetId=subnets[0])


def test_a_group_goes_after_its_members_and_the_rules_of_others_that_name_it(sim: Any) -> None:
    _, subnets = sim.network()
    vpc = sim.ec2.describe_subnets(SubnetIds=subnets)["Subnets"][0]["VpcId"]
    one, other = sim.group(vpc, "one"), sim.group(vpc, "other")
    sim.ec2.authorize_security_group_ingress(GroupId=one, IpPermissions=rule(UserIdGroupPairs=[{"GroupId": one}]))
    sim.ec2.authorize_security_group_ingress(GroupId=other, IpPermissions=rule(UserIdGroupPairs=[{"GroupId": one}]))
    with refused("DependencyViolation"):
        sim.ec2.delete_security_group(GroupId=one)
    sim.ec2.revoke_security_group_ingress(GroupId=other, IpPermissions=rule(UserIdGroupPairs=[{"GroupId": one}]))
    made = sim.ec2.create_network_interface(SubnetId=subnets[0], Groups=[one])["NetworkInterface"]
    with refused("DependencyViolation"):
        sim.ec2.delete_security_group(GroupId=one)
    sim.ec2.delete_network_interface(NetworkInterfaceId=made["NetworkInterfaceId"])
    sim.ec2.delete_security_group(GroupId=one)  # a rule that names its own group does not hold it


def test_the_default_group_of_a_vpc_cannot_be_deleted(sim: Any) -> None:
    vpc = sim.vpc()
    filters = [{"Name": "vpc-id", "Values": [vpc]}, {"Name": "group-name", "Values": ["default"]}]
    group = sim.ec2.describe_security_groups(Filters=filters)["SecurityGroups"][0]["GroupId"]
    with refused("CannotDelete"):
        sim.ec2.delete_security_group(GroupId=group)


def test_an_internet_gateway_is_detached_after_public_addresses_and_deleted_after_that(sim: Any) -> None:
    vpc = sim.vpc()
    gateway, subnet = sim.gateway(vpc), sim.subnet(vpc)
    nat = sim.nat(subnet)
    with refused("DependencyViolation"):
        sim.ec2.detach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    sim.ec2.delete_nat_gateway(NatGatewayId=nat)
    sim.clock.advance(60)
    with refused("DependencyViolation"):
        sim.ec2.delete_internet_gateway(InternetGatewayId=gateway)
    sim.ec2.detach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    with refused("Gateway.NotAttached"):
        sim.ec2.detach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    sim.ec2.delete_internet_gateway(InternetGatewayId=gateway)


def test_an_address_is_released_after_it_was_disassociated(sim: Any) -> None:
    _, subnets = sim.network()
    made = sim.ec2.create_network_interface(SubnetId=subnets[0])["NetworkInterface"]["NetworkInterfaceId"]
    address = sim.ec2.allocate_address(Domain="vpc")["AllocationId"]
    association = sim.ec2.associate_address(AllocationId=address, NetworkInterfaceId=made)["AssociationId"]
    again = sim.ec2.associate_address(AllocationId=address, NetworkInterfaceId=made)["AssociationId"]
    assert again == association, "AssociateAddress is idempotent by itself"
    with refused("InvalidIPAddress.InUse"):
        sim.ec2.release_address(AllocationId=address)
    sim.ec2.disassociate_address(AssociationId=association)
    sim.ec2.release_address(AllocationId=address)


def test_an_address_takes_the_place_of_another_and_shows_on_the_instance(sim: Any) -> None:
    _, subnets = sim.network()
    sim.ec2.modify_subnet_attribute(SubnetId=subnets[0], MapPublicIpOnLaunch={"Value": True})
    instance = sim.instance(subnets[0])

    def public() -> str:
        shown = sim.ec2.describe_instances(InstanceIds=[instance])["Reservations"][0]["Instances"][0]
        return str(shown["PublicIpAddress"])

    seen = [public()]
    for _ in range(2):
        address = sim.ec2.allocate_address()
        sim.ec2.associate_address(AllocationId=address["AllocationId"], InstanceId=instance)
        assert public() == address["PublicIp"]
        seen.append(public())
    assert len(set(seen)) == 3
    rows = sim.ec2.describe_addresses(Filters=[{"Name": "instance-id", "Values": [instance]}])["Addresses"]
    assert [row["PublicIp"] for row in rows] == seen[2:]


def test_the_address_of_a_nat_gateway_is_its_own(sim: Any) -> None:
    _, subnets = sim.network()
    sim.nat(subnets[0])
    address = sim.ec2.describe_addresses()["Addresses"][0]
    with refused("AuthFailure"):
        sim.ec2.release_address(AllocationId=address["AllocationId"])
    with refused("AuthFailure"):
        sim.ec2.disassociate_address(AssociationId=address["AssociationId"])
    with refused("Resource.AlreadyAssociated"):
        sim.ec2.create_nat_gateway(SubnetId=subnets[1], AllocationId=address["AllocationId"])


def test_a_route_table_goes_after_its_associations_and_the_main_one_never(sim: Any) -> None:
    vpc = sim.vpc()
    subnet, table = sim.subnet(vpc), sim.ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]
    association = sim.ec2.associate_route_table(RouteTableId=table, SubnetId=subnet)["AssociationId"]
    with refused("DependencyViolation"):
        sim.ec2.delete_route_table(RouteTableId=table)
    sim.ec2.disassociate_route_table(AssociationId=association)
    sim.ec2.delete_route_table(RouteTableId=table)
    main = sim.ec2.describe_route_tables(Filters=[{"Name": "association.main", "Values": ["true"]}])["RouteTables"][0]
    with refused("DependencyViolation"):
        sim.ec2.delete_route_table(RouteTableId=main["RouteTableId"])
    with refused("InvalidParameterValue"):
        sim.ec2.disassociate_route_table(AssociationId=main["Associations"][0]["RouteTableAssociationId"])


def test_an_interface_of_a_service_cannot_be_deleted_by_its_user(sim: Any) -> None:
    _, subnets = sim.network()
    sim.nat(subnets[0])
    card = sim.ec2.describe_network_interfaces()["NetworkInterfaces"][0]
    assert card["RequesterManaged"]
    with refused("AuthFailure"):
        sim.ec2.delete_network_interface(NetworkInterfaceId=card["NetworkInterfaceId"])


# -- natural keys ---------------------------------------------------------------------------------------------


def test_natural_keys_are_unique(sim: Any) -> None:
    vpc = sim.vpc()
    subnet, gateway = sim.subnet(vpc), sim.gateway(vpc)
    with refused("InvalidSubnet.Conflict"):
        sim.subnet(vpc, zone="b")
    sim.group(vpc)
    with refused("InvalidGroup.Duplicate"):
        sim.group(vpc)
    with refused("Resource.AlreadyAssociated"):
        sim.ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    second = sim.ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    with refused("InvalidParameterValue"):
        sim.ec2.attach_internet_gateway(InternetGatewayId=second, VpcId=vpc)
    table = sim.ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]
    sim.ec2.associate_route_table(RouteTableId=table, SubnetId=subnet)
    with refused("Resource.AlreadyAssociated"):
        sim.ec2.associate_route_table(RouteTableId=table, SubnetId=subnet)
    route = {"RouteTableId": table, "DestinationCidrBlock": "0.0.0.0/0", "GatewayId": gateway}
    sim.ec2.create_route(**route)
    with refused("RouteAlreadyExists"):
        sim.ec2.create_route(**route)


def test_what_has_no_natural_key_is_made_twice(sim: Any) -> None:
    """VPC, internet gateway and address: the kinds that a lost reply duplicates."""
    assert sim.vpc() != sim.vpc()
    one, other = sim.ec2.create_internet_gateway(), sim.ec2.create_internet_gateway()
    assert one["InternetGateway"]["InternetGatewayId"] != other["InternetGateway"]["InternetGatewayId"]
    assert sim.ec2.allocate_address()["AllocationId"] != sim.ec2.allocate_address()["AllocationId"]


def test_a_rule_is_its_content_and_has_an_id(sim: Any) -> None:
    group = sim.group(sim.vpc())
    made = sim.ec2.authorize_security_group_ingress(
        GroupId=group, IpPermissions=rule(), TagSpecifications=tagged("security-group-rule", a="b")
    )["SecurityGroupRules"]
    assert made[0]["Tags"] == [{"Key": "a", "Value": "b"}]
    with refused("InvalidPermission.Duplicate"):
        sim.ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=rule())
    with refused("InvalidPermission.NotFound"):
        sim.ec2.revoke_security_group_ingress(GroupId=group, IpPermissions=rule(23))
    ident = made[0]["SecurityGroupRuleId"]
    gone = sim.ec2.revoke_security_group_ingress(GroupId=group, SecurityGroupRuleIds=[ident])
    assert [row["SecurityGroupRuleId"] for row in gone["RevokedSecurityGroupRules"]] == [ident]
    with refused("InvalidSecurityGroupRuleId.NotFound"):
        sim.ec2.revoke_security_group_ingress(GroupId=group, SecurityGroupRuleIds=[ident])
    left = sim.ec2.describe_security_groups(GroupIds=[group])["SecurityGroups"][0]
    assert (left["IpPermissions"], len(left["IpPermissionsEgress"])) == ([], 1)


@pytest.mark.parametrize(
    ("permission", "code"),
    [
        ({"IpProtocol": "tcp", "IpRanges": ANY}, "InvalidParameterValue"),
        ({"IpProtocol": "tcp", "FromPort": 5, "ToPort": 4, "IpRanges": ANY}, "InvalidParameterValue"),
        ({"IpProtocol": "smoke", "IpRanges": ANY}, "InvalidPermission.Malformed"),
        ({"IpProtocol": "-1", "IpRanges": [{"CidrIp": "10.0.0.0"}]}, "InvalidParameterValue"),
        ({"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": "sg-0"}]}, "InvalidGroup.NotFound"),
        ({"IpProtocol": "-1"}, "MissingParameter"),
    ],
    ids=["no ports", "ports reversed", "protocol", "not a block", "no such group", "no source"],
)
def test_rules_that_make_no_sense_are_refused(sim: Any, permission: dict[str, Any], code: str) -> None:
    group = sim.group(sim.vpc())
    with refused(code):
        sim.ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=[permission])


def test_a_rule_names_groups_of_its_own_vpc(sim: Any) -> None:
    """No VPCs are connected here."""
    group, other = sim.group(sim.vpc()), sim.group(sim.vpc())
    permission = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": other}]}
    with refused("InvalidGroup.NotFound"):
        sim.ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=[permission])
    sim.ec2.authorize_security_group_ingress(GroupId=other, IpPermissions=[permission])


# -- blocks, ranges, zones ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("block", "code"),
    [("10.0.0.0/8", "InvalidVpc.Range"), ("10.0.0.0/29", "InvalidVpc.Range"), ("ten", "InvalidParameterValue")],
)
def test_the_block_of_a_vpc_has_16_to_28_bits(sim: Any, block: str, code: str) -> None:
    with refused(code):
        sim.ec2.create_vpc(CidrBlock=block)


def test_a_subnet_lies_in_its_vpc_and_in_a_zone_of_the_region(sim: Any) -> None:
    vpc = sim.vpc()
    with refused("InvalidSubnet.Range"):
        sim.ec2.create_subnet(VpcId=vpc, CidrBlock="10.1.0.0/24")
    with refused("InvalidParameterValue"):
        sim.subnet(vpc, zone="z")
    with refused("InvalidVpcID.NotFound"):
        sim.subnet("vpc-0")
    with refused("InvalidVpcID.Malformed"):
        sim.subnet("subnet-0")
    made = sim.ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.1.0/24", AvailabilityZoneId="use1-az2")["Subnet"]
    assert (made["AvailabilityZone"], made["AvailableIpAddressCount"]) == ("us-east-1b", 251)


def test_further_blocks_and_ipv6_of_a_vpc(sim: Any) -> None:
    vpc = sim.vpc()
    added = sim.ec2.associate_vpc_cidr_block(VpcId=vpc, CidrBlock="10.1.0.0/16")["CidrBlockAssociation"]
    with refused("InvalidVpc.Range"):
        sim.ec2.associate_vpc_cidr_block(VpcId=vpc, CidrBlock="10.1.0.0/17")
    with refused("InvalidSubnet.Range"):  # the block is still associating
        sim.ec2.create_subnet(VpcId=vpc, CidrBlock="10.1.0.0/24")
    sim.clock.advance(5)
    subnet = sim.ec2.create_subnet(VpcId=vpc, CidrBlock="10.1.0.0/24")["Subnet"]["SubnetId"]
    with refused("DependencyViolation"):
        sim.ec2.disassociate_vpc_cidr_block(AssociationId=added["AssociationId"])
    sim.ec2.delete_subnet(SubnetId=subnet)
    sim.ec2.disassociate_vpc_cidr_block(AssociationId=added["AssociationId"])
    sim.ec2.associate_vpc_cidr_block(VpcId=vpc, AmazonProvidedIpv6CidrBlock=True)
    shown = sim.ec2.describe_vpcs(VpcIds=[vpc])["Vpcs"][0]
    six = shown["Ipv6CidrBlockAssociationSet"][0]
    assert six["Ipv6CidrBlockState"]["State"] == "associated"
    block = six["Ipv6CidrBlock"].replace("/56", "/64")
    made = sim.ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.9.0/24", Ipv6CidrBlock=block)["Subnet"]
    assert made["Ipv6CidrBlockAssociationSet"][0]["Ipv6CidrBlock"] == block
    assert [row["CidrBlock"] for row in shown["CidrBlockAssociationSet"]] == ["10.0.0.0/16"]


@pytest.mark.parametrize(
    ("first", "block"),
    [
        ("10.0.0.0/16", "192.168.0.0/16"), ("10.0.0.0/16", "172.16.0.0/16"), ("10.1.0.0/16", "10.0.0.0/16"),
        ("10.2.0.0/16", "198.19.0.0/16"), ("172.16.0.0/16", "172.31.0.0/16"), ("192.168.0.0/16", "10.2.0.0/16"),
        ("100.64.0.0/16", "10.2.0.0/16"), ("10.0.0.0/16", "169.254.0.0/16"),
    ],
)  # fmt: skip
def test_a_further_block_is_of_the_same_private_range(sim: Any, first: str, block: str) -> None:
    vpc = sim.ec2.create_vpc(CidrBlock=first)["Vpc"]["VpcId"]
    with refused("InvalidVpc.Range"):
        sim.ec2.associate_vpc_cidr_block(VpcId=vpc, CidrBlock=block)
    private = {"10": "10.9.0.0/16", "172": "172.20.0.0/16", "192": ""}.get(first.partition(".")[0], "")
    for other in filter(None, (private, "100.65.0.0/16", "203.0.112.0/20")):
        sim.ec2.associate_vpc_cidr_block(VpcId=vpc, CidrBlock=other)


def test_attributes_of_vpcs_and_subnets(sim: Any) -> None:
    vpc = sim.vpc()
    sim.ec2.modify_vpc_attribute(VpcId=vpc, EnableDnsHostnames={"Value": True})
    shown = sim.ec2.describe_vpc_attribute(VpcId=vpc, Attribute="enableDnsHostnames")
    assert shown["EnableDnsHostnames"] == {"Value": True}
    with refused("InvalidParameterCombination"):
        sim.ec2.modify_vpc_attribute(VpcId=vpc, EnableDnsHostnames={"Value": True}, EnableDnsSupport={"Value": True})
    subnet = sim.subnet(vpc)
    sim.ec2.modify_subnet_attribute(SubnetId=subnet, MapPublicIpOnLaunch={"Value": True})
    assert sim.ec2.describe_subnets(SubnetIds=[subnet])["Subnets"][0]["MapPublicIpOnLaunch"] is True


# -- routes ---------------------------------------------------------------------------------------------------


def test_a_route_whose_target_has_gone_is_a_black_hole(sim: Any) -> None:
    vpc = sim.vpc()
    sim.gateway(vpc)
    subnet = sim.subnet(vpc)
    nat = sim.nat(subnet)
    table = sim.ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]
    sim.ec2.create_route(RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", NatGatewayId=nat)
    states = []
    for act in (lambda: None, lambda: sim.ec2.delete_nat_gateway(NatGatewayId=nat)):
        act()
        rows = sim.ec2.describe_route_tables(RouteTableIds=[table])["RouteTables"][0]["Routes"]
        states.append([row["State"] for row in rows])
    assert states == [["active", "active"], ["active", "blackhole"]]
    other = sim.nat(subnet)
    sim.ec2.replace_route(RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", NatGatewayId=other)
    with refused("InvalidNatGatewayID.NotFound"):
        sim.ec2.replace_route(RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", NatGatewayId=nat)
    sim.ec2.delete_route(RouteTableId=table, DestinationCidrBlock="0.0.0.0/0")
    with refused("InvalidRoute.NotFound"):
        sim.ec2.delete_route(RouteTableId=table, DestinationCidrBlock="0.0.0.0/0")


def test_a_route_stays_within_its_network(sim: Any) -> None:
    one, other = sim.vpc(), sim.vpc("10.9.0.0/16")
    gateway = sim.gateway(other)
    table = sim.ec2.create_route_table(VpcId=one)["RouteTable"]["RouteTableId"]
    with refused("InvalidParameterValue"):
        sim.ec2.create_route(RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", GatewayId=gateway)
    with refused("InvalidGatewayID.NotFound"):
        sim.ec2.create_route(RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", GatewayId="igw-0")


# -- dry runs, missing ids ------------------------------------------------------------------------------------


def test_a_dry_run_says_so_and_does_nothing(sim: Any) -> None:
    with refused("DryRunOperation"):
        sim.ec2.create_vpc(CidrBlock="10.0.0.0/16", DryRun=True)
    assert sim.cloud.resources() == []


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda ec2: ec2.describe_vpcs(VpcIds=["vpc-0"]), "InvalidVpcID.NotFound"),
        (lambda ec2: ec2.describe_subnets(SubnetIds=["subnet-0"]), "InvalidSubnetID.NotFound"),
        (lambda ec2: ec2.delete_subnet(SubnetId="x"), "InvalidSubnetID.Malformed"),
        (lambda ec2: ec2.delete_internet_gateway(InternetGatewayId="igw-0"), "InvalidInternetGatewayID.NotFound"),
        (lambda ec2: ec2.delete_route_table(RouteTableId="rtb-0"), "InvalidRouteTableID.NotFound"),
        (lambda ec2: ec2.release_address(AllocationId="eipalloc-0"), "InvalidAllocationID.NotFound"),
        (lambda ec2: ec2.delete_nat_gateway(NatGatewayId="nat-0"), "NatGatewayNotFound"),
        (lambda ec2: ec2.describe_instances(InstanceIds=["i-0"]), "InvalidInstanceID.NotFound"),
        (lambda ec2: ec2.delete_security_group(GroupId="sg-0"), "InvalidGroup.NotFound"),
        (lambda ec2: ec2.delete_network_interface(NetworkInterfaceId="eni-0"), "InvalidNetworkInterfaceID.NotFound"),
        (lambda ec2: ec2.delete_volume(VolumeId="vol-0"), "InvalidVolume.NotFound"),
        (lambda ec2: ec2.describe_images(ImageIds=["ami-0"]), "InvalidAMIID.NotFound"),
        (lambda ec2: ec2.describe_key_pairs(KeyNames=["none"]), "InvalidKeyPair.NotFound"),
        (lambda ec2: ec2.disassociate_route_table(AssociationId="rtbassoc-0"), "InvalidAssociationID.NotFound"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_what_is_missing_has_the_code_of_its_kind(sim: Any, call: Any, code: str) -> None:
    with refused(code):
        call(sim.ec2)


def test_an_endpoint_lives_in_route_tables_or_in_subnets(sim: Any) -> None:
    vpc, subnets = sim.network()
    table = sim.ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]
    gateway = {"VpcId": vpc, "ServiceName": "com.amazonaws.us-east-1.s3", "RouteTableIds": [table]}
    made = sim.ec2.create_vpc_endpoint(**gateway)["VpcEndpoint"]["VpcEndpointId"]
    routes = sim.ec2.describe_route_tables(RouteTableIds=[table])["RouteTables"][0]["Routes"]
    assert routes[-1]["GatewayId"] == made
    with refused("RouteAlreadyExists"):
        sim.ec2.create_vpc_endpoint(**gateway)
    with refused("InvalidServiceName"):
        sim.ec2.create_vpc_endpoint(**{**gateway, "ServiceName": "com.example"})
    service = "com.amazonaws.us-east-1.ec2"
    other = sim.ec2.create_vpc_endpoint(
        VpcId=vpc, ServiceName=service, VpcEndpointType="Interface", SubnetIds=subnets[:1]
    )
    ident = other["VpcEndpoint"]["VpcEndpointId"]
    failed = sim.ec2.delete_vpc_endpoints(VpcEndpointIds=[made, ident, "vpce-0"])["Unsuccessful"]
    assert [(row["ResourceId"], row["Error"]["Code"]) for row in failed] == [
        ("vpce-0", "InvalidVpcEndpointId.NotFound")
    ]
    with refused("DependencyViolation"):
        sim.ec2.delete_subnet(SubnetId=subnets[0])
    sim.clock.advance(61)
    sim.ec2.delete_subnet(SubnetId=subnets[0])
