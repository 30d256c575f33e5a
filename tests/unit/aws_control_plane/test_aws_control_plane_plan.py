"""What is asked of EKS for a spec: each field that is acted on changes it; equal wishes give equal requests."""

from __future__ import annotations

from typing import Any

import pytest

from freehold.api.feature_gates import FeatureGate
from freehold.api.served_fields import Serving
from freehold.providers.aws.control_plane import access
from freehold.providers.aws.control_plane.desired import WantedControlPlane
from freehold.providers.aws.control_plane.facts import ControlPlaneFacts, EncryptionKey
from freehold.providers.aws.control_plane.keys import ACCESS_ENTRY_KIND, CLUSTER, OIDC, ROLE, access_entry, addon
from freehold.providers.aws.control_plane.types.fields import AWS_MANAGED_CONTROL_PLANE_FIELDS
from freehold.providers.objects.around import Around
from freehold.providers.objects.cloud_answers import Answer, NotThere
from harness.aws_control_plane import NAME, ON_RECORD, OWN_ROLE, control_plane, request_of, wanted
from harness.rows import over_rows

Json = dict[str, Any]
ADMINS = "arn:aws:iam::111122223333:role/admins"
NODES = "arn:aws:iam::111122223333:role/nodes"
KEY = "arn:aws:kms:us-east-1:111122223333:key/1"
VIEW = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy"
ROLES = ControlPlaneFacts(node_roles={"nodes": Answer(NODES), "none": NotThere()})
SUBNETS = [
    {
        "id": f"{sort}-{zone}",
        "availabilityZone": f"us-east-1{zone}",
        "cidrBlock": f"10.0.{n}.0/24",
        "isPublic": sort == "pub",
    }
    for n, (sort, zone) in enumerate((sort, zone) for sort in ("pub", "priv") for zone in "ab")
]


def cluster(**spec: Any) -> Json:
    """The request of a cluster with this spec."""
    return dict(request_of(wanted(control_plane(**spec))))


def entries(plan: WantedControlPlane) -> dict[str, Json]:
    keys = [key for key in plan.graph.nodes if key.kind == ACCESS_ENTRY_KIND]
    found = (dict(request_of(plan, key)) for key in keys)
    return {str(each["principal_arn"]): each for each in found}


def test_an_empty_spec_is_a_cluster_that_is_reached_from_everywhere() -> None:
    assert cluster() | {"subnets": (), "security_groups": ()} == {
        "name": f"default_{NAME}",
        "version": "1.33",
        "role_arn": "arn:aws:iam::111122223333:role/eks",
        "subnets": (),
        "security_groups": (),
        "endpoint_public": True,
        "endpoint_private": False,
        "public_cidrs": ["0.0.0.0/0"],
        "logging": [],
        "access_mode": "API_AND_CONFIG_MAP",
        "creator_admin": True,
        "self_managed_addons": True,
        "encryption_key": "",
        "upgrade_policy": "",
        "service_cidr": "",
    }


WISHES: dict[str, tuple[Json, str, Any]] = {
    "eksClusterName": ({"eksClusterName": "mine"}, "name", "mine"),
    "version": ({"version": "v1.32.9"}, "version", "1.32"),
    "no version": ({"version": None}, "version", ""),
    "a version without v": ({"version": "1.32"}, "version", "1.32"),
    "private": ({"endpointAccess": {"private": True}}, "endpoint_private", True),
    "public": ({"endpointAccess": {"private": True, "public": False}}, "endpoint_public", False),
    "no ranges without a way in": ({"endpointAccess": {"private": True, "public": False}}, "public_cidrs", []),
    "ranges": ({"endpointAccess": {"publicCIDRs": ["192.0.2.7/24", "10.0.0.0/8", "192.0.2.0/24"]}}, "public_cidrs",
               ["10.0.0.0/8", "192.0.2.0/24"]),
    "logs": ({"logging": {"scheduler": True, "apiServer": True, "audit": False, "authenticator": False,
                          "controllerManager": True}}, "logging", ["api", "controllerManager", "scheduler"]),
    "mode": ({"accessConfig": {"authenticationMode": "api"}}, "access_mode", "API"),
    "config_map": ({"accessConfig": {"authenticationMode": "config_map"}}, "access_mode", "CONFIG_MAP"),
    "creator": ({"accessConfig": {"bootstrapClusterCreatorAdminPermissions": False}}, "creator_admin", False),
    "addons": ({"bootstrapSelfManagedAddons": False}, "self_managed_addons", False),
    "key": ({"encryptionConfig": {"provider": KEY}}, "encryption_key", KEY),
    "upgrades": ({"upgradePolicy": "extended"}, "upgrade_policy", "EXTENDED"),
    "subnets": ({"network": {"subnets": SUBNETS}}, "subnets",
                ["id-of-priv-a", "id-of-priv-b", "id-of-pub-a", "id-of-pub-b"]),
    "private subnets": ({"network": {"subnets": SUBNETS}, "restrictPrivateSubnets": True}, "subnets",
                        ["id-of-priv-a", "id-of-priv-b"]),
}  # fmt: skip


