"""``freehold keys`` on a state directory and on a cluster's Secret: what it shows, changes, and refuses."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import shlex
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from freehold.api import names
from freehold.cli.errors import CliError
from freehold.cli.local.serving_address import kubeconfig
from freehold.cli.main import cli
from freehold.controllers.keyring.stored_form import RETIRE_SECONDS, RingDocument, dumps, loads
from freehold.engine import journal as journals
from freehold.engine.journal import Entry, Journal, RecordState
from freehold.engine.keys import KeyRing, derive
from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey
from freehold.kube.client import KubeClient
from freehold.kube.config import Connection
from freehold.kube.resources import CONFIG_MAPS, NAMESPACES, SECRETS, Json, Key
from freehold.providers.crds import build_crds
from freehold.providers.ibm.powervs.kind import POWERVS_CLUSTER
from freehold.providers.objects.served_resources import resource_of
from freehold.tags.ledger_store import LABEL, NAME, LedgerStore
from freehold_apiserver.server import ApiServer
from freehold_apiserver.store import Store
from harness.powervs import example
from harness.tagged_fleet import wrote

POWERVS_CLUSTERS = resource_of(POWERVS_CLUSTER)

NOW = 1_700_000_000.0
FIRST = RingDocument.create(NOW)
OTHER = RingDocument.create(NOW)


@dataclass
class Laptop:
    """A state directory. In reality every command is a process of its own; here it shares ours."""

    state: Path

    @property
    def ring_file(self) -> Path:
        return self.state.with_name(f"{self.state.name}.keys")

    def ring(self) -> RingDocument:
        return loads(self.ring_file.read_text(), "the test")

    def holds(self, document: RingDocument) -> None:
        self.ring_file.write_text(dumps(document))
        self.ring_file.chmod(0o600)

    def object(self, name: str, *keys: str, journal: str | None = None) -> None:
        """Stores an object that names these keys: its own, and those of its resources."""
        asyncio.run(self._object(name, keys, journal))

    async def _object(self, name: str, keys: tuple[str, ...], journal: str | None) -> None:
        self.state.mkdir(exist_ok=True)
        store = Store.open(self.state / "store.sqlite")
        api = ApiServer(store, build_crds())
        try:
            async with KubeClient(Connection(await api.start())) as client:
                await client.create(POWERVS_CLUSTERS, stored(name, keys, journal))
        finally:
            await api.stop()
            store.close()

    def tagged(self, document: RingDocument, *, damaged: bool = False) -> None:
        """Stores a record of a written tag, which this ring signs; ``damaged``: with a signature of nobody."""
        asyncio.run(self._tagged(document.build_ring(), damaged))

    async def _tagged(self, ring: KeyRing, damaged: bool) -> None:
        self.state.mkdir(exist_ok=True)
        store = Store.open(self.state / "store.sqlite")
        api = ApiServer(store, build_crds())
        try:
            async with KubeClient(Connection(await api.start())) as client:
                record = LedgerStore(client, "freehold-system")
                await record.save(await record.load(ring, begun=False), {"arn:a": wrote(env="test")}, ring)
                if damaged:
                    row = (await client.list(CONFIG_MAPS, "freehold-system", label_selector=f"{LABEL}={NAME}")).items[1]
                    await client.replace(CONFIG_MAPS, {**row, "data": {**row["data"], "signature": "a" * 16}})
        finally:
            await api.stop()
            store.close()

    def run(self, *arguments: str, given: str | None = None) -> str:
        """What ``freehold keys`` printed on standard output. Raises CliError."""
        done = CliRunner().invoke(cli, ["keys", *arguments, "--state", str(self.state)], input=given)
        if done.exception is not None:
            raise done.exception
        return done.stdout

    def accept(self, digest: str, *more: str) -> str:
        """Follow the command that the list ends with."""
        command = next(line for line in self.run("accept", digest, *more).splitlines() if " --yes " in line)
        words = shlex.split(command)
        assert words[:5] == ["freehold", "keys", "accept", "--state", str(self.state)]
        return self.run("accept", *words[5:])

    def listed(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.run("list", "-o", "json"))
        return found


def stored(name: str, keys: tuple[str, ...], journal: str | None = None) -> Json:
    manifest = example()
    owner = Owner(f"uuid-{name}", manifest["kind"], "default", name)
    entries = {NodeKey("vpc", str(at)): Entry(RecordState.OWNED, id="v", key=key) for at, key in enumerate(keys)}
    text = journals.dumps(Journal(owner, entries, key=keys[0])) if keys else journal
    annotations = {names.JOURNAL_ANNOTATION: text} if text is not None else {}
    return {**manifest, "metadata": {"name": name, "namespace": "default", "annotations": annotations}}


@pytest.fixture
def laptop(tmp_path: Path) -> Laptop:
    return Laptop(tmp_path / "state")


def states(listed: dict[str, Any]) -> dict[str, tuple[str, int]]:
    return {row["digest"]: (row["state"], len(row["objects"])) for row in listed["keys"]}


def test_list_counts_the_objects_of_each_key_and_names_what_is_missing(laptop: Laptop) -> None:
    laptop.holds(FIRST)
    laptop.object("c1", FIRST.writing)
    laptop.object("c2", FIRST.writing, OTHER.writing)
    assert states(laptop.listed()) == {FIRST.writing: ("writing", 2), OTHER.writing: ("missing", 1)}
    table = laptop.run("list")
    assert f"key {OTHER.writing} is missing: nothing is done for default/c2" in table
    assert f"freehold keys accept --state {laptop.state} {OTHER.writing}" in table


def test_no_command_but_export_shows_a_key(laptop: Laptop, tmp_path: Path) -> None:
    """A key must not get into a terminal's scrollback or a screenshot."""
    laptop.holds(FIRST)
    laptop.object("c1", FIRST.writing, "gonegonego")
    (tmp_path / "other").write_text(dumps(OTHER))
    shown = laptop.run("add", str(tmp_path / "other")) + laptop.run("remove", OTHER.writing)
    shown += (
        laptop.run("list") + laptop.run("list", "-o", "json") + laptop.run("new") + laptop.run("list", "-o", "yaml")
    )
    shown += laptop.run("accept", "gonegonego") + laptop.accept("gonegonego")
    shown += (laptop.state / "freehold.log").read_text()
    for document in (FIRST, OTHER, laptop.ring()):
        for key in document.keys.values():
            assert base64.b64encode(key.key).decode()[:12] not in shown
            assert repr(key.key)[2:14] not in shown
    assert base64.b64encode(FIRST.keys[FIRST.writing].key).decode() in laptop.run("export")


