"""Tags: their form within IBM's limits, reads from the index and from the resource, changes without replacing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from freehold.engine.errors import CloudError, Denied, Invalid, NotFound, NotReady, Retryable, Unavailable
from freehold.engine.inventory import TagChange
from freehold.engine.ownership import CarriedMark, Marks, NodeMark, Owner
from freehold.engine.resources import NodeKey
from freehold.providers.ibm.marks import LONGEST, PREFIX, IbmCodec, validation_error
from freehold_sim.faults import Effect, Fault
from freehold_sim.http import Response
from freehold_sim.ibm.settings import Assumptions, Lags
from harness.rows import over_rows

UUID = "0a1b2c3d-1111-4222-8333-444455556666"
OWNER = Owner(UUID, "IBMPowerVSCluster", "default", "demo")
LEGAL = re.compile(r"[A-Za-z0-9 _\-.:]{1,128}")
CODEC = IbmCodec()


def test_marks_are_read_back_as_written() -> None:
    """A later proof needs exactly the written mark."""
    key = NodeKey("vpc-subnet", "us-south-1")
    connection = "0e1f2a3b-0000-4000-8000-00000000000a"
    tags = CODEC.owner(OWNER) | {
        CODEC.node(key, "abcd2345"),
        CODEC.spell_carrier_mark(OWNER, "transit-gateway-connection", f"gw/{connection}"),
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
    """IBM silently drops, or refuses, a tag that does not fit (terraform-provider-ibm#2364)."""
    owner = Owner(UUID, "IBMPowerVSCluster", namespace, name)
    marks = CODEC.owner(owner) | {
        CODEC.node(NodeKey("transit-gateway-connection", logical), "abcd2345"),
        CODEC.spell_carrier_mark(owner, "cos-bucket", "guid/us-south." + "b" * 63),
    }
    assert all(LEGAL.fullmatch(mark) for mark in marks), marks
    assert all(len(mark) <= LONGEST for mark in marks)


def test_long_names_that_differ_at_the_end_stay_apart() -> None:
    """Cut names have a hash of the whole name: two clusters must never share an owner mark."""
    one = CODEC.owner(Owner(UUID, "k", "ns", "c" * 200 + "1"))
    two = CODEC.owner(Owner(UUID, "k", "ns", "c" * 200 + "2"))
    assert one != two


def test_a_tag_of_somebody_else_is_no_mark_whatever_its_value() -> None:
    """A carrier may have tags that look like the value of a mark of ours."""
    assert CODEC.read({f"team:{UUID}.bucket", f"cluster-uuid:{UUID}", "owner:default.one"}) == Marks()


def test_case_does_not_matter() -> None:
    """IBM tags are case-insensitive, and some are shown in lower case."""
    shouted = {mark.upper() for mark in CODEC.owner(OWNER)}
    assert CODEC.fold(shouted) == CODEC.fold(CODEC.owner(OWNER))
    assert {uuid.lower() for uuid in CODEC.read(shouted).uuids} == {UUID}


def test_user_tags_are_key_and_value_or_key_alone() -> None:
    assert (CODEC.user("team", "blue"), CODEC.user("team", "")) == ("team:blue", "team")
    assert validation_error("team:blue") == ""
    assert "'/'" in validation_error("a/b")
    assert "shorten" in validation_error("x" * 129)
    assert "empty" in validation_error("")
    assert "empty" in validation_error("  ")


CARRIED_IDS = {
    "dhcp-server": f"guid/dhcp/{UUID}",
    "transit-gateway-connection": f"gateway/{UUID}",
    "cos-bucket": "guid/us-south.a-bucket.of.ours-2",
}
SEALS = {"dhcp-server": True, "transit-gateway-connection": False, "cos-bucket": True}
"""Whether a carrier's mark of the kind has room for a seal of eight characters."""


@pytest.mark.parametrize("kind", CARRIED_IDS)
def test_a_carrier_s_mark_is_read_back_with_its_seal(kind: str) -> None:
    """With a seal it is a proof; without, the name of the carried resource must show whose it is."""
    ident, last = CARRIED_IDS[kind], CARRIED_IDS[kind].rpartition("/")[2]
    plain, sealed = (
        CODEC.spell_carrier_mark(OWNER, kind, ident),
        CODEC.spell_carrier_mark(OWNER, kind, ident, "abcd2345"),
    )
    assert CODEC.read({plain}).carried == {CarriedMark(kind, UUID, last)}
    seal = "abcd2345" if SEALS[kind] else ""
    assert CODEC.read({sealed}).carried == {CarriedMark(kind, UUID, last, seal)}
    assert LEGAL.fullmatch(sealed)


def test_a_carrier_s_mark_of_a_kind_that_this_version_does_not_know_is_read() -> None:
    """A newer version wrote it: if it were ignored, the object would be released and the resource left behind."""
    assert CODEC.read({CODEC.spell_carrier_mark(OWNER, "public-gateway", UUID)}).carried == {
        CarriedMark("public-gateway", UUID, UUID)
    }


@over_rows("length", range(3, 64))
@over_rows("region", ["us-south", "eu-gb", "ca-mon"])
def test_a_bucket_s_mark_is_legal_and_read_back_at_every_length(region: str, length: int) -> None:
    """If the mark is too long, first the seal is omitted, then the name is cut and gets a hash."""
    name = ("b-3." * 16)[: length - 1] + "b"
    ident, room = f"{region}.{name}", LONGEST - len(f"powervs.cluster.x-k8s.io.cos-bucket:{UUID}.")
    for seal in ("", "abcd2345"):
        mark = CODEC.spell_carrier_mark(OWNER, "cos-bucket", f"guid/{ident}", seal)
        assert LEGAL.fullmatch(mark)
        [read] = CODEC.read({mark}).carried
        fits = len(ident) + 1 + len(seal) <= room
        assert read.seal == (seal if fits else "")
        assert (read.id == ident) is (len(ident) <= room)


def test_a_carrier_s_mark_of_the_longest_id_keeps_its_hash_and_no_seal() -> None:
    """Two long names must not share a mark, sealed or not."""
    one, two = (
        CODEC.spell_carrier_mark(OWNER, "cos-bucket", f"guid/us-south.{'b' * 62}{end}", "abcd2345") for end in "12"
    )
    assert one != two
    assert "_" not in one


@pytest.mark.parametrize(
    "value", [UUID, f"{UUID}.", f"{UUID}x1", f"x{UUID}.1", f"{UUID}._abcd2345", f"{UUID}.1_", f"{UUID}.1_a_b"]
)
def test_a_carrier_s_mark_without_an_id_is_none(value: str) -> None:
    """An empty id would name the carrier's own network, or everything in it."""
    assert CODEC.read({f"powervs.cluster.x-k8s.io.dhcp-server:{value}"}).carried == frozenset()


@pytest.mark.parametrize("hostile", ['x" OR tags:"*', "x OR tags:*", "*", "x) OR (crn:*", "\\"])
async def test_a_target_from_a_journal_cannot_change_the_query(make_account: Callable[..., Any], hostile: str) -> None:
    """A user who edits an annotation can write the target: it must not affect the search of others."""
    account = make_account(lags=Lags.none())
    vpc = await account.ready("vpc", account.vpc())
    await account.tagger.attach([TagChange(vpc.target, CODEC.owner(OWNER))])
    assert set(await account.tagger.find_marked(UUID, {hostile})) == {vpc.target}
    assert set(await account.tagger.find_marked(hostile)) == set()


async def test_one_query_finds_the_owner_s_targets_and_the_carriers(make_account: Callable[..., Any]) -> None:
    """The read for a proof costs one call."""
    account = make_account(lags=Lags.none())
    vpc = await account.ready("vpc", account.vpc())
    gateway = await account.ready("transit-gateway", account.gateway())
    other = await account.ready("vpc", account.vpc("other"))
    carried = CODEC.spell_carrier_mark(OWNER, "transit-gateway-connection", "gw/0e1f2a3b-0000-4000-8000-00000000000a")
    changes = [TagChange(vpc.target, CODEC.owner(OWNER)), TagChange(gateway.target, frozenset({carried}))]
    assert await account.tagger.attach(changes) == {}
    before = len(account.requests())
    found = await account.tagger.find_marked(UUID, {other.target})
    assert len(account.requests()) == before + 1
    assert set(found) == {vpc.target, gateway.target, other.target}
    assert CODEC.fold(found[vpc.target]) == CODEC.fold(CODEC.owner(OWNER))


async def test_everything_is_read_through_all_pages(make_account: Callable[..., Any]) -> None:
    """A client that reads only the first page would treat resources of other clusters as unmarked."""
    account = make_account(lags=Lags.none(), page_size=1)
    vpcs = [await account.ready("vpc", account.vpc(f"net{n}")) for n in range(3)]
    changes = [TagChange(one.target, CODEC.owner(OWNER) | {f"n:{n}"}) for n, one in enumerate(vpcs)]
    assert await account.tagger.attach(changes) == {}
    assert set(await account.tagger.everything()) == {one.target for one in vpcs}
    assert len(await account.tagger.tags_of(vpcs[0].target)) == 3


async def test_attach_batches_equal_sets_and_adds_only(make_account: Callable[..., Any]) -> None:
    """Never `replace`: tags of others stay."""
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
    """terraform-provider-ibm#5635: the status code does not show the result of single targets."""
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


async def test_a_resource_that_is_gone_needs_no_detach_and_gets_no_tag(make_account: Callable[..., Any]) -> None:
    account = make_account(lags=Lags.none())
    nowhere = "crn:v1:bluemix:public:is:us-south:a/x::vpc:r006-gone"
    change = [TagChange(nowhere, frozenset({"a:b"}))]
    assert isinstance((await account.tagger.detach(change))[nowhere], NotFound)
    assert isinstance((await account.tagger.attach(change))[nowhere], NotReady)
    assert await account.tagger.tags_of(nowhere) == frozenset()


async def test_a_fresh_resource_that_the_index_does_not_know_waits(make_account: Callable[..., Any]) -> None:
    """terraform-provider-ibm#3874: 'not authorized' right after a create is temporary."""
    account = make_account(assumptions=Assumptions(attach_needs_index=True))
    vpc = await account.create("vpc", account.vpc())
    failed = await account.tagger.attach([TagChange(vpc.target, CODEC.owner(OWNER))])
    assert isinstance(failed[vpc.target], NotReady)


async def test_an_illegal_tag_is_an_error_in_the_manifest(make_account: Callable[..., Any]) -> None:
    account = make_account(lags=Lags.none())
    vpc = await account.ready("vpc", account.vpc())
    failed = await account.tagger.attach([TagChange(vpc.target, frozenset({"a/b"}))])
    error: CloudError = failed[vpc.target]
    assert isinstance(error, Invalid)
    assert "a/b" in error.message


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("The resource does not exist: {target}", NotFound),
        ("Resource {target} was not found", NotFound),
        ("Not found: {target}", NotFound),
        ("{target} does not exist", NotFound),
        ("The tag was not found on the resource", Retryable),
        ("Account not found", Retryable),
        ("The service of the resource group is away. Backend not found", Retryable),
        ("You are not authorized to tag this resource", Denied),
    ],
)
async def test_only_a_missing_resource_needs_no_detach(
    make_account: Callable[..., Any], said: str, expected: type[CloudError]
) -> None:
    """NotFound for a detach means that no mark is left; any other "not found" shows nothing about the mark."""
    account = make_account(lags=Lags.none())
    vpc = await account.ready("vpc", account.vpc())
    answer = {"resource_id": vpc.target, "is_error": True, "message": said.format(target=vpc.target)}
    _answer(account.cloud, "/detach", {"results": [answer]})
    failed = await account.tagger.detach([TagChange(vpc.target, frozenset({"a:b"}))])
    assert type(failed[vpc.target]) is expected or (
        expected is Retryable and isinstance(failed[vpc.target], Retryable | NotReady)
    )
    assert vpc.target in failed[vpc.target].message


