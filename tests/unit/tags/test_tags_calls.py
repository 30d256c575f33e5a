"""The calls that carry out plans, what to do when they fail, and which wait for a person."""

from dataclasses import replace

import pytest

from freehold.engine.errors import CloudError, Denied, Invalid, NotFound, Throttled, Unavailable, Unknown
from freehold.providers.ibm.tag_dialect import IBM
from freehold.tags.policy.approval import ApprovalNeeded, Approved, Approver, NotNeeded, approval, is_risky
from freehold.tags.policy.batches import Batch, TagVerb, batches
from freehold.tags.policy.failures import (
    Failed,
    ReadFirst,
    SendAgain,
    Step,
    Vanished,
    after_partial_failure,
    after_refused_call,
    took_effect,
)
from freehold.tags.policy.ledger import ForeignValuePolicy
from freehold.tags.policy.plan import ResourcePlan
from freehold.tags.policy.precedence import Claim
from harness.tagged_fleet import CRN, claim, delete, plan, subnet, update, volume, wrote

TWO = update(env="test", team="a")


def fleet(size: int, *, kind: str = "ec2:volume", wanted: Claim | None = None, **tags: str) -> list[ResourcePlan]:
    resources = [volume(tags, kind=kind, arn=f"arn:{number:05}") for number in range(size)]
    return [plan(each, wanted or claim(TWO)) for each in resources]


@pytest.mark.parametrize(
    ("kind", "verb", "calls"),
    [("ec2:volume", TagVerb.CREATE_TAGS, 5), ("secretsmanager:secret", TagVerb.TAG_RESOURCES, 50)],
)
def test_a_thousand_equal_deltas_share_calls(kind: str, verb: TagVerb, calls: int) -> None:
    found = batches(fleet(1000, kind=kind))
    assert [batch.verb for batch in found] == [verb] * calls
    assert len({target for batch in found for target in batch.targets}) == 1000


def test_nothing_to_do_is_no_call() -> None:
    assert batches(fleet(1000, env="test", team="a")) == ()


def test_different_values_that_are_replaced_share_a_call() -> None:
    plans = [plan(volume({"env": str(number)}, arn=f"arn:{number}"), claim(update(env="test"))) for number in range(20)]
    assert len(batches(plans)) == 1


def test_regions_and_accounts_do_not_share_a_call() -> None:
    plans = [plan(volume({}, arn=region, region=region), claim(TWO)) for region in ("eu-west-1", "us-east-1")]
    assert [batch.region for batch in batches(plans)] == ["eu-west-1", "us-east-1"]


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"region": "us-east-1"}, id="in another region the call would not find it"),
        pytest.param({"account": "222222222222"}, id="in another account the call would not find it"),
        pytest.param({"kind": "sqs:queue"}, id="CreateTags takes resources of EC2 only"),
    ],
)
def test_resources_that_share_a_delta_share_a_call_only_where_it_reaches_both(other: dict[str, str]) -> None:
    """Of resources that are alike one plan is worked out (tagging/alike.py), and all of them have its delta."""
    [one] = fleet(1)
    another = one._replace(resource=one.resource._replace(id="arn:another", **other))
    found = batches([one, another])
    assert {batch.targets for batch in found} == {("arn:00000",), ("arn:another",)}
    assert {(batch.region, batch.account) for batch in found} == {
        (each.resource.region, each.resource.account) for each in (one, another)
    }


def test_a25_additions_to_a_resource_go_in_one_call() -> None:
    wanted = claim(update(**{f"k{number:02}": "1" for number in range(50)}))
    for kind in ("ec2:volume", "secretsmanager:secret"):
        [batch] = batches(fleet(1, kind=kind, wanted=wanted))
        assert len(batch.tags) == 50


def test_every_removal_goes_before_the_first_addition() -> None:
    """Additions may need the room."""
    plans = fleet(30, kind="sqs:queue", wanted=claim(delete("old"), TWO), old="x")
    assert [batch.verb for batch in batches(plans)] == [TagVerb.UNTAG_RESOURCES] * 2 + [TagVerb.TAG_RESOURCES] * 2


