"""The collection of one network: how it ends, how often it looks, and that what it says is so."""

from __future__ import annotations

from dataclasses import replace

import pytest

from freehold.collection.policy import Collect, Volumes
from freehold.collection.things import DEFAULT_TASKS, CollectionTask
from freehold.engine.keyed_codec import UUID
from freehold.engine.outcomes import Waiting
from freehold_sim.faults import Effect, Fault
from harness.cloud_bystanders import strange_ground
from harness.cloud_controllers import CloudProvider, everything, protect
from harness.sweeping import OWNER, Sweeping, said

HOUR = 3600.0


@pytest.fixture
def sweeping() -> Sweeping:
    return Sweeping()


def own_nodes(sweeping: Sweeping) -> None:
    """Let the group of the machines be ours, as it is in a cluster that was not given one."""
    sweeping.user.tag(sweeping.ground.nodes, **{UUID: OWNER.uuid})


def test_a_classic_load_balancer_that_is_made_again_under_its_name_is_found_again(sweeping: Sweeping) -> None:
    """Its ARN is the same, and so is what its interfaces say: those of the first one are still there."""
    own_nodes(sweeping)
    sweeping.provider.classic()
    sweeping.run(5.0)
    name = sweeping.provider.made["classic team/web"]
    assert not sweeping.there(name)
    sweeping.provider.classic()
    assert sweeping.run(HOUR).done
    assert not sweeping.there(name)


def test_a_pass_is_asked_for_only_when_there_is_something_to_look_at(sweeping: Sweeping) -> None:
    own_nodes(sweeping)
    sweeping.provider.network()
    assert sweeping.run(HOUR).done
    assert sweeping.steps < 15


def test_what_becomes_free_later_was_not_made_again(sweeping: Sweeping) -> None:
    """Volumes whose machines go late, one after the other, while a rule in a stranger's group holds the rest."""
    sweeping.provider.classic()
    volumes = [sweeping.nodes.volume(f"team/data-{number}") for number in range(6)]
    for each in volumes:
        sweeping.user.act("change", {"id": each, "fields": {"State": "in-use"}})
    for each in volumes:
        sweeping.run(600.0)
        sweeping.user.act("change", {"id": each, "fields": {"State": "available"}})
    found = sweeping.run(600.0)
    assert not any(sweeping.there(each) for each in volumes)
    assert f"a rule in {sweeping.ground.nodes} names it" in said(found)


def test_an_interface_of_a_user_that_reads_like_that_of_a_load_balancer_is_not_waited_for(sweeping: Sweeping) -> None:
    own_nodes(sweeping)
    sweeping.provider.classic()
    subnet, about = sweeping.ground.subnets[0], f"ELB {sweeping.provider.made['classic team/web']}"
    made = sweeping.user.make("ec2", "CreateNetworkInterface", SubnetId=subnet, Description=about)
    assert sweeping.run(HOUR).done
    assert sweeping.there(made)


def test_a_snapshot_that_fails_is_named_and_its_volume_stays() -> None:
    """As that of a volume whose key may not be used."""
    sweeping = Sweeping(Volumes.SNAPSHOT)
    volume = sweeping.nodes.volume()
    sweeping.cloud.faults.add(Fault(Effect.FAILED, "ec2.CreateSnapshot"))
    found = sweeping.run(HOUR)
    [snapshot] = [row["id"] for row in sweeping.cloud.strangers.resources() if row["kind"] == "snapshot"]
    assert f"snapshot {snapshot} of {volume} has failed" in said(found)
    assert sweeping.there(volume)
    sweeping.cloud.strangers.delete(snapshot)
    assert sweeping.run(HOUR).done
    assert not sweeping.there(volume)


def test_a_snapshot_that_is_being_taken_needs_nobody() -> None:
    sweeping = Sweeping(Volumes.SNAPSHOT)
    volume = sweeping.nodes.volume()
    [outcome] = sweeping.step().outcomes.values()
    assert isinstance(outcome, Waiting)
    assert f"the snapshot of {volume} is not complete yet" in outcome.message
    assert sweeping.run(HOUR).done
    kinds = [row["kind"] for row in sweeping.cloud.strangers.resources()]
    assert kinds.count("snapshot") == 1
    assert not sweeping.there(volume)


def test_a_volume_that_is_just_going_is_no_sign_of_another_cluster(sweeping: Sweeping) -> None:
    going, volume = sweeping.nodes.volume("team/a"), sweeping.nodes.volume("team/b")
    sweeping.user.act("change", {"id": going, "fields": {"State": "deleting"}})
    sweeping.clock.advance(HOUR)
    assert sweeping.run(HOUR).done
    assert not sweeping.there(volume)


def test_what_is_asked_for_after_the_end_is_collected_too(sweeping: Sweeping) -> None:
    volume = sweeping.nodes.volume()
    sweeping.policy = Collect(DEFAULT_TASKS, Volumes.DELETE, "default")
    assert sweeping.run(HOUR).done
    sweeping.policy = replace(sweeping.policy, tasks=tuple(CollectionTask))
    assert sweeping.run(HOUR).done
    assert not sweeping.there(volume)


def test_since_when_a_search_fails_is_told_of_the_failures_in_a_row(sweeping: Sweeping) -> None:
    own_nodes(sweeping)
    sweeping.provider.network()
    balancer = sweeping.provider.made["network team/api"]
    protect(sweeping.user, balancer)
    search = Fault(Effect.THROTTLE, "ec2.DescribeSecurityGroups")
    sweeping.cloud.faults.add(search)
    assert "cannot be looked for" in said(sweeping.step())
    sweeping.run(HOUR)
    sweeping.cloud.faults.add(search)
    sweeping.clock.advance(HOUR)
    found = sweeping.step()
    assert "cannot be looked for" in said(found)
    assert "since" not in said(found)


@pytest.mark.parametrize("what", ["machine", "protection", "network"])
def test_what_lasts_costs_no_more_than_a_look_in_five_minutes(what: str, sweeping: Sweeping) -> None:
    own_nodes(sweeping)
    if what == "machine":
        sweeping.provider.instance()
    if what == "protection":
        sweeping.provider.network()
        protect(sweeping.user, sweeping.provider.made["network team/api"])
    sweeping.run(HOUR, refused=what == "network")
    before = sweeping.calls()
    sweeping.run(HOUR, refused=what == "network")
    assert sweeping.calls() - before <= 13 * 12


def test_without_the_tag_index_a_look_asks_nothing_of_each_load_balancer_of_the_account(sweeping: Sweeping) -> None:
    sweeping.cloud.faults.add(Fault(Effect.DENIED, "resourcegroupstaggingapi.GetResources", count=None))
    everything(sweeping.user, sweeping.ground)
    protect(sweeping.user, sweeping.provider.balancers(sweeping.provider.name_of("team/api"))[0]["LoadBalancerArn"])
    sweeping.run(60.0)
    others = CloudProvider(sweeping.user, strange_ground(sweeping.user, "another", block="10.77"))
    for number in range(19):
        others.network(f"team/x{number}")
    sweeping.run(HOUR)
    before, looks = sweeping.calls(), sweeping.steps
    sweeping.run(HOUR)
    assert sweeping.calls() - before <= 20 * (sweeping.steps - looks)
