"""Reads and writes JSON bodies: `json` and `rest-json`."""

import json
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from botocore.model import OperationModel, Shape

from freehold_sim.aws.models import member, members
from freehold_sim.aws.protocols.invalid import Invalid, Wrong
from freehold_sim.aws.protocols.text import timestamp, to_bytes, to_timestamp


def load(body: bytes) -> dict[str, Any]:
    """Return a body as a JSON object, {} if it is empty; raises Invalid for anything else."""
    if not body:
        return {}
    try:
        found = json.loads(body)
    except ValueError:
        raise Invalid(Wrong.TYPE, "", "the body is not valid JSON") from None
    if not isinstance(found, dict):
        raise Invalid(Wrong.TYPE, "", "the body must be a JSON object")
    return found


def read(value: Any, shape: Shape, path: str = "") -> Any:
    """Return a JSON value as parameters, with members under the model's names; raises Invalid on a wrong type."""
    kind = shape.type_name
    if kind == "structure":
        return _read_structure(_typed(value, dict, path, kind), shape, path)
    if kind == "list":
        rows = _typed(value, list, path, kind)
        return [read(each, member(shape), f"{path}.{number}") for number, each in enumerate(rows, 1)]
    if kind == "map":
        return {key: read(each, shape.value, f"{path}.{key}") for key, each in _typed(value, dict, path, kind).items()}
    if kind == "blob":
        return to_bytes(_typed(value, str, path, kind), path)
    if kind == "timestamp":
        return to_timestamp(str(value), path)
    return value


def _typed(value: Any, wanted: type, path: str, kind: str) -> Any:
    if not isinstance(value, wanted):
        raise Invalid(Wrong.TYPE, path, f"must be of type {kind}")
    return value


def _read_structure(value: Mapping[str, Any], shape: Shape, path: str) -> dict[str, Any]:
    names = {inner.serialization.get("name", name): (name, inner) for name, inner in members(shape).items()}
    found = {}
    for given, each in value.items():
        if given not in names:
            raise Invalid(Wrong.UNKNOWN, f"{path}.{given}".lstrip("."))
        name, inner = names[given]
        if each is not None:
            found[name] = read(each, inner, f"{path}.{given}".lstrip("."))
    return found


def body(values: Mapping[str, Any], shape: Shape | None) -> bytes:
    """Return the JSON body of a reply; raises ValueError for a member that the output shape lacks."""
    return json.dumps(write(values, shape) if shape is not None else {}).encode()


def query_reply(operation: OperationModel, values: Mapping[str, Any], request_id: str) -> bytes:
    """Return the reply of a `query` service to a client that asks for JSON.

    https://github.com/kubernetes-sigs/aws-iam-authenticator/blob/master/pkg/token/token.go
    """
    result = write(values, operation.output_shape) if operation.output_shape is not None else {}
    inner = {f"{operation.name}Result": result, "ResponseMetadata": {"RequestId": request_id}}
    return json.dumps({f"{operation.name}Response": inner}).encode()


def write(value: Any, shape: Shape) -> Any:
    """Return a value as JSON, with the names and formats of the shape."""
    kind = shape.type_name
    if kind == "structure":
        known = members(shape)
        if unknown := value.keys() - known.keys():
            raise ValueError(f"{shape.name} has no member {min(unknown)}")
        return {
            known[name].serialization.get("name", name): write(each, known[name])
            for name, each in value.items()
            if each is not None and not known[name].serialization.get("location")
        }
    if kind == "list":
        return [write(each, member(shape)) for each in value]
    if kind == "map":
        return {key: write(each, shape.value) for key, each in value.items()}
    if kind == "timestamp":
        form = shape.serialization.get("timestampFormat", "unixTimestamp")
        return round(float(value), 3) if form == "unixTimestamp" else timestamp(value, form)
    if kind == "blob":
        return b64encode(value).decode()
    return value
