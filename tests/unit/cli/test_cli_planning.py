"""The output of a plan: with any width, every resource has its reason. And plans that a server makes."""

import json
from typing import Any

import pytest

from freehold.cli.plan_service import Wished, plans_of_server
from freehold.cli.planning import _table
from freehold.kube.resources import Json
from freehold.operator.plan import Plan, dumped
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


class Server:
    """Answers with ``plans``, or with one of its own form."""

    def __init__(self, *plans: Json) -> None:
        self._plans = plans

    async def request(self, method: str, path: str, *, body: Json) -> Json:
        return {"plans": json.loads(json.dumps(self._plans))}


PLAN = dumped(Plan("n/a", ROWS))


async def asked(server: Any) -> list[Plan] | None:
    return await plans_of_server(server, Wished([{}]), frozenset())


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param({name: value for name, value in PLAN.items() if name != "lacking"}, id="a field fewer"),
        pytest.param({**PLAN, "rows": [{**PLAN["rows"][0], "action": "make"}]}, id="a word that is not used now"),
        pytest.param({**PLAN, "later": ()}, id="a field more"),
    ],
)
async def test_plans_of_a_server_of_another_version_count_as_none(plan: Json) -> None:
    """The plan is then made by this version itself."""
    assert await asked(Server(PLAN)) is not None
    assert await asked(Server(PLAN, plan)) is None
