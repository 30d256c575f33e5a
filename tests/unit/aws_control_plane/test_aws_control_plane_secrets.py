"""The kubeconfig is of the cluster on record, and of no later one of its name; it lasts while nobody can look."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from freehold.engine.journal import Entry, Journal, RecordState
from freehold.engine.keys import KeyRing
from freehold.engine.outcomes import Category, Outcome, Ready, Reason, Waiting
from freehold.engine.resources import NodeKey, Observed, State
from freehold.engine.secret_values import SecretValue
from freehold.providers.aws.control_plane.adapter import AWSManagedControlPlaneAdapter
from freehold.providers.aws.control_plane.facts import ControlPlaneFacts, ControlPlaneQuestions
from freehold.providers.aws.control_plane.keys import CLUSTER
from freehold.providers.objects.adapter import PassReport, RefusedSpec
from freehold.providers.objects.gate import Proceed
from harness.aws_control_plane import CLUSTER_ARN, EKS_NAME, NAME, OWNER, control_plane
from harness.stepping import run_blocking

BORN = "2026-01-01T00:00:00+00:00"
RING = KeyRing.single(bytes(32))
KEYS = RING.derive_keys(OWNER)
SIGNATURE = KEYS.signature(KEYS.writing, CLUSTER.kind, CLUSTER_ARN, BORN)
HELD = Entry(RecordState.OWNED, CLUSTER_ARN, incarnation=BORN, key=KEYS.writing, signature=SIGNATURE)
SEEN = Observed(
    CLUSTER_ARN, EKS_NAME, State.READY, vendor_state="ACTIVE", incarnation=BORN,
    attributes={"address": "https://a", "certificate": "Y2E="},
)  # fmt: skip
THEIRS = replace(SEEN, id=f"{CLUSTER_ARN}-of-others", name=f"{EKS_NAME}-of-others")
LATER = replace(SEEN, incarnation="2026-02-02T00:00:00+00:00")
REFUSED = RefusedSpec(())


class SaidClusters:
    """A source of clusters and tokens that the test gives."""

    def __init__(self, there: Observed | None) -> None:
        self.there = there
        self.asked: list[str] = []
        self.signed: list[str] = []

    async def read_cluster(self, eks_name: str) -> Observed | None:
        self.asked.append(eks_name)
        return self.there

    async def sign_cluster_token(self, eks_name: str) -> SecretValue:
        self.signed.append(eks_name)
        return SecretValue("token", b"k8s-aws-v1.x")


class NoFacts:
    """Nothing is asked of it."""

    async def read(self, questions: ControlPlaneQuestions) -> ControlPlaneFacts:
        raise AssertionError


class Kept:
    """An adapter, and what it is asked after passes."""

    def __init__(self, there: Observed | None = SEEN) -> None:
        self.clusters = SaidClusters(there)
        self.adapter = AWSManagedControlPlaneAdapter(None, NoFacts(), self.clusters)  # type: ignore[arg-type]  # no network is read

    def after(self, outcomes: Mapping[NodeKey, Outcome], entry: Entry | None = HELD) -> list[str]:
        """The names of the Secrets that are wanted after a pass with these outcomes."""
        raw: dict[str, Any] = control_plane()
        raw["metadata"]["uid"] = "u"
        journal = Journal(OWNER, {CLUSTER: entry} if entry else {})
        report = PassReport(REFUSED, journal, outcomes)
        return [each.name for each in run_blocking(self.adapter.find_secrets(raw, Proceed(NAME, ring=RING), report))]


BOTH = [f"{NAME}-kubeconfig", f"{NAME}-user-kubeconfig"]
READY = {CLUSTER: Ready(SEEN, Category.MANAGED)}


def test_a_cluster_that_serves_has_both() -> None:
    kept = Kept()
    assert kept.after(READY) == BOTH
    assert (kept.clusters.signed, kept.clusters.asked) == ([EKS_NAME], [])


def test_it_lasts_while_the_cluster_cannot_be_read() -> None:
    kept = Kept()
    kept.after(READY)
    assert kept.after({CLUSTER: Waiting(Reason.RETRYING, 5.0, "no answer")}) == BOTH
    assert kept.after({}) == BOTH and kept.clusters.asked == []


def test_a_new_process_reads_the_cluster_if_its_pass_could_not() -> None:
    kept = Kept()
    assert kept.after({}) == BOTH
    assert kept.clusters.asked == [EKS_NAME]


NONE: dict[str, tuple[Observed | None, Entry | None, Mapping[NodeKey, Outcome]]] = {
    "nothing is on record": (SEEN, None, {}),
    "the create is under way": (SEEN, Entry(RecordState.INTENDED, request={"name": EKS_NAME}), {}),
    "it is being created": (None, HELD, {CLUSTER: Waiting(Reason.PROVISIONING, 30.0,
                                                         observed=replace(SEEN, vendor_state="CREATING"))}),
    "it was not seen yet": (SEEN, HELD, {CLUSTER: Waiting(Reason.RETRYING, 5.0)}),
    "it has gone": (None, HELD, {}),
    "a later one has its name": (LATER, HELD, {}),
    "a later one was seen": (None, HELD, {CLUSTER: Ready(LATER, Category.MANAGED)}),
    "the record was edited": (THEIRS, replace(HELD, id=THEIRS.id), {}),
    "the record is of nobody": (SEEN, replace(HELD, signature=""), {}),
    "it is going": (replace(SEEN, vendor_state="DELETING"), HELD, {}),
}  # fmt: skip


@pytest.mark.parametrize(("there", "entry", "outcomes"), NONE.values(), ids=NONE.keys())
def test_there_is_none(there: Observed | None, entry: Entry | None, outcomes: Mapping[NodeKey, Outcome]) -> None:
    kept = Kept(there)
    assert kept.after(outcomes, entry) == []
    assert kept.clusters.signed == []
