"""A simulated AWS account with botocore and our adapters on it, without the engine: no socket, no thread."""

from __future__ import annotations

from typing import Any

from freehold.providers.aws.calls import AwsClient
from freehold.providers.aws.identities import Identity
from freehold.providers.aws.session import AwsSession
from freehold_sim.aws.settings import Settings
from freehold_sim.mount import mount_client
from harness.account import RecordingPort
from harness.aws_clients import KEYS as KEYS
from harness.aws_clients import SharedClients
from harness.simulated_aws import Sim

REGION = "us-east-1"
TARGET_ATTRIBUTES = {
    "preserve_client_ip.enabled": "false",
    "target_health_state.unhealthy.connection_termination.enabled": "false",
    "target_health_state.unhealthy.draining_interval_seconds": "300",
}
"""Those of a target group that a cluster of ours has by default."""


class AwsAccount(Sim):
    """A simulated account; ``client`` and its shortcuts are boto3's own, ``api`` is ours."""

    def __init__(self, settings: Settings | None = None, identity: Identity = KEYS, region: str = REGION) -> None:
        super().__init__(settings or Settings())
        self.port = RecordingPort()
        shared = identity == KEYS
        self.session = SharedClients(self.cloud, region) if shared else AwsSession(identity, region, mount=self.mount)
        self.api = AwsClient(self.session, self.port)

    def mount(self, client: Any) -> None:
        mount_client(client, self.cloud)

    def session_of(self, identity: Identity, **more: Any) -> AwsClient:
        """The same account as another identity."""
        return AwsClient(AwsSession(identity, REGION, mount=self.mount, **more), self.port)

    def sent(self) -> list[str]:
        """What went through the port, as ``service.operation``."""
        return [f"{call.api}.{call.operation}" for call in self.port.calls]

    def served(self) -> list[str]:
        """The operations of our requests to the cloud."""
        return [call.operation for call in self.cloud.calls if call.actor == "api"]
