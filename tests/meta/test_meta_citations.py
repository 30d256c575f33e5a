"""The repository cites only what it contains, and retired identifiers are not used again."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HERE = Path(__file__)
FOLDERS = ("src", "tests", "benchmarks", "docs", "deploy", "examples")
SUFFIXES = (".py", ".md", ".toml", ".yaml", ".yml", ".json", ".txt")
NOT_OURS = (ROOT / "tests" / "data", ROOT / "tests" / "fixtures")

PRIVATE = {
    "a section of a document that is not in the repository": (
        r"\b(design|reference|contract)\s+§|\.md(``|`)?\s+§",
        ("§",),
    ),
    "a document by its number": (r"\bseeds? (docs? )?0\d\d\b|\bseeds/", ("seed",)),
    "an issue that is not named as PROJECT#N": (r"\bissues?( item)? #?\d+\b|\bissue, item \d", ("issue",)),
    "a page of docs/reference without its path": (
        r"(?<![\w/(\[-])(ibm-cloud|aws|capi-contract|kubernetes|reliability)\.md\b|\bcapi-contract (\d|M\d|O\d|§)",
        (".md", "capi-contract"),
    ),
    "a page that is not in the repository": (
        r"(?<![\w-])(kubernetes-client|style-anchors|tags|design)\.md\b",
        (".md",),
    ),
    "a path of one machine": (
        r"(?<![\w.])/(work|home|root|Users)/\w",
        ("work/", "home/", "root/", "users/"),
    ),
}
"""The pattern of each, and the words of which any match has one: most files have none of them, and the patterns of all
files take five CPU-seconds."""

_RETIRED = """
Work Pass Tools Pace Memory marking syncing attested bears_birth born_here birth_words testified reconsider rehearsal
births Came Folded LetGo Occupied PeerInstalled Happening Caller Watchmaker Wish Picture Surroundings
last_look powervs_notes powervs_table powervs_wanted surroundings
strays hurry testify Wakes wakes HURRY_SECONDS look_again _look_whether_settled told_of looked_for _untold _says_missing
WouldWrite PlanPort planning_deps map_cluster _with_tools
PassInHand LookPort StandInTagger StrippedDriver RemainsDriver own_look_due in_the_way if_taken parts_refused
"""
RETIRED = frozenset(_RETIRED.split())
"""Names that were replaced (ARCHITECTURE.md has the present ones)."""

CITED = re.compile(
    r"(?<![\w/.-])(?P<path>docs/[\w./-]*\w)/?"
    r"(?P<anchors>#[\w-]+(?:, #[\w-]+)*)?(?P<rows> [A-Z]\d+(?:(?:,| to| and) [A-Z]\d+)*)?"
)
LINK = re.compile(r"\[[^\]\n]*\]\((?P<target>[^)\s]+)\)")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
IN_MARKDOWN = re.compile(r"`((?:src|tests|docs|deploy|examples|benchmarks)/[\w./-]+)`")


def _files() -> list[Path]:
    """Every text file of ours, except this test."""
    found = [path for path in ROOT.iterdir() if path.is_file() and (path.suffix in SUFFIXES or path.name in _PLAIN)]
    for folder in FOLDERS:
        found += [path for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES]
    return [path for path in sorted(found) if path != HERE and not any(path.is_relative_to(each) for each in NOT_OURS)]


_PLAIN = ("Makefile", ".importlinter", ".pre-commit-config.yaml")


@cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _markdown() -> list[Path]:
    return [path for path in _files() if path.suffix == ".md"]


@cache
def _anchors(page: Path) -> frozenset[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    seen: Counter[str] = Counter()
    anchors = set(re.findall(r'<a (?:name|id)="([^"]+)"', _text(page)))
    for heading in re.findall(r"^#{1,6} +(.+?) *#*$", FENCE.sub("", _text(page)), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        anchors.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return frozenset(anchors)


@cache
def _rows(page: Path) -> tuple[str, ...]:
    """The numbers of a page's rows."""
    return tuple(re.findall(r"^\| ([A-Z]\d+) \|", _text(page), re.MULTILINE))


