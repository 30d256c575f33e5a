"""The status of an AWSMachine, in upstream's words: pure, equal for equal inputs.

It is rebuilt from journal and outcomes at each pass; only ``ready``, transition times and what the last look did not
see come from the status before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from freehold.api import conditions as api_conditions
from freehold.api import names
from freehold.api.conditions import Observation
from freehold.engine.journal import Entry
from freehold.engine.outcomes import Blocked, Outcome, Ready, Reason, Waiting
from freehold.engine.resources import Observed
from freehold.providers.aws import api_names as aws_names
from freehold.providers.aws.cluster.status import IDENTITY
from freehold.providers.aws.machine.desired import WantedMachine
from freehold.providers.aws.machine.keys import INSTANCE
from freehold.providers.aws.machine.machine_plan import CLUSTER, MachinePlan
from freehold.providers.objects import identity
from freehold.providers.objects.adapter import PassReport, StatusUpdate, UndecidedSpec
from freehold.providers.objects.part_conditions import observe_deletion
from freehold.providers.objects.resource_rows import build_rows, describe_blockers, find_known_id, observed_of
from freehold.providers.objects.served_fields import observe_served_fields
from freehold.providers.objects.spec_condition import observe_spec
from freehold.providers.objects.status import build_update, observe_not_paused

Status = dict[str, Any]
_REPLACE = "it is not made again: delete its Machine, or this object, to have another one made"


def build_status(raw: Mapping[str, Any], report: PassReport, now: datetime) -> StatusUpdate:
    """Build the status after a pass that was allowed to work on the object ``raw``. ``now`` is aware."""
    before: Mapping[str, Any] = raw.get("status") or {}
    machine = _Machine.read(raw, report)
    status: Status = {**before, "ready": before.get("ready") is True}
    if report.journal:
        status["identity"] = dict(identity.build_status_identity(raw, report.journal))
    graph = report.plan.graph if isinstance(report.plan, WantedMachine) else None
    if graph or report.deleting:
        status["resources"] = build_rows(
            before.get("resources") or (), graph, report.journal, report.outcomes, api_conditions.format_time(now),
            deleting=report.deleting, deleted=report.deleted,
        )  # fmt: skip
    status |= machine.show_fields()
    spec = None
    if report.deleting or report.plan is None:
        observations = list(_observe_deletion(report, machine))
    else:
        observations = list(_observe(report, machine))
        spec = machine.fill_spec()
        if machine.runs and machine.provider_id and machine.is_registered:
            status["ready"] = True
    if status["ready"]:
        status["initialization"] = {"provisioned": True}
    found = {each.type for each in observations}
    obsolete = [] if report.deleting or machine.plan is None else [each for each in _PARTS if each not in found]
    return build_update(raw, status, observations, now, spec=spec, obsolete=obsolete, order=_PARTS)


_PARTS = aws_names.AWS_MACHINE_PART_CONDITIONS
_NEED_A_PERSON = frozenset({aws_names.REASON_INSTANCE_STOPPED, aws_names.REASON_INSTANCE_TERMINATED})


@dataclass(frozen=True)
class _Machine:
    """The instance, by what the pass reports of it. ``plan`` is None where the spec could not be decided.

    ``seen`` is None for one that is not proven ours: an edited record must not put its id into the spec.
    """

    raw: Mapping[str, Any]
    plan: MachinePlan | None
    entry: Entry | None
    outcome: Outcome | None
    seen: Observed | None
    before_it: Blocked | None
    """The resource that must be there first, where it is blocked."""

    @staticmethod
    def read(raw: Mapping[str, Any], report: PassReport) -> _Machine:
        plan = report.plan.machine_plan if isinstance(report.plan, WantedMachine) else None
        entry = report.journal.get(INSTANCE) if report.journal else None
        outcome = report.outcomes.get(INSTANCE)
        blocked = (each for key, each in sorted(report.outcomes.items()) if key != INSTANCE)
        before_it = next((each for each in blocked if isinstance(each, Blocked)), None)
        theirs = isinstance(outcome, Blocked) and outcome.reason is Reason.NOT_OWNED
        return _Machine(raw, plan, entry, outcome, None if theirs else observed_of(outcome), before_it)

    @property
    def id(self) -> str:
        return find_known_id(self.entry, self.outcome)

    @property
    def word(self) -> str:
        """EC2's word for the state, without its reason; empty where the look did not show it."""
        return self.seen.vendor_state.partition(" ")[0] if self.seen else ""

    @property
    def runs(self) -> bool:
        return self.word == "running" and not self._is_unfit

    @property
    def is_registered(self) -> bool:
        """True if all load balancers that it is to be behind have it, healthy or not."""
        there = self.seen.attributes.get("parts") or () if self.seen else ()
        return self.plan is None or set(self.plan.registrations) <= set(there)

    @property
    def _is_unfit(self) -> bool:
        return isinstance(self.outcome, Blocked) and self.outcome.reason is Reason.UNFIT

    @property
    def _is_unproven(self) -> bool:
        return isinstance(self.outcome, Blocked) and self.outcome.reason is Reason.NOT_OWNED

    @property
    def provider_id(self) -> str:
        """``aws:///<zone>/<id>`` of ours, once both are known; the spec's until then, and of one that is given."""
        zone = str(self.seen.attributes.get("zone") or "") if self.seen else ""
        if self.entry is not None and self.entry.state.is_claimed and not self._is_unproven and self.id and zone:
            return f"aws:///{zone}/{self.id}"
        return str((self.raw.get("spec") or {}).get("providerID") or "")

    @property
    def _waiting(self) -> Sequence[str]:
        """Why load balancers send nothing to it yet, one sentence each."""
        said: Mapping[str, str] = self.seen.attributes.get("waiting_parts") or {} if self.seen else {}
        return [f"{part}: {why}" for part, why in said.items()]

    def fill_spec(self) -> Mapping[str, Any] | None:
        """Return the fields of the spec to be written, as upstream writes them; None where they are there."""
        spec = self.raw.get("spec") or {}
        ident = self.provider_id.rpartition("/")[2]
        wanted = {"providerID": self.provider_id, "instanceID": ident} if ident else {}
        changed = {name: value for name, value in wanted.items() if spec.get(name) != value}
        return changed or None

    def show_fields(self) -> Status:
        """Return the fields that a look shows; what the last one did not see stays."""
        found: Status = {}
        if self.plan is not None and self.plan.spot:
            found["interruptible"] = True
        if self.plan is not None and self.plan.gone:
            found["instanceState"] = "terminated"
        if self.seen:
            found["instanceState"] = self.word
            found["addresses"] = list(_addresses(self.seen.attributes))
        return found

    def observe_instance(self) -> Observation:
        """Build the condition InstanceReady, with upstream's reasons."""
        reason, message, unknown = self._describe()
        if not reason:
            return Observation(aws_names.INSTANCE_READY, "True", names.REASON_READY, message)
        return Observation(aws_names.INSTANCE_READY, "Unknown" if unknown else "False", reason, message)

    def _describe(self) -> tuple[str, str, bool]:
        """Return the reason why it is not ready, empty if it is; a message; and whether that is not certain."""
        said = getattr(self.outcome, "message", "") or getattr(self.outcome, "note", "")
        if self.plan is not None and self.plan.gone:
            why = "; it was a spot instance, which AWS takes back when it needs the capacity" if self.plan.spot else ""
            ident = self.entry.gone if self.entry else ""
            return aws_names.REASON_INSTANCE_TERMINATED, f"instance {ident} has gone{why}; {_REPLACE}", False
        shown = self.seen.vendor_state if self.seen else ""
        match self.word:
            case "running" if not self._is_unfit:
                return "", said if isinstance(self.outcome, Ready) and not self._waiting else "", False
            case "stopped" | "stopping":
                start = f"aws ec2 start-instances --instance-ids {self.id}"
                return (
                    aws_names.REASON_INSTANCE_STOPPED,
                    f"{self.id} is {shown}: start it ({start}); {_REPLACE}",
                    False,
                )
            case "shutting-down":
                return aws_names.REASON_INSTANCE_TERMINATED, f"{self.id} is {shown}; {_REPLACE}", False
            case "pending":
                return aws_names.REASON_INSTANCE_NOT_READY, f"{self.id} is pending", False
        return self._describe_unseen(said)

    def _describe_unseen(self, said: str) -> tuple[str, str, bool]:
        match self.outcome:
            case Blocked(reason=Reason.NOT_FOUND):
                return aws_names.REASON_INSTANCE_NOT_FOUND, said, False
            case Blocked():
                return aws_names.REASON_INSTANCE_PROVISION_FAILED, said, False
            case Waiting(reason=Reason.SETTLING) if self.id:
                return aws_names.REASON_INSTANCE_NOT_FOUND, said, True
            case Waiting() if self.id:
                return aws_names.REASON_INSTANCE_NOT_READY, said, True
        if self.before_it is not None:
            return aws_names.REASON_INSTANCE_PROVISION_FAILED, self.before_it.message, False
        return aws_names.REASON_INSTANCE_PROVISION_STARTED, said or "the instance is being made", False

    def why_blocked(self, found: Sequence[Observation]) -> str:
        """Return the reason for which somebody must act; empty if nobody must."""
        for each in (self.outcome, self.before_it):
            if isinstance(each, Blocked):
                return each.reason.value
        return next((each.reason for each in found if each.status == "False" and each.reason in _NEED_A_PERSON), "")

    def observe_groups(self) -> Iterator[Observation]:
        """Build the condition SecurityGroupsReady; none of an instance that is given, as its groups are not ours."""
        if self.plan is None or self.plan.given or self.plan.gone or self.seen is None:
            return
        shown = sorted(self.seen.attributes.get("security_groups") or ())
        if shown == sorted(self.plan.security_groups):
            yield Observation(aws_names.SECURITY_GROUPS_READY, "True", names.REASON_READY)
            return
        message = getattr(self.outcome, "message", "") or "the groups are being changed"
        yield Observation(
            aws_names.SECURITY_GROUPS_READY, "False", aws_names.REASON_SECURITY_GROUPS_SYNC_FAILED, message
        )

    def observe_balancers(self) -> Iterator[Observation]:
        """Build the condition ELBAttached of a control-plane machine that is to be behind load balancers."""
        if self.plan is None or not self.plan.registrations:
            return
        if not self.runs:
            reason, message = aws_names.REASON_INSTANCE_NOT_READY, "waits for the instance to run"
        elif not self.is_registered:
            message = getattr(self.outcome, "message", "") or "the instance is being registered"
            reason = aws_names.REASON_ELB_ATTACH_FAILED
        elif self._waiting:
            shown = "; ".join(self._waiting)
            reason, message = aws_names.REASON_ELB_ATTACH_FAILED, f"registered, and without traffic yet: {shown}"
        else:
            yield Observation(aws_names.ELB_ATTACHED, "True", names.REASON_READY)
            return
        yield Observation(aws_names.ELB_ATTACHED, "False", reason, message)


