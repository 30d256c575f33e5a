"""The metadata controller on a simulated AWS: the proposal's examples, drift, and what must stay as it is."""

from __future__ import annotations

import pytest

from freehold.controllers.controller import Done, RequeueAfter
from freehold.engine.keys import KeyRing, digest_of
from freehold.tags.key_needs import tag_needs
from freehold_sim.aws.settings import Lags, Settings
from harness.metadata import CLASSIFIER, PLACE, WANTED, Lab


@pytest.fixture
def lab() -> Lab:
    return Lab()


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["A28 cloud first", "A28 tags first"])
async def test_the_examples_of_the_proposal_are_applied_in_either_order(lab: Lab, order: tuple[int, int]) -> None:
    """Both begin with what the other one has; then every resource with the classifier is tagged."""
    ours, other = lab.groups(3, owner="somebody"), lab.group("other")
    await lab.apply_examples(order[:1])
    await lab.work()
    assert lab.sent() == []
    if order[0] == 0:
        assert lab.condition("Ready")[:2] == ("False", "ReferenceMissing")
    await lab.apply_examples(order[1:])
    await lab.settle()
    for arn in ours:
        assert lab.tags_on(arn) == {CLASSIFIER: "owned", "owner": "somebody", **WANTED}
    assert lab.tags_on(other) == {}
    assert lab.writes() == ["ec2.create_tags"]


async def test_a5_a6_a7_both_objects_tell_what_is(lab: Lab) -> None:
    """A list of conditions, the flat fields as the proposal spells them, and the active list on the AWSMetadata."""
    lab.groups(3)
    await lab.apply_examples()
    await lab.settle()
    cloud, tags = lab.status(), lab.status("AWSMetadata", "awstags")
    assert (cloud["type"], cloud["status"], cloud["reason"]) == ("ready", "True", "none")
    assert cloud["message"] == "tags are applied successfully and can be referred by users"
    assert (tags["type"], tags["status"], tags["resourcetags"]) == ("applied", "True", WANTED)
    assert [each["type"] for each in cloud["conditions"]] == ["Ready", "Applied", "Approved", "Policy", "Request"]
    assert [each["type"] for each in tags["conditions"]] == ["Applied", "Approved", "Policy", "Request"]
    assert lab.condition("Applied") == ("True", "Applied", "the tags are as wanted on 3 resources")
    assert lab.condition("Approved")[1] == "NoGrants"


async def test_a_classifier_that_nothing_has_is_told(lab: Lab) -> None:
    """Else a misspelled one reads as: applied successfully. Nothing is wrong with the object: it stays Ready."""
    lab.group("other", **{CLASSIFIER: "shared"})
    lab.wait(60)
    await lab.apply_examples()
    await lab.settle()
    told = "no resource with these classifiers was found, so no tag is written: compare their keys and values"
    for condition in ("Ready", "Applied"):
        status, reason, message = lab.condition(condition)
        assert (status, reason) == ("True", "NothingFound") and message.startswith(told)
    assert lab.status()["message"].startswith(told)
    assert lab.status("AWSMetadata", "awstags")["message"].startswith(told)
    assert [reason for reason, _ in lab.events.said] == ["NothingFound"]
    lab.groups(1)
    await lab.settle()
    assert lab.condition("Ready")[:2] == ("True", "Applied")


async def test_a_kind_of_which_all_are_exempt_is_not_told_as_missing(lab: Lab) -> None:
    lab.groups(1, **{"freehold.dev/metadata": "ignore"})
    await lab.tags("awstags", WANTED)
    await lab.cloud("metadata", "awstags", kinds=["ec2:security-group"])
    await lab.settle()
    assert lab.condition("Applied")[2].endswith("1 resource exempt by tag and left alone")


@pytest.mark.parametrize("page_size", [None, 1])
async def test_a27_a_second_pass_writes_nothing(page_size: int | None) -> None:
    """Nothing to the cloud and nothing to the API server, from another process too."""
    lab = Lab(Settings(page_size=page_size))
    lab.groups(3)
    await lab.apply_examples()
    await lab.settle()
    lab.wait()
    lab.sent()
    lab.objects.written.clear()
    lab.restart()
    assert await lab.work() == RequeueAfter(600.0, at_rest=True)
    assert set(lab.sent()) == {"resourcegroupstaggingapi.get_resources"}
    assert lab.objects.written == []


