"""The checks of the demo work: each one fails if its fault is present."""

from dataclasses import replace

import pytest

from freehold.demo import checks
from freehold.demo.ending import closing_table
from freehold.demo.world import CloudResource, SentCall
from freehold.view.object_view import Line

OWNER = "powervs.cluster.x-k8s.io.owner:default.a"
UUID = "powervs.cluster.x-k8s.io.cluster-uuid:u"
CRN = "crn:v1:b:p:is:r:a/1::"
VPC = CloudResource("vpc", "a-vpc", "r1", f"{CRN}vpc:r1", "available", "api", "", frozenset({OWNER, UUID}))
LB = replace(VPC, kind="load-balancer", name="a-lb", id="r2", address=f"{CRN}load-balancer:r2")
THEIRS = replace(VPC, name="theirs", id="r3", address=f"{CRN}vpc:r3", by="stranger", tags=frozenset())

ARN = "arn:aws:ec2:us-east-1:111122223333:"
AWS_OWNER = "freehold.dev/owner=default/a"
AWS_MARKS = frozenset(
    {
        AWS_OWNER,
        "freehold.dev/owner-uuid=u",
        "freehold.dev/seal=abcdefgh",
        "sigs.k8s.io/cluster-api-provider-aws/cluster/a=owned",
    }
)
GATEWAY = CloudResource("internet-gateway", "a-igw", "igw-1", f"{ARN}internet-gateway/igw-1", "", "api", "", AWS_MARKS)
GROUP = replace(GATEWAY, kind="security-group", name="a-node", id="sg-1", address=f"{ARN}security-group/sg-1")
UNASKED = replace(GROUP, name="default", id="sg-2", tags=frozenset(), default=True)


def _calls(*operations: str, status: int = 201) -> list[SentCall]:
    return [SentCall(number, 0.0, operation, "/", status, True) for number, operation in enumerate(operations, 1)]


def test_a_duplicate_or_an_orphan_is_found() -> None:
    made = _calls("vpc.create_vpc", "vpc.create_load_balancer")
    assert checks.created_once(checks.IBM, [VPC, LB, THEIRS], made).startswith("2 creates for 2")
    with pytest.raises(checks.NotSo, match="2 creates of kind vpc were effective, 1 are there"):
        checks.created_once(checks.IBM, [VPC, LB], [*made, *_calls("vpc.create_vpc")])
    with pytest.raises(checks.NotSo, match="0 creates of kind load-balancer were effective, 1"):
        checks.created_once(checks.IBM, [VPC, LB], _calls("vpc.create_vpc"))
    with pytest.raises(checks.NotSo):
        checks.created_once(checks.IBM, [THEIRS], [])


def test_a_lost_reply_counts_as_effective_and_a_refusal_does_not() -> None:
    assert checks.created_once(checks.IBM, [VPC], _calls("vpc.create_vpc", status=0))
    assert checks.created_once(checks.IBM, [VPC], [*_calls("vpc.create_vpc", status=409), *_calls("vpc.create_vpc")])


def test_a_missing_mark_is_found() -> None:
    assert OWNER in checks.check_marks(checks.IBM, [VPC, LB, THEIRS])
    with pytest.raises(checks.NotSo, match="load-balancer a-lb lacks the tag"):
        checks.check_marks(checks.IBM, [VPC, replace(LB, tags=frozenset({OWNER}))])
    assert checks.owner_tags(checks.IBM, VPC) == {OWNER}


def test_what_comes_with_a_vpc_is_neither_created_nor_marked() -> None:
    """AWS makes a group and a route table with each VPC, which no call of ours asked for."""
    made = _calls("ec2.CreateInternetGateway", "ec2.CreateSecurityGroup", status=200)
    there = [GATEWAY, GROUP, UNASKED]
    assert checks.created_once(checks.AWS, there, made).startswith("2 creates for 2")
    assert AWS_OWNER in checks.check_marks(checks.AWS, there)
    with pytest.raises(checks.NotSo, match="1 creates of kind security-group were effective, 2 are there"):
        checks.created_once(checks.AWS, [*there, replace(UNASKED, id="sg-3", default=False)], made)


def test_a_second_internet_gateway_is_found() -> None:
    """The create whose reply is lost has no token: asked again, AWS makes a second one."""
    made = _calls("ec2.CreateInternetGateway", "ec2.CreateInternetGateway", status=200)
    with pytest.raises(checks.NotSo, match="2 creates of kind internet-gateway were effective, 1 are there"):
        checks.created_once(checks.AWS, [GATEWAY], made)


def test_an_instance_that_was_asked_for_again_with_its_token_is_one_and_a_second_one_is_found() -> None:
    one = replace(GATEWAY, kind="instance", id="i-1")
    again = _calls("ec2.RunInstances", status=0) + _calls("ec2.RunInstances", status=200)
    assert checks.created_once(checks.AWS, [one], again) == "2 creates for 1 resources, none twice"
    with pytest.raises(checks.NotSo, match="1 creates of kind instance were effective, 2 are there"):
        checks.created_once(checks.AWS, [one, replace(one, id="i-2")], again[:1])


@pytest.mark.parametrize("tag", sorted(AWS_MARKS))
def test_each_mark_on_aws_is_asked_for(tag: str) -> None:
    with pytest.raises(checks.NotSo, match="internet-gateway a-igw lacks the tag"):
        checks.check_marks(checks.AWS, [replace(GATEWAY, tags=AWS_MARKS - {tag})])


