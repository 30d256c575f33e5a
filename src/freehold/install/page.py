"""Service of the live page, which each replica serves."""

from __future__ import annotations

from typing import Final

from freehold.install.names import LABELS, PAGE, SELECTOR
from freehold.install.tree import Tree, When
from freehold.install.values import NAMESPACE, is_set

PAGE_PORT: Final = 8090
"""The page's in the pods. Its own, so that a NetworkPolicy can tell it from probes and metrics."""


def describe_page() -> list[Tree]:
    """Describe the Service; none without the page."""
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": PAGE, "namespace": NAMESPACE, "labels": dict(LABELS)},
        "spec": {
            "type": "ClusterIP",
            "selector": dict(SELECTOR),
            "sessionAffinity": "ClientIP",  # what changes follows a list only from the replica that gave the list
            "ports": [{"name": "page", "port": 80, "protocol": "TCP", "targetPort": "page"}],
        },
    }
    return [When(is_set("page"), service)]
