"""Lint of a CRD's schema: finds what the API server would refuse, before the schema is committed.

Each rule is one function in ``RULES``, based on the API server's validation of structural schemas and of
defaults (docs/reference/kubernetes.md#crd-schemas). A clean schema has no findings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from freehold.api.structural import INT_OR_STRING, PRESERVE, Schema

_KEYWORDS = frozenset(
    {"additionalProperties", "default", "description", "enum", "example", "exclusiveMaximum", "exclusiveMinimum"}
    | {"format", "items", "maxItems", "maxLength", "maxProperties", "maximum", "minItems", "minLength"}
    | {"minProperties", "minimum", "multipleOf", "nullable", "pattern", "properties", "required", "title", "type"}
    | {"x-kubernetes-embedded-resource", INT_OR_STRING, "x-kubernetes-list-map-keys", "x-kubernetes-list-type"}
    | {"x-kubernetes-map-type", PRESERVE, "x-kubernetes-validations"}
)
_TYPES: dict[str, tuple[type, ...]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "object": (dict,),
    "string": (str,),
}
_SCALARS = frozenset({"boolean", "integer", "number", "string"})
# Go's RE2 has neither look-around nor back references.
_NOT_RE2 = re.compile(r"\(\?[=!]|\(\?<[=!]|\\[1-9]|\(\?P=")


@dataclass(frozen=True)
class SchemaFinding:
    """One error that the API server would report: path, rule and reason."""

    path: str
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.path or '(root)'}: {self.message} [{self.rule}]"


def lint(schema: Schema) -> tuple[SchemaFinding, ...]:
    """Find every error in a structural schema, in the order of the walk; empty means that it can be served."""
    found = [*_check_root(schema)]
    for path, node in walk(schema):
        for name, check in RULES.items():
            found += [SchemaFinding(path, name, message) for message in check(node)]
    return tuple(found)


def walk(schema: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    """Yield every node with its path: ``spec.vpcSubnets[*].name``, ``status.vpcSubnet.*.id``."""
    yield path, schema
    for name, child in schema.get("properties", {}).items():
        yield from walk(child, f"{path}.{name}" if path else name)
    if isinstance(schema.get("items"), dict):
        yield from walk(schema["items"], f"{path}[*]")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from walk(schema["additionalProperties"], f"{path}.*")


def _check_root(schema: Schema) -> Iterator[SchemaFinding]:
    if schema.get("type") != "object":
        yield SchemaFinding("", "root-object", "the root must have type object")
    if schema.get("nullable"):
        yield SchemaFinding("", "root-object", "the root must not be nullable")
    metadata = schema.get("properties", {}).get("metadata", {"type": "object"})
    if set(metadata) - {"type", "description"}:
        yield SchemaFinding("metadata", "metadata-plain", "metadata may only declare its type")


def _check_keywords(node: Schema) -> Iterator[str]:
    for keyword in sorted(set(node) - _KEYWORDS):
        yield f"{keyword} is not allowed in a structural schema"


def _check_type(node: Schema) -> Iterator[str]:
    if node.get(INT_OR_STRING):
        if "type" in node:
            yield "int-or-string replaces the type; omit type"
    elif node.get(PRESERVE):
        if node.get("type", "object") != "object":
            yield "only an object can preserve unknown fields"
    elif node.get("type") not in _TYPES:
        yield f"type must be one of {', '.join(_TYPES)}"


def _check_properties(node: Schema) -> Iterator[str]:
    if "properties" in node and "additionalProperties" in node:
        yield "properties and additionalProperties are mutually exclusive"
    if node.get("additionalProperties", True) is False:
        yield "additionalProperties must not be false; unknown fields are pruned anyway"
    if node.get("type") != "object" and ("properties" in node or "additionalProperties" in node):
        yield "only an object has properties"


def _check_items(node: Schema) -> Iterator[str]:
    if node.get("type") == "array" and not isinstance(node.get("items"), dict):
        yield "an array needs one schema for its items"
    if node.get("type") != "array" and "items" in node:
        yield "only an array has items"


def _check_required(node: Schema) -> Iterator[str]:
    for name in node.get("required", ()):
        if name not in node.get("properties", {}):
            yield f"required lists {name}, which is not a property"


def _check_bounds(node: Schema) -> Iterator[str]:
    for keyword in ("exclusiveMinimum", "exclusiveMaximum"):
        if keyword in node and not isinstance(node[keyword], bool):
            yield f"{keyword} must be a boolean next to the bound"
    for low, high in (("minimum", "maximum"), ("minLength", "maxLength"), ("minItems", "maxItems")):
        if low in node and high in node and node[low] > node[high]:
            yield f"{low} is above {high}"


def _check_pattern(node: Schema) -> Iterator[str]:
    if "pattern" not in node:
        return
    if _NOT_RE2.search(node["pattern"]):
        yield "the pattern uses look-around or back references, which RE2 does not have"
    try:
        re.compile(node["pattern"])
    except re.error as error:
        yield f"the pattern does not compile: {error}"


def _check_enum(node: Schema) -> Iterator[str]:
    if "enum" not in node:
        return
    if not node["enum"]:
        yield "enum must not be empty"
    for value in node["enum"]:
        if not _fits_type(value, node):
            yield f"enum value {value!r} is not of type {node.get('type')}"


def _check_default(node: Schema) -> Iterator[str]:
    if "default" not in node:
        return
    value = node["default"]
    if value is None:
        if not node.get("nullable"):
            yield "default null needs nullable"
    elif not _fits_type(value, node):
        yield f"default {value!r} is not of type {node.get('type')}"
    elif "enum" in node and value not in node["enum"]:
        yield f"default {value!r} is not among the enum's values"
    elif "pattern" in node and not re.search(node["pattern"], value):
        yield f"default {value!r} does not match the pattern"


def _check_lists(node: Schema) -> Iterator[str]:
    kind = node.get("x-kubernetes-list-type")
    keys = node.get("x-kubernetes-list-map-keys", ())
    items = node.get("items") if isinstance(node.get("items"), dict) else {}
    assert isinstance(items, dict)
    if kind is not None and node.get("type") != "array":
        yield "only an array has a list type"
    if kind not in (None, "atomic", "set", "map"):
        yield "the list type must be atomic, set or map"
    if bool(keys) != (kind == "map"):
        yield "a list of type map requires keys, and no other list type allows them"
    if kind == "set" and items.get("type") not in _SCALARS and items.get("x-kubernetes-map-type") != "atomic":
        yield "the items of a set must be scalars or atomic"
    for key in keys:
        yield from _check_map_key(key, items)


def _check_map_key(key: str, items: Schema) -> Iterator[str]:
    member = items.get("properties", {}).get(key)
    if member is None:
        yield f"the key {key} is not a property of the items"
        return
    if member.get("type") not in _SCALARS:
        yield f"the key {key} must be a scalar"
    if member.get("nullable"):
        yield f"the key {key} must not be nullable"
    if key not in items.get("required", ()) and "default" not in member:
        yield f"the key {key} must be required or have a default"


def _check_map_type(node: Schema) -> Iterator[str]:
    kind = node.get("x-kubernetes-map-type")
    if kind is not None and (kind not in ("atomic", "granular") or node.get("type") != "object"):
        yield "only an object has a map type, which must be atomic or granular"


def _check_cel(node: Schema) -> Iterator[str]:
    for entry in node.get("x-kubernetes-validations", ()):
        if not str(entry.get("rule", "")).strip():
            yield "a CEL rule must not be empty"
        if not entry.get("message") or "\n" in entry["message"]:
            yield "a CEL rule needs a single-line message"


_EQUALITY = re.compile(r"\bself((?:\.\w+)+) [!=]= self((?:\.\w+)+)(?![\w.(])")


def _check_cel_types(node: Schema) -> Iterator[str]:
    """Check for ``==`` between objects with fields: in CEL their types differ, so the API server refuses the rule."""
    for entry in node.get("x-kubernetes-validations", ()):
        for pair in _EQUALITY.findall(str(entry.get("rule", ""))):
            if any("properties" in _find_member(node, path) for path in pair):
                yield f"CEL cannot compare the objects self{pair[0]} and self{pair[1]}; compare their fields"


_RESERVED = re.compile(
    r"\.(as|break|const|continue|else|for|function|if|import|let|loop|package|namespace|return|var|void|while)\b"
)


def _check_cel_names(node: Schema) -> Iterator[str]:
    """Check for fields with reserved names: without ``__`` the API server does not find their limits."""
    for entry in node.get("x-kubernetes-validations", ()):
        for word in sorted(set(_RESERVED.findall(str(entry.get("rule", ""))))):
            yield f"{word} is a reserved word of CEL; write __{word}__"


def _check_cel_budget(node: Schema) -> Iterator[str]:
    """Check for expressions that match texts of a list without limit: their cost alone is beyond the budget."""
    if node.get("type") != "array" or "maxItems" in node:
        return
    for path, item in walk(node["items"]) if isinstance(node.get("items"), dict) else ():
        if any(".matches(" in str(entry.get("rule", "")) for entry in item.get("x-kubernetes-validations", ())):
            yield f"a rule of its items ({path or 'themselves'}) matches a text; limit the list by maxItems"


def _find_member(node: Schema, path: str) -> Schema:
    """Find the schema at the path ``.a.b``; for a list, that of its items."""
    for name in path.split(".")[1:]:
        node = node.get("properties", {}).get(name, {})
    items: Schema = node.get("items", node)
    return items


def _fits_type(value: Any, node: Schema) -> bool:
    if node.get(INT_OR_STRING):
        return isinstance(value, int | str) and not isinstance(value, bool)
    kinds = _TYPES.get(str(node.get("type")), (object,))
    return isinstance(value, kinds) and (bool in kinds or object in kinds or not isinstance(value, bool))


RULES: dict[str, Callable[[Schema], Iterator[str]]] = {
    "keyword": _check_keywords,
    "type": _check_type,
    "properties": _check_properties,
    "items": _check_items,
    "required": _check_required,
    "bounds": _check_bounds,
    "pattern": _check_pattern,
    "enum": _check_enum,
    "default": _check_default,
    "list-type": _check_lists,
    "map-type": _check_map_type,
    "cel": _check_cel,
    "cel-types": _check_cel_types,
    "cel-names": _check_cel_names,
    "cel-budget": _check_cel_budget,
}
"""Every rule for a single node, by the rule name in its findings."""
