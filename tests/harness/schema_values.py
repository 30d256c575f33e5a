"""Values of a CRD schema for properties, half of them likely to mean something."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import strategies as st

from harness.schemas import Schema

TEXTS = (
    "", "a", "10.0.0.0/16", "10.0.0.0/24", "10.0.64.0/18", "10.0.0.300/8", "10.0.0.0/33", "0.0.0.0/0", "192.168.1.7",
    "2001:db8::/64", "2001:db8::/129", "::/0", "tcp", "-1", "6443", "traffic-port", "30m", "nlb", "SSL",
    "eu-central-1", "eu-central-1a", "eu-central-1b", "eu-central-1c", "vpc-0123456789abcdef0",
    "subnet-0123456789abcdef0", "subnet-a", "r006-1", "sg-1", "default", "prod-subnet-public-eu-central-1a", "aws:key",
    "freehold.dev/owner", "a;b", "cagw-1", "192.168.5.4", "x" * 300,
)  # fmt: skip
NUMBERS = (-1, 0, 1, 2, 5, 10, 80, 6443, 65535, 65536)


def values(node: Schema) -> st.SearchStrategy[Any]:
    """Values of this type, half of them likely to mean something."""
    match node.get("type"):  # text where there is none: a number or a text, or anything
        case "object" if "properties" in node:
            required = set(node.get("required", ()))
            fields = {name: values(child) for name, child in node["properties"].items()}
            needed = {name: each for name, each in fields.items() if name in required}
            return st.fixed_dictionaries(
                needed, optional={name: each for name, each in fields.items() if name not in required}
            )
        case "object":
            return st.dictionaries(st.sampled_from(TEXTS), values(node["additionalProperties"]), max_size=2)
        case "array":
            return st.lists(values(node["items"]), max_size=3)
        case "boolean":
            return st.booleans()
        case "integer":
            return st.sampled_from(NUMBERS)
        case _:
            return st.sampled_from(node["enum"]) if "enum" in node else st.sampled_from(TEXTS)


def fewer(spec: Any, choose: random.Random) -> Any:
    """Most fields are left out: with all of them every object would be refused for something."""
    if isinstance(spec, dict):
        kept = {key: value for key, value in spec.items() if choose.random() < 0.35 or key in ("region", "id", "port")}
        return {key: fewer(value, choose) for key, value in kept.items()}
    return [fewer(item, choose) for item in spec] if isinstance(spec, list) else spec
