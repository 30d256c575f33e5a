"""RunInstances with all that a machine asks of it, and what EC2 refuses of that."""

from collections.abc import Callable
from typing import Any

import pytest

from freehold_sim.aws.settings import Lags, Quotas
from freehold_sim.faults import Effect, Fault
from harness.simulated_aws import TRUST, refused, tagged

MACHINE = {"ImageId": "ami-0a0000000000000c1", "InstanceType": "t3.medium", "MinCount": 1, "MaxCount": 1}


def _view(sim: Any, ident: str) -> dict[str, Any]:
    return dict(sim.ec2.describe_instances(InstanceIds=[ident])["Reservations"][0]["Instances"][0])


def _ipv6(sim: Any, vpc: str, subnet: str) -> None:
    sim.ec2.associate_vpc_cidr_block(VpcId=vpc, AmazonProvidedIpv6CidrBlock=True)
    sim.clock.advance(60)
    block = sim.ec2.describe_vpcs(VpcIds=[vpc])["Vpcs"][0]["Ipv6CidrBlockAssociationSet"][0]["Ipv6CidrBlock"]
    sim.ec2.associate_subnet_cidr_block(SubnetId=subnet, Ipv6CidrBlock=block.replace("/56", "/64"))


# -- interfaces -----------------------------------------------------------------------------------------------


def test_an_instance_is_launched_with_several_interfaces(sim: Any) -> None:
    vpc, subnets = sim.network()
    group = sim.group(vpc)
    second = sim.subnet(vpc, 9)
    sim.ec2.modify_subnet_attribute(SubnetId=subnets[0], MapPublicIpOnLaunch={"Value": True})
    cards = [
        {
            "DeviceIndex": 1,
            "SubnetId": second,
            "Groups": [group],
            "Description": "second",
            "InterfaceType": "interface",
        },
        {"DeviceIndex": 0, "SubnetId": subnets[0]},
    ]
    made = sim.ec2.run_instances(
        **MACHINE, NetworkInterfaces=cards, TagSpecifications=tagged("network-interface", a="b")
    )["Instances"][0]
    first, other = made["NetworkInterfaces"]
    assert [row["Attachment"]["DeviceIndex"] for row in (first, other)] == [0, 1]
    assert (made["SubnetId"], made["PrivateIpAddress"]) == (subnets[0], first["PrivateIpAddress"])
    assert (other["Description"], other["Groups"][0]["GroupId"]) == ("second", group)
    assert "PublicIpAddress" not in made, "a public address is for an instance with one interface"
    shown = sim.ec2.describe_network_interfaces()["NetworkInterfaces"]
    assert [row["TagSet"] for row in shown] == [[{"Key": "a", "Value": "b"}]] * 2
    ident = made["InstanceId"]
    for change in ({"Groups": [group]}, {"SourceDestCheck": {"Value": False}}):
        with refused("InvalidInstanceID", "There are multiple interfaces attached"):
            sim.ec2.modify_instance_attribute(InstanceId=ident, **change)
    sim.ec2.terminate_instances(InstanceIds=[ident])
    sim.clock.advance(60)
    assert sim.ec2.describe_network_interfaces()["NetworkInterfaces"] == []


@pytest.mark.parametrize(
    ("cards", "code"),
    [
        ([{}], "InvalidParameterValue"),
        ([{"DeviceIndex": 0}, {"DeviceIndex": 0}], "InvalidParameterValue"),
        ([{"DeviceIndex": 1}], "InvalidParameterValue"),
        ([{"DeviceIndex": number} for number in range(4)], "AttachmentLimitExceeded"),
        ([{"DeviceIndex": 0, "AssociatePublicIpAddress": True}, {"DeviceIndex": 1}], "InvalidParameterCombination"),
        ([{"DeviceIndex": 0, "Ipv6AddressCount": 1}], "InvalidParameterValue"),
        ([{"DeviceIndex": 0, "PrimaryIpv6": True}], "InvalidParameterCombination"),
        ([{"DeviceIndex": 0}, {"DeviceIndex": 1, "SubnetId": "another zone"}], "InvalidParameterCombination"),
        ([{"DeviceIndex": 0, "InterfaceType": "efa"}], "NotServedBySimulator"),
    ],
    ids=["no index", "one index twice", "no index 0", "too many", "public of several", "no IPv6 block",
         "primary of none", "two zones", "efa"],
)  # fmt: skip
def test_what_interfaces_are_refused_for(sim: Any, cards: list[dict[str, Any]], code: str) -> None:
    """packer#2242, aws-cli#809, awsdocs/aws-cloudformation-user-guide#449, and the error codes of EC2."""
    _, subnets = sim.network()
    asked = [{"SubnetId": subnets[0], **card} for card in cards]
    asked = [{**card, "SubnetId": subnets[1]} if card["SubnetId"] == "another zone" else card for card in asked]
    with refused(code):
        sim.ec2.run_instances(**MACHINE, NetworkInterfaces=asked)
    assert sim.ec2.describe_network_interfaces()["NetworkInterfaces"] == []


