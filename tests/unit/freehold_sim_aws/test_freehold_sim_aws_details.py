"""The smaller operations, each with what it changes and what it refuses."""

from typing import Any

import pytest

from harness.simulated_aws import refused, tagged


def _instance(sim: Any, ident: str) -> dict[str, Any]:
    return dict(sim.ec2.describe_instances(InstanceIds=[ident])["Reservations"][0]["Instances"][0])


def test_regions_and_zones(sim: Any) -> None:
    zones = sim.ec2.describe_availability_zones(ZoneNames=["us-east-1a"])["AvailabilityZones"]
    assert [(zone["ZoneId"], zone["RegionName"]) for zone in zones] == [("use1-az1", "us-east-1")]
    by_id = sim.ec2.describe_availability_zones(ZoneIds=["use1-az2"])["AvailabilityZones"]
    assert by_id[0]["ZoneName"] == "us-east-1b"
    with refused("InvalidParameterValue"):
        sim.ec2.describe_availability_zones(ZoneNames=["eu-west-1a"])
    filters = [{"Name": "region-name", "Values": ["eu-*"]}]
    regions = sim.ec2.describe_regions(Filters=filters)["Regions"]
    assert {region["RegionName"] for region in regions} == {"eu-west-1", "eu-central-1"}
    assert len(sim.ec2.describe_regions(RegionNames=["us-east-2"])["Regions"]) == 1
    with refused("InvalidParameterValue"):
        sim.ec2.describe_regions(RegionNames=["mars-1"])
    with refused("InvalidParameterValue"):
        sim.ec2.create_subnet(VpcId=sim.vpc(), CidrBlock="10.0.0.0/24", AvailabilityZoneId="use1-az9")


def test_images_types_and_keys(sim: Any) -> None:
    assert sim.ec2.describe_images(Owners=["123456789012"])["Images"] == []
    assert {row["OwnerId"] for row in sim.ec2.describe_images(Owners=["amazon"])["Images"]} == {"602401143452"}
    with refused("InvalidAMIID.Malformed"):
        sim.ec2.describe_images(ImageIds=["nonsense"])
    shown = sim.ec2.describe_instance_types(InstanceTypes=["m6g.large"])["InstanceTypes"][0]
    assert shown["ProcessorInfo"]["SupportedArchitectures"] == ["arm64"]
    with refused("InvalidInstanceType"):
        sim.ec2.describe_instance_types(InstanceTypes=["a1.medium"])
    key = sim.ec2.import_key_pair(
        KeyName="k", PublicKeyMaterial=b"ssh-rsa A", TagSpecifications=tagged("key-pair", a="b")
    )
    with refused("InvalidKeyPair.Duplicate"):
        sim.ec2.import_key_pair(KeyName="k", PublicKeyMaterial=b"ssh-rsa A")
    assert sim.ec2.describe_key_pairs(KeyPairIds=[key["KeyPairId"]])["KeyPairs"][0]["KeyName"] == "k"
    assert sim.ec2.describe_key_pairs(KeyNames=["k"])["KeyPairs"][0]["Tags"] == [{"Key": "a", "Value": "b"}]
    sim.ec2.delete_key_pair(KeyName="k")
    sim.ec2.delete_key_pair(KeyName="k")
    assert sim.ec2.describe_key_pairs()["KeyPairs"] == []


