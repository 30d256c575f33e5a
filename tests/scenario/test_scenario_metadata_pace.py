"""How long a fleet takes while the cloud has trouble, with the operator's own limits of calls and in virtual time."""

from __future__ import annotations

import pytest

from freehold_sim.faults import Effect
from harness.metadata import Lab
from harness.metadata_pace import until_ready


def _volumes(lab: Lab) -> list[str]:
    return lab.volumes(1_000, others=100)


@pytest.mark.parametrize("trouble", [Effect.THROTTLE, Effect.ERROR_BEFORE, Effect.ERROR_AFTER, Effect.REPLY_LOST])
def test_a_thousand_volumes_are_right_in_half_a_minute_with_trouble_in_one_write_of_three(trouble: Effect) -> None:
    """A reply that never comes costs the time for which it is waited for, and one more look: no second write."""
    took = until_ready(_volumes, trouble)
    assert took.right
    assert took.seconds < 30.0
    assert took.writes <= (5 if trouble in (Effect.REPLY_LOST,) else 8)


def test_replies_that_are_lost_are_waited_for_together() -> None:
    """A thousand secrets are fifty calls, of which seventeen have no answer: one after the other is three minutes.

    What is unsure is read from each secret while the others are waited for.
    """
    took = until_ready(lambda lab: lab.secrets(1_000), Effect.REPLY_LOST)
    assert took.right
    assert took.seconds < 30.0
    assert took.writes <= 60


def test_without_trouble_it_takes_as_long_as_its_calls() -> None:
    took = until_ready(_volumes)
    assert took.right
    assert took.seconds < 5.0
    assert took.writes == 5
