"""What only a person can decide: acted on when it is signed, and only after the evidence was read anew."""

from __future__ import annotations

from dataclasses import replace

import pytest

from freehold.engine import decisions, errors
from freehold.engine.decisions import DamagedDecisions, Decision, Verdict
from freehold.engine.journal import Entry, RecordState
from freehold.engine.keys import KeyRing
from freehold.engine.outcomes import Blocked, Kept, Ready, Reason, Surplus
from freehold.engine.resources import NodeKey
from lab import faults
from lab.cloud import ReadLags
from lab.faults import Script
from lab.life import Life
from lab.outage import outage
from lab.seam import Thing
from lab.world import TRAITS, MemoryWorld, node

RECORD = NodeKey("record", "www")
DISK = NodeKey("disk", "more")
BALANCER = NodeKey("balancer", "web")
LINK = NodeKey("link", "a")


def _presumed() -> tuple[Life, Thing]:
    """A create of a kind that nothing of ours fits into was cut off: its namesake can only be presumed ours."""
    nodes = [node("net/main"), node("record/www", "net/main")]
    golden = Life(MemoryWorld(nodes=nodes))
    golden.create()
    number = next(i for i, call in enumerate(golden.port.calls) if call.operation == "create_record")
    life = Life(MemoryWorld(nodes=nodes), Script({number: faults.AFTER}))
    outcome = life.create()["record/www"]
    assert isinstance(outcome, Blocked) and outcome.reason is Reason.PRESUMED_ONLY
    return life, next(thing for thing in life.world.living() if thing.kind == "record")


def _decision(life: Life, verdict: Verdict, key: NodeKey, ident: str = "") -> Decision:
    return Decision(verdict, str(key), ident, life.journal.entries[key].attempt, "ada@laptop", life.world.clock.now())


def _answer(life: Life, decision: Decision, *, signed: bool = True) -> str:
    """Make it, and run until it is answered."""
    life.decisions = (decisions.sign_decision(decision, life.keys) if signed else decision,)
    life.invalidate()
    for _ in range(40):
        done = life.once()
        if life.answers:
            break
        life.world.clock.advance(max(1.0, min(done.after, 60.0)) if done else 1.0)
    (answer,) = life.answers
    return f"{'done' if answer.done else 'refused'}: {answer.message}"


def test_what_a_person_calls_ours_is_recorded_and_deleted_with_the_object() -> None:
    life, record = _presumed()
    assert "ada@laptop" in _answer(life, _decision(life, Verdict.MINE, RECORD, record.id))
    assert isinstance(life.create()["record/www"], Ready)
    life.delete()
    assert not life.world.living()


def test_what_a_person_calls_not_ours_is_left_and_the_create_counts_as_without_effect() -> None:
    life, record = _presumed()
    assert _answer(life, _decision(life, Verdict.NOT_MINE, RECORD)).startswith("done")
    assert not life.journal.open
    outcome = life.create()["record/www"]
    assert isinstance(outcome, Blocked) and outcome.reason is Reason.NAME_TAKEN
    life.delete()
    assert record.id in {thing.id for thing in life.world.living()}


@pytest.mark.parametrize("forged", ["unsigned", "by another ring", "another resource", "another verdict"])
def test_a_decision_that_the_key_ring_did_not_sign_is_refused(forged: str) -> None:
    """Whoever may edit the object must not decide what is ours, and so deleted."""
    life, record = _presumed()
    decision = _decision(life, Verdict.MINE, RECORD, record.id)
    if forged == "by another ring":
        decision = decisions.sign_decision(decision, KeyRing.single(b"another ring" * 3).derive_keys(life.owner))
    elif forged == "another resource":
        decision = replace(decisions.sign_decision(replace(decision, id="record-999"), life.keys), id=record.id)
    elif forged == "another verdict":
        decision = replace(
            decisions.sign_decision(replace(decision, verdict=Verdict.NOT_MINE), life.keys), verdict=Verdict.MINE
        )
    assert "not signed" in _answer(life, decision, signed=False)
    assert RECORD in life.journal.open


