"""Requests of `rest-json` and `rest-xml`: the operation is found by method, path and marker words in the query."""

from collections.abc import Mapping
from functools import cache
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

from botocore.model import OperationModel, ServiceModel, Shape

from freehold_sim.aws.models import member, members
from freehold_sim.aws.protocols import json_body
from freehold_sim.aws.protocols.invalid import Invalid, Wrong
from freehold_sim.aws.protocols.text import to_scalar
from freehold_sim.http import Request

_Route = tuple[str, tuple[str, ...], Mapping[str, str], OperationModel]


@cache
def _routes(model: ServiceModel) -> tuple[_Route, ...]:
    """Return method, path segments and required query words of each operation, the most specific first."""
    found: list[_Route] = []
    for name in model.operation_names:
        operation = model.operation_model(name)
        if operation.deprecated:
            continue  # S3 kept the paths of operations that others replaced
        path, _, words = operation.http["requestUri"].partition("?")
        segments = tuple(part for part in path.split("/") if part)
        wanted = dict(word.partition("=")[::2] for word in words.split("&") if word)
        found.append((operation.http["method"], segments, wanted, operation))
    found.sort(key=lambda row: (-len(row[2]), -_required_in_query(row[3]), [part.startswith("{") for part in row[1]]))
    return tuple(found)


def _required_in_query(operation: OperationModel) -> int:
    shape = operation.input_shape
    if shape is None:
        return 0
    return sum(members(shape)[name].serialization.get("location") == "querystring" for name in shape.required_members)


def find(model: ServiceModel, request: Request) -> tuple[OperationModel, dict[str, str]] | None:
    """Return the operation of a request, and the variables in its path."""
    parts = [part for part in request.path.split("/") if part]
    for method, segments, words, operation in _routes(model):
        if method != request.method or not _has_words(request.query, words):
            continue
        variables = _match(segments, parts)
        if variables is not None and _has_required(operation, request):
            return operation, variables
    return None


def _has_words(query: Mapping[str, str], words: Mapping[str, str]) -> bool:
    return all(word in query and (not value or query[word] == value) for word, value in words.items())


def _has_required(operation: OperationModel, request: Request) -> bool:
    """Whether the query has what tells apart operations with the same path (`uploadId`), as S3 does it."""
    shape = operation.input_shape
    if shape is None or operation.service_model.service_name != "s3":
        return True
    for name in shape.required_members:
        where = members(shape)[name].serialization
        if where.get("location") == "querystring" and where["name"] not in request.query:
            return False
        if where.get("location") == "header" and where["name"].lower() not in request.headers:
            return bool(where["name"].lower() != "x-amz-copy-source")
    return True


def _match(segments: tuple[str, ...], parts: list[str]) -> dict[str, str] | None:
    greedy = bool(segments) and segments[-1].endswith("+}")
    if len(parts) < len(segments) or (len(parts) > len(segments) and not greedy):
        return None
    variables: dict[str, str] = {}
    for at, segment in enumerate(segments):
        if not segment.startswith("{"):
            if segment != parts[at]:
                return None
        elif segment.endswith("+}"):
            variables[segment[1:-2]] = unquote("/".join(parts[at:]))
        else:
            variables[segment[1:-1]] = unquote(parts[at])
    return variables


def read(operation: OperationModel, request: Request, variables: Mapping[str, str], protocol: str) -> dict[str, Any]:
    """Return the parameters of a request; raises Invalid for names that the input shape lacks and wrong types."""
    shape = operation.input_shape
    if shape is None:
        return {}
    found: dict[str, Any] = {}
    for name, inner in members(shape).items():
        where = inner.serialization
        match where.get("location"):
            case "uri":
                found[name] = to_scalar(inner.type_name, variables[where.get("name", name)], name)
            case "querystring":
                _read_query(request, name, inner, found)
            case "header":
                if (text := request.headers.get(where["name"].lower())) is not None:
                    found[name] = _from_header(text, name, inner)
            case "headers":
                found[name] = _prefixed(request, where["name"].lower())
    if unknown := request.query.keys() - _query_names(operation):
        raise Invalid(Wrong.UNKNOWN, min(unknown))
    found.update(_read_body(shape, request.body, protocol))
    return found


def _from_header(text: str, name: str, shape: Shape) -> Any:
    if shape.type_name == "list":
        return [part.strip() for part in text.split(",")]
    return to_scalar(shape.type_name, text, name)


