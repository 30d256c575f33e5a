"""A create of an AWS network that is cut off, and whose result somebody strips of its tags (ADR 7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest

from freehold.engine.decisions import Decision, Verdict, sign_decision
from freehold.engine.engine import ensure, release
from freehold.engine.journal import RecordState
from freehold.engine.outcomes import Blocked, Outcome, Reason
from freehold.engine.resources import NodeKey
from freehold_sim.faults import Effect, Fault
from harness.aws_account import REGION
from harness.aws_passes import OWNER, Life
from unit.aws.test_aws_engine import (
    ADDRESS,
    EGRESS,
    GATEWAY,
    NAT,
    OUT,
    VPC,
)
from unit.aws.test_aws_engine_more import BASTION, ENDPOINT


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


def somebodys(life: Life, operation: str, **params: Any) -> str:
    made = life.account.cloud.strangers.create("ec2", operation, params, region=REGION)
    return str(made["id"])


async def one_pass(life: Life, *decided: Decision, deleting: bool = False) -> Mapping[NodeKey, Outcome]:
    if deleting:
        done = await release(life.deps, life.graph, life.journal, life.store, life.state, decided)
    else:
        done = await ensure(life.deps, life.graph, life.journal, life.store, life.state, decisions=decided)
    life.journal = done.journal
    life.later(max(done.after, 1.0))
    return done.outcomes


async def quarter_of_an_hour(life: Life, *, deleting: bool = False) -> Mapping[NodeKey, Outcome]:
    """A quarter of an hour."""
    end = life.clock.now() + 900.0
    while life.clock.now() < end:
        outcomes = await one_pass(life, deleting=deleting)
    return outcomes


async def cut_off(life: Life, create: Create, effect: Effect) -> None:
    """The process dies without an answer to the create."""
    life.account.cloud.faults.add(Fault(effect, f"ec2.{create.operation}", status=504))
    while not life.account.cloud.faults.rules()[0]["hits"]:
        await one_pass(life)
    entry = life.journal.entries[create.key]
    assert entry.state is RecordState.INTENDED
    life.die()


async def cut_off_and_stripped(life: Life, create: Create) -> str:
    """It was made, and somebody takes every tag off it. Returns its id."""
    await cut_off(life, create, Effect.REPLY_LOST)
    on_record = {entry.id for entry in life.journal.entries.values()}
    (ident,) = (each for each in life.standing()[create.kind] if each not in on_record)
    life.account.cloud.strangers.strip(ident)
    return ident


def tags_of(life: Life, ident: str) -> dict[str, str]:
    return dict(life.account.cloud.strangers.find(ident)["tags"])


def decision(life: Life, key: NodeKey, verdict: Verdict, ident: str = "") -> Decision:
    attempt = life.journal.entries[key].attempt
    plain = Decision(verdict, str(key), ident, attempt, "ada", life.clock.now())
    return sign_decision(plain, life.deps.ring.derive_keys(OWNER))


def is_asked(outcome: Outcome, ident: str) -> bool:
    return isinstance(outcome, Blocked) and outcome.reason is Reason.PRESUMED_ONLY and ident in outcome.message


WITH_A_TOKEN = {
    "route table": Create(OUT, "route-table", "CreateRouteTable", {}),
    "egress-only gateway": Create(EGRESS, "egress-only-internet-gateway", "CreateEgressOnlyInternetGateway", {}),
    "NAT gateway": Create(NAT, "natgateway", "CreateNatGateway", {}),
    "endpoint": Create(ENDPOINT, "vpc-endpoint", "CreateVpcEndpoint", {}),
    "instance": Create(BASTION, "instance", "RunInstances", {}),
}