def _observe(report: PassReport, machine: _Machine) -> Iterator[Observation]:
    """Build all conditions, ``Ready`` first."""
    assert report.plan is not None
    rest = [observe_spec(report.plan), observe_served_fields(report.plan.notes), observe_not_paused()]
    rest.append(Observation(names.DELETING, "False", names.REASON_NOT_DELETING))
    if machine.plan is None:
        yield Observation(names.READY, "False", rest[0].reason, rest[0].message)
        if not machine.id:
            yield Observation(aws_names.INSTANCE_READY, "False", _why_undecided(report), rest[0].message)
        yield from rest
        return
    parts = [*machine.observe_groups(), *machine.observe_balancers()]
    found = [*IDENTITY, machine.observe_instance(), *parts]
    # The health of what runs on it is not the machine's: it is ready when the load balancers have it.
    counts = [each.type for each in found if each.type != aws_names.ELB_ATTACHED or not machine.is_registered]
    ready = api_conditions.summarize(found, counts)
    if ready.reason == names.REASON_NOT_READY:
        ready = Observation(names.READY, "False", machine.why_blocked(found) or ready.reason, ready.message)
    yield ready
    yield from found
    yield from rest


def _why_undecided(report: PassReport) -> str:
    """Return upstream's reason why there is no instance yet where the spec leads to none."""
    if isinstance(report.plan, UndecidedSpec) and CLUSTER in report.plan.missing:
        return aws_names.REASON_WAITING_FOR_CLUSTER_INFRASTRUCTURE
    return aws_names.REASON_INSTANCE_PROVISION_FAILED


def _observe_deletion(report: PassReport, machine: _Machine) -> Iterator[Observation]:
    lines = list(describe_blockers(report.outcomes))
    message = "; ".join(lines) or "being deleted"
    yield Observation(names.READY, "False", names.REASON_DELETING, message)
    yield observe_deletion(report.outcomes, lines)
    if machine.entry is not None and machine.entry.state.is_claimed:
        yield Observation(aws_names.INSTANCE_READY, "False", names.REASON_DELETING, message)
    yield observe_not_paused()


def _addresses(shown: Mapping[str, Any]) -> Iterator[Status]:
    """Yield the addresses in upstream's order."""
    for kind, attribute in _ADDRESSES:
        said = shown.get(attribute) or ()
        yield from ({"type": kind, "address": each} for each in ([said] if isinstance(said, str) else said))


_ADDRESSES = (
    ("InternalDNS", "private_dns"),
    ("InternalIP", "private_address"),
    ("InternalIP", "ipv6"),
    ("ExternalDNS", "public_dns"),
    ("ExternalIP", "public_address"),
)
