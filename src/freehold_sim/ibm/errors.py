"""Errors in the body format of each service (docs/reference/ibm-cloud.md#common)."""

import json
from collections.abc import Mapping
from typing import Any
from xml.sax.saxutils import escape

_JSON = "application/json"
OVERLOAD = (
    "The system is currently unable to fulfill the request. Please retry. "
    "If the failure persists, contact support and provide the trace value from this error."
)


class Refused(Exception):
    """An error response of a service: `status` and an encoded body."""

    def __init__(
        self, status: int, body: bytes, content_type: str = _JSON, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(f"{status}: {body!r}")
        self.status = status
        self.body = body
        self.headers = {"Content-Type": content_type, **(headers or {})}


def _refused(status: int, body: Any) -> Refused:
    return Refused(status, json.dumps(body).encode())


def vpc(status: int, code: str, message: str, field: str = "", value: str = "") -> Refused:
    """Return an error of VPC, Transit Gateway, Tagging or Search."""
    error: dict[str, Any] = {"code": code, "message": message, "more_info": "https://cloud.ibm.com/docs/vpc"}
    if field:
        error["target"] = {"name": field, "type": "field", "value": value}
    return _refused(status, {"errors": [error], "trace": "00000000-0000-4000-a000-000000000000"})


def controller(status: int, message: str) -> Refused:
    """Return an error of Resource Controller or Resource Manager."""
    return _refused(status, {"message": message, "status_code": status, "transaction_id": "bss-0000000000000000"})


_POWER_ERRORS = {
    400: "bad request", 401: "unauthorized", 403: "forbidden", 404: "not found", 409: "conflict",
    422: "unprocessable entity", 429: "Rate Limited. Please try again later", 501: "not implemented",
}  # fmt: skip


def power(status: int, description: str) -> Refused:
    kind = _POWER_ERRORS.get(status, "internal server error")
    return _refused(status, {"code": 0, "description": description, "error": kind, "message": ""})


def iam(status: int, code: str, message: str) -> Refused:
    return _refused(status, {"errorCode": code, "errorMessage": message, "context": {"requestId": "sim"}})


def cos(status: int, code: str, message: str, resource: str = "") -> Refused:
    text = (
        f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?><Error><Code>{code}</Code>'
        f"<Message>{escape(message)}</Message><Resource>{escape(resource)}</Resource>"
        f"<RequestId>sim</RequestId><httpStatusCode>{status}</httpStatusCode></Error>"
    )
    return Refused(status, text.encode(), "application/xml")


_BY_PREFIX = {"resource-controller": "rc", "pcloud": "power", "v1": "power"}


def service_at(path: str) -> str:
    """Return the service that answers at `path`, by its first segment (docs/reference/simulator.md#addresses)."""
    first = path.strip("/").partition("/")[0]
    return _BY_PREFIX.get(first, first)


def of_service(service: str, status: int, code: str, message: str, field: str = "") -> Refused:
    """Return an error in the format of `service` (the part of an operation name before the dot)."""
    if service in {"rc", "rm"}:
        return controller(status, message)
    if service == "power":
        return power(status, message)
    if service == "iam":
        return iam(status, code, message)
    if service == "cos":
        return cos(status, "NotImplemented" if status == 501 else code, message)
    return vpc(status, code, message, field)
