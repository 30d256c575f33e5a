"""The clouds that the conformance suite runs on, and their kinds as parameters of tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from conformance.aws import AWS
from conformance.bench import CloudUnderTest
from conformance.ibm import IBM
from freehold.engine.kinds import Dedupe, Kind

CLOUDS: Mapping[str, CloudUnderTest] = {"ibm": IBM, "aws": AWS}


def each(chosen: Callable[[CloudUnderTest, Kind], bool] = lambda cloud, kind: True) -> Any:
    """Every chosen kind of every cloud, as the parameters ``cloud`` and ``kind``."""
    found = [
        pytest.param(name, kind.name, id=f"{name} {kind.name}")
        for name, cloud in CLOUDS.items()
        for kind in cloud.kinds.values()
        if chosen(cloud, kind)
    ]
    return pytest.mark.parametrize(("cloud", "kind"), found)


EVERY_KIND = each()
WITH_NONCE = each(lambda cloud, kind: kind.dedupe is Dedupe.NONCE)
INSIDE = each(lambda cloud, kind: kind.name in cloud.homes)
IN_NOTHING = each(lambda cloud, kind: kind.dedupe is Dedupe.NONCE and kind.name not in cloud.homes)
