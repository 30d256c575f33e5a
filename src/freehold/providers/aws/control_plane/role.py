"""The role with which EKS works in the account: given by the spec, ours, or that of ``clusterawsadm``. Pure.

EKS takes no other role for a cluster that exists
(https://docs.aws.amazon.com/eks/latest/APIReference/API_UpdateClusterConfig.html): from then on it stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from freehold.api.feature_gates import FeatureGate, FeatureGates, format_option
from freehold.engine.graph import Node, ReadyNodes
from freehold.engine.journal import Entry
from freehold.engine.resources import Part, Request
from freehold.providers.aws.cluster.nodes.given import given_node
from freehold.providers.aws.control_plane.keys import ROLE
from freehold.providers.aws.control_plane.names import DEFAULT_ROLE, build_role_name
from freehold.providers.aws.kinds.iam_role import EKS_POLICY, POLICY, policy_part
from freehold.providers.aws.policy_json import canonical_policy
from freehold.providers.objects.spec_problems import SpecProblem, SpecWarning

_PATH = re.compile(r"/([!-~]{1,510}/)?")
_POLICY = re.compile(r"arn:aws[a-z-]*:iam::(aws|\d{12}):policy/.+")
_NAME, _PATH_FIELD, _BOUNDARY, _POLICIES = (
    f"spec.{name}" for name in ("roleName", "rolePath", "rolePermissionsBoundary", "roleAdditionalPolicies")
)


@dataclass(frozen=True)
class RoleWish:
    """What the spec says of the role; empty where it says nothing."""

    name: str = ""
    additional_policies: tuple[str, ...] = ()
    path: str = ""
    boundary: str = ""


@dataclass(frozen=True)
class DecidedRole:
    """The node of the role. ``problems`` refuse the spec; ``notes`` are for a person."""

    node: Node
    problems: tuple[SpecProblem, ...] = ()
    notes: tuple[SpecWarning, ...] = ()


def decide_role(
    eks_name: str,
    wish: RoleWish,
    gates: FeatureGates,
    *,
    partition: str,
    recorded: Entry | None = None,
    cluster_made: bool = False,
    tags: frozenset[str] = frozenset(),
) -> DecidedRole:
    """Decide which role the cluster has.

    ``recorded`` is the journal's entry of :data:`keys.ROLE`; ``cluster_made`` says that the cluster is on record as
    ours. ``tags`` are those beside marks and the user's for a role of ours.
    """
    kept = recorded if recorded and recorded.id and recorded.state.counts else None
    bound = kept is not None and cluster_made
    if kept is not None and kept.state.is_claimed and (bound or wish.name in ("", kept.id)):
        return _decide_own(kept.id, eks_name, wish, gates, partition, tags, _refuse_change(eks_name, wish, kept.id))
    if kept is not None and bound:
        return _decide_given(kept.id, wish, _refuse_change(eks_name, wish, kept.id))
    if wish.name:
        return _decide_given(wish.name, wish)
    if FeatureGate.EKS_ENABLE_IAM in gates:
        return _decide_own(build_role_name(eks_name), eks_name, wish, gates, partition, tags)
    return _decide_given(DEFAULT_ROLE, wish)


def role_arn(known: ReadyNodes) -> str:
    """Return the ARN for EKS, once the role is ready."""
    return str(known[ROLE].attributes["arn"])


def trust() -> dict[str, Any]:
    """Return who may take the role: EKS. Auto Mode needs the second action.

    https://docs.aws.amazon.com/eks/latest/userguide/automode-get-started-cli.html
    """
    statement = {
        "Effect": "Allow",
        "Principal": {"Service": ["eks.amazonaws.com"]},
        "Action": ["sts:AssumeRole", "sts:TagSession"],
    }
    return {"Version": "2012-10-17", "Statement": [statement]}


def _decide_own(
    name: str,
    eks_name: str,
    wish: RoleWish,
    gates: FeatureGates,
    partition: str,
    tags: frozenset[str],
    problems: tuple[SpecProblem, ...] = (),
) -> DecidedRole:
    policies = (f"arn:{partition}:iam::aws:policy/{EKS_POLICY}", *wish.additional_policies)
    request: Request = {
        "name": name,
        "path": wish.path or "/",
        "trust": canonical_policy(trust()),
        "permissions_boundary": wish.boundary,
    }
    parts = frozenset(map(policy_part, policies))
    node = Node(
        ROLE,
        name,
        lambda known: request,
        parts=lambda known: parts,
        part_field=_field_of,
        spec_noun="role",
        name_taken_advice=(
            f"set {_NAME} to {name} to use it as it is, or remove it: nothing of it was changed for {eks_name}"
        ),
        tags=tags,
    )
    return DecidedRole(node, (*problems, *_check(wish, gates)))


def _field_of(part: Part) -> str:
    return _POLICIES if part.kind == POLICY else ""


def _check(wish: RoleWish, gates: FeatureGates) -> Iterator[SpecProblem]:
    """Yield what is wrong with the wishes for a role of ours."""
    if wish.additional_policies and FeatureGate.EKS_ALLOW_ADD_ROLES not in gates:
        option = format_option(FeatureGate.EKS_ALLOW_ADD_ROLES)
        yield SpecProblem(_POLICIES, f"needs the feature gate: start the operator with {option}, or remove the field")
    for policy in wish.additional_policies:
        if not _POLICY.fullmatch(policy):
            yield SpecProblem(_POLICIES, f"{policy!r} is no ARN of a policy")
    if wish.boundary and not _POLICY.fullmatch(wish.boundary):
        yield SpecProblem(_BOUNDARY, f"{wish.boundary!r} is no ARN of a policy")
    if wish.path and not _PATH.fullmatch(wish.path):
        yield SpecProblem(_PATH_FIELD, f"{wish.path!r} does not begin and end with '/', or has a space in it")


def _refuse_change(eks_name: str, wish: RoleWish, name: str) -> tuple[SpecProblem, ...]:
    if wish.name in ("", name):
        return ()
    return (SpecProblem(_NAME, f"EKS never changes the role of a cluster: {eks_name} has {name}. Set it back to that"),)


def _decide_given(name: str, wish: RoleWish, problems: tuple[SpecProblem, ...] = ()) -> DecidedRole:
    """Decide for a role that is not ours. Nothing of it is changed, also where the spec names policies."""
    node = replace(given_node(ROLE, name, _NAME), spec_noun="role", absent_advice=_how_to_make(name))
    unused = {
        _POLICIES: bool(wish.additional_policies),
        _PATH_FIELD: bool(wish.path),
        _BOUNDARY: bool(wish.boundary),
    }
    why = f"not acted on: the role {name} is used as it is. With {_NAME} unset and "
    why += f"{format_option(FeatureGate.EKS_ENABLE_IAM)} a new cluster gets a role of its own"
    return DecidedRole(node, problems, tuple(SpecWarning(field, why) for field, is_set in unused.items() if is_set))


def _how_to_make(name: str) -> str:
    gate = f"{format_option(FeatureGate.EKS_ENABLE_IAM)}, with which each cluster gets a role of its own"
    if name == DEFAULT_ROLE:
        return (
            "make it with clusterawsadm bootstrap iam create-cloudformation-stack, name another role here, or start "
            f"the operator with {gate}"
        )
    return f"correct the name, make the role, or remove the field and start the operator with {gate}"
