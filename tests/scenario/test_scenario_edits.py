"""A spec edited at any moment ends where a new object of the same spec would, or the difference is said.

Checked at every pass, and not only at the end: an object that says Ready for this generation is as its spec says,
or its table names the resource and the field. Then deletion takes all that is ours and nothing of others.
"""

from __future__ import annotations

import hashlib

import pytest

from stage.edits import EDITS, play

PASSES = range(1, 16)
"""A creation takes about as many; after the last it is Ready and idle."""


def _moment(edit: str) -> int:
    """One for each edit, spread over all, the same in every run."""
    return PASSES[hashlib.sha256(edit.encode()).digest()[0] % len(PASSES)]


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_of_a_cluster_in_the_making(edit: str) -> None:
    play(edit, _moment(edit))


@pytest.mark.slow
@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("passes", [*PASSES, 40])
def test_an_edit_after_every_pass(edit: str, passes: int) -> None:
    if passes != _moment(edit):
        play(edit, passes)