SITE = NodeKey("site", "home")


def _unproven(*tags: str, deleting: bool = False) -> tuple[Life, Thing]:
    """Somebody wrote a stranger's resource into the journal; ours is still there."""
    world = MemoryWorld(nodes=[node("site/home")])
    life = Life(world)
    life.create()
    theirs = world.cloud.create("site", "theirs", {}, creator="stranger", tags=frozenset(tags))
    entry = replace(life.journal.entries[SITE], id=theirs.id, target=theirs.target)
    life.rewrite(life.journal.put(SITE, entry))
    life.restart()
    outcome = (life.delete() if deleting else life.create())["site/home"]
    assert isinstance(outcome, Blocked) and outcome.reason is Reason.NOT_OWNED
    asked = f"freehold resolve {life.owner.name} -n {life.owner.namespace} site/home --mine" in outcome.message
    assert asked or tags
    return life, theirs


@pytest.mark.parametrize("deleting", [False, True], ids=["wanted", "deleted"])
def test_a_record_that_a_person_calls_not_ours_is_dropped_and_its_resource_stays(deleting: bool) -> None:
    life, theirs = _unproven(deleting=deleting)
    assert _answer(life, _decision(life, Verdict.NOT_MINE, SITE, theirs.id)).startswith("done")
    if not deleting:
        assert isinstance(life.create()["site/home"], Ready)
    if life.last is None or not life.last.released:
        life.delete()
    assert life.last is not None and life.last.released
    assert [thing.id for thing in life.world.living()] == [theirs.id], "ours is found by its marks, and deleted"


@pytest.mark.parametrize("deleting", [False, True], ids=["wanted", "deleted"])
def test_a_record_that_a_person_calls_ours_is_marked_and_deleted_with_the_object(deleting: bool) -> None:
    life, theirs = _unproven(deleting=deleting)
    assert "on record as ours, by ada@laptop" in _answer(life, _decision(life, Verdict.MINE, SITE, theirs.id))
    if not deleting:
        assert isinstance(life.create()["site/home"], Ready)
    life.delete()
    assert theirs.id not in {thing.id for thing in life.world.living()}


def test_a_record_of_what_has_another_owners_mark_is_not_ours_whoever_says_so() -> None:
    life, theirs = _unproven("owner:elsewhere.other", "uuid:another")
    assert "another owner" in _answer(life, _decision(life, Verdict.MINE, SITE, theirs.id))
    life.delete()
    assert theirs.id in {thing.id for thing in life.world.living()}


def test_a_record_that_has_changed_since_the_decision_stays() -> None:
    """Somebody may write another id into the journal while a person decides about the one that was shown."""
    life, _ = _unproven()
    before = life.journal.entries[SITE]
    assert "no more" in _answer(life, _decision(life, Verdict.NOT_MINE, SITE, "site-999"))
    assert life.journal.entries[SITE] == before


def test_a_dropped_record_spends_no_nonce() -> None:
    """It replaced the record of ours, which is unmarked: nothing but its nonce tells that it is ours."""
    world = MemoryWorld(nodes=[node("site/home")])
    life = Life(world)
    with outage(life, "attach", errors.Unavailable("503")):
        while SITE not in life.journal.entries or life.journal.entries[SITE].state is not RecordState.RECORDED:
            life.once()
            world.clock.advance(1.0)
        theirs = world.cloud.create("site", "theirs", {}, creator="stranger")
        life.rewrite(life.journal.put(SITE, replace(life.journal.entries[SITE], id=theirs.id, target=theirs.target)))
        life.restart()
        assert _answer(life, _decision(life, Verdict.NOT_MINE, SITE, theirs.id)).startswith("done")
    life.delete()
    assert [thing.id for thing in world.living()] == [theirs.id]