def test_ec2_removes_a_tag_only_with_the_value_that_was_read() -> None:
    [batch] = batches(fleet(3, wanted=claim(delete("old")), old="x"))
    assert (batch.verb, batch.tags) == (TagVerb.DELETE_TAGS, (("old", "x"),))


def test_untag_names_at_most_50_keys() -> None:
    keys = [f"k{number:02}" for number in range(51)]
    [first, second] = batches(fleet(1, kind="sqs:queue", wanted=claim(delete(*keys)), **dict.fromkeys(keys, "1")))
    assert (len(first.tags), len(second.tags)) == (50, 1)


@pytest.mark.parametrize("verb", list(TagVerb))
def test_a_batch_without_tags_cannot_be_made(verb: TagVerb) -> None:
    """DeleteTags without tags removes every tag."""
    with pytest.raises(ValueError, match="without tags"):
        Batch(verb, "1", "eu-west-1", ("a",), ())


@pytest.mark.parametrize("verb", list(TagVerb))
@pytest.mark.parametrize("size", [0, 201])
def test_a_batch_has_the_size_that_its_call_takes(verb: TagVerb, size: int) -> None:
    with pytest.raises(ValueError, match="resources: it takes 1 to"):
        Batch(verb, "1", "eu-west-1", tuple(map(str, range(size))), (("k", "v"),))


class TestIbm:
    """A10: attach with update=true only where every value that was read is ours; replace never."""

    def calls(self, *names: str, ours: bool) -> list[tuple[TagVerb, tuple[tuple[str, str | None], ...]]]:
        record = wrote(env="prod") if ours else {}
        done = plan(subnet(*names), claim(update(env="test"), cloud=IBM), record=record)
        return [(batch.verb, batch.tags) for batch in batches([done])]

    def test_resources_of_all_regions_share_a_call(self) -> None:
        """The tagging service is one for the account; a cluster has a workspace in a zone, and its VPC in a region."""
        found = [subnet(crn=f"crn:{region}") for region in ("us-south", "dal10")]
        there = [each._replace(region=each.id.removeprefix("crn:")) for each in found]
        [batch] = batches([plan(each, claim(update(env="test"), cloud=IBM)) for each in there])
        assert (batch.targets, batch.region) == (("crn:dal10", "crn:us-south"), "")

    def test_a10_a_new_key_is_attached(self) -> None:
        assert self.calls(ours=False) == [(TagVerb.ATTACH, (("env", "test"),))]

    def test_a10_a_value_of_ours_is_replaced_in_one_step(self) -> None:
        assert self.calls("env:prod", ours=True) == [(TagVerb.ATTACH_UPDATE, (("env", "test"),))]

    @pytest.mark.parametrize("names", [("env:dev",), ("env:dev", "env:test")], ids=["instead", "beside ours"])
    @pytest.mark.parametrize("ours", [True, False], ids=["key of ours", "foreign key"])
    def test_a10_a_foreign_value_is_detached_by_its_name(self, names: tuple[str, ...], ours: bool) -> None:
        assert self.calls(*names, ours=ours) == [
            (TagVerb.DETACH, (("env", "dev"),)),
            (TagVerb.ATTACH, (("env", "test"),)),
        ]

    def test_a_label_is_detached_because_update_replaces_only_key_colon_value(self) -> None:
        done = plan(subnet("env"), claim(update(env="test"), cloud=IBM), record=wrote(env=""))
        assert [batch.verb for batch in batches([done])] == [TagVerb.DETACH, TagVerb.ATTACH]

    def test_a_hundred_resources_share_a_call(self) -> None:
        plans = [plan(subnet(crn=f"{CRN}{number}"), claim(TWO, cloud=IBM)) for number in range(1000)]
        assert len(batches(plans)) == 10


# --- failures --------------------------------------------------------------------------------------

