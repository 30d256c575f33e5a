"""What is asked of AWS before anything is wanted, on the simulated AWS."""

from __future__ import annotations

import pytest

from freehold.engine import errors
from freehold.engine.clock import ManualClock
from freehold.engine.keyed_codec import OWNER, UUID
from freehold.providers.aws.cluster.facts import GivenNetwork, Namesake
from freehold.providers.aws.cluster.facts_reader import AwsFactsReader
from freehold.providers.aws.facts import AwsFacts
from freehold.providers.aws.tags.service_tags import ServiceTags
from freehold.providers.aws.tags.tagger import AwsTagger
from freehold.providers.objects.cloud_answers import Answer, NotThere
from freehold_sim.aws.settings import Settings
from freehold_sim.faults import Effect, Fault
from harness.aws_account import AwsAccount
from harness.simulated_aws import tagged

CLUSTER = "sigs.k8s.io/cluster-api-provider-aws/cluster/prod"
CCM = "kubernetes.io/cluster/prod"


class Asked:
    """An account, what is asked of it, and the clock of the answers."""

    def __init__(self, account: AwsAccount) -> None:
        self.account = account
        self.time = ManualClock()
        self.reader = AwsFactsReader(AwsFacts(account.api, AwsTagger(account.api, self.time), self.time))

    async def network(self, vpc: str) -> GivenNetwork:
        found = await self.reader.network(vpc)
        assert isinstance(found, Answer)
        return found.value


async def test_the_zones_of_a_region_are_asked_for_once(account: AwsAccount) -> None:
    asked = Asked(account)
    first = await asked.reader.zones()
    assert first == await asked.reader.zones()
    assert account.sent().count("ec2.describe_availability_zones") == 1
    assert isinstance(first, Answer)
    assert set(first.value) >= {"us-east-1a", "us-east-1b", "us-east-1c"}


async def test_a_subnet_is_public_if_its_own_or_the_main_route_table_leads_to_an_internet_gateway(
    account: AwsAccount,
) -> None:
    vpc = account.vpc()
    gateway = account.gateway(vpc)
    by_own, by_main, private = (account.subnet(vpc, number, zone) for number, zone in enumerate("abc"))
    out = {"DestinationCidrBlock": "0.0.0.0/0", "GatewayId": gateway}
    inner = account.ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]
    account.ec2.associate_route_table(RouteTableId=inner, SubnetId=private)
    own = account.ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]
    account.ec2.create_route(RouteTableId=own, **out)
    account.ec2.associate_route_table(RouteTableId=own, SubnetId=by_own)

    def public(found: GivenNetwork) -> set[str]:
        return {each.id for each in found.subnets.values() if each.public}

    asked = Asked(account)
    assert public(await asked.network(vpc)) == {by_own}
    tables = account.ec2.describe_route_tables(Filters=[{"Name": "association.main", "Values": ["true"]}])
    (main,) = (each["RouteTableId"] for each in tables["RouteTables"] if each["VpcId"] == vpc)
    account.ec2.create_route(RouteTableId=main, **out)
    asked.time.advance(301)
    found = await asked.network(vpc)
    assert public(found) == {by_own, by_main}
    assert found.subnets[private].zone == "us-east-1c"


async def test_of_a_subnet_it_is_known_what_its_zone_is_and_whether_it_has_ipv6() -> None:
    """A given VPC may have subnets in zones that are not served, and none for a dual-stack load balancer."""
    places = ("us-east-1a", "us-east-1-nyc-1a", "us-east-1-wl1-bos-wlz-1")
    impaired = "us-east-1b"
    account = AwsAccount(Settings(regions={"us-east-1": (*places, impaired)}, impaired=frozenset({impaired})))
    vpc = account.ec2.create_vpc(CidrBlock="10.0.0.0/16", AmazonProvidedIpv6CidrBlock=True)["Vpc"]
    account.clock.advance(60)
    (row,) = account.ec2.describe_vpcs(VpcIds=[vpc["VpcId"]])["Vpcs"]
    (block,) = (each["Ipv6CidrBlock"] for each in row["Ipv6CidrBlockAssociationSet"])
    six = {places[0]: {"Ipv6CidrBlock": block.replace("::/56", "::/64")}}
    for number, zone in enumerate(places):
        more = six.get(zone, {})
        account.ec2.create_subnet(VpcId=vpc["VpcId"], CidrBlock=f"10.0.{number}.0/24", AvailabilityZone=zone, **more)
    asked = Asked(account)
    assert await asked.reader.zones() == Answer(("us-east-1a",))
    found = {each.zone: (each.zone_type, each.ipv6) for each in (await asked.network(vpc["VpcId"])).subnets.values()}
    types = ("availability-zone", "local-zone", "wavelength-zone")
    assert found == {zone: (type_, zone in six) for zone, type_ in zip(places, types, strict=True)}
    assert account.sent().count("ec2.describe_availability_zones") == 1, "one question for both"


