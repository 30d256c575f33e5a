"""Tags on a simulated AWS: attached in batches, detached with the value that was read, found with the index or not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from freehold.engine import errors
from freehold.engine.clock import ManualClock
from freehold.engine.inventory import TagChange, Tagger, TagsByTarget
from freehold.engine.keyed_codec import UUID as OWNER_UUID
from freehold.engine.keyed_codec import WITHIN as CLUSTER_UUID
from freehold.engine.keyed_codec import KeyedCodec
from freehold.engine.ownership import Owner
from freehold.engine.tag_api_fallback import ASKED_AGAIN
from freehold.engine.tag_text import tag_map, text, texts
from freehold.providers.aws.calls import AwsClient
from freehold.providers.aws.kind_facts import KINDS
from freehold.providers.aws.session import AwsSession
from freehold.providers.aws.tags.capa_tags import cluster_key
from freehold.providers.aws.tags.tag_map import find_foreign
from freehold.providers.aws.tags.tagger import AwsTagger
from freehold_sim.aws.settings import Lags
from freehold_sim.faults import Effect, Fault
from harness.aws_account import KEYS, REGION, AwsAccount
from harness.simulated_aws import ACCOUNT, tagged

UUID, OTHER_UUID = "0d0f1e2a-1111-4222-8333-444455556666", "0d0f1e2a-1111-4222-8333-444455557777"
MARKS = {OWNER_UUID: UUID, "freehold.dev/seal": "abcdefgh"}
TAG_API = "resourcegroupstaggingapi"


def _arn(resource: str, service: str = "ec2") -> str:
    return f"arn:aws:{service}:{REGION}:{ACCOUNT}:{resource}"


def change(target: str, tags: dict[str, str]) -> TagChange:
    return TagChange(target, texts(tags))


def as_maps(found: TagsByTarget) -> dict[str, dict[str, str]]:
    return {target: tag_map(tags) for target, tags in found.items()}


def answers(found: Mapping[str, frozenset[str] | errors.CloudError]) -> TagsByTarget:
    assert not [error for error in found.values() if isinstance(error, errors.CloudError)]
    return {target: tags for target, tags in found.items() if isinstance(tags, frozenset)}


class Tagged:
    """An account with one resource of each service, our tagger and our index on it."""

    def __init__(self, account: AwsAccount) -> None:
        self.account = account
        self.clock = ManualClock()
        self.tagger = AwsTagger(account.api, self.clock)
        self.with_carriers = AwsTagger(account.api, self.clock, ["route"])
        vpc, subnets = account.network()
        self.vpc, self.subnets = _arn(f"vpc/{vpc}"), [_arn(f"subnet/{each}") for each in subnets]
        self.balancer = account.balancer(subnets)
        self.group = account.target_group(vpc)
        self.listener = account.elbv2.create_listener(
            LoadBalancerArn=self.balancer, Protocol="TCP", Port=6443,
            DefaultActions=[{"Type": "forward", "TargetGroupArn": self.group}],
        )["Listeners"][0]["ListenerArn"]  # fmt: skip
        port = {"Protocol": "TCP", "LoadBalancerPort": 6443, "InstanceProtocol": "TCP", "InstancePort": 6443}
        account.elb.create_load_balancer(LoadBalancerName="classic", Listeners=[port], Subnets=subnets)
        self.classic = _arn("loadbalancer/classic", "elasticloadbalancing")
        account.s3.create_bucket(Bucket="our-bucket")
        self.bucket = "arn:aws:s3:::our-bucket"
        self.role = account.role()
        account.port.calls.clear()

    @property
    def everything(self) -> list[str]:
        return [*self.ec2, *self.balancing, self.bucket, self.role]

    @property
    def ec2(self) -> list[str]:
        return [self.vpc, *self.subnets]

    @property
    def balancing(self) -> list[str]:
        return [self.balancer, self.group, self.listener, self.classic]

    async def put(self, targets: list[str], tags: dict[str, str]) -> Mapping[str, errors.CloudError]:
        return await self.tagger.attach([change(target, tags) for target in targets])

    async def read(self, targets: list[str]) -> dict[str, dict[str, str]]:
        """The tags of each as AWS has them; fails where one could not be asked."""
        return as_maps(answers(await self.tagger.tags_of_each(targets)))

    def deny(self, operation: str) -> None:
        """Take the permission for an operation away, for good."""
        self.account.cloud.faults.add(Fault(Effect.DENIED, operation, count=None))

    def wait_for_index(self) -> None:
        self.account.clock.advance(60)


@pytest.fixture
def world(account: AwsAccount) -> Tagged:
    return Tagged(account)


# -- attaching ------------------------------------------------------------------------------------------------


async def test_a_wave_is_marked_by_one_call_whatever_services_it_has(world: Tagged) -> None:
    targets = [*world.ec2, *world.balancing, world.bucket]
    assert await world.put(targets, MARKS) == {}
    assert world.account.sent() == [f"{TAG_API}.tag_resources"]
    assert await world.read(targets) == dict.fromkeys(targets, MARKS)


async def test_twenty_one_are_two_calls_and_equal_tags_share_one(world: Tagged) -> None:
    targets = [_arn(f"security-group/{world.account.group(world.vpc.rpartition('/')[2], str(n))}") for n in range(21)]
    edits = [change(target, MARKS) for target in targets] + [change(world.vpc, {"team": "a"})]
    assert await world.tagger.attach(edits) == {}
    assert world.account.sent() == [f"{TAG_API}.tag_resources"] * 3


@pytest.mark.parametrize("verb", ["attach", "detach"])
async def test_what_failed_in_the_first_of_two_calls_is_told_after_the_second(world: Tagged, verb: str) -> None:
    """Else that resource counts as done: equal tags are one call for twenty, and each set of tags has its own."""
    gone = _arn("loadbalancer/net/x/0123456789abcdef", "elasticloadbalancing")
    edits = [change(gone, MARKS), change(world.balancer, {"team": "a"}), change(world.vpc, {"team": "a"})]
    failed = await (world.tagger.attach(edits) if verb == "attach" else world.tagger.detach(edits))
    assert set(failed) == {gone}


@pytest.mark.parametrize("verb", ["attach", "detach"])
async def test_what_failed_of_the_first_twenty_is_told_after_the_rest(world: Tagged, verb: str) -> None:
    gone = _arn("loadbalancer/net/x/0123456789abcdef", "elasticloadbalancing")
    rest = [world.account.group(world.vpc.rpartition("/")[2], str(number)) for number in range(20)]
    edits = [change(each, MARKS) for each in (gone, world.balancer, *(_arn(f"security-group/{one}") for one in rest))]
    failed = await (world.tagger.attach(edits) if verb == "attach" else world.tagger.detach(edits))
    assert set(failed) == {gone}


@pytest.mark.parametrize("verb", ["attach", "detach"])
async def test_without_the_tagging_api_too_a_failure_of_one_service_is_told_after_the_others(
    world: Tagged, verb: str
) -> None:
    world.deny(f"{TAG_API}.*")
    gone = _arn("loadbalancer/net/x/0123456789abcdef", "elasticloadbalancing")
    missing = _arn("vpc/vpc-00000000000000000")
    edits = [change(gone, MARKS), change(missing, MARKS), change(world.balancer, {"team": "a"})]
    edits += [change(world.vpc, {"team": "a"}), change(world.role, MARKS)]
    failed = await (world.tagger.attach(edits) if verb == "attach" else world.tagger.detach(edits))
    assert set(failed) == {gone, missing}


async def test_other_peoples_tags_stay(world: Tagged) -> None:
    await world.put(world.ec2, {"team": "a"})
    await world.put(world.ec2, MARKS)
    assert (await world.read([world.vpc]))[world.vpc] == {"team": "a", **MARKS}


async def test_one_that_is_missing_does_not_stop_the_others(world: Tagged) -> None:
    """It was seen a moment ago: the index of the tagging API lags behind."""
    missing = _arn("vpc/vpc-00000000000000000")
    failed = await world.put([missing, world.vpc], MARKS)
    assert {target: type(error) for target, error in failed.items()} == {missing: errors.NotReady}
    assert (await world.read([world.vpc]))[world.vpc] == MARKS


async def test_a_batch_that_fails_in_part_is_told_by_resource(world: Tagged) -> None:
    world.account.cloud.faults.add(Fault(Effect.PARTIAL, f"{TAG_API}.TagResources", items=(1,)))
    failed = await world.put(world.ec2, MARKS)
    assert {target: type(error) for target, error in failed.items()} == {world.ec2[1]: errors.Unknown}


async def test_a_lost_reply_is_unknown_of_each(world: Tagged) -> None:
    world.account.cloud.faults.add(Fault(Effect.REPLY_LOST, f"{TAG_API}.TagResources"))
    failed = await world.put(world.ec2, MARKS)
    assert {type(error) for error in failed.values()} == {errors.Unknown}
    assert set(failed) == set(world.ec2)


async def test_a_full_resource_does_not_stop_the_others(world: Tagged) -> None:
    await world.put([world.vpc], {str(number): "" for number in range(49)})
    for through in ("the tagging API", "EC2"):
        if through == "EC2":
            world.deny(f"{TAG_API}.TagResources")
        failed = await world.put(world.ec2, MARKS)
        assert set(failed) == {world.vpc}, through
        assert isinstance(failed[world.vpc], errors.NeedsPerson), through


async def test_where_the_tagging_api_is_denied_each_service_is_asked(world: Tagged) -> None:
    """Only a bucket is not: S3 would replace all of its tags."""
    world.deny(f"{TAG_API}.*")
    failed = await world.put(world.everything, MARKS)
    assert {target: type(error) for target, error in failed.items()} == {world.bucket: errors.Denied}
    assert "Grant tag:TagResources" in failed[world.bucket].message
    assert await world.read(world.everything) == {**dict.fromkeys(world.everything, MARKS), world.bucket: {}}


async def test_a_denied_tagging_api_is_tried_again_after_a_while(world: Tagged) -> None:
    """Each denied call costs one, and is in somebody's audit log; but a right may be granted."""
    world.deny(f"{TAG_API}.*")
    for _ in range(3):
        await world.put([world.vpc], MARKS)
    assert world.account.sent().count(f"{TAG_API}.tag_resources") == 1
    world.account.cloud.faults.clear()
    world.clock.advance(ASKED_AGAIN)
    world.account.port.calls.clear()
    await world.put([world.vpc], MARKS)
    assert world.account.sent() == [f"{TAG_API}.tag_resources"]