def test_new_rotates_and_the_old_key_stays_readable(laptop: Laptop) -> None:
    laptop.holds(FIRST)
    laptop.object("c1", FIRST.writing)
    said = laptop.run("new")
    made = laptop.ring()
    assert made.writing != FIRST.writing
    assert f"{FIRST.writing} can still be read" in said
    assert "renewed over time" in said
    assert states(laptop.listed()) == {made.writing: ("writing", 0), FIRST.writing: ("readable", 1)}


def test_new_makes_the_first_ring_only_if_no_object_names_a_key(laptop: Laptop) -> None:
    laptop.object("c1", journal=None)
    laptop.run("new")
    assert laptop.ring().writing
    laptop.ring_file.unlink()
    laptop.object("c2", OTHER.writing)
    with pytest.raises(CliError, match="freehold keys add FILE") as refused:
        laptop.run("new")
    assert refused.value.more == (f"add to commands in these messages: --state {laptop.state}",)
    assert not laptop.ring_file.exists()


def test_adding_an_exported_ring_repairs_objects_without_a_key(laptop: Laptop, tmp_path: Path) -> None:
    """As in clusterctl move: the whole ring is added; the writing key of the target stays."""
    source = Laptop(tmp_path / "source")
    source.holds(OTHER)
    laptop.holds(FIRST)
    laptop.object("c1", OTHER.writing)
    said = laptop.run("add", "-", given=source.run("export"))
    assert "1 object can be served again: default/c1" in said
    assert laptop.ring().writing == FIRST.writing
    assert states(laptop.listed()) == {FIRST.writing: ("writing", 0), OTHER.writing: ("readable", 1)}
    assert "nothing to add" in laptop.run("add", "-", given=source.run("export"))


