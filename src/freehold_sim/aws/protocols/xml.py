"""Writes XML replies and errors: `ec2`, `query` and `rest-xml`."""

from collections.abc import Mapping
from functools import cache
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from botocore.model import OperationModel, Shape

from freehold_sim.aws.models import member, members
from freehold_sim.aws.protocols.text import from_scalar

_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'


def ec2_reply(operation: OperationModel, values: Mapping[str, Any], request_id: str) -> bytes:
    """Return the reply of EC2; raises ValueError for a member that the output shape lacks."""
    out = [_HEAD, f"<{operation.name}Response xmlns={quoteattr(_namespace(operation))}>"]
    out.append(f"<requestId>{request_id}</requestId>")
    if operation.output_shape is not None:
        _members(values, operation.output_shape, out)
    out.append(f"</{operation.name}Response>")
    return "".join(out).encode()


def query_reply(operation: OperationModel, values: Mapping[str, Any], request_id: str) -> bytes:
    """Return the reply of a `query` service; raises ValueError for a member that the output shape lacks."""
    out = [_HEAD, f"<{operation.name}Response xmlns={quoteattr(_namespace(operation))}>"]
    shape = operation.output_shape
    if shape is not None:
        wrapper = shape.serialization.get("resultWrapper", f"{operation.name}Result")
        out.append(f"<{wrapper}>")
        _members(values, shape, out)
        out.append(f"</{wrapper}>")
    out.append(f"<ResponseMetadata><RequestId>{request_id}</RequestId></ResponseMetadata></{operation.name}Response>")
    return "".join(out).encode()


def document(shape: Shape, values: Mapping[str, Any], name: str, namespace: str) -> bytes:
    """Return the XML body of a `rest-xml` reply."""
    out = [_HEAD, f"<{name}{f' xmlns={quoteattr(namespace)}' if namespace else ''}>"]
    _members(values, shape, out)
    out.append(f"</{name}>")
    return "".join(out).encode()


def ec2_error(code: str, message: str, request_id: str) -> bytes:
    error = f"<Error><Code>{escape(code)}</Code><Message>{escape(message)}</Message></Error>"
    return f"{_HEAD}<Response><Errors>{error}</Errors><RequestID>{request_id}</RequestID></Response>".encode()


def query_error(code: str, message: str, status: int, namespace: str, request_id: str) -> bytes:
    kind = "Sender" if status < 500 else "Receiver"
    error = f"<Error><Type>{kind}</Type><Code>{escape(code)}</Code><Message>{escape(message)}</Message></Error>"
    head = f"<ErrorResponse xmlns={quoteattr(namespace)}>"
    return f"{_HEAD}{head}{error}<RequestId>{request_id}</RequestId></ErrorResponse>".encode()


def s3_error(code: str, message: str, resource: str, request_id: str) -> bytes:
    parts = f"<Code>{escape(code)}</Code><Message>{escape(message)}</Message><Resource>{escape(resource)}</Resource>"
    return f"{_HEAD}<Error>{parts}<RequestId>{request_id}</RequestId><HostId>sim</HostId></Error>".encode()


def _namespace(operation: OperationModel) -> str:
    return str(operation.service_model.metadata.get("xmlNamespace", ""))


def _members(values: Mapping[str, Any], shape: Shape, out: list[str]) -> None:
    known = _names(shape)
    for name, value in values.items():
        if name not in known:
            raise ValueError(f"{shape.name} has no member {name}")
        if value is not None:
            wire, inner = known[name]
            _element(wire, value, inner, out)


def _element(wire: str, value: Any, shape: Shape, out: list[str]) -> None:
    kind = shape.type_name
    if kind == "structure":
        out.append(f"<{wire}{_attributes(value, shape)}>")
        _members(value, shape, out)
        out.append(f"</{wire}>")
    elif kind == "list":
        _list(wire, value, shape, out)
    elif kind == "map":
        out.append(f"<{wire}>")
        for key, each in value.items():
            out.append(f"<entry><key>{escape(key)}</key>")
            _element("value", each, shape.value, out)
            out.append("</entry>")
        out.append(f"</{wire}>")
    else:
        form = shape.serialization.get("timestampFormat", "iso8601")
        out.append(f"<{wire}>{escape(from_scalar(kind, value, form))}</{wire}>")


def _attributes(value: Mapping[str, Any], shape: Shape) -> str:
    """Return the XML attributes of a structure; only the type of an S3 grantee is one."""
    found = ""
    for name, inner in _attribute_members(shape):
        if name in value:
            space = shape.serialization["xmlNamespace"]
            found = f' xmlns:{space["prefix"]}={quoteattr(space["uri"])} {inner.serialization["name"]}="{value[name]}"'
    return found


@cache
def _attribute_members(shape: Shape) -> list[tuple[str, Shape]]:
    return [(name, inner) for name, inner in members(shape).items() if inner.serialization.get("xmlAttribute")]


def _list(wire: str, values: list[Any], shape: Shape, out: list[str]) -> None:
    inner = member(shape)
    if shape.serialization.get("flattened"):
        for each in values:
            _element(wire, each, inner, out)
        return
    name = inner.serialization.get("name", "member")
    out.append(f"<{wire}>")
    for each in values:
        _element(name, each, inner, out)
    out.append(f"</{wire}>")


@cache
def _names(shape: Shape) -> dict[str, tuple[str, Shape]]:
    """Return for each member that belongs into the body its name on the wire and its shape."""
    found = {}
    for name, inner in members(shape).items():
        if inner.serialization.get("location") or inner.serialization.get("xmlAttribute"):
            continue
        wire = inner.serialization.get("name", name)
        if inner.type_name == "list" and inner.serialization.get("flattened"):
            wire = member(inner).serialization.get("name", wire)
        found[name] = (wire, inner)
    return found
