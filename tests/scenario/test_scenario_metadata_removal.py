"""``deletionPolicy: Remove``: the tags that the record proves go before the object does."""

from __future__ import annotations

import asyncio
import re

import pytest

from freehold.api import names
from freehold.kube import errors as kube
from freehold.kube.resources import Key
from freehold.tags.context import PROVIDERS
from freehold.tags.policy.protected import IgnoreList
from freehold_sim.faults import Effect, Fault
from harness.metadata import CLASSIFIER, NAMESPACE, WANTED, Killed, Lab

REMOVE = {"deletionPolicy": "Remove"}


@pytest.fixture
def lab() -> Lab:
    return Lab()


async def _tagged(lab: Lab, count: int = 3, **tags: str) -> list[str]:
    ours = lab.groups(count, owner="somebody", **tags)
    await lab.tags("awstags", WANTED, **REMOVE)
    await lab.cloud("metadata", "awstags")
    await lab.settle()
    return ours


def _is_there(lab: Lab) -> bool:
    return ("AWSMetadata", Key(NAMESPACE, "awstags")) in lab.objects.objects


async def test_a24_what_was_written_goes_with_the_object_and_nothing_else(lab: Lab) -> None:
    """Not what was there before us, and not what somebody has set since."""
    before = lab.group("before", **{CLASSIFIER: "owned"}, env="test")
    ours = await _tagged(lab)
    assert lab.object("AWSMetadata", "awstags")["metadata"]["finalizers"] == [names.TAGS_FINALIZER]
    writer = lab.object("AWSMetadata", "awstags")["metadata"]["uid"]
    lab.somebody_sets(ours[1], env="theirs")
    await lab.remove("awstags")
    assert not _is_there(lab)
    kept = {CLASSIFIER: "owned", "owner": "somebody"}
    assert [lab.tags_on(arn) for arn in ours] == [kept, {**kept, "env": "theirs"}, kept]
    assert lab.tags_on(before) == {CLASSIFIER: "owned", "env": "test"}
    known = await lab.means.record.load(lab.rings.ring, begun=True)
    assert known.written_for(writer) == (), "the record grows no older than its objects"


async def test_a24_it_needs_no_cloud_metadata_any_more(lab: Lab) -> None:
    """A namespace deletes its objects in any order."""
    ours = await _tagged(lab)
    await lab.delete("CloudMetadata", "metadata")
    await lab.remove("awstags")
    assert not _is_there(lab)
    assert all("env" not in lab.tags_on(arn) for arn in ours)


async def test_a24_a_resource_that_lost_its_classifier_loses_our_tags_too(lab: Lab) -> None:
    """The record says that they are ours; nobody needs the index for that."""
    ours = await _tagged(lab)
    lab.somebody_strips(ours[0], CLASSIFIER)
    await lab.remove("awstags")
    assert lab.tags_on(ours[0]) == {"owner": "somebody"}


async def test_a24_a_key_that_another_object_wants_stays(lab: Lab) -> None:
    ours = await _tagged(lab)
    await lab.tags("other", {"env": "test"})
    await lab.cloud("other", "other")
    await lab.settle("other")
    await lab.remove("awstags")
    assert all(lab.tags_on(arn) == {CLASSIFIER: "owned", "owner": "somebody", "env": "test"} for arn in ours)


async def test_a24_retain_puts_no_finalizer_and_takes_one_off_again(lab: Lab) -> None:
    ours = await _tagged(lab)
    await lab.edit("AWSMetadata", "awstags", {"deletionPolicy": "Retain"})
    await lab.settle()
    assert not lab.object("AWSMetadata", "awstags")["metadata"].get("finalizers")
    await lab.edit("AWSMetadata", "awstags", REMOVE)
    await lab.settle()
    await lab.objects.delete(PROVIDERS["AWSMetadata"], Key(NAMESPACE, "awstags"))
    await lab.edit("AWSMetadata", "awstags", {"deletionPolicy": "Retain"})
    await lab.let_go("awstags")
    assert not _is_there(lab)
    assert all(lab.tags_on(arn)["env"] == "test" for arn in ours)


async def test_a24_an_object_that_wrote_nothing_goes_at_once(lab: Lab) -> None:
    await lab.tags("awstags", WANTED, **REMOVE)
    await lab.cloud("metadata", "awstags")
    await lab.settle()
    lab.sent()
    await lab.remove("awstags")
    assert not _is_there(lab)
    assert lab.sent() == []


async def test_a24_removing_from_many_waits_for_an_approval_on_the_object() -> None:
    lab = Lab(approve_above=2)
    ours = await _tagged(lab)
    await lab.remove("awstags")
    status, reason, message = lab.condition("Approved", "AWSMetadata", "awstags")
    assert (status, reason) == ("False", "ApprovalNeeded")
    assert all(lab.tags_on(arn)["env"] == "test" for arn in ours)
    (digest,) = re.findall(r"\b[0-9a-f]{64}\b", message)
    lab.object("AWSMetadata", "awstags")["metadata"]["annotations"][names.APPROVE_TAGS_ANNOTATION] = digest
    await lab.let_go("awstags")
    assert not _is_there(lab)
    assert all("env" not in lab.tags_on(arn) for arn in ours)


