"""How objects are printed: as a table, by name, as JSON or YAML, or by a JSONPath template."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from freehold.cli.terminal import say
from freehold.kube.resources import Json

JSONPATH = "jsonpath="


class Format(Enum):
    """What follows ``-o`` of ``freehold get``."""

    TABLE = "table"
    WIDE = "wide"
    NAME = "name"
    JSON = "json"
    YAML = "yaml"
    JSONPATH = "jsonpath"

    @property
    def tabular(self) -> bool:
        return self in (Format.TABLE, Format.WIDE)


@dataclass(frozen=True)
class Output:
    """How to print, as it was asked for. ``render`` is of a JSONPath template."""

    format: Format
    render: Callable[[Any], str] | None = None
    managed_fields: bool = False

    def documents(self, objects: list[Json], *, as_list: bool, stream: bool = False) -> None:
        """Print objects; ``as_list`` as a List, also of one; ``stream`` as some of many."""
        if self.format is Format.NAME:
            for each in objects:
                say(name_of(each))
            return
        whole = self.managed_fields or self.render is not None  # a template may ask for them, as in kubectl
        shown = objects if whole else list(map(without_managed_fields, objects))
        content = {"apiVersion": "v1", "kind": "List", "items": shown} if as_list else shown[0]
        if self.render is None:
            emit(self.format.value, content, stream=stream)
            return
        text = self.render(content)
        closed = not text or text.endswith("\n") or not (stream or sys.stdout.isatty())
        print(text, end="" if closed else "\n", flush=True)


def name_of(obj: Json) -> str:
    """``kind.group/name``, as kubectl writes it."""
    kind, group = str(obj["kind"]).lower(), str(obj["apiVersion"]).rpartition("/")[0]
    return f"{kind}.{group}/{obj['metadata']['name']}" if group else f"{kind}/{obj['metadata']['name']}"


def without_managed_fields(obj: Json) -> Json:
    """The object without the longest and least read part of its metadata, as kubectl shows it."""
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
