"""`make bench` fails on a row that misses its target, unless the row says why and how much that explains."""

from benchmarks.rows import Explained, Row, verdict

MET, TOLD = Row("met", 1, "calls", 2), Row("told", 9, "calls")
MISSED = Row("missed", 3, "calls", 2)
WHY = Explained(3, "2 calls, and 1 that only tells who asks")
EXPLAINED = Row("explained", 3, "calls", 2, explained=WHY)
WORSE = Row("worse", 4, "calls", 2, explained=WHY)


def test_rows_at_their_targets_pass() -> None:
    assert verdict([MET, TOLD]) == ("", 0)


def test_a_missed_target_fails_and_is_named() -> None:
    text, code = verdict([MET, MISSED])
    assert code == 1
    assert "missed: 3 calls (target 2)" in text


def test_a_miss_that_is_explained_is_named_with_its_reason_and_passes() -> None:
    text, code = verdict([EXPLAINED])
    assert code == 0
    assert "explained: 3 calls (target 2): 2 calls, and 1 that only tells who asks" in text


def test_a_row_that_is_worse_than_its_explanation_fails() -> None:
    text, code = verdict([WORSE])
    assert code == 1
    assert "worse: 4 calls (target 2); explained is up to 3: 2 calls" in text
