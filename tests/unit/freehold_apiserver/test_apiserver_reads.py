"""Lists, pages, watches and selectors: a reader never misses a change and never sees a mixed state."""

from __future__ import annotations

import json

import pytest
from apiserver_testbed import ALL_WIDGETS, CONFIG_MAPS, WIDGETS, Api, config_map, widget


def names(answer: dict[str, object]) -> list[str]:
    return [each["metadata"]["name"] for each in answer["items"]]  # type: ignore[attr-defined]  # JSON


async def test_pages_show_and_report_the_first_pages_state(api: Api) -> None:
    """If each page had the current version, changes would be lost (docs/reference/kubernetes.md#watching)."""
    for name in "abcde":
        await api.made(WIDGETS, widget(name, {"size": 1}))
    first = (await api.get(WIDGETS, limit=2)).json
    version = first["metadata"]["resourceVersion"]
    assert names(first) == ["a", "b"] and first["metadata"]["remainingItemCount"] == 3
    await api.delete(f"{WIDGETS}/c")
    await api.merge(f"{WIDGETS}/d", {"spec": {"size": 9}})
    await api.made(WIDGETS, widget("bb"))
    second = (await api.get(WIDGETS, limit=2, **{"continue": first["metadata"]["continue"]})).json
    third = (await api.get(WIDGETS, limit=2, **{"continue": second["metadata"]["continue"]})).json
    assert names(second) + names(third) == ["c", "d", "e"]
    assert second["items"][1]["spec"]["size"] == 1, "d as it was when the list began"
    assert {version} == {second["metadata"]["resourceVersion"], third["metadata"]["resourceVersion"]}
    assert "continue" not in third["metadata"]
    missed = await api.watch(WIDGETS, resourceVersion=version, timeoutSeconds=1)
    assert [(each["type"], each["object"]["metadata"]["name"]) for each in missed] == [
        ("DELETED", "c"), ("MODIFIED", "d"), ("ADDED", "bb"),
    ]  # fmt: skip


async def test_a_page_whose_state_is_compacted_is_410(api: Api) -> None:
    for name in "abc":
        await api.made(WIDGETS, widget(name))
    token = (await api.get(WIDGETS, limit=1)).json["metadata"]["continue"]
    for size in range(1, 60):
        await api.merge(f"{WIDGETS}/a", {"spec": {"size": size if size != 13 else 99}})
    answer = await api.get(WIDGETS, limit=1, **{"continue": token})
    assert (answer.code, answer.json["reason"]) == (410, "Expired")


async def test_a_watch_from_a_compacted_version_gets_an_error_event(api: Api) -> None:
    version = (await api.made(WIDGETS, widget("a")))["metadata"]["resourceVersion"]
    for size in range(1, 60):
        await api.merge(f"{WIDGETS}/a", {"spec": {"size": size if size != 13 else 99}})
    (event,) = await api.watch(WIDGETS, resourceVersion=version, timeoutSeconds=5)
    assert event["type"] == "ERROR"
    assert (event["object"]["code"], event["object"]["reason"]) == (410, "Expired")


async def test_initial_events_end_with_a_bookmark(api: Api) -> None:
    await api.made(WIDGETS, widget("a"))
    added, bookmark, *_ = await api.watch(
        WIDGETS,
        sendInitialEvents="true",
        resourceVersionMatch="NotOlderThan",
        allowWatchBookmarks="true",
        timeoutSeconds=1,
    )
    assert added["type"] == "ADDED" and bookmark["type"] == "BOOKMARK"
    assert bookmark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


async def test_a_live_watch_sees_writes_as_they_happen(api: Api) -> None:
    version = (await api.get(WIDGETS)).json["metadata"]["resourceVersion"]
    query = {"watch": "true", "resourceVersion": version, "timeoutSeconds": "10"}
    async with api.session.get(api.url + WIDGETS, params=query) as stream:
        for act, kind in (
            (api.post(WIDGETS, widget("a", {"size": 1})), "ADDED"),
            (api.merge(f"{WIDGETS}/a", {"spec": {"size": 2}}), "MODIFIED"),
            (api.delete(f"{WIDGETS}/a"), "DELETED"),
        ):
            await act
            event = json.loads(await stream.content.readline())
            assert (event["type"], event["object"]["metadata"]["name"]) == (kind, "a")
    assert event["object"]["metadata"]["resourceVersion"] > version, "a deletion has a version of its own"


async def test_objects_are_added_and_deleted_as_they_match_a_watchers_selector(api: Api) -> None:
    version = (await api.get(WIDGETS)).json["metadata"]["resourceVersion"]
    await api.made(WIDGETS, widget("a", {}, labels={"on": "no"}))
    await api.merge(f"{WIDGETS}/a", {"metadata": {"labels": {"on": "yes"}}})
    await api.merge(f"{WIDGETS}/a", {"spec": {"size": 2}})
    await api.merge(f"{WIDGETS}/a", {"metadata": {"labels": {"on": "no"}}})
    events = await api.watch(WIDGETS, resourceVersion=version, labelSelector="on=yes", timeoutSeconds=1)
    assert [each["type"] for each in events] == ["ADDED", "MODIFIED", "DELETED"]


