"""Applying a manifest: first everything on trial, then everything for good. Nothing is half applied."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum
from uuid import uuid4

from freehold.api.names import JOURNAL_ANNOTATION
from freehold.cli.errors import CliError
from freehold.cli.objects.kinds import OURS, Catalog
from freehold.cli.objects.manifest_fields import is_as_applied, manifest_fields, operator_fields, ownership_patch
from freehold.cli.objects.manifests import ManifestDocument
from freehold.cli.objects.schema_errors import is_contested, sentences, unknown_fields
from freehold.cli.output.highlights import being_deleted
from freehold.kube.errors import AlreadyExists, Conflict, InvalidRequest, KubeError, ObjectNotFound
from freehold.kube.field_managers import CLI, OPERATOR, build_handover_patch
from freehold.kube.object_client import ObjectClient, PatchKind, Request
from freehold.kube.resources import NAMESPACES, Json, Key, Resource, key_of

_TRIAL = {"dryRun": "All", "fieldValidation": "Strict"}
_TRIAL_NAME = f"trial-{uuid4().hex[:12]}"
"""Of an object whose namespace is missing: it is tried in another one, where its own name may be somebody's."""
_REAL = {"fieldValidation": "Strict"}
_FIRST = ("Namespace", "CustomResourceDefinition")
_ATTEMPTS = 5
_LISTED = 20
"""A collection of which more is wanted is listed: that takes fewer requests than to ask for each."""

_CONTESTED = (
    "leave fields that others manage out of the manifest, give them the value that they have, or take them over with "
    "--force-conflicts"
)
_STRICT = re.compile(r'(unknown|duplicate) field "([^"]+)"')
"""How a server words what strict field validation found."""


class ApplyEffect(Enum):
    """The effect of an apply on one object."""

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
    """An applied document; ``obj`` is the server's answer, of a batch no more than the resourceVersion."""

    target: Target
    verb: ApplyEffect
    obj: Json


@dataclass(frozen=True)
class _Put:
    """One write: ``request`` is None where ``current`` is as wanted."""

    target: Target
    key: Key
    current: Json | None
    request: Request | None


@dataclass(frozen=True)
class _Trial:
    """A write on trial, and what the server would make of it."""

    put: _Put
    applied: Applied


Tell = Callable[[str, int, int], None]
"""Told of every step: what is being done (``checked``, ``applied``), how many of how many requests are done."""


def _nobody(verb: str, done: int, total: int) -> None:
    """Tell nobody."""


async def targets(client: ObjectClient, documents: Sequence[ManifestDocument], namespace: str) -> list[Target]:
    """Find where each document goes; an object without a namespace goes to ``namespace``.

    Raises CliError naming every kind that the server does not know.
    """
    catalog, found, unknown = Catalog(client), [], []
    for each in documents:
        resource = await catalog.find_kind(each.api_version, each.kind)
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


async def apply(
    client: ObjectClient,
    wanted: Sequence[Target],
    tell: Tell = _nobody,
    *,
    create_namespaces: bool = False,
    force: bool = False,
) -> list[Applied]:
    """Apply every target, namespaces first. Raises CliError, before any write, with all that is wrong.

    ``force``: fields that other managers have set to other values are taken over from them.
    """
    missing = await missing_namespaces(client, wanted)
    unmade = not_in_manifest(missing, wanted)
    if unmade and not create_namespaces:
        raise CliError(await _say_no_namespace(client, unmade))
    tried = await _try_all(client, wanted, missing, tell, brief=True, force=force)
    _refuse_deleted([each.put for each in tried])
    for name in unmade:
        try:
            await _create_namespace(client, name, _REAL)
        except AlreadyExists:
            continue  # somebody else was faster
    puts = [_put_for_good(each.put, force=force) for each in tried]
    for each in puts:
        await _prepare(client, each)
    outcomes = await _outcomes(client, puts, lambda number: tell("applied", number, len(puts)))
    for put, outcome in zip(puts, outcomes, strict=True):
        await _hand_over(client, put, outcome)
    return [await _settle(client, each, outcome, force=force) for each, outcome in zip(wanted, outcomes, strict=True)]


