"""The metadata controller in trouble: killed between any two calls, refused, lost replies, two replicas at once."""

from __future__ import annotations

import pytest

from freehold.controllers.controller import RequeueAfter
from freehold.engine.port import Call
from freehold_sim.aws.settings import Quotas, Settings
from freehold_sim.faults import Effect, Fault
from harness.metadata import CLASSIFIER, WANTED, Killed, Lab

CREATE, TAG = "ec2.CreateTags", "resourcegroupstaggingapi.TagResources"


class Story:
    """Five resources: one with a value of ours already there, one with a foreign value; then a key leaves the spec."""

    def __init__(self, lab: Lab, kill_at_write: int = -1, *, after: bool = False) -> None:
        self.lab = lab
        self.kill_at_write = kill_at_write
        self.after = after

    async def begin(self) -> None:
        self.arns = self.lab.groups(5, owner="somebody")
        self.lab.somebody_sets(self.arns[0], centre="eng")
        self.lab.somebody_sets(self.arns[1], env="theirs")
        self.lab.wait()
        await self.lab.apply_examples()

    async def pursue(self) -> None:
        """Until all are at rest; a process that is killed is followed by another one."""
        if self.after:
            self.lab.objects.after = self._kill
        else:
            self.lab.objects.before = self._kill
        try:
            await self.lab.settle()
        except Killed:
            self.lab.port.at, self.kill_at_write = None, -1
            self.lab.restart()
            self.lab.wait(1.0)
            await self.lab.settle()
        finally:
            self.lab.objects.before = self.lab.objects.after = lambda verb, name: None

    def _kill(self, verb: str, name: str) -> None:
        """``written`` has the write under way when it is done."""
        if len(self.lab.objects.written) - self.after == self.kill_at_write:
            raise Killed

    async def tell(self) -> None:
        await self.begin()
        await self.pursue()
        for arn in self.arns:
            assert self.lab.tags_on(arn) == {CLASSIFIER: "owned", "owner": "somebody", **WANTED}
        await self.lab.edit("AWSMetadata", "awstags", {"resourcetags": {"centre": None}})
        self.lab.wait()
        await self.pursue()
        kept = {CLASSIFIER: "owned", "owner": "somebody", "env": "test"}
        assert self.lab.tags_on(self.arns[0]) == {**kept, "centre": "eng"}, "it was there before us"
        assert [self.lab.tags_on(arn) for arn in self.arns[1:]] == [kept] * 4
        assert self.lab.condition("Ready")[0] == "True"


async def _calls() -> tuple[int, int]:
    """How many calls and store writes the story has."""
    lab = Lab()
    await Story(lab).tell()
    return len(lab.port.calls), len(lab.objects.written)


@pytest.mark.parametrize("after", [False, True], ids=["A12 killed before a call", "A12 killed after a call"])
async def test_a_process_that_is_killed_at_any_call_is_followed_by_one_that_ends_right(after: bool) -> None:
    calls, _ = await _calls()
    assert calls >= 8
    for number in range(calls):
        lab = Lab()
        lab.port.at, lab.port.after = number, after
        await Story(lab).tell()


@pytest.mark.parametrize("after", [False, True], ids=["A12 killed before a store", "A12 killed after a store"])
async def test_a_process_that_is_killed_at_any_write_of_an_object_is_followed_by_one_that_ends_right(
    after: bool,
) -> None:
    """Between the record, the annotation, the tags and the status. Nothing of the record counts as lost by that."""
    _, writes = await _calls()
    assert writes >= 12
    for number in range(writes):
        lab = Lab()
        await Story(lab, number, after=after).tell()
        assert "RecordLost" not in str(lab.status())


@pytest.mark.parametrize("effect", [Effect.THROTTLE, Effect.ERROR_BEFORE, Effect.ERROR_AFTER, Effect.REPLY_LOST])
async def test_one_write_in_three_that_fails_costs_time_only(effect: Effect) -> None:
    """In less than 30 s of domain time."""
    lab = Lab()
    story = Story(lab)
    await story.begin()
    for nth in range(1, 30, 3):
        for operation in (CREATE, "ec2.DeleteTags"):
            lab.account.cloud.faults.add(Fault(effect, operation, nth=nth))
    begun = lab.clock.now()
    await lab.settle()
    assert lab.clock.now() - begun < 30.0
    for arn in story.arns:
        assert lab.tags_on(arn) == {CLASSIFIER: "owned", "owner": "somebody", **WANTED}


async def test_what_a_lost_reply_was_about_is_read_at_once() -> None:
    """The same pass goes on with what it shows: nothing is sent again, and nothing waits."""
    lab = Lab()
    lab.groups(3)
    await lab.apply_examples()
    lab.account.cloud.faults.add(Fault(Effect.REPLY_LOST, CREATE))
    await lab.work()
    assert lab.condition("Ready")[0] == "True"
    lab.sent()
    lab.wait()
    await lab.settle()
    assert lab.writes() == []


async def test_a_lost_reply_is_read_before_it_is_sent_again() -> None:
    """What was read at once may have come before the effect."""
    lab = Lab()
    lab.groups(3)
    await lab.apply_examples()
    lab.account.cloud.faults.add(Fault(Effect.LATE, CREATE, delay=3.0))
    assert await lab.work() == RequeueAfter(5.0)
    assert lab.condition("Applied")[:2] == ("False", "Retrying")
    lab.sent()
    lab.wait(5.0)
    await lab.settle()
    assert lab.writes() == []
    assert lab.condition("Ready")[0] == "True"


