"""AWSCluster, as the operator's reconciler sees it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from freehold.api.feature_gates import DEFAULT_GATES, FeatureGate, FeatureGates
from freehold.api.parse import InvalidObject, parse
from freehold.api.served import ServedName
from freehold.collection.policy import Policy, decide
from freehold.collection.selector import Selector
from freehold.engine.journal import Journal
from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey, Observed
from freehold.providers.aws.cluster.desired import wanted
from freehold.providers.aws.cluster.discover import FactsReader, discover
from freehold.providers.aws.cluster.keys import BUCKET
from freehold.providers.aws.cluster.names import DefaultNames
from freehold.providers.aws.cluster.recorded import name_for_workloads, name_of
from freehold.providers.aws.cluster.skeleton import skeleton
from freehold.providers.aws.cluster.status import build_status
from freehold.providers.aws.types.cluster import AWSClusterSpec
from freehold.providers.aws.types.served import AWS_CLUSTER
from freehold.providers.objects.adapter import Collecting, Desired, PassReport, Refused, StatusUpdate
from freehold.providers.objects.gate import Proceed


class AWSClusterAdapter:
    """Asks AWS through ``reader`` what a manifest depends on: one account, identity and region.

    ``gates`` are the features that are on, ``gc_selector`` the labels of the clusters that are collected, None for all.
    """

    def __init__(
        self, reader: FactsReader, gates: FeatureGates = DEFAULT_GATES, gc_selector: Selector | None = None
    ) -> None:
        self._reader = reader
        self._gates = gates
        self._gc_selector = gc_selector

    @property
    def served(self) -> ServedName:
        return AWS_CLUSTER

    async def desired(self, raw: Mapping[str, Any], proceed: Proceed, journal: Journal) -> Desired:
        """Refused for a spec that does not parse; else what :func:`desired.wanted` decides."""
        try:
            spec = parse(AWSClusterSpec, raw.get("spec"), at="spec")
        except InvalidObject as error:
            return Refused(error.problems)
        metadata = raw["metadata"]
        names = DefaultNames(metadata.get("namespace", ""), name_of(raw, journal.entries))
        deleting = "deletionTimestamp" in metadata
        known = await discover(self._reader, names, spec, proceed.port, journal, deleting=deleting)
        account, _, _ = journal.account.partition("/")  # a region may follow
        return wanted(names, raw, known, account=account, storage=self._has_storage(journal))

    def status(self, raw: Mapping[str, Any], report: PassReport, now: datetime) -> StatusUpdate:
        return build_status(raw, report, now, self._policy(raw, report.journal))

    def skeleton(self, owner: Owner, found: Collection[tuple[NodeKey, Observed]]) -> dict[str, Any]:
        return skeleton(owner, found)

    def collected(self, raw: Mapping[str, Any], journal: Journal) -> Collecting | None:
        return Collecting(name_for_workloads(raw, journal.entries), self._policy(raw, journal))

    def _policy(self, raw: Mapping[str, Any], journal: Journal | None) -> Policy:
        gate_on = FeatureGate.EXTERNAL_RESOURCE_GC in self._gates
        marked = journal is not None and journal.collects
        return decide(raw, gate_on=gate_on, marked=marked, selector=self._gc_selector)

    def _has_storage(self, journal: Journal) -> bool:
        """A bucket that is ours is served whatever the gate says today: without its node it would be surplus."""
        return FeatureGate.BOOTSTRAP_FORMAT_IGNITION in self._gates or BUCKET in journal.ours
