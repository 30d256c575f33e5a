"""Protobuf bodies as client-go 0.32.4 sent them (its leader election and both of its event recorders)."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from apiserver_testbed import Api

from freehold_apiserver import protobuf

LEASE_CREATE = (
    "azhzAAofChZjb29yZGluYXRpb24uazhzLmlvL3YxEgVMZWFzZRJGCh4KB21hbmFnZXISABoHZGVmYXVsdCIAKgAyADgAQgASJAoCbWUQBBoMCNu7"
    "jNgGENDJsKkCIgwI27uM2AYQ0MmwqQIoABoAIgA="
)
LEASE_RELEASE = (
    "azhzAAofChZjb29yZGluYXRpb24uazhzLmlvL3YxEgVMZWFzZRJyCkwKB21hbmFnZXISABoHZGVmYXVsdCIAKiQ1Y2ZjNmMxZC0zZDQ1LTQ2ODIt"
    "YWJjMi03YzllMTc4NDVkZTEyAjIwOABCCAjbu4zYBhAAEiIKABABGgwI4buM2AYQ4MnNqAIiDAjhu4zYBhDgyc2oAigAGgAiAA=="
)
NEW_EVENT = (
    "azhzAAoZChBldmVudHMuazhzLmlvL3YxEgVFdmVudBK3AQoqChNjbS4xOGVhNmMzMjA5Y2IyZmU0EgAaB2RlZmF1bHQiACoAMgA4AEIAEgwI27uM"
    "2AYQ8Pj4qwIiFGZyZWVob2xkLmRldi9tYW5hZ2VyKhdmcmVlaG9sZC5kZXYvbWFuYWdlci12bTIGQ3JlYXRlOgNOZXdCIwoJQ29uZmlnTWFwEgdk"
    "ZWZhdWx0GgJjbSIBeCoCdjEyADoAUgZub3RlIDFaBk5vcm1hbGIECgASAGoAcgB4ABoAIgA="
)
DELETE_BY_UID = "azhzAAoTCgJ2MRINRGVsZXRlT3B0aW9ucxIoEiYKJDExNTRhZjZkLWUzOGMtNGQ2ZC04OWNlLWUzZDYxMDRiMTI5NhoAIgA="

LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
NEW_EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
EVENTS = "/api/v1/namespaces/default/events"
ACCEPT = "application/vnd.kubernetes.protobuf, */*"


def sent(body: str) -> bytes:
    return base64.b64decode(body)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            LEASE_CREATE,
            {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": "manager", "namespace": "default"},
                "spec": {
                    "holderIdentity": "me",
                    "leaseDurationSeconds": 4,
                    "acquireTime": "2026-11-22T16:52:43.623650Z",
                    "renewTime": "2026-11-22T16:52:43.623650Z",
                    "leaseTransitions": 0,
                },
            },
            id="a new Lease: a count of 0 that is set stays, microseconds stay",
        ),
        pytest.param(
            LEASE_RELEASE,
            {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {
                    "name": "manager",
                    "namespace": "default",
                    "uid": "5cfc6c1d-3d45-4682-abc2-7c9e17845de1",
                    "resourceVersion": "20",
                    "creationTimestamp": "2026-11-22T16:52:43Z",
                },
                "spec": {
                    "holderIdentity": "",
                    "leaseDurationSeconds": 1,
                    "acquireTime": "2026-11-22T16:52:49.622028Z",
                    "renewTime": "2026-11-22T16:52:49.622028Z",
                    "leaseTransitions": 0,
                },
            },
            id="a Lease given up: nobody holds it, which is not the same as no field",
        ),
        pytest.param(
            NEW_EVENT,
            {
                "apiVersion": "events.k8s.io/v1",
                "kind": "Event",
                "metadata": {"name": "cm.18ea6c3209cb2fe4", "namespace": "default"},
                "eventTime": "2026-11-22T16:52:43.629030Z",
                "reportingController": "freehold.dev/manager",
                "reportingInstance": "freehold.dev/manager-vm",
                "action": "Create",
                "reason": "New",
                "regarding": {
                    "kind": "ConfigMap",
                    "namespace": "default",
                    "name": "cm",
                    "uid": "x",
                    "apiVersion": "v1",
                },
                "note": "note 1",
                "type": "Normal",
                "deprecatedSource": {},
            },
            id="an event of the new group: times that were never set are absent",
        ),
        pytest.param(
            DELETE_BY_UID,
            {
                "apiVersion": "v1",
                "kind": "DeleteOptions",
                "preconditions": {"uid": "1154af6d-e38c-4d6d-89ce-e3d6104b1296"},
            },
            id="a delete with a precondition",
        ),
    ],
)
def test_bodies_of_client_go(body: str, expected: dict[str, Any]) -> None:
    assert protobuf.decode(sent(body)) == expected


async def test_a_lease_is_acquired_and_given_up_in_protobuf(api: Api) -> None:
    made = await api.call("POST", LEASES, sent(LEASE_CREATE), protobuf.CONTENT_TYPE, ACCEPT)
    assert (made.code, made.headers["Content-Type"]) == (201, "application/json"), made.text
    assert made.json["spec"]["acquireTime"] == "2026-11-22T16:52:43.623650Z"
    stale = await api.call("PUT", f"{LEASES}/manager", sent(LEASE_RELEASE), protobuf.CONTENT_TYPE, ACCEPT)
    assert (stale.code, stale.json["reason"]) == (409, "Conflict"), "its uid and version are those of another lease"
    assert (await api.get(f"{LEASES}/manager")).json["spec"]["holderIdentity"] == "me"


async def test_a_delete_in_protobuf_names_its_group_or_none(api: Api) -> None:
    await api.call("POST", LEASES, sent(LEASE_CREATE), protobuf.CONTENT_TYPE)
    other = await api.call("DELETE", f"{LEASES}/manager", sent(DELETE_BY_UID), protobuf.CONTENT_TYPE)
    assert other.code == 409, "the precondition is read"
    group = b"coordination.k8s.io/v1"
    in_group = sent(DELETE_BY_UID).replace(b"\x0a\x13\x0a\x02v1", bytes([0x0A, 0x27, 0x0A, len(group)]) + group)
    answer = await api.call("DELETE", f"{LEASES}/manager", in_group, protobuf.CONTENT_TYPE)
    assert answer.code == 409, "a typed client sends options in the group of its resource"


async def test_one_event_is_served_by_both_groups(api: Api) -> None:
    made = await api.call("POST", NEW_EVENTS, sent(NEW_EVENT), protobuf.CONTENT_TYPE, ACCEPT)
    assert made.code == 201, made.text
    old = (await api.get(f"{EVENTS}/cm.18ea6c3209cb2fe4")).json
    assert (old["apiVersion"], old["message"], old["reportingComponent"]) == ("v1", "note 1", "freehold.dev/manager")
    assert old["involvedObject"]["name"] == "cm" and not {"note", "regarding", "reportingController"} & old.keys()
    series = {"series": {"count": 2, "lastObservedTime": "2026-11-22T16:52:45.629987Z"}}
    patched = await api.call(
        "PATCH", f"{NEW_EVENTS}/cm.18ea6c3209cb2fe4", series, "application/strategic-merge-patch+json"
    )
    assert (patched.code, patched.json["note"], patched.json["apiVersion"]) == (200, "note 1", "events.k8s.io/v1")
    found = await api.get(NEW_EVENTS, fieldSelector="regarding.name=cm,reportingController=freehold.dev/manager")
    assert [each["series"]["count"] for each in found.json["items"]] == [2]
    assert (await api.get(EVENTS, fieldSelector="involvedObject.name=other")).json["items"] == []
    assert (await api.get(NEW_EVENTS, fieldSelector="involvedObject.name=cm")).code == 400, "no field of this group"


async def test_a_new_event_says_who_reports_what_and_when(api: Api) -> None:
    bare = {"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e", "namespace": "default"},
            "regarding": {"kind": "ConfigMap", "namespace": "default", "name": "a"}}  # fmt: skip
    refused = await api.post(NEW_EVENTS, bare)
    assert refused.code == 422
    assert {each["field"] for each in refused.json["details"]["causes"]} == {"eventTime", "type"}
    timed = await api.post(NEW_EVENTS, {**bare, "eventTime": "2026-01-01T00:00:00.000000Z", "type": "Normal"})
    assert {each["field"] for each in timed.json["details"]["causes"]} == {
        "reportingController", "reportingInstance", "action", "reason",
    }  # fmt: skip


async def test_an_event_lives_in_the_namespace_of_its_object(api: Api) -> None:
    body = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"},
            "involvedObject": {"kind": "ConfigMap", "namespace": "elsewhere", "name": "a"}}  # fmt: skip
    refused = await api.post(EVENTS, body)
    assert refused.code == 422 and "does not match event.namespace" in refused.message
