"""Policy: whether a cluster's leftovers are collected with it, decided from the object alone, without I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from freehold.api import names
from freehold.api.annotations import parse_bool
from freehold.api.feature_gates import FeatureGate, format_option
from freehold.collection.selector import Selector
from freehold.collection.things import DEFAULT_TASKS, CollectionTask

_STAYS = "what its workloads made in the cloud stays, and may hold its network"
_HELD = "until then nothing is collected, and nothing of the network is deleted"
_QUOTED = 80
"""The most characters of a value that a message shows."""


class Volumes(StrEnum):
    """The treatment of a volume that is to be collected."""

    RETAIN = "retain"
    DELETE = "delete"
    SNAPSHOT = "snapshot"


@dataclass(frozen=True)
class Collect:
    """A policy to collect by these tasks, in this order. ``source`` says for people where it comes from."""

    tasks: tuple[CollectionTask, ...]
    volumes: Volumes
    source: str


@dataclass(frozen=True)
class SkipCollection:
    """A policy to collect nothing; nothing waits for a collection. ``reason`` is that of the condition."""

    reason: str
    message: str


@dataclass(frozen=True)
class UnreadablePolicy:
    """A wrong annotation: nothing is collected, and the network waits until somebody has corrected it."""

    message: str


Policy = Collect | SkipCollection | UnreadablePolicy


def decide(
    raw: Mapping[str, Any],
    *,
    gate_on: bool,
    marked: bool,
    selector: Selector | None,
    mirror: Mapping[str, Any] | None = None,
) -> Policy:
    """Decide about the object ``raw``. ``marked``: its journal says that it was created with the gate on.

    The annotation outranks mark and selector. The other annotations are read only if something is to be collected by
    them. ``mirror`` is another object of the same cluster whose annotations count too: where the two differ, *false*
    wins, and the list of tasks is that of ``raw``, if it has one.
    """
    if not gate_on:
        how = format_option(FeatureGate.EXTERNAL_RESOURCE_GC)
        return SkipCollection(names.REASON_FEATURE_GATE_OFF, f"the operator does not run with {how}: {_STAYS}")
    bearers = [each for each in (raw, mirror) if each and names.EXTERNAL_RESOURCE_GC_ANNOTATION in _annotations(each)]
    said = [_decide_by_annotation(raw, bearer, mirror) for bearer in bearers]
    for kind in (UnreadablePolicy, SkipCollection, Collect):
        if found := [each for each in said if isinstance(each, kind)]:
            return found[0]
    if selector is not None and not selector.matches(raw["metadata"].get("labels") or {}):
        why = f"its labels are not those of --gc-selector={selector.text!r}: {_STAYS}. To collect it all the same"
        return SkipCollection(names.REASON_NOT_SELECTED, f"{why}: {build_gc_command('enable', raw)}")
    if not marked:
        why = f"its record does not say that it was made with garbage collection on: {_STAYS}. To collect it"
        return SkipCollection(names.REASON_NOT_MARKED, f"{why}: {build_gc_command('enable', raw)}")
    return _collect(raw, mirror, "default")


def _annotations(raw: Mapping[str, Any]) -> Mapping[str, str]:
    return raw["metadata"].get("annotations") or {}


def build_gc_command(verb: str, raw: Mapping[str, Any]) -> str:
    """Build the command of ``freehold gc`` for this object, by the name of its Cluster if it has one."""
    metadata = raw["metadata"]
    owners = metadata.get("ownerReferences") or ()
    clusters = (each["name"] for each in owners if each.get("kind") == "Cluster" and _is_of_cluster_api(each))
    name = next(clusters, metadata["name"])
    return f"freehold gc {verb} --cluster-name {name} -n {metadata.get('namespace') or 'default'}"


def _is_of_cluster_api(reference: Mapping[str, Any]) -> bool:
    return str(reference.get("apiVersion", "")).partition("/")[0] == names.CLUSTER_API_GROUP


def _decide_by_annotation(
    raw: Mapping[str, Any], bearer: Mapping[str, Any], mirror: Mapping[str, Any] | None
) -> Policy:
    """Decide about ``raw`` by the annotation of ``bearer``: itself, or its mirror."""
    word = _annotations(bearer)[names.EXTERNAL_RESOURCE_GC_ANNOTATION]
    name, wanted = f"{names.EXTERNAL_RESOURCE_GC_ANNOTATION}{_name_bearer(raw, bearer)}", parse_bool(word)
    if wanted is None:
        mend = f"{build_gc_command('enable', raw)}, or {build_gc_command('disable', raw)}"
        return UnreadablePolicy(
            f"annotation {name} is {_quote(word)}, neither true nor false. To mend it: {mend}; {_HELD}"
        )
    if wanted:
        return _collect(raw, mirror, f"annotation {name}={word}")
    why = f"annotation {name} is {word}: {_STAYS}. To collect it: {build_gc_command('enable', raw)}"
    return SkipCollection(names.REASON_OPTED_OUT, why)


def _name_bearer(raw: Mapping[str, Any], bearer: Mapping[str, Any]) -> str:
    """Name the object that has an annotation, unless it is the object itself."""
    return "" if bearer is raw else f" of {bearer.get('kind')} {bearer['metadata']['name']}"


def _collect(raw: Mapping[str, Any], mirror: Mapping[str, Any] | None, source: str) -> Collect | UnreadablePolicy:
    """Read the other annotations; those of ``raw`` come before its mirror's."""
    bearer = _find_bearer(names.EXTERNAL_RESOURCE_TASKS_ANNOTATION, raw, mirror)
    listed = _annotations(bearer).get(names.EXTERNAL_RESOURCE_TASKS_ANNOTATION, "")
    if unknown := find_unknown_task(listed):
        name = f"{names.EXTERNAL_RESOURCE_TASKS_ANNOTATION}{_name_bearer(raw, bearer)}"
        mend = f"{build_gc_command('configure', raw)} --gc-task {','.join(DEFAULT_TASKS)}"
        return UnreadablePolicy(f"annotation {name} is {_quote(listed)}, and {unknown}. To mend it: {mend}; {_HELD}")
    bearer = _find_bearer(names.GC_VOLUMES_ANNOTATION, raw, mirror)
    word = _annotations(bearer).get(names.GC_VOLUMES_ANNOTATION, Volumes.RETAIN)
    if word not in set(Volumes):
        name = f"{names.GC_VOLUMES_ANNOTATION}{_name_bearer(raw, bearer)}"
        problem = f"annotation {name} is {_quote(word)}, none of {', '.join(Volumes)}"
        return UnreadablePolicy(
            f"{problem}. To mend it: {_build_annotate_command(bearer)}={Volumes.RETAIN} --overwrite; {_HELD}"
        )
    return Collect(parse_tasks(listed), Volumes(word), source)