async def test_a27_a_pass_within_the_lag_of_the_index_writes_nothing(lab: Lab) -> None:
    """The index still shows what was there before: it is a hint, and the service is read."""
    lab.groups(3)
    await lab.apply_examples()
    await lab.settle()
    lab.sent()
    await lab.work()
    assert lab.writes() == []


async def test_a17_drift_is_repaired_and_told_and_foreign_tags_stay(lab: Lab) -> None:
    ours = lab.groups(3, owner="somebody")
    await lab.apply_examples()
    await lab.settle()
    lab.somebody_sets(ours[0], env="prod", note="mine")
    lab.somebody_strips(ours[1], "centre")
    lab.wait()
    lab.sent()
    await lab.work()
    assert lab.tags_on(ours[0]) == {CLASSIFIER: "owned", "owner": "somebody", "note": "mine", **WANTED}
    assert lab.tags_on(ours[1]) == {CLASSIFIER: "owned", "owner": "somebody", **WANTED}
    status, reason, message = lab.condition("Applied")
    assert (status, reason) == ("True", "Repaired")
    assert f"the tag 'env' on {ours[0]} was 'prod' and is 'test' again" in message
    assert f"the tag 'centre' on {ours[1]} was gone and is 'eng' again" in message
    assert [reason for reason, _ in lab.events.said].count("DriftRepaired") == 2
    assert lab.condition("Ready")[0] == "True"
    lab.wait()
    lab.sent()
    await lab.work()
    assert lab.writes() == []
    assert lab.condition("Applied")[:2] == ("True", "Applied")


async def test_without_a_provider_nothing_is_done(lab: Lab) -> None:
    """Accepted, and no cloud is called."""
    lab.groups(1)
    await lab.cloud("metadata", "tags", cloudprovider=None)
    await lab.work()
    assert lab.sent() == []
    assert lab.condition("Ready")[:2] == ("False", "NoProvider")
    assert lab.status()["reason"] == "NoProvider"


async def test_a2_a_reference_into_another_namespace_is_refused(lab: Lab) -> None:
    """Whoever may make a CloudMetadata there could use the tags of others."""
    lab.groups(1)
    await lab.apply_examples([1])
    reference = {"awsref": {"name": "awstags", "namespace": "other"}}
    await lab.cloud("metadata", "awstags", cloudprovider=reference)
    await lab.work()
    assert lab.sent() == []
    assert lab.condition("Ready")[:2] == ("False", "ReferenceNotGranted")


async def test_a24_what_was_written_stays_when_the_objects_go(lab: Lab) -> None:
    """No finalizer: a namespace can always be deleted."""
    (arn,) = lab.groups(1)
    await lab.apply_examples()
    await lab.settle()
    assert "finalizers" not in lab.object("AWSMetadata", "awstags")["metadata"]
    await lab.delete("AWSMetadata", "awstags")
    lab.wait()
    lab.sent()
    await lab.work()
    assert lab.condition("Ready")[:2] == ("False", "ReferenceMissing")
    await lab.delete("CloudMetadata", "metadata")
    assert await lab.work() == Done()
    assert lab.sent() == []
    assert lab.tags_on(arn) == {CLASSIFIER: "owned", **WANTED}


async def test_it_goes_on_when_the_reference_is_there_again(lab: Lab) -> None:
    lab.groups(1)
    await lab.apply_examples([0])
    await lab.work()
    await lab.apply_examples([1])
    await lab.settle()
    assert lab.condition("Ready")[0] == "True"


async def test_a11_a_key_that_leaves_the_spec_is_removed_where_we_wrote_it(lab: Lab) -> None:
    """Not where somebody has set another value since, and not where the key was there before."""
    ours = lab.groups(3)
    lab.somebody_sets(ours[2], centre="eng")
    lab.wait()
    await lab.apply_examples()
    await lab.settle()
    lab.somebody_sets(ours[1], centre="theirs")
    lab.wait()
    await lab.edit("AWSMetadata", "awstags", {"resourcetags": {"centre": None}})
    await lab.settle()
    assert [lab.tags_on(arn).get("centre") for arn in ours] == [None, "theirs", "eng"]
    assert all(lab.tags_on(arn)["env"] == "test" for arn in ours)
    assert lab.status("AWSMetadata", "awstags")["resourcetags"] == {"env": "test"}


