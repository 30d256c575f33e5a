"""A machine in its cluster: made there and nowhere else, gone also without it, and never deleted from under."""

from __future__ import annotations

import json
from typing import Any

import pytest

from freehold.api import names
from freehold.controllers.plan.planner import Plan, PlanAction, plan_with_accounts
from freehold.controllers.recovery.lost_objects import NoOwner, build_recovery
from freehold.controllers.recovery.orphans import find_orphans
from freehold.engine.keyed_codec import UUID, WITHIN
from freehold.providers.objects import identity
from freehold_sim.aws.strangers import Strangers
from harness.aws_account import REGION
from harness.aws_child import ChildHarness
from harness.aws_cluster import AwsHarness, aws_cluster
from harness.aws_network import own
from harness.standing import standing
from harness.stepping import run_blocking

OWN_CREDENTIALS = {"kind": "AWSClusterControllerIdentity", "name": "default"}


def made() -> tuple[AwsHarness, ChildHarness]:
    cluster = standing(AwsHarness, aws_cluster(network={"vpc": {"availabilityZoneUsageLimit": 1}}))
    machine = ChildHarness(cluster)
    machine.up()
    machine.settle()
    return cluster, machine


def instances(harness: AwsHarness | ChildHarness) -> list[dict[str, Any]]:
    return [each for each in harness.resources() if each["kind"] == "instance" and each["state"] != "terminated"]


def record_of(machine: ChildHarness) -> tuple[str, Any, str]:
    record = identity.read_record(machine.object.raw)
    assert record is not None
    return record.owner.within, record.place, record.account


def test_a_machine_is_made_in_its_clusters_account_and_within_its_identity() -> None:
    cluster, machine = made()
    (instance,) = instances(machine)
    uuid = cluster.object.raw["metadata"]["uid"]
    assert (instance["tags"][WITHIN], instance["tags"][UUID]) == (uuid, machine.object.raw["metadata"]["uid"])
    assert record_of(machine) == (uuid, {"region": REGION}, f"111122223333/{REGION}")
    held = machine.status()["identity"]
    assert (held["within"], held["place"], held["account"]) == record_of(machine)


def test_its_bootstrap_data_are_read_for_the_request_and_kept_nowhere() -> None:
    _, machine = made()
    assert {key.namespace for kind, key in machine.reader.asked if kind == "Secret"} == {"default"}
    kept = json.dumps([machine.object.history, machine.events.said])
    assert "boot/value" in kept and "bootstrap token" not in kept


def test_a_machine_waits_for_its_secret_and_says_which() -> None:
    cluster, _ = made()
    machine = ChildHarness(cluster, "m2", **{names.BOOTSTRAP_ANNOTATION: "later"})
    machine.pass_once()
    assert "Secret default/later does not exist" in machine.condition(names.READY)["message"]
    machine.reader.secrets[next(iter(machine.reader.secrets))._replace(name="later")] = {"data": {"value": "eA=="}}
    assert machine.run(machine.ready) < 60


@pytest.mark.parametrize("lost", ("its object", "its object and the operator's memory"))
def test_a_cluster_waits_for_the_instance_of_a_machine_whose_object_is_lost(lost: str) -> None:
    """Somebody has taken the finalizer off. The instance is named, and nothing goes from under it."""
    cluster, machine = made()
    (instance,) = instances(machine)
    machine.object.patch({"metadata": {"finalizers": []}})
    machine.object.delete()
    if "memory" in lost:
        cluster.start_process()
    before = [each["id"] for each in own(cluster)]
    cluster.object.delete()
    cluster.for_a_while(600)
    said = cluster.condition(names.READY)["message"]
    assert instance["id"] in said and "of AWSMachine default/m1" in said
    assert [each["id"] for each in own(cluster)] == before
    Strangers(cluster.cloud).delete(instance["id"])
    cluster.run(lambda: cluster.object.gone)
    assert [each for each in own(cluster) if each["kind"] != "instance"] == []


