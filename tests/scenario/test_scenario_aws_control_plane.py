"""A control plane of EKS through the real reconciler: from nothing to a kubeconfig, and to nothing again."""

from __future__ import annotations

from typing import Any

import pytest

from freehold.engine import journal as journals
from freehold.kube.resources import Key
from freehold.providers.aws import api_names as aws_names
from harness.aws_control_plane import EKS_NAME, NAME, OWN_ROLE, ControlPlaneHarness, control_plane
from harness.cloud_bystanders import strange_ground
from harness.cloud_controllers import CloudProvider, Ground
from harness.collected import left, user_of
from harness.simulated_aws import TRUST
from harness.standing import standing

NODES = "nodes.cluster-api-provider-aws.sigs.k8s.io"
KUBECONFIG = f"{NAME}-kubeconfig"


@pytest.fixture(scope="module")
def born() -> ControlPlaneHarness:
    """A default one that is ready. Nothing is changed here."""
    return standing(ControlPlaneHarness)


def own_left(harness: ControlPlaneHarness) -> list[str]:
    return [row["arn"] for row in left(harness) if row["arn"] not in harness.prepared]


def order_of(harness: ControlPlaneHarness, *operations: str) -> list[str]:
    """The first of each of these calls, in the order in which they were sent."""
    sent = [call.operation for call in harness.calls()]
    return sorted(operations, key=sent.index)


def test_a_control_plane_comes_up_and_can_be_reached_with_its_kubeconfig(born: ControlPlaneHarness) -> None:
    cluster, status = born.cluster(), born.status()
    assert (cluster["status"], cluster["version"]) == ("ACTIVE", "1.33")
    assert born.object.raw["spec"]["controlPlaneEndpoint"] == {"host": cluster["endpoint"], "port": 443}
    assert (status["ready"], status["initialized"], status["version"]) == (True, True, "v1.33.0")
    assert status["initialization"] == {"controlPlaneInitialized": True}
    assert status["externalManagedControlPlane"] is True
    (server,) = born.kubeconfig()["clusters"]
    assert server["cluster"]["server"] == cluster["endpoint"]
    assert born.kubeconfig(f"{NAME}-user-kubeconfig")["users"][0]["user"]["exec"]


def test_eks_is_asked_for_what_an_empty_spec_means(born: ControlPlaneHarness) -> None:
    cluster = born.cluster()
    network = cluster["resourcesVpcConfig"]
    assert len(network["subnetIds"]) == 6
    assert network["securityGroupIds"] == [
        born.status()["networkStatus"]["securityGroups"]["node-eks-additional"]["id"]
    ]
    assert (network["endpointPublicAccess"], network["endpointPrivateAccess"]) == (True, False)
    assert network["publicAccessCidrs"] == ["0.0.0.0/0"]
    assert cluster["accessConfig"]["authenticationMode"] == "API_AND_CONFIG_MAP"
    assert cluster["tags"][f"sigs.k8s.io/cluster-api-provider-aws/cluster/{NAME}"] == "owned"


def test_nodes_of_the_default_role_may_join(born: ControlPlaneHarness) -> None:
    (entry,) = [
        each for each in born.ask("eks", "ListAccessEntries", clusterName=EKS_NAME)["accessEntries"] if NODES in each
    ]
    shown = born.ask("eks", "DescribeAccessEntry", clusterName=EKS_NAME, principalArn=entry)["accessEntry"]
    assert shown["type"] == "EC2_LINUX"
    assert born.condition(aws_names.IAM_AUTHENTICATOR_CONFIGURED)["status"] == "True"


def test_conditions_have_upstreams_types(born: ControlPlaneHarness) -> None:
    parts = (
        aws_names.AWS_VPC_READY,
        aws_names.SUBNETS_READY,
        aws_names.CLUSTER_SECURITY_GROUPS_READY,
        aws_names.IAM_CONTROL_PLANE_ROLES_READY,
        aws_names.EKS_CONTROL_PLANE_READY,
        "Available",
        "Ready",
    )
    assert {part: born.condition(part)["status"] for part in parts} == dict.fromkeys(parts, "True")
    types = {each["type"] for each in born.status()["conditions"]}
    assert not types & {aws_names.EKS_CONTROL_PLANE_CREATING, aws_names.EKS_CONTROL_PLANE_UPDATING}
    assert [said for said in born.events.said if said[0] == "Warning"] == []


