"""One object's collection, step by step, against a cloud of a few lines: what goes when, and what stops it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pytest

from freehold.collection.found import Look, Step, Thing, Workloads
from freehold.collection.policy import Collect, Policy, SkipCollection, UnreadablePolicy, Volumes
from freehold.collection.rules import OWNED, CollectionRule
from freehold.collection.sweep import LONGEST, MOST_SWEEPS, Sweep
from freehold.collection.things import CollectionTask
from freehold.engine.clock import ManualClock
from freehold.engine.collection import Collected, Site
from freehold.engine.errors import CloudError, Denied, InUse, NotFound, Unavailable
from freehold.engine.outcomes import Blocked, Outcome, Reason, Waiting
from freehold.engine.ownership import Owner
from freehold.engine.resources import Part
from harness.stepping import run_blocking

OWNER = Owner("0a1b2c3d-1111-4222-8333-444455556666", "AWSCluster", "default", "prod")
COLLECT = Collect(tuple(CollectionTask), Volumes.DELETE, "default")


def thing(task: CollectionTask, ident: str = "", **more: Any) -> Thing:
    ident = ident or str(task)
    return Thing(task, str(task), ident, ident, {"kubernetes.io/cluster/prod": "owned"}, network="vpc-1", **more)


QUIET = 30.0
ONE_OF_EACH = tuple(thing(task) for task in CollectionTask)


@dataclass
class Cloud:
    """What is there, and how it answers. ``refuses``: by what a step does and to what, how often."""

    there: dict[str, Thing]
    look_of: Look = field(default_factory=Look)
    traces_of: dict[str, tuple[str, ...]] = field(default_factory=dict)
    refuses: dict[str, CloudError] = field(default_factory=dict)
    stays: frozenset[str] = frozenset()
    """What is still shown after its delete."""
    sent: list[str] = field(default_factory=list)
    looks: int = 0
    asked: int = 0
    wanted: Policy = COLLECT
    unwanted_after: int | None = None
    """After so many deletes the object wants no collection any more."""

    @property
    def rules(self) -> Mapping[CollectionTask, CollectionRule]:
        return dict.fromkeys(CollectionTask, CollectionRule(((OWNED,),)))

    async def look(self, workloads: Workloads, tasks: Sequence[CollectionTask]) -> Look:
        assert (workloads.name, workloads.network, workloads.uuid) == ("prod", "vpc-1", OWNER.uuid)
        self.looks += 1
        if error := self.refuses.get("look"):
            raise error
        return replace(self.look_of, things=tuple(self.there.values()), traces=self.traces_of)

    async def find_remaining(self, things: Sequence[Thing]) -> Sequence[Thing]:
        return [each for each in things if each.id in self.there]

    async def find_traces(self, network: str) -> Mapping[str, tuple[str, ...]]:
        assert network == "vpc-1"
        return self.traces_of

    def plan_steps(self, things: Sequence[Thing], volumes: Volumes) -> Sequence[Sequence[Step]]:
        first = [Step(each, "free", partial(self._do, "free", each)) for each in things if each.named_by]
        return [first, [Step(each, "delete", partial(self._do, "delete", each)) for each in things]]

    async def run_all(self, work: Sequence[Callable[[], Awaitable[None]]]) -> Sequence[Exception | None]:
        done: list[Exception | None] = []
        for each in work:
            try:
                await each()
                done.append(None)
            except Exception as error:
                done.append(error)
        return done

    async def _do(self, what: str, each: Thing) -> None:
        self.sent.append(f"{what} {each.id}")
        if error := self.refuses.get(f"{what} {each.id}"):
            raise error
        if what == "delete" and each.id not in self.stays:
            del self.there[each.id]


@dataclass
class Story:
    cloud: Cloud
    site: Site | Outcome = field(default_factory=lambda: Site(OWNER, "vpc-1"))
    others: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.clock = ManualClock()
        self.sweep = Sweep("prod", self.cloud, self.clock)

    def step(self, *, refused: bool = False) -> Collected:
        return run_blocking(self.sweep.step(self._prove, self._ask, self._rivals, refused=refused))

    def steps(self, seconds: float) -> Collected:
        """One step every 15 seconds, as the engine asks; the last answer."""
        end = self.clock.now() + seconds
        done = self.step()
        while not done.done and self.clock.now() < end:
            self.clock.advance(15.0)
            done = self.step()
        return done

    async def _prove(self) -> Site | Outcome:
        return self.site

    async def _ask(self) -> Policy:
        cloud = self.cloud
        stopped = cloud.unwanted_after is not None and len(cloud.sent) >= cloud.unwanted_after
        return SkipCollection("OptedOut", "annotation") if stopped else cloud.wanted

    async def _rivals(self, site: Site) -> tuple[str, ...]:
        return self.others


def story(*things: Thing, **how: Any) -> Story:
    return Story(Cloud({each.id: each for each in things}, **how))


def said(done: Collected) -> str:
    return " ".join(o.message for o in done.outcomes.values() if isinstance(o, Waiting | Blocked))


# -- the order ----------------------------------------------------------------------------------------------------


def test_everything_goes_in_the_order_of_the_tasks() -> None:
    one = story(*reversed(ONE_OF_EACH))
    assert one.steps(600.0).done
    assert one.cloud.sent == [f"delete {task}" for task in CollectionTask]


@pytest.mark.parametrize("first", [CollectionTask.LOAD_BALANCER, CollectionTask.TARGET_GROUP])
def test_nothing_else_begins_before_what_lets_traffic_in_is_seen_gone(first: CollectionTask) -> None:
    one = story(thing(first), thing(CollectionTask.SECURITY_GROUP), stays=frozenset({first}))
    assert not one.steps(60.0).done
    assert set(one.cloud.sent) == {f"delete {first}"}
    one.cloud.stays = frozenset()
    assert one.steps(600.0).done


def test_a_group_that_cannot_go_does_not_keep_an_interface_from_going() -> None:
    """The interface may be what is in it."""
    one = story(
        thing(CollectionTask.SECURITY_GROUP, waits_for="network interface eni-1"),
        thing(CollectionTask.NETWORK_INTERFACE),
    )
    one.step()
    assert one.cloud.sent == ["delete network-interface"]


def test_what_names_a_thing_is_taken_out_first_and_a_refusal_of_that_keeps_it() -> None:
    one = story(thing(CollectionTask.SECURITY_GROUP, named_by=(("sg-1", Part("ingress-rule", "all sg-2")),)))
    one.cloud.refuses["free security-group"] = Denied("no permission")
    assert "no permission" in said(one.step())
    assert one.cloud.sent == ["free security-group"]
    one.cloud.refuses.clear()
    assert one.steps(900.0).done
    assert one.cloud.sent[1:] == ["free security-group", "delete security-group"]


def test_a_task_that_is_not_asked_for_deletes_nothing() -> None:
    one = story(*ONE_OF_EACH, wanted=Collect((CollectionTask.TARGET_GROUP,), Volumes.RETAIN, "annotation"))
    assert one.steps(600.0).done
    assert one.cloud.sent == ["delete target-group"]


# -- whether ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("after", range(len(CollectionTask)))
def test_the_object_is_asked_again_before_each_delete(after: int) -> None:
    one = story(*ONE_OF_EACH, unwanted_after=after)
    assert one.steps(600.0).done
    assert len(one.cloud.sent) == after


def test_the_answer_within_one_wave_stops_the_rest_of_it() -> None:
    one = story(*(thing(CollectionTask.LOAD_BALANCER, f"lb-{number}") for number in range(5)), unwanted_after=2)
    one.steps(600.0)
    assert len(one.cloud.sent) == 2


def test_who_has_opted_out_waits_for_nothing_and_is_not_looked_at() -> None:
    one = story(*ONE_OF_EACH, wanted=SkipCollection("OptedOut", "annotation"))
    assert one.step().done
    assert not one.cloud.looks


def test_an_annotation_without_sense_holds_the_network_and_nothing_is_looked_for() -> None:
    one = story(*ONE_OF_EACH, wanted=UnreadablePolicy("annotation x is 'ture'"))
    done = one.step()
    assert not done.done
    assert said(done) == "annotation x is 'ture'"
    assert not one.cloud.looks


def test_an_annotation_that_loses_its_sense_in_the_middle_sends_no_further_delete() -> None:
    one = story(*ONE_OF_EACH, stays=frozenset({CollectionTask.LOAD_BALANCER}))
    one.step()
    one.cloud.wanted, one.cloud.stays = UnreadablePolicy("annotation x is 'ture'"), frozenset()
    assert not one.steps(600.0).done
    assert one.cloud.sent == ["delete load-balancer"]


# -- where --------------------------------------------------------------------------------------------------------


def test_without_a_network_of_the_object_nothing_is_looked_for() -> None:
    one = story(*ONE_OF_EACH)
    one.site = Site(OWNER)
    assert one.step().done
    assert not one.cloud.looks


def test_a_network_whose_marks_cannot_be_read_now_is_waited_for() -> None:
    one = story(*ONE_OF_EACH)
    one.site = Waiting(Reason.THROTTLED, 10.0, "slow down")
    assert not one.step().done
    assert not one.cloud.looks


def test_beside_another_object_of_the_name_in_the_network_nothing_is_looked_for() -> None:
    one = story(*ONE_OF_EACH)
    one.others = ("default/other",)
    assert "default/other has the name prod in vpc-1 too" in said(one.steps(900.0))
    assert not one.cloud.looks


def test_beside_another_owner_of_the_name_in_the_network_nothing_is_deleted() -> None:
    one = story(*ONE_OF_EACH, look_of=Look(namesakes=("prod/c2",)))
    assert "prod/c2 has the name prod in vpc-1 too" in said(one.steps(900.0))
    assert one.cloud.sent == []


# -- when ---------------------------------------------------------------------------------------------------------


def test_nothing_is_deleted_while_a_machine_runs_and_then_two_looks_must_find_nothing() -> None:
    one = story(*ONE_OF_EACH, look_of=Look(running=("i-1",), ran_lately=True))
    assert "i-1 of cluster prod runs in vpc-1" in said(one.steps(120.0))
    assert one.cloud.sent == []
    one.cloud.look_of = Look()
    one.clock.advance(60.0)
    one.step()
    assert len(one.cloud.sent) == len(CollectionTask)
    assert _looks_until_done(one) == [QUIET]


@pytest.mark.parametrize(("lately", "waits"), [(True, [QUIET]), (False, [])])
def test_one_look_is_enough_where_no_machine_ran_a_moment_ago(lately: bool, waits: list[float]) -> None:
    assert _looks_until_done(story(look_of=Look(ran_lately=lately))) == waits


def test_what_comes_between_the_two_looks_is_collected_and_the_looks_begin_anew() -> None:
    one = story(look_of=Look(ran_lately=True))
    assert not one.step().done
    one.cloud.there = {"lb-1": thing(CollectionTask.LOAD_BALANCER, "lb-1")}
    one.clock.advance(QUIET)
    assert not one.step().done
    one.clock.advance(60.0)
    assert not one.step().done
    one.clock.advance(QUIET)
    assert one.step().done
    assert one.cloud.sent == ["delete lb-1"]


def _looks_until_done(one: Story) -> list[float]:
    """The seconds between the looks that found nothing."""
    waits: list[float] = []
    one.clock.advance(600.0)
    began, looks = one.clock.now(), one.cloud.looks
    done = one.step()
    while not done.done:
        one.clock.advance(1.0)
        if (done := one.step()) and one.cloud.looks > looks + 1 + len(waits):
            waits.append(one.clock.now() - began)
            began = one.clock.now()
        assert one.clock.now() - began < 600.0
    return waits


def test_that_nothing_is_left_holds_until_something_holds_the_network() -> None:
    one = story()
    assert one.step().done
    one.clock.advance(3600.0)
    assert one.step().done
    assert one.cloud.looks == 1
    one.cloud.there = {"lb-1": thing(CollectionTask.LOAD_BALANCER, "lb-1")}
    assert not one.step(refused=True).done
    assert one.cloud.sent == ["delete lb-1"]


def test_what_lingers_of_a_load_balancer_is_waited_for_before_the_next_look() -> None:
    trace = "ELB net/a/1"
    one = story(thing(CollectionTask.LOAD_BALANCER, trace_key=trace, trace_seconds=40.0), traces_of={trace: ("eni-1",)})
    one.step()
    one.clock.advance(60.0)
    assert "eni-1" in said(one.step())
    one.clock.advance(60.0)
    one.cloud.traces_of = {}
    assert one.step().done
    assert one.cloud.looks == 2


def test_one_that_was_made_again_by_the_same_name_does_not_wait_for_its_own_interfaces() -> None:
    """Once, a classic balancer that its controller made again was waited for, and never deleted."""
    trace = "ELB a1"
    one = story(thing(CollectionTask.LOAD_BALANCER, trace_key=trace, trace_seconds=40.0), traces_of={trace: ("eni-1",)})
    one.step()
    one.cloud.there, one.cloud.traces_of = {"load-balancer": thing(CollectionTask.LOAD_BALANCER)}, {trace: ("eni-2",)}
    one.steps(300.0)
    assert one.cloud.sent == ["delete load-balancer"] * 2


# -- what does not go ---------------------------------------------------------------------------------------------


def test_what_was_gone_already_is_no_failure() -> None:
    one = story(thing(CollectionTask.SECURITY_GROUP), refuses={"delete security-group": NotFound("no such group")})
    one.step()
    one.cloud.there = {}
    one.clock.advance(60.0)
    assert one.step().done


@pytest.mark.parametrize(
    ("error", "sort"),
    [(Denied("no"), Blocked), (InUse("in use", blocker="eni-9"), Waiting), (Unavailable("x"), Waiting)],
)
def test_a_refused_delete_is_told_with_its_time_and_tried_again(error: CloudError, sort: type[Outcome]) -> None:
    one = story(thing(CollectionTask.SECURITY_GROUP), refuses={"delete security-group": error})
    done = one.steps(1200.0)
    (outcome,) = done.outcomes.values()
    assert not done.done
    assert isinstance(outcome, sort)
    assert "(since " in said(done)
    assert ("eni-9" in said(done)) is isinstance(error, InUse)
    assert 2 <= len(one.cloud.sent) <= 20
    one.cloud.refuses.clear()
    assert one.steps(1200.0).done


def test_a_search_that_is_refused_is_told_and_nothing_is_taken_for_gone() -> None:
    one = story(*ONE_OF_EACH, refuses={"look": Denied("no")})
    assert "they cannot be looked for" in said(one.steps(600.0))
    one.cloud.refuses.clear()
    assert one.steps(900.0).done
    assert not one.cloud.there


@pytest.mark.parametrize("name", ["", "another "], ids=["by the same name", "by another name"])
def test_what_comes_back_again_and_again_is_named(name: str) -> None:
    one = story()
    told = []
    for round_ in range(MOST_SWEEPS + 1):
        ident = f"lb {name and name + str(round_)}"
        one.cloud.there = {ident: thing(CollectionTask.LOAD_BALANCER, ident)}
        told.append("Stop what makes them" in said(one.step(refused=True)))
        one.clock.advance(400.0)
        assert one.cloud.there == {}
    assert told == [False] * MOST_SWEEPS + [True]


def test_what_came_back_once_and_does_not_go_for_an_hour_is_named_and_its_own_reason_too() -> None:
    one = story(thing(CollectionTask.SECURITY_GROUP))
    one.step()
    one.cloud.there = {"sg-2": thing(CollectionTask.SECURITY_GROUP, "sg-2", held_by="a rule in sg-9 names it")}
    assert "Stop what makes them" not in said(one.steps(LONGEST / 2))
    message = said(one.steps(LONGEST))
    assert "security-group sg-2: made again 1 times" in message
    assert "a rule in sg-9 names it" in message


def test_what_is_held_for_long_is_not_said_to_come_back() -> None:
    one = story(
        thing(CollectionTask.SECURITY_GROUP, held_by="a rule in sg-9 names it"), thing(CollectionTask.TARGET_GROUP)
    )
    message = said(one.steps(3 * LONGEST))
    assert "a rule in sg-9 names it (since " in message
    assert "Stop what makes them" not in message


def test_what_was_collected_and_what_stays_is_told_once() -> None:
    one = story(
        thing(CollectionTask.LOAD_BALANCER),
        thing(CollectionTask.VOLUME),
        wanted=replace(COLLECT, volumes=Volumes.RETAIN),
    )
    done = one.steps(600.0)
    summary = "collected of cluster prod: load-balancer 1; kept: volume volume: volumes are retained: they hold data"
    assert (done.summary, done.is_news) == (summary, True)
    again = one.step()
    assert (again.summary, again.is_news) == (summary, False)
