"""Access entries of EKS and their policies."""

import json
from dataclasses import replace
from typing import Any

import pytest

from freehold_sim.aws.settings import Lags
from harness.simulated_aws import ACCOUNT, TRUST, refused

VIEW = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy"
ADMIN = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"
CREATOR = f"arn:aws:iam::{ACCOUNT}:user/admin"
EVERYWHERE = {"type": "cluster"}


def _cluster(sim: Any, mode: str = "API_AND_CONFIG_MAP", **access: Any) -> Any:
    return sim.cluster(accessConfig={"authenticationMode": mode, **access})


def _entry(sim: Any, role: str = "nodes", **more: Any) -> dict[str, str]:
    """Make an entry for a role; return its names."""
    names = {"clusterName": "one", "principalArn": sim.role(role)}
    sim.eks.create_access_entry(**names, **more)
    return names


def _policies(sim: Any, principal: str) -> dict[str, Any]:
    found = sim.eks.list_associated_access_policies(clusterName="one", principalArn=principal)
    return {row["policyArn"]: row["accessScope"] for row in found["associatedAccessPolicies"]}


def test_access_entries_need_an_authentication_mode_with_the_api(sim: Any) -> None:
    sim.cluster()
    names = {"clusterName": "one", "principalArn": sim.role()}
    text = "The cluster's authentication mode must be set to one of [API, API_AND_CONFIG_MAP]"
    for call in (sim.eks.create_access_entry, sim.eks.describe_access_entry, sim.eks.delete_access_entry):
        with refused("InvalidRequestException", text):
            call(**names)
    with refused("InvalidRequestException", text):
        sim.eks.list_access_entries(clusterName="one")
    with refused("ResourceNotFoundException"):
        sim.eks.list_access_entries(clusterName="two")


def test_the_creator_of_a_cluster_has_an_entry_unless_it_was_made_without(sim: Any) -> None:
    _cluster(sim)
    assert sim.eks.list_access_entries(clusterName="one")["accessEntries"] == [CREATOR]
    assert _policies(sim, CREATOR) == {ADMIN: {"type": "cluster", "namespaces": []}}
    held = sim.eks.describe_access_entry(clusterName="one", principalArn=CREATOR)["accessEntry"]
    assert (held["type"], held["username"], held["kubernetesGroups"]) == ("STANDARD", CREATOR, [])
    network = sim.eks.describe_cluster(name="one")["cluster"]["resourcesVpcConfig"]
    sim.eks.create_cluster(
        name="two", roleArn=sim.role(), resourcesVpcConfig={"subnetIds": network["subnetIds"]},
        accessConfig={"authenticationMode": "API", "bootstrapClusterCreatorAdminPermissions": False},
    )  # fmt: skip
    assert sim.eks.list_access_entries(clusterName="two")["accessEntries"] == []


def test_a_session_that_makes_a_cluster_lets_its_role_in(sim: Any) -> None:
    arn = sim.iam.create_role(RoleName="maker", Path="/team/", AssumeRolePolicyDocument=TRUST)["Role"]["Arn"]
    sim.iam.attach_role_policy(RoleName="maker", PolicyArn="arn:aws:iam::aws:policy/AdministratorAccess")
    session = sim.sts.assume_role(RoleArn=arn, RoleSessionName="one")["Credentials"]
    _, subnets = sim.network()
    eks = sim.client("eks", key=session["AccessKeyId"], token=session["SessionToken"])
    eks.create_cluster(
        name="one", roleArn=sim.role(), resourcesVpcConfig={"subnetIds": subnets},
        accessConfig={"authenticationMode": "API"},
    )  # fmt: skip
    assert sim.eks.list_access_entries(clusterName="one")["accessEntries"] == [arn]


@pytest.mark.parametrize(
    ("kind", "username", "groups"),
    [
        ("EC2_LINUX", "system:node:{{EC2PrivateDNSName}}", ["system:nodes"]),
        ("HYBRID_LINUX", "system:node:{{SessionName}}", ["system:nodes"]),
    ],
)
def test_entries_of_nodes_have_names_and_groups_of_nodes(sim: Any, kind: str, username: str, groups: list[str]) -> None:
    _cluster(sim)
    names = _entry(sim, type=kind, tags={"a": "b"})
    held = sim.eks.describe_access_entry(**names)["accessEntry"]
    assert (held["type"], held["username"], held["kubernetesGroups"]) == (kind, username, groups)
    place = f"arn:aws:eks:us-east-1:{ACCOUNT}:access-entry/one/role/{ACCOUNT}/nodes/"
    assert held["accessEntryArn"].startswith(place)
    assert sim.eks.list_tags_for_resource(resourceArn=held["accessEntryArn"])["tags"] == {"a": "b"}
    standard = 'with a type of "STANDARD"'
    with refused("InvalidParameterException", standard):
        sim.eks.associate_access_policy(**names, policyArn=VIEW, accessScope=EVERYWHERE)
    with refused("InvalidParameterException", standard):
        sim.eks.update_access_entry(**names, kubernetesGroups=[])
    with refused("InvalidParameterException", "The username must not begin with system:"):
        sim.eks.update_access_entry(**names, username=username, kubernetesGroups=[])


