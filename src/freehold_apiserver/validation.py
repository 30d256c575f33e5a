"""Validation of an object by a structural schema, with the messages of a real API server.

The schema is translated to JSON Schema once and compiled by jsonschema-rs; messages are built only for
invalid objects. Wording: k8s.io/kube-openapi ``pkg/validation/errors`` and
k8s.io/apiextensions-apiserver ``pkg/apiserver/validation``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from ipaddress import ip_network
from typing import TYPE_CHECKING, Any

from freehold_apiserver.errors import FieldError, shown
from freehold_apiserver.structural import ROOT_FIELDS, Schema

if TYPE_CHECKING:
    import jsonschema_rs

_COPIED = (
    "enum", "pattern", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties",
    "minimum", "maximum", "multipleOf", "required", "format",
)  # fmt: skip
_COMBINED = ("allOf", "anyOf", "oneOf")
_MAC = re.compile(r"^([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}$")
_DURATION = re.compile(r"^[-+]?(\d+(\.\d*)?(ns|us|µs|ms|s|m|h|d|w))+$|^0$")


class Validator:
    """A compiled schema. Raises ValueError at construction when the schema cannot be compiled."""

    def __init__(self, schema: Schema) -> None:
        import jsonschema_rs  # only where something is written

        self._compiled = jsonschema_rs.Draft202012Validator(
            _translate(schema, root=True), validate_formats=True, formats=_FORMATS
        )
        self._schema = schema
        self._listed = _has_list_types(schema)

    def errors(self, obj: Mapping[str, Any]) -> list[FieldError]:
        """All errors in the object, in the order of its fields."""
        found: list[FieldError] = []
        if not self._compiled.is_valid(obj):
            found += [error for each in self._compiled.iter_errors(obj) for error in _told(each)]
        if self._listed:
            found += list_type_errors(obj, self._schema, "")
        return found


def _translate(schema: Schema, *, root: bool = False) -> dict[str, Any]:
    """Convert this node of a structural schema to JSON Schema."""
    out: dict[str, Any] = {key: schema[key] for key in _COPIED if key in schema}
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if schema.get(exclusive) is True and bound in out:
            out[exclusive] = out.pop(bound)
    if schema.get("x-kubernetes-int-or-string"):
        out["type"] = ["integer", "string"]
    elif "type" in schema:
        out["type"] = schema["type"]
    if "properties" in schema:
        out["properties"] = {
            name: _translate(below)
            for name, below in schema["properties"].items()
            if not (root and name in ROOT_FIELDS)
        }
    if isinstance(schema.get("additionalProperties"), dict):
        out["additionalProperties"] = _translate(schema["additionalProperties"])
    if isinstance(schema.get("items"), dict):
        out["items"] = _translate(schema["items"])
    for key in _COMBINED:
        if key in schema:
            out[key] = [_translate(each) for each in schema[key]]
    if "not" in schema:
        out["not"] = _translate(schema["not"])
    if schema.get("x-kubernetes-embedded-resource"):
        out["required"] = sorted({*out.get("required", ()), "apiVersion", "kind"})
    if schema.get("nullable"):
        if "type" in out:
            out["type"] = [*([out["type"]] if isinstance(out["type"], str) else out["type"]), "null"]
        if "enum" in out:
            out["enum"] = [*out["enum"], None]
    return out


def path_of(steps: Iterable[str | int]) -> str:
    """``spec.vpcSubnets[0].zone``."""
    path = ""
    for step in steps:
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else step
    return path


def _told(error: jsonschema_rs.ValidationError) -> Iterator[FieldError]:
    """One error with the API server's wording."""
    path = path_of(error.instance_path)
    value: Any = error.instance
    kind = error.kind.as_dict()
    match error.kind.name:
        case "type":
            wanted = [each for each in kind["types"] if each != "null"]
            yield FieldError.wrong_type(
                path, json_type(value), f"{path} in body must be of type {','.join(wanted)}: {shown(json_type(value))}"
            )
        case "required":
            yield FieldError.required(f"{path}.{kind['property']}" if path else kind["property"])
        case "enum":
            yield FieldError.unsupported(path, value, [each for each in kind["options"] if each is not None])
        case "maxLength":
            yield FieldError.too_long(path, kind["limit"])
        case "maxItems":
            yield FieldError.too_many(path, len(value), kind["limit"])
        case "anyOf":
            yield FieldError.invalid(path, value, f"{path} in body must validate at least one schema (anyOf)")
        case name:
            shown_value = len(value) if name in ("minItems", "minProperties", "maxProperties") else value
            yield FieldError.invalid(path, shown_value, f"{path} in body {_wording(name, kind, error.message, value)}")