def test_an_interface_that_is_there_already_keeps_what_it_is(sim: Any) -> None:
    _, subnets = sim.network()
    made = sim.ec2.create_network_interface(SubnetId=subnets[0])["NetworkInterface"]["NetworkInterfaceId"]
    card = {"DeviceIndex": 0, "NetworkInterfaceId": made}
    for more in ({"SubnetId": subnets[0]}, {"AssociatePublicIpAddress": True}):
        with refused("InvalidParameterCombination"):
            sim.ec2.run_instances(**MACHINE, NetworkInterfaces=[{**card, **more}])


@pytest.mark.parametrize("of_request", [True, False])
def test_an_instance_gets_ipv6_addresses_of_its_subnet(sim: Any, of_request: bool) -> None:
    vpc, subnets = sim.network()
    _ipv6(sim, vpc, subnets[0])
    if of_request:
        network = {"SubnetId": subnets[0], "Ipv6AddressCount": 2, "EnablePrimaryIpv6": True}
    else:
        card = {"DeviceIndex": 0, "SubnetId": subnets[0], "Ipv6AddressCount": 2, "PrimaryIpv6": True}
        network = {"NetworkInterfaces": [card]}
    made = sim.ec2.run_instances(**MACHINE, **network)["Instances"][0]
    rows = made["NetworkInterfaces"][0]["Ipv6Addresses"]
    assert [row["IsPrimaryIpv6"] for row in rows] == [True, False]
    assert made["Ipv6Address"] == rows[0]["Ipv6Address"]
    assert len({row["Ipv6Address"] for row in rows}) == 2


def test_a_subnet_gives_an_ipv6_address_unasked(sim: Any) -> None:
    vpc, subnets = sim.network()
    _ipv6(sim, vpc, subnets[0])
    sim.ec2.modify_subnet_attribute(SubnetId=subnets[0], AssignIpv6AddressOnCreation={"Value": True})
    assert _view(sim, sim.instance(subnets[0]))["Ipv6Address"]
    card = sim.ec2.create_network_interface(SubnetId=subnets[0])["NetworkInterface"]
    assert len(card["Ipv6Addresses"]) == 1


def test_names_of_an_instance(sim: Any) -> None:
    """https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/hostname-types.html, .../vpc/latest/userguide/vpc-dns.html"""
    vpc, subnets = sim.network()
    plain = _view(sim, sim.instance(subnets[0]))
    assert plain["PrivateDnsName"] == f"ip-{plain['PrivateIpAddress'].replace('.', '-')}.ec2.internal"
    sim.ec2.modify_vpc_attribute(VpcId=vpc, EnableDnsHostnames={"Value": True})
    options = {"HostnameType": "resource-name", "EnableResourceNameDnsARecord": True}
    card = {"DeviceIndex": 0, "SubnetId": subnets[0], "AssociatePublicIpAddress": True}
    made = sim.ec2.run_instances(**MACHINE, NetworkInterfaces=[card], PrivateDnsNameOptions=options)["Instances"][0]
    assert made["PrivateDnsName"] == f"{made['InstanceId']}.ec2.internal"
    assert made["PublicDnsName"] == f"ec2-{made['PublicIpAddress'].replace('.', '-')}.compute-1.amazonaws.com"
    assert options.items() <= made["PrivateDnsNameOptions"].items()


