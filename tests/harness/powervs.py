"""A harness for scenarios of PowerVS clusters: the whole reconcile on a simulated cloud, in virtual time, inline.

One thread, no socket, no sleep. ``Harness.process`` is the operator's memory: dropping it is a kill -9.
Used by scenario tests, by the crash families and by the benchmarks.
"""

from __future__ import annotations

import copy
import json
import marshal
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar, cast

import yaml

from freehold.api import names
from freehold.api.feature_gates import DEFAULT_GATES, FeatureGate, FeatureGates
from freehold.api.served import ServedName
from freehold.controllers.collecting import Collections
from freehold.controllers.connections import collects_new_objects
from freehold.controllers.controller import Done, RequeueAfter, Result
from freehold.controllers.events import Severity
from freehold.controllers.name_claims import NameClaims
from freehold.controllers.other_objects import find_claimed_tags, find_naming_objects, find_owning_objects
from freehold.controllers.reconciler import Reconciler
from freehold.controllers.repairs import Repaired, RepairWatch, ignore_repairs
from freehold.controllers.secret_writer import SecretWriter
from freehold.engine import journal as journals
from freehold.engine.clock import Clock, ManualClock
from freehold.engine.interface import Intervals
from freehold.engine.journal import Journal, StaleObject
from freehold.engine.keys import KeyRing
from freehold.engine.ownership import Owner
from freehold.engine.port import InlinePort, Port
from freehold.kube.resources import Key
from freehold.providers.access.accounts import Accounts, Binding, OneAccount
from freehold.providers.access.audit import Audit, NoAudit
from freehold.providers.base import ObjectReader
from freehold.providers.ibm import api_names as ibm_names
from freehold.providers.ibm.accounts import IbmAccount
from freehold.providers.ibm.powervs.adapter import PowerVSClusterAdapter
from freehold.providers.ibm.powervs.kind import POWERVS_CLUSTER
from freehold.providers.objects.gate import ClusterApiMode, ClusterContext
from freehold_sim.ibm.cloud import SimulatedIBM
from freehold_sim.ibm.settings import Settings
from freehold_sim.simulated import SimulatedCloud
from harness.account import BASE, SimMount
from harness.stepping import run_blocking

EXAMPLE = Path(__file__).parents[2] / "examples" / "powervs-create-infra.yaml"
UID = "0b7e6a52-9a59-4d0c-8a2c-6f0d6f5f1c11"
"""The object's UID when it is first stored, and so the uuid of its owner."""
IGNITION: FeatureGates = DEFAULT_GATES | {FeatureGate.BOOTSTRAP_FORMAT_IGNITION}
"""With it ``cosInstance`` is acted on."""
HOT = 0.5
"""An interval that no reconcile may request repeatedly."""


def example(**spec: Any) -> dict[str, Any]:
    """The cluster of the upstream template, with changes merged into its spec; a value of None removes the field."""
    documents = yaml.safe_load_all(EXAMPLE.read_text())
    found: dict[str, Any] = next(d for d in documents if d["kind"] == ibm_names.POWERVS_CLUSTER_KIND)
    for key, value in spec.items():
        if value is None:
            found["spec"].pop(key, None)
        else:
            found["spec"][key] = value
    return found


def _packed(raw: Mapping[str, Any]) -> bytes:
    return marshal.dumps(dict(raw), 2)  # of version 2: what is in two places is two


def _unpacked(packed: bytes) -> dict[str, Any]:
    return cast("dict[str, Any]", marshal.loads(packed))  # noqa: S302 - _packed made it


def _copied(raw: Mapping[str, Any]) -> dict[str, Any]:
    return _unpacked(_packed(raw))


def _received(value: Any) -> Any:
    """Return a value of a patch as an API server gets it; raises TypeError for what is no JSON."""
    return json.loads(json.dumps(value))


def _merge(target: dict[str, Any], patch: Mapping[str, Any]) -> bool:
    """Return whether the merge patch has changed ``target``."""
    changed = False
    for name, value in patch.items():
        if value is None:
            changed |= name in target
            target.pop(name, None)
        elif isinstance(value, Mapping):
            changed |= name not in target
            changed |= _merge(target.setdefault(name, {}), value)
        else:
            received = _received(value)
            changed |= name not in target or target[name] != received
            target[name] = received
    return changed