async def test_a_watch_is_of_one_namespace_or_of_all(api: Api) -> None:
    version = (await api.get(ALL_WIDGETS)).json["metadata"]["resourceVersion"]
    await api.made("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})
    await api.made(WIDGETS, widget("here"))
    await api.made(WIDGETS.replace("default", "other"), widget("there"))
    for path, expected in ((WIDGETS, ["here"]), (ALL_WIDGETS, ["here", "there"])):
        events = await api.watch(path, resourceVersion=version, timeoutSeconds=1)
        assert [each["object"]["metadata"]["name"] for each in events] == expected
        assert names((await api.get(path)).json) == expected


async def test_a_future_version_is_refused(api: Api) -> None:
    for query in ({}, {"watch": "true"}):
        answer = await api.get(WIDGETS, resourceVersion=10**9, **query)
        assert answer.code == 504 and answer.json["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


async def test_an_exact_version_can_be_listed(api: Api) -> None:
    version = (await api.made(WIDGETS, widget("a", {"size": 1})))["metadata"]["resourceVersion"]
    await api.merge(f"{WIDGETS}/a", {"spec": {"size": 2}})
    exact = (await api.get(WIDGETS, resourceVersion=version, resourceVersionMatch="Exact")).json
    assert exact["items"][0]["spec"]["size"] == 1 and exact["metadata"]["resourceVersion"] == version
    newer = (await api.get(WIDGETS, resourceVersion=version)).json
    assert newer["items"][0]["spec"]["size"] == 2, "otherwise a version is a lower bound"


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("team=x", ["a"]),
        ("team==x", ["a"]),
        ("team!=x", ["b", "c"]),
        ("team in (x, y)", ["a", "b"]),
        ("team notin (x)", ["b", "c"]),
        ("team", ["a", "b"]),
        ("!team", ["c"]),
        ("team in (x,y),tier=1", ["b"]),
        ("tier>0", ["b"]),
        ("tier<1", []),
        ("", ["a", "b", "c"]),
    ],
)
async def test_label_selectors(api: Api, selector: str, expected: list[str]) -> None:
    for name, labels in (("a", {"team": "x"}), ("b", {"team": "y", "tier": "1"}), ("c", {})):
        await api.made(CONFIG_MAPS, config_map(name, labels=labels))
    assert names((await api.get(CONFIG_MAPS, labelSelector=selector)).json) == expected


async def test_field_selectors_that_are_not_offered_are_refused(api: Api) -> None:
    await api.made(CONFIG_MAPS, config_map("a"))
    await api.made(CONFIG_MAPS, config_map("b"))
    assert names((await api.get(CONFIG_MAPS, fieldSelector="metadata.name=a")).json) == ["a"]
    assert names((await api.get(CONFIG_MAPS, fieldSelector="metadata.name!=a,metadata.namespace=default")).json) == [
        "b"
    ]
    answer = await api.get(CONFIG_MAPS, fieldSelector="data.x=1")
    assert answer.code == 400 and "field label not supported: data.x" in answer.message


@pytest.mark.parametrize("query", [{"labelSelector": "a in x"}, {"limit": "many"}, {"continue": "nonsense"}])
async def test_bad_queries_are_400(api: Api, query: dict[str, str]) -> None:
    assert (await api.get(WIDGETS, **query)).code == 400


async def test_events_are_selected_by_their_object(api: Api) -> None:
    path = "/api/v1/namespaces/default/events"
    for name in ("a", "b"):
        about = {"kind": "Widget", "name": name, "namespace": "default", "uid": f"uid-{name}"}
        await api.made(path, {"apiVersion": "v1", "kind": "Event", "metadata": {"name": f"{name}.1"}, "type": "Warning",
                              "involvedObject": about, "reason": "Failed", "message": "no luck"})  # fmt: skip
    found = (await api.get(path, fieldSelector="involvedObject.name=a,involvedObject.uid=uid-a,type=Warning")).json
    assert names(found) == ["a.1"]


async def test_every_served_version_shows_every_object(api: Api) -> None:
    await api.made(WIDGETS, widget("a", {"size": 1}))
    other = WIDGETS.replace("/v1/", "/v1beta1/")
    assert (await api.get(f"{other}/a")).json["apiVersion"] == "test.freehold.dev/v1beta1"
    listed = (await api.get(other)).json
    assert listed["apiVersion"] == listed["items"][0]["apiVersion"] == "test.freehold.dev/v1beta1"
    patched = await api.merge(f"{other}/a", {"spec": {"size": 2}})
    assert patched.json["apiVersion"] == "test.freehold.dev/v1beta1"
    assert (await api.get(f"{WIDGETS}/a")).json["apiVersion"] == "test.freehold.dev/v1"


async def test_answers_are_exactly_json(api: Api) -> None:
    """Some clients read a Status only with plain ``application/json`` (docs/reference/kubernetes.md#requests)."""
    for path in (WIDGETS, f"{WIDGETS}/missing", "/apis", "/no/such/path"):
        assert (await api.get(path)).headers["Content-Type"] == "application/json"
