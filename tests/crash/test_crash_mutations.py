"""The harness detects losses: those of naive controllers, and those of the engine without one safety line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from freehold.engine.port import Effect
from lab import catalogue, families, families_aws, families_memory, families_powervs, faults
from lab.baselines import ControllerCreated, Naive, NamedIsOurs, TagThenStatus
from lab.catalogue import Ground
from lab.families import Case
from lab.families_memory import MEMORY
from lab.families_powervs import POWERVS
from lab.mutations import AWS_MUTATIONS, MUTATIONS, Mutation, in_order, mutated
from mutants.rows import Moved, Mutant

MOST_TRIES = 100
MOST_TRIES_ON_AWS = 1000
"""All: a life has many calls there, and a line may matter at one of them."""
BASELINED = (
    "delete after a crash",
    "delete in a lagging cloud",
    "restarts during restarts",
)
GROUNDS = pytest.mark.parametrize("ground", [MEMORY, POWERVS], ids=["memory", "powervs"])


def _around_writes(ground: Ground, naive: type[Naive]) -> list[int]:
    """The first changes of the cloud in the controller's undisturbed life, where it can lose resources."""
    calls = families.golden(ground.world, naive).port.calls
    return [number for number, call in enumerate(calls) if call.effect is Effect.WRITE][:10]


@GROUNDS
@pytest.mark.parametrize("naive", (TagThenStatus, ControllerCreated))
def test_naive_controllers_lose_resources_when_they_die(naive: type[Naive], ground: Ground) -> None:
    """Query, create, tag, then status (kops); used by name, controllerCreated afterwards (CAPIBM)."""
    numbers = _around_writes(ground, naive)
    cases = families.at_each_call(ground.world, (faults.AFTER,), calls=numbers, baseline=naive)
    verdicts = map(families.run, cases)
    assert any(verdict.orphans or verdict.duplicates for verdict in verdicts)


@GROUNDS
def test_a_controller_that_trusts_names_deletes_a_strangers_resource(ground: Ground) -> None:
    """A stranger's resource with the wanted name is deleted with the cluster."""
    strangers = catalogue.meddling(ground.world, "namesake", ground.kinds[:3], None, (0,), baseline=NamedIsOurs)
    assert any(families.run(case).wrong for case in strangers)


@GROUNDS
@pytest.mark.parametrize("naive", (TagThenStatus, ControllerCreated, NamedIsOurs))
def test_naive_controllers_work_without_crashes(naive: type[Naive], ground: Ground) -> None:
    """Otherwise their losses would show nothing."""
    assert not families.run(Case("alive", ground.world, baseline=naive)).faults


@pytest.mark.slow
@pytest.mark.parametrize("mutation", MUTATIONS, ids=str)
def test_each_safety_line_is_needed(mutation: Mutation) -> None:
    """Without it some run of its families fails; otherwise the line is redundant or the harness is incomplete."""
    with mutated(mutation.row):
        assert families.any_fails(in_order(mutation, families_memory.FAMILIES)), f"nothing noticed: {mutation}"


@pytest.mark.slow
@pytest.mark.parametrize("mutation", [m for m in MUTATIONS if m.powervs], ids=str)
def test_each_safety_line_is_needed_on_the_simulated_cloud(mutation: Mutation) -> None:
    """The families also fail there: real drivers and a reconciler do not hide what the engine lost."""
    with mutated(mutation.row):
        assert families.any_fails(families.shuffled(families_powervs.FAMILIES[mutation.powervs](), MOST_TRIES)), (
            f"nothing noticed: {mutation}"
        )


ON_AWS = [mutation for mutation in (*MUTATIONS, *AWS_MUTATIONS) if mutation.aws]
SOON_NOTICED = frozenset({"a resource never gets the tags of its node", "nothing waits for an essential part"})


@pytest.mark.parametrize(
    "mutation",
    [pytest.param(m, marks=() if m.row.why in SOON_NOTICED else pytest.mark.slow) for m in ON_AWS],
    ids=map(str, ON_AWS),
)
def test_each_safety_line_is_needed_on_the_simulated_aws(mutation: Mutation) -> None:
    with mutated(mutation.row):
        assert families.any_fails(families.shuffled(families_aws.FAMILIES[mutation.aws](), MOST_TRIES_ON_AWS)), (
            f"nothing noticed: {mutation}"
        )


@pytest.mark.slow
@pytest.mark.parametrize("family", BASELINED)
def test_a_naive_controller_fails_in_the_family(family: str) -> None:
    """No single line prevents the faults of these families; a controller that creates, tags, then records fails."""
    for case in families.shuffled(families_powervs.FAMILIES[family](), MOST_TRIES):
        verdict = families.run(replace(case, baseline=TagThenStatus))
        if verdict.orphans or verdict.duplicates or verdict.wrong:
            return
    pytest.fail(f"{family} is blind")


def test_a_safety_line_that_moved_is_detected() -> None:
    """The list above must follow the engine."""
    gone = Mutant("engine/engine.py", "_create", "no such line", "", "gone")
    with pytest.raises(Moved), mutated(gone):
        pass
