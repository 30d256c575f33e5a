"""Answers to the API server: what must go on always does, and a refusal names the field."""

from __future__ import annotations

from typing import Any

import pytest

from freehold.admission.review import NotAReview, Reviewer, Verdict, build_response, parse_review
from freehold.admission.rules import Rules
from freehold.admission.webhook_configuration import CHECKED
from freehold.api import names
from freehold.engine import journal as journals
from freehold.engine.journal import Entry, Journal, RecordState
from freehold.engine.ownership import Owner
from freehold.kube.stepping import run_blocking
from freehold.providers.aws.control_plane.keys import CLUSTER
from harness.rows import over_rows

Json = dict[str, Any]
GROUP = "infrastructure.cluster.x-k8s.io"
REVIEWER = Reviewer(Rules(), CHECKED)
RIGHT: Json = {"region": "eu-central-1"}
WRONG: Json = {"region": "eu-central-1", "sshKeyName": " k "}
WORSE: Json = {**WRONG, "partition": "aws-cn"}


def cluster(spec: Json | None, annotations: Json | None = None, **metadata: Any) -> Json:
    found = {"name": "c1", "namespace": "ns", "annotations": annotations or {}, **metadata}
    raw: Json = {"apiVersion": f"{GROUP}/v1beta2", "kind": "AWSCluster", "metadata": found}
    return raw if spec is None else raw | {"spec": spec}


def review(new: Json | None, old: Json | None = None, **request: Any) -> Json:
    asked = {
        "uid": "u1",
        "operation": "CREATE" if old is None else "UPDATE",
        "kind": {"group": GROUP, "version": "v1beta2", "kind": "AWSCluster"},
        "object": new,
        "oldObject": old,
        **request,
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked}


def respond(body: Json) -> Json:
    question = parse_review(body)
    response: Json = build_response(question, run_blocking(REVIEWER.answer(question)))["response"]
    assert response["uid"] == "u1"
    return response


def test_a_wrong_object_is_refused_with_the_name_of_its_field() -> None:
    response = respond(review(cluster(WRONG)))
    assert response["allowed"] is False
    status = response["status"]
    assert (status["code"], status["reason"]) == (422, "Invalid")
    assert status["message"].startswith("spec.sshKeyName: ' k ' is not the name of an SSH key")
    assert [cause["field"] for cause in status["details"]["causes"]] == ["spec.sshKeyName"]


def test_a_dry_run_is_answered_in_the_same_way() -> None:
    assert respond(review(cluster(WRONG), dryRun=True)) == respond(review(cluster(WRONG)))


def test_a_right_object_is_allowed_without_a_word() -> None:
    assert respond(review(cluster(RIGHT))) == {"uid": "u1", "allowed": True}


def test_a_field_that_is_not_acted_on_is_a_warning() -> None:
    unserved = {**RIGHT, "network": {"vpc": {"carrierGatewayId": "cagw-1"}}}
    response = respond(review(cluster(unserved)))
    assert response["allowed"] is True and len(response["warnings"]) == 1
    assert "not acted on" in response["warnings"][0] and len(response["warnings"][0]) <= 256


@pytest.mark.parametrize("annotation", [names.PAUSED_ANNOTATION, names.JOURNAL_ANNOTATION])
def test_what_is_paused_or_comes_back_with_a_record_is_only_warned_about(annotation: str) -> None:
    """A backup that could not be restored would leave what it owns without an object."""
    response = respond(review(cluster(WRONG, {annotation: "{"})))
    assert response["allowed"] is True and response["warnings"][0].startswith("spec.sshKeyName: ")


@pytest.mark.parametrize("annotation", [names.PAUSED_ANNOTATION, names.JOURNAL_ANNOTATION])
def test_a_change_that_makes_a_living_or_paused_object_wrong_is_refused(annotation: str) -> None:
    response = respond(review(cluster(WRONG, {annotation: "{"}), cluster(RIGHT, {annotation: "{"})))
    assert response["allowed"] is False


def test_what_others_manage_is_not_judged() -> None:
    assert respond(review(cluster(WRONG, {names.MANAGED_BY_ANNOTATION: "them"}))) == {"uid": "u1", "allowed": True}


WRITES: dict[str, tuple[Json, Json, Json]] = {
    "a delete": (review(None, cluster(WRONG)), {}, {"operation": "DELETE"}),
    "a status": (review(cluster(WORSE), cluster(RIGHT)), {}, {"subResource": "status"}),
    "a finalizer": (review(cluster(WRONG, finalizers=["a"]), cluster(WRONG)), {}, {}),
    "a label": (review(cluster(WRONG, labels={"a": "b"}), cluster(WRONG)), {}, {}),
    "a record": (review(cluster(WRONG, {names.JOURNAL_ANNOTATION: "{}"}), cluster(WRONG)), {}, {}),
    "an object that is being deleted": (
        review(cluster(WORSE, deletionTimestamp="2026-11-28T00:00:00Z"), cluster(RIGHT)), {}, {},
    ),
    "an object without a spec": (review(cluster(None), cluster(None)), {}, {}),
}  # fmt: skip


@pytest.mark.parametrize(("body", "_", "request_"), WRITES.values(), ids=WRITES.keys())
def test_what_must_always_go_on_is_allowed(body: Json, _: Json, request_: Json) -> None:
    body["request"] |= request_
    assert respond(body) == {"uid": "u1", "allowed": True}


