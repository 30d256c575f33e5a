"""A cluster is deleted whose controllers left everything behind that they can: killed, refused, opted out, made again.

A sample of each family, and CAPA's own way, which must fail them; the whole is slow (``make crash-pairs``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from freehold.collection import sweep
from freehold.collection.found import Look, Step
from freehold.providers.aws.collectors.survey import AwsSurvey
from lab import families, oracles
from lab.baseline_gc import CapaWorld
from lab.branches import branching
from lab.families import Case, Run
from lab.families_gc import FAMILIES, LITTERED

SAMPLED = {
    "crash before and after each call": 3,
    "single faults": 3,
    "opted out at each call": 2,
    "made again at each call": 2,
    "the tag index is denied": 1,
    "a machine runs until a call": 1,
    "others in the VPC": 1,
    "another owner of the name in the VPC": 1,
    "crash before and after a call, the index steps back": 1,
}
MOST_CALLS = 3 * 202
MOST_CALLS_WITH_OTHERS = 1100
"""A person removes one thing after the other, and each refusal is tried again until then."""
OPTED_OUT = "opted out at each call"


def test_an_undisturbed_delete_takes_everything() -> None:
    assert not families.run(Case("undisturbed", LITTERED)).faults


def test_some_cases_of_each_family() -> None:
    """The families of a world share its create."""
    cases = [case for name, most in SAMPLED.items() for case in families.shuffled(FAMILIES[name](), most)]
    found = families.tally("samples", cases, branching)
    assert found.runs == sum(SAMPLED.values())
    assert not found.failures, "\n".join(found.failures)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_whole_family(family: str) -> None:
    """What an object that has opted out leaves, a person removes."""
    with_others = family in (OPTED_OUT, "others in the VPC")
    most = MOST_CALLS_WITH_OTHERS if with_others else MOST_CALLS
    families.hold(family, FAMILIES[family](), most_calls=most, runs=branching)


async def _asks_nobody(step: Step, ask: Any) -> None:
    await step.run()


def _without(name: str) -> Any:
    """A look that overlooks what has this name."""
    look = AwsSurvey.look

    async def careless(survey: AwsSurvey, *where: Any) -> Look:
        return replace(await look(survey, *where), **{name: ()})

    return careless


@pytest.mark.parametrize(
    ("family", "first", "of", "name", "edit"),
    [
        ("opted out at each call", 8, sweep, "_send_if_wanted", _asks_nobody),
        ("a machine runs until a call", 24, AwsSurvey, "look", _without("running")),
        ("another owner of the name in the VPC", 8, AwsSurvey, "look", _without("namesakes")),
    ],
)
def test_a_careless_edit_is_noticed(
    family: str, first: int, of: Any, name: str, edit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``first``: the case that notices it; if it does so no more, one of the next ones must."""
    cases = list(FAMILIES[family]())[first : first + 32 : 4]
    monkeypatch.setattr(of, name, edit)
    assert families.any_fails(cases)


def test_capas_way_takes_what_a_cluster_of_the_name_has_elsewhere_and_wedges() -> None:
    """Its own group is held by an interface that nobody collects, and a group elsewhere by a rule nobody takes out."""
    run = Run(Case("capa", CapaWorld))
    verdict = run.judge()
    assert verdict.wedged
    assert not run.life.released
    taken = run.life.world.tampered() + oracles.foreign(run.life)
    assert len([each for each in taken if "is gone" in each]) >= 4
