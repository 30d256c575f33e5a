"""A create that was cut off, and what has lost its tags: it may be what was made, so a person decides (ADR 48)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from freehold.clouds.aws.kind_facts import KINDS
from freehold.clouds.aws.kinds import elastic_ip
from freehold.clouds.aws.seen import Seen
from freehold.lifecycle.decisions import Decision, Verdict, signed
from freehold.lifecycle.engine import ensure, release
from freehold.lifecycle.graph import Graph
from freehold.lifecycle.inventory import NoOthers
from freehold.lifecycle.journal import Phase
from freehold.lifecycle.keyed_codec import NODE as NODE_KEY
from freehold.lifecycle.keyed_codec import OWNER as OWNER_KEY
from freehold.lifecycle.keyed_codec import UUID as UUID_KEY
from freehold.lifecycle.outcomes import Blocked, Outcome, Reason, Waiting
from freehold.lifecycle.ownership import Owner
from freehold.lifecycle.resources import NodeKey, State
from freehold.operator.questions import matching, questions
from freehold_sim.aws.settings import Lags, Settings
from freehold_sim.faults import Effect, Fault
from harness.aws_account import REGION, AwsAccount
from harness.aws_passes import OWNER, Life
from unit.clouds_aws.test_clouds_aws_engine import (
    ADDRESS,
    EGRESS,
    GATEWAY,
    NAT,
    ONE_OF_EACH,
    OUT,
    PUBLIC,
    VPC,
    _counts,
    _network,
)
from unit.clouds_aws.test_clouds_aws_engine_more import BASTION, ENDPOINT, Cluster


class Create(NamedTuple):
    """``kind`` is the simulator's; ``params`` are those of a create by somebody else of what fits."""

    key: NodeKey
    kind: str
    operation: str
    params: Mapping[str, Any]


CREATES = {
    "vpc": Create(VPC, "vpc", "CreateVpc", {"CidrBlock": "10.0.0.0/16", "AmazonProvidedIpv6CidrBlock": True}),
    "internet gateway": Create(GATEWAY, "internet-gateway", "CreateInternetGateway", {}),
    "address": Create(ADDRESS, "elastic-ip", "AllocateAddress", {"Domain": "vpc"}),
}
every_create = pytest.mark.parametrize("create", CREATES.values(), ids=CREATES.keys())


BARE = Seen("eipalloc-1", "", State.READY, {})


@pytest.fixture
def life() -> Life:
    return Life(AwsAccount(Settings()), _network())


def _somebodys(life: Life, operation: str, **params: Any) -> str:
    made = life.account.cloud.strangers.create("ec2", operation, params, region=REGION)
    return str(made["id"])


async def _pass(life: Life, *decided: Decision, deleting: bool = False) -> Mapping[NodeKey, Outcome]:
    if deleting:
        done = await release(life.deps, life.graph, life.journal, life.store, life.state, decided)
    else:
        done = await ensure(life.deps, life.graph, life.journal, life.store, life.state, decisions=decided)
    life.journal = done.journal
    life.later(max(done.after, 1.0))
    return done.outcomes


async def _passes(life: Life, *, deleting: bool = False) -> Mapping[NodeKey, Outcome]:
    """A quarter of an hour."""
    end = life.clock.now() + 900.0
    while life.clock.now() < end:
        outcomes = await _pass(life, deleting=deleting)
    return outcomes


async def _cut_off(life: Life, create: Create, effect: Effect) -> None:
    """The process dies without an answer to the create."""
    life.account.cloud.faults.add(Fault(effect, f"ec2.{create.operation}", status=504))
    while not life.account.cloud.faults.rules()[0]["hits"]:
        await _pass(life)
    entry = life.journal.entries[create.key]
    assert entry.phase is Phase.INTENDED
    life.die()


async def _stripped(life: Life, create: Create) -> str:
    """It was made, and somebody takes every tag off it. Returns its id."""
    await _cut_off(life, create, Effect.REPLY_LOST)
    on_record = {entry.id for entry in life.journal.entries.values()}
    (ident,) = (each for each in life.standing()[create.kind] if each not in on_record)
    life.account.cloud.strangers.strip(ident)
    return ident


