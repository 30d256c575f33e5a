"""Bodies in YAML."""

from __future__ import annotations

import json
from typing import Any

import yaml

from freehold_apiserver.bounds import MAX_BYTES, MAX_DEPTH

_DEEPEST = 100_000
"""Marks of nesting in a body. libyaml recurses without a limit, and a million of them end the process."""


def decode(data: bytes) -> Any:
    """Return the body as JSON would have it. Raises ValueError for what cannot be read, or said in JSON."""
    if b"\0" in data or not _is_utf8(data):  # libyaml reads UTF-16, too, in which nothing could be counted
        raise ValueError("the body is not text in UTF-8")
    if sum(map(data.count, (b"[", b"{", b"- ", b"? "))) > _DEEPEST:
        raise ValueError(f"the body has more than {_DEEPEST} lists and maps")
    loader = _Loader(data)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        _weigh(node, {}, 0)
        # As kube-apiserver, which converts YAML to JSON: keys become texts; dates, sets and bytes are refused.
        return json.loads(json.dumps(loader.construct_document(node), allow_nan=False))
    except (yaml.YAMLError, RecursionError, TypeError) as problem:
        raise ValueError(" ".join(str(problem).split())) from problem
    finally:
        loader.dispose()


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _weigh(node: yaml.Node, known: dict[int, int], depth: int) -> int:
    """Return how much text it stands for once its aliases, and the maps merged by them, are followed.

    Before anything is built of it, because merging builds what aliases stand for.
    """
    if isinstance(node, yaml.ScalarNode):
        return 1 + len(node.value)
    if depth > MAX_DEPTH:
        raise ValueError(f"the body is nested in more than {MAX_DEPTH} levels")
    if id(node) not in known:
        known[id(node)] = MAX_BYTES  # met again while it is being weighed, it contains itself
        inner = [each for pair in node.value for each in pair] if isinstance(node, yaml.MappingNode) else node.value
        known[id(node)] = 1 + sum(_weigh(each, known, depth + 1) for each in inner)
        if known[id(node)] > MAX_BYTES:
            raise ValueError(f"document contains excessive aliasing: it stands for more than {MAX_BYTES} bytes")
    return known[id(node)]


class _Loader(yaml.CSafeLoader):
    """YAML as Go reads it for Kubernetes: a time without quotes is text."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}