async def test_a_tagging_api_without_endpoint_is_done_without(world: Tagged) -> None:
    """Networks without internet access have none (CAPA#3987)."""

    def mount(client: Any) -> None:
        world.account.mount(client)
        if client.meta.service_model.service_name == TAG_API:
            client.meta.events.register_first("before-send", _unreachable)

    def _unreachable(**_: Any) -> None:
        raise EndpointConnectionError(endpoint_url="https://tagging.example")

    api = AwsClient(AwsSession(KEYS, REGION, mount=mount), world.account.port)
    tagger = AwsTagger(api, world.clock)
    assert await tagger.attach([change(world.vpc, MARKS)]) == {}
    world.wait_for_index()
    assert as_maps(await tagger.find_marked(UUID)) == {world.vpc: MARKS}


async def test_one_that_is_missing_does_not_stop_the_others_of_ec2(world: Tagged) -> None:
    """CreateTags does all or nothing."""
    world.deny(f"{TAG_API}.*")
    missing = _arn("vpc/vpc-00000000000000000")
    failed = await world.put([missing, *world.ec2], MARKS)
    assert {target: type(error) for target, error in failed.items()} == {missing: errors.NotReady}


async def test_what_is_no_arn_is_told(world: Tagged) -> None:
    """Targets come from journals, which people may edit."""
    world.deny(f"{TAG_API}.*")
    failed = await world.put(["thief", "arn:aws:sqs:us-east-1:111122223333:queue"], MARKS)
    assert {type(error) for error in failed.values()} == {errors.Invalid}
    assert await world.read(["thief"]) == {"thief": {}}


