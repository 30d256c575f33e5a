"""Bodies in YAML."""

from __future__ import annotations

from typing import Any

import yaml

_DEEPEST = 100_000
"""Marks of nesting in a body. libyaml recurses without a limit, and a million of them end the process."""


def decode(data: bytes) -> Any:
    """The decoded body. Raises ValueError for what cannot be read."""
    if sum(map(data.count, (b"[", b"{", b"- ", b"? "))) > _DEEPEST:
        raise ValueError(f"the body has more than {_DEEPEST} lists and maps")
    try:
        return yaml.load(data, Loader=_Loader)  # noqa: S506 - a SafeLoader
    except (yaml.YAMLError, RecursionError) as problem:
        raise ValueError(str(problem)) from problem


class _Loader(yaml.CSafeLoader):
    """YAML as Go reads it for Kubernetes: a time without quotes is text."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}
