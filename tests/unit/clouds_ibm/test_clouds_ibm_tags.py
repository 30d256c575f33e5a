"""Tags: spelling within IBM's limits, reading from the index and from the resource, changing without replacing."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from freehold.clouds.ibm.tags import LONGEST, IbmCodec, complaint
from freehold.lifecycle.errors import CloudError, Invalid, NotFound, NotReady, Retryable
from freehold.lifecycle.inventory import TagChange
from freehold.lifecycle.kinds import NodeKey
from freehold.lifecycle.ownership import CarriedMark, NodeMark, Owner
from freehold_sim.faults import Effect, Fault
from freehold_sim.ibm.settings import Assumptions, Lags

UUID = "0a1b2c3d-1111-4222-8333-444455556666"
OWNER = Owner(UUID, "IBMPowerVSCluster", "default", "demo")
LEGAL = re.compile(r"[A-Za-z0-9 _\-.:]{1,128}")
CODEC = IbmCodec()


def test_marks_are_read_back_as_written() -> None:
    """What is written must be what is proved later."""
    key = NodeKey("vpc-subnet", "us-south-1")
    connection = "0e1f2a3b-0000-4000-8000-00000000000a"
    tags = CODEC.owner(OWNER) | {
        CODEC.node(key, "abcd2345"),
        CODEC.carried(OWNER, "transit-gateway-connection", f"gw/{connection}"),
        "team:blue",
    }
    marks = CODEC.read(tags)
    assert (marks.owners, marks.uuids) == ({"default.demo"}, {UUID})
    assert marks.nodes == {NodeMark(key, "abcd2345")}
    assert marks.carried == {CarriedMark("transit-gateway-connection", UUID, connection)}


@pytest.mark.parametrize(
    ("namespace", "name", "logical"),
    [("n" * 63, "c" * 253, "s" * 253), ("default", "demo", "0:public"), ("default", "demo", "a~b/c")],
    ids=["long", "colon", "illegal"],
)
def test_every_mark_is_a_legal_tag(namespace: str, name: str, logical: str) -> None:
    """IBM silently drops, or refuses, what does not fit (terraform-provider-ibm#2364)."""
    owner = Owner(UUID, "IBMPowerVSCluster", namespace, name)
    marks = CODEC.owner(owner) | {
        CODEC.node(NodeKey("transit-gateway-connection", logical), "abcd2345"),
        CODEC.carried(owner, "cos-bucket", "guid/us-south." + "b" * 63),
    }
    assert all(LEGAL.fullmatch(mark) for mark in marks), marks
    assert all(len(mark) <= LONGEST for mark in marks)


def test_long_names_that_differ_at_the_end_stay_apart() -> None:
    """Cut names carry a hash of the whole: two clusters must never share an owner mark."""
    one = CODEC.owner(Owner(UUID, "k", "ns", "c" * 200 + "1"))
    two = CODEC.owner(Owner(UUID, "k", "ns", "c" * 200 + "2"))
    assert one != two


def test_case_does_not_matter() -> None:
    """IBM tags are case-insensitive, and some are shown in lower case."""
    shouted = {mark.upper() for mark in CODEC.owner(OWNER)}
    assert CODEC.fold(shouted) == CODEC.fold(CODEC.owner(OWNER))
    assert {uuid.lower() for uuid in CODEC.read(shouted).uuids} == {UUID}


def test_user_tags_are_key_and_value_or_key_alone() -> None:
    assert (CODEC.user("team", "blue"), CODEC.user("team", "")) == ("team:blue", "team")
    assert complaint("team:blue") == ""
    assert "'/'" in complaint("a/b")
    assert "shorten" in complaint("x" * 129)
    assert "empty" in complaint("")
    assert "empty" in complaint("  ")


@pytest.mark.parametrize("value", [UUID, f"{UUID}.", f"{UUID}x1", f"x{UUID}.1"])
def test_a_carrier_s_mark_without_an_id_is_none(value: str) -> None:
    """An empty id would name the carrier's own network, or everything in it."""
    assert CODEC.read({f"powervs.cluster.x-k8s.io.dhcp-server:{value}"}).carried == frozenset()


@pytest.mark.parametrize("hostile", ['x" OR tags:"*', "x OR tags:*", "*", "x) OR (crn:*", "\\"])
async def test_what_a_journal_names_is_no_query(make_account: Callable[..., Any], hostile: str) -> None:
    """Whoever edits an annotation writes the target there: it must not show, or break, anybody else's search."""
    account = make_account(lags=Lags.none())
    vpc = await account.ready("vpc", account.vpc())
    await account.tagger.attach([TagChange(vpc.target, CODEC.owner(OWNER))])
    assert set(await account.tagger.marked(UUID, {hostile})) == {vpc.target}
    assert set(await account.tagger.marked(hostile)) == set()


async def test_one_query_finds_the_owner_s_targets_and_the_carriers(make_account: Callable[..., Any]) -> None:
    """A proof read costs one call, whatever it looks for."""
    account = make_account(lags=Lags.none())
    vpc = await account.ready("vpc", account.vpc())
    gateway = await account.ready("transit-gateway", account.gateway())
    other = await account.ready("vpc", account.vpc("other"))
    carried = CODEC.carried(OWNER, "transit-gateway-connection", "gw/0e1f2a3b-0000-4000-8000-00000000000a")
    changes = [TagChange(vpc.target, CODEC.owner(OWNER)), TagChange(gateway.target, frozenset({carried}))]
    assert await account.tagger.attach(changes) == {}
    before = len(account.requests())
    found = await account.tagger.marked(UUID, {other.target})
    assert len(account.requests()) == before + 1
    assert set(found) == {vpc.target, gateway.target, other.target}
    assert CODEC.fold(found[vpc.target]) == CODEC.fold(CODEC.owner(OWNER))


async def test_everything_is_read_through_all_pages(make_account: Callable[..., Any]) -> None:
    """A client that reads the first page only would take other clusters' resources for unmarked."""
    account = make_account(lags=Lags.none(), page_size=1)
    vpcs = [await account.ready("vpc", account.vpc(f"net{n}")) for n in range(3)]
    changes = [TagChange(one.target, CODEC.owner(OWNER) | {f"n:{n}"}) for n, one in enumerate(vpcs)]
    assert await account.tagger.attach(changes) == {}
    assert set(await account.tagger.everything()) == {one.target for one in vpcs}
    assert len(await account.tagger.tags_of(vpcs[0].target)) == 3


async def test_attach_batches_equal_sets_and_adds_only(make_account: Callable[..., Any]) -> None:
    """Never `replace`: other people's tags stay."""
    account = make_account(lags=Lags.none())
    vpcs = [await account.ready("vpc", account.vpc(f"net{n}")) for n in range(3)]
    await account.tagger.attach([TagChange(vpcs[0].target, frozenset({"team:blue"}))])
    before = account.requests().count("tagging.attach_tag")
    await account.tagger.attach([TagChange(one.target, CODEC.owner(OWNER)) for one in vpcs])
    assert account.requests().count("tagging.attach_tag") == before + 1
    assert "team:blue" in await account.tagger.tags_of(vpcs[0].target)
    await account.tagger.detach([TagChange(vpcs[0].target, CODEC.owner(OWNER))])
    assert await account.tagger.tags_of(vpcs[0].target) == {"team:blue"}


async def test_a_200_with_an_error_inside_is_a_failure_of_that_target(make_account: Callable[..., Any]) -> None:
    """terraform-provider-ibm#5635: the status code says nothing about single targets."""
    account = make_account(lags=Lags.none())
    vpcs = [await account.ready("vpc", account.vpc(f"net{n}")) for n in range(2)]
    account.cloud.faults.add(Fault(Effect.PARTIAL, "tagging.attach_tag"))
    failed = await account.tagger.attach([TagChange(one.target, CODEC.owner(OWNER)) for one in vpcs])
    assert list(failed) == [vpcs[1].target]
    assert isinstance(failed[vpcs[1].target], Retryable)
    assert await account.tagger.tags_of(vpcs[1].target) == frozenset()


async def test_a_call_that_fails_fails_for_all_its_targets(make_account: Callable[..., Any]) -> None:
    """The tagger answers per target and raises nothing, so that other batches are still sent."""
    account = make_account(lags=Lags.none())
    vpc = await account.ready("vpc", account.vpc())
    account.cloud.faults.add(Fault(Effect.THROTTLE, "tagging.*", retry_after=7))
    failed = await account.tagger.attach([TagChange(vpc.target, CODEC.owner(OWNER))])
    assert getattr(failed[vpc.target], "retry_after", None) == 7


async def test_what_is_gone_needs_no_detach_and_gets_no_tag(make_account: Callable[..., Any]) -> None:
    account = make_account(lags=Lags.none())
    nowhere = "crn:v1:bluemix:public:is:us-south:a/x::vpc:r006-gone"
    change = [TagChange(nowhere, frozenset({"a:b"}))]
    assert isinstance((await account.tagger.detach(change))[nowhere], NotFound)
    assert isinstance((await account.tagger.attach(change))[nowhere], NotReady)
    assert await account.tagger.tags_of(nowhere) == frozenset()


async def test_a_fresh_resource_that_the_index_does_not_know_waits(make_account: Callable[..., Any]) -> None:
    """terraform-provider-ibm#3874: 'not authorized' right after a create passes by itself."""
    account = make_account(assumptions=Assumptions(attach_needs_index=True))
    vpc = await account.create("vpc", account.vpc())
    failed = await account.tagger.attach([TagChange(vpc.target, CODEC.owner(OWNER))])
    assert isinstance(failed[vpc.target], NotReady)


async def test_an_illegal_tag_is_the_manifest_s_fault(make_account: Callable[..., Any]) -> None:
    account = make_account(lags=Lags.none())
    vpc = await account.ready("vpc", account.vpc())
    failed = await account.tagger.attach([TagChange(vpc.target, frozenset({"a/b"}))])
    error: CloudError = failed[vpc.target]
    assert isinstance(error, Invalid)
    assert "a/b" in error.message
