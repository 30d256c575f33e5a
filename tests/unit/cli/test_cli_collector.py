"""Python's garbage collector: what serves changes it for as long as it serves."""

from __future__ import annotations

import gc

import pytest

from freehold.cli.collector import SELDOM, collected_seldom


def test_a_process_that_serves_collects_seldom_and_leaves_all_as_it_was() -> None:
    before = gc.get_threshold()
    with pytest.raises(KeyboardInterrupt), collected_seldom():
        assert gc.get_threshold() == SELDOM
        assert gc.isenabled(), "what is in cycles must go in the end"
        raise KeyboardInterrupt
    assert gc.get_threshold() == before
