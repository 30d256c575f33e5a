"""CRDs for kinds that are accepted and kept, though nothing here acts on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def placeholder_crd(
    group: str,
    version: str,
    kind: str,
    plural: str,
    *,
    namespaced: bool = True,
    short_names: Sequence[str] = (),
    categories: Sequence[str] = (),
) -> dict[str, Any]:
    """A CRD that keeps every field it is given (``x-kubernetes-preserve-unknown-fields``)."""
    names: dict[str, Any] = {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()}
    if short_names:
        names["shortNames"] = list(short_names)
    if categories:
        names["categories"] = list(categories)
    schema = {
        "type": "object",
        "description": f"{kind} is accepted and kept, but not acted on here.",
        "x-kubernetes-preserve-unknown-fields": True,
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "names": names,
            "scope": "Namespaced" if namespaced else "Cluster",
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}},
                }
            ],
        },
    }
