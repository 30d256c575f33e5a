"""Requests and replies on the wire: which service and operation, its parameters, and the form of the answer."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from botocore.model import OperationModel

from freehold_sim.aws import models
from freehold_sim.aws.call import Refused
from freehold_sim.aws.credentials import Scope
from freehold_sim.aws.protocols import json_body, query, rest, xml
from freehold_sim.aws.protocols.invalid import Invalid, Wrong
from freehold_sim.aws.protocols.text import from_scalar
from freehold_sim.aws.protocols.validation import validate
from freehold_sim.http import Request, Response


@dataclass(frozen=True, slots=True)
class Asked:
    """A request whose service is known. `operation` is None if the service has none of the name `action`."""

    service: models.Service
    operation: OperationModel | None
    action: str
    fields: Mapping[str, str]
    request: Request


def identify(request: Request, scope: Scope) -> Asked | None:
    """Return what a signed request asks for, None for a service that is not simulated."""
    name = models.SIGNED_AS.get(scope.service)
    if name is None:
        return None
    service = models.service(name)
    match service.protocol:
        case "ec2" | "query":
            fields = query.form(request.body, request.query)
            service = models.service(models.VERSIONS.get(fields.get("Version", ""), name))
            action = fields.get("Action", "")
            return Asked(service, service.operation(action), action, fields, request)
        case "json":
            action = request.headers.get("x-amz-target", "").rpartition(".")[2]
            return Asked(service, service.operation(action), action, {}, request)
        case _:
            request = _plain(request) if name == "s3" else request
            found = rest.find(service.model, request)
            operation, variables = found if found else (None, {})
            action = operation.name if operation else f"{request.method} {request.path}"
            return Asked(service, operation, action, variables, request)


def _plain(request: Request) -> Request:
    """Return a request of S3 with the bucket in its path and its body in one piece."""
    if "aws-chunked" in request.headers.get("content-encoding", ""):
        request = replace(request, body=_joined(request.body))
    host = request.headers.get("host", "")
    bucket, dot, _ = host.partition(".s3.")
    if not dot or not host.endswith(".amazonaws.com"):
        return request
    return replace(request, path=f"/{bucket}{request.path}")


def _joined(body: bytes) -> bytes:
    """Return the content of a body in chunks, each of them after its size in hex; a trailer with checksums follows."""
    content = b""
    while body:
        head, _, rest = body.partition(b"\r\n")
        size = int(head.partition(b";")[0], 16)
        if size == 0:
            break
        content, body = content + rest[:size], rest[size + 2 :]
    return content


def parameters(asked: Asked) -> dict[str, Any]:
    """Return the validated parameters; raises Invalid."""
    operation = asked.operation
    if operation is None:
        raise Invalid(Wrong.UNKNOWN, asked.action)
    try:
        params = _sent(asked, operation)
        validate(params, operation.input_shape)
    except Invalid as invalid:
        if asked.service.protocol == "rest-xml":
            raise rest.as_s3(invalid, operation.input_shape) from None
        raise
    return params


def _sent(asked: Asked, operation: OperationModel) -> dict[str, Any]:
    shape, protocol = operation.input_shape, asked.service.protocol
    match protocol:
        case "ec2" | "query":
            return query.read(asked.fields, shape, ec2=protocol == "ec2")
        case "json":
            sent = json_body.load(asked.request.body)
            if shape is None and sent:
                raise Invalid(Wrong.UNKNOWN, min(sent))
            return json_body.read(sent, shape) if shape is not None else {}
        case _:
            return rest.read(operation, asked.request, asked.fields, protocol)


def reply(asked: Asked, values: Mapping[str, Any], request_id: str) -> Response:
    """Return a successful reply; raises ValueError for a member that the output shape lacks."""
    operation = asked.operation
    assert operation is not None
    match asked.service.protocol:
        case "ec2":
            return Response(200, xml.ec2_reply(operation, values, request_id), _XML)
        case "query" if asked.service.name == "sts" and asked.request.headers.get("accept") == "application/json":
            body = json_body.query_reply(operation, values, request_id)
            return Response(200, body, {"Content-Type": "application/json", "x-amzn-RequestId": request_id})
        case "query":
            return Response(200, xml.query_reply(operation, values, request_id), _XML)
        case "json":
            return Response(200, json_body.body(values, operation.output_shape), _json_headers(asked, request_id))
        case _:
            return _rest_reply(asked, operation, values, request_id)


_XML = {"Content-Type": "text/xml;charset=UTF-8"}


def _json_headers(asked: Asked, request_id: str) -> dict[str, str]:
    version = asked.service.model.metadata.get("jsonVersion", "1.1")
    kind = f"application/x-amz-json-{version}" if asked.service.protocol == "json" else "application/json"
    return {"Content-Type": kind, "x-amzn-RequestId": request_id}


def _rest_reply(asked: Asked, operation: OperationModel, values: Mapping[str, Any], request_id: str) -> Response:
    shape, status = operation.output_shape, int(operation.http.get("responseCode", 200))
    is_xml = asked.service.protocol == "rest-xml"
    headers = {"x-amz-request-id": request_id} if is_xml else _json_headers(asked, request_id)
    if shape is None:
        return Response(204 if is_xml and operation.http["method"] == "DELETE" else status, b"", headers)
    known = models.members(shape)
    for name, value in values.items():
        if name in known and known[name].serialization.get("location") == "header":
            form = known[name].serialization.get("timestampFormat", "rfc822")
            headers[known[name].serialization["name"]] = from_scalar(known[name].type_name, value, form)
        elif name in known and known[name].serialization.get("location") == "headers":
            headers.update({f"{known[name].serialization['name']}{key}": text for key, text in value.items()})
    if not is_xml:
        return Response(status, json_body.body(values, shape), headers)
    if operation.name == "GetBucketLocation":  # the one reply of S3 whose root element is its only member
        place = f"<LocationConstraint>{values.get('LocationConstraint', '')}</LocationConstraint>"
        return Response(status, place.encode(), {**headers, "Content-Type": "application/xml"})
    payload = shape.serialization.get("payload")
    if payload and known[payload].type_name in {"blob", "string"}:
        content = values.get(payload, b"")
        return Response(status, content.encode() if isinstance(content, str) else content, headers)
    if not any(not each.serialization.get("location") for each in known.values()):
        return Response(status, b"", headers)
    headers["Content-Type"] = "application/xml"
    inner, body = (known[payload], values.get(payload, {})) if payload else (shape, values)
    space = str(asked.service.model.metadata.get("xmlNamespace", "http://s3.amazonaws.com/doc/2006-03-01/"))
    name = str(inner.serialization.get("name", inner.serialization.get("locationName", inner.name)))
    return Response(status, xml.document(inner, body, _ROOTS.get(operation.name, name), space), headers)


_ROOTS = {"ListBuckets": "ListAllMyBucketsResult", "ListObjectsV2": "ListBucketResult", "GetBucketTagging": "Tagging"}
"""Names of the root elements of S3, where they are not the shape's; clients do not read them."""


def error(asked: Asked, refused: Refused, request_id: str) -> Response:
    """Return a refusal in the form of the service's protocol."""
    code, text, status, headers = refused.code, refused.message, refused.status, dict(refused.headers)
    match asked.service.protocol:
        case "ec2":
            return Response(status, xml.ec2_error(code, text, request_id), {**_XML, **headers})
        case "query":
            namespace = asked.service.error_namespace
            return Response(status, xml.query_error(code, text, status, namespace, request_id), {**_XML, **headers})
        case "rest-xml":
            body = xml.s3_error(code, text, asked.request.path, request_id)
            kind = {"Content-Type": "application/xml", "x-amz-request-id": request_id}
            return Response(status, b"" if asked.request.method == "HEAD" else body, {**kind, **headers})
        case "json":
            body = json.dumps({"__type": code, "message": text, "Message": text}).encode()
            return Response(status, body, {**_json_headers(asked, request_id), **headers})
        case _:
            body = json.dumps({"message": text}).encode()
            kind = {**_json_headers(asked, request_id), "x-amzn-ErrorType": code}
            return Response(status, body, {**kind, **headers})
