"""Machines of an EKS cluster on the simulated AWS: in its network and groups, gone also without it."""

from __future__ import annotations

from typing import Any

import pytest

from freehold.api import names
from freehold.engine.keyed_codec import WITHIN
from freehold.providers.objects import identity
from freehold_sim.aws.strangers import Strangers
from harness.aws_control_plane import EKS_NAME, NAME, ControlPlaneHarness
from harness.aws_machine import MachineHarness, machine
from harness.aws_network import own
from harness.standing import standing

AL2023: dict[str, Any] = {"ami": {"eksLookupType": "AmazonLinux2023"}, "sshKeyName": ""}


def stage() -> ControlPlaneHarness:
    """A control plane that is ready."""
    return standing(ControlPlaneHarness)


@pytest.fixture(scope="module")
def settled() -> ControlPlaneHarness:
    return stage()


def worker(plane: ControlPlaneHarness, **spec: Any) -> MachineHarness:
    manifest = machine(**{**AL2023, **spec})
    manifest["metadata"]["labels"] = {names.CLUSTER_NAME_LABEL: NAME}
    return MachineHarness(plane, manifest)


def instances(plane: ControlPlaneHarness) -> list[dict[str, Any]]:
    rows = plane.ask("ec2", "DescribeInstances")["Reservations"]
    return [each for row in rows for each in row["Instances"] if each["State"]["Name"] != "terminated"]


def groups_of(instance: dict[str, Any]) -> set[str]:
    return {each["GroupId"] for each in instance["SecurityGroups"]}


def own_group(plane: ControlPlaneHarness) -> str:
    record = identity.read_record(plane.object.raw)
    assert record is not None
    return next(entry.id for key, entry in record.entries.items() if key.logical == "node-eks-additional")


def test_a_worker_comes_up_in_the_groups_of_its_cluster_and_goes(settled: ControlPlaneHarness) -> None:
    one = worker(settled)
    one.up()
    (instance,) = instances(settled)
    network = settled.cluster()["resourcesVpcConfig"]
    assert groups_of(instance) == {own_group(settled), network["clusterSecurityGroupId"]}
    assert instance["SubnetId"] in network["subnetIds"] and instance["VpcId"] == network["vpcId"]
    tags = {each["Key"]: each["Value"] for each in instance["Tags"]}
    assert tags[f"kubernetes.io/cluster/{EKS_NAME}"] == "owned"
    assert tags[f"sigs.k8s.io/cluster-api-provider-aws/cluster/{NAME}"] == "owned"
    assert tags[WITHIN] == settled.object.raw["metadata"]["uid"]
    (image,) = settled.ask("ec2", "DescribeImages", ImageIds=[instance["ImageId"]])["Images"]
    assert "al2023" in image["Name"] and "-1.33-" in image["Name"]
    assert one.object.raw["spec"]["providerID"].endswith(instance["InstanceId"])
    one.down()
    assert instances(settled) == []


def test_a_worker_that_is_taken_out_of_the_group_of_eks_is_put_back(settled: ControlPlaneHarness) -> None:
    one = worker(settled)
    one.up()
    (instance,) = instances(settled)
    stay = [own_group(settled)]
    settled.ask("ec2", "ModifyInstanceAttribute", InstanceId=instance["InstanceId"], Groups=stay)
    one.run(lambda: groups_of(instances(settled)[0]) == groups_of(instance))
    one.down()


def test_a_worker_waits_until_the_control_plane_takes_requests() -> None:
    plane = ControlPlaneHarness()
    plane.pass_once()
    one = worker(plane)
    one.pass_once()
    assert one.condition("Ready")["reason"] == names.REASON_WAITING_FOR_CLUSTER_INFRASTRUCTURE
    assert f"AWSManagedControlPlane '{NAME}' is not initialized yet" in one.condition("Ready")["message"]
    assert instances(plane) == [] and not one.object.raw["metadata"].get("finalizers")
    plane.up()
    one.up()
    one.down()


@pytest.mark.parametrize("known", ("by its record", "by its status alone"))
def test_a_worker_goes_without_its_control_plane(settled: ControlPlaneHarness, known: str) -> None:
    one = worker(settled)
    one.up()
    settled.object.gone = True
    one.start_process()
    if "status" in known:
        one.object.patch({"metadata": {"annotations": {names.JOURNAL_ANNOTATION: None}}})
    one.down()
    settled.object.gone = False
    assert instances(settled) == []


def test_a_control_plane_goes_only_after_the_instance_of_a_machine_whose_object_is_lost() -> None:
    """Its network and its EKS cluster wait: nothing goes from under an instance."""
    plane = stage()
    one = worker(plane)
    one.up()
    (instance,) = instances(plane)
    one.object.patch({"metadata": {"finalizers": []}})
    one.object.delete()
    before = {each["arn"] for each in plane.made()}
    plane.object.delete()
    plane.for_a_while(600)
    said = plane.condition(names.READY)["message"]
    assert instance["InstanceId"] in said and "of AWSMachine default/m1" in said
    assert {each["arn"] for each in plane.made()} == before and plane.cluster()["status"] == "ACTIVE"
    Strangers(plane.cloud).delete(instance["InstanceId"])
    plane.run(lambda: plane.object.gone)
    assert [each for each in own(plane) if each["kind"] != "instance"] == []
