"""Whatever the API server lets pass, the decision is one of its three outcomes, and the same each time."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from freehold.api.crd import custom_resource_definition
from freehold.engine.graph import Graph
from freehold.providers.aws.cluster.decide import Decided, decide
from freehold.providers.aws.cluster.desired import nodes
from freehold.providers.aws.cluster.facts import Facts, Recorded
from freehold.providers.aws.types.kinds import AWS_CLUSTERS
from freehold.providers.objects.adapter import Refused, Undecided
from freehold.providers.objects.cloud_answers import Answer
from harness.aws_specs import NAMES, REGION, ZONES, cluster, reordered
from harness.schemas import Schema, schema_of

SPEC = schema_of(custom_resource_definition(AWS_CLUSTERS))["properties"]["spec"]
TEXTS = (
    "", "a", "10.0.0.0/16", "10.0.0.0/24", "10.0.64.0/18", "10.0.0.300/8", "0.0.0.0/0", "2001:db8::/64", "::/0", "tcp",
    "-1", "6443", "traffic-port", REGION, *ZONES, "vpc-0123456789abcdef0", "subnet-0123456789abcdef0", "sg-1",
    "default", "prod-subnet-public-eu-central-1a", "aws:key", "cagw-1", "192.168.5.4", "x" * 300,
)  # fmt: skip
NUMBERS = (-1, 0, 1, 2, 5, 10, 80, 6443, 65535, 65536)


def values(node: Schema) -> st.SearchStrategy[Any]:
    """Values of this type, half of them likely to mean something."""
    match node["type"]:
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


RECORDS = (
    Recorded(),
    Recorded("vpc-0123456789abcdef0", {"public:eu-central-1a:10.0.0.0/20:5": "subnet-0123456789abcdef0", "mine": ""}),
)


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(spec=values(SPEC), seed=st.integers(0, 2**32), recorded=st.sampled_from(RECORDS))
def test_no_spec_breaks_the_decision(spec: dict[str, Any], seed: int, recorded: Recorded) -> None:
    choose = random.Random(seed)
    raw = cluster({"region": REGION, **fewer(spec, choose)})
    known = Facts(Answer(ZONES), recorded=recorded)
    found = decide(NAMES, raw, known, storage=True)
    assert isinstance(found, Decided | Refused | Undecided)
    again = decide(NAMES, reordered(raw, choose), known, storage=True)
    assert type(again) is type(found)
    if isinstance(found, Decided) and not found.wish.vpc.given:
        Graph(nodes(found.wish, NAMES, "111122223333", "ami-1"))
    if isinstance(found, Decided) and isinstance(again, Decided):
        assert again.wish == found.wish and hash(again.wish) == hash(found.wish)