def _answer(cloud: Any, path: str, body: dict[str, Any]) -> None:
    """Let one operation answer ``body`` to us."""
    handle = cloud.handle

    def answering(request: Any, actor: str = "api") -> Any:
        if request.path.endswith(path):
            return Response(200, json.dumps(body).encode(), {"Content-Type": "application/json"})
        return handle(request, actor)

    cloud.handle = answering


async def test_a_404_for_a_batch_shows_nothing_about_its_targets(make_account: Callable[..., Any]) -> None:
    """A 404 for the call, or for one target, must not count for all: marks would stay on strangers' resources."""
    account = make_account(lags=Lags.none())
    vpcs = [await account.ready("vpc", account.vpc(f"net{n}")) for n in range(2)]
    for verb in ("attach", "detach"):
        account.cloud.faults.add(Fault(Effect.ERROR_BEFORE, f"tagging.{verb}_tag", status=404, message="not found"))
        change = getattr(account.tagger, verb)
        failed = await change([TagChange(one.target, frozenset({"a:b"})) for one in vpcs])
        assert {target: type(error) for target, error in failed.items()} == {one.target: NotReady for one in vpcs}


async def test_a_404_for_tags_does_not_mean_no_tags(make_account: Callable[..., Any]) -> None:
    """Otherwise a stranger's marks would be missed, and ours that must be detached."""
    account = make_account(lags=Lags.none())
    vpc = await account.ready("vpc", account.vpc())
    account.cloud.faults.add(Fault(Effect.ERROR_BEFORE, "tagging.list_tags", status=404, message="not found"))
    with pytest.raises(Unavailable, match="list tags"):
        await account.tagger.tags_of(vpc.target)


