"""Clusters of EKS: what they can be asked to have, what is always shown, and what is refused."""

import ssl
from base64 import b64decode
from typing import Any

import pytest

from freehold_sim.aws.eks.versions import CALENDAR, DEFAULT
from freehold_sim.faults import Effect, Fault
from harness.simulated_aws import ACCOUNT, refused

LOGS = ["api", "audit", "authenticator", "controllerManager", "scheduler"]


@pytest.fixture
def base(sim: Any) -> dict[str, Any]:
    """What a create needs."""
    _, subnets = sim.network()
    return {"name": "one", "roleArn": sim.role(), "resourcesVpcConfig": {"subnetIds": subnets}}


def _network(base: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**base, "resourcesVpcConfig": {**base["resourcesVpcConfig"], **more}}


def _shown(sim: Any, name: str = "one") -> dict[str, Any]:
    return dict(sim.eks.describe_cluster(name=name)["cluster"])


# -- what is shown ------------------------------------------------------------------------------------------------


def test_a_cluster_that_is_being_made_has_no_address_yet(sim: Any, base: dict[str, Any]) -> None:
    made = sim.eks.create_cluster(**base)["cluster"]
    assert made == _shown(sim)
    assert made["certificateAuthority"] == {}
    assert not {"endpoint", "identity"} & set(made)
    assert "clusterSecurityGroupId" not in made["resourcesVpcConfig"]
    sim.clock.advance(600)
    shown = _shown(sim)
    assert shown["status"] == "ACTIVE"
    ident = shown["endpoint"].removeprefix("https://").partition(".")[0]
    assert shown["identity"]["oidc"]["issuer"] == f"https://oidc.eks.us-east-1.amazonaws.com/id/{ident}"
    assert shown["resourcesVpcConfig"]["clusterSecurityGroupId"].startswith("sg-")


def test_a_cluster_shows_what_was_not_asked_for(sim: Any) -> None:
    shown = sim.cluster()
    assert shown["version"] == DEFAULT
    assert shown["logging"] == {"clusterLogging": [{"types": LOGS, "enabled": False}]}
    assert shown["accessConfig"] == {"authenticationMode": "CONFIG_MAP"}
    assert shown["upgradePolicy"] == {"supportType": "EXTENDED"}
    assert shown["deletionProtection"] is False
    assert shown["health"] == {"issues": []}
    assert "encryptionConfig" not in shown
    network = {"serviceIpv4Cidr": "172.20.0.0/16", "ipFamily": "ipv4", "elasticLoadBalancing": {"enabled": False}}
    assert shown["kubernetesNetworkConfig"] == network
    access = {"endpointPublicAccess": True, "endpointPrivateAccess": False, "publicAccessCidrs": ["0.0.0.0/0"]}
    assert access.items() <= shown["resourcesVpcConfig"].items()
    assert shown["resourcesVpcConfig"]["securityGroupIds"] == []


def test_a_cluster_shows_what_was_asked_for(sim: Any, base: dict[str, Any]) -> None:
    vpc = sim.ec2.describe_vpcs()["Vpcs"][0]["VpcId"]
    group, key = sim.group(vpc), sim.cloud.strangers.key(alias="secrets")
    network = {
        "securityGroupIds": [group], "endpointPublicAccess": True, "endpointPrivateAccess": True,
        "publicAccessCidrs": ["203.0.113.0/24"],
    }  # fmt: skip
    sim.eks.create_cluster(
        **_network(base, **network),
        version="1.32",
        tags={"a": "b"},
        logging={"clusterLogging": [{"types": ["audit"], "enabled": True}]},
        accessConfig={"authenticationMode": "API", "bootstrapClusterCreatorAdminPermissions": False},
        upgradePolicy={"supportType": "STANDARD"},
        deletionProtection=True,
        bootstrapSelfManagedAddons=False,
        kubernetesNetworkConfig={"serviceIpv4Cidr": "192.168.0.0/20", "ipFamily": "ipv4"},
        encryptionConfig=[{"resources": ["secrets"], "provider": {"keyArn": key["aliases"][0]}}],
    )
    shown = _shown(sim)
    assert (shown["version"], shown["tags"], shown["deletionProtection"]) == ("1.32", {"a": "b"}, True)
    assert shown["accessConfig"] == {"authenticationMode": "API"}
    assert shown["upgradePolicy"] == {"supportType": "STANDARD"}
    on, off = shown["logging"]["clusterLogging"]
    assert on == {"types": ["audit"], "enabled": True}
    assert off == {"types": [each for each in LOGS if each != "audit"], "enabled": False}
    assert shown["kubernetesNetworkConfig"]["serviceIpv4Cidr"] == "192.168.0.0/20"
    assert shown["encryptionConfig"] == [{"resources": ["secrets"], "provider": {"keyArn": key["arn"]}}]
    assert network.items() <= shown["resourcesVpcConfig"].items()
    assert sim.cloud.strangers.find("one")["self_managed"] == []


