"""kubectl and plain HTTP against the server under test, in a namespace of one test."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import requests
from e2e_servers import PATIENCE, PATIENTLY, Server

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
KIND = "Widget"


class Kubectl:
    """Runs kubectl in one namespace, with a discovery cache of its own (in ``home``)."""

    def __init__(self, server: Server, namespace: str, home: Path) -> None:
        self._base = ["kubectl", "--cache-dir", str(home / "cache"), "--namespace", namespace]
        self._environment = server.environment()
        self._namespace, self._controllers = namespace, server.controllers

    def run(self, *arguments: str, stdin: str = "", ok: bool = True) -> str:
        """What it printed (both streams); a failure fails the test unless ``ok`` is False."""
        done = self._done(arguments, stdin)
        assert not ok or done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def fails(self, *arguments: str, stdin: str = "") -> str:
        """What it printed; it must fail."""
        done = self._done(arguments, stdin)
        assert done.returncode != 0, f"kubectl {' '.join(arguments)} should have failed: {done.stdout}"
        return done.stdout + done.stderr

    def apply(self, body: dict[str, Any], *arguments: str) -> str:
        return self.run("apply", *arguments, "-f", "-", stdin=json.dumps(body))

    def json(self, *arguments: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.run(*arguments, "-o", "json"))
        return found

    def delete_namespace(self) -> None:
        """With what Freehold keeps in it, also where no controller manager empties it."""
        self.run("delete", "configmap,secret", "--all", PATIENTLY)
        self.run("delete", "namespace", self._namespace, "--wait=false")
        if not self._controllers:
            name = {"name": self._namespace}
            empty = {"apiVersion": "v1", "kind": "Namespace", "metadata": name, "spec": {"finalizers": []}}
            path = f"/api/v1/namespaces/{self._namespace}/finalize"
            self.run("replace", "--raw", path, "-f", "-", stdin=json.dumps(empty))
        self.run("wait", "--for=delete", f"namespace/{self._namespace}", PATIENTLY)

    def started(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen([*self._base, *arguments], stdout=subprocess.PIPE, text=True, env=self._environment)

    def _done(self, arguments: tuple[str, ...], stdin: str) -> subprocess.CompletedProcess[str]:
        command = [*self._base, *arguments]
        limit = PATIENCE + 60.0  # kubectl's own limits are shorter, and their errors clearer
        return subprocess.run(
            command, input=stdin, capture_output=True, text=True, timeout=limit, env=self._environment
        )


class Http:
    """Plain requests; paths may begin with ``{widgets}``, the test's collection of custom resources."""

    def __init__(self, server: Server, group: str, namespace: str) -> None:
        self.url = server.url
        self._session = requests.Session()
        self.group = group
        self.namespace = namespace
        self.widgets = f"/apis/{group}/v1/namespaces/{namespace}/widgets"
        self.config_maps = f"/api/v1/namespaces/{namespace}/configmaps"

    def close(self) -> None:
        self._session.close()

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        content_type: str = "application/json",
        accept: str = "",
        **query: Any,
    ) -> requests.Response:
        headers = {"Accept": accept or "application/json"}
        data = None
        if body is not None:
            data = body if isinstance(body, str) else json.dumps(body)
            headers["Content-Type"] = content_type
        return self._session.request(
            method, self.url + path, params=query, data=data, headers=headers, timeout=PATIENCE
        )

    def get(self, path: str, accept: str = "", **query: Any) -> requests.Response:
        return self.call("GET", path, accept=accept, **query)

    def post(self, path: str, body: Any, **query: Any) -> requests.Response:
        return self.call("POST", path, body, **query)

    def put(self, path: str, body: Any, **query: Any) -> requests.Response:
        return self.call("PUT", path, body, **query)

    def merge(self, path: str, body: Any, **query: Any) -> requests.Response:
        return self.call("PATCH", path, body, MERGE, **query)

    def delete(self, path: str, body: Any = None, **query: Any) -> requests.Response:
        return self.call("DELETE", path, body, **query)

    def made(self, path: str, body: Any) -> dict[str, Any]:
        """The object, created."""
        answer = self.post(path, body)
        assert answer.status_code == 201, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def watch(self, path: str, **query: Any) -> Iterator[dict[str, Any]]:
        """Events until the server ends the stream."""
        asked = {"watch": "true", "timeoutSeconds": int(PATIENCE), **query}
        with self._session.get(self.url + path, params=asked, stream=True, timeout=PATIENCE) as stream:
            assert stream.status_code == 200, stream.text
            for line in stream.iter_lines():
                if line:
                    yield json.loads(line)

    def watch_until(self, last: str, path: str, **query: Any) -> list[dict[str, Any]]:
        """All events before the one of the object called ``last``, however slow the server."""
        seen: list[dict[str, Any]] = []
        for event in self.watch(path, **query):
            if event["object"]["metadata"]["name"] == last:
                return seen
            seen.append(event)
        raise AssertionError(f"{last} was never seen, only {seen}")

    def widget(self, name: str, spec: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
        body: dict[str, Any] = {"apiVersion": f"{self.group}/v1", "kind": KIND, "metadata": {"name": name, **metadata}}
        if spec is not None:
            body["spec"] = spec
        return body


def config_map(name: str, data: dict[str, str] | None = None, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}, "data": data or {}}
