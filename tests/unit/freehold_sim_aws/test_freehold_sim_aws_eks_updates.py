"""Changes of clusters of EKS: one at a time, with an update that tells how it went."""

import json
from typing import Any

import pytest

from freehold_sim.faults import Effect, Fault
from harness.simulated_aws import ACCOUNT, refused

AUDIT = {"clusterLogging": [{"types": ["audit"], "enabled": True}]}


def _shown(sim: Any) -> dict[str, Any]:
    return dict(sim.eks.describe_cluster(name="one")["cluster"])


def _update(sim: Any, ident: str, **part: str) -> dict[str, Any]:
    return dict(sim.eks.describe_update(name="one", updateId=ident, **part)["update"])


def _params(update: dict[str, Any]) -> dict[str, str]:
    return {row["type"]: row["value"] for row in update["params"]}


def _upgrade(sim: Any, version: str, **more: Any) -> dict[str, Any]:
    return dict(sim.eks.update_cluster_version(name="one", version=version, **more)["update"])


def _config(sim: Any, **more: Any) -> dict[str, Any]:
    return dict(sim.eks.update_cluster_config(name="one", **more)["update"])


# -- version ------------------------------------------------------------------------------------------------------


def test_a_version_is_updated_to_the_next(sim: Any) -> None:
    held = sim.cluster(version="1.33")
    made = _upgrade(sim, "1.34")
    assert (made["status"], made["type"], made["errors"]) == ("InProgress", "VersionUpdate", [])
    assert _params(made) == {"Version": "1.34", "PlatformVersion": "eks.16"}
    assert (_shown(sim)["status"], _shown(sim)["version"]) == ("UPDATING", "1.33")
    sim.clock.advance(480)
    assert _update(sim, made["id"])["status"] == "Successful"
    assert sim.eks.list_updates(name="one")["updateIds"] == [made["id"]]
    changed = {"version": "1.34", "platformVersion": "eks.16"}
    assert _shown(sim) == {**held, **changed}


@pytest.mark.parametrize("version", ["1.32", "1.33", "1.35"])
def test_a_version_is_not_lowered_kept_or_skipped(sim: Any, version: str) -> None:
    sim.cluster(version="1.33")
    with refused("InvalidParameterException", f"Unsupported Kubernetes minor version update from 1.33 to {version}"):
        _upgrade(sim, version)
    assert _shown(sim)["status"] == "ACTIVE"


@pytest.mark.parametrize("version", ["1.37", "1.31", "latest"])
def test_a_version_that_is_not_offered_is_refused(sim: Any, version: str) -> None:
    sim.cluster()
    with refused("InvalidParameterException", "unsupported Kubernetes version"):
        _upgrade(sim, version)


def test_a_rollback_is_not_served_while_eks_has_it(sim: Any) -> None:
    sim.cluster(version="1.33")
    _upgrade(sim, "1.34")
    sim.clock.advance(480)
    with refused("NotServedBySimulator", "rollbacks"):
        _upgrade(sim, "1.33")
    sim.clock.advance(7 * 86_400 + 1)
    with refused("InvalidParameterException", "from 1.34 to 1.33"):
        _upgrade(sim, "1.33")


def test_an_update_that_fails_leaves_the_cluster_as_it_was(sim: Any) -> None:
    held = sim.cluster(version="1.33")
    sim.cloud.faults.add(Fault(Effect.FAILED, "eks.UpdateClusterVersion", message="no address left"))
    made = _upgrade(sim, "1.34")
    sim.clock.advance(480)
    told = _update(sim, made["id"])
    (error,) = told["errors"]
    assert (told["status"], error["errorCode"], error["errorMessage"]) == ("Failed", "Unknown", "no address left")
    assert _shown(sim) == held


def test_nodes_are_at_most_three_versions_behind(sim: Any) -> None:
    made = sim.cluster(version="1.34")
    node = {"clusterName": "one", "nodegroupName": "old", "nodeRole": made["roleArn"]}
    sim.eks.create_nodegroup(**node, subnets=made["resourcesVpcConfig"]["subnetIds"], version="1.32")
    _upgrade(sim, "1.35")
    sim.clock.advance(480)
    with refused("InvalidParameterException", "Nodegroups old must be updated"):
        _upgrade(sim, "1.36")


def test_eks_updates_a_cluster_by_itself(sim: Any) -> None:
    made = sim.cluster(version="1.32")
    ident = sim.cloud.foreign_act("upgrade", {"id": made["arn"]})["update"]
    assert _shown(sim)["status"] == "UPDATING"
    sim.clock.advance(480)
    assert (_shown(sim)["version"], _update(sim, ident)["type"]) == ("1.33", "VersionUpdate")


# -- one at a time ------------------------------------------------------------------------------------------------