class StoredObject:
    """One object in the API server: versions, generation, separate status, finalizers."""

    def __init__(self, manifest: Mapping[str, Any], now: Callable[[], float], uid: str = UID) -> None:
        self._version = 0
        self._now = now
        self.raw: dict[str, Any] = copy.deepcopy(dict(manifest))
        self.raw["metadata"] |= {"uid": uid, "generation": 1}
        self.raw["metadata"].setdefault("namespace", "default")
        self.gone = False
        self._history: list[bytes] = []
        self._bump()

    def _bump(self) -> None:
        self._version += 1
        self.raw["metadata"]["resourceVersion"] = str(self._version)
        metadata = self.raw["metadata"]
        if "deletionTimestamp" in metadata and not metadata.get("finalizers"):
            self.gone = True
        self._history.append(_packed(self.raw))

    @property
    def history(self) -> list[dict[str, Any]]:
        """Every version that was ever stored, oldest first."""
        return [_unpacked(version) for version in self._history]

    @property
    def versions(self) -> int:
        """How many versions were ever stored."""
        return len(self._history)

    def restore(self, backup: Mapping[str, Any]) -> None:
        """As a tool does that puts a backup over a living object."""
        self.raw = {
            **self.raw,
            "spec": copy.deepcopy(backup["spec"]),
            "status": copy.deepcopy(backup.get("status", {})),
        }
        annotations = copy.deepcopy(backup["metadata"].get("annotations", {}))
        generation = self.raw["metadata"]["generation"] + 1
        self.raw["metadata"] = {**self.raw["metadata"], "annotations": annotations, "generation": generation}
        self._bump()

    def begin_anew(self) -> None:
        """As a restore of the API server's store from before the first pass leaves it: with its UID, and no more."""
        self.raw = self.history[0]
        self._bump()

    def patch(self, patch: Mapping[str, Any], subresource: str = "") -> dict[str, Any]:
        """A merge patch by compare-and-set. Returns a copy of what is stored then."""
        wanted = (patch.get("metadata") or {}).get("resourceVersion")
        if self.gone or (wanted is not None and wanted != self.raw["metadata"]["resourceVersion"]):
            raise StaleObject("the object changed")
        if subresource == "status":
            status = _received(patch["status"])
            changed = {"status"} if self.raw.get("status") != status else set()
            self.raw["status"] = status
        else:
            changed = {name for name, value in patch.items() if name != "status" and _merge(self.raw, {name: value})}
        if not changed:
            return _copied(self.raw)
        if "spec" in changed:
            self.raw["metadata"]["generation"] += 1
        self._bump()
        return _unpacked(self._history[-1])

    def delete(self) -> None:
        self.raw["metadata"].setdefault("deletionTimestamp", "2026-11-21T00:00:00Z")
        self._bump()

    def continue_from(self, other: StoredObject) -> None:
        """Become a copy of another one: what is stored, and all that was."""
        self.raw, self._version, self._history = _copied(other.raw), other._version, [*other._history]


class MemoryDocument:
    """One pass's view of a stored object (controllers.reconciler.ObjectHandle)."""

    def __init__(self, stored: StoredObject) -> None:
        self._stored = stored
        self.raw = _copied(stored.raw)

    async def read_newest(self) -> dict[str, Any]:
        return _copied(self._stored.raw)

    async def save(self, journal: Journal) -> None:
        await self.apply({"metadata": {"annotations": {names.JOURNAL_ANNOTATION: journals.dumps(journal)}}})

    async def apply(self, patch: Mapping[str, Any]) -> None:
        version = self.raw["metadata"]["resourceVersion"]
        self._write({**patch, "metadata": {**patch.get("metadata", {}), "resourceVersion": version}})

    async def patch_status(self, status: Mapping[str, Any]) -> None:
        if status != (self.raw.get("status") or {}):
            version = self.raw["metadata"]["resourceVersion"]
            self._write({"metadata": {"resourceVersion": version}, "status": status}, "status")

    def _write(self, patch: Mapping[str, Any], subresource: str = "") -> None:
        self.raw = self._stored.patch(patch, subresource)


@dataclass
class Events:
    """The events that were recorded."""

    said: list[tuple[str, str, str]] = field(default_factory=list)
    refused: bool = False
    """The namespace is being deleted: the API server takes no Event in it, and nobody reads what is told so."""

    def record(self, obj: dict[str, Any], severity: Severity, reason: str, message: str) -> None:
        if not self.refused:
            self.said.append((severity.value, reason, message))


