"""Kinds in upstream's templates that Freehold stores but does not serve. Data only.

A server without Cluster API (the embedded one) gets a CRD without validation for each kind, so that an unmodified
manifest can be applied. Never install them where Cluster API is installed or will be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from freehold.api.names import CLUSTER_API_GROUP, V1BETA1, V1BETA2


@dataclass(frozen=True)
class Placeholder:
    """A kind whose objects are accepted and stored unchanged. ``also`` is a further accepted version."""

    group: str
    version: str
    kind: str
    plural: str
    also: str = ""

    def build_crd(self) -> dict[str, Any]:
        """Build a CRD with a minimal schema and no status subresource, so that a status in a manifest is stored."""
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{self.plural}.{self.group}"},
            "spec": {
                "group": self.group,
                "names": {
                    "categories": ["cluster-api"],
                    "kind": self.kind,
                    "listKind": f"{self.kind}List",
                    "plural": self.plural,
                    "singular": self.kind.lower(),
                },
                "scope": "Namespaced",
                "versions": [self._build_version(name) for name in (self.version, self.also) if name],
            },
        }

    def _build_version(self, name: str) -> dict[str, Any]:
        return {
            "name": name,
            "schema": {
                "openAPIV3Schema": {
                    "description": f"{self.kind}: accepted and stored, not served by Freehold.",
                    "type": "object",
                    "x-kubernetes-preserve-unknown-fields": True,
                }
            },
            "served": True,
            "storage": name == self.version,
        }


def _build_capi_placeholder(subgroup: str, kind: str, plural: str) -> Placeholder:
    """Build a placeholder for a kind of Cluster API itself, whose templates for AWS still use v1beta1."""
    group = f"{subgroup}.{CLUSTER_API_GROUP}" if subgroup else CLUSTER_API_GROUP
    return Placeholder(group, V1BETA2, kind, plural, also=V1BETA1)


CLUSTER_API: Final[tuple[Placeholder, ...]] = (
    _build_capi_placeholder("", "Cluster", "clusters"),
    _build_capi_placeholder("", "ClusterClass", "clusterclasses"),
    _build_capi_placeholder("", "MachineDeployment", "machinedeployments"),
    _build_capi_placeholder("", "MachinePool", "machinepools"),
    _build_capi_placeholder("", "MachineHealthCheck", "machinehealthchecks"),
    _build_capi_placeholder("controlplane", "KubeadmControlPlane", "kubeadmcontrolplanes"),
    _build_capi_placeholder("bootstrap", "KubeadmConfig", "kubeadmconfigs"),
    _build_capi_placeholder("bootstrap", "KubeadmConfigTemplate", "kubeadmconfigtemplates"),
    _build_capi_placeholder("addons", "ClusterResourceSet", "clusterresourcesets"),
)
"""Cluster API's own kinds in upstream's templates; a provider names its own."""
