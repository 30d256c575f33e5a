"""The spec of a Widget: the schema features that the embedded API server supports."""

from __future__ import annotations

from typing import Any

SPEC: dict[str, Any] = {
    "type": "object",
    "description": "What is wanted of the widget.",
    "x-kubernetes-validations": [{"rule": "!has(self.size) || self.size != 13", "message": "size may not be 13"}],
    "properties": {
        "size": {"type": "integer", "minimum": 1, "maximum": 100, "description": "How large it is."},
        "colour": {"type": "string", "enum": ["red", "green"], "default": "red"},
        "name": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5},
        "fixed": {
            "type": "string",
            "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "fixed is immutable"}],
        },
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "port": {"x-kubernetes-int-or-string": True},
        "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "parts": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"type": "string"}, "count": {"type": "integer", "default": 1}},
            },
        },
        "nested": {
            "type": "object",
            "default": {},
            "properties": {
                "deep": {"type": "boolean", "default": True, "description": "Whether it is deep."},
                "maybe": {"type": "string", "nullable": True},
            },
        },
    },
}
