"""Nothing outside ``providers`` names a cloud: a third one is added there, and the rest asks PROVIDERS.

Names and texts of the code count, also those in f-strings; docstrings and comments may give a cloud as an example.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "src/freehold"
OWN = ("providers/aws/*", "providers/ibm/*", "demo/*", "cli/demo/*")
"""Each cloud's own folder, and the acts of the demo."""

EXCEPTIONS = {
    "providers/registry.py": "it is the list",
    "api/names.py": "names of annotations that upstream has given them",
    "tags/policy/protected.py": "keys that controllers of the clouds own, which no metadata object may change anywhere",
    "cli/*state_directory.py": "words in the files of state directories, which earlier versions wrote",
}
"""Files that name a cloud for good, and why."""

STILL_TO_MOVE = {
    "api/metadata.py": "CloudMetadata has a field for the reference to each provider's object",
    "api/tag_sentences.py": "what each cloud refuses in a tag, in the words of schema and controller",
    "api/patterns.py": "what a pattern of a schema allows, in words, for parsing and for commands",
    "cli/*tags_*.py": "login, and the choices of --cloud",
    "cli/*logins.py": "the credentials that a state directory uses",
}
"""Files that name a cloud today, and what is to move into its provider."""

_CLOUD = re.compile(r"(?<![A-Za-z])(?i:aws|ibm|powervs|amazon)|(?<=[a-z])(?:AWS|Aws|IBM|Ibm|PowerVS|Amazon)")
"""A word, or the part of a word that begins in a capital: ``AWSCluster``, ``is_aws``, not ``draws``."""


def cloud_names(source: str) -> Iterator[tuple[int, str]]:
    """Each identifier and text of the code that names a cloud, with its line."""
    if not re.search("aws|ibm|powervs|amazon", source, re.IGNORECASE):
        return  # to look costs less than to parse
    tree = ast.parse(source)
    bare = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)}
    for node in ast.walk(tree):
        for text in _texts(node):
            if id(node) not in bare and _CLOUD.search(text):
                yield getattr(node, "lineno", 0), text


def _texts(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=text) | ast.Attribute(attr=text) | ast.arg(arg=text) | ast.Constant(value=str(text)):
            yield text
        case ast.ClassDef(name=text) | ast.FunctionDef(name=text) | ast.AsyncFunctionDef(name=text):
            yield text
        case ast.ImportFrom(module=str(text)) | ast.keyword(arg=str(text)):
            yield text
        case ast.alias(name=text, asname=other):
            yield from filter(None, (text, other))


@cache
def _found() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in sorted(SOURCES.rglob("*.py")):
        name = path.relative_to(SOURCES).as_posix()
        if not any(fnmatch(name, pattern) for pattern in OWN):
            for line, text in cloud_names(path.read_text(encoding="utf-8")):
                found.setdefault(name, []).append(f"{name}:{line}: {text}")
    return found


def test_only_the_listed_files_name_a_cloud() -> None:
    allowed = (*EXCEPTIONS, *STILL_TO_MOVE)
    found = [
        line
        for name, lines in _found().items()
        if not any(fnmatch(name, pattern) for pattern in allowed)
        for line in lines
    ]
    assert not found, "ask PROVIDERS, or move it to the provider:\n" + "\n".join(found)


def test_each_exception_is_needed() -> None:
    names = _found()
    listed = (*EXCEPTIONS, *STILL_TO_MOVE)
    assert [pattern for pattern in listed if not any(fnmatch(name, pattern) for name in names)] == []


@pytest.mark.parametrize(
    "source",
    [
        "AWS_KEY = 1",
        "def is_aws(): ...",
        "class MyAwsThing: ...",
        "from freehold.providers.ibm import names",
        "import freehold.providers as aws",
        "f(ibm_key=1)",
        'x = f"{y} of IBM Cloud"',
        'x = "infrastructure-aws"',
        'x = "listAWSClusters"',
        "x.powervs.y",
    ],
)
def test_names_and_texts_count(source: str) -> None:
    assert list(cloud_names(source))


@pytest.mark.parametrize("source", ['"""As on AWS."""', 'x = 1\n"""As on AWS."""', "x = 'withdraws'", "flaws = draws"])
def test_docstrings_and_other_words_do_not_count(source: str) -> None:
    assert not list(cloud_names(source))
