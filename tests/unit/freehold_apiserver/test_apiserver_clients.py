"""What other clients than kubectl and our own do: metadata-only watches, conversion webhooks, deletes of what stays."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from apiserver_testbed import ALL_WIDGETS, CONFIG_MAPS, CRDS, GROUP, WIDGETS, Api, Clock, config_map, widget, widget_crd

from freehold_apiserver.server import ApiServer
from freehold_apiserver.store import Store

META = "meta.k8s.io/v1"
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
PROTOBUF_FIRST = f"application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,{METADATA}"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"


async def watched(api: Api, accept: str, **query: Any) -> list[dict[str, Any]]:
    answer = await api.get(CONFIG_MAPS, accept, watch="true", allowWatchBookmarks="true", timeoutSeconds=1, **query)
    return [json.loads(line) for line in answer.text.splitlines()]


@pytest.mark.parametrize("accept", [METADATA, PROTOBUF_FIRST, METADATA.replace(";", "; ")])
async def test_every_event_of_a_metadata_watch_is_metadata(api: Api, accept: str) -> None:
    """client-go takes a BOOKMARK of another kind for a broken watch and begins anew."""
    made = await api.made(CONFIG_MAPS, config_map("a", {"x": "1"}))
    events = await watched(api, accept, sendInitialEvents="true", resourceVersionMatch="NotOlderThan")
    assert [each["type"] for each in events] == ["ADDED", "BOOKMARK", "BOOKMARK"]
    kinds = {(each["object"]["kind"], each["object"]["apiVersion"]) for each in events}
    assert kinds == {("PartialObjectMetadata", META)}
    assert events[1]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert events[2]["object"]["metadata"] == {"resourceVersion": made["metadata"]["resourceVersion"]}


async def test_the_bookmarks_of_other_watches_are_of_their_kind(api: Api) -> None:
    made = await api.made(CONFIG_MAPS, config_map("a", {"x": "1"}))
    version = made["metadata"]["resourceVersion"]
    plain = (await watched(api, "application/json"))[-1]
    assert (plain["type"], plain["object"]["kind"], plain["object"]["apiVersion"]) == ("BOOKMARK", "ConfigMap", "v1")
    table = (await watched(api, TABLE))[-1]
    assert (table["type"], table["object"]["kind"], table["object"]["metadata"]) == (
        "BOOKMARK", "Table", {"resourceVersion": version},
    )  # fmt: skip
    assert table["object"]["rows"][0]["object"]["metadata"] == {"resourceVersion": version}


async def test_metadata_of_lists_and_objects(api: Api) -> None:
    await api.made(WIDGETS, widget("a", {"size": 1}))
    for accept in (METADATA_LIST, METADATA, f"{METADATA_LIST},application/json"):
        listed = (await api.get(ALL_WIDGETS, accept)).json
        assert (listed["kind"], listed["apiVersion"]) == ("PartialObjectMetadataList", META)
        assert listed["items"][0].keys() == {"kind", "apiVersion", "metadata"}
    assert (await api.get(f"{WIDGETS}/a", METADATA)).json["kind"] == "PartialObjectMetadata"


@pytest.mark.parametrize(
    "accept",
    [
        "application/vnd.kubernetes.protobuf, */*",
        "application/vnd.kubernetes.protobuf,application/json",
        "application/json;as=Table;g=meta.k8s.io;v=v1beta1,application/json",
        "application/json;as=Something;g=meta.k8s.io;v=v1,application/json",
    ],
)
async def test_a_form_that_is_not_served_gives_way_to_the_next(api: Api, accept: str) -> None:
    made = await api.made(CONFIG_MAPS, config_map("a", {"x": "1"}))
    assert (await api.get(f"{CONFIG_MAPS}/a", accept)).json == made


@pytest.mark.parametrize("name", ["default", "kube-system"])
async def test_namespaces_that_may_not_be_deleted(api: Api, name: str) -> None:
    refused = await api.delete(f"/api/v1/namespaces/{name}")
    assert (refused.code, refused.json["reason"]) == (403, "Forbidden")
    assert refused.message == f'namespaces "{name}" is forbidden: this namespace may not be deleted'
    assert refused.json["details"] == {"name": name, "kind": "namespaces"}
    assert (await api.get(f"/api/v1/namespaces/{name}")).json["status"]["phase"] == "Active"
    assert (await api.delete("/api/v1/namespaces")).code == 405, "nor all at once"


# Conversion

WEBHOOK = {
    "strategy": "Webhook",
    "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"service": {"name": "s", "namespace": "n"}}},
}


def other_crd(*served: bool, **spec: Any) -> dict[str, Any]:
    """A CRD of another group; the first version is stored."""
    crd = widget_crd(group="other.freehold.dev", **spec)
    crd["metadata"]["name"] = "widgets.other.freehold.dev"
    for version, is_served in zip(crd["spec"]["versions"], served, strict=True):
        version["served"] = is_served
    return crd


async def test_stored_version_is_served_without_the_conversion_webhook(api: Api) -> None:
    answer = await api.post(CRDS, other_crd(True, True, conversion=WEBHOOK))
    assert answer.code == 201, answer.text
    stored, other = (f"/apis/other.freehold.dev/{each}/namespaces/default/widgets" for each in ("v1", "v1beta1"))
    await api.made(stored, {**widget("a", {"size": 1}), "apiVersion": "other.freehold.dev/v1"})
    assert (await api.get(f"{stored}/a")).json["spec"]["size"] == 1
    for path in (other, f"{other}/a"):
        refused = await api.get(path)
        assert refused.code == 500
        assert refused.message == (
            "conversion webhook for other.freehold.dev/v1, Kind=Widget failed: "
            'Post "https://s.n.svc:443?timeout=30s": service "s" not found'
        )
    (event,) = await api.watch(other, timeoutSeconds=1)
    assert (event["type"], event["object"]["code"]) == ("ERROR", 500)


async def test_objects_of_a_version_that_is_not_served_go_with_their_namespace_and_their_crd(api: Api) -> None:
    crd = other_crd(True, True, conversion=WEBHOOK)
    await api.made(CRDS, crd)
    await api.made("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})
    body = {**widget("a", {"size": 1}), "apiVersion": "other.freehold.dev/v1"}
    for namespace in ("n", "default"):
        await api.made(f"/apis/other.freehold.dev/v1/namespaces/{namespace}/widgets", body)
    name = f"{CRDS}/{crd['metadata']['name']}"
    versions = other_crd(False, True)["spec"]["versions"]
    assert (await api.merge(name, {"spec": {"versions": versions}})).code == 200
    await api.delete("/api/v1/namespaces/n")
    await api.gone("/api/v1/namespaces/n")
    await api.delete(name)
    await api.gone(name)


# CRDs that the server was started with


@pytest.fixture
async def told(clock: Clock) -> AsyncIterator[tuple[Api, list[str], asyncio.Event]]:
    names: list[str] = []
    restored = asyncio.Event()

    def note(name: str) -> None:
        names.append(name)
        restored.set()

    store = Store.open(":memory:")
    server = ApiServer(store, [widget_crd()], now=clock, restored=note)
    url = await server.start()
    async with aiohttp.ClientSession() as session:
        yield Api(url, session), names, restored
    await server.stop()
    store.close()


async def test_a_crd_of_the_server_that_is_deleted_is_put_back_and_told(
    told: tuple[Api, list[str], asyncio.Event],
) -> None:
    api, names, restored = told
    before = (await api.get(f"{CRDS}/widgets.{GROUP}")).json
    await api.made(WIDGETS, widget("a", {}, finalizers=["test.freehold.dev/hold"]))
    await api.delete(f"{CRDS}/widgets.{GROUP}")
    held = (await api.get(f"{CRDS}/widgets.{GROUP}")).json
    assert held["metadata"]["uid"] == before["metadata"]["uid"] and not names, "not before its objects are gone"
    await api.merge(f"{WIDGETS}/a", {"metadata": {"finalizers": None}})
    async with asyncio.timeout(10):
        await restored.wait()
    after = (await api.get(f"{CRDS}/widgets.{GROUP}")).json
    assert names == [f"widgets.{GROUP}"] and after["metadata"]["uid"] != before["metadata"]["uid"]
    assert after["spec"] == before["spec"]
    assert (await api.get(ALL_WIDGETS)).json["items"] == [], "the objects stay deleted"
    await api.made(WIDGETS, widget("b", {"size": 1}))


async def test_a_crd_of_somebody_else_stays_deleted(told: tuple[Api, list[str], asyncio.Event]) -> None:
    api, names, _ = told
    await api.made(CRDS, copy.deepcopy(other_crd(True, True)))
    await api.delete(f"{CRDS}/widgets.other.freehold.dev")
    await api.gone(f"{CRDS}/widgets.other.freehold.dev")
    assert not names


async def test_installed_crd_may_drop_the_version_in_which_objects_are_stored(clock: Clock) -> None:
    """What the server was started with is its own; what a client sends is refused as on a real server."""
    store = Store.open(":memory:")
    old, new = widget_crd(), widget_crd()
    new["spec"]["versions"] = [{**new["spec"]["versions"][1], "storage": True}]
    path = WIDGETS.replace("/v1/", "/v1beta1/")
    for crd in (old, new):
        server = ApiServer(store, [crd], now=clock)
        async with aiohttp.ClientSession() as session:
            api = Api(await server.start(), session)
            if crd is old:
                await api.made(WIDGETS, widget("a", {"size": 1}))
                refused = await api.merge(f"{CRDS}/widgets.{GROUP}", {"spec": {"versions": new["spec"]["versions"]}})
                assert refused.code == 422 and "status.storedVersions[0]" in refused.message
            else:
                found = (await api.get(f"{path}/a")).json
                assert (found["apiVersion"], found["spec"]["size"]) == (f"{GROUP}/v1beta1", 1)
                stored = (await api.get(f"{CRDS}/widgets.{GROUP}")).json["status"]["storedVersions"]
                assert stored == ["v1beta1"]
        await server.stop()
    store.close()


# Columns


async def cells(api: Api, path: str) -> list[dict[str, Any]]:
    """The rows of a Table, each by the names of its columns; columns of -o wide are in brackets."""
    table = (await api.get(path, TABLE)).json
    columns = [f"({each['name']})" if each["priority"] else each["name"] for each in table["columnDefinitions"]]
    return [dict(zip(columns, row["cells"], strict=True)) for row in table["rows"]]


async def test_columns_of_events_are_those_of_a_real_server(api: Api) -> None:
    about = {"involvedObject": {"kind": "ConfigMap", "namespace": "default", "name": "a", "fieldPath": "data.x"}}
    old = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "old"}, **about, "type": "Warning",
           "reason": "Broken", "message": " it broke\n", "source": {"component": "c", "host": "h"}, "count": 3,
           "firstTimestamp": "2025-12-31T23:00:00Z", "lastTimestamp": "2025-12-31T23:59:00Z"}  # fmt: skip
    series = {**old, "metadata": {"name": "series"}, "source": {}, "count": None, "firstTimestamp": None,
              "lastTimestamp": None, "eventTime": "2025-12-31T23:30:00.000000Z", "action": "Break",
              "reportingComponent": "r", "reportingInstance": "i",
              "series": {"count": 5, "lastObservedTime": "2025-12-31T23:50:00.000000Z"}}  # fmt: skip
    for event in (old, series):
        await api.made("/api/v1/namespaces/default/events", event)
    common = {"Type": "Warning", "Reason": "Broken", "Object": "configmap/a", "(Subobject)": "data.x",
              "Message": "it broke"}  # fmt: skip
    expected = [
        {"Last Seen": "60s", **common, "(Source)": "c, h", "(First Seen)": "60m", "(Count)": 3, "(Name)": "old"},
        {"Last Seen": "10m", **common, "(Source)": "r, i", "(First Seen)": "30m", "(Count)": 5, "(Name)": "series"},
    ]
    assert await cells(api, "/api/v1/namespaces/default/events") == expected
    assert await cells(api, "/apis/events.k8s.io/v1/namespaces/default/events") == expected


async def test_columns_of_the_other_built_in_kinds(api: Api) -> None:
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"},
             "spec": {"holderIdentity": "me"}}  # fmt: skip
    await api.made("/apis/coordination.k8s.io/v1/namespaces/default/leases", lease)
    await api.made(CONFIG_MAPS, {**config_map("c", {"a": "1", "b": "2"}), "binaryData": {"d": "AA=="}})
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": "1"}}
    await api.made("/api/v1/namespaces/default/secrets", secret)
    assert await cells(api, "/apis/coordination.k8s.io/v1/leases") == [{"Name": "l", "Holder": "me", "Age": "0s"}]
    assert await cells(api, CONFIG_MAPS) == [{"Name": "c", "Data": 3, "Age": "0s"}]
    assert await cells(api, "/api/v1/secrets") == [{"Name": "s", "Type": "Opaque", "Data": 1, "Age": "0s"}]
    assert (await cells(api, "/api/v1/namespaces"))[0] == {"Name": "default", "Status": "Active", "Age": "0s"}
    plain = other_crd(True, True)
    for version in plain["spec"]["versions"]:
        del version["additionalPrinterColumns"]
    await api.made(CRDS, plain)
    path = "/apis/other.freehold.dev/v1/namespaces/default/widgets"
    await api.made(path, {**widget("w", {}), "apiVersion": "other.freehold.dev/v1"})
    assert await cells(api, path) == [{"Name": "w", "Age": "0s"}], "a kind without columns, as on a real server"
