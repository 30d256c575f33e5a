"""The requests of a controller-runtime 0.20 manager (client-go 0.32), replayed: media types, queries and bodies.

Leader election, both event recorders, metadata-only informers and server-side apply. Valid on any API server.
"""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import requests
from e2e_client import MERGE, STRATEGIC, TABLE, Http, Kubectl, config_map
from e2e_protobuf import ACCEPT, PROTOBUF, envelope, lease, lease_spec, metadata, micro_time, reference, refusal
from e2e_servers import PATIENCE, Server

pytestmark = pytest.mark.e2e

APPLY = "application/apply-patch+yaml"
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
MOMENT = datetime(2026, 11, 22, 16, 52, 43, 623650, tzinfo=UTC)
CLIENT_GO_LEASE = (
    "azhzAAofChZjb29yZGluYXRpb24uazhzLmlvL3YxEgVMZWFzZRJGCh4KB21hbmFnZXISABoHZGVmYXVsdCIAKgAyADgAQgASJAoCbWUQBBoMCNu7"
    "jNgGENDJsKkCIgwI27uM2AYQ0MmwqQIoABoAIgA="
)


def send(http: Http, method: str, path: str, body: bytes) -> requests.Response:
    """A typed client's write."""
    headers = {"Content-Type": PROTOBUF, "Accept": ACCEPT}
    url = http.url + path
    return requests.request(method, url, data=body, headers=headers, timeout=PATIENCE)


def test_our_bodies_are_those_of_client_go() -> None:
    spec = lease_spec("me", 4, MOMENT, MOMENT, 0)
    assert lease("manager", "default", spec) == base64.b64decode(CLIENT_GO_LEASE)


def test_a_refusal_is_read_in_protobuf_too() -> None:
    cause = {1: "FieldManagerConflict", 2: 'conflict with "one"', 3: ".data.x"}
    status = {2: "Failure", 3: "x" * 200, 4: "Conflict", 5: {1: "a", 2: "", 3: "configmaps", 4: cause}, 6: 409}
    answer = requests.Response()
    answer._content = envelope("v1", "Status", status)
    told = {"reason": "FieldManagerConflict", "message": 'conflict with "one"', "field": ".data.x"}
    assert refusal(answer) == {"message": "x" * 200, "reason": "Conflict", "details": {"causes": [told]}}


def test_leader_election_in_protobuf(http: Http) -> None:
    """client-go's LeaseLock: get (404), create, renew, refused with an old version, given up, and taken over."""
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{http.namespace}/leases"
    one = f"{leases}/manager"
    assert http.get(one, ACCEPT).status_code == 404
    body = lease("manager", http.namespace, lease_spec("one", 15, MOMENT, MOMENT, 0))
    assert send(http, "POST", leases, body).status_code == 201
    assert refusal(send(http, "POST", leases, body))["reason"] == "AlreadyExists"
    made = http.get(one).json()
    assert made["spec"] == {
        "holderIdentity": "one", "leaseDurationSeconds": 15, "leaseTransitions": 0,
        "acquireTime": "2026-11-22T16:52:43.623650Z", "renewTime": "2026-11-22T16:52:43.623650Z",
    }  # fmt: skip
    uid, version = made["metadata"]["uid"], made["metadata"]["resourceVersion"]
    later = MOMENT + timedelta(seconds=2)
    renewal = lease("manager", http.namespace, lease_spec("one", 15, MOMENT, later, 0), uid, version)
    assert send(http, "PUT", one, renewal).status_code == 200
    stale = lease("manager", http.namespace, lease_spec("two", 15, later, later, 1), uid, version)
    assert refusal(send(http, "PUT", one, stale))["reason"] == "Conflict", "who read before the renewal loses"
    version = http.get(one).json()["metadata"]["resourceVersion"]
    released = lease("manager", http.namespace, lease_spec("", 1, later, later, 0), uid, version)
    assert send(http, "PUT", one, released).status_code == 200
    free = http.get(one).json()
    assert not free["spec"].get("holderIdentity")
    taken = lease("manager", http.namespace, lease_spec("two", 15, later, later, 1), uid,
                  free["metadata"]["resourceVersion"])  # fmt: skip
    assert send(http, "PUT", one, taken).status_code == 200
    held = http.get(one).json()["spec"]
    assert (held["holderIdentity"], held["leaseTransitions"]) == ("two", 1)
    bad = lease("bad", http.namespace, lease_spec("one", 0, MOMENT, MOMENT, 0))
    assert send(http, "POST", leases, bad).status_code == 422, "a lease lasts some time"


