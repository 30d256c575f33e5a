"""Leaves and conditions of trees that read one option."""

from __future__ import annotations

import json
from typing import Final

from freehold.install.options import ROWS, InstallOptions, to_json
from freehold.install.tree import Condition, Leaf

GATES: Final = "freehold.featureGates"
VARIABLES: Final = "freehold.variables"
PORTS: Final = "freehold.egressPorts"
_ROWS: Final = {row.field: row for row in ROWS}
NAMESPACE: Final = Leaf(".Release.Namespace", lambda given: given.namespace)
SHARDED: Final = Condition("gt (int .Values.shards) 1", lambda given: given.shards > 1)


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

    return Leaf(f"printf {json.dumps(format_)} {expressions}", read)


def read_entry(field: str, name: str) -> Leaf:
    """Return one entry of an option that is a map; empty if there is none."""
    return Leaf(f".Values.{_ROWS[field].value}.{name}", lambda given: getattr(given, field).get(name, ""))


def has_entry(field: str, name: str) -> Condition:
    """Return the condition that an option that is a map has this entry, and it is not empty."""
    return Condition(f".Values.{_ROWS[field].value}.{name}", lambda given: bool(getattr(given, field).get(name)))


def join_gates() -> Leaf:
    """Return the feature gates as one text."""
    return Leaf(
        f'include "{GATES}" .',
        lambda given: ",".join(f"{name}={str(on).lower()}" for name, on in sorted(given.feature_gates.items())),
    )


def join_providers() -> Leaf:
    """Return the names of the providers as one text."""
    return Leaf('join "," .Values.providers', lambda given: ",".join(given.providers))


def list_variables() -> Leaf:
    """Return the variables as Kubernetes has them, sorted by name."""
    return Leaf(
        f'include "{VARIABLES}" . | fromJsonArray',
        lambda given: [{"name": name, "value": value} for name, value in sorted(given.env.items())],
    )


def list_ports() -> Leaf:
    """Return the ports as a NetworkPolicy has them."""
    return Leaf(
        f'include "{PORTS}" . | fromJsonArray',
        lambda given: [{"port": port, "protocol": "TCP"} for port in given.egress_ports],
    )


def _define_list(name: str, source: str, entry: str, result: str) -> str:
    """Define a named template that collects ``entry`` for each ``$name`` and ``$value`` of ``source``."""
    lines = (
        f'define "{name}"',
        "$found := list",
        f"range $name, $value := .Values.{source}",
        f"$found = append $found ({entry})",
        "end",
        f"{result} $found",
        "end",
    )
    return "".join(f"{{{{- {line} -}}}}\n" for line in lines)


HELPERS: Final = "\n".join(
    (
        _define_list(GATES, "featureGates", 'printf "%s=%t" $name $value', 'join ","'),
        _define_list(VARIABLES, "env", 'dict "name" $name "value" $value', "toJson"),
        _define_list(PORTS, "networkPolicy.egressPorts", 'dict "port" (int $value) "protocol" "TCP"', "toJson"),
    )
)
"""The named templates of the leaves above."""
