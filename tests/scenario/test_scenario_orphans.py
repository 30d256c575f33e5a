"""What carries our marks and has no object here is listed with its owner; nothing that is gone, and nothing changes."""

from __future__ import annotations

from collections import Counter

import pytest

from freehold.api.names import JOURNAL_ANNOTATION
from freehold.controllers.recovery.orphans import MarkedOwner, find_orphans, find_unmarked
from freehold.engine import journal as journals
from freehold.engine.keys import KeyRing
from freehold_sim.faults import Effect, Fault
from harness.powervs import UID, Harness, example
from harness.resources import existing, infrastructure, made_by_us, snapshot
from harness.standing import standing
from harness.stepping import run_blocking
from harness.traits import kind_of, made

RING = KeyRing.single(b"another operator's key, 32 bytes.")


def _orphans(harness: Harness, *present: str) -> tuple[MarkedOwner, ...]:
    return run_blocking(find_orphans(harness.account.build_read_only_deps(RING), present))


@pytest.fixture(name="cluster")
def _cluster() -> Harness:
    return standing(Harness, example(), settled=3)


def test_what_has_an_object_here_is_no_orphan(cluster: Harness) -> None:
    assert _orphans(cluster, UID) == ()


def test_all_that_a_lost_object_made_is_listed_under_its_name(cluster: Harness) -> None:
    """Also what another resource carries the mark of."""
    before = snapshot(cluster)
    (owner,) = _orphans(cluster, "another-uuid")
    name = cluster.object.raw["metadata"]["name"]
    assert (owner.uuid, owner.names) == (UID, (f"default/{name}",))
    assert Counter(one.key.kind for one in owner.resources) == Counter(map(kind_of, made(cluster)))
    assert owner.since is not None
    assert snapshot(cluster) == before


def test_what_is_gone_is_not_listed_although_the_index_still_shows_it(cluster: Harness) -> None:
    gone = existing(cluster, "load-balancer")[0]
    cluster.cloud.strangers.delete(gone["id"])
    cluster.clock.advance(1.0)
    assert gone["crn"] in run_blocking(cluster.account.build_read_only_deps(RING).tagger.everything())
    (owner,) = _orphans(cluster)
    assert gone["crn"] not in {one.target for one in owner.resources}


def test_what_cannot_be_read_is_listed_with_the_reason(cluster: Harness) -> None:
    """It may exist: to leave it out would say that nothing is there."""
    cluster.cloud.faults.add(Fault(Effect.DENIED, "vpc.get_load_balancer", count=9))
    (owner,) = _orphans(cluster)
    (balancer,) = (one for one in owner.resources if one.key.kind == "load-balancer")
    assert "refused" in balancer.unread


def _born(harness: Harness, *recorded: str) -> set[str]:
    found = run_blocking(find_unmarked(harness.account.build_read_only_deps(RING), recorded))
    assert not found.problems
    return {one.name for _, one in found.resources}


@pytest.fixture(name="unmarked", scope="module")
def _unmarked() -> Harness:
    """A cluster that no mark could be attached to. Nothing is changed here."""
    harness = Harness(example())
    harness.cloud.faults.add(Fault(Effect.ERROR_BEFORE, "tagging.attach_tag", count=None))
    harness.for_a_while(300.0)
    return harness


def test_what_was_made_before_any_mark_was_readable_is_named_by_its_birth_name(unmarked: Harness) -> None:
    """Its owner's uuid was nowhere but in the object that was lost: it cannot be recovered, and is not passed over."""
    before = snapshot(unmarked)
    names = {row["name"] for row in made_by_us(unmarked) if row["kind"] not in ("dhcp", "network", "security-group")}
    assert len(names) >= 7 and names < _born(unmarked), "and the network of the DHCP server"
    assert snapshot(unmarked) == before


def test_what_an_object_here_has_on_record_is_no_orphan_of_a_birth_name(unmarked: Harness) -> None:
    text = unmarked.object.raw["metadata"]["annotations"][JOURNAL_ANNOTATION]
    ids = [entry.id for entry in journals.loads(text).entries.values()]
    assert _born(unmarked, *ids) == set()


def test_a_marked_cluster_and_strangers_have_no_orphan_of_a_birth_name(cluster: Harness) -> None:
    """A load balancer's pool and a connection keep their birth marks for life: their marks tell whose they are."""
    infrastructure(cluster)
    assert _born(cluster) == set()
