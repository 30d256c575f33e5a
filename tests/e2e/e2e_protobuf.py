"""Writes protobuf as client-go does, for the few kinds that its typed clients send, and reads a refusal.

Field numbers: the ``generated.proto`` files of k8s.io/api and k8s.io/apimachinery, 1.32. Like Go, an empty string is
written; what is None is a pointer without a value. kube-apiserver answers typed clients in protobuf, the embedded
server in JSON, which they read as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import requests

PROTOBUF = "application/vnd.kubernetes.protobuf"
ACCEPT = f"{PROTOBUF}, */*"
"""What a typed client of client-go asks for."""

MAGIC = b"k8s\0"

Parts = Mapping[int, Any]


def envelope(api_version: str, kind: str, parts: Parts) -> bytes:
    """``k8s\\0`` and a ``runtime.Unknown``: the whole body of a request."""
    return MAGIC + message({1: {1: api_version, 2: kind}, 2: message(parts), 3: "", 4: ""})


def message(parts: Parts) -> bytes:
    return b"".join(_field(number, value) for number, value in sorted(parts.items()) if value is not None)


def micro_time(moment: datetime) -> Parts:
    """metav1.MicroTime."""
    return {1: int(moment.timestamp()), 2: moment.microsecond * 1000}


def lease(name: str, namespace: str, spec: Parts, uid: str = "", version: str = "") -> bytes:
    return envelope("coordination.k8s.io/v1", "Lease", {1: metadata(name, namespace, uid, version), 2: spec})


def lease_spec(holder: str, seconds: int, acquired: datetime, renewed: datetime, transitions: int) -> Parts:
    return {1: holder, 2: seconds, 3: micro_time(acquired), 4: micro_time(renewed), 5: transitions}


def metadata(name: str, namespace: str, uid: str = "", version: str = "") -> Parts:
    """metav1.ObjectMeta with the fields that are no pointers, set or not."""
    return {1: name, 2: "", 3: namespace, 4: "", 5: uid, 6: version, 7: 0, 8: {}}


def reference(kind: str, namespace: str, name: str, api_version: str) -> Parts:
    """core/v1 ObjectReference."""
    return {1: kind, 2: namespace, 3: name, 4: "", 5: api_version, 6: "", 7: ""}


def refusal(answer: requests.Response) -> dict[str, Any]:
    """The Status in an answer, in whichever form it came."""
    if not answer.content.startswith(MAGIC):
        found: dict[str, Any] = answer.json()
        return found
    status = _fields(_fields(answer.content.removeprefix(MAGIC))[2][0])
    details = _fields(status[5][0]) if 5 in status else {}
    causes = [_texts(_fields(each), {1: "reason", 2: "message", 3: "field"}) for each in details.get(4, ())]
    return {**_texts(status, {3: "message", 4: "reason"}), "details": {"causes": causes}}


def _texts(fields: Mapping[int, list[Any]], names: Mapping[int, str]) -> dict[str, Any]:
    return {name: fields[number][0].decode() for number, name in names.items() if number in fields}


def _fields(data: bytes) -> dict[int, list[Any]]:
    """The fields of a message, by their numbers: numbers and bytes."""
    found: dict[int, list[Any]] = {}
    position = 0
    while position < len(data):
        tag, position = _read_varint(data, position)
        value: Any
        value, position = _read_varint(data, position)
        if tag & 7 == 2:
            value, position = data[position : position + value], position + value
        found.setdefault(tag >> 3, []).append(value)
    return found


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while data[position] & 0x80:
        value |= (data[position] & 0x7F) << shift
        shift, position = shift + 7, position + 1
    return value | data[position] << shift, position + 1


def _field(number: int, value: Any) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = value.encode() if isinstance(value, str) else message(value) if isinstance(value, Mapping) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + bytes(data)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])
