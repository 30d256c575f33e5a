"""Add-ons of EKS: versions, conflicts with what is there, updates."""

import json
from typing import Any

import pytest

from freehold_sim.faults import Effect, Fault
from harness.simulated_aws import refused

CNI = {"clusterName": "one", "addonName": "vpc-cni"}
OVERWRITE = {"resolveConflicts": "OVERWRITE"}


def _versions(sim: Any, name: str, kubernetes: str) -> dict[str, bool]:
    """Return the versions of an add-on for a Kubernetes version, with whether each is the default."""
    found = sim.eks.describe_addon_versions(addonName=name, kubernetesVersion=kubernetes)["addons"]
    return {
        row["addonVersion"]: row["compatibilities"][0]["defaultVersion"]
        for addon in found
        for row in addon["addonVersions"]
    }


def _active(sim: Any, **more: Any) -> dict[str, Any]:
    """Make the add-on of a new cluster."""
    cluster = sim.cluster()
    sim.eks.create_addon(**{**CNI, **OVERWRITE, **more})
    sim.clock.advance(30)
    return dict(cluster)


def _shown(sim: Any) -> dict[str, Any]:
    return dict(sim.eks.describe_addon(**CNI)["addon"])


def test_an_addon_is_made_with_the_default_version_of_its_cluster(sim: Any) -> None:
    cluster = _active(sim, configurationValues="", tags={"a": "b"})
    shown = _shown(sim)
    assert (shown["status"], shown["health"]["issues"], shown["tags"]) == ("ACTIVE", [], {"a": "b"})
    assert _versions(sim, "vpc-cni", cluster["version"])[shown["addonVersion"]]
    assert "configurationValues" not in shown
    with refused("ResourceInUseException", "Addon already exists."):
        sim.eks.create_addon(**CNI)
    assert sim.eks.list_addons(clusterName="one")["addons"] == ["vpc-cni"]
    sim.eks.delete_addon(**CNI)
    assert _shown(sim)["status"] == "DELETING"
    sim.clock.advance(20)
    with refused("ResourceNotFoundException"):
        sim.eks.describe_addon(**CNI)


def test_each_kubernetes_version_has_versions_of_addons_and_one_default(sim: Any) -> None:
    every = sim.eks.get_paginator("describe_addon_versions").paginate(PaginationConfig={"PageSize": 2})
    addons = every.build_full_result()["addons"]
    names = [addon["addonName"] for addon in addons]
    assert {"vpc-cni", "coredns", "kube-proxy", "aws-ebs-csi-driver"} < set(names)
    assert len(names) == len(set(names))
    for name in names:
        for minor in range(30, 37):
            found = _versions(sim, name, f"1.{minor}")
            assert len(found) >= 1
            assert list(found.values()).count(True) == 1, (name, minor)
    assert set(_versions(sim, "kube-proxy", "1.33")).isdisjoint(_versions(sim, "kube-proxy", "1.34"))
    assert sim.eks.describe_addon_versions(kubernetesVersion="1.11")["addons"] == []
    assert [row["addonName"] for row in sim.eks.describe_addon_versions(types=["storage"])["addons"]] == [
        "aws-ebs-csi-driver"
    ]


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"addonName": "none"}, "Addon none specified is not supported"),
        ({"addonVersion": "v0.0.1-eksbuild.1"}, "Addon version specified is not supported"),
        ({"addonName": "kube-proxy", "addonVersion": "v1.36.1-eksbuild.2"}, "Addon version specified is not supported"),
        ({"serviceAccountRoleArn": "arn:aws:iam::111122223333:role/nobody"}, "role/nobody"),
        ({"configurationValues": '{"nonsense": 1}'}, "Json schema validation failed"),
        ({"configurationValues": "null"}, "[$: "),
        ({"configurationValues": "{"}, "neither JSON nor YAML"),
        ({"configurationValues": '{"env": 1}'}, "[$.env: "),
        ({"tags": {"aws:a": "b"}}, "aws:"),
    ],
)  # fmt: skip
def test_what_an_addon_is_refused_for(sim: Any, wrong: dict[str, Any], sentence: str) -> None:
    sim.cluster()
    with refused("InvalidParameterException", sentence):
        sim.eks.create_addon(**{**CNI, **wrong})
    assert sim.eks.list_addons(clusterName="one")["addons"] == []


def test_the_schema_of_an_addon_says_what_can_be_configured(sim: Any) -> None:
    cluster = sim.cluster()
    [version, *_] = _versions(sim, "coredns", cluster["version"])
    found = sim.eks.describe_addon_configuration(addonName="coredns", addonVersion=version)
    assert "replicaCount" in json.loads(found["configurationSchema"])["properties"]
    with refused("ResourceNotFoundException"):
        sim.eks.describe_addon_configuration(addonName="coredns", addonVersion="v0")
    for values in ('{"replicaCount": 3}', "replicaCount: 3"):
        sim.eks.create_addon(clusterName="one", addonName="coredns", configurationValues=values)
        sim.eks.delete_addon(clusterName="one", addonName="coredns")
        sim.clock.advance(20)