def _tags(life: Life, ident: str) -> dict[str, str]:
    return dict(life.account.cloud.strangers.find(ident)["tags"])


def _decision(life: Life, key: NodeKey, verdict: Verdict, ident: str = "") -> Decision:
    attempt = life.journal.entries[key].attempt
    plain = Decision(verdict, str(key), ident, attempt, "ada", life.clock.now())
    return signed(plain, life.deps.ring.of(OWNER, unkeyed=False))


def _is_asked(outcome: Outcome, ident: str) -> bool:
    return isinstance(outcome, Blocked) and outcome.reason is Reason.PRESUMED_ONLY and ident in outcome.message


@every_create
async def test_what_may_be_ours_is_named_and_taken_when_a_person_says_so(life: Life, create: Create) -> None:
    ident = await _stripped(life, create)
    outcome = (await _passes(life))[create.key]
    assert _is_asked(outcome, ident)
    assert f"freehold resolve demo -n default {create.key} --mine" in outcome.message
    assert life.standing()[create.kind] == [ident]
    await _pass(life, _decision(life, create.key, Verdict.MINE, ident))
    await life.up()
    assert _counts(life) == ONE_OF_EACH
    await life.down()
    assert life.standing() == {}


@every_create
async def test_a_delete_waits_for_the_answer_too(life: Life, create: Create) -> None:
    ident = await _stripped(life, create)
    assert _is_asked((await _passes(life, deleting=True))[create.key], ident)
    await _pass(life, _decision(life, create.key, Verdict.MINE, ident), deleting=True)
    await life.down()
    assert life.standing() == {}


@every_create
async def test_what_is_somebodys_is_left_when_a_person_says_so(life: Life, create: Create) -> None:
    theirs = _somebodys(life, create.operation, **create.params)
    await _cut_off(life, create, Effect.ERROR_BEFORE)
    first = (await _pass(life))[create.key]
    assert isinstance(first, Waiting) and first.reason is Reason.SETTLING, "its own may still show"
    assert _is_asked((await _passes(life))[create.key], theirs)
    await _pass(life, _decision(life, create.key, Verdict.NOT_MINE))
    await life.up()
    assert len(life.standing()[create.kind]) == 2
    await life.down()
    assert life.standing() == {create.kind: [theirs]}


def _uses(life: Life, create: Create, ident: str) -> None:
    call = life.account.cloud.strangers.call
    somewhere = _somebodys(life, "CreateVpc", CidrBlock="10.7.0.0/16")
    if create.key == VPC:
        call("ec2", "CreateSubnet", {"VpcId": ident, "CidrBlock": "10.0.0.0/24"}, region=REGION)
    elif create.key == GATEWAY:
        call("ec2", "AttachInternetGateway", {"InternetGatewayId": ident, "VpcId": somewhere}, region=REGION)
    else:
        subnet = _somebodys(life, "CreateSubnet", VpcId=somewhere, CidrBlock="10.7.0.0/24")
        call("ec2", "CreateNatGateway", {"SubnetId": subnet, "AllocationId": ident}, region=REGION)


@pytest.mark.parametrize("act", ["tags", "use"])
@every_create
async def test_a_tag_or_a_use_is_no_answer(life: Life, create: Create, act: str) -> None:
    """Also to another process: somebody labels what is asked about, and a second one must not be made by that."""
    ident = await _stripped(life, create)
    await _passes(life)
    if act == "tags":
        life.account.cloud.strangers.tag(ident, {"Name": "whose is this?"})
    else:
        _uses(life, create, ident)
    there = life.standing()[create.kind]
    life.die()
    assert _is_asked((await _passes(life))[create.key], ident)
    assert life.standing()[create.kind] == there


@every_create
async def test_another_owners_mark_is_an_answer(life: Life, create: Create) -> None:
    ident = await _stripped(life, create)
    await _passes(life)
    life.account.cloud.strangers.tag(ident, {OWNER_KEY: "prod/c2", UUID_KEY: "22222222-2222-4222-8222-222222222222"})
    await life.up()
    assert len(life.standing()[create.kind]) == 2


