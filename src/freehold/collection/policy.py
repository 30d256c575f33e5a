"""Whether what the workloads of a cluster made is collected with it: decided from the object alone, without I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from freehold.api import names
from freehold.api.annotations import parse_bool
from freehold.api.feature_gates import FeatureGate, setting
from freehold.collection.selector import Selector
from freehold.collection.things import DEFAULT_TASKS, Task

_STAYS = "what its workloads made in the cloud stays, and may hold its network"
_HELD = "until then nothing is collected, and nothing of the network is deleted"
_QUOTED = 80
"""Characters of a value that a message shows."""


class Volumes(StrEnum):
    """What becomes of a volume that is to be collected."""

    RETAIN = "retain"
    DELETE = "delete"
    SNAPSHOT = "snapshot"


@dataclass(frozen=True)
class Collect:
    """Collect by these tasks, in this order. ``source`` says what asks for it, for people."""

    tasks: tuple[Task, ...]
    volumes: Volumes
    source: str


@dataclass(frozen=True)
class Skip:
    """Nothing is collected, and nothing waits for it. ``reason`` is that of the condition."""

    reason: str
    message: str


@dataclass(frozen=True)
class Unreadable:
    """An annotation makes no sense: nothing is collected, and the network waits until somebody has mended it."""

    message: str


Policy = Collect | Skip | Unreadable


def decide(raw: Mapping[str, Any], *, gate_on: bool, marked: bool, selector: Selector | None) -> Policy:
    """Decide about the object ``raw``. ``marked``: its journal says that it was made with the gate on.

    What the annotation says counts for more than mark and selector. The other annotations are read only where
    something is to be collected by them.
    """
    annotations = raw["metadata"].get("annotations") or {}
    word = annotations.get(names.EXTERNAL_RESOURCE_GC_ANNOTATION)
    if not gate_on:
        how = setting(FeatureGate.EXTERNAL_RESOURCE_GC)
        return Skip(names.REASON_FEATURE_GATE_OFF, f"the operator does not run with {how}: {_STAYS}")
    if word is not None:
        return _by_annotation(raw, word)
    if selector is not None and not selector.matches(raw["metadata"].get("labels") or {}):
        why = f"its labels are not those of --gc-selector={selector.text!r}: {_STAYS}. To collect it all the same"
        return Skip(names.REASON_NOT_SELECTED, f"{why}: {command('enable', raw)}")
    if not marked:
        why = f"its record does not say that it was made with garbage collection on: {_STAYS}. To collect it"
        return Skip(names.REASON_NOT_MARKED, f"{why}: {command('enable', raw)}")
    return _collect(raw, "default")


def command(verb: str, raw: Mapping[str, Any]) -> str:
    """Return the command of ``freehold gc`` for this object, by the name of its Cluster if it has one."""
    metadata = raw["metadata"]
    owners = metadata.get("ownerReferences") or ()
    clusters = (each["name"] for each in owners if each.get("kind") == "Cluster" and _is_of_cluster_api(each))
    name = next(clusters, metadata["name"])
    return f"freehold gc {verb} --cluster-name {name} -n {metadata.get('namespace') or 'default'}"


def _is_of_cluster_api(reference: Mapping[str, Any]) -> bool:
    return str(reference.get("apiVersion", "")).partition("/")[0] == names.CLUSTER_API_GROUP


def _by_annotation(raw: Mapping[str, Any], word: str) -> Policy:
    name, wanted = names.EXTERNAL_RESOURCE_GC_ANNOTATION, parse_bool(word)
    if wanted is None:
        mend = f"{command('enable', raw)}, or {command('disable', raw)}"
        return Unreadable(f"annotation {name} is {_quoted(word)}, neither true nor false. To mend it: {mend}; {_HELD}")
    if wanted:
        return _collect(raw, f"annotation {name}={word}")
    why = f"annotation {name} is {word}: {_STAYS}. To collect it: {command('enable', raw)}"
    return Skip(names.REASON_OPTED_OUT, why)


def _collect(raw: Mapping[str, Any], source: str) -> Collect | Unreadable:
    annotations = raw["metadata"].get("annotations") or {}
    listed = annotations.get(names.EXTERNAL_RESOURCE_TASKS_ANNOTATION, "")
    if unknown := unknown_tasks(listed):
        problem = f"annotation {names.EXTERNAL_RESOURCE_TASKS_ANNOTATION} is {_quoted(listed)}, and {unknown}"
        mend = f"{command('configure', raw)} --gc-task {','.join(DEFAULT_TASKS)}"
        return Unreadable(f"{problem}. To mend it: {mend}; {_HELD}")
    word = annotations.get(names.GC_VOLUMES_ANNOTATION, Volumes.RETAIN)
    if word not in set(Volumes):
        problem = f"annotation {names.GC_VOLUMES_ANNOTATION} is {_quoted(word)}, none of {', '.join(Volumes)}"
        return Unreadable(f"{problem}. To mend it: {_annotate(raw)}={Volumes.RETAIN} --overwrite; {_HELD}")
    return Collect(tasks_of(listed), Volumes(word), source)


def unknown_tasks(listed: str) -> str:
    """Say which words of a comma-separated list are no task; empty where all are. No list at all is right too."""
    unknown = [word for word in _words(listed) if word not in set(Task)]
    return f"{_quoted(unknown[0])} is no task: there is {', '.join(Task)}" if unknown else ""


def tasks_of(listed: str) -> tuple[Task, ...]:
    """Return the tasks of a list in the order in which they can run, whatever order was written.

    An empty list is as none at all: upstream's webhook accepts it, and its ``gc configure`` resets to the default so.
    """
    words = set(_words(listed))
    return tuple(task for task in Task if task in words) or DEFAULT_TASKS


def _words(listed: str) -> list[str]:
    return [word.strip() for word in listed.split(",")] if listed.strip() else []


def _annotate(raw: Mapping[str, Any]) -> str:
    metadata = raw["metadata"]
    where = f"{str(raw.get('kind', '')).lower()} {metadata['name']} -n {metadata.get('namespace') or 'default'}"
    return f"kubectl annotate {where} {names.GC_VOLUMES_ANNOTATION}"


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _QUOTED else f"{text[:_QUOTED]}…")
