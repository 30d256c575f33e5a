"""The record of what we wrote in an API server: stored whole, believed only when signed, and told when it was lost."""

from __future__ import annotations

import pytest

from freehold.api.names import TAGS_WRITER_ANNOTATION
from freehold.controllers.keyring.needs import KeyNeed, build_first_ring
from freehold.controllers.keyring.stored_form import MissingRing
from freehold.engine.journal import StaleObject
from freehold.engine.keys import KeyRing, digest_of
from freehold.engine.ownership import Owner
from freehold.kube.resources import CONFIG_MAPS, Key
from freehold.tags.key_needs import tag_needs
from freehold.tags.ledger_store import NAME, RECORD_UUID, LedgerKeyMissing, LedgerStore
from freehold.tags.policy.ledger_format import SHARDS, Shard, dumps, shard_of
from freehold.tags.policy.ledger_identity import Writer, annotation, writer_of
from freehold.tags.policy.references import ProviderObject
from harness.stored_objects import MemoryObjects
from harness.tagged_fleet import wrote

RING = KeyRing.single(b"r" * 32)
PLACE = "freehold-system"
A, OTHER = "arn:a", "arn:b"
SHARD = f"{NAME}-{shard_of(A):02d}"


class Place:
    def __init__(self) -> None:
        self.objects = MemoryObjects()
        self.record = LedgerStore(self.objects, PLACE)

    async def put(self, ring: KeyRing = RING, **tags: str) -> None:
        await self.record.save(await self.record.load(ring, begun=False), {A: wrote(**tags)}, ring)

    async def of(self, resource: str = A, *, begun: bool = True, ring: KeyRing = RING) -> object:
        return (await self.record.load(ring, begun=begun)).find_record(resource)

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
    known = await place.record.load(RING, begun=True)
    assert (known.find_record(A), known.lost) == ({}, 1)
    await place.put(env="since")
    assert (await place.record.load(RING, begun=True)).lost == 0


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
    with pytest.raises(LedgerKeyMissing, match="freehold keys"):
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
    assert await place.of(ring=after) == {}
    stored = place.objects.objects["ConfigMap", Key(PLACE, SHARD)]
    stored["data"]["signature"] = ""
    known = await place.record.load(after, begun=True)
    assert (known.find_record(A), known.lost) == ({}, 1)
    await place.record.save(known, {}, after)
    assert await tag_needs(place.objects, PLACE) == [KeyNeed(Key(PLACE, NAME), RECORD_UUID, frozenset({after.writing}))]


async def test_the_ring_is_needed_by_the_record_as_a_whole(place: Place) -> None:
    """Without its key every write of tags stops: it is not taken out of a ring, nor is a new ring made beside it."""
    assert await tag_needs(place.objects, PLACE) == []
    await place.put(env="test")
    assert await tag_needs(place.objects, PLACE) == [KeyNeed(Key(PLACE, NAME), RECORD_UUID, frozenset({RING.writing}))]
    assert await tag_needs(place.objects, "elsewhere") == []
    assert await tag_needs(place.objects, PLACE, "of-another-operator") == []
    with pytest.raises(MissingRing, match="freehold-tags names key"):
        build_first_ring("the test", await tag_needs(place.objects, PLACE), 0.0)


async def test_a12_a_record_that_went_whole_is_told_until_something_is_written(place: Place) -> None:
    """An object says that something was written for it. Nothing counts as ours then, so nothing is removed as ours."""
    await place.put(env="test")
    await place.remove(SHARD)
    known = await place.record.load(RING, begun=True)
    assert (known.find_record(A), known.lost) == ({}, SHARDS)
    assert (await place.record.load(RING, begun=False)).lost == 0
    await place.record.save(known, {A: wrote(env="since")}, RING)
    assert (await place.record.load(RING, begun=True)).lost == 0


async def test_the_head_and_the_counts_of_an_earlier_version_are_passed_over(place: Place) -> None:
    """It named the parts, and what each had forgotten. No key of the ring is needed for it any more."""
    await place.put(env="test")
    head = {"name": NAME, "namespace": PLACE, "labels": {"freehold.dev/record": NAME}}
    await place.objects.create(CONFIG_MAPS, {"metadata": head, "data": {"record": "{}", "key": "gonegonego"}})
    assert await place.of() == wrote(env="test")
    assert await tag_needs(place.objects, PLACE) == [KeyNeed(Key(PLACE, NAME), RECORD_UUID, frozenset({RING.writing}))]


def test_an_annotation_with_the_count_of_an_earlier_version_is_read() -> None:
    provider = ProviderObject(
        "AWSMetadata", {"metadata": {"name": "t", "namespace": "n", "uid": "new", "annotations": {}}}
    )
    annotations = provider.raw["metadata"]["annotations"]
    owner = Owner("first", "AWSMetadata", "n", "t")
    signature = RING.derive_keys(owner).signature(RING.writing, "tags writer", "first 7")
    annotations[TAGS_WRITER_ANNOTATION] = f"first {RING.writing} {signature} 7"
    assert writer_of(provider, RING) == Writer("first", begun=True)
    annotations[TAGS_WRITER_ANNOTATION] = f"first {RING.writing} {signature} 8"
    assert writer_of(provider, RING) == Writer("new", begun=False)
    annotations[TAGS_WRITER_ANNOTATION] = annotation(provider, "first", RING)
    assert writer_of(provider, RING) == Writer("first", begun=True)
