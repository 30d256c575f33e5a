"""Leaves and conditions of trees that read one option."""

from __future__ import annotations

from typing import Final

from freehold.install.options import ROWS, InstallOptions, to_json
from freehold.install.tree import Condition, Leaf

_ROWS: Final = {row.field: row for row in ROWS}
NAMESPACE: Final = Leaf(".Release.Namespace", lambda given: given.namespace)
SHARDED: Final = Condition("gt (int .Values.shards) 1", lambda given: given.shards > 1)
REPLICATED: Final = Condition("gt (int .Values.replicas) 1", lambda given: given.replicas > 1)


def read_option(field: str) -> Leaf:
    """Return the value of an option."""
    return Leaf(f".Values.{_ROWS[field].value}", lambda given: to_json(getattr(given, field)))


def is_set(field: str) -> Condition:
    """Return the condition that an option is neither empty nor false."""
    return Condition(f".Values.{_ROWS[field].value}", lambda given: bool(getattr(given, field)))


def serves(provider: str) -> Condition:
    """Return the condition that the objects of a provider are served."""
    return Condition(f'has "{provider}" .Values.providers', lambda given: given.serves(provider))


def print_text(format_: str, *leaves: Leaf) -> Leaf:
    """Return a text with the values of leaves in it, each in place of a ``%v``."""
    expressions = " ".join(f"({leaf.helm})" for leaf in leaves)

    def read(given: InstallOptions) -> str:
        parts = format_.split("%v")
        values = [str(leaf.read(given)) for leaf in leaves]
        return "".join(part + value for part, value in zip(parts, [*values, ""], strict=True))

    return Leaf(f'printf "{format_}" {expressions}', read)


def choose(condition: Condition, then: str, otherwise: str) -> Leaf:
    """Return one of two texts."""
    helm = f'ternary "{then}" "{otherwise}" ({condition.helm} | not | not)'
    return Leaf(helm, lambda given: then if condition.holds(given) else otherwise)