BATCH = Batch(TagVerb.CREATE_TAGS, "1", "eu-west-1", tuple(f"r{number:03}" for number in range(200)), (("k", "v"),))


@pytest.mark.parametrize(
    ("error", "step"),
    [
        (Throttled("slow", retry_after=7.0), SendAgain(BATCH, 7.0)),
        (Unavailable("503"), SendAgain(BATCH)),
        (Unknown("no reply"), ReadFirst(BATCH.targets)),
    ],
    ids=["throttled", "unavailable", "a lost reply is read before it is sent again"],
)
def test_a_call_without_a_bad_resource_is_not_halved(error: CloudError, step: Step) -> None:
    assert after_refused_call(BATCH, error) == (step,)


def test_resources_that_the_error_names_are_taken_out() -> None:
    steps = after_refused_call(BATCH, NotFound("no r007"), named=["r007"])
    assert steps == (Vanished(("r007",)), SendAgain(BATCH.only(set(BATCH.targets) - {"r007"})))


@pytest.mark.parametrize("bad", [{"r000"}, {"r199"}, {"r003", "r150"}])
@pytest.mark.parametrize("error", [Invalid("bad"), Denied("no"), NotFound("gone")])
def test_a16_one_bad_resource_never_fails_the_others(bad: set[str], error: CloudError) -> None:
    """The call says nothing about which resource is bad: it is halved until it is found, in few calls."""
    tagged: set[str] = set()
    refused: set[str] = set()
    waiting, calls = [BATCH], 0
    while waiting:
        batch = waiting.pop()
        calls += 1
        if bad.isdisjoint(batch.targets):
            tagged |= set(batch.targets)
            continue
        for step in after_refused_call(batch, error):
            match step:
                case SendAgain():
                    waiting.append(step.batch)
                case Failed():
                    refused.add(step.target)
                case Vanished():
                    refused |= set(step.targets)
                case ReadFirst():
                    pytest.fail("the reply was not lost")
    assert (refused, tagged) == (bad, set(BATCH.targets) - bad)
    assert calls <= 1 + 2 * 8 * len(bad)


def test_a_partial_failure_is_sorted_by_resource_and_class() -> None:
    denied, slow = Denied("no"), Throttled("slow", retry_after=3.0)
    errors = {"r001": denied, "r002": slow, "r003": NotFound("gone"), "r004": Unknown("?"), "r005": Unavailable("503")}
    assert after_partial_failure(BATCH, errors) == (
        Vanished(("r003",)),
        Failed("r001", denied),
        SendAgain(BATCH.only({"r002", "r005"}), 3.0),
        ReadFirst(("r004",)),
    )


# --- approval --------------------------------------------------------------------------------------

ASKED = Approver("CloudMetadata", "team", "fleet")


@pytest.mark.parametrize(
    ("verb", "value", "tags", "shown"),
    [
        pytest.param(TagVerb.CREATE_TAGS, "prod", {"env": "prod", "x": "1"}, True, id="written"),
        pytest.param(TagVerb.CREATE_TAGS, "prod", {"env": "test"}, False, id="another value"),
        pytest.param(TagVerb.TAG_RESOURCES, "prod", {}, False, id="not there yet, or deleted"),
        pytest.param(TagVerb.TAG_RESOURCES, "", {"env": ""}, True, id="an empty value is one"),
        pytest.param(TagVerb.UNTAG_RESOURCES, None, {"x": "1"}, True, id="removed"),
        pytest.param(TagVerb.DELETE_TAGS, "test", {"env": "prod"}, False, id="set anew by somebody: EC2 leaves it"),
    ],
)
def test_effect_of_a_lost_call_is_read_from_the_resource(
    verb: TagVerb, value: str | None, tags: dict[str, str], shown: bool
) -> None:
    batch = Batch(verb, "111122223333", "eu-west-1", ("arn:1",), (("env", value),))
    assert took_effect(batch, volume(tags)) is shown