async def test_what_was_in_doubt_is_not_believed_of_the_index() -> None:
    """It shows the value of a stranger who has taken it off since: it is read, and written again."""
    lab = Lab()
    (secret,) = lab.secrets(1)
    lab.somebody_sets(secret, env="test", centre="eng")
    lab.wait()
    lab.somebody_sets(secret, centre="x")
    lab.wait(8.0)
    lab.somebody_strips(secret, "env")
    lab.wait(13.0)
    await lab.apply_examples()
    lab.account.cloud.faults.add(Fault(Effect.ERROR_BEFORE, "resourcegroupstaggingapi.TagResources"))
    await lab.work()
    assert lab.condition("Ready")[0] == "False"
    lab.wait(5.0)
    await lab.settle()
    assert lab.condition("Ready")[0] == "True"
    assert lab.tags_on(secret) == {CLASSIFIER: "owned", **WANTED}


async def test_what_cannot_be_read_is_not_written() -> None:
    """What the index shows of it is not enough: somebody's value may be there."""
    lab = Lab()
    groups, secrets = lab.groups(3, env="theirs"), lab.secrets(1)
    await lab.apply_examples()
    lab.account.cloud.faults.add(Fault(Effect.DENIED, "ec2.DescribeTags", count=None))
    await lab.work()
    assert lab.writes() == ["resourcegroupstaggingapi.tag_resources"], "the secret alone"
    assert lab.condition("Ready")[0] == "False"
    assert all(lab.tags_on(arn)["env"] == "theirs" for arn in groups)
    assert lab.tags_on(secrets[0])["env"] == "test"
    lab.account.cloud.faults.clear()
    lab.wait()
    await lab.settle()
    assert all(lab.tags_on(arn)["env"] == "test" for arn in groups)


async def test_a16_a_bad_resource_in_a_batch_does_not_fail_the_others() -> None:
    """CreateTags does all or nothing: the batch is halved until the resource is found."""
    lab = Lab(Settings(quotas=Quotas(tags=4)))
    ours = lab.groups(9)
    lab.wait()
    await lab.apply_examples()
    full = ours[4]

    def fill(call: Call) -> None:
        """Between the read and the write."""
        if call.operation == "create_tags":
            lab.somebody_sets(full, a="", b="")

    lab.port.before_each = fill
    await lab.work()
    assert [arn for arn in ours if "env" not in lab.tags_on(arn)] == [full]
    status, reason, message = lab.condition("Request")
    assert (status, reason) == ("False", "TagLimitExceeded"), "the cloud's own code (A6)"
    assert full in message and ours[0] not in message


async def test_without_the_permission_the_fleet_costs_few_calls() -> None:
    """Halving 200 refused resources down to one would cost 400 calls in each pass."""
    lab = Lab()
    lab.groups(200)
    await lab.apply_examples()
    lab.account.cloud.faults.add(Fault(Effect.DENIED, CREATE, count=None))
    await lab.work()
    assert lab.writes().count("ec2.create_tags") < 20
    assert lab.condition("Request")[0] == "False"
    assert "ec2:CreateTags" in lab.condition("Request")[2]


async def test_a_region_that_does_not_answer_leaves_the_others_alone() -> None:
    lab = Lab()
    (arn,) = lab.groups(1)
    await lab.tags("tags", WANTED, regions=["us-east-1", "eu-west-1"])
    await lab.cloud("metadata", "tags")
    lab.account.cloud.faults.add(Fault(Effect.ERROR_BEFORE, "resourcegroupstaggingapi.GetResources", nth=2))
    assert await lab.work() == RequeueAfter(5.0)
    assert lab.tags_on(arn)["env"] == "test"
    assert "eu-west-1" in lab.condition("Request")[2]
    await lab.settle()
    assert lab.condition("Ready")[0] == "True"


async def test_a27_two_replicas_at_once_end_right() -> None:
    """Each other one's passes, between any two calls of the first."""
    lab = Lab()
    other = lab.start()
    story = Story(lab)
    await story.begin()
    for _ in range(4):
        lab.process, other = other, lab.process
        await lab.work()
        lab.wait(3.0)
    await lab.settle()
    lab.wait()
    lab.sent()
    for process in (lab.process, other):
        lab.process = process
        await lab.work()
    assert lab.writes() == []
    for arn in story.arns:
        assert lab.tags_on(arn) == {CLASSIFIER: "owned", "owner": "somebody", **WANTED}


async def test_a11_what_a_foreign_writer_does_between_any_two_calls_stays() -> None:
    """Tags that nobody asked about are byte for byte as they were."""
    lab = Lab()
    arns = lab.groups(3)
    count = 0

    def write(call: Call) -> None:
        nonlocal count
        if call.api != "sts":
            count += 1
            lab.somebody_sets(arns[count % 3], **{f"theirs-{count}": "v"})

    lab.port.before_each = write
    await lab.apply_examples()
    await lab.settle()
    lab.port.before_each = lambda call: None
    theirs = [key for arn in arns for key in lab.tags_on(arn) if key.startswith("theirs-")]
    assert count >= 3 and len(theirs) == count
    assert all(WANTED.items() <= lab.tags_on(arn).items() for arn in arns)


async def test_a17_ready_does_not_flap_by_trouble_of_a_moment() -> None:
    """Who waits for it would start and stop with each refusal."""
    lab = Lab()
    lab.groups(1)
    await lab.apply_examples()
    await lab.settle()
    since = lab.status()["lastTransitionTime"]
    lab.account.cloud.faults.add(Fault(Effect.ERROR_BEFORE, "resourcegroupstaggingapi.GetResources"))
    lab.wait()
    assert await lab.work() == RequeueAfter(5.0)
    assert lab.condition("Request")[0] == "False"
    assert lab.condition("Ready")[:2] == ("True", "Retrying")
    lab.wait(5.0)
    await lab.settle()
    assert (lab.status()["status"], lab.status()["lastTransitionTime"]) == ("True", since)
