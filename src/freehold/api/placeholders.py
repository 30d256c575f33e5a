"""Kinds in upstream's templates that Freehold stores but does not serve. Data only.

A server without Cluster API (the embedded one) gets a CRD without validation for each kind, so that an unmodified
manifest can be applied. Never install them where Cluster API is installed or will be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from freehold.api.names import CLUSTER_API_GROUP, INFRASTRUCTURE_GROUP, V1BETA2


@dataclass(frozen=True)
class Placeholder:
    """A kind whose objects are accepted and stored unchanged."""

    group: str
    version: str
    kind: str
    plural: str

    def crd(self) -> dict[str, Any]:
        """A CRD with a minimal schema, and no status subresource, so that a status in a manifest is stored."""
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
                "versions": [
                    {
                        "name": self.version,
                        "schema": {
                            "openAPIV3Schema": {
                                "description": f"{self.kind}: accepted and stored, not served by Freehold.",
                                "type": "object",
                                "x-kubernetes-preserve-unknown-fields": True,
                            }
                        },
                        "served": True,
                        "storage": True,
                    }
                ],
            },
        }


PLACEHOLDERS: Final[tuple[Placeholder, ...]] = (
    Placeholder(CLUSTER_API_GROUP, V1BETA2, "Cluster", "clusters"),
    Placeholder(CLUSTER_API_GROUP, V1BETA2, "MachineDeployment", "machinedeployments"),
    Placeholder(f"controlplane.{CLUSTER_API_GROUP}", V1BETA2, "KubeadmControlPlane", "kubeadmcontrolplanes"),
    Placeholder(f"bootstrap.{CLUSTER_API_GROUP}", V1BETA2, "KubeadmConfigTemplate", "kubeadmconfigtemplates"),
    Placeholder(f"addons.{CLUSTER_API_GROUP}", V1BETA2, "ClusterResourceSet", "clusterresourcesets"),
    Placeholder(INFRASTRUCTURE_GROUP, V1BETA2, "IBMPowerVSMachineTemplate", "ibmpowervsmachinetemplates"),
    Placeholder(INFRASTRUCTURE_GROUP, V1BETA2, "IBMPowerVSImage", "ibmpowervsimages"),
)
"""The kinds in upstream's PowerVS templates besides IBMPowerVSCluster and built-in kinds."""
