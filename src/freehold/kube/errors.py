"""What an API server, or the way to it, can answer instead of what was asked.

::

    KubeError
    ├── ConfigError         the kubeconfig or the in-cluster files cannot be used; a person must act
    ├── Unauthorized        401, also after the credentials were renewed; or no credentials to be had
    ├── Forbidden           403: RBAC; never retried, and never read as "does not exist"
    ├── NotFound            404: no such object, or no such resource
    ├── AlreadyExists       409 on create
    ├── Conflict            409: written on a stale resourceVersion, or a precondition failed; read again
    ├── Expired             410: the resourceVersion (or page) can no longer be served; list again
    ├── Invalid             400, 405, 413, 415, 422: the request is wrong as such
    ├── Throttled           429: slow down; nothing happened
    └── Unavailable         5xx, or no answer at all; a write may have taken effect

The body of a failure is read as a ``Status`` whatever its Content-Type says, and may be missing:
proxies in between answer in their own words (docs/reference/kubernetes.md#requests).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


class KubeError(Exception):
    """A request that did not do what was asked.

    ``code`` is the HTTP status (0 when there was no answer), ``reason`` the server's word for it,
    ``retry_after`` seconds of wall time when the server says, ``details`` as in ``Status.details``.
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
    """The server does not know us, or there are no credentials to show it."""


class Forbidden(KubeError):
    """The server knows us and refuses. What was asked for may well exist."""


class NotFound(KubeError):
    """No such object, or no such resource on this server."""


class AlreadyExists(KubeError):
    """An object of this name is there already."""


class Conflict(KubeError):
    """The object is not at the resourceVersion, or has not the uid, that the request assumed."""


class Expired(KubeError):
    """The server no longer has (or, after a restore, does not yet have) that resourceVersion."""


class Invalid(KubeError):
    """The request is wrong: sending it again cannot help."""


class Throttled(KubeError):
    """Too many requests; this one was not executed."""


class Unavailable(KubeError):
    """The server could not serve the request or did not answer; a write may have taken effect."""


_BY_CODE: dict[int, type[KubeError]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Expired,
    429: Throttled,
}


def of_status(status: Mapping[str, Any], code: int = 0, retry_after: float | None = None) -> KubeError:
    """The error that a ``Status`` object describes; ``code`` and ``retry_after`` come from HTTP."""
    code = code or _number(status.get("code")) or 500
    reason = str(status.get("reason") or "")
    details = status.get("details")
    details = details if isinstance(details, dict) else {}
    if retry_after is None and details.get("retryAfterSeconds"):
        retry_after = float(_number(details["retryAfterSeconds"]))
    kind = _BY_CODE.get(code) or (Invalid if 400 <= code < 500 else Unavailable)
    if reason == "AlreadyExists":
        kind = AlreadyExists
    elif reason in ("Expired", "Gone") or _has_cause(details, "ResourceVersionTooLarge"):
        kind = Expired
    message = str(status.get("message") or f"the API server answered {code} {reason}".rstrip())
    return kind(message, code=code, reason=reason, retry_after=retry_after, details=details)


def of_response(code: int, body: bytes, retry_after_header: str | None, what: str) -> KubeError:
    """The error in an HTTP answer. ``what`` (method and path) is said when the body says nothing."""
    retry_after = float(retry_after_header) if retry_after_header and retry_after_header.isdigit() else None
    try:
        status = json.loads(body)
    except ValueError:
        status = None
    if not isinstance(status, dict) or not status.get("message"):
        text = " ".join(body[:200].decode(errors="replace").split())
        status = {"message": f"{what}: HTTP {code}" + (f": {text}" if text else "")}
    return of_status(status, code, retry_after)


def _has_cause(details: Mapping[str, Any], reason: str) -> bool:
    causes = details.get("causes") or ()
    return any(isinstance(each, dict) and each.get("reason") == reason for each in causes)


def _number(value: object) -> int:
    return int(value) if isinstance(value, int | float | str) and str(value).isdigit() else 0
