"""Collection of what the workloads of an EKS cluster left. Controllers put the name of the EKS cluster on it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from freehold.api.feature_gates import FeatureGate, FeatureGates
from freehold.collection.policy import Policy, decide
from freehold.collection.selector import Selector
from freehold.engine.journal import Journal
from freehold.providers.aws.control_plane.recorded import eks_name_of
from freehold.providers.objects.adapter import CollectionRequest
from freehold.providers.objects.around import Around


def decide_policy(
    raw: Mapping[str, Any], journal: Journal | None, around: Around, gates: FeatureGates, selector: Selector | None
) -> Policy:
    """Decide whether leftovers are collected: the annotations of its AWSManagedCluster count too."""
    return decide(
        raw,
        gate_on=FeatureGate.EXTERNAL_RESOURCE_GC in gates,
        marked=journal is not None and journal.collects,
        selector=selector,
        mirror=around.infrastructure,
    )


def request_collection(
    raw: Mapping[str, Any], journal: Journal, around: Around, gates: FeatureGates, selector: Selector | None
) -> CollectionRequest:
    """Request the collection under the name of the EKS cluster."""
    return CollectionRequest(eks_name_of(raw, journal.entries), decide_policy(raw, journal, around, gates, selector))
