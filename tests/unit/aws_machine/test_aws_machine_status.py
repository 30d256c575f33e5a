"""The status of an AWSMachine: upstream's words for what the pass saw of its instance."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from freehold.engine.journal import Entry, Journal, Phase
from freehold.engine.outcomes import Blocked, Category, Outcome, Ready, Reason, Waiting
from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey, Observed, State
from freehold.providers.aws.machine.keys import INSTANCE
from freehold.providers.aws.machine.status import build_status
from freehold.providers.objects.adapter import Desired, PassReport, RefusedSpec, StatusUpdate, UndecidedSpec
from freehold.providers.objects.cloud_answers import NoAnswer
from freehold.providers.objects.spec_problems import SpecProblem
from harness.aws_machine import ARN, GROUPS, OWNER, desired_of, facts, machine, on_record, owner_machine

NOW = datetime(2026, 11, 27, tzinfo=UTC)
ID = "i-0123456789abcdef0"
WORKER = sorted([GROUPS["node"], GROUPS["lb"]])
SHOWN = {
    "zone": "us-east-1a", "private_address": "10.0.0.4", "ipv6": ["2001:db8::1"], "public_address": "",
    "private_dns": "n", "security_groups": WORKER,
}  # fmt: skip
Json = dict[str, Any]


def seen(word: str, state: State = State.READY, **attributes: Any) -> Observed:
    return Observed(ID, "m1", state, vendor_state=word, attributes={**SHOWN, **attributes})


def said(
    outcome: Outcome | None,
    raw: Json | None = None,
    *,
    record: dict[NodeKey, Entry] | None = None,
    plan: Desired | None = None,
    owner: Json | None = None,
    before: Json | None = None,
    more: dict[NodeKey, Outcome] | None = None,
) -> StatusUpdate:
    raw = raw or machine()
    raw["metadata"] |= {"uid": "u", "generation": 1}
    if before is not None:
        raw["status"] = before
    record = on_record() if record is None else record
    journal = Journal(Owner(OWNER.uuid, "AWSMachine", "default", "m1"), record)
    outcomes = {**({INSTANCE: outcome} if outcome else {}), **(more or {})}
    plan = plan or desired_of(raw, owner=owner, record=record)
    return build_status(raw, PassReport(plan, journal, outcomes), NOW)


def condition(update: StatusUpdate, type_: str) -> tuple[str, str, str]:
    found = next((each for each in update.status["conditions"] if each["type"] == type_), {})
    return found.get("status", ""), found.get("reason", ""), found.get("message", "")


RUNNING = Ready(seen("running"), Category.MANAGED)


def test_a_machine_that_runs_is_ready_and_says_which_one_it_is() -> None:
    update = said(RUNNING)
    assert update.spec == {"providerID": f"aws:///us-east-1a/{ID}", "instanceID": ID}
    assert update.status["ready"] is True and update.status["initialization"] == {"provisioned": True}
    assert update.status["instanceState"] == "running" and update.status["phase"] == "Ready"
    assert [(each["type"], each["address"]) for each in update.status["addresses"]] == [
        ("InternalDNS", "n"), ("InternalIP", "10.0.0.4"), ("InternalIP", "2001:db8::1"),
    ]  # fmt: skip
    assert condition(update, "Ready")[0] == condition(update, "InstanceReady")[0] == "True"
    assert condition(update, "SecurityGroupsReady")[0] == "True"
    assert condition(update, "ELBAttached") == ("", "", "")


def test_what_is_filled_in_is_not_written_again() -> None:
    update = said(RUNNING, machine(providerID=f"aws:///us-east-1a/{ID}", instanceID=ID))
    assert update.spec is None


def test_the_instance_is_named_while_it_is_pending() -> None:
    """kubernetes-sigs/cluster-api-provider-aws#6131: an id that is written late is an instance that is made twice."""
    update = said(Waiting(Reason.PROVISIONING, 5.0, "its state is pending", seen("pending", State.PENDING)))
    assert update.spec == {"providerID": f"aws:///us-east-1a/{ID}", "instanceID": ID}
    assert update.status["ready"] is False and "initialization" not in update.status