def _read_query(request: Request, name: str, shape: Shape, found: dict[str, Any]) -> None:
    wire = shape.serialization["name"]
    if wire not in request.query:
        return
    text = request.query[wire]
    if shape.type_name == "list":
        found[name] = text.split("\n")  # several values of one name are joined by the transport (mount.py, server.py)
    else:
        found[name] = to_scalar(shape.type_name, text, name)


def _prefixed(request: Request, prefix: str) -> dict[str, str]:
    return {key.removeprefix(prefix): text for key, text in request.headers.items() if key.startswith(prefix)}


@cache
def _query_names(operation: OperationModel) -> frozenset[str]:
    words = operation.http["requestUri"].partition("?")[2]
    names = {word.partition("=")[0] for word in words.split("&") if word}
    shape = operation.input_shape
    for inner in members(shape).values() if shape is not None else ():
        if inner.serialization.get("location") == "querystring":
            names.add(inner.serialization["name"])
    return frozenset(names | {"x-id"})


def _read_body(shape: Shape, body: bytes, protocol: str) -> dict[str, Any]:
    payload = shape.serialization.get("payload")
    if payload is not None:
        inner = members(shape)[payload]
        if inner.type_name in {"blob", "string"}:
            return {payload: body if inner.type_name == "blob" else body.decode()} if body else {}
        if not body:
            return {}
        return {
            payload: _read_xml(body, inner, payload) if protocol == "rest-xml" else json_body.read(_json(body), inner)
        }
    if not body:
        return {}
    if protocol == "rest-xml":
        return _read_xml(body, shape, "")
    in_body = {n: s for n, s in members(shape).items() if not s.serialization.get("location")}
    sent = json_body.load(body)
    known = {inner.serialization.get("name", name) for name, inner in in_body.items()}
    if unknown := sent.keys() - known:
        raise Invalid(Wrong.UNKNOWN, min(unknown))
    read_all: dict[str, Any] = json_body.read(sent, shape)
    return read_all


def _json(body: bytes) -> Any:
    return json_body.load(body)


def _read_xml(body: bytes, shape: Shape, path: str) -> dict[str, Any]:
    try:
        root = ElementTree.fromstring(body)  # noqa: S314 (a simulator on the loopback interface; expat limits entities)
    except ElementTree.ParseError:
        raise Invalid(Wrong.TYPE, path, "the body is not well-formed XML") from None
    found: dict[str, Any] = _from_element(root, shape, path)
    return found


def _from_element(element: ElementTree.Element, shape: Shape, path: str) -> Any:
    kind = shape.type_name
    nested = kind in {"structure", "list"}
    if (nested and (element.text or "").strip()) or (not nested and len(element)):
        raise Invalid(Wrong.TYPE, path, f"must be of type {kind}")
    if kind == "structure":
        return _structure_from(element, shape, path)
    if kind == "list":
        return [_from_element(each, member(shape), f"{path}.{n}") for n, each in enumerate(element, 1)]
    return to_scalar(kind, element.text or "", path)


def _structure_from(element: ElementTree.Element, shape: Shape, path: str) -> dict[str, Any]:
    names = {}
    for name, inner in members(shape).items():
        wire = inner.serialization.get("name", name)
        flat = inner.type_name == "list" and bool(inner.serialization.get("flattened"))
        names[member(inner).serialization.get("name", wire) if flat else wire] = (name, inner, flat)
    found: dict[str, Any] = {}
    for child in element:
        tag = child.tag.rpartition("}")[2]
        here = f"{path}.{tag}".lstrip(".")
        if tag not in names:
            raise Invalid(Wrong.UNKNOWN, here)
        name, inner, flat = names[tag]
        if flat:
            found.setdefault(name, []).append(_from_element(child, member(inner), here))
        else:
            found[name] = _from_element(child, inner, here)
    return found


def as_s3(invalid: Invalid, shape: Shape | None) -> Invalid:
    """Return a mistake as S3 sees it: one code for a body that does not fit its schema, another for the rest.

    https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
    """
    first, inside, _ = invalid.path.partition(".")
    inner = members(shape).get(first) if shape is not None else None
    wrong = invalid.wrong
    if inner is None or inner.serialization.get("location"):
        wrong = Wrong.VALUE if wrong is Wrong.TYPE else wrong
    elif inside or wrong is not Wrong.MISSING:
        wrong = Wrong.TYPE
    return Invalid(wrong, invalid.path, invalid.detail)
