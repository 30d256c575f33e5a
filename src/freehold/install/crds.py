"""CRDs of the kinds of the chosen providers, with the labels by which Cluster API and clusterctl find them.

What the contract says of a kind, ``deploy/crds`` has already. An installation adds whose CRD it is, and the label by
which ``clusterctl move`` finds kinds (docs/reference/capi-contract.md C46). No kind gets a label that would move
objects without a Cluster (C31).
"""

from __future__ import annotations

from typing import Final

from freehold.api.names import PROVIDER_LABEL
from freehold.install.names import PROVIDER
from freehold.install.rights import list_kinds
from freehold.install.tree import Tree, When
from freehold.install.values import serves
from freehold.kube.resources import Json
from freehold.providers.registry import PROVIDERS

CLUSTERCTL_LABEL: Final = "clusterctl.cluster.x-k8s.io"
KEEP: Final = {"helm.sh/resource-policy": "keep"}
"""Helm deletes no such object: with a CRD it would delete all objects of the kind."""


def describe_crds() -> list[Tree]:
    """Describe the CRDs. The schemas are slow to build."""
    from freehold.providers.crds import build_crds

    providers = {served.crd: provider.name for provider in PROVIDERS for served in list_kinds(provider)}
    found: list[Tree] = []
    for crd in sorted(build_crds(), key=lambda each: str(each["metadata"]["name"])):
        labeled = _add_labels(crd)
        provider = providers.get(crd["metadata"]["name"])
        found.append(When(serves(provider), labeled) if provider else labeled)
    return found


def _add_labels(crd: Json) -> Json:
    metadata = crd["metadata"]
    labels = {**metadata["labels"], PROVIDER_LABEL: PROVIDER, CLUSTERCTL_LABEL: ""}
    return {**crd, "metadata": {**metadata, "labels": labels, "annotations": dict(KEEP)}}
