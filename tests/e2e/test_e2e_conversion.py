"""Several versions of one CRD with a conversion webhook, on any API server."""

from __future__ import annotations

import copy
import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from e2e_client import TABLE, Http, Kubectl
from e2e_servers import PATIENTLY, Server, until

from harness.webhook_server import Json, WebhookServer, allow, converting, webhook_server

pytestmark = pytest.mark.e2e


def convert(obj: Json, version: str) -> Json:
    """``spec.size`` of v1 is ``spec.dimensions.size`` of v2."""
    obj = copy.deepcopy(obj)
    spec = obj.get("spec") or {}
    if version.endswith("/v2") and "size" in spec:
        obj["spec"] = {**spec, "dimensions": {"size": spec["size"]}, "pruned": True}
        del obj["spec"]["size"]
    if version.endswith("/v1") and "dimensions" in spec:
        obj["spec"] = {**spec, "size": spec["dimensions"]["size"]}
        del obj["spec"]["dimensions"]
    return obj


def version(name: str, spec: Json, column: str, *, storage: bool = False, served: bool = True) -> Json:
    status = {"type": "object", "properties": {"ready": {"type": "boolean"}}}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}, "status": status}}
    return {
        "name": name, "served": served, "storage": storage, "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
        "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": column}],
    }  # fmt: skip


SIZE = {"type": "integer", "maximum": 100}
V1 = version("v1", {"size": SIZE, "colour": {"type": "string", "default": "red"}}, ".spec.size", storage=True)
V2_SPEC = {
    "dimensions": {"type": "object", "properties": {"size": {"type": "integer", "maximum": 50}}},
    "colour": {"type": "string"},
}
V2 = version("v2", V2_SPEC, ".spec.dimensions.size")


@dataclass
class Gadgets:
    """A CRD with two versions, and its objects."""

    http: Http
    kubectl: Kubectl
    hooks: WebhookServer
    group: str

    def path(self, version: str, name: str = "") -> str:
        base = f"/apis/{self.group}/{version}/namespaces/{self.http.namespace}/gadgets"
        return f"{base}/{name}" if name else base

    def gadget(self, version: str, spec: Json, name: str = "g") -> Json:
        return {"apiVersion": f"{self.group}/{version}", "kind": "Gadget", "metadata": {"name": name}, "spec": spec}

    @property
    def crd_path(self) -> str:
        return f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gadgets.{self.group}"


def crd(group: str, *versions: Json, conversion: Json) -> Json:
    names = {"plural": "gadgets", "kind": "Gadget"}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"gadgets.{group}"}, "spec": {"group": group, "scope": "Namespaced", "names": names,
            "versions": list(versions), "conversion": conversion}}  # fmt: skip


@pytest.fixture(scope="module")
def hooks() -> Iterator[WebhookServer]:
    with webhook_server() as started:
        yield started


@pytest.fixture(scope="module")
def gadget_group(server: Server, home: Path, hooks: WebhookServer) -> Iterator[str]:
    group = f"conv-{uuid.uuid4().hex[:8]}.freehold.dev"
    admin = Kubectl(server, "default", home)
    webhook = {"clientConfig": hooks.config("/convert"), "conversionReviewVersions": ["v1"]}
    hooks.answers["/convert"] = converting(convert)
    admin.apply(crd(group, V1, V2, conversion={"strategy": "Webhook", "webhook": webhook}))
    admin.run("wait", "--for=condition=Established", f"crd/gadgets.{group}", PATIENTLY)
    for each in ("v1", "v2"):
        until(
            lambda each=each: admin.run("get", "--raw", f"/apis/{group}/{each}/gadgets", ok=False).startswith("{"), each
        )
    yield group
    admin.run("delete", "crd", f"gadgets.{group}", "--wait=false")


@pytest.fixture
def gadgets(http: Http, kubectl: Kubectl, hooks: WebhookServer, gadget_group: str) -> Gadgets:
    hooks.forget()
    hooks.answers["/convert"] = converting(convert)
    return Gadgets(http, kubectl, hooks, gadget_group)


