"""A create that was cut off, and what has lost its tags: it may be what was made, so a person decides (ADR 7)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import pytest

from freehold.controllers.recovery.open_decisions import find_open_decisions
from freehold.engine.decisions import Verdict
from freehold.engine.inventory import NoOthers
from freehold.engine.keys import KeyRing
from freehold.engine.outcomes import Reason, Waiting
from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey, State
from freehold.providers.aws.decoded import DecodedResource
from freehold.providers.aws.kind_defaults import SETTLE
from freehold.providers.aws.kind_facts import KINDS
from freehold.providers.aws.kinds import elastic_ip
from freehold.providers.aws.registry import OF_CONTROL_PLANES
from freehold_sim.aws.settings import Settings
from freehold_sim.faults import Effect, Fault
from harness.aws_account import REGION, AwsAccount
from harness.aws_passes import Life
from lab.aws import ROOMY
from unit.aws.tag_removal import (
    CREATES,
    WITH_A_TOKEN,
    Create,
    cut_off,
    cut_off_and_stripped,
    decision,
    every_create,
    is_asked,
    one_pass,
    quarter_of_an_hour,
    somebodys,
    tags_of,
)
from unit.aws.test_aws_engine import (
    ADDRESS,
    ONE_OF_EACH,
    OUT,
    PUBLIC,
    VPC,
    _counts,
    _network,
)
from unit.aws.test_aws_engine_more import Cluster

BARE = DecodedResource("eipalloc-1", "", State.READY, {})


@pytest.fixture
def life() -> Life:
    return Life(AwsAccount(Settings()), _network())


@every_create
async def test_what_may_be_ours_is_named_and_taken_when_a_person_says_so(life: Life, create: Create) -> None:
    ident = await cut_off_and_stripped(life, create)
    outcome = (await quarter_of_an_hour(life))[create.key]
    assert is_asked(outcome, ident)
    assert f"freehold resolve demo -n default {create.key} --mine" in outcome.message
    assert life.standing()[create.kind] == [ident]
    await one_pass(life, decision(life, create.key, Verdict.MINE, ident))
    await life.up()
    assert _counts(life) == ONE_OF_EACH
    await life.down()
    assert life.standing() == {}


@every_create
async def test_a_delete_waits_for_the_answer_too(life: Life, create: Create) -> None:
    ident = await cut_off_and_stripped(life, create)
    assert is_asked((await quarter_of_an_hour(life, deleting=True))[create.key], ident)
    await one_pass(life, decision(life, create.key, Verdict.MINE, ident), deleting=True)
    await life.down()
    assert life.standing() == {}


@every_create
async def test_what_is_somebodys_is_left_when_a_person_says_so(life: Life, create: Create) -> None:
    theirs = somebodys(life, create.operation, **create.params)
    await cut_off(life, create, Effect.ERROR_BEFORE)
    first = (await one_pass(life))[create.key]
    assert isinstance(first, Waiting) and first.reason is Reason.SETTLING, "its own may still show"
    assert is_asked((await quarter_of_an_hour(life))[create.key], theirs)
    await one_pass(life, decision(life, create.key, Verdict.NOT_MINE))
    await life.up()
    assert len(life.standing()[create.kind]) == 2
    await life.down()
    assert life.standing() == {create.kind: [theirs]}


@every_create
async def test_it_may_have_kept_some_of_the_tags_that_it_was_made_with(life: Life, create: Create) -> None:
    """A tool takes off what it does not know, and leaves the name."""
    await cut_off(life, create, Effect.REPLY_LOST)
    (ident,) = life.standing()[create.kind]
    kept = {key: value for key, value in tags_of(life, ident).items() if key == "Name"}
    life.account.cloud.strangers.strip(ident)
    life.account.cloud.strangers.tag(ident, kept)
    shown = next(each for each in await find_open_decisions(life.journal, life.deps) if each.key == create.key)
    assert [one.observed.id for one in shown.candidates] == [ident]
    assert kept and is_asked((await quarter_of_an_hour(life))[create.key], ident)


@pytest.mark.parametrize("create", WITH_A_TOKEN.values(), ids=WITH_A_TOKEN.keys())
async def test_when_its_client_token_has_expired_nothing_else_finds_it(create: Create) -> None:
    life = Cluster(AwsAccount(Settings()))
    ident = await cut_off_and_stripped(life, create)
    life.later(3700.0)
    assert is_asked((await quarter_of_an_hour(life))[create.key], ident)
    await one_pass(life, decision(life, create.key, Verdict.MINE, ident))
    await life.up()
    assert ident in life.standing()[create.kind]
    await life.down()
    assert life.standing() == {}


@every_create
async def test_once_it_is_gone_another_one_is_made(life: Life, create: Create) -> None:
    ident = await cut_off_and_stripped(life, create)
    await quarter_of_an_hour(life)
    life.account.cloud.strangers.delete(ident)
    await life.up()
    assert _counts(life) == ONE_OF_EACH


@every_create
async def test_nobody_is_asked_where_a_birth_tag_shows_it(life: Life, create: Create) -> None:
    theirs = somebodys(life, create.operation, **create.params)
    await cut_off(life, create, Effect.REPLY_LOST)
    asked = {each.key: each for each in await find_open_decisions(life.journal, life.deps)}
    assert [one.observed.id == theirs for one in asked[create.key].candidates] == [False], "nor is it shown"
    await life.up()
    assert len(life.standing()[create.kind]) == 2


async def test_nobody_is_asked_of_a_create_that_was_answered(life: Life) -> None:
    for create in CREATES.values():
        somebodys(life, create.operation, **create.params)
    await life.up()
    await life.down()


@every_create
async def test_nobody_is_asked_of_what_cannot_be_it(create: Create) -> None:
    """It is in use, or has a tag, or another range: a create that had no effect is sent again."""
    life = Life(AwsAccount(Settings(quotas=ROOMY)), _network())
    wanted = CREATES["vpc"].params
    somebodys(life, "CreateVpc", **{**wanted, "CidrBlock": "10.7.0.0/16"})
    somebodys(life, "CreateVpc", CidrBlock=wanted["CidrBlock"])
    wider = somebodys(life, "CreateVpc", **wanted)
    life.account.cloud.strangers.call(
        "ec2", "AssociateVpcCidrBlock", {"VpcId": wider, "CidrBlock": "10.8.0.0/16"}, region=REGION
    )
    used = somebodys(life, "CreateVpc", **wanted)
    subnet = somebodys(life, "CreateSubnet", VpcId=used, CidrBlock="10.0.0.0/24")
    gateway = somebodys(life, "CreateInternetGateway")
    address = somebodys(life, "AllocateAddress", Domain="vpc")
    call = life.account.cloud.strangers.call
    call("ec2", "AttachInternetGateway", {"InternetGatewayId": gateway, "VpcId": used}, region=REGION)
    call("ec2", "CreateNatGateway", {"SubnetId": subnet, "AllocationId": address}, region=REGION)
    tagged = somebodys(life, create.operation, **create.params)
    life.account.cloud.strangers.tag(tagged, {"team": "red"})
    before = life.standing()
    await cut_off(life, create, Effect.ERROR_BEFORE)
    await life.up()
    await life.down()
    assert life.standing() == before


async def test_nobody_is_asked_of_route_tables_in_use(life: Life) -> None:
    """The main one of our VPC, and one that is associated."""
    await cut_off(life, WITH_A_TOKEN["route table"], Effect.ERROR_BEFORE)
    vpc, subnet = life.journal.entries[VPC].id, life.journal.entries[PUBLIC].id
    table = somebodys(life, "CreateRouteTable", VpcId=vpc)
    call = life.account.cloud.strangers.call
    call("ec2", "AssociateRouteTable", {"RouteTableId": table, "SubnetId": subnet}, region=REGION)
    life.later(3700.0)
    outcomes = await quarter_of_an_hour(life)
    assert not is_asked(outcomes[OUT], table)
    assert len(life.standing()["route-table"]) == 3


@pytest.mark.parametrize("name", ["NAT gateway", "endpoint", "instance", "egress-only gateway"])
async def test_nobody_is_asked_of_what_another_request_made(name: str) -> None:
    """With another address, of another service, of another type, in another VPC."""
    life, create = Cluster(AwsAccount(Settings())), WITH_A_TOKEN[name]
    await cut_off(life, create, Effect.ERROR_BEFORE)
    there = {key: entry.id for key, entry in life.journal.entries.items()}
    if name == "NAT gateway":
        other = somebodys(life, "AllocateAddress", Domain="vpc")
        theirs = somebodys(life, create.operation, SubnetId=there[PUBLIC], AllocationId=other)
    elif name == "endpoint":
        service = "com.amazonaws.us-east-1.dynamodb"
        theirs = somebodys(life, create.operation, VpcId=there[VPC], ServiceName=service, VpcEndpointType="Gateway")
    elif name == "egress-only gateway":
        theirs = somebodys(life, create.operation, VpcId=somebodys(life, "CreateVpc", CidrBlock="10.7.0.0/16"))
    else:
        image = {"ImageId": "ami-0a0000000000000c1", "InstanceType": "t3.large", "MinCount": 1, "MaxCount": 1}
        theirs = somebodys(life, create.operation, SubnetId=there[PUBLIC], **image)
    life.later(3700.0)
    assert not is_asked((await quarter_of_an_hour(life))[create.key], theirs)
    assert len(life.standing()[create.kind]) == 2


def test_an_address_of_another_pool_cannot_be_it() -> None:
    """We take Amazon's own; the simulator has no other."""
    may_be = elastic_ip.SHAPE.may_be_ours
    assert may_be is not None
    fits = [
        may_be({}, replace(BARE, attributes={"association": "", "pool": pool})) for pool in ("amazon", "ipv4pool-1")
    ]
    assert fits == [True, False]


