"""The Widget: a custom resource with many schema features, for tests of the server itself."""

from __future__ import annotations

from typing import Any

from e2e_client import KIND

from harness.widgets import SPEC

CONDITION = {
    "type": "object",
    "properties": {key: {"type": "string"} for key in ("type", "status", "reason", "message")},
}
STATUS = {
    "type": "object",
    "properties": {"ready": {"type": "boolean"}, "conditions": {"type": "array", "items": CONDITION}},
}


def widget_crd(group: str) -> dict[str, Any]:
    """A CRD with the schema features that the embedded server supports."""
    schema = {"type": "object", "description": "Widget is a test.", "properties": {"spec": SPEC, "status": STATUS}}
    columns = [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
        {"name": "Team", "type": "string", "jsonPath": r".metadata.labels.example\.com/team"},
        {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
        {"name": "Colour", "type": "string", "jsonPath": ".spec.colour", "priority": 1},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    versions = [
        {
            "name": name,
            "served": True,
            "storage": name == "v1",
            "schema": {"openAPIV3Schema": schema},
            "subresources": {"status": {}},
            "additionalPrinterColumns": columns,
        }
        for name in ("v1", "v1beta1")
    ]
    names = {"plural": "widgets", "singular": "widget", "kind": KIND, "listKind": "WidgetList", "shortNames": ["wdg"],
             "categories": ["toys"]}  # fmt: skip
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": versions},
    }
