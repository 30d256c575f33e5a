"""The configuration of the webhook: which writes the API server asks about, and which it never does."""

from __future__ import annotations

from typing import Any

import cel
import pytest

from freehold.admission.review import Reviewer, Verdict, parse_review
from freehold.admission.rules import Findings, Rules
from freehold.admission.webhook_configuration import (
    CERT_MANAGER_ANNOTATION,
    CHECKED,
    WebhookOptions,
    build_webhook_configuration,
    name_configuration,
)
from freehold.api import names
from freehold.kube.stepping import run_blocking
from freehold.providers.ibm.api_names import CREATE_INFRA_ANNOTATION
from freehold.providers.registry import METADATA, SERVED
from freehold_apiserver.cel_functions import FUNCTIONS

Json = dict[str, Any]


def webhook(**options: Any) -> Json:
    (entry,) = build_webhook_configuration(WebhookOptions("freehold-system", **options))["webhooks"]
    found: Json = entry
    return found


def obj(spec: Json | None = None, annotations: Json | None = None, **metadata: Any) -> Json:
    found = {"name": "a", "namespace": "ns", **metadata} | ({"annotations": annotations} if annotations else {})
    return {"metadata": found} if spec is None else {"metadata": found, "spec": spec}


def is_asked(new: Json, old: Json | None, user: str = "somebody") -> bool:
    """Evaluate the conditions as an API server does: a failure would refuse the write."""
    variables = {"object": new, "oldObject": old, "request": {"userInfo": {"username": user}}}
    context = cel.Context(variables, dict(FUNCTIONS))
    outcomes = [cel.compile(each["expression"]).execute(context) for each in webhook()["matchConditions"]]
    assert {type(each) for each in outcomes} == {bool}
    return all(outcomes)


ITSELF = "system:serviceaccount:freehold-system:freehold-operator"
GOING = {"deletionTimestamp": "2026-11-28T00:00:00Z"}
GC = names.EXTERNAL_RESOURCE_GC_ANNOTATION

ASKED: dict[str, tuple[Json, Json | None]] = {
    "a create": (obj({"a": 1}), None),
    "a create without a spec": (obj(), None),
    "a change of the spec": (obj({"a": 2}), obj({"a": 1})),
    "a spec that is added": (obj({"a": 1}), obj()),
    "a spec that is removed": (obj(), obj({"a": 1})),
    "an annotation that is checked": (obj({}, {GC: "no"}), obj({})),
    "another value of it": (obj({}, {GC: "no"}), obj({}, {GC: "yes"})),
    "an empty value of it": (obj({}, {GC: ""}), obj({})),
    "its removal": (obj({}, {"a": "b"}), obj({}, {GC: "yes", "a": "b"})),
    "the annotation of IBM": (obj({}, {CREATE_INFRA_ANNOTATION: "x"}), obj({}, {"a": "b"})),
}
NOT_ASKED: dict[str, tuple[Json, Json | None]] = {
    "no change": (obj({"a": 1}), obj({"a": 1})),
    "a finalizer": (obj({}, finalizers=["f"]), obj({})),
    "a label": (obj({}, labels={"a": "b"}), obj({})),
    "an owner": (obj({}, ownerReferences=[{"kind": "Cluster"}]), obj({})),
    "our record": (obj({}, {names.JOURNAL_ANNOTATION: "{}"}), obj({})),
    "a pause": (obj({}, {names.PAUSED_ANNOTATION: "", GC: "true"}), obj({}, {GC: "true"})),
    "an object without a spec": (obj(), obj(labels={"a": "b"})),
    "an object that is being deleted": (obj({"a": 2}, **GOING), obj({"a": 1}, **GOING)),
    "the beginning of a deletion": (obj({"a": 1}, **GOING), obj({"a": 1})),
}


@pytest.mark.parametrize(("new", "old"), ASKED.values(), ids=ASKED.keys())
def test_what_can_make_an_object_wrong_is_asked_about(new: Json, old: Json | None) -> None:
    assert is_asked(new, old)


@pytest.mark.parametrize(("new", "old"), NOT_ASKED.values(), ids=NOT_ASKED.keys())
def test_what_must_go_on_is_never_asked_about(new: Json, old: Json | None) -> None:
    assert not is_asked(new, old)


@pytest.mark.parametrize(("new", "old"), ASKED.values(), ids=ASKED.keys())
def test_the_operators_own_writes_are_never_asked_about(new: Json, old: Json | None) -> None:
    assert not is_asked(new, old, ITSELF)


@pytest.mark.parametrize(("new", "old"), NOT_ASKED.values(), ids=NOT_ASKED.keys())
def test_an_api_server_without_conditions_gets_the_same_answer(
    new: Json, old: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are in API servers since Kubernetes 1.28."""

    def fail(*args: object) -> Findings:
        raise AssertionError("nothing is judged")

    monkeypatch.setattr(Rules, "judge", fail)
    for kind in CHECKED:
        named = {"group": kind.group, "version": kind.version, "kind": kind.kind}
        asked = {"uid": "u", "operation": "UPDATE", "kind": named, "object": new, "oldObject": old}
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked}
        assert run_blocking(Reviewer(Rules(), CHECKED).answer(parse_review(review))).verdict is Verdict.ALLOWED


def test_creates_and_updates_of_every_kind_are_asked_about_and_nothing_else() -> None:
    rules = webhook()["rules"]
    assert {operation for rule in rules for operation in rule["operations"]} == {"CREATE", "UPDATE"}
    asked = {(group, plural) for rule in rules for group in rule["apiGroups"] for plural in rule["resources"]}
    assert asked == {(each.group, each.plural) for each in (*SERVED, *METADATA)}
    assert not [plural for _, plural in asked if "/" in plural or "*" in plural], "no status and no scale"


def test_a_write_is_refused_while_nobody_answers() -> None:
    found = webhook()
    assert (found["failurePolicy"], found["sideEffects"], found["matchPolicy"]) == ("Fail", "None", "Equivalent")
    assert found["timeoutSeconds"] == 5
    service = {"name": "freehold-webhook", "namespace": "freehold-system", "path": "/validate", "port": 443}
    assert found["clientConfig"] == {"service": service}


def test_an_installation_of_one_namespace_and_one_filter_is_asked_about_no_other_object() -> None:
    found = webhook(watched="team", watch_filter="blue")
    assert found["namespaceSelector"] == {"matchLabels": {"kubernetes.io/metadata.name": "team"}}
    assert found["objectSelector"] == {"matchLabels": {"cluster.x-k8s.io/watch-filter": "blue"}}
    assert not {"namespaceSelector", "objectSelector"} & webhook().keys()


def test_only_the_kinds_of_the_chosen_providers_are_asked_about() -> None:
    found = webhook(kinds=[each for each in CHECKED if each.kind == "AWSMachine"])
    assert [rule["resources"] for rule in found["rules"]] == [["awsmachines"]]
    assert len(found["matchConditions"]) == 3


def test_two_installations_have_configurations_of_their_own() -> None:
    assert name_configuration("a") != name_configuration("b")


def test_cert_manager_is_told_whose_authority_to_put_in() -> None:
    found = build_webhook_configuration(WebhookOptions("ns", certificate="webhook"))
    assert found["metadata"]["annotations"] == {CERT_MANAGER_ANNOTATION: "ns/webhook"}
    assert "annotations" not in build_webhook_configuration(WebhookOptions("ns"))["metadata"]