def test_interfaces_are_changed_attached_and_detached(sim: Any) -> None:
    vpc, subnets = sim.network()
    group, instance = sim.group(vpc), sim.instance(subnets[0])
    made = sim.ec2.create_network_interface(SubnetId=subnets[0], PrivateIpAddress="10.0.0.77")["NetworkInterface"]
    card = {"NetworkInterfaceId": made["NetworkInterfaceId"]}
    with refused("InvalidIPAddress.InUse"):
        sim.ec2.create_network_interface(SubnetId=subnets[0], PrivateIpAddress="10.0.0.77")
    with refused("InvalidParameterValue"):
        sim.ec2.create_network_interface(SubnetId=subnets[0], PrivateIpAddress="10.9.0.77")
    sim.ec2.modify_network_interface_attribute(**card, Groups=[group])
    sim.ec2.modify_network_interface_attribute(**card, SourceDestCheck={"Value": False})
    sim.ec2.modify_network_interface_attribute(**card, Description={"Value": "mine"})
    attachment = sim.ec2.attach_network_interface(**card, InstanceId=instance, DeviceIndex=1)["AttachmentId"]
    shown = sim.ec2.describe_network_interfaces(NetworkInterfaceIds=[made["NetworkInterfaceId"]])
    view = shown["NetworkInterfaces"][0]
    assert (view["Status"], view["SourceDestCheck"], view["Description"]) == ("in-use", False, "mine")
    with refused("InvalidNetworkInterface.InUse"):
        sim.ec2.attach_network_interface(**card, InstanceId=instance, DeviceIndex=2)
    with refused("InvalidParameterValue", "is currently in use."):
        sim.ec2.delete_network_interface(**card)
    sim.ec2.detach_network_interface(AttachmentId=attachment)
    with refused("InvalidAttachmentID.NotFound"):
        sim.ec2.detach_network_interface(AttachmentId=attachment)
    first = _instance(sim, instance)["NetworkInterfaces"][0]["Attachment"]["AttachmentId"]
    with refused("OperationNotPermitted"):
        sim.ec2.detach_network_interface(AttachmentId=first)
    other = sim.vpc("10.8.0.0/16")
    with refused("InvalidParameterValue"):
        sim.ec2.modify_network_interface_attribute(**card, Groups=[sim.group(other)])
    sim.ec2.delete_network_interface(**card)


def test_an_instance_is_launched_with_an_interface_that_stays(sim: Any) -> None:
    _, subnets = sim.network()
    made = sim.ec2.create_network_interface(SubnetId=subnets[0])["NetworkInterface"]["NetworkInterfaceId"]
    networks = [{"DeviceIndex": 0, "NetworkInterfaceId": made}]
    machine = {"ImageId": "ami-0a0000000000000c1", "InstanceType": "t3.micro", "MinCount": 1, "MaxCount": 1}
    ident = sim.ec2.run_instances(**machine, NetworkInterfaces=networks)["Instances"][0]["InstanceId"]
    with refused("InvalidNetworkInterface.InUse"):
        sim.ec2.run_instances(**machine, NetworkInterfaces=networks)
    sim.ec2.terminate_instances(InstanceIds=[ident])
    sim.clock.advance(60)
    assert sim.ec2.describe_network_interfaces()["NetworkInterfaces"][0]["Status"] == "available"
    for wrong, code in (
        ({"NetworkInterfaces": networks, "SubnetId": subnets[0]}, "InvalidParameterCombination"),
        ({"NetworkInterfaces": networks, "MaxCount": 2}, "InvalidParameterCombination"),
        ({"SubnetId": subnets[0], "Placement": {"AvailabilityZone": "us-east-1c"}}, "InvalidParameterValue"),
        ({"SubnetId": subnets[0], "BlockDeviceMappings": [{"DeviceName": "/dev/sdb"}]}, "MissingParameter"),
        ({}, "MissingInput"),
    ):
        sim.clock.advance(10)
        with refused(code):
            sim.ec2.run_instances(**{**machine, **wrong})