def test_a_group_of_another_network_is_refused(sim: Any) -> None:
    _, subnets = sim.network()
    group = sim.group(sim.vpc("10.8.0.0/16"))
    with refused("InvalidParameter", "belong to different networks."):
        sim.instance(subnets[0], SecurityGroupIds=[group])


# -- volumes --------------------------------------------------------------------------------------------------


def test_volumes_are_what_the_launch_says(sim: Any) -> None:
    _, subnets = sim.network()
    disks = [
        {"DeviceName": "/dev/sda1", "Ebs": {"VolumeSize": 40, "Iops": 4000, "Throughput": 500}},
        {"DeviceName": "/dev/sdb", "Ebs": {"VolumeSize": 10, "VolumeType": "io2", "Iops": 1000, "Encrypted": True,
                                           "KmsKeyId": "alias/k", "DeleteOnTermination": False}},
        {"DeviceName": "/dev/xvdc", "Ebs": {"VolumeSize": 10}},
    ]  # fmt: skip
    sim.instance(subnets[0], BlockDeviceMappings=disks, TagSpecifications=tagged("volume", a="b"))
    root, second, third = sim.ec2.describe_volumes()["Volumes"]
    assert (root["Size"], root["VolumeType"], root["Iops"], root["Throughput"]) == (40, "gp3", 4000, 500)
    assert (second["VolumeType"], second["Encrypted"], second["KmsKeyId"]) == ("io2", True, "alias/k")
    assert second["Attachments"][0]["DeleteOnTermination"] is False
    assert (third["VolumeType"], third["Attachments"][0]["Device"]) == ("gp2", "/dev/xvdc")
    assert [row["Tags"] for row in (root, second, third)] == [[{"Key": "a", "Value": "b"}]] * 3


@pytest.mark.parametrize(
    ("device", "disk", "code"),
    [
        ("/dev/root", {"VolumeSize": 10}, "InvalidBlockDeviceMapping"),
        ("/dev/sda1", {"VolumeSize": 7}, "InvalidBlockDeviceMapping"),
        ("/dev/sdb", {}, "MissingParameter"),
        ("/dev/sdb", {"VolumeSize": 10, "VolumeType": "gp9"}, "InvalidParameterValue"),
        ("/dev/sdb", {"VolumeSize": 10, "VolumeType": "io1"}, "MissingParameter"),
        ("/dev/sdb", {"VolumeSize": 10, "VolumeType": "gp2", "Iops": 3000}, "InvalidParameterCombination"),
        ("/dev/sdb", {"VolumeSize": 10, "VolumeType": "gp3", "Iops": 2999}, "InvalidParameterValue"),
        ("/dev/sdb", {"VolumeSize": 10, "VolumeType": "gp3", "Iops": 5001}, "InvalidParameterValue"),
        ("/dev/sdb", {"VolumeSize": 500, "VolumeType": "gp3", "Iops": 80001}, "InvalidParameterValue"),
        ("/dev/sdb", {"VolumeSize": 10, "VolumeType": "io1", "Iops": 501}, "InvalidParameterValue"),
        ("/dev/sdb", {"VolumeSize": 10, "VolumeType": "gp3", "Throughput": 124}, "InvalidParameterValue"),
        ("/dev/sdb", {"VolumeSize": 10, "VolumeType": "gp3", "Throughput": 1000}, "InvalidParameterValue"),
        ("/dev/sdb", {"VolumeSize": 10, "VolumeType": "gp2", "Throughput": 125}, "InvalidParameterCombination"),
        ("/dev/sdb", {"VolumeSize": 10, "KmsKeyId": "k"}, "InvalidParameterDependency"),
        ("/dev/sdb", {"VolumeSize": 10, "SnapshotId": "snap-1"}, "NotServedBySimulator"),
    ],
    ids=lambda each: " ".join(map(str, each.values())) if isinstance(each, dict) else each,
)
def test_what_a_volume_of_a_launch_is_refused_for(sim: Any, device: str, disk: dict[str, Any], code: str) -> None:
    _, subnets = sim.network()
    with refused(code):
        sim.instance(subnets[0], BlockDeviceMappings=[{"DeviceName": device, "Ebs": disk}])
    assert sim.ec2.describe_volumes()["Volumes"] == []