def test_object_is_read_and_written_in_either_version(gadgets: Gadgets) -> None:
    http = gadgets.http
    made = http.made(gadgets.path("v2"), gadgets.gadget("v2", {"dimensions": {"size": 7}}))
    assert (made["apiVersion"], made["spec"]) == (f"{gadgets.group}/v2", {"dimensions": {"size": 7}, "colour": "red"})
    one = http.get(gadgets.path("v1", "g")).json()
    assert one["apiVersion"] == f"{gadgets.group}/v1" and one["spec"]["size"] == 7
    patched = http.merge(gadgets.path("v1", "g"), {"spec": {"size": 8}}).json()
    assert patched["spec"] == {"size": 8, "colour": "red"}
    two = http.get(gadgets.path("v2", "g")).json()
    assert two["spec"] == {"dimensions": {"size": 8}, "colour": "red"}, "what no schema knows is pruned"
    two["spec"]["dimensions"]["size"] = 9
    put = http.put(gadgets.path("v2", "g"), two).json()
    assert put["spec"]["dimensions"]["size"] == 9 and put["metadata"]["generation"] == 3
    assert put["metadata"]["uid"] == made["metadata"]["uid"]
    status = http.merge(gadgets.path("v2", "g/status"), {"status": {"ready": True}}).json()
    assert (status["status"], status["spec"]["dimensions"]) == ({"ready": True}, {"size": 9})
    again = http.put(gadgets.path("v2", "g"), status).json()
    assert again["metadata"]["resourceVersion"] == status["metadata"]["resourceVersion"], "no write"


def test_versions_have_their_own_rules_columns_and_documents(gadgets: Gadgets) -> None:
    http = gadgets.http
    too_large = http.post(gadgets.path("v2"), gadgets.gadget("v2", {"dimensions": {"size": 60}}))
    assert too_large.json()["details"]["causes"][0]["field"] == "spec.dimensions.size"
    http.made(gadgets.path("v1"), gadgets.gadget("v1", {"size": 60}))
    for each in ("v1", "v2"):
        table = http.get(gadgets.path(each), TABLE).json()
        assert table["rows"][0]["cells"][:2] == ["g", 60]
    listed = http.get(gadgets.path("v2")).json()
    assert [each["spec"]["dimensions"]["size"] for each in listed["items"]] == [60]
    assert listed["items"][0]["apiVersion"] == f"{gadgets.group}/v2"
    found = gadgets.kubectl.json("get", f"gadgets.v1.{gadgets.group}", "g")
    assert found["spec"]["size"] == 60
    assert "dimensions" in gadgets.kubectl.run("explain", "gadgets.spec", f"--api-version={gadgets.group}/v2")
    versions = http.get(f"/apis/{gadgets.group}").json()
    assert [each["version"] for each in versions["versions"]] == ["v2", "v1"]


def test_watch_shows_its_version(gadgets: Gadgets) -> None:
    http = gadgets.http
    http.made(gadgets.path("v1"), gadgets.gadget("v1", {"size": 1}))
    since = http.get(gadgets.path("v2")).json()["metadata"]["resourceVersion"]
    http.merge(gadgets.path("v1", "g"), {"spec": {"size": 2}})
    http.made(gadgets.path("v1"), gadgets.gadget("v1", {"size": 3}, "last"))
    (seen,) = http.watch_until("last", gadgets.path("v2"), resourceVersion=since)
    assert (seen["type"], seen["object"]["spec"]["dimensions"]) == ("MODIFIED", {"size": 2})
    assert seen["object"]["apiVersion"] == f"{gadgets.group}/v2"


