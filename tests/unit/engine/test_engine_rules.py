"""Pure parts of the engine: order of deletion, checks when a graph or registry is built, poll times, error classes."""

from __future__ import annotations

import pytest

from freehold.engine import errors
from freehold.engine.deletion_order import add_edges, next_delete_wave
from freehold.engine.graph import Graph
from freehold.engine.journal import Entry, Journal, RecordState, dumps, loads
from freehold.engine.kinds import Dedupe, Kind, Registry, Tagging, Witness
from freehold.engine.outcomes import Blocked, Reason, Waiting, outcome_of_error
from freehold.engine.port import run_together
from freehold.engine.resources import NodeKey
from lab.faults import FaultPort
from lab.life import OWNER
from lab.world import MemoryWorld, kinds, node


def _registry() -> Registry:
    world = MemoryWorld()
    return Registry(kinds(world.cloud, FaultPort(world)))


def _names(*keys: str) -> set[NodeKey]:
    return {NodeKey.parse(key) for key in keys}


@pytest.mark.parametrize(
    ("owned", "first"),
    (
        ({"net/a"}, {"net/a"}),
        ({"net/a", "disk/d"}, {"disk/d"}),
        ({"net/a", "rule/r"}, {"rule/r"}),
        ({"net/a", "wall/w", "rule/r", "ticket/t"}, {"rule/r", "ticket/t"}),
        ({"hub/h", "net/a", "link/l"}, {"link/l"}),
        (set(), set()),
    ),
    ids=(
        "alone",
        "what is inside it first",
        "also at one remove",
        "all that wait for nothing, at once",
        "a carrier last",
        "none",
    ),
)
def test_without_recorded_edges_the_kinds_give_the_order(owned: set[str], first: set[str]) -> None:
    assert next_delete_wave(_names(*owned), {}, _registry()) == _names(*first)


def _recorded(edges: dict[str, tuple[str, ...] | None]) -> dict[NodeKey, Entry]:
    return {NodeKey.parse(key): Entry(RecordState.OWNED, id=key, requires=needs) for key, needs in edges.items()}


@pytest.mark.parametrize(
    ("edges", "first"),
    (
        ({"disk/d": ("net/a",), "net/a": (), "net/b": ()}, {"disk/d", "net/b"}),
        ({"disk/d": None, "net/a": (), "net/b": ()}, {"disk/d"}),
        ({"rule/r": ("wall/w",), "wall/w": ("net/a",), "net/a": (), "net/b": ()}, {"rule/r", "net/b"}),
        ({"rule/r": ("wall/gone",), "net/a": ()}, {"rule/r"}),
        ({"net/a": ("net/b",), "net/b": ()}, {"net/a"}),
        ({"disk/d": ("net/a",), "net/a": ("disk/d",)}, {"disk/d"}),
        ({"disk/d": ("disk/d", "unheard/of"), "net/a": ()}, {"disk/d", "net/a"}),
    ),
    ids=(
        "an empty network does not wait for the disk of another one",
        "a disk recovered from marks may be in either network",
        "also at one remove",
        "also through something that is gone: by its kind",
        "within a kind",
        "a forged cycle: by kind",
        "an edge to itself, or to an unknown kind, is ignored",
    ),
)
def test_recorded_edges_give_the_order(edges: dict[str, tuple[str, ...] | None], first: set[str]) -> None:
    entries = _recorded(edges)
    assert next_delete_wave(entries.keys(), entries, _registry()) == _names(*first)


def test_edges_are_stored_and_only_added() -> None:
    """A resource may still be inside another one that today's spec no longer connects it with."""
    entries = _recorded({"disk/d": ("net/a",), "net/a": (), "net/b": None, "net/old": None})
    journal = add_edges(Journal(OWNER, entries), Graph([node("disk/d", "net/b"), node("net/a"), node("net/b")]))
    stored = loads(dumps(journal)).entries
    found = {str(key): entry.requires for key, entry in stored.items()}
    assert found == {"disk/d": ("net/a", "net/b"), "net/a": (), "net/b": None, "net/old": None}


