"""What a ``clientConfig`` of a webhook must be: k8s.io/apiserver ``pkg/util/webhook/validation.go``."""

from __future__ import annotations

import base64
import binascii
from urllib.parse import urlsplit

from freehold_apiserver.errors import FieldError
from freehold_apiserver.metadata import name_errors
from freehold_apiserver.store import Json

_FORM = "; desired format: https://host[/path]"


def client_config_errors(config: Json, path: str) -> list[FieldError]:
    """Find what is wrong with a ``clientConfig``."""
    found = [] if _is_base64(config.get("caBundle")) else [
        FieldError.invalid(f"{path}.caBundle", config.get("caBundle"), "it is not PEM in base64")
    ]  # fmt: skip
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        return [*found, FieldError.required(path, "exactly one of url or service is required")]
    return found + (_url_errors(url, f"{path}.url") if url is not None else _service_errors(service, f"{path}.service"))


def _is_base64(text: object) -> bool:
    if text is None:
        return True
    try:
        return isinstance(text, str) and base64.b64decode(text, validate=True) is not None
    except (binascii.Error, ValueError):
        return False


def _url_errors(url: object, path: str) -> list[FieldError]:
    try:
        parts = urlsplit(str(url))
        _ = parts.port
    except ValueError as problem:
        return [FieldError.required(path, f"url must be a valid URL: {problem}{_FORM}")]
    found = []
    if parts.scheme != "https":
        found.append(FieldError.invalid(path, parts.scheme, f"'https' is the only allowed URL scheme{_FORM}"))
    if not parts.hostname:
        found.append(FieldError.invalid(path, "", f"host must be specified{_FORM}"))
    if parts.username is not None:
        found.append(FieldError.invalid(path, parts.username, "user information is not permitted in the URL"))
    if parts.fragment:
        found.append(FieldError.invalid(path, parts.fragment, "fragments are not permitted in the URL"))
    if parts.query:
        found.append(FieldError.invalid(path, parts.query, "query parameters are not permitted in the URL"))
    return found


def _service_errors(service: object, path: str) -> list[FieldError]:
    given: Json = service if isinstance(service, dict) else {}
    found = [FieldError.required(f"{path}.{name}") for name in ("name", "namespace") if not given.get(name)]
    port, where = given.get("port", 443), given.get("path")
    if not isinstance(port, int) or not 1 <= port <= 65535:
        why = "port is not valid: must be between 1 and 65535, inclusive"
        found.append(FieldError.invalid(f"{path}.port", port, why))
    if where in (None, "", "/"):
        return found
    if not str(where).startswith("/"):
        found.append(FieldError.invalid(f"{path}.path", where, "must start with a '/'"))
    for index, step in enumerate(str(where)[1:].removesuffix("/").split("/")):
        if not step:
            found.append(FieldError.invalid(f"{path}.path", where, f"segment[{index}] may not be empty"))
        elif name_errors(step, "subdomain"):
            found.append(FieldError.invalid(f"{path}.path", where, f"segment[{index}]: is no DNS subdomain"))
    return found
