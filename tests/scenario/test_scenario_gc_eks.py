"""What the workloads of an EKS cluster left, by the annotations of two objects; what EKS made is EKS's to take away."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from freehold.api import names
from freehold.kube.resources import Json, Key, Resource
from harness.aws_control_plane import EKS_NAME, NAME, ControlPlaneHarness
from harness.cloud_bystanders import strange_ground
from harness.cloud_controllers import CloudProvider, Ground
from harness.collected import left, user_of
from harness.standing import standing
from harness.stored_objects import MemoryObjects

GC = names.EXTERNAL_RESOURCE_GC_ANNOTATION
INFRASTRUCTURE = Key("default", "demo")


class BesideInfrastructure(MemoryObjects):
    """An API server with the AWSManagedCluster of the control plane's Cluster. ``reads``: how often that was read."""

    reads = 0
    stops_at = 0
    """The read from which on it says *false*."""

    def say(self, word: str) -> Json:
        metadata = {"name": INFRASTRUCTURE.name, "namespace": INFRASTRUCTURE.namespace, "annotations": {GC: word}}
        obj = {"kind": "AWSManagedCluster", "metadata": metadata}
        self.objects["AWSManagedCluster", INFRASTRUCTURE] = obj
        return obj

    async def get(self, resource: Resource, key: Key) -> Json:
        if resource.kind == "AWSManagedCluster":
            self.reads += 1
            if self.reads == self.stops_at:
                self.say("false")
        return await super().get(resource, key)


class EksHarness(ControlPlaneHarness):
    """A control plane with two forgotten Services, and an AWSManagedCluster beside it."""

    def __init__(self, *args: Any, **more: Any) -> None:
        self.reader = self.beside = BesideInfrastructure()
        super().__init__(*args, **more)

    def with_services(self) -> EksHarness:
        """It, and what its cloud controller made for two Services."""
        ids = {(row["kind"], row["name"]): row["id"] for row in self.status()["resources"]}
        subnets = [ident for (kind, _), ident in ids.items() if kind == "subnet"]
        group = self.cluster()["resourcesVpcConfig"]["clusterSecurityGroupId"]
        self.provider = CloudProvider(user_of(self), Ground(EKS_NAME, ids["vpc", f"{NAME}-vpc"], subnets[:2], group))
        self.provider.classic()
        self.provider.network()
        return self

    def say(self, word: str) -> None:
        """Write the annotation on the AWSManagedCluster."""
        infrastructure: Json = self.beside.say(word)
        self.around = replace(self.around, around=replace(self.around.around, infrastructure=infrastructure))

    def balancers(self) -> list[str]:
        return sorted(row["name"] for row in left(self) if "balancer" in row["kind"])

    def policy(self) -> dict[str, Any]:
        self.pass_once()
        return dict(self.condition(names.EXTERNAL_RESOURCE_GC))


def test_false_on_the_managed_cluster_wins_until_it_is_taken_back() -> None:
    harness = standing(EksHarness).with_services()
    harness.object.patch({"metadata": {"annotations": {GC: "true"}}})
    harness.say("false")
    said = harness.policy()
    assert said["reason"] == "OptedOut" and "of AWSManagedCluster demo is false" in said["message"]
    harness.object.delete()
    harness.for_a_while(700)
    assert not harness.object.gone and len(harness.balancers()) == 2
    assert harness.policy()["reason"] == "OptedOut"
    harness.say("true")
    harness.run(lambda: harness.object.gone)
    assert [row["arn"] for row in left(harness) if row["arn"] not in harness.prepared] == []


@pytest.mark.parametrize(("read", "stay"), [(1, 2), (2, 2), (3, 1)])
def test_opting_out_on_the_managed_cluster_stops_at_the_next_delete(read: int, stay: int) -> None:
    """docs/reference/requirements.md G4: it is read before the sweep, and again before each delete."""
    harness = standing(EksHarness).with_services()
    harness.say("true")
    harness.object.delete()
    harness.run(lambda: EKS_NAME not in harness.ask("eks", "ListClusters")["clusters"])
    harness.beside.stops_at = harness.beside.reads + read
    harness.for_a_while(300)
    assert len(harness.balancers()) == stay


def test_what_eks_made_is_kept_and_waited_for() -> None:
    """Its group has the cluster's tag, as a cloud controller's has, and its interfaces are requester-managed."""
    harness = standing(EksHarness).with_services()
    group = harness.cluster()["resourcesVpcConfig"]["clusterSecurityGroupId"]
    harness.object.delete()
    harness.run(lambda: harness.object.gone)
    sent = [
        call for call in harness.calls() if call.operation in ("ec2.DeleteSecurityGroup", "ec2.DeleteNetworkInterface")
    ]
    assert group not in str(sent)
    assert [row["arn"] for row in left(harness) if row["arn"] not in harness.prepared] == []


def test_what_a_cluster_of_the_name_that_is_not_ours_has_made_stays() -> None:
    """Somebody's cluster lives in the network that is given, and has the name: ours is refused, and deleted again."""
    harness = ControlPlaneHarness()
    user = user_of(harness)
    ground = strange_ground(user, EKS_NAME)
    vpc, subnets = ground.vpc, list(ground.subnets)
    role = next(
        arn for arn in harness.prepared if arn.endswith("eks-controlplane.cluster-api-provider-aws.sigs.k8s.io")
    )
    user.call("eks", "CreateCluster", name=EKS_NAME, roleArn=role, resourcesVpcConfig={"subnetIds": subnets})
    harness.object.patch({"spec": {"network": {"vpc": {"id": vpc}, "subnets": [{"id": each} for each in subnets]}}})
    harness.for_a_while(600)
    CloudProvider(user, ground).classic()
    before = [row["name"] for row in left(harness) if "balancer" in row["kind"]]
    harness.object.delete()
    harness.for_a_while(1200)
    assert [row["name"] for row in left(harness) if "balancer" in row["kind"]] == before
    assert f"cluster/{EKS_NAME}" in harness.condition("Deleting")["message"]
    harness.object.patch({"metadata": {"annotations": {GC: "false"}}})
    harness.run(lambda: harness.object.gone)
    assert [row["name"] for row in left(harness) if "balancer" in row["kind"]] == before
