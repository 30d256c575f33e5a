"""The harness can see: naive controllers lose things in it, and so does the engine without any one safety line."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lab import families, families_memory
from lab.baselines import ControllerCreated, Naive, NamedIsOurs, TagThenStatus
from lab.families import Case
from lab.mutations import MUTATIONS, Moved, Mutation, mutated
from lab.world import MemoryWorld


@pytest.mark.parametrize("naive", (TagThenStatus, ControllerCreated))
def test_naive_controllers_lose_things_when_they_die(naive: type[Naive]) -> None:
    """Query, create, tag, then status (kops); used by name, controllerCreated afterwards (CAPIBM)."""
    calls = range(60)
    tally = families.tally(naive.__name__, families.crashes(MemoryWorld, baseline=naive, calls=calls))
    print(tally.row)
    assert tally.orphans or tally.duplicates


def test_a_controller_that_trusts_names_deletes_what_is_not_its_own() -> None:
    """A stranger's resource of the wanted name goes with the cluster."""
    strangers = families_memory.meddling(
        MemoryWorld, "namesake", ("net", "site", "hub"), None, (0,), baseline=NamedIsOurs
    )
    tally = families.tally("NamedIsOurs", strangers)
    print(tally.row)
    assert tally.wrong


@pytest.mark.parametrize("naive", (TagThenStatus, ControllerCreated, NamedIsOurs))
def test_naive_controllers_work_while_they_live(naive: type[Naive]) -> None:
    """Otherwise their losses would show nothing."""
    assert not families.run(Case("alive", MemoryWorld, baseline=naive)).faults


def _cases(mutation: Mutation) -> Iterator[Case]:
    for family in mutation.families:
        yield from {**families_memory.CI, **families_memory.TEETH}[family]()


@pytest.mark.parametrize("mutation", MUTATIONS, ids=str)
def test_each_safety_line_is_needed(mutation: Mutation) -> None:
    """Without it some run of its families fails; a line that nothing misses is redundant or the harness is blind."""
    with mutated(mutation):
        for case in _cases(mutation):
            if families.run(case).faults:
                return
    pytest.fail(f"nothing noticed: {mutation.name}")


def test_a_safety_line_that_moved_is_noticed() -> None:
    """The list above must follow the engine."""
    gone = Mutation("gone", "workflow:_create", "no such line", "", ())
    with pytest.raises(Moved), mutated(gone):
        pass
