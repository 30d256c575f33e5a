"""What a person does with kubectl, on any API server."""

from __future__ import annotations

import json

import pytest
from e2e_client import Http, Kubectl, config_map
from e2e_servers import PATIENCE, PATIENTLY, ended
from e2e_widgets import widget_crd

pytestmark = pytest.mark.e2e


def test_apply_creates_changes_and_keeps(kubectl: Kubectl, http: Http) -> None:
    assert "widget." in (said := kubectl.apply(http.widget("a", {"size": 1}))) and said.endswith("/a created\n")
    assert kubectl.apply(http.widget("a", {"size": 1})).endswith("/a unchanged\n")
    assert kubectl.apply(http.widget("a", {"size": 2, "colour": "green"})).endswith("/a configured\n")
    assert kubectl.apply(http.widget("a", {"size": 2})).endswith("/a configured\n")
    found = kubectl.json("get", "widget", "a")
    assert found["spec"] == {"size": 2, "colour": "red", "nested": {"deep": True}}, "a field left out is removed again"


def test_apply_of_built_in_kinds(kubectl: Kubectl) -> None:
    assert kubectl.apply(config_map("c", {"x": "1"})).endswith("configmap/c created\n")
    assert kubectl.apply(config_map("c", {"x": "1"})).endswith("configmap/c unchanged\n")
    assert kubectl.apply(config_map("c", {"y": "2"})).endswith("configmap/c configured\n")
    assert kubectl.json("get", "configmap", "c")["data"] == {"y": "2"}


def test_a_misspelt_field_is_refused_before_anything_is_stored(kubectl: Kubectl, http: Http) -> None:
    said = kubectl.fails("apply", "-f", "-", stdin=json.dumps(http.widget("a", {"sise": 1})))
    assert 'strict decoding error: unknown field "spec.sise"' in said
    assert "NotFound" in kubectl.fails("get", "widget", "a")


def test_an_invalid_object_is_explained_with_the_field(kubectl: Kubectl, http: Http) -> None:
    said = kubectl.fails("apply", "-f", "-", stdin=json.dumps(http.widget("a", {"size": 500, "colour": "blue"})))
    assert 'The Widget "a" is invalid' in said
    assert "spec.size: Invalid value: 500: spec.size in body should be less than or equal to 100" in said
    assert 'spec.colour: Unsupported value: "blue": supported values: "red", "green"' in said


def test_get_shows_the_columns_of_the_crd(kubectl: Kubectl, http: Http) -> None:
    kubectl.apply(http.widget("a", {"size": 3}, labels={"example.com/team": "x"}))
    http.merge(f"{http.widgets}/a/status", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}})
    header, row = kubectl.run("get", "widgets").splitlines()
    assert header.split() == ["NAME", "SIZE", "TEAM", "READY", "AGE"]
    assert row.split()[:4] == ["a", "3", "x", "True"]
    assert "COLOUR" in kubectl.run("get", "wdg", "-o", "wide"), "by short name, and wide columns"
    assert kubectl.run("get", "toys", "-o", "name").startswith("widget."), "by category"
    assert kubectl.run("get", "widget", "a", "-o", "jsonpath={.spec.size}") == "3"
    assert "apiVersion:" in kubectl.run("get", "widget", "a", "-o", "yaml")


def test_get_selects_by_label_and_field(kubectl: Kubectl, http: Http) -> None:
    for name, team in (("a", "x"), ("b", "y")):
        kubectl.apply(http.widget(name, {}, labels={"team": team}))
    assert kubectl.run("get", "widgets", "-l", "team in (x)", "-o", "name").count("/a") == 1
    assert kubectl.run("get", "widgets", "--field-selector", "metadata.name=b", "-o", "name").endswith("/b\n")
    assert "No resources found" in kubectl.run("get", "widgets", "-l", "team=z")


def test_get_watch_prints_changes_as_they_come(kubectl: Kubectl, http: Http) -> None:
    kubectl.apply(http.widget("a", {"size": 1}))
    with ended(kubectl.started("get", "widgets", "-w", "--no-headers", f"--request-{PATIENTLY[2:]}")) as watching:
        assert watching.stdout is not None
        assert watching.stdout.readline().split()[:2] == ["a", "1"]
        kubectl.run("patch", "widget", "a", "--type=merge", "-p", '{"spec":{"size":2}}')
        assert watching.stdout.readline().split()[:2] == ["a", "2"]