# -- detaching ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("denied", [False, True])
async def test_what_is_detached_is_gone_and_nothing_else(world: Tagged, denied: bool) -> None:
    targets = [*world.ec2, *world.balancing, world.role] if denied else [*world.ec2, *world.balancing, world.bucket]
    if denied:
        world.deny(f"{TAG_API}.*")
    await world.put(targets, {**MARKS, "team": "a"})
    assert await world.tagger.detach([change(target, MARKS) for target in targets]) == {}
    assert await world.read(targets) == {target: {"team": "a"} for target in targets}


async def test_ec2_keeps_a_tag_whose_value_somebody_changed_meanwhile(world: Tagged) -> None:
    """Between our read and our call; the tagging API would take it off, so EC2's own call is used."""
    await world.put([world.vpc], {"team": "b"})
    assert await world.tagger.detach([change(world.vpc, {"team": "a"})]) == {}
    assert (await world.read([world.vpc]))[world.vpc] == {"team": "b"}
    assert "ec2.delete_tags" in world.account.sent()


async def test_what_has_gone_is_told_so(world: Tagged) -> None:
    """Success, for whoever takes tags off."""
    gone = _arn("vpc/vpc-00000000000000000"), _arn("loadbalancer/net/x/0123456789abcdef", "elasticloadbalancing")
    failed = await world.tagger.detach([change(target, MARKS) for target in gone])
    assert {target: type(error) for target, error in failed.items()} == dict.fromkeys(gone, errors.NotFound)


