"""The output of a plan: with any width, every resource has its reason."""

import pytest

from freehold.cli.planning import _table
from freehold.operator.planning import PlanRow

ROWS = (
    PlanRow("workspace", "main", "team-a", "reuse", "found by the name in the spec", "7ae595e3-0fda"),
    PlanRow("vpc", "main", "prod-vpc", "create", "does not exist"),
)


@pytest.mark.parametrize("room", [200, 76, 40])
def test_reasons_are_beside_or_below_and_fit(room: int) -> None:
    lines = _table(ROWS, room)
    text = " ".join(" ".join(lines).split())
    assert max(map(len, lines)) <= room
    for row in ROWS:
        assert row.reason in text
        assert row.id in text


def test_without_ids_there_is_no_column_for_them() -> None:
    assert _table(ROWS[1:], 200)[0].split() == ["ACTION", "KIND", "NAME", "WHY"]
