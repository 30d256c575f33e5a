"""Every operation served × each field missing, of the wrong type, too long, unknown: the service's own error code.

Never a 500, never an exception of ours, and nothing is ignored. Requests are built by hand, below any SDK.
"""

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from botocore.model import OperationModel, Shape

from freehold_sim.aws.call import NOT_SERVED
from freehold_sim.aws.cloud import SimulatedAWS
from freehold_sim.aws.errors import CODES
from freehold_sim.aws.models import VERSIONS, service
from freehold_sim.aws.services import OPERATIONS
from freehold_sim.clock import VirtualClock
from freehold_sim.http import Request, Response

SERVED = [(name, operation) for name, table in OPERATIONS.items() for operation in table]
_SIGNED_AS = {"elb": "elasticloadbalancing", "elbv2": "elasticloadbalancing", "resourcegroupstaggingapi": "tagging"}


def plausible(shape: Shape, depth: int = 0) -> Any:
    """Return a value that the shape allows."""
    kind = shape.type_name
    if kind == "structure":
        return {name: plausible(shape.members[name], depth + 1) for name in shape.required_members}
    if kind == "list":
        return [plausible(shape.member, depth + 1)] * max(1, shape.metadata.get("min", 1))
    if kind == "map":
        return {"key": plausible(shape.value, depth + 1)}
    if kind in {"integer", "long"}:
        return int(shape.metadata.get("min", 5))
    if kind == "string":
        return shape.metadata["enum"][0] if shape.metadata.get("enum") else "a" * max(3, shape.metadata.get("min", 0))
    return {"boolean": True, "float": 1.0, "double": 1.0, "timestamp": 1.0, "blob": b"abc"}[kind]


def mutations(model: OperationModel) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield kind of mutation, member and parameters."""
    shape = model.input_shape
    if shape is None:
        yield "unknown", "Nonsense", {"Nonsense": "x"}
        return
    base = plausible(shape)
    yield "unknown", "Nonsense", {**base, "Nonsense": "x"}
    for name, inner in shape.members.items():
        if name in shape.required_members:
            yield "missing", name, {key: value for key, value in base.items() if key != name}
        words = inner.type_name == "list" and inner.serialization.get("location") == "querystring"
        if inner.type_name in {"structure", "list", "map", "integer", "boolean"} and not words:
            yield "type", name, {**base, name: "not-of-this-type"}
        if inner.type_name == "structure":
            yield "unknown", name, {**base, name: {**plausible(inner), "Nonsense": "x"}}
        if inner.type_name == "string" and inner.metadata.get("max", 10**6) < 5000:
            yield "long", name, {**base, name: "a" * (inner.metadata["max"] + 1)}
        if inner.type_name == "string" and inner.metadata.get("enum"):
            yield "value", name, {**base, name: "not-a-value"}


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
    return _rest(model, params, headers) if known.protocol == "rest-json" else None


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


def _rest(model: OperationModel, params: dict[str, Any], headers: dict[str, str]) -> Request | None:
    shape, path, query, body = model.input_shape, model.http["requestUri"], {}, {}
    assert shape is not None
    for name, value in params.items():
        inner = shape.members.get(name)
        where = inner.serialization if inner is not None else {}
        if where.get("location") == "uri":
            path = path.replace(f"{{{where['name']}}}", quote(str(value), safe=""))
        elif where.get("location") == "querystring":
            query[where["name"]] = "\n".join(value) if isinstance(value, list) else str(value)
        else:
            body[name] = value
    if "{" in path:
        return None  # without a variable in its path the request is another operation
    if model.http["method"] == "GET" and body:
        query, body = {**query, **{key: str(value) for key, value in body.items()}}, {}
    return Request(model.http["method"], path, query, headers, json.dumps(body, default=str).encode() if body else b"")


def code_of(answer: Response) -> str:
    text = answer.body.decode()
    if "x-amzn-ErrorType" in answer.headers:
        return answer.headers["x-amzn-ErrorType"]
    found = re.search(r"<Code>([^<]+)</Code>", text) or re.search(r'"__type": "([^"]+)"', text)
    return found[1] if found else ""


@pytest.mark.parametrize(("name", "operation"), [row for row in SERVED if row[0] != "s3"])
def test_a_wrong_field_gets_the_services_own_code(name: str, operation: str) -> None:
    model, codes = service(name).operation(operation), CODES[name]
    assert model is not None
    expected = {
        "unknown": {codes.unknown}, "missing": {codes.missing}, "type": {codes.wrong_type}, "long": {codes.value},
        "value": {codes.value},
    }  # fmt: skip
    cloud = SimulatedAWS(VirtualClock())
    for kind, member, params in mutations(model):
        request = encode(name, model, params)
        if request is None:
            continue
        cloud.data["buckets"].clear()
        answer = cloud.handle(request)
        where = f"{operation}: {kind} {member}: {answer.status} {answer.body[:300]!r}"
        assert answer.status not in {200, 500}, where
        by_name = answer.status == 501 and code_of(answer) == NOT_SERVED
        earlier = kind in {"type", "long", "value", "unknown"} and code_of(answer) in {codes.unknown, codes.missing}
        assert by_name or earlier or code_of(answer) in expected[kind], where
        assert cloud.resources() == [], where


def test_s3_refuses_wrong_fields(sim: Any) -> None:
    """S3 has its parameters in path, query, headers and XML."""
    headers = {
        "authorization": "AWS4-HMAC-SHA256 Credential=AKIASIMULATED0000001/20261122/us-east-1/s3/aws4_request, x",
    }
    cases = [
        (Request("PUT", "/bucket", {"nonsense": "1"}, headers), "InvalidArgument"),
        (Request("PUT", "/bucket", {}, headers, b"<not xml"), "MalformedXML"),
        (Request("PUT", "/bucket", {}, headers, b"<C><Nonsense>1</Nonsense></C>"), "InvalidArgument"),
        (Request("PUT", "/b", {}, headers), "InvalidBucketName"),
        (Request("PUT", "/bucket", {"tagging": ""}, headers, b"<Tagging></Tagging>"), "InvalidRequest"),
        (Request("GET", "/bucket", {"list-type": "2", "max-keys": "many"}, headers), "MalformedXML"),
    ]
    for request, code in cases:
        answer = sim.cloud.handle(request)
        assert code_of(answer) == code, f"{request}: {answer}"
        assert answer.status in {400, 404}


@pytest.mark.parametrize(
    "body", [b"\xff\xfe", b"{", b"[]", b"Action=CreateVpc&Version=2016-11-15&CidrBlock.1=a&CidrBlock=b", b"Action="]
)
@pytest.mark.parametrize("scope", ["ec2", "elasticloadbalancing", "tagging", "eks", "s3", "iam", "nonsense"])
def test_garbage_is_refused(sim: Any, scope: str, body: bytes) -> None:
    authorization = f"AWS4-HMAC-SHA256 Credential=AKIASIMULATED0000001/20261122/us-east-1/{scope}/aws4_request"
    target = "ResourceGroupsTaggingAPI_20170126.TagResources"
    headers = {"authorization": authorization, "x-amz-target": target}
    answer = sim.cloud.handle(Request("POST", "/", {}, headers, body))
    assert 400 <= answer.status < 500 or answer.status == 501
