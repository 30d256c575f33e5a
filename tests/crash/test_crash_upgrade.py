"""A renewal that is interrupted between any two calls is harmless: both seals prove while both are attached."""

from __future__ import annotations

import os

import pytest

from harness.resources import existing, made_by_us, marks
from lab import upgrade
from lab.faults import Fault, Script
from lab.upgrade import Renewal

STEP = int(os.environ.get("CRASH_UPGRADE_STEP", "50"))
"""Every n-th case; 1 takes all of them (13 minutes)."""
FIXTURES = pytest.mark.parametrize("fixture", ["plain/ready", "all/ready"])


def _cases(fixture: str) -> list[tuple[int, Fault]]:
    return upgrade.cases(fixture)[STEP // 2 :: STEP]


@FIXTURES
def test_an_interrupted_renewal_continues(fixture: str) -> None:
    """Only seals change, and in the end only the new ones are attached."""
    for number, fault in _cases(fixture):
        renewal = Renewal(fixture, Script({number: fault}))
        renewal.finish()
        assert renewal.faults() == [], f"{fault} at {number}"
        assert renewal.crashes == 1
        renewal.delete()
        assert made_by_us(renewal.harness) == [], f"{fault} at {number}"


@FIXTURES
def test_an_object_whose_renewal_was_interrupted_can_be_deleted(fixture: str) -> None:
    """Some of it is recorded and sealed with the key and some by the old rules: all is deleted, with every mark."""
    for number, fault in _cases(fixture):
        renewal = Renewal(fixture, Script({number: fault}))
        renewal.until_crash()
        assert renewal.faults() == [], f"{fault} at {number}"
        renewal.harness.down()
        assert made_by_us(renewal.harness) == [], f"{fault} at {number}"
        left = [mark for row in existing(renewal.harness) for mark in marks(row)]
        assert left == [], f"{fault} at {number}"
