"""Which role an EKS cluster has: the spec's, ours, or that of clusterawsadm."""

from __future__ import annotations

from typing import Any

import pytest

from freehold.api.feature_gates import FeatureGate, FeatureGates
from freehold.engine.graph import Naming
from freehold.engine.journal import Entry, RecordState
from freehold.providers.aws.control_plane.keys import CLUSTER, OIDC, ROLE
from freehold.providers.aws.control_plane.oidc import oidc_node
from freehold.providers.aws.control_plane.role import DecidedRole, RoleWish, decide_role

OFF: FeatureGates = frozenset()
OWN: FeatureGates = frozenset({FeatureGate.EKS_ENABLE_IAM})
BOTH: FeatureGates = OWN | {FeatureGate.EKS_ALLOW_ADD_ROLES}
OURS, UPSTREAMS = "demo-iam-service-role", "eks-controlplane.cluster-api-provider-aws.sigs.k8s.io"
MORE = "arn:aws:iam::111122223333:policy/team/more"


NOTHING = RoleWish()


def decide(wish: RoleWish = NOTHING, gates: FeatureGates = OFF, **facts: Any) -> DecidedRole:
    return decide_role("demo", wish, gates, **{"partition": "aws", **facts})


def shown(found: DecidedRole) -> tuple[str, bool]:
    """Name of the role, and whether it is ours to make."""
    assert found.node.key == ROLE
    given = found.node.given({}) if found.node.given else ""
    assert given in ("", found.node.name)
    return found.node.name, not given


@pytest.mark.parametrize(
    ("name", "gates", "role"),
    [
        ("", OFF, (UPSTREAMS, False)),
        ("", OWN, (OURS, True)),
        ("mine", OFF, ("mine", False)),
        ("mine", OWN, ("mine", False)),
    ],
)
def test_who_has_the_role(name: str, gates: FeatureGates, role: tuple[str, bool]) -> None:
    assert shown(decide(RoleWish(name), gates)) == role


def test_what_is_asked_for_of_a_role_of_ours() -> None:
    wish = RoleWish(path="/eks/", boundary=MORE, additional_policies=(MORE,))
    found = decide(wish, BOTH, partition="aws-cn", tags=frozenset({"a:b"}))
    request = found.node.request({})
    assert (request["name"], request["path"], request["permissions_boundary"]) == (OURS, "/eks/", MORE)
    assert '"Service":"eks.amazonaws.com"' in request["trust"]
    assert '"Action":["sts:AssumeRole","sts:TagSession"]' in request["trust"]
    policies = {part.natural_key: found.node.part_field(part) for part in found.node.parts({})}
    assert policies == {"arn:aws-cn:iam::aws:policy/AmazonEKSClusterPolicy": "", MORE: "spec.roleAdditionalPolicies"}
    assert (found.problems, found.notes, found.node.naming) == ((), (), Naming.DEFAULT)
    assert found.node.tags == {"a:b"}


@pytest.mark.parametrize(
    ("wish", "gates", "field"),
    [
        (RoleWish(additional_policies=(MORE,)), OWN, "spec.roleAdditionalPolicies"),
        (RoleWish(additional_policies=("ReadOnlyAccess",)), BOTH, "spec.roleAdditionalPolicies"),
        (RoleWish(boundary="PowerUserAccess"), OWN, "spec.rolePermissionsBoundary"),
        (RoleWish(path="eks"), OWN, "spec.rolePath"),
        (RoleWish(path="/e ks/"), OWN, "spec.rolePath"),
    ],
)
def test_what_iam_would_not_take_is_refused_with_its_field(wish: RoleWish, gates: FeatureGates, field: str) -> None:
    assert [problem.field for problem in decide(wish, gates).problems] == [field]


def test_the_gate_for_more_policies_is_named_with_its_option() -> None:
    (problem,) = decide(RoleWish(additional_policies=(MORE,)), OWN).problems
    assert "--feature-gates=EKSAllowAddRoles=true" in problem.message


def test_what_is_not_acted_on_with_a_role_of_others_is_said() -> None:
    wish = RoleWish("mine", (MORE,), "/eks/", MORE)
    found = decide(wish, BOTH)
    fields = [note.field for note in found.notes]
    assert fields == ["spec.roleAdditionalPolicies", "spec.rolePath", "spec.rolePermissionsBoundary"]
    assert found.problems == () and found.node.parts({}) == frozenset()


def test_a_missing_role_of_upstreams_is_told_with_the_command_that_makes_it() -> None:
    said = decide().node.absent(UPSTREAMS)
    assert said.startswith(f"spec.roleName: role {UPSTREAMS} does not exist: ")
    assert "clusterawsadm bootstrap iam create-cloudformation-stack" in said
    assert "--feature-gates=EKSEnableIAM=true" in said
    assert "clusterawsadm" not in decide(RoleWish("mine")).node.absent("mine")


# -- what is on record ------------------------------------------------------------------------------------------

MADE = Entry(RecordState.OWNED, id=OURS)
GIVEN = Entry(RecordState.GIVEN, id=UPSTREAMS)


@pytest.mark.parametrize(
    ("recorded", "made", "gates", "role"),
    [
        (MADE, True, OFF, (OURS, True)),
        (MADE, False, OFF, (OURS, True)),
        (GIVEN, True, OWN, (UPSTREAMS, False)),
        (GIVEN, False, OWN, (OURS, True)),
        (Entry(RecordState.VACANT), True, OWN, (OURS, True)),
    ],
)
def test_a_cluster_keeps_its_role_when_a_gate_is_turned(
    recorded: Entry, made: bool, gates: FeatureGates, role: tuple[str, bool]
) -> None:
    """EKS never changes it: another role would be made for nothing, and ours be surplus while the cluster uses it."""
    found = decide(gates=gates, recorded=recorded, cluster_made=made)
    assert (shown(found), found.problems) == (role, ())


@pytest.mark.parametrize("recorded", [MADE, GIVEN])
def test_another_role_for_a_cluster_that_is_there_is_refused(recorded: Entry) -> None:
    found = decide(RoleWish("mine"), OWN, recorded=recorded, cluster_made=True)
    assert shown(found)[0] == recorded.id
    (problem,) = found.problems
    assert problem.field == "spec.roleName" and f"has {recorded.id}" in problem.message


def test_before_there_is_a_cluster_the_spec_decides() -> None:
    assert shown(decide(RoleWish("mine"), OWN, recorded=MADE)) == ("mine", False)


@pytest.mark.parametrize("made", [True, False])
def test_the_name_of_our_own_role_may_be_written_into_the_spec(made: bool) -> None:
    found = decide(RoleWish(OURS), OWN, recorded=MADE, cluster_made=made)
    assert (shown(found), found.problems) == ((OURS, True), ())


# -- the identity provider --------------------------------------------------------------------------------------


def test_the_identity_provider_may_go_after_its_cluster() -> None:
    node = oidc_node("demo")
    assert (node.key, node.requires, node.may_outlive) == (OIDC, {CLUSTER}, {CLUSTER})
    assert node.naming is Naming.EXPLICIT, "one of the issuer that is there is used"
