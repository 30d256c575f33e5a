"""Manifests: YAML documents into objects, with a sentence for everything that is wrong before the API sees it."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Hashable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from freehold.cli.errors import CliError
from freehold.cli.local.memory import pause_garbage_collector

Json = dict[str, Any]

_VARIABLE = re.compile(r"\$\{[^}]*\}")

_SUFFIXES = (".yaml", ".yml", ".json")

_MOST_BYTES = 3 * 1024 * 1024
"""An API server takes requests of this size; a file of more is hardly a manifest, and YAML is slow to read."""

_MOST_NODES = 200_000
"""Values in a file once its aliases are followed: a few lines of them can expand to billions."""


@dataclass(frozen=True)
class ManifestDocument:
    """One object of a manifest. ``place`` says which document of which file it is."""

    obj: Json
    place: str

    @property
    def api_version(self) -> str:
        return str(self.obj["apiVersion"])

    @property
    def kind(self) -> str:
        return str(self.obj["kind"])

    @property
    def name(self) -> str:
        return str(self.obj["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.obj["metadata"].get("namespace") or "")


class _Mappings(yaml.constructor.SafeConstructor):
    """Mappings in which no key is there twice."""

    _pairs = 0

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Merge what ``<<`` names, and count: what is merged is copied, so a few lines can expand to billions."""
        super().flatten_mapping(node)
        self._pairs += len(node.value)
        if self._pairs > _MOST_NODES:
            raise ValueError(f"its merges stand for more than {_MOST_NODES} values; write it without them")

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, Hashable):
                if key in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"the key {key!r} is here twice", key_node.start_mark
                    )
                seen.add(key)
        return super().construct_mapping(node, deep)


class _Loader(_Mappings, yaml.SafeLoader):
    """YAML as Kubernetes reads it: no timestamps, no key twice. It says best what is wrong."""


class _QuickLoader(_Mappings, yaml.CSafeLoader):
    """The same on libyaml, in a tenth of the time."""


_Loader.yaml_implicit_resolvers = _QuickLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}

_DEEPEST = 5_000
"""Levels that libyaml is trusted with: it recurses on the stack of C, and ends the process where that is used up."""


def read(*sources: str, namespace: str = "") -> list[ManifestDocument]:
    """Read the objects in files, in directories of them, or in standard input for ``-``; a List counts as its items.

    ``namespace`` is where the user wants them; objects that name another one are refused.
    Raises CliError that lists everything wrong with a file.
    """
    found: list[ManifestDocument] = []
    for source in dict.fromkeys(each for given in sources for each in _files(given)):
        shown = "standard input" if source == "-" else source
        documents = list(_documents(read_text(source, shown), shown))
        problems = [problem for document in documents for problem in _problems(document)]
        if problems:
            raise CliError(f"{shown} is not a manifest", problems)
        fresh = [ManifestDocument(obj, place) for obj, place in documents if obj is not None]
        _refuse_template(fresh, shown)
        found += fresh
    shown = ", ".join("standard input" if each == "-" else each for each in sources)
    if not found:
        raise CliError(f"{shown} holds no object; give a manifest with at least one")
    _refuse_twins(found, shown)
    _refuse_elsewhere(found, namespace)
    return found


def _files(source: str) -> list[str]:
    """List what kubectl takes of a directory: its manifests, not those of directories below."""
    if source == "-" or not Path(source).is_dir():
        return [source]
    found = sorted(str(each) for each in Path(source).iterdir() if each.suffix in _SUFFIXES and each.is_file())
    if not found:
        raise CliError(f"the directory {source} holds no manifest ({', '.join(f'*{each}' for each in _SUFFIXES)})")
    return found


def read_text(source: str, shown: str) -> str:
    try:
        with nullcontext(sys.stdin.buffer) if source == "-" else Path(source).open("rb") as file:
            raw = file.read(_MOST_BYTES + 1)
        if len(raw) > _MOST_BYTES:
            most = _MOST_BYTES // (1024 * 1024)
            raise CliError(f"{shown} is larger than {most} MiB, too large for a manifest; give it in parts")
        return raw.decode("utf-8-sig")
    except OSError as problem:
        raise CliError(f"{shown} cannot be read: {problem.strerror}") from problem
    except UnicodeDecodeError as problem:
        raise CliError(f"{shown} is not UTF-8 text (byte {problem.start}); save it as UTF-8") from problem