def _refuse_deleted(puts: Sequence[_Put]) -> None:
    """Raise CliError for what is being deleted: it goes whatever is applied to it, and the new one never comes."""
    if going := [put for put in puts if put.current and "deletionTimestamp" in put.current["metadata"]]:
        told = [
            being_deleted(put.target.resource.kind, put.key.namespace, put.key.name)
            if put.target.ours
            else f"{put.target} is being deleted: wait until it is gone, then run the same command again"
            for put in going
        ]
        raise CliError("nothing was applied: what the manifest asks for is being deleted", told)


async def _say_no_namespace(client: ObjectClient, missing: Sequence[str]) -> str:
    there = sorted(each["metadata"]["name"] for each in (await client.list(NAMESPACES)).items)
    return (
        f"nothing was applied: there is no namespace {', '.join(missing)}; --create-namespace makes it, or choose "
        f"another one (there are: {', '.join(there[:10])})"
    )


async def trial(client: ObjectClient, wanted: Sequence[Target], missing: Collection[str] = ()) -> list[Json]:
    """Ask what the server would make of every target; write nothing. Raises CliError with all that is wrong."""
    tried = await _try_all(client, wanted, missing, _nobody, brief=False, force=False)
    return [_name_as_wanted(each.applied) for each in tried]


def _name_as_wanted(applied: Applied) -> Json:
    """Put the object under its own name and in its own namespace, wherever it was tried."""
    key, obj = applied.target.key, applied.obj
    place = {"name": key.name, **({"namespace": key.namespace} if key.namespace else {})}
    return {**obj, "metadata": {**obj["metadata"], **place}}


async def _try_all(
    client: ObjectClient, wanted: Sequence[Target], missing: Collection[str], tell: Tell, *, brief: bool,
    force: bool,
) -> list[_Trial]:  # fmt: skip
    problems: list[str] = []
    contested = False
    for name in sorted(missing):
        try:
            await _create_namespace(client, name, _TRIAL)
        except KubeError as refusal:
            problems += [f"Namespace {name}: {sentence}" for sentence in sentences(refusal)]
    keys = [Key("default", _TRIAL_NAME) if each.key.namespace in missing else each.key for each in wanted]
    found = await _read_current(client, list(zip(wanted, keys, strict=True)))
    puts = [
        _put(each, key, old, _TRIAL, force=force or _takes_over(old))
        for each, key, old in zip(wanted, keys, found, strict=True)
    ]
    outcomes = await _outcomes(client, puts, lambda number: tell("checked", number, len(puts)), brief=brief)
    tried = []
    for put, outcome in zip(puts, outcomes, strict=True):
        if isinstance(outcome, KubeError):
            contested = contested or is_contested(outcome)
            wrong = await _find_all_wrong(client, put, outcome)
            problems += [f"{put.target}: {sentence}" for sentence in wrong]
        else:
            tried.append(_Trial(put, outcome))
    if problems:
        raise CliError(
            "nothing was applied: the API server refuses the manifest",
            [*problems, *([_CONTESTED] if contested else [])],
        )
    return tried


async def _read_current(client: ObjectClient, places: Sequence[tuple[Target, Key]]) -> list[Json | None]:
    """Read what the server has of each. Collections of which much is wanted are listed, if each would be a request."""
    where = Counter((target.resource, key.namespace) for target, key in places)
    listing = {place for place, number in where.items() if number > _LISTED and not client.batches}
    listed: dict[tuple[Resource, Key], Json] = {}
    for resource, namespace in listing:
        for each in (await client.list(resource, namespace)).items:
            typed = {"apiVersion": resource.api_version, "kind": resource.kind, **each}
            listed[resource, key_of(each)] = typed
    single = [(t.resource, k) for t, k in places if (t.resource, k.namespace) not in listing]
    answers = await client.send_many([Request("GET", resource.build_object_path(key)) for resource, key in single])
    for place, answer in zip(single, answers, strict=True):
        if isinstance(answer, KubeError):
            if not isinstance(answer, ObjectNotFound):
                raise answer
        else:
            listed[place] = answer
    return [listed.get((target.resource, key)) for target, key in places]


async def _create_namespace(client: ObjectClient, name: str, query: dict[str, str]) -> None:
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    await client.request("POST", NAMESPACES.build_collection_path(), query=query, body=body)


