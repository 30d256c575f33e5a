"""Sets of fields: which fields an object has, how two objects differ, an object without some of its fields.

A field is named by its path, in the elements that ``managedFields`` uses: ``f:spec``, ``k:{"name":"a"}`` for an
item of a list of type map, ``v:"a"`` for an item of a set. Semantics: sigs.k8s.io/structured-merge-diff
(``typed/tofieldset.go``, ``typed/compare.go``, ``typed/remove.go``); schemas are structural.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from freehold_apiserver.structural import Schema

Path = tuple[str, ...]
Fields = frozenset[Path]

METADATA: Schema = {
    "properties": {
        "labels": {"additionalProperties": {}},
        "annotations": {"additionalProperties": {}},
        "finalizers": {"x-kubernetes-list-type": "set"},
        "ownerReferences": {
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["uid"],
            "items": {"x-kubernetes-map-type": "atomic"},
        },
    }
}
"""How ObjectMeta is owned: its maps by key, its lists by item."""

_ABSENT = object()


def of_object(schema: Schema) -> Schema:
    """Return the schema of whole objects: that of a CRD leaves the metadata to the API server."""
    return {**schema, "properties": {**(schema.get("properties") or {}), "metadata": METADATA}}


def fields_of(value: Any, schema: Schema, path: Path = ()) -> Iterator[Path]:
    """Return the fields that someone who applies ``value`` owns."""
    if is_granular_map(value, schema):
        for name, each in value.items():
            below, declared = schema_below(schema, name)
            here = (*path, f"f:{name}")
            yield from fields_of(each, below, here)
            if each is None or each == {} or not declared:
                yield here
    elif is_granular_list(value, schema):
        for element, each in elements(value, schema):
            yield from fields_of(each, schema.get("items") or {}, (*path, element))
            yield (*path, element)
    else:
        yield path


@dataclass(frozen=True)
class Comparison:
    """How one object differs from another."""

    added: Fields
    modified: Fields
    removed: Fields

    def __bool__(self) -> bool:
        return bool(self.added or self.modified or self.removed)

    def but(self, prefixes: Iterable[Path]) -> Comparison:
        """Without the fields below any of these paths."""
        return Comparison(*(without_prefixes(each, prefixes) for each in (self.added, self.modified, self.removed)))


def compare(old: Any, new: Any, schema: Schema) -> Comparison:
    found: dict[str, set[Path]] = {"added": set(), "modified": set(), "removed": set()}
    _compare(old, new, schema, (), found)
    return Comparison(*(frozenset(found[name]) for name in ("added", "modified", "removed")))


def _compare(old: Any, new: Any, schema: Schema, path: Path, found: dict[str, set[Path]]) -> None:
    if old is new:
        return  # most of an object is: a write to a subresource takes the rest as it is stored
    present = [each for each in (old, new) if each is not _ABSENT]
    # A null counts as an empty map or list beside one that is not empty.
    if any(present) and all(each is None or is_granular(each, schema) for each in present):
        before, after = (dict(_children(each, schema)) for each in (old, new))
        for element in {**before, **after}:
            below = _schema_at(schema, element)
            _compare(before.get(element, _ABSENT), after.get(element, _ABSENT), below, (*path, element), found)
    elif old is not _ABSENT and new is not _ABSENT and not same(old, new):
        found["modified"].add(path)
    if old is _ABSENT:
        found["added"].add(path)
    elif new is _ABSENT:
        found["removed"].add(path)


def _children(value: Any, schema: Schema) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        return ((f"f:{name}", each) for name, each in value.items())
    return iter(elements(value, schema)) if isinstance(value, list) else iter(())


def _schema_at(schema: Schema, element: str) -> Schema:
    return schema_below(schema, element[2:])[0] if element.startswith("f:") else schema.get("items") or {}


def same(one: Any, other: Any) -> bool:
    """Equal as JSON: in Python 1 equals True."""
    return bool(one == other) and json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def without(value: Any, gone: Fields, schema: Schema, path: Path = ()) -> Any:
    """``value`` without the fields in ``gone``; a map or list of which nothing is left is None, as upstream's.

    The null keeps its owners; decoding drops it.
    """
    if is_granular_map(value, schema) and value:
        left = {}
        for name, each in value.items():
            here = (*path, f"f:{name}")
            if here not in gone:
                left[name] = without(each, gone, schema_below(schema, name)[0], here)
        return left or None
    if is_granular_list(value, schema) and value:
        items = schema.get("items") or {}
        kept = [
            without(each, gone, items, (*path, element))
            for element, each in elements(value, schema)
            if (*path, element) not in gone
        ]
        return kept or None
    return value


def with_declared_parents(fields: Fields, schema: Schema) -> Fields:
    """``fields`` and the declared fields that contain them: those are there because of what is below."""
    found = set(fields)
    for path in fields:
        below = schema
        for depth, element in enumerate(path[:-1], 1):
            if element.startswith("f:") and schema_below(below, element[2:])[1]:
                found.add(path[:depth])
            below = _schema_at(below, element)
    return frozenset(found)


def without_prefixes(fields: Fields, prefixes: Iterable[Path]) -> Fields:
    roots = tuple(prefixes)
    return (
        frozenset(path for path in fields if not any(path[: len(root)] == root for root in roots)) if roots else fields
    )


# Shapes


def is_granular(value: Any, schema: Schema) -> bool:
    return is_granular_map(value, schema) or is_granular_list(value, schema)


def is_granular_map(value: Any, schema: Schema) -> bool:
    """Return whether a map is owned by key: unless the schema says atomic."""
    return isinstance(value, dict) and schema.get("x-kubernetes-map-type") != "atomic"


def is_granular_list(value: Any, schema: Schema) -> bool:
    """Return whether a list is owned as a whole: unless the schema says set or map."""
    return isinstance(value, list) and schema.get("x-kubernetes-list-type") in ("set", "map")


def schema_below(schema: Schema, name: str) -> tuple[Schema, bool]:
    """Find the schema of a field, and whether it is declared by name."""
    properties: Mapping[str, Schema] = schema.get("properties") or {}
    if name in properties:
        return properties[name], True
    additional = schema.get("additionalProperties")
    return (additional if isinstance(additional, dict) else {}), False


def elements(items: list[Any], schema: Schema) -> list[tuple[str, Any]]:
    """List the items of a set or of a list of type map, each with its path element. Raises ValueError."""
    if schema.get("x-kubernetes-list-type") == "set":
        return [(f"v:{_compact(each)}", each) for each in items]
    keys = sorted(schema.get("x-kubernetes-list-map-keys") or ())
    properties = (schema.get("items") or {}).get("properties") or {}
    found = []
    for each in items:
        if not isinstance(each, dict):
            raise ValueError("associative list with keys may not have non-map elements")
        defaults = {key: properties[key]["default"] for key in keys if "default" in properties.get(key, {})}
        missing = [key for key in keys if key not in each and key not in defaults]
        if missing:
            raise ValueError(
                f'associative list with keys has an element that omits key field "{missing[0]}" '
                "(and doesn't have default value)"
            )
        found.append((f"k:{_compact({key: each.get(key, defaults.get(key)) for key in keys})}", each))
    return found


def duplicates(value: Any, schema: Schema, path: Path = ()) -> Iterator[Path]:
    """Items that a set or a list of type map has twice."""
    if not is_granular(value, schema):
        return
    seen: set[str] = set()
    for element, each in _children(value, schema):
        if element in seen:
            yield (*path, element)
        seen.add(element)
        yield from duplicates(each, _schema_at(schema, element), (*path, element))


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


# The forms in which they are written


def to_fields_v1(fields: Fields) -> dict[str, Any]:
    """Return the tree of ``managedFields[*].fieldsV1``; ``.`` marks a field that is owned besides what is below it."""
    tree: dict[str, Any] = {}
    for path in sorted(fields):
        node = tree
        for element in path:
            node = node.setdefault(element, {})
        node["."] = {}
    return {element: _leaf(below) for element, below in tree.items() if element != "."}


def _leaf(node: dict[str, Any]) -> dict[str, Any]:
    return {} if list(node) == ["."] else {key: below if key == "." else _leaf(below) for key, below in node.items()}


def from_fields_v1(tree: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the paths of a set in its form in JSON. Raises ValueError for what is no such form."""
    if not isinstance(tree, dict):
        raise ValueError("a set of fields is an object")
    for element, below in tree.items():
        if element == ".":
            yield path
        elif not below:
            yield (*path, element)
        else:
            yield from from_fields_v1(below, (*path, element))


def shown(path: Path) -> str:
    """``.spec.parts[name="a"].count``"""
    return "".join(_shown_element(element) for element in path)


def _shown_element(element: str) -> str:
    form, _, text = element.partition(":")
    if form == "k":
        return "[" + ",".join(f"{key}={_compact(value)}" for key, value in json.loads(text).items()) + "]"
    return f"[={text}]" if form == "v" else f".{text}"