@every_create
async def test_nobody_is_shown_what_somebody_wrote_into_the_record(life: Life, create: Create) -> None:
    """Whoever may edit the object could have a person take any resource for the object's."""
    theirs = _somebodys(life, create.operation, **create.params)
    life.account.cloud.strangers.tag(theirs, {"team": "red"})
    await _cut_off(life, create, Effect.ERROR_BEFORE)
    entry = life.journal.entries[create.key]
    life.journal = life.journal.put(create.key, replace(entry, candidates=(theirs,), signature="x" * 16))
    await life.up()
    assert len(life.standing()[create.kind]) == 2


@every_create
async def test_it_may_have_kept_some_of_the_tags_that_it_was_made_with(life: Life, create: Create) -> None:
    """A tool takes off what it does not know, and leaves the name."""
    await _cut_off(life, create, Effect.REPLY_LOST)
    (ident,) = life.standing()[create.kind]
    kept = {key: value for key, value in _tags(life, ident).items() if key == "Name"}
    life.account.cloud.strangers.strip(ident)
    life.account.cloud.strangers.tag(ident, kept)
    shown = next(each for each in await questions(life.journal, life.deps) if each.key == create.key)
    assert [one.observed.id for one in shown.candidates] == [ident]
    assert kept and _is_asked((await _passes(life))[create.key], ident)


@every_create
async def test_what_a_person_says_too_early_waits_and_is_checked_again(create: Create) -> None:
    """Reads do not show ours yet: what they show instead is not taken, whatever a person says."""
    life = Life(AwsAccount(Settings(lags=Lags(new=60.0))), _network())
    theirs = _somebodys(life, create.operation, **create.params)
    life.later(120.0)
    await _cut_off(life, create, Effect.REPLY_LOST)
    decided = _decision(life, create.key, Verdict.MINE, theirs)
    end = life.clock.now() + 300.0
    while life.clock.now() < end:
        await _pass(life, decided)
    await life.up()
    assert life.journal.entries[create.key].id not in ("", theirs)
    await life.down()
    assert life.standing() == {create.kind: [theirs]}


async def test_of_several_creates_a_person_can_answer_each(life: Life) -> None:
    """Three addresses were cut off together, and two have lost their tags."""
    keys = [NodeKey("elastic-ip", name) for name in "abc"]
    nodes = {key: node for key, node in life.graph.nodes.items() if key != ADDRESS}
    plain = life.graph.nodes[ADDRESS]
    life.graph = Graph([*nodes.values(), *(replace(plain, key=key) for key in keys)])
    life.account.cloud.faults.add(Fault(Effect.REPLY_LOST, "ec2.AllocateAddress", status=504, count=3))
    while life.account.cloud.faults.rules()[0]["hits"] < 3:
        await _pass(life)
    made = {_tags(life, ident)[NODE_KEY].rpartition("/")[2]: ident for ident in life.standing()["elastic-ip"]}
    for name in "bc":
        life.account.cloud.strangers.strip(made[name])
    life.die()
    outcomes = await _passes(life)
    for key in keys[1:]:
        assert _is_asked(outcomes[key], made["b"]) and _is_asked(outcomes[key], made["c"])
        assert f"to decide: freehold resolve demo -n default {key};" in str(outcomes[key])
    asked = await questions(life.journal, life.deps)
    assert [len(matching(asked, made["b"])), len(matching(asked, str(keys[1]), made["b"]))] == [2, 1]
    await _pass(life, *(_decision(life, key, Verdict.MINE, made[key.logical]) for key in keys[1:]))
    await life.up()
    assert sorted(life.standing()["elastic-ip"]) == sorted(made.values())
    await life.down()
    assert life.standing() == {}


