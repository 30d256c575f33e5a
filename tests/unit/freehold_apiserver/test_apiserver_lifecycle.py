"""Garbage collection, expiry and other background work, and what survives a restart."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import aiohttp
import pytest
from apiserver_testbed import CONFIG_MAPS, CRDS, WIDGETS, Api, Clock, config_map, widget, widget_crd

from freehold.api.placeholders import Placeholder
from freehold_apiserver.server import ApiServer
from freehold_apiserver.store import Store

NAMESPACES = "/api/v1/namespaces"


def owned_by(owner: dict[str, object], kind: str, api_version: str, name: str) -> dict[str, object]:
    uid = owner["metadata"]["uid"]  # type: ignore[index]  # JSON
    return {"apiVersion": api_version, "kind": kind, "name": name, "uid": uid}


async def test_the_usual_namespaces_are_there(api: Api) -> None:
    found = {each["metadata"]["name"] for each in (await api.get(NAMESPACES)).json["items"]}
    assert found == {"default", "kube-system"}


async def test_a_deleted_namespace_deletes_its_objects(api: Api) -> None:
    await api.made(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})
    inside = WIDGETS.replace("default", "n")
    await api.made(inside, widget("held", {}, finalizers=["test.freehold.dev/hold"]))
    await api.made(inside, widget("free"))
    going = (await api.delete(f"{NAMESPACES}/n")).json
    assert going["status"]["phase"] == "Terminating" and going["metadata"]["deletionTimestamp"]
    await api.gone(f"{inside}/free")
    assert (await api.get(f"{NAMESPACES}/n")).code == 200, "a finalizer inside keeps the namespace"
    refused = await api.post(inside, widget("late"))
    assert refused.code == 403 and "being terminated" in refused.message
    await api.merge(f"{inside}/held", {"metadata": {"finalizers": None}})
    await api.gone(f"{NAMESPACES}/n")


async def test_dependants_are_deleted_after_the_last_owner(api: Api) -> None:
    first, second = await api.made(WIDGETS, widget("first")), await api.made(WIDGETS, widget("second"))
    owners = [owned_by(first, "Widget", "test.freehold.dev/v1", "first"),
              owned_by(second, "Widget", "test.freehold.dev/v1", "second")]  # fmt: skip
    parent = await api.made(CONFIG_MAPS, config_map("both", ownerReferences=owners))
    await api.made(CONFIG_MAPS, config_map("child", ownerReferences=[owned_by(parent, "ConfigMap", "v1", "both")]))
    await api.delete(f"{WIDGETS}/first")
    assert (await api.get(f"{CONFIG_MAPS}/both")).code == 200
    await api.delete(f"{WIDGETS}/second")
    await api.gone(f"{CONFIG_MAPS}/both")
    await api.gone(f"{CONFIG_MAPS}/child")


async def test_a_missing_owner_is_gone_but_one_of_an_unknown_kind_may_exist(api: Api) -> None:
    stranger = {"apiVersion": "other.dev/v1", "kind": "Unknown", "name": "x", "uid": "u1"}
    ghost = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "u2"}
    await api.made(CONFIG_MAPS, config_map("kept", ownerReferences=[stranger]))
    await api.post(CONFIG_MAPS, config_map("orphan", ownerReferences=[ghost]))
    await api.gone(f"{CONFIG_MAPS}/orphan")
    assert (await api.get(f"{CONFIG_MAPS}/kept")).code == 200


async def test_orphaned_dependants_stay(api: Api) -> None:
    owner = await api.made(WIDGETS, widget("a"))
    await api.made(
        CONFIG_MAPS, config_map("c", ownerReferences=[owned_by(owner, "Widget", "test.freehold.dev/v1", "a")])
    )
    await api.delete(f"{WIDGETS}/a", {"propagationPolicy": "Orphan"})
    await api.gone(f"{WIDGETS}/a")
    child = await api.get(f"{CONFIG_MAPS}/c")
    assert child.code == 200 and "ownerReferences" not in child.json["metadata"]


async def test_foreground_deletion_waits_for_the_dependants(api: Api) -> None:
    owner = await api.made(WIDGETS, widget("a"))
    reference = {**owned_by(owner, "Widget", "test.freehold.dev/v1", "a"), "blockOwnerDeletion": True}
    await api.made(CONFIG_MAPS, config_map("c", ownerReferences=[reference], finalizers=["test.freehold.dev/hold"]))
    begun = (await api.delete(f"{WIDGETS}/a", {"propagationPolicy": "Foreground"})).json
    assert begun["metadata"]["finalizers"] == ["foregroundDeletion"]
    assert (await api.get(f"{WIDGETS}/a")).code == 200
    await api.merge(f"{CONFIG_MAPS}/c", {"metadata": {"finalizers": None}})
    await api.gone(f"{WIDGETS}/a")


async def test_old_events_expire(api: Api, clock: Clock) -> None:
    path = "/api/v1/namespaces/default/events"
    await api.made(path, {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "old"}, "involvedObject": {}})
    clock.advance(timedelta(hours=2))
    await api.made(path, {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "new"}, "involvedObject": {}})
    await api.made(CONFIG_MAPS, config_map("any"))
    await api.delete(f"{CONFIG_MAPS}/any")
    await api.gone(f"{path}/old")
    assert (await api.get(f"{path}/new")).code == 200


async def test_a_posted_crd_is_served_at_once_and_its_delete_deletes_its_objects(api: Api) -> None:
    crd = Placeholder("later.dev", "v1", "Gadget", "gadgets").build_crd()
    made = await api.made(CRDS, crd)
    assert {each["type"]: each["status"] for each in made["status"]["conditions"]} == {
        "NamesAccepted": "True", "Established": "True",
    }  # fmt: skip
    path = "/apis/later.dev/v1/namespaces/default/gadgets"
    body = {"apiVersion": "later.dev/v1", "kind": "Gadget", "metadata": {"name": "g"}, "spec": {"any": [{"thing": 1}]}}
    kept = await api.made(path, body)
    assert kept["spec"] == body["spec"], "a placeholder keeps everything"
    await api.delete(f"{CRDS}/gadgets.later.dev")
    await api.gone(f"{CRDS}/gadgets.later.dev")
    assert (await api.get(path)).code == 404
    assert "later.dev" not in (await api.get("/apis")).text


async def test_a_changed_crd_changes_what_is_served(api: Api) -> None:
    crd = widget_crd()
    for version in crd["spec"]["versions"]:
        version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["size"]["maximum"] = 5
    assert (await api.merge(f"{CRDS}/widgets.test.freehold.dev", {"spec": crd["spec"]})).code == 200
    assert (await api.post(WIDGETS, widget("a", {"size": 6}))).code == 422


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"group": "other.dev"}, "metadata.name"),
        ({"scope": "Galaxy"}, "spec.scope: Unsupported value"),
        ({"versions": []}, "spec.versions: Required value"),
        ({"names": {"plural": "widgets"}}, "spec.names.kind: Required value"),
        ({"conversion": {"strategy": "Webhook"}}, "spec.conversion.webhookClientConfig: Required value"),
    ],
)
async def test_a_crd_that_cannot_be_served_is_refused(api: Api, change: dict[str, object], said: str) -> None:
    answer = await api.post(CRDS, widget_crd(**change))
    assert answer.code == 422 and said in answer.message


async def test_a_rule_that_cannot_be_enforced_is_named(api: Api) -> None:
    crd = Placeholder("later.dev", "v1", "Gadget", "gadgets").build_crd()
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["x-kubernetes-validations"] = [{"rule": "self.?spec.orValue(1) == 1"}]
    answer = await api.post(CRDS, crd)
    assert answer.code == 201
    assert "is not enforced here" in answer.headers["Warning"]


async def test_everything_except_old_watches_survives_a_restart(tmp_path: Path, clock: Clock) -> None:
    """kill -9 loses nothing acknowledged, so the second server opens the file while the first one has it open."""
    first_store = Store.open(tmp_path / "state.db")
    first = ApiServer(first_store, [widget_crd()], now=clock)
    async with aiohttp.ClientSession() as session:
        api = Api(await first.start(), session)
        await api.made(CRDS, Placeholder("later.dev", "v1", "Gadget", "gadgets").build_crd())
        early = (await api.made(WIDGETS, widget("a", {"size": 1})))["metadata"]["resourceVersion"]
        written = (await api.merge(f"{WIDGETS}/a", {"spec": {"size": 2}})).json
        await api.made(WIDGETS, widget("b"))
        await api.delete(f"{WIDGETS}/b")
        latest = int((await api.get(WIDGETS)).json["metadata"]["resourceVersion"])

        second_store = Store.open(tmp_path / "state.db")
        second = ApiServer(second_store, [widget_crd()], now=clock)
        again = Api(await second.start(), session)
        assert (await again.get(f"{WIDGETS}/a")).json == written
        assert (await again.get(f"{WIDGETS}/b")).code == 404
        assert (await again.get("/apis/later.dev/v1/gadgets")).code == 200
        made = await again.made(WIDGETS, widget("c"))
        assert int(made["metadata"]["resourceVersion"]) > latest, "versions go on, never back"
        (event,) = await again.watch(WIDGETS, resourceVersion=early, timeoutSeconds=5)
        assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
    for server, store in ((first, first_store), (second, second_store)):
        await server.stop()
        store.close()


async def test_deletions_that_were_under_way_are_finished_after_a_restart(tmp_path: Path, clock: Clock) -> None:
    store = Store.open(tmp_path / "state.db")
    server = ApiServer(store, [widget_crd()], now=clock)
    async with aiohttp.ClientSession() as session:
        api = Api(await server.start(), session)
        await api.made(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})
        inside = WIDGETS.replace("default", "n")
        await api.made(inside, widget("held", {}, finalizers=["test.freehold.dev/hold"]))
        await api.delete(f"{NAMESPACES}/n")
        await server.stop()
        store.close()
        store = Store.open(tmp_path / "state.db")
        server = ApiServer(store, [widget_crd()], now=clock)
        api = Api(await server.start(), session)
        await api.merge(f"{inside}/held", {"metadata": {"finalizers": None}})
        await api.gone(f"{NAMESPACES}/n")
    await server.stop()
    store.close()


async def test_a_bad_crd_at_start_is_named() -> None:
    store = Store.open(":memory:")
    server = ApiServer(store, [widget_crd(scope="Galaxy")])
    with pytest.raises(ValueError, match=r"CRD widgets\.test\.freehold\.dev cannot be installed"):
        await server.start()
    store.close()