async def test_what_another_object_has_on_record_is_not_named(life: Life) -> None:
    theirs = somebodys(life, "CreateVpc", **CREATES["vpc"].params)

    class Others(NoOthers):
        async def owning(
            self, owner: Owner, kind: str, idents: Collection[str], ring: KeyRing | None = None
        ) -> Mapping[str, tuple[str, ...]]:
            return {theirs: ("prod/c2",)} if kind == "vpc" and theirs in idents else {}

    life.deps = replace(life.deps, others=Others())
    await cut_off(life, CREATES["vpc"], Effect.ERROR_BEFORE)
    await life.up()
    assert len(life.standing()["vpc"]) == 2


async def test_what_is_on_record_for_another_node_is_not_named(life: Life) -> None:
    """Its record says whose it is, also while somebody strips it again and again."""
    other = NodeKey("elastic-ip", "b")
    node = replace(life.graph.nodes[ADDRESS], key=other)
    life.graph = type(life.graph)([*life.graph.nodes.values(), node])
    life.account.cloud.faults.add(Fault(Effect.ERROR_BEFORE, "ec2.AllocateAddress", status=504))
    while not life.account.cloud.faults.rules()[0]["hits"]:
        await one_pass(life)
    (made,) = life.standing()["elastic-ip"]
    life.die()
    for _ in range(60):
        life.account.cloud.strangers.strip(made)
        await one_pass(life)
    assert len(life.standing()["elastic-ip"]) == 2


async def test_nothing_is_created_while_they_cannot_be_listed(life: Life) -> None:
    ident = await cut_off_and_stripped(life, CREATES["vpc"])
    life.account.cloud.faults.add(Fault(Effect.ERROR_BEFORE, "ec2.DescribeSubnets", status=500, count=None))
    begun = life.clock.now()
    while life.clock.now() - begun < 2.5 * SETTLE:
        outcome = (await one_pass(life))[VPC]
    assert isinstance(outcome, Waiting) and "describe subnets" in outcome.message
    assert life.standing()["vpc"] == [ident]


def test_the_kinds_that_nothing_else_finds_have_this_look(life: Life) -> None:
    """A client token expires, and only a natural key without one makes that a second create is refused or answered."""
    bare = {kind.name for kind in KINDS if kind.token_in or not kind.natural_key}
    bare -= {"bootstrap-secret"}  # its name, with our uuid in it, is refused for as long as one exists
    bare -= OF_CONTROL_PLANES  # likewise: a cluster has one of a name, and a region one cluster
    assert {name for name, kind in life.deps.registry.items() if kind.creation.find_untagged} == bare
