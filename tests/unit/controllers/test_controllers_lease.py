"""Leases: who may take one, by what it has seen and its own clock."""

from __future__ import annotations

import pytest

from freehold.controllers.leadership.lease import (
    LEASE_SECONDS,
    LeaseRecord,
    Observation,
    build_claim,
    build_release,
    find_wait,
    format_time,
    observe,
    read_record,
)

WALL = 1_700_000_000.25
NOW = "2023-11-14T22:13:20.250000Z"
OTHERS = LeaseRecord("other", 15, "then", "later", 3)


@pytest.mark.parametrize(
    ("record", "age", "wait"),
    [
        pytest.param(OTHERS, 0.0, 15.0, id="another one holds it"),
        pytest.param(OTHERS, 14.5, 0.5, id="it has not expired"),
        pytest.param(OTHERS, 15.0, 0.0, id="it has expired"),
        pytest.param(OTHERS, 100.0, 0.0, id="it expired long ago"),
        pytest.param(LeaseRecord("other", 60), 15.0, 45.0, id="its holder asked for longer"),
        pytest.param(LeaseRecord("other", 86400), 60.0, 0.0, id="its record asks for a day"),
        pytest.param(LeaseRecord("other", 1), 14.0, 1.0, id="its record was shortened by hand"),
        pytest.param(LeaseRecord(""), 0.0, 0.0, id="it was given back"),
        pytest.param(LeaseRecord("me"), 0.0, 0.0, id="it is its own"),
    ],
)
def test_a_lease_is_taken_when_its_holder_has_not_renewed_it(record: LeaseRecord, age: float, wait: float) -> None:
    assert find_wait(Observation(record, 50.0), "me", 50.0 + age) == wait


def test_expiry_counts_from_the_last_change_that_was_seen() -> None:
    """Whatever time the record tells: a holder whose clock is wrong by a day keeps its Lease by renewing it."""
    first = observe(None, OTHERS, 10.0)
    assert observe(first, OTHERS, 20.0).since == 10.0
    renewed = LeaseRecord("other", 15, "then", "1970-01-01T00:00:00.000000Z", 3)
    assert observe(first, renewed, 20.0) == Observation(renewed, 20.0)


def test_a_record_reads_as_those_of_client_go_do() -> None:
    assert build_claim(None, "me", WALL) == LeaseRecord("me", LEASE_SECONDS, NOW, NOW, 0)
    assert build_claim(OTHERS, "me", WALL) == LeaseRecord("me", LEASE_SECONDS, NOW, NOW, 4)
    assert build_claim(LeaseRecord("me", 1, "then", "later", 4), "me", WALL) == LeaseRecord("me", 15, "then", NOW, 4)
    assert build_release(LeaseRecord("me", 15, "then", "later", 4), WALL) == LeaseRecord("", 1, NOW, NOW, 4)
    assert format_time(WALL) == NOW


def test_a_record_is_read_as_it_was_stored() -> None:
    assert read_record({"spec": OTHERS.build_spec()}) == OTHERS
    assert read_record({"spec": {"holderIdentity": None}}) == LeaseRecord()
    assert read_record({}) == LeaseRecord()
