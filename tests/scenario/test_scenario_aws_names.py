"""The name of an AWSCluster: kept for life, and not taken from another cluster."""

from __future__ import annotations

from typing import Any

import pytest

from freehold.api import names
from freehold.engine.tag_text import text
from freehold_sim.aws.strangers import Strangers
from harness.aws_cluster import AwsHarness
from harness.aws_network import MACHINE, own
from harness.standing import standing

CLUSTER = "sigs.k8s.io/cluster-api-provider-aws/cluster/"
OWNER = {"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "name": "other", "uid": "c1"}


def node(harness: AwsHarness) -> None:
    """A machine in a private subnet, with the tags that CAPA gives to a node of this cluster."""
    subnet = next(each["id"] for each in own(harness, "subnet") if "private" in each["name"])
    tags = [{"Key": f"{CLUSTER}demo", "Value": "owned"}]
    request = {**MACHINE, "SubnetId": subnet, "TagSpecifications": [{"ResourceType": "instance", "Tags": tags}]}
    Strangers(harness.cloud).create("ec2", "RunInstances", request)
    harness.clock.advance(60)


@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        pytest.param(
            {"labels": {names.CLUSTER_NAME_LABEL: "other"}},
            f"metadata.labels[{names.CLUSTER_NAME_LABEL}]",
            id="whoever may label an object could give the live cluster a stranger's tags",
        ),
        pytest.param(
            {"ownerReferences": [OWNER]},
            "metadata.ownerReferences",
            id="names do not change when Cluster API comes later (capi-contract.md C20)",
        ),
    ],
)
def test_a_cluster_that_is_there_keeps_its_name(metadata: dict[str, Any], field: str) -> None:
    harness = standing(AwsHarness)
    before = {each["arn"]: each["tags"] for each in own(harness)}
    harness.object.patch({"metadata": metadata})
    harness.for_a_while(700)
    assert {each["arn"]: each["tags"] for each in own(harness)} == before
    assert harness.ready()
    said = harness.condition(names.FIELDS_SERVED)
    assert said["status"] == "False"
    assert said["message"].startswith(f"{field}: not acted on; it says that the cluster is 'other'")
    harness.down()
    assert own(harness) == []


def test_a_label_that_is_taken_off_again_changes_no_name_either() -> None:
    harness = AwsHarness()
    harness.object.patch({"metadata": {"labels": {names.CLUSTER_NAME_LABEL: "first"}}})
    harness.up()
    assert {each["name"] for each in own(harness, "vpc")} == {"first-vpc"}
    harness.object.patch({"metadata": {"labels": None}})
    harness.for_a_while(1800)
    assert {each["name"] for each in own(harness, "vpc")} == {"first-vpc"}
    assert text(f"{CLUSTER}first", "owned") in {text(*tag) for tag in own(harness, "vpc")[0]["tags"].items()}
    assert "metadata.name" in harness.condition(names.FIELDS_SERVED)["message"]


def test_a_restored_object_finds_its_cluster_again_beside_its_own_machines() -> None:
    """CAPA gives its tag to each machine, without our marks: they are no other cluster."""
    harness = standing(AwsHarness)
    node(harness)
    before = {each["arn"] for each in own(harness)}
    minted = next(v for v in harness.object.history if names.JOURNAL_ANNOTATION in v["metadata"].get("annotations", {}))
    journal = minted["metadata"]["annotations"][names.JOURNAL_ANNOTATION]
    harness.object.raw.pop("status")
    harness.object.patch({"metadata": {"annotations": {names.JOURNAL_ANNOTATION: journal}}})
    harness.start_process()
    harness.run(harness.ready)
    assert {each["arn"] for each in own(harness)} == before


def test_machines_of_another_cluster_still_keep_the_name_from_a_new_one() -> None:
    theirs = standing(AwsHarness)
    node(theirs)
    ours = AwsHarness(beside=theirs)
    ours.object.raw["metadata"]["namespace"] = "team-b"
    ours.for_a_while(600)
    assert ours.condition(names.READY)["reason"] == "NameTaken"