@pytest.mark.parametrize("mode", ["NONE", "PRESERVE", None])
def test_an_addon_conflicts_with_the_one_that_a_cluster_has_by_itself(sim: Any, mode: str | None) -> None:
    sim.cluster()
    sim.eks.create_addon(**CNI, **({"resolveConflicts": mode} if mode else {}))
    sim.clock.advance(30)
    assert _shown(sim)["status"] == "CREATE_FAILED"
    [issue] = _shown(sim)["health"]["issues"]
    assert issue["code"] == "ConfigurationConflict"
    assert "Will not continue due to resolve conflicts mode" in issue["message"]
    sim.eks.create_addon(clusterName="one", addonName="eks-pod-identity-agent")
    sim.clock.advance(30)
    other = sim.eks.describe_addon(clusterName="one", addonName="eks-pod-identity-agent")["addon"]
    assert other["status"] == "ACTIVE", "a cluster has no other ones by itself"
    failed = sim.eks.update_addon(**CNI)["update"]
    sim.clock.advance(30)
    assert _shown(sim)["status"] == "UPDATE_FAILED"
    assert sim.cloud.world.table("111122223333/us-east-1", "eks-update")[failed["id"]]["view"]["status"] == "Failed"
    sim.eks.update_addon(**CNI, **OVERWRITE)
    sim.clock.advance(30)
    assert (_shown(sim)["status"], _shown(sim)["health"]["issues"]) == ("ACTIVE", [])


def test_a_preserved_addon_is_there_when_it_was_deleted(sim: Any) -> None:
    _active(sim)
    for preserve, status in ((False, "ACTIVE"), (True, "CREATE_FAILED")):
        sim.eks.delete_addon(**CNI, preserve=preserve)
        sim.clock.advance(20)
        sim.eks.create_addon(**CNI)
        sim.clock.advance(30)
        assert _shown(sim)["status"] == status


def test_an_addon_is_updated_once_at_a_time_and_loses_a_role_that_is_not_named_again(sim: Any) -> None:
    cluster = _active(sim, serviceAccountRoleArn=sim.role("cni"), configurationValues='{"env": {}}')
    [latest, *_] = _versions(sim, "vpc-cni", cluster["version"])
    asked = {**CNI, "addonVersion": latest, "resolveConflicts": "PRESERVE", "clientRequestToken": "t"}
    update = sim.eks.update_addon(**asked)["update"]
    assert (update["status"], update["type"], update["errors"]) == ("InProgress", "AddonUpdate", [])
    assert [row["type"] for row in update["params"]] == ["AddonVersion", "ResolveConflicts"]
    assert sim.eks.update_addon(**asked)["update"]["id"] == update["id"]
    assert _shown(sim)["status"] == "UPDATING"
    with refused("ResourceInUseException", "cannot be updated as it is currently in UPDATING state"):
        sim.eks.update_addon(**CNI)
    sim.clock.advance(30)
    shown = _shown(sim)
    assert (shown["status"], shown["addonVersion"]) == ("ACTIVE", latest)
    assert shown["configurationValues"] == '{"env": {}}'
    assert "serviceAccountRoleArn" not in shown
    assert sim.eks.update_addon(**asked)["update"]["status"] == "Successful"
    with refused("InvalidParameterException", "Addon version specified is not supported"):
        sim.eks.update_addon(**CNI, addonVersion="v0")
    with refused("ResourceNotFoundException"):
        sim.eks.update_addon(clusterName="one", addonName="coredns")


def test_an_update_of_an_addon_can_fail_and_ends_with_its_addon(sim: Any) -> None:
    _active(sim)
    sim.cloud.faults.add(Fault(Effect.FAILED, "eks.UpdateAddon"))
    sim.eks.update_addon(**CNI, configurationValues='{"env": {}}')
    sim.clock.advance(30)
    assert _shown(sim)["status"] == "UPDATE_FAILED"
    assert "configurationValues" not in _shown(sim)
    update = {**CNI, "clientRequestToken": "t"}
    sim.eks.update_addon(**update)
    sim.eks.delete_addon(**CNI)
    assert sim.eks.update_addon(**update)["update"]["status"] == "Cancelled"
    sim.eks.delete_cluster(name="one")
    sim.clock.advance(300)
    assert not [row for row in sim.cloud.resources() if row["kind"].startswith("eks")]
