"""Webhooks of a test: configured for its namespace alone, called before the test begins, removed after it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

from e2e_client import Http, config_map
from e2e_servers import until

from harness.webhook_server import Json, WebhookServer, allow

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/{}webhookconfigurations"
WIDGETS = "widgets"


class Webhooks:
    """Configures webhooks on a server under test."""

    def __init__(self, http: Http, hooks: WebhookServer) -> None:
        self.http = http
        self.hooks = hooks
        self._made: list[str] = []

    def hook(self, path: str, *resources: str, operations: tuple[str, ...] = ("*",), **more: Any) -> Json:
        """A webhook for resources of the Widgets' group, in the test's namespace."""
        rule = {"apiGroups": [self.http.group], "apiVersions": ["*"], "resources": list(resources or (WIDGETS,)),
                "operations": list(operations)}  # fmt: skip
        return {
            "name": f"{path.strip('/')}.e2e.freehold.dev", "clientConfig": self.hooks.config(path), "rules": [rule],
            "sideEffects": "None", "admissionReviewVersions": ["v1"], "namespaceSelector": self.selector(), **more,
        }  # fmt: skip

    def selector(self) -> Json:
        """A selector of the test's namespace."""
        return {"matchLabels": {"kubernetes.io/metadata.name": self.http.namespace}}

    def validating(self, *webhooks: Json) -> str:
        return self._configure("validating", "a", webhooks)

    def mutating(self, *webhooks: Json, name: str = "a") -> str:
        return self._configure("mutating", name, webhooks)

    def _configure(self, kind: str, name: str, webhooks: tuple[Json, ...]) -> str:
        """Store a configuration and wait until it is in force: a probe in it is called."""
        name = f"{name}-{uuid.uuid4().hex[:8]}"
        probe = {
            **self.hook(f"/probe-{name}"), "objectSelector": {"matchLabels": {"probe": name}},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["*"]}],
        }  # fmt: skip
        self.hooks.answers[f"/probe-{name}"] = allow()
        path = CONFIGURATIONS.format(kind)
        kinds = {"validating": "ValidatingWebhookConfiguration", "mutating": "MutatingWebhookConfiguration"}
        body = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kinds[kind], "metadata": {"name": name},
                "webhooks": [*webhooks, probe]}  # fmt: skip
        self.http.made(path, body)
        self._made.append(f"{path}/{name}")

        def in_force() -> bool:
            self.http.post(self.http.config_maps, config_map("probe", labels={"probe": name}), dryRun="All")
            return bool(self.hooks.seen(f"/probe-{name}"))

        until(in_force, f"{path}/{name} is in force")
        return f"{path}/{name}"

    def remove(self) -> None:
        for path in self._made:
            self.http.delete(path)


def warnings(answer: Any) -> Iterator[str]:
    """The texts of ``Warning`` headers."""
    for each in answer.headers.get("Warning", "").split("299 - ")[1:]:
        yield each.strip(', "')