def test_events_of_the_old_recorder(http: Http) -> None:
    """core/v1: created in protobuf, counted by a strategic merge patch."""
    events = f"/api/v1/namespaces/{http.namespace}/events"
    stamp = {1: int(MOMENT.timestamp()), 2: 0}
    body = envelope("v1", "Event", {
        1: metadata("cm.1", http.namespace), 2: reference("ConfigMap", http.namespace, "cm", "v1"), 3: "Made",
        4: "it was made", 5: {1: "manager", 2: ""}, 6: stamp, 7: stamp, 8: 1, 9: "Normal", 10: {}, 12: "",
        14: "manager", 15: "",
    })  # fmt: skip
    assert send(http, "POST", events, body).status_code == 201
    again = {"count": 2, "lastTimestamp": "2026-11-22T16:53:43Z", "message": "it was made"}
    assert http.call("PATCH", f"{events}/cm.1", again, STRATEGIC, ACCEPT).status_code == 200
    found = http.get(events, fieldSelector="involvedObject.name=cm,involvedObject.kind=ConfigMap").json()["items"]
    assert [(each["count"], each["reason"], each["source"]["component"]) for each in found] == [(2, "Made", "manager")]
    assert found[0].get("eventTime") is None and found[0]["firstTimestamp"] == "2026-11-22T16:52:43Z"


