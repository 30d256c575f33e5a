"""A control plane with a role and an identity provider of its own: from nothing to nothing, in the order of the end."""

from __future__ import annotations

from typing import Any

import pytest

from freehold.api.feature_gates import FeatureGate
from freehold.cli.commands.orphans import is_repeated
from freehold.controllers.recovery.orphans import find_orphans, find_unlisted
from harness.aws_control_plane import OWN_ROLE, ControlPlaneHarness, control_plane
from harness.standing import standing
from harness.stepping import run_blocking

GATES = OWN_ROLE | {FeatureGate.EKS_ALLOW_ADD_ROLES}
CLUSTERS, MORE = (
    f"arn:aws:iam::aws:policy/{name}" for name in ("AmazonEKSClusterPolicy", "AmazonEKSVPCResourceController")
)
ORDER = ("eks.DeleteCluster", "iam.DeleteRole", "iam.DeleteOpenIDConnectProvider", "ec2.DeleteVpc")


def made(**spec: Any) -> ControlPlaneHarness:
    return standing(ControlPlaneHarness, control_plane(associateOIDCProvider=True, **spec), gates=GATES)


def of_iam(harness: ControlPlaneHarness) -> list[str]:
    """The types of what is of IAM and was made since."""
    return sorted(
        str(each["arn"]).rpartition("::")[2].split(":")[1].partition("/")[0]
        for each in harness.made()
        if ":iam:" in each["arn"]
    )


def test_a_life() -> None:
    harness = made(roleAdditionalPolicies=[MORE], rolePath="/eks/", rolePermissionsBoundary=MORE)
    (role,) = [each for each in harness.made() if ":role/" in each["arn"]]
    name = role["arn"].rpartition("/")[2]
    attached = harness.ask("iam", "ListAttachedRolePolicies", RoleName=name)["AttachedPolicies"]
    assert {each["PolicyArn"] for each in attached} == {CLUSTERS, MORE}
    assert harness.cluster()["roleArn"] == role["arn"] and ":role/eks/" in role["arn"]
    assert of_iam(harness) == ["oidc-provider", "role"]
    before = len(harness.calls(mutating=True))
    harness.clock.advance(7200)
    harness.settle(1)
    assert harness.calls(mutating=True)[before:] == []
    harness.down()
    deleted = [call.operation for call in harness.calls(mutating=True) if call.operation in ORDER]
    assert deleted[0] == ORDER[0] and deleted[-1] == ORDER[-1] and set(deleted) == set(ORDER)
    assert of_iam(harness) == []


def test_with_the_gate_turned_off_a_cluster_keeps_its_role() -> None:
    harness = made()
    harness.gates = frozenset()
    harness.start_process()
    harness.settle(3)
    assert harness.ready() and of_iam(harness) == ["oidc-provider", "role"]
    harness.down()
    assert of_iam(harness) == []


def test_a_lost_control_plane_is_listed_once_with_what_is_global() -> None:
    harness = made()
    deps = harness.account.build_read_only_deps(harness.rings.ring)
    unlisted = run_blocking(find_unlisted(deps, [harness.served.kind]))
    (lost,) = run_blocking(find_orphans(deps, (), unlisted.targets))
    assert {"iam-role", "oidc-provider", "eks-cluster", "vpc"} <= {each.key.kind for each in lost.resources}
    (elsewhere,) = run_blocking(find_orphans(deps, ()))
    assert is_repeated(elsewhere, [lost, elsewhere]) and not is_repeated(lost, [lost, elsewhere])


@pytest.mark.parametrize("gates", [frozenset(), OWN_ROLE])
def test_the_role_that_the_spec_names_is_used_and_kept(gates: frozenset[FeatureGate]) -> None:
    name = "eks-controlplane.cluster-api-provider-aws.sigs.k8s.io"
    harness = ControlPlaneHarness(control_plane(roleName=name), gates=gates)
    harness.up()
    assert harness.cluster()["roleArn"].endswith(name) and of_iam(harness) == []
    harness.down()
    assert harness.ask("iam", "GetRole", RoleName=name)["Role"]["RoleName"] == name
