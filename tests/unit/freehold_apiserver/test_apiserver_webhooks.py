"""Webhooks on the embedded server alone: Services, time limits, clients that go away, work in the background.

What webhooks do on any API server is in ``tests/e2e/test_e2e_webhooks.py`` and ``test_e2e_conversion.py``.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import aiohttp
import pytest
from apiserver_testbed import ALL_WIDGETS, CONFIG_MAPS, GROUP, WIDGETS, Api, Clock, config_map, widget, widget_crd

from freehold_apiserver import objects
from freehold_apiserver.admission.dispatch import Admission
from freehold_apiserver.builtins import built_in_resources
from freehold_apiserver.errors import Notes
from freehold_apiserver.objects import Objects
from freehold_apiserver.patches import MERGE
from freehold_apiserver.resources import Registry
from freehold_apiserver.server import ApiServer
from freehold_apiserver.store import Store
from freehold_apiserver.webhook_client import WebhookClient
from freehold_apiserver.write_options import DeleteOptions, WriteOptions
from harness.webhook_server import Json, WebhookServer, allow, converting, deny, review, webhook_server

MUTATING = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
VALIDATING = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
NAMES = ("hook.tools.svc",)


@pytest.fixture(scope="module")
def hooks() -> Iterator[WebhookServer]:
    with webhook_server(NAMES) as started:
        yield started


@pytest.fixture
async def served(clock: Clock, hooks: WebhookServer) -> AsyncIterator[Api]:
    """A server for which two Services stand for the webhook server; its certificate has the name of one."""
    hooks.forget()
    address = hooks.url.removeprefix("https://")
    store = Store.open(":memory:")
    services = {("tools", "hook"): address, ("tools", "other"): address}
    server = ApiServer(store, [widget_crd()], now=clock, services=services)
    url = await server.start()
    async with aiohttp.ClientSession() as session:
        yield Api(url, session)
    await server.stop()
    store.close()
    await settled(hooks)


async def settled(hooks: WebhookServer) -> None:
    """Let this loop see that the webhook server has closed its connections: a loop that ends before warns of them.

    TLS says goodbye from both sides, and the server's comes late where a request was given up.
    """
    assert await asyncio.to_thread(hooks.wait_until_closed)
    for _ in range(10):
        await asyncio.sleep(0)


def configuration(hooks: WebhookServer, *resources: str, service: str = "hook", **more: Any) -> Json:
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": list(resources or ("widgets",)), "operations": ["*"]}
    config = {"service": {"namespace": "tools", "name": service, "path": "/hook"}, "caBundle": hooks.authority}
    hook = {"name": "hook.test.freehold.dev", "clientConfig": config, "rules": [rule], "sideEffects": "None",
            "admissionReviewVersions": ["v1"], **more}  # fmt: skip
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "hooks"}, "webhooks": [hook]}  # fmt: skip


async def test_service_is_called_at_its_address_by_its_name(served: Api, hooks: WebhookServer) -> None:
    hooks.answers["/hook"] = allow(warnings=["seen"])
    made = await served.made(VALIDATING, configuration(hooks))
    assert made["webhooks"][0]["clientConfig"]["service"]["port"] == 443
    answer = await served.post(WIDGETS, widget("a"))
    assert (answer.code, answer.headers["Warning"]) == (201, '299 - "seen"')


@pytest.mark.parametrize(
    ("service", "told"),
    [
        ("other", 'Post "https://other.tools.svc:443/hook?timeout=10s": tls: failed to verify certificate: x509: '),
        ("none", 'Post "https://none.tools.svc:443/hook?timeout=10s": service "none" not found'),
    ],
)
async def test_service_of_another_name_is_not_trusted(
    served: Api, hooks: WebhookServer, service: str, told: str
) -> None:
    hooks.answers["/hook"] = allow()
    await served.made(VALIDATING, configuration(hooks, service=service))
    answer = await served.post(WIDGETS, widget("a"))
    assert answer.code == 500 and told in answer.message
    assert not hooks.seen("/hook")


async def test_certificate_of_the_machine_is_asked_for_without_an_authority(served: Api, hooks: WebhookServer) -> None:
    config = {"service": {"namespace": "tools", "name": "hook", "path": "/hook"}, "caBundle": "Cg=="}
    await served.made(VALIDATING, configuration(hooks, clientConfig=config))
    answer = await served.post(WIDGETS, widget("a"))
    assert answer.code == 500 and "certificate signed by unknown authority" in answer.message


@contextlib.contextmanager
def held(hooks: WebhookServer) -> Iterator[Callable[[], Awaitable[None]]]:
    """A webhook that answers when the block is left; gives a function that waits until it is asked."""
    asked, release = threading.Event(), threading.Event()

    def answer(request: Json) -> Json:
        asked.set()
        release.wait(60)
        return review(request, allowed=True)

    async def until_asked() -> None:
        assert await asyncio.to_thread(asked.wait, 60)

    hooks.answers["/hook"] = answer
    try:
        yield until_asked
    finally:
        release.set()


async def test_write_takes_at_most_its_time(served: Api, hooks: WebhookServer, monkeypatch: pytest.MonkeyPatch) -> None:
    await served.made(VALIDATING, configuration(hooks, timeoutSeconds=30))
    hooks.answers["/hook"] = allow()
    # A connection that is there: asyncio leaves one behind whose handshake is cancelled.
    await served.made(WIDGETS, widget("first"))
    monkeypatch.setattr(objects, "_TIMEOUT", 0.05)
    with held(hooks):
        answer = await served.post(WIDGETS, widget("a"))
    assert (answer.code, answer.json["reason"]) == (504, "Timeout")
    assert (await served.get(f"{WIDGETS}/a")).code == 404


async def test_other_clients_are_served_while_a_webhook_thinks(served: Api, hooks: WebhookServer) -> None:
    await served.made(VALIDATING, configuration(hooks))
    with held(hooks) as until_asked:
        writing = asyncio.create_task(served.post(WIDGETS, widget("a")))
        await until_asked()
        assert (await served.get(ALL_WIDGETS)).json["items"] == []
        assert (await served.post(CONFIG_MAPS, config_map("c"))).code == 201
    assert (await writing).code == 201


async def test_write_of_a_client_that_went_away_is_not_stored(served: Api, hooks: WebhookServer) -> None:
    await served.made(VALIDATING, configuration(hooks))
    with held(hooks) as until_asked:
        writing = asyncio.create_task(served.post(WIDGETS, widget("a")))
        await until_asked()
        writing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await writing
        # Its connection is closed, so the server learns of it before it takes the next request.
        assert (await served.get(ALL_WIDGETS)).json["items"] == []
    hooks.answers["/hook"] = allow()
    assert (await served.post(WIDGETS, widget("a"))).code == 201


async def test_namespace_that_ends_meanwhile_takes_no_object(served: Api, hooks: WebhookServer) -> None:
    namespaces = "/api/v1/namespaces"
    await served.made(namespaces, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})
    await served.made(VALIDATING, configuration(hooks))
    with held(hooks) as until_asked:
        writing = asyncio.create_task(served.post(f"/apis/{GROUP}/v1/namespaces/n/widgets", widget("a")))
        await until_asked()
        await served.delete(f"{namespaces}/n")
        await served.gone(f"{namespaces}/n")
    answer = await writing
    assert (answer.code, 'namespaces "n" not found' in answer.message) == (404, True)


async def test_denied_deletion_holds_up_nothing_else_in_the_background(served: Api, hooks: WebhookServer) -> None:
    namespaces, inside = "/api/v1/namespaces", f"/apis/{GROUP}/v1/namespaces/n/widgets"
    await served.made(namespaces, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})
    for name in ("a", "b"):
        await served.made(inside, widget(name))
    hooks.answers["/hook"] = lambda request: (
        deny(message="keep it") if request["oldObject"]["metadata"]["name"] == "a" else allow()
    )(request)
    await served.made(VALIDATING, configuration(hooks))
    await served.delete(f"{namespaces}/n")
    await served.gone(f"{inside}/b")
    assert (await served.get(f"{inside}/a")).code == 200
    await served.delete(f"{VALIDATING}/hooks")
    await served.gone(f"{inside}/a")


async def test_webhook_that_is_not_there_stops_no_start(hooks: WebhookServer, clock: Clock) -> None:
    """Its CRDs are brought up to date at the start, when no webhook of theirs can be there yet."""
    store, crd = Store.open(":memory:"), widget_crd()
    for versions in (crd["spec"]["versions"], crd["spec"]["versions"][:1]):
        server = ApiServer(store, [{**crd, "spec": {**crd["spec"], "versions": versions}}], now=clock)
        async with aiohttp.ClientSession() as session:
            api = Api(await server.start(), session)
            if len(versions) == 2:
                await api.made(VALIDATING, configuration(hooks, "*"))
            assert (await api.post(WIDGETS, widget("a"))).code == 500
        await server.stop()
    store.close()


async def test_background_work_on_an_object_of_an_older_version_keeps_its_fields(
    served: Api, hooks: WebhookServer
) -> None:
    """The finalizer of a deletion in the foreground goes; the spec, which has other fields now, is converted."""

    def renamed(obj: Json, version: str) -> Json:
        spec = dict(obj.get("spec") or {})
        old, new = ("size", "extent") if version.endswith("v1beta1") else ("extent", "size")
        return {**obj, "spec": {new: spec.pop(old), **spec} if old in spec else spec}

    hooks.answers["/convert"] = converting(renamed)
    service = {"namespace": "tools", "name": "hook", "path": "/convert"}
    webhook = {"clientConfig": {"service": service, "caBundle": hooks.authority}, "conversionReviewVersions": ["v1"]}
    crd = widget_crd(group="old.freehold.dev", conversion={"strategy": "Webhook", "webhook": webhook})
    crd["metadata"]["name"] = "widgets.old.freehold.dev"
    extent = {"type": "object", "properties": {"extent": {"type": "integer"}}}
    crd["spec"]["versions"][1]["schema"] = {"openAPIV3Schema": {"type": "object", "properties": {"spec": extent}}}
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    path = "/apis/old.freehold.dev/v1beta1/namespaces/default/widgets"
    await served.made(crds, crd)
    made = widget("a", {"size": 7}, finalizers=["freehold.dev/held"])
    await served.made(path.replace("v1beta1", "v1"), {**made, "apiVersion": "old.freehold.dev/v1"})
    versions = [{**each, "storage": not each["storage"]} for each in crd["spec"]["versions"]]
    assert (await served.merge(f"{crds}/widgets.old.freehold.dev", {"spec": {"versions": versions}})).code == 200
    await served.delete(f"{path}/a", {"propagationPolicy": "Foreground"})
    found: Json = {}
    async with served.session.get(f"{served.url}{path}", params={"watch": "true", "timeoutSeconds": "60"}) as events:
        async for line in events.content:
            found = json.loads(line)["object"]
            if found["metadata"]["finalizers"] == ["freehold.dev/held"]:
                break
    assert found["metadata"]["finalizers"] == ["freehold.dev/held"] and found["spec"] == {"extent": 7}


async def test_stop_does_not_wait_for_webhooks_of_background_work(
    hooks: WebhookServer, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("freehold_apiserver.server._PATIENCE", 0.05)
    store = Store.open(":memory:")
    services = {("tools", "hook"): hooks.url.removeprefix("https://")}
    server = ApiServer(store, [widget_crd()], now=clock, services=services)
    async with aiohttp.ClientSession() as session:
        api = Api(await server.start(), session)
        owner = (await api.made(CONFIG_MAPS, config_map("owner")))["metadata"]
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["uid"]}
        await api.made(WIDGETS, widget("owned", ownerReferences=[reference]))
        await api.made(VALIDATING, configuration(hooks, timeoutSeconds=30))
        with held(hooks) as until_asked:
            await api.delete(f"{CONFIG_MAPS}/owner")
            await until_asked()
            await asyncio.wait_for(server.stop(), 20)
    assert store.get(f"{GROUP}/widgets", ("default", "owned")), "the webhook had not allowed it"
    store.close()
    await settled(hooks)


def answered(**response: Any) -> Callable[[Json], Json]:
    return lambda request: review(request, **response)


@pytest.mark.parametrize(
    "answer",
    [
        lambda request: b"\xff\xfe", lambda request: b"[" * 100_000, lambda request: b"", lambda request: b"null",
        lambda request: [1], lambda request: "text", lambda request: {"response": []}, lambda request: {"response": {}},
        lambda request: (302, b""), lambda request: (404, b"{}"), lambda request: {**review(request), "kind": 7},
        answered(allowed="yes"), answered(allowed=True, warnings="w"), answered(allowed=True, status="s"),
        answered(allowed=True, patch=7, patchType="JSONPatch"), answered(allowed=True, patchType="JSONPatch"),
        answered(allowed=True, patch="?", patchType="JSONPatch"), answered(allowed=True, patch="WzFd", patchType="M"),
        answered(allowed=True, patch="e30=", patchType="JSONPatch"),
        answered(allowed=True, patch="bnVsbA==", patchType=7),
    ],
)  # fmt: skip
async def test_answer_of_any_form_is_a_failed_call(served: Api, hooks: WebhookServer, answer: Any) -> None:
    hooks.answers["/hook"] = answer
    await served.made(MUTATING, {**configuration(hooks), "kind": "MutatingWebhookConfiguration"})
    refused = await served.post(WIDGETS, widget("a"))
    assert (refused.code, refused.json["reason"]) == (500, "InternalError")
    wanted = 'Internal error occurred: failed calling webhook "hook.test.freehold.dev": '
    assert refused.message.startswith(wanted) and len(refused.message) > len(wanted)


@pytest.mark.parametrize(
    "operations",
    [
        "[1]", '[{"op": "add"}]', '[{"op": "remove", "path": "/kind"}]', '[{"op": "remove", "path": "/metadata"}]',
        '[{"op": "replace", "path": "/apiVersion", "value": "v9"}]', '[{"op": "replace", "path": "", "value": []}]',
        '[{"op": "remove", "path": "/metadata/name"}]', '[{"op": "add", "path": "/metadata/name", "value": 7}]',
        '[{"op": "add", "path": "/metadata/namespace", "value": "other"}]',
        '[{"op": "add", "path": "/metadata/labels", "value": 7}]', '[{"op": "add", "path": "/spec", "value": [7]}]',
    ],
)  # fmt: skip
async def test_patch_of_any_form_is_refused_with_a_reason(served: Api, hooks: WebhookServer, operations: str) -> None:
    patch = base64.b64encode(operations.encode()).decode()
    hooks.answers["/hook"] = answered(allowed=True, patch=patch, patchType="JSONPatch")
    await served.made(MUTATING, {**configuration(hooks), "kind": "MutatingWebhookConfiguration"})
    refused = await served.post(WIDGETS, widget("a"))
    assert refused.code in (400, 422, 500) and "server log" not in refused.message
    assert not (await served.get(ALL_WIDGETS)).json["items"]


async def test_requests_of_a_batch_are_sent_to_webhooks(served: Api, hooks: WebhookServer) -> None:
    hooks.answers["/hook"] = deny(message="no")
    await served.made(VALIDATING, configuration(hooks))
    asked = {"method": "POST", "path": WIDGETS, "contentType": "application/json", "body": widget("a")}
    answer = await served.post("/freehold/batch", {"requests": [asked]})
    assert answer.json["answers"][0]["code"] == 400 and "denied" in answer.json["answers"][0]["body"]["message"]


async def test_configurations_that_are_stored_are_in_force_after_a_restart(hooks: WebhookServer, clock: Clock) -> None:
    hooks.forget()
    hooks.answers["/hook"] = deny(message="still here")
    store = Store.open(":memory:")
    services = {("tools", "hook"): hooks.url.removeprefix("https://")}
    for expected in (201, 400):
        server = ApiServer(store, [widget_crd()], now=clock, services=services)
        async with aiohttp.ClientSession() as session:
            api = Api(await server.start(), session)
            assert (await api.post(WIDGETS, widget("a" if expected == 201 else "b"))).code == expected
            if expected == 201:
                await api.made(VALIDATING, configuration(hooks))
        await server.stop()
    store.close()
    await settled(hooks)


def test_write_without_webhooks_awaits_nothing(clock: Clock) -> None:
    """So between reading and committing nothing else can be done: each step below would raise if it waited."""
    store = Store.open(":memory:")
    registry = Registry(built_in_resources())
    pipeline = Objects(store, registry, Admission(store, registry, WebhookClient({})), clock)
    maps, namespaces = registry.find("", "v1", "configmaps"), registry.find("", "v1", "namespaces")
    assert maps and namespaces
    key, options, notes = ("n", "c"), WriteOptions(field_manager="me"), Notes()
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}
    for writing in (
        pipeline.create(namespaces, "", namespace, options, notes),
        pipeline.create(maps, "n", config_map("c", {"a": "1"}), options, notes),
        pipeline.update(maps, key, config_map("c", {"a": "2"}), options, notes),
        pipeline.patch(maps, key, {"data": {"b": "3"}}, MERGE, options, notes, custom=False),
        pipeline.apply(maps, key, config_map("c", {"c": "4"}), options, notes),
        pipeline.delete(maps, key, DeleteOptions(), notes),
    ):
        with pytest.raises(StopIteration):
            writing.send(None)
    store.close()
