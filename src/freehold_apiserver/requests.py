"""Parses a request: the parts of its path, its query and its body."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from freehold_apiserver import bounds, errors, protobuf
from freehold_apiserver.errors import FieldError
from freehold_apiserver.store import Json
from freehold_apiserver.write_options import DeleteOptions, WriteOptions

MANAGER_LENGTH = 128

_MOST_DUPLICATES = 100
"""Duplicate fields that are told of one body."""


@dataclass(frozen=True)
class Target:
    """A parsed resource path. An empty ``name`` means the collection; ``namespace`` None means all namespaces."""

    group: str
    version: str
    plural: str
    namespace: str | None
    name: str
    subresource: str


def parse_path(path: str) -> Target | None:
    """``/api/v1/…`` or ``/apis/{group}/{version}/…``; None when the path names no resource.

    ``/api/v1/namespaces/x`` is the object x; ``/api/v1/namespaces/x/secrets`` is a collection in x.
    """
    parts = [part for part in path.split("/") if part]
    if parts[:1] == ["api"] and len(parts) >= 3:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[:1] == ["apis"] and len(parts) >= 4:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    namespace = None
    if rest[0] == "namespaces" and len(rest) >= 3 and not (group == "" and rest[2] in ("status", "finalize")):
        namespace, rest = rest[1], rest[2:]
    if len(rest) > 3:
        return None
    padded = [*rest, "", ""]
    return Target(group, version, padded[0], namespace, padded[1], padded[2])


def flag(query: Mapping[str, str], name: str) -> bool:
    """Read a boolean query parameter."""
    return query.get(name, "").lower() in ("true", "1")


def number(query: Mapping[str, str], name: str) -> int | None:
    """Read a non-negative integer query parameter; None when it is absent or empty. Raises 400."""
    text = query.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= bounds.MAX_DIGITS):
        raise errors.bad_request(
            f"invalid value for query parameter {name}: {text[:40]!r} is not a non-negative integer"
        )
    return int(text)


def write_options(
    query: Mapping[str, str],
    kind: str = "UpdateOptions",
    duplicates: tuple[str, ...] = (),
    user_agent: str = "",
    applies: bool = False,
) -> WriteOptions:
    """Read the options of a write; ``kind`` is that of its options, for messages. Raises 400, and 422 Invalid."""
    validation = query.get("fieldValidation") or "Warn"
    if validation not in ("Strict", "Warn", "Ignore"):
        raise errors.bad_request(f"invalid value for fieldValidation: {validation!r}; use Strict, Warn or Ignore")
    manager = query.get("fieldManager", "")
    problems = _manager_errors(manager)
    if applies and not manager:
        problems.append(FieldError.required("fieldManager", "is required for apply patch"))
    if not applies and "force" in query:
        problems.append(FieldError.forbidden("force", "may not be specified for non-apply patch"))
    if problems:
        raise errors.invalid("meta.k8s.io", kind, "", problems)
    agent = "".join(each for each in user_agent.partition("/")[0] if each.isprintable())
    return WriteOptions(
        _dry_run(query.get("dryRun", "")), validation, duplicates, manager, agent[:MANAGER_LENGTH], flag(query, "force")
    )


def _manager_errors(manager: str) -> list[FieldError]:
    found = [FieldError.too_long("fieldManager", MANAGER_LENGTH)] if len(manager.encode()) > MANAGER_LENGTH else []
    return found + [
        FieldError.invalid("fieldManager", manager, f"invalid character U+{ord(each):04X} (at position {position})")
        for position, each in enumerate(manager)
        if not each.isprintable()
    ]


def delete_options(query: Mapping[str, str], body: Any) -> DeleteOptions:
    """DeleteOptions from the body; the query applies to options missing there."""
    given: Json = body if isinstance(body, dict) else {}
    preconditions = given.get("preconditions") or {}
    dry_runs = given.get("dryRun") or [query.get("dryRun", "")]
    if not isinstance(preconditions, dict) or not isinstance(dry_runs, list):
        raise errors.bad_request("preconditions of DeleteOptions are an object, and dryRun is a list")
    dry_run = dry_runs[0]
    propagation = given.get("propagationPolicy") or query.get("propagationPolicy") or "Background"
    if given.get("orphanDependents") or flag(query, "orphanDependents"):
        propagation = "Orphan"
    if propagation not in ("Background", "Foreground", "Orphan"):
        raise errors.bad_request(f"invalid propagationPolicy {propagation!r}; use Background, Foreground or Orphan")
    return DeleteOptions(
        _dry_run(dry_run), preconditions.get("uid") or "", preconditions.get("resourceVersion") or "", propagation
    )


def _dry_run(value: str) -> bool:
    if value not in ("", "All"):
        raise errors.bad_request(f"invalid value for dryRun: {value!r}; only All is supported")
    return value == "All"


def decode_body(data: bytes, content_type: str) -> tuple[Any, tuple[str, ...]]:
    """Decode the body. Return it with the paths of duplicate fields in it.

    Raises 400 if it cannot be decoded, 415 for an unsupported content type.
    """
    if content_type == protobuf.CONTENT_TYPE:
        return protobuf.decode(data), ()
    is_yaml = content_type.endswith("yaml")
    if content_type and not is_yaml and not content_type.endswith("json"):
        raise errors.unsupported_media(
            f"the body of the request was in an unknown format ({content_type}) - accepted media types include: "
            "application/json, application/yaml, application/vnd.kubernetes.protobuf"
        )
    try:
        return _json(data)
    except (ValueError, RecursionError) as problem:
        if not is_yaml:  # the typed clients send JSON under the name of YAML; it is read much faster
            raise errors.bad_request(f"error parsing the body of the request as JSON: {problem}") from problem
    from freehold_apiserver import yaml_body  # hardly any client sends YAML

    try:
        return yaml_body.decode(data), ()
    except ValueError as problem:
        raise errors.bad_request(f"error parsing the body of the request as YAML: {problem}") from problem


def _json(data: bytes) -> tuple[Any, tuple[str, ...]]:
    duplicated: dict[int, tuple[dict[str, Any], list[str]]] = {}

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        obj = dict(found)
        if len(obj) != len(found):
            counts = Counter(key for key, _ in found)
            duplicated[id(obj)] = obj, [key for key in obj if counts[key] > 1][:_MOST_DUPLICATES]
        return obj

    value = json.loads(
        data, object_pairs_hook=pairs, parse_float=bounds.parse_float, parse_constant=bounds.refuse_constant
    )
    bounds.require_shallow(value)
    if b"\\ud" in data or b"\\uD" in data:
        json.dumps(value, ensure_ascii=False).encode()  # half a character cannot be stored; it is a ValueError
    if not duplicated:
        return value, ()
    keys = {identity: names for identity, (_, names) in duplicated.items()}
    return value, tuple(sorted(islice(_paths_to(value, keys, ""), _MOST_DUPLICATES)))


def _paths_to(value: Any, keys: Mapping[int, list[str]], path: str) -> Iterator[str]:
    """List the paths in ``value`` of the keys of these objects, which are known by identity."""
    if isinstance(value, dict):
        for key in keys.get(id(value), ()):
            yield f"{path}.{key}" if path else key
        for name, each in value.items():
            yield from _paths_to(each, keys, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _paths_to(each, keys, f"{path}[{index}]")
