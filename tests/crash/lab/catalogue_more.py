"""The families beyond :mod:`lab.catalogue` that every world has, and where something of ours may stay and be named."""

from __future__ import annotations

from lab import (
    catalogue,
    catalogue_clocks,
    catalogue_deletions,
    catalogue_forgeries,
    catalogue_keys,
    catalogue_lags,
    catalogue_outages,
    catalogue_restores,
    catalogue_strangers,
    catalogue_tokens,
    two_lives,
)
from lab.catalogue import Families, Ground

_PARTS = (catalogue_strangers, catalogue_outages, catalogue_restores, catalogue_deletions, catalogue_clocks, two_lives)

MAY_LEAVE: frozenset[str] = catalogue.ONLY_DEED_LOST.union(
    catalogue_strangers.MAY_LEAVE,
    catalogue_outages.MAY_LEAVE,
    catalogue_restores.MAY_LEAVE,
    catalogue_clocks.MAY_LEAVE,
    catalogue_forgeries.MAY_LEAVE,
    catalogue_tokens.MAY_LEAVE,
    catalogue_lags.MAY_LEAVE,
    catalogue_keys.MAY_LEAVE,
)


def more(on: Ground) -> Families:
    """The families that need nothing but a ground."""
    return {name: cases for part in _PARTS for name, cases in part.families(on).items()}


def _all(on: Ground) -> Families:
    return {**catalogue.families(on), **more(on)}


def lagging(on: Ground, most: int) -> Families:
    """Every family of a ground at every lag, at most ``most`` cases of each."""
    return catalogue_lags.lagging_families(on, _all, most)
