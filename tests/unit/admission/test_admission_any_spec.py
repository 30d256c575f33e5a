"""Whatever a schema lets pass, a rule finds an answer, and refuses nothing that the reconciler would serve."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from freehold.admission.rules import Rules
from freehold.admission.webhook_configuration import CHECKED
from freehold.api.feature_gates import DEFAULT_GATES, FeatureGate
from freehold.providers.objects.adapter import RefusedSpec
from freehold.providers.objects.cloud_answers import Answer
from harness.aws_specs import NAMES, REGION, cluster, decide, facts
from harness.schema_values import fewer, values
from harness.schemas import Schema, crd_of, schema_of

RULES = Rules(DEFAULT_GATES | {FeatureGate.BOOTSTRAP_FORMAT_IGNITION})
UNHURRIED = [HealthCheck.too_slow, HealthCheck.data_too_large]


@cache
def _spec_schema(kind: str) -> Schema:
    """Asked for when a test runs: each worker would build all CRDs in order to collect."""
    spec: Schema = schema_of(crd_of(kind))["properties"]["spec"]
    return spec


@pytest.mark.parametrize("kind", CHECKED, ids=lambda each: each.kind)
@settings(suppress_health_check=UNHURRIED, max_examples=10)
@given(data=st.data())
def test_no_spec_breaks_a_rule(kind: Any, data: st.DataObject) -> None:
    spec = fewer(data.draw(values(_spec_schema(kind.kind))), random.Random(data.draw(st.integers(0, 2**32))))
    metadata = {"name": "a", "namespace": "ns"}
    raw = {"apiVersion": f"{kind.group}/{kind.version}", "kind": kind.kind, "metadata": metadata, "spec": spec}
    found = RULES.judge(kind.group, kind.kind, raw)
    assert all(each.field and each.message for each in found.problems)


@settings(suppress_health_check=UNHURRIED)
@given(spec=st.deferred(lambda: values(_spec_schema("AWSCluster"))), seed=st.integers(0, 2**32))
def test_nothing_is_refused_that_the_reconciler_would_serve(spec: dict[str, Any], seed: int) -> None:
    raw = cluster({"region": REGION, **fewer(spec, random.Random(seed))})
    told = {str(each) for each in RULES.judge("infrastructure.cluster.x-k8s.io", "AWSCluster", raw).problems}
    found = decide(NAMES, raw, replace(facts(), namesakes=Answer(())), storage=True)
    assert told <= ({str(each) for each in found.problems} if isinstance(found, RefusedSpec) else set())
