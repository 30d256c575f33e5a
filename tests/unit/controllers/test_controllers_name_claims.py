"""Of several stored objects of one name in one account, one begins: the first one (NameClaims)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from freehold.api import names
from freehold.controllers.name_claims import HolderReason, NameClaims, NameHolder
from freehold.engine import journal as journals
from freehold.engine.errors import Unavailable
from freehold.engine.graph import Graph
from freehold.engine.journal import Entry, Journal, RecordState
from freehold.engine.outcomes import Reason
from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey
from freehold.engine.tag_text import text
from freehold.kube.resources import Json, Key, key_of
from freehold.providers.access.accounts import NoCredentials
from freehold.providers.aws.cluster.kind import AWS_CLUSTER
from freehold.providers.aws.tags.capa_tags import cluster_key
from freehold.providers.objects.adapter import GraphMode, WantedGraph
from harness.aws_cluster import AwsHarness, aws_cluster
from harness.aws_network import own, planned

HERE, THERE = "111122223333/us-east-1", "111122223333/eu-west-1"
EARLY, LATE = "2026-01-01T10:00:00Z", "2026-01-01T10:00:01Z"


def twin(namespace: str, created: str = EARLY, uid: str = "", **metadata: Any) -> Json:
    return {
        "apiVersion": f"{AWS_CLUSTER.group}/{AWS_CLUSTER.version}",
        "kind": AWS_CLUSTER.kind,
        "metadata": {
            "name": "twin", "namespace": namespace, "uid": uid or namespace, "creationTimestamp": created, **metadata,
        },
        "spec": {"region": "us-east-1"},
    }  # fmt: skip


def recorded(raw: Json, account: str = HERE, phase: RecordState = RecordState.OWNED, cluster: str = "twin") -> Json:
    """With a VPC on record, which was made for the cluster of this name."""
    owner = Owner(raw["metadata"]["uid"], raw["kind"], raw["metadata"]["namespace"], raw["metadata"]["name"])
    vpc = Entry(phase, id="vpc-1", node_tags=(text(cluster_key(cluster), "owned"),))
    journal = Journal(owner, {NodeKey("vpc", "main"): vpc}, account)
    annotations = {names.JOURNAL_ANNOTATION: journals.dumps(journal)}
    return {**raw, "metadata": {**raw["metadata"], "annotations": annotations}}


class Account:
    """Of a CloudAccount, what is asked here. ``account`` is None while the cloud does not answer."""

    def __init__(self, account: str | None) -> None:
        self._account = account

    async def read_account(self) -> str:
        if self._account is None:
            raise Unavailable("no answer")
        return self._account


@dataclass(frozen=True)
class Bound:
    """Of a Binding, what is asked here."""

    cloud: Account


@dataclass
class Accounts:
    """By namespace; ``HERE`` where nothing else is said."""

    of: Mapping[str, Any] = field(default_factory=dict)

    async def bind(self, raw: Json) -> Any:
        found = self.of.get(raw["metadata"]["namespace"], HERE)
        return found if isinstance(found, NoCredentials) else Bound(Account(found))


def holder(raw: Json, *others: Json, **of: Any) -> str | None:
    claims = NameClaims(AWS_CLUSTER, Accounts(of), lambda: [raw, *others])
    found = asyncio.run(claims.claim_name(raw, HERE))
    return None if found is None else str(found.object)


def test_the_older_one_begins_and_the_younger_one_is_told_its_name() -> None:
    older, younger = twin("a"), twin("b", LATE)
    assert (holder(older, younger), holder(younger, older)) == (None, "a/twin")


def test_of_one_second_the_uid_decides() -> None:
    first, second = twin("b", uid="1"), twin("a", uid="2")
    assert (holder(first, second), holder(second, first)) == (None, "b/twin")


@pytest.mark.parametrize("phase", [RecordState.OWNED, RecordState.INTENDED, RecordState.GIVEN])
def test_what_has_records_is_not_stopped_by_what_is_older(phase: RecordState) -> None:
    """It was paused, say, while the younger one began: it must not take the name from a living cluster."""
    assert holder(twin("a"), recorded(twin("b", LATE), phase=phase)) == "b/twin"


@pytest.mark.parametrize(
    ("other", "of"),
    [
        pytest.param(twin("a"), {"a": THERE}, id="another region"),
        pytest.param(twin("a"), {"a": "444455556666/us-east-1"}, id="another account"),
        pytest.param(recorded(twin("a"), THERE), {}, id="another region, on record"),
        pytest.param(twin("a"), {"a": NoCredentials("no identity")}, id="it has no credentials: it begins nothing"),
        pytest.param(twin("a"), {"a": None}, id="its account is not known: it asks when it is"),
        pytest.param(twin("a", deletionTimestamp=LATE), {}, id="it goes, and has nothing"),
        pytest.param(twin("a", annotations={names.MANAGED_BY_ANNOTATION: "capa"}), {}, id="something else manages it"),
        pytest.param(twin("a", labels={names.CLUSTER_NAME_LABEL: "big"}), {}, id="its cluster has another name"),
        pytest.param({**twin("a"), "metadata": {**twin("a")["metadata"], "name": "other"}}, {}, id="another name"),
    ],
)
def test_what_is_not_of_the_name_and_the_account_stops_nobody(other: Json, of: dict[str, Any]) -> None:
    assert holder(twin("b", LATE), other, **of) is None


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(recorded(twin("a", deletionTimestamp=LATE)), id="what goes, and still has something"),
        pytest.param(twin("a", name="x", labels={names.CLUSTER_NAME_LABEL: "twin"}), id="the name is the cluster's"),
        pytest.param(twin("a", annotations={names.PAUSED_ANNOTATION: ""}), id="what is paused goes on some day"),
    ],
)
def test_who_has_the_name(other: Json) -> None:
    assert holder(twin("b", LATE), other) == str(key_of(other))


def test_of_two_that_ask_at_a_time_one_begins() -> None:
    """Each waits for the account of the other in between."""
    pair, both_ask = [twin("a"), twin("b")], asyncio.Barrier(2)

    class Together(Accounts):
        async def bind(self, raw: Json) -> Any:
            await both_ask.wait()
            return await super().bind(raw)

    claims = NameClaims(AWS_CLUSTER, Together(), lambda: pair)

    async def ask() -> list[NameHolder | None]:
        return list(await asyncio.gather(*(claims.claim_name(each, HERE) for each in reversed(pair))))

    younger, older = asyncio.run(ask())
    assert younger is not None and younger.object == Key("a", "twin") and older is None


def test_what_this_process_has_let_begin_goes_before_an_older_one_that_appears_now() -> None:
    """Of one second, with the smaller uid. The record of the first one is stored only when its pass has saved it."""
    stored = [twin("b", uid="2")]
    claims = NameClaims(AWS_CLUSTER, Accounts(), lambda: stored)
    assert asyncio.run(claims.claim_name(stored[0], HERE)) is None
    stored.append(twin("a", uid="1"))
    assert asyncio.run(claims.claim_name(stored[1], HERE)) == NameHolder(Key("b", "twin"), HolderReason.HAS_BEGUN)
    del stored[0]
    assert asyncio.run(claims.claim_name(stored[0], HERE)) is None, "the name is free again"


def test_an_object_that_appears_while_accounts_are_asked_for_is_seen() -> None:
    stored = [twin("b", LATE), twin("c", LATE)]

    class Late(Accounts):
        async def bind(self, raw: Json) -> Any:
            if len(stored) == 2:
                stored.append(twin("a"))
            return await super().bind(raw)

    claims = NameClaims(AWS_CLUSTER, Late(), lambda: list(stored))
    assert asyncio.run(claims.claim_name(stored[0], HERE)) == NameHolder(Key("a", "twin"), HolderReason.IS_OLDER)


@pytest.mark.parametrize(
    ("other", "said", "not_said"),
    [
        pytest.param(recorded(twin("a")), "Choose another name", "freehold down", id="nobody is told to delete it"),
        pytest.param(
            recorded(twin("a", deletionTimestamp=LATE)), "until it has gone, and nobody needs to act", "Choose",
            id="a matter of time",
        ),
        pytest.param(twin("a"), "delete it: freehold down twin -n a", "has resources", id="it may never begin"),
    ],
)  # fmt: skip
def test_what_a_person_is_told_depends_on_why_the_other_goes_first(other: Json, said: str, not_said: str) -> None:
    raw = twin("b", LATE)
    claims = NameClaims(AWS_CLUSTER, Accounts(), lambda: [raw, other])
    found = asyncio.run(claims.claim_name(raw, HERE))
    assert found is not None
    ((problem,), *_) = (claims.refuse_name(raw, HERE, found, WantedGraph(GraphMode.CREATE, Graph(()))).problems,)
    assert "'twin' is the name of another cluster" in str(problem) and "AWSCluster a/twin" in str(problem)
    assert said in str(problem) and not_said not in str(problem)


def test_a_label_that_came_later_claims_no_other_name() -> None:
    """Its resources keep the name that they were made with, and so does its claim."""
    other = recorded(twin("a", labels={names.CLUSTER_NAME_LABEL: "twin"}, name="x"), cluster="demo")
    assert holder(twin("b", LATE), other) is None
    assert holder(twin("b", LATE, name="demo"), other) == "a/x"


# --- served ----------------------------------------------------------------------------------------------------


def pair() -> tuple[AwsHarness, AwsHarness]:
    """The younger one and the older one, in one account. Neither has had a pass."""
    first = AwsHarness(aws_cluster(network={"vpc": {"availabilityZoneUsageLimit": 1}}))
    second = AwsHarness(_named("team-b"), beside=first)
    first.object.raw["metadata"]["creationTimestamp"], second.object.raw["metadata"]["creationTimestamp"] = LATE, EARLY
    return first, second


def _named(namespace: str) -> Json:
    raw = aws_cluster(network={"vpc": {"availabilityZoneUsageLimit": 1}})
    return {**raw, "metadata": {**raw["metadata"], "namespace": namespace}}


def test_of_two_objects_that_are_applied_together_one_makes_a_cluster() -> None:
    """The tag index shows neither to the other yet, and the CAPA of both would be one cluster."""
    younger, older = pair()
    younger.pass_once()
    said = younger.condition(names.SPEC_VALID)
    assert (said["status"], said["reason"]) == ("False", Reason.NAME_TAKEN.value)
    assert "AWSCluster team-b/demo, which is older and has made nothing so far; nothing is created" in said["message"]
    assert "freehold down demo -n team-b" in said["message"]
    older.up()
    younger.for_a_while(900)
    assert younger.condition(names.READY)["status"] == "False"
    assert len(own(older, "vpc")) == 1
    older.down()
    younger.up()


def test_a_cluster_that_is_there_is_not_stopped_by_an_older_object_without_records() -> None:
    younger, older = pair()
    older.object.patch({"metadata": {"annotations": {names.PAUSED_ANNOTATION: ""}}})
    older.object.gone = True  # not applied yet
    younger.up()
    older.object.gone = False
    for each in (older, younger):
        each.object.patch({"metadata": {"annotations": {names.PAUSED_ANNOTATION: None}}})
    younger.for_a_while(900)
    older.pass_once()
    assert younger.ready()
    assert older.condition(names.SPEC_VALID)["reason"] == Reason.NAME_TAKEN.value


@pytest.mark.parametrize("passes", [3, 40], ids=["in the middle of its creation", "ready"])
def test_of_two_that_an_earlier_version_let_begin_both_go_on(passes: int) -> None:
    """Nothing stops the healing of a living cluster, whoever is older."""
    younger, older = pair()
    older.object.gone = True
    younger.settle(passes)
    assert younger.ready() is (passes == 40)
    older.object.raw = recorded(older.object.raw, "111122223333/us-east-1", cluster="demo")
    older.object.gone = False
    younger.start_process()
    younger.for_a_while(900)
    assert younger.ready()


def test_an_object_that_was_restored_beside_its_own_resources_is_not_stopped() -> None:
    """From before its first record, by an older one, which its resources stop: neither could go on."""
    younger, older = pair()
    older.object.gone = True
    younger.up()
    versions = [each["metadata"].get("annotations", {}) for each in younger.object.history]
    minted = next(each[names.JOURNAL_ANNOTATION] for each in versions if names.JOURNAL_ANNOTATION in each)
    younger.object.raw.pop("status")
    younger.object.patch({"metadata": {"annotations": {names.JOURNAL_ANNOTATION: minted}}})
    younger.start_process()
    older.object.gone = False
    older.pass_once()
    assert older.condition(names.SPEC_VALID)["reason"] == Reason.NAME_TAKEN.value
    younger.up()
    assert len(own(younger, "vpc")) == 1


def test_a_plan_says_the_same() -> None:
    younger, older = pair()
    (problem,) = planned(younger).problems
    assert problem.startswith("metadata.name: 'demo' is the name of another cluster") and "team-b/demo" in problem
    assert planned(older).problems == ()