@dataclass
class HeldRing:
    """The operator's key ring (controllers.reconciler.Rings), set by the test. ``missed`` counts its calls."""

    ring: KeyRing = field(default_factory=lambda: KeyRing.single(b"the key of the stage" * 2))
    asked_for_more: int = 0

    def report_missing_key(self) -> None:
        self.asked_for_more += 1


class HarnessObjects:
    """What the objects of some harnesses have put on resources that they share (engine.inventory.OtherObjects)."""

    def __init__(self, harnesses: Iterable[ReconcilerHarness[Any]]) -> None:
        self._harnesses = harnesses

    async def tags_on(self, owner: Owner, target: str, ring: KeyRing | None = None) -> frozenset[str]:
        return find_claimed_tags(self.stored(), owner, target, ring)

    async def owning(
        self, owner: Owner, kind: str, idents: Collection[str], ring: KeyRing | None = None
    ) -> Mapping[str, tuple[str, ...]]:
        return find_owning_objects(self.stored(), owner, kind, idents, ring)

    async def naming(self, owner: Owner, words: Collection[str]) -> tuple[str, ...]:
        return find_naming_objects(self.stored(), owner, words)

    async def everything(self) -> list[dict[str, Any]]:
        return self.stored()

    def stored(self, kind: str = "") -> list[dict[str, Any]]:
        there = [each.object.raw for each in self._harnesses if not each.object.gone]
        return [raw for raw in there if kind in ("", raw["kind"])]


Cloud = TypeVar("Cloud", bound=SimulatedCloud)