def test_the_certificate_authority_of_a_cluster_is_one(sim: Any) -> None:
    pem = b64decode(sim.cluster()["certificateAuthority"]["data"]).decode()
    context = ssl.create_default_context(cadata=pem)
    assert len(context.get_ca_certs()) == 1


def test_what_eks_puts_into_a_cluster_itself_is_no_addon(sim: Any) -> None:
    sim.cluster()
    assert sim.cloud.strangers.find("one")["self_managed"] == ["vpc-cni", "coredns", "kube-proxy"]
    assert sim.eks.list_addons(clusterName="one")["addons"] == []


def test_a_cluster_that_failed_has_no_address_and_says_so(sim: Any) -> None:
    sim.cloud.faults.add(Fault(Effect.FAILED, "eks.CreateCluster"))
    shown = sim.cluster()
    assert (shown["status"], shown["certificateAuthority"]) == ("FAILED", {})
    assert "endpoint" not in shown
    assert [issue["code"] for issue in shown["health"]["issues"]] == ["InternalFailure"]


def test_services_have_other_addresses_than_the_vpc(sim: Any) -> None:
    vpc = sim.vpc("192.168.0.0/16")
    subnets = [
        sim.ec2.create_subnet(VpcId=vpc, CidrBlock=f"192.168.{n}.0/24", AvailabilityZone=f"us-east-1{zone}")["Subnet"]
        for n, zone in enumerate("ab")
    ]
    network = {"subnetIds": [subnet["SubnetId"] for subnet in subnets]}
    made = sim.eks.create_cluster(name="one", roleArn=sim.role(), resourcesVpcConfig=network)["cluster"]
    assert made["kubernetesNetworkConfig"]["serviceIpv4Cidr"] == "10.100.0.0/16"


# -- what is refused ----------------------------------------------------------------------------------------------


def _encrypted(arn: str, resource: str = "secrets") -> dict[str, Any]:
    return {"encryptionConfig": [{"resources": [resource], "provider": {"keyArn": arn}}]}


