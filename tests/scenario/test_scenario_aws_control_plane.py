"""A control plane of EKS through the real reconciler: from nothing to a kubeconfig, and to nothing again."""

from __future__ import annotations

from freehold.providers.aws import api_names as aws_names
from harness.aws_control_plane import EKS_NAME, NAME, ControlPlaneHarness


def test_a_control_plane_comes_up_has_its_kubeconfig_and_goes() -> None:
    harness = ControlPlaneHarness()
    harness.up()
    cluster, status = harness.cluster(), harness.status()
    assert (cluster["status"], cluster["version"]) == ("ACTIVE", "1.33")
    assert cluster["accessConfig"]["authenticationMode"] == "API_AND_CONFIG_MAP"
    assert harness.object.raw["spec"]["controlPlaneEndpoint"] == {"host": cluster["endpoint"], "port": 443}
    assert (status["ready"], status["initialized"], status["version"]) == (True, True, "v1.33.0")
    assert status["initialization"] == {"controlPlaneInitialized": True}
    assert status["observedGeneration"] == harness.object.raw["metadata"]["generation"]
    (server,) = harness.kubeconfig()["clusters"]
    assert server["cluster"]["server"] == cluster["endpoint"]
    assert harness.kubeconfig(f"{NAME}-user-kubeconfig")["users"][0]["user"]["exec"]
    harness.down()
    assert harness.made() == []
    assert EKS_NAME not in harness.ask("eks", "ListClusters")["clusters"]


def test_every_condition_is_upstreams() -> None:
    harness = ControlPlaneHarness()
    harness.up()
    for part in (aws_names.EKS_CONTROL_PLANE_READY, aws_names.IAM_CONTROL_PLANE_ROLES_READY, aws_names.SUBNETS_READY):
        assert harness.condition(part)["status"] == "True"
    assert harness.condition("Available")["status"] == "True"