def test_a_lost_machine_is_listed_as_part_of_its_cluster_and_never_rebuilt_as_a_cluster() -> None:
    cluster, machine = made()
    uuid = cluster.object.raw["metadata"]["uid"]
    deps = cluster.account.build_read_only_deps(cluster.rings.ring)
    (lost,) = run_blocking(find_orphans(deps, {uuid}))
    assert (lost.uuid, lost.names, lost.within) == (machine.object.raw["metadata"]["uid"], ("default/m1",), uuid)
    with pytest.raises(NoOwner, match=uuid):
        build_recovery(lost, cluster.served, deps)
    (both,) = [each for each in run_blocking(find_orphans(deps, ())) if each.uuid == uuid]
    assert both.within == ""


@pytest.mark.parametrize("known", ("by its record", "by its status alone"))
def test_a_machine_goes_without_its_cluster(known: str) -> None:
    cluster, machine = made()
    cluster.object.gone = True
    machine.start_process()
    if "status" in known:
        machine.object.patch({"metadata": {"annotations": {names.JOURNAL_ANNOTATION: None}}})
    machine.down()
    assert instances(machine) == []


def test_a_machine_that_nothing_says_the_account_of_is_held_and_says_what_to_do() -> None:
    cluster, machine = made()
    cluster.object.gone = True
    machine.start_process()
    journal = machine.object.raw["metadata"]["annotations"][names.JOURNAL_ANNOTATION]
    machine.object.patch(
        {"metadata": {"annotations": {names.JOURNAL_ANNOTATION: journal.replace('"place"', '"former"')}}}
    )
    machine.object.patch({"status": {}}, "status")
    machine.object.delete()
    machine.pass_once()
    assert not machine.object.gone and len(instances(machine)) == 1
    assert "restore the AWSCluster" in machine.condition(names.READY)["message"]


def test_a_machine_follows_its_cluster_to_another_identity_of_the_account() -> None:
    """Otherwise it could not end once the first one is taken away."""
    cluster, machine = made()
    cluster.object.patch({"spec": {"identityRef": OWN_CREDENTIALS}})
    machine.settle(2)
    assert record_of(machine)[1] == {"region": REGION, "identityRef": OWN_CREDENTIALS}
    versions = len(machine.object.history)
    machine.settle(2)
    assert len(machine.object.history) == versions and len(instances(machine)) == 1


def test_an_identity_that_the_cluster_may_not_use_is_not_used_by_its_machine() -> None:
    cluster, machine = made()
    cluster.object.patch({"spec": {"identityRef": {"kind": "AWSClusterStaticIdentity", "name": "theirs"}}})
    machine.settle(1)
    said = machine.condition(names.READY)["message"]
    assert said.startswith("of its AWSCluster: ") and "theirs" in said


def test_nothing_is_made_before_its_cluster_is_ready_nor_while_that_is_deleted() -> None:
    cluster = AwsHarness(aws_cluster(network={"vpc": {"availabilityZoneUsageLimit": 1}}))
    machine = ChildHarness(cluster)
    machine.settle(2)
    waits = names.REASON_WAITING_FOR_CLUSTER_INFRASTRUCTURE
    assert [machine.condition(each)["reason"] for each in (names.READY, "InstanceReady")] == [waits] * 2
    assert "finalizers" not in machine.object.raw["metadata"], "so that it can be deleted at once"
    cluster.up()
    cluster.object.delete()
    machine.settle(2)
    assert "is being deleted" in machine.condition(names.READY)["message"] and instances(machine) == []


def planned(machine: ChildHarness) -> Plan:
    served, ring = machine.served, machine.rings.ring
    raw, around = machine.object.raw, machine.look_around()
    made = plan_with_accounts(served, machine.new_accounts(), machine.wall, raw, ring, around, reader=machine.reader)
    return run_blocking(made)


def test_a_plan_of_a_machine_says_what_it_makes_and_not_what_it_boots_with() -> None:
    cluster, _ = made()
    plan = planned(ChildHarness(cluster, "m2"))
    assert [(row.action, row.kind) for row in plan.rows] == [(PlanAction.CREATE, "instance")]
    assert "bootstrap token" not in repr(plan)


def test_a_plan_of_a_machine_that_must_wait_is_no_problem_of_its_manifest() -> None:
    cluster = AwsHarness(aws_cluster())
    plan = planned(ChildHarness(cluster))
    assert plan.notes == ("it waits: AWSCluster 'demo' is not ready yet",) and not plan.problems
