"""AdmissionReview: the request that a webhook gets, and what its answer says.

https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#webhook-request-and-response
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from typing import Any

from freehold_apiserver import errors
from freehold_apiserver.admission.attributes import USER, Attributes
from freehold_apiserver.errors import ApiError
from freehold_apiserver.resources import Resource
from freehold_apiserver.store import Json
from freehold_apiserver.webhook_client import CallFailed

GROUP = "admission.k8s.io"


@dataclass(frozen=True)
class Verdict:
    """What a webhook answered. ``result`` is the Status of a denial, ``patch`` the operations of a JSON patch."""

    allowed: bool
    result: Json
    warnings: tuple[str, ...]
    patch: Any = None


def build_request(asked: Attributes, resource: Resource, obj: Json | None, old: Json | None, uid: str) -> Json:
    """Build the request; ``obj`` and ``old`` are in the version of ``resource``."""
    request: Json = {
        "uid": uid, "kind": _kind(resource), "resource": _resource(resource), "requestKind": _kind(asked.resource),
        "requestResource": _resource(asked.resource), "operation": asked.operation, "userInfo": dict(USER),
        "object": obj, "oldObject": old, "dryRun": asked.dry_run, "options": asked.options,
    }  # fmt: skip
    if asked.subresource:
        request |= {"subResource": asked.subresource, "requestSubResource": asked.subresource}
    if asked.name:
        request["name"] = asked.name
    if asked.namespace:
        request["namespace"] = asked.namespace
    return request


def build_review(request: Json, version: str) -> Json:
    """Wrap a request."""
    return {"kind": "AdmissionReview", "apiVersion": f"{GROUP}/{version}", "request": request}


def read_verdict(review: Any, uid: str, version: str, *, mutating: bool) -> Verdict:
    """Read the answer. Raises CallFailed for one that is none."""
    response = review.get("response") if isinstance(review, dict) else None
    if response is None:
        raise _refused("webhook response was absent")
    if not isinstance(response, dict) or not isinstance(response.get("allowed", False), bool):
        raise CallFailed("failed to call webhook: the response is of the wrong type")
    if version == "v1":
        _require_v1(review, response, uid)
        _require_patch_type(response, mutating=mutating)
    warnings, result = response.get("warnings") or [], response.get("status") or {}
    if not isinstance(warnings, list) or not isinstance(result, dict):
        raise CallFailed("failed to call webhook: warnings or status of the response are of the wrong type")
    patch = _read_patch(response.get("patch"), response.get("patchType")) if mutating else None
    return Verdict(response.get("allowed", False), result, tuple(map(str, warnings)), patch)


def _require_v1(review: Json, response: Json, uid: str) -> None:
    if response.get("uid") != uid:
        raise _refused(f'expected response.uid="{uid}", got "{response.get("uid") or ""}"')
    given = f"{review.get('apiVersion', '')}, Kind={review.get('kind', '')}"
    if given != f"{GROUP}/v1, Kind=AdmissionReview":
        raise _refused(f"expected webhook response of {GROUP}/v1, Kind=AdmissionReview, got {given}")


def _require_patch_type(response: Json, *, mutating: bool) -> None:
    patch, kind = response.get("patch"), response.get("patchType")
    if not mutating and patch:
        raise _refused("validating webhook may not return response.patch")
    if not mutating and kind is not None:
        raise _refused("validating webhook may not return response.patchType")
    if patch and kind is None:
        raise _refused("webhook returned response.patch but not response.patchType")
    if not patch and kind is not None:
        raise _refused("webhook returned response.patchType but not response.patch")
    if kind == "":
        raise _refused('webhook returned invalid response.patchType of ""')


def _read_patch(encoded: Any, kind: Any) -> Any:
    if not encoded:
        return None
    try:
        text = base64.b64decode(encoded, validate=True)
    except (binascii.Error, TypeError, ValueError) as problem:
        raise CallFailed(f"failed to call webhook: illegal base64 data in response.patch: {problem}") from problem
    try:
        patch = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise CallFailed(f"received undecodable patch in webhook response: {problem}") from problem
    if not isinstance(patch, list):
        raise CallFailed("received undecodable patch in webhook response: it is no list of operations")
    if kind not in (None, "JSONPatch") and patch:
        raise CallFailed(f'unsupported patch type "{kind}"')
    return patch


def build_denial(name: str, result: Json) -> ApiError:
    """Build the refusal: the Status of the webhook, with its name before the message."""
    code, reason, message = result.get("code"), str(result.get("reason") or ""), str(result.get("message") or "")
    why = f": {message or reason}" if message or reason else " without explanation"
    details = result.get("details")
    return ApiError(
        code if isinstance(code, int) and 400 <= code < 600 else 400, reason,
        f'admission webhook "{name}" denied the request{why}', details=details if isinstance(details, dict) else None,
    )  # fmt: skip


def failed_call(name: str, reason: str) -> ApiError:
    """Build the refusal where a webhook could not be asked, or gave no answer."""
    return errors.internal(f'failed calling webhook "{name}": {reason}')


def _refused(why: str) -> CallFailed:
    return CallFailed(f"received invalid webhook response: {why}")


def _kind(resource: Resource) -> Json:
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}


def _resource(resource: Resource) -> Json:
    return {"group": resource.group, "version": resource.version, "resource": resource.plural}
