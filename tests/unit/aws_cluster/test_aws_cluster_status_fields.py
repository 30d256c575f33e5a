"""Every field of upstream's status is written, or docs/reference/awscluster-fields.md#status says why it is not."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from freehold.api.served_fields import find_covering
from freehold.collection.policy import Collect, Volumes
from freehold.collection.things import DEFAULT_TASKS
from freehold.engine.journal import Entry, Journal, RecordState
from freehold.engine.outcomes import Blocked, Category, Outcome, Ready, Reason
from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey, Observed, State
from freehold.providers.aws.cluster.desired import AWSWanted
from freehold.providers.aws.cluster.facts import AWSClusterFacts
from freehold.providers.aws.cluster.kind import AWS_CLUSTER
from freehold.providers.aws.cluster.status import build_status
from freehold.providers.objects.adapter import PassReport
from freehold.providers.objects.cloud_answers import Answer
from harness.aws_specs import NAMES, REGION, ZONES, Spec, cluster, wanted

CRD = Path(__file__).parents[2] / "data" / "upstream" / "capa" / "awsclusters.v1beta2.crd.yaml"
NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
SHOWN = {
    "address": "name.elb.example.net", "instance_type": "t3.micro", "private_address": "10.0.0.9",
    "public_address": "198.51.100.9", "subnet_id": "subnet-1", "image_id": "ami-1", "key_name": "key",
    "zone": ZONES[0], "security_groups": ["sg-1"],
}  # fmt: skip
"""What a look shows, of any kind."""
HTTPS = {"loadBalancerType": "nlb", "healthCheckProtocol": "HTTPS"}
SPECS: tuple[Spec, ...] = (
    {"bastion": {"enabled": True}},
    {
        "controlPlaneLoadBalancer": {**HTTPS, "name": "outer"},
        "secondaryControlPlaneLoadBalancer": {**HTTPS, "name": "inner", "scheme": "internal"},
    },
)
"""With both types of load balancers, and each setting that is not empty."""


def _schema() -> Any:
    versions = yaml.safe_load(CRD.read_text())["spec"]["versions"]
    (found,) = [each for each in versions if each["name"] == AWS_CLUSTER.version]
    return found["schema"]["openAPIV3Schema"]["properties"]["status"]


def _inside(schema: Any, path: str) -> Iterator[tuple[str, str, Any]]:
    """The name (``*`` for any), path and schema of each field right below one; nothing for one without fields."""
    for name, each in schema.get("properties", {}).items():
        yield name, f"{path}.{name}", each
    for key, mark in (("items", "[*]"), ("additionalProperties", ".*")):
        if isinstance(schema.get(key), dict) and schema[key].get("properties"):
            yield "*", f"{path}{mark}", schema[key]


def _leaves(schema: Any, path: str) -> Iterator[str]:
    inside = list(_inside(schema, path))
    for _, below, each in inside:
        yield from _leaves(each, below)
    if not inside:
        yield path


def _written(schema: Any, value: Any, path: str) -> Iterator[str]:
    inside = list(_inside(schema, path))
    for name, below, each in inside:
        rows = [value] if name in value else [] if name != "*" else value if isinstance(value, list) else value.values()
        for row in rows:
            yield from _written(each, row[name] if name != "*" else row, below)
    if not inside:
        yield path


def _status(spec: Spec, *, blocked: bool) -> Any:
    """Of a pass in which all is ready, or the VPC is not."""
    raw = cluster({"region": REGION, **spec})
    raw["metadata"] |= {"uid": "u1", "generation": 3, "resourceVersion": "9"}
    found = wanted(NAMES, raw, AWSClusterFacts(Answer(ZONES), image=Answer("ami-1"), namesakes=Answer(())))
    assert isinstance(found, AWSWanted)
    outcomes: dict[NodeKey, Outcome] = {}
    for key in found.graph.nodes:
        seen = Observed(str(key), str(key), State.READY, attributes=SHOWN, vendor_state="running")
        outcomes[key] = Ready(seen, Category.MANAGED)
        if blocked and key.kind == "vpc":
            outcomes[key] = Blocked(Reason.QUOTA, 300.0, "no more VPCs")
    journal = Journal(
        Owner("u1", AWS_CLUSTER.kind, NAMES.namespace, NAMES.cluster),
        {key: Entry(RecordState.OWNED, id=str(key)) for key in found.graph.nodes},
    )
    collection = Collect(DEFAULT_TASKS, Volumes.RETAIN, "default")
    return build_status(raw, PassReport(found, journal, outcomes), NOW, collection).status


def test_each_field_of_upstreams_status_is_written_or_listed_with_its_reason() -> None:
    schema = _schema()
    written = {
        path
        for spec in SPECS
        for blocked in (False, True)
        for path in _written(schema, _status(spec, blocked=blocked), "status")
    }
    leaves = set(_leaves(schema, "status"))
    assert len(leaves) > 100 and "status.networkStatus.securityGroups.*.id" in written
    assert sorted(path for path in leaves - written if find_covering(AWS_CLUSTER.left_out, path) is None) == []
    assert sorted(path for path in written if find_covering(AWS_CLUSTER.left_out, path) is not None) == []
