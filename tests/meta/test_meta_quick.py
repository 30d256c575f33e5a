"""``make quick`` runs what an edit concerns: a test that it leaves out would be missed until the whole suite runs."""

from pathlib import Path

from harness.source_state import ROOT
from quick import chosen_tests, imported_by, room_of


def test_the_room_of_an_edited_file_and_what_imports_it_are_chosen() -> None:
    chosen = chosen_tests(["src/freehold/engine/engine.py"])
    assert "tests/unit/engine/test_engine_journal.py" in chosen, "the whole room"
    assert "tests/unit/aws/test_aws_engine.py" in chosen, "it imports the file"
    assert "tests/unit/tags/test_tags_properties.py" not in chosen


def test_a_test_of_what_imports_the_file_is_chosen() -> None:
    test = "tests/unit/aws/test_aws_accounts.py"
    assert "freehold.engine.tag_text" not in imported_by(ROOT / test)
    assert test in chosen_tests(["src/freehold/engine/tag_text.py"])


def test_a_file_that_tests_share_brings_the_tests_that_import_it() -> None:
    chosen = chosen_tests(["tests/harness/virtual_time.py"])
    importing = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "tests" / "unit").rglob("test_*.py")
        if "harness.virtual_time" in imported_by(path)
    }
    assert importing and set(chosen) == importing


def test_an_edited_test_is_run_wherever_it_is() -> None:
    assert chosen_tests(["tests/scenario/test_scenario_gate.py", "docs/reference/aws.md"]) == [
        "tests/scenario/test_scenario_gate.py"
    ]


def test_each_room_has_its_folder_of_unit_tests() -> None:
    rooms = {
        "freehold/providers/aws/kinds/vpc.py": "aws",
        "freehold/tags/policy/plan.py": "tags",
        "freehold_sim/aws/cloud.py": "freehold_sim_aws",
        "freehold_sim/server.py": "freehold_sim",
        "freehold/__init__.py": "",
    }
    assert {path: room_of(Path(path)) for path in rooms} == rooms
