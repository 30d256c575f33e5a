"""A resource that another one, its consumer, needs only to begin, as a machine its bootstrap secret.

The kind says which (:attr:`kinds.CreateRules.consumer`). Such a resource may be gone once its consumer is on record: it
is not lost, not made again, and nothing waits for it. An open create of the consumer counts, because the machine may
run already. If that create came to nothing, the resource is wanted again, before the consumer is made.
"""

from __future__ import annotations

from freehold.engine.graph import Graph
from freehold.engine.journal import Journal
from freehold.engine.kinds import Registry
from freehold.engine.resources import NodeKey


def may_be_gone(key: NodeKey, journal: Journal, registry: Registry) -> bool:
    """Return whether a consumer of it is on record, so that it may be gone."""
    consumer = registry[key.kind].creation.consumer if key.kind in registry else ""
    return any(
        other.kind == consumer and (entry.state.is_claimed or bool(entry.gone))
        for other, entry in journal.entries.items()
    )


def leave_out_gone(graph: Graph, journal: Journal, registry: Registry) -> Graph:
    """Return the graph without what may be gone and is not on record."""
    away = {key for key in graph.nodes if key not in journal.claimed and may_be_gone(key, journal, registry)}
    return graph.leave_out(away) if away else graph
