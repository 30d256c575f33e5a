"""Protobuf request bodies of the built-in kinds.

kubectl (``create namespace``, ``auth can-i`` …) and the typed clients of client-go (leader election, events) send
``application/vnd.kubernetes.protobuf`` and do not fall back to JSON (docs/reference/kubernetes.md#protobuf);
JSON responses are accepted. Field numbers: the ``generated.proto`` files of k8s.io/api and
k8s.io/apimachinery, 1.32.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from freehold_apiserver import errors
from freehold_apiserver.metadata import timestamp
from freehold_apiserver.store import Json

CONTENT_TYPE = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\0"

_Value = bytes | int
_Read = Callable[[Any], Any]
_Message = Mapping[int, tuple[str, "_Field"]]


class _Field:
    """How to read one field: ``one`` value, ``many`` values, or the entries of a ``map``.

    Go sends its empty strings; ``pointer`` is one value that counts even when it is empty.
    """

    def __init__(self, read: _Read, shape: str = "one") -> None:
        self.read = read
        self.shape = shape


def _text(value: bytes) -> str:
    return value.decode()


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _time(value: bytes) -> str | None:
    """metav1.Time: whole seconds. No time and the zero time are absent."""
    moment, _ = _moment(value)
    return timestamp(moment) if moment else None


def _micro_time(value: bytes) -> str | None:
    """metav1.MicroTime: always with six digits, as Go writes it."""
    moment, nanoseconds = _moment(value)
    return f"{timestamp(moment)[:-1]}.{nanoseconds // 1000:06d}Z" if moment else None


def _moment(value: bytes) -> tuple[datetime | None, int]:
    found = dict(_fields(value))
    seconds, nanoseconds = (_signed(_number(found.get(number, 0))) for number in (1, 2))
    if not seconds or seconds == _ZERO_TIME:
        return None, 0
    try:
        return datetime.fromtimestamp(seconds, UTC), nanoseconds
    except (OverflowError, OSError) as problem:
        raise ValueError(f"{seconds} is no time") from problem


_ZERO_TIME = -62135596800
"""0001-01-01: what Go sends for a time that was never set."""


def _signed(value: int) -> int:
    """Read a varint of type int32 or int64: two's complement in 64 bits."""
    return value - (1 << 64) if value >= 1 << 63 else value


def _message(table: _Message) -> _Field:
    return _Field(lambda data: _decode(data, table))


def _messages(table: _Message) -> _Field:
    return _Field(lambda data: _decode(data, table), "many")


def _fields_v1(value: bytes) -> Any:
    """metav1.FieldsV1: JSON in bytes."""
    return json.loads(_bytes(dict(_fields(value)).get(1, b"{}")))


_TEXT, _BOOL, _INT, _COUNT = _Field(_text), _Field(bool), _Field(_signed), _Field(lambda value: _signed(value) or None)
_TEXT_POINTER = _Field(_text, "pointer")
_TIME, _MICRO_TIME = _Field(_time), _Field(_micro_time)
_TEXTS, _TEXT_MAP, _BYTES_MAP = _Field(_text, "many"), _Field(_text, "map"), _Field(_base64, "map")

_OWNER: _Message = {
    5: ("apiVersion", _TEXT), 1: ("kind", _TEXT), 3: ("name", _TEXT), 4: ("uid", _TEXT),
    6: ("controller", _BOOL), 7: ("blockOwnerDeletion", _BOOL),
}  # fmt: skip
_MANAGED: _Message = {
    1: ("manager", _TEXT), 2: ("operation", _TEXT), 3: ("apiVersion", _TEXT), 4: ("time", _TIME),
    6: ("fieldsType", _TEXT), 7: ("fieldsV1", _Field(lambda data: _fields_v1(data))), 8: ("subresource", _TEXT),
}  # fmt: skip
_META = _message({
    1: ("name", _TEXT), 2: ("generateName", _TEXT), 3: ("namespace", _TEXT), 4: ("selfLink", _TEXT), 5: ("uid", _TEXT),
    6: ("resourceVersion", _TEXT), 7: ("generation", _COUNT), 8: ("creationTimestamp", _TIME),
    9: ("deletionTimestamp", _TIME), 10: ("deletionGracePeriodSeconds", _INT), 11: ("labels", _TEXT_MAP),
    12: ("annotations", _TEXT_MAP), 13: ("ownerReferences", _messages(_OWNER)), 14: ("finalizers", _TEXTS),
    17: ("managedFields", _messages(_MANAGED)),
})  # fmt: skip
_REFERENCE_FIELDS: _Message = {
    1: ("kind", _TEXT), 2: ("namespace", _TEXT), 3: ("name", _TEXT), 4: ("uid", _TEXT), 5: ("apiVersion", _TEXT),
    6: ("resourceVersion", _TEXT), 7: ("fieldPath", _TEXT),
}  # fmt: skip
_REFERENCE = _message(_REFERENCE_FIELDS)
_EVENT_SOURCE = _message({1: ("component", _TEXT), 2: ("host", _TEXT)})
_EVENT_SERIES = _message({1: ("count", _COUNT), 2: ("lastObservedTime", _MICRO_TIME)})
_NAMESPACE_CONDITION: _Message = {
    1: ("type", _TEXT), 2: ("status", _TEXT), 4: ("lastTransitionTime", _TIME), 5: ("reason", _TEXT),
    6: ("message", _TEXT),
}  # fmt: skip
_RESOURCE_ATTRIBUTES = _message({
    1: ("namespace", _TEXT), 2: ("verb", _TEXT), 3: ("group", _TEXT), 4: ("version", _TEXT),
    5: ("resource", _TEXT), 6: ("subresource", _TEXT), 7: ("name", _TEXT),
})  # fmt: skip
_PATH_ATTRIBUTES = _message({1: ("path", _TEXT), 2: ("verb", _TEXT)})
_REVIEW = _message({1: ("resourceAttributes", _RESOURCE_ATTRIBUTES), 2: ("nonResourceAttributes", _PATH_ATTRIBUTES)})
_PRECONDITIONS = _message({1: ("uid", _TEXT), 2: ("resourceVersion", _TEXT)})