async def test_a24_a_cloud_that_refuses_is_told_and_the_object_stays(lab: Lab) -> None:
    """What cannot be removed now is not forgotten."""
    ours = await _tagged(lab)
    lab.account.cloud.faults.add(Fault(Effect.DENIED, "ec2.DeleteTags", count=None))
    await lab.remove("awstags")
    assert _is_there(lab)
    assert lab.condition("Request", "AWSMetadata", "awstags")[0] == "False"
    lab.account.cloud.faults.clear()
    await lab.let_go("awstags")
    assert not _is_there(lab)
    assert all("env" not in lab.tags_on(arn) for arn in ours)


async def test_a24_an_account_that_cannot_be_reached_any_more_is_told_with_the_way_out(lab: Lab) -> None:
    await _tagged(lab)
    await lab.edit("AWSMetadata", "awstags", {"regions": ["nowhere"]})
    await lab.remove("awstags")
    assert _is_there(lab)
    status, _, message = lab.condition("Approved", "AWSMetadata", "awstags")
    assert status == "False" and "spec.deletionPolicy: Retain, and the tags stay" in message


async def test_a24_of_a_lost_record_nothing_is_removed_and_it_is_said(lab: Lab) -> None:
    ours = await _tagged(lab)
    await lab.lose_record()
    await lab.remove("awstags")
    assert not _is_there(lab)
    assert all(lab.tags_on(arn)["env"] == "test" for arn in ours)
    assert "RecordLost" in [reason for reason, _ in lab.events.said]


async def test_a24_ignored_keys_stay() -> None:
    lab = Lab()
    ours = await _tagged(lab)
    lab.configure(ignored=IgnoreList(frozenset({"env"})))
    await lab.remove("awstags")
    assert all(lab.tags_on(arn) == {CLASSIFIER: "owned", "owner": "somebody", "env": "test"} for arn in ours)
    assert "TagKept" in [reason for reason, _ in lab.events.said]


@pytest.mark.parametrize("after", [False, True], ids=["A24 killed before a call", "A24 killed after a call"])
async def test_a24_a_process_that_is_killed_while_it_removes_is_followed_by_one_that_ends_right(after: bool) -> None:
    for number in range(6):
        lab = Lab()
        ours = await _tagged(lab)
        lab.sent()
        lab.restart()
        lab.port.at, lab.port.after = number, after
        try:
            await lab.remove("awstags")
        except Killed:
            lab.port.at = None
            lab.restart()
            await lab.let_go("awstags")
        assert not _is_there(lab)
        assert all(lab.tags_on(arn) == {CLASSIFIER: "owned", "owner": "somebody"} for arn in ours)


async def test_a24_the_object_waits_for_the_api_server(lab: Lab) -> None:
    """It must not go while the record still says that something of it is there."""
    await _tagged(lab)

    def refuse(verb: str, name: str) -> None:
        if name.startswith("freehold-tags"):
            raise kube.ServerUnavailable("the API server is away")

    lab.objects.before = refuse
    with pytest.raises(kube.ServerUnavailable):
        await lab.remove("awstags")
    lab.objects.before = lambda verb, name: None
    assert _is_there(lab)


async def test_a24_a_pass_that_has_begun_does_not_write_after_the_removal(lab: Lab) -> None:
    """Its tags would stay for ever: the object that they were written for is gone."""
    ours = await _tagged(lab)
    for arn in ours:
        lab.somebody_strips(arn, "env")
    lab.wait()
    removals: list[asyncio.Task[None]] = []

    async def remove(operation: str) -> None:
        if operation == "create_tags" and not removals:
            removals.append(asyncio.create_task(lab.remove("awstags")))
            for _ in range(1000):
                await asyncio.sleep(0)

    lab.port.between = remove
    await lab.work()
    await removals[0]
    assert not _is_there(lab)
    assert all(lab.tags_on(arn) == {CLASSIFIER: "owned", "owner": "somebody"} for arn in ours)


async def test_a24_a_write_of_another_process_that_is_under_way_is_waited_for(lab: Lab) -> None:
    """It is on record before it is sent: what is removed before it takes effect would come back for ever."""
    ours = await _tagged(lab)
    await lab.edit("AWSMetadata", "awstags", {"resourcetags": {"env": "prod", "team": "x"}})
    lab.wait()
    lab.account.cloud.faults.add(Fault(Effect.LATE, "ec2.CreateTags", delay=40.0))
    await lab.work()
    assert all(lab.tags_on(arn)["env"] == "test" for arn in ours)
    lab.restart()
    await lab.remove("awstags")
    assert not _is_there(lab)
    lab.wait(600)
    lab.account.cloud.settle()
    assert all(lab.tags_on(arn) == {CLASSIFIER: "owned", "owner": "somebody"} for arn in ours)


async def test_what_lost_its_classifier_is_still_removed_with_the_object() -> None:
    """It was looked at, and is there: the record must not forget it. Another one is gone by then."""
    lab = Lab()
    released, gone, kept = lab.groups(3)
    await lab.tags("tags", WANTED, deletionPolicy="Remove")
    await lab.cloud("metadata", "tags")
    await lab.settle()
    lab.somebody_strips(released, CLASSIFIER)
    lab.account.cloud.strangers.delete(gone)
    lab.wait()
    await lab.settle()
    await lab.remove("tags")
    assert lab.tags_on(released) == {}
    assert lab.tags_on(kept) == {CLASSIFIER: "owned"}
