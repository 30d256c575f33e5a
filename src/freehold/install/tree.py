"""Trees that describe objects before the options are known: they are evaluated here, or written as templates of Helm.

A tree is JSON in which a ``Leaf`` stands for a value that the options give, and a ``When`` for a part that is there
only under a condition. Each of both says itself how Helm spells it, so there is one description and not two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

from freehold.install.options import InstallOptions

Tree = Any
"""JSON with ``Leaf`` and ``When`` in it."""

ABSENT = object()
"""What a ``When`` is without another branch."""


@dataclass(frozen=True)
class Leaf:
    """A value that the options give. ``helm`` is the expression of a template for it."""

    helm: str
    read: Callable[[InstallOptions], Any]


@dataclass(frozen=True)
class Condition:
    """A condition on the options. ``helm`` is the expression of a template for it."""

    helm: str
    holds: Callable[[InstallOptions], bool]

    def __and__(self, other: Condition) -> Condition:
        return Condition(f"and ({self.helm}) ({other.helm})", lambda given: self.holds(given) and other.holds(given))

    def __or__(self, other: Condition) -> Condition:
        return Condition(f"or ({self.helm}) ({other.helm})", lambda given: self.holds(given) or other.holds(given))

    def __invert__(self) -> Condition:
        return Condition(f"not ({self.helm})", lambda given: not self.holds(given))


@dataclass(frozen=True)
class When:
    """A part of an object, an entry of a list or a whole object that is there if ``condition`` holds."""

    condition: Condition
    then: Tree
    otherwise: Tree = ABSENT


def all_of(*conditions: Condition) -> Condition:
    """Return the condition that each of these holds."""
    return reduce(Condition.__and__, conditions)


def any_of(*conditions: Condition) -> Condition:
    """Return the condition that one of these holds."""
    return reduce(Condition.__or__, conditions)


def evaluate(tree: Tree, options: InstallOptions) -> Any:
    """Evaluate a tree; ``ABSENT`` for one that is not there. Entries of objects and lists that are absent are left out.

    An object or list of which nothing is left stays, empty.
    """
    match tree:
        case Leaf():
            return tree.read(options)
        case When():
            return evaluate(tree.then if tree.condition.holds(options) else tree.otherwise, options)
        case dict():
            found = {name: evaluate(value, options) for name, value in tree.items()}
            return {name: value for name, value in found.items() if value is not ABSENT}
        case list():
            entries = [evaluate(value, options) for value in tree]
            return [value for value in entries if value is not ABSENT]
        case _:
            return tree