STATES: dict[str, tuple[Outcome | None, dict[NodeKey, Entry] | None, tuple[str, str], str, str]] = {
    "pending": (
        Waiting(Reason.PROVISIONING, 5.0, "", seen("pending", State.PENDING)), None,
        ("False", "InstanceNotReady"), "NotReady", "Progressing",
    ),
    "stopped": (
        Waiting(Reason.PROVISIONING, 5.0, "", seen("stopped", State.PENDING)), None,
        ("False", "InstanceStopped"), "InstanceStopped", "Blocked",
    ),
    "being terminated by somebody": (
        Waiting(Reason.DELETING, 5.0, "", seen("shutting-down (Server.SpotInstanceTermination)", State.DELETING)), None,
        ("False", "InstanceTerminated"), "InstanceTerminated", "Blocked",
    ),
    "terminated by somebody": (
        None, {INSTANCE: Entry(Phase.VACANT, gone=ID)},
        ("False", "InstanceTerminated"), "InstanceTerminated", "Blocked",
    ),
    "not seen yet": (
        Waiting(Reason.SETTLING, 5.0, "not found; confirming"), None,
        ("Unknown", "InstanceNotFound"), "ReadyUnknown", "Progressing",
    ),
    "being made": (
        Waiting(Reason.CREATING, 5.0), {INSTANCE: Entry(Phase.INTENDED)},
        ("False", "InstanceProvisionStarted"), "NotReady", "Progressing",
    ),
    "refused": (
        Blocked(Reason.QUOTA, "no more"), {}, ("False", "InstanceProvisionFailed"), "QuotaReached", "Blocked",
    ),
    "throttled, and seen running": (
        Waiting(Reason.THROTTLED, 5.0, "slow down", seen("running", security_groups=WORKER)), None,
        ("True", "Ready"), "Ready", "Ready",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("outcome", "record", "ready", "reason", "phase"), STATES.values(), ids=STATES.keys())
def test_the_states_of_an_instance(outcome: Any, record: Any, ready: tuple[str, str], reason: str, phase: str) -> None:
    update = said(outcome, record=record)
    assert condition(update, "InstanceReady")[:2] == ready
    assert (condition(update, "Ready")[1], update.status["phase"]) == (reason, phase)


@pytest.mark.parametrize("name", [name for name in STATES if "running" not in name])
def test_ready_is_for_ever(name: str) -> None:
    outcome, record, *_ = STATES[name]
    update = said(outcome, record=record, before={"ready": True, "addresses": [{"type": "InternalIP", "address": "1"}]})
    assert update.status["ready"] is True and update.status["initialization"] == {"provisioned": True}
    assert update.status["addresses"]


def test_a_stopped_instance_says_what_to_do() -> None:
    message = condition(said(STATES["stopped"][0]), "InstanceReady")[2]
    assert f"aws ec2 start-instances --instance-ids {ID}" in message and "not made again" in message


def test_a_spot_instance_says_so_before_and_after() -> None:
    raw = machine(spotMarketOptions={})
    assert said(RUNNING, raw).status["interruptible"] is True
    gone = said(None, machine(spotMarketOptions={}), record={INSTANCE: Entry(Phase.VACANT, gone=ID)})
    assert "AWS takes back" in condition(gone, "InstanceReady")[2] and gone.status["instanceState"] == "terminated"
    assert "interruptible" not in said(RUNNING).status


def test_groups_that_differ_are_said() -> None:
    update = said(Blocked(Reason.DENIED, "not allowed", observed=seen("running", security_groups=["sg-0"])))
    assert condition(update, "SecurityGroupsReady") == ("False", "SecurityGroupsSyncFailed", "not allowed")
    assert (condition(update, "Ready")[1], update.status["ready"]) == ("Denied", True)


def test_a_control_plane_machine_says_whether_it_is_behind_the_load_balancer() -> None:
    owner = owner_machine(control_plane=True)
    groups = sorted(GROUPS.values())
    behind = seen("running", security_groups=groups, parts=[ARN])
    there = said(Ready(behind, Category.MANAGED), owner=owner)
    assert (condition(there, "ELBAttached")[0], there.status["ready"]) == ("True", True)
    slow = seen("running", security_groups=groups, parts=[ARN], waiting_parts={"registration a": "checks are failing"})
    booting = said(Ready(slow, Category.MANAGED, note="registration a: checks are failing"), owner=owner)
    why = "registered, and without traffic yet: registration a: checks are failing"
    assert condition(booting, "ELBAttached") == ("False", "ELBAttachFailed", why)
    assert condition(booting, "InstanceReady")[2] == ""
    assert (condition(booting, "Ready")[0], booting.status["ready"]) == ("True", True)
    alone = said(Ready(seen("running", security_groups=groups), Category.MANAGED), owner=owner)
    assert condition(alone, "ELBAttached") == ("False", "ELBAttachFailed", "the instance is being registered")
    assert (condition(alone, "Ready")[0], alone.status["ready"]) == ("False", False)
    refused = Blocked(Reason.DENIED, "not allowed", observed=seen("running", security_groups=groups))
    assert condition(said(refused, owner=owner), "ELBAttached") == ("False", "ELBAttachFailed", "not allowed")
    pending = Waiting(Reason.PROVISIONING, 5.0, "", seen("pending", State.PENDING, security_groups=groups))
    assert condition(said(pending, owner=owner), "ELBAttached")[:2] == ("False", "InstanceNotReady")


def test_a_given_instance_is_named_and_its_groups_are_not_ours() -> None:
    raw = machine(providerID=f"aws:///us-east-1a/{ID}")
    record = {INSTANCE: Entry(Phase.GIVEN, ID)}
    update = said(Ready(seen("running", security_groups=["sg-x"]), Category.UNMANAGED), raw, record=record)
    assert update.spec == {"instanceID": ID} and update.status["ready"] is True
    assert condition(update, "SecurityGroupsReady") == ("", "", "")
    assert update.status["resources"][0]["ownership"] == "unmanaged"
    lost = said(Blocked(Reason.NOT_FOUND, "does not exist"), raw, record={})
    assert condition(lost, "InstanceReady")[:2] == ("False", "InstanceNotFound") and lost.spec == {"instanceID": ID}


def test_a_spec_that_leads_to_nothing_says_so() -> None:
    refused = said(None, record={}, plan=RefusedSpec((SpecProblem("spec.ami.id", "correct it"),)))
    assert condition(refused, "InstanceReady") == ("False", "InstanceProvisionFailed", "spec.ami.id: correct it")
    assert condition(refused, "Ready")[1] == "InvalidSpec" and refused.spec is None
    wait = NoAnswer(Reason.REQUIREMENT, "not ready", 1.0)
    held = said(None, record={}, plan=UndecidedSpec({"its cluster": wait}))
    assert condition(held, "InstanceReady")[1] == "WaitingForClusterInfrastructure"
    full = desired_of(machine(), facts(full=frozenset({"us-east-1a", "us-east-1b"})))
    assert condition(said(None, record={}, plan=full), "InstanceReady")[1] == "InstanceProvisionFailed"
    living = said(None, plan=RefusedSpec((SpecProblem("spec.ami.id", "correct it"),)))
    assert condition(living, "InstanceReady") == ("", "", "")


def test_a_secret_that_cannot_be_made_is_why_there_is_no_instance() -> None:
    blocked = Blocked(Reason.DENIED, "may not create secrets")
    update = said(None, record={}, more={NodeKey("bootstrap-secret", "0"): blocked})
    assert condition(update, "InstanceReady") == ("False", "InstanceProvisionFailed", "may not create secrets")
    assert condition(update, "Ready")[1] == "Denied"


def test_a_delete_says_what_it_waits_for() -> None:
    raw = machine()
    raw["metadata"]["deletionTimestamp"] = "2026-11-21T00:00:00Z"
    update = said(Waiting(Reason.DELETING, 5.0, "is shutting-down"), raw)
    raw["status"] = update.status
    report = PassReport(desired_of(raw), None, {INSTANCE: Waiting(Reason.DELETING, 5.0, "it goes")}, deleting=True)
    update = build_status(raw, report, NOW)
    assert condition(update, "Ready")[:2] == ("False", "Deleting") and condition(update, "Deleting")[0] == "True"
    assert update.spec is None and update.status["phase"] == "Deleting"


def test_an_equal_pass_writes_nothing() -> None:
    raw = machine(providerID=f"aws:///us-east-1a/{ID}", instanceID=ID)
    first = said(RUNNING, raw)
    again = said(RUNNING, raw, before=first.status)
    assert first.changed and not again.changed and not again.patch