async def test_all_pages_of_tags_are_read_without_a_total(make_account: Callable[..., Any]) -> None:
    """Without the total, the first page would count as all of them."""
    account = make_account(lags=Lags.none(), page_size=1)
    vpc = await account.ready("vpc", account.vpc())
    await account.tagger.attach([TagChange(vpc.target, frozenset({"a:b", "c:d", "e:f"}))])
    handle = account.cloud.handle

    def without_total(request: Any, actor: str = "api") -> Any:
        reply = handle(request, actor)
        if not request.path.endswith("/tags"):
            return reply
        body = {name: value for name, value in reply.json().items() if name != "total_count"}
        return Response(reply.status, json.dumps(body).encode(), reply.headers)

    account.cloud.handle = without_total
    assert await account.tagger.tags_of(vpc.target) == {"a:b", "c:d", "e:f"}


async def test_a_missing_permission_to_tag_is_reported_with_action_and_place(make_account: Callable[..., Any]) -> None:
    account = make_account(lags=Lags.none())
    vpc = await account.ready("vpc", account.vpc())
    account.cloud.faults.add(Fault(Effect.DENIED, "tagging.*", count=None))
    with pytest.raises(Denied, match="list tags") as caught:
        await account.tagger.tags_of(vpc.target)
    assert vpc.target in caught.value.message
    failed = await account.tagger.detach([TagChange(vpc.target, frozenset({"a:b"}))])
    assert isinstance(failed[vpc.target], Denied)
    assert "detach tag" in failed[vpc.target].message and vpc.target in failed[vpc.target].message