# -- reading --------------------------------------------------------------------------------------------------


async def test_a_proof_is_read_from_the_resources_in_batches(world: Tagged) -> None:
    await world.put(world.ec2 + world.balancing, MARKS)
    world.account.port.calls.clear()
    found = await world.read(world.ec2 + world.balancing)
    assert set(map(str, map(dict, found.values()))) == {str(MARKS)}
    assert sorted(world.account.sent()) == ["ec2.describe_tags", "elb.describe_tags", "elbv2.describe_tags"]


async def test_what_is_missing_has_no_tags(world: Tagged) -> None:
    """DescribeTags of Elastic Load Balancing refuses the whole call for one of them."""
    await world.put(world.balancing, MARKS)
    gone = [
        _arn("vpc/vpc-00000000000000000"), _arn("loadbalancer/x", "elasticloadbalancing"),
        _arn("loadbalancer/net/x/0123456789abcdef", "elasticloadbalancing"), "arn:aws:s3:::no-such-bucket",
        f"arn:aws:iam::{ACCOUNT}:role/nobody",
    ]  # fmt: skip
    found = await world.read([*gone, *world.balancing])
    assert found == {**{arn: {} for arn in gone}, **dict.fromkeys(world.balancing, MARKS)}


async def test_a_read_that_fails_is_not_empty(world: Tagged) -> None:
    world.account.cloud.faults.add(Fault(Effect.ERROR_BEFORE, "elbv2.DescribeTags", count=2))
    with pytest.raises(errors.Unavailable):
        await world.tagger.tags_of(world.balancer)
    await world.put([world.vpc], MARKS)
    found = await world.tagger.tags_of_each([world.vpc, world.balancer, world.listener, world.classic])
    failed = {target for target, answer in found.items() if isinstance(answer, errors.Unavailable)}
    assert failed == {world.balancer, world.listener}, "each that could not be asked is told, and the others are read"
    assert as_maps(answers({target: found[target] for target in (world.vpc, world.classic)})) == {
        world.vpc: MARKS,
        world.classic: {},
    }


