"""The families beyond :mod:`lab.catalogue` that every world has, and how much of ours may stay and be named."""

from __future__ import annotations

from lab import (
    catalogue,
    catalogue_clocks,
    catalogue_deletions,
    catalogue_lags,
    catalogue_outages,
    catalogue_restores,
    catalogue_strangers,
    two_lives,
)
from lab.catalogue import Families, Ground

_PARTS = (catalogue_strangers, catalogue_outages, catalogue_restores, catalogue_deletions, catalogue_clocks, two_lives)


def more(on: Ground) -> Families:
    """The families that need only a ground."""
    return {name: cases for part in _PARTS for name, cases in part.families(on).items()}


def _all(on: Ground) -> Families:
    return {**catalogue.families(on), **more(on)}


def lagging(on: Ground, most: int) -> Families:
    """Every family of a ground at every lag, at most ``most`` cases of each."""
    return catalogue_lags.lagging_families(on, _all, most)


def in_one_cloud(on: Ground, most: int, *, restless: bool) -> Families:
    """The same at one lag: to make a list of all cases takes seconds, to run one of them a tenth of a second."""
    return catalogue_lags.lagging_families(on, _all, most, [(3.0, restless)])
