"""Errors of requests to an API server.

::

    KubeError
    ├── ConfigError         the kubeconfig or the in-cluster files are unusable; the user must fix them
    ├── Unauthorized        401 even after renewing the credentials, or no credentials available
    ├── Forbidden           403: RBAC; never retried, and never treated as "does not exist"
    ├── NotFound            404: no such object, or no such resource
    ├── AlreadyExists       409 on create
    ├── Conflict            409: stale resourceVersion, or a precondition failed; read again
    ├── Expired             410: the resourceVersion (or page) is no longer available; list again
    ├── Invalid             400, 405, 413, 415, 422: the request itself is wrong
    ├── Throttled           429: rejected without effect; slow down
    └── Unavailable         5xx or no response; a write may have taken effect

An error body is decoded as a ``Status``, for any Content-Type of the reply. It may be missing:
intermediate proxies send their own error bodies (docs/reference/kubernetes.md#requests).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


class KubeError(Exception):
    """A failed request.

    ``code`` is the HTTP status (0 without a response), ``reason`` and ``details`` are those of the ``Status``,
    ``retry_after`` is in seconds of wall time, if the server sent it.
    """

    def __init__(
        self,
        message: str,
        *,
        code: int = 0,
        reason: str = "",
        retry_after: float | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.reason = reason
        self.retry_after = retry_after
        self.details: Mapping[str, Any] = details or {}

    def __str__(self) -> str:
        return self.message


class ConfigError(KubeError):
    """The configuration cannot be used; the message names file, entry and remedy."""


class Unauthorized(KubeError):
    """The server rejected the credentials, or none are available."""


class Forbidden(KubeError):
    """The credentials lack permission. The requested object may exist."""


class ObjectNotFound(KubeError):
    """No such object, or no such resource on this server."""


class AlreadyExists(KubeError):
    """An object with this name exists already."""


class Conflict(KubeError):
    """The resourceVersion or uid of the object differs from the one in the request."""


class Expired(KubeError):
    """The server no longer has (or, after a restore, does not yet have) this resourceVersion."""


class InvalidRequest(KubeError):
    """The request is wrong: retrying cannot succeed."""


class TooManyRequests(KubeError):
    """Too many requests; this request was not executed."""


class ServerUnavailable(KubeError):
    """The server failed to serve the request or did not respond; a write may have taken effect."""


_BY_CODE: dict[int, type[KubeError]] = {
    401: Unauthorized,
    403: Forbidden,
    404: ObjectNotFound,
    409: Conflict,
    410: Expired,
    429: TooManyRequests,
}


def build_status_error(status: Mapping[str, Any], code: int = 0, retry_after: float | None = None) -> KubeError:
    """Build the error that a ``Status`` object describes; ``code`` and ``retry_after`` come from HTTP."""
    code = code or _parse_number(status.get("code")) or 500
    reason = str(status.get("reason") or "")
    details = status.get("details")
    details = details if isinstance(details, dict) else {}
    if retry_after is None and details.get("retryAfterSeconds"):
        retry_after = float(_parse_number(details["retryAfterSeconds"]))
    kind = _BY_CODE.get(code) or (InvalidRequest if 400 <= code < 500 else ServerUnavailable)
    if reason == "AlreadyExists":
        kind = AlreadyExists
    elif reason in ("Expired", "Gone") or _has_cause(details, "ResourceVersionTooLarge"):
        kind = Expired
    message = str(status.get("message") or f"the API server answered {code} {reason}".rstrip())
    return kind(message, code=code, reason=reason, retry_after=retry_after, details=details)


def build_response_error(code: int, body: bytes, retry_after_header: str | None, what: str) -> KubeError:
    """Build the error of an HTTP response. ``what`` (method and path) is the message if the body has none."""
    retry_after = float(retry_after_header) if retry_after_header and retry_after_header.isdigit() else None
    try:
        status = json.loads(body)
    except (ValueError, RecursionError):
        status = None
    if not isinstance(status, dict) or not status.get("message"):
        text = " ".join(body[:200].decode(errors="replace").split())
        status = {"message": f"{what}: HTTP {code}" + (f": {text}" if text else "")}
    return build_status_error(status, code, retry_after)


def _has_cause(details: Mapping[str, Any], reason: str) -> bool:
    causes = details.get("causes") or ()
    return any(isinstance(each, dict) and each.get("reason") == reason for each in causes)


def _parse_number(value: object) -> int:
    return int(value) if isinstance(value, int | float | str) and str(value).isdigit() else 0
