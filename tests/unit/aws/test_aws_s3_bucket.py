"""The driver of buckets on a simulated AWS: whose a name is, documents, and what is in a bucket that goes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from freehold.engine import errors
from freehold.engine.resources import Part, Ref, State
from freehold.providers.aws.kinds import s3_bucket
from freehold.providers.aws.kinds.s3_bucket import OBJECT
from freehold_sim.aws.settings import Settings
from freehold_sim.faults import Effect
from harness.account import NONCE
from harness.aws_account import KEYS, AwsAccount
from harness.aws_drivers import MARKS, Drivers, birth
from harness.simulated_aws import OTHER_KEY

NAME = "one-bootstrap"
WANTED = {"name": NAME}
DOCUMENT: dict[str, Any] = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Sid": "ForceSSLOnlyAccess",
            "Effect": "Deny",
            "Principal": {"AWS": ["*"]},
            "Action": ["s3:*"],
            "Resource": [f"arn:aws:s3:::{NAME}/*"],
            "Condition": {"Bool": {"aws:SecureTransport": False}},
        }
    ],
}
AS_SHOWN = {
    "Version": "2012-10-17",
    "Statement": {
        "Sid": "ForceSSLOnlyAccess",
        "Effect": "Deny",
        "Principal": {"AWS": "*"},
        "Action": "s3:*",
        "Resource": f"arn:aws:s3:::{NAME}/*",
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    },
}
"""The same policy as IAM's grammar lets a service show it."""
POLICY = s3_bucket.policy_part(DOCUMENT)
RULES = [{"ID": "old", "Status": "Enabled", "Filter": {"Prefix": "node/"}, "Expiration": {"Days": 1}}]


@pytest.fixture
def buckets(account: AwsAccount) -> Drivers:
    return Drivers(account, s3_bucket.kind)


def elsewhere(region: str = "eu-west-1") -> Drivers:
    return Drivers(AwsAccount(Settings(), KEYS, region), s3_bucket.kind)


@pytest.mark.parametrize("region", ["us-east-1", "eu-west-1"])
async def test_a_life(region: str) -> None:
    """In us-east-1 a create must not name its region."""
    buckets = elsewhere(region)
    made = await buckets.create(WANTED)
    assert (made.id, made.name, made.state, made.tags, made.region) == (NAME, NAME, State.READY, MARKS, region)
    seen = await buckets.there(NAME)
    assert (seen.name, seen.tags) == (NAME, None)
    assert [one.id for one in await buckets.find(WANTED, NONCE)] == [NAME]
    assert buckets.driver.identify(seen.target) == NAME
    await buckets.driver.delete(Ref(NAME))
    assert await buckets.look(NAME) is None
    assert await buckets.find(WANTED, NONCE) == []
    with pytest.raises(errors.NotFound):
        await buckets.driver.delete(Ref(NAME))


async def test_its_documents_are_parts(buckets: Drivers) -> None:
    await buckets.create(WANTED)
    parts, changer = buckets.kind.parts.driver, buckets.kind.parts.changer
    assert parts is not None and changer is not None
    lifecycle = s3_bucket.lifecycle_part(RULES)
    for part in (POLICY, lifecycle):
        await parts.add_part(Ref(NAME), part)
    shown = await buckets.inside(NAME)
    assert {(part, part.behavior) for part in shown} == {(POLICY, POLICY.behavior), (lifecycle, lifecycle.behavior)}

    other = s3_bucket.policy_part({**DOCUMENT, "Statement": []})
    await changer.change_part(Ref(NAME), other)
    behaviors = {part.kind: part.behavior for part in await buckets.inside(NAME)}
    assert behaviors[other.kind] == other.behavior != POLICY.behavior
    for _ in range(2):
        await parts.remove_part(Ref(NAME), lifecycle)
        assert {part.kind for part in await buckets.inside(NAME)} == {other.kind}
    with pytest.raises(errors.NotFound):
        await parts.parts(Ref("no-such-bucket"))


async def test_a_policy_is_the_same_in_the_spelling_of_aws(buckets: Drivers) -> None:
    """Otherwise it would be written again at every look."""
    await buckets.create(WANTED)
    buckets.account.s3.put_bucket_policy(Bucket=NAME, Policy=json.dumps(AS_SHOWN, indent=1))
    (there,) = await buckets.inside(NAME)
    assert (there, there.behavior) == (POLICY, POLICY.behavior)


async def test_what_others_put_in_keeps_it_and_is_named(buckets: Drivers) -> None:
    await buckets.create(WANTED)
    for number in range(7):
        buckets.account.s3.put_object(Bucket=NAME, Key=f"theirs-{number}", Body=b"x")
    with pytest.raises(errors.InUse) as refused:
        await buckets.driver.delete(Ref(NAME))
    assert refused.value.blocker == "theirs-0, theirs-1, theirs-2, theirs-3, theirs-4 and more"
    assert await buckets.look(NAME) is not None


