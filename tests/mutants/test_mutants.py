"""The lists of mutants fit the sources, and a trial distinguishes killed mutants from surviving ones."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import coverage
import pytest

from harness.source_state import ROOT
from mutants import generated, recording
from mutants.reach import Reach
from mutants.rows import Edit, Moved, Mutant, edit, read
from mutants.trying import Copy, Verdict

PACKAGE = ROOT / "src" / "freehold"
SOURCE = '''
LIMIT = 3


class Queue:
    """Text is no code: self.waiting."""

    def take(self, key):
        if key in self.waiting:
            return self.waiting[key]
        for other in (
            1,
            2,
        ):
            self.waiting.pop(other)
        return None

    def put(self, key):
        self.waiting[key] = key
'''


def row(function: str, old: str, new: str, nth: int = 0) -> Mutant:
    return Mutant("a.py", function, old, new, "why", nth)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text(SOURCE)
    return tmp_path


def test_every_row_still_applies() -> None:
    """A row must follow a line that moves: otherwise the list would become outdated unnoticed."""
    moved = []
    for mutant in read():
        try:
            edit(mutant, PACKAGE)
        except Moved as problem:
            moved.append(str(problem))
    assert moved == []
    assert len({replace(each, why="") for each in read()}) == len(read()) >= 150


def test_every_equivalent_is_still_generated() -> None:
    """Its reason is about code that says something else now, or that has gone."""
    made = {generated.key(each) for file in generated.SAFETY for each, *_ in generated.made(file, PACKAGE)}
    assert generated.equivalents().keys() - made == set()


@pytest.mark.parametrize(
    ("mutant", "line", "changed", "lines"),
    [
        (row("Queue.take", "if key in self.waiting:", "if False:"), 9, "        if False:", {9}),
        (row("Queue.take", "self.waiting", "{}", nth=2), 10, "            return {}[key]", {10}),
        (row("Queue.take", "            2,", "            4,"), 13, "            4,", {11, 12, 13, 14}),
        (row("Queue.put", "self.waiting[key] = key", "pass"), 19, "        pass", {19}),
        (row("LIMIT", "3", "0"), 2, "LIMIT = 0", {*range(9, 17), 19}),
    ],
    ids=[
        "a condition",
        "the second of several",
        "the whole head",
        "the same text elsewhere",
        "at import: all functions",
    ],
)
def test_an_edit_is_made_where_the_row_says_and_its_statement_chooses_the_tests(
    package: Path, mutant: Mutant, line: int, changed: str, lines: set[int]
) -> None:
    made = edit(mutant, package)
    differ = [
        (place, new)
        for place, (new, old) in enumerate(zip(made.text.split("\n"), SOURCE.split("\n"), strict=True), 1)
        if new != old
    ]
    assert differ == [(line, changed)]
    assert made.lines == lines


@pytest.mark.parametrize(
    ("mutant", "said"),
    [
        (replace(row("Queue.take", "return", "pass"), file="b.py"), "there is no such file"),
        (row("Queue.give", "return None", "pass"), "there is no Queue.give in a.py"),
        (row("Queue.take", "self.lost", "{}"), "no longer has 'self.lost'"),
        (row("Queue.take", "self.waiting", "{}"), "occurs 3 times; say which"),
        (row("Queue.take", "self.waiting", "{}", nth=4), "no longer has"),
        (row("Queue.take", "return None", "return None  # nothing"), "the edit changes nothing"),
        (row("Queue.take", "return None", "return ("), "does not parse"),
    ],
)
def test_a_row_that_no_longer_fits_is_named(package: Path, mutant: Mutant, said: str) -> None:
    with pytest.raises(Moved, match=rf"[ab]\.py .*{said}".replace("(", r"\(")):
        edit(mutant, package)


def test_generated_edits_are_those_of_a_careless_author(tmp_path: Path) -> None:
    """Each operator once; words are left out, and a name that is edited twice in a function is counted."""
    (tmp_path / "a.py").write_text(
        "def f(a: A | None, b, c):\n"
        "    if not a and b < 3:\n"
        "        raise E(f'{a and b}', a or b)\n"
        "    c.d = a - b\n"
        "    send(c)\n"
        "    return [x for x in c if x]\n"
    )
    made = [(each.old.partition("\n")[0], each.new) for each, _ in generated.edits("a.py", tmp_path)]
    assert made == [
        ("not a and b < 3", "not a or b < 3"), ("not a and b < 3", "b < 3"), ("not a and b < 3", "not a"),
        ("not a", "a"), ("b < 3", "b >= 3"), ("b < 3", "b <= 3"), ("3", "4"),
        ("raise E(f'{a and b}', a or b)", "pass"), ("c.d = a - b", "pass"), ("a - b", "a"), ("send(c)", "pass"),
        ("return [x for x in c if x]", "return None"), ("x", "not x"),
    ]  # fmt: skip


def test_the_files_own_unit_tests_are_tried_first_and_of_each_the_quickest() -> None:
    """A scenario reaches nearly every line, and takes seconds where a unit test is immediate."""
    own, slow, other = "tests/unit/ibm/a::x", "tests/unit/ibm/a::y", "tests/unit/controllers/a::z"
    story, failing = "tests/scenario/a::s", "tests/unit/ibm/a::broken"
    seconds = {story: 0.1, slow: 2.0, own: 1.0, other: 0.01}
    reach = Reach(
        seconds, {"providers/ibm/kinds/vpc.py": {7: frozenset({own, slow, story, failing}), 8: frozenset({other})}}
    )
    assert reach.tests("providers/ibm/kinds/vpc.py", [7, 8, 9]) == [own, slow, other, story]
    assert reach.tests("providers/ibm/tags.py", [7]) == []


def test_a_line_is_recorded_for_every_test_that_reaches_it(tmp_path: Path) -> None:
    """Else the second test that reaches a line is never asked, and a mutant survives that it would kill."""
    code = tmp_path / "measured" / "code.py"
    code.parent.mkdir()
    code.write_text("def add(a, b):\n    return a + b\n\n\ndef unused():\n    return 0\n")
    (tmp_path / "test_a.py").write_text(
        "from code_of import add\ndef test_one(): assert add(1, 1) == 2\ndef test_two(): assert add(1, 2) == 3\n"
    )
    (tmp_path / "code_of.py").write_text(f"exec(compile(open({str(code)!r}).read(), {str(code)!r}, 'exec'))\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "mutants.recording", "test_a.py"]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(ROOT / "tests"), str(tmp_path))),
        recording.FOLDER: str(tmp_path),
        recording.MEASURED: str(code.parent),
    }
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
    (found,) = tmp_path.glob("lines.*")
    data = coverage.CoverageData(str(found))
    data.read()
    reached = {line: {test for test in tests if test} for line, tests in data.contexts_by_lineno(str(code)).items()}
    assert reached[2] == {"test_a.py::test_one", "test_a.py::test_two"}
    assert not reached.get(6)


@pytest.fixture(scope="module")
def copy() -> Iterator[Copy]:
    with Copy(ROOT) as found:
        yield found


# One row with the test that kills it: `make mutants` tries all of them.
MUTANT = next(each for each in read() if each.function == "read_proven_status")
KILLER = "tests/unit/controllers/test_controllers_identity.py::test_a_recreated_object_gets_a_new_identity"


def test_a_mutant_is_killed_by_the_test_of_its_line_and_the_copy_is_put_back(copy: Copy) -> None:
    """A trial that kills everything would show nothing: without the edit the same test passes."""
    tried = copy.attempt(MUTANT, edit(MUTANT, PACKAGE), {KILLER: 1.0})
    assert (tried.verdict, tried.by) == (Verdict.KILLED, KILLER)
    same = Edit((PACKAGE / MUTANT.file).read_text(), frozenset())
    assert copy.attempt(MUTANT, same, {KILLER: 1.0}).verdict is Verdict.SURVIVED


def test_an_edit_with_which_a_module_of_tests_cannot_be_collected_is_noticed(copy: Copy) -> None:
    """Some of them run the engine when they are imported, to know their parameters."""
    failing = Edit("raise KeyError('an edit')\n", frozenset())
    tried = copy.attempt(MUTANT, failing, {KILLER: 1.0})
    assert tried.verdict is Verdict.KILLED and tried.by.endswith("(it cannot be collected)")


@pytest.mark.parametrize(
    "test", ["tests/unit/controllers/test_controllers_objects.py::test_gone", "test_broken.py::test_one"]
)
def test_a_trial_that_fails_without_the_edit_too_is_not_a_kill(copy: Copy, tmp_path: Path, test: str) -> None:
    """A missing test shows nothing, nor does a module that somebody edits while it is tried."""
    module = tmp_path / "test_broken.py"
    module.write_text("from freehold import nothing_of_this_name\n")
    tried = copy.attempt(MUTANT, edit(MUTANT, PACKAGE), {test.replace("test_broken.py", str(module)): 1.0})
    assert tried.verdict is Verdict.BROKEN
