"""Protobuf request bodies of the few kinds that kubectl sends only as protobuf.

``kubectl create namespace|secret|configmap|serviceaccount`` and ``auth can-i`` POST
``application/vnd.kubernetes.protobuf`` and do not fall back to JSON (docs/reference/kubernetes.md#kubectl);
JSON responses are accepted. Field numbers: the ``generated.proto`` files of k8s.io/api and
k8s.io/apimachinery.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from freehold.apiserver import errors
from freehold.apiserver.metadata import timestamp
from freehold.apiserver.store import Json

CONTENT_TYPE = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\0"

_Value = bytes | int
_Read = Callable[[Any], Any]
_Message = Mapping[int, tuple[str, "_Field"]]


class _Field:
    """How to read one field: ``one`` value, ``many`` values, or the entries of a ``map``."""

    def __init__(self, read: _Read, shape: str = "one") -> None:
        self.read = read
        self.shape = shape


def _text(value: bytes) -> str:
    return value.decode()


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _time(value: bytes) -> str | None:
    seconds = next((int(each) for number, each in _fields(value) if number == 1), 0)
    return timestamp(datetime.fromtimestamp(seconds, UTC)) if seconds else None


def _message(table: _Message) -> _Field:
    return _Field(lambda data: _decode(data, table))


_TEXT, _BOOL, _INT, _TIME = _Field(_text), _Field(bool), _Field(int), _Field(_time)
_TEXTS, _TEXT_MAP, _BYTES_MAP = _Field(_text, "many"), _Field(_text, "map"), _Field(_base64, "map")

_OWNER: _Message = {
    5: ("apiVersion", _TEXT), 1: ("kind", _TEXT), 3: ("name", _TEXT), 4: ("uid", _TEXT),
    6: ("controller", _BOOL), 7: ("blockOwnerDeletion", _BOOL),
}  # fmt: skip
_META = _message({
    1: ("name", _TEXT), 2: ("generateName", _TEXT), 3: ("namespace", _TEXT), 5: ("uid", _TEXT),
    6: ("resourceVersion", _TEXT), 7: ("generation", _INT), 8: ("creationTimestamp", _TIME),
    9: ("deletionTimestamp", _TIME), 11: ("labels", _TEXT_MAP), 12: ("annotations", _TEXT_MAP),
    13: ("ownerReferences", _Field(lambda data: _decode(data, _OWNER), "many")), 14: ("finalizers", _TEXTS),
})  # fmt: skip
_RESOURCE_ATTRIBUTES = _message({
    1: ("namespace", _TEXT), 2: ("verb", _TEXT), 3: ("group", _TEXT), 4: ("version", _TEXT),
    5: ("resource", _TEXT), 6: ("subresource", _TEXT), 7: ("name", _TEXT),
})  # fmt: skip
_PATH_ATTRIBUTES = _message({1: ("path", _TEXT), 2: ("verb", _TEXT)})
_REVIEW = _message({1: ("resourceAttributes", _RESOURCE_ATTRIBUTES), 2: ("nonResourceAttributes", _PATH_ATTRIBUTES)})
_PRECONDITIONS = _message({1: ("uid", _TEXT), 2: ("resourceVersion", _TEXT)})

_KINDS: Mapping[tuple[str, str], _Message] = {
    ("v1", "Namespace"): {1: ("metadata", _META)},
    ("v1", "Secret"): {
        1: ("metadata", _META), 2: ("data", _BYTES_MAP), 3: ("type", _TEXT), 4: ("stringData", _TEXT_MAP),
        5: ("immutable", _BOOL),
    },
    ("v1", "ConfigMap"): {
        1: ("metadata", _META), 2: ("data", _TEXT_MAP), 3: ("binaryData", _BYTES_MAP), 4: ("immutable", _BOOL),
    },
    ("v1", "ServiceAccount"): {1: ("metadata", _META), 4: ("automountServiceAccountToken", _BOOL)},
    ("v1", "DeleteOptions"): {
        1: ("gracePeriodSeconds", _INT), 2: ("preconditions", _PRECONDITIONS), 3: ("orphanDependents", _BOOL),
        4: ("propagationPolicy", _TEXT), 5: ("dryRun", _TEXTS),
    },
    ("authorization.k8s.io/v1", "SelfSubjectAccessReview"): {1: ("metadata", _META), 2: ("spec", _REVIEW)},
}  # fmt: skip

_UNKNOWN: _Message = {
    1: ("type", _message({1: ("apiVersion", _TEXT), 2: ("kind", _TEXT)})),
    2: ("raw", _Field(bytes)),
}  # fmt: skip


def decode(data: bytes) -> Json:
    """The object in a protobuf body. Raises 400 if it cannot be decoded, 415 for a kind that is not in the tables."""
    if not data.startswith(_MAGIC):
        raise errors.bad_request("the protobuf body does not begin with the Kubernetes magic number")
    try:
        envelope = _decode(data[len(_MAGIC) :], _UNKNOWN)
        named = envelope.get("type", {})
        gvk = (named.get("apiVersion", ""), named.get("kind", ""))
        table = _KINDS.get(gvk)
        if table is None:
            raise errors.unsupported_media(f"{gvk[1]} ({gvk[0]}) is not supported as protobuf; send application/json")
        return {"apiVersion": gvk[0], "kind": gvk[1], **_decode(envelope.get("raw", b""), table)}
    except (IndexError, ValueError, TypeError, AttributeError) as problem:
        raise errors.bad_request(f"the protobuf body cannot be read: {problem}") from problem


def _decode(data: bytes, table: _Message) -> Json:
    out: Json = {}
    for number, value in _fields(data):
        if number not in table:
            continue
        name, field = table[number]
        if field.shape == "many":
            out.setdefault(name, []).append(field.read(value))
        elif field.shape == "map":
            entry = dict(_fields(value if isinstance(value, bytes) else b""))
            out.setdefault(name, {})[_text(_bytes(entry.get(1, b"")))] = field.read(entry.get(2, b""))
        elif (read := field.read(value)) not in (None, ""):
            out[name] = read
    return out


def _bytes(value: _Value) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError("a number where text was expected")
    return value


def _fields(data: bytes) -> Iterator[tuple[int, _Value]]:
    """Field numbers and raw values: varints as int, everything else as bytes."""
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        match tag & 7:
            case 0:
                value, position = _varint(data, position)
                yield tag >> 3, value
                continue
            case 1:
                length = 8
            case 2:
                length, position = _varint(data, position)
            case 5:
                length = 4
            case wire:
                raise ValueError(f"unknown wire type {wire}")
        if position + length > len(data):
            raise ValueError("it ends in the middle of a field")
        yield tag >> 3, data[position : position + length]
        position += length


def _varint(data: bytes, position: int) -> tuple[int, int]:
    result = shift = 0
    while True:
        byte = data[position]
        position += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, position
        shift += 7
