"""``freehold down NAME`` says what of the same Cluster stays."""

from pathlib import Path

import yaml

from freehold.cli.objects.same_cluster import rest_of_cluster
from freehold.kube.resources import Json

ROOT = Path(__file__).parents[3]
TEMPLATE = [*yaml.safe_load_all((ROOT / "examples" / "powervs-create-infra.yaml").read_text())]
NAME = "freehold-demo"
STAY = {
    ("Cluster", NAME),
    ("KubeadmControlPlane", f"{NAME}-control-plane"),
    ("IBMPowerVSMachineTemplate", f"{NAME}-control-plane"),
    ("MachineDeployment", f"{NAME}-md-0"),
    ("IBMPowerVSMachineTemplate", f"{NAME}-md-0"),
    ("KubeadmConfigTemplate", f"{NAME}-md-0"),
    ("IBMPowerVSImage", f"{NAME}-image"),
}


def _rest(stored: list[Json], kind: str = "IBMPowerVSCluster") -> set[tuple[str, str]]:
    return {(each["kind"], each["metadata"]["name"]) for each in rest_of_cluster({(kind, NAME)}, stored)}


def _without_label(obj: Json) -> Json:
    return {**obj, "metadata": {**obj["metadata"], "labels": {}}}


def _owned(obj: Json) -> Json:
    """As Cluster API leaves it, in a namespace where the Cluster itself cannot be read."""
    owner = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": NAME, "uid": "1"}
    return {**obj, "metadata": {**obj["metadata"], "labels": {}, "ownerReferences": [owner]}}


def test_all_that_names_the_cluster_or_is_named_by_it_stays() -> None:
    assert _rest(TEMPLATE) == STAY


def test_what_the_cluster_refers_to_needs_no_label() -> None:
    assert _rest([_without_label(each) for each in TEMPLATE]) == STAY


def test_an_owner_reference_tells_the_cluster_too() -> None:
    readable = [_owned(each) for each in TEMPLATE if each["kind"] in ("IBMPowerVSCluster", "IBMPowerVSImage")]
    assert _rest(readable) == {("IBMPowerVSImage", f"{NAME}-image")}


def test_nothing_of_another_cluster_is_named() -> None:
    alone = [_without_label(each) for each in TEMPLATE if each["kind"] == "IBMPowerVSCluster"]
    other = {"kind": "MachineDeployment", "metadata": {"name": "other"}, "spec": {"clusterName": "other"}}
    assert _rest([*alone, other]) == set()
