"""What a PowerVS manifest depends on, asked of the cloud: only what the spec leaves open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from freehold.engine.journal import Journal
from freehold.engine.resources import NodeKey, Observed
from freehold.providers.ibm.powervs import existing, facts, places
from freehold.providers.ibm.powervs.create_infra import CreateInfra, create_infra
from freehold.providers.ibm.types.cluster import IBMPowerVSClusterSpec
from freehold.providers.objects.cloud_answers import Answer, NoAnswer, NoSuch, Several


class FactsReader(facts.FactsReader, places.PlaceReader, Protocol):
    """What a manifest depends on, what must be there already, and where that is."""


async def discover(
    reader: FactsReader,
    annotations: Mapping[str, str],
    spec: IBMPowerVSClusterSpec,
    port: int,
    journal: Journal | None = None,
    *,
    deleting: bool = False,
) -> facts.Facts:
    """What :func:`desired.wanted` must know.

    Without the create-infra annotation, what an object owns already needs the same facts as creating it did. A delete
    does not ask where given resources are: nothing is created in them, and no answer must hold it up.
    """
    frozen = journal is not None and bool(journal.ours)
    if frozen or create_infra(annotations) is not CreateInfra.NOT_REQUESTED:
        known = await facts.ask(reader, spec, port)
        return known if deleting else replace(known, places=await places.ask(reader, spec, journal))
    found: dict[NodeKey, Answer[Observed] | NoSuch | Several | NoAnswer] = {}
    while lookups := existing.lookups(spec, facts.Facts(api_port=port, existing=found)):
        for lookup in lookups:
            found[lookup.key] = await reader.look_up(lookup)
    known = facts.Facts(api_port=port, existing=found)
    return known if deleting else replace(known, places=await places.ask(reader, _workspace_only(spec), journal))


def _workspace_only(spec: IBMPowerVSClusterSpec) -> IBMPowerVSClusterSpec:
    """Without the annotation the fields of the VPC are not acted on."""
    return spec.model_copy(update={"vpc": None})
