"""Tags: limits, tags at birth, CreateTags, and the tagging API with its batches, lag and ghosts."""

import random
from collections.abc import Iterator
from typing import Any

import pytest

from freehold_sim.aws.settings import Lags
from freehold_sim.faults import Effect, Fault
from harness.simulated_aws import OTHER_KEY, TRUST, refused, tagged

MANY = {f"key-{number}": "x" for number in range(51)}


def pairs(tags: dict[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]


@pytest.mark.parametrize(
    ("tags", "code"),
    [
        ({"aws:mine": "x"}, "InvalidParameterValue"),
        ({"AWS:mine": "x"}, "InvalidParameterValue"),
        ({"k" * 129: "x"}, "InvalidParameterValue"),
        ({"k": "v" * 257}, "InvalidParameterValue"),
        (MANY, "TagLimitExceeded"),
    ],
    ids=["reserved", "reserved in capitals", "long key", "long value", "51 tags"],
)
def test_limits_of_tags_in_ec2(sim: Any, tags: dict[str, str], code: str) -> None:
    with refused(code):
        sim.vpc(TagSpecifications=[{"ResourceType": "vpc", "Tags": pairs(tags)}])
    vpc = sim.vpc()
    with refused(code):
        sim.ec2.create_tags(Resources=[vpc], Tags=pairs(tags))
    assert sim.ec2.describe_tags()["Tags"] == []


@pytest.mark.parametrize(
    ("key", "value"),
    [("a#b", "x"), ("k", "a\nb"), ("k", "\u20ac"), ("k", "Aws:x")],
    ids=["sign", "line", "symbol", "reserved value"],
)
def test_load_balancers_and_roles_take_letters_digits_and_some_signs(sim: Any, key: str, value: str) -> None:
    """EC2 takes any character."""
    balancer, legal = sim.balancer(sim.network()[1]), {"K\u00fc 9_.:/=+-@": "\u90e8 9_.:/=+-@"}
    sim.role()
    sim.ec2.create_tags(Resources=[vpc := sim.vpc()], Tags=pairs({key: value}))
    assert sim.ec2.describe_vpcs(VpcIds=[vpc])["Vpcs"][0]["Tags"] == pairs({key: value})
    with refused("ValidationError"):
        sim.elbv2.add_tags(ResourceArns=[balancer], Tags=pairs({key: value}))
    with refused("InvalidInput"):
        sim.iam.tag_role(RoleName="role", Tags=pairs({key: value}))
    reply = sim.tagging.tag_resources(ResourceARNList=[balancer], Tags={key: value})
    assert reply["FailedResourcesMap"][balancer]["ErrorCode"] == "InvalidParameterException"
    sim.elbv2.add_tags(ResourceArns=[balancer], Tags=pairs(legal))
    sim.iam.tag_role(RoleName="role", Tags=pairs(legal))
    assert sim.tagging.tag_resources(ResourceARNList=[balancer], Tags=legal)["FailedResourcesMap"] == {}


def test_the_fifty_tags_count_those_that_are_there(sim: Any) -> None:
    vpc = sim.vpc()
    sim.ec2.create_tags(Resources=[vpc], Tags=pairs({f"k{n}": "" for n in range(50)}))
    sim.ec2.create_tags(Resources=[vpc], Tags=pairs({"k1": "changed"}))
    with refused("TagLimitExceeded"):
        sim.ec2.create_tags(Resources=[vpc], Tags=pairs({"one-more": ""}))


def test_keys_differ_in_case(sim: Any) -> None:
    vpc = sim.vpc(TagSpecifications=tagged("vpc", Name="a", name="b"))
    filters = [{"Name": "tag:name", "Values": ["b"]}]
    shown = sim.ec2.describe_vpcs(Filters=filters)["Vpcs"][0]
    assert (shown["VpcId"], len(shown["Tags"])) == (vpc, 2)


def test_tags_at_birth_are_for_the_kind_that_is_made(sim: Any) -> None:
    with refused("InvalidParameterValue"):
        sim.vpc(TagSpecifications=tagged("subnet", a="b"))


def test_an_instance_gives_tags_to_its_volumes_and_interfaces(sim: Any) -> None:
    _, subnets = sim.network()
    kinds = ("instance", "volume", "network-interface")
    sim.instance(subnets[0], TagSpecifications=[row for kind in kinds for row in tagged(kind, owner=kind)])
    rows = sim.ec2.describe_tags(Filters=[{"Name": "key", "Values": ["owner"]}])["Tags"]
    assert sorted((row["ResourceType"], row["Value"]) for row in rows) == sorted((kind, kind) for kind in kinds)


def test_a_tag_goes_with_its_value_or_with_any(sim: Any) -> None:
    vpc = sim.vpc(TagSpecifications=tagged("vpc", a="1", b="2", c="3"))
    sim.ec2.delete_tags(Resources=[vpc], Tags=[{"Key": "a", "Value": "other"}, {"Key": "b"}])
    left = {row["Key"] for row in sim.ec2.describe_tags()["Tags"]}
    assert left == {"a", "c"}


def test_create_tags_is_all_or_nothing(sim: Any) -> None:
    vpc = sim.vpc()
    with refused("InvalidVpcID.NotFound"):
        sim.ec2.create_tags(Resources=[vpc, "vpc-0"], Tags=pairs({"a": "b"}))
    assert sim.ec2.describe_tags()["Tags"] == []


# -- the tagging API ------------------------------------------------------------------------------------------


def _everything(sim: Any) -> None:
    """Make a tagged resource of each kind that the tagging API lists."""
    vpc, subnets = sim.network()
    own, ec2 = [{"Key": "own", "Value": "1"}], sim.ec2
    address = ec2.allocate_address(TagSpecifications=tagged("elastic-ip", own="1"))["AllocationId"]
    ec2.create_tags(Resources=[vpc, subnets[0]], Tags=own)
    gateways = ec2.describe_internet_gateways()["InternetGateways"]
    ec2.create_tags(Resources=[gateways[0]["InternetGatewayId"]], Tags=own)
    ec2.create_nat_gateway(SubnetId=subnets[0], AllocationId=address, TagSpecifications=tagged("natgateway", own="1"))
    ec2.create_route_table(VpcId=vpc, TagSpecifications=tagged("route-table", own="1"))
    sim.group(vpc, TagSpecifications=tagged("security-group", own="1"))
    ec2.create_egress_only_internet_gateway(
        VpcId=vpc, TagSpecifications=tagged("egress-only-internet-gateway", own="1")
    )
    ec2.create_vpc_endpoint(
        VpcId=vpc, ServiceName="com.amazonaws.us-east-1.s3", TagSpecifications=tagged("vpc-endpoint", own="1")
    )
    kinds = ("instance", "volume", "network-interface")
    sim.instance(subnets[1], TagSpecifications=[row for kind in kinds for row in tagged(kind, own="1")])
    sim.elb.create_load_balancer(
        LoadBalancerName="classic", Subnets=subnets, Tags=own,
        Listeners=[{"Protocol": "TCP", "LoadBalancerPort": 6443, "InstancePort": 6443}],
    )  # fmt: skip
    sim.balancer(subnets, Tags=own)
    sim.target_group(vpc, Tags=own)
    sim.s3.create_bucket(Bucket="bucket-1")
    sim.s3.put_bucket_tagging(Bucket="bucket-1", Tagging={"TagSet": own})
    sim.secretsmanager.create_secret(Name="s", SecretString="x", Tags=own)
    sim.iam.create_role(RoleName="r", AssumeRolePolicyDocument=TRUST, Tags=own)
    sim.clock.advance(60)


def _types(sim: Any, **params: Any) -> list[str]:
    rows = sim.tagging.get_resources(TagFilters=[{"Key": "own", "Values": ["1"]}], **params)["ResourceTagMappingList"]
    arns = [row["ResourceARN"].split(":", 5) for row in rows]
    return sorted(f"{arn[2]}:{arn[5].partition('/')[0].partition(':')[0]}" for arn in arns)


def test_the_tagging_api_lists_all_kinds_but_roles(sim: Any) -> None:
    """Roles and users are never listed: API_GetResources."""
    _everything(sim)
    assert _types(sim) == [
        "ec2:egress-only-internet-gateway", "ec2:elastic-ip", "ec2:instance", "ec2:internet-gateway",
        "ec2:natgateway", "ec2:network-interface", "ec2:route-table", "ec2:security-group", "ec2:subnet",
        "ec2:volume", "ec2:vpc", "ec2:vpc-endpoint", "elasticloadbalancing:loadbalancer",
        "elasticloadbalancing:loadbalancer", "elasticloadbalancing:targetgroup", "s3:bucket-1",
        "secretsmanager:secret",
    ]  # fmt: skip
    assert _types(sim, ResourceTypeFilters=["ec2:vpc", "elasticloadbalancing:loadbalancer"]) == [
        "ec2:vpc", "elasticloadbalancing:loadbalancer", "elasticloadbalancing:loadbalancer",
    ]  # fmt: skip


def test_a_page_has_a_token_that_expires(sim: Any) -> None:
    for _ in range(5):
        sim.vpc(TagSpecifications=tagged("vpc", own="1"))
    sim.clock.advance(60)
    found, token = [], ""
    while True:
        page = sim.tagging.get_resources(ResourcesPerPage=2, PaginationToken=token)
        found += [row["ResourceARN"] for row in page["ResourceTagMappingList"]]
        token = page["PaginationToken"]
        if not token:
            break
        last = token
    assert len(set(found)) == 5
    sim.clock.advance(901)
    with refused("PaginationTokenExpiredException"):
        sim.tagging.get_resources(PaginationToken=last)


@pytest.mark.parametrize(
    "params",
    [
        {"TagFilters": [{"Key": str(n)} for n in range(51)]},
        {"TagFilters": [{"Key": "a", "Values": [str(n) for n in range(21)]}]},
        {"ResourceARNList": [f"arn:aws:ec2:r:a:vpc/vpc-{n}" for n in range(101)]},
        {"ResourceARNList": ["arn:aws:ec2:r:a:vpc/v"], "TagFilters": [{"Key": "a"}]},
        {"ResourcesPerPage": 101},
        {"ResourceTypeFilters": ["nonsense:thing"]},
        {"PaginationToken": "nonsense"},
    ],
    ids=["51 filters", "21 values", "101 ARNs", "ARNs with filters", "page of 101", "unknown type", "bad token"],
)
def test_limits_of_get_resources(sim: Any, params: dict[str, Any]) -> None:
    with refused("InvalidParameterException"):
        sim.tagging.get_resources(**params)


def _arn(vpc: str) -> str:
    return f"arn:aws:ec2:us-east-1:111122223333:vpc/{vpc}"


def test_a_batch_has_at_most_twenty_arns_and_fails_one_by_one(sim: Any) -> None:
    one, other = sim.vpc(), sim.vpc()
    with refused("InvalidParameterException"):
        sim.tagging.tag_resources(ResourceARNList=[_arn(f"vpc-{n}") for n in range(21)], Tags={"a": "b"})
    with refused("InvalidParameterException"):
        sim.tagging.tag_resources(ResourceARNList=[_arn(one)], Tags={"aws:a": "b"})
    with refused("InvalidParameterException"):
        sim.tagging.tag_resources(ResourceARNList=["not-an-arn"], Tags={"a": "b"})
    foreign = "arn:aws:ec2:eu-west-1:111122223333:vpc/vpc-0"
    failed = sim.tagging.tag_resources(ResourceARNList=[_arn(one), _arn("vpc-0"), foreign], Tags={"a": "b"})
    assert set(failed["FailedResourcesMap"]) == {_arn("vpc-0"), foreign}
    sim.cloud.faults.add(Fault(Effect.PARTIAL, "resourcegroupstaggingapi.TagResources"))
    failed = sim.tagging.tag_resources(ResourceARNList=[_arn(one), _arn(other)], Tags={"c": "d"})
    assert failed["FailedResourcesMap"][_arn(other)]["ErrorCode"] == "InternalServiceException"
    tags = {(row["ResourceId"], row["Key"]) for row in sim.ec2.describe_tags()["Tags"]}
    assert tags == {(one, "a"), (one, "c")}
    sim.tagging.untag_resources(ResourceARNList=[_arn(one)], TagKeys=["a"])
    assert {row["Key"] for row in sim.ec2.describe_tags()["Tags"]} == {"c"}


def test_the_index_lags_shows_ghosts_and_what_was_tagged_once(sim: Any) -> None:
    vpc = sim.vpc(TagSpecifications=tagged("vpc", own="1"))
    assert _types(sim) == [], "a new resource shows late"
    sim.clock.advance(20)
    assert _types(sim) == ["ec2:vpc"]
    sim.ec2.delete_tags(Resources=[vpc], Tags=[{"Key": "own"}])
    assert _types(sim) == ["ec2:vpc"], "so do changes of tags"
    sim.clock.advance(20)
    assert _types(sim) == []
    rows = sim.tagging.get_resources()["ResourceTagMappingList"]
    assert rows == [{"ResourceARN": _arn(vpc), "Tags": []}], "previously tagged resources are listed too"
    sim.ec2.delete_vpc(VpcId=vpc)
    assert len(sim.tagging.get_resources()["ResourceTagMappingList"]) == 1, "and deleted ones for a while"
    sim.clock.advance(20)
    assert sim.tagging.get_resources()["ResourceTagMappingList"] == []


def _pages(sim: Any, size: int) -> list[str]:
    found, token = [], ""
    while True:
        page = sim.tagging.get_resources(ResourcesPerPage=size, PaginationToken=token)
        found += [row["ResourceARN"] for row in page["ResourceTagMappingList"]]
        token = page["PaginationToken"]
        if not token:
            return found


def test_pages_have_all_in_the_order_of_birth_through_deletes_rebirths_and_a_restore(make_sim: Any) -> None:
    """The order is derived from the state: it must not part from it."""
    sim = make_sim(limits={})
    chance, own = random.Random(11), [{"Key": "own", "Value": "1"}]
    for step in range(120):
        bucket = f"bucket-{chance.randrange(8)}"
        there = {each["Name"] for each in sim.s3.list_buckets()["Buckets"]}
        if bucket in there:
            sim.s3.delete_bucket(Bucket=bucket)
        else:
            sim.s3.create_bucket(Bucket=bucket)
            sim.s3.put_bucket_tagging(Bucket=bucket, Tagging={"TagSet": own})
        sim.clock.advance(chance.choice([0.0, 5.0, 45.0]))
        if step == 60:
            sim.cloud.world.restore(sim.cloud.world.snapshot())
        index = sim.cloud.world.data["index"]
        now, lag = sim.clock.now(), sim.cloud.settings.lags
        shown = [
            arn
            for arn, entry in sorted(index.items(), key=lambda each: int(each[1]["serial"]))
            if entry["from"] <= now - lag.tagged and (entry["to"] is None or entry["to"] > now - lag.ghost)
        ]
        assert _pages(sim, 1) == _pages(sim, 100) == shown


def test_a_page_costs_a_page(make_sim: Any) -> None:
    """A fleet of 100,000 has 1,000 pages: looking at everything for each of them would be 100,000,000 looks."""
    sim = make_sim(limits={})
    for _ in range(300):
        sim.cloud.strangers.create(
            "ec2", "CreateVolume",
            {"AvailabilityZone": "us-east-1a", "Size": 1, "TagSpecifications": tagged("volume", own="1")},
        )  # fmt: skip
    sim.clock.advance(60)
    looked = 0
    inner = sim.cloud.world.indexed

    def counted(scope: str, after: int) -> Iterator[Any]:
        nonlocal looked
        for row in inner(scope, after):
            looked += 1
            yield row

    sim.cloud.world.indexed = counted
    assert len(_pages(sim, 10)) == 300
    assert looked <= 300 + 30


def test_two_reads_of_a_lagging_index_can_step_back(make_sim: Any) -> None:
    sim = make_sim(lags=Lags(tagged=20, non_monotonic=True))
    sim.vpc(TagSpecifications=tagged("vpc", own="1"))
    sim.clock.advance(25)
    assert sorted([len(_types(sim)), len(_types(sim))]) == [0, 1]


def test_regions_and_accounts_are_side_by_side(sim: Any) -> None:
    sim.vpc(TagSpecifications=tagged("vpc", own="1"))
    for far in (sim.client("ec2", region="eu-west-1"), sim.client("ec2", key=OTHER_KEY)):
        assert far.describe_vpcs()["Vpcs"] == []
    sim.clock.advance(60)
    other = sim.client("resourcegroupstaggingapi", region="eu-west-1")
    assert other.get_resources()["ResourceTagMappingList"] == []
    assert _types(sim) == ["ec2:vpc"]


@pytest.mark.parametrize(("tags", "code"), [({"aws:a": "b"}, "ValidationError"), (MANY, "TooManyTags")])
def test_limits_of_tags_on_load_balancers(sim: Any, tags: dict[str, str], code: str) -> None:
    vpc, subnets = sim.network()
    arn = sim.balancer(subnets)
    for act in (
        lambda: sim.elbv2.add_tags(ResourceArns=[arn], Tags=pairs(tags)),
        lambda: sim.target_group(vpc, Tags=pairs(tags)),
        lambda: sim.elb.create_load_balancer(
            LoadBalancerName="classic", Subnets=subnets, Tags=pairs(tags),
            Listeners=[{"Protocol": "TCP", "LoadBalancerPort": 80, "InstancePort": 80}],
        ),
    ):  # fmt: skip
        with refused(code):
            act()
    with refused("DuplicateTagKeys"):
        sim.elbv2.add_tags(ResourceArns=[arn], Tags=[{"Key": "a", "Value": "1"}, {"Key": "a", "Value": "2"}])
    sim.elbv2.add_tags(ResourceArns=[arn], Tags=pairs({"a": "1", "b": "2"}))
    sim.elbv2.remove_tags(ResourceArns=[arn], TagKeys=["a"])
    shown = sim.elbv2.describe_tags(ResourceArns=[arn])["TagDescriptions"][0]["Tags"]
    assert shown == pairs({"b": "2"})


def test_tags_of_the_other_services(sim: Any) -> None:
    sim.role("r")
    sim.iam.tag_role(RoleName="r", Tags=pairs({"a": "1"}))
    with refused("LimitExceeded"):
        sim.iam.tag_role(RoleName="r", Tags=pairs({f"k{number}": "" for number in range(50)}))
    assert sim.iam.list_role_tags(RoleName="r")["Tags"] == pairs({"a": "1"})
    sim.iam.untag_role(RoleName="r", TagKeys=["a"])
    arn = sim.cluster(tags={"a": "1"})["arn"]
    sim.eks.tag_resource(resourceArn=arn, tags={"b": "2"})
    sim.eks.untag_resource(resourceArn=arn, tagKeys=["a", "c"])
    assert sim.eks.list_tags_for_resource(resourceArn=arn)["tags"] == {"b": "2"}
    with refused("NotFoundException"):
        sim.eks.tag_resource(resourceArn=f"{arn}x", tags={"a": "b"})
