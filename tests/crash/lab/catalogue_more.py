"""The families beyond :mod:`lab.catalogue` that every world has, and what of ours may stay and be named."""

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
from lab.families import Named

_PARTS = (catalogue_strangers, catalogue_outages, catalogue_restores, catalogue_deletions, catalogue_clocks, two_lives)

_MAY_LEAVE: frozenset[str] = frozenset().union(
    catalogue_strangers.MAY_LEAVE,
    catalogue_outages.MAY_LEAVE,
    catalogue_restores.MAY_LEAVE,
    catalogue_clocks.MAY_LEAVE,
    catalogue_forgeries.MAY_LEAVE,
    catalogue_tokens.MAY_LEAVE,
    catalogue_lags.MAY_LEAVE,
    catalogue_keys.MAY_LEAVE,
)


NAMED = dict.fromkeys(_MAY_LEAVE, Named(sampled=10_000, whole=10_000))
"""Not measured yet on an engine that is at rest: to become the counts of a whole run."""


def more(on: Ground) -> Families:
    """The families that need nothing but a ground."""
    return {name: cases for part in _PARTS for name, cases in part.families(on).items()}


def _all(on: Ground) -> Families:
    return {**catalogue.families(on), **more(on)}


def lagging(on: Ground, most: int) -> Families:
    """Every family of a ground at every lag, at most ``most`` cases of each."""
    return catalogue_lags.lagging_families(on, _all, most)