WITH_A_TOKEN = {
    "route table": Create(OUT, "route-table", "CreateRouteTable", {}),
    "egress-only gateway": Create(EGRESS, "egress-only-internet-gateway", "CreateEgressOnlyInternetGateway", {}),
    "NAT gateway": Create(NAT, "natgateway", "CreateNatGateway", {}),
    "endpoint": Create(ENDPOINT, "vpc-endpoint", "CreateVpcEndpoint", {}),
    "instance": Create(BASTION, "instance", "RunInstances", {}),
}


@pytest.mark.parametrize("create", WITH_A_TOKEN.values(), ids=WITH_A_TOKEN.keys())
async def test_when_its_client_token_has_expired_nothing_else_finds_it(create: Create) -> None:
    life = Cluster(AwsAccount(Settings()))
    ident = await _stripped(life, create)
    life.later(3700.0)
    assert _is_asked((await _passes(life))[create.key], ident)
    await _pass(life, _decision(life, create.key, Verdict.MINE, ident))
    await life.up()
    assert ident in life.standing()[create.kind]
    await life.down()
    assert life.standing() == {}


@every_create
async def test_once_it_is_gone_another_one_is_made(life: Life, create: Create) -> None:
    ident = await _stripped(life, create)
    await _passes(life)
    life.account.cloud.strangers.delete(ident)
    await life.up()
    assert _counts(life) == ONE_OF_EACH


@every_create
async def test_nobody_is_asked_where_a_birth_tag_shows_it(life: Life, create: Create) -> None:
    theirs = _somebodys(life, create.operation, **create.params)
    await _cut_off(life, create, Effect.REPLY_LOST)
    asked = {each.key: each for each in await questions(life.journal, life.deps)}
    assert [one.observed.id == theirs for one in asked[create.key].candidates] == [False], "nor is it shown"
    await life.up()
    assert len(life.standing()[create.kind]) == 2


async def test_nobody_is_asked_of_a_create_that_was_answered(life: Life) -> None:
    for create in CREATES.values():
        _somebodys(life, create.operation, **create.params)
    await life.up()
    await life.down()


@every_create
async def test_nobody_is_asked_of_what_cannot_be_it(life: Life, create: Create) -> None:
    """It is in use, or has a tag, or another range: a create that had no effect is sent again."""
    wanted = CREATES["vpc"].params
    _somebodys(life, "CreateVpc", **{**wanted, "CidrBlock": "10.7.0.0/16"})
    _somebodys(life, "CreateVpc", CidrBlock=wanted["CidrBlock"])
    used = _somebodys(life, "CreateVpc", **wanted)
    subnet = _somebodys(life, "CreateSubnet", VpcId=used, CidrBlock="10.0.0.0/24")
    gateway = _somebodys(life, "CreateInternetGateway")
    address = _somebodys(life, "AllocateAddress", Domain="vpc")
    call = life.account.cloud.strangers.call
    call("ec2", "AttachInternetGateway", {"InternetGatewayId": gateway, "VpcId": used}, region=REGION)
    call("ec2", "CreateNatGateway", {"SubnetId": subnet, "AllocationId": address}, region=REGION)
    tagged = _somebodys(life, create.operation, **create.params)
    life.account.cloud.strangers.tag(tagged, {"team": "red"})
    before = life.standing()
    await _cut_off(life, create, Effect.ERROR_BEFORE)
    await life.up()
    await life.down()
    assert life.standing() == before


async def test_nobody_is_asked_of_route_tables_in_use(life: Life) -> None:
    """The main one of our VPC, and one that is associated."""
    await _cut_off(life, WITH_A_TOKEN["route table"], Effect.ERROR_BEFORE)
    vpc, subnet = life.journal.entries[VPC].id, life.journal.entries[PUBLIC].id
    table = _somebodys(life, "CreateRouteTable", VpcId=vpc)
    call = life.account.cloud.strangers.call
    call("ec2", "AssociateRouteTable", {"RouteTableId": table, "SubnetId": subnet}, region=REGION)
    life.later(3700.0)
    outcomes = await _passes(life)
    assert not _is_asked(outcomes[OUT], table)
    assert len(life.standing()["route-table"]) == 3