def test_apply_owns_fields_in_its_version(gadgets: Gadgets) -> None:
    body = gadgets.gadget("v2", {"dimensions": {"size": 5}})
    for size, code in ((5, 201), (6, 200)):
        body["spec"]["dimensions"]["size"] = size
        answer = gadgets.http.call(
            "PATCH", gadgets.path("v2", "g"), body, "application/apply-patch+yaml", fieldManager="me"
        )
        assert (answer.status_code, answer.json()["spec"]["dimensions"]) == (code, {"size": size}), answer.text
    (owner,) = gadgets.http.get(gadgets.path("v1", "g")).json()["metadata"]["managedFields"]
    assert owner["apiVersion"] == f"{gadgets.group}/v2" and "f:dimensions" in owner["fieldsV1"]["f:spec"]


def test_conversion_request_is_that_of_version_1(gadgets: Gadgets) -> None:
    gadgets.http.made(gadgets.path("v2"), gadgets.gadget("v2", {"dimensions": {"size": 5}}))
    first = gadgets.hooks.seen("/convert")[0]
    assert set(first) == {"uid", "desiredAPIVersion", "objects"}
    assert first["desiredAPIVersion"] == f"{gadgets.group}/v1"
    assert [each["apiVersion"] for each in first["objects"]] == [f"{gadgets.group}/v2"]
    assert set(gadgets.hooks.queries("/convert")) == {"timeout=30s"}


def failing(request: Json) -> Json:
    response = {"uid": request["uid"], "result": {"status": "Failed", "message": "cannot say it"}}
    return {"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1", "response": response}


def renaming(obj: Json, wanted: str) -> Json:
    return {**convert(obj, wanted), "metadata": {**obj["metadata"], "name": "other"}}


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (failing, "conversion webhook for {group}/v2, Kind=Gadget failed: cannot say it"),
        (lambda request: (500, b""), "conversion webhook for {group}/v2, Kind=Gadget failed: an error on the server"),
        (lambda request: {**failing(request), "response": None}, "no response provided"),
        (lambda request: failing({"uid": "other"}), "expected response.uid="),
        (converting(renaming), "must have the same name: g != other"),
        (lambda request: converting(convert)({**request, "objects": []}), "returned 0 objects, expected 1"),
        (lambda request: converting(lambda obj, wanted: {**obj, "kind": "Other"})(request), "invalid kind"),
    ],
)
def test_write_fails_where_its_object_cannot_be_converted(gadgets: Gadgets, answer: Any, told: str) -> None:
    gadgets.hooks.answers["/convert"] = answer
    refused = gadgets.http.post(gadgets.path("v2"), gadgets.gadget("v2", {"dimensions": {"size": 5}}))
    assert refused.status_code == 500
    assert told.format(group=gadgets.group) in refused.json()["message"]
    gadgets.hooks.answers["/convert"] = converting(convert)
    assert gadgets.http.get(gadgets.path("v1", "g")).status_code == 404


def test_converter_may_change_labels_and_no_other_metadata(gadgets: Gadgets) -> None:
    def labelling(obj: Json, wanted: str) -> Json:
        meta = {**obj["metadata"], "labels": {"from": "converter"}, "finalizers": ["freehold.dev/x"]}
        return {**convert(obj, wanted), "metadata": meta}

    gadgets.hooks.answers["/convert"] = converting(labelling)
    gadgets.http.made(gadgets.path("v2"), gadgets.gadget("v2", {"dimensions": {"size": 5}}))
    meta = gadgets.http.get(gadgets.path("v1", "g")).json()["metadata"]
    assert meta["labels"] == {"from": "converter"} and "finalizers" not in meta