async def test_objects_of_ours_are_parts_that_are_taken_out(buckets: Drivers) -> None:
    """The engine takes out those on record before the delete, and no others."""
    await buckets.create(WANTED)
    parts = buckets.kind.parts.driver
    assert parts is not None
    ours = Part(OBJECT, "node/one-0", request={"Body": "{}"})
    await parts.add_part(Ref(NAME), ours)
    assert await buckets.inside(NAME) == {ours}
    for _ in range(2):
        await parts.remove_part(Ref(NAME), ours)
    await buckets.driver.delete(Ref(NAME))
    assert buckets.kind.parts.holding == {OBJECT}
    assert OBJECT not in buckets.kind.parts.exclusive


@pytest.mark.parametrize("region", ["us-east-1", "eu-west-1"])
async def test_a_bucket_of_this_account_has_the_name(region: str) -> None:
    """BucketAlreadyOwnedByYou, or, in us-east-1, the answer of a create: it is ours only by its tags."""
    buckets = elsewhere(region)
    await buckets.create(WANTED, birth("fstranger"))
    (found,) = await buckets.find(WANTED, NONCE)
    assert found.tags is not None and found.tags != MARKS
    if region == "us-east-1":
        answer = await buckets.create(WANTED)
        assert answer.tags == found.tags
        assert buckets.kind.creation.answers_existing
    else:
        with pytest.raises(errors.NameTaken):
            await buckets.create(WANTED)


async def test_a_bucket_of_another_account_has_the_name(buckets: Drivers) -> None:
    """S3 shows it no more than one that we may not read; our own list tells the two apart."""
    buckets.account.client("s3", OTHER_KEY).create_bucket(Bucket=NAME)
    with pytest.raises(errors.NameTaken, match="another account"):
        await buckets.find(WANTED, NONCE)
    with pytest.raises(errors.NameTaken):
        await buckets.create(WANTED)
    assert await buckets.look(NAME) is None, "ours, if there was one, has gone"


async def test_a_bucket_that_we_may_not_read_is_denied_and_not_somebody_elses(buckets: Drivers) -> None:
    await buckets.create(WANTED)
    buckets.fault(Effect.DENIED, "s3.ListObjectsV2")
    with pytest.raises(errors.Denied, match=NAME):
        await buckets.find(WANTED, NONCE)
    buckets.fault(Effect.DENIED, "s3.ListObjectsV2")
    with pytest.raises(errors.Denied):  # not gone
        await buckets.look(NAME)


async def test_a_bucket_in_another_region_is_not_the_one_that_was_meant(account: AwsAccount) -> None:
    account.client("s3", region="eu-west-1").create_bucket(
        Bucket=NAME, CreateBucketConfiguration={"LocationConstraint": "eu-west-1"}
    )
    buckets = Drivers(account, s3_bucket.kind)
    with pytest.raises(errors.Invalid, match="another region"):
        await buckets.find(WANTED, NONCE)
    with pytest.raises(errors.CloudError):
        await buckets.driver.delete(Ref(NAME))
    assert account.client("s3", region="eu-west-1").list_buckets()["Buckets"][0]["Name"] == NAME


async def test_a_reply_whose_tags_cannot_be_read_proves_nothing(buckets: Drivers) -> None:
    buckets.fault(Effect.ERROR_BEFORE, "s3.GetBucketTagging")
    assert (await buckets.create(WANTED)).tags is None
    (found,) = await buckets.find(WANTED, NONCE)
    assert found.tags == MARKS


async def test_buckets_are_found_by_their_birth_mark_under_any_name(
    make_account: Callable[..., AwsAccount],
) -> None:
    """The last look before an object is let go; every page of the index is read."""
    buckets = Drivers(make_account(page_size=1), s3_bucket.kind)
    for number in range(3):
        await buckets.create({"name": f"old-name-{number}"}, birth(f"fold{number}"))
    buckets.account.clock.advance(60)
    assert [one.id for one in await buckets.by_nonce("fold2", WANTED)] == ["old-name-2"]
    await buckets.driver.delete(Ref("old-name-2"))
    assert await buckets.by_nonce("fold2", WANTED) == []


async def test_without_the_tag_index_every_bucket_is_asked(buckets: Drivers) -> None:
    await buckets.create({"name": "old-name"}, birth("fold"))
    buckets.account.s3.create_bucket(Bucket="theirs")
    buckets.fault(Effect.DENIED, "resourcegroupstaggingapi.*")
    assert [one.id for one in await buckets.by_nonce("fold", WANTED)] == ["old-name"]


@pytest.mark.parametrize("operation", ["s3.ListObjectsV2", "resourcegroupstaggingapi.GetResources"])
async def test_a_last_look_that_fails_is_no_absence(buckets: Drivers, operation: str) -> None:
    buckets.fault(Effect.ERROR_BEFORE, operation)
    with pytest.raises(errors.Unavailable):
        await buckets.by_nonce(NONCE, WANTED)
