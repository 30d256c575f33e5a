"""A name that another stored cluster has is refused when it is applied, where both say the same of their account."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from freehold.admission import name_check
from freehold.admission.name_check import NameCheck
from freehold.admission.review import Reviewer, Verdict, parse_review
from freehold.admission.rules import Rules
from freehold.admission.webhook_configuration import CHECKED
from freehold.api import names
from freehold.engine import journal as journals
from freehold.engine.journal import Entry, Journal, RecordState
from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey
from freehold.kube import errors as kube
from freehold.kube.object_client import ObjectList
from freehold.kube.resources import Json, Resource

GROUP = "infrastructure.cluster.x-k8s.io"
BEGUN = journals.dumps(
    Journal(Owner("u", "AWSCluster", "theirs", "c1")).put(NodeKey("aws_vpc", "main"), Entry(RecordState.OWNED, "vpc-1"))
)


def cluster(namespace: str, name: str = "c1", spec: Json | None = None, **metadata: Any) -> Json:
    found = {"namespace": namespace, "name": name, "uid": namespace, **metadata}
    return {"kind": "AWSCluster", "metadata": found, "spec": {"region": "eu-central-1", **(spec or {})}}


class Stored:
    """The stored objects, found as an API server finds them."""

    def __init__(self, *objects: Json) -> None:
        self.objects = objects
        self.asked: list[str] = []

    async def list(
        self, resource: Resource, namespace: str = "", *, label_selector: str = "", field_selector: str = ""
    ) -> ObjectList:
        self.asked.append(f"{namespace} {field_selector}{label_selector}")
        found = [
            each
            for each in self.objects
            if namespace in ("", each["metadata"]["namespace"])
            and field_selector in ("", f"metadata.name={each['metadata']['name']}")
            and (not label_selector or label_selector in map("=".join, each["metadata"].get("labels", {}).items()))
        ]
        return ObjectList(found, "1")


async def taken(new: Json, *stored: Json) -> str:
    found = await NameCheck(Stored(*stored)).find_problem(GROUP, "AWSCluster", new)
    return str(found or "")


async def test_a_name_that_an_older_one_has_is_refused_with_the_operators_sentence() -> None:
    said = await taken(cluster("ours"), cluster("theirs"))
    assert said == (
        "metadata.name: 'c1' is the name of another cluster in the same account: AWSCluster theirs/c1, which is older "
        "and has made nothing so far; nothing is created. Choose another name, or, if nobody needs that one, delete "
        "it: freehold down c1 -n theirs"
    )


async def test_one_that_has_resources_is_not_offered_to_be_deleted() -> None:
    said = await taken(cluster("ours"), cluster("theirs", annotations={names.JOURNAL_ANNOTATION: BEGUN}))
    assert "which has resources or is about to" in said and "freehold down" not in said


async def test_the_name_in_a_label_counts() -> None:
    labels = {names.CLUSTER_NAME_LABEL: "c1"}
    assert "AWSCluster theirs/other" in await taken(cluster("ours"), cluster("theirs", "other", labels=labels))
    assert "AWSCluster theirs/c1" in await taken(cluster("ours", "other", labels=labels), cluster("theirs"))


@pytest.mark.parametrize(
    "other",
    [
        cluster("theirs", spec={"region": "eu-west-1"}),
        cluster("theirs", spec={"identityRef": {"kind": "AWSClusterRoleIdentity", "name": "a"}}),
        cluster("theirs", annotations={names.MANAGED_BY_ANNOTATION: "them"}),
        cluster("theirs", deletionTimestamp="2026-11-28T00:00:00Z"),
        cluster("theirs", "c2"),
        cluster("theirs", labels={names.CLUSTER_NAME_LABEL: "c2"}),
        cluster("ours"),
    ],
    ids=["another region", "another identity", "managed by others", "going", "another name", "another label", "itself"],
)
async def test_what_may_be_in_another_account_or_holds_no_name_refuses_nothing(other: Json) -> None:
    assert await taken(cluster("ours"), other) == ""


async def test_kinds_whose_names_need_not_differ_are_not_looked_for() -> None:
    stored = Stored()
    assert await NameCheck(stored).find_problem(GROUP, "AWSMachine", cluster("ours")) is None
    assert await NameCheck(stored).find_problem(GROUP, "AWSCluster", cluster("ours", "")) is None
    assert stored.asked == []


async def test_an_operator_of_one_namespace_looks_there_alone() -> None:
    stored = Stored(cluster("theirs"))
    assert await NameCheck(stored, "ours").find_problem(GROUP, "AWSCluster", cluster("ours")) is None
    assert [each.partition(" ")[0] for each in stored.asked] == ["ours", "ours"]


class Silent(Stored):
    """An API server that answers nothing."""

    def __init__(self, problem: kube.KubeError | None) -> None:
        super().__init__()
        self._problem = problem

    async def list(self, *args: Any, **more: Any) -> ObjectList:
        if self._problem is not None:
            raise self._problem
        await asyncio.Event().wait()
        raise AssertionError("unreachable")


@pytest.mark.parametrize("problem", [kube.Forbidden("no"), kube.ServerUnavailable("gone"), None])
async def test_without_an_answer_it_is_left_to_the_operator(
    problem: kube.KubeError | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(name_check, "PATIENCE_SECONDS", 0.01)
    assert await NameCheck(Silent(problem)).find_problem(GROUP, "AWSCluster", cluster("ours")) is None


async def test_a_name_is_judged_in_a_create_alone_and_not_of_what_comes_back() -> None:
    reviewer = Reviewer(Rules(), CHECKED, NameCheck(Stored(cluster("theirs"))))

    async def verdict(new: Json, old: Json | None = None) -> Verdict:
        kind = {"group": GROUP, "version": "v1beta2", "kind": "AWSCluster"}
        asked = {"uid": "u", "operation": "UPDATE" if old else "CREATE", "kind": kind, "object": new, "oldObject": old}
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked}
        return (await reviewer.answer(parse_review(review))).verdict

    assert await verdict(cluster("ours")) is Verdict.DENIED
    assert await verdict(cluster("ours", spec={"sshKeyName": "k"}), cluster("ours")) is Verdict.ALLOWED
    assert await verdict(cluster("ours", annotations={names.JOURNAL_ANNOTATION: BEGUN})) is Verdict.ALLOWED


async def test_a_spec_that_is_none_is_left_to_the_rules() -> None:
    new = {**cluster("ours"), "spec": [1]}
    assert await NameCheck(Stored(cluster("theirs"))).find_problem(GROUP, "AWSCluster", new) is None
