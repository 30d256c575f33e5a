"""What the tree is like to who reads it: lines and files by room, names in more than one meaning, ways through it.

Nothing here runs what is measured but for two ways: from a reconcile to ``CreateVpc`` and from a tag object to
``CreateTags``, read from Python's own stack at the request that the simulated AWS gets. Rooms are found from the
folders, so that the rows follow the files. The rules:

- A *room* is a folder below ``src/freehold``; below ``providers`` each folder is one. ``apiserver`` is not counted: it
  imports nothing of freehold, and is a package of its own wherever it lies. Lines are all lines of a file.
- *Metadata controller*: the room ``tags`` (``tagging`` and ``metadata`` before), its part in providers, and those named
  ``tags_*.py``, as its commands are.
- *Ambiguous*: a name that more than one ``class`` statement in the tree defines.
- *Bare*: a function or method whose whole name, without leading underscores, is a participle or a preposition
  (:data:`PREPOSITIONS`, :data:`PARTICIPLES`, or one word in ``-ed``): the call site does not say what is done to what.
  A property is a value, and may be called so.
- *Frames*: calls of functions in ``src/freehold``, from the one named ``reconcile`` to the one that hands the request
  to botocore; comprehensions do not count. *Files*: those that the frames are in.
- *A new kind*: of a kind of resource whose name has two words (the files of folders ``kinds``), how many other files
  have its name as a string, or import its file; of a kind of object, how many files outside its adapter's folder have
  its name in an identifier, an import or a string that is no docstring. Docstrings and comments do not count.
"""

from __future__ import annotations

import ast
import asyncio
import json
import re
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CoroutineType, FrameType
from typing import Any

from benchmarks.rows import Row
from freehold_sim.aws.cloud import SimulatedAWS
from freehold_sim.http import Request, Response

ROOT = Path(__file__).parent.parent
SOURCE, TESTS = ROOT / "src" / "freehold", ROOT / "tests"
BEFORE = Path(__file__).with_name("house_before.json")
"""The rows of commit d3e8d964, before the rooms moved, by name."""
SOURCE_OF_TARGETS = "target of this project for the tree"
TARGETS: Mapping[str, float] = {
    "house.src.lines": 55_000,
    "house.files": 400,
    "house.tests.lines": 85_000,
    "house.metadata.lines": 6_500,
    "house.create_tags.frames": 14,
    "house.create_tags.files": 6,
    "house.new_object.files": 1,
}
OBJECT = "AWSCluster"
"""The kind of object that is looked for outside its folder."""
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
COMPREHENSIONS = frozenset({"<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"})
_PREPOSITIONS = """
about above across after against among around as at before behind below beside besides between beyond but by down
during for from in inside into like near of off on onto out outside over past per since than through till to toward
towards under until up upon via with within without
"""
_PARTICIPLES = """
begun been bought broken brought built caught chosen done drawn driven fallen felt found given gone gotten grown had
heard held hidden kept knew known laid led left lent lost made meant met mine ours paid said seen sent shown sold
spelt spent spoken stood struck stuck sworn swept taken taught theirs thought thrown told torn understood went won
worn written
"""
"""Irregular ones, without those that are imperatives too (read, put, set, cut)."""
PREPOSITIONS, PARTICIPLES = frozenset(_PREPOSITIONS.split()), frozenset(_PARTICIPLES.split())
NO_PARTICIPLES = frozenset({"bed", "embed", "exceed", "feed", "need", "proceed", "seed", "shed", "speed", "succeed"})


def measure() -> Iterator[Row]:
    """Measure every row. A room that has gone since has a row of 0, beside what it was."""
    found = {**_sizes(), **_names(), **_docstrings(), **_ways(), **_new_kinds()}
    before: dict[str, float] = json.loads(BEFORE.read_text()) if BEFORE.exists() else {}
    for name in sorted(found | before):
        was = f"{before[name]:,g} before" if name in before else ""
        target = TARGETS.get(name)
        yield Row(
            name, found.get(name, 0), _unit(name), target, was, SOURCE_OF_TARGETS if target else "benchmarks/house.py"
        )


def _unit(name: str) -> str:
    words = ("lines", "files", "frames", "docstrings", "class_names", "function_names")
    return next(word for word in words if word in name.split(".")).replace("_", " ")


# -- sizes ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SourceFile:
    """A module, its path below ``src/freehold``, and its syntax tree."""

    path: Path
    text: str
    tree: ast.Module

    @property
    def lines(self) -> int:
        return self.text.count("\n")

    @property
    def room(self) -> str:
        folders = self.path.parts[:-1]
        depth = 2 if folders[:1] == ("providers",) else 1
        return ".".join(folders[:depth]) or "top"

    @property
    def module(self) -> str:
        return ".".join(("freehold", *self.path.with_suffix("").parts))