def test_attributes_of_instances(sim: Any) -> None:
    vpc, subnets = sim.network()
    sim.profile("nodes")
    key = sim.ec2.import_key_pair(KeyName="k", PublicKeyMaterial=b"ssh-rsa A")["KeyName"]
    ident = sim.instance(
        subnets[0], IamInstanceProfile={"Name": "nodes"}, KeyName=key, UserData="hello", Monitoring={"Enabled": True}
    )
    group = sim.group(vpc)
    sim.ec2.modify_instance_attribute(InstanceId=ident, Groups=[group])
    sim.ec2.modify_instance_attribute(InstanceId=ident, SourceDestCheck={"Value": False})
    sim.ec2.modify_instance_attribute(InstanceId=ident, InstanceInitiatedShutdownBehavior={"Value": "terminate"})
    shown = _instance(sim, ident)
    assert shown["IamInstanceProfile"]["Arn"].endswith(":instance-profile/nodes")
    assert (shown["KeyName"], shown["SourceDestCheck"], shown["Monitoring"]) == ("k", False, {"State": "enabled"})
    assert [row["GroupId"] for row in shown["NetworkInterfaces"][0]["Groups"]] == [group]
    data = sim.ec2.describe_instance_attribute(InstanceId=ident, Attribute="userData")["UserData"]["Value"]
    assert data == "aGVsbG8="
    with refused("NotServedBySimulator"):
        sim.ec2.describe_instance_attribute(InstanceId=ident, Attribute="kernel")
    with refused("InvalidParameterCombination"):
        sim.ec2.describe_instances(InstanceIds=[ident], MaxResults=5)
    sim.ec2.stop_instances(InstanceIds=[ident])
    assert sim.ec2.describe_instance_status()["InstanceStatuses"] == []
    assert len(sim.ec2.describe_instance_status(IncludeAllInstances=True)["InstanceStatuses"]) == 1
    sim.ec2.terminate_instances(InstanceIds=[ident])
    with refused("IncorrectInstanceState"):
        sim.ec2.start_instances(InstanceIds=[ident])


def test_a_volume_that_is_attached_stays(sim: Any) -> None:
    _, subnets = sim.network()
    ident = sim.instance(subnets[0], BlockDeviceMappings=[{"DeviceName": "/dev/sda1", "Ebs": {"VolumeSize": 30}}])
    volume = _instance(sim, ident)["BlockDeviceMappings"][0]["Ebs"]["VolumeId"]
    assert sim.ec2.describe_volumes(VolumeIds=[volume])["Volumes"][0]["Size"] == 30
    with refused("VolumeInUse"):
        sim.ec2.delete_volume(VolumeId=volume)
    kept = {"DeviceName": "/dev/sda1", "Ebs": {"DeleteOnTermination": False}}
    other = sim.instance(subnets[0], BlockDeviceMappings=[kept])
    left = _instance(sim, other)["BlockDeviceMappings"][0]["Ebs"]["VolumeId"]
    sim.ec2.terminate_instances(InstanceIds=[ident, other])
    sim.clock.advance(60)
    with refused("InvalidVolume.NotFound"):
        sim.ec2.delete_volume(VolumeId=volume)
    sim.ec2.delete_volume(VolumeId=left)


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"AvailabilityZone": "us-east-1a"}, "MissingParameter"),
        ({"Size": 8}, "MissingParameter"),
        (
            {"AvailabilityZone": "us-east-1a", "AvailabilityZoneId": "use1-az1", "Size": 8},
            "InvalidParameterCombination",
        ),
        ({"AvailabilityZone": "mars-1a", "Size": 8}, "InvalidZone.NotFound"),
        ({"AvailabilityZone": "us-east-1a", "Size": 0}, "InvalidParameterValue"),
        ({"AvailabilityZone": "us-east-1a", "Size": 100, "VolumeType": "st1"}, "InvalidParameterValue"),
        ({"AvailabilityZone": "us-east-1a", "Size": 8, "VolumeType": "io2"}, "MissingParameter"),
        ({"AvailabilityZone": "us-east-1a", "Size": 8, "Iops": 3000}, "InvalidParameterCombination"),
        ({"AvailabilityZone": "us-east-1a", "Size": 8, "KmsKeyId": "k"}, "InvalidParameterDependency"),
        ({"AvailabilityZone": "us-east-1a", "SnapshotId": "snap-1"}, "NotServedBySimulator"),
    ],
    ids=lambda each: each if isinstance(each, str) else " ".join(each),
)
def test_what_a_volume_is_refused_for(sim: Any, given: dict[str, Any], code: str) -> None:
    with refused(code):
        sim.ec2.create_volume(**given)
    assert sim.ec2.describe_volumes()["Volumes"] == []


