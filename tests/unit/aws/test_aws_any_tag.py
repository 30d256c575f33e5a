"""Tags by any key on a simulated AWS: found by the index, read from the services, changed by the calls of a plan."""

from __future__ import annotations

from collections.abc import Callable, Collection

import pytest

from freehold.engine import errors
from freehold.engine.clock import ManualClock
from freehold.providers.aws.tags.endpoints import AwsTagEndpoint, RegionIndex
from freehold.providers.aws.tags.native_tags import ReadMode, read_mode
from freehold.providers.aws.tags.tagged_resources import find_named, kind_of
from freehold.tags.policy.batches import Batch, TagVerb
from freehold.tags.policy.classifiers import Query
from freehold.tags.policy.resources import TaggedResource
from freehold_sim.aws.settings import Quotas
from freehold_sim.faults import Effect, Fault
from harness.aws_account import REGION, AwsAccount
from harness.simulated_aws import ACCOUNT, tagged

TAG_API = "resourcegroupstaggingapi"
GONE = f"arn:aws:ec2:{REGION}:{ACCOUNT}:security-group/sg-00000000000000000"
FLEET_A = {"Key": "fleet", "Value": "a"}


class Plain:
    """An endpoint whose tags read as they are written."""

    def __init__(self, account: AwsAccount) -> None:
        index = RegionIndex(ManualClock())
        self.endpoint = AwsTagEndpoint(ACCOUNT, REGION, account.api, account.port, index)
        self.send = self.endpoint.send

    async def find(self, query: Query) -> dict[str, dict[str, str]]:
        return {each.id: _plain(each) for each in await self.endpoint.find(query)}

    async def read(self, arns: Collection[str]) -> dict[str, dict[str, str] | errors.CloudError]:
        found = await self.endpoint.read(arns)
        return {arn: _plain(each) if isinstance(each, TaggedResource) else each for arn, each in found.items()}


def _plain(resource: TaggedResource) -> dict[str, str]:
    return {key: value for key, values in resource.tags.items() for value in values}


class Fleet:
    """An account with security groups and one secret, each with the classifier ``fleet=a``."""

    def __init__(self, account: AwsAccount, size: int = 3) -> None:
        self.account = account
        self.tagger = Plain(account)
        self.vpc = account.vpc()
        self.groups = [self.group(str(number), fleet="a") for number in range(size)]
        self.secret = account.cloud.strangers.create(
            "secretsmanager",
            "CreateSecret",
            {"Name": "team/one", "SecretString": "s", "ClientRequestToken": "t" * 32, "Tags": [FLEET_A]},
        )["arn"]
        account.clock.advance(60)
        account.port.calls.clear()

    def group(self, name: str, **tags: str) -> str:
        request = {"GroupName": name, "Description": "of a test", "VpcId": self.vpc}
        request["TagSpecifications"] = tagged("security-group", **tags)
        return str(self.account.cloud.strangers.create("ec2", "CreateSecurityGroup", request)["arn"])

    def tags(self, arn: str) -> dict[str, str]:
        return dict(self.account.cloud.strangers.find(arn)["tags"])

    def fault(self, effect: Effect, operation: str, items: tuple[int, ...] = ()) -> None:
        self.account.cloud.faults.add(Fault(effect, operation, items=items))


@pytest.fixture
def fleet(account: AwsAccount) -> Fleet:
    return Fleet(account)


def batch(verb: TagVerb, targets: Collection[str], **tags: str | None) -> Batch:
    return Batch(verb, ACCOUNT, REGION, tuple(targets), tuple(tags.items()))


# -- finding ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page_size", [None, 1])
async def test_a21_a_query_finds_exactly_these_values_on_all_pages(
    make_account: Callable[..., AwsAccount], page_size: int | None
) -> None:
    fleet = Fleet(make_account(page_size=page_size))
    star = fleet.group("star", fleet="*")
    other = fleet.group("other", fleet="b", team="x")
    fleet.group("case", fleet="A")
    fleet.account.clock.advance(60)
    assert set(await fleet.tagger.find(Query("fleet", ("*",)))) == {star}
    found = await fleet.tagger.find(Query("fleet", ("a", "b")))
    assert found == {**{key: {"fleet": "a"} for key in [*fleet.groups, fleet.secret]}, other: fleet.tags(other)}