def test_the_name_in_eks_is_on_record_for_life() -> None:
    harness = standing(ControlPlaneHarness)
    harness.object.patch({"spec": {"eksClusterName": "another"}})
    harness.pass_once()
    assert "cannot rename it" in harness.condition("SpecValid")["message"]
    assert harness.ask("eks", "ListClusters")["clusters"] == [EKS_NAME]


def test_everything_goes_and_the_roles_that_were_there_stay() -> None:
    harness = standing(ControlPlaneHarness, control_plane(associateOIDCProvider=True), gates=OWN_ROLE)
    provider = harness.status()["oidcProvider"]
    issuer = harness.cluster()["identity"]["oidc"]["issuer"].removeprefix("https://")
    assert provider["arn"].endswith(issuer) and f"{issuer}:sub" in provider["trustPolicy"]
    assert any(row["arn"].endswith(f"role/{NAME}-iam-service-role") for row in left(harness))
    harness.down()
    assert own_left(harness) == []
    assert {row["arn"] for row in left(harness)} >= {arn for arn in harness.prepared if ":role/" in arn}
    ends = ("eks.DeleteAccessEntry", "eks.DeleteCluster", "iam.DeleteOpenIDConnectProvider", "ec2.DeleteVpc")
    assert order_of(harness, *ends) == list(ends)
    assert harness.calls()[-1].operation != "eks.DeleteCluster"


def test_leftovers_are_collected_only_when_the_cluster_has_gone() -> None:
    """The cloud controller of EKS works until then, and would make them again. Role and provider go after that."""
    harness = standing(ControlPlaneHarness, control_plane(associateOIDCProvider=True), gates=OWN_ROLE)
    ids = {(row["kind"], row["name"]): row["id"] for row in harness.status()["resources"]}
    subnets = [ident for (kind, _), ident in ids.items() if kind == "subnet"]
    vpc = ids["vpc", f"{NAME}-vpc"]
    service = CloudProvider(user_of(harness), Ground(EKS_NAME, vpc, subnets[:1]))
    service.classic()
    harness.object.delete()
    harness.run(lambda: EKS_NAME not in harness.ask("eks", "ListClusters")["clusters"])
    assert not any(call.operation.endswith("DeleteLoadBalancer") for call in harness.calls())
    assert "collected when eks-cluster main has gone" in str(harness.status()["resources"])
    harness.run(lambda: harness.object.gone)
    assert own_left(harness) == []
    for last in ("iam.DeleteRole", "iam.DeleteOpenIDConnectProvider"):
        ends = ("eks.DeleteCluster", "elb.DeleteLoadBalancer", last)
        assert order_of(harness, *ends) == list(ends)


def test_a_cluster_that_has_the_name_is_never_taken_over() -> None:
    harness = ControlPlaneHarness()
    user = user_of(harness)
    role = next(
        arn for arn in harness.prepared if arn.endswith("role/eks-controlplane.cluster-api-provider-aws.sigs.k8s.io")
    )
    vpc = user.make("ec2", "CreateVpc", CidrBlock="10.9.0.0/16")
    subnets = [
        user.make("ec2", "CreateSubnet", VpcId=vpc, CidrBlock=f"10.9.{n}.0/24", AvailabilityZone=f"us-east-1{zone}")
        for n, zone in enumerate("ab")
    ]
    user.call("eks", "CreateCluster", name=EKS_NAME, roleArn=role, resourcesVpcConfig={"subnetIds": subnets})
    harness.for_a_while(900)
    assert harness.condition("Ready")["reason"] == "NameTaken"
    assert EKS_NAME in harness.condition("Ready")["message"]  # its security group has the name in a tag
    assert harness.secrets.objects == {}
    assert not harness.status()["initialized"]
    harness.down()
    assert harness.ask("eks", "ListClusters")["clusters"] == [EKS_NAME]