def test_a_volume_has_tags_from_birth_and_is_in_the_zone_of_an_id(sim: Any) -> None:
    made = sim.ec2.create_volume(
        AvailabilityZoneId="use1-az2", Size=8, Encrypted=True, KmsKeyId="k", TagSpecifications=tagged("volume", a="b")
    )
    assert (made["AvailabilityZone"], made["KmsKeyId"]) == ("us-east-1b", "k")
    assert made["Tags"] == [{"Key": "a", "Value": "b"}]
    sim.ec2.create_volume(AvailabilityZone="us-east-1a", Size=8)
    found = sim.ec2.describe_volumes(Filters=[{"Name": "tag:a", "Values": ["b"]}])["Volumes"]
    assert [row["VolumeId"] for row in found] == [made["VolumeId"]]


def test_a_subnet_gets_and_loses_an_ipv6_block(sim: Any) -> None:
    vpc = sim.vpc(AmazonProvidedIpv6CidrBlock=True)
    subnet = sim.subnet(vpc)
    with refused("InvalidParameterValue"):
        sim.ec2.modify_subnet_attribute(SubnetId=subnet, AssignIpv6AddressOnCreation={"Value": True})
    block = sim.ec2.describe_vpcs()["Vpcs"][0]["Ipv6CidrBlockAssociationSet"][0]["Ipv6CidrBlock"]
    with refused("InvalidSubnet.Range"):
        sim.ec2.associate_subnet_cidr_block(SubnetId=subnet, Ipv6CidrBlock="2001:db8::/64")
    wanted = {"SubnetId": subnet, "Ipv6CidrBlock": block.replace("/56", "/64")}
    made = sim.ec2.associate_subnet_cidr_block(**wanted)["Ipv6CidrBlockAssociation"]["AssociationId"]
    with refused("InvalidSubnet.Conflict"):
        sim.ec2.associate_subnet_cidr_block(**wanted)
    sim.ec2.modify_subnet_attribute(SubnetId=subnet, AssignIpv6AddressOnCreation={"Value": True})
    sim.ec2.disassociate_subnet_cidr_block(AssociationId=made)
    with refused("InvalidSubnetCidrBlockAssociationID.NotFound"):
        sim.ec2.disassociate_subnet_cidr_block(AssociationId=made)
    with refused("InvalidVpcCidrBlockAssociationID.NotFound"):
        sim.ec2.disassociate_vpc_cidr_block(AssociationId=made)
    egress = sim.ec2.create_egress_only_internet_gateway(VpcId=vpc)["EgressOnlyInternetGateway"]
    table = sim.ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]
    gateway = egress["EgressOnlyInternetGatewayId"]
    sim.ec2.create_route(RouteTableId=table, DestinationIpv6CidrBlock="::/0", EgressOnlyInternetGatewayId=gateway)
    filters = [{"Name": "route.egress-only-internet-gateway-id", "Values": [gateway]}]
    routes = sim.ec2.describe_route_tables(Filters=filters)["RouteTables"][0]["Routes"]
    assert [row["State"] for row in routes] == ["active"] * 3


