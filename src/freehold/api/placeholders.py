"""Kinds that upstream's templates need and Freehold keeps but does not serve. Data only.

A server without Cluster API (the embedded one) is given a CRD for each that keeps whatever is written, so that
an unmodified manifest applies. Never install them where Cluster API is installed or will be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from freehold.api.names import CLUSTER_API_GROUP, INFRASTRUCTURE_GROUP, V1BETA2


@dataclass(frozen=True)
class Placeholder:
    """A kind of which objects are accepted and kept as they are."""

    group: str
    version: str
    kind: str
    plural: str

    def crd(self) -> dict[str, Any]:
        """A CRD without a schema to speak of. No status subresource, so that a status in a manifest is kept."""
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
                                "description": f"{self.kind}: accepted and kept, not served by Freehold.",
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
"""What the PowerVS templates of upstream hold besides IBMPowerVSCluster and built-in kinds."""
