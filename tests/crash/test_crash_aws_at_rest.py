"""What the end of a life lacks of an undisturbed one is noticed: otherwise a lost rule or tag would pass as at rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from lab.aws import AwsLife, AwsWorld
from lab.aws_at_rest import AtRest
from lab.aws_neighbours import KINDS, existing

Record = dict[str, Any]


@pytest.fixture(scope="module")
def life() -> Iterator[AwsLife]:
    life = AwsWorld().begin()
    life.create()
    yield life


def _ours(life: AwsLife, kind: str) -> Record:
    rows = existing(life.harness)
    return next(record for record in rows if record["by"] == "api" and KINDS[record["kind"]] == kind)


def _lose_last(record: Record, name: str) -> Callable[[], None]:
    """Returns how to undo it."""
    held = record["view"][name]
    record["view"][name] = held[:-1]
    return lambda: record["view"].update({name: held})


def _lose_rule(life: AwsLife, group: Record) -> Callable[[], None]:
    table = life.world.harness.cloud.world.everything()
    rule = next(r for r in table if r["kind"] == "security-group-rule" and r["view"]["GroupId"] == group["id"])
    rule["view"]["GroupId"] = "sg-another"
    return lambda: rule["view"].update(GroupId=group["id"])


def _replaced(values: dict[str, Any], key: str, value: object) -> Callable[[], None]:
    was = values[key]
    values[key] = value
    return lambda: values.update({key: was})


LOSSES: dict[str, tuple[str, Callable[[AwsLife, Record], Callable[[], None]], str]] = {
    "a tag of the node": (
        "route-table",
        lambda life, table: _replaced(table["tags"], "kubernetes.io/cluster/demo", "shared"),
        "tag kubernetes.io/cluster/demo",
    ),
    "a route": ("route-table", lambda life, table: _lose_last(table, "Routes"), "view Routes"),
    "an association": ("route-table", lambda life, table: _lose_last(table, "Associations"), "view Associations"),
    "the attachment": ("internet-gateway", lambda life, gate: _lose_last(gate, "Attachments"), "view Attachments"),
    "a rule": ("security-group", _lose_rule, "rule "),
    "an attribute": (
        "vpc",
        lambda life, vpc: _replaced(vpc["attributes"], "EnableDnsHostnames", False),
        "attributes EnableDnsHostnames",
    ),
    "a health check": (
        "classic-load-balancer",
        lambda life, balancer: _replaced(balancer["view"]["HealthCheck"], "Interval", 30),
        "view HealthCheck Interval",
    ),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_what_is_lost_at_rest_is_noticed(loss: str, life: AwsLife) -> None:
    kind, lose, noticed = LOSSES[loss]
    record = _ours(life, kind)
    assert not life.world.lacking(record["id"])
    undo = lose(life, record)
    (lacking,) = life.world.lacking(record["id"])
    undo()
    assert lacking.startswith(noticed)


def _with_range(picked: str, let_in: str) -> AtRest:
    vpc = {"id": "vpc-1", "arn": "arn:vpc-1", "tags": {}}
    vpc["view"] = {"Ipv6CidrBlockAssociationSet": [{"Ipv6CidrBlock": picked}]}
    group = {"id": "sg-1", "arn": "arn:sg-1", "tags": {}, "view": {}}
    return AtRest({"vpc/main": vpc, "security-group/node": group}, [{"view": {"GroupId": "sg-1", "CidrIpv6": let_in}}])


@pytest.mark.parametrize(("let_in", "lacks"), [("2600:2::/56", False), ("2600:1::/56", True)])
def test_a_rule_for_the_range_that_aws_has_picked_is_the_same_in_each_life(let_in: str, lacks: bool) -> None:
    undisturbed = _with_range("2600:1::/56", "2600:1::/56")
    assert bool(_with_range("2600:2::/56", let_in).lacking("sg-1", undisturbed, ("vpc-1", "sg-1"))) is lacks


@pytest.mark.parametrize(("on_record", "lacks"), [(("vpc-1", "sg-1", "lb-1"), True), (("vpc-1", "sg-1"), False)])
def test_a_rule_that_names_what_is_not_on_record_is_waited_for(on_record: tuple[str, ...], lacks: bool) -> None:
    """Whoever strips a group before its id is on record leaves one that nobody knows to be ours."""
    groups = {
        f"security-group/{n}": {"id": f"{n}-1", "arn": f"arn:{n}-1", "tags": {}, "view": {}} for n in ("sg", "lb")
    }
    rule = {"view": {"GroupId": "sg-1", "ReferencedGroupInfo": {"GroupId": "lb-1"}}}
    assert bool(AtRest(groups, []).lacking("sg-1", AtRest(groups, [rule]), on_record)) is lacks