def test_associations_move_between_route_tables(sim: Any) -> None:
    vpc = sim.vpc()
    subnet, gateway = sim.subnet(vpc), sim.gateway(vpc)
    one, other = (sim.ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"] for _ in "ab")
    held = sim.ec2.associate_route_table(RouteTableId=one, SubnetId=subnet)["AssociationId"]
    moved = sim.ec2.replace_route_table_association(AssociationId=held, RouteTableId=other)["NewAssociationId"]
    with refused("DependencyViolation"):
        sim.ec2.delete_route_table(RouteTableId=other)
    sim.ec2.delete_route_table(RouteTableId=one)
    sim.ec2.disassociate_route_table(AssociationId=moved)
    with refused("InvalidParameterValue"):
        sim.ec2.create_route(RouteTableId=other, DestinationCidrBlock="10.0.0.0/16", GatewayId=gateway)
    with refused("InvalidParameterCombination"):
        sim.ec2.create_route(
            RouteTableId=other, DestinationCidrBlock="0.0.0.0/0", GatewayId=gateway, NatGatewayId="nat-0"
        )
    with refused("InvalidParameterValue"):
        sim.ec2.replace_route(RouteTableId=other, DestinationCidrBlock="0.0.0.0/0", GatewayId=gateway)
    far = sim.vpc("10.8.0.0/16")
    there = sim.ec2.create_route_table(VpcId=far)["RouteTable"]["RouteTableId"]
    with refused("InvalidParameterValue"):
        sim.ec2.associate_route_table(RouteTableId=there, SubnetId=subnet)
    sim.ec2.associate_route_table(RouteTableId=other, SubnetId=subnet)
    sim.ec2.delete_subnet(SubnetId=subnet)
    assert sim.ec2.describe_route_tables(RouteTableIds=[other])["RouteTables"][0]["Associations"] == []


def test_a_gateway_endpoint_moves_between_route_tables(sim: Any) -> None:
    vpc = sim.vpc()
    one, other = (sim.ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"] for _ in "ab")
    made = sim.ec2.create_vpc_endpoint(
        VpcId=vpc, ServiceName="com.amazonaws.us-east-1.s3", RouteTableIds=[one]
    )["VpcEndpoint"]["VpcEndpointId"]  # fmt: skip
    sim.ec2.modify_vpc_endpoint(
        VpcEndpointId=made, AddRouteTableIds=[other], RemoveRouteTableIds=[one], PolicyDocument="{}"
    )
    shown = sim.ec2.describe_vpc_endpoints(VpcEndpointIds=[made])["VpcEndpoints"][0]
    assert (shown["RouteTableIds"], shown["PolicyDocument"]) == ([other], "{}")
    assert len(sim.ec2.describe_route_tables(RouteTableIds=[one])["RouteTables"][0]["Routes"]) == 1
    sim.ec2.delete_route_table(RouteTableId=other)
    assert sim.ec2.describe_vpc_endpoints()["VpcEndpoints"][0]["RouteTableIds"] == []
    with refused("InvalidParameter"):
        sim.ec2.create_vpc_endpoint(VpcId=vpc, ServiceName="com.amazonaws.us-east-1.ec2")


def test_target_groups_of_addresses_and_of_http(sim: Any) -> None:
    vpc, subnets = sim.network()
    ips = sim.target_group(vpc, "ips", TargetType="ip")
    with refused("ValidationError"):
        sim.elbv2.register_targets(TargetGroupArn=ips, Targets=[{"Id": "nonsense"}])
    sim.elbv2.register_targets(TargetGroupArn=ips, Targets=[{"Id": "10.0.0.9", "Port": 1}, {"Id": "10.0.0.9"}])
    sim.elbv2.deregister_targets(TargetGroupArn=ips, Targets=[{"Id": "10.0.0.9", "Port": 1}])
    rows = sim.elbv2.describe_target_health(TargetGroupArn=ips)["TargetHealthDescriptions"]
    assert [(row["Target"]["Port"], row["TargetHealth"]["State"]) for row in rows] == [
        (1, "draining"),
        (6443, "unused"),
    ]
    asked = sim.elbv2.describe_target_health(TargetGroupArn=ips, Targets=[{"Id": "10.0.0.1"}])
    assert asked["TargetHealthDescriptions"][0]["TargetHealth"]["Reason"] == "Target.NotRegistered"
    web = sim.target_group(vpc, "web", Protocol="HTTP", Port=80)
    changed = sim.elbv2.modify_target_group(TargetGroupArn=web, HealthCheckPath="/ready")["TargetGroups"][0]
    assert (changed["HealthCheckPath"], changed["Matcher"]) == ("/ready", {"HttpCode": "200"})
    with refused("ValidationError"):
        sim.elbv2.modify_target_group(TargetGroupArn=web, HealthCheckTimeoutSeconds=30)
    with refused("ValidationError"):
        sim.elbv2.modify_target_group(TargetGroupArn=ips, HealthCheckIntervalSeconds=10, HealthCheckTimeoutSeconds=11)
    equal = {"HealthCheckIntervalSeconds": 10, "HealthCheckTimeoutSeconds": 10}
    changed = sim.elbv2.modify_target_group(TargetGroupArn=ips, **equal)["TargetGroups"][0]
    assert equal.items() <= changed.items(), "equal ones are refused for application load balancers only"
    with refused("InvalidConfigurationRequest"):
        sim.target_group(vpc, "bad", HealthCheckPath="/")
    app = sim.elbv2.create_load_balancer(Name="app", Subnets=subnets)["LoadBalancers"][0]["LoadBalancerArn"]
    with refused("IncompatibleProtocols"):
        action = [{"Type": "forward", "TargetGroupArn": ips}]
        sim.elbv2.create_listener(LoadBalancerArn=app, Protocol="HTTP", Port=80, DefaultActions=action)
    with refused("ValidationError"):
        sim.elbv2.create_listener(LoadBalancerArn=app, Protocol="TCP", Port=80, DefaultActions=action)
    action = [{"Type": "forward", "TargetGroupArn": web}]
    listener = {"LoadBalancerArn": app, "Protocol": "HTTP", "Port": 80, "DefaultActions": action}
    made = sim.elbv2.create_listener(**listener)["Listeners"][0]["ListenerArn"]
    assert len(sim.elbv2.describe_listeners(ListenerArns=[made])["Listeners"]) == 1
    held = sim.elbv2.describe_target_groups(LoadBalancerArn=app)["TargetGroups"]
    assert [row["TargetGroupName"] for row in held] == ["web"]
    with refused("TargetGroupNotFound"):
        sim.elbv2.describe_target_groups(Names=["none"])
    attribute = [{"Key": "deregistration_delay.timeout_seconds", "Value": "10"}]
    sim.elbv2.modify_target_group_attributes(TargetGroupArn=web, Attributes=attribute)
    shown = sim.elbv2.describe_target_group_attributes(TargetGroupArn=web)["Attributes"]
    assert attribute[0] in shown
    for key, value in (("nonsense", "1"), ("slow_start.duration_seconds", "soon")):
        with refused("ValidationError"):
            sim.elbv2.modify_target_group_attributes(TargetGroupArn=web, Attributes=[{"Key": key, "Value": value}])


def test_what_eks_needs(sim: Any) -> None:
    held = sim.cluster("held")
    subnets = held["resourcesVpcConfig"]["subnetIds"]
    base = {"name": "two", "roleArn": held["roleArn"], "resourcesVpcConfig": {"subnetIds": subnets}}
    for wrong in (
        {"name": "-a"},
        {"version": "1.1"},
        {"roleArn": "arn:aws:iam::111122223333:role/none"},
        {"resourcesVpcConfig": {"subnetIds": subnets[:1]}},
        {"resourcesVpcConfig": {"subnetIds": ["subnet-0", *subnets]}},
        {"tags": {"aws:a": "b"}},
    ):
        with refused("InvalidParameterException"):
            sim.eks.create_cluster(**{**base, **wrong})
    sim.eks.create_cluster(**base)
    with refused("InvalidRequestException"):
        sim.eks.create_nodegroup(clusterName="two", nodegroupName="n", nodeRole=held["roleArn"], subnets=subnets)
    assert sim.eks.list_clusters(maxResults=1)["clusters"] == ["held"]
    assert sim.eks.list_nodegroups(clusterName="held")["nodegroups"] == []


@pytest.mark.parametrize(("name", "configuration"), [
    ("encryption", {"ServerSideEncryptionConfiguration": {
        "Rules": [{"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}]}}),
    ("policy", {"Policy": '{"Statement": []}'}),
])  # fmt: skip
def test_documents_of_a_bucket_come_back_as_they_were(sim: Any, name: str, configuration: dict[str, Any]) -> None:
    sim.s3.create_bucket(Bucket="bucket")
    getattr(sim.s3, f"put_bucket_{name}")(Bucket="bucket", **configuration)
    got = getattr(sim.s3, f"get_bucket_{name}")(Bucket="bucket")
    assert {key: got[key] for key in configuration} == configuration
    sim.s3.delete_bucket_policy(Bucket="bucket")
    sim.s3.delete_bucket_tagging(Bucket="bucket")
    sim.s3.delete_bucket_lifecycle(Bucket="bucket")
    with refused("NotServedBySimulator"):
        sim.s3.put_bucket_versioning(Bucket="bucket", VersioningConfiguration={"Status": "Enabled"})
    assert "Status" not in sim.s3.get_bucket_versioning(Bucket="bucket")


def test_secrets_are_listed_untagged_and_not_confused(sim: Any) -> None:
    sim.secretsmanager.create_secret(Name="s", SecretString="x", Tags=[{"Key": "a", "Value": "b"}], Description="d")
    sim.clock.advance(20)
    assert [row["Name"] for row in sim.secretsmanager.list_secrets()["SecretList"]] == ["s"]
    sim.secretsmanager.untag_resource(SecretId="s", TagKeys=["a"])
    assert sim.secretsmanager.describe_secret(SecretId="s")["Tags"] == []
    with refused("InvalidParameterException"):
        sim.secretsmanager.put_secret_value(SecretId="s", SecretString="x", SecretBinary=b"y")
    with refused("InvalidRequestException"):
        sim.secretsmanager.put_secret_value(SecretId="s")
    with refused("InvalidParameterException"):
        sim.secretsmanager.tag_resource(SecretId="s", Tags=[{"Key": "aws:a", "Value": "b"}])


def test_the_keys_and_values_of_tags_in_the_index(sim: Any) -> None:
    sim.vpc(TagSpecifications=tagged("vpc", a="1"))
    sim.vpc(TagSpecifications=tagged("vpc", a="2", b="3"))
    sim.clock.advance(60)
    assert sim.tagging.get_tag_keys()["TagKeys"] == ["a", "b"]
    assert sim.tagging.get_tag_values(Key="a")["TagValues"] == ["1", "2"]


def test_roles_keep_their_documents(sim: Any) -> None:
    sim.role("r")
    document = '{"Version": "2012-10-17", "Statement": []}'
    sim.iam.put_role_policy(RoleName="r", PolicyName="p", PolicyDocument=document)
    assert sim.iam.get_role_policy(RoleName="r", PolicyName="p")["PolicyDocument"]["Statement"] == []
    assert sim.iam.list_role_policies(RoleName="r")["PolicyNames"] == ["p"]
    sim.iam.update_assume_role_policy(RoleName="r", PolicyDocument=document)
    assert sim.iam.get_role(RoleName="r")["Role"]["AssumeRolePolicyDocument"]["Statement"] == []
    with refused("NoSuchEntity"):
        sim.iam.delete_role_policy(RoleName="r", PolicyName="none")
    with refused("NoSuchEntity"):
        sim.iam.detach_role_policy(RoleName="r", PolicyArn="arn:aws:iam::aws:policy/AdministratorAccess")
    policy = sim.iam.create_policy(PolicyName="q", PolicyDocument=document, Description="d")["Policy"]["Arn"]
    assert sim.iam.get_policy(PolicyArn=policy)["Policy"]["AttachmentCount"] == 0
    with refused("EntityAlreadyExists"):
        sim.iam.create_policy(PolicyName="q", PolicyDocument=document)
    assert sim.iam.list_roles()["Roles"][0]["RoleName"] == "r"


def test_secrets_are_listed_in_pages(sim: Any) -> None:
    for number in range(5):
        sim.secretsmanager.create_secret(Name=f"s{number}", SecretString="x")
    sim.clock.advance(20)
    first = sim.secretsmanager.list_secrets(MaxResults=3)
    rest = sim.secretsmanager.list_secrets(MaxResults=3, NextToken=first["NextToken"])
    assert [row["Name"] for row in (*first["SecretList"], *rest["SecretList"])] == [f"s{n}" for n in range(5)]
    assert "NextToken" not in rest
    with refused("InvalidNextTokenException"):
        sim.secretsmanager.list_secrets(NextToken="nonsense")
