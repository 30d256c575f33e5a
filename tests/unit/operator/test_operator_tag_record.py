"""The record of what we wrote in an API server: stored whole, believed only when signed, and told when it was lost."""

from __future__ import annotations

import contextlib

import pytest

from freehold.api.names import TAGS_WRITER_ANNOTATION
from freehold.controllers.keyring.needs import Need, first_ring
from freehold.controllers.keyring.stored_form import MissingRing
from freehold.engine.journal import StaleObject
from freehold.engine.keys import KeyRing, digest_of
from freehold.kube.resources import CONFIG_MAPS, Key
from freehold.operator.metadata.key_needs import tag_needs
from freehold.operator.metadata.record import NAME, RECORD_UUID, RecordKeyMissing, TagRecord
from freehold.reconcilers.metadata.references import Provider
from freehold.reconcilers.metadata.writer import Begun, Writer, annotation, witnessed, writer_of
from freehold.tagging.ownership import RecordLost
from freehold.tagging.stored_record import SHARDS, Shard, dumps, shard_of
from harness.stored_objects import MemoryObjects
from harness.tagged_fleet import wrote

RING = KeyRing.single(b"r" * 32)
PLACE = "freehold-system"
A, OTHER = "arn:a", "arn:b"
SHARD = f"{NAME}-{shard_of(A):02d}"


class Place:
    def __init__(self) -> None:
        self.objects = MemoryObjects()
        self.record = TagRecord(self.objects, PLACE)

    async def put(self, ring: KeyRing = RING, **tags: str) -> None:
        await self.record.save(await self.record.load(ring, begun=False), {A: wrote(**tags)}, ring)

    async def of(self, resource: str = A, *, begun: bool = True, ring: KeyRing = RING) -> object:
        return (await self.record.load(ring, begun=begun)).of(resource)

    async def remove(self, name: str) -> None:
        await self.objects.delete(CONFIG_MAPS, Key(PLACE, name))


@pytest.fixture
def place() -> Place:
    return Place()


async def test_a12_what_was_stored_is_read_back_by_another_process(place: Place) -> None:
    await place.put(env="test")
    assert await place.of() == wrote(env="test")
    assert await place.of(OTHER) == {}
    assert (await place.record.load(RING, begun=True)).written_for("uid-first") == (A,)


async def test_equal_records_are_not_stored_again(place: Place) -> None:
    """A fleet at rest writes nothing."""
    await place.put(env="test")
    place.objects.written.clear()
    await place.put(env="test")
    assert place.objects.written == []


async def test_a12_where_nothing_was_written_nothing_is_lost(place: Place) -> None:
    assert await place.of(begun=False) == {}
    await place.put(env="test")
    assert (await place.record.load(RING, begun=True)).lost == 0


@pytest.mark.parametrize("gone", [[SHARD], [SHARD, NAME]], ids=["A12 a shard went", "A12 the head went too"])
async def test_a_record_that_went_is_lost_and_stays_so(place: Place, gone: list[str]) -> None:
    """It must not read as: nothing of this is ours. The new shard keeps that in mind."""
    await place.put(env="test")
    for name in gone:
        await place.remove(name)
    assert isinstance(await place.of(), RecordLost)
    known = await place.record.load(RING, begun=True)
    same_shard = next(f"arn:{n}" for n in range(1000) if shard_of(f"arn:{n}") == shard_of(A))
    await place.record.save(known, {same_shard: wrote(k="v")}, RING)
    assert isinstance(await place.of(begun=False), RecordLost)
    assert await place.of(same_shard, begun=False) == wrote(k="v")


@pytest.mark.parametrize(
    ("field", "value"),
    [("record", ""), ("signature", "a" * 16), ("signature", "ж" * 16)],
    ids=["record", "signature", "signature in other letters"],
)
async def test_a12_what_somebody_else_wrote_is_not_believed(place: Place, field: str, value: str) -> None:
    """Whoever may edit ConfigMaps could make us remove tags that are not ours."""
    await place.put(env="test")
    stored = place.objects.objects["ConfigMap", Key(PLACE, SHARD)]
    stored["data"][field] = value or dumps(Shard(records={A: wrote(env="prod")}))
    assert isinstance(await place.of(), RecordLost)


async def test_a12_a_shard_is_signed_for_its_own_name(place: Place) -> None:
    """A copy of another shard would hide what was written."""
    await place.put(env="test")
    stored = place.objects.objects.pop(("ConfigMap", Key(PLACE, SHARD)))
    other = f"{NAME}-{(shard_of(A) + 1) % SHARDS:02d}"
    stored["metadata"]["name"] = other
    place.objects.objects["ConfigMap", Key(PLACE, other)] = stored
    assert (await place.record.load(RING, begun=True)).written_for("uid-first") == ()