def test_events_of_the_new_recorder(http: Http, kubectl: Kubectl) -> None:
    """events.k8s.io/v1: created in protobuf, a series by a strategic merge patch; both groups serve it."""
    events = f"/apis/events.k8s.io/v1/namespaces/{http.namespace}/events"
    body = envelope("events.k8s.io/v1", "Event", {
        1: metadata("cm.2", http.namespace), 2: micro_time(MOMENT), 4: "freehold.dev/manager", 5: "manager-vm",
        6: "Create", 7: "New", 8: reference("ConfigMap", http.namespace, "cm", "v1"), 10: "it is new", 11: "Normal",
        12: {1: "", 2: ""}, 13: {}, 14: {}, 15: 0,
    })  # fmt: skip
    assert send(http, "POST", events, body).status_code == 201
    series = {"series": {"count": 2, "lastObservedTime": "2026-11-22T16:52:45.629987Z"}}
    assert http.call("PATCH", f"{events}/cm.2", series, STRATEGIC, ACCEPT).status_code == 200
    new = http.get(f"{events}/cm.2").json()
    assert (new["apiVersion"], new["note"], new["regarding"]["name"]) == ("events.k8s.io/v1", "it is new", "cm")
    assert new["series"] == series["series"]
    old = http.get(f"/api/v1/namespaces/{http.namespace}/events/cm.2").json()
    assert (old["apiVersion"], old["message"], old["involvedObject"]["name"]) == ("v1", "it is new", "cm")
    assert old["reportingComponent"] == "freehold.dev/manager"
    header, row = kubectl.run("get", "events").splitlines()
    assert header.split() == ["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert row.split(maxsplit=4)[1:] == ["Normal", "New", "configmap/cm", "it is new"]


def test_a_delete_in_protobuf_keeps_its_precondition(http: Http) -> None:
    made = http.made(http.config_maps, config_map("a"))
    other = envelope("v1", "DeleteOptions", {2: {1: "00000000-0000-0000-0000-000000000000"}})
    assert send(http, "DELETE", f"{http.config_maps}/a", other).status_code == 409
    mine = envelope("v1", "DeleteOptions", {2: {1: made["metadata"]["uid"]}})
    assert send(http, "DELETE", f"{http.config_maps}/a", mine).status_code == 200
    assert http.get(f"{http.config_maps}/a").status_code == 404


@pytest.mark.parametrize("kind", ["config_maps", "widgets"])
def test_a_metadata_informer(http: Http, kind: str, server: Server) -> None:
    """Its list and its watch, bookmarks included, are of one kind: another one ends the watch."""
    path: str = getattr(http, kind)
    made = http.made(path, config_map("a", {"x": "1"}) if kind == "config_maps" else http.widget("a", {"size": 1}))
    listed = http.get(path, METADATA.replace("Metadata;", "MetadataList;"), limit=500, resourceVersion="0").json()
    assert (listed["kind"], listed["apiVersion"]) == ("PartialObjectMetadataList", "meta.k8s.io/v1")
    (item,) = [each for each in listed["items"] if each["metadata"]["name"] == "a"]
    assert item["metadata"]["uid"] == made["metadata"]["uid"] and not {"data", "spec"} & item.keys()
    query = {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": 2,
             "resourceVersion": listed["metadata"]["resourceVersion"]}  # fmt: skip
    http.merge(f"{path}/a", {"metadata": {"labels": {"l": "1"}}})
    answer = http.get(path, METADATA, **query)
    events = [json.loads(line) for line in answer.text.splitlines()]
    # A cluster's controllers put a config map of their own into each namespace.
    events = [each for each in events if each["type"] == "BOOKMARK" or each["object"]["metadata"]["name"] == "a"]
    kinds = {(each["object"]["kind"], each["object"]["apiVersion"]) for each in events}
    assert kinds == {("PartialObjectMetadata", "meta.k8s.io/v1")}, events
    changed, *rest = events
    assert (changed["type"], changed["object"]["metadata"]["labels"]) == ("MODIFIED", {"l": "1"})
    if server.label == "embedded":  # others promise none: docs/reference/kubernetes.md#watching
        assert "BOOKMARK" in {each["type"] for each in rest}, "one comes before the watch ends"
    assert not {"data", "spec"} & changed["object"].keys()


def test_a_table_watch_ends_with_a_bookmark_in_a_table(http: Http, server: Server) -> None:
    version = http.get(http.config_maps).json()["metadata"]["resourceVersion"]
    query = {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": 2, "resourceVersion": version}
    events = [json.loads(line) for line in http.get(http.config_maps, TABLE, **query).text.splitlines()]
    bookmarks = [each["object"] for each in events if each["type"] == "BOOKMARK"]
    assert bookmarks or server.label != "embedded", "only ours promises one"
    assert {each["kind"] for each in bookmarks} <= {"Table"}


# Server-side apply


def apply(http: Http, path: str, body: Any, manager: str, **query: Any) -> requests.Response:
    """As ``client.Patch(ctx, obj, client.Apply, client.FieldOwner(manager))`` sends it: JSON under the name of YAML."""
    return http.call("PATCH", path, body, APPLY, ACCEPT, fieldManager=manager, **query)


def managers(obj: dict[str, Any]) -> list[tuple[str, str, str]]:
    entries = obj["metadata"].get("managedFields", ())
    return sorted((each["manager"], each["operation"], each.get("subresource", "")) for each in entries)


def stored(http: Http, path: str) -> dict[str, Any]:
    """In JSON: what an apply answers may be in protobuf."""
    found: dict[str, Any] = http.get(path).json()
    return found


def test_applying_creates_then_changes_then_conflicts(http: Http) -> None:
    path = f"{http.config_maps}/a"
    body = config_map("a", {"x": "1"}, namespace=http.namespace, creationTimestamp=None)
    assert apply(http, path, body, "one").status_code == 201
    made = stored(http, path)
    assert managers(made) == [("one", "Apply", "")]
    assert made["metadata"]["managedFields"][0]["fieldsV1"] == {"f:data": {"f:x": {}}}
    assert apply(http, path, body, "one").status_code == 200
    assert stored(http, path)["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"], "no write"
    answer = apply(http, path, config_map("a", {"x": "2"}), "two")
    refused = refusal(answer)
    assert (answer.status_code, refused["reason"]) == (409, "Conflict")
    assert refused["message"] == 'Apply failed with 1 conflict: conflict with "one": .data.x'
    assert refused["details"]["causes"] == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "one"', "field": ".data.x"}
    ]
    assert apply(http, path, config_map("a", {"x": "2"}), "two", force="true").status_code == 200
    forced = stored(http, path)
    assert (forced["data"], managers(forced)) == ({"x": "2"}, [("two", "Apply", "")])


def test_what_an_applier_leaves_out_is_removed(http: Http) -> None:
    path = f"{http.widgets}/a"
    first = apply(http, path, http.widget("a", {"size": 1, "parts": [{"name": "x"}, {"name": "y"}]}), "one")
    assert first.status_code == 201, first.text
    apply(http, path, http.widget("a", {"parts": [{"name": "z"}]}), "two")
    left = apply(http, path, http.widget("a", {"parts": [{"name": "y"}]}), "one").json()["spec"]
    assert "size" not in left and sorted(each["name"] for each in left["parts"]) == ["y", "z"]


def test_an_update_takes_over_what_it_changes(http: Http) -> None:
    path = f"{http.config_maps}/a"
    apply(http, path, config_map("a", {"x": "1", "y": "1"}), "one")
    edited = http.call("PATCH", path, {"data": {"x": "2"}}, MERGE, fieldManager="editor").json()
    assert managers(edited) == [("editor", "Update", ""), ("one", "Apply", "")]
    refused = refusal(apply(http, path, config_map("a", {"x": "3", "y": "1"}), "one"))
    assert refused["message"] == 'Apply failed with 1 conflict: conflict with "editor" using v1: .data.x'


def test_the_status_is_applied_through_its_subresource(http: Http) -> None:
    path = f"{http.widgets}/a"
    missing = apply(http, f"{path}/status", {**http.widget("a"), "status": {"ready": True}}, "one")
    assert missing.status_code == 404, "a subresource creates nothing"
    apply(http, path, http.widget("a", {"size": 1}), "one")
    status = apply(http, f"{path}/status", {**http.widget("a"), "status": {"ready": True}}, "one").json()
    assert (status["spec"]["size"], status["status"]) == (1, {"ready": True})
    assert managers(status) == [("one", "Apply", ""), ("one", "Apply", "status")]
    refused = refusal(apply(http, f"{path}/status", {**http.widget("a"), "status": {"ready": False}}, "two"))
    assert 'conflict with "one" with subresource "status": .status.ready' in refused["message"]


def test_a_dry_run_of_an_apply(http: Http) -> None:
    path = f"{http.config_maps}/a"
    assert apply(http, path, config_map("a", {"x": "1"}), "one", dryRun="All").status_code == 201
    assert http.get(path).status_code == 404
    apply(http, path, config_map("a", {"x": "1"}), "one")
    assert apply(http, path, config_map("a", {"x": "2"}), "two", dryRun="All").status_code == 409


def test_an_apply_says_who_it_is_for(http: Http) -> None:
    path = f"{http.config_maps}/a"
    nobody = http.call("PATCH", path, config_map("a"), APPLY)
    assert nobody.status_code == 422 and "fieldManager: Required value: is required for apply patch" in nobody.text
    http.made(http.config_maps, config_map("a"))
    forced = http.call("PATCH", path, config_map("a"), MERGE, force="true")
    assert forced.status_code == 422 and "may not be specified for non-apply patch" in forced.text
    own = apply(http, path, config_map("a", managedFields=[]), "one")
    assert own.status_code == 400 and "metadata.managedFields must be nil" in refusal(own)["message"]
    gone = apply(http, f"{http.config_maps}/b", config_map("b", uid="00000000-0000-0000-0000-000000000000"), "one")
    assert gone.status_code == 409 and "uid mismatch" in refusal(gone)["message"]


def test_kubectl_apply_server_side(http: Http, kubectl: Kubectl) -> None:
    """New, again, over a client-side apply without a conflict, and against another manager."""
    body = config_map("a", {"x": "1"})
    assert "serverside-applied" in kubectl.apply(body, "--server-side")
    assert "serverside-applied" in kubectl.apply(body, "--server-side", "--dry-run=server")
    kubectl.apply(config_map("b", {"x": "1", "y": "1"}))
    assert "serverside-applied" in kubectl.apply(config_map("b", {"x": "2"}), "--server-side")
    assert kubectl.json("get", "configmap", "b")["data"] == {"x": "2"}, "kubectl left y out"
    said = kubectl.fails("apply", "--server-side", "--field-manager=other", "-f", "-",
                         stdin=json.dumps(config_map("a", {"x": "9"})))  # fmt: skip
    assert 'Apply failed with 1 conflict: conflict with "kubectl": .data.x' in said


def test_namespaces_that_may_not_be_deleted(http: Http, kubectl: Kubectl) -> None:
    said = kubectl.fails("delete", "namespace", "default")
    assert 'Error from server (Forbidden): namespaces "default" is forbidden: this namespace may not be deleted' in said