def _documents(text: str, shown: str) -> Iterator[tuple[Any, str]]:
    try:
        parsed = _parse_documents(text)
        _weigh(parsed, {})
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        where = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise CliError(f"{shown}{where}: this is not YAML: {problem.problem or problem.context}") from problem
    except (yaml.YAMLError, ValueError, RecursionError) as problem:
        raise CliError(f"{shown}: cannot be read as YAML: {' '.join(str(problem).split())[:200]}") from problem
    for number, content in enumerate(parsed, 1):
        place = f"{shown}, document {number}" if len(parsed) > 1 else shown
        if isinstance(content, dict) and content.get("kind") == "List" and isinstance(content.get("items"), list):
            yield from ((item, f"{place}, item {index}") for index, item in enumerate(content["items"], 1))
        else:
            yield content, place


def _parse_documents(text: str) -> list[Any]:
    """Every document. Raises yaml.YAMLError, ValueError, RecursionError."""
    if all(map(_shallow, re.split("^---", text, flags=re.MULTILINE))):
        try:
            with pause_garbage_collector():
                return list(yaml.load_all(text, Loader=_QuickLoader))
        except (yaml.YAMLError, ValueError, RecursionError):
            pass  # the other one says it in its words
    return list(yaml.load_all(text, Loader=_Loader))


def _shallow(document: str) -> bool:
    """Each level needs one of these, or an indentation: of those a file of 3 MiB has no more than 2,500."""
    return sum(map(document.count, "[{-?")) <= _DEEPEST


def _weigh(value: Any, known: dict[int, int]) -> int:
    """Count the values that it expands to; what aliases share counts once. Raises ValueError when they are too many."""
    if not isinstance(value, dict | list):
        return 1
    if id(value) not in known:
        known[id(value)] = _MOST_NODES  # met again while it is being weighed, it contains itself
        known[id(value)] = 1 + sum(
            _weigh(each, known) for each in (value.values() if isinstance(value, dict) else value)
        )
        if known[id(value)] > _MOST_NODES:
            raise ValueError(f"its aliases stand for more than {_MOST_NODES} values; write it without them")
    return known[id(value)]


def _problems(document: tuple[Any, str]) -> Iterator[str]:
    obj, place = document
    if obj is None:
        return
    if not isinstance(obj, dict):
        yield f"{place}: an object is expected, this is {_sort(obj)}"
        return
    for field in ("apiVersion", "kind"):
        if not isinstance(obj.get(field), str) or not obj[field]:
            yield f"{place}: {field} is missing"
    metadata = obj.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(name, str) or not name:
        said = f" (it is {_sort(name)}; put it in quotes)" if name is not None and not isinstance(name, str) else ""
        yield f"{place}: metadata.name is missing{said}"
    try:
        json.dumps(obj, allow_nan=False)
    except (TypeError, ValueError) as problem:
        yield f"{place}: a value cannot be said in JSON: {problem}"


def _sort(value: Any) -> str:
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a text", list: "a list", dict: "an object"}
    return names.get(type(value), "nothing")


def _refuse_template(documents: list[ManifestDocument], shown: str) -> None:
    """Refuse variables in names only: the scripts in a ConfigMap have variables of their own."""
    unfilled = {name for each in documents for name in _VARIABLE.findall(f"{each.name} {each.namespace}")}
    if unfilled:
        raise CliError(
            f"{shown} is a template: fill in {', '.join(sorted(unfilled))} and its other variables first, "
            f"for example with: clusterctl generate yaml --from {shown}"
        )


def _refuse_twins(documents: list[ManifestDocument], shown: str) -> None:
    first: dict[tuple[str, str, str, str], str] = {}
    twins = []
    for each in documents:
        group = each.api_version.rpartition("/")[0]
        place = first.setdefault((group, each.kind, each.namespace, each.name), each.place)
        if place != each.place:
            twins.append(f"{each.place}: {each.kind} {each.name} is already in {place}")
    if twins:
        raise CliError(f"{shown} names an object twice; keep one of each", twins)


def _refuse_elsewhere(documents: list[ManifestDocument], namespace: str) -> None:
    """Refuse other namespaces, as kubectl does: with -n nothing may happen in another one."""
    elsewhere = [
        f"{each.place}: {each.kind} {each.name}: metadata.namespace is {each.namespace}"
        for each in documents
        if namespace and each.namespace not in ("", namespace)
    ]
    if elsewhere:
        raise CliError(f"-n {namespace} contradicts the manifest; leave one of them out", elsewhere)
