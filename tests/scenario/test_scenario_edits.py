"""A spec edited at any moment ends where a new object of the same spec would, or the difference is reported.

Checked at every pass, and not only at the end: an object that says Ready for this generation is as its spec says,
or its table names the resource and the field. Then deletion takes all that is ours and nothing of others.
"""

from __future__ import annotations

import hashlib

import pytest

from harness.edits import EDITS, play, play_amid

PASSES = range(1, 16)
"""A creation takes about as many; after the last it is Ready and idle."""


def _moment(edit: str) -> int:
    """One for each edit, spread over all, the same in every run."""
    return PASSES[hashlib.sha256(edit.encode()).digest()[0] % len(PASSES)]


SAMPLED = sorted(EDITS)[::3]
"""Edits of which ``make test`` plays one moment; of others it plays the plan (``test_scenario_edit_plans.py``)."""


@pytest.mark.parametrize(
    "edit", [pytest.param(edit, marks=() if edit in SAMPLED else pytest.mark.slow) for edit in EDITS], ids=list(EDITS)
)
def test_an_edit_of_a_cluster_that_is_being_created(edit: str) -> None:
    play(edit, _moment(edit))


@pytest.mark.parametrize(
    ("edit", "call"),
    [
        pytest.param(edit, call, marks=() if call in quick else pytest.mark.slow)
        for edit, quick in {
            "a tag is added": (7, 41),
            "a listener is added": (23, 58),
            "a rule is removed": (7, 58),
        }.items()
        for call in (7, 23, 41, 58)
    ],
)
def test_an_edit_while_a_pass_is_under_way(edit: str, call: int) -> None:
    """The pass continues with what it read, or is refused as stale; either way the next one sees the edit."""
    play_amid(edit, call)


@pytest.mark.slow
@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("passes", [*PASSES, 40])
def test_an_edit_after_every_pass(edit: str, passes: int) -> None:
    if passes != _moment(edit):
        play(edit, passes)
