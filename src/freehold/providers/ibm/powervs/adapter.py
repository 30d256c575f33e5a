"""IBMPowerVSCluster, as the operator's reconciler sees it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from freehold.api.feature_gates import DEFAULT_GATES, FeatureGates
from freehold.api.parse import InvalidObject
from freehold.api.served import ServedName
from freehold.engine.journal import Journal
from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey, Observed
from freehold.providers.ibm.powervs.desired import wanted
from freehold.providers.ibm.powervs.discover import FactsReader, discover
from freehold.providers.ibm.powervs.keys import VPC, WORKSPACE
from freehold.providers.ibm.powervs.status import build_status
from freehold.providers.ibm.types.cluster import parse_spec
from freehold.providers.ibm.types.served import POWERVS_CLUSTER
from freehold.providers.objects.adapter import Collecting, Desired, PassReport, Refused, StatusUpdate
from freehold.providers.objects.gate import Proceed
from freehold.providers.objects.spec_problems import Problem


class PowerVSClusterAdapter:
    """Asks IBM Cloud through ``reader`` what a manifest depends on. ``gates`` are the features that are on."""

    def __init__(self, reader: FactsReader, gates: FeatureGates = DEFAULT_GATES) -> None:
        self._reader = reader
        self._gates = gates

    @property
    def served(self) -> ServedName:
        return POWERVS_CLUSTER

    async def desired(self, raw: Mapping[str, Any], proceed: Proceed, journal: Journal) -> Desired:
        """Refused for a spec that does not parse; else what :func:`desired.wanted` decides."""
        metadata = raw["metadata"]
        annotations = metadata.get("annotations") or {}
        try:
            spec = parse_spec(raw)
        except InvalidObject as error:
            return Refused(tuple(Problem(p.field, p.message) for p in error.problems))
        deleting = "deletionTimestamp" in metadata
        known = await discover(self._reader, annotations, spec, proceed.port, journal, deleting=deleting)
        return wanted(metadata["name"], annotations, spec, known, journal, self._gates)

    def status(self, raw: Mapping[str, Any], report: PassReport, now: datetime) -> StatusUpdate:
        return build_status(raw, report, now)

    def collected(self, raw: Mapping[str, Any], journal: Journal) -> Collecting | None:
        """None: IBM's cloud controller leaves only names, which prove nothing."""
        return None

    def skeleton(self, owner: Owner, found: Collection[tuple[NodeKey, Observed]]) -> dict[str, Any]:
        """Where the workspace and the VPC are."""
        spec: dict[str, Any] = {}
        for key, seen in found:
            if key.kind == WORKSPACE.kind and seen.attributes.get("zone"):
                spec["zone"] = seen.attributes["zone"]
            elif key.kind == VPC.kind and seen.region:
                spec["vpc"] = {"region": seen.region}
        return spec