async def test_what_is_known_of_one_vpc_is_not_answered_for_another(account: AwsAccount) -> None:
    """One operator serves clusters in several VPCs of an account, and keeps what it has read."""
    plain = account.vpc()
    dual = account.ec2.create_vpc(CidrBlock="10.0.0.0/16", AmazonProvidedIpv6CidrBlock=True)["Vpc"]["VpcId"]
    inside = {vpc: {account.subnet(vpc, 1, "a")} for vpc in (plain, dual)}
    account.clock.advance(60)
    asked = Asked(account)
    for _ in range(2):
        for vpc, subnets in inside.items():
            found = await asked.network(vpc)
            assert {each.id for each in found.subnets.values()} == subnets
            assert await asked.reader.has_ipv6(vpc) == Answer(vpc == dual)


async def test_a_vpc_that_is_not_there_is_asked_for_again(account: AwsAccount) -> None:
    asked = Asked(account)
    assert await asked.reader.network("vpc-0123456789abcdef0") == NotThere()
    await asked.reader.network("vpc-0123456789abcdef0")
    assert account.sent().count("ec2.describe_vpcs") == 2


async def test_of_security_groups_it_is_known_which_vpc_they_are_in(account: AwsAccount) -> None:
    """One that is missing does not hide the others."""
    vpc = account.vpc()
    group = account.ec2.create_security_group(VpcId=vpc, GroupName="g", Description="d")["GroupId"]
    assert await Asked(account).reader.groups([group, "sg-0123456789abcdef0"]) == Answer({group: vpc})


async def test_the_image_of_a_bastion_is_a_public_parameter(account: AwsAccount) -> None:
    found = await Asked(account).reader.image()
    assert isinstance(found, Answer)
    assert account.ec2.describe_images(ImageIds=[found.value])["Images"]


async def test_what_has_the_name_of_the_cluster_is_shown_with_whose_it_is(account: AwsAccount) -> None:
    ours = account.ec2.create_vpc(
        CidrBlock="10.0.0.0/16", TagSpecifications=tagged("vpc", **{CLUSTER: "owned", UUID: "u1"})
    )
    capas = account.ec2.create_vpc(CidrBlock="10.1.0.0/16", TagSpecifications=tagged("vpc", **{CLUSTER: "owned"}))
    marks = {CLUSTER: "owned", UUID: "u2", OWNER: "team/other"}
    others = account.ec2.create_vpc(CidrBlock="10.2.0.0/16", TagSpecifications=tagged("vpc", **marks))
    account.clock.advance(300)
    found = (await Asked(account).reader.namesakes("prod", "u1")).value
    rows = ((ours, "", "u1"), (capas, "", ""), (others, "team/other", "u2"))
    ids = {(each["Vpc"]["VpcId"], owner, uuid) for each, owner, uuid in rows}
    assert {(each.arn.rpartition("/")[2], each.owner, each.uuid) for each in found} == ids
    assert all(isinstance(each, Namesake) for each in found)


async def test_what_only_the_cloud_controller_and_capas_collector_find_is_shown_too(account: AwsAccount) -> None:
    """They read another tag than CAPA: a cluster of another tool may have no other. ``shared`` says that it owns none.

    https://github.com/kubernetes-sigs/cluster-api-provider-aws/blob/main/pkg/cloud/services/gc/cleanup.go
    """
    vpc, (subnet, *_) = account.network()
    account.ec2.create_tags(Resources=[vpc], Tags=[{"Key": CCM, "Value": "shared"}])
    group = account.ec2.create_security_group(
        VpcId=vpc, GroupName="g", Description="d", TagSpecifications=tagged("security-group", **{CCM: "owned"})
    )["GroupId"]
    listener = {"Protocol": "TCP", "LoadBalancerPort": 80, "InstanceProtocol": "TCP", "InstancePort": 30080}
    account.elb.create_load_balancer(
        LoadBalancerName="a1b2", Listeners=[listener], Subnets=[subnet], Tags=[{"Key": CCM, "Value": "owned"}]
    )
    both = account.ec2.create_vpc(
        CidrBlock="10.9.0.0/16", TagSpecifications=tagged("vpc", **{CCM: "owned", CLUSTER: "owned"})
    )["Vpc"]["VpcId"]
    account.clock.advance(300)
    found = (await Asked(account).reader.namesakes("prod", "u1")).value
    shown = {each.arn.rpartition("/")[2]: each.by_cloud_provider for each in found}
    assert shown == {group: True, "a1b2": True, both: False}
    where_the_index_is_denied = AwsFacts(account.api, ServiceTags(account.api), ManualClock())
    assert (await AwsFactsReader(where_the_index_is_denied).namesakes("prod", "u1")).value == found