_KINDS: Mapping[tuple[str, str], _Message] = {
    ("v1", "Namespace"): {
        1: ("metadata", _META), 2: ("spec", _message({1: ("finalizers", _TEXTS)})),
        3: ("status", _message({1: ("phase", _TEXT), 2: ("conditions", _messages(_NAMESPACE_CONDITION))})),
    },
    ("v1", "Secret"): {
        1: ("metadata", _META), 2: ("data", _BYTES_MAP), 3: ("type", _TEXT), 4: ("stringData", _TEXT_MAP),
        5: ("immutable", _BOOL),
    },
    ("v1", "ConfigMap"): {
        1: ("metadata", _META), 2: ("data", _TEXT_MAP), 3: ("binaryData", _BYTES_MAP), 4: ("immutable", _BOOL),
    },
    ("v1", "ServiceAccount"): {
        1: ("metadata", _META), 2: ("secrets", _messages(_REFERENCE_FIELDS)),
        3: ("imagePullSecrets", _messages({1: ("name", _TEXT)})), 4: ("automountServiceAccountToken", _BOOL),
    },
    ("v1", "Event"): {
        1: ("metadata", _META), 2: ("involvedObject", _REFERENCE), 3: ("reason", _TEXT), 4: ("message", _TEXT),
        5: ("source", _EVENT_SOURCE), 6: ("firstTimestamp", _TIME), 7: ("lastTimestamp", _TIME), 8: ("count", _COUNT),
        9: ("type", _TEXT), 10: ("eventTime", _MICRO_TIME), 11: ("series", _EVENT_SERIES), 12: ("action", _TEXT),
        13: ("related", _REFERENCE), 14: ("reportingComponent", _TEXT), 15: ("reportingInstance", _TEXT),
    },
    ("events.k8s.io/v1", "Event"): {
        1: ("metadata", _META), 2: ("eventTime", _MICRO_TIME), 3: ("series", _EVENT_SERIES),
        4: ("reportingController", _TEXT), 5: ("reportingInstance", _TEXT), 6: ("action", _TEXT),
        7: ("reason", _TEXT), 8: ("regarding", _REFERENCE), 9: ("related", _REFERENCE), 10: ("note", _TEXT),
        11: ("type", _TEXT), 12: ("deprecatedSource", _EVENT_SOURCE), 13: ("deprecatedFirstTimestamp", _TIME),
        14: ("deprecatedLastTimestamp", _TIME), 15: ("deprecatedCount", _COUNT),
    },
    ("coordination.k8s.io/v1", "Lease"): {
        1: ("metadata", _META),
        2: ("spec", _message({
            1: ("holderIdentity", _TEXT_POINTER), 2: ("leaseDurationSeconds", _INT), 3: ("acquireTime", _MICRO_TIME),
            4: ("renewTime", _MICRO_TIME), 5: ("leaseTransitions", _INT), 6: ("strategy", _TEXT),
            7: ("preferredHolder", _TEXT),
        })),
    },
    ("authorization.k8s.io/v1", "SelfSubjectAccessReview"): {1: ("metadata", _META), 2: ("spec", _REVIEW)},
}  # fmt: skip

_DELETE_OPTIONS: _Message = {
    1: ("gracePeriodSeconds", _INT), 2: ("preconditions", _PRECONDITIONS), 3: ("orphanDependents", _BOOL),
    4: ("propagationPolicy", _TEXT), 5: ("dryRun", _TEXTS),
}  # fmt: skip
"""Options are a kind of every group: a typed client sends them in the group and version of its resource."""

_UNKNOWN: _Message = {
    1: ("type", _message({1: ("apiVersion", _TEXT), 2: ("kind", _TEXT)})),
    2: ("raw", _Field(bytes)),
}  # fmt: skip


def decode(data: bytes) -> Json:
    """Decode the object in a protobuf body. Raises 400 if that fails, 415 for a kind that is not in the tables."""
    if not data.startswith(_MAGIC):
        raise errors.bad_request("the protobuf body does not begin with the Kubernetes magic number")
    try:
        envelope = _decode(data[len(_MAGIC) :], _UNKNOWN)
        named = envelope.get("type", {})
        gvk = (named.get("apiVersion", ""), named.get("kind", ""))
        table = _DELETE_OPTIONS if gvk[1] == "DeleteOptions" else _KINDS.get(gvk)
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
        elif (read := field.read(value)) is not None and (read != "" or field.shape == "pointer"):
            out[name] = read
    return out


def _bytes(value: _Value) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError("a number where text was expected")
    return value


def _number(value: _Value) -> int:
    if not isinstance(value, int):
        raise ValueError("text where a number was expected")
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
