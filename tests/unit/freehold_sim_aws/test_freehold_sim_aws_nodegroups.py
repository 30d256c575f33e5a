"""Node groups, Fargate profiles and identity providers of EKS."""

import json
from typing import Any

import pytest

from harness.simulated_aws import refused

GROUP = {"clusterName": "one", "nodegroupName": "n"}
PROFILE = {"clusterName": "one", "fargateProfileName": "f"}


def _group(sim: Any, **more: Any) -> dict[str, Any]:
    """Make a cluster with a node group that is there."""
    made = sim.cluster()
    role, subnets = sim.role("nodes"), made["resourcesVpcConfig"]["subnetIds"]
    sim.eks.create_nodegroup(**GROUP, nodeRole=role, subnets=subnets, **more)
    sim.clock.advance(180)
    return dict(sim.eks.describe_nodegroup(**GROUP)["nodegroup"])


def test_nodes_of_a_group_are_updated_by_number_or_by_percentage(sim: Any) -> None:
    made = _group(sim)
    assert made["updateConfig"] == {"maxUnavailable": 1, "updateStrategy": "DEFAULT"}
    given = {"clusterName": "one", "nodeRole": made["nodeRole"], "subnets": made["subnets"]}
    for number, config in enumerate(({"maxUnavailable": 2}, {"maxUnavailablePercentage": 50})):
        group = sim.eks.create_nodegroup(**given, nodegroupName=f"n{number}", updateConfig=config)["nodegroup"]
        assert config.items() <= group["updateConfig"].items()
    for wrong in ({"maxUnavailable": 3}, {"maxUnavailable": 1, "maxUnavailablePercentage": 1}, {}):
        with refused("InvalidParameterException", "max-unavailable"):
            sim.eks.create_nodegroup(**given, nodegroupName="wrong", updateConfig=wrong)


def test_a_node_group_is_changed_once_at_a_time(sim: Any) -> None:
    taint = {"key": "a", "value": "b", "effect": "NO_SCHEDULE"}
    _group(sim, labels={"a": "b", "c": "d"}, taints=[taint])
    asked = {
        **GROUP, "clientRequestToken": "t", "scalingConfig": {"maxSize": 5},
        "labels": {"addOrUpdateLabels": {"a": "x"}, "removeLabels": ["c"]},
        "taints": {"addOrUpdateTaints": [{**taint, "value": "y"}]}, "updateConfig": {"maxUnavailable": 5},
    }  # fmt: skip
    update = sim.eks.update_nodegroup_config(**asked)["update"]
    assert (update["status"], update["type"]) == ("InProgress", "ConfigUpdate")
    assert {row["type"] for row in update["params"]} == {
        "MaxSize", "LabelsToAdd", "LabelsToRemove", "TaintsToAdd", "MaxUnavailable",
    }  # fmt: skip
    assert sim.eks.update_nodegroup_config(**asked)["update"]["id"] == update["id"]
    with refused("ResourceInUseException"):
        sim.eks.update_nodegroup_config(**GROUP, scalingConfig={"maxSize": 6})
    sim.clock.advance(60)
    held = sim.eks.describe_nodegroup(**GROUP)["nodegroup"]
    assert (held["status"], held["labels"], held["scalingConfig"]["maxSize"]) == ("ACTIVE", {"a": "x"}, 5)
    assert (held["taints"], held["updateConfig"]["maxUnavailable"]) == ([{**taint, "value": "y"}], 5)
    for wrong in ({"scalingConfig": {"minSize": 9}}, {"updateConfig": {"maxUnavailable": 9}}):
        with refused("InvalidParameterException"):
            sim.eks.update_nodegroup_config(**GROUP, **wrong)
    sim.eks.update_nodegroup_config(**GROUP, taints={"removeTaints": [taint]})
    sim.clock.advance(60)
    assert sim.eks.describe_nodegroup(**GROUP)["nodegroup"]["taints"] == []
    sim.eks.delete_nodegroup(**GROUP)
    with refused("InvalidRequestException"):
        sim.eks.update_nodegroup_config(**GROUP)