async def test_a_tag_that_was_changed_to_shared_counts_as_such_while_the_index_still_shows_the_old_one(
    account: AwsAccount,
) -> None:
    """That is what a person is told to do with a network of their own: it helps at once."""
    vpc = account.ec2.create_vpc(CidrBlock="10.0.0.0/16", TagSpecifications=tagged("vpc", **{CCM: "owned"}))["Vpc"]
    account.clock.advance(300)
    account.ec2.create_tags(Resources=[vpc["VpcId"]], Tags=[{"Key": CCM, "Value": "shared"}])
    shown = account.tagging.get_resources(TagFilters=[{"Key": CCM, "Values": ["owned"]}])["ResourceTagMappingList"]
    assert shown
    assert (await Asked(account).reader.namesakes("prod", "u1")).value == ()


@pytest.mark.parametrize("nth", [1, 2])
async def test_where_one_of_the_two_questions_has_no_answer_there_is_none(account: AwsAccount, nth: int) -> None:
    """Half an answer would say that the name is free."""
    account.cloud.faults.add(Fault(Effect.ERROR_BEFORE, "*.GetResources", nth=nth, status=503))
    with pytest.raises(errors.CloudError):
        await Asked(account).reader.namesakes("prod", "u1")


async def test_what_has_gone_is_no_namesake_while_the_index_still_shows_it(account: AwsAccount) -> None:
    """A cluster that was deleted a minute ago does not stop its successor."""
    named = {CLUSTER: "owned"}
    vpc, (subnet, *_) = account.network()
    nat = account.nat(subnet, TagSpecifications=tagged("natgateway", **named))
    machine = account.instance(subnet, TagSpecifications=tagged("instance", **named))
    group = account.ec2.create_security_group(
        VpcId=vpc, GroupName="g", Description="d", TagSpecifications=tagged("security-group", **named)
    )["GroupId"]
    account.clock.advance(300)
    reader = Asked(account).reader
    there = (await reader.namesakes("prod", "u1")).value
    assert {each.arn.rpartition("/")[2] for each in there} == {nat, machine, group}
    account.ec2.delete_nat_gateway(NatGatewayId=nat)
    account.ec2.terminate_instances(InstanceIds=[machine])
    account.ec2.delete_security_group(GroupId=group)
    account.clock.advance(120)
    shown = account.tagging.get_resources(TagFilters=[{"Key": CLUSTER}])["ResourceTagMappingList"]
    assert shown
    assert (await reader.namesakes("prod", "u1")).value == ()


async def test_volumes_and_interfaces_of_an_instance_of_ours_are_no_namesakes(account: AwsAccount) -> None:
    """They have its tags without its marks; with the journal lost, our own bastion would stop us otherwise."""
    _, (subnet, *_) = account.network()
    along = [spec for kind in ("volume", "network-interface") for spec in tagged(kind, **{CLUSTER: "owned"})]
    ours = tagged("instance", **{CLUSTER: "owned", UUID: "u1"})
    account.instance(subnet, TagSpecifications=[*ours, *along])
    account.clock.advance(300)
    assert {each.uuid for each in (await Asked(account).reader.namesakes("prod", "u1")).value} == {"u1"}


async def test_nor_are_they_while_the_index_shows_what_another_cluster_had(account: AwsAccount) -> None:
    """Then each that is shown is asked itself."""
    vpc, (subnet, *_) = account.network()
    group = account.ec2.create_security_group(
        VpcId=vpc, GroupName="g", Description="d", TagSpecifications=tagged("security-group", **{CLUSTER: "owned"})
    )["GroupId"]
    along = [spec for kind in ("volume", "network-interface") for spec in tagged(kind, **{CLUSTER: "owned"})]
    ours = tagged("instance", **{CLUSTER: "owned", UUID: "u1"})
    account.instance(subnet, TagSpecifications=[*ours, *along])
    account.clock.advance(300)
    account.ec2.delete_security_group(GroupId=group)
    assert {each.uuid for each in (await Asked(account).reader.namesakes("prod", "u1")).value} == {"u1"}