def test_a_device_is_mapped_once(sim: Any) -> None:
    _, subnets = sim.network()
    with refused("InvalidBlockDeviceMapping"):
        sim.instance(subnets[0], BlockDeviceMappings=[{"DeviceName": "/dev/sdb", "Ebs": {"VolumeSize": 1}}] * 2)


# -- spot -----------------------------------------------------------------------------------------------------


def _spot(**options: Any) -> dict[str, Any]:
    return {"MarketType": "spot", "SpotOptions": options}


def test_a_spot_instance_fulfils_a_request_with_tags(sim: Any) -> None:
    _, subnets = sim.network()
    ident = sim.instance(
        subnets[0], InstanceMarketOptions=_spot(MaxPrice="0.0031"),
        TagSpecifications=tagged("spot-instances-request", a="b"),
    )  # fmt: skip
    shown = _view(sim, ident)
    assert shown["InstanceLifecycle"] == "spot"
    (request,) = sim.ec2.describe_spot_instance_requests(SpotInstanceRequestIds=[shown["SpotInstanceRequestId"]])[
        "SpotInstanceRequests"
    ]
    assert (request["State"], request["InstanceId"], request["SpotPrice"]) == ("active", ident, "0.0031")
    assert request["Tags"] == [{"Key": "a", "Value": "b"}]
    with refused("UnsupportedOperation", "one-time Spot Instance request"):
        sim.ec2.stop_instances(InstanceIds=[ident])
    with refused("UnsupportedOperation"):
        sim.ec2.modify_instance_attribute(InstanceId=ident, DisableApiTermination={"Value": True})
    sim.ec2.terminate_instances(InstanceIds=[ident])
    sim.clock.advance(60)
    (request,) = sim.ec2.describe_spot_instance_requests()["SpotInstanceRequests"]
    assert (request["State"], request["Status"]["Code"]) == ("closed", "instance-terminated-by-user")


def test_a_spot_instance_is_interrupted(sim: Any) -> None:
    """https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-interruptions.html"""
    _, subnets = sim.network()
    ident = sim.instance(subnets[0], InstanceMarketOptions=_spot())
    sim.cloud.foreign_act("interrupt", {"id": ident})
    assert _view(sim, ident)["State"]["Name"] == "shutting-down"
    sim.clock.advance(60)
    shown = _view(sim, ident)
    assert (shown["State"]["Name"], shown["StateReason"]["Code"]) == ("terminated", "Server.SpotInstanceTermination")
    assert sim.ec2.describe_volumes()["Volumes"] == []
    (request,) = sim.ec2.describe_spot_instance_requests()["SpotInstanceRequests"]
    assert request["Status"]["Code"] == "instance-terminated-no-capacity"
    with pytest.raises(ValueError, match="is no spot instance"):
        sim.cloud.strangers.interrupt(sim.instance(subnets[0]))


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"InstanceMarketOptions": _spot(MaxPrice="0.003")}, "SpotMaxPriceTooLow"),
        ({"InstanceMarketOptions": _spot(MaxPrice="cheap")}, "InvalidParameterValue"),
        ({"InstanceMarketOptions": _spot(SpotInstanceType="persistent")}, "NotServedBySimulator"),
        ({"InstanceMarketOptions": _spot(InstanceInterruptionBehavior="stop")}, "NotServedBySimulator"),
        ({"InstanceMarketOptions": {"MarketType": "capacity-block"}}, "NotServedBySimulator"),
        ({"InstanceMarketOptions": _spot(), "DisableApiTermination": True}, "InvalidParameterCombination"),
        ({"TagSpecifications": tagged("spot-instances-request", a="b")}, "InvalidParameterValue"),
    ],
    ids=["price", "no price", "persistent", "stop", "block", "protected", "tags of no request"],
)
def test_what_a_spot_instance_is_refused_for(sim: Any, given: dict[str, Any], code: str) -> None:
    _, subnets = sim.network()
    with refused(code):
        sim.instance(subnets[0], **given)
    assert sim.ec2.describe_spot_instance_requests()["SpotInstanceRequests"] == []


# -- placement and capacity -----------------------------------------------------------------------------------


