"""The engine with the kinds of IAM: made once, found again, never somebody else's, and gone after what needs them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from freehold.api.feature_gates import FeatureGate
from freehold.controllers.recovery.lost_objects import build_recovery
from freehold.controllers.recovery.orphans import find_orphans, find_unlisted
from freehold.engine.engine import ensure
from freehold.engine.graph import Graph, Node
from freehold.engine.journal import Journal, RecordState
from freehold.engine.outcomes import Blocked, Kept, Outcome, Reason, Waiting
from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey
from freehold.providers.aws.control_plane.keys import OIDC, ROLE
from freehold.providers.aws.control_plane.kind import AWS_MANAGED_CONTROL_PLANE
from freehold.providers.aws.control_plane.oidc import oidc_node
from freehold.providers.aws.control_plane.role import RoleWish, decide_role, role_arn
from freehold_sim.aws.settings import Lags, Settings
from freehold_sim.faults import Effect, Fault
from harness.aws_account import AwsAccount
from harness.aws_passes import HOUR, Life
from harness.simulated_aws import TRUST

OWNER = Owner("0a1b2c3d-1111-4222-8333-444455557777", "AWSManagedControlPlane", "default", "demo")
NAME = "demo-iam-service-role"
CLUSTER_POLICY, OTHER_POLICY = (
    f"arn:aws:iam::aws:policy/{name}" for name in ("AmazonEKSClusterPolicy", "ReadOnlyAccess")
)
VPC = NodeKey("vpc", "main")
"""Stands for the cluster, which has what the role and the identity provider are named after."""


def role(*policies: str, **wish: Any) -> Node:
    decided = decide_role(
        "demo", RoleWish(additional_policies=policies, **wish), frozenset(FeatureGate), partition="aws"
    )
    assert decided.problems == ()
    return decided.node


def cluster(*requires: NodeKey) -> Node:
    def request(known: Any) -> dict[str, Any]:
        assert ROLE not in requires or role_arn(known).startswith("arn:aws:iam::")
        return {"name": "demo", "cidr": "10.0.0.0/16"}

    return Node(VPC, "demo", request, requires=frozenset(requires))


def provider(path: str = "{}") -> Node:
    def request(known: Any) -> dict[str, Any]:
        url = f"https://oidc.eks.us-east-1.amazonaws.com/id/{path.format(known[VPC].id)}"
        return {"url": url, "client_ids": ["sts.amazonaws.com"]}

    beside = frozenset({VPC})
    return replace(oidc_node("demo"), request=request, requires=beside, may_outlive=beside)


def life_of(*nodes: Node, account: AwsAccount | None = None) -> Life:
    return Life(account or AwsAccount(Settings()), nodes, OWNER)


def of_iam(life: Life) -> dict[str, list[str]]:
    """What is in the account: roles with their policies, and URLs of providers."""
    iam = life.account.iam
    found: dict[str, list[str]] = {}
    for row in iam.list_roles()["Roles"]:
        attached = iam.list_attached_role_policies(RoleName=row["RoleName"])["AttachedPolicies"]
        found[row["RoleName"]] = sorted(each["PolicyArn"] for each in attached)
    for row in iam.list_open_id_connect_providers()["OpenIDConnectProviderList"]:
        found[row["Arn"].rpartition("/")[2]] = []
    return found


async def one_pass(life: Life) -> Mapping[NodeKey, Outcome]:
    done = await ensure(life.deps, life.graph, life.journal, life.store, life.state)
    life.journal = done.journal
    life.later(max(done.after, 1.0))
    return done.outcomes


async def stuck(life: Life, key: NodeKey, reason: Reason, *, down: bool = False) -> Outcome:
    """Passes until this node is held for this reason."""
    for _ in range(60):
        outcomes = (await life.one_release()).outcomes if down else await one_pass(life)
        if getattr(outcomes.get(key), "reason", None) is reason:
            return outcomes[key]
    raise AssertionError({str(key): outcome for key, outcome in outcomes.items()})


# -- roles ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [Settings(), Settings(lags=Lags(new=30.0, non_monotonic=True))], ids=["", "lag"])
async def test_a_role_is_made_once_has_its_policies_before_the_cluster_and_leaves_nothing(settings: Settings) -> None:
    life = life_of(role(OTHER_POLICY), cluster(ROLE), account=AwsAccount(settings))
    await life.up()
    assert of_iam(life) == {NAME: sorted([CLUSTER_POLICY, OTHER_POLICY])}
    sent = [name for name in life.writes() if name in ("create_role", "attach_role_policy", "create_vpc")]
    assert sent == ["create_role", "attach_role_policy", "attach_role_policy", "create_vpc"]
    before = life.writes()
    life.later(HOUR)
    await life.up()
    assert life.writes() == before
    await life.down()
    assert of_iam(life) == {} and life.standing() == {}


async def test_an_edit_changes_trust_boundary_and_our_policies_alone() -> None:
    life = life_of(role(OTHER_POLICY))
    await life.up()
    iam = life.account.iam
    iam.attach_role_policy(RoleName=NAME, PolicyArn="arn:aws:iam::aws:policy/SecurityAudit")
    iam.update_assume_role_policy(RoleName=NAME, PolicyDocument=TRUST)
    life.graph = Graph([role(boundary=OTHER_POLICY)])
    life.later(HOUR)
    life.state.invalidate()
    await life.up()
    assert of_iam(life) == {NAME: sorted([CLUSTER_POLICY, "arn:aws:iam::aws:policy/SecurityAudit"])}
    shown = iam.get_role(RoleName=NAME)["Role"]
    assert shown["PermissionsBoundary"]["PermissionsBoundaryArn"] == OTHER_POLICY
    assert shown["AssumeRolePolicyDocument"]["Statement"]["Principal"] == {"Service": "eks.amazonaws.com"}


async def test_a_lost_journal_finds_the_role_by_its_name_and_marks() -> None:
    life = life_of(role())
    await life.up()
    life.later(HOUR)
    life.die(Journal(OWNER))
    await life.up()
    assert life.writes().count("create_role") == 1
    await life.down()
    assert of_iam(life) == {}


async def test_a_lost_journal_and_a_spec_without_it_leave_no_role_behind() -> None:
    """At the end of a delete roles with names like ours are read for our birth mark: no index lists them."""
    life = life_of(role())
    await life.up()
    life.later(HOUR)
    life.die(Journal(OWNER))
    life.graph = Graph([])
    await life.down()
    assert of_iam(life) == {}


async def test_somebodys_role_of_the_name_is_not_touched() -> None:
    account = AwsAccount(Settings())
    account.iam.create_role(RoleName=NAME, AssumeRolePolicyDocument=TRUST)
    account.clock.advance(HOUR)
    life = life_of(role(), account=account)
    found = await stuck(life, ROLE, Reason.NAME_TAKEN)
    assert isinstance(found, Blocked) and f"set spec.roleName to {NAME} to use it as it is" in found.message
    assert life.writes() == []
    await life.down()
    assert of_iam(life) == {NAME: []}


async def test_what_others_attached_stays_and_holds_the_delete() -> None:
    life = life_of(role())
    await life.up()
    life.account.iam.attach_role_policy(RoleName=NAME, PolicyArn=OTHER_POLICY)
    found = await stuck(life, ROLE, Reason.IN_USE, down=True)
    assert isinstance(found, Waiting)
    command = f"aws iam detach-role-policy --role-name {NAME} --policy-arn {OTHER_POLICY}"
    assert command in found.message
    assert of_iam(life) == {NAME: [OTHER_POLICY]}
    life.account.iam.detach_role_policy(RoleName=NAME, PolicyArn=OTHER_POLICY)
    await life.down()
    assert of_iam(life) == {}


async def test_where_the_journal_was_lost_more_policies_are_named_and_not_detached() -> None:
    """Nothing in the cloud says who attached them."""
    life = life_of(role(OTHER_POLICY))
    await life.up()
    life.later(HOUR)
    life.die(Journal(OWNER))
    await life.up()
    found = await stuck(life, ROLE, Reason.IN_USE, down=True)
    assert isinstance(found, Waiting) and f"--policy-arn {OTHER_POLICY}" in found.message
    assert of_iam(life) == {NAME: [OTHER_POLICY]}


async def test_a_role_that_has_lost_a_mark_is_kept() -> None:
    life = life_of(role())
    await life.up()
    tags = [tag["Key"] for tag in life.account.iam.list_role_tags(RoleName=NAME)["Tags"]]
    life.account.iam.untag_role(RoleName=NAME, TagKeys=[key for key in tags if key.startswith("freehold.dev/")])
    life.die()
    await life.down()
    assert of_iam(life) == {NAME: [CLUSTER_POLICY]}


async def test_a_role_that_the_spec_names_is_used_and_kept() -> None:
    account = AwsAccount(Settings())
    account.iam.create_role(RoleName="mine", AssumeRolePolicyDocument=TRUST, Path="/team/")
    account.clock.advance(HOUR)
    life = life_of(role(name="mine"), cluster(ROLE), account=account)
    done = await life.up()
    assert life.journal.entries[ROLE].state is RecordState.GIVEN
    assert done.outcomes[ROLE].observed.attributes["arn"] == "arn:aws:iam::111122223333:role/team/mine"  # type: ignore[union-attr]  # ready
    await life.down()
    assert of_iam(life) == {"mine": []}


async def test_a_role_that_the_spec_names_and_that_is_not_there_is_waited_for() -> None:
    life = life_of(role(name="mine"), cluster(ROLE))
    found = await stuck(life, ROLE, Reason.NOT_FOUND)
    assert isinstance(found, Blocked) and found.message.startswith("spec.roleName: role mine does not exist: correct")
    assert life.writes() == []
    life.account.iam.create_role(RoleName="mine", AssumeRolePolicyDocument=TRUST)
    await life.up()


LOST = (
    "iam.CreateRole",
    "iam.AttachRolePolicy",
    "iam.TagRole",
    "iam.CreateOpenIDConnectProvider",
    "iam.TagOpenIDConnectProvider",
    "iam.DetachRolePolicy",
    "iam.DeleteRole",
    "iam.DeleteOpenIDConnectProvider",
)


@pytest.mark.parametrize("effect", [Effect.REPLY_LOST, Effect.LATE, Effect.ERROR_BEFORE], ids=["lost", "late", "none"])
@pytest.mark.parametrize("operation", LOST)
async def test_a_call_without_an_answer_and_a_death_after_it_leave_one_of_each_and_nothing(
    operation: str, effect: Effect
) -> None:
    life = life_of(role(), cluster(ROLE), provider())
    more = {"delay": 20.0} if effect is Effect.LATE else {"status": 500} if effect is Effect.ERROR_BEFORE else {}
    life.account.cloud.faults.add(Fault(effect, operation, **more))
    for _ in range(8):
        await one_pass(life)
        if life.account.cloud.faults.rules()[0]["hits"]:
            break
    life.die()
    await life.up()
    (vpc,) = life.standing()["vpc"]
    assert of_iam(life) == {NAME: [CLUSTER_POLICY], vpc: []}
    for _ in range(3):
        if (await life.one_release()).released:
            break
    else:
        life.die()
        await life.down()
    assert of_iam(life) == {} and life.standing() == {}
    assert life.account.cloud.faults.rules()[0]["hits"] == 1


async def test_a_lost_object_is_listed_with_what_no_index_has() -> None:
    life = life_of(role(), cluster(), provider())
    await life.up()
    life.later(HOUR)
    found = await find_unlisted(life.deps, [OWNER.kind, "AWSCluster"])
    (lost,) = await find_orphans(life.deps, (), found.targets)
    assert found.problems == ()
    assert {one.key for one in lost.resources} == {ROLE, OIDC, VPC}
    assert build_recovery(lost, AWS_MANAGED_CONTROL_PLANE, life.deps).proven
    assert (await find_unlisted(life.deps, ["AWSCluster"])).targets == {}, "IAM is not asked for what it never has"
    life.account.cloud.faults.add(Fault(Effect.DENIED, "iam.List*", count=None))
    denied = await find_unlisted(life.deps, [OWNER.kind, "AWSCluster"])
    assert denied.targets == {} and [each.partition(":")[0] for each in denied.problems] == [
        "iam-role",
        "oidc-provider",
    ]


async def test_a_delete_of_what_has_none_of_iam_asks_nothing_of_it() -> None:
    """Who serves AWSClusters alone needs no permission for it, also after a restart."""
    life = Life(AwsAccount(Settings()), [cluster()])
    await life.up()
    life.later(HOUR)
    life.die()
    await life.down()
    assert [call.operation for call in life.account.port.calls if call.api == "iam"] == []


# -- identity providers -----------------------------------------------------------------------------------------


async def test_a_provider_is_made_of_what_the_cluster_says_and_goes_after_it() -> None:
    life = life_of(cluster(), provider())
    await life.up()
    (vpc,) = life.standing()["vpc"]
    assert of_iam(life) == {vpc: []}
    life.later(HOUR)
    life.die(Journal(OWNER))
    await life.up()
    await life.down()
    assert (of_iam(life), life.standing()) == ({}, {})
    made = [name for name in life.writes() if name.startswith("create_open_id")]
    gone = [name for name in life.writes() if name.startswith("delete_")]
    assert len(made) == 1 and sorted(gone) == ["delete_open_id_connect_provider", "delete_vpc"]


async def test_a_provider_does_not_hold_its_cluster() -> None:
    """It is deleted after the collection, for which the cluster has to have gone: each would wait for the other."""
    life = life_of(cluster(), provider())
    await life.up()
    assert life.journal.entries[OIDC].requires == ()


async def test_a_provider_of_others_is_used_and_kept() -> None:
    life = life_of(cluster())
    await life.up()
    (vpc,) = life.standing()["vpc"]
    for path in (vpc, "another"):
        url = f"https://oidc.eks.us-east-1.amazonaws.com/id/{path}"
        life.account.iam.create_open_id_connect_provider(Url=url, ClientIDList=["sts.amazonaws.com"])
    life.later(HOUR)
    life.graph = Graph([cluster(), provider()])
    await life.up()
    assert life.journal.entries[OIDC].state is RecordState.REUSED
    for _ in range(2):
        life.later(HOUR)
        life.die()
        await life.up()
        assert life.journal.entries[OIDC].state is RecordState.REUSED, (
            "its name is the URL, which the spec does not know"
        )
    life.state.invalidate()
    before = len(life.account.port.calls)
    await one_pass(life)
    read = [call for call in life.account.port.calls[before:] if call.operation == "get_open_id_connect_provider"]
    assert len(read) == 1, "it is looked at, and not searched for anew"
    life.graph = Graph([cluster(), provider("another")])
    life.state.invalidate()
    await life.up()
    assert life.journal.entries[OIDC].id.endswith("/another"), "what was used is not what is wanted now"
    outcomes = {}
    for _ in range(60):
        done = await life.one_release()
        outcomes |= done.outcomes
        if done.released:
            break
    assert isinstance(outcomes[OIDC], Kept)
    assert of_iam(life) == {vpc: [], "another": []}
    assert not any("open_id" in name for name in life.writes())


async def test_a_lost_journal_and_a_spec_without_it_leave_no_provider_behind() -> None:
    life = life_of(cluster(), provider())
    await life.up()
    life.later(HOUR)
    life.die(Journal(OWNER))
    life.graph = Graph([])
    await life.down()
    assert of_iam(life) == {}