def _owned(*nodes: str, given_hub: bool = False) -> Life:
    life = Life(MemoryWorld(nodes=[node(*each.split()) for each in nodes], given_hub=given_hub))
    life.create()
    return life


def _tags(life: Life, ident: str) -> frozenset[str]:
    cloud = life.world.cloud
    return cloud.get(ident).tagged(cloud.now())


def _give_up(life: Life, key: NodeKey) -> str:
    """The id of what was given up."""
    ident = life.journal.entries[key].id
    assert _answer(life, _decision(life, Verdict.NOT_MINE, key, ident)).startswith("done")
    return ident


@pytest.mark.parametrize("restarted", [False, True], ids=["same process", "new process"])
def test_what_a_person_gives_up_loses_our_marks_and_is_never_taken_back(restarted: bool) -> None:
    """The index shows its marks for a while, and its name has a nonce of ours. The spec's next one is another."""
    life = _owned("site/home")
    given_up = _give_up(life, SITE)
    if restarted:
        life.restart()
    assert _tags(life, given_up) == life.user_tags
    life.create()
    life.world.clock.advance(1500.0)
    life.create()
    assert life.journal.entries[SITE].id != given_up and _tags(life, given_up) == life.user_tags
    life.delete()
    assert life.released and given_up in {thing.id for thing in life.world.living()}
    assert life.last is not None and given_up in life.hear(life.last)


@pytest.mark.parametrize("later", range(8))
@pytest.mark.parametrize("fault", [faults.BEFORE, faults.AFTER])
def test_a_process_that_dies_while_it_gives_something_up_gives_it_up_all_the_same(
    fault: faults.Fault, later: int
) -> None:
    """The decision is stored until it is answered. Between the detach and the record nothing marks it again."""
    life = _owned("site/home")
    given_up = life.journal.entries[SITE].id
    life.decisions = (decisions.sign_decision(_decision(life, Verdict.NOT_MINE, SITE, given_up), life.keys),)
    life.invalidate()
    life.port.script = Script({len(life.port.calls) + later: fault})
    life.create()
    assert life.crashes and _tags(life, given_up) == life.user_tags
    assert life.journal.entries[SITE].id != given_up


def test_a_resource_whose_marks_cannot_be_taken_off_stays_ours_until_they_can() -> None:
    life = _owned("site/home")
    before = life.journal.entries[SITE]
    decision = _decision(life, Verdict.NOT_MINE, SITE, before.id)
    life.decisions = (decisions.sign_decision(decision, life.keys),)
    life.invalidate()
    with outage(life, "detach", errors.Denied("no permission"), times=1):
        life.once()
        assert not life.answers and life.journal.entries[SITE] == before
    assert _answer(life, decision).startswith("done")


def test_what_is_given_up_in_a_delete_stays_with_what_it_needs_and_the_rest_goes() -> None:
    """The cloud deletes nothing that has it in it."""
    life = _owned("site/home", "net/main", "disk/more net/main")
    life.deleting = True
    given_up = _give_up(life, DISK)
    life.delete()
    assert life.released and {thing.kind for thing in life.world.living()} == {"net", "disk"}
    assert life.last is not None
    net = life.last.outcomes[NodeKey("net", "main")]
    assert isinstance(net, Kept) and net.reason is Reason.SERVES_KEPT and given_up in net.message


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("gone", [True, False], ids=["it has gone", "its delete is under way"])
def test_what_was_given_up_and_deleted_since_keeps_nothing(gone: bool, restarted: bool) -> None:
    """What it was in would be left behind with the object."""
    life = _owned("net/main", "disk/more net/main")
    given_up = _give_up(life, DISK)
    if gone:
        life.world.remove(given_up)
    else:
        life.world.cloud.delete(given_up, "stranger")
    if restarted:
        life.restart()
    life.delete()
    assert life.released and life.world.living() == []


