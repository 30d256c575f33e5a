"""Nodes of resources that the spec gives by their id: never created, changed or deleted."""

from __future__ import annotations

from functools import partial

from freehold.engine.graph import Naming, Node, ReadyNodes
from freehold.engine.resources import NodeKey, Request


def given_node(key: NodeKey, ident: str, field: str, tags: frozenset[str] = frozenset()) -> Node:
    """Make the node of a given resource. ``field`` names it in the spec; ``tags`` go with the object.

    Where there are any the user's are too: upstream tags given subnets, and neither a given VPC nor given groups.
    """
    given = partial(_constant, ident)
    return Node(
        key, ident, _no_request, Naming.EXPLICIT, given=given, field=field, given_tags=tags, user_tagged=bool(tags)
    )


def _no_request(known: ReadyNodes) -> Request:
    return {}


def _constant(ident: str, known: ReadyNodes) -> str:
    return ident
