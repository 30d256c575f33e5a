"""``freehold prune`` and ``freehold resolve``: a plan or the evidence first, and the answer of the operator."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
from pathlib import Path

import pytest
import yaml

from freehold.api.names import DECISIONS_ANNOTATION, JOURNAL_ANNOTATION
from freehold.cli.errors import CliError
from freehold.cli.objects.decisions import _store
from freehold.engine import decisions
from freehold.engine import journal as journals
from freehold.engine.decisions import Decision, Verdict
from freehold.engine.journal import Entry, Journal, RecordState
from freehold.engine.keys import KeyRing
from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey
from freehold.kube.resources import Json, Key
from freehold.providers.ibm.powervs.kind import POWERVS_CLUSTER
from freehold.providers.objects.served_resources import resource_of
from harness.commands import freehold_in
from harness.stored_objects import MemoryObjects

POWERVS_CLUSTERS = resource_of(POWERVS_CLUSTER)

ROOT = Path(__file__).parents[3]
MANIFEST = ROOT / "examples" / "powervs-minimal.yaml"


def _manifest(directory: Path, *balancers: str) -> str:
    (document,) = yaml.safe_load_all(MANIFEST.read_text())
    document["spec"]["loadBalancers"] = [{"name": name, "public": name == "one"} for name in balancers]
    path = directory / "manifest.yaml"
    path.write_text(yaml.safe_dump(document))
    return str(path)


@pytest.fixture(name="shrunk", scope="module")
def _shrunk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shrunk")
    for balancers in (("one", "two"), ("one",)):
        made = freehold_in(folder / "state", "up", "-f", _manifest(folder, *balancers), "--simulate", "--speed", "1000")
        assert made.returncode == 0, made.stderr
    return folder


@pytest.fixture(name="state")
def _state(shrunk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of a cluster whose spec has lost a load balancer since. Who decides is Ada."""
    monkeypatch.setenv("USER", "ada")
    shutil.copytree(shrunk, tmp_path, dirs_exist_ok=True)
    return tmp_path / "state"


def test_surplus_is_shown_and_deleted_only_when_that_is_said(state: Path) -> None:
    shown = freehold_in(state, "prune", "minimal")
    assert shown.returncode == 0, shown.stderr
    assert "1 to delete" in shown.stdout and "nothing was done" in shown.stdout and "two" in shown.stdout

    done = freehold_in(state, "prune", "minimal", "--yes", "--speed", "1000")
    assert done.returncode == 0, done.stderr
    assert "is gone" in done.stdout
    audit = [json.loads(line) for line in (state / "audit.jsonl").read_text().splitlines()]
    (decided,) = [line for line in audit if line["outcome"] == "decided"]
    assert decided["by"].startswith("ada@") and "load-balancer/two" in decided["resource"]

    assert "no surplus" in freehold_in(state, "prune", "minimal").stdout
    assert "Surplus" not in freehold_in(state, "tree", "minimal").stdout
    assert "nothing is left for a person to decide" in freehold_in(state, "resolve", "minimal").stdout


def _cut_off(state: Path) -> None:
    """The store as of the moment after the create of the load balancer was sent, and before its id was recorded."""
    with contextlib.closing(sqlite3.connect(state / "store.sqlite")) as store, store:
        (body,) = store.execute("SELECT body FROM objects WHERE collection LIKE '%ibmpowervsclusters'").fetchone()
        stored = json.loads(body)
        journal = json.loads(stored["metadata"]["annotations"][JOURNAL_ANNOTATION])
        entry = journal["nodes"]["load-balancer/one:public"]
        region, _, _ = entry.pop("id").partition("/")
        request = {"name": "one", "region": region, "public": True, "subnets": [], "pools": [], "listeners": []}
        journal["nodes"]["load-balancer/one:public"] = {**entry, "p": "i", "r": request}
        stored["metadata"]["annotations"][JOURNAL_ANNOTATION] = json.dumps(journal)
        store.execute(
            "UPDATE objects SET body = ? WHERE collection LIKE '%ibmpowervsclusters'", (json.dumps(stored).encode(),)
        )


