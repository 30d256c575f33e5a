"""The status of a control plane: Cluster API's contract, what is for life, what is as the cloud has it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from freehold.api.conditions import find_condition
from freehold.collection.policy import SkipCollection
from freehold.engine.journal import Journal
from freehold.engine.outcomes import Blocked, Category, Outcome, Ready, Reason, Waiting
from freehold.engine.resources import NodeKey, Observed, State
from freehold.providers.aws import api_names as aws_names
from freehold.providers.aws.control_plane.facts import ControlPlaneFacts
from freehold.providers.aws.control_plane.keys import CLUSTER, OIDC, addon
from freehold.providers.aws.control_plane.status import build_status, build_trust_policy
from freehold.providers.objects.adapter import Desired, PassReport, RefusedSpec
from freehold.providers.objects.cloud_answers import Answer
from freehold.providers.objects.kept_secrets import SecretKept, SecretNotKept, SecretsReport
from freehold.providers.objects.spec_problems import SpecProblem
from harness.aws_control_plane import CLUSTER_ARN, EKS_NAME, ON_RECORD, OWNER, control_plane, wanted

Json = dict[str, Any]
NOW = datetime(2026, 1, 1, tzinfo=UTC)
NEVER = SkipCollection("OptedOut", "nobody wants it")
URL = "https://ABC.gr7.us-east-1.eks.amazonaws.com"
KEPT = SecretsReport({"demo-kubeconfig": SecretKept(400.0)})
FOREIGN = SecretsReport({"demo-kubeconfig": SecretNotKept("Foreign", "it is of somebody else, delete it", 30.0)})


def seen(word: str = "ACTIVE", **said: Any) -> Observed:
    state = {"CREATING": State.PENDING, "DELETING": State.DELETING}.get(word, State.READY)
    attributes = {"version": "1.33", "address": URL, **said}
    return Observed(CLUSTER_ARN, EKS_NAME, state, vendor_state=word, attributes=attributes)


def outcomes(plan: Desired, cluster: Outcome, **others: Outcome) -> dict[NodeKey, Outcome]:
    """All ready but for these, which are by kind."""
    graph = plan.graph  # type: ignore[union-attr]
    found: dict[NodeKey, Outcome] = {
        key: Ready(Observed(f"id-{key.logical}", key.logical, State.READY), Category.MANAGED) for key in graph.nodes
    }
    found |= {key: others[key.kind.replace("-", "_")] for key in graph.nodes if key.kind.replace("-", "_") in others}
    return {**found, CLUSTER: cluster}


def build(
    cluster: Outcome | None,
    before: Json | None = None,
    *,
    spec: Json | None = None,
    secrets: SecretsReport = KEPT,
    facts: ControlPlaneFacts | None = None,
    plan: Desired | None = None,
    **more: Any,
) -> Json:
    raw = control_plane(**(spec or {}))
    raw["metadata"] |= {"uid": "u", "generation": 4}
    raw["status"] = before or {}
    plan = plan or wanted(control_plane(**(spec or {})), facts)
    shown = outcomes(plan, cluster, **more.pop("others", {})) if cluster else {}
    report = PassReport(plan, Journal(OWNER, dict(ON_RECORD)), shown, secrets=secrets, **more)
    update = build_status(raw, report, NOW, NEVER, "demo")
    assert update.changed == (update.status != raw["status"])
    return {**update.status, "written": update.spec}


def condition(status: Mapping[str, Any], type_: str) -> Mapping[str, Any]:
    return find_condition(status["conditions"], type_) or {}


def ready(word: str = "ACTIVE", **said: Any) -> Ready:
    return Ready(seen(word, **said), Category.MANAGED)


def test_a_cluster_that_can_be_reached_is_initialized_with_its_endpoint() -> None:
    found = build(ready())
    assert found["written"] == {"controlPlaneEndpoint": {"host": URL, "port": 443}}
    assert (found["ready"], found["initialized"], found["externalManagedControlPlane"]) == (True, True, True)
    assert found["initialization"] == {"controlPlaneInitialized": True}
    assert condition(found, "Available")["status"] == condition(found, "Ready")["status"] == "True"
    assert found["observedGeneration"] == 4


NOT_YET: dict[str, tuple[Outcome, SecretsReport]] = {
    "it is being created": (Waiting(Reason.PROVISIONING, 30.0, observed=seen("CREATING", address="")), SecretsReport()),
    "it has no kubeconfig": (ready(), SecretsReport()),
    "its Secret is somebody else's": (ready(), FOREIGN),
    "it is somebody else's": (Blocked(Reason.NAME_TAKEN, "taken", observed=seen()), KEPT),
}


@pytest.mark.parametrize(("cluster", "secrets"), NOT_YET.values(), ids=NOT_YET.keys())
def test_it_is_not_initialized_before(cluster: Outcome, secrets: SecretsReport) -> None:
    found = build(cluster, secrets=secrets)
    assert not found["initialized"] and found["initialization"] == {"controlPlaneInitialized": False}
    assert found["ready"] is isinstance(cluster, Ready)


GONE: dict[str, tuple[Outcome, bool]] = {
    "it is being updated": (ready("UPDATING"), True),
    "an update is due": (Waiting(Reason.UPDATING, 15.0, "EKS is updating", seen("UPDATING")), True),
    "EKS has failed": (Blocked(Reason.FAILED, "failed", observed=seen("FAILED")), False),
    "it was not seen": (Waiting(Reason.RETRYING, 5.0, "no answer"), True),
}


@pytest.mark.parametrize(("cluster", "serves"), GONE.values(), ids=GONE.keys())
def test_initialized_is_for_life_and_ready_is_as_eks_has_it(cluster: Outcome, serves: bool) -> None:
    before = {"ready": True, "initialized": True, "observedGeneration": 3}
    found = build(cluster, before, secrets=SecretsReport())
    assert (found["initialized"], found["initialization"]["controlPlaneInitialized"]) == (True, True)
    assert found["ready"] is serves
    assert condition(found, "Available")["status"] == str(serves)


def test_a_refused_spec_takes_neither_back_and_is_not_observed() -> None:
    before = {"ready": True, "initialized": True, "observedGeneration": 3, "version": "v1.33.0"}
    found = build(None, before, plan=RefusedSpec((SpecProblem("spec.version", "no"),)))
    assert (found["ready"], found["initialized"], found["version"]) == (True, True, "v1.33.0")
    assert found["observedGeneration"] == 3
    assert condition(found, "Ready")["message"] == "spec.version: no"


def test_a_generation_is_observed_when_it_is_carried_out() -> None:
    """Cluster API takes a control plane for upgraded by it (CAPA #6084). Addons that wait for nodes count not."""
    waits = Waiting(Reason.UPDATING, 15.0, "EKS is updating", seen("UPDATING"))
    assert "observedGeneration" not in build(waits)
    assert build(waits, {"observedGeneration": 3})["observedGeneration"] == 3
    degraded = {"eks_addon": Waiting(Reason.PROVISIONING, 30.0)}
    spec = {"addons": [{"name": "coredns", "version": "v1"}]}
    assert build(ready(), spec=spec, others=degraded)["observedGeneration"] == 4
    assert "observedGeneration" not in build(ready(), others={"security_group": Waiting(Reason.RETRYING, 5.0)})


VERSIONS = (
    ("v1.33", "1.33", "v1.33.0"),
    ("v1.33.4", "1.33", "v1.33.4"),
    ("1.33.4", "1.33", "v1.33.4"),
    ("v1.34.1", "1.33", "v1.33.0"),
    (None, "1.34", "v1.34.0"),
)
"""Cluster API holds machines back while ``spec.version`` is greater, and EKS knows no patch."""


@pytest.mark.parametrize(("said", "there", "shown"), VERSIONS)
def test_the_version_is_the_clouds(said: str | None, there: str, shown: str) -> None:
    assert build(ready(version=there), spec={"version": said})["version"] == shown


def test_a_secret_that_is_not_kept_is_named_in_ready() -> None:
    found = build(ready(), secrets=FOREIGN)
    assert condition(found, "Ready")["message"] == "Secret demo-kubeconfig: it is of somebody else, delete it"
    assert found["ready"]


def test_addons_are_shown_as_eks_has_them_and_stay_while_they_are_not_seen() -> None:
    spec = {"addons": [{"name": "coredns", "version": "v2"}]}
    shown = Observed("arn:a", "coredns", State.READY, vendor_state="DEGRADED (no nodes)",
                     attributes={"version": "v1", "role_arn": "", "issue": "no nodes"})  # fmt: skip
    row = {
        "arn": "arn:a",
        "name": "coredns",
        "version": "v1",
        "status": "DEGRADED",
        "issues": [{"message": "no nodes"}],
    }
    assert build(ready(), spec=spec, others={"eks_addon": Ready(shown, Category.MANAGED)})["addons"] == [row]
    unseen = {"eks_addon": Waiting(Reason.RETRYING, 5.0)}
    assert build(ready(), {"addons": [row]}, spec=spec, others=unseen)["addons"] == [row]
    assert addon("coredns").logical == "coredns"


def test_the_oidc_provider_comes_with_the_trust_policy_of_a_role() -> None:
    arn = "arn:aws:iam::111122223333:oidc-provider/oidc.eks.us-east-1.amazonaws.com/id/ABC"
    provider = Ready(Observed(arn, "p", State.READY), Category.MANAGED)
    found = build(ready(), spec={"associateOIDCProvider": True}, others={OIDC.kind.replace("-", "_"): provider})
    assert found["oidcProvider"] == {"arn": arn, "trustPolicy": build_trust_policy(arn)}
    (statement,) = json.loads(build_trust_policy(arn))["Statement"]
    assert statement["Principal"] == {"Federated": [arn]}
    assert list(statement["Condition"]["ForAnyValue:StringLike"]) == ["oidc.eks.us-east-1.amazonaws.com/id/ABC:sub"]


def test_failure_domains_are_the_zones_with_a_private_subnet() -> None:
    assert build(ready())["failureDomains"] == {f"us-east-1{zone}": {"controlPlane": True} for zone in "abc"}


def test_aws_auth_is_named_where_the_spec_wants_it() -> None:
    nodes = "arn:aws:iam::111122223333:role/nodes"
    found = build(ready(), spec={"accessConfig": {"authenticationMode": "config_map"}},
                  facts=ControlPlaneFacts(node_roles={"nodes": Answer(nodes)}))  # fmt: skip
    said = condition(found, aws_names.IAM_AUTHENTICATOR_CONFIGURED)
    assert said["status"] == "Unknown" and f"eksctl create iamidentitymapping --cluster {EKS_NAME}" in said["message"]
    assert condition(found, "Ready")["status"] == "True"


def test_conditions_of_a_step_go_with_it() -> None:
    during = build(Waiting(Reason.UPDATING, 15.0, observed=seen("UPDATING")))
    assert condition(during, aws_names.EKS_CONTROL_PLANE_UPDATING)["status"] == "True"
    after = build(ready(), {name: value for name, value in during.items() if name != "written"})
    assert condition(after, aws_names.EKS_CONTROL_PLANE_UPDATING) == {}


def test_one_that_is_being_deleted_is_not_ready_and_was_initialized() -> None:
    found = build(ready("DELETING"), {"ready": True, "initialized": True}, deleting=True)
    assert (found["ready"], found["initialized"]) == (False, True)
    assert condition(found, "Available")["message"] == "being deleted"


def test_equal_reports_give_equal_statuses() -> None:
    first = build(ready())
    first.pop("written")
    raw = control_plane(controlPlaneEndpoint={"host": URL, "port": 443})
    raw["metadata"] |= {"uid": "u", "generation": 4}
    plan = wanted(raw)
    report = PassReport(plan, Journal(OWNER, dict(ON_RECORD)), outcomes(plan, ready()), secrets=KEPT)
    again = build_status({**raw, "status": first}, report, NOW.replace(year=2027), NEVER, "demo")
    assert not again.changed and again.spec is None