@pytest.mark.parametrize("name", ["NAT gateway", "endpoint", "instance", "egress-only gateway"])
async def test_nobody_is_asked_of_what_another_request_made(name: str) -> None:
    """With another address, of another service, of another type, in another VPC."""
    life, create = Cluster(AwsAccount(Settings())), WITH_A_TOKEN[name]
    await _cut_off(life, create, Effect.ERROR_BEFORE)
    there = {key: entry.id for key, entry in life.journal.entries.items()}
    if name == "NAT gateway":
        other = _somebodys(life, "AllocateAddress", Domain="vpc")
        theirs = _somebodys(life, create.operation, SubnetId=there[PUBLIC], AllocationId=other)
    elif name == "endpoint":
        service = "com.amazonaws.us-east-1.dynamodb"
        theirs = _somebodys(life, create.operation, VpcId=there[VPC], ServiceName=service, VpcEndpointType="Gateway")
    elif name == "egress-only gateway":
        theirs = _somebodys(life, create.operation, VpcId=_somebodys(life, "CreateVpc", CidrBlock="10.7.0.0/16"))
    else:
        image = {"ImageId": "ami-0a0000000000000c1", "InstanceType": "t3.large", "MinCount": 1, "MaxCount": 1}
        theirs = _somebodys(life, create.operation, SubnetId=there[PUBLIC], **image)
    life.later(3700.0)
    assert not _is_asked((await _passes(life))[create.key], theirs)
    assert len(life.standing()[create.kind]) == 2


def test_an_address_of_another_pool_cannot_be_it() -> None:
    """We take Amazon's own; the simulator has no other."""
    may_be = elastic_ip.SHAPE.may_be
    assert may_be is not None
    fits = [
        may_be({}, replace(BARE, attributes={"association": "", "pool": pool})) for pool in ("amazon", "ipv4pool-1")
    ]
    assert fits == [True, False]


async def test_what_another_object_has_on_record_is_not_named(life: Life) -> None:
    theirs = _somebodys(life, "CreateVpc", **CREATES["vpc"].params)

    class Others(NoOthers):
        async def owning(self, owner: Owner, kind: str, idents: Collection[str]) -> Mapping[str, tuple[str, ...]]:
            return {theirs: ("prod/c2",)} if kind == "vpc" and theirs in idents else {}

    life.deps = replace(life.deps, others=Others())
    await _cut_off(life, CREATES["vpc"], Effect.ERROR_BEFORE)
    await life.up()
    assert len(life.standing()["vpc"]) == 2


async def test_what_is_on_record_for_another_node_is_not_named(life: Life) -> None:
    """Its record says whose it is, also while somebody strips it again and again."""
    other = NodeKey("elastic-ip", "b")
    node = replace(life.graph.nodes[ADDRESS], key=other)
    life.graph = type(life.graph)([*life.graph.nodes.values(), node])
    life.account.cloud.faults.add(Fault(Effect.ERROR_BEFORE, "ec2.AllocateAddress", status=504))
    while not life.account.cloud.faults.rules()[0]["hits"]:
        await _pass(life)
    (made,) = life.standing()["elastic-ip"]
    life.die()
    for _ in range(60):
        life.account.cloud.strangers.strip(made)
        await _pass(life)
    assert len(life.standing()["elastic-ip"]) == 2


async def test_nothing_is_created_while_they_cannot_be_listed(life: Life) -> None:
    ident = await _stripped(life, CREATES["vpc"])
    life.account.cloud.faults.add(Fault(Effect.ERROR_BEFORE, "ec2.DescribeSubnets", status=500, count=None))
    outcome = (await _passes(life))[VPC]
    assert isinstance(outcome, Waiting) and "describe subnets" in outcome.message
    assert life.standing()["vpc"] == [ident]


def test_the_kinds_that_nothing_else_finds_have_this_look(life: Life) -> None:
    """A client token expires, and only a natural key without one makes that a second create is refused or answered."""
    bare = {kind.name for kind in KINDS if kind.token_in or not kind.natural_key}
    assert {name for name, kind in life.deps.registry.items() if kind.stripped} == bare
