"""The list of mutants fits the sources, and a trial distinguishes killed mutants from surviving ones."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import coverage
import pytest

from harness.source_state import ROOT
from mutants import recording
from mutants.catalogue import MUTANTS
from mutants.reach import Reach
from mutants.rows import Edit, Moved, Mutant, edit
from mutants.trying import Copy, Verdict

PACKAGE = ROOT / "src" / "freehold"
SAMPLE = [row for row in MUTANTS if row.killed_by]

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
    for mutant in MUTANTS:
        try:
            edit(mutant, PACKAGE)
        except Moved as problem:
            moved.append(str(problem))
    assert moved == []


def test_the_list_is_long_enough_and_has_no_row_twice() -> None:
    """Two equal rows would count one kill twice."""
    assert len(MUTANTS) >= 150
    edits = Counter((each.file, each.function, each.old, each.new, each.nth) for each in MUTANTS)
    assert [twice for twice, times in edits.items() if times > 1] == []


@pytest.mark.parametrize(
    ("mutant", "line", "changed"),
    [
        (row("Queue.take", "if key in self.waiting:", "if False:"), 9, "        if False:"),
        (row("Queue.take", "self.waiting", "{}", nth=2), 10, "            return {}[key]"),
        (row("Queue.put", "self.waiting[key] = key", "pass"), 19, "        pass"),
        (row("LIMIT", "3", "0"), 2, "LIMIT = 0"),
    ],
    ids=["once", "the second of several", "the same text in another function", "a name of the module"],
)
def test_an_edit_is_made_where_the_row_says(package: Path, mutant: Mutant, line: int, changed: str) -> None:
    after, before = edit(mutant, package).text.splitlines(), SOURCE.splitlines()
    assert after[line - 1] == changed
    assert [text for place, text in enumerate(after, 1) if place != line] == [
        text for place, text in enumerate(before, 1) if place != line
    ]


@pytest.mark.parametrize(
    ("mutant", "lines"),
    [
        (row("Queue.take", "if key in self.waiting:", "if False:"), {9}),
        (row("Queue.take", "            2,\n", ""), {11, 12, 13, 14}),
        (row("Queue.take", "self.waiting.pop(other)", "pass"), {15}),
        (row("LIMIT", "3", "0"), {*range(9, 17), 19}),
    ],
    ids=["the condition, not its body", "the whole head of a statement", "one line", "at import: all functions"],
)
def test_tests_are_chosen_by_the_statements_that_are_edited(package: Path, mutant: Mutant, lines: set[int]) -> None:
    assert edit(mutant, package).lines >= lines
    assert 19 not in edit(mutant, package).lines or mutant.function == "LIMIT"


@pytest.mark.parametrize(
    ("mutant", "said"),
    [
        (replace(row("Queue.take", "return", "pass"), file="b.py"), "there is no such file"),
        (row("Queue.give", "return None", "pass"), "there is no Queue.give in a.py"),
        (row("Queue.take", "self.lost", "{}"), "no longer has 'self.lost'"),
        (row("Queue.take", "self.waiting", "{}"), "occurs 3 times; say which with nth"),
        (row("Queue.take", "self.waiting", "{}", nth=4), "no longer has"),
        (row("Queue.take", "return None", "return None  # nothing"), "the edit changes nothing"),
        (row("Queue.take", "return None", "return ("), "does not parse"),
    ],
)
def test_a_row_that_no_longer_fits_is_named(package: Path, mutant: Mutant, said: str) -> None:
    with pytest.raises(Moved, match=said.replace("(", r"\(")) as caught:
        edit(mutant, package)
    assert "a.py" in str(caught.value) or "b.py" in str(caught.value)


def test_the_files_own_unit_tests_are_tried_first_and_of_each_the_quickest() -> None:
    """A scenario reaches nearly every line, and takes seconds where a unit test is immediate."""
    own, slow, other = "tests/unit/ibm/a::x", "tests/unit/ibm/a::y", "tests/unit/controllers/a::z"
    story, failing = "tests/scenario/a::s", "tests/unit/ibm/a::broken"
    seconds = {story: 0.1, slow: 2.0, own: 1.0, other: 0.01}
    reach = Reach(
        seconds, {"providers/ibm/kinds/vpc.py": {7: frozenset({own, slow, story, failing}), 8: frozenset({other})}}
    )
    assert reach.tests("providers/ibm/kinds/vpc.py", [7, 8, 9]) == [own, slow, other, story]
    assert reach.tests("providers/ibm/kinds/vpc.py", [8]) == [other]
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


def test_the_sample_covers_every_folder() -> None:
    assert {each.file.partition("/")[0] for each in SAMPLE} >= {
        "controllers",
        "kube",
        "providers",
        "engine",
    }


@pytest.mark.parametrize("mutant", SAMPLE[:3], ids=str)
def test_a_mutant_of_the_sample_is_killed_by_its_test(copy: Copy, mutant: Mutant) -> None:
    """`make mutants` tries all of them."""
    tried = copy.attempt(mutant, edit(mutant, PACKAGE), {mutant.killed_by: 1.0})
    assert (tried.verdict, tried.by) == (Verdict.KILLED, mutant.killed_by)


def test_without_an_edit_the_same_tests_pass(copy: Copy) -> None:
    """A trial that kills everything would show nothing; and the copy is restored after each trial."""
    mutant = SAMPLE[0]
    same = Edit((PACKAGE / mutant.file).read_text(), frozenset())
    tried = copy.attempt(mutant, same, {each.killed_by: 1.0 for each in SAMPLE})
    assert tried.verdict is Verdict.SURVIVED, tried.by


def test_an_edit_with_which_a_module_of_tests_cannot_be_collected_is_noticed(copy: Copy) -> None:
    """Some of them run the engine when they are imported, to know their parameters."""
    mutant = SAMPLE[0]
    failing = Edit("raise KeyError('an edit')\n", frozenset())
    tried = copy.attempt(mutant, failing, {mutant.killed_by: 1.0})
    assert tried.verdict is Verdict.KILLED and tried.by.endswith("(it cannot be collected)")


def test_a_trial_that_cannot_start_is_not_a_kill(copy: Copy) -> None:
    """A missing test shows nothing about a mutant."""
    mutant = SAMPLE[0]
    tried = copy.attempt(
        mutant, edit(mutant, PACKAGE), {"tests/unit/controllers/test_controllers_objects.py::test_gone": 1.0}
    )
    assert tried.verdict is Verdict.BROKEN


def test_a_module_that_cannot_be_collected_without_the_edit_either_shows_nothing(copy: Copy, tmp_path: Path) -> None:
    """Somebody who edits the tests while they are tried would have killed every mutant that they reach."""
    module = tmp_path / "test_broken.py"
    module.write_text("from freehold import nothing_of_this_name\n")
    tried = copy.attempt(SAMPLE[0], edit(SAMPLE[0], PACKAGE), {f"{module}::test_one": 1.0})
    assert tried.verdict is Verdict.BROKEN and "nor can it without the edit" in tried.by
