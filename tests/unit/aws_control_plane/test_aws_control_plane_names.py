"""A cluster of EKS is called as CAPA calls it, and keeps its name."""

from __future__ import annotations

import pytest

from freehold.engine.journal import Entry, RecordState
from freehold.providers.aws.control_plane.keys import CLUSTER, access_entry
from freehold.providers.aws.control_plane.names import build_eks_name, build_role_name
from freehold.providers.aws.control_plane.recorded import eks_name_of
from harness.aws_control_plane import CLUSTER_ARN, EKS_NAME, control_plane

LONG = "abcde" * 20
CAPA: dict[str, tuple[str, str, str]] = {
    "less than 100 chars": ("cluster1", "default", "default_cluster1"),
    "less than 100 chars, dot in name": ("team1.cluster1", "default", "default_team1_cluster1"),
}
"""The cases of CAPA's own test: controlplane/eks/webhooks/awsmanagedcontrolplane_webhook_test.go."""


@pytest.mark.parametrize(("name", "namespace", "expected"), CAPA.values(), ids=CAPA.keys())
def test_a_short_name_is_namespace_and_name(name: str, namespace: str, expected: str) -> None:
    assert build_eks_name(name, namespace) == expected


def test_a_long_name_is_a_digest_after_upstreams_prefix() -> None:
    found = build_eks_name(LONG, "default")
    assert found.startswith("capa_") and len(found) == 32 and found != build_eks_name(LONG, "other")


@pytest.mark.parametrize(("length", "whole"), [(99, True), (100, False)])
def test_a_name_of_a_hundred_characters_is_shortened_already(length: int, whole: bool) -> None:
    name = "x" * (length - len("ns_"))
    assert (build_eks_name(name, "ns") == f"ns_{name}") is whole


def test_a_role_has_at_most_64_characters() -> None:
    assert build_role_name("prod") == "prod-iam-service-role"
    assert len(build_role_name("x" * 60)) <= 64
    assert build_role_name("x" * 60) != build_role_name("y" * 60)


def test_the_name_on_record_counts_whatever_the_spec_says() -> None:
    named = control_plane(eksClusterName="mine")
    assert eks_name_of(control_plane(), {}) == EKS_NAME
    assert eks_name_of(named, {}) == "mine"
    assert eks_name_of(named, {CLUSTER: Entry(RecordState.OWNED, CLUSTER_ARN)}) == EKS_NAME
    open_intent = Entry(RecordState.INTENDED, request={"name": EKS_NAME})
    assert eks_name_of(named, {CLUSTER: open_intent}) == EKS_NAME
    assert eks_name_of(named, {CLUSTER: Entry(RecordState.VACANT, gone=CLUSTER_ARN)}) == EKS_NAME


def test_a_plan_has_the_name_of_a_cluster_that_it_would_make() -> None:
    assert eks_name_of(control_plane(), {CLUSTER: Entry(RecordState.OWNED, "planned-22")}) == EKS_NAME


def test_an_access_entry_is_known_by_account_and_name() -> None:
    assert access_entry("arn:aws:iam::111122223333:role/a/b").logical == "111122223333:role/a/b"
    assert access_entry("arn:aws-cn:iam::111122223333:user/x").logical == "111122223333:user/x"
