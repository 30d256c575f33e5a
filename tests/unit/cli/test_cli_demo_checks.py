"""The checks of the demo work: each one fails if its fault is present."""

from dataclasses import replace

import pytest

from freehold.cli.demo import checks
from freehold.cli.demo.ending import closing_table
from freehold.cli.demo.world import Call, Resource
from freehold.cli.view import Line

OWNER = "powervs.cluster.x-k8s.io.owner:default.a"
UUID = "powervs.cluster.x-k8s.io.cluster-uuid:u"
VPC = Resource("vpc", "a-vpc", "r1", "crn:v1:b:p:is:r:a/1::vpc:r1", "available", "api", "", frozenset({OWNER, UUID}))
LB = replace(VPC, kind="load-balancer", name="a-lb", id="r2", crn="crn:v1:b:p:is:r:a/1::load-balancer:r2")
THEIRS = replace(VPC, name="theirs", id="r3", crn="crn:v1:b:p:is:r:a/1::vpc:r3", by="stranger", tags=frozenset())


def _calls(*operations: str, status: int = 201) -> list[Call]:
    return [Call(number, 0.0, operation, "/", status, True) for number, operation in enumerate(operations, 1)]


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
    assert OWNER in checks.marked(checks.IBM, [VPC, LB, THEIRS])
    with pytest.raises(checks.NotSo, match="load-balancer a-lb lacks the tag"):
        checks.marked(checks.IBM, [VPC, replace(LB, tags=frozenset({OWNER}))])
    assert checks.owner_tags(VPC) == {OWNER}


def test_every_change_of_a_strangers_resource_is_found() -> None:
    assert checks.untouched([THEIRS, VPC], [THEIRS])
    with pytest.raises(checks.NotSo, match="is gone"):
        checks.untouched([THEIRS], [])
    with pytest.raises(checks.NotSo, match="was changed"):
        checks.untouched([THEIRS], [replace(THEIRS, tags=frozenset({OWNER}))])


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


def test_the_final_table_has_the_reason_why_each_stays() -> None:
    copied = replace(THEIRS, name="copied", id="r4", crn="crn:v1:b:p:is:r:a/1::vpc:r4", tags=frozenset({OWNER}))
    child = replace(THEIRS, kind="subnet", name="child", id="r5", parent="r3")
    told = Line("unproven", copied.crn, "", "Kept", "unmanaged", "NotOwned", f"{copied.crn} has copied marks", 0.0)
    why = {row[1]: row[4] for row in closing_table([THEIRS, copied, child], [told])}
    assert why == {
        "theirs": "has no mark of ours; a name proves nothing",
        "copied": "has copied marks",
        "child": "is in vpc theirs, and has no mark of ours",
    }
    short = replace(told, name="vpc:r4")
    assert closing_table([copied], [short]) == closing_table([copied], [told])
    [unreported] = closing_table([copied], [])
    assert "made for another resource" in unreported[4]
