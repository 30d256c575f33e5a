"""Admission webhooks, on any API server: who is asked, with what, and what an answer does."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from e2e_client import JSON_PATCH, MERGE, Http, Kubectl, config_map
from e2e_servers import PATIENCE, steady_port
from e2e_webhooks import CONFIGURATIONS, Webhooks, warnings

from harness.webhook_server import Json, WebhookServer, allow, deny, patch, review, webhook_server

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def hooks() -> Iterator[WebhookServer]:
    with webhook_server() as started:
        yield started


@pytest.fixture
def webhooks(http: Http, hooks: WebhookServer) -> Iterator[Webhooks]:
    hooks.forget()
    set_up = Webhooks(http, hooks)
    yield set_up
    set_up.remove()


def add(path: str, value: Any) -> Json:
    return {"op": "add", "path": path, "value": value}


# What a webhook is sent


def test_create_update_and_delete_are_sent_with_both_objects(webhooks: Webhooks, http: Http) -> None:
    hooks = webhooks.hooks
    hooks.answers["/sent"] = allow()
    webhooks.validating(webhooks.hook("/sent", timeoutSeconds=7))
    made = http.made(http.widgets, http.widget("a", {"size": 1}))
    http.merge(f"{http.widgets}/a", {"spec": {"size": 2}}, fieldManager="me", fieldValidation="Strict")
    http.delete(f"{http.widgets}/a", {"propagationPolicy": "Background"})
    create, update, delete = hooks.seen("/sent")
    kind = {"group": http.group, "version": "v1", "kind": "Widget"}
    resource = {"group": http.group, "version": "v1", "resource": "widgets"}
    for each, operation in ((create, "CREATE"), (update, "UPDATE"), (delete, "DELETE")):
        assert each["kind"] == each["requestKind"] == kind
        assert each["resource"] == each["requestResource"] == resource
        assert (each["operation"], each["namespace"], each["name"]) == (operation, http.namespace, "a")
        assert each["dryRun"] is False and each["userInfo"]["username"] and "subResource" not in each
    assert create["oldObject"] is None and create["object"]["metadata"]["uid"] == made["metadata"]["uid"]
    assert create["object"]["spec"] == made["spec"], "defaults are filled in"
    assert create["options"]["kind"] == "CreateOptions"
    assert (update["oldObject"]["spec"]["size"], update["object"]["spec"]["size"]) == (1, 2)
    wanted = {"kind": "UpdateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "me",
              "fieldValidation": "Strict"}  # fmt: skip
    assert update["options"] == wanted, "a patch is an update"
    assert delete["object"] is None and delete["oldObject"]["spec"]["size"] == 2
    assert delete["options"]["kind"] == "DeleteOptions"
    assert set(hooks.queries("/sent")) == {"timeout=7s"}


def test_mutating_webhook_sees_a_new_object_before_the_server_completes_it(webhooks: Webhooks, http: Http) -> None:
    webhooks.hooks.answers["/early"] = webhooks.hooks.answers["/late"] = allow()
    webhooks.mutating(webhooks.hook("/early"))
    webhooks.validating(webhooks.hook("/late"))
    body = {**http.widget("", {"size": 1}), "metadata": {"generateName": "w-"}, "status": {"ready": True}}
    name = http.made(http.widgets, body)["metadata"]["name"]
    (early,), (late,) = webhooks.hooks.seen("/early"), webhooks.hooks.seen("/late")
    assert "uid" not in early["object"]["metadata"] and early["object"]["status"] == {"ready": True}
    assert early["object"]["spec"]["colour"] == "red"
    assert "status" not in late["object"] and late["object"]["metadata"]["generation"] == 1
    assert late["name"] == late["object"]["metadata"]["name"] == name
    assert early["uid"] != late["uid"]


def test_subresource_is_sent_to_those_that_name_it(webhooks: Webhooks, http: Http) -> None:
    for path in ("/main", "/status", "/all"):
        webhooks.hooks.answers[path] = allow()
    webhooks.validating(
        webhooks.hook("/main", "widgets"), webhooks.hook("/status", "widgets/status"), webhooks.hook("/all", "*/*")
    )
    http.made(http.widgets, http.widget("a", {}))
    http.merge(f"{http.widgets}/a/status", {"status": {"ready": True}, "spec": {"size": 9}})
    assert len(webhooks.hooks.seen("/main")) == 1 and len(webhooks.hooks.seen("/all")) == 2
    (status,) = webhooks.hooks.seen("/status")
    assert status["subResource"] == status["requestSubResource"] == "status"
    assert status["object"]["status"] == {"ready": True} and "size" not in status["object"]["spec"]


def test_selectors_rules_and_scope_decide_who_is_asked(webhooks: Webhooks, http: Http) -> None:
    hook, hooks = webhooks.hook, webhooks.hooks
    selects = {"objectSelector": {"matchExpressions": [{"key": "team", "operator": "In", "values": ["a"]}]}}
    cluster = {"rules": [{**hook("/cluster")["rules"][0], "scope": "Cluster"}]}
    other = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}}
    group = {"rules": [{**hook("/group")["rules"][0], "apiGroups": ["apps"]}]}
    asked = [hook("/yes", operations=("CREATE", "DELETE")), hook("/label", **selects)]
    silent = [hook("/no-op", operations=("DELETE",)), hook("/cluster", **cluster), hook("/other", **other),
              hook("/group", **group)]  # fmt: skip
    for each in (*asked, *silent):
        hooks.answers["/" + each["name"].partition(".")[0]] = allow()
    webhooks.validating(*asked, *silent)
    made = http.made(http.widgets, http.widget("a", labels={"team": "a"}))
    http.merge(f"{http.widgets}/a", {"metadata": {"labels": {"team": "b"}}})
    http.merge(f"{http.widgets}/a", {"spec": {"size": 1}})
    assert made and [each["operation"] for each in hooks.seen("/yes")] == ["CREATE"]
    assert [each["operation"] for each in hooks.seen("/label")] == ["CREATE", "UPDATE"], "the old object counts, too"
    assert not any(hooks.seen(path) for path in ("/no-op", "/cluster", "/other", "/group"))


def test_another_version_of_the_resource_is_sent_where_equivalents_match(webhooks: Webhooks, http: Http) -> None:
    rules = [{**webhooks.hook("/x")["rules"][0], "apiVersions": ["v1beta1"]}]
    webhooks.hooks.answers["/equivalent"] = webhooks.hooks.answers["/exact"] = allow()
    webhooks.validating(
        webhooks.hook("/equivalent", rules=rules), webhooks.hook("/exact", rules=rules, matchPolicy="Exact")
    )
    http.made(http.widgets, http.widget("a"))
    (seen,) = webhooks.hooks.seen("/equivalent")
    assert (seen["kind"]["version"], seen["requestKind"]["version"]) == ("v1beta1", "v1")
    assert seen["object"]["apiVersion"] == f"{http.group}/v1beta1"
    assert not webhooks.hooks.seen("/exact")


def test_large_object_is_sent_whole(webhooks: Webhooks, http: Http) -> None:
    webhooks.hooks.answers["/large"] = deny(message="too large for me")
    webhooks.mutating(webhooks.hook("/large"))
    text = "x" * 2_900_000
    answer = http.post(http.widgets, http.widget("a", {"free": {"text": text}}))
    assert (answer.status_code, "too large for me" in answer.text) == (400, True)
    (seen,) = webhooks.hooks.seen("/large")
    assert seen["object"]["spec"]["free"]["text"] == text


# What an answer does


@pytest.mark.parametrize(
    ("status", "code", "reason", "told"),
    [
        ({"message": "no blue"}, 400, None, ": no blue"),
        ({"message": "no", "code": 403, "reason": "Forbidden"}, 403, "Forbidden", ": no"),
        ({"reason": "Odd", "code": 200}, 400, "Odd", ": Odd"),
        ({}, 400, None, " without explanation"),
    ],
)
def test_denial_is_answered_with_the_status_of_the_webhook(
    webhooks: Webhooks, http: Http, status: Json, code: int, reason: str | None, told: str
) -> None:
    webhooks.hooks.answers["/deny"] = deny(**status)
    webhooks.validating(webhooks.hook("/deny"))
    answer = http.post(http.widgets, http.widget("a"))
    assert (answer.status_code, answer.json().get("reason")) == (code, reason)
    assert answer.json()["message"] == f'admission webhook "deny.e2e.freehold.dev" denied the request{told}'
    assert http.get(f"{http.widgets}/a").status_code == 404


def test_kubectl_prints_warnings_and_denials(webhooks: Webhooks, http: Http, kubectl: Kubectl) -> None:
    webhooks.hooks.answers["/warn"] = allow(warnings=['colour "red" is old', "two"])
    webhooks.hooks.answers["/deny"] = deny(message="not on Mondays")
    webhooks.validating(
        webhooks.hook("/warn", operations=("CREATE",)), webhooks.hook("/deny", operations=("UPDATE", "DELETE"))
    )
    said = kubectl.apply(http.widget("a", {"size": 1}))
    assert 'Warning: colour "red" is old\n' in said and "Warning: two\n" in said
    denied = 'admission webhook "deny.e2e.freehold.dev" denied the request: not on Mondays'
    assert denied in kubectl.fails("annotate", "widget", "a", "x=y")
    assert denied in kubectl.fails("delete", "widget", "a")
    assert denied in kubectl.fails("delete", "widget", "--all")


def test_mutating_webhooks_work_in_turn_and_their_result_is_completed(webhooks: Webhooks, http: Http) -> None:
    hooks = webhooks.hooks
    hooks.answers["/first"] = patch(add("/spec/free", {"by": "first"}), add("/spec/unknown", 1))
    hooks.answers["/second"] = patch(add("/spec/free/and", "second"), add("/spec/parts", [{"name": "p"}]))
    hooks.answers["/check"] = allow()
    webhooks.mutating(webhooks.hook("/second"), name="b")
    webhooks.mutating(webhooks.hook("/first"), name="a")
    webhooks.validating(webhooks.hook("/check"))
    made = http.post(http.widgets, http.widget("a", {"size": 1}), fieldManager="me").json()
    wanted = {"size": 1, "colour": "red", "nested": {"deep": True}, "free": {"by": "first", "and": "second"},
              "parts": [{"name": "p", "count": 1}]}  # fmt: skip
    assert made["spec"] == wanted, "unknown fields are pruned, defaults filled in"
    assert hooks.seen("/second")[0]["object"]["spec"]["free"] == {"by": "first"}
    checked = hooks.seen("/check")[0]["object"]["spec"]
    assert {**checked, "unknown": 1} == {**wanted, "unknown": 1}, "kube-apiserver prunes only what it stores"
    owned = made["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]
    assert "f:size" in owned and "f:free" not in owned, "nobody owns what a webhook sets"


def test_patch_that_breaks_the_schema_is_refused_as_invalid(webhooks: Webhooks, http: Http) -> None:
    webhooks.hooks.answers["/break"] = patch(add("/spec/size", 500))
    webhooks.mutating(webhooks.hook("/break"))
    answer = http.post(http.widgets, http.widget("a", {"size": 1}))
    assert (answer.status_code, answer.json()["reason"]) == (422, "Invalid")
    assert answer.json()["details"]["causes"][0]["field"] == "spec.size"


def test_webhook_is_called_again_only_if_it_asked_and_a_later_one_changed_something(
    webhooks: Webhooks, http: Http
) -> None:
    hooks = webhooks.hooks
    hooks.answers["/again"] = hooks.answers["/once"] = allow()
    hooks.answers["/change"] = lambda request: (
        allow()(request) if "free" in request["object"]["spec"] else patch(add("/spec/free", {}))(request)
    )
    webhooks.mutating(
        webhooks.hook("/again", reinvocationPolicy="IfNeeded"), webhooks.hook("/once"),
        webhooks.hook("/change", reinvocationPolicy="IfNeeded"),
    )  # fmt: skip
    http.made(http.widgets, http.widget("a", {"size": 1}))
    assert [len(hooks.seen(path)) for path in ("/again", "/once", "/change")] == [2, 1, 1]
    http.merge(f"{http.widgets}/a", {"spec": {"size": 2}})
    assert [len(hooks.seen(path)) for path in ("/again", "/once", "/change")] == [3, 2, 2], "nothing was changed"


def test_delete_cannot_be_mutated(webhooks: Webhooks, http: Http) -> None:
    http.made(http.widgets, http.widget("a"))
    webhooks.hooks.answers["/mutate"] = patch(add("/spec", {}))
    webhooks.mutating(webhooks.hook("/mutate", operations=("DELETE",), failurePolicy="Ignore"))
    answer = http.delete(f"{http.widgets}/a")
    assert answer.status_code == 500
    assert 'admission webhook "mutate.e2e.freehold.dev" attempted to modify the object' in answer.json()["message"]
    assert http.get(f"{http.widgets}/a").status_code == 200


def test_objects_of_a_deleted_collection_are_sent_one_by_one(webhooks: Webhooks, http: Http) -> None:
    for name in ("a", "b"):
        http.made(http.widgets, http.widget(name))
    webhooks.hooks.answers["/each"] = allow()
    webhooks.validating(webhooks.hook("/each"))
    assert http.delete(http.widgets).status_code == 200
    seen = webhooks.hooks.seen("/each")
    assert sorted(each["oldObject"]["metadata"]["name"] for each in seen) == ["a", "b"]


def test_dry_run_is_sent_as_such_and_stores_nothing(webhooks: Webhooks, http: Http) -> None:
    webhooks.hooks.answers["/dry"] = patch(add("/spec/size", 7))
    webhooks.mutating(webhooks.hook("/dry", sideEffects="NoneOnDryRun"))
    answer = http.post(http.widgets, http.widget("a", {}), dryRun="All")
    assert (answer.status_code, answer.json()["spec"]["size"]) == (201, 7)
    (seen,) = webhooks.hooks.seen("/dry")
    assert seen["dryRun"] is True and seen["options"]["dryRun"] == ["All"]
    assert http.get(f"{http.widgets}/a").status_code == 404


def test_apply_is_sent_as_create_and_update(webhooks: Webhooks, http: Http) -> None:
    webhooks.hooks.answers["/apply"] = patch(add("/metadata/annotations", {"seen": "yes"}))
    webhooks.mutating(webhooks.hook("/apply"))
    for size in (1, 2):
        body = http.widget("a", {"size": size})
        answer = http.call("PATCH", f"{http.widgets}/a", body, "application/apply-patch+yaml", fieldManager="me")
        assert answer.status_code in (200, 201), answer.text
        assert answer.json()["metadata"]["annotations"] == {"seen": "yes"}
        assert "f:annotations" not in str(answer.json()["metadata"]["managedFields"])
    assert [each["operation"] for each in webhooks.hooks.seen("/apply")] == ["CREATE", "UPDATE"]


# Webhooks that fail


def junk(request: Json) -> bytes:
    return b"oh no"


FAILURES: dict[str, tuple[Any, str]] = {
    "junk": (junk, "failed to call webhook: "),
    "absent": (lambda request: {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"},
               "received invalid webhook response: webhook response was absent"),
    "uid": (lambda request: review({"uid": "other"}, allowed=True),
            'received invalid webhook response: expected response.uid='),
    "version": (lambda request: {**review(request, allowed=True), "apiVersion": "admission.k8s.io/v1beta1"},
                ""),
    "patch": (lambda request: patch(add("/spec", {}))(request),
              "received invalid webhook response: validating webhook may not return response.patch"),
    "http": (lambda request: (500, b"broken"),
             'failed to call webhook: an error on the server ("unknown") has prevented the request from succeeding'),
}  # fmt: skip


@pytest.mark.parametrize("case", list(FAILURES))
def test_wrong_answer_is_left_to_the_failure_policy(webhooks: Webhooks, http: Http, case: str) -> None:
    answer, told = FAILURES[case]
    webhooks.hooks.answers["/wrong"] = webhooks.hooks.answers["/ignored"] = answer
    path = webhooks.validating(
        webhooks.hook("/ignored", failurePolicy="Ignore"), webhooks.hook("/wrong", operations=("UPDATE",))
    )
    assert http.post(http.widgets, http.widget("a")).status_code == 201, path
    refused = http.merge(f"{http.widgets}/a", {"spec": {"size": 1}})
    assert (refused.status_code, refused.json()["reason"]) == (500, "InternalError")
    wanted = 'Internal error occurred: failed calling webhook "wrong.e2e.freehold.dev": '
    assert refused.json()["message"].startswith(wanted + told)


def test_unreachable_and_untrusted_webhooks_are_left_to_the_failure_policy(webhooks: Webhooks, http: Http) -> None:
    nobody = {"url": f"https://127.0.0.1:{steady_port()}/"}
    with webhook_server() as other:
        untrusted = {**webhooks.hooks.config("/untrusted"), "caBundle": other.authority}
    path = webhooks.validating(
        webhooks.hook("/gone", clientConfig=nobody), webhooks.hook("/ignored", clientConfig=nobody,
                                                                     failurePolicy="Ignore"))  # fmt: skip
    refused = http.post(http.widgets, http.widget("a"))
    assert refused.status_code == 500
    told, url = refused.json()["message"], nobody["url"]
    assert f'failed calling webhook "gone.e2e.freehold.dev": failed to call webhook: Post "{url}?timeout=10s"' in told
    assert "connection refused" in told
    http.delete(path)
    webhooks.validating(webhooks.hook("/untrusted", clientConfig=untrusted))
    refused = http.post(http.widgets, http.widget("a"))
    assert "x509: certificate signed by unknown authority" in refused.text
    assert not webhooks.hooks.seen("/untrusted")


def test_slow_webhook_is_left_to_the_failure_policy(webhooks: Webhooks, http: Http) -> None:
    done = threading.Event()

    def slow(request: Json) -> Json:
        done.wait(PATIENCE)
        return review(request, allowed=True)

    webhooks.hooks.answers["/slow"] = slow
    webhooks.validating(
        webhooks.hook("/slow", timeoutSeconds=1),
        {**webhooks.hook("/slow", timeoutSeconds=1, failurePolicy="Ignore"), "name": "ignored.e2e.freehold.dev"},
    )
    refused = http.post(http.widgets, http.widget("a"))
    done.set()
    assert refused.status_code == 500
    assert 'failed calling webhook "slow.e2e.freehold.dev"' in refused.json()["message"]
    assert "?timeout=1s" in refused.json()["message"]
    assert "context deadline exceeded" in refused.json()["message"]


def test_patch_that_does_not_apply_is_no_matter_of_the_failure_policy(webhooks: Webhooks, http: Http) -> None:
    webhooks.hooks.answers["/astray"] = patch({"op": "remove", "path": "/spec/none"})
    webhooks.mutating(webhooks.hook("/astray", failurePolicy="Ignore"))
    refused = http.post(http.widgets, http.widget("a", {}))
    assert (refused.status_code, refused.json()["reason"]) == (500, "InternalError")


# Match conditions


def test_conditions_decide_and_one_that_fails_is_left_to_the_failure_policy(webhooks: Webhooks, http: Http) -> None:
    def only(expression: str) -> Json:
        return {"matchConditions": [{"name": "only", "expression": expression}]}

    hook, hooks = webhooks.hook, webhooks.hooks
    for path in ("/yes", "/no", "/ignored", "/false"):
        hooks.answers[path] = allow()
    two = {"matchConditions": [{"name": "error", "expression": "object.spec.none == 1"},
                               {"name": "false", "expression": "request.operation == 'DELETE'"}]}  # fmt: skip
    path = webhooks.validating(
        hook("/yes", **only("object.spec.size > 1 && oldObject == null && request.kind.kind == 'Widget'")),
        hook("/no", **only("object.metadata.name == 'b'")),
        hook("/ignored", failurePolicy="Ignore", **only("object.spec.none == 1")), hook("/false", **two),
    )  # fmt: skip
    http.made(http.widgets, http.widget("a", {"size": 2}))
    assert [len(hooks.seen(path)) for path in ("/yes", "/no", "/ignored", "/false")] == [1, 0, 0, 0]
    http.delete(path)
    webhooks.validating(hook("/fails", **only("object.spec.none == 1")))
    refused = http.post(http.widgets, http.widget("b", {"size": 2}))
    assert (refused.status_code, refused.json()["reason"]) == (403, "Forbidden")
    assert f'widgets.{http.group} "b" is forbidden: ' in refused.json()["message"]
    assert "expression 'object.spec.none == 1' resulted in error: " in refused.json()["message"]


# What happens in between


def test_write_that_was_overtaken_is_asked_about_again(webhooks: Webhooks, http: Http) -> None:
    """A webhook that takes its time sees the object as it is when the write is stored, as the schema does."""
    http.made(http.widgets, http.widget("a", {"size": 1, "colour": "red"}))

    def overtaking(request: Json) -> Json:
        if request["object"]["spec"]["size"] == 2 and request["oldObject"]["spec"]["colour"] == "red":
            http.merge(f"{http.widgets}/a", {"spec": {"colour": "green"}})
        return review(request, allowed=True)

    webhooks.hooks.answers["/overtake"] = overtaking
    webhooks.validating(webhooks.hook("/overtake"))
    patched = http.merge(f"{http.widgets}/a", {"spec": {"size": 2}})
    assert (patched.status_code, patched.json()["spec"]["colour"], patched.json()["spec"]["size"]) == (200, "green", 2)
    seen = [each["object"]["spec"] for each in webhooks.hooks.seen("/overtake")]
    assert [(each["size"], each["colour"]) for each in seen] == [(2, "red"), (1, "green"), (2, "green")]


def test_overtaken_put_is_a_conflict(webhooks: Webhooks, http: Http) -> None:
    made = http.made(http.widgets, http.widget("a", {"size": 1}))

    def overtaking(request: Json) -> Json:
        if request["object"]["spec"]["size"] == 2:
            http.merge(f"{http.widgets}/a", {"spec": {"colour": "green"}})
        return review(request, allowed=True)

    webhooks.hooks.answers["/overtake"] = overtaking
    webhooks.validating(webhooks.hook("/overtake"))
    answer = http.put(f"{http.widgets}/a", {**made, "spec": {"size": 2}})
    assert (answer.status_code, answer.json()["reason"]) == (409, "Conflict")
    assert http.get(f"{http.widgets}/a").json()["spec"] == {"size": 1, "colour": "green", "nested": {"deep": True}}


def test_deletion_that_was_overtaken_is_asked_about_again(webhooks: Webhooks, http: Http) -> None:
    http.made(http.widgets, http.widget("a", {"size": 1}))

    def overtaking(request: Json) -> Json:
        if request["oldObject"]["spec"]["size"] == 1:
            http.merge(f"{http.widgets}/a", {"spec": {"size": 2}})
        return review(request, allowed=True)

    webhooks.hooks.answers["/overtake"] = overtaking
    webhooks.validating(webhooks.hook("/overtake", operations=("DELETE",)))
    assert http.delete(f"{http.widgets}/a").status_code == 200
    assert [each["oldObject"]["spec"]["size"] for each in webhooks.hooks.seen("/overtake")] == [1, 2]


def test_object_that_came_in_between_is_there_already(webhooks: Webhooks, http: Http) -> None:
    def overtaking(request: Json) -> Json:
        if request["object"]["spec"]["size"] == 1:
            http.post(http.widgets, http.widget("a", {"size": 2}))
        return review(request, allowed=True)

    webhooks.hooks.answers["/overtake"] = overtaking
    webhooks.validating(webhooks.hook("/overtake", operations=("CREATE",)))
    answer = http.post(http.widgets, http.widget("a", {"size": 1}))
    assert (answer.status_code, answer.json()["reason"]) == (409, "AlreadyExists")


def test_configuration_that_is_deleted_meanwhile_still_decides_about_the_write(webhooks: Webhooks, http: Http) -> None:
    path = ""

    def denying(request: Json) -> Json:
        assert http.delete(path).status_code == 200
        return review(request, allowed=False, status={"message": "too late"})

    webhooks.hooks.answers["/deleted"] = denying
    path = webhooks.validating(webhooks.hook("/deleted"))
    assert "too late" in http.post(http.widgets, http.widget("a")).text


# Configurations


def test_webhooks_are_not_asked_about_webhooks(webhooks: Webhooks, http: Http) -> None:
    everything = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], "operations": ["*"]}
    webhooks.hooks.answers["/everything"] = deny(message="never")
    selected = {"objectSelector": {"matchLabels": {"e2e-webhooks": http.namespace}}, "namespaceSelector": {}}
    path = webhooks.validating(webhooks.hook("/everything", rules=[everything], **selected))
    assert http.merge(path, {"metadata": {"labels": {"e2e-webhooks": http.namespace}}}).status_code == 200
    labelled = config_map("c", labels={"e2e-webhooks": http.namespace})
    assert "never" in http.post(http.config_maps, labelled).text
    assert http.delete(path).status_code == 200


def test_defaults_of_a_webhook(webhooks: Webhooks, http: Http) -> None:
    path = webhooks.mutating(webhooks.hook("/defaults"))
    webhooks.hooks.answers["/defaults"] = allow()
    found = http.get(path).json()["webhooks"][0]
    wanted = {"failurePolicy": "Fail", "matchPolicy": "Equivalent", "timeoutSeconds": 10, "objectSelector": {},
              "reinvocationPolicy": "Never"}  # fmt: skip
    assert {name: found[name] for name in wanted} == wanted and found["rules"][0]["scope"] == "*"
    operations = [{"op": "replace", "path": "/webhooks/0/clientConfig/caBundle", "value": "Cg=="}]
    changed = http.call("PATCH", path, operations, JSON_PATCH).json()
    assert changed["metadata"]["generation"] == 2 and changed["webhooks"][0]["clientConfig"]["caBundle"] == "Cg=="
    more = {"webhooks": [{"name": found["name"], "timeoutSeconds": 3}]}
    merged = http.call("PATCH", path, more, "application/strategic-merge-patch+json").json()
    assert merged["webhooks"][0]["timeoutSeconds"] == 3 and len(merged["webhooks"]) == 2


SERVICE = {"service": {"name": "s", "namespace": "n", "path": "/x"}}


@pytest.mark.parametrize(
    ("change", "field", "told"),
    [
        ({"name": "short.name"}, "name", "should be a domain with at least three segments separated by dots"),
        ({"sideEffects": None}, "sideEffects", "Required value: must specify one of None, NoneOnDryRun"),
        ({"sideEffects": "Some"}, "sideEffects", 'supported values: "None", "NoneOnDryRun"'),
        ({"admissionReviewVersions": []}, "admissionReviewVersions", "must specify one of v1, v1beta1"),
        ({"admissionReviewVersions": ["v9"]}, "admissionReviewVersions", "must include at least one of v1, v1beta1"),
        ({"timeoutSeconds": 31}, "timeoutSeconds", "the timeout value must be between 1 and 30 seconds"),
        ({"failurePolicy": "Maybe"}, "failurePolicy", 'supported values: "Fail", "Ignore"'),
        ({"matchPolicy": "Maybe"}, "matchPolicy", 'supported values: "Equivalent", "Exact"'),
        ({"clientConfig": {}}, "clientConfig", "exactly one of url or service is required"),
        ({"clientConfig": {**SERVICE, "url": "https://x"}}, "clientConfig", "exactly one of url or service"),
        ({"clientConfig": {"url": "http://x"}}, "clientConfig.url", "'https' is the only allowed URL scheme"),
        ({"clientConfig": {"url": "https://x/?a=b"}}, "clientConfig.url", "query parameters are not permitted"),
        ({"clientConfig": {"service": {"name": "s", "namespace": "n", "port": 0}}}, "clientConfig.service.port",
         "port is not valid"),
        ({"clientConfig": {"service": {"name": "s", "namespace": "n", "path": "x"}}}, "clientConfig.service.path",
         "must start with a '/'"),
        ({"objectSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
         "objectSelector.matchExpressions[0].values", "must be specified when `operator` is 'In' or 'NotIn'"),
        ({"matchConditions": [{"name": "a", "expression": "object."}]}, "matchConditions[0].expression",
         "compilation failed"),
        ({"matchConditions": [{"name": "a", "expression": "other == 1"}]}, "matchConditions[0].expression",
         "undeclared reference"),
        ({"rules": [{"apiGroups": ["*", "apps"], "apiVersions": ["v1"], "resources": ["x"], "operations": ["*"]}]},
         "rules[0].apiGroups", "if '*' is present, must not specify other API groups"),
        ({"rules": [{"apiGroups": ["*"], "apiVersions": ["v1"], "resources": ["x/*", "x/y"], "operations": ["*"]}]},
         "rules[0].resources[1]", "if 'x/*' is present, must not specify x/y"),
        ({"rules": [{"apiGroups": ["*"], "apiVersions": [], "resources": ["x"], "operations": ["PAINT"]}]},
         "rules[0].operations[0]", "Unsupported value"),
        ({"rules": [{"apiGroups": ["*"], "apiVersions": ["v1"], "resources": ["x"], "operations": ["*"],
                     "scope": "Town"}]}, "rules[0].scope", "Unsupported value"),
    ],
)  # fmt: skip
def test_wrong_webhook_is_refused_by_field(webhooks: Webhooks, http: Http, change: Json, field: str, told: str) -> None:
    hook = {name: value for name, value in {**webhooks.hook("/wrong"), **change}.items() if value is not None}
    body = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": f"wrong-{http.namespace}"}, "webhooks": [hook]}  # fmt: skip
    answer = http.post(CONFIGURATIONS.format("validating"), body, dryRun="All")
    assert (answer.status_code, answer.json()["reason"]) == (422, "Invalid"), answer.text
    causes = answer.json()["details"]["causes"]
    assert any(each["field"] == f"webhooks[0].{field}" and told in each["message"] for each in causes), causes


def test_warning_that_is_none_is_dropped(webhooks: Webhooks, http: Http) -> None:
    webhooks.hooks.answers["/warn"] = allow(warnings=["two\r\nlines: yes", "fine"])
    webhooks.validating(webhooks.hook("/warn"))
    answer = http.call("POST", http.widgets, http.widget("a"), MERGE.replace("merge-patch+", ""))
    assert (answer.status_code, list(warnings(answer))) == (201, ["fine"])