def test_the_evidence_is_shown_before_a_person_decides(state: Path) -> None:
    """The command names the resource that the create may have made, and what speaks for it."""
    _cut_off(state)
    shown = freehold_in(state, "resolve", "minimal", "one", "--mine")
    assert shown.returncode == 0, shown.stderr
    assert "its outcome is unknown" in shown.stdout and "would be this object's own" in shown.stdout
    assert "nothing was done" in shown.stdout

    done = freehold_in(state, "resolve", "minimal", "one", "--mine", "--yes", "--speed", "1000")
    assert done.returncode == 0, done.stderr
    assert "is on record as ours" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["prune", "nobody"], "there is no cluster default/nobody"),
        (["resolve", "nobody"], "there is no cluster default/nobody"),
        (["resolve", "minimal", "--mine"], "say which resource"),
        (["resolve", "minimal", "vpc/main", "--yes"], "--mine or --not-mine"),
    ],
)
def test_what_cannot_be_decided_is_said_in_a_sentence(tmp_path: Path, words: list[str], said: str) -> None:
    told = freehold_in(tmp_path / "state", *words)
    assert told.returncode in (1, 2)
    assert said in told.stderr


RING = KeyRing.single(b"the key of the test " * 2)
TWO, OTHER = NodeKey("load-balancer", "two"), NodeKey("vpc", "main")
A = Key("default", "a")


def _journal(vpc: Entry | None = None) -> str:
    known = {TWO: Entry(RecordState.OWNED, id="lb-2", attempt=1)} | ({OTHER: vpc} if vpc else {})
    return journals.dumps(Journal(Owner("uuid", "IBMPowerVSCluster", "default", "a"), known))


class AtWork(MemoryObjects):
    """An API server on which the operator stores ``edits``, one before each write of the command."""

    def __init__(self, *edits: Json) -> None:
        super().__init__()
        self._edits = list(edits)
        self.between = self._work

    async def _work(self, name: str) -> None:
        if self._edits:
            edit, work = self._edits.pop(0), self.between
            self.between = MemoryObjects().between
            await self.patch(POWERVS_CLUSTERS, A, edit)
            self.between = work

    def pending(self) -> list[str]:
        annotations = self.objects[POWERVS_CLUSTERS.kind, A]["metadata"]["annotations"]
        stored = decisions.loads(annotations.get(DECISIONS_ANNOTATION, "[]"))
        return [each.node for each in decisions.pending(stored)]


async def _decided(api: AtWork) -> None:
    """A person agreed to delete the load balancer of what was stored first."""
    metadata = {"name": "a", "namespace": "default", "annotations": {JOURNAL_ANNOTATION: _journal()}}
    work, api.between = api.between, MemoryObjects().between
    raw = await api.create(POWERVS_CLUSTERS, {"metadata": metadata, "spec": {"zone": "dal10"}})
    api.between = work
    made = Decision(Verdict.PRUNE, str(TWO), "lb-2", 1, "ada", 0.0)
    await _store(api, POWERVS_CLUSTERS, raw, [made], RING)


def _with_journal(text: str) -> Json:
    return {"metadata": {"annotations": {JOURNAL_ANNOTATION: text}}}


async def test_a_decision_is_stored_although_the_operator_has_work_left() -> None:
    """The command starts the operator, which begins at once; what was agreed to is still the plan."""
    busy = AtWork(
        _with_journal(_journal(Entry(RecordState.INTENDED, attempt=1))),
        _with_journal(_journal(Entry(RecordState.RECORDED, id="vpc-1", attempt=1))),
        {"spec": {"controlPlaneEndpoint": {"host": "api.example.com"}}},
    )
    await _decided(busy)
    assert busy.pending() == [str(TWO)]


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        ({"spec": {"loadBalancers": [{"name": "two"}]}}, "its spec was changed meanwhile"),
        (
            _with_journal(journals.dumps(Journal(Owner("uuid", "IBMPowerVSCluster", "default", "a"), {}))),
            "what is on record of load-balancer/two was changed meanwhile",
        ),
        ({"metadata": {"deletionTimestamp": "2026-11-23T00:00:00Z", "finalizers": ["f"]}}, "it is being deleted"),
        ({"metadata": {"uid": "another"}}, "it is another object of this name now"),
    ],
    ids=["spec", "record", "deleted", "another"],
)
async def test_nothing_is_stored_that_was_not_agreed_to(edit: Json, said: str) -> None:
    """The person has seen another plan than the one of now."""
    api = AtWork(edit)
    with pytest.raises(CliError) as refused:
        await _decided(api)
    assert refused.value.sentence == f"default/a: nothing was stored: {said}. The same command shows what is so now"
    assert api.pending() == []


async def test_an_object_that_changes_all_the_time_is_said_in_a_sentence() -> None:
    api = AtWork(*({"metadata": {"labels": {"n": str(n)}}} for n in range(50)))
    with pytest.raises(CliError, match="the operator changes it too fast; run the same command again"):
        await _decided(api)
    assert api.pending() == []