async def test_a_key_that_the_ring_lacks_stops_everything(place: Place) -> None:
    """The record may be that of another operator, which looks after the same objects."""
    await place.put(env="test")
    with pytest.raises(RecordKeyMissing, match="freehold keys"):
        await place.of(ring=KeyRing.single(b"s" * 32))


async def test_a_new_key_signs_what_the_earlier_one_signed(place: Place) -> None:
    """The earlier key could never be taken out of the ring otherwise."""
    await place.put(env="test")
    new = b"n" * 32
    both = KeyRing(digest_of(new), {RING.writing: RING.keys[RING.writing], digest_of(new): new})
    await place.record.save(await place.record.load(both, begun=True), {}, both)
    assert await place.of(ring=KeyRing.single(new)) == wrote(env="test")


async def test_a27_two_writers_of_different_resources_both_count(place: Place) -> None:
    """Two replicas, or two objects, share a shard."""
    same_shard = next(f"arn:{n}" for n in range(1000) if shard_of(f"arn:{n}") == shard_of(A))
    one, other = await place.record.load(RING, begun=False), await place.record.load(RING, begun=False)
    await place.record.save(one, {A: wrote(k="v")}, RING)
    await place.record.save(other, {same_shard: wrote(k="w")}, RING)
    assert (await place.of(), await place.of(same_shard)) == (wrote(k="v"), wrote(k="w"))


async def test_a27_the_second_writer_of_one_resource_is_refused(place: Place) -> None:
    """What it decided on is old."""
    one, other = await place.record.load(RING, begun=False), await place.record.load(RING, begun=False)
    await place.record.save(one, {A: wrote(k="v")}, RING)
    with pytest.raises(StaleObject):
        await place.record.save(other, {A: wrote(k="w")}, RING)
    assert await place.of() == wrote(k="v")


async def test_what_a_key_signed_that_was_accepted_as_lost_is_lost_too(place: Place) -> None:
    """It can be checked by nobody: neither believed, nor a reason to stop for ever."""
    await place.put(env="test")
    accepted = {(RING.writing, RECORD_UUID): frozenset[str]()}
    after = KeyRing(digest_of(b"n" * 32), {digest_of(b"n" * 32): b"n" * 32}, accepted=accepted)
    assert isinstance(await place.of(ring=after), RecordLost)
    stored = place.objects.objects["ConfigMap", Key(PLACE, SHARD)]
    stored["data"]["signature"] = ""
    assert isinstance(await place.of(ring=after), RecordLost)


@pytest.mark.parametrize("gone", [[SHARD], [SHARD, NAME], [NAME]], ids=["a shard", "the head too", "the head"])
async def test_a_loss_that_a_person_accepts_is_a_loss_no_more(place: Place, gone: list[str]) -> None:
    """What is there still counts; the rest counts as never written."""
    await place.put(env="test")
    other = next(f"arn:{n}" for n in range(1000) if shard_of(f"arn:{n}") != shard_of(A))
    await place.record.save(await place.record.load(RING, begun=True), {other: wrote(k="v")}, RING)
    for name in gone:
        await place.remove(name)
    lost = await place.record.load(RING, begun=True)
    assert lost.lost > 0
    await place.record.accept_loss(lost, RING)
    found = await place.record.load(RING, begun=True)
    assert found.lost == 0
    assert found.of(A) == ({} if SHARD in gone else wrote(env="test"))
    assert found.of(other) == wrote(k="v")


async def test_a_loss_is_not_accepted_over_what_somebody_wrote_meanwhile(place: Place) -> None:
    await place.put(env="test")
    stored = place.objects.objects["ConfigMap", Key(PLACE, SHARD)]
    stored["data"]["signature"] = "a" * 16
    lost = await place.record.load(RING, begun=True)
    await place.record.save(lost, {A: wrote(env="since")}, RING)
    with pytest.raises(StaleObject):
        await place.record.accept_loss(lost, RING)
    assert await place.of() == wrote(env="since")


async def test_the_ring_is_needed_by_the_record_as_a_whole(place: Place) -> None:
    """Without its key every write of tags stops: it is not taken out of a ring, nor is a new ring made beside it."""
    assert await tag_needs(place.objects, PLACE) == []
    await place.put(env="test")
    assert await tag_needs(place.objects, PLACE) == [Need(Key(PLACE, NAME), RECORD_UUID, frozenset({RING.writing}))]
    assert await tag_needs(place.objects, "elsewhere") == []
    assert await tag_needs(place.objects, PLACE, "of-another-operator") == []
    with pytest.raises(MissingRing, match="freehold-tags names key"):
        first_ring("the test", await tag_needs(place.objects, PLACE), 0.0)


# -- put back from a backup -------------------------------------------------------------------------------------------


def _backup(place: Place, *names: str) -> dict[tuple[str, Key], dict[str, str]]:
    rows = {key: dict(row["data"]) for key, row in place.objects.objects.items()}
    return {key: data for key, data in rows.items() if not names or key[1].name in names}


