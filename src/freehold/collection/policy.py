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


def decide(raw: Mapping[str, Any], *, gate_on: bool, marked: bool, selector: Selector | None) -> Policy:
    """Decide about the object ``raw``. ``marked``: its journal says that it was created with the gate on.

    The annotation outranks mark and selector. The other annotations are read only if
    something is to be collected by them.
    """
    annotations = raw["metadata"].get("annotations") or {}
    word = annotations.get(names.EXTERNAL_RESOURCE_GC_ANNOTATION)
    if not gate_on:
        how = format_option(FeatureGate.EXTERNAL_RESOURCE_GC)
        return SkipCollection(names.REASON_FEATURE_GATE_OFF, f"the operator does not run with {how}: {_STAYS}")
    if word is not None:
        return _decide_by_annotation(raw, word)
    if selector is not None and not selector.matches(raw["metadata"].get("labels") or {}):
        why = f"its labels are not those of --gc-selector={selector.text!r}: {_STAYS}. To collect it all the same"
        return SkipCollection(names.REASON_NOT_SELECTED, f"{why}: {build_gc_command('enable', raw)}")
    if not marked:
        why = f"its record does not say that it was made with garbage collection on: {_STAYS}. To collect it"
        return SkipCollection(names.REASON_NOT_MARKED, f"{why}: {build_gc_command('enable', raw)}")
    return _collect(raw, "default")


def build_gc_command(verb: str, raw: Mapping[str, Any]) -> str:
    """Build the command of ``freehold gc`` for this object, by the name of its Cluster if it has one."""
    metadata = raw["metadata"]
    owners = metadata.get("ownerReferences") or ()
    clusters = (each["name"] for each in owners if each.get("kind") == "Cluster" and _is_of_cluster_api(each))
    name = next(clusters, metadata["name"])
    return f"freehold gc {verb} --cluster-name {name} -n {metadata.get('namespace') or 'default'}"


def _is_of_cluster_api(reference: Mapping[str, Any]) -> bool:
    return str(reference.get("apiVersion", "")).partition("/")[0] == names.CLUSTER_API_GROUP


def _decide_by_annotation(raw: Mapping[str, Any], word: str) -> Policy:
    name, wanted = names.EXTERNAL_RESOURCE_GC_ANNOTATION, parse_bool(word)
    if wanted is None:
        mend = f"{build_gc_command('enable', raw)}, or {build_gc_command('disable', raw)}"
        return UnreadablePolicy(
            f"annotation {name} is {_quote(word)}, neither true nor false. To mend it: {mend}; {_HELD}"
        )
    if wanted:
        return _collect(raw, f"annotation {name}={word}")
    why = f"annotation {name} is {word}: {_STAYS}. To collect it: {build_gc_command('enable', raw)}"
    return SkipCollection(names.REASON_OPTED_OUT, why)


def _collect(raw: Mapping[str, Any], source: str) -> Collect | UnreadablePolicy:
    annotations = raw["metadata"].get("annotations") or {}
    listed = annotations.get(names.EXTERNAL_RESOURCE_TASKS_ANNOTATION, "")
    if unknown := find_unknown_task(listed):
        problem = f"annotation {names.EXTERNAL_RESOURCE_TASKS_ANNOTATION} is {_quote(listed)}, and {unknown}"
        mend = f"{build_gc_command('configure', raw)} --gc-task {','.join(DEFAULT_TASKS)}"
        return UnreadablePolicy(f"{problem}. To mend it: {mend}; {_HELD}")
    word = annotations.get(names.GC_VOLUMES_ANNOTATION, Volumes.RETAIN)
    if word not in set(Volumes):
        problem = f"annotation {names.GC_VOLUMES_ANNOTATION} is {_quote(word)}, none of {', '.join(Volumes)}"
        return UnreadablePolicy(
            f"{problem}. To mend it: {_build_annotate_command(raw)}={Volumes.RETAIN} --overwrite; {_HELD}"
        )
    return Collect(parse_tasks(listed), Volumes(word), source)


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
