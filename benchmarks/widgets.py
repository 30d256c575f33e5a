"""Small objects: what the runtime's own cost is measured on."""

from __future__ import annotations

from collections.abc import Iterator

from freehold.kube.resources import Json, Resource

WIDGETS = Resource("bench.freehold.dev", "v1", "widgets", "Widget")
FINALIZER = "bench.freehold.dev/finalizer"

CRD: Json = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"{WIDGETS.plural}.{WIDGETS.group}"},
    "spec": {
        "group": WIDGETS.group,
        "scope": "Namespaced",
        "names": {"plural": WIDGETS.plural, "kind": WIDGETS.kind},
        "versions": [
            {
                "name": WIDGETS.version,
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


def stored(count: int) -> Iterator[Json]:
    """``count`` objects of about 600 bytes, as an API server has them before any controller came."""
    for index in range(count):
        yield {
            "apiVersion": WIDGETS.api_version,
            "kind": WIDGETS.kind,
            "metadata": {
                "name": f"w{index}",
                "namespace": "default",
                "uid": f"00000000-0000-4000-8000-{index:012d}",
                "generation": 1,
                "creationTimestamp": "2026-01-01T00:00:00Z",
                "labels": {"bench.freehold.dev/kind": "small"},
            },
            "spec": {"size": index, "text": "x" * 200},
        }
