"""The record of what we wrote in an API server: stored whole, believed only when signed, and told when it was lost."""

from __future__ import annotations

import pytest

from freehold.kube.resources import CONFIG_MAPS, Key
from freehold.lifecycle.journal import StaleObject
from freehold.lifecycle.keys import KeyRing, digest_of
from freehold.operator.keyring import MissingRing
from freehold.operator.keyring_use import Need, first_ring
from freehold.operator.metadata.key_needs import tag_needs
from freehold.operator.metadata.record import NAME, RECORD_UUID, RecordKeyMissing, TagRecord
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


@pytest.mark.parametrize("field", ["record", "signature"])
async def test_a12_what_somebody_else_wrote_is_not_believed(place: Place, field: str) -> None:
    """Whoever may edit ConfigMaps could make us remove tags that are not ours."""
    await place.put(env="test")
    stored = place.objects.objects["ConfigMap", Key(PLACE, SHARD)]
    stored["data"][field] = dumps(Shard(records={A: wrote(env="prod")})) if field == "record" else "a" * 16
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
