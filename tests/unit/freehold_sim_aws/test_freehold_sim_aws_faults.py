"""Faults in the words of each service, request limits, lag, paging, foreign actors, and the state file."""

import json
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError, ReadTimeoutError

from freehold_sim import store
from freehold_sim.aws.cloud import SimulatedAWS
from freehold_sim.aws.settings import Lags, Settings
from freehold_sim.clock import VirtualClock
from freehold_sim.faults import Effect, Fault
from freehold_sim.http import Request
from harness.simulated_aws import OTHER_KEY, Sim, refused, tagged

CALLS = {
    "ec2.DescribeVpcs": lambda sim: sim.ec2.describe_vpcs(),
    "elb.DescribeLoadBalancers": lambda sim: sim.elb.describe_load_balancers(),
    "elbv2.DescribeLoadBalancers": lambda sim: sim.elbv2.describe_load_balancers(),
    "resourcegroupstaggingapi.GetResources": lambda sim: sim.tagging.get_resources(),
    "iam.ListRoles": lambda sim: sim.iam.list_roles(),
    "s3.ListBuckets": lambda sim: sim.s3.list_buckets(),
    "secretsmanager.ListSecrets": lambda sim: sim.secretsmanager.list_secrets(),
    "eks.ListClusters": lambda sim: sim.eks.list_clusters(),
}
CODES = {
    Effect.THROTTLE: ["RequestLimitExceeded", "Throttling", "Throttling", "ThrottledException", "Throttling",
                      "SlowDown", "ThrottlingException", "ThrottlingException"],
    Effect.DENIED: ["UnauthorizedOperation", "AccessDenied", "AccessDenied", "AccessDeniedException", "AccessDenied",
                    "AccessDenied", "AccessDeniedException", "AccessDeniedException"],
    Effect.EXPIRED: ["RequestExpired", "ExpiredToken", "ExpiredToken", "ExpiredTokenException", "ExpiredToken",
                     "ExpiredToken", "ExpiredTokenException", "ExpiredTokenException"],
    Effect.ERROR_BEFORE: ["InternalError", "InternalFailure", "InternalFailure", "InternalServiceException",
                          "InternalFailure", "InternalError", "InternalServiceError", "ServerException"],
}  # fmt: skip


@pytest.mark.parametrize("effect", CODES)
@pytest.mark.parametrize(("number", "operation"), [*enumerate(CALLS)])
def test_each_service_says_it_in_its_own_words(sim: Any, effect: Effect, number: int, operation: str) -> None:
    sim.cloud.faults.add(Fault(effect, operation))
    with refused(CODES[effect][number]):
        CALLS[operation](sim)
    CALLS[operation](sim)


@pytest.mark.parametrize(
    ("effect", "raised", "made"),
    [
        (Effect.RESET, ConnectionClosedError, 0),
        (Effect.REPLY_LOST, ReadTimeoutError, 1),
        (Effect.ERROR_AFTER, ClientError, 1),
        (Effect.ERROR_BEFORE, ClientError, 0),
        (Effect.QUOTA, ClientError, 0),
    ],
)
def test_whether_a_call_that_failed_had_an_effect(sim: Any, effect: Effect, raised: Any, made: int) -> None:
    sim.cloud.faults.add(Fault(effect, "ec2.CreateVpc"))
    with pytest.raises(raised):
        sim.vpc()
    assert len(sim.ec2.describe_vpcs()["Vpcs"]) == made


def test_a_late_call_takes_effect_after_its_caller_gave_up(sim: Any) -> None:
    sim.cloud.faults.add(Fault(Effect.LATE, "ec2.CreateVpc", delay=30))
    with pytest.raises(ReadTimeoutError):
        sim.vpc()
    assert sim.ec2.describe_vpcs()["Vpcs"] == []
    sim.clock.advance(30)
    assert len(sim.ec2.describe_vpcs()["Vpcs"]) == 1


def test_each_operation_has_a_token_bucket_of_its_own(sim: Any) -> None:
    for _ in range(50):
        with pytest.raises(ClientError, match="InvalidVpcID"):
            sim.ec2.delete_vpc(VpcId="vpc-0")
    with refused("RequestLimitExceeded"):
        sim.ec2.delete_vpc(VpcId="vpc-0")
    sim.ec2.describe_vpcs()
    with refused("InvalidVpcID.NotFound"):
        sim.client("ec2", key=OTHER_KEY).delete_vpc(VpcId="vpc-0")
    sim.clock.advance(1)
    for code in ("InvalidVpcID.NotFound",) * 5 + ("RequestLimitExceeded",):
        with refused(code):
            sim.ec2.delete_vpc(VpcId="vpc-0")


