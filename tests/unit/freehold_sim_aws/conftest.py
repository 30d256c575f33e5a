"""Fixtures; what tests import by name is in harness.simulated_aws."""

from collections.abc import Callable

import pytest

from freehold_sim.aws.settings import Settings
from harness.simulated_aws import Sim


@pytest.fixture
def make_sim() -> Callable[..., Sim]:
    """Return a maker of worlds: `make_sim(lags=Lags.none(), ...)` takes fields of Settings."""
    return lambda **fields: Sim(Settings(**fields))


@pytest.fixture
def sim() -> Sim:
    return Sim(Settings())