async def _put_back(place: Place, saved: dict[tuple[str, Key], dict[str, str]]) -> None:
    for (_, key), data in saved.items():
        row = await place.objects.get(CONFIG_MAPS, key)
        await place.objects.replace(CONFIG_MAPS, {**row, "data": data})


async def _forgotten(place: Place, *names: str) -> dict[tuple[str, Key], dict[str, str]]:
    """The record, or a part of it, from before a key was forgotten."""
    await place.put(env="test", centre="eng")
    saved = _backup(place, *names)
    await place.put(env="test")
    return saved


async def _witnessed(place: Place) -> int:
    return (await place.record.load(RING, begun=True)).total


async def test_a12_a_shard_from_before_it_forgot_something_proves_nothing(place: Place) -> None:
    """What was forgotten may be somebody else's tag by now."""
    saved = await _forgotten(place, SHARD)
    await _put_back(place, saved)
    assert isinstance(await place.of(), RecordLost)
    await place.put(env="since")
    assert await place.of() == wrote(env="since"), "what is written since then counts"


async def test_a12_a_record_from_before_it_forgot_something_proves_nothing(place: Place) -> None:
    """Nothing in it tells that it is old: an object does, which has noted what it had counted."""
    other = next(f"arn:{n}" for n in range(1000) if shard_of(f"arn:{n}") != shard_of(A))
    await place.record.save(await place.record.load(RING, begun=True), {other: wrote(k="v")}, RING)
    saved = await _forgotten(place)
    noted = await _witnessed(place)
    await _put_back(place, saved)
    old = await place.record.load(RING, begun=True, witnessed=noted)
    assert isinstance(old.of(A), RecordLost) and isinstance(old.of(other), RecordLost)
    await place.record.save(old, {A: wrote(env="since")}, RING)
    now = await place.record.load(RING, begun=True, witnessed=noted)
    assert now.of(A) == wrote(env="since")
    assert isinstance(now.of(other), RecordLost), "the parts that were not written since are from before, too"


async def test_a12_a_record_from_before_stays_lost_where_a_process_is_killed_while_it_notes_that(place: Place) -> None:
    other = next(f"arn:{n}" for n in range(1000) if shard_of(f"arn:{n}") != shard_of(A))
    await place.record.save(await place.record.load(RING, begun=True), {other: wrote(k="v")}, RING)
    saved = await _forgotten(place)
    noted = await _witnessed(place)
    for number in range(4):
        await _put_back(place, saved)
        old = await place.record.load(RING, begun=True, witnessed=noted)
        end = len(place.objects.written) + number

        def kill(verb: str, name: str, end: int = end) -> None:
            if len(place.objects.written) == end:
                raise RuntimeError

        place.objects.before = kill
        with contextlib.suppress(RuntimeError):
            await place.record.save(old, {A: wrote(env="since")}, RING)
        place.objects.before = lambda verb, name: None
        now = await place.record.load(RING, begun=True, witnessed=noted)
        assert isinstance(now.of(other), RecordLost)


async def test_a_record_from_before_that_a_person_accepts_goes_on(place: Place) -> None:
    saved = await _forgotten(place)
    noted = await _witnessed(place)
    await _put_back(place, saved)
    await place.record.accept_loss(await place.record.load(RING, begun=True, witnessed=noted), RING)
    found = await place.record.load(RING, begun=True, witnessed=noted)
    assert (found.lost, found.of(A)) == (0, {})


async def test_what_is_only_added_is_not_counted(place: Place) -> None:
    """An earlier record knows less then. A first pass over a fleet writes nothing more for this."""
    await place.put(env="test")
    await place.put(env="test", centre="eng")
    assert await _witnessed(place) == 0
    assert "counts" not in place.objects.objects["ConfigMap", Key(PLACE, NAME)]["data"]["record"]


async def test_a_count_is_noted_by_the_operator_only() -> None:
    """Whoever may edit one object would make the whole record count as lost."""
    provider = Provider("AWSMetadata", {"metadata": {"name": "t", "namespace": "n", "uid": "u", "annotations": {}}})
    annotations = provider.raw["metadata"]["annotations"]
    annotations[TAGS_WRITER_ANNOTATION] = annotation(provider, "u", RING, 7)
    assert witnessed([provider], RING) == 7
    annotations[TAGS_WRITER_ANNOTATION] = annotation(provider, "u", RING, 7)[:-1] + "9"
    assert witnessed([provider], RING) == 0
    annotations[TAGS_WRITER_ANNOTATION] = annotation(provider, "u", RING, 7)[:-4] + "ж 9"
    assert witnessed([provider], RING) == 0
    annotations[TAGS_WRITER_ANNOTATION] = annotation(provider, "u", RING)
    assert writer_of(provider, RING) == Writer("u", Begun.YES), "of an earlier version"