def test_a_new_resource_is_not_found_for_a_while(make_sim: Any) -> None:
    """EC2 is eventually consistent: https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html"""
    sim = make_sim(lags=Lags(new=5))
    vpc = sim.ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    assert sim.ec2.describe_vpcs()["Vpcs"] == []
    for act in (
        lambda: sim.ec2.describe_vpcs(VpcIds=[vpc]),
        lambda: sim.subnet(vpc),
        lambda: sim.ec2.create_tags(Resources=[vpc], Tags=[{"Key": "a", "Value": "b"}]),
    ):
        with refused("InvalidVpcID.NotFound"):
            act()
    sim.clock.advance(5)
    sim.subnet(vpc)
    assert [row["kind"] for row in sim.cloud.resources()].count("subnet") == 1, "the back door has no lag"


def test_lists_come_in_pages(make_sim: Any) -> None:
    sim = make_sim(page_size=1)
    vpc, subnets = sim.network()
    sim.target_group(vpc)
    sim.target_group(vpc, "other")
    found = [
        row["SubnetId"] for page in sim.ec2.get_paginator("describe_subnets").paginate() for row in page["Subnets"]
    ]
    assert found == subnets
    pages = list(sim.elbv2.get_paginator("describe_target_groups").paginate())
    assert [len(page["TargetGroups"]) for page in pages] == [1, 1]
    with refused("InvalidNextToken"):
        sim.ec2.describe_subnets(NextToken="nonsense")
    with refused("InvalidParameterValue"):
        sim.ec2.describe_subnets(MaxResults=4)


def test_filters_have_wildcards_and_unknown_ones_are_refused(sim: Any) -> None:
    one = sim.vpc(TagSpecifications=tagged("vpc", Name="alpha"))
    sim.vpc(TagSpecifications=tagged("vpc", Name="beta*"))

    def names(value: str) -> list[str]:
        rows = sim.ec2.describe_vpcs(Filters=[{"Name": "tag:Name", "Values": [value]}])["Vpcs"]
        return [row["Tags"][0]["Value"] for row in rows]

    assert [names("al*"), names("?eta*"), names("beta\\*"), names("ALPHA")] == [["alpha"], ["beta*"], ["beta*"], []]
    both = [{"Name": "vpc-id", "Values": [one]}, {"Name": "tag-key", "Values": ["Name"]}]
    assert len(sim.ec2.describe_vpcs(Filters=both)["Vpcs"]) == 1
    with refused("InvalidParameterValue"):
        sim.ec2.describe_vpcs(Filters=[{"Name": "nonsense", "Values": ["x"]}])


# -- foreign actors, log, snapshots, state file -----------------------------------------------------------------


def test_strangers_create_tag_and_delete_without_faults(sim: Any) -> None:
    sim.cloud.faults.add(Fault(Effect.DENIED, "*", count=None))
    strangers = sim.cloud.strangers
    vpc = strangers.create("ec2", "CreateVpc", {"CidrBlock": "10.0.0.0/16"})
    assert (vpc["by"], vpc["view"]["State"]) == ("stranger", "available")
    strangers.act("tag", {"id": vpc["id"], "tags": {"a": "1", "b": "2"}})
    strangers.act("untag", {"id": vpc["id"], "keys": ["a"]})
    row = next(row for row in sim.cloud.resources() if row["id"] == vpc["id"])
    assert (row["tags"], row["created_by"], row["account"]) == ({"b": "2"}, "stranger", "111122223333")
    strangers.act("strip", {"id": vpc["arn"]})
    strangers.act("change", {"id": vpc["id"], "fields": {"State": "pending"}})
    assert strangers.find(vpc["id"])["view"]["State"] == "pending"
    with pytest.raises(ValueError, match=r"InvalidVpcID.NotFound"):
        strangers.call("ec2", "DeleteVpc", {"VpcId": "vpc-0"})
    strangers.act("delete", {"id": vpc["id"]})
    assert vpc["id"] not in {row["id"] for row in sim.cloud.resources()}
    with pytest.raises(ValueError, match="unknown verb"):
        strangers.act("nonsense", {})


