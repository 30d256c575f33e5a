"""The record of what we wrote, as it is stored: what was stored is read back, and 100,000 resources fit."""

from __future__ import annotations

import json
import random
import zlib
from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freehold.tags.policy.ledger import LedgerEntry, Proof, Record
from freehold.tags.policy.ledger_format import (
    LARGEST,
    SHARDS,
    DamagedLedger,
    LedgerFull,
    Shard,
    by_shard,
    dumps,
    loads,
    shard_of,
)
from harness.tagged_fleet import VOLUME, wrote

ENTRIES = st.builds(LedgerEntry, st.text(), st.frozensets(st.text(), max_size=2), st.sampled_from(Proof))
RECORDS = st.dictionaries(st.text(), st.dictionaries(st.text(), ENTRIES, max_size=3), max_size=4)
CONFIG_MAP = 1_048_576
"""Bytes: https://kubernetes.io/docs/concepts/configuration/configmap/"""


@given(RECORDS)
def test_a12_what_was_stored_is_read_back(records: dict[str, Record]) -> None:
    assert loads(dumps(Shard(records))) == Shard(records)


def test_a12_a_hundred_thousand_resources_fit() -> None:
    """etcd takes 1.5 MiB an object; tags of three objects in five states, ARNs of 100 characters."""
    sets = [wrote(f"{n}" * 36, env="test", centre="eng", owner=f"team-{n}", state="x" * 200) for n in range(15)]
    records = {f"{VOLUME}{'0' * 40}{number:06d}": sets[number % 15] for number in range(100_000)}
    sizes = [len(dumps(Shard(records=each)).encode()) for each in by_shard(records).values()]
    assert len(sizes) == SHARDS
    assert max(sizes) < CONFIG_MAP / 3


def test_a12_a_shard_that_would_outgrow_its_object_is_refused() -> None:
    """The API server would refuse it, after others of the pass were stored."""
    values = random.Random(0)
    records = {f"{VOLUME}{number}": wrote(key=values.randbytes(128).hex()) for number in range(6000)}
    with pytest.raises(LedgerFull, match="Narrow the classifiers"):
        dumps(Shard(records=records))
    assert LARGEST < CONFIG_MAP


def test_equal_shards_have_equal_texts() -> None:
    """Else each pass would store what nobody changed."""
    one, other = {"a": wrote(k="v"), "b": wrote(k="w")}, {"b": wrote(k="w"), "a": wrote(k="v")}
    assert dumps(Shard(records=one)) == dumps(Shard(records=other))


def _packed(text: str) -> str:
    return b64encode(zlib.compress(text.encode())).decode()


@pytest.mark.parametrize(
    "text", ["", "{}", "AAAA", *map(_packed, ["[" * 100_000, "{}", "[]", '{"version":1}', '{"version":2}'])]
)
def test_what_is_no_record_is_told(text: str) -> None:
    with pytest.raises(DamagedLedger):
        loads(text)


def test_a_record_without_entries_takes_no_room() -> None:
    assert Shard(records={"a": wrote(k="v")}).with_records({"a": {}}) == Shard()


def test_places_are_read_back_and_go_with_their_resources() -> None:
    shard = Shard().with_records({"a": wrote(k="v"), "b": wrote(k="v")}, {"a": "here"}).with_records({"b": {}})
    assert loads(dumps(shard)) == shard == Shard(records={"a": wrote(k="v")}, places={"a": "here"})
    assert shard.with_records({"a": {}}).places == {}


def test_what_an_earlier_version_has_stored_is_read() -> None:
    """It also said whether it knew all, and how often it had forgotten something."""
    stored = {
        "version": 2, "knowledge": "Part", "count": 3, "places": {"a": "here"},
        "sets": [{}, {"k": ["uid-first", ["v"], "Confirmed"]}], "resources": {"a": 1, "b": 0},
    }  # fmt: skip
    shard = loads(_packed(json.dumps(stored)))
    assert (shard.find_record("a"), shard.find_record("b"), shard.places) == (wrote(k="v"), {}, {"a": "here"})


def test_the_shard_of_a_resource_never_changes() -> None:
    """Stored records would not be found any more."""
    assert [shard_of(each) for each in (VOLUME, "arn:aws:s3:::bucket", "crn:v1:x")] == [6, 3, 6]
