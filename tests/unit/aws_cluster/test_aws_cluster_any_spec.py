"""Whatever the API server lets pass, the decision is one of its three outcomes, and the same each time."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from freehold.api.crd import build_crd
from freehold.engine.graph import Graph
from freehold.providers.aws.cluster.desired import Decided, nodes
from freehold.providers.aws.cluster.facts import AWSClusterFacts, Recorded
from freehold.providers.aws.cluster.types.crd import AWS_CLUSTERS
from freehold.providers.objects.adapter import RefusedSpec, UndecidedSpec
from freehold.providers.objects.cloud_answers import Answer
from harness.aws_specs import NAMES, REGION, ZONES, cluster, decide, reordered
from harness.schema_values import fewer, values
from harness.schemas import schema_of

SPEC = schema_of(build_crd(AWS_CLUSTERS))["properties"]["spec"]
RECORDS = (
    Recorded(),
    Recorded("vpc-0123456789abcdef0", {"public:eu-central-1a:10.0.0.0/20:5": "subnet-0123456789abcdef0", "mine": ""}),
)


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(spec=values(SPEC), seed=st.integers(0, 2**32), recorded=st.sampled_from(RECORDS))
def test_no_spec_breaks_the_decision(spec: dict[str, Any], seed: int, recorded: Recorded) -> None:
    choose = random.Random(seed)
    raw = cluster({"region": REGION, **fewer(spec, choose)})
    known = AWSClusterFacts(Answer(ZONES), recorded=recorded)
    found = decide(NAMES, raw, known, storage=True)
    assert isinstance(found, Decided | RefusedSpec | UndecidedSpec)
    again = decide(NAMES, reordered(raw, choose), known, storage=True)
    assert type(again) is type(found)
    if isinstance(found, Decided) and not found.cluster_plan.vpc.given:
        Graph(nodes(found.cluster_plan, NAMES, "111122223333", "ami-1"))
    if isinstance(found, Decided) and isinstance(again, Decided):
        assert again.cluster_plan == found.cluster_plan and hash(again.cluster_plan) == hash(found.cluster_plan)
