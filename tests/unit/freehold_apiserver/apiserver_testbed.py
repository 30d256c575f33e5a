"""Shared by the tests of the API server: a CRD with many schema features, a clock, a small HTTP client."""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import aiohttp

from harness.widgets import SPEC

GROUP = "test.freehold.dev"
WIDGETS = f"/apis/{GROUP}/v1/namespaces/default/widgets"
ALL_WIDGETS = f"/apis/{GROUP}/v1/widgets"
SECRETS = "/api/v1/namespaces/default/secrets"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


def widget_crd(**spec: Any) -> dict[str, Any]:
    """A CRD with many schema features: defaults, rules, list types, status, columns, a second version."""
    schema = {
        "type": "object",
        "properties": {
            "spec": SPEC,
            "status": {
                "type": "object",
                "properties": {"ready": {"type": "boolean"}, "count": {"type": "integer"}},
            },
        },
    }

    def version(name: str, storage: bool) -> dict[str, Any]:
        return {
            "name": name,
            "served": True,
            "storage": storage,
            "schema": {"openAPIV3Schema": schema},
            "subresources": {"status": {}},
            "additionalPrinterColumns": [
                {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
                {"name": "Team", "type": "string", "jsonPath": r".metadata.labels.example\.com/team"},
                {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
            ],
        }

    return copy.deepcopy(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"widgets.{GROUP}"},
            "spec": {
                "group": GROUP,
                "scope": "Namespaced",
                "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"], "categories": ["toys"]},
                "versions": [version("v1", True), version("v1beta1", False)],
                **spec,
            },
        }
    )


def widget(name: str, spec: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    body: dict[str, Any] = {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": name, **metadata}}
    if spec is not None:
        body["spec"] = spec
    return body


def config_map(name: str, data: dict[str, str] | None = None, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}, "data": data or {}}


class Clock:
    """Domain time that only the test moves."""

    def __init__(self) -> None:
        self.time = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time

    def advance(self, delta: timedelta) -> None:
        self.time += delta


class Answer:
    """A response, read."""

    def __init__(self, code: int, headers: Any, text: str) -> None:
        self.code = code
        self.headers = headers
        self.text = text

    @property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.text)
        return found

    @property
    def message(self) -> str:
        return str(self.json["message"])


class Api:
    """Talks to one server."""

    def __init__(self, url: str, session: aiohttp.ClientSession) -> None:
        self.url = url
        self.session = session

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        content_type: str = "application/json",
        accept: str = "",
        **query: Any,
    ) -> Answer:
        data = body if isinstance(body, bytes | str) or body is None else json.dumps(body)
        headers = {"Content-Type": content_type} if data is not None else {}
        if accept:
            headers["Accept"] = accept
        params = {key: str(value) for key, value in query.items()}
        async with self.session.request(method, self.url + path, data=data, headers=headers, params=params) as response:
            return Answer(response.status, response.headers, await response.text())

    async def get(self, path: str, accept: str = "", **query: Any) -> Answer:
        return await self.call("GET", path, accept=accept, **query)

    async def post(self, path: str, body: Any, **query: Any) -> Answer:
        return await self.call("POST", path, body, **query)

    async def put(self, path: str, body: Any, **query: Any) -> Answer:
        return await self.call("PUT", path, body, **query)

    async def merge(self, path: str, body: Any, **query: Any) -> Answer:
        return await self.call("PATCH", path, body, MERGE, **query)

    async def delete(self, path: str, body: Any = None, **query: Any) -> Answer:
        return await self.call("DELETE", path, body, **query)

    async def made(self, path: str, body: Any) -> dict[str, Any]:
        """The object, created."""
        answer = await self.post(path, body)
        assert answer.code == 201, answer.text
        return answer.json

    async def watch(self, path: str, **query: Any) -> list[dict[str, Any]]:
        """Every event until the server ends the stream."""
        answer = await self.get(path, watch="true", **query)
        assert answer.code == 200, answer.text
        return [json.loads(line) for line in answer.text.splitlines()]

    async def gone(self, path: str) -> None:
        """Wait until the object is gone (by a watch, without polling)."""
        collection, _, name = path.rpartition("/")
        found = await self.get(collection, fieldSelector=f"metadata.name={name}")
        if not found.json["items"]:
            return
        query = {
            "watch": "true",
            "fieldSelector": f"metadata.name={name}",
            "resourceVersion": found.json["metadata"]["resourceVersion"],
            "timeoutSeconds": "10",
        }
        async with self.session.get(self.url + collection, params=query) as response:
            async for line in response.content:
                if json.loads(line)["type"] == "DELETED":
                    return
        raise AssertionError(f"{path} is still there: {(await self.get(path)).text}")