def test_an_instance_is_placed_in_a_group_and_a_partition(sim: Any) -> None:
    _, subnets = sim.network()
    made = sim.ec2.create_placement_group(GroupName="g", Strategy="partition", PartitionCount=3)["PlacementGroup"]
    with refused("InvalidPlacementGroup.Duplicate"):
        sim.ec2.create_placement_group(GroupName="g")
    place = {"GroupName": "g", "PartitionNumber": 2, "Tenancy": "dedicated"}
    ident = sim.instance(subnets[0], Placement=place)
    assert {**place, "GroupId": made["GroupId"]}.items() <= _view(sim, ident)["Placement"].items()
    with refused("InvalidPlacementGroup.InUse"):
        sim.ec2.delete_placement_group(GroupName="g")
    sim.ec2.terminate_instances(InstanceIds=[ident])
    sim.clock.advance(60)
    sim.ec2.delete_placement_group(GroupName="g")
    with refused("InvalidPlacementGroup.Unknown"):
        sim.ec2.describe_placement_groups(GroupNames=["g"])


@pytest.mark.parametrize(
    ("place", "code"),
    [
        ({"GroupName": "none"}, "InvalidPlacementGroup.Unknown"),
        ({"GroupName": "cluster"}, "InvalidParameterCombination"),
        ({"GroupName": "spread", "PartitionNumber": 1}, "InvalidParameterCombination"),
        ({"GroupName": "partition", "PartitionNumber": 3}, "InvalidParameterValue"),
        ({"PartitionNumber": 1}, "InvalidParameterCombination"),
        ({"Tenancy": "host"}, "NotServedBySimulator"),
        ({"AvailabilityZone": "us-east-1c"}, "InvalidParameterValue"),
        ({"HostId": "h-1"}, "NotServedBySimulator"),
    ],
    ids=lambda each: " ".join(map(str, each.values())) if isinstance(each, dict) else each,
)
def test_what_a_placement_is_refused_for(sim: Any, place: dict[str, Any], code: str) -> None:
    _, subnets = sim.network()
    for strategy in ("cluster", "spread", "partition"):
        sim.ec2.create_placement_group(GroupName=strategy, Strategy=strategy)
    with refused(code):
        sim.instance(subnets[0], Placement=place)


def test_a_zone_can_lack_capacity_for_a_type_and_get_it_back(make_sim: Any) -> None:
    sim = make_sim(limits={})
    _, subnets = sim.network()
    sim.cloud.foreign_act("exhaust", {"zone": "us-east-1a", "kind": "t3.*"})
    with pytest.raises(Exception, match="choosing us-east-1b, us-east-1c") as caught:
        sim.instance(subnets[0])
    assert caught.value.response["Error"]["Code"] == "InsufficientInstanceCapacity"
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 500, "so EC2 answers it: ocs-ci#9263"
    sim.instance(subnets[0], InstanceType="m5.large")
    sim.instance(subnets[1])
    sim.cloud.foreign_act("restock", {"zone": "us-east-1a"})
    sim.instance(subnets[0])
    sim.cloud.strangers.exhaust("us-east-1a", market="spot")
    with refused("InsufficientInstanceCapacity", "no Spot capacity"):
        sim.instance(subnets[0], InstanceMarketOptions=_spot())
    sim.instance(subnets[0])


def test_a_zone_does_not_offer_a_type(sim: Any) -> None:
    """https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/troubleshooting-launch.html"""
    _, subnets = sim.network()
    sim.cloud.foreign_act("exhaust", {"zone": "us-east-1a", "kind": "m6i.*", "offered": False})
    with refused("Unsupported", "is not supported in your requested Availability Zone (us-east-1a)."):
        sim.instance(subnets[0], InstanceType="m6i.large")
    sim.instance(subnets[1], InstanceType="m6i.large")


def test_a_stopped_instance_finds_no_capacity_and_gets_another_public_address(sim: Any) -> None:
    """https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/how-ec2-instance-stop-start-works.html"""
    _, subnets = sim.network()
    sim.ec2.modify_subnet_attribute(SubnetId=subnets[0], MapPublicIpOnLaunch={"Value": True})
    ident = sim.instance(subnets[0])
    before = _view(sim, ident)["PublicIpAddress"]
    sim.ec2.stop_instances(InstanceIds=[ident])
    sim.clock.advance(30)
    assert "PublicIpAddress" not in _view(sim, ident)
    sim.cloud.strangers.exhaust("us-east-1a")
    with refused("InsufficientInstanceCapacity"):
        sim.ec2.start_instances(InstanceIds=[ident])
    sim.cloud.strangers.restock("us-east-1a")
    sim.ec2.start_instances(InstanceIds=[ident])
    assert _view(sim, ident)["PublicIpAddress"] != before