_NO_KEY = f"arn:aws:kms:us-east-1:{ACCOUNT}:key/none"
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "unknown version": ({"version": "1.1"}, "unsupported Kubernetes version"),
    "version out of support": ({"version": "1.31"}, "unsupported Kubernetes version"),
    "no such role": ({"roleArn": f"arn:aws:iam::{ACCOUNT}:role/none"}, "trusted entity is not correct"),
    "no administrator": (
        {"accessConfig": {"bootstrapClusterCreatorAdminPermissions": False}},
        "bootstrapClusterCreatorAdminPermissions must be true",
    ),
    "services outside of private blocks": (
        {"kubernetesNetworkConfig": {"serviceIpv4Cidr": "176.22.0.0/16"}}, "private block"
    ),
    "too few services": ({"kubernetesNetworkConfig": {"serviceIpv4Cidr": "172.20.0.0/25"}}, "between /12 and /24"),
    "services in the VPC": ({"kubernetesNetworkConfig": {"serviceIpv4Cidr": "10.0.0.0/16"}}, "overlaps"),
    "key that there is not": (_encrypted(_NO_KEY), "does not exist"),
    "no key": ({"encryptionConfig": [{"resources": ["secrets"]}]}, "KeyArn is required"),
    "encrypted pods": (_encrypted(_NO_KEY, "pods"), "secrets"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_a_cluster_is_refused_for(sim: Any, base: dict[str, Any], name: str) -> None:
    wrong, sentence = WRONG[name]
    with refused("InvalidParameterException", sentence):
        sim.eks.create_cluster(**{**base, **wrong})
    assert sim.eks.list_clusters()["clusters"] == []


WRONG_NETWORK: dict[str, tuple[dict[str, Any], str]] = {
    "no endpoint": ({"endpointPublicAccess": False}, "Private and public endpoint access cannot be false"),
    "nonsense": ({"publicAccessCidrs": ["nonsense"]}, "invalid in publicAccessCidrs"),
    "address without length": ({"publicAccessCidrs": ["203.0.113.1"]}, "invalid in publicAccessCidrs"),
    "IPv6": ({"publicAccessCidrs": ["2001:db8::/32"]}, "invalid in publicAccessCidrs"),
    "reserved": ({"publicAccessCidrs": ["10.1.0.0/16"]}, "not allowed in publicAccessCidrs"),
    "unknown group": ({"securityGroupIds": ["sg-0"]}, "does not exist"),
    "too many groups": ({"securityGroupIds": [f"sg-{n}" for n in range(6)]}, "At most 5"),
}


@pytest.mark.parametrize("name", WRONG_NETWORK)
def test_which_network_a_cluster_is_refused_for(sim: Any, base: dict[str, Any], name: str) -> None:
    wrong, sentence = WRONG_NETWORK[name]
    with refused("InvalidParameterException", sentence):
        sim.eks.create_cluster(**_network(base, **wrong))
    assert sim.ec2.describe_network_interfaces()["NetworkInterfaces"] == []


def test_a_group_of_another_vpc_is_refused(sim: Any, base: dict[str, Any]) -> None:
    with refused("InvalidParameterException", "is not in the VPC"):
        sim.eks.create_cluster(**_network(base, securityGroupIds=[sim.group(sim.vpc("10.9.0.0/16"))]))


def test_a_role_that_does_not_trust_eks_is_refused(sim: Any, base: dict[str, Any]) -> None:
    sim.cloud.prepare()
    role = f"arn:aws:iam::{ACCOUNT}:role/nodes.cluster-api-provider-aws.sigs.k8s.io"
    with refused("InvalidParameterException", "the trusted entity is not correct"):
        sim.eks.create_cluster(**{**base, "roleArn": role})
    sim.eks.create_cluster(**{**base, "roleArn": role.replace("nodes.", "eks-controlplane.")})


def test_a_key_that_is_disabled_is_refused(sim: Any, base: dict[str, Any]) -> None:
    key = sim.cloud.foreign_act("key", {"alias": "one"})
    sim.cloud.strangers.change(key["arn"], KeyState="Disabled")
    with refused("InvalidParameterException", "cannot be used"):
        sim.eks.create_cluster(**base, **_encrypted(key["arn"]))


def test_a_cluster_of_ipv6_is_not_served(sim: Any, base: dict[str, Any]) -> None:
    with refused("NotServedBySimulator", "ipv6"):
        sim.eks.create_cluster(**base, kubernetesNetworkConfig={"ipFamily": "ipv6"})


# -- the end ------------------------------------------------------------------------------------------------------


def test_a_group_is_held_by_the_interfaces_of_a_cluster_that_it_was_given_to(sim: Any, base: dict[str, Any]) -> None:
    group = sim.group(sim.ec2.describe_vpcs()["Vpcs"][0]["VpcId"])
    sim.eks.create_cluster(**_network(base, securityGroupIds=[group]))
    sim.clock.advance(600)
    sim.eks.delete_cluster(name="one")
    with refused("DependencyViolation"):
        sim.ec2.delete_security_group(GroupId=group)
    sim.clock.advance(300)
    sim.ec2.delete_security_group(GroupId=group)


def test_a_protected_cluster_is_deleted_only_before_it_is_there(sim: Any, base: dict[str, Any]) -> None:
    sim.eks.create_cluster(**base, deletionProtection=True)
    assert sim.eks.delete_cluster(name="one")["cluster"]["status"] == "DELETING"
    sim.clock.advance(300)
    sim.eks.create_cluster(**base, deletionProtection=True)
    sim.clock.advance(600)
    with refused("InvalidRequestException", "deletion protection"):
        sim.eks.delete_cluster(name="one")


def test_addons_go_with_their_cluster(sim: Any) -> None:
    sim.cluster()
    sim.eks.create_addon(clusterName="one", addonName="vpc-cni")
    sim.clock.advance(30)
    sim.eks.delete_cluster(name="one")
    assert sim.eks.list_addons(clusterName="one")["addons"] == ["vpc-cni"]
    sim.clock.advance(300)
    assert not [row for row in sim.cloud.resources() if row["kind"].startswith("eks-")]


# -- versions -----------------------------------------------------------------------------------------------------


def _versions(sim: Any, **asked: Any) -> list[str]:
    return [row["clusterVersion"] for row in sim.eks.describe_cluster_versions(**asked)["clusterVersions"]]


def test_versions_are_shown_while_they_are_supported(sim: Any) -> None:
    assert _versions(sim) == ["1.36", "1.35", "1.34", "1.33", "1.32"]
    assert _versions(sim, includeAll=True) == [version.name for version in CALENDAR]
    assert _versions(sim, versionStatus="EXTENDED_SUPPORT") == ["1.33", "1.32"]
    assert _versions(sim, status="unsupported") == ["1.31", "1.30"]
    assert _versions(sim, clusterVersions=["1.31", "1.36", "1.1"]) == ["1.36", "1.31"]
    assert _versions(sim, defaultOnly=True) == [DEFAULT]
    assert _versions(sim, clusterType="eks-local-outposts") == []
    first = sim.eks.describe_cluster_versions(maxResults=2)
    assert _versions(sim, maxResults=9, nextToken=first["nextToken"]) == ["1.34", "1.33", "1.32"]


def test_a_version_says_until_when_it_is_supported(sim: Any) -> None:
    (shown,) = sim.eks.describe_cluster_versions(clusterVersions=["1.34"])["clusterVersions"]
    assert f"{shown['endOfStandardSupportDate']:%Y-%m-%d}" == "2026-12-02"
    assert f"{shown['endOfExtendedSupportDate']:%Y-%m-%d}" == "2027-12-02"
    assert (shown["versionStatus"], shown["defaultVersion"]) == ("STANDARD_SUPPORT", False)


def test_a_cluster_that_is_gone_behind_its_owner_leaves_nothing(sim: Any) -> None:
    made = sim.cluster(version="1.33")
    sim.eks.update_cluster_version(name="one", version="1.34")
    sim.cloud.strangers.delete(made["arn"])
    sim.clock.advance(600)
    assert not [row for row in sim.cloud.resources() if row["kind"].startswith("eks-")]
    assert sim.ec2.describe_network_interfaces()["NetworkInterfaces"] == []
