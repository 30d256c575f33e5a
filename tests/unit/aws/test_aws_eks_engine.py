"""The engine with the kinds of EKS: a cluster with what is in it, its changes one at a time, its end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from freehold.engine.clock import ManualClock
from freehold.engine.dry_run import dry_run_deps
from freehold.engine.dry_run_overlay import Overlay
from freehold.engine.engine import ensure
from freehold.engine.graph import Graph, Naming, Node
from freehold.engine.interface import PassResult
from freehold.engine.journal import Journal
from freehold.engine.outcomes import Blocked, Category, Outcome, Ready, Reason, Waiting
from freehold.engine.port import ReadOnlyPort
from freehold.engine.resources import NodeKey
from freehold.engine.tag_text import text
from freehold.providers.aws.identities import AssumedRole
from freehold.providers.aws.kinds.eks_access_entry import policy_part
from freehold_sim.aws.settings import Settings
from freehold_sim.faults import Effect, Fault
from harness.aws_account import KEYS, AwsAccount
from harness.aws_passes import OWNER, Life
from harness.simulated_aws import ACCOUNT

CLUSTER, ADDON, ENTRY = (
    NodeKey("eks-cluster", "main"),
    NodeKey("eks-addon", "vpc-cni"),
    NodeKey("eks-access-entry", "admin"),
)
POLICIES = Path(__file__).parents[3] / "deploy/iam"
ALIAS = "cluster-api-provider-aws-secrets"
NAME, ADMIN = "prod", "arn:aws:iam::111122223333:role/admin"
VIEW, EDIT = (f"arn:aws:eks::aws:cluster-access-policy/AmazonEKS{word}Policy" for word in ("View", "Edit"))


class Eks(Life):
    """A control plane in a network that is there; ``wants`` changes what is wanted of the cluster."""

    def __init__(self, account: AwsAccount | None = None, **wanted: Any) -> None:
        account = account or AwsAccount(Settings())
        _, self.subnets = account.network()
        self.role = account.role("prod-iam-service-role")
        account.role("admin")
        self.request: dict[str, Any] = {
            "name": NAME, "version": "1.34", "role_arn": self.role, "subnets": sorted(self.subnets[:2]),
            "security_groups": [], "endpoint_public": True, "endpoint_private": False, "public_cidrs": [],
            "logging": [], "access_mode": "API_AND_CONFIG_MAP", "creator_admin": True, "self_managed_addons": False,
            "encryption_key": "", "upgrade_policy": "", "service_cidr": "", **wanted,
        }  # fmt: skip
        self.addon: dict[str, Any] = {
            "cluster": NAME, "name": "vpc-cni", "version": "", "configuration": "", "role_arn": "",
            "resolve_conflicts": "OVERWRITE", "preserve": False,
        }  # fmt: skip
        self.policies = frozenset({policy_part(VIEW)})
        self.without: set[NodeKey] = set()
        super().__init__(account, self.nodes())
        self.journal = Journal(replace(OWNER, kind="AWSManagedControlPlane"))

    def nodes(self) -> Iterator[Node]:
        entry = {"cluster": NAME, "principal_arn": ADMIN, "type": "STANDARD", "groups": [], "username": ""}
        rows: list[tuple[NodeKey, str, Mapping[str, Any]]] = [
            (CLUSTER, NAME, self.request), (ADDON, "vpc-cni", self.addon), (ENTRY, ADMIN, entry),
        ]  # fmt: skip
        for key, name, request in rows:
            node = Node(key, name, lambda known, request=dict(request): request, tags=frozenset({text("Name", name)}))
            inner = replace(node, requires=frozenset({CLUSTER})) if key != CLUSTER else node
            if key == ENTRY:
                inner = replace(inner, parts=lambda known, wish=self.policies: wish)
            if key not in self.without:
                yield inner

    def wants(self, **changes: Any) -> None:
        self.request |= changes
        self.graph = Graph(self.nodes())

    async def one(self) -> PassResult:
        """One pass, and the time until the next."""
        done = await ensure(self.deps, self.graph, self.journal, self.store, self.state)
        self.journal = done.journal
        self.later(max(done.after, 1.0))
        return done

    async def after_edit(self, **changes: Any) -> Outcome:
        """What one pass says of the cluster after a change of the spec."""
        self.wants(**changes)
        self.state.invalidate()
        return (await self.one()).outcomes[CLUSTER]

    def cluster(self) -> dict[str, Any]:
        return dict(self.account.eks.describe_cluster(name=NAME)["cluster"])

    def new_writes(self) -> list[str]:
        """The writes since the last time."""
        every = self.writes()
        told, self._told = getattr(self, "_told", 0), len(every)
        return every[told:]


@pytest.fixture
def eks() -> Eks:
    return Eks()


async def test_a_cluster_is_made_with_what_is_in_it_and_leaves_nothing(eks: Eks) -> None:
    await eks.up()
    made = [each for each in eks.new_writes() if each != "tag_resources"]
    assert made == ["create_cluster", "create_addon", "create_access_entry", "associate_access_policy"]
    assert eks.cluster()["status"] == "ACTIVE"

    await eks.down()
    gone = [each for each in eks.new_writes() if each not in ("tag_resources", "disassociate_access_policy")]
    assert gone == ["delete_access_entry", "delete_addon", "delete_cluster"]
    assert eks.account.eks.list_clusters()["clusters"] == []


async def test_an_idle_pass_asks_eks_nothing(eks: Eks) -> None:
    await eks.up()
    before = len(eks.account.sent())
    await eks.one()
    assert [call for call in eks.account.sent()[before:] if call.startswith("eks.")] == []


async def test_updates_are_sent_one_at_a_time_and_the_version_last(eks: Eks) -> None:
    await eks.up()
    eks.new_writes()
    said = await eks.after_edit(version="1.35", logging=["api", "audit"])
    assert eks.new_writes() == ["update_cluster_config"]
    assert isinstance(said, Waiting) and said.reason is Reason.UPDATING
    assert "logging of cluster prod" in said.message and "version follows" in said.message
    while eks.cluster()["status"] == "UPDATING":
        assert eks.cluster()["version"] == "1.34"
        assert eks.new_writes() == []
        assert isinstance((await eks.one()).outcomes[CLUSTER], Waiting)
    await eks.up()
    assert [each for each in eks.writes() if each.startswith("update_")] == [
        "update_cluster_config", "update_cluster_version",
    ]  # fmt: skip
    assert eks.cluster()["version"] == "1.35"


async def test_endpoint_and_subnets_are_changed_by_an_update_each(eks: Eks) -> None:
    await eks.up()
    eks.new_writes()
    group = eks.account.group(eks.cluster()["resourcesVpcConfig"]["vpcId"])
    eks.wants(
        endpoint_private=True, public_cidrs=["192.0.2.0/24"], subnets=sorted(eks.subnets), security_groups=[group]
    )
    eks.state.invalidate()
    await eks.up()
    assert eks.new_writes() == ["update_cluster_config"] * 2
    network = eks.cluster()["resourcesVpcConfig"]
    assert (network["endpointPrivateAccess"], network["publicAccessCidrs"]) == (True, ["192.0.2.0/24"])
    assert (sorted(network["subnetIds"]), network["securityGroupIds"]) == (sorted(eks.subnets), [group])


async def test_what_is_in_a_cluster_is_made_while_it_is_updated(eks: Eks) -> None:
    eks.without = {ENTRY}
    eks.wants()
    await eks.up()
    eks.without = set()
    await eks.after_edit(version="1.35")
    assert eks.cluster()["status"] == "UPDATING"
    done = await eks.one()
    assert isinstance(done.outcomes[ENTRY], Ready | Waiting)
    assert ADMIN in eks.account.eks.list_access_entries(clusterName=NAME)["accessEntries"]


async def test_another_process_finds_the_update_in_the_cluster_itself(eks: Eks) -> None:
    await eks.up()
    await eks.after_edit(version="1.35")
    eks.new_writes()
    eks.die()
    await eks.up()
    assert [each for each in eks.new_writes() if each.startswith("update_")] == []
    assert eks.cluster()["version"] == "1.35"


async def test_an_update_whose_reply_is_lost_is_not_sent_twice(eks: Eks) -> None:
    await eks.up()
    eks.new_writes()
    eks.account.cloud.faults.add(Fault(Effect.REPLY_LOST, "eks.UpdateClusterVersion"))
    await eks.after_edit(version="1.35")
    await eks.up()
    assert [each for each in eks.new_writes() if each.startswith("update_")] == ["update_cluster_version"]


async def test_an_update_that_failed_is_named_and_tried_again(eks: Eks) -> None:
    await eks.up()
    eks.account.cloud.faults.add(Fault(Effect.FAILED, "eks.UpdateClusterVersion"))
    await eks.after_edit(version="1.35")
    said = [(await eks.one()).outcomes[CLUSTER] for _ in range(60)]
    refused = [each for each in said if isinstance(each, Blocked)]
    assert len(refused) == 1 and "internal error" in refused[0].message
    assert eks.cluster()["version"] == "1.35"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"version": "1.36"}, "one minor version, not to 1.36. Write 1.35 first"),
        ({"version": "1.33"}, "never lowered to 1.33. Write 1.34, or 1.35 for an upgrade"),
        ({"access_mode": "CONFIG_MAP"}, "Write api_and_config_map or api"),
    ],
    ids=["skipped", "lowered", "access lowered"],
)
async def test_what_eks_never_does_is_refused_with_what_is_possible(
    eks: Eks, changes: dict[str, Any], words: str
) -> None:
    """The other changes are made all the same."""
    await eks.up()
    eks.new_writes()
    said = await eks.after_edit(**changes)
    assert isinstance(said, Blocked) and said.reason is Reason.INVALID and words in said.message
    assert eks.new_writes() == []
    await eks.after_edit(logging=["audit"])
    assert eks.new_writes() == ["update_cluster_config"]


async def test_an_upgrade_by_eks_at_the_end_of_support_is_said_and_is_no_drift(eks: Eks) -> None:
    eks.wants(version="1.32")
    await eks.up()
    said = await eks.after_edit(version="1.31")
    assert isinstance(said, Ready) and said.reason is None
    assert "EKS has upgraded cluster prod to 1.32, because support of 1.31 has ended" in said.note
    await eks.up()
    before = len(eks.account.sent())
    await eks.one()
    assert [call for call in eks.account.sent()[before:] if call.startswith("eks.")] == []


async def test_with_standard_support_eks_upgrades_when_that_ends() -> None:
    eks = Eks(version="1.34", upgrade_policy="STANDARD")
    await eks.up()
    assert isinstance(await eks.after_edit(version="1.33"), Ready)


async def test_an_unknown_version_names_those_that_eks_offers() -> None:
    eks = Eks(version="1.29")
    said = (await eks.one()).outcomes[CLUSTER]
    assert isinstance(said, Blocked) and "does not offer version 1.29" in said.message
    assert "1.32, 1.33, 1.34, 1.35, 1.36" in said.message


async def test_the_access_mode_goes_up_step_by_step() -> None:
    eks = Eks(access_mode="CONFIG_MAP")
    eks.without = {ENTRY}
    eks.wants()
    await eks.up()
    eks.wants(access_mode="API")
    eks.state.invalidate()
    await eks.up()
    assert eks.writes().count("update_cluster_config") == 2
    assert eks.cluster()["accessConfig"]["authenticationMode"] == "API"


async def test_encryption_is_added_and_never_changed(eks: Eks) -> None:
    keys = [eks.account.cloud.strangers.key()["arn"] for _ in range(2)]
    await eks.up()
    eks.wants(encryption_key=keys[0])
    eks.state.invalidate()
    await eks.up()
    assert eks.cluster()["encryptionConfig"][0]["provider"]["keyArn"] == keys[0]
    for other in (keys[1], ""):
        said = await eks.after_edit(encryption_key=other)
        assert isinstance(said, Blocked) and keys[0] in said.message
    assert eks.writes().count("associate_encryption_config") == 1


async def test_a_strangers_node_group_keeps_the_cluster_and_is_named(eks: Eks) -> None:
    await eks.up()
    eks.account.eks.create_nodegroup(
        clusterName=NAME, nodegroupName="theirs", subnets=eks.subnets[:2], nodeRole=eks.account.role("n")
    )
    eks.later(300)
    for _ in range(10):
        done = await eks.one_release()
    said = done.outcomes[CLUSTER]
    assert isinstance(said, Waiting) and said.reason is Reason.IN_USE and "node group theirs" in said.message
    eks.account.eks.delete_nodegroup(clusterName=NAME, nodegroupName="theirs")
    await eks.down()


async def test_a_strangers_cluster_of_the_name_is_left_alone(eks: Eks) -> None:
    vpc_config = {"subnetIds": eks.subnets[:2]}
    eks.account.eks.create_cluster(
        name=NAME, roleArn=eks.role, resourcesVpcConfig=vpc_config, clientRequestToken="t" * 32
    )
    eks.later(900)
    said = (await eks.one()).outcomes[CLUSTER]
    assert isinstance(said, Blocked) and said.reason is Reason.NAME_TAKEN
    await eks.down()
    assert eks.account.eks.list_clusters()["clusters"] == [NAME]


async def test_a_plan_says_what_is_changed_and_what_eks_never_does(eks: Eks) -> None:
    """Of a cluster that is being updated too; nothing is sent."""
    await eks.up()
    await eks.after_edit(logging=["api"])
    eks.new_writes()
    eks.wants(version="1.36", upgrade_policy="STANDARD")
    overlay = Overlay(ManualClock(eks.clock.now(), eks.clock.monotonic()))
    deps = dry_run_deps(replace(eks.deps, port=ReadOnlyPort(eks.account.port)), overlay)
    done = await ensure(deps, eks.graph, eks.journal, eks.store, eks.state.dry_run_copy())
    assert eks.new_writes() == []
    assert {write.attribute for write in overlay.writes} == {"logging", "upgrade_policy"}
    said = done.outcomes[CLUSTER]
    assert isinstance(said, Blocked) and "Write 1.35 first" in said.message


async def test_a_cluster_is_found_by_its_tags_where_the_tag_api_is_denied(eks: Eks) -> None:
    await eks.up()
    eks.account.cloud.faults.add(Fault(Effect.DENIED, "resourcegroupstaggingapi.*", count=None))
    found = await eks.tagger.find_marked(OWNER.uuid)
    assert [each.rpartition(":")[2] for each in found] == [f"cluster/{NAME}"]


# -- what is in it ------------------------------------------------------------------------------------------------


async def test_a_policy_gets_another_scope_without_being_taken_away(eks: Eks) -> None:
    await eks.up()
    eks.policies = frozenset({policy_part(VIEW, ["b", "a"]), policy_part(EDIT)})
    eks.wants()
    eks.state.invalidate()
    await eks.up()
    rows = eks.account.eks.list_associated_access_policies(clusterName=NAME, principalArn=ADMIN)
    scopes = {row["policyArn"]: row["accessScope"] for row in rows["associatedAccessPolicies"]}
    assert scopes[VIEW] == {"type": "namespace", "namespaces": ["a", "b"]}
    assert scopes[EDIT]["type"] == "cluster"
    eks.policies = frozenset({policy_part(EDIT)})
    eks.wants()
    eks.state.invalidate()
    await eks.up()
    rows = eks.account.eks.list_associated_access_policies(clusterName=NAME, principalArn=ADMIN)
    assert [row["policyArn"] for row in rows["associatedAccessPolicies"]] == [EDIT]


async def test_an_addon_is_changed_with_its_role_and_conflict_policy(eks: Eks) -> None:
    role = eks.account.role("addon")
    eks.addon |= {"role_arn": role}
    eks.wants()
    await eks.up()
    eks.addon |= {"configuration": '{"env": {}}'}
    eks.wants()
    eks.state.invalidate()
    await eks.up()
    shown = eks.account.eks.describe_addon(clusterName=NAME, addonName="vpc-cni")["addon"]
    assert (shown["configurationValues"], shown["serviceAccountRoleArn"]) == ('{"env": {}}', role)
    sent = [call for call in eks.account.port.calls if call.operation == "update_addon"]
    assert [call.detail["resolveConflicts"] for call in sent] == ["OVERWRITE"]


@pytest.mark.parametrize("preserve", [True, False])
async def test_an_addon_that_the_spec_drops_goes_and_keeps_its_objects_where_it_was_made_so(
    eks: Eks, preserve: bool
) -> None:
    eks.addon |= {"preserve": preserve}
    eks.wants()
    await eks.up()
    eks.without = {ADDON}
    eks.wants()
    eks.state.invalidate()
    await eks.up()
    eks.later(900)
    eks.state.invalidate()
    await eks.up()
    (sent,) = [call for call in eks.account.port.calls if call.operation == "delete_addon"]
    assert sent.detail.get("preserve", False) is preserve
    assert eks.account.eks.list_addons(clusterName=NAME)["addons"] == []


async def test_an_entry_for_nodes_that_eks_made_is_used_and_stays(eks: Eks) -> None:
    """EKS makes one for the role of each node group, and leaves it there."""
    eks.without = {ENTRY}
    eks.wants()
    await eks.up()
    role = eks.account.role("nodes")
    eks.account.eks.create_access_entry(clusterName=NAME, principalArn=role, type="EC2_LINUX")
    eks.later(900)
    request = {"cluster": NAME, "principal_arn": role, "type": "EC2_LINUX", "groups": [], "username": ""}
    key = NodeKey("eks-access-entry", "nodes")
    used = Node(key, role, lambda known: request, naming=Naming.EXPLICIT, requires=frozenset({CLUSTER}))
    eks.graph = Graph([*eks.graph.nodes.values(), used])
    eks.state.invalidate()
    done = await eks.up()
    said = done.outcomes[key]
    assert isinstance(said, Ready) and said.category is Category.UNMANAGED and not said.reason
    eks.graph = Graph(each for each in eks.graph.nodes.values() if each.key != key)
    eks.state.invalidate()
    await eks.up()
    assert role in eks.account.eks.list_access_entries(clusterName=NAME)["accessEntries"]


# -- what it may do -----------------------------------------------------------------------------------------------


def _as_role() -> AwsAccount:
    """An account in which we act as a role with the policies of deploy/iam and nothing else."""
    account = AwsAccount(Settings(), AssumedRole(f"arn:aws:iam::{ACCOUNT}:role/freehold", KEYS))
    account.role("freehold")
    for path in sorted(POLICIES.glob("*.json")):
        made = account.iam.create_policy(PolicyName=path.stem, PolicyDocument=path.read_text(encoding="utf-8"))
        account.iam.attach_role_policy(RoleName="freehold", PolicyArn=made["Policy"]["Arn"])
    return account


async def test_the_policies_of_deploy_iam_are_enough_for_the_life_of_a_cluster() -> None:
    account = _as_role()
    eks = Eks(account)
    eks.addon |= {"role_arn": account.role("cni.cluster-api-provider-aws.sigs.k8s.io")}
    await eks.up()
    eks.addon |= {"configuration": '{"env": {}}'}
    eks.policies = frozenset({policy_part(EDIT)})
    eks.wants(version="1.35", logging=["api"], encryption_key=account.cloud.strangers.key(ALIAS)["arn"])
    eks.state.invalidate()
    await eks.up()
    await eks.down()
    assert account.eks.list_clusters()["clusters"] == []


async def test_a_key_that_may_not_be_used_is_a_matter_of_permissions() -> None:
    account = _as_role()
    said = (await Eks(account, encryption_key=account.cloud.strangers.key()["arn"]).one()).outcomes[CLUSTER]
    assert isinstance(said, Blocked) and said.reason is Reason.DENIED
    assert "Grant kms:DescribeKey and kms:CreateGrant on that key" in said.message