@cache
def _source() -> tuple[SourceFile, ...]:
    return tuple(
        SourceFile(path.relative_to(SOURCE), text := path.read_text(), ast.parse(text))
        for path in sorted(SOURCE.rglob("*.py"))
        if path.relative_to(SOURCE).parts[0] != "apiserver"
    )


def _sizes() -> dict[str, float]:
    lines, files = Counter[str](), Counter[str]()
    for each in _source():
        lines[each.room] += each.lines
        files[each.room] += 1
    rooms = {f"house.src.lines.{room}": count for room, count in lines.items()}
    rooms |= {f"house.src.files.{room}": count for room, count in files.items()}
    return {
        **rooms,
        "house.src.lines": lines.total(),
        "house.files": files.total(),
        "house.tests.lines": sum(path.read_text().count("\n") for path in TESTS.rglob("*.py")),
        "house.metadata.lines": sum(each.lines for each in _source() if _is_of_metadata(each.path)),
    }


def _is_of_metadata(path: Path) -> bool:
    of_provider = path.name in ("dialect.py", "endpoints.py") and path.parent.name == "tags"
    of_room = path.parts[0] in ("tagging", "tags") or "metadata" in path.parts[:-1]
    return of_room or of_provider or path.name.startswith(("tags_", "tag_dialect", "tag_endpoints"))


# -- names and sentences ------------------------------------------------------------------------------------------


def _names() -> dict[str, float]:
    nodes = [node for each in _source() for node in ast.walk(each.tree)]
    classes = Counter(node.name for node in nodes if isinstance(node, ast.ClassDef))
    return {
        "house.class_names.ambiguous": sum(count > 1 for count in classes.values()),
        "house.function_names.bare": len(find_bare_functions()),
    }


def find_bare_functions() -> list[str]:
    """Find the functions and methods whose name is bare, sorted."""
    nodes = (node for each in _source() for node in ast.walk(each.tree))
    named = (node.name for node in nodes if isinstance(node, FUNCTIONS) and not _is_property(node))
    return sorted(filter(is_bare, named))


def is_bare(name: str) -> bool:
    """Return whether a function's name is a participle or a preposition and no more."""
    word = name.lstrip("_")
    ends = word.endswith("ed") and word.isalpha() and word not in NO_PARTICIPLES
    return ends or word in PREPOSITIONS or word in PARTICIPLES


def _is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return bool(
        {"property", "cached_property"} & {ast.unparse(each).rpartition(".")[2] for each in node.decorator_list}
    )


def _docstrings() -> dict[str, float]:
    """Count what ruff reports of D401: docstrings of functions that do not begin in the imperative."""
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "D401", "--output-format", "json"]
    done = subprocess.run(
        [*command, "--exclude", "apiserver", str(SOURCE)], capture_output=True, text=True, check=False
    )
    return {"house.docstrings.not_imperative": len(json.loads(done.stdout))}


# -- ways through the tree ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Way:
    """The functions of freehold between a reconcile and a request, outermost first, as ``file:function``."""

    steps: tuple[str, ...]

    @property
    def files(self) -> int:
        return len({step.partition(":")[0] for step in self.steps})


class Watched:
    """The way to the first request with this action."""

    def __init__(self, action: str) -> None:
        self._action = action
        self.way: Way | None = None

    def look(self, request: Request) -> None:
        if self.way is None and f"Action={self._action}&".encode() in request.body + b"&":
            steps = [*_steps(sys._getframe())][::-1]
            if not any(step.endswith("reconcile") for step in steps):  # in a task that the reconcile waits for
                steps = [*_waiting_steps(), *steps]
            begins = next(n for n, step in enumerate(steps) if step.rpartition(".")[2] == "reconcile")
            self.way = Way(tuple(steps[begins:]))


def _steps(frame: FrameType | None) -> Iterator[str]:
    """Yield the calls of freehold from the innermost frame outwards."""
    while frame is not None:
        code, frame = frame.f_code, frame.f_back
        if Path(code.co_filename).is_relative_to(SOURCE) and code.co_name not in COMPREHENSIONS:
            yield f"{Path(code.co_filename).relative_to(SOURCE)}:{code.co_qualname}"


