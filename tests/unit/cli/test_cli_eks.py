"""Upstream's EKS template on a laptop: the commands act on the control plane, and say what is only kept."""

from __future__ import annotations

import json
from pathlib import Path

from harness.commands import freehold

TEMPLATE = Path(__file__).parents[2] / "data" / "upstream" / "capa" / "cluster-template-eks.yaml"
VALUES = {
    "AWS_NODE_MACHINE_TYPE": "t3.large", "AWS_REGION": "eu-central-1", "AWS_SSH_KEY_NAME": "", "CLUSTER_NAME": "prod",
    "KUBERNETES_VERSION": "v1.33.1", "WORKER_MACHINE_COUNT": "2",
}  # fmt: skip


def test_the_template_comes_up_is_opted_out_by_its_clusters_name_and_goes(tmp_path: Path) -> None:
    text = TEMPLATE.read_text(encoding="utf-8")
    for name, value in VALUES.items():
        text = text.replace(f"${{{name}}}", value)
    (tmp_path / "eks.yaml").write_text(text, encoding="utf-8")
    state = ("--state", str(tmp_path / "state"))
    gate = "--feature-gates=EKSEnableIAM=true"  # the account of tests has no roles
    cloud, file = (*state, "--simulate", "--speed", "600", gate), ("-f", str(tmp_path / "eks.yaml"))

    made = freehold("up", *file, *cloud)
    assert made.returncode == 0, made.stderr
    assert "AWSManagedControlPlane default/prod-control-plane is Ready" in made.stdout
    assert "kept, shows what its control plane has: AWSManagedCluster created" in made.stdout
    assert (
        "kept, not served by Freehold: Cluster created, MachineDeployment created, AWSMachineTemplate created, "
        "NodeadmConfigTemplate created"
    ) in made.stdout

    assert freehold("gc", "disable", "--cluster-name", "prod", *state).returncode == 0
    found = json.loads(freehold("gc", "plan", "prod", "-o", "json", *state, "--simulate").stdout)
    said = {name: found[name] for name in ("object", "cluster", "collected", "reason")}
    assert said == {
        "object": "default/prod-control-plane", "cluster": "default_prod-control-plane", "collected": False,
        "reason": "OptedOut",
    }  # fmt: skip
    assert freehold("gc", "enable", "--cluster-name", "prod", *state).returncode == 0

    tree = json.loads(freehold("tree", "prod-control-plane", "-o", "json", *state).stdout)
    assert {"eks-cluster", "vpc", "iam-role"} <= {row["kind"] for row in tree["resources"]}
    gone = freehold("down", *file, *cloud, "--yes")
    assert gone.returncode == 0, gone.stderr
    assert "AWSManagedControlPlane default/prod-control-plane is gone, and everything that it owned" in gone.stdout
    assert "  AWSManagedCluster default/prod" in gone.stdout