class ReconcilerHarness(ABC, Generic[Cloud]):
    """A simulated account, one object, one operator process, one clock.

    ``beside``: another harness, whose account and clock this one shares.
    """

    served: ClassVar[ServedName]
    reader: ObjectReader | None = None
    """What reads the Secrets of machines."""

    def __init__(
        self,
        manifest: Mapping[str, Any],
        intervals: Intervals | None = None,
        around: ClusterContext | None = None,
        port: Callable[[], Port] = InlinePort,
        audit: Audit | None = None,
        beside: ReconcilerHarness[Cloud] | None = None,
        gates: FeatureGates = DEFAULT_GATES,
    ) -> None:
        self.clock: ManualClock = beside.clock if beside else ManualClock()
        self.wall: Clock = self.clock
        self.cloud: Cloud = beside.cloud if beside else self.new_cloud()
        self.together: list[ReconcilerHarness[Cloud]] = beside.together if beside else []
        self.together.append(self)
        uid = UID if beside is None else f"{len(self.together):08d}{UID[8:]}"
        self.object = StoredObject(manifest, self.clock.now, uid)
        self.events = Events()
        self.repairs: Counter[str] = Counter()
        self.on_repair: RepairWatch = ignore_repairs
        self.rings = HeldRing()
        self.around = around or ClusterContext(ClusterApiMode.OFF)
        self.passes = 0
        self._hot = 0
        self._last_pass = float("-inf")
        self._intervals = intervals or Intervals()
        self._port = port
        self._audit = audit or NoAudit()
        self.gates = gates
        self.start_process()

    @abstractmethod
    def new_cloud(self) -> Cloud:
        """The simulated cloud, on the clock of this harness."""

    @abstractmethod
    def new_accounts(self) -> Accounts:
        """What a process that starts now has of the cloud: no tokens, no clients, nothing that it has read."""

    def start_process(self) -> None:
        """A new operator process: everything in memory is lost, tokens and clients too."""
        others, accounts = HarnessObjects(self.together), self.new_accounts()
        of_kind = partial(others.stored, self.served.kind)
        claims = NameClaims(self.served, accounts, of_kind) if self.served.once_in_account else None
        self.process = Reconciler(
            self.served, accounts, self.rings, self.wall, self.events, others, claims,
            Collections(self.wall, others.everything), collects=collects_new_objects(self.served, self.gates),
            reader=self.reader, secrets=self.new_secret_writer(),
            on_repair=self.note_repairs,
        )  # fmt: skip

    def note_repairs(self, kind: str, key: Key, repaired: Repaired) -> None:
        """Count what was changed from outside and brought back, and remember it."""
        self.repairs.update({kind: len(repaired)})
        self.on_repair(kind, key, repaired)

    def new_secret_writer(self) -> SecretWriter | None:
        """What writes the Secrets that objects keep."""
        return None

    def keep(self) -> Any:
        """Return what is neither in the account nor in the object, for ``continue_with`` of another harness."""

    def continue_with(self, kept: Any) -> None:
        """Begin with what another harness kept."""

    def pass_once(self) -> Result:
        """One reconcile of the object as it is stored."""
        self.passes += 1
        self._hot = self._hot + 1 if self.clock.now() - self._last_pass < HOT else 0
        self._last_pass = self.clock.now()
        assert self._hot < 30, f"a hot loop: 30 passes within {HOT} s of each other: {self.conditions()}"
        return run_blocking(self.process.reconcile(MemoryDocument(self.object), self.around))

    def run(self, until: Callable[[], bool], limit: float = 7200.0) -> float:
        """Run passes on virtual time until ``until``; the seconds that it took. Fails at ``limit``."""
        begun = self.clock.now()
        while not until():
            if self.clock.now() - begun > limit:
                raise AssertionError(f"not there after {limit:.0f} s: {self.conditions()}")
            result = self.pass_once()
            if until():
                break
            self.clock.advance(max(result.seconds, 0.01) if isinstance(result, RequeueAfter) else 60.0)
        return self.clock.now() - begun

    def up(self) -> float:
        """Until Ready; the seconds of domain time that it took."""
        return self.run(self.ready)

    def down(self) -> float:
        """Delete the object, and run until it is gone."""
        self.object.delete()
        return self.run(lambda: self.object.gone)

    def settle(self, passes: int = 3) -> None:
        """A few more passes, each at the requested time."""
        for _ in range(passes):
            result = self.pass_once()
            self.clock.advance(result.seconds if isinstance(result, RequeueAfter) else 60.0)

    # --- what can be seen ----------------------------------------------------------------------

    def status(self) -> dict[str, Any]:
        return dict(self.object.raw.get("status") or {})

    def condition(self, type_: str) -> dict[str, Any]:
        return next((c for c in self.status().get("conditions", []) if c["type"] == type_), {})

    def conditions(self) -> dict[str, str]:
        return {
            c["type"]: f"{c['status']} {c['reason']} {c.get('message', '')}"
            for c in self.status().get("conditions", [])
        }

    def for_a_while(self, seconds: float) -> None:
        """Run passes, each at the requested time, until that much domain time has passed."""
        until = self.clock.now() + seconds
        while self.clock.now() < until and not self.object.gone:
            result = self.pass_once()
            wake = result.seconds if isinstance(result, RequeueAfter) else 60.0
            self.clock.advance(min(max(wake, 0.01), max(until - self.clock.now(), 0.01)))

    def ready(self) -> bool:
        return self.condition(names.READY).get("status") == "True"

    def resources(self) -> list[dict[str, Any]]:
        """Everything in the account, from the cloud itself."""
        return self.cloud.resources()

    def calls(self, *, mutating: bool | None = None) -> list[Any]:
        """The cloud's log of the operator's requests."""
        return [
            call
            for call in self.cloud.calls
            if call.actor != "stranger" and (mutating is None or call.mutating is mutating)
        ]


class Harness(ReconcilerHarness[SimulatedIBM]):
    """An IBM Cloud account and an IBMPowerVSCluster in it."""

    served = POWERVS_CLUSTER

    def __init__(
        self,
        manifest: Mapping[str, Any] | None = None,
        settings: Settings | None = None,
        intervals: Intervals | None = None,
        around: ClusterContext | None = None,
        port: Callable[[], Port] = InlinePort,
        api_key: str | None = None,
        audit: Audit | None = None,
        beside: Harness | None = None,
        gates: FeatureGates = DEFAULT_GATES,
    ) -> None:
        self._settings = settings
        self._api_key = api_key
        super().__init__(manifest or example(), intervals, around, port, audit, beside, gates)

    def new_cloud(self) -> SimulatedIBM:
        return SimulatedIBM(self.clock, self._settings)

    def new_accounts(self) -> Accounts:
        self.account = IbmAccount(
            self._api_key or self.cloud.settings.api_key,
            BASE,
            self.wall,
            self._audit,
            self._intervals,
            mount=SimMount(self.cloud),
            port=self._port(),
        )
        return OneAccount(Binding(self.account, PowerVSClusterAdapter(self.account.facts_reader(), self.gates)))


__all__ = ["Done", "Events", "Harness", "MemoryDocument", "StoredObject", "example"]
