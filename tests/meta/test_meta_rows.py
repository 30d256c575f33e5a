"""A table that is one test hides no row: each is checked, and each that fails is named."""

from __future__ import annotations

import inspect

import pytest

from harness.rows import over_rows


def test_every_row_is_checked_and_those_that_fail_are_named() -> None:
    checked: list[tuple[int, str]] = []

    @over_rows(("number", "text"), [(1, "1"), (2, "x"), (3, "3"), (4, "raises"), (5, "skipped")], ids="abcde")
    def check(number: int, text: str, base: int) -> None:
        checked.append((number, text))
        if text == "skipped":
            pytest.skip("it would leave out the rest")
        assert int(text, base) == number

    assert [*inspect.signature(check).parameters] == ["base"], "the rest are fixtures"
    with pytest.raises(BaseExceptionGroup, match=r"rows that fail: b, d, e$") as caught:
        check(base=10)
    assert [number for number, _ in checked] == [1, 2, 3, 4, 5]
    assert [each.__notes__ for each in caught.value.exceptions] == [[f"This is the row {name}"] for name in "bde"]


def test_a_table_without_rows_is_refused() -> None:
    with pytest.raises(AssertionError, match="checks nothing"):
        over_rows("number", [])
