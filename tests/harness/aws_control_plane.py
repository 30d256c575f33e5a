"""An AWSManagedControlPlane for tests, and its whole reconcile on a simulated AWS, in virtual time, inline."""

from __future__ import annotations

import base64
import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import yaml

from freehold.api.feature_gates import DEFAULT_GATES, FeatureGate, FeatureGates
from freehold.controllers.secret_writer import SecretWriter
from freehold.engine.journal import Entry, Journal, RecordState
from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey, Observed, Request, State
from freehold.kube.resources import Key
from freehold.providers.access.accounts import Accounts, Binding, OneAccount
from freehold.providers.aws.accounts import AwsAccount
from freehold.providers.aws.cluster.facts import AWSClusterFacts
from freehold.providers.aws.cluster.names import AWSClusterNames
from freehold.providers.aws.control_plane.adapter import AWSManagedControlPlaneAdapter
from freehold.providers.aws.control_plane.cluster_source import AwsClusterSource
from freehold.providers.aws.control_plane.desired import Circumstances, WantedControlPlane, build_desired
from freehold.providers.aws.control_plane.facts import ControlPlaneFacts
from freehold.providers.aws.control_plane.keys import CLUSTER, ROLE
from freehold.providers.aws.control_plane.kind import AWS_MANAGED_CONTROL_PLANE
from freehold.providers.aws.control_plane.recorded import eks_name_of
from freehold.providers.aws.control_plane.types.spec import AWSManagedControlPlaneSpec
from freehold.providers.objects.adapter import Desired, RefusedSpec, parse_or_refuse
from freehold.providers.objects.around import NOTHING_AROUND, Around
from freehold.providers.objects.cloud_answers import Answer
from freehold_sim.aws.settings import Settings
from freehold_sim.aws.strangers import Strangers
from harness.aws_account import REGION
from harness.aws_cluster import AwsHarness
from harness.stored_objects import MemoryObjects

OWN_ROLE: FeatureGates = DEFAULT_GATES | {FeatureGate.EKS_ENABLE_IAM}
"""With it a control plane without ``roleName`` gets a role of its own."""
NAME = "demo-control-plane"
EKS_NAME = f"default_{NAME}"


def control_plane(**spec: Any) -> dict[str, Any]:
    """An AWSManagedControlPlane ``default/demo-control-plane``; a value of None leaves a field out."""
    whole = {"region": REGION, "version": "v1.33", **spec}
    return {
        "apiVersion": f"{AWS_MANAGED_CONTROL_PLANE.group}/{AWS_MANAGED_CONTROL_PLANE.version}",
        "kind": AWS_MANAGED_CONTROL_PLANE.kind,
        "metadata": {"name": NAME, "namespace": "default"},
        "spec": {name: value for name, value in whole.items() if value is not None},
    }


class ControlPlaneHarness(AwsHarness):
    """One account in one region with the roles of ``clusterawsadm``, and a control plane in it."""

    served = AWS_MANAGED_CONTROL_PLANE

    def __init__(
        self, manifest: Mapping[str, Any] | None = None, settings: Settings | None = None, **more: Any
    ) -> None:
        self.secrets = MemoryObjects()
        super().__init__(manifest or control_plane(), settings, **more)
        if len(self.together) == 1:
            self.cloud.prepare()
        self.prepared = {each["arn"] for each in self.resources()}

    def new_accounts(self) -> Accounts:
        account = AwsAccount(self.new_session(), self._port(), self.wall, self._audit, self._intervals)
        self.account = account
        clusters = AwsClusterSource(account.client, account)
        adapter = AWSManagedControlPlaneAdapter(
            account.facts, account.control_plane_facts, clusters, self.gates, self._gc_selector
        )
        return OneAccount(Binding(account, adapter))

    def new_secret_writer(self) -> SecretWriter:
        return SecretWriter(self.secrets, self.wall)

    def keep(self) -> Any:
        return copy.deepcopy((self.secrets.objects, self.prepared))

    def continue_with(self, kept: Any) -> None:
        self.secrets.objects, self.prepared = copy.deepcopy(kept)

    def with_machines(self, *machines: Mapping[str, Any]) -> None:
        """From now on its cluster has these AWSMachines."""
        around: Around = replace(self.around.around, machines=tuple(machines))
        self.around = replace(self.around, around=around)

    # --- what can be seen ----------------------------------------------------------------------

    def cluster(self) -> dict[str, Any]:
        """The cluster, as EKS describes it to anybody."""
        return dict(self.ask("eks", "DescribeCluster", name=EKS_NAME)["cluster"])

    def ask(self, service: str, operation: str, **params: Any) -> dict[str, Any]:
        return dict(Strangers(self.cloud).call(service, operation, params))

    def made(self) -> list[dict[str, Any]]:
        """Everything in the account that was not there before."""
        return [each for each in self.resources() if each["arn"] not in self.prepared]

    def kubeconfig(self, name: str = f"{NAME}-kubeconfig") -> dict[str, Any]:
        data = self.secrets.objects["Secret", Key("default", name)]["data"]
        return dict(yaml.safe_load(base64.b64decode(data["value"])))


ZONES = ("us-east-1a", "us-east-1b", "us-east-1c")
OWNER = Owner("0a1b2c3d-1111-4222-8333-444455556666", "AWSManagedControlPlane", "default", NAME)
NETWORK = AWSClusterFacts(Answer(ZONES), namesakes=Answer(()))
CLUSTER_ARN = f"arn:aws:eks:us-east-1:111122223333:cluster/{EKS_NAME}"
ON_RECORD = {CLUSTER: Entry(RecordState.OWNED, CLUSTER_ARN)}


def desired_of(
    raw: Mapping[str, Any],
    facts: ControlPlaneFacts | None = None,
    *,
    entries: Mapping[NodeKey, Entry] | None = None,
    gates: FeatureGates = DEFAULT_GATES,
    around: Around = NOTHING_AROUND,
    network: AWSClusterFacts = NETWORK,
) -> Desired:
    """Decide, as the adapter does with these answers and this record."""
    spec = parse_or_refuse(AWSManagedControlPlaneSpec, raw)
    if isinstance(spec, RefusedSpec):
        return spec
    journal = Journal(OWNER, dict(entries or {}))
    names = AWSClusterNames("default", "demo", eks_name_of(raw, journal.entries))
    return build_desired(raw, spec, Circumstances(names, journal, gates, network, facts or ControlPlaneFacts(), around))


def wanted(raw: Mapping[str, Any], facts: ControlPlaneFacts | None = None, **more: Any) -> WantedControlPlane:
    found = desired_of(raw, facts, **more)
    assert isinstance(found, WantedControlPlane), found
    return found


def request_of(plan: WantedControlPlane, key: NodeKey = CLUSTER, there: Mapping[str, Any] | None = None) -> Request:
    """What a node is created with; ``there`` are the attributes of the living cluster."""
    known = {each: Observed(f"id-of-{each.logical}", each.logical, State.READY) for each in plan.graph.nodes}
    known[ROLE] = replace(known[ROLE], attributes={"arn": "arn:aws:iam::111122223333:role/eks"})
    del known[CLUSTER]
    if there is not None or key != CLUSTER:
        known[CLUSTER] = Observed(CLUSTER_ARN, EKS_NAME, State.READY, attributes=there or {"issuer": "https://i"})
    return plan.graph.nodes[key].request(known)