def _find_bearer(annotation: str, raw: Mapping[str, Any], mirror: Mapping[str, Any] | None) -> Mapping[str, Any]:
    return raw if mirror is None or annotation in _annotations(raw) else mirror


def find_unknown_task(listed: str) -> str:
    """Find the first word of a comma-separated list that is no task, as a sentence; empty if there is none."""
    unknown = [word for word in _split_words(listed) if word not in set(CollectionTask)]
    return f"{_quote(unknown[0])} is no task: there is {', '.join(CollectionTask)}" if unknown else ""


def parse_tasks(listed: str) -> tuple[CollectionTask, ...]:
    """Parse a list of tasks, and return them in the order in which they can run.

    An empty list means the default: upstream's webhook accepts it, and its ``gc configure`` resets the list so.
    """
    words = set(_split_words(listed))
    return tuple(task for task in CollectionTask if task in words) or DEFAULT_TASKS


def _split_words(listed: str) -> list[str]:
    return [word.strip() for word in listed.split(",")] if listed.strip() else []


def _build_annotate_command(raw: Mapping[str, Any]) -> str:
    metadata = raw["metadata"]
    where = f"{str(raw.get('kind', '')).lower()} {metadata['name']} -n {metadata.get('namespace') or 'default'}"
    return f"kubectl annotate {where} {names.GC_VOLUMES_ANNOTATION}"


def _quote(text: str) -> str:
    return repr(text if len(text) <= _QUOTED else f"{text[:_QUOTED]}…")