def test_an_instance_shows_the_groups_of_its_first_interface(sim: Any) -> None:
    vpc, subnets = sim.network()
    group, ident = sim.group(vpc), sim.instance(subnets[0])
    card = _view(sim, ident)["NetworkInterfaces"][0]["NetworkInterfaceId"]
    sim.ec2.modify_network_interface_attribute(NetworkInterfaceId=card, Groups=[group])
    assert [row["GroupId"] for row in _view(sim, ident)["SecurityGroups"]] == [group]


def test_vcpus_count_and_not_instances(make_sim: Any) -> None:
    sim = make_sim(quotas=Quotas(vcpus=4))
    _, subnets = sim.network()
    first = sim.instance(subnets[0])
    with refused("VcpuLimitExceeded", "your current vCPU limit of 4 allows"):
        sim.instance(subnets[0], InstanceType="m5.xlarge")
    sim.ec2.stop_instances(InstanceIds=[first])
    sim.clock.advance(60)
    sim.instance(subnets[0], InstanceType="m5.xlarge")


# -- the rest -------------------------------------------------------------------------------------------------


def test_metadata_options_are_kept_and_changed(sim: Any) -> None:
    _, subnets = sim.network()
    asked = {"HttpTokens": "required", "HttpPutResponseHopLimit": 2, "InstanceMetadataTags": "enabled"}
    ident = sim.instance(subnets[0], MetadataOptions=asked)
    assert {**asked, "HttpEndpoint": "enabled", "State": "applied"}.items() <= _view(sim, ident)[
        "MetadataOptions"
    ].items()
    made = sim.ec2.modify_instance_metadata_options(InstanceId=ident, HttpPutResponseHopLimit=3, HttpTokens="optional")
    assert made["InstanceMetadataOptions"]["State"] == "pending"
    shown = _view(sim, ident)["MetadataOptions"]
    assert (shown["HttpPutResponseHopLimit"], shown["HttpTokens"], shown["State"]) == (3, "optional", "applied")
    with refused("InvalidParameterValue"):
        sim.ec2.modify_instance_metadata_options(InstanceId=ident, HttpPutResponseHopLimit=65)
    sim.ec2.terminate_instances(InstanceIds=[ident])
    with refused("IncorrectInstanceState"):
        sim.ec2.modify_instance_metadata_options(InstanceId=ident, HttpTokens="required")


def test_tags_in_the_metadata_have_no_slash(sim: Any) -> None:
    """https://github.com/aws/aws-cli/issues/8825, https://github.com/kubernetes/cloud-provider-aws/issues/762"""
    _, subnets = sim.network()
    key = "kubernetes.io/cluster/one"
    tags = [{"ResourceType": "instance", "Tags": [{"Key": key, "Value": "owned"}]}]
    wanted = f"'{key}' is not a valid tag key. Tag keys must match pattern"
    with refused("InvalidParameterValue", wanted):
        sim.instance(subnets[0], TagSpecifications=tags, MetadataOptions={"InstanceMetadataTags": "enabled"})
    ident = sim.instance(subnets[0], TagSpecifications=tags)
    with refused("InvalidParameterValue", wanted):
        sim.ec2.modify_instance_metadata_options(InstanceId=ident, InstanceMetadataTags="enabled")
    other = sim.instance(subnets[0], MetadataOptions={"InstanceMetadataTags": "enabled"})
    with refused("InvalidParameterValue", wanted):
        sim.ec2.create_tags(Resources=[other], Tags=tags[0]["Tags"])
    sim.clock.advance(60)
    arn = f"arn:aws:ec2:us-east-1:111122223333:instance/{other}"
    failed = sim.tagging.tag_resources(ResourceARNList=[arn], Tags={key: "owned"})["FailedResourcesMap"]
    assert failed[arn]["ErrorCode"] == "InvalidParameterException"


def _by_both(sim: Any) -> dict[str, str]:
    return {"Name": "p", "Arn": sim.profile("p")}


