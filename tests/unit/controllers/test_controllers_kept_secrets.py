"""Passes keep the Secrets of an object: also while nothing else happens, after a restart, and with a wrong spec."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import pytest
from test_controllers_toy_kind import TOY, MemoryAccount, ToyAdapter, Toys

from freehold.api import names
from freehold.api.conditions import Observation
from freehold.controllers.plan.planner import plan_with_accounts
from freehold.controllers.reconciler import Reconciler
from freehold.controllers.secret_writer import SecretWriter
from freehold.engine.clock import ManualClock
from freehold.engine.errors import Denied
from freehold.engine.outcomes import Ready
from freehold.engine.secret_values import SecretValue
from freehold.kube import errors as kube
from freehold.kube.resources import Key
from freehold.providers.access.accounts import Binding, NoCredentials
from freehold.providers.objects import status
from freehold.providers.objects.adapter import PassReport, StatusUpdate
from freehold.providers.objects.gate import ClusterApiMode, ClusterContext, Proceed
from freehold.providers.objects.kept_secrets import WantedSecret
from harness.powervs import Events, HeldRing
from harness.stepping import run_blocking
from harness.stored_objects import MemoryObjects

LIFE = 900.0
KEY = Key("default", "bear-kubeconfig")


class KeepingAdapter(ToyAdapter):
    """A toy whose door is opened with a token. ``signed`` are the tokens, each with the time in it."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.signed: list[str] = []
        self.refused = False

    async def find_secrets(
        self, raw: Mapping[str, Any], proceed: Proceed, report: PassReport
    ) -> tuple[WantedSecret, ...]:  # type: ignore[override]  # a toy has none
        if self.refused:
            raise Denied("nobody signs")
        made = any(isinstance(each, Ready) for each in report.outcomes.values()) or "made" in (raw.get("status") or {})
        if not made:
            return ()
        self.signed.append(f"canary-{self.clock.now():.0f}")
        token = SecretValue("token", self.signed[-1].encode())
        return (WantedSecret(KEY.name, "Opaque", {}, {"value": token}, "one door", LIFE / 2),)

    def build_status(self, raw: Mapping[str, Any], report: PassReport, now: datetime) -> StatusUpdate:
        """``Opened`` is true once the Secret is there."""
        made = super().build_status(raw, report, now)
        problems = "; ".join(each.message for each in report.secrets.problems)
        opened = report.secrets.is_kept(KEY.name)
        shown = [Observation("Opened", "True" if opened else "False", "Opened" if opened else "NotOpened", problems)]
        before = {**made.status, **({"made": True} if opened else {})}
        return status.build_update(raw, before, shown, now)


class Keepers:
    """The accounts: all toys are in one."""

    def __init__(self, account: MemoryAccount, adapter: KeepingAdapter) -> None:
        self._binding = Binding(account, adapter)

    async def bind(self, raw: Mapping[str, Any]) -> Binding | NoCredentials:
        return self._binding


class KeepingToys(Toys):
    """One such toy, the operator's process, and an API server with Secrets."""

    def __init__(self, **spec: object) -> None:
        super().__init__(**spec)
        self.server = MemoryObjects()
        self.adapter = KeepingAdapter(self.world.clock)
        self.events = Events()
        self.restart()

    def restart(self) -> None:
        accounts = Keepers(MemoryAccount(self.world), self.adapter)
        clock = self.world.clock
        self.process = Reconciler(
            TOY, accounts, HeldRing(self.world.ring), clock, self.events, secrets=SecretWriter(self.server, clock)
        )

    @property
    def stored(self) -> dict[str, Any]:
        return self.server.objects["Secret", KEY]

    def token(self) -> str:
        return base64.b64decode(self.stored["data"]["value"]).decode()

    def age(self) -> float:
        """The age of the token that is there."""
        return self.world.clock.now() - float(self.token().removeprefix("canary-"))

    def opened(self) -> tuple[str, str]:
        conditions = (self.object.raw.get("status") or {}).get("conditions") or []
        return next((c["status"], c.get("message", "")) for c in conditions if c["type"] == "Opened")


@pytest.fixture
def toys() -> KeepingToys:
    made = KeepingToys(size=1)
    made.run(6)
    assert made.ready() == "True" and made.opened() == ("True", "")
    return made


def test_an_idle_operator_renews_in_time_and_writes_nothing_else(toys: KeepingToys) -> None:
    version, calls = toys.object.raw["metadata"]["resourceVersion"], len(toys.world.cloud.log)
    begun, ages = toys.world.clock.now(), []
    toys.server.written.clear()
    while toys.world.clock.now() < begun + 8 * LIFE:
        toys.once()
        ages.append(toys.age())
    assert max(ages) <= LIFE / 2 + 1.0
    assert len(toys.server.written) in (15, 16, 17), "once in half a life"
    assert (toys.object.raw["metadata"]["resourceVersion"], len(toys.world.cloud.log)) == (version, calls)


