"""One account as the operator uses it, and plans made with it: the audit log, the writes and the reads."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest

from freehold.engine.clock import ManualClock
from freehold.engine.errors import Frozen, Unavailable
from freehold.engine.keys import KeyRing
from freehold.engine.port import Call, Effect, InlinePort
from freehold.engine.resources import Birth, NodeKey
from freehold.providers.ibm.accounts import IbmAccount
from freehold.providers.ibm.powervs.existing import ById
from freehold.providers.objects.cloud_answers import Answer, NoAnswer, NotThere
from freehold_sim.faults import Effect as Hits
from freehold_sim.faults import Fault
from freehold_sim.ibm.cloud import SimulatedIBM
from harness.account import BASE, GROUP, NONCE, SimMount
from harness.plans import planned
from harness.powervs import Harness, example
from harness.resources import made_by_us
from harness.standing import standing

RING = KeyRing.single(b"the key of these tests" * 2)
UUID = "0d0f1e2a-1111-4222-8333-444455556666"
REQUEST = {"name": "a", "region": "us-south", "resource_group": GROUP}


class Lines:
    """An audit log in memory."""

    def __init__(self) -> None:
        self.said: list[tuple[str, str, str]] = []

    def log_sent(self, subject: str, call: Call) -> None:
        self.said.append(("sent", subject, call.operation))

    def log_done(self, subject: str, call: Call, error: BaseException | None) -> None:
        self.said.append(("done", subject, call.operation))


class Account:
    """The operator's account on a simulated cloud."""

    def __init__(self, api_key: str | None = None) -> None:
        self.audit = Lines()
        self.clock = ManualClock()
        self.cloud = SimulatedIBM(self.clock)
        key = api_key or self.cloud.settings.api_key
        self.ibm = IbmAccount(key, BASE, self.clock, self.audit, mount=SimMount(self.cloud), port=InlinePort())

    def writes(self) -> list[str]:
        return [call.operation for call in self.cloud.calls if call.mutating]


async def test_the_changes_of_an_object_are_audited_under_its_name() -> None:
    account = Account()
    deps = account.ibm.build_deps("cluster a", RING, UUID)
    await deps.port.send(Call("store", "save_journal", Effect.STORE, lambda: None))
    await deps.registry["vpc"].driver.create(REQUEST, Birth("token", NONCE))
    assert account.audit.said == [("sent", "cluster a", "create_vpc"), ("done", "cluster a", "create_vpc")]


async def test_a_create_that_no_write_of_the_object_allowed_is_not_sent() -> None:
    """Compare-and-set orders only the writes of the object; another process may have the object by now."""
    account = Account()
    with pytest.raises(Unavailable, match="was not sent"):
        await (
            account.ibm.build_deps("cluster a", RING, UUID)
            .registry["vpc"]
            .driver.create(REQUEST, Birth("token", NONCE))
        )
    assert account.writes() == []


def test_a_key_that_is_added_is_used_from_the_next_pass_on() -> None:
    """Drivers are kept, the ring that they were made with is not."""
    account = Account()
    account.ibm.build_deps("cluster a", RING, UUID)
    other = KeyRing.single(b"another key of these tests" * 2)
    assert account.ibm.build_deps("cluster a", other, UUID).ring == other


async def test_read_only_dependencies_send_no_write() -> None:
    account = Account()
    with pytest.raises(Frozen, match="is not sent"):
        await account.ibm.build_read_only_deps(RING).registry["vpc"].driver.create(REQUEST, Birth("token", NONCE))
    assert account.writes() == []


def test_nothing_is_remembered_of_an_object_that_is_gone() -> None:
    """A new object with its name must not use drivers that remember the places of the old one."""
    account = Account()
    before = account.ibm.build_deps("cluster a", RING, UUID)
    assert account.ibm.build_deps("cluster a", RING, UUID) is before
    account.ibm.forget("cluster a")
    assert account.ibm.build_deps("cluster a", RING, UUID) is not before


def test_a_call_that_waits_for_a_thread_when_the_operator_stops_is_never_sent() -> None:
    """Its process counts as dead; no other process would expect the effect of a later call."""
    ran: list[str] = []
    with IbmAccount("key", BASE, ManualClock()) as account:
        pool: Any = account._require_pool()
        gate: Future[None] = Future()
        busy = [pool.submit(gate.result) for _ in range(pool._max_workers)]
        late = pool.submit(ran.append, "sent")
    gate.set_result(None)
    assert [each.result(timeout=60) for each in busy] == [None] * len(busy)
    assert late.cancelled()
    assert ran == []


async def test_a_failed_discovery_does_not_report_that_nothing_exists() -> None:
    lookup = ById(NodeKey("workspace", "main"), "00000000-0000-4000-8000-000000000000")
    assert await Account().ibm.facts_reader().look_up(lookup) == NotThere()
    refused = await Account(api_key="revoked").ibm.facts_reader().look_up(lookup)
    assert isinstance(refused, NoAnswer)
    assert "IBMCLOUD_API_KEY" in refused.message


async def test_a_discovery_shows_what_exists() -> None:
    account = Account()
    made = account.cloud.strangers.make("workspace", zone="dal10", name="theirs")
    found = await account.ibm.facts_reader().look_up(ById(NodeKey("workspace", "main"), made["id"]))
    assert isinstance(found, Answer)
    assert found.value.name == "theirs"


def test_a_plan_changes_nothing() -> None:
    harness = Harness()
    found = planned(harness)
    assert {row.action for row in found.rows} == {"create", "add part"}
    assert made_by_us(harness) == []
    assert not [call for call in harness.calls() if call.mutating]


def test_a_plan_of_an_existing_cluster_keeps_it() -> None:
    """Its resources are not a stranger's: the stored object shows whose they are."""
    harness = standing(Harness)
    found = planned(harness)
    assert {row.action for row in found.rows} == {"keep"}
    assert not found.changes
    assert found.writes == {}


def test_a_create_that_was_denied_is_told_as_such() -> None:
    """A plan sends no create, so only the status knows. Any cloud's kinds: it is one mechanism."""
    harness = Harness(example())
    harness.cloud.faults.add(Fault(Hits.DENIED, "vpc.create_vpc", count=None))
    harness.settle()
    (row,) = [each for each in harness.status()["resources"] if each["kind"] == "vpc"]
    assert (row["state"], row["reason"]) == ("Blocked", "Denied")
    (vpc,) = [each for each in planned(harness).rows if each.kind == "vpc" and not each.attribute]
    assert vpc.action == "create"
    assert vpc.reason == (
        f"does not exist; the last try was refused (Denied, blocked since {row['since']}): {row['message']}"
    )


def test_a_cloud_that_does_not_answer_is_not_reported_as_an_error_in_the_manifest() -> None:
    """The plan can be tried again; an error in the manifest must be edited."""
    harness = Harness(example())
    before = planned(harness)
    assert not before.problems
    harness.cloud.faults.add(Fault(Hits.ERROR_BEFORE, "power.list_datacenters", count=None, status=503))
    found = planned(harness)
    assert found.problems == ()
    assert found.unanswered