def test_the_export_of_one_object_repairs_only_that_one(laptop: Laptop, tmp_path: Path) -> None:
    source = Laptop(tmp_path / "source")
    source.holds(OTHER)
    source.object("c1", OTHER.writing)
    export = source.run("export", "c1")
    assert "uuid-c1" in export
    assert base64.b64encode(OTHER.keys[OTHER.writing].key).decode() not in export
    laptop.holds(FIRST)
    laptop.object("c1", OTHER.writing)
    laptop.object("c2", OTHER.writing)
    said = laptop.run("add", "-", given=export)
    assert "1 object can be served again: default/c1; still without a key: default/c2" in said
    assert laptop.ring().handed_on == {(OTHER.writing, "uuid-c1"): derive(OTHER.keys[OTHER.writing].key, "uuid-c1")}
    both = {(row["state"], tuple(row["objects"])) for row in laptop.listed()["keys"]}
    assert both == {("writing", ()), ("handed_on", ("default/c1",)), ("missing", ("default/c2",))}


def test_adding_a_backup_restores_a_lost_ring(laptop: Laptop, tmp_path: Path) -> None:
    laptop.holds(FIRST)
    laptop.object("c1", FIRST.writing)
    (tmp_path / "backup").write_text(laptop.run("export"))
    laptop.ring_file.unlink()
    laptop.run("add", str(tmp_path / "backup"))
    assert laptop.ring() == FIRST
    assert laptop.ring_file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("form", ["json", "yaml", "stringData"])
def test_a_secret_as_kubectl_prints_it_can_be_added(laptop: Laptop, form: str) -> None:
    laptop.holds(FIRST)
    data = {"data": {"ring.json": base64.b64encode(dumps(OTHER).encode()).decode()}}
    if form == "stringData":
        data = {"stringData": {"ring.json": dumps(OTHER)}}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "freehold-keys"}, "type": "Opaque", **data}
    laptop.run("add", "-", given=json.dumps(secret) if form == "json" else yaml.safe_dump(secret))
    assert laptop.ring().keys.keys() == {FIRST.writing, OTHER.writing}


CANARY = "Y2FuYXJ5LWNhbmFyeQ"


@pytest.mark.parametrize(
    "given",
    [
        f'{{"version":1,"keys":{{"a":{{"key":"{CANARY}"',
        f"a: [{CANARY}",
        json.dumps({"version": 1, "writing": "a", "keys": {"a": {"key": CANARY, "created": "x"}}}),
        json.dumps({"kind": "Secret", "data": {"ring.json": CANARY}}),
        json.dumps({"kind": "Secret", "data": {"other": CANARY}}),
        CANARY,
        "",
    ],
)
def test_a_file_without_keys_is_refused_and_not_quoted(laptop: Laptop, given: str) -> None:
    """A wrong file may contain a part of a key."""
    laptop.holds(FIRST)
    with pytest.raises(CliError) as refusal:
        laptop.run("add", "-", given=given)
    assert "standard input" in str(refusal.value)
    assert CANARY[:8] not in str(refusal.value)
    assert laptop.ring() == FIRST


def test_the_loss_of_a_key_is_accepted_only_after_the_plan_and_a_yes(laptop: Laptop) -> None:
    laptop.holds(FIRST)
    laptop.object("c1", FIRST.writing, OTHER.writing)
    laptop.object("c2", FIRST.writing)
    plan = laptop.run("accept", OTHER.writing)
    assert "nothing has been changed" in plan
    assert f"1 object names key {OTHER.writing}" in plan
    assert "default/c1" in plan
    assert "default/c2" not in plan
    assert laptop.ring() == FIRST
    laptop.accept(OTHER.writing)
    assert laptop.ring().accepted.keys() == {OTHER.writing}
    assert laptop.ring().accepted[OTHER.writing].who
    assert states(laptop.listed())[OTHER.writing] == ("lost", 1)


def test_a_record_that_could_not_be_shown_is_accepted_only_by_leaving_it_out(laptop: Laptop) -> None:
    """There are no credentials here. Left out it is not believed, and the object is served for a person to decide."""
    laptop.holds(FIRST)
    laptop.object("c1", FIRST.writing, OTHER.writing)
    shown = laptop.run("accept", OTHER.writing)
    digest = shown.rpartition("--yes ")[2].split()[0]
    assert "these could not be read, and cannot be accepted:\n  default/c1/vpc/1\n" in shown
    assert "there are no credentials here: set IBMCLOUD_API_KEY or AWS_PROFILE" in shown
    assert f"--without default/c1 --yes {digest}" in shown
    with pytest.raises(CliError, match="could not be shown") as refusal:
        laptop.run("accept", OTHER.writing, "--yes", digest)
    assert "default/c1/vpc/1: " in refusal.value.more[0]
    said = laptop.run("accept", OTHER.writing, "--without", "default/c1", "--yes", digest)
    assert "neither marked nor deleted: default/c1/vpc/1" in said
    assert f"to decide: freehold resolve --state {laptop.state} c1" in said
    assert laptop.ring().accepted[OTHER.writing].records == {"uuid-c1": frozenset()}
    assert "default/c1/vpc/1" in laptop.run("accept", OTHER.writing), "it can be accepted later"


