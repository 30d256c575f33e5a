"""Context of a pass that only reads, for plans, evidence and decisions: steps of the engine run and store nothing."""

from __future__ import annotations

from freehold.engine.context import PassContext
from freehold.engine.graph import Graph
from freehold.engine.interface import EngineDeps
from freehold.engine.journal import Journal
from freehold.engine.state import ObjectState


class UnsavedJournal:
    """A store that keeps nothing."""

    async def save(self, journal: Journal) -> None:
        """Do nothing: what only reads has nothing to store."""


def build_read_only_context(journal: Journal, deps: EngineDeps) -> PassContext:
    """Build the context of a pass with no nodes, whose journal is never stored."""
    return PassContext(deps, Graph(()), journal, UnsavedJournal(), ObjectState(deps.clock.monotonic()))
