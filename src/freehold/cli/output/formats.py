"""Objects by name, and documents as JSON or YAML."""

from __future__ import annotations

import json
from typing import Any

from freehold.cli.output.terminal import say
from freehold.kube.resources import Json


def print_objects(output: str, objects: list[Json], *, as_list: bool, stream: bool = False) -> None:
    """Print objects by name, as JSON or YAML; ``as_list`` as a List, also of one; ``stream`` as some of many."""
    if output == "name":
        for each in objects:
            say(name_of(each))
        return
    shown = list(map(without_managed_fields, objects))
    emit(output, {"apiVersion": "v1", "kind": "List", "items": shown} if as_list else shown[0], stream=stream)


def name_of(obj: Json) -> str:
    """Return ``kind.group/name``, as kubectl writes it."""
    kind, group = str(obj["kind"]).lower(), str(obj["apiVersion"]).rpartition("/")[0]
    return f"{kind}.{group}/{obj['metadata']['name']}" if group else f"{kind}/{obj['metadata']['name']}"


def without_managed_fields(obj: Json) -> Json:
    """Leave out the longest and least read part of the metadata, as kubectl does."""
    metadata = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
    return {**obj, "metadata": metadata}


def emit(output: str, content: Any, *, stream: bool = False) -> None:
    """Print a document as JSON or YAML, one of many in a stream. Both escape what a terminal could act on."""
    if output == "json":
        say(json.dumps(content, indent=2))
        return
    import yaml

    if stream:
        say("---")
    say(yaml.safe_dump(content, sort_keys=False, width=110).rstrip())
