"""Error responses: a ``Status`` object with reason, code and causes.

kubectl prints ``reason`` and ``message`` and clients branch on ``reason`` and ``code``, so the wording
and the codes follow k8s.io/apimachinery (``pkg/api/errors``, ``pkg/util/validation/field``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


class ApiError(Exception):
    """A refused request; ``status()`` is the body of the response."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = dict(details or {})
        self.headers = dict(headers or {})

    def status(self) -> dict[str, Any]:
        """Return this error as a ``Status`` object."""
        body: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            body["reason"] = self.reason
        if self.details:
            body["details"] = self.details
        body["code"] = self.code
        return body


@dataclass(frozen=True)
class FieldError:
    """One error in one field. ``body`` is the message without the path, ``reason`` the type of the cause."""

    path: str
    reason: str
    body: str

    def __str__(self) -> str:
        return f"{self.path}: {self.body}" if self.path else self.body

    def cause(self) -> dict[str, str]:
        """Return an entry of ``Status.details.causes``."""
        return {"reason": self.reason, "message": self.body, "field": self.path or "<nil>"}

    @classmethod
    def required(cls, path: str, detail: str = "") -> FieldError:
        return cls(path, "FieldValueRequired", "Required value" + (f": {detail}" if detail else ""))

    @classmethod
    def invalid(cls, path: str, value: Any, detail: str) -> FieldError:
        return cls(path, "FieldValueInvalid", f"Invalid value: {shown(value)}: {detail}")

    @classmethod
    def wrong_type(cls, path: str, actual: str, detail: str) -> FieldError:
        return cls(path, "FieldValueTypeInvalid", f"Invalid value: {shown(actual)}: {detail}")

    @classmethod
    def unsupported(cls, path: str, value: Any, supported: Sequence[Any]) -> FieldError:
        choices = ", ".join(shown(choice) for choice in supported)
        return cls(path, "FieldValueNotSupported", f"Unsupported value: {shown(value)}: supported values: {choices}")

    @classmethod
    def duplicate(cls, path: str, value: Any) -> FieldError:
        return cls(path, "FieldValueDuplicate", f"Duplicate value: {shown(value)}")

    @classmethod
    def forbidden(cls, path: str, detail: str) -> FieldError:
        return cls(path, "FieldValueForbidden", f"Forbidden: {detail}")

    @classmethod
    def too_long(cls, path: str, limit: int) -> FieldError:
        return cls(path, "FieldValueTooLong", f"Too long: may not be more than {limit} bytes")

    @classmethod
    def too_many(cls, path: str, count: int, limit: int) -> FieldError:
        return cls(path, "FieldValueTooMany", f"Too many: {count}: must have at most {limit} items")


@dataclass
class Notes:
    """Warnings collected while a request is served; each becomes a ``Warning`` header."""

    warnings: list[str] = field(default_factory=list)

    def add(self, texts: Sequence[str]) -> None:
        """Add warnings, each once; one that fits in no header is dropped, as upstream does."""
        self.warnings += [each for each in texts if each not in self.warnings and each.isprintable()]

    def headers(self) -> list[tuple[str, str]]:
        escaped = (text.replace("\\", "\\\\").replace('"', '\\"') for text in self.warnings)
        return [("Warning", f'299 - "{text}"') for text in escaped]


def shown(value: Any) -> str:
    """Quote a value for a message."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def qualified(name: str, group: str) -> str:
    """``deployments.apps``; the core group has no suffix."""
    return f"{name}.{group}" if group else name


def not_found(group: str, plural: str, name: str) -> ApiError:
    details = {"name": name, "group": group, "kind": plural}
    return ApiError(404, "NotFound", f'{qualified(plural, group)} "{name}" not found', details=_present(details))


def no_such_path() -> ApiError:
    return ApiError(404, "NotFound", "the server could not find the requested resource", details={})


def already_exists(group: str, plural: str, name: str) -> ApiError:
    details = {"name": name, "group": group, "kind": plural}
    message = f'{qualified(plural, group)} "{name}" already exists'
    return ApiError(409, "AlreadyExists", message, details=_present(details))


def conflict(group: str, plural: str, name: str, why: str) -> ApiError:
    details = {"name": name, "group": group, "kind": plural}
    message = f'Operation cannot be fulfilled on {qualified(plural, group)} "{name}": {why}'
    return ApiError(409, "Conflict", message, details=_present(details))


STALE = "the object has been modified; please apply your changes to the latest version and try again"


def invalid(group: str, kind: str, name: str, errors: Sequence[FieldError]) -> ApiError:
    listed = ", ".join(str(error) for error in errors)
    text = f"[{listed}]" if len(errors) > 1 else listed
    details = _present({"name": name, "group": group, "kind": kind})
    details["causes"] = [error.cause() for error in errors]
    return ApiError(422, "Invalid", f'{qualified(kind, group)} "{name}" is invalid: {text}', details=details)


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def forbidden(group: str, plural: str, name: str, why: str, causes: Sequence[Mapping[str, str]] = ()) -> ApiError:
    details = _present({"name": name, "group": group, "kind": plural})
    if causes:
        details["causes"] = [dict(cause) for cause in causes]
    return ApiError(403, "Forbidden", f'{qualified(plural, group)} "{name}" is forbidden: {why}', details=details)


def expired(message: str) -> ApiError:
    return ApiError(410, "Expired", message)


def too_large(asked: int, current: int) -> ApiError:
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    message = f"Timeout: Too large resource version: {asked}, current: {current}"
    return ApiError(504, "Timeout", message, details={"causes": [cause], "retryAfterSeconds": 1})


def unsupported_media(message: str) -> ApiError:
    return ApiError(415, "UnsupportedMediaType", message)


def storage_failed(path: str, problem: str) -> ApiError:
    """Build the error of a write that could not be stored. The store is as it was before the request."""
    return ApiError(507, "InsufficientStorage", f"{path} cannot be written: {problem}; nothing was changed")


def internal(problem: str) -> ApiError:
    """Build the error of something that failed on the way, by its text."""
    details = {"causes": [{"message": problem}]}
    return ApiError(500, "InternalError", f"Internal error occurred: {problem}", details=details)


def timed_out() -> ApiError:
    """Build the error of a write for which webhooks took too long."""
    return ApiError(504, "Timeout", "Timeout: request did not complete within requested timeout")


def method_not_allowed(method: str) -> ApiError:
    return ApiError(
        405, "MethodNotAllowed", f"the server does not allow this method on the requested resource: {method}"
    )


def _present(details: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in details.items() if value}