def test_what_must_always_go_on_is_allowed_although_a_rule_has_a_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object) -> None:
        raise AssertionError("no rule may run")

    monkeypatch.setattr(Rules, "judge", fail)
    for body, _, request in WRITES.values():
        body["request"] |= request
        question = parse_review(body)
        assert run_blocking(REVIEWER.answer(question)).verdict is Verdict.ALLOWED


def test_a_defect_of_a_rule_keeps_nobody_from_writing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reconciler judges the object again, and creates nothing that it refuses."""

    def fail(*args: object) -> None:
        raise RuntimeError("secret-canary")

    monkeypatch.setattr(Rules, "judge", fail)
    question = parse_review(review(cluster(WRONG)))
    answer = run_blocking(REVIEWER.answer(question))
    assert answer.verdict is Verdict.ERROR and answer.is_allowed
    assert "canary" not in str(build_response(question, answer))


def test_an_update_is_refused_for_what_it_makes_wrong_alone() -> None:
    response = respond(review(cluster(WORSE), cluster(WRONG)))
    assert response["allowed"] is False
    assert [cause["field"] for cause in response["status"]["details"]["causes"]] == ["spec.partition"]


def test_an_object_that_was_wrong_before_stays_writable() -> None:
    response = respond(review(cluster({**WRONG, "imageLookupBaseOS": "x"}), cluster(WRONG)))
    assert response["allowed"] is True and response["warnings"][0].startswith("spec.sshKeyName: ")
    assert respond(review(cluster(RIGHT), cluster(WRONG)))["allowed"] is True


@pytest.mark.parametrize("annotation", names.COLLECTION_ANNOTATIONS)
def test_an_annotation_that_is_checked_is_judged_in_an_update_too(annotation: str) -> None:
    assert respond(review(cluster(RIGHT, {annotation: "junk"}), cluster(RIGHT)))["allowed"] is False


def test_what_the_record_says_for_life_cannot_be_changed() -> None:
    """No rule of the schema can know it: the cluster took its name from the object's."""
    owner = Owner("u", "AWSManagedControlPlane", "ns", "c1")
    made = Entry(RecordState.OWNED, "arn:aws:eks:us-east-1:111122223333:cluster/ns_c1")
    record = journals.dumps(Journal(owner).put(CLUSTER, made))
    group, kind = "controlplane.cluster.x-k8s.io", "AWSManagedControlPlane"

    def control_plane(**spec: str) -> Json:
        found = cluster({"region": "us-east-1", **spec}, {names.JOURNAL_ANNOTATION: record})
        return {**found, "apiVersion": f"{group}/v1beta2", "kind": kind}

    asked = {"group": group, "version": "v1beta2", "kind": kind}
    body = review(control_plane(eksClusterName="other"), control_plane(), kind=asked)
    assert [each.field for each in run_blocking(REVIEWER.answer(parse_review(body))).problems] == [
        "spec.eksClusterName"
    ]


def test_an_object_without_a_name_yet_is_judged() -> None:
    unnamed = cluster(RIGHT)
    del unnamed["metadata"]["name"]
    assert respond(review(unnamed | {"spec": WRONG}))["allowed"] is False
    assert respond(review(unnamed))["allowed"] is True


def test_a_kind_without_rules_is_allowed_with_a_warning() -> None:
    body = review(cluster(WRONG), kind={"group": "example.com", "version": "v1", "kind": "Widget"})
    response = respond(body)
    assert response["allowed"] is True
    assert response["warnings"] == ["Widget of group 'example.com' has no rules here: nothing was checked"]
    assert REVIEWER.title_of(parse_review(body)) == "other"


JUNK: dict[str, Any] = {
    "a text": "x",
    "a list": [],
    "nothing": {},
    "another version": {**review(cluster(RIGHT)), "apiVersion": "admission.k8s.io/v1beta1"},
    "no request": {"apiVersion": "admission.k8s.io/v1", "request": None},
    "no uid": review(cluster(RIGHT), uid=""),
    "no kind": review(cluster(RIGHT), kind=None),
    "no operation": review(cluster(RIGHT), operation=None),
    "no object": review(None),
    "an object that is none": review({"metadata": 1}),
    "a uid that is no text": review(cluster(RIGHT), uid={"a": 1}),
    "a kind that is no text": review(cluster(RIGHT), kind={"group": ["a"], "kind": {}}),
    "annotations that are a list": review({"metadata": {"name": "c1", "annotations": [1]}}),
    "an annotation that is a number": review(cluster(RIGHT, {"a": 1})),
    "labels that are a text": review(cluster(RIGHT, labels="a")),
    "half a character": review(cluster(RIGHT, name="\ud800")),
    "an update without what was before": review(cluster(RIGHT), operation="UPDATE"),
}


@over_rows("body", JUNK.values(), ids=JUNK.keys())
def test_junk_is_no_review(body: Any) -> None:
    with pytest.raises(NotAReview):
        parse_review(body)


@pytest.mark.parametrize("spec", [None, [], "x", 7, {"region": 7}, {"network": []}, {"network": {"vpc": "x"}}])
def test_a_spec_that_no_schema_has_checked_is_refused_or_allowed_and_never_a_defect(spec: Any) -> None:
    raw = cluster(RIGHT) | {"spec": spec}
    assert run_blocking(REVIEWER.answer(parse_review(review(raw)))).verdict in (Verdict.DENIED, Verdict.ALLOWED)