async def test_more_targets_than_fit_into_a_batch_are_all_tagged(
    make_account: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """IBM Cloud accepts a hundred at a time; an omitted resource could never be proven ours."""
    account = make_account(lags=Lags.none())
    monkeypatch.setattr(type(account.tagger), "BATCH", 2)
    vpcs = [await account.ready("vpc", account.vpc(f"net{n}")) for n in range(5)]
    assert await account.tagger.attach([TagChange(one.target, frozenset({"a:b"})) for one in vpcs]) == {}
    assert [await account.tagger.tags_of(one.target) for one in vpcs] == [{"a:b"}] * 5


@pytest.mark.parametrize("verb", ["attach", "detach"])
async def test_what_failed_in_the_first_of_several_calls_is_told_after_the_others(
    make_account: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    """Each batch is a call, and each set of tags: else that resource counts as done."""
    account = make_account(lags=Lags.none())
    monkeypatch.setattr(type(account.tagger), "BATCH", 1)
    vpcs = [await account.ready("vpc", account.vpc(f"net{n}")) for n in range(2)]
    changes = [TagChange(one.target, tags) for tags in (frozenset({"a:b"}), frozenset({"c:d"})) for one in vpcs]
    account.cloud.faults.add(Fault(Effect.THROTTLE, f"tagging.{verb}_tag", retry_after=7))
    failed = await (account.tagger.attach(changes) if verb == "attach" else account.tagger.detach(changes))
    assert list(failed) == [vpcs[0].target]


def test_tags_of_others_are_not_marks() -> None:
    """Whatever their last part is."""
    marks = CODEC.read({f"{'x' * len(PREFIX)}owner:them", "owner:them", f"{PREFIX}owner", f"{PREFIX}owner:"})
    assert not (marks.owners or marks.uuids or marks.nodes or marks.carried)