def test_one_change_is_made_at_a_time(sim: Any) -> None:
    sim.cluster(version="1.33")
    first = _upgrade(sim, "1.34")
    said = f"because cluster one currently has update {first['id']} in progress"
    key = sim.cloud.strangers.key()["arn"]
    with refused("ResourceInUseException", f"Cannot LoggingUpdate {said}"):
        _config(sim, logging=AUDIT)
    with refused("ResourceInUseException", f"Cannot VersionUpdate {said}"):
        _upgrade(sim, "1.34")
    with refused("ResourceInUseException", f"Cannot AssociateEncryptionConfig {said}"):
        sim.eks.associate_encryption_config(clusterName="one", encryptionConfig=_encrypted(key))
    with refused("ResourceInUseException", "currently has an update in progress"):
        sim.eks.delete_cluster(name="one")
    sim.eks.tag_resource(resourceArn=_shown(sim)["arn"], tags={"a": "b"})
    sim.clock.advance(480)
    _config(sim, logging=AUDIT)
    sim.clock.advance(120)
    sim.eks.delete_cluster(name="one")
    sim.clock.advance(300)
    assert not [row for row in sim.cloud.resources() if row["kind"].startswith("eks-")]
    with refused("ResourceNotFoundException", "No cluster found"):
        _update(sim, first["id"])


def test_a_cluster_that_is_not_there_yet_is_not_changed(sim: Any) -> None:
    _, subnets = sim.network()
    sim.eks.create_cluster(name="one", roleArn=sim.role(), resourcesVpcConfig={"subnetIds": subnets})
    with refused("InvalidRequestException", "not in ACTIVE status"):
        _config(sim, logging=AUDIT)


def test_an_update_sent_again_is_the_same(sim: Any) -> None:
    sim.cluster(version="1.33")
    made = [_upgrade(sim, "1.34", clientRequestToken="one")["id"] for _ in "ab"]
    assert made[0] == made[1]
    with refused("InvalidParameterException", "other parameters"):
        _upgrade(sim, "1.35", clientRequestToken="one")
    sim.clock.advance(480)
    assert _upgrade(sim, "1.34", clientRequestToken="one")["status"] == "Successful"
    made = [_config(sim, logging=AUDIT, clientRequestToken="two")["id"] for _ in "ab"]
    assert made[0] == made[1]


def test_an_update_is_found_where_it_belongs(sim: Any) -> None:
    sim.cluster(version="1.33")
    made = _upgrade(sim, "1.34")
    with refused("ResourceNotFoundException", "No update found"):
        _update(sim, "none")
    with refused("ResourceNotFoundException", "No update found"):
        _update(sim, made["id"], addonName="vpc-cni")
    with refused("InvalidParameterException"):
        _update(sim, made["id"], addonName="vpc-cni", nodegroupName="n")
    assert sim.eks.list_updates(name="one", nodegroupName="n")["updateIds"] == []


# -- configuration ------------------------------------------------------------------------------------------------


def test_types_of_logs_that_are_not_named_stay_as_they_are(sim: Any) -> None:
    sim.cluster(logging=AUDIT)
    asked = {"clusterLogging": [{"types": ["api"], "enabled": True}]}
    made = _config(sim, logging=asked)
    assert (made["type"], json.loads(_params(made)["ClusterLogging"])) == ("LoggingUpdate", asked)
    sim.clock.advance(120)
    assert _shown(sim)["logging"]["clusterLogging"][0] == {"types": ["api", "audit"], "enabled": True}
    _config(sim, logging={"clusterLogging": [{"types": ["api", "audit"], "enabled": False}]})
    sim.clock.advance(120)
    (row,) = _shown(sim)["logging"]["clusterLogging"]
    assert (len(row["types"]), row["enabled"]) == (5, False)


def test_access_to_the_endpoint_is_changed(sim: Any) -> None:
    sim.cluster()
    made = _config(sim, resourcesVpcConfig={"endpointPrivateAccess": True, "publicAccessCidrs": ["203.0.113.0/24"]})
    assert made["type"] == "EndpointAccessUpdate"
    assert _params(made) == {
        "EndpointPublicAccess": "true", "EndpointPrivateAccess": "true", "PublicAccessCidrs": '["203.0.113.0/24"]',
    }  # fmt: skip
    sim.clock.advance(120)
    network = _shown(sim)["resourcesVpcConfig"]
    assert (network["endpointPrivateAccess"], network["publicAccessCidrs"]) == (True, ["203.0.113.0/24"])
    _config(sim, resourcesVpcConfig={"endpointPublicAccess": False, "publicAccessCidrs": []})
    sim.clock.advance(120)
    network = _shown(sim)["resourcesVpcConfig"]
    assert (network["endpointPublicAccess"], network["publicAccessCidrs"]) == (False, ["203.0.113.0/24"])
    with refused("InvalidParameterException", "Private and public endpoint access cannot be false"):
        _config(sim, resourcesVpcConfig={"endpointPrivateAccess": False})