def test_a_list_that_has_changed_is_shown_again_and_not_accepted(laptop: Laptop) -> None:
    """A user who may edit an object can write a record that names the lost key; a restored backup may have one, too."""
    laptop.holds(FIRST)
    laptop.object("c1", FIRST.writing, OTHER.writing)
    digest = laptop.run("accept", OTHER.writing).rpartition("--yes ")[2].split()[0]
    laptop.object("c2", FIRST.writing, OTHER.writing)
    without = ("--without", "default/c1", "--without", "default/c2")
    for given in (digest, digest[:12], "0" * 64):
        with pytest.raises(CliError, match="--yes has the digest of another list"):
            laptop.run("accept", OTHER.writing, *without, "--yes", given)
        assert laptop.ring() == FIRST
    laptop.accept(OTHER.writing)
    assert laptop.ring().accepted[OTHER.writing].records.keys() == {"uuid-c1", "uuid-c2"}


def test_what_is_left_out_must_be_on_the_list(laptop: Laptop) -> None:
    laptop.holds(FIRST)
    laptop.object("c1", FIRST.writing, OTHER.writing)
    for word in ("default/c", "default/c1/vpc/", "vpc/1", "default/c1/vpc/2"):
        with pytest.raises(CliError, match="no record of the list has this name"):
            laptop.run("accept", OTHER.writing, "--without", word)


def test_a_loss_is_not_accepted_for_two_objects_of_one_identity(laptop: Laptop) -> None:
    """One of them is a copy; its records would be accepted in place of the true ones."""
    laptop.holds(FIRST)
    laptop.object("c1", FIRST.writing, OTHER.writing)
    copy = journals.loads(
        stored("c1", (FIRST.writing, OTHER.writing))["metadata"]["annotations"][names.JOURNAL_ANNOTATION]
    )
    laptop.object("c2", journal=journals.dumps(copy))
    with pytest.raises(CliError, match="same identity") as refusal:
        laptop.accept(OTHER.writing)
    assert refusal.value.more == ("default/c1", "default/c2")
    assert laptop.ring() == FIRST


def test_a_lost_ring_can_be_replaced(laptop: Laptop) -> None:
    """Without a backup a new ring lists the loss, and the marks in the cloud are the proof."""
    laptop.object("c1", OTHER.writing)
    assert "there is no key ring" in laptop.run("accept", OTHER.writing)
    assert not laptop.ring_file.exists()
    laptop.accept(OTHER.writing)
    assert laptop.ring().accepted.keys() == {OTHER.writing}
    assert laptop.ring().writing != OTHER.writing


def test_a_key_that_is_found_again_is_no_longer_lost(laptop: Laptop) -> None:
    laptop.holds(FIRST)
    laptop.object("c1", OTHER.writing)
    laptop.accept(OTHER.writing)
    laptop.run("add", "-", given=dumps(OTHER))
    assert laptop.ring().accepted == {}


@pytest.mark.parametrize(
    ("digest", "said"),
    [(FIRST.writing, "nothing is lost"), ("abcdefghij", "no object misses")],
    ids=["it is present", "no object names it"],
)
def test_the_loss_of_a_present_key_cannot_be_accepted(laptop: Laptop, digest: str, said: str) -> None:
    laptop.holds(FIRST)
    laptop.object("c1", FIRST.writing)
    with pytest.raises(CliError, match=said):
        laptop.run("accept", digest, "--yes", "0" * 64)
    assert laptop.ring() == FIRST


def test_a_key_in_use_is_not_removed(laptop: Laptop) -> None:
    """Also if an object cannot be read: it may name the key. Without the key its resources could not be proved."""
    both = FIRST.add_keys_of(OTHER)
    laptop.holds(both)
    with pytest.raises(CliError, match="writes"):
        laptop.run("remove", FIRST.writing)
    laptop.object("c1", FIRST.writing, OTHER.writing)
    with pytest.raises(CliError, match="still needed") as refusal:
        laptop.run("remove", OTHER.writing)
    assert refusal.value.more == ("default/c1",)
    assert laptop.ring() == both