def test_a_foreign_kubeconfig_is_named_and_stays() -> None:
    harness = ControlPlaneHarness()
    key = Key("default", KUBECONFIG)
    foreign: dict[str, Any] = {"kind": "Secret", "metadata": {"name": key.name, "namespace": "default"}, "data": {}}
    harness.secrets.objects["Secret", key] = foreign
    harness.for_a_while(900)
    assert harness.secrets.objects["Secret", key] == foreign
    assert not harness.status()["initialized"] and harness.status()["ready"]
    assert "is never overwritten" in harness.condition("Ready")["message"]


@pytest.mark.parametrize("restarted", [False, True])
def test_the_token_is_renewed_while_the_spec_is_refused(restarted: bool) -> None:
    harness = standing(ControlPlaneHarness)
    harness.settle(1)
    before = harness.kubeconfig()
    harness.object.patch({"spec": {"eksClusterName": "another"}})
    if restarted:
        harness.start_process()
    harness.for_a_while(1000)
    assert harness.kubeconfig()["users"] != before["users"]


def test_a_version_is_raised_by_one_and_observed_when_it_is_there() -> None:
    harness = standing(ControlPlaneHarness)
    generation = harness.status()["observedGeneration"]
    harness.object.patch({"spec": {"version": "v1.34.2"}})
    harness.pass_once()
    assert harness.status()["observedGeneration"] == generation
    assert harness.status()["version"] == "v1.33.0" and harness.status()["ready"]
    harness.run(lambda: harness.status()["version"] == "v1.34.2")
    harness.run(lambda: harness.status()["observedGeneration"] == harness.object.raw["metadata"]["generation"])
    assert harness.cluster()["version"] == "1.34"


def test_a_version_that_skips_one_is_refused_with_the_next_one() -> None:
    harness = standing(ControlPlaneHarness, control_plane(version="v1.32"))
    harness.object.patch({"spec": {"version": "v1.34"}})
    harness.for_a_while(60)
    assert "Write 1.33 first" in harness.condition(aws_names.EKS_CONTROL_PLANE_READY)["message"]
    assert harness.cluster()["version"] == "1.32"


LATER: dict[str, tuple[dict[str, Any], str]] = {
    "a lower version": ({"version": "v1.32"}, "spec.version: "),
    "a lower access mode": (
        {"accessConfig": {"authenticationMode": "config_map"}},
        "spec.accessConfig.authenticationMode: the authentication mode api_and_config_map cannot be changed to",
    ),
}


@pytest.mark.parametrize(("change", "said"), LATER.values(), ids=LATER)
def test_what_eks_never_does_is_said_with_its_field(change: dict[str, Any], said: str) -> None:
    harness = standing(ControlPlaneHarness)
    harness.object.patch({"spec": change})
    harness.for_a_while(60)
    assert said in harness.condition(aws_names.EKS_CONTROL_PLANE_READY)["message"]


NEW: dict[str, tuple[dict[str, Any], str]] = {
    "a version that EKS does not offer": ({"version": "v1.99"}, "spec.version: EKS does not offer version 1.99"),
    "ranges that EKS does not take": (
        {"endpointAccess": {"public": True, "publicCIDRs": ["10.0.0.0/8"]}},
        "eks-cluster default_demo-control-plane: AWS refused to create cluster",
    ),
}


@pytest.mark.parametrize(("spec", "said"), NEW.values(), ids=NEW)
def test_no_field_is_blamed_for_another_one(spec: dict[str, Any], said: str) -> None:
    harness = ControlPlaneHarness(control_plane(**spec))
    harness.for_a_while(60)
    assert said in harness.condition(aws_names.EKS_CONTROL_PLANE_READY)["message"]