@pytest.mark.parametrize("what", PRIVATE)
def test_nothing_is_cited_that_is_not_public(what: str) -> None:
    pattern, words = PRIVATE[what]
    found = {
        f"{_name(path)}: {hit[0]!r}"
        for path in _files()
        if any(word in _text(path).lower() for word in words)
        for hit in re.finditer(pattern, _text(path), re.IGNORECASE)
    }
    assert found == set(), f"cite the vendor's page, PROJECT#N, or a page of docs/ instead of {what}"


def _problems(path: Path, page: Path, anchors: list[str], rows: list[str]) -> Iterator[str]:
    if not page.exists():
        yield f"{_name(path)}: {_name(page)} does not exist"
        return
    for anchor in anchors:
        if page.suffix == ".md" and anchor not in _anchors(page):
            yield f"{_name(path)}: {_name(page)} has no heading #{anchor}"
    for row in rows:
        if row not in _rows(page):
            yield f"{_name(path)}: {_name(page)} has no row {row}"


def test_every_citation_of_docs_resolves() -> None:
    """The page, its headings and its numbered rows."""
    problems = set()
    for path in _files():
        for cited in CITED.finditer(_text(path)):
            anchors = re.findall(r"#([\w-]+)", cited["anchors"] or "")
            problems |= set(_problems(path, ROOT / cited["path"], anchors, re.findall(r"\w+\d", cited["rows"] or "")))
    assert problems == set()


def test_every_cited_decision_exists() -> None:
    decisions = {int(path.name[:4]) for path in (ROOT / "docs" / "adr").glob("[0-9]*.md")}
    missing = {
        f"{_name(path)}: ADR {number}"
        for path in _files()
        for hit in re.finditer(r"\bADRs? (\d+(?:(?:, | and )\d+)*)", _text(path))
        for number in re.findall(r"\d+", hit[1])
        if int(number) not in decisions
    }
    assert missing == set()


def test_no_link_is_dead() -> None:
    """Relative links, their anchors, and the paths that Markdown names."""
    problems = set()
    for path in _markdown():
        text = FENCE.sub("", _text(path))
        for link in LINK.finditer(re.sub(r"`[^`\n]*`", "", text)):
            target, _, anchor = link["target"].partition("#")
            if not re.match(r"[a-z]+:", target):
                page = (path.parent / target).resolve() if target else path
                problems |= set(_problems(path, page, [anchor] if anchor else [], []))
        for named in IN_MARKDOWN.findall(text):
            problems |= set(_problems(path, ROOT / named, [], []))
    assert problems == set()


def test_each_number_is_given_once() -> None:
    """Code cites rows by number, so a number must be unique."""
    pages = (ROOT / "docs" / "reference").glob("*.md")
    twice = {f"{page.name} {row}" for page in pages for row, times in Counter(_rows(page)).items() if times > 1}
    assert twice == set()


def test_every_reference_page_is_in_its_index() -> None:
    index = _text(ROOT / "docs" / "reference" / "README.md")
    assert {page.name for page in (ROOT / "docs" / "reference").glob("*.md") if f"({page.name})" not in index} == {
        "README.md"
    }


def _identifiers(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Names, attributes, parameters, definitions and modules; not words in texts, where they may be plain English."""
    for node in ast.walk(tree):
        for field in ("id", "attr", "name", "arg", "asname", "module"):
            value = getattr(node, field, None)
            if isinstance(value, str):
                yield from ((part, getattr(node, "lineno", 0)) for part in value.split("."))


def test_no_retired_identifier_comes_back() -> None:
    """Only files that have such a word are parsed: to parse all takes four CPU-seconds."""
    words = re.compile(rf"\b(?:{'|'.join(RETIRED)})\b")
    found = {
        f"{_name(path)}:{line} {name}"
        for path in _files()
        if path.suffix == ".py" and (words.search(_text(path)) or path.stem in RETIRED)
        for name, line in [(path.stem, 0), *_identifiers(ast.parse(_text(path)))]
        if name in RETIRED
    }
    assert found == set()