def test_version_in_which_objects_may_be_stored_cannot_be_removed(gadgets: Gadgets) -> None:
    """The storage version changes; objects follow with their next write; then the old one may be forgotten."""
    http, group = gadgets.http, f"moved.{gadgets.group}"
    path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gadgets.{group}"
    none = {"strategy": "None"}
    old, new = version("v1", {"size": SIZE}, ".spec.size", storage=True), version("v2", {"size": SIZE}, ".spec.size")
    http.made(path.rpartition("/")[0], crd(group, old, new, conversion=none))
    objects = f"/apis/{group}/v2/namespaces/{http.namespace}/gadgets"
    until(lambda: http.get(objects).status_code == 200, "v2 is served")
    body = {**gadgets.gadget("v2", {"size": 1}), "apiVersion": f"{group}/v2"}
    until(lambda: http.post(objects, body).status_code in (201, 409), "an object is created")
    swapped = [{**old, "storage": False}, {**new, "storage": True}]
    moved = http.merge(path, {"spec": {"versions": swapped}}).json()
    assert moved["status"]["storedVersions"] == ["v1", "v2"]
    refused = http.merge(path, {"spec": {"versions": swapped[1:]}})
    assert refused.status_code == 422
    assert refused.json()["details"]["causes"][0]["field"] == "status.storedVersions[0]"
    assert "v1 was previously a storage version" in refused.json()["message"]
    before = http.get(f"{objects}/g").json()["metadata"]["resourceVersion"]

    def migrated() -> bool:
        found = http.get(f"{objects}/g").json()
        return bool(http.put(f"{objects}/g", found).json()["metadata"]["resourceVersion"] != before)

    until(migrated, "a write that changes nothing stores the object in the new version")
    assert http.merge(f"{path}/status", {"status": {"storedVersions": ["v2"]}}).status_code == 200
    assert http.merge(path, {"spec": {"versions": swapped[1:]}}).status_code == 200
    http.delete(path)


@pytest.mark.parametrize(
    ("conversion", "field"),
    [
        ({"strategy": "Magic"}, "strategy"),
        ({"strategy": "Webhook"}, "webhookClientConfig"),
        ({"strategy": "Webhook", "webhook": {"clientConfig": {"url": "http://x"}, "conversionReviewVersions": ["v1"]}},
         "webhookClientConfig.url"),
        ({"strategy": "Webhook", "webhook": {"clientConfig": {"url": "https://x"}, "conversionReviewVersions": ["v9"]}},
         "conversionReviewVersions"),
        ({"strategy": "None", "webhook": {"clientConfig": {"url": "https://x"}, "conversionReviewVersions": ["v1"]}},
         "webhookClientConfig"),
    ],
)  # fmt: skip
def test_wrong_conversion_is_refused_by_field(http: Http, conversion: Json, field: str) -> None:
    body = crd(f"wrong.{http.group}", V1, V2, conversion=conversion)
    answer = http.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body, dryRun="All")
    assert answer.status_code == 422, json.dumps(answer.json())
    assert f"spec.conversion.{field}" in [each["field"] for each in answer.json()["details"]["causes"]]


def test_admission_webhook_gets_the_version_that_its_rules_name(gadgets: Gadgets, hooks: WebhookServer) -> None:
    http = gadgets.http
    hooks.answers["/admit"] = allow()
    rule = {"apiGroups": [gadgets.group], "apiVersions": ["v1"], "resources": ["gadgets"], "operations": ["*"]}
    hook = {
        "name": "admit.e2e.freehold.dev", "clientConfig": hooks.config("/admit"), "rules": [rule],
        "sideEffects": "None", "admissionReviewVersions": ["v1"],
    }  # fmt: skip
    path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    name = f"conversion-{http.namespace}"
    http.made(path, {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
                     "metadata": {"name": name}, "webhooks": [hook]})  # fmt: skip
    body = gadgets.gadget("v2", {"dimensions": {"size": 5}})

    def asked() -> bool:
        http.post(gadgets.path("v2"), body, dryRun="All")
        return bool(hooks.seen("/admit"))

    until(asked, "the webhook is called")
    http.delete(f"{path}/{name}")
    seen = hooks.seen("/admit")[-1]
    assert (seen["kind"]["version"], seen["requestKind"]["version"]) == ("v1", "v2")
    assert seen["object"]["spec"]["size"] == 5