async def test_where_the_index_is_denied_nothing_counts_as_found(fleet: Fleet) -> None:
    """Services do not stand in: what they do not list would count as released."""
    fleet.fault(Effect.DENIED, f"{TAG_API}.GetResources")
    with pytest.raises(errors.Denied):
        await fleet.tagger.find(Query("fleet", ("a",)))


# -- reading ----------------------------------------------------------------------------------------------------


async def test_resources_are_read_themselves_where_the_index_lags(fleet: Fleet) -> None:
    fleet.account.cloud.strangers.tag(fleet.groups[0], {"env": "prod"})
    fleet.account.cloud.strangers.tag(fleet.secret, {"env": "prod"})
    assert (await fleet.tagger.find(Query("fleet", ("a",))))[fleet.secret] == {"fleet": "a"}
    found = await fleet.tagger.read([fleet.groups[0], fleet.secret, GONE])
    assert found == {**{key: {"fleet": "a", "env": "prod"} for key in [fleet.groups[0], fleet.secret]}, GONE: {}}


async def test_a_cluster_is_read_by_its_own_service(account: AwsAccount) -> None:
    arn = account.cluster(tags={"fleet": "a"})["arn"]
    tagger = Plain(account)
    assert await tagger.read([arn, arn.replace("/one", "/gone")]) == {
        arn: {"fleet": "a"},
        arn.replace("/one", "/gone"): {},
    }


async def test_what_cannot_be_read_is_told_and_not_taken_for_untagged(fleet: Fleet) -> None:
    """Its foreign value would be overwritten."""
    queue = f"arn:aws:sqs:{REGION}:{ACCOUNT}:queue"
    found = await fleet.tagger.read([queue, fleet.groups[0]])
    assert isinstance(found[queue], errors.Unavailable) and queue in str(found[queue])
    assert found[fleet.groups[0]] == {"fleet": "a"}


def test_what_a_read_takes() -> None:
    """A fleet of secrets must not cost a call each where nothing is overwritten."""
    assert read_mode(GONE) is ReadMode.TOGETHER
    assert read_mode(f"arn:aws:secretsmanager:{REGION}:{ACCOUNT}:secret:a-1") is ReadMode.ALONE
    assert read_mode("arn:aws:sqs:us-east-1:111122223333:queue") is ReadMode.NEVER
    assert read_mode("crn:v1:x") is ReadMode.NEVER


@pytest.mark.parametrize(
    ("arn", "kind"),
    [
        (GONE, "ec2:security-group"),
        (f"arn:aws:secretsmanager:{REGION}:{ACCOUNT}:secret:team/one-AbCdEf", "secretsmanager:secret"),
        ("arn:aws:s3:::our-bucket", "s3:bucket"),
        (f"arn:aws:elasticloadbalancing:{REGION}:{ACCOUNT}:loadbalancer/net/a/1", "elasticloadbalancing:loadbalancer"),
        (f"arn:aws:cloudformation:{REGION}:{ACCOUNT}:stackset/a:1", "cloudformation:stackset"),
        ("thief", ""),
    ],
)
def test_a26_the_kind_of_a_resource_is_in_its_arn(arn: str, kind: str) -> None:
    """Limits and selections are by kind: a stack set must not be tagged unless it is named."""
    assert kind_of(arn) == kind


async def test_a16_a_tag_that_no_xml_can_hold_hides_only_the_resource_that_has_it(
    make_account: Callable[..., AwsAccount],
) -> None:
    """Whoever may tag one resource could otherwise stop the tags of the 199 that are read with it."""
    fleet = Fleet(make_account(), size=20)
    fleet.account.cloud.strangers.tag(fleet.groups[7], {"note": "a\x1bb"})
    read = await fleet.tagger.read(fleet.groups)
    (bad,) = [arn for arn, each in read.items() if isinstance(each, errors.CloudError)]
    assert bad == fleet.groups[7]
    assert isinstance(error := read[bad], errors.Unavailable)
    assert "control character" in error.message
    assert all(read[arn] == {"fleet": "a"} for arn in fleet.groups if arn != bad)


async def test_where_nothing_can_be_read_of_any_answer_it_is_given_up_soon(
    make_account: Callable[..., AwsAccount],
) -> None:
    """As behind a proxy that answers by itself: no call for each resource."""
    fleet = Fleet(make_account(), size=60)
    for arn in fleet.groups:
        fleet.account.cloud.strangers.tag(arn, {"note": "\x01"})
    read = await fleet.tagger.read(fleet.groups)
    assert all(isinstance(each, errors.Unavailable) for each in read.values())
    assert len(fleet.account.port.calls) <= 20


