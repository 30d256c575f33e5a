"""Applying a manifest: first everything on trial, then everything for good. Nothing is half applied."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import Enum

from freehold.cli.errors import CliError
from freehold.cli.kinds import OURS, Catalog
from freehold.cli.manifests import ManifestDocument
from freehold.cli.merging import apply_patch, with_last_applied
from freehold.kube.errors import AlreadyExists, Conflict, Forbidden, Invalid, KubeError, NotFound
from freehold.kube.object_client import ObjectClient, PatchKind
from freehold.kube.resources import NAMESPACES, Json, Key, Resource

_TRIAL = {"dryRun": "All", "fieldValidation": "Strict"}
_REAL = {"fieldValidation": "Strict"}
_FIRST = ("Namespace", "CustomResourceDefinition")
_ATTEMPTS = 5
_STRICT = re.compile(r'(unknown|duplicate) field "([^"]+)"')
"""How a server words what strict field validation found."""


class Verb(Enum):
    """What applying did to one object."""

    CREATED = "created"
    CONFIGURED = "configured"
    UNCHANGED = "unchanged"


@dataclass(frozen=True)
class Target:
    """One document, and where it goes."""

    document: ManifestDocument
    resource: Resource
    key: Key

    @property
    def ours(self) -> bool:
        return self.resource in OURS

    def __str__(self) -> str:
        return f"{self.resource.kind} {self.key}"


@dataclass(frozen=True)
class Applied:
    """What became of one document; ``obj`` as the server holds it, with its defaults."""

    target: Target
    verb: Verb
    obj: Json


async def targets(client: ObjectClient, documents: Sequence[ManifestDocument], namespace: str) -> list[Target]:
    """Where each document goes; an object without a namespace goes to ``namespace``.

    Raises CliError naming every kind that the server does not know.
    """
    catalog, found, unknown = Catalog(client), [], []
    for each in documents:
        resource = await catalog.of(each.api_version, each.kind)
        if resource is None:
            unknown.append(
                f"{each.place}: {each.kind} {each.name}: this server knows no {each.kind} in {each.api_version}"
            )
            continue
        key = Key(each.namespace or namespace if resource.namespaced else "", each.name)
        found.append(Target(each, resource, key))
    if unknown:
        raise CliError("nothing was applied: the server does not know every kind in the manifest", unknown)
    return sorted(found, key=lambda target: target.resource.kind not in _FIRST)


async def apply(client: ObjectClient, wanted: Sequence[Target]) -> list[Applied]:
    """Create or patch every target, namespaces first. Raises CliError, before any write, with all that is wrong."""
    missing = await missing_namespaces(client, wanted)
    await trial(client, wanted, missing)
    for name in sorted(missing - {each.key.name for each in wanted if each.resource == NAMESPACES}):
        try:
            await _create_namespace(client, name, _REAL)
        except AlreadyExists:
            continue  # somebody else was faster
    return [await _apply_one(client, each) for each in wanted]


async def trial(client: ObjectClient, wanted: Sequence[Target], missing: Collection[str] = ()) -> list[Json]:
    """What the server would make of every target; writes nothing. Raises CliError with all that is wrong."""
    would_be: list[Json] = []
    problems: list[str] = []
    for name in sorted(missing):
        try:
            await _create_namespace(client, name, _TRIAL)
        except KubeError as refusal:
            problems += [f"Namespace {name}: {sentence}" for sentence in sentences(refusal)]
    for each in wanted:
        key = Key("default", each.key.name) if each.key.namespace in missing else each.key
        try:
            would_be.append((await _put(client, each, key, _TRIAL)).obj)
        except KubeError as refusal:
            problems += [f"{each}: {sentence}" for sentence in await _all_wrong(client, each, key, refusal)]
    if problems:
        raise CliError("nothing was applied: the API server refuses the manifest", problems)
    return would_be


async def _create_namespace(client: ObjectClient, name: str, query: dict[str, str]) -> None:
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    await client.request("POST", NAMESPACES.collection_path(), query=query, body=body)


async def _all_wrong(client: ObjectClient, target: Target, key: Key, refusal: KubeError) -> list[str]:
    """A server that meets an unknown field looks no further: ask it again for the rest."""
    unknown = [f"{path}: {word} field" for word, path in _STRICT.findall(refusal.message)]
    if not unknown:
        return sentences(refusal)
    try:
        await _put(client, target, key, {**_TRIAL, "fieldValidation": "Ignore"})
    except KubeError as rest:
        return [*unknown, *sentences(rest)]
    return unknown


def sentences(refusal: KubeError) -> list[str]:
    """One for each thing that is wrong, with its field's path."""
    causes = refusal.details.get("causes") if isinstance(refusal, Invalid | Forbidden) else None
    if not isinstance(causes, list) or not causes:
        return [refusal.message]
    return [_cause(each) for each in causes if isinstance(each, dict)] or [refusal.message]


def _cause(cause: Json) -> str:
    field, message = str(cause.get("field") or ""), str(cause.get("message") or "is wrong")
    return message if field in ("", "<nil>") or message.startswith(f"{field}:") else f"{field}: {message}"


async def missing_namespaces(client: ObjectClient, wanted: Sequence[Target]) -> frozenset[str]:
    """Namespaces that the targets go to and the server does not have."""
    named = {each.key.namespace for each in wanted if each.key.namespace}
    return frozenset({name for name in named if not await _exists(client, name)})


async def _exists(client: ObjectClient, namespace: str) -> bool:
    try:
        await client.get(NAMESPACES, Key("", namespace))
    except NotFound:
        return False
    return True


async def _apply_one(client: ObjectClient, target: Target) -> Applied:
    for _ in range(_ATTEMPTS):
        try:
            return await _put(client, target, target.key, _REAL)
        except (AlreadyExists, Conflict, NotFound) as raced:
            problem: KubeError = raced  # somebody else created, changed or deleted it meanwhile: look again
        except Invalid as refusal:
            raise CliError(f"{target} was refused", sentences(refusal)) from refusal
    raise CliError(f"{target} changes too fast to be applied: {problem.message}")


async def _put(client: ObjectClient, target: Target, key: Key, query: dict[str, str]) -> Applied:
    wanted = with_last_applied(_placed(target, key))
    try:
        current = await client.get(target.resource, key)
    except NotFound:
        created = await client.request("POST", target.resource.collection_path(key.namespace), query=query, body=wanted)
        return Applied(target, Verb.CREATED, created)
    patch = apply_patch(current, wanted)
    if not patch:
        return Applied(target, Verb.UNCHANGED, current)
    path = target.resource.object_path(key)
    patched = await client.request("PATCH", path, query=query, body=patch, content_type=PatchKind.MERGE.value)
    same = patched["metadata"].get("resourceVersion") == current["metadata"].get("resourceVersion")
    return Applied(target, Verb.UNCHANGED if same else Verb.CONFIGURED, patched)


def _placed(target: Target, key: Key) -> Json:
    metadata = {**target.document.obj["metadata"]}
    if key.namespace:
        metadata["namespace"] = key.namespace
    obj = {**target.document.obj, "metadata": metadata}
    obj.pop("status", None)
    return obj