def test_what_a_stranger_deletes_leaves_nothing_of_itself(sim: Any) -> None:
    _, subnets = sim.network()
    made = [sim.nat(subnets[0]), sim.instance(subnets[1]), sim.balancer(subnets)]
    sim.group(sim.ec2.describe_vpcs()["Vpcs"][0]["VpcId"])
    for ident in made:
        sim.cloud.strangers.delete(ident)
    left = {row["kind"] for row in sim.cloud.resources()}
    assert left.isdisjoint({"natgateway", "instance", "balancer", "network-interface", "volume"})
    for subnet in subnets:
        sim.ec2.delete_subnet(SubnetId=subnet)


def test_the_log_has_each_call(sim: Any) -> None:
    sim.vpc()
    sim.cloud.faults.add(Fault(Effect.RESET, "ec2.DescribeVpcs"))
    with pytest.raises(ConnectionClosedError):
        sim.ec2.describe_vpcs()
    rows = [(call.sequence, call.operation, call.status, call.mutating) for call in sim.cloud.calls]
    assert rows == [(1, "ec2.CreateVpc", 200, True), (2, "ec2.DescribeVpcs", 0, False)]


def test_a_snapshot_can_be_restored_more_than_once(sim: Any) -> None:
    sim.vpc()
    taken = sim.cloud.snapshot()
    made = []
    for _ in range(2):
        sim.cloud.restore(taken)
        made.append(sim.ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"])
    assert made[0] == made[1], "the same history gives the same ids"


def test_changes_under_way_survive_in_a_file(sim: Sim, tmp_path: Path) -> None:
    _, subnets = sim.network()
    nat = sim.nat(subnets[0], ClientToken="one", TagSpecifications=tagged("natgateway", a="b"))
    group = sim.group(sim.ec2.describe_vpcs()["Vpcs"][0]["VpcId"])
    sim.role()
    path = tmp_path / "world.json"
    store.save({"aws": sim.cloud}, sim.clock.now(), path)
    saved = store.load(path)
    assert saved is not None
    again = Sim(Settings())
    again.clock = VirtualClock(saved.time)
    again.cloud = SimulatedAWS(again.clock)
    again.cloud.resume(saved.clouds["aws"].state, saved.clouds["aws"].calls)
    again.clock.advance(90)
    shown = again.ec2.describe_nat_gateways()["NatGateways"][0]
    assert (shown["NatGatewayId"], shown["State"], shown["Tags"]) == (nat, "available", [{"Key": "a", "Value": "b"}])
    again.ec2.delete_security_group(GroupId=group)
    again.iam.delete_role(RoleName="role")
    again.clock.advance(60)
    assert len(again.tagging.get_resources()["ResourceTagMappingList"]) == 1
    address = again.ec2.describe_addresses()["Addresses"][0]["AllocationId"]
    same = {"SubnetId": subnets[0], "AllocationId": address, "ClientToken": "one"}
    made = again.ec2.create_nat_gateway(**same, TagSpecifications=tagged("natgateway", a="b"))["NatGateway"]
    assert made["NatGatewayId"] == nat, "client tokens survive too"


def test_state_is_plain_data(sim: Any) -> None:
    _, subnets = sim.network()
    sim.instance(subnets[0])
    sim.balancer(subnets)
    sim.s3.create_bucket(Bucket="bucket")
    sim.s3.put_object(Bucket="bucket", Key="k", Body=b"\xff")
    sim.secretsmanager.create_secret(Name="s", SecretBinary=b"\xff")
    assert json.loads(json.dumps(sim.cloud.data)) == sim.cloud.data


def test_settings_can_be_overridden_from_json() -> None:
    settings = Settings.from_dict(
        {"delays": {"scale": 0.5, "create_vpc": 7}, "quotas": {"vpcs": 9}, "limits": {"ec2.*": [1, 1]}}
    )
    assert (settings.delays.create_nat_gateway, settings.delays.create_vpc) == (45, 7)
    assert (settings.quotas.vpcs, settings.limits["ec2.*"]) == (9, (1, 1))
    with pytest.raises(TypeError):
        Settings.from_dict({"nonsense": 1})


def test_a_request_without_a_signature_is_refused(sim: Any) -> None:
    assert sim.cloud.handle(Request("POST", "/", body=b"Action=DescribeVpcs")).status == 403