def test_an_entry_of_a_person_has_the_groups_and_the_name_that_are_given(sim: Any) -> None:
    _cluster(sim)
    names = _entry(sim, kubernetesGroups=["viewers"])
    held = sim.eks.describe_access_entry(**names)["accessEntry"]
    assert held["username"] == f"arn:aws:sts::{ACCOUNT}:assumed-role/nodes/{{{{SessionName}}}}"
    sim.clock.advance(5)
    changed = sim.eks.update_access_entry(**names, username="me")["accessEntry"]
    assert (changed["username"], changed["kubernetesGroups"]) == ("me", ["viewers"])
    assert changed["modifiedAt"] > changed["createdAt"]
    sim.eks.update_access_entry(**names, kubernetesGroups=[])
    assert sim.eks.describe_access_entry(**names)["accessEntry"]["kubernetesGroups"] == []


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"principalArn": f"arn:aws:iam::{ACCOUNT}:role/nobody"}, "principalArn is invalid: invalid principal."),
        ({"principalArn": f"arn:aws:sts::{ACCOUNT}:assumed-role/r/s"}, "principalArn parameter format is not valid"),
        ({"principalArn": f"arn:aws:iam::{ACCOUNT}:role/aws-service-role/a/b"}, "Service Linked Role"),
        ({"principalArn": CREATOR, "type": "EC2_LINUX"}, "invalid principal"),
        ({"kubernetesGroups": ["system:masters"]}, "system:masters is invalid, it cannot start with system:"),
        ({"username": "eks:me"}, "must not begin with eks:"),
        ({"username": "john{{SessionName}}"}, "a colon before"),
        ({"type": "EC2_LINUX", "kubernetesGroups": ["a"]}, "STANDARD"),
        ({"type": "EC2_LINUX", "username": "a"}, "STANDARD"),
        ({"type": "PERSON"}, "PERSON"),
        ({"tags": {"aws:a": "b"}}, "aws:"),
    ],
)  # fmt: skip
def test_what_an_access_entry_is_refused_for(sim: Any, wrong: dict[str, Any], sentence: str) -> None:
    _cluster(sim)
    with refused("InvalidParameterException", sentence):
        sim.eks.create_access_entry(**{"clusterName": "one", "principalArn": sim.role(), **wrong})
    assert sim.eks.list_access_entries(clusterName="one")["accessEntries"] == [CREATOR]


def test_a_principal_has_one_entry_in_a_cluster(sim: Any) -> None:
    _cluster(sim)
    names = _entry(sim)
    with refused("ResourceInUseException", "already in use on this cluster"):
        sim.eks.create_access_entry(**names)
    sim.eks.delete_access_entry(**names)
    for gone in (sim.eks.delete_access_entry, sim.eks.describe_access_entry, sim.eks.update_access_entry):
        with refused("ResourceNotFoundException", "list-access-entries"):
            gone(**names)
    made = [sim.eks.create_access_entry(**names, clientRequestToken="t")["accessEntry"] for _ in "ab"]
    assert made[0]["accessEntryArn"] == made[1]["accessEntryArn"]


def test_a_new_role_is_no_valid_principal_for_a_while(make_sim: Any) -> None:
    sim = make_sim(lags=Lags.none())
    _cluster(sim)
    sim.cloud.settings = replace(sim.cloud.settings, lags=Lags.uniform(30))
    names = {"clusterName": "one", "principalArn": sim.role("new")}
    with refused("InvalidParameterException", "invalid principal"):
        sim.eks.create_access_entry(**names)
    sim.clock.advance(30)
    sim.eks.create_access_entry(**names)


def test_a_policy_is_associated_once_with_a_scope_that_can_change(sim: Any) -> None:
    _cluster(sim)
    names = _entry(sim)
    policy = {**names, "policyArn": VIEW}
    sim.eks.associate_access_policy(**policy, accessScope=EVERYWHERE)
    scope = {"type": "namespace", "namespaces": ["dev-*"]}
    changed = sim.eks.associate_access_policy(**policy, accessScope=scope)["associatedAccessPolicy"]
    assert changed["accessScope"] == scope
    assert _policies(sim, names["principalArn"]) == {VIEW: scope}
    having = sim.eks.list_access_entries(clusterName="one", associatedPolicyArn=VIEW)["accessEntries"]
    assert having == [names["principalArn"]]
    sim.eks.disassociate_access_policy(**policy)
    assert _policies(sim, names["principalArn"]) == {}
    with refused("ResourceNotFoundException"):
        sim.eks.disassociate_access_policy(**policy)
    for wrong in ({"type": "namespace"}, {"type": "cluster", "namespaces": ["a"]}, {}):
        with refused("InvalidParameterException"):
            sim.eks.associate_access_policy(**policy, accessScope=wrong)
    with refused("ResourceNotFoundException"):
        sim.eks.associate_access_policy(**names, policyArn=f"{VIEW}s", accessScope=EVERYWHERE)
    with refused("InvalidParameterException"):
        sim.eks.associate_access_policy(**names, policyArn="arn:aws:iam::aws:policy/ReadOnly", accessScope=EVERYWHERE)


