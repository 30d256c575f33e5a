"""The driver of security groups on a simulated AWS: rules in few calls, what AWS refuses, lost replies, strangers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from freehold.engine import errors
from freehold.engine.resources import NodeKey, ParentResource, Part, Ref, State
from freehold.providers.aws.kinds import security_group
from freehold.providers.aws.kinds.security_group import EGRESS, INGRESS, rule_part
from freehold_sim.faults import Effect
from harness.account import NONCE
from harness.aws_account import AwsAccount
from harness.aws_drivers import MARKS, Drivers, birth

API = rule_part(INGRESS, "tcp", 6443, 6443, cidr="0.0.0.0/0", description="Kubernetes API")
SSH = rule_part(INGRESS, "tcp", 22, 22, cidr="10.0.0.0/8")
DNS = rule_part(EGRESS, "udp", 53, 53, cidr="10.0.0.2/32")
OPEN = rule_part(EGRESS, "-1", cidr="0.0.0.0/0")
"""The rule that AWS gives to each new group."""


@pytest.fixture
def groups(account: AwsAccount) -> Drivers:
    return Drivers(account, security_group.kind)


def request(vpc: str, name: str = "one-node") -> dict[str, Any]:
    return {"name": name, "description": "Kubernetes cluster one: node", "vpc_id": vpc}


async def test_a_life(groups: Drivers) -> None:
    wanted = request(groups.account.vpc())
    made = await groups.create(wanted)
    assert (made.name, made.state, made.parts) == ("one-node", State.READY, frozenset({OPEN}))
    assert made.tags == MARKS
    seen = await groups.there(made.id)
    assert seen == made
    assert wanted == {name: seen.attributes[name] for name in wanted}
    assert groups.driver.identify(seen.target) == seen.id

    assert groups.kind.parts.batches is not None
    await groups.kind.parts.batches.add_parts(Ref(made.id), [API, SSH, DNS])
    assert await groups.inside(made.id) == {API, SSH, DNS, OPEN}
    await groups.kind.parts.batches.remove_parts(Ref(made.id), [SSH, DNS, OPEN])
    assert await groups.inside(made.id) == {API}

    await groups.driver.delete(Ref(made.id))
    assert await groups.look(made.id) is None
    with pytest.raises(errors.NotFound):
        await groups.driver.delete(Ref(made.id))


async def test_the_rules_of_a_direction_cost_one_call(groups: Drivers) -> None:
    """Thirty rules of a default cluster are three calls of its floor of 47 writes."""
    made = await groups.create(request(groups.account.vpc()))
    groups.sent()
    batches = groups.kind.parts.batches
    assert batches is not None
    many = [rule_part(INGRESS, "tcp", port, port, cidr="10.0.0.0/8") for port in range(1000, 1010)]
    await batches.add_parts(Ref(made.id), [*many, DNS])
    await batches.remove_parts(Ref(made.id), many)
    assert groups.sent() == [
        "ec2.authorize_security_group_ingress",
        "ec2.authorize_security_group_egress",
        "ec2.revoke_security_group_ingress",
    ]


@pytest.mark.parametrize(
    "wanted",
    [
        rule_part(INGRESS, "tcp", 30000, 32767, cidr="0.0.0.0/0"),
        rule_part(INGRESS, "tcp", 0, 65535, cidr="10.0.0.0/8"),
        rule_part(INGRESS, "udp", 4789, 4789, cidr6="::/0"),
        rule_part(INGRESS, "icmp", 8, -1, cidr="10.0.0.0/8"),
        rule_part(INGRESS, "-1", cidr="10.0.0.0/8"),
        rule_part(INGRESS, "4", cidr="10.0.0.0/8"),
        rule_part(EGRESS, "-1", cidr6="::/0"),
    ],
    ids=str,
)
async def test_a_wished_rule_has_the_key_of_the_same_rule_as_it_is_read(groups: Drivers, wanted: Part) -> None:
    """Otherwise it would be added and removed at each look."""
    made = await groups.create(request(groups.account.vpc()))
    assert groups.kind.parts.driver is not None
    await groups.kind.parts.driver.add_part(Ref(made.id), wanted)
    assert await groups.inside(made.id) == {wanted, OPEN}
    await groups.kind.parts.driver.remove_part(Ref(made.id), wanted)
    assert await groups.inside(made.id) == {OPEN}


async def test_groups_that_name_each_other(groups: Drivers) -> None:
    vpc = groups.account.vpc()
    one, other = await groups.create(request(vpc)), await groups.create(request(vpc, "one-lb"), birth("fother"))
    assert groups.kind.parts.driver is not None
    for group, named in ((one, other), (other, one)):
        wanted = rule_part(INGRESS, "tcp", 6443, 6443, group=named.id)
        await groups.kind.parts.driver.add_part(Ref(group.id), wanted)
        assert wanted in await groups.inside(group.id)
    with pytest.raises(errors.InUse) as refused:
        await groups.driver.delete(Ref(one.id))
    assert other.id in refused.value.blocker
    for group in (one, other):
        for part in (await groups.inside(group.id)) - {OPEN}:
            await groups.kind.parts.driver.remove_part(Ref(group.id), part)
    for group in (one, other):
        await groups.driver.delete(Ref(group.id))
    assert await groups.driver.observe([Ref(one.id), Ref(other.id)]) == {}


async def test_a_group_in_use_is_refused_and_the_interface_is_named(groups: Drivers) -> None:
    _, subnets = groups.account.network()
    vpc = groups.account.ec2.describe_vpcs()["Vpcs"][-1]["VpcId"]
    made = await groups.create(request(vpc))
    card = groups.account.ec2.create_network_interface(SubnetId=subnets[0], Groups=[made.id], Description="of a pod")
    with pytest.raises(errors.InUse) as refused:
        await groups.driver.delete(Ref(made.id))
    assert refused.value.blocker == f"{card['NetworkInterface']['NetworkInterfaceId']} (of a pod)"


async def test_rules_that_are_there_do_not_keep_the_others_out(groups: Drivers) -> None:
    """AWS refuses all for one of them: after a lost reply, or when somebody added one by hand."""
    made = await groups.create(request(groups.account.vpc()))
    batches = groups.kind.parts.batches
    assert batches is not None
    await batches.add_parts(Ref(made.id), [API])
    await batches.add_parts(Ref(made.id), [API, SSH])
    assert await groups.inside(made.id) == {API, SSH, OPEN}
    await batches.add_parts(Ref(made.id), [API])
    await batches.remove_parts(Ref(made.id), [SSH])
    await batches.remove_parts(Ref(made.id), [SSH, API])
    assert await groups.inside(made.id) == {OPEN}
    await batches.remove_parts(Ref(made.id), [API])


@pytest.mark.parametrize("verb", ["add_parts", "remove_parts"])
async def test_rules_of_a_group_that_has_gone(groups: Drivers, verb: str) -> None:
    """That is no rule which is gone already."""
    with pytest.raises(errors.NotFound):
        await getattr(groups.kind.parts.batches, verb)(Ref("sg-00000000000000000"), [API, SSH])


async def test_a_lost_reply_of_rules_is_unknown_and_can_be_repeated(groups: Drivers) -> None:
    made = await groups.create(request(groups.account.vpc()))
    batches = groups.kind.parts.batches
    assert batches is not None
    groups.fault(Effect.REPLY_LOST, "ec2.AuthorizeSecurityGroupIngress")
    with pytest.raises(errors.Unknown):
        await batches.add_parts(Ref(made.id), [API, SSH])
    await batches.add_parts(Ref(made.id), [API, SSH])
    assert await groups.inside(made.id) == {API, SSH, OPEN}


async def test_a_stranger_has_the_name(groups: Drivers) -> None:
    """The look shows it without a mark of ours, and a create is refused: it is never taken for ours."""
    wanted = request(groups.account.vpc())
    theirs = groups.account.group(wanted["vpc_id"], "one-node")
    (found,) = await groups.find(wanted, NONCE)
    assert (found.id, found.tags) == (theirs, frozenset())
    with pytest.raises(errors.NameTaken, match="one-node"):
        await groups.create(wanted)
    assert await groups.by_nonce(NONCE, places=[ParentResource("vpc", Ref(wanted["vpc_id"]))]) == []


async def test_a_namesake_in_another_vpc_is_none(groups: Drivers) -> None:
    wanted, elsewhere = request(groups.account.vpc()), groups.account.vpc("10.1.0.0/16")
    groups.account.group(elsewhere, "one-node")
    assert await groups.find(wanted, NONCE) == []


async def test_groups_of_one_name_in_two_vpcs_are_told_apart_in_one_list(groups: Drivers) -> None:
    wanted, other = request(groups.account.vpc()), request(groups.account.vpc("10.1.0.0/16"))
    theirs = groups.account.group(other["vpc_id"], "one-node")
    here, there = replace(groups.want(wanted), key=NodeKey("security-group", "here")), groups.want(other)
    found = await groups.driver.find([here, there])
    assert {key: [one.id for one in seen] for key, seen in found.items()} == {here.key: [], there.key: [theirs]}


async def test_a_vpc_that_has_gone_is_no_empty_one(groups: Drivers) -> None:
    """The last look before an object is let go: what cannot be looked into may hold something."""
    with pytest.raises(errors.NotFound):
        await groups.by_nonce(NONCE, places=[ParentResource("vpc", Ref("vpc-00000000000000000"))])
