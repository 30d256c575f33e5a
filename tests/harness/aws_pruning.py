"""An AWSCluster with two zones, what a person prunes of it, and what the account has then."""

from __future__ import annotations

import json
from typing import Any

from freehold.api import names
from freehold.engine import decisions, journal
from freehold.engine.decisions import Decision, Verdict
from freehold_sim.aws.settings import Quotas, Settings
from harness.aws_cluster import AwsHarness, aws_cluster
from harness.standing import standing

ZONES = ("us-east-1a", "us-east-1b")
PLACES = [(zone, way) for zone in ZONES for way in ("pub", "pri")]
LISTED = [
    {"id": f"{way}-{zone[-1]}", "availabilityZone": zone, "cidrBlock": f"10.0.{number}.0/24", "isPublic": way == "pub"}
    for number, (zone, way) in enumerate(PLACES)
]


def harness(**spec: Any) -> AwsHarness:
    return standing(AwsHarness, aws_cluster(**spec), Settings(quotas=Quotas(addresses=50)))


def change(cluster: AwsHarness, **spec: Any) -> None:
    cluster.object.patch({"spec": spec})
    cluster.for_a_while(700.0)


def approve(cluster: AwsHarness, *kinds: str) -> None:
    """All surplus of these kinds, or all of it."""
    record = journal.loads(cluster.object.raw["metadata"]["annotations"][names.JOURNAL_ANNOTATION])
    ring, at = cluster.rings.ring.derive_keys(record.owner), cluster.clock.now()
    left = {row.get("id") for row in cluster.status()["resources"] if row["state"] == "Surplus"}
    chosen = [
        (key, each) for key, each in record.claimed.items() if each.id in left and (not kinds or key.kind in kinds)
    ]
    made = [Decision(Verdict.PRUNE, str(key), each.id, each.attempt, "ada", at) for key, each in chosen]
    text = decisions.dumps(decisions.sign_decision(each, ring) for each in made)
    cluster.object.patch({"metadata": {"annotations": {names.DECISIONS_ANNOTATION: text}}})


def answers(cluster: AwsHarness) -> dict[str, str]:
    cluster.for_a_while(900.0)
    rows = json.loads(cluster.object.raw["metadata"]["annotations"][names.DECISIONS_ANNOTATION])
    return {row["node"]: row["answer"] for row in rows}


def present(cluster: AwsHarness, *kinds: str) -> set[str]:
    gone = ("deleted", "terminated")
    return {
        row["id"]
        for row in cluster.resources()
        if not row["default"] and row["state"] not in gone and (not kinds or row["kind"] in kinds)
    }
