"""A laptop with its live page: API server, operator and page in a thread, the simulated clouds in another.

The operator can be stopped and started again under the page, as the clouds go on.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import requests

from freehold.cli.local.access import ServeOptions
from freehold.cli.local.server_process import Running
from freehold.cli.local.state_directory import StateDirectory
from harness.cloud_actors import OtherUser, over_http
from harness.cloud_stand_in import ACCESS_KEYS
from harness.serving import running, simulator

Json = dict[str, Any]

SPEED = 300.0
"""Domain seconds in a real one: a network is there in a second, and a delete is stuck (half an hour) in six."""
DEEP_EVERY = 600.0
CLUSTERS = "apis/infrastructure.cluster.x-k8s.io/v1beta2/namespaces/{namespace}/awsclusters"


class Laptop:
    """A state directory and its clouds. ``url``: the page's, with its token."""

    def __init__(self, state: StateDirectory, simulator_url: str) -> None:
        self.state = state
        self.simulator = simulator_url
        self.stranger = OtherUser(over_http(simulator_url))
        self._stack = ExitStack()
        self._running: Running | None = None

    @property
    def url(self) -> str:
        assert self._running is not None
        return self._running.page

    def start(self) -> None:
        """Serve it; at another time, at the same addresses."""
        options = ServeOptions(simulate=True, simulator=self.simulator, deep_every=DEEP_EVERY, page=0)
        self._running = self._stack.enter_context(running(self.state, options))

    def stop(self) -> None:
        """Stop API server, operator and page."""
        self._running = None
        self._stack.close()

    # ── what people do with kubectl ──

    def apply(self, name: str, namespace: str = "default", **spec: Any) -> None:
        """Apply an AWSCluster."""
        manifest = {
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "AWSCluster",
            "metadata": {"name": name, "namespace": namespace}, "spec": {"region": "us-east-1", **spec},
        }  # fmt: skip
        self._ask("POST", CLUSTERS.format(namespace=namespace), manifest)

    def delete(self, name: str, namespace: str = "default") -> None:
        """Delete it, and wait for nothing."""
        self._ask("DELETE", f"{CLUSTERS.format(namespace=namespace)}/{name}")

    def make_namespace(self, name: str) -> None:
        """Make a namespace."""
        self._ask("POST", "api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    def _ask(self, method: str, path: str, body: Json | None = None) -> Json:
        assert self._running is not None
        server = self._running.server
        headers = {"Authorization": f"Bearer {server.token}"}
        answer = requests.request(method, f"{server.url}/{path}", json=body, headers=headers, timeout=60)
        assert answer.status_code < 300, answer.text
        found: Json = answer.json()
        return found

    # ── what others do in the cloud ──

    def find(self, cluster: str, kind: str, part: str = "") -> Json:
        """Find a resource of a cluster in the cloud."""
        rows = requests.get(f"{self.simulator}/_sim/resources?cloud=aws", timeout=60).json()["resources"]
        mine = (row for row in rows if f"sigs.k8s.io/cluster-api-provider-aws/cluster/{cluster}" in row["tags"])
        return next(row for row in mine if row["kind"] == kind and part in row["name"])

    def slow_down(self, operation: str, factor: float) -> None:
        """Let a call's effects take longer, so that somebody can watch."""
        fault = {"effect": "slow", "operation": operation, "count": None, "factor": factor}
        requests.post(f"{self.simulator}/_sim/faults", json=fault, timeout=60).raise_for_status()


@contextmanager
def laptop(folder: Path) -> Iterator[Laptop]:
    """Start one that has nothing yet."""
    state = StateDirectory.open(folder / "state")
    with simulator(state.world, SPEED, {"aws": {"access_keys": ACCESS_KEYS, "quotas": {"addresses": 20}}}) as url:
        started = Laptop(state, url)
        started.start()
        try:
            yield started
        finally:
            started.stop()