def test_what_is_as_wanted_depends_on_what_the_spec_connects_it_with() -> None:
    """Otherwise nothing that it once depended on can be pruned."""
    entries = _recorded({"disk/d": ("net/a",), "net/b": (), "net/old": None})
    journal = Journal(OWNER, entries)
    wanted = Graph([node("disk/d", "net/b"), node("net/b"), node("net/old")])
    found = add_edges(journal, wanted, {NodeKey("disk", "d"), NodeKey("net", "old")}).entries
    assert {str(key): entry.requires for key, entry in found.items()} == {
        "disk/d": ("net/b",), "net/b": (), "net/old": None,
    }  # fmt: skip


def test_a_graph_refuses_unknown_requirements_and_cycles() -> None:
    with pytest.raises(ValueError, match="nothing wants"):
        Graph([node("disk/d", "net/missing")])
    with pytest.raises(ValueError, match="cycle"):
        Graph([node("disk/d", "net/n"), node("net/n", "disk/d")])
    with pytest.raises(ValueError, match="two nodes net/n"):
        Graph([node("net/n"), node("net/n", size=2)])


def test_a_registry_refuses_two_of_a_name_and_unknown_names() -> None:
    one = _registry()["net"]
    with pytest.raises(ValueError, match="two kinds"):
        Registry([one, one])
    with pytest.raises(ValueError, match="not registered"):
        Registry([Kind("disk", Tagging.AFTER, Dedupe.TOKEN, one.driver, requires=("nowhere",))])
    with pytest.raises(ValueError, match="not registered"):
        Registry([Kind("link", Tagging.NEVER, Dedupe.NONCE, one.driver, carrier="nowhere")])


@pytest.mark.parametrize(
    ("kind", "witnesses"),
    (
        ("net", (Witness.MARK,)),
        ("disk", (Witness.MARK, Witness.TOKEN)),
        ("site", (Witness.MARK, Witness.NONCE)),
        ("ticket", (Witness.TOKEN,)),
        ("rule", (Witness.NONCE,)),
        ("record", (Witness.KEY,)),
        ("link", (Witness.MARK, Witness.NONCE)),
    ),
)
def test_the_five_workflows_are_tuples_of_witnesses(kind: str, witnesses: tuple[Witness, ...]) -> None:
    assert _registry()[kind].witnesses == witnesses


@pytest.mark.parametrize(
    ("error", "outcome", "reason"),
    (
        (errors.Throttled("x", retry_after=7), Waiting, Reason.THROTTLED),
        (errors.Unavailable("x"), Waiting, Reason.RETRYING),
        (errors.Unknown("x"), Waiting, Reason.RETRYING),
        (errors.InUse("x"), Waiting, Reason.IN_USE),
        (errors.NotReady("x"), Waiting, Reason.UPDATING),
        (errors.NotFound("x"), Blocked, Reason.NOT_FOUND),
        (errors.NameTaken("x"), Blocked, Reason.NAME_TAKEN),
        (errors.NotOwned("x"), Blocked, Reason.NOT_OWNED),
        (errors.Quota("x"), Blocked, Reason.QUOTA),
        (errors.Denied("x"), Blocked, Reason.DENIED),
        (errors.Invalid("x"), Blocked, Reason.INVALID),
    ),
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_what_an_error_means(error: errors.CloudError, outcome: type, reason: Reason) -> None:
    """An error leads to a later retry or to a message for a person, and never to a retry at once."""
    got = outcome_of_error(error)
    assert isinstance(got, outcome)
    assert got.reason is reason
    assert got.after > 0
    assert got.message == "x"


def test_an_error_has_what_to_do_as_a_value() -> None:
    """A driver gives another advice with the same fact; a field is put before both."""
    error = errors.NotFound("subnet s is not there", advice="Check that it still exists")
    assert (error.fact, error.advice) == ("subnet s is not there", "Check that it still exists")
    assert error.with_field("spec.subnet").message == "spec.subnet: subnet s is not there. Check that it still exists"
    assert str(error) == error.message


async def test_a_failing_task_does_not_stop_the_others() -> None:
    async def ctx(number: int) -> int:
        if number == 2:
            raise errors.Unavailable("two")
        return number

    results = await run_together([ctx(1), ctx(2), ctx(3)])
    assert results[0] == 1
    assert isinstance(results[1], errors.Unavailable)
    assert results[2] == 3
