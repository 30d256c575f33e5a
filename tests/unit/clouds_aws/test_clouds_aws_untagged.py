"""A create that was cut off, and what has no tags at all: it may be what was made, so a person decides (ADR 48)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from freehold.clouds.aws.kind_facts import KINDS
from freehold.lifecycle.decisions import Decision, Verdict, signed
from freehold.lifecycle.engine import ensure, release
from freehold.lifecycle.inventory import NoOthers
from freehold.lifecycle.journal import Phase
from freehold.lifecycle.outcomes import Blocked, Outcome, Reason, Waiting
from freehold.lifecycle.ownership import Owner
from freehold.lifecycle.resources import NodeKey
from freehold_sim.aws.settings import Settings
from freehold_sim.faults import Effect, Fault
from harness.aws_account import REGION, AwsAccount
from harness.aws_passes import OWNER, Life
from unit.clouds_aws.test_clouds_aws_engine import ADDRESS, GATEWAY, ONE_OF_EACH, VPC, _counts, _network


class Create(NamedTuple):
    """``kind`` is the simulator's; ``params`` are those of a create by somebody else of what fits."""

    key: NodeKey
    kind: str
    operation: str
    params: Mapping[str, Any]


CREATES = {
    "vpc": Create(VPC, "vpc", "CreateVpc", {"CidrBlock": "10.0.0.0/16"}),
    "internet gateway": Create(GATEWAY, "internet-gateway", "CreateInternetGateway", {}),
    "address": Create(ADDRESS, "elastic-ip", "AllocateAddress", {"Domain": "vpc"}),
}
every_create = pytest.mark.parametrize("create", CREATES.values(), ids=CREATES.keys())


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
    (ident,) = life.standing()[create.kind]
    life.account.cloud.strangers.strip(ident)
    return ident


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


@every_create
async def test_once_it_is_gone_another_one_is_made(life: Life, create: Create) -> None:
    ident = await _stripped(life, create)
    await _passes(life)
    life.account.cloud.strangers.delete(ident)
    await life.up()
    assert _counts(life) == ONE_OF_EACH


@every_create
async def test_nobody_is_asked_where_a_birth_tag_shows_it(life: Life, create: Create) -> None:
    _somebodys(life, create.operation, **create.params)
    await _cut_off(life, create, Effect.REPLY_LOST)
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
    vpc, used = (_somebodys(life, "CreateVpc", CidrBlock=cidr) for cidr in ("10.7.0.0/16", "10.0.0.0/16"))
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
    assert vpc in before["vpc"]


async def test_what_another_object_has_on_record_is_not_named(life: Life) -> None:
    theirs = _somebodys(life, "CreateVpc", CidrBlock="10.0.0.0/16")

    class Others(NoOthers):
        async def owning(self, owner: Owner, kind: str, ident: str) -> tuple[str, ...]:
            return ("prod/c2",) if (kind, ident) == ("vpc", theirs) else ()

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
    """Without a client token and a natural key no second look at the cloud finds what a create has made."""
    bare = {kind.name for kind in KINDS if not kind.token_in and not kind.natural_key}
    assert {name for name, kind in life.deps.registry.items() if kind.untagged} == bare
