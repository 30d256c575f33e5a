"""IBMPowerVSCluster, as the operator's reconciler sees it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Protocol

from freehold.api.feature_gates import DEFAULT_GATES, FeatureGates
from freehold.api.served import ServedName
from freehold.engine.journal import Journal
from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey, Observed
from freehold.providers.ibm.powervs import existing, facts, given_location
from freehold.providers.ibm.powervs.create_infra import CreateInfra, create_infra
from freehold.providers.ibm.powervs.desired import build_desired
from freehold.providers.ibm.powervs.keys import VPC, WORKSPACE
from freehold.providers.ibm.powervs.kind import POWERVS_CLUSTER
from freehold.providers.ibm.powervs.status import build_status
from freehold.providers.ibm.powervs.types.spec import IBMPowerVSClusterSpec
from freehold.providers.objects.adapter import (
    CollectionRequest,
    Desired,
    PassReport,
    RefusedSpec,
    StatusUpdate,
    parse_or_refuse,
)
from freehold.providers.objects.around import NOTHING_AROUND, Around
from freehold.providers.objects.cloud_answers import Answer, NoAnswer, NotThere, SeveralFound
from freehold.providers.objects.gate import Proceed


class PowerVSFactsReader(facts.SpecFactsReader, given_location.PlaceReader, Protocol):
    """The reader of what a manifest depends on, what must be there already, and where that is."""


class PowerVSClusterAdapter:
    """The adapter of IBMPowerVSCluster: it asks IBM Cloud through ``reader``; ``gates`` are the gates that are on."""

    def __init__(self, reader: PowerVSFactsReader, gates: FeatureGates = DEFAULT_GATES) -> None:
        self._reader = reader
        self._gates = gates

    @property
    def served(self) -> ServedName:
        return POWERVS_CLUSTER

    async def find_desired(self, raw: Mapping[str, Any], proceed: Proceed, journal: Journal) -> Desired:
        """Parse the spec, ask IBM Cloud what it depends on, and decide (:func:`desired.build_desired`)."""
        spec = parse_or_refuse(IBMPowerVSClusterSpec, raw)
        if isinstance(spec, RefusedSpec):
            return spec
        metadata = raw["metadata"]
        annotations = metadata.get("annotations") or {}
        deleting = "deletionTimestamp" in metadata
        known = await discover(self._reader, annotations, spec, proceed.port, journal, deleting=deleting)
        return build_desired(metadata["name"], annotations, spec, known, journal, self._gates)

    async def find_secrets(self, raw: Mapping[str, Any], proceed: Proceed, report: PassReport) -> tuple[()]:
        """Find none: the kind keeps no Secrets."""
        return ()

    def build_status(self, raw: Mapping[str, Any], report: PassReport, now: datetime) -> StatusUpdate:
        return build_status(raw, report, now)

    def find_collection(
        self, raw: Mapping[str, Any], journal: Journal, around: Around = NOTHING_AROUND
    ) -> CollectionRequest | None:
        """Return None: IBM's cloud controller leaves only names, which prove nothing."""
        return None

    def rebuild_spec(self, owner: Owner, found: Collection[tuple[NodeKey, Observed]]) -> dict[str, Any]:
        """Rebuild where the workspace and the VPC are."""
        spec: dict[str, Any] = {}
        for key, seen in found:
            if key.kind == WORKSPACE.kind and seen.attributes.get("zone"):
                spec["zone"] = seen.attributes["zone"]
            elif key.kind == VPC.kind and seen.region:
                spec["vpc"] = {"region": seen.region}
        return spec


async def discover(
    reader: PowerVSFactsReader,
    annotations: Mapping[str, str],
    spec: IBMPowerVSClusterSpec,
    port: int,
    journal: Journal | None = None,
    *,
    deleting: bool = False,
) -> facts.PowerVSFacts:
    """Ask the cloud what :func:`desired.build_desired` must know: only what the spec leaves open.

    Without the create-infra annotation, what an object owns already needs the same facts as creating it did. A delete
    does not ask where given resources are: nothing is created in them, and no answer must hold it up.
    """
    frozen = journal is not None and bool(journal.claimed)
    if frozen or create_infra(annotations) is not CreateInfra.NOT_REQUESTED:
        known = await facts.ask(reader, spec, port)
        return known if deleting else replace(known, places=await given_location.ask(reader, spec, journal))
    found: dict[NodeKey, Answer[Observed] | NotThere | SeveralFound | NoAnswer] = {}
    while lookups := existing.lookups(spec, facts.PowerVSFacts(api_port=port, existing=found)):
        for lookup in lookups:
            found[lookup.key] = await reader.look_up(lookup)
    known = facts.PowerVSFacts(api_port=port, existing=found)
    return (
        known if deleting else replace(known, places=await given_location.ask(reader, _workspace_only(spec), journal))
    )


def _workspace_only(spec: IBMPowerVSClusterSpec) -> IBMPowerVSClusterSpec:
    """Leave out the VPC, whose fields are not acted on without the annotation."""
    return spec.model_copy(update={"vpc": None})