@over_rows(("spec", "attribute", "value"), WISHES.values(), ids=WISHES.keys())
def test_each_wish_is_in_the_request(spec: Json, attribute: str, value: Any) -> None:
    assert cluster(**spec)[attribute] == value


def test_subnets_for_pods_are_not_the_clusters() -> None:
    pods = {"id": "pods", "availabilityZone": "us-east-1a", "cidrBlock": "10.0.9.0/24",
            "tags": {"sigs.k8s.io/cluster-api-provider-aws/association": "secondary"}}  # fmt: skip
    assert "id-of-pods" not in cluster(network={"subnets": [*SUBNETS, pods]})["subnets"]


def test_the_order_of_lists_says_nothing() -> None:
    one = {"principalARN": ADMINS, "kubernetesGroups": ["a", "b"]}
    other = {"principalARN": ADMINS, "kubernetesGroups": ["b", "a"]}
    found = [entries(wanted(control_plane(accessEntries=[each]))) for each in (one, other)]
    assert found[0] == found[1]


# --- what a living cluster keeps ----------------------------------------------------------------------


def test_what_the_spec_leaves_to_eks_is_as_the_cluster_has_it() -> None:
    plan = wanted(control_plane(version=None), entries=ON_RECORD)
    there = {"version": "1.31", "service_cidr": "172.20.0.0/16", "access_mode": "API"}
    found = request_of(plan, there=there)
    assert {name: found[name] for name in there} == there


def test_a_spec_without_a_mode_raises_the_mode_of_a_living_cluster_once() -> None:
    plan = wanted(control_plane(), entries=ON_RECORD)
    assert request_of(plan, there={"access_mode": "CONFIG_MAP"})["access_mode"] == "API_AND_CONFIG_MAP"


def test_an_alias_means_the_key_that_the_cluster_has() -> None:
    plan = wanted(control_plane(encryptionConfig={"provider": "alias/a"}), entries=ON_RECORD)
    assert request_of(plan, there={"encryption_key": KEY})["encryption_key"] == KEY
    assert request_of(plan)["encryption_key"] == "alias/a"
    known = ControlPlaneFacts(key=Answer(EncryptionKey(KEY)))
    assert request_of(wanted(control_plane(encryptionConfig={"provider": "alias/a"}), known))["encryption_key"] == KEY


def test_the_cluster_says_the_range_of_services() -> None:
    around = Around(cluster={"spec": {"clusterNetwork": {"services": {"cidrBlocks": ["10.96.0.0/12"]}}}})
    assert request_of(wanted(control_plane(), around=around))["service_cidr"] == "10.96.0.0/12"


# --- role, OIDC provider, addons ---------------------------------------------------------------------


def test_the_role_is_upstreams_the_specs_or_a_new_one() -> None:
    found = [
        wanted(control_plane(**spec), gates=gates).graph.nodes[ROLE]
        for spec, gates in (({}, frozenset()), ({"roleName": "mine"}, frozenset()), ({}, OWN_ROLE))
    ]
    assert [node.name for node in found[:2]] == ["eks-controlplane.cluster-api-provider-aws.sigs.k8s.io", "mine"]
    assert all(node.given for node in found[:2]) and found[2].given is None
    assert found[2].name == "demo-iam-service-role"


def test_more_policies_need_their_gate() -> None:
    policies = ["arn:aws:iam::aws:policy/AmazonEKSVPCResourceController"]
    plan = wanted(control_plane(roleAdditionalPolicies=policies), gates=OWN_ROLE | {FeatureGate.EKS_ALLOW_ADD_ROLES})
    parts = {each.natural_key for each in plan.graph.nodes[ROLE].parts({})}
    assert parts == {"arn:aws:iam::aws:policy/AmazonEKSClusterPolicy", *policies}


def test_an_oidc_provider_is_of_the_clusters_issuer() -> None:
    plan = wanted(control_plane(associateOIDCProvider=True))
    assert request_of(plan, OIDC) == {"url": "https://i", "client_ids": ["sts.amazonaws.com"]}
    assert OIDC not in wanted(control_plane()).graph.nodes


def test_an_addon_has_version_settings_role_and_what_happens_in_a_conflict() -> None:
    said = {"name": "vpc-cni", "version": "v1.20.4", "configuration": '{"a":1}', "serviceAccountRoleARN": ADMINS,
            "conflictResolution": "preserve", "preserveOnDelete": True}  # fmt: skip
    assert request_of(wanted(control_plane(addons=[said])), addon("vpc-cni")) == {
        "cluster": f"default_{NAME}",
        "name": "vpc-cni",
        "version": "v1.20.4",
        "configuration": '{"a":1}',
        "role_arn": ADMINS,
        "resolve_conflicts": "PRESERVE",
        "preserve": True,
    }