# -- changing ---------------------------------------------------------------------------------------------------


async def test_each_batch_is_one_call_and_foreign_tags_stay(fleet: Fleet) -> None:
    sent = (
        batch(TagVerb.CREATE_TAGS, fleet.groups, env="test", old="x"),
        batch(TagVerb.DELETE_TAGS, fleet.groups, old="x"),
        batch(TagVerb.TAG_RESOURCES, [fleet.secret], env="test", old="x"),
        batch(TagVerb.UNTAG_RESOURCES, [fleet.secret], old=None),
    )
    for each in sent:
        assert await fleet.tagger.send(each) == {}
    assert fleet.account.sent() == ["ec2.create_tags", "ec2.delete_tags", f"{TAG_API}.tag_resources",
                                    f"{TAG_API}.untag_resources"]  # fmt: skip
    for arn in (*fleet.groups, fleet.secret):
        assert fleet.tags(arn) == {"fleet": "a", "env": "test"}


async def test_two_hundred_groups_are_one_call(make_account: Callable[..., AwsAccount]) -> None:
    fleet = Fleet(make_account(), size=200)
    assert await fleet.tagger.send(batch(TagVerb.CREATE_TAGS, fleet.groups, env="test")) == {}
    assert fleet.account.sent() == ["ec2.create_tags"]
    assert all(fleet.tags(arn)["env"] == "test" for arn in fleet.groups)


async def test_a_value_that_somebody_set_since_it_was_read_is_not_removed(fleet: Fleet) -> None:
    fleet.account.cloud.strangers.tag(fleet.groups[0], {"env": "theirs"})
    await fleet.tagger.send(batch(TagVerb.DELETE_TAGS, fleet.groups[:1], env="ours"))
    assert fleet.tags(fleet.groups[0])["env"] == "theirs"


async def test_a_refusal_names_the_resource_and_changes_nothing(fleet: Fleet) -> None:
    """EC2 does all or nothing: the others go again without it."""
    targets = [fleet.groups[0], GONE, fleet.groups[1]]
    with pytest.raises(errors.NotFound) as refused:
        await fleet.tagger.send(batch(TagVerb.CREATE_TAGS, targets, env="test"))
    assert find_named(refused.value, targets) == {GONE}
    assert fleet.groups[1] not in refused.value.message, "a message with 200 ARNs is no message"
    assert fleet.tags(fleet.groups[0]) == {"fleet": "a"}


async def test_a_batch_that_fails_in_part_is_told_by_resource(make_account: Callable[..., AwsAccount]) -> None:
    fleet = Fleet(make_account(quotas=Quotas(tags=3)))
    full = fleet.groups[1]
    fleet.account.cloud.strangers.tag(full, {"a": "", "b": ""})
    fleet.fault(Effect.PARTIAL, f"{TAG_API}.TagResources", items=(2,))
    targets = [fleet.secret, full, fleet.groups[2], GONE]
    failed = await fleet.tagger.send(batch(TagVerb.TAG_RESOURCES, targets, env="test"))
    assert {arn: type(error) for arn, error in failed.items()} == {
        full: errors.Quota, fleet.groups[2]: errors.Unknown, GONE: errors.NotFound,
    }  # fmt: skip
    assert fleet.tags(fleet.secret)["env"] == "test"


@pytest.mark.parametrize("verb", [TagVerb.CREATE_TAGS, TagVerb.TAG_RESOURCES])
@pytest.mark.parametrize(
    ("effect", "raised"),
    [(Effect.REPLY_LOST, errors.Unknown), (Effect.ERROR_AFTER, errors.Unknown), (Effect.THROTTLE, errors.Throttled),
     (Effect.DENIED, errors.Denied)],
)  # fmt: skip
async def test_trouble_of_a_whole_call_is_raised(
    fleet: Fleet, verb: TagVerb, effect: Effect, raised: type[errors.CloudError]
) -> None:
    """What is unknown is read before it is sent again; what was refused for rate had no effect."""
    fleet.fault(effect, "*.CreateTags" if verb is TagVerb.CREATE_TAGS else "*.TagResources")
    with pytest.raises(raised):
        await fleet.tagger.send(batch(verb, fleet.groups, env="test"))