def _wording(name: str, kind: Mapping[str, Any], message: str, value: Any) -> str:
    match name:
        case "pattern":
            return f"should match '{kind['pattern']}'"
        case "minimum":
            return f"should be greater than or equal to {kind['limit']}"
        case "maximum":
            return f"should be less than or equal to {kind['limit']}"
        case "exclusiveMinimum":
            return f"should be greater than {kind['limit']}"
        case "exclusiveMaximum":
            return f"should be less than {kind['limit']}"
        case "minLength":
            return f"should be at least {kind['limit']} chars long"
        case "minItems":
            return f"should have at least {kind['limit']} items"
        case "minProperties":
            return f"should have at least {kind['limit']} properties"
        case "maxProperties":
            return f"should have at most {kind['limit']} properties"
        case "multipleOf":
            return f"should be a multiple of {kind['multiple_of']}"
        case "format":
            return f"must be of type {kind['format']}: {shown(value)}"
        case "oneOfNotValid":
            return "must validate one and only one schema (oneOf). Found none valid"
        case "oneOfMultipleValid":
            return "must validate one and only one schema (oneOf). Found more than one valid"
        case "not":
            return "must not validate the schema (not)"
        case _:
            return f"is not accepted by the schema: {message}"


def json_type(value: Any) -> str:
    """Name the JSON type of a value, for messages."""
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")


def _has_list_types(schema: Any) -> bool:
    if isinstance(schema, dict):
        if schema.get("x-kubernetes-list-type") in ("set", "map"):
            return True
        return any(_has_list_types(below) for below in schema.values())
    return isinstance(schema, list) and any(_has_list_types(below) for below in schema)


def list_type_errors(value: Any, schema: Schema, path: str) -> list[FieldError]:
    """Duplicates in lists that the schema declares to be sets or maps."""
    found: list[FieldError] = []
    if isinstance(value, dict):
        properties = schema.get("properties") or {}
        additional = schema.get("additionalProperties")
        for name, each in value.items():
            below = properties.get(name) or (additional if isinstance(additional, dict) else None)
            if below:
                found += list_type_errors(each, below, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        items = schema.get("items") or {}
        if schema.get("x-kubernetes-list-type") == "set":
            found += _duplicates(value, value, path)
        elif schema.get("x-kubernetes-list-type") == "map":
            keys = schema.get("x-kubernetes-list-map-keys") or []
            identities = [{key: each.get(key) for key in keys} for each in value if isinstance(each, dict)]
            found += _duplicates(identities, identities, path)
        for index, each in enumerate(value):
            found += list_type_errors(each, items, f"{path}[{index}]")
    return found


def _duplicates(identities: Sequence[Any], shown_as: Sequence[Any], path: str) -> Iterator[FieldError]:
    seen: list[Any] = []
    for index, identity in enumerate(identities):
        if identity in seen:
            yield FieldError.duplicate(f"{path}[{index}]", shown_as[index])
        seen.append(identity)


def _is_cidr(text: str) -> bool:
    try:
        ip_network(text, strict=False)
    except ValueError:
        return False
    return "/" in text


# Formats that JSON Schema lacks or defines differently from Kubernetes; unknown formats are ignored.
_FORMATS = {
    "cidr": _is_cidr,
    "mac": lambda text: bool(_MAC.match(text)),
    "duration": lambda text: bool(_DURATION.match(text)),
}