def test_a_range_that_is_none_is_said_of_a_living_cluster_too() -> None:
    harness = standing(ControlPlaneHarness)
    harness.object.patch({"spec": {"network": {"vpc": {"cidrBlock": "10.0/8"}}}})
    harness.pass_once()
    assert "spec.network.vpc.cidrBlock: '10.0/8' is not an IPv4 range" in harness.condition("SpecValid")["message"]


def test_roles_of_machines_may_join_as_long_as_there_are_machines() -> None:
    harness = standing(ControlPlaneHarness)
    harness.settle(1)
    iam = user_of(harness)
    iam.call("iam", "CreateRole", RoleName="gpu", AssumeRolePolicyDocument=TRUST)
    iam.call("iam", "CreateInstanceProfile", InstanceProfileName="gpu-profile")
    iam.call("iam", "AddRoleToInstanceProfile", InstanceProfileName="gpu-profile", RoleName="gpu")
    harness.with_machines({"kind": "AWSMachine", "spec": {"iamInstanceProfile": "gpu-profile"}})
    harness.for_a_while(60)

    def entries() -> list[str]:
        return list(harness.ask("eks", "ListAccessEntries", clusterName=EKS_NAME)["accessEntries"])

    assert any(each.endswith("role/gpu") for each in entries())
    harness.with_machines()
    harness.for_a_while(1000)
    assert not any(each.endswith("role/gpu") for each in entries())


def test_the_journal_has_no_token(born: ControlPlaneHarness) -> None:
    token = born.kubeconfig()["users"][0]["user"]["token"]
    assert token not in str(born.object.history) and token not in str(born.events.said)
    assert journals.loads(born.object.raw["metadata"]["annotations"]["freehold.dev/journal"]).claimed


def test_of_two_objects_with_one_name_in_eks_the_one_that_began_has_it() -> None:
    first = ControlPlaneHarness(control_plane(eksClusterName="shared"))
    first.pass_once()
    other = control_plane(eksClusterName="shared")
    other["metadata"]["name"] = "other"
    second = ControlPlaneHarness(other, beside=first)
    second.pass_once()
    assert second.condition("SpecValid")["reason"] == "NameTaken"
    assert "default/demo-control-plane" in second.condition("SpecValid")["message"]
    first.up()
    second.down()
    assert first.ask("eks", "ListClusters")["clusters"] == ["shared"]


def delete_by_hand(harness: ControlPlaneHarness) -> None:
    user = user_of(harness)
    for entry in harness.ask("eks", "ListAccessEntries", clusterName=EKS_NAME)["accessEntries"]:
        user.call("eks", "DeleteAccessEntry", clusterName=EKS_NAME, principalArn=entry)
    user.call("eks", "DeleteCluster", name=EKS_NAME)


def test_a_cluster_that_somebody_deleted_is_said_and_not_made_again() -> None:
    """A new one would be empty, and have another address."""
    harness = standing(ControlPlaneHarness)
    delete_by_hand(harness)
    harness.for_a_while(1800)
    status = harness.status()
    assert (status["initialized"], status["ready"]) == (True, False)
    assert harness.condition("Available")["message"] == "the EKS cluster has gone"
    assert "find out who deleted it, then decide" in harness.condition("Ready")["message"]
    assert harness.ask("eks", "ListClusters")["clusters"] == []
    harness.down()
    assert own_left(harness) == []


def test_the_end_does_not_wait_for_what_a_later_cluster_of_the_name_has() -> None:
    """Its interfaces are called as ours were."""
    harness = standing(ControlPlaneHarness)
    harness.cloud.strangers.delete(EKS_NAME)
    user = user_of(harness)
    ground = strange_ground(user, EKS_NAME)
    role = next(
        arn for arn in harness.prepared if arn.endswith("role/eks-controlplane.cluster-api-provider-aws.sigs.k8s.io")
    )
    user.call("eks", "CreateCluster", name=EKS_NAME, roleArn=role, resourcesVpcConfig={"subnetIds": ground.subnets})
    harness.down()
    assert harness.ask("eks", "ListClusters")["clusters"] == [EKS_NAME]