def _waiting_steps() -> Iterator[str]:
    """Yield the calls of the task that is in a reconcile, from the outermost inwards."""
    for task in asyncio.all_tasks():
        steps = list[str]()
        waiting: Any = task.get_coro()
        while isinstance(waiting, CoroutineType) and waiting.cr_frame is not None:
            steps += [step for step in _steps(waiting.cr_frame) if step not in steps]
            waiting = waiting.cr_await
        if any(step.endswith("reconcile") for step in steps):
            yield from steps


def _ways() -> dict[str, float]:
    found: dict[str, float] = {}
    for name, way in (("create_vpc", way_to_create_vpc()), ("create_tags", asyncio.run(way_to_create_tags()))):
        found |= {f"house.{name}.frames": len(way.steps), f"house.{name}.files": way.files}
    return found


def way_to_create_vpc() -> Way:
    """Run an AWSCluster until CreateVpc is sent, and return the calls from its reconcile to there."""
    from harness.aws_cluster import AwsHarness

    watched = Watched("CreateVpc")

    class Cloud(SimulatedAWS):
        def handle(self, request: Request, actor: str = "api") -> Response:
            watched.look(request)
            return super().handle(request, actor)

    class Watching(AwsHarness):
        def new_cloud(self) -> SimulatedAWS:
            return Cloud(self.clock, None)

    harness = Watching()
    harness.run(lambda: watched.way is not None)
    assert watched.way is not None
    return watched.way


async def way_to_create_tags() -> Way:
    """Run a CloudMetadata whose tags no resource has, and return the calls from its reconcile to CreateTags."""
    from harness.metadata import WANTED, Lab

    lab, watched = Lab(), Watched("CreateTags")
    handle = lab.account.cloud.handle

    def watching(request: Request, actor: str = "api") -> Response:
        watched.look(request)
        return handle(request, actor)

    lab.groups(1)
    await lab.tags("awstags", WANTED)
    await lab.cloud("metadata", "awstags")
    lab.account.cloud.handle = watching  # type: ignore[method-assign]  # the one request that is watched for
    await lab.settle()
    assert watched.way is not None
    return watched.way


# -- what a new kind touches --------------------------------------------------------------------------------------


def _new_kinds() -> dict[str, float]:
    kinds = [each for each in _source() if each.path.parent.name == "kinds" and "_" in each.path.stem.strip("_")]
    return {
        "house.new_kind.files": statistics.median(len(touched_by_kind(kind)) for kind in kinds),
        "house.new_object.files": len(touched_by_object(OBJECT)),
    }


def touched_by_kind(kind: SourceFile) -> Sequence[str]:
    """List the other files that know a kind of resource by its name."""
    name, stem = kind.path.stem.replace("_", "-"), kind.path.stem
    return [
        str(each.path)
        for each in _source()
        if each is not kind and (name in _strings(each) or f"{kind.module.rpartition('.')[0]}.{stem}" in _imports(each))
    ]


def touched_by_object(kind: str) -> Sequence[str]:
    """List the files outside the adapter's folder that know a kind of object by its name, however it is spelled."""
    homes = {each.path.parent for each in _source() for node in each.tree.body if _is_adapter(node, kind)}
    if len(homes) != 1:
        raise ValueError(
            f"class {kind}Adapter is in {len(homes)} folders: say in benchmarks/house.py how to find its own"
        )
    (home,) = homes
    called = re.compile(f"{kind.lower()}(?!controller|role|static|identit)")
    return [
        str(each.path)
        for each in _source()
        if not each.path.is_relative_to(home)
        and any(called.search(re.sub("[^a-z]", "", word.lower())) for word in _words(each))
    ]


def _is_adapter(node: ast.stmt, kind: str) -> bool:
    return isinstance(node, ast.ClassDef) and node.name == f"{kind}Adapter"


@cache
def _strings(source: SourceFile) -> frozenset[str]:
    """Return the string constants that are no docstrings."""
    told = {id(node.value) for node in ast.walk(source.tree) if isinstance(node, ast.Expr)}
    constants = (n for n in ast.walk(source.tree) if isinstance(n, ast.Constant) and id(n) not in told)
    return frozenset(node.value for node in constants if isinstance(node.value, str))


@cache
def _imports(source: SourceFile) -> frozenset[str]:
    found: set[str] = set()
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ImportFrom):
            found |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return frozenset(found)


def _words(source: SourceFile) -> Iterator[str]:
    """Yield identifiers, imported modules and strings of one word."""
    yield from _imports(source)
    yield from (text for text in _strings(source) if " " not in text)
    for node in ast.walk(source.tree):
        name: Any = getattr(node, "name", getattr(node, "id", getattr(node, "attr", "")))
        if isinstance(name, str):
            yield name
