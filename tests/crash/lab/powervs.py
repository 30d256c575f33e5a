"""The whole PowerVS create and delete on the simulated IBM Cloud, under the same port and the same oracles.

Everything but the API server's store is the product: reconciler, drivers, the vendor's SDKs down to the
bytes. What exists, and who made it, is read from the simulated world itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest

from freehold.lifecycle import workflow
from freehold.lifecycle.errors import CloudError
from freehold.lifecycle.journal import StaleObject
from freehold.lifecycle.port import Effect
from freehold.operator.controller import RequeueAfter
from lab import faults
from lab.baselines import Naive
from lab.families import Tally
from lab.faults import Crash, Fault, FaultPort, Script
from lab.oracles import Verdict
from stage.powervs import Stage

MOST_PASSES = 400
GONE = {"removed", "pending_reclamation", "reclaimed", "deleting", "delete_pending"}


class _Batches:
    """Partial batches are a fault of the simulated cloud's own; the port has none to switch on here."""

    def partially(self, failing: bool) -> None:
        raise AssertionError("give the simulated cloud its own PARTIAL fault: the port cannot split a batch of its")

    def later(self, seconds: float, effect: Callable[[], object]) -> None:
        raise AssertionError("give the simulated cloud its own LATE fault: the port cannot delay an effect of its")


@dataclass
class PowerVSLife:
    """One cluster's life; strangers stand beside it from the beginning."""

    script: Script = field(default_factory=Script)
    restart_after: float = 0.0
    manifest: dict[str, Any] | None = None
    stopped: int = 0

    def __post_init__(self) -> None:
        self.port = FaultPort(_Batches(), self.script)  # type: ignore[arg-type]  # the two switches only
        self.stage = Stage(self.manifest, port=lambda: self.port)
        self._invite_strangers()
        self.before = self.strangers()

    def _invite_strangers(self) -> None:
        strangers = self.stage.cloud.strangers
        theirs = strangers.make("vpc", region="us-south", name="freehold-demo-vpc-of-somebody-else")
        strangers.make("subnet", region="us-south", vpc=theirs["id"], zone="us-south-1", name="freehold-demo-vpcsubnet")
        strangers.make("gateway", location="us-south", name="their-gateway", tags=["team:blue"])

    def strangers(self) -> dict[str, Any]:
        return {r["id"]: dict(r) for r in self.stage.resources() if r["created_by"] == "stranger"}

    def ours(self) -> list[dict[str, Any]]:
        """What we made and still stands (an instance in reclamation is on its way out)."""
        return [r for r in self.stage.resources() if r["created_by"] != "stranger" and r["state"] not in GONE]

    def until(self, reached: Callable[[], bool]) -> bool:
        for _ in range(MOST_PASSES):
            try:
                result = self.stage.pass_once()
            except Crash:
                self.stopped += 1
                self.stage.clock.advance(self.restart_after)
                self.stage.start_process()
                continue
            except StaleObject:
                continue
            except CloudError:
                self.stage.clock.advance(5.0)
                continue
            if reached():
                return True
            self.stage.clock.advance(max(result.seconds, 0.01) if isinstance(result, RequeueAfter) else 60.0)
        return False

    def create(self) -> bool:
        return self.until(self.stage.ready)

    def rest(self, passes: int = 3) -> int:
        """Writes in some further passes: there should be none."""
        begun = self.port.writes
        for _ in range(passes):
            self.until(lambda: True)
            self.stage.clock.advance(300.0)
        return self.port.writes - begun

    def delete(self) -> bool:
        if "deletionTimestamp" not in self.stage.object.raw["metadata"]:
            self.stage.object.delete()
        return self.until(lambda: self.stage.object.gone)


def kinds(life: PowerVSLife) -> Counter[str]:
    return Counter(record["kind"] for record in life.ours())


def run(script: Script, wanted: Counter[str], *, restart_after: float = 0.0) -> Verdict:
    """Create, rest, delete; then judge by what the simulated world holds."""
    life, verdict = PowerVSLife(script, restart_after), Verdict()
    if life.create():
        _compare(life, wanted, verdict)
        if life.rest():
            verdict.restless.append("wrote although nothing differed")
    else:
        verdict.wedged.append(f"never ready: {life.stage.conditions()}")
    _end(life, verdict)
    return verdict


def _compare(life: PowerVSLife, wanted: Counter[str], verdict: Verdict) -> None:
    made = kinds(life)
    verdict.duplicates += [f"{made[k]} of {k}, wanted {wanted[k]}" for k in made if made[k] > wanted[k]]
    verdict.unlike += [f"{made[k]} of {k}, wanted {wanted[k]}" for k in wanted if made[k] < wanted[k]]


def _end(life: PowerVSLife, verdict: Verdict) -> None:
    if life.delete():
        verdict.orphans += [f"{r['kind']} {r['name']} {r['id']}" for r in life.ours()]
    else:
        verdict.wedged.append(f"never gone: {life.stage.conditions()}")
    after = life.strangers()
    changed = [id_ for id_, was in life.before.items() if after.get(id_) != was]
    verdict.wrong += [f"{id_}: {life.before[id_]} became {after.get(id_)}" for id_ in changed]
    verdict.calls = len(life.port.calls)
    reached = len(life.stage.calls(mutating=True))
    if reached != life.port.sent:
        verdict.unaudited.append(f"{reached} requests changed the cloud, {life.port.sent} went through the port")


@dataclass(frozen=True)
class Golden:
    """The undisturbed life: how many calls it makes, and what stands when it is ready."""

    calls: int
    kinds: Counter[str]
    effects: tuple[Effect, ...]


def golden() -> Golden:
    life = PowerVSLife()
    assert life.create()
    made = kinds(life)
    life.rest()
    assert life.delete()
    return Golden(len(life.port.calls), made, tuple(call.effect for call in life.port.calls))


def tally(
    family: str,
    kinds_of_fault: Iterable[Fault],
    calls: Iterable[int],
    wanted: Counter[str],
) -> Tally:
    """One fault at each of these calls."""
    result, numbers = Tally(family), list(calls)
    for fault in kinds_of_fault:
        for number in numbers:
            verdict = run(Script({number: fault}), wanted)
            result.add(f"{fault} at {number}", verdict)
    return result


CRASHES = (faults.BEFORE, faults.AFTER)


def naive_run(
    naive: Naive, script: Script, wanted: Counter[str], patch: pytest.MonkeyPatch
) -> tuple[PowerVSLife, Verdict]:
    """A naive controller in the engine's place."""
    patch.setattr(workflow, "ensure", naive.ensure)
    patch.setattr(workflow, "release", naive.release)
    life, verdict = PowerVSLife(script), Verdict()
    if life.create():
        _compare(life, wanted, verdict)
    else:
        verdict.wedged.append(f"never ready: {life.stage.conditions()}")
    _end(life, verdict)
    return life, verdict


def run_baseline(naive: type[Naive], operation: str, wanted: Counter[str], monkeypatch: pytest.MonkeyPatch) -> Verdict:
    """A naive controller that dies right after its first ``operation`` (never, if empty)."""
    with monkeypatch.context() as patch:
        life, verdict = naive_run(naive(), Script(), wanted, patch)
        numbers = [i for i, call in enumerate(life.port.calls) if operation and call.operation == operation]
        if not numbers:
            return verdict
        return naive_run(naive(), Script({numbers[0]: faults.AFTER}), wanted, patch)[1]
