"""Object metadata: fields set by the server, immutable fields, and valid names and labels.

Rules: k8s.io/apimachinery ``pkg/api/validation`` and ``pkg/util/validation``.
"""

from __future__ import annotations

import random
import re
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from freehold_apiserver.errors import FieldError, bad_request, shown
from freehold_apiserver.store import Json

NameRule = Literal["subdomain", "label", "service", "segment"]
"""What a name must be: a DNS subdomain, a DNS label, a label that begins with a letter, or a part of a path."""

_DNS_LABEL = re.compile(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
_SERVICE = re.compile(r"^[a-z]([-a-z0-9]*[a-z0-9])?$")
_SUBDOMAIN = re.compile(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
_NAME_PART = re.compile(r"^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$")
_LABEL_VALUE = re.compile(r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$")
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
    "with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_SERVICE_RULE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_KEY_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'), with an optional DNS subdomain prefix and '/'"
)
_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character, and must be no more than 63 bytes"
)
_SERVER_OWNED = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
    "generation",
)
ANNOTATIONS_LIMIT = 256 * 1024
_SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
GENERATED_NAME_BASE = 58


def timestamp(moment: datetime) -> str:
    """RFC 3339 in UTC, whole seconds, ``Z``: how Kubernetes writes metav1.Time."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def generated_name(prefix: str) -> str:
    """``prefix`` with five random characters, for ``generateName``."""
    return prefix[:GENERATED_NAME_BASE] + "".join(random.choices(_SUFFIX_ALPHABET, k=5))


_TYPES: dict[str, type] = {
    "name": str, "generateName": str, "namespace": str, "uid": str, "resourceVersion": str, "selfLink": str,
    "creationTimestamp": str, "deletionTimestamp": str, "generation": int, "deletionGracePeriodSeconds": int,
    "labels": dict, "annotations": dict, "finalizers": list, "ownerReferences": list, "managedFields": list,
}  # fmt: skip


def normalize(metadata: Json) -> list[str]:
    """Drop, in place, the fields that decoding into the Go type would drop: unknown, null and empty ones.

    Returns the paths of the unknown fields. Raises 400 on a field of the wrong type.
    """
    unknown = []
    for name, value in list(metadata.items()):
        wanted = _TYPES.get(name)
        if wanted is None:
            unknown.append(f"metadata.{name}")
        elif value is not None and not isinstance(value, wanted):
            raise bad_request(f"metadata.{name} is of the wrong type: it must be of type {_WORDS[wanted]}")
        if wanted is None or value is None or value in ("", {}, []):
            del metadata[name]
    for name in ("labels", "annotations"):
        if name in metadata:  # a key without a value, as YAML allows, is null: Go's string takes it as ""
            metadata[name] = {key: "" if value is None else value for key, value in metadata[name].items()}
    for index, reference in enumerate(metadata.get("ownerReferences", ())):
        if not isinstance(reference, dict):
            raise bad_request(f"metadata.ownerReferences[{index}] is of the wrong type: it must be of type object")
        for name in _REFERENCE_TEXTS:
            if not isinstance(reference.get(name) or "", str):
                raise bad_request(f"metadata.ownerReferences[{index}].{name} is of the wrong type: it must be a string")
    return unknown


_REFERENCE_TEXTS = ("apiVersion", "kind", "name", "uid")

_WORDS = {str: "string", int: "integer", dict: "object", list: "array"}


def stamp_new(metadata: Json, now: datetime) -> None:
    """Set the server's fields for a new object."""
    for name in (*_SERVER_OWNED, "resourceVersion", "managedFields"):
        metadata.pop(name, None)
    metadata["uid"] = str(uuid.uuid4())
    metadata["creationTimestamp"] = timestamp(now)


def restore_server_owned(metadata: Json, old: Json) -> None:
    """Restore the fields that only the server writes."""
    for name in _SERVER_OWNED:
        metadata.pop(name, None)
        if name in old:
            metadata[name] = old[name]
    metadata.pop("managedFields", None)


