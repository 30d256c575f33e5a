"""Conversion of objects between the versions of a resource.

With strategy None, and for built-in kinds, only ``apiVersion`` changes; a CRD may name a webhook instead:
https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#webhook-conversion
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from freehold_apiserver import metadata, structural
from freehold_apiserver.errors import ApiError
from freehold_apiserver.resources import Resource
from freehold_apiserver.store import Json, Stored
from freehold_apiserver.webhook_client import CallFailed, Target, WebhookClient

_GROUP = "apiextensions.k8s.io"
_TIMEOUT = 30.0


async def convert(objects: Sequence[Json], source: Resource, target: Resource) -> list[Json]:
    """Convert objects as ``source`` shows them to the form of ``target``. Raises 500 where the webhook fails."""
    if target.converter is None or source.group != target.group:
        return [target.shown(source.to_storage(each)) for each in objects]
    return await _converted(objects, target)


async def show(stored: Sequence[Stored], resource: Resource) -> list[Stored]:
    """Return stored objects in the version of ``resource``. Raises 500 where the webhook fails."""
    if resource.converter is None:
        return list(stored)
    objects = await _converted([each.obj for each in stored], resource)
    return [
        each if obj is each.obj else Stored(each.revision, obj, b"") for each, obj in zip(stored, objects, strict=True)
    ]


async def to_storage(obj: Json, resource: Resource, storage: Resource) -> tuple[Json, Json]:
    """Convert an object of the pipeline to the version in which it is stored, with that one's defaults.

    Returns it also as ``resource`` shows it then. Raises 500 where the webhook fails.
    """
    converted = (await _converted([obj], storage))[0]
    structural.default(converted, storage.schema)
    return converted, (await _converted([converted], resource))[0]


async def _converted(objects: Sequence[Json], target: Resource) -> list[Json]:
    assert target.converter is not None
    others = [each for each in objects if each["apiVersion"] != target.api_version]
    if not others:
        return list(objects)
    fresh = iter(await target.converter.convert(others, target.api_version))
    found = []
    for each in objects:
        if each["apiVersion"] != target.api_version:
            each = next(fresh)
            structural.prune(each, target.schema)
        found.append(each)
    return found


class WebhookConverter:
    """Sends ConversionReviews: k8s.io/apiextensions-apiserver ``pkg/apiserver/conversion/webhook_converter.go``."""

    def __init__(self, client: WebhookClient, target: Target, review: str) -> None:
        self._client = client
        self._target = target
        self._review = review

    async def convert(self, objects: Sequence[Json], api_version: str) -> list[Json]:
        """Convert objects, none of which is in this version yet. Raises 500."""
        uid, first = str(uuid.uuid4()), f"{objects[0]['apiVersion']}, Kind={objects[0]['kind']}"
        request = {"uid": uid, "desiredAPIVersion": api_version, "objects": list(objects)}
        review = {"kind": "ConversionReview", "apiVersion": f"{_GROUP}/{self._review}", "request": request}
        try:
            answer = await self._client.post(self._target, review, _TIMEOUT)
            converted = self._read(answer, uid)
        except CallFailed as failure:
            reason = str(failure).removeprefix("failed to call webhook: ")
            raise _failed(f"conversion webhook for {first} failed: {reason}") from failure
        if len(converted) != len(objects):
            raise _failed(f"conversion webhook for {first} returned {len(converted)} objects, expected {len(objects)}")
        for index, (before, after) in enumerate(zip(objects, converted, strict=True)):
            if problem := _mismatch(before, after, api_version):
                raise _failed(
                    f"conversion webhook for {first} returned invalid converted object at index {index}: {problem}"
                )
            after["metadata"] = _metadata(before["metadata"], after["metadata"])
        return converted

    def _read(self, answer: Any, uid: str) -> list[Any]:
        response = answer.get("response") if isinstance(answer, dict) else None
        if not isinstance(response, dict):
            raise CallFailed("no response provided")
        given = f"{answer.get('apiVersion', '')}, Kind={answer.get('kind', '')}"
        if self._review == "v1" and given != f"{_GROUP}/v1, Kind=ConversionReview":
            raise CallFailed(f"expected webhook response of {_GROUP}/v1, Kind=ConversionReview, got {given}")
        if self._review == "v1" and response.get("uid") != uid:
            raise CallFailed(f'expected response.uid="{uid}", got "{response.get("uid") or ""}"')
        result, objects = response.get("result"), response.get("convertedObjects") or []
        result = result if isinstance(result, dict) else {}
        if result.get("status") != "Success":
            why = f"response.result.status was '{result.get('status') or ''}', not 'Success'"
            raise CallFailed(str(result.get("message") or why))
        return objects if isinstance(objects, list) else []


def _mismatch(before: Json, after: Any, api_version: str) -> str:
    """Say what a converter changed that it may not; empty if it is nothing."""
    if not isinstance(after, dict) or not isinstance(after.get("metadata"), dict):
        return "missing metadata in converted object"
    if after.get("apiVersion") != api_version:
        return f"invalid groupVersion (expected {api_version}, received {after.get('apiVersion')})"
    if after.get("kind") != before["kind"]:
        return f"invalid kind (expected {before['kind']}, received {after.get('kind')})"
    for name, shown in (("name", "name"), ("namespace", "namespace"), ("uid", "UID")):
        old, new = before["metadata"].get(name) or "", after["metadata"].get(name) or ""
        if old != new:
            return f"must have the same {shown}: {old} != {new}"
    found = metadata.label_errors(after["metadata"])
    return ", ".join(map(str, found))


def _metadata(before: Json, after: Json) -> Json:
    """Keep the metadata: a converter may change labels and annotations only."""
    kept = {name: value for name, value in before.items() if name not in ("labels", "annotations")}
    return kept | {name: after[name] for name in ("labels", "annotations") if after.get(name)}


def _failed(why: str) -> ApiError:
    return ApiError(500, "", why)