@pytest.mark.parametrize(
    ("verb", "names", "shown"),
    [
        pytest.param(TagVerb.ATTACH, ["env:test", "env:prod"], True, id="attached beside another value"),
        pytest.param(TagVerb.ATTACH_UPDATE, ["env:test", "env:prod"], False, id="the other value is not replaced"),
        pytest.param(TagVerb.ATTACH_UPDATE, ["Env:Prod"], True, id="case is no difference"),
        pytest.param(TagVerb.DETACH, ["env:test"], True, id="detached beside another value"),
        pytest.param(TagVerb.DETACH, ["env:prod"], False, id="still there"),
    ],
)
def test_effect_of_a_lost_call_on_ibm_cloud(verb: TagVerb, names: list[str], shown: bool) -> None:
    batch = Batch(verb, "a", "", (CRN,), (("env", "Prod"),))
    assert took_effect(batch, subnet(*names)) is shown


def test_adding_waits_for_nobody() -> None:
    assert approval(fleet(1000), 100, ASKED) == NotNeeded(0)


@pytest.mark.parametrize("wanted", [claim(update(env="test")), claim(delete("env"))], ids=["overwrite", "remove"])
def test_many_overwrites_or_removals_wait_for_their_digest(wanted: Claim) -> None:
    plans = fleet(101, wanted=wanted, env="prod")
    asked = approval(plans, 100, ASKED)
    assert isinstance(asked, ApprovalNeeded)
    assert asked.resources == 101
    command = f"kubectl annotate cloudmetadata fleet -n team --overwrite freehold.dev/approve-tags={asked.digest}"
    assert f"approve it on CloudMetadata team/fleet ({command})" in asked.message
    assert approval(reversed(plans), 100, replace(ASKED, given=asked.digest)) == Approved(asked.digest)
    assert approval(plans[:100], 100, ASKED) == NotNeeded(100)


@pytest.mark.parametrize("beside", ["", "0" * 64 + ","], ids=["alone", "beside that of another provider"])
@pytest.mark.parametrize("digits", [16, 63], ids=["as earlier versions made it", "one digit short"])
def test_first_digits_of_a_digest_approve_nothing(digits: int, beside: str) -> None:
    """64 bits can be met by a plan that is made for it."""
    plans = fleet(101, wanted=claim(update(env="test")), env="prod")
    asked = approval(plans, 100, ASKED)
    assert isinstance(asked, ApprovalNeeded) and len(asked.digest) == 64
    again = approval(plans, 100, replace(ASKED, given=beside + asked.digest[:digits]))
    assert isinstance(again, ApprovalNeeded)


def test_an_approval_is_for_one_plan() -> None:
    asked = approval(fleet(101, wanted=claim(update(env="test")), env="prod"), 100, ASKED)
    assert isinstance(asked, ApprovalNeeded)
    for other in (
        fleet(102, wanted=claim(update(env="test")), env="prod"),
        fleet(101, wanted=claim(update(env="test")), env="staging"),
        fleet(101, wanted=claim(update(env="dev")), env="prod"),
        fleet(101, wanted=claim(delete("env")), env="prod"),
    ):
        assert isinstance(approval(other, 100, replace(ASKED, given=asked.digest)), ApprovalNeeded)


def test_a_new_value_of_our_own_tags_waits_for_nobody() -> None:
    resources = [volume({"env": "a"}, arn=f"arn:{number}") for number in range(101)]
    plans = [plan(each, claim(update(env="b")), record=wrote(env="a")) for each in resources]
    assert approval(plans, 100, ASKED) == NotNeeded(0)


def test_what_is_skipped_needs_no_approval() -> None:
    wanted = claim(update(env="test"), foreign=ForeignValuePolicy.SKIP)
    assert approval(fleet(101, wanted=wanted, env="prod"), 100, ASKED) == NotNeeded(0)


def test_a_resource_on_which_nothing_is_lost_goes_ahead_while_others_wait() -> None:
    plans = [*fleet(1), *fleet(1, env="prod"), *fleet(1, wanted=claim(delete("env"), update(a="1")), env="x")]
    assert [is_risky(each) for each in plans] == [False, True, True]