def name_errors(name: str, rule: NameRule, path: str = "metadata.name") -> list[FieldError]:
    """Find what is wrong with a name by this rule."""
    if rule == "segment":
        if name in (".", ".."):
            return [FieldError.invalid(path, name, f"may not be '{name}'")]
        return [FieldError.invalid(path, name, f"may not contain '{each}'") for each in "/%" if each in name]
    longest = 253 if rule == "subdomain" else 63
    if len(name) > longest:
        return [FieldError.invalid(path, name, f"must be no more than {longest} bytes")]
    pattern, why = _NAME_RULES[rule]
    return [] if pattern.match(name) else [FieldError.invalid(path, name, why)]


_NAME_RULES = {
    "label": (_DNS_LABEL, _LABEL_RULE), "service": (_SERVICE, _SERVICE_RULE), "subdomain": (_SUBDOMAIN, _SUBDOMAIN_RULE)
}  # fmt: skip


def errors(metadata: Json, old: Json | None, names: NameRule) -> list[FieldError]:
    """All errors in the metadata; ``old`` is the metadata of the object being updated."""
    found = name_errors(metadata["name"], names)
    found += label_errors(metadata)
    size = sum(len(key) + len(str(value)) for key, value in (metadata.get("annotations") or {}).items())
    if size > ANNOTATIONS_LIMIT:
        found.append(FieldError.too_long("metadata.annotations", ANNOTATIONS_LIMIT))
    found += _finalizer_errors(metadata, old)
    for index, reference in enumerate(metadata.get("ownerReferences") or []):
        for name in ("apiVersion", "kind", "name", "uid"):
            if not reference.get(name):
                found.append(
                    FieldError.invalid(f"metadata.ownerReferences[{index}].{name}", "", f"{name} must not be empty")
                )
    return found


def label_errors(metadata: Json) -> list[FieldError]:
    """Find what is wrong with labels and annotations."""
    found = _key_errors(metadata.get("labels"), "metadata.labels", values=True)
    return found + _key_errors(metadata.get("annotations"), "metadata.annotations", values=False)


def _finalizer_errors(metadata: Json, old: Json | None) -> list[FieldError]:
    finalizers: Sequence[Any] = metadata.get("finalizers") or []
    found = [
        FieldError.invalid(f"metadata.finalizers[{index}]", each, "must be a qualified name")
        for index, each in enumerate(finalizers)
        if not isinstance(each, str) or not _is_qualified(each)
    ]
    if old and old.get("deletionTimestamp"):
        added = [each for each in finalizers if each not in (old.get("finalizers") or [])]
        if added:
            listed = ", ".join(shown(each) for each in added)
            detail = (
                "no new finalizers can be added if the object is being deleted, "
                f"found new finalizers []string{{{listed}}}"
            )
            found.append(FieldError.forbidden("metadata.finalizers", detail))
    return found


def _key_errors(entries: Any, path: str, *, values: bool) -> list[FieldError]:
    if entries is None:
        return []
    if not isinstance(entries, dict):
        return [FieldError.wrong_type(path, _WORDS.get(type(entries), "number"), "must be a map of strings")]
    found = []
    for key, value in entries.items():
        if not _is_qualified(key if values else key.lower()):
            found.append(FieldError.invalid(path, key, _KEY_RULE))
        if not isinstance(value, str):
            found.append(FieldError.invalid(path, value, f"the value of {key} must be a string"))
        elif values and (len(value) > 63 or not _LABEL_VALUE.match(value)):
            found.append(FieldError.invalid(path, value, _VALUE_RULE))
    return found


def _is_qualified(key: str) -> bool:
    prefix, slash, name = key.rpartition("/")
    if slash and (not _SUBDOMAIN.match(prefix) or len(prefix) > 253):
        return False
    return len(name) <= 63 and bool(_NAME_PART.match(name))
