"""An AWSManagedControlPlane for tests, and its whole reconcile on a simulated AWS, in virtual time, inline."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import yaml

from freehold.api.feature_gates import DEFAULT_GATES, FeatureGate, FeatureGates
from freehold.controllers.secret_writer import SecretWriter
from freehold.kube.resources import Key
from freehold.providers.access.accounts import Accounts, Binding, OneAccount
from freehold.providers.aws.accounts import AwsAccount
from freehold.providers.aws.control_plane.adapter import AWSManagedControlPlaneAdapter
from freehold.providers.aws.control_plane.kind import AWS_MANAGED_CONTROL_PLANE
from freehold.providers.objects.gate import Around
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

    def __init__(self, manifest: Mapping[str, Any] | None = None, **more: Any) -> None:
        self.secrets = MemoryObjects()
        super().__init__(manifest or control_plane(), **more)
        if len(self.together) == 1:
            self.cloud.prepare()
        self.prepared = {each["arn"] for each in self.resources()}

    def new_accounts(self) -> Accounts:
        account = AwsAccount(self.new_session(), self._port(), self.wall, self._audit, self._intervals)
        self.account = account
        adapter = AWSManagedControlPlaneAdapter(
            account.facts, account.control_plane_facts, account, self.gates, self._gc_selector
        )
        return OneAccount(Binding(account, adapter))

    def new_secret_writer(self) -> SecretWriter:
        return SecretWriter(self.secrets, self.wall)

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
