"""Decisions of the metadata controller where there are two: accounts, namespaces, objects, answers, failures."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, cast

import pytest

from freehold.engine.clock import ManualClock
from freehold.engine.errors import CloudError, NotFound, Unavailable
from freehold.engine.keys import KeyRing
from freehold.kube import errors as kube
from freehold.operator.metadata.accounts_aws import ABSENT_SECONDS, RegionIndex
from freehold.operator.metadata.one_pass import PassMemory
from freehold.operator.metadata.places import TagPlace
from freehold.operator.metadata.record_head import Head, merged
from freehold.operator.metadata.risks import Risks
from freehold.operator.metadata.trouble import PATIENCE, Trouble
from freehold.operator.metadata.work import _confirmed
from freehold.operator.metadata.writes import Written
from freehold.providers.aws.tags.tag_map import Tags
from freehold.providers.aws.tags.tagger import AwsTagger
from freehold.reconcilers.metadata.clusters import cluster_keys
from freehold.reconcilers.metadata.demand import Demand, Place
from freehold.reconcilers.metadata.fleet import Common, plan_fleet
from freehold.reconcilers.metadata.outcome import Outcome, Repair
from freehold.reconcilers.metadata.references import Provider, Reference
from freehold.reconcilers.metadata.writer import Begun, annotation, writer_of
from freehold.tagging.classifiers import Classifiers, Condition
from freehold.tagging.protected import IgnoreList
from freehold.tagging.resources import Cloud, Resource
from freehold.tagging.wanted_keys import Reason
from harness.tagged_fleet import claim, reasons, update, volume, written

ARN = "arn:aws:quicksight:eu-west-1:111122223333:dashboard/d-1"
RING = KeyRing.single(b"r" * 32)
NOBODY = frozenset[str]()
TagsOfArn = Mapping[str, Tags]


# -- the writer -------------------------------------------------------------------------------------------------


def _provider(kind: str = "AWSMetadata", namespace: str = "team", name: str = "tags", text: str = "") -> Provider:
    annotations = {"freehold.dev/tags-writer": text} if text else {}
    metadata = {"namespace": namespace, "name": name, "uid": f"uid-{namespace}", "annotations": annotations}
    return Provider(kind, {"metadata": metadata})


@pytest.mark.parametrize(
    "other", [{"namespace": "other"}, {"name": "other"}, {"kind": "IBMMetadata"}], ids=["namespace", "name", "kind"]
)
def test_a_signed_writer_says_nothing_on_another_object(other: dict[str, str]) -> None:
    """Whoever copies it would remove what was written for the first one."""
    text = annotation(_provider(), "uid-first", RING)
    assert writer_of(_provider(text=text), RING).uid == "uid-first"
    assert writer_of(_provider(text=text, **other), RING).begun is Begun.NOT_YET


# -- the record -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ours_is_first", [True, False])
def test_of_two_heads_each_shard_has_the_higher_count(ours_is_first: bool) -> None:
    """What was counted must not be lost: an older record would be believed."""
    heads = Head("1", "k", {1: 2, 2: 9}, 3), Head("2", "k", {1: 5, 3: 1}, 7)
    one, other = heads if ours_is_first else reversed(heads)
    found = merged(one, other)
    assert (found.counts, found.base) == ({1: 5, 2: 9, 3: 1}, 7)


# -- the index ----------------------------------------------------------------------------------------------------


class Flickering:
    """An index with these answers, one after the other."""

    def __init__(self, *answers: TagsOfArn) -> None:
        self.answers = list(answers)

    async def by_arn(self, arns: Collection[str]) -> TagsOfArn:
        return self.answers.pop(0)


SHOWN: TagsOfArn = {ARN: {"env": "a"}}
OTHER: TagsOfArn = {ARN: {"env": "b"}}
ABSENT: TagsOfArn = {}


@pytest.mark.parametrize(
    "answers", [(SHOWN, ABSENT), (ABSENT, SHOWN), (SHOWN, OTHER)], ids=["then absent", "then there", "then another"]
)
async def test_an_index_that_flickers_is_not_believed(answers: tuple[TagsOfArn, TagsOfArn]) -> None:
    clock = ManualClock()
    index = RegionIndex(clock)
    for _ in range(2):
        found = await index.read([ARN], cast("AwsTagger", Flickering(*answers)))
        assert isinstance(found[ARN], Unavailable)
        clock.advance(ABSENT_SECONDS)


async def test_what_an_index_shows_again_is_not_gone_by_an_earlier_look() -> None:
    clock = ManualClock()
    index = RegionIndex(clock)
    for answer, gone in ((ABSENT, False), (SHOWN, False), (ABSENT, False), (ABSENT, True)):
        found = await index.read([ARN], cast("AwsTagger", Flickering(answer, answer)))
        assert (found[ARN] == {}) is gone
        clock.advance(ABSENT_SECONDS)


# -- what is gone -------------------------------------------------------------------------------------------------


class Shown:
    """A place that reads these resources."""

    def __init__(self, found: Mapping[str, Resource | CloudError]) -> None:
        self.found = found

    async def read(self, ids: Collection[str]) -> Mapping[str, Resource | CloudError]:
        return {ident: self.found[ident] for ident in ids}


async def test_gone_is_only_what_the_resource_itself_does_not_show() -> None:
    """Of what is not known the record forgets nothing: it would stay for ever."""
    found = {"none": NotFound("no"), "bare": volume({}), "unknown": Unavailable("no"), "there": volume({"a": "1"})}
    place = cast("TagPlace", Shown(cast("Any", found)))
    done = await _confirmed(Written(vanished=set(found), unsure={"before"}), place)
    assert (done.vanished, done.unsure) == ({"none", "bare"}, {"unknown", "there", "before"})


# -- rivals -------------------------------------------------------------------------------------------------------


def _demand(value: str, name: str, created: float, role: str) -> Demand:
    wants = claim(update(env=value), name=name, created=created)
    place = Place(Cloud.AWS, name, ("eu-west-1",), role=role)
    classifiers = Classifiers(frozenset({Condition("fleet", "a")}))
    return Demand(wants.claimant, wants, classifiers, place, 600.0, {"env": value})


@pytest.mark.parametrize(
    ("account", "meets"), [("111122223333", True), ("444455556666", False)], ids=["one account", "two accounts"]
)
@pytest.mark.parametrize("others", [1, 2])
def test_two_roles_of_one_account_meet_on_its_resources(account: str, meets: bool, others: int) -> None:
    """Else each sets back what the other one wrote, without end."""
    acting = _demand("mine", "mine", 9.0, "arn:aws:iam::111122223333:role/mine")
    rivals = [_demand("theirs", f"r{n}", float(n), f"arn:aws:iam::{account}:role/r{n}") for n in range(others)]
    common = Common(IgnoreList(), {}, cluster_keys([]))
    resource = volume({"fleet": "a"})
    done = plan_fleet([resource], acting, rivals, lambda ident: {}, common).plans[resource.id]
    assert written(done) == ({} if meets else {"env": "mine"})
    assert ([reason for _, reason in reasons(done)] == [Reason.CONFLICT]) is meets


# -- memory -------------------------------------------------------------------------------------------------------


def test_two_keys_of_one_resource_and_of_two_are_contested_each_by_itself() -> None:
    memory = PassMemory()
    at = [("arn-1", "a"), ("arn-1", "b"), ("arn-2", "a")]
    repairs = tuple(Repair(resource, key, NOBODY, "v") for resource, key in at)
    for number in range(3):
        memory.written(Outcome(selected=2, repairs=repairs), number * 600.0, 600.0)
    assert memory.contested(1800.0, 600.0) == {"arn-1": {"a", "b"}, "arn-2": {"a"}}


def test_patience_with_one_object_is_not_used_up_by_another() -> None:
    """The API server is troubled for two references in turns; one of them is over."""
    trouble, problem = Trouble(), kube.Conflict("again")
    first, second = Reference("AWSMetadata", "ns", "a"), Reference("AWSMetadata", "ns", "b")
    for _ in range(PATIENCE):
        assert trouble.told("ns/x", first, problem) is None
        assert trouble.told("ns/x", second, problem) is None
        assert trouble.told("ns/y", first, problem) is None
    trouble.over("ns/x", first)
    assert trouble.told("ns/x", first, problem) is None
    assert trouble.told("ns/x", second, problem) is not None
    assert trouble.told("ns/y", first, problem) is not None


def test_what_two_others_would_overwrite_is_counted_together() -> None:
    risks, provider = Risks(), _provider()
    clouds = [{"metadata": {"uid": f"uid-{number}", "generation": 1}} for number in range(2)]
    risks.tell(provider, clouds[0], frozenset({"arn-1"}))
    assert risks.of_others(provider, clouds) is None
    risks.tell(provider, clouds[1], frozenset({"arn-2"}))
    assert risks.of_others(provider, clouds) == {"arn-1", "arn-2"}
    risks.tell(_provider(namespace="other"), clouds[0], frozenset({"arn-3"}))
    assert risks.of_others(provider, clouds) == {"arn-1", "arn-2"}
