"""AWSMachines of one AWSCluster, reconciled whole on its simulated AWS, in virtual time, by one operator process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from freehold.api import names
from freehold.controllers.controller import RequeueAfter, Result
from freehold.controllers.reconciler import Reconciler
from freehold.providers.access.accounts import Accounts
from freehold.providers.access.audit import NoAudit
from freehold.providers.aws.accounts import AwsAccounts
from freehold.providers.aws.identity_objects import StoredIdentities
from freehold.providers.aws.machine.adapter import AWSMachineAdapter
from freehold.providers.aws.machine.kind import AWS_MACHINE
from freehold.providers.objects.gate import Around, ClusterApiMode, ClusterContext
from freehold_sim.aws.cloud import SimulatedAWS
from freehold_sim.aws.ec2.image_catalog import IMAGES
from harness.aws_child import Stored
from harness.aws_clients import KEYS, SharingCloud
from harness.aws_cluster import AwsHarness, aws_cluster
from harness.powervs import HarnessObjects, ReconcilerHarness
from harness.standing import standing

CLASSIC: Mapping[str, Any] = {"loadBalancerType": "classic"}
NETWORK: Mapping[str, Any] = {"loadBalancerType": "nlb"}


def ready_cluster(first: Mapping[str, Any] = CLASSIC, **spec: Any) -> AwsHarness:
    """A cluster in one zone that is ready."""
    network = {"vpc": {"availabilityZoneUsageLimit": 1}}
    return standing(AwsHarness, aws_cluster(network=network, controlPlaneLoadBalancer=dict(first), **spec))


class Machines:
    """The machines of ``cluster`` and the process that serves them all. They stand alone, without Cluster API."""

    def __init__(self, cluster: AwsHarness) -> None:
        self.cluster = cluster
        self.reader = Stored()
        self.all: list[FleetMachine] = []
        self.start_process()

    def start_process(self) -> None:
        """A new operator process for all of them."""
        cluster = self.cluster
        accounts = self._new_accounts()
        self.process = Reconciler(
            AWS_MACHINE, accounts, cluster.rings, cluster.wall, cluster.events, HarnessObjects(cluster.together),
            reader=self.reader,
        )  # fmt: skip
        for each in self.all:
            each.process = self.process

    def _new_accounts(self) -> Accounts:
        cluster = self.cluster
        aws = SharingCloud(cluster.cloud, cluster.wall, NoAudit(), cluster._intervals, port=cluster._port())
        identities = StoredIdentities(self.reader, "operators-own", KEYS)
        return AwsAccounts(aws, identities, lambda account: AWSMachineAdapter(account.machine_facts))

    def add(self, name: str = "m1", *, control_plane: bool = False, **spec: Any) -> FleetMachine:
        """A new machine of the cluster."""
        made = FleetMachine(self, name, control_plane=control_plane, **spec)
        self.all.append(made)
        return made

    def run_all(self, until: Callable[[], bool], limit: float = 7200.0) -> float:
        """Pass over each machine whenever it is due, until ``until``; the seconds that it took."""
        return run_together(self.all, until, limit)


class FleetMachine(ReconcilerHarness[SimulatedAWS]):
    """One AWSMachine, served by the process of ``machines``."""

    served = AWS_MACHINE

    def __init__(self, machines: Machines, name: str, *, control_plane: bool, **spec: Any) -> None:
        self.machines = machines
        cluster = machines.cluster
        labels = {names.CLUSTER_NAME_LABEL: cluster.object.raw["metadata"]["name"]}
        labels |= {names.CONTROL_PLANE_LABEL: ""} if control_plane else {}
        annotations = {names.BOOTSTRAP_ANNOTATION: "none"}
        metadata = {"name": name, "namespace": "default", "labels": labels, "annotations": annotations}
        whole = {"instanceType": "t3.small", "ami": {"id": IMAGES[0].ident}, "sshKeyName": "", **spec}
        manifest = {"apiVersion": f"{AWS_MACHINE.group}/{AWS_MACHINE.version}", "kind": AWS_MACHINE.kind}
        super().__init__({**manifest, "metadata": metadata, "spec": whole}, beside=cluster)

    def new_cloud(self) -> SimulatedAWS:
        raise AssertionError("it is its cluster's")

    def new_accounts(self) -> Accounts:
        raise AssertionError("those of its process")

    def start_process(self) -> None:
        self.process = self.machines.process

    def pass_once(self) -> Result:
        parent = self.machines.cluster.object
        self.around = ClusterContext(ClusterApiMode.OFF, around=Around(parent=None if parent.gone else parent.raw))
        return super().pass_once()

    @property
    def instance(self) -> str:
        """The id of its instance, as its spec says it."""
        return str(self.object.raw["spec"].get("instanceID") or "")

    def is_provisioned(self) -> bool:
        return self.status().get("ready") is True


def run_together(
    harnesses: Sequence[ReconcilerHarness[Any]], until: Callable[[], bool], limit: float = 7200.0
) -> float:
    """Pass over each object whenever it is due, until ``until``; the seconds that it took."""
    clock = harnesses[0].clock
    begun, due = clock.now(), dict.fromkeys(range(len(harnesses)), clock.now())
    while not until():
        if clock.now() - begun > limit:
            raise AssertionError(f"not there after {limit:.0f} s: {[each.conditions() for each in harnesses[:3]]}")
        index = min((each for each in due if not harnesses[each].object.gone), key=lambda each: due[each])
        clock.advance(max(due[index] - clock.now(), 0.0))
        result = harnesses[index].pass_once()
        wait = max(result.seconds, 0.01) if isinstance(result, RequeueAfter) else 60.0
        due[index] = clock.now() + wait
    return clock.now() - begun