def test_every_change_of_a_strangers_resource_is_found() -> None:
    assert checks.check_untouched([THEIRS, VPC], [THEIRS])
    with pytest.raises(checks.NotSo, match="is gone"):
        checks.check_untouched([THEIRS], [])
    with pytest.raises(checks.NotSo, match="was changed"):
        checks.check_untouched([THEIRS], [replace(THEIRS, tags=frozenset({OWNER}))])
    role = replace(THEIRS, kind="role", id="nodes")
    profile = replace(role, kind="instance-profile")
    assert checks.check_untouched([role, profile], [role, profile]).startswith("2 resources"), "one name, two resources"
    with pytest.raises(checks.NotSo, match="role theirs of a stranger is gone"):
        checks.check_untouched([role, profile], [profile])
    with pytest.raises(checks.NotSo, match="was changed"):
        checks.check_untouched([replace(THEIRS, digest="1")], [replace(THEIRS, digest="2")])


def test_a_cluster_at_rest_is_looked_at_and_not_written_to() -> None:
    """Beside another cluster, which is being made by the same process."""
    reads = [replace(call, mutating=False) for call in _calls("vpc.list_vpcs", "vpc.list_subnets", status=200)]
    refused = _calls("tagging.attach_tag", status=429)
    assert checks.only_looked_at([*reads, *refused]) == "2 reads, 0 writes"
    with pytest.raises(checks.NotSo, match=r"changed at rest: tagging\.attach_tag"):
        checks.only_looked_at([*reads, *_calls("tagging.attach_tag", status=200)])
    with pytest.raises(checks.NotSo, match="nobody looked"):
        checks.only_looked_at([])


def test_leftovers_are_found() -> None:
    assert checks.all_gone([THEIRS])
    with pytest.raises(checks.NotSo, match=r"left behind: vpc a-vpc \(available\)"):
        checks.all_gone([THEIRS, VPC])


def test_a_wrong_order_of_deletes_is_found() -> None:
    right = [
        "transit.delete_transit_gateway_connection", "power.delete_dhcp", "vpc.delete_load_balancer",
        "transit.delete_transit_gateway", "vpc.delete_subnet", "vpc.delete_vpc", "rc.delete_resource_instance",
    ]  # fmt: skip
    assert checks.in_order(checks.IBM, _calls(*right, status=204)).startswith("7 deletes")
    with pytest.raises(checks.NotSo, match=r"vpc\.delete_vpc was called before the last vpc\.delete_subnet"):
        checks.in_order(checks.IBM, _calls(*[*right[:4], right[5], right[4], right[6]], status=204))
    with pytest.raises(checks.NotSo, match="was never called"):
        checks.in_order(checks.IBM, _calls(*right[:-1], status=204))


def test_a_wrong_order_of_deletes_on_aws_is_found() -> None:
    right = [
        "elbv2.DeregisterTargets", "ec2.TerminateInstances", "ec2.DeleteRouteTable", "elbv2.DeleteLoadBalancer",
        "ec2.DeleteNatGateway", "ec2.DeleteSecurityGroup", "ec2.ReleaseAddress", "elbv2.DeleteTargetGroup",
        "ec2.DetachInternetGateway", "ec2.DeleteSubnet", "ec2.DeleteInternetGateway",
        "ec2.DeleteVpc",
    ]  # fmt: skip
    assert checks.in_order(checks.AWS, _calls(*right, status=200)) == "10 deletes, in dependency order"
    for first, then in checks.AWS.delete_order:
        a, b = right.index(first), right.index(then)
        wrong = [*right]
        wrong[a], wrong[b] = wrong[b], wrong[a]
        with pytest.raises(checks.NotSo, match="was called before the last"):
            checks.in_order(checks.AWS, _calls(*wrong, status=200))


def test_the_final_table_has_the_reason_why_each_stays() -> None:
    copied = replace(THEIRS, name="copied", id="r4", address=f"{CRN}vpc:r4", tags=frozenset({OWNER}))
    child = replace(THEIRS, kind="subnet", name="child", id="r5", parent="r3")
    told = Line(
        "unproven", copied.address, "", "Kept", "unmanaged", "NotOwned", f"{copied.address} has copied marks", 0.0
    )
    why = {row[1]: row[4] for row in closing_table(checks.IBM, [THEIRS, copied, child], [told])}
    assert why == {
        "theirs": "has no mark of ours; a name proves nothing",
        "copied": "has copied marks",
        "child": "is in vpc theirs, and has no mark of ours",
    }
    short = replace(told, name="vpc:r4")
    assert closing_table(checks.IBM, [copied], [short]) == closing_table(checks.IBM, [copied], [told])
    [unreported] = closing_table(checks.IBM, [copied], [])
    assert "made for another resource" in unreported[4]


def test_the_final_table_of_aws_has_no_parts_and_knows_the_one_with_copied_tags() -> None:
    """The operator names it by the end of its ARN; rules and interfaces go without saying."""
    theirs = replace(GROUP, by="stranger")
    rule = replace(theirs, kind="security-group-rule", id="sgr-1", tags=frozenset())
    message = f"{theirs.address} has our uuid and no mark that we made for it: left alone"
    told = Line("stranger", "security-group/sg-1", "", "Kept", "unmanaged", "NotOwned", message, 0.0)
    [row] = closing_table(checks.AWS, [theirs, rule], [told])
    assert row == (
        "security-group",
        "a-node",
        "stranger",
        "",
        "has our uuid and no mark that we made for it: left alone",
    )
    [unreported] = closing_table(checks.AWS, [theirs], [])
    assert "made for another resource" in unreported[4]
