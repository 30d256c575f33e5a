"""A stand-in for ``clusterctl move``: what its mover writes to two API servers, in its order.

Source: https://github.com/kubernetes-sigs/cluster-api/blob/main/cmd/clusterctl/client/cluster/mover.go, and
docs/reference/capi-contract.md C28, C29.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from e2e_client import JSON_PATCH, Http
from e2e_core_stand_in import CONTROL_PLANES, CORE, GROUP
from e2e_operator_lab import Json
from e2e_servers import until

from freehold.api import names

BLOCK_MOVE = "clusterctl.cluster.x-k8s.io/block-move"
CLUSTERS = (CORE, "clusters")
MOVED = (
    CLUSTERS,
    (GROUP, "awsclusters"),
    (GROUP, "ibmpowervsclusters"),
    (GROUP, "awsmachinetemplates"),
    (CONTROL_PLANES, "kubeadmcontrolplanes"),
    (CORE, "machinedeployments"),
    (CORE, "machines"),
    (GROUP, "awsmachines"),
    ("", "secrets"),
)
"""The kinds of a Cluster's objects, owners first."""
NOT_MOVED = ("resourceVersion", "uid", "creationTimestamp", "generation", "managedFields", "generateName")


@dataclass
class Mover:
    """Moves all Clusters of one namespace from one server to another."""

    source: Http
    target: Http
    namespace: str
    _uids: dict[str, str] = field(default_factory=dict)

    def pause(self) -> None:
        """Pause the Clusters, as soon as each is ready to go, and wait until nothing blocks the move."""
        for cluster in self._list(self.source, *CLUSTERS):
            assert cluster["status"]["initialization"]["infrastructureProvisioned"]
            assert not cluster["spec"].get("paused")
        for machine in self._list(self.source, CORE, "machines"):
            assert machine["status"]["nodeRef"]
        self._set_paused(self.source, True)
        until(
            lambda: not any(BLOCK_MOVE in each["metadata"].get("annotations", {}) for each in self._all()), "no block"
        )

    def create(self) -> None:
        """Create every object at the target, without status, with the owners' new uids."""
        for group, plural in MOVED:
            for each in self._list(self.source, group, plural):
                self._create(group, plural, each)

    def delete(self) -> None:
        """Delete every object at the source, owners last: annotations are replaced first, finalizers go last."""
        for group, plural in reversed(MOVED):
            for each in self._list(self.source, group, plural):
                path = self._path(group, plural, each["metadata"]["name"])
                mark = {names.DELETE_FOR_MOVE_ANNOTATION: ""}
                marked = [{"op": "add", "path": "/metadata/annotations", "value": mark}]
                assert self.source.call("PATCH", path, marked, JSON_PATCH).status_code == 200
                assert self.source.delete(path).status_code in (200, 202)
                answer = self.source.merge(path, {"metadata": {"finalizers": []}})
                assert answer.status_code in (200, 404), answer.text

    def resume(self) -> None:
        self._set_paused(self.target, None)

    def _all(self) -> list[Json]:
        return [each for kind in MOVED for each in self._list(self.source, *kind)]

    def _create(self, group: str, plural: str, found: Json) -> None:
        metadata = {name: value for name, value in found["metadata"].items() if name not in NOT_MOVED}
        owners: Sequence[Json] = metadata.get("ownerReferences", ())
        metadata["ownerReferences"] = [{**each, "uid": self._uids[each["uid"]]} for each in owners]
        body = {name: value for name, value in found.items() if name not in ("metadata", "status")}
        version, kind = ("v1", "Secret") if not group else (f"{group}/{names.V1BETA2}", found.get("kind"))
        body = {**body, "apiVersion": version, "kind": kind, "metadata": metadata}
        made = self.target.made(self._path(group, plural), body)
        self._uids[found["metadata"]["uid"]] = made["metadata"]["uid"]

    def _set_paused(self, where: Http, paused: bool | None) -> None:
        for cluster in self._list(where, *CLUSTERS):
            path = self._path(*CLUSTERS, cluster["metadata"]["name"])
            assert where.merge(path, {"spec": {"paused": paused}}).status_code == 200

    def _list(self, where: Http, group: str, plural: str) -> list[Json]:
        answer = where.get(self._path(group, plural))
        assert answer.status_code == 200, answer.text
        found: Json = answer.json()
        kind = str(found["kind"]).removesuffix("List")
        return [{"kind": kind, **each} for each in found["items"]]

    def _path(self, group: str, plural: str, name: str = "") -> str:
        root = f"/apis/{group}/{names.V1BETA2}" if group else "/api/v1"
        return f"{root}/namespaces/{self.namespace}/{plural}{f'/{name}' if name else ''}"