def test_describe_shows_the_object_and_its_events(kubectl: Kubectl, http: Http) -> None:
    made = http.made(http.widgets, http.widget("a", {"size": 3}))
    about = {"apiVersion": made["apiVersion"], "kind": "Widget", "name": "a", "namespace": http.namespace,
             "uid": made["metadata"]["uid"]}  # fmt: skip
    seen = "2026-01-01T00:00:00Z"
    http.made(f"/api/v1/namespaces/{http.namespace}/events", {
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "a.1"}, "involvedObject": about, "type": "Warning",
        "reason": "TestFailed", "message": "no luck today", "count": 1, "firstTimestamp": seen, "lastTimestamp": seen,
        "source": {"component": "e2e"},
    })  # fmt: skip
    said = kubectl.run("describe", "widget", "a")
    assert "Size:" in said and "TestFailed" in said and "no luck today" in said
    events = kubectl.run("get", "events")
    assert events.splitlines()[0].split() == ["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert "widget/a" in events
    assert "no luck today" in kubectl.run("events", "--for", f"widget.{http.group}/a")


def test_explain_reads_the_schema(kubectl: Kubectl, http: Http) -> None:
    kubectl.apply(http.widget("a", {}))
    said = kubectl.run("explain", "widgets.spec", f"--api-version={http.group}/v1")
    assert "What is wanted of the widget." in said and "size" in said and "<integer>" in said
    nested = kubectl.run("explain", "widgets.spec.nested.deep", f"--api-version={http.group}/v1")
    assert "Whether it is deep." in nested and "<boolean>" in nested
    assert "labels" in kubectl.run("explain", "widgets.metadata", f"--api-version={http.group}/v1")
    assert "data" in kubectl.run("explain", "configmap")


def test_patch_label_annotate_and_replace(kubectl: Kubectl, http: Http) -> None:
    kubectl.apply(http.widget("a", {"size": 1}))
    kubectl.run("patch", "widget", "a", "--type=merge", "-p", '{"spec":{"size":2}}')
    kubectl.run("patch", "widget", "a", "--type=json", "-p", '[{"op":"replace","path":"/spec/size","value":3}]')
    kubectl.run("patch", "widget", "a", "--subresource=status", "--type=merge", "-p", '{"status":{"ready":true}}')
    assert kubectl.run("label", "widget", "a", "x=y").endswith("labeled\n")
    assert kubectl.run("annotate", "widget", "a", "x=y").endswith("annotated\n")
    found = kubectl.json("get", "widget", "a")
    assert (found["spec"]["size"], found["status"]["ready"], found["metadata"]["labels"]["x"]) == (3, True, "y")
    found["spec"]["size"] = 4
    assert kubectl.run("replace", "-f", "-", stdin=json.dumps(found)).endswith("replaced\n")
    assert "Conflict" in kubectl.fails("replace", "-f", "-", stdin=json.dumps(found)), "the version is stale now"
    kubectl.run("create", "configmap", "c", "--from-literal=x=1")
    kubectl.run("patch", "configmap", "c", "-p", '{"data":{"y":"2"}}')
    assert kubectl.json("get", "configmap", "c")["data"] == {"x": "1", "y": "2"}


def test_edit_opens_and_stores(kubectl: Kubectl, monkeypatch: pytest.MonkeyPatch) -> None:
    kubectl.run("create", "configmap", "c", "--from-literal=x=before")
    monkeypatch.setitem(kubectl._environment, "KUBE_EDITOR", "sed -i s/before/after/")
    assert "edited" in kubectl.run("edit", "configmap", "c")
    assert kubectl.json("get", "configmap", "c")["data"] == {"x": "after"}


def test_diff_shows_what_apply_would_change(kubectl: Kubectl, http: Http) -> None:
    kubectl.apply(http.widget("a", {"size": 1}))
    said = kubectl.run("diff", "-f", "-", stdin=json.dumps(http.widget("a", {"size": 2})), ok=False)
    assert "-  size: 1" in said and "+  size: 2" in said
    assert kubectl.json("get", "widget", "a")["spec"]["size"] == 1


def test_wait_for_condition_value_and_deletion(kubectl: Kubectl, http: Http) -> None:
    kubectl.apply(http.widget("a", {}))
    assert "timed out" in kubectl.fails("wait", "widget/a", "--for=condition=Ready", "--timeout=1s")
    waiting = kubectl.started("wait", "widget/a", "--for=condition=Ready", PATIENTLY)
    http.merge(
        f"{http.widgets}/a/status", {"status": {"ready": True, "conditions": [{"type": "Ready", "status": "True"}]}}
    )
    assert "condition met" in waiting.communicate(timeout=PATIENCE)[0]
    kubectl.run("wait", "widget/a", "--for=jsonpath={.status.ready}=true", PATIENTLY)
    deleting = kubectl.started("wait", "widget/a", "--for=delete", PATIENTLY)
    kubectl.run("delete", "widget", "a")
    assert "condition met" in deleting.communicate(timeout=PATIENCE)[0] or deleting.returncode == 0


def test_delete_waits_for_finalizers(kubectl: Kubectl, http: Http) -> None:
    kubectl.apply(http.widget("a", {}, finalizers=["freehold.dev/e2e"]))
    deleting = kubectl.started("delete", "widget", "a", PATIENTLY)
    events = http.watch(http.widgets, fieldSelector="metadata.name=a")
    assert next(each for each in events if each["object"]["metadata"].get("deletionTimestamp"))
    assert deleting.poll() is None
    kubectl.run("patch", "widget", "a", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    assert "deleted" in deleting.communicate(timeout=PATIENCE)[0]
    assert "NotFound" in kubectl.fails("get", "widget", "a")


@pytest.mark.parametrize("how", ["background", "foreground", "orphan"])
def test_delete_cascades_as_asked(kubectl: Kubectl, http: Http, with_controllers: None, how: str) -> None:
    owner = http.made(http.widgets, http.widget("owner"))
    reference = {"apiVersion": owner["apiVersion"], "kind": "Widget", "name": "owner", "uid": owner["metadata"]["uid"]}
    http.made(http.config_maps, config_map("child", ownerReferences=[reference]))
    kubectl.run("delete", "widget", "owner", f"--cascade={how}", PATIENTLY)
    if how == "orphan":
        assert "ownerReferences" not in kubectl.json("get", "configmap", "child")["metadata"]
    else:
        kubectl.run("wait", "configmap/child", "--for=delete", PATIENTLY)


def test_create_of_kinds_that_kubectl_sends_as_protobuf(kubectl: Kubectl) -> None:
    kubectl.run("create", "configmap", "c", "--from-literal=x=1")
    kubectl.run("create", "secret", "generic", "s", "--from-literal=password=x")
    kubectl.run("create", "serviceaccount", "sa1")
    assert kubectl.json("get", "configmap", "c")["data"] == {"x": "1"}
    secret = kubectl.json("get", "secret", "s")
    assert (secret["data"], secret["type"]) == ({"password": "eA=="}, "Opaque")
    assert "password:  1 bytes" in kubectl.run("describe", "secret", "s")
    assert "already exists" in kubectl.fails("create", "configmap", "c")


def test_auth_can_i(kubectl: Kubectl) -> None:
    assert kubectl.run("auth", "can-i", "create", "secrets").strip() == "yes"


def test_api_resources_and_versions(kubectl: Kubectl, http: Http) -> None:
    listed = kubectl.run("api-resources", f"--api-group={http.group}", "--no-headers").split()
    assert listed == ["widgets", "wdg", f"{http.group}/v1", "true", "Widget"]
    assert f"{http.group}/v1beta1" in kubectl.run("api-versions")
    # A kube-apiserver built without a version stamp makes kubectl say so and fail.
    assert "Server Version" in kubectl.run("version", ok=False)


def test_dry_run_on_the_server_stores_nothing(kubectl: Kubectl, http: Http) -> None:
    said = kubectl.apply(http.widget("ghost", {"size": 1}), "--dry-run=server")
    assert "created (server dry run)" in said
    assert "NotFound" in kubectl.fails("get", "widget", "ghost")


def test_a_deleted_namespace_deletes_its_objects(kubectl: Kubectl, http: Http, with_controllers: None) -> None:
    other = f"{http.namespace}-x"
    kubectl.run("create", "namespace", other)
    kubectl.run("create", "configmap", "c", "-n", other)
    kubectl.run("delete", "namespace", other, PATIENTLY)
    assert "NotFound" in kubectl.fails("get", "namespace", other)


def test_a_crd_is_created_and_deleted(kubectl: Kubectl, http: Http) -> None:
    group = f"more-{http.namespace}.freehold.dev"
    kubectl.apply(widget_crd(group))
    kubectl.run("wait", "--for=condition=Established", f"crd/widgets.{group}", PATIENTLY)
    body = {**http.widget("a", {"size": 1}), "apiVersion": f"{group}/v1"}
    assert "created" in kubectl.run("create", "-f", "-", stdin=json.dumps(body))
    kubectl.run("delete", "crd", f"widgets.{group}", PATIENTLY)
    assert "NotFound" in kubectl.fails("get", "crd", f"widgets.{group}")


def test_apply_of_a_list(kubectl: Kubectl, http: Http) -> None:
    """kubectl validates ``kind: List`` by OpenAPI v2; a kind that is missing there is still checked by the server."""
    items = [config_map("a"), http.widget("b", {"size": 1})]
    assert kubectl.apply({"apiVersion": "v1", "kind": "List", "items": items}).count(" created\n") == 2
    wrong = json.dumps({"apiVersion": "v1", "kind": "List", "items": [http.widget("c", {"sise": 1})]})
    said = kubectl.fails("apply", "-f", "-", stdin=wrong)
    assert "unknown field" in said and "sise" in said
