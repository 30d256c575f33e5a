"""A cluster that stands, and machines of it, to be copied into worlds: made once in a process."""

from __future__ import annotations

import copy
import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from typing import Any

from freehold.api import names
from freehold.controllers.controller import Result
from freehold.engine.port import InlinePort, Port
from freehold.kube import errors as kube
from freehold.kube.resources import Json, Key, Resource
from freehold.providers.access.audit import Audit
from freehold.providers.aws.machine.kind import AWS_MACHINE
from freehold.providers.objects.gate import Around, ClusterApiMode, ClusterContext, FoundCluster, NoCluster, Presence
from freehold_sim.aws.cloud import SimulatedAWS
from freehold_sim.aws.settings import Settings
from harness.aws_account import REGION
from harness.aws_cluster import AwsHarness, aws_cluster
from harness.aws_machine import MachineHarness
from harness.powervs import ReconcilerHarness
from lab.aws import ONE_ZONE, QUICK, ROOMY, NotedAWS, QuickHarness
from lab.aws_neighbours import Neighbours, existing
from lab.aws_requests import IMAGE

CLASSIC: Mapping[str, Any] = {}
NLB: Mapping[str, Any] = {"controlPlaneLoadBalancer": {"loadBalancerType": "nlb"}}
TWO_ZONES: Mapping[str, Any] = {"network": {"vpc": {"availabilityZoneUsageLimit": 2}}}
INSTANCE, SECRET = "instance", "bootstrap-secret"
MINE = "mine"
"""A user's Name."""
CANARY = b"the bootstrap token abcdef.0123456789abcdef"
BOOTS = 20.0
"""Seconds for which an instance runs until its guest reads its data."""
JOINS = 40.0
"""Seconds more until it is a node."""