@pytest.mark.parametrize(("away", "renewed"), [(60.0, False), (LIFE / 2, True), (5 * LIFE, True)])
def test_a_new_process_knows_from_the_secret_when_it_is_due(toys: KeepingToys, away: float, renewed: bool) -> None:
    toys.server.objects.clear()
    toys.pass_once()
    before = toys.token()
    toys.world.clock.advance(away)
    toys.restart()
    toys.once()
    assert (toys.token() != before) is renewed
    for _ in range(10):
        toys.once()
        assert toys.age() <= LIFE / 2 + 1.0


def test_a_wrong_spec_does_not_end_what_was_opened(toys: KeepingToys) -> None:
    """Nobody could reach the cluster any more, a quarter of an hour after a typing error."""
    toys.object.patch({"spec": {"size": "large"}})
    for _ in range(20):
        toys.once()
        assert toys.age() <= LIFE / 2 + 1.0
    assert toys.opened() == ("True", "")


def test_a_deleted_secret_is_there_again_after_the_next_pass(toys: KeepingToys) -> None:
    toys.server.objects.clear()
    toys.once()
    assert toys.age() <= LIFE / 2


def test_the_status_says_what_keeps_the_secret_from_being_there() -> None:
    toys = KeepingToys(size=1)
    toys.server.objects["Secret", KEY] = {"metadata": {"name": KEY.name, "namespace": "default"}, "data": {}}
    toys.run(6)
    state, message = toys.opened()
    assert state == "False" and "kubectl delete secret bear-kubeconfig -n default" in message
    assert toys.stored["data"] == {} and toys.sizes() == [1]
    toys.server.objects.clear()
    toys.once()
    assert toys.opened() == ("True", "")


def test_the_status_says_that_nobody_signs_and_the_rest_goes_on() -> None:
    toys = KeepingToys(size=1)
    toys.adapter.refused = True
    toys.run(6)
    assert toys.opened() == ("False", "nobody signs") and toys.sizes() == [1]
    toys.adapter.refused = False
    toys.run(3)
    assert toys.opened() == ("True", "")


def test_an_api_server_that_is_away_is_tried_again(toys: KeepingToys) -> None:
    def refuse(verb: str, name: str) -> None:
        raise kube.ServerUnavailable("no answer")

    toys.world.clock.advance(LIFE / 2)
    toys.server.before = refuse
    with pytest.raises(kube.ServerUnavailable):
        toys.pass_once()
    toys.server.before = lambda verb, name: None
    toys.pass_once()
    assert toys.age() < 1.0


@pytest.mark.parametrize("annotation", [names.PAUSED_ANNOTATION, names.MANAGED_BY_ANNOTATION])
def test_what_is_paused_or_of_others_is_not_written(toys: KeepingToys, annotation: str) -> None:
    toys.object.patch({"metadata": {"annotations": {annotation: "other"}}})
    toys.server.written.clear()
    toys.run(3)
    assert toys.server.written == []


def test_an_object_in_deletion_gets_no_new_secret(toys: KeepingToys) -> None:
    toys.server.objects.clear()
    toys.server.written.clear()
    toys.object.delete()
    toys.run()
    assert toys.object.gone and toys.server.written == []


async def _plan(toys: KeepingToys) -> str:
    plan = await plan_with_accounts(
        TOY, Keepers(MemoryAccount(toys.world), toys.adapter), toys.world.clock, toys.object.raw,
        toys.world.ring, ClusterContext(ClusterApiMode.OFF),
    )  # fmt: skip
    return repr(plan)


def test_the_canary_is_found_nowhere_and_a_plan_writes_and_signs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """In no log, event, journal, status or plan."""
    caplog.set_level("DEBUG")
    toys = KeepingToys(size=1)
    for _ in range(12):
        toys.once()
    toys.server.written.clear()
    signed = len(toys.adapter.signed)
    shown = [run_blocking(_plan(toys)), json.dumps(toys.object.history), repr(toys.events.said), caplog.text]
    assert toys.server.written == [] and len(toys.adapter.signed) == signed
    toys.object.delete()
    toys.run()
    shown += [json.dumps(toys.object.history), caplog.text, repr(toys.events.said)]
    encoded = [base64.b64encode(each.encode()).decode() for each in toys.adapter.signed]
    assert not [each for each in (*toys.adapter.signed, *encoded, "canary") if any(each in text for text in shown)]