async def test_a11_a_key_that_leaves_the_spec_within_the_lag_is_removed(lab: Lab) -> None:
    """The index shows all but this key yet: the record must not forget it on the word of the index."""
    (arn,) = lab.groups(1)
    await lab.apply_examples()
    await lab.edit("AWSMetadata", "awstags", {"resourcetags": {"centre": None}})
    await lab.settle()
    lab.wait()
    await lab.edit("AWSMetadata", "awstags", {"resourcetags": {"centre": "eng"}})
    await lab.work()
    assert "centre" in lab.tags_on(arn)
    await lab.edit("AWSMetadata", "awstags", {"resourcetags": {"centre": None}})
    await lab.work()
    assert "centre" not in lab.tags_on(arn)


async def test_a12_a_lost_record_removes_nothing_and_says_so(lab: Lab) -> None:
    (arn,) = lab.groups(1)
    await lab.apply_examples()
    await lab.settle()
    await lab.lose_record()
    await lab.edit("AWSMetadata", "awstags", {"resourcetags": {"centre": None}})
    lab.wait()
    await lab.settle()
    assert lab.tags_on(arn) == {CLASSIFIER: "owned", **WANTED}
    assert lab.condition("Policy")[:2] == ("True", "RecordLost")


async def test_a_new_key_of_the_ring_signs_record_and_annotations(lab: Lab) -> None:
    """Then the earlier one can be taken out; also of an object that was restored, whose uid is another one."""
    (arn,) = lab.groups(1)
    await lab.apply_examples()
    await lab.settle()
    lab.object("AWSMetadata", "awstags")["metadata"]["uid"] += "-restored"
    old, new = lab.rings.ring, b"n" * 32
    lab.rings.ring = KeyRing(digest_of(new), {**old.keys, digest_of(new): new})
    needed = await tag_needs(lab.objects, PLACE)
    assert {digest for each in needed for digest in each.digests} == {old.writing}
    lab.wait()
    await lab.settle()
    needed = await tag_needs(lab.objects, PLACE)
    assert [each.digests for each in needed] == [{digest_of(new)}] * 2
    lab.rings.ring = KeyRing.single(new)
    await lab.edit("AWSMetadata", "awstags", {"resourcetags": {"centre": None}})
    lab.wait()
    await lab.settle()
    assert lab.tags_on(arn) == {CLASSIFIER: "owned", "env": "test"}


async def test_a12_a_restored_object_goes_on_where_it_was(lab: Lab) -> None:
    """It has a new uid and no status; its annotation and the record came back with it."""
    (arn,) = lab.groups(1)
    await lab.apply_examples()
    await lab.settle()
    for kind, name in (("CloudMetadata", "metadata"), ("AWSMetadata", "awstags")):
        stored = lab.object(kind, name)
        stored["metadata"]["uid"] += "-restored"
        del stored["status"]
    lab.restart()
    await lab.edit("AWSMetadata", "awstags", {"resourcetags": {"centre": None}})
    lab.wait()
    await lab.settle()
    assert lab.tags_on(arn) == {CLASSIFIER: "owned", "env": "test"}


async def test_a12_an_object_of_the_same_name_is_another_writer(lab: Lab) -> None:
    """What its predecessor wrote stays: that one was deleted with its tags retained."""
    (arn,) = lab.groups(1)
    await lab.apply_examples()
    await lab.settle()
    await lab.delete("AWSMetadata", "awstags")
    await lab.tags("awstags", {"env": "test"})
    lab.wait()
    await lab.settle()
    assert lab.tags_on(arn) == {CLASSIFIER: "owned", **WANTED}


async def test_a12_the_status_decides_nothing(lab: Lab) -> None:
    """Whoever may write it could make us remove tags."""
    (arn,) = lab.groups(1, theirs="x")
    await lab.apply_examples()
    await lab.settle()
    lab.object("AWSMetadata", "awstags")["status"]["resourcetags"] = {"theirs": "x"}
    lab.wait()
    await lab.settle()
    assert lab.tags_on(arn) == {CLASSIFIER: "owned", "theirs": "x", **WANTED}


async def test_a16_a_resource_that_fails_never_stops_the_others(lab: Lab) -> None:
    """And Ready=False never stops the next pass."""
    ours = lab.groups(3)
    lab.account.cloud.strangers.tag(ours[1], {f"k{number}": "" for number in range(49)})
    lab.wait()
    await lab.apply_examples()
    await lab.edit("CloudMetadata", "metadata", {"controllerconfig": {"limit": "POLICY_APPLY_STRICT"}})
    await lab.work()
    assert [lab.tags_on(arn).get("env") for arn in ours] == ["test", None, "test"]
    assert lab.condition("Ready")[:2] == ("False", "LimitExceeded")
    assert ours[1] in lab.condition("Policy")[2]
    lab.somebody_strips(ours[1], "k1", "k2")
    lab.wait()
    await lab.settle()
    assert lab.tags_on(ours[1])["env"] == "test"
    assert lab.condition("Ready")[0] == "True"


