"""AWSCluster, as the operator's reconciler sees it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from freehold.api.feature_gates import DEFAULT_GATES, FeatureGate, FeatureGates
from freehold.api.served import ServedName
from freehold.collection.policy import Policy, decide
from freehold.collection.selector import Selector
from freehold.engine.journal import Journal
from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey, Observed
from freehold.engine.tag_text import tag_map
from freehold.providers.aws.cluster.cluster_plan import BalancerType, Scheme
from freehold.providers.aws.cluster.desired import build_desired
from freehold.providers.aws.cluster.discover import AWSClusterFactsReader, discover
from freehold.providers.aws.cluster.keys import BUCKET, CLASSIC_KIND, NETWORK_KIND, TARGET_GROUP_KIND, VPC
from freehold.providers.aws.cluster.kind import AWS_CLUSTER
from freehold.providers.aws.cluster.load_balancers import PRIMARY, QUICK
from freehold.providers.aws.cluster.names import AWSClusterNames
from freehold.providers.aws.cluster.recorded import name_for_workloads, name_of
from freehold.providers.aws.cluster.rules import API_SERVER
from freehold.providers.aws.cluster.status import build_status
from freehold.providers.aws.cluster.types.spec import AWSClusterSpec
from freehold.providers.aws.tags.capa_tags import cluster_of
from freehold.providers.aws.types.rules import DEFAULT_VPC_RANGE
from freehold.providers.objects.adapter import (
    CollectionRequest,
    Desired,
    PassReport,
    RefusedSpec,
    StatusUpdate,
    parse_or_refuse,
)
from freehold.providers.objects.around import NOTHING_AROUND, Around
from freehold.providers.objects.gate import Proceed

_TYPES = {CLASSIC_KIND: BalancerType.CLASSIC, NETWORK_KIND: BalancerType.NETWORK}
_FIELDS = ("intervalSeconds", "timeoutSeconds", "thresholdCount", "unhealthyThresholdCount")
_TIMES = {
    kind: dict(zip(_FIELDS, names, strict=True))
    for kind, names in {
        CLASSIC_KIND: ("Interval", "Timeout", "HealthyThreshold", "UnhealthyThreshold"),
        TARGET_GROUP_KIND: (
            "HealthCheckIntervalSeconds",
            "HealthCheckTimeoutSeconds",
            "HealthyThresholdCount",
            "UnhealthyThresholdCount",
        ),
    }.items()
}
"""The times of a health check: fields of the spec, and AWS's names for them."""


class AWSClusterAdapter:
    """The adapter of AWSCluster, which asks AWS through ``reader``: one account, identity and region.

    ``gates`` are the features that are on, ``gc_selector`` the labels of the clusters that are collected, None for all.
    """

    def __init__(
        self, reader: AWSClusterFactsReader, gates: FeatureGates = DEFAULT_GATES, gc_selector: Selector | None = None
    ) -> None:
        self._reader = reader
        self._gates = gates
        self._gc_selector = gc_selector

    @property
    def served(self) -> ServedName:
        return AWS_CLUSTER

    async def find_desired(self, raw: Mapping[str, Any], proceed: Proceed, journal: Journal) -> Desired:
        """Parse the spec, ask AWS what it depends on, and decide (:func:`desired.build_desired`)."""
        spec = parse_or_refuse(AWSClusterSpec, raw)
        if isinstance(spec, RefusedSpec):
            return spec
        metadata = raw["metadata"]
        names = AWSClusterNames(metadata.get("namespace", ""), name_of(raw, journal.entries))
        deleting = "deletionTimestamp" in metadata
        known = await discover(self._reader, names, spec, proceed.port, journal, deleting=deleting)
        account, _, _ = journal.account.partition("/")  # a region may follow
        return build_desired(names, raw, spec, known, account=account, storage=self._has_storage(journal))

    async def find_secrets(self, raw: Mapping[str, Any], proceed: Proceed, report: PassReport) -> tuple[()]:
        """Find none: the kind keeps no Secrets."""
        return ()

    def build_status(self, raw: Mapping[str, Any], report: PassReport, now: datetime) -> StatusUpdate:
        return build_status(raw, report, now, self._policy(raw, report.journal))

    def rebuild_spec(self, owner: Owner, found: Collection[tuple[NodeKey, Observed]]) -> dict[str, Any]:
        return rebuild_spec(owner, found)

    def find_collection(
        self, raw: Mapping[str, Any], journal: Journal, around: Around = NOTHING_AROUND
    ) -> CollectionRequest | None:
        return CollectionRequest(name_for_workloads(raw, journal.entries), self._policy(raw, journal))

    def _policy(self, raw: Mapping[str, Any], journal: Journal | None) -> Policy:
        gate_on = FeatureGate.EXTERNAL_RESOURCE_GC in self._gates
        marked = journal is not None and journal.collects
        return decide(raw, gate_on=gate_on, marked=marked, selector=self._gc_selector)

    def _has_storage(self, journal: Journal) -> bool:
        """Return whether ``s3Bucket`` is acted on: with the gate, and for a bucket that is ours already."""
        return FeatureGate.BOOTSTRAP_FORMAT_IGNITION in self._gates or BUCKET in journal.claimed


def rebuild_spec(owner: Owner, found: Collection[tuple[NodeKey, Observed]]) -> dict[str, Any]:
    """Rebuild the immutable spec fields of a lost AWSCluster, so that its manifest can be applied again.

    A load balancer that differs from the default one, and a range of the VPC that does: where the network is, whose it
    is and what else there is, only the manifest can say. The health check is written out where it is not today's
    default: the cluster can have been begun with another one.
    """
    spec: dict[str, Any] = {}
    for key, seen in found:
        if key.logical == PRIMARY and key.kind in _TYPES and (fields := _balancer(owner, _TYPES[key.kind], seen)):
            spec.setdefault("controlPlaneLoadBalancer", {}).update(fields)
        if times := _health_times(key, seen):
            spec.setdefault("controlPlaneLoadBalancer", {})["healthCheck"] = times
        if key == VPC and seen.attributes["cidr"] != DEFAULT_VPC_RANGE:
            spec["network"] = {"vpc": {"cidrBlock": seen.attributes["cidr"]}}
    return spec


def _health_times(key: NodeKey, seen: Observed) -> dict[str, int]:
    """Return the times of the API server's health check; empty for today's default, and for what has none."""
    names = _TIMES.get(key.kind)
    front, _, port = key.logical.partition(":")
    if names is None or front != PRIMARY or port not in ("", str(API_SERVER)):
        return {}
    check = seen.attributes.get("health_check") or {}
    found = {field: int(check[name]) for field, name in names.items() if name in check}
    usual = dict(zip(names, (QUICK.interval, QUICK.timeout, QUICK.healthy, QUICK.unhealthy), strict=True))
    return {} if found == usual else found


def _balancer(owner: Owner, type_: BalancerType, seen: Observed) -> dict[str, Any]:
    """Return the fields of the first load balancer; empty for the one that an empty spec means."""
    names = AWSClusterNames(owner.namespace, cluster_of(tag_map(seen.tags or ())) or owner.name)
    usual = names.network_balancer if type_ is BalancerType.NETWORK else names.classic_balancer
    named = {} if seen.attributes["name"] == usual else {"name": seen.attributes["name"]}
    scheme = Scheme(seen.attributes["scheme"])
    if not named and (type_, scheme) == (BalancerType.CLASSIC, Scheme.INTERNET_FACING):
        return {}
    return {"scheme": scheme.value, "loadBalancerType": type_.value, **named}