async def _find_all_wrong(client: ObjectClient, put: _Put, refusal: KubeError) -> list[str]:
    """Find all that is wrong: a server that meets an unknown field looks no further, so it is asked again."""
    (strict,) = (
        await _outcomes(client, [_plain_put(put, "Strict")]) if isinstance(refusal, InvalidRequest) else [refusal]
    )
    if not isinstance(strict, KubeError):
        return sentences(refusal)  # only an apply is refused
    found = _STRICT.findall(strict.message)
    unknown = [f"{path}: {word} field" for word, path in found if word != "unknown"]
    unknown += await unknown_fields(client, put.target.resource, [path for word, path in found if word == "unknown"])
    if not unknown:
        return sentences(strict)
    (rest,) = await _outcomes(client, [_plain_put(put, "Ignore")])
    return [*unknown, *sentences(rest)] if isinstance(rest, KubeError) else unknown


def _plain_put(put: _Put, validation: str) -> _Put:
    """Return the trial without server-side apply, which words an unknown field in its own way and looks no further."""
    query, body = {"dryRun": "All", "fieldValidation": validation}, manifest_fields(_place(put.target, put.key))
    if put.current is None:
        path = put.target.resource.build_collection_path(put.key.namespace)
        return replace(put, request=Request("POST", path, query, body))
    path = put.target.resource.build_object_path(put.key)
    return replace(put, request=Request("PATCH", path, query, body, PatchKind.MERGE.value))


async def missing_namespaces(client: ObjectClient, wanted: Sequence[Target]) -> frozenset[str]:
    """Namespaces that the targets go to and the server does not have."""
    named = {each.key.namespace for each in wanted if each.key.namespace}
    return frozenset({name for name in named if not await _exists(client, name)})


def not_in_manifest(missing: Collection[str], wanted: Sequence[Target]) -> list[str]:
    """Return those of the ``missing`` namespaces that the manifest itself does not make."""
    return sorted(set(missing) - {each.key.name for each in wanted if each.resource == NAMESPACES})


async def _exists(client: ObjectClient, namespace: str) -> bool:
    try:
        await client.get(NAMESPACES, Key("", namespace))
    except ObjectNotFound:
        return False
    return True


async def _settle(client: ObjectClient, target: Target, outcome: Applied | KubeError, *, force: bool) -> Applied:
    """Repeat a write where somebody else was faster; return its outcome. Raises CliError, KubeError."""
    for _ in range(_ATTEMPTS):
        if isinstance(outcome, Applied):
            return outcome
        if isinstance(outcome, InvalidRequest):
            raise CliError(f"{target} was refused", sentences(outcome)) from outcome
        if is_contested(outcome):
            raise CliError(f"{target} was refused", [*sentences(outcome), _CONTESTED]) from outcome
        if not isinstance(outcome, AlreadyExists | Conflict | ObjectNotFound):
            raise outcome
        problem = outcome  # somebody else created, changed or deleted it meanwhile: look again
        (current,) = await _read_current(client, [(target, target.key)])
        (outcome,) = await _outcomes(client, [_put(target, target.key, current, _REAL, force=force)])
    raise CliError(f"{target} changes too fast to be applied: {problem.message}")


def _put(target: Target, key: Key, current: Json | None, query: Mapping[str, str], *, force: bool) -> _Put:
    """Return the apply that makes the object as its manifest says; none where it is so and belongs to us.

    An object that the manifest has with the operator's fields, as a backup has it, is put back whole by a create.
    """
    document = _place(target, key)
    wanted = manifest_fields(document)
    if current is None and (ours := operator_fields(document)):
        body = {**wanted, "metadata": {**wanted["metadata"], **_join_metadata(wanted["metadata"], ours)}}
        path = target.resource.build_collection_path(key.namespace)
        return _Put(target, key, None, Request("POST", path, {**query, "fieldManager": OPERATOR}, body))
    if current is not None and is_as_applied(current, wanted):
        return _Put(target, key, current, None)
    # An object that the embedded API of an earlier version stored has no managers: there is nobody to ask.
    force = force or (current is not None and not current["metadata"].get("managedFields"))
    query = {**query, "fieldManager": CLI, **({"force": "true"} if force else {})}
    path = target.resource.build_object_path(key)
    return _Put(target, key, current, Request("PATCH", path, query, wanted, PatchKind.APPLY.value))