@cache
def _noise(size: int) -> bytes:
    """Data that do not become smaller."""
    return b"".join(sha256(str(each).encode()).digest() for each in range(size // 32 + 1))[:size]


DATA = CANARY + _noise(9_000)
"""Two secrets."""


class Secrets:
    """What the API server has for machines."""

    def __init__(self, value: bytes) -> None:
        self.value: bytes | None = value

    async def get(self, resource: Resource, key: Key) -> Json:
        if resource.kind != "Secret" or self.value is None:
            raise kube.ObjectNotFound(f"no {resource} {key}")
        return {"data": {"value": b64encode(self.value).decode()}}


class OwnedMachine(MachineHarness):
    """A machine of ``cluster``, in its account, with an owner Machine ``name`` and a Cluster."""

    def __init__(
        self,
        cluster: AwsHarness,
        name: str,
        spec: Mapping[str, Any],
        *,
        control: bool = False,
        audit: Audit | None = None,
    ) -> None:
        self.cluster = cluster
        self.reader = Secrets(DATA)
        self.port: Port = InlinePort()
        self.node = ""
        labels = {names.CLUSTER_NAME_LABEL: "demo"}
        reference = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": name, "uid": f"uid-of-{name}"}
        metadata = {"name": name, "namespace": "default", "labels": labels, "ownerReferences": [reference]}
        self._labels = {**labels, **({names.CONTROL_PLANE_LABEL: ""} if control else {})}
        manifest = {"apiVersion": f"{AWS_MACHINE.group}/{AWS_MACHINE.version}", "kind": AWS_MACHINE.kind}
        manifest |= {"metadata": metadata, "spec": copy.deepcopy(dict(spec))}
        super().__init__(cluster, manifest, port=lambda: self.port, audit=audit)

    def pass_once(self) -> Result:
        self.look_around()
        return ReconcilerHarness.pass_once(self)

    def look_around(self) -> None:
        """Read the owner Machine, its Cluster and the AWSCluster, as they are now."""
        metadata = self.object.raw["metadata"]
        machine = {
            "metadata": {"name": metadata["name"], "namespace": "default", "labels": self._labels},
            "spec": {"clusterName": "demo", "version": "v1.32.0", "bootstrap": {"dataSecretName": "boot"}},
            "status": {"nodeRef": {"name": self.node}} if self.node else {},
        }
        if self.cluster.object.gone:
            self.around = ClusterContext(ClusterApiMode.REQUIRED, Presence.PRESENT, NoCluster())
            return
        refers = {"apiVersion": f"{AWS_MACHINE.group}/v1beta2", "kind": "AWSCluster", "name": "demo"}
        cluster = {
            "metadata": {"name": "demo", "namespace": "default"},
            "spec": {"infrastructureRef": refers},
            "status": {"infrastructureReady": True},
        }
        around = Around(machine, cluster, self.cluster.object.raw)
        self.around = ClusterContext(ClusterApiMode.REQUIRED, Presence.PRESENT, FoundCluster(cluster), around=around)

    @property
    def uid(self) -> str:
        return str(self.object.raw["metadata"]["uid"])


WORKER: Mapping[str, Any] = {
    "instanceType": "t3.small",
    "ami": {"id": IMAGE},
    "sshKeyName": "",
    "cloudInit": {"insecureSkipSecretsManager": True},
}
IN_SECRETS: Mapping[str, Any] = {**WORKER, "cloudInit": {}}


@dataclass
class Standing:
    """A cluster that stands, to be copied into worlds."""

    cloud: NotedAWS
    taken: bytes
    cluster: AwsHarness
    neighbours: Neighbours
    targets: frozenset[tuple[str, str]]


@cache
def standing_with(balancer: str) -> Standing:
    """An AWSCluster, and beside it an instance of somebody else's behind its load balancer."""
    settings = replace(Settings(), delays=QUICK, quotas=ROOMY, limits={})
    harness = QuickHarness(aws_cluster(**{**ONE_ZONE, **json.loads(balancer)}), settings)
    neighbours = Neighbours(harness)
    harness.up()
    harness.settle()
    cloud = harness.cloud
    assert isinstance(cloud, NotedAWS)
    subnet = next(each for each in existing(harness) if each["kind"] == "subnet" and each["by"] == "api")
    call = cloud.strangers.call
    asked = {"ImageId": IMAGE, "InstanceType": "t3.micro", "MinCount": 1, "MaxCount": 1, "SubnetId": subnet["id"]}
    theirs = cloud.strangers.create("ec2", "RunInstances", asked, region=REGION)["id"]
    for record in list(existing(harness)):
        if record["by"] == "api" and record["kind"] == "target-group":
            params = {"TargetGroupArn": record["arn"], "Targets": [{"Id": theirs}]}
            call("elbv2", "RegisterTargets", params, region=REGION)
        if record["by"] == "api" and record["kind"] == "classic-balancer":
            params = {"LoadBalancerName": record["id"], "Instances": [{"InstanceId": theirs}]}
            call("elb", "RegisterInstancesWithLoadBalancer", params, region=REGION)
    harness.clock.advance(3600.0)
    cloud.settle()
    neighbours.note()
    return Standing(cloud, cloud.world.snapshot(), harness, neighbours, targets_of(cloud))


def targets_of(cloud: SimulatedAWS) -> frozenset[tuple[str, str]]:
    """Which instance is registered where."""
    found: set[tuple[str, str]] = set()
    for record in cloud.world.everything():
        if record["kind"] == "target-group":
            there = (row["Id"] for row in record["targets"].values() if row["draining_until"] is None)
            found |= {(record["id"], ident) for ident in there}
        if record["kind"] == "classic-balancer":
            found |= {(record["id"], ident) for ident in record.get("registered", ())}
    return frozenset(found)


def copy_of(stands: Standing, settings: Settings) -> AwsHarness:
    """The cluster of ``stands`` in a copy of its account, served by a new process."""
    harness = QuickHarness(stands.cluster.object.history[0], settings)
    cloud = harness.cloud
    assert isinstance(cloud, NotedAWS)
    cloud.world.restore(stands.taken)
    cloud.roles, cloud.tags_at_birth = dict(stands.cloud.roles), dict(stands.cloud.tags_at_birth)
    harness.clock.advance(stands.cluster.clock.now() - harness.clock.now())
    harness.object.raw = copy.deepcopy(stands.cluster.object.raw)
    harness.start_process()
    return harness