def test_one_read_that_does_not_show_what_was_given_up_does_not_mean_gone() -> None:
    """Forgotten, it would hold the delete of what it is in for ever: the cloud refuses that."""
    life = _owned("net/main", "disk/more net/main")
    _give_up(life, DISK)
    cloud, life.deleting = life.world.cloud, True
    before, cloud.read_lags = cloud.read_lags, ReadLags(read_lag=1e9)
    life.once()
    cloud.read_lags = before
    life.delete()
    assert life.released and {thing.kind for thing in life.world.living()} == {"net", "disk"}


def test_a_carried_resource_that_is_given_up_loses_its_mark_and_the_carrier_keeps_the_others() -> None:
    life = _owned("hub/core", "net/main", "link/a hub/core net/main")
    hub = life.journal.entries[NodeKey("hub", "core")].id
    before = _tags(life, hub)
    _give_up(life, LINK)
    gone = before - _tags(life, hub)
    assert len(gone) == 1 and "link:" in next(iter(gone))


def test_a_carrier_that_is_given_up_keeps_the_marks_of_what_it_carries() -> None:
    """That stays ours, and is deleted with the object."""
    life = _owned("hub/core", "net/main", "link/a hub/core net/main")
    hub = _give_up(life, NodeKey("hub", "core"))
    assert [tag for tag in _tags(life, hub) if "link:" in tag] and not [t for t in _tags(life, hub) if "uuid:" in t]


def test_what_a_person_calls_ours_is_deleted_also_if_it_was_to_be_marked_again() -> None:
    """Its record says that its marks were read back once, and are to be attached anew: the person decides anew."""
    life = _owned("site/home")
    life.rewrite(life.journal.put(SITE, life.journal.entries[SITE].to_mark_again()))
    life.world.meddle("strip", "site")
    life.restart()
    life.deleting = True
    ident = life.journal.entries[SITE].id
    assert _answer(life, _decision(life, Verdict.MINE, SITE, ident)).startswith("done")
    life.delete()
    assert life.released and life.world.living() == []


def test_giving_up_takes_no_mark_of_another_owner_off() -> None:
    life = _owned("site/home")
    ident = life.journal.entries[SITE].id
    life.world.cloud.attach(life.world.cloud.get(ident).target, frozenset({"owner:elsewhere.other"}), "stranger")
    _give_up(life, SITE)
    assert "owner:elsewhere.other" in _tags(life, ident)


@pytest.mark.parametrize("verdict", [Verdict.NOT_MINE, Verdict.MINE])
def test_a_decision_about_an_earlier_create_does_not_count_for_a_later_one(verdict: Verdict) -> None:
    """It may be answered a second time, after a crash between the record and the answer, or put there again."""
    life, record = _presumed()
    decision = replace(_decision(life, verdict, RECORD, record.id if verdict is Verdict.MINE else ""), attempt=-1)
    assert "known meanwhile" in _answer(life, decision)
    assert RECORD in life.journal.open


def test_what_has_another_owners_mark_is_not_ours_whoever_says_so() -> None:
    """A disk that somebody else's object owns too would be deleted with ours."""
    traits = {**TRAITS, "disk": replace(TRAITS["disk"], token_life=1000.0)}
    world = MemoryWorld(nodes=[node("net/main"), node("disk/d", "net/main")], traits=traits)
    life = Life(world)
    life.create()
    key, disk = NodeKey("disk", "d"), world.ours("disk")
    assert disk is not None
    world.meddle("steal", "disk")
    entry, net = life.journal.entries[key], life.journal.entries[NodeKey("net", "main")].id
    request = {"name": "c1-d", "role": "disk/d", "net": net}
    cut_off = replace(entry, state=RecordState.INTENDED, id="", target="", signature="", request=request, opened=1.0)
    life.rewrite(life.journal.put(key, cut_off))
    assert "another owner" in _answer(life, _decision(life, Verdict.MINE, key, disk.id))


