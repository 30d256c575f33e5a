"""``status.resources``: what a row says as values, so that nobody reads it out of a sentence."""

from freehold.engine.graph import Graph
from freehold.engine.outcomes import Blocked, Reason, Waiting
from freehold.engine.resources import NodeKey
from freehold.providers.objects.resource_rows import build_rows
from lab.world import node

NET, DISK = NodeKey("net", "main"), NodeKey("disk", "data")


def test_a_waiting_row_names_what_it_waits_for() -> None:
    waiting = Waiting(Reason.REQUIREMENT, 30.0, "waits for net c1-main", waits_for=(NET,))
    wanted = Graph([node("net/main"), node("disk/data", "net/main")])
    found = build_rows((), wanted, None, {NET: Blocked(Reason.QUOTA, "full"), DISK: waiting}, "now", deleting=False)
    assert [row.get("waitsFor") for row in found] == [None, ["net c1-main"]]
