"""Requests with one mistake in them, built by hand, below any SDK: from each input shape, at every depth."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode
from xml.sax.saxutils import escape

from botocore.model import OperationModel, Shape

from freehold_sim.aws.models import VERSIONS, service
from freehold_sim.aws.protocols.lengths import most_characters
from freehold_sim.aws.tagging import MOST_KEY, MOST_VALUE
from freehold_sim.http import Request

_SIGNED_AS = {"elb": "elasticloadbalancing", "elbv2": "elasticloadbalancing", "resourcegroupstaggingapi": "tagging"}
_DEEPEST = 6
_TAGS_OF_EC2 = {("Tag", "Key"): MOST_KEY, ("Tag", "Value"): MOST_VALUE}
"""EC2 checks these with the other rules of tags (freehold_sim/aws/tagging.py)."""

Mistake = tuple[str, str, Any]
"""Its kind (unknown, missing, type, long, value), where it is, and the value with it."""


def plausible(shape: Shape, depth: int = 0) -> Any:
    """Return a value that the shape allows."""
    kind = shape.type_name
    if kind == "structure":
        named = ["Key"] if shape.name == "Tag" and "Key" in shape.members else []  # EC2 needs it, its model does not
        return {name: plausible(shape.members[name], depth + 1) for name in [*shape.required_members, *named]}
    if kind == "list":
        return [plausible(shape.member, depth + 1)] * max(1, shape.metadata.get("min", 1))
    if kind == "map":
        return {"key": plausible(shape.value, depth + 1)}
    if kind in {"integer", "long"}:
        return int(shape.metadata.get("min", 5))
    if kind == "string":
        return shape.metadata["enum"][0] if shape.metadata.get("enum") else "a" * max(3, shape.metadata.get("min", 0))
    return {"boolean": True, "float": 1.0, "double": 1.0, "timestamp": 1.0, "blob": b"abc"}[kind]


def mistakes(model: OperationModel) -> Iterator[Mistake]:
    """Yield each mistake that parameters can have, with the parameters."""
    shape = model.input_shape
    if shape is None:
        yield "unknown", "Nonsense", {"Nonsense": "x"}
    else:
        ec2 = model.service_model.service_name == "ec2"
        yield from _in_structure(shape, "", ec2, 0)


def _in_structure(shape: Shape, path: str, ec2: bool, depth: int) -> Iterator[Mistake]:
    base = plausible(shape)
    yield "unknown", f"{path}.Nonsense", {**base, "Nonsense": "x"}
    for name, inner in shape.members.items():
        here = f"{path}.{name}"
        if name in shape.required_members:
            yield "missing", here, {key: value for key, value in base.items() if key != name}
        most = most_characters(shape, name) or (_TAGS_OF_EC2.get((shape.name, name)) if ec2 else None)
        if most is not None:
            yield "long", here, {**base, name: "a" * (most + 1)}
        for kind, where, value in _in(inner, here, ec2, depth + 1):
            yield kind, where, {**base, name: value}


def _in(shape: Shape, path: str, ec2: bool, depth: int) -> Iterator[Mistake]:
    kind, limits = shape.type_name, shape.metadata
    words = kind == "list" and shape.serialization.get("location") == "querystring"
    if kind in {"structure", "list", "map", "integer", "boolean"} and not words:
        yield "type", path, "not-of-this-type"
    if kind == "string" and limits.get("max", 10**6) < 5000:
        yield "long", path, "a" * (limits["max"] + 1)
    if kind == "string" and limits.get("enum"):
        yield "value", path, "not-a-value"
    if depth >= _DEEPEST:
        return
    if kind == "structure":
        yield from _in_structure(shape, path, ec2, depth)
    elif kind == "list":
        for mistake, where, value in _in(shape.member, f"{path}.1", ec2, depth):
            yield mistake, where, [value] * max(1, limits.get("min", 1))


# -- on the wire ----------------------------------------------------------------------------------------------


def encode(name: str, model: OperationModel, params: dict[str, Any]) -> Request | None:
    """Return the request with these parameters, None if the protocol cannot say it."""
    known = service(name)
    headers = {
        "authorization": f"AWS4-HMAC-SHA256 Credential=AKIASIMULATED0000001/20261122/us-east-1/"
        f"{_SIGNED_AS.get(name, name)}/aws4_request, SignedHeaders=host, Signature=0"
    }
    if known.protocol in {"ec2", "query"}:
        version = next((v for v, n in VERSIONS.items() if n == name), known.model.api_version)
        fields = {"Action": model.name, "Version": version}
        _flatten(params, model.input_shape, "", known.protocol == "ec2", fields)
        return Request("POST", "/", {}, headers, urlencode(fields).encode())
    if known.protocol == "json":
        headers["x-amz-target"] = f"Target.{model.name}"
        return Request("POST", "/", {}, headers, json.dumps(params, default=lambda raw: "YWJj").encode())
    return _rest(model, params, headers, known.protocol)


def _flatten(value: Any, shape: Shape | None, path: str, ec2: bool, fields: dict[str, str]) -> None:
    if isinstance(value, dict):
        for key, each in value.items():
            inner = shape.members.get(key) if shape is not None and shape.type_name == "structure" else None
            wire = key
            if inner is not None and ec2:
                wire = inner.serialization.get("queryName") or inner.serialization.get("name", key)
                wire = wire[0].upper() + wire[1:]
            _flatten(each, inner, f"{path}.{wire}" if path else wire, ec2, fields)
    elif isinstance(value, list):
        for number, each in enumerate(value, 1):
            inner = shape.member if shape is not None and shape.type_name == "list" else None
            _flatten(each, inner, f"{path}.{number}" if ec2 else f"{path}.member.{number}", ec2, fields)
    else:
        text = "YWJj" if isinstance(value, bytes) else str(value)
        fields[path] = text.lower() if isinstance(value, bool) else text


def _rest(model: OperationModel, params: dict[str, Any], headers: dict[str, str], protocol: str) -> Request | None:
    shape, query, body = model.input_shape, {}, {}
    path, _, words = model.http["requestUri"].partition("?")
    query.update({key: text for key, _, text in (word.partition("=") for word in words.split("&") if word)})
    for name, value in params.items():
        inner = shape.members.get(name) if shape is not None else None
        where = inner.serialization if inner is not None else {}
        match where.get("location"):
            case "uri":
                greedy = f"{{{where['name']}+}}"
                hole = greedy if greedy in path else f"{{{where['name']}}}"
                path = path.replace(hole, quote(str(value), safe=""))
            case "querystring":
                query[where["name"]] = "\n".join(value) if isinstance(value, list) else _text(value)
            case "header":
                headers[where["name"].lower()] = _text(value)
            case "headers":
                return None  # a header for each entry: none is of the wrong type
            case _:
                body[name] = value
    if "{" in path:
        return None  # without a variable in its path the request is another operation
    if protocol == "rest-xml":
        if "Nonsense" in body:
            query["nonsense"] = body.pop("Nonsense")
        return Request(model.http["method"], path, query, headers, _xml_body(model, body))
    if model.http["method"] == "GET" and body:
        query, body = {**query, **{key: str(value) for key, value in body.items()}}, {}
    return Request(model.http["method"], path, query, headers, json.dumps(body, default=str).encode() if body else b"")


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _xml_body(model: OperationModel, body: dict[str, Any]) -> bytes:
    if not body:
        return b""
    ((name, value),) = body.items()  # S3 has one payload
    shape = model.input_shape.members[name]
    if shape.type_name in {"blob", "string"}:
        return value if isinstance(value, bytes) else str(value).encode()
    tag = shape.serialization.get("name", name)
    return f"<{tag}>{_xml(value, shape)}</{tag}>".encode()


def _xml(value: Any, shape: Shape | None) -> str:
    """Return the content of an element."""
    if isinstance(value, dict):
        found = ""
        for key, each in value.items():
            inner = shape.members.get(key) if shape is not None and shape.type_name == "structure" else None
            found += _element(key, each, inner)
        return found
    return escape(_text(value))


def _element(name: str, value: Any, shape: Shape | None) -> str:
    where = shape.serialization if shape is not None else {}
    tag = where.get("name", name)
    if shape is None or shape.type_name != "list" or not isinstance(value, list):
        return f"<{tag}>{_xml(value, shape)}</{tag}>"
    inner = shape.member.serialization.get("name", tag if where.get("flattened") else "member")
    rows = "".join(f"<{inner}>{_xml(each, shape.member)}</{inner}>" for each in value)
    return rows if where.get("flattened") else f"<{tag}>{rows}</{tag}>"
