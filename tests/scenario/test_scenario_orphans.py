"""What carries our marks and has no object here is listed with its owner; nothing that is gone, and nothing changes."""

from __future__ import annotations

from collections import Counter

import pytest

from freehold.lifecycle.keys import KeyRing
from freehold.lifecycle.port import step
from freehold.operator.orphans import MarkedOwner, orphans
from freehold_sim.faults import Effect, Fault
from harness.powervs import UID, Harness, example
from harness.resources import existing, snapshot
from harness.traits import kind_of, made

RING = KeyRing.single(b"another operator's key, 32 bytes.")


def _orphans(harness: Harness, *present: str) -> tuple[MarkedOwner, ...]:
    return step(orphans(harness.account.read_only_deps(RING), present))


@pytest.fixture(name="cluster")
def _cluster() -> Harness:
    harness = Harness(example())
    harness.up()
    harness.settle()
    return harness


def test_what_has_an_object_here_is_no_orphan(cluster: Harness) -> None:
    assert _orphans(cluster, UID) == ()


def test_all_that_a_lost_object_made_is_listed_under_its_name(cluster: Harness) -> None:
    """Also what another resource carries the mark of."""
    before = snapshot(cluster)
    (owner,) = _orphans(cluster, "another-uuid")
    name = cluster.object.raw["metadata"]["name"]
    assert (owner.uuid, owner.names) == (UID, (f"default.{name}",))
    assert Counter(one.key.kind for one in owner.resources) == Counter(map(kind_of, made(cluster)))
    assert owner.since is not None
    assert snapshot(cluster) == before


def test_what_is_gone_is_not_listed_although_the_index_still_shows_it(cluster: Harness) -> None:
    gone = existing(cluster, "load-balancer")[0]
    cluster.cloud.strangers.delete(gone["id"])
    cluster.clock.advance(1.0)
    assert gone["crn"] in step(cluster.account.read_only_deps(RING).tagger.everything())
    (owner,) = _orphans(cluster)
    assert gone["crn"] not in {one.target for one in owner.resources}


def test_what_cannot_be_read_is_listed_with_the_reason(cluster: Harness) -> None:
    """It may exist: to leave it out would say that nothing is there."""
    cluster.cloud.faults.add(Fault(Effect.DENIED, "vpc.get_load_balancer", count=9))
    (owner,) = _orphans(cluster)
    (balancer,) = (one for one in owner.resources if one.key.kind == "load-balancer")
    assert "refused" in balancer.unread