def _join_metadata(metadata: Json, ours: Json) -> Json:
    """Join the operator's annotations and finalizers to those of ``metadata``."""
    annotations = {**(metadata.get("annotations") or {}), **ours.get("annotations", {})}
    finalizers = list(dict.fromkeys([*(metadata.get("finalizers") or ()), *ours.get("finalizers", ())]))
    return {name: each for name, each in (("annotations", annotations), ("finalizers", finalizers)) if each}


def _takes_over(current: Json | None) -> bool:
    """Return whether fields of earlier manifests are another manager's: on trial they are taken, for good moved."""
    return current is not None and ownership_patch(current) is not None


async def _prepare(client: ObjectClient, put: _Put) -> None:
    """Hand what earlier manifests said to our manager before an apply, and take a lost record from the manifest."""
    resource, key, current = put.target.resource, put.key, put.current
    ours = operator_fields(put.target.document.obj)
    for _ in range(_ATTEMPTS):
        if current is None:
            return
        try:
            if (patch := ownership_patch(current)) is not None:
                current = await client.patch(resource, key, patch)
            if _lacks_record(current, ours):
                await _put_back(client, resource, key, current, ours)
            return
        except (Conflict, ObjectNotFound):  # somebody was faster
            (current,) = await _read_current(client, [(put.target, key)])


def _lacks_record(current: Json, ours: Json) -> bool:
    annotations = current["metadata"].get("annotations") or {}
    return JOURNAL_ANNOTATION in ours.get("annotations", {}) and JOURNAL_ANNOTATION not in annotations


async def _put_back(client: ObjectClient, resource: Resource, key: Key, current: Json, ours: Json) -> None:
    """Write the record of a backup to the object that lost it."""
    metadata = {**_join_metadata(current["metadata"], ours), "resourceVersion": current["metadata"]["resourceVersion"]}
    await client.request(
        "PATCH",
        resource.build_object_path(key),
        query={"fieldManager": OPERATOR},
        body={"metadata": metadata},
        content_type=PatchKind.MERGE.value,
    )


async def _hand_over(client: ObjectClient, put: _Put, done: Applied | KubeError) -> None:
    """Take over what the manifest says of an object that was put back whole: it is ours, not the operator's."""
    if put.request is None or put.request.method != "POST" or not isinstance(done, Applied):
        return
    resource, key = put.target.resource, put.target.key
    with suppress(Conflict, ObjectNotFound):  # it is the operator's then, and the next apply says so
        made = await client.get(resource, key)
        await client.patch(resource, key, build_handover_patch(made, manifest_fields(made), OPERATOR))


def _put_for_good(tried: _Put, *, force: bool) -> _Put:
    """Return the same write as on trial, for good."""
    missing_namespace = tried.key != tried.target.key
    current = None if missing_namespace else tried.current
    return _put(tried.target, tried.target.key, current, _REAL, force=force)


async def _outcomes(
    client: ObjectClient,
    puts: Sequence[_Put],
    done: Callable[[int], None] = lambda number: None,
    *,
    brief: bool = True,
) -> list[Applied | KubeError]:
    answers = iter(await client.send_many([each.request for each in puts if each.request], done, brief=brief))
    return [_outcome(each, next(answers) if each.request else None) for each in puts]


def _outcome(put: _Put, answer: Json | KubeError | None) -> Applied | KubeError:
    if isinstance(answer, KubeError):
        return answer
    if answer is None:
        assert put.current is not None
        return Applied(put.target, ApplyEffect.UNCHANGED, put.current)
    if put.current is None:
        return Applied(put.target, ApplyEffect.CREATED, answer)
    same = answer["metadata"].get("resourceVersion") == put.current["metadata"].get("resourceVersion")
    return Applied(put.target, ApplyEffect.UNCHANGED if same else ApplyEffect.CONFIGURED, answer)


def _place(target: Target, key: Key) -> Json:
    metadata = {**target.document.obj["metadata"], "name": key.name}
    if key.namespace:
        metadata["namespace"] = key.namespace
    return {**target.document.obj, "metadata": metadata}