# --- who may enter -----------------------------------------------------------------------------------


def test_entries_of_the_spec_and_of_nodes_are_wanted() -> None:
    scoped = {"policyARN": VIEW, "accessScope": {"type": "namespace", "namespaces": ["b", "a"]}}
    whole = {"policyARN": VIEW, "accessScope": {"type": "cluster"}}
    listed = {"principalARN": ADMINS, "username": "boss", "accessPolicies": [scoped, whole]}
    plan = wanted(control_plane(accessEntries=[listed]), ROLES)
    found = entries(plan)
    assert {name: each["type"] for name, each in found.items()} == {ADMINS: "STANDARD", NODES: "EC2_LINUX"}
    assert found[ADMINS]["username"] == "boss"
    parts = {each.natural_key for each in plan.graph.nodes[access_entry(ADMINS)].parts({})}
    assert parts == {f"{VIEW} cluster", f"{VIEW} namespace:a,b"}


def test_a_role_of_nodes_that_the_spec_lists_is_as_the_spec_has_it() -> None:
    plan = wanted(control_plane(accessEntries=[{"principalARN": NODES, "type": "ec2"}]), ROLES)
    assert {name: each["type"] for name, each in entries(plan).items()} == {NODES: "EC2"}


def test_with_config_map_there_are_no_entries_and_aws_auth_is_named() -> None:
    plan = wanted(control_plane(accessConfig={"authenticationMode": "config_map"}), ROLES)
    assert entries(plan) == {} and plan.eks is not None
    said = access.explain_aws_auth(plan.eks.access.node_roles, plan.eks.name, "us-east-1")
    assert f"--arn {NODES}" in said and "system:node:{{EC2PrivateDNSName}}" in said and "system:nodes" in said


def test_profiles_are_those_of_machines_that_name_one() -> None:
    machines = [{"spec": {"iamInstanceProfile": "a"}}, {"spec": {}}, {}, {"spec": {"iamInstanceProfile": "a"}}]
    assert access.profiles_of(machines) == {"a"}


# --- what is said ------------------------------------------------------------------------------------

UNSERVED: dict[str, Json] = {
    "spec.vpcCni.disable": {"vpcCni": {"disable": True}},
    "spec.vpcCni.env": {"vpcCni": {"env": [{"name": "A", "value": "b"}]}},
    "spec.kubeProxy.disable": {"kubeProxy": {"disable": True}},
    "spec.iamAuthenticatorConfig": {
        "iamAuthenticatorConfig": {"mapRoles": [{"groups": ["a"], "rolearn": ADMINS, "username": "a"}]}
    },
    "spec.oidcIdentityProviderConfig": {
        "oidcIdentityProviderConfig": {"clientId": "a", "identityProviderConfigName": "b", "issuerUrl": "https://c"}
    },
    "spec.network.cni": {"network": {"cni": {"cniIngressRules": [
        {"description": "a", "fromPort": 1, "toPort": 1, "protocol": "tcp"}]}}},
    "spec.network.nodePortIngressRuleCidrBlocks": {"network": {"nodePortIngressRuleCidrBlocks": ["10.0.0.0/8"]}},
}  # fmt: skip


@pytest.mark.parametrize(("field", "spec"), UNSERVED.items(), ids=UNSERVED.keys())
def test_what_is_not_acted_on_is_named(field: str, spec: Json) -> None:
    notes = wanted(control_plane(**spec)).notes
    assert [note.field for note in notes] == [field] and "not acted on" in notes[0].message


def test_every_field_that_is_not_acted_on_beside_the_network_is_tried_here() -> None:
    ignored = {each.path for each in AWS_MANAGED_CONTROL_PLANE_FIELDS if each.serving is Serving.IGNORED}
    assert {each for each in ignored if not each.startswith("spec.network.")} <= UNSERVED.keys()


def test_ranges_of_a_closed_way_in_are_named() -> None:
    spec = {"endpointAccess": {"private": True, "public": False, "publicCIDRs": ["10.0.0.0/8"]}}
    assert [note.field for note in wanted(control_plane(**spec)).notes] == ["spec.endpointAccess.publicCIDRs"]


def test_the_cluster_needs_role_group_and_subnets_and_all_else_needs_the_cluster() -> None:
    plan = wanted(control_plane(associateOIDCProvider=True, addons=[{"name": "vpc-cni", "version": "v1"}]), ROLES)
    nodes = plan.graph.nodes
    assert {key.kind for key in nodes[CLUSTER].requires} == {"iam-role", "security-group", "subnet"}
    after = [key for key in nodes if CLUSTER in nodes[key].requires]
    assert {key.kind for key in after} == {"oidc-provider", "eks-addon", "eks-access-entry"}
    assert not any(each.kind == "nat-gateway" for each in nodes[CLUSTER].requires)