def test_a_key_is_not_removed_while_an_object_cannot_be_read(laptop: Laptop) -> None:
    laptop.holds(FIRST.add_keys_of(OTHER))
    laptop.object("c1", journal="{")
    with pytest.raises(CliError, match="cannot be told") as refusal:
        laptop.run("remove", OTHER.writing)
    assert refusal.value.more == ("default/c1",)


def test_a_key_of_the_record_of_written_tags_is_in_use(laptop: Laptop) -> None:
    """Without it every write of tags stops."""
    with_new = FIRST.add_new_key(NOW)
    laptop.holds(with_new)
    laptop.tagged(FIRST)
    with pytest.raises(CliError, match="still needed") as refused:
        laptop.run("remove", FIRST.writing)
    assert "freehold-system/freehold-tags" in str(refused.value.more)


def test_an_unused_key_is_removed(laptop: Laptop) -> None:
    laptop.holds(FIRST.add_keys_of(OTHER))
    laptop.object("c1", FIRST.writing)
    laptop.run("remove", OTHER.writing)
    assert laptop.ring() == FIRST


def test_a_key_is_not_removed_while_an_operator_may_still_write_with_it(laptop: Laptop) -> None:
    """It reads the ring once a minute, later if the server does not answer: resources made meanwhile need the key."""
    rotated = FIRST.add_new_key(time.time())
    laptop.holds(rotated)
    with pytest.raises(CliError, match="run this again in"):
        laptop.run("remove", FIRST.writing)
    assert laptop.ring().keys.keys() == rotated.keys.keys()
    laptop.holds(FIRST.add_new_key(time.time() - RETIRE_SECONDS))
    laptop.run("remove", FIRST.writing)
    assert FIRST.writing not in laptop.ring().keys


@contextmanager
def cluster() -> Iterator[str]:
    """A server in a thread of its own: a command needs the main thread, for its signals."""
    loop, started, ended = asyncio.new_event_loop(), Future[str](), asyncio.Event()

    async def serve() -> None:
        store = Store.open(":memory:")  # an SQLite connection belongs to the thread that opens it
        api = ApiServer(store, build_crds())
        started.set_result(await api.start())
        await ended.wait()
        await api.stop()
        store.close()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    try:
        yield started.result(30.0)
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join()
        loop.close()


def test_the_ring_of_a_cluster_is_its_secret(tmp_path: Path) -> None:
    """The same commands, on the operator's Secret: its namespace with -n, the objects of all namespaces."""

    async def prepare(url: str) -> None:
        async with KubeClient(Connection(url)) as client:
            await client.create(
                NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "operators"}}
            )
            await client.create(POWERVS_CLUSTERS, stored("c1", (OTHER.writing,)))

    async def secret(url: str) -> Json:
        async with KubeClient(Connection(url)) as client:
            return await client.get(SECRETS, Key("operators", "freehold-keys"))

    with cluster() as url:
        (tmp_path / "kubeconfig").write_text(kubeconfig(url))
        (tmp_path / "ring").write_text(dumps(OTHER))
        where = ("--kubeconfig", str(tmp_path / "kubeconfig"), "-n", "operators")
        asyncio.run(prepare(url))
        assert "no key ring in Secret operators/freehold-keys" in _invoke("list", *where)
        _invoke("add", str(tmp_path / "ring"), *where)
        _invoke("new", *where)
        assert "readable" in _invoke("list", *where)
        data = asyncio.run(secret(url))["data"]["ring.json"]
    assert loads(base64.b64decode(data).decode(), "the test").keys.keys() > OTHER.keys.keys()


def _invoke(*arguments: str) -> str:
    done = CliRunner().invoke(cli, ["keys", *arguments])
    if done.exception is not None:
        raise done.exception
    return done.stdout


@pytest.fixture(autouse=True)
def _clean_logging() -> Iterator[None]:
    """Commands send the log to their state directory."""
    before = logging.getLogger().handlers[:]
    yield
    for handler in logging.getLogger().handlers[:]:
        if handler not in before:
            logging.getLogger().removeHandler(handler)
            handler.close()
    for handler in before:
        if handler not in logging.getLogger().handlers:
            logging.getLogger().addHandler(handler)