def test_the_way_users_are_known_goes_upwards_step_by_step(sim: Any) -> None:
    sim.cluster()
    for mode, after in (("API", "CONFIG_MAP"), ("CONFIG_MAP", "CONFIG_MAP")):
        with refused("InvalidParameterException", f"Unsupported authentication mode update from {after} to {mode}"):
            _config(sim, accessConfig={"authenticationMode": mode})
    for mode in ("API_AND_CONFIG_MAP", "API"):
        made = _config(sim, accessConfig={"authenticationMode": mode})
        assert (made["type"], _params(made)) == ("AccessConfigUpdate", {"AuthenticationMode": mode})
        sim.clock.advance(120)
        assert _shown(sim)["accessConfig"] == {"authenticationMode": mode}
    with refused("InvalidParameterException", "Unsupported authentication mode update from API to API_AND_CONFIG_MAP"):
        _config(sim, accessConfig={"authenticationMode": "API_AND_CONFIG_MAP"})


def test_extended_support_is_given_up_only_before_it_begins(sim: Any) -> None:
    sim.cluster(version="1.33")
    with refused("InvalidParameterException", "has begun"):
        _config(sim, upgradePolicy={"supportType": "STANDARD"})
    _upgrade(sim, "1.34")
    sim.clock.advance(480)
    assert _config(sim, upgradePolicy={"supportType": "STANDARD"})["type"] == "UpgradePolicyUpdate"
    sim.clock.advance(120)
    assert _shown(sim)["upgradePolicy"] == {"supportType": "STANDARD"}


def test_protection_is_taken_away_before_a_delete(sim: Any) -> None:
    sim.cluster(deletionProtection=True)
    made = _config(sim, deletionProtection=False)
    assert (made["type"], _params(made)) == ("DeletionProtectionUpdate", {"DeletionProtection": "false"})
    sim.clock.advance(120)
    sim.eks.delete_cluster(name="one")


NOTHING: dict[str, tuple[dict[str, Any], str]] = {
    "nothing": ({}, "The type for cluster update was not provided."),
    "two things": ({"logging": AUDIT, "deletionProtection": True}, "Only one type of update can be allowed."),
    "logs as they are": (
        {"logging": {"clusterLogging": [{"types": ["api"], "enabled": False}]}},
        "No changes needed for the logging config provided",
    ),
    "endpoint as it is": (
        {"resourcesVpcConfig": {"endpointPublicAccess": True}},
        "Cluster is already at the desired configuration with endpointPrivateAccess: false , endpointPublicAccess: "
        "true, and Public Endpoint Restrictions: [0.0.0.0/0]",
    ),
    "nonsense": ({"resourcesVpcConfig": {"publicAccessCidrs": ["nonsense"]}}, "invalid in publicAccessCidrs"),
    "policy as it is": ({"upgradePolicy": {"supportType": "EXTENDED"}}, "No changes needed"),
    "protection as it is": ({"deletionProtection": False}, "No changes needed"),
}


@pytest.mark.parametrize("name", NOTHING)
def test_what_changes_nothing_or_too_much_is_refused(sim: Any, name: str) -> None:
    asked, sentence = NOTHING[name]
    sim.cluster()
    with refused("InvalidParameterException", sentence):
        _config(sim, **asked)
    assert sim.eks.list_updates(name="one")["updateIds"] == []


# -- encryption ---------------------------------------------------------------------------------------------------


def _encrypted(arn: str) -> list[dict[str, Any]]:
    return [{"resources": ["secrets"], "provider": {"keyArn": arn}}]


def test_secrets_are_encrypted_once_and_for_good(sim: Any) -> None:
    sim.cluster()
    wanted = _encrypted(sim.cloud.strangers.key()["arn"])
    for wrong in ([], _encrypted(f"arn:aws:kms:us-east-1:{ACCOUNT}:key/none")):
        with refused("InvalidParameterException"):
            sim.eks.associate_encryption_config(clusterName="one", encryptionConfig=wrong)
    made = sim.eks.associate_encryption_config(clusterName="one", encryptionConfig=wanted)["update"]
    assert made["type"] == "AssociateEncryptionConfig"
    assert "encryptionConfig" not in _shown(sim)
    sim.clock.advance(600)
    assert _shown(sim)["encryptionConfig"] == wanted
    with refused("InvalidParameterException", "Encryption is already enabled on the cluster"):
        sim.eks.associate_encryption_config(clusterName="one", encryptionConfig=wanted)


# -- place --------------------------------------------------------------------------------------------------------


def test_subnets_and_groups_are_changed_apart_from_the_endpoint(sim: Any) -> None:
    network = sim.cluster()["resourcesVpcConfig"]
    group, subnets = sim.group(network["vpcId"]), network["subnetIds"]
    for wanted, text in (
        ({"subnetIds": subnets, "endpointPrivateAccess": True}, "Only one type of update"),
        ({"subnetIds": subnets}, "No changes needed"),
        ({"subnetIds": subnets[:1]}, "two different AZs"),
        ({"subnetIds": [sim.subnet(vpc := sim.vpc(), 1, "a"), sim.subnet(vpc, 2, "b")]}, "another VPC"),
    ):
        with refused("InvalidParameterException", text):
            _config(sim, resourcesVpcConfig=wanted)
    made = _config(sim, resourcesVpcConfig={"securityGroupIds": [group]})
    assert made["type"] == "VpcConfigUpdate"
    sim.clock.advance(200)
    assert _shown(sim)["resourcesVpcConfig"] == {**network, "securityGroupIds": [group]}