def test_policies_and_entries_are_listed_in_pages(sim: Any) -> None:
    _cluster(sim)
    for number in range(3):
        _entry(sim, f"role-{number}")
    found = sim.eks.get_paginator("list_access_entries").paginate(clusterName="one", PaginationConfig={"PageSize": 2})
    assert len(found.build_full_result()["accessEntries"]) == 4
    policies = sim.eks.get_paginator("list_access_policies").paginate(PaginationConfig={"PageSize": 3})
    assert {VIEW, ADMIN} <= {row["arn"] for row in policies.build_full_result()["accessPolicies"]}


def test_a_node_group_lets_its_nodes_in_and_leaves_the_entry_behind(sim: Any) -> None:
    made = _cluster(sim)
    role = sim.role("nodes")
    node = {"clusterName": "one", "nodegroupName": "n"}
    sim.eks.create_nodegroup(**node, nodeRole=role, subnets=made["resourcesVpcConfig"]["subnetIds"])
    held = sim.eks.describe_access_entry(clusterName="one", principalArn=role)["accessEntry"]
    assert (held["type"], held["tags"]) == ("EC2_LINUX", {})
    sim.eks.delete_nodegroup(**node)
    sim.clock.advance(240)
    assert role in sim.eks.list_access_entries(clusterName="one")["accessEntries"]


def test_entries_are_made_when_a_cluster_gets_the_api(sim: Any) -> None:
    """By the timer effect `open-access-entries`, with which the authentication mode is changed."""
    made = sim.cluster()
    role = sim.role("nodes")
    subnets = made["resourcesVpcConfig"]["subnetIds"]
    sim.eks.create_nodegroup(clusterName="one", nodegroupName="n", nodeRole=role, subnets=subnets)
    world = sim.cloud.world
    record = world.table(f"{ACCOUNT}/us-east-1", "eks-cluster")["one"]
    mode = {"authenticationMode": "API_AND_CONFIG_MAP", "bootstrapClusterCreatorAdminPermissions": True}
    for _ in "ab":
        world.schedule(sim.clock.now(), record, {"accessConfig": mode}, "open-access-entries")
        assert sim.eks.list_access_entries(clusterName="one")["accessEntries"] == [CREATOR, role]
    assert list(_policies(sim, CREATOR)) == [ADMIN]


def test_access_entries_go_with_their_cluster(sim: Any) -> None:
    _cluster(sim)
    _entry(sim)
    sim.eks.delete_cluster(name="one")
    with refused("InvalidRequestException", "not in ACTIVE"):
        sim.eks.delete_access_entry(clusterName="one", principalArn=CREATOR)
    sim.clock.advance(300)
    assert not [row for row in sim.cloud.resources() if row["kind"].startswith("eks")]


def test_a_node_entry_passes_its_role_by_permission(sim: Any) -> None:
    """https://docs.aws.amazon.com/service-authorization/latest/reference/list_eks.html"""
    _cluster(sim)
    role = sim.role("nodes")
    allowed = {"Effect": "Allow", "Action": "eks:*", "Resource": "*"}
    document = {"Version": "2012-10-17", "Statement": [allowed]}
    sim.iam.put_role_policy(
        RoleName=sim.role("worker") and "worker", PolicyName="p", PolicyDocument=json.dumps(document)
    )
    worker = sim.iam.get_role(RoleName="worker")["Role"]["Arn"]
    session = sim.sts.assume_role(RoleArn=worker, RoleSessionName="one")["Credentials"]
    eks = sim.client("eks", key=session["AccessKeyId"], token=session["SessionToken"])
    eks.create_access_entry(clusterName="one", principalArn=worker)
    names = {"clusterName": "one", "principalArn": role, "type": "EC2_LINUX"}
    with refused("AccessDeniedException", f"iam:PassRole on resource: {role}"):
        eks.create_access_entry(**names)
    passing = {
        "Effect": "Allow", "Action": "iam:PassRole", "Resource": role,
        "Condition": {"StringEquals": {"iam:PassedToService": "ec2.amazonaws.com"}},
    }  # fmt: skip
    document["Statement"].append(passing)
    sim.iam.put_role_policy(RoleName="worker", PolicyName="p", PolicyDocument=json.dumps(document))
    eks.create_access_entry(**names)