def _without_role(sim: Any) -> dict[str, str]:
    sim.iam.create_instance_profile(InstanceProfileName="p")
    return {"Name": "p"}


@pytest.mark.parametrize(
    ("profile", "code", "text"),
    [
        (lambda sim: {"Name": "none"}, "InvalidParameterValue", "iamInstanceProfile.name is invalid. Invalid IAM"),
        (lambda sim: {"Arn": "arn:aws:iam::111122223333:instance-profile/none"}, "InvalidParameterValue",
         "Invalid IAM Instance Profile ARN"),
        (_by_both, "InvalidParameterCombination", ""),
        (_without_role, "InvalidParameterValue", "has no associated IAM Roles"),
    ],
    ids=["name", "arn", "both", "no role"],
)  # fmt: skip
def test_what_a_profile_is_refused_for(sim: Any, profile: Callable[[Any], Any], code: str, text: str) -> None:
    _, subnets = sim.network()
    with refused(code, text):
        sim.instance(subnets[0], IamInstanceProfile=profile(sim))


def test_a_new_profile_is_not_found_for_a_while(make_sim: Any) -> None:
    """https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot.html: IAM is eventually consistent."""
    sim = make_sim(lags=Lags(new=2))
    subnet = sim.subnet(sim.vpc())
    sim.clock.advance(2)
    strangers = sim.cloud.strangers
    strangers.create("iam", "CreateRole", {"RoleName": "p", "AssumeRolePolicyDocument": TRUST})
    strangers.create("iam", "CreateInstanceProfile", {"InstanceProfileName": "p"})
    strangers.call("iam", "AddRoleToInstanceProfile", {"InstanceProfileName": "p", "RoleName": "p"})
    with refused("InvalidParameterValue", "Invalid IAM Instance Profile name"):
        sim.instance(subnet, IamInstanceProfile={"Name": "p"})
    sim.clock.advance(2)
    sim.instance(subnet, IamInstanceProfile={"Name": "p"})


def test_a_launch_can_fail_after_it_was_answered(sim: Any) -> None:
    """https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/troubleshooting-launch.html: a key that cannot be used."""
    _, subnets = sim.network()
    reason = "Client.InvalidKMSKey.InvalidState: The KMS key provided is in an incorrect state"
    sim.cloud.faults.add(Fault(Effect.FAILED, "ec2.RunInstances", message=reason))
    shown = _view(sim, sim.instance(subnets[0]))
    assert (shown["State"]["Name"], shown["StateReason"]["Code"]) == ("terminated", "Client.InvalidKMSKey.InvalidState")


def test_the_options_and_attributes_that_a_machine_controller_reads(sim: Any) -> None:
    vpc, subnets = sim.network()
    ident = sim.ec2.describe_vpcs(VpcIds=[vpc])["Vpcs"][0]["DhcpOptionsId"]
    (options,) = sim.ec2.describe_dhcp_options(DhcpOptionsIds=[ident])["DhcpOptions"]
    rows = {row["Key"]: [value["Value"] for value in row["Values"]] for row in options["DhcpConfigurations"]}
    assert rows == {"domain-name": ["ec2.internal"], "domain-name-servers": ["AmazonProvidedDNS"]}
    for wrong, code in (("dopt-1", "InvalidDhcpOptionID.NotFound"), ("x", "InvalidDhcpOptionsId.Malformed")):
        with refused(code):
            sim.ec2.describe_dhcp_options(DhcpOptionsIds=[wrong])
    machine = sim.instance(subnets[0])
    card = {"NetworkInterfaceId": _view(sim, machine)["NetworkInterfaces"][0]["NetworkInterfaceId"]}
    sim.ec2.modify_instance_attribute(InstanceId=machine, SourceDestCheck={"Value": False})
    shown = sim.ec2.describe_network_interface_attribute(**card, Attribute="sourceDestCheck")
    assert shown["SourceDestCheck"] == {"Value": False}
    assert sim.ec2.describe_network_interface_attribute(**card, Attribute="groupSet")["Groups"]
    attachment = sim.ec2.describe_network_interface_attribute(**card, Attribute="attachment")["Attachment"]
    assert attachment["InstanceId"] == machine
    with refused("MissingParameter"):
        sim.ec2.describe_network_interface_attribute(**card)