async def test_a_read_that_is_denied_does_not_count_as_the_tagging_apis_refusal(world: Tagged) -> None:
    """It would be sent twice, and writes in the batch are something else."""
    world.deny("ec2.DescribeTags")
    world.account.port.calls.clear()
    found = await world.tagger.tags_of_each([world.vpc, world.classic])
    assert isinstance(found[world.vpc], errors.Denied) and found[world.classic] == frozenset()
    assert sorted(world.account.sent()) == ["ec2.describe_tags", "elb.describe_tags"]


async def test_a_key_with_an_equals_sign_is_the_same_key_in_aws(world: Tagged) -> None:
    tagger: Tagger = world.tagger
    tag = text("cost=center", "a=b")
    assert await tagger.attach([TagChange(world.vpc, frozenset({tag}))]) == {}
    rows = world.account.ec2.describe_tags(Filters=[{"Name": "key", "Values": ["cost=center"]}])["Tags"]
    assert [row["Value"] for row in rows] == ["a=b"]
    assert await tagger.tags_of(world.vpc) == {tag}
    assert await tagger.detach([TagChange(world.vpc, frozenset({tag}))]) == {}
    assert await tagger.tags_of(world.vpc) == frozenset()


# -- the index ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page_size", [None, 1])
async def test_the_index_shows_an_owners_resources(
    make_account: Callable[..., AwsAccount], page_size: int | None
) -> None:
    world = Tagged(make_account(page_size=page_size))
    ours = [*world.ec2, world.balancer, world.bucket]
    await world.put(ours, MARKS)
    await world.put([world.group], {OWNER_UUID: OTHER_UUID})
    await world.put([world.classic], {CLUSTER_UUID: UUID})
    world.wait_for_index()
    assert as_maps(await world.tagger.find_marked(UUID)) == dict.fromkeys(ours, MARKS)
    assert set(await world.tagger.everything()) == {*ours, world.group}


async def test_the_index_is_asked_for_more_arns_in_one_call(world: Tagged) -> None:
    await world.put([world.vpc], MARKS)
    await world.put([world.group], {"team": "a"})
    world.wait_for_index()
    world.account.port.calls.clear()
    assert as_maps(await world.tagger.find_marked(UUID, also=[world.group])) == {
        world.vpc: MARKS,
        world.group: {"team": "a"},
    }
    assert world.account.sent() == [f"{TAG_API}.get_resources"] * 2


async def test_without_the_index_the_services_show_the_same(world: Tagged) -> None:
    """What a search leaves out may be forgotten."""
    ours = [*world.ec2, world.balancer, world.listener, world.bucket]
    await world.put(ours, {**MARKS, "team": "a"})
    await world.put([world.group], {OWNER_UUID: OTHER_UUID})
    await world.put([world.classic], {"team": "a"})
    world.wait_for_index()
    with_index = await world.tagger.find_marked(UUID, also=[world.classic]), await world.tagger.everything()
    world.deny(f"{TAG_API}.*")
    without = await world.tagger.find_marked(UUID, also=[world.classic]), await world.tagger.everything()
    assert with_index == without
    assert [set(found) for found in without] == [{*ours, world.classic}, {*ours, world.group}]


async def test_a_service_that_cannot_be_read_in_full_is_no_stand_in(world: Tagged) -> None:
    world.deny(f"{TAG_API}.*")
    world.deny("s3.GetBucketTagging")
    with pytest.raises(errors.Denied, match="our-bucket"):
        await world.tagger.everything()


async def test_buckets_of_other_regions_are_left_out(world: Tagged) -> None:
    """S3 lists all of the account, and refuses questions about those that are elsewhere."""
    await world.put([world.bucket], MARKS)
    elsewhere = {"LocationConstraint": "eu-west-1", "Tags": [{"Key": OWNER_UUID, "Value": UUID}]}
    world.account.client("s3", region="eu-west-1").create_bucket(
        Bucket="bucket-elsewhere", CreateBucketConfiguration=elsewhere
    )
    world.deny(f"{TAG_API}.*")
    assert as_maps(await world.tagger.find_marked(UUID)) == {world.bucket: MARKS}


