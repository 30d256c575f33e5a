"""Writes protobuf as client-go does, for the few kinds that its typed clients send.

Field numbers: the ``generated.proto`` files of k8s.io/api and k8s.io/apimachinery, 1.32. Like Go, an empty string is
written; what is None is a pointer without a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

PROTOBUF = "application/vnd.kubernetes.protobuf"
ACCEPT = f"{PROTOBUF}, */*"
"""What a typed client of client-go asks for."""

Parts = Mapping[int, Any]


def envelope(api_version: str, kind: str, parts: Parts) -> bytes:
    """``k8s\\0`` and a ``runtime.Unknown``: the whole body of a request."""
    return b"k8s\0" + message({1: {1: api_version, 2: kind}, 2: message(parts), 3: "", 4: ""})


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