def test_what_does_not_exist_cannot_be_ours() -> None:
    life, _ = _presumed()
    assert "does not exist" in _answer(life, _decision(life, Verdict.MINE, RECORD, "record-999"))


def test_without_an_answer_of_the_cloud_a_decision_waits() -> None:
    life, record = _presumed()
    life.decisions = (decisions.sign_decision(_decision(life, Verdict.MINE, RECORD, record.id), life.keys),)
    life.invalidate()
    next_read = len(life.port.calls)
    life.port.script.faults.update({next_read + more: faults.UNAVAILABLE for more in range(4)})
    life.once()
    assert not life.answers and life.decisions


def test_a_resource_that_vanished_again_and_again_is_tried_once_more() -> None:
    world = MemoryWorld(nodes=[node("balancer/web", "net/main"), node("net/main")])
    life = Life(world)
    for _ in range(60):
        life.once()
        world.strike("balancer")
        assert life.last is not None
        world.clock.advance(max(1.0, min(life.last.after, 60.0)))
    assert _answer(life, _decision(life, Verdict.NOT_MINE, BALANCER)).startswith("done")
    assert isinstance(life.create()["balancer/web"], Ready)


def test_a_decision_that_is_acted_on_twice_lets_one_create_through() -> None:
    """The pass that acts on it dies after its create, before the answer is stored."""
    nodes = [node("net/main"), node("record/www", "net/main")]
    life = Life(MemoryWorld(nodes=nodes))
    life.create()
    record = next(thing for thing in life.world.living() if thing.kind == "record")
    life.world.remove(record.id)
    entry = life.journal.entries[RECORD]
    given_up = Entry(RecordState.VACANT, attempt=3, fails=2, requires=entry.requires)
    life.rewrite(life.journal.put(RECORD, given_up))
    decision = decisions.sign_decision(_decision(life, Verdict.NOT_MINE, RECORD), life.keys)
    life.decisions, life.state.last_write_tried = (decision,), life.journal
    life.invalidate()
    with outage(life, "create_record", errors.Unknown("no reply")):
        life.once()
    assert RECORD in life.journal.open
    life.answers.clear()
    assert _answer(life, decision, signed=False).startswith("done")
    assert life.journal.entries[RECORD].attempt == 4 and RECORD in life.journal.open


def _surplus() -> tuple[Life, Thing]:
    world = MemoryWorld(nodes=[node("net/main"), node("balancer/web", "net/main")])
    life = Life(world)
    life.create()
    world.edit(drop="balancer/web")
    life.invalidate()
    assert isinstance(life.settle()["balancer/web"], Surplus)
    return life, next(thing for thing in world.living() if thing.kind == "balancer")


def test_approved_surplus_is_deleted_and_nothing_else() -> None:
    life, balancer = _surplus()
    assert _answer(life, _decision(life, Verdict.PRUNE, BALANCER, balancer.id)) == f"done: {balancer.id} is gone"
    assert {thing.kind for thing in life.world.living()} == {"net"}


def test_an_approval_does_not_count_for_the_next_resource_of_its_node() -> None:
    """Whoever may edit the object can store it again, when another resource is surplus under the same key."""
    life, balancer = _surplus()
    earlier = _decision(life, Verdict.PRUNE, BALANCER, balancer.id)
    assert isinstance(life.world, MemoryWorld)
    life.world.edit(add=node("balancer/web", "net/main"))
    life.world.remove(balancer.id)
    life.create()
    life.world.edit(drop="balancer/web")
    life.invalidate()
    assert isinstance(life.settle()["balancer/web"], Surplus)
    later = life.journal.entries[BALANCER].id
    assert later != balancer.id
    assert _answer(life, earlier) == f"done: {balancer.id} is on record as ours no more"
    assert later in {thing.id for thing in life.world.living()}