async def test_where_only_writing_is_denied_the_index_is_still_read(world: Tagged) -> None:
    world.deny(f"{TAG_API}.TagResources")
    await world.put([world.vpc], MARKS)
    world.wait_for_index()
    world.account.port.calls.clear()
    assert set(await world.tagger.find_marked(UUID)) == {world.vpc}
    assert world.account.sent() == [f"{TAG_API}.get_resources"]


async def test_what_was_tagged_once_is_not_found(make_account: Callable[..., AwsAccount]) -> None:
    """GetResources lists it without tags."""
    world = Tagged(make_account(lags=Lags.none()))
    await world.put([world.vpc], MARKS)
    await world.tagger.detach([change(world.vpc, MARKS)])
    assert as_maps(await world.tagger.find_marked(UUID, also=[world.vpc])) == {}


async def test_the_index_can_leave_out_what_lists_show(world: Tagged) -> None:
    """Twenty clusters have five pages of resources, and one of those of which no list shows tags."""
    ours = [*world.ec2, world.balancer, world.bucket]
    await world.put(ours, MARKS)
    world.wait_for_index()
    shown = {kind.name for kind in KINDS if kind.service == "ec2"}
    assert set(await world.tagger.everything(frozenset(shown))) == {world.balancer, world.bucket}


async def test_trouble_of_the_index_is_told(world: Tagged) -> None:
    world.account.cloud.faults.add(Fault(Effect.THROTTLE, f"{TAG_API}.GetResources"))
    with pytest.raises(errors.Throttled):
        await world.tagger.everything()


async def test_carriers_are_found_by_a_key_that_nobody_knows(world: Tagged) -> None:
    """The journal is lost: the ids in the keys are not known."""
    owners = (Owner(uuid, "AWSCluster", "team-a", "prod") for uuid in (UUID, OTHER_UUID))
    marks = (
        KeyedCodec().spell_carrier_mark(owner, "route", f"rtb-1/{n}", "abcdefgh") for n, owner in enumerate(owners)
    )
    ours, others = (tag_map([mark]) for mark in marks)
    await world.put([world.vpc], ours)
    await world.put([world.subnets[0]], others)
    await world.put([world.subnets[1]], MARKS)
    world.wait_for_index()
    marked = {world.subnets[1]: MARKS}
    assert as_maps(await world.with_carriers.find_marked(UUID)) == {world.vpc: ours, **marked}
    assert as_maps(await world.with_carriers.everything()) == {world.vpc: ours, world.subnets[0]: others, **marked}


async def test_without_kinds_that_are_carried_no_call_looks_for_carriers(world: Tagged) -> None:
    """A look at what is at rest costs one call of the index."""
    await world.tagger.everything()
    assert world.account.sent() == [f"{TAG_API}.get_resources"]


async def test_tags_at_birth_and_tags_after_are_read_alike(world: Tagged) -> None:
    made = world.account.ec2.create_vpc(CidrBlock="10.9.0.0/16", TagSpecifications=tagged("vpc", born="yes"))
    arn = _arn(f"vpc/{made['Vpc']['VpcId']}")
    await world.put([arn], MARKS)
    assert (await world.read([arn]))[arn] == {"born": "yes", **MARKS}


async def test_what_has_our_clusters_name_and_is_not_ours_is_found(world: Tagged) -> None:
    """Two clusters of one name would be one to CAPA, the cloud controller and its collector."""
    name = {cluster_key("prod"): "owned"}
    await world.put([world.vpc], {**name, **MARKS})
    await world.put([world.classic], {**name, OWNER_UUID: OTHER_UUID, CLUSTER_UUID: UUID})
    await world.put([world.subnets[0]], {**name, OWNER_UUID: OTHER_UUID})
    await world.put([world.group], name)
    await world.put([world.listener], {cluster_key("prod-2"): "owned"})
    world.wait_for_index()
    found = await world.tagger.find_by_tag(cluster_key("prod"))
    assert set(find_foreign(UUID, found)) == {world.subnets[0], world.group}
