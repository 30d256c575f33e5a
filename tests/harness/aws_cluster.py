"""The whole reconcile of an AWSCluster on a simulated AWS, in virtual time, inline."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from freehold.api.feature_gates import DEFAULT_GATES, FeatureGate, FeatureGates
from freehold.collection.selector import Selector
from freehold.engine.interface import Intervals
from freehold.engine.port import InlinePort, Port
from freehold.providers.access.accounts import Accounts, Binding, OneAccount
from freehold.providers.access.audit import Audit
from freehold.providers.aws.accounts import AwsAccount
from freehold.providers.aws.cluster.adapter import AWSClusterAdapter
from freehold.providers.aws.cluster.kind import AWS_CLUSTER
from freehold.providers.aws.session import AwsSession
from freehold.providers.objects.gate import ClusterContext
from freehold_sim.aws.cloud import SimulatedAWS
from freehold_sim.aws.settings import Settings
from harness.aws_account import REGION
from harness.aws_clients import SharedClients
from harness.powervs import ReconcilerHarness

STORAGE: FeatureGates = DEFAULT_GATES | {FeatureGate.BOOTSTRAP_FORMAT_IGNITION}
"""With it ``s3Bucket`` is acted on."""


def aws_cluster(**spec: Any) -> dict[str, Any]:
    """An AWSCluster ``default/demo``."""
    return {
        "apiVersion": f"{AWS_CLUSTER.group}/{AWS_CLUSTER.version}",
        "kind": AWS_CLUSTER.kind,
        "metadata": {"name": "demo", "namespace": "default"},
        "spec": {"region": REGION, **spec},
    }


class AwsHarness(ReconcilerHarness[SimulatedAWS]):
    """One account in one region, and an AWSCluster in it."""

    served = AWS_CLUSTER

    def __init__(
        self,
        manifest: Mapping[str, Any] | None = None,
        settings: Settings | None = None,
        intervals: Intervals | None = None,
        around: ClusterContext | None = None,
        port: Callable[[], Port] = InlinePort,
        audit: Audit | None = None,
        beside: AwsHarness | None = None,
        gates: FeatureGates = DEFAULT_GATES,
        gc_selector: Selector | None = None,
    ) -> None:
        self._settings = settings
        self._gc_selector = gc_selector
        super().__init__(manifest or aws_cluster(), intervals, around, port, audit, beside, gates)

    def new_cloud(self) -> SimulatedAWS:
        return SimulatedAWS(self.clock, self._settings)

    def new_session(self) -> AwsSession:
        return SharedClients(self.cloud, REGION, wall=lambda: self.wall.now())

    def new_accounts(self) -> Accounts:
        self.account = AwsAccount(self.new_session(), self._port(), self.wall, self._audit, self._intervals)
        return OneAccount(Binding(self.account, AWSClusterAdapter(self.account.facts, self.gates, self._gc_selector)))