def test_of_two_approvals_only_the_one_that_names_what_is_there_counts() -> None:
    """Two nodes of one kind, each with the id of the other: a mixed-up list deletes nothing."""
    nodes = [node("net/main"), node("balancer/web", "net/main"), node("balancer/more", "net/main")]
    life = Life(MemoryWorld(nodes=nodes))
    life.create()
    life.world.nodes = nodes[:1]  # type: ignore[attr-defined]  # the in-memory world
    life.invalidate()
    life.settle()
    web, more = (life.journal.entries[NodeKey("balancer", name)].id for name in ("web", "more"))
    mixed_up = _decision(life, Verdict.PRUNE, BALANCER, more)
    right = _decision(life, Verdict.PRUNE, NodeKey("balancer", "more"), more)
    life.decisions = tuple(decisions.sign_decision(each, life.keys) for each in (mixed_up, right))
    life.invalidate()
    life.settle()
    assert {answer.decision.about.logical: answer.done for answer in life.answers} == {"web": True, "more": True}
    assert {thing.id for thing in life.world.living() if thing.kind == "balancer"} == {web}


def test_surplus_that_the_spec_wants_again_stays() -> None:
    life, balancer = _surplus()
    decision = _decision(life, Verdict.PRUNE, BALANCER, balancer.id)
    life.world.edit(add=node("balancer/web", "net/main"))  # type: ignore[attr-defined]  # the in-memory world
    assert "wants" in _answer(life, decision)
    assert {thing.kind for thing in life.world.living()} == {"net", "balancer"}


def test_surplus_that_the_marks_do_not_prove_stays() -> None:
    life, balancer = _surplus()
    life.world.meddle("claim_uuid", "balancer")
    assert _answer(life, _decision(life, Verdict.PRUNE, BALANCER, balancer.id)).startswith("refused")
    assert balancer.id in {thing.id for thing in life.world.living()}


def test_surplus_that_something_of_the_object_needs_stays() -> None:
    life = Life(MemoryWorld(nodes=[node("net/main"), node("wall/edge", "net/main"), node("rule/ssh", "wall/edge")]))
    life.create()
    wall = NodeKey("wall", "edge")
    life.world.nodes = [node("net/main"), node("rule/ssh")]  # type: ignore[attr-defined]  # the in-memory world
    decision = _decision(life, Verdict.PRUNE, wall, life.journal.entries[wall].id)
    # The spec connects them no longer, so that only the cloud knows.
    assert "is in use by rule-003" in _answer(life, decision) and life.journal.entries[wall].id


def test_surplus_that_other_surplus_needs_stays_and_the_decision_is_answered() -> None:
    """A person approved the one and not the other."""
    life, _ = _surplus()
    assert isinstance(life.world, MemoryWorld)
    life.world.edit(drop="net/main")
    net = NodeKey("net", "main")
    answer = _answer(life, _decision(life, Verdict.PRUNE, net, life.journal.entries[net].id))
    assert answer == "refused: this object's balancer/web depends on it"
    assert {thing.kind for thing in life.world.living()} == {"net", "balancer"}


def test_stored_decisions_are_read_back_with_their_answers() -> None:
    life, record = _presumed()
    signed = decisions.sign_decision(_decision(life, Verdict.MINE, RECORD, record.id), life.keys)
    (read,) = decisions.loads(decisions.dumps([signed]))
    assert read == signed and decisions.is_signed(read, life.keys)
    (answered,) = decisions.add_answers([signed], [decisions.Conclusion(signed, False, "why")])
    assert (answered.answer, decisions.pending([answered])) == ("refused: why", ())


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[{}]",
        '[{"verdict":"all"}]',
        "[1]",
        '{"a":1}',
        '[{"verdict":"mine","attempt":1,"at":0,"node":3}]',
        r'[{"verdict":"mine","attempt":1,"at":0,"node":"\ud800"}]',
    ],
)
def test_damaged_decisions_are_refused_whole(text: str) -> None:
    with pytest.raises(DamagedDecisions):
        decisions.loads(text)