async def test_a18_the_older_object_wins_and_the_other_says_conflict(lab: Lab) -> None:
    (arn,) = lab.groups(1)
    await lab.tags("old", {"env": "old"})
    await lab.tags("new", {"env": "new", "team": "x"})
    for name in ("new", "old"):
        await lab.cloud(name, name)
    await lab.settle("new", passes=1)
    await lab.settle("old", passes=1)
    assert lab.tags_on(arn) == {CLASSIFIER: "owned", "env": "old", "team": "x"}
    assert lab.condition("Policy", name="new")[:2] == ("False", "Conflict")
    assert "AWSMetadata metadata-controller/old" in lab.condition("Policy", name="new")[2]
    assert lab.condition("Ready", name="old")[0] == "True"
    lab.wait()
    lab.sent()
    for name in ("new", "old"):
        await lab.work(name)
    assert lab.writes() == []


async def test_a18_two_that_refer_to_one_object_agree_where_they_meet(lab: Lab) -> None:
    """They write for one object: neither sets back what the other one wrote."""
    both, one = lab.groups(2)
    lab.somebody_sets(both, team="x")
    alone = lab.group("alone", team="x")
    lab.wait()
    await lab.apply_examples()
    await lab.cloud("younger", "awstags", classifiers={"team": "x"})
    await lab.settle("metadata", "younger")
    assert {lab.tags_on(each)["env"] for each in (both, one, alone)} == {"test"}
    lab.wait()
    lab.sent()
    await lab.settle("metadata", "younger")
    assert lab.writes() == []


async def test_a19_several_classifiers_are_joined_by_or(lab: Lab) -> None:
    lab.groups(1)
    other = lab.group("other", team="x")
    lab.wait()
    await lab.apply_examples([1])
    await lab.cloud("metadata", "awstags", classifiers={CLASSIFIER: "owned", "team": "x"})
    await lab.settle()
    assert lab.tags_on(other) == {"team": "x", **WANTED}
    assert lab.condition("Applied")[2] == "the tags are as wanted on 2 resources"


async def test_a19_equal_classifiers_share_a_read(lab: Lab) -> None:
    lab.groups(1)
    for name in ("a", "b"):
        await lab.tags(name, {name: ""})
        await lab.cloud(name, name)
        await lab.work(name)
    assert lab.sent().count("resourcegroupstaggingapi.get_resources") == 1


async def test_a23_a_resource_that_lost_its_classifier_keeps_its_tags_and_is_counted(lab: Lab) -> None:
    ours = lab.groups(2)
    await lab.apply_examples()
    await lab.settle()
    lab.somebody_strips(ours[0], CLASSIFIER)
    lab.wait()
    await lab.edit("AWSMetadata", "awstags", {"resourcetags": {"centre": None}})
    await lab.settle()
    assert lab.tags_on(ours[0]) == WANTED
    assert lab.tags_on(ours[1]) == {CLASSIFIER: "owned", "env": "test"}
    assert "1 resource lost the classifier" in lab.condition("Applied")[2]
    lab.wait()
    lab.sent()
    await lab.work()
    assert lab.sent() == ["resourcegroupstaggingapi.get_resources"], "it is read once"


async def test_a_resource_that_is_gone_is_skipped_and_forgotten() -> None:
    """The index lists it for a while; the record must not grow for ever."""
    lab = Lab(Settings(lags=Lags(ghost=3600)))
    ours = lab.groups(2)
    await lab.apply_examples()
    await lab.settle()
    lab.account.cloud.strangers.delete(ours[0])
    await lab.edit("AWSMetadata", "awstags", {"resourcetags": {"env": "prod"}})
    await lab.settle()
    assert lab.condition("Ready")[0] == "True"
    assert lab.tags_on(ours[1])["env"] == "prod"
    lab.wait(7300)
    await lab.settle()
    record = await lab.means.record.load(lab.rings.ring, begun=True)
    assert record.written_for(lab.object("AWSMetadata", "awstags")["metadata"]["uid"]) == (ours[1],)