def test_a_cluster_goes_after_its_fargate_profiles_that_are_made_one_at_a_time(sim: Any) -> None:
    made = sim.cluster()
    given = {"podExecutionRoleArn": sim.role("pods"), "selectors": [{"namespace": "default"}]}
    sim.eks.create_fargate_profile(**PROFILE, **given, tags={"a": "b"}, clientRequestToken="t")
    with refused("ResourceInUseException", "currently has Fargate profile f in status CREATING"):
        sim.eks.create_fargate_profile(clusterName="one", fargateProfileName="g", **given)
    with refused("ResourceInUseException", "already exists with this name"):
        sim.eks.create_fargate_profile(**PROFILE, **given)
    sim.clock.advance(120)
    held = sim.eks.create_fargate_profile(**PROFILE, **given, tags={"a": "b"}, clientRequestToken="t")["fargateProfile"]
    assert (held["status"], held["tags"]) == ("ACTIVE", {"a": "b"})
    assert held["subnets"] == made["resourcesVpcConfig"]["subnetIds"]
    assert sim.eks.list_fargate_profiles(clusterName="one")["fargateProfileNames"] == ["f"]
    with refused("ResourceInUseException", "Fargate profiles"):
        sim.eks.delete_cluster(name="one")
    assert sim.eks.delete_fargate_profile(**PROFILE)["fargateProfile"]["status"] == "DELETING"
    sim.clock.advance(120)
    with refused("ResourceNotFoundException"):
        sim.eks.describe_fargate_profile(**PROFILE)
    for wrong in ({"selectors": []}, {"selectors": [{"labels": {}}]}, {"subnets": ["subnet-0"]},
                  {"podExecutionRoleArn": "arn:aws:iam::111122223333:role/none"}):  # fmt: skip
        with refused("InvalidParameterException"):
            sim.eks.create_fargate_profile(**{**PROFILE, **given, **wrong})
    sim.eks.delete_cluster(name="one")


def test_a_cluster_has_no_identity_providers(sim: Any) -> None:
    sim.cluster()
    assert sim.eks.list_identity_provider_configs(clusterName="one")["identityProviderConfigs"] == []
    wanted = {"type": "oidc", "name": "test"}
    with refused("ResourceNotFoundException", "No config found for cluster: one, config type: oidc, config name: test"):
        sim.eks.describe_identity_provider_config(clusterName="one", identityProviderConfig=wanted)


PASSING = {
    "CreateNodegroup": lambda eks, made, role: eks.create_nodegroup(
        **GROUP, nodeRole=role, subnets=made["resourcesVpcConfig"]["subnetIds"]
    ),
    "CreateFargateProfile": lambda eks, made, role: eks.create_fargate_profile(
        **PROFILE, podExecutionRoleArn=role, selectors=[{"namespace": "a"}]
    ),
    "CreateAddon": lambda eks, made, role: eks.create_addon(
        clusterName="one", addonName="aws-ebs-csi-driver", serviceAccountRoleArn=role
    ),
}


@pytest.mark.parametrize("operation", PASSING)
def test_a_role_is_passed_to_eks_by_permission(sim: Any, operation: str) -> None:
    """https://docs.aws.amazon.com/service-authorization/latest/reference/list_eks.html"""
    made, role = sim.cluster(), sim.role("passed")
    rules = [{"Effect": "Allow", "Action": f"eks:{operation}", "Resource": made["arn"]}]
    session = sim.sts.assume_role(RoleArn=sim.role("worker"), RoleSessionName="one")["Credentials"]
    eks = sim.client("eks", key=session["AccessKeyId"], token=session["SessionToken"])

    def grant() -> None:
        document = json.dumps({"Version": "2012-10-17", "Statement": rules})
        sim.iam.put_role_policy(RoleName="worker", PolicyName="p", PolicyDocument=document)

    grant()
    with refused("AccessDeniedException", f"iam:PassRole on resource: {role}"):
        PASSING[operation](eks, made, role)
    condition = {"StringEquals": {"iam:PassedToService": "eks.amazonaws.com"}}
    rules.append({"Effect": "Allow", "Action": "iam:PassRole", "Resource": role, "Condition": condition})
    grant()
    PASSING[operation](eks, made, role)
    with refused("AccessDeniedException", "eks:DescribeCluster on resource: "):
        eks.describe_cluster(name="one")
