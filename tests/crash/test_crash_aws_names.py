"""A classic load balancer and a bucket are known by their names: what has one after ours has gone is not ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import inf
from typing import Any

import pytest

from freehold.controllers.recovery.open_decisions import find_open_decisions
from freehold.engine.context import EngineDeps
from freehold.engine.decisions import Decision, Verdict
from freehold.engine.errors import Unavailable, Unknown
from freehold.engine.interface import PassResult
from freehold.engine.journal import Entry, RecordState
from freehold.engine.keyed_codec import OWNER, SEAL, UUID
from freehold.engine.outcomes import Blocked, Reason, Waiting
from freehold.engine.port import Call, Effect
from freehold.engine.resources import NodeKey
from freehold_sim.aws.settings import Settings
from harness.aws_account import REGION
from harness.stepping import run_blocking
from lab import catalogue, families, faults
from lab.aws import ONE_ZONE, AwsLife, AwsWorld
from lab.aws_neighbours import existing
from lab.families import Case
from lab.families_aws import AWS, BUCKET
from lab.faults import Answer, Script
from lab.oracles import NO_EXCUSE, Excuse
from lab.seam import World

ROWS = "ResourceTagMappingList"
DELETES = {"classic-load-balancer": "delete_load_balancer", "s3-bucket": "delete_bucket"}
WITH_A_BUCKET = partial(
    AwsWorld,
    spec={
        "network": {},
        "controlPlaneLoadBalancer": {"loadBalancerType": "disabled"},
        "s3Bucket": BUCKET,
        "additionalTags": {"team": "red"},
    },
    given=True,
)
"""A bucket, and little beside it: nothing else has to do with these stories."""
WITH_A_TARGET_GROUP = partial(AwsWorld, spec={**ONE_ZONE, "controlPlaneLoadBalancer": {"loadBalancerType": "nlb"}})
WORLDS = {"classic-load-balancer": AWS.world, "s3-bucket": WITH_A_BUCKET}
EXCUSES = {
    "classic-load-balancer": NO_EXCUSE,
    "s3-bucket": Excuse(frozenset({Reason.NOT_OWNED}), frozenset({"s3-bucket"})),
}


def _call_after_delete(kind: str) -> int:
    """The number of the call that follows the delete in an undisturbed life."""
    calls = families.calls_of(WORLDS[kind])[0]
    return next(number for number, call in enumerate(calls) if call.operation == DELETES[kind]) + 1


def _go_on(life: AwsLife) -> None:
    """Passes until one ends at rest. That it stays so is judged where :meth:`Course.create` or a family is run."""
    while not ((done := life.once()) and done.at_rest):
        life.world.clock.advance(max(done.after, 0.001) if done else 0.001)


def _key(life: AwsLife, kind: str) -> NodeKey:
    (key,) = (each for each in life.journal.entries if each.kind == kind)
    return key


@pytest.mark.parametrize("crash", [None, faults.BEFORE, faults.AFTER], ids=["no crash", "crash before", "crash after"])
@pytest.mark.parametrize("later", [0, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", DELETES)
def test_a_strangers_of_our_name_is_neither_marked_nor_deleted(
    kind: str, later: int, crash: faults.Fault | None
) -> None:
    """Somebody makes it when ours has just gone; a process that dies then has not recorded that ours has."""
    at = _call_after_delete(kind) + later
    crashes = {at: crash} if crash else {}

    def script(world: World) -> Script:
        return Script(crashes, {at: partial(catalogue.meddle, world, "namesake", kind)})

    verdict = families.run(Case(f"{kind} at {at}", WORLDS[kind], script, excuse=EXCUSES[kind]))
    assert verdict.faults == []


def test_our_load_balancer_whose_record_was_forged_is_used_again() -> None:
    """No second one can have its name. It was put on record beside the forged one, and marked with that name."""
    ground = replace(AWS, branded=(AWS.world, ("classic-load-balancer",)))
    families.hold(
        "a stranger's id forged into the journal", list(catalogue.forged_records(ground))[::18], most_calls=300
    )


def test_what_another_owner_has_taken_over_meanwhile_is_not_put_on_record_again() -> None:
    """Its marks were read at the very moment when it would be used again."""
    world = AwsWorld()
    taken = partial(catalogue.meddle, world, "steal", "classic-load-balancer")
    life = world.begin(
        script=Script({57: faults.BEFORE}, {99: taken}),
        on_crash=partial(catalogue.forge_record, "classic-load-balancer"),
    )
    for _ in range(40):
        life.once()
        world.clock.advance(life.last.after if life.last else 1.0)
    assert life.last is not None
    held = [said for said in life.last.outcomes.values() if isinstance(said, Blocked | Waiting)]
    assert any("has another owner's mark" in said.message for said in held), held
    phases = {key.logical: entry.state for key, entry in life.journal.entries.items() if key.kind in DELETES}
    assert phases == {"primary": RecordState.VACANT, "primary~demo-apiserver": RecordState.OWNED}


def test_a_load_balancer_that_somebody_made_anew_by_hand_is_not_taken_for_ours() -> None:
    """Deleted and made again in the cloud, between two looks: without our marks, and in the way of ours."""
    world = AwsWorld()
    life = world.begin()
    _go_on(life)
    ours = life.journal.entries[_key(life, "classic-load-balancer")].id
    world.neighbours.remove(ours)
    world.neighbours.namesake("classic-load-balancer")
    for _ in range(20):
        world.clock.advance(30.0)
        life.once()
    assert not life.journal.entries[_key(life, "classic-load-balancer")].id, "ours has gone"
    (theirs,) = (each for each in existing(world.harness) if each["id"] == ours)
    assert theirs["by"] == "stranger"
    assert set(theirs["tags"]) == {"Name"}
    assert "NameTaken" in str(world.harness.status())


def test_whoever_edits_the_object_does_not_make_another_load_balancer_of_our_name_ours() -> None:
    """What tells it from ours is signed with the id."""
    world = AwsWorld()
    life = world.begin()
    _go_on(life)
    key = _key(life, "classic-load-balancer")
    ours = life.journal.entries[key]
    world.neighbours.remove(ours.id)
    world.neighbours.namesake("classic-load-balancer")
    (theirs,) = (each for each in existing(world.harness) if each["id"] == ours.id)
    life.rewrite(life.journal.put(key, replace(ours, incarnation=theirs["view"]["DNSName"])))
    for _ in range(5):
        world.clock.advance(30.0)
        life.once()
    (left,) = (each for each in existing(world.harness) if each["id"] == ours.id)
    assert set(left["tags"]) == {"Name"}


@pytest.mark.parametrize(("verdict", "there"), [(Verdict.MINE, 0), (Verdict.NOT_MINE, 1)])
def test_a_person_decides_about_a_bucket_whose_delete_was_asked_for(verdict: Verdict, there: int) -> None:
    """Its marks are gone, and the process does not know whether the bucket is."""
    at = _call_after_delete("s3-bucket")
    script = Script({at: faults.BEFORE}, {at: lambda: world.neighbours.namesake("s3-bucket")})
    world = WITH_A_BUCKET()
    life = world.begin(script=script)
    life.create()
    life.watch()
    seen: list[EngineDeps] = []
    release = life.release

    async def noted(deps: EngineDeps, *rest: Any) -> PassResult:
        seen.append(deps)
        done: PassResult = await release(deps, *rest)
        return done

    life.release = noted
    life.delete()
    key = _key(life, "s3-bucket")
    assert life.last is not None
    outcome = life.last.outcomes[key]
    assert isinstance(outcome, Blocked)
    assert outcome.reason is Reason.NOT_OWNED
    entry = life.journal.entries[key]
    (question,) = run_blocking(find_open_decisions(life.journal, seen[-1]))
    assert question.key == key, "`freehold resolve` asks for it"
    life.decide(Decision(verdict, str(key), entry.id, entry.attempt, "a person", world.clock.now()))
    life.delete()
    assert life.released
    assert [each["id"] for each in existing(world.harness)].count(entry.id) == there


class Swap:
    """At the delete of ours somebody makes one of its name; the reply is lost, or the process dies.

    The tag index then shows ours for 20 s: it lists what was tagged.
    """

    def __init__(self, life: AwsLife, kind: str, end: BaseException) -> None:
        self._world, self._kind, self._end = life.world, kind, end
        ident = life.journal.entries[_key(life, kind)].id
        (ours,) = (each for each in existing(life.world.harness) if each["id"] == ident)
        self._arn, self._tags = ours["arn"], [{"Key": key, "Value": value} for key, value in ours["tags"].items()]
        self._until = 0.0
        self.failing_reads = 0
        life.port.interceptors.append(self)

    async def __call__(self, answer: Answer, call: Call) -> Any:
        if call.operation == "get_bucket_tagging" and self._until and self.failing_reads:
            self.failing_reads -= 1
            raise Unavailable("503")
        found = await answer(call)
        if call.operation == DELETES[self._kind] and not self._until:
            self._until = self._world.clock.now() + 20.0
            self._world.neighbours.namesake(self._kind)
            raise self._end
        if call.operation == "get_resources" and self._world.clock.now() < self._until:
            rows = [row for row in found.body[ROWS] if row["ResourceARN"] != self._arn]
            return found._replace(body={**found.body, ROWS: [*rows, {"ResourceARN": self._arn, "Tags": self._tags}]})
        return found


def _tags_there(life: AwsLife, ident: str) -> list[set[str]]:
    return [set(each["tags"]) for each in existing(life.world.harness) if each["id"] == ident]


@pytest.mark.parametrize("kind", DELETES)
def test_what_the_index_still_shows_of_ours_proves_nothing_of_what_came_after(kind: str) -> None:
    life = WORLDS[kind]().begin()
    assert isinstance(life, AwsLife)
    _go_on(life)
    ident = life.journal.entries[_key(life, kind)].id
    Swap(life, kind, faults.Crash("at the delete"))
    life.delete()
    assert _tags_there(life, ident) == [{"Name"}]


def _with_surplus_bucket() -> tuple[AwsLife, NodeKey, Entry]:
    """A cluster at rest whose spec does not want its bucket any more."""
    life = WITH_A_BUCKET().begin()
    assert isinstance(life, AwsLife)
    _go_on(life)
    key = _key(life, "s3-bucket")
    life.edit(s3Bucket=None)
    _go_on(life)
    return life, key, life.journal.entries[key]


def _approve(life: AwsLife, key: NodeKey) -> None:
    """A person approves its prune."""
    entry = life.journal.entries[key]
    life.decide(Decision(Verdict.PRUNE, str(key), entry.id, entry.attempt, "a person", life.world.clock.now()))


@pytest.mark.parametrize("end", [Unknown("the reply was lost"), faults.Crash("at the delete")], ids=["lost", "crash"])
@pytest.mark.parametrize("wanted", [False, True], ids=["pruned", "wanted again"])
@pytest.mark.parametrize("pause", [4.0, pytest.param(60.0, marks=pytest.mark.slow)])
def test_a_bucket_that_is_not_wanted_any_more_and_came_after_ours(
    end: BaseException, pause: float, *, wanted: bool
) -> None:
    """A person approved that ours goes; another one gets no mark, no policy, and no delete."""
    life, key, entry = _with_surplus_bucket()
    Swap(life, "s3-bucket", end)
    _approve(life, key)
    life.once()
    sent = len(life.port.calls)
    if wanted:
        life.edit(s3Bucket=BUCKET)
    for _ in range(12):
        life.world.clock.advance(pause)
        life.once()
    assert _tags_there(life, entry.id) == [{"Name"}]
    assert not [call.operation for call in life.port.calls[sent:] if call.effect is Effect.WRITE]


def test_a_failed_read_of_the_tags_does_not_make_a_bucket_ours() -> None:
    """Ours has lost its tags, and its record is one of marks that were not read back yet."""
    life = WITH_A_BUCKET().begin()
    assert isinstance(life, AwsLife)
    _go_on(life)
    key = _key(life, "s3-bucket")
    entry, ident = life.journal.entries[key], life.journal.entries[key].id
    life.rewrite(life.journal.put(key, replace(entry, state=RecordState.RECORDED)))
    life.world.neighbours.strip("s3-bucket")
    life.world.clock.advance(100.0)
    Swap(life, "s3-bucket", faults.Crash("at the delete")).failing_reads = 1
    life.delete()
    assert _tags_there(life, ident) == [{"Name"}]


def test_a_bucket_of_another_account_that_has_got_the_name_holds_nothing_up() -> None:
    """S3 refuses to tell of it; our own list of buckets does not have it."""
    other = "999988887777"
    keys = {**Settings().access_keys, "AKIAOTHEROTHEROTHER1": other}
    life = partial(WITH_A_BUCKET, settings=Settings(access_keys=keys))().begin()
    assert isinstance(life, AwsLife)
    _go_on(life)
    ident = life.journal.entries[_key(life, "s3-bucket")].id

    async def taken(answer: Answer, call: Call) -> Any:
        found = await answer(call)
        if call.operation == "delete_bucket":
            strangers = life.world.harness.cloud.strangers
            strangers.create("s3", "CreateBucket", {"Bucket": ident}, account=other, region=REGION)
            raise faults.Crash("at the delete")
        return found

    life.port.interceptors.append(taken)
    life.delete()
    assert life.released


def _refusing(life: AwsLife, operation: str, times: float, then: Callable[[], None] = lambda: None) -> None:
    """The cloud answers so many calls of this operation with 503; ``then`` happens at each."""
    left = times

    async def refused(answer: Answer, call: Call) -> Any:
        nonlocal left
        if call.operation == operation and left > 0:
            left -= 1
            then()
            raise Unavailable("503")
        return await answer(call)

    life.port.interceptors.append(refused)


def _untag(life: AwsLife, ident: str, *keys: str) -> None:
    if keys:
        life.world.harness.cloud.strangers.untag(ident, *keys)


@pytest.mark.parametrize("stripped", [(), (OWNER, UUID)], ids=["born with all", "the owner's have gone"])
def test_our_bucket_that_got_no_seal_before_its_delete_was_refused_is_deleted(stripped: tuple[str, ...]) -> None:
    """Its create has set the marks with our nonce: they show that it is still the one of the record."""
    life = WITH_A_BUCKET().begin()
    assert isinstance(life, AwsLife)
    _refusing(life, "tag_resources", 5)
    for _ in range(3):
        life.once()
        life.world.clock.advance(5.0)
    bucket = life.journal.entries[_key(life, "s3-bucket")]
    assert bucket.state is RecordState.RECORDED
    _refusing(life, "delete_bucket", 1, partial(_untag, life, bucket.id, *stripped))
    life.delete()
    assert life.released


@pytest.mark.parametrize("stripped", [(), (SEAL,), (OWNER, UUID)], ids=["all are there", "no seal", "no owner's"])
def test_our_bucket_whose_prune_was_refused_can_be_wanted_again_with_other_tags(stripped: tuple[str, ...]) -> None:
    """Its marks were read, the one of our create among them: what the record alone does not prove, both prove."""
    life, key, entry = _with_surplus_bucket()
    _refusing(life, "delete_bucket", 1)
    _approve(life, key)
    life.once()
    assert life.journal.entries[key].deleting
    _untag(life, entry.id, *stripped)
    life.edit(s3Bucket=BUCKET, additionalTags={"team": "blue"})
    for _ in range(12):
        life.world.clock.advance(60.0)
        life.once()
    (bucket,) = (each for each in existing(life.world.harness) if each["id"] == entry.id)
    assert bucket["tags"]["team"] == "blue" and SEAL in bucket["tags"]
    assert life.journal.entries[key].state is RecordState.OWNED and not life.journal.entries[key].deleting


BALANCING = {"classic-load-balancer": "create_load_balancer", "target-group": "create_target_group"}


@pytest.mark.parametrize("kind", BALANCING)
def test_what_lost_all_its_tags_before_it_was_on_record_is_named_when_the_object_goes(kind: str) -> None:
    """Nothing but its name, which is one of the region, says that it may be ours. By then its VPC has gone."""
    world = AWS.world if kind in WORLDS else WITH_A_TARGET_GROUP
    calls = families.calls_of(world)[0]
    at = next(number for number, call in enumerate(calls) if call.operation == BALANCING[kind]) + 1

    def script(world: World) -> Script:
        return Script({at: faults.BEFORE}, {at: partial(catalogue.meddle, world, "strip", kind)})

    excuse = Excuse(frozenset({Reason.NAME_TAKEN}), frozenset({kind}))
    verdict = families.run(Case(f"{kind} at {at}", world, script, excuse=excuse))
    assert verdict.faults == []
    assert len(verdict.named) == 1


@pytest.mark.parametrize(
    "tags", [{"team": "blue"}, {"team": "red"}], ids=["other tags are wanted", "all marks are there"]
)
@pytest.mark.parametrize("earlier", [0, 1], ids=["the first", "after one that was refused long ago"])
def test_a_delete_that_takes_effect_after_our_marks_were_read_makes_no_strangers_bucket_ours(
    earlier: int, tags: dict[str, str]
) -> None:
    """Its reply was lost, and the bucket is wanted again. What was read says nothing of what has the name later."""
    life, key, entry = _with_surplus_bucket()
    sent: list[float] = []
    _refusing(life, "delete_bucket", inf, lambda: sent.append(life.world.clock.now()))
    _approve(life, key)
    while len(sent) <= earlier:
        life.once()
        life.world.clock.advance(200.0 * (len(sent) <= earlier))
    life.edit(s3Bucket=BUCKET, additionalTags=tags)
    for _ in range(3):
        life.world.clock.advance(3.0)
        life.once()
    _replace_by_a_strangers(life, entry.id)
    for _ in range(12):
        life.world.clock.advance(60.0)
        life.once()
    assert _tags_there(life, entry.id) == [{"Name"}]


def _replace_by_a_strangers(life: AwsLife, ident: str) -> None:
    life.world.neighbours.remove(ident)
    life.world.neighbours.namesake("s3-bucket")


def test_a_lost_delete_of_a_bucket_without_our_owners_marks_takes_effect_before_they_are_on_it_again() -> None:
    """The object is being deleted. The mark of our create was read, and shows nothing of what has the name later."""
    life = WITH_A_BUCKET().begin()
    assert isinstance(life, AwsLife)
    _go_on(life)
    ident = life.journal.entries[_key(life, "s3-bucket")].id
    lost: list[str] = []

    def loses_it() -> None:
        lost.append(ident)
        _untag(life, ident, OWNER, UUID)

    _refusing(life, "delete_bucket", 1, loses_it)

    async def taken(answer: Answer, call: Call) -> Any:
        found = await answer(call)
        if call.operation == "get_bucket_tagging" and lost:
            lost.clear()
            _replace_by_a_strangers(life, ident)
        return found

    life.port.interceptors.append(taken)
    life.delete()
    assert _tags_there(life, ident) == [{"Name"}]
