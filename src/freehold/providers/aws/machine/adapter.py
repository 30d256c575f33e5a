"""AWSMachine, as the operator's reconciler sees it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from freehold.api.served import ServedName
from freehold.engine.graph import Graph, Node
from freehold.engine.journal import Journal
from freehold.engine.outcomes import Reason
from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey, Observed
from freehold.providers.aws.control_plane.kind import AWS_MANAGED_CONTROL_PLANE
from freehold.providers.aws.machine import machine_plan, spec_checks
from freehold.providers.aws.machine.bootstrap import (
    NO_BOOTSTRAP,
    SECRETS_MANAGER,
    BootstrapFields,
    BootstrapPlan,
    check_backend,
    plan_bootstrap,
)
from freehold.providers.aws.machine.bootstrap_reader import read_bootstrap
from freehold.providers.aws.machine.cluster_view import ClusterView, read_cluster
from freehold.providers.aws.machine.control_plane_view import read_control_plane
from freehold.providers.aws.machine.desired import WantedMachine, build_desired, leaving_node
from freehold.providers.aws.machine.facts import MachineFactsReader
from freehold.providers.aws.machine.keys import INSTANCE
from freehold.providers.aws.machine.kind import AWS_MACHINE
from freehold.providers.aws.machine.machine_plan import MachinePlan, OwnerMachine
from freehold.providers.aws.machine.questions import questions_of
from freehold.providers.aws.machine.recorded import (
    InstanceStanding,
    RecordedInstance,
    read_recorded,
    read_recorded_bootstrap,
)
from freehold.providers.aws.machine.status import build_status
from freehold.providers.aws.machine.types.spec import AWSMachineSpec
from freehold.providers.objects.adapter import (
    CollectionRequest,
    Desired,
    GraphMode,
    PassReport,
    RefusedSpec,
    StatusUpdate,
    UndecidedSpec,
    parse_or_refuse,
)
from freehold.providers.objects.around import NOTHING_AROUND, Around
from freehold.providers.objects.cloud_answers import NoAnswer
from freehold.providers.objects.gate import Proceed
from freehold.providers.objects.served_fields import find_ignored_fields
from freehold.providers.objects.vouching import vouch_with


class AWSMachineAdapter:
    """The adapter of AWSMachine, which asks AWS through ``reader``: one account, identity and region."""

    def __init__(self, reader: MachineFactsReader) -> None:
        self._reader = reader

    @property
    def served(self) -> ServedName:
        return AWS_MACHINE

    async def find_desired(self, raw: Mapping[str, Any], proceed: Proceed, journal: Journal) -> Desired:
        """Parse the spec, read the cluster, ask AWS what is open, and decide (:func:`machine_plan.decide`).

        A delete asks nothing: an instance has its marks from its birth on, so that nothing has to be guessed.
        """
        if "deletionTimestamp" in raw["metadata"]:
            return WantedMachine(GraphMode.CREATE, Graph(_leaving(raw, proceed, journal)))
        spec = parse_or_refuse(AWSMachineSpec, raw)
        if isinstance(spec, RefusedSpec):
            return spec
        recorded = _read_recorded(spec, proceed, journal)
        notes = (*find_ignored_fields(AWS_MACHINE.fields, raw), *spec_checks.warn(spec, recorded))
        machine = OwnerMachine.read(raw, proceed.around.machine)
        view = _read_view(proceed)
        known = view if isinstance(view, ClusterView) else None
        if problems := spec_checks.check(machine, raw, spec, known, recorded):
            return RefusedSpec(problems, notes)
        if isinstance(view, NoAnswer):
            return UndecidedSpec({machine_plan.CLUSTER: view}, notes)
        asked = questions_of(spec, view, machine.version, recorded, control_plane=machine.control_plane)
        plan = machine_plan.decide(machine, spec, view, await self._reader.read(asked), recorded, notes)
        if not isinstance(plan, MachinePlan):
            return plan
        bootstrap = await _find_bootstrap(spec, proceed, recorded, journal)
        if not isinstance(bootstrap, BootstrapPlan):
            return replace(bootstrap, notes=notes)
        return build_desired(plan, bootstrap, notes)

    async def find_secrets(self, raw: Mapping[str, Any], proceed: Proceed, report: PassReport) -> tuple[()]:
        """Find none: the kind keeps no Secrets."""
        return ()

    def build_status(self, raw: Mapping[str, Any], report: PassReport, now: datetime) -> StatusUpdate:
        return build_status(raw, report, now)

    def rebuild_spec(self, owner: Owner, found: Collection[tuple[NodeKey, Observed]]) -> dict[str, Any]:
        """Rebuild the spec fields of a lost AWSMachine. ``providerID`` is filled in again."""
        spec: dict[str, Any] = {}
        for key, seen in found:
            if key == INSTANCE:
                said = seen.attributes
                spec["instanceType"] = said.get("instance_type", "")
                spec["ami"] = {"id": said.get("image_id", "")}
                spec["subnet"] = {"id": said.get("subnet_id", "")}
                spec["sshKeyName"] = said.get("key_name", "")
        return spec

    def find_collection(
        self, raw: Mapping[str, Any], journal: Journal, around: Around = NOTHING_AROUND
    ) -> CollectionRequest | None:
        return None


def _read_recorded(spec: AWSMachineSpec, proceed: Proceed, journal: Journal) -> RecordedInstance:
    """Read the record, and whether its signature holds: anybody who may edit the object can write another id."""
    found = read_recorded(spec.provider_id or "", journal.entries)
    if found.standing is not InstanceStanding.OURS:
        return found
    return replace(found, is_vouched=vouch_with(proceed.ring)(journal, INSTANCE, journal.entries[INSTANCE]))


def _leaving(raw: Mapping[str, Any], proceed: Proceed, journal: Journal) -> Iterator[Node]:
    """Yield the instance that is deleted, with the load balancers of its cluster while that is there.

    They are on its own record too, unless that was put back to an older one.
    """
    recorded, view = read_recorded("", journal.entries), _read_view(proceed)
    machine = OwnerMachine.read(raw, proceed.around.machine)
    if recorded.standing is InstanceStanding.OURS and isinstance(view, ClusterView) and machine.control_plane:
        yield leaving_node(machine.name, recorded.request, view.registrations)


def _read_view(proceed: Proceed) -> ClusterView | NoAnswer:
    stored = proceed.around.parent
    if stored is None:
        return NoAnswer(Reason.REQUIREMENT, "the cluster that it is part of is not known yet", machine_plan.SLOWLY)
    read = read_control_plane if stored.get("kind") == AWS_MANAGED_CONTROL_PLANE.kind else read_cluster
    view = read(stored, vouch_with(proceed.ring))
    return view if isinstance(view, ClusterView) else NoAnswer(Reason.REQUIREMENT, view.why, machine_plan.SLOWLY)


async def _find_bootstrap(
    spec: AWSMachineSpec, proceed: Proceed, recorded: RecordedInstance, journal: Journal
) -> BootstrapPlan | RefusedSpec | UndecidedSpec:
    """Find how the data reach the machine. Once its instance is chosen, the record says where they lie.

    They lie there until the machine has its node; what the machine has not deleted itself goes then.
    """
    if recorded.is_chosen:
        return NO_BOOTSTRAP if _has_node(proceed.around.machine) else read_recorded_bootstrap(journal)
    if not proceed.bootstrap:
        return NO_BOOTSTRAP
    fields = _read_fields(spec)
    if problems := check_backend(fields):
        return RefusedSpec(problems)
    facts = await read_bootstrap(proceed.secrets, proceed.bootstrap)
    if isinstance(facts, NoAnswer):
        return UndecidedSpec({f"Secret {proceed.bootstrap}": facts})
    plan = plan_bootstrap(fields, facts, journal.owner.uuid)
    return plan if isinstance(plan, BootstrapPlan) else RefusedSpec(plan)


def _read_fields(spec: AWSMachineSpec) -> BootstrapFields:
    said = spec.cloud_init
    return BootstrapFields(
        skip_secrets_manager=bool(said and said.insecure_skip_secrets_manager),
        backend=(said and said.secure_secrets_backend) or SECRETS_MANAGER,
        uncompressed=bool(spec.uncompressed_user_data),
    )


def _has_node(machine: Mapping[str, Any] | None) -> bool:
    return bool(((machine or {}).get("status") or {}).get("nodeRef"))
