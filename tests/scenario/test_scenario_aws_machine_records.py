"""Machines whose record was edited, or put back to an older one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from freehold.api import names
from freehold.engine import journal as journals
from freehold.engine.journal import Entry
from freehold.providers.aws.machine.keys import INSTANCE
from freehold_sim.aws.settings import Lags
from harness.aws_account import REGION
from harness.aws_cluster import AwsHarness, aws_cluster
from harness.aws_machine import SIMULATED_IMAGE, MachineHarness, machine, view_of
from harness.standing import standing


@pytest.fixture(scope="module")
def settled() -> AwsHarness:
    return standing(AwsHarness, aws_cluster(network={"vpc": {"availabilityZoneUsageLimit": 1}}))


def made(stage: AwsHarness, *, control_plane: bool = False) -> MachineHarness:
    manifest = machine(ami={"id": SIMULATED_IMAGE}, sshKeyName="")
    manifest["metadata"]["labels"] |= {names.CONTROL_PLANE_LABEL: ""} if control_plane else {}
    one = MachineHarness(stage, manifest)
    one.up()
    one.settle()
    return one


def rewrite(one: MachineHarness, entry: Entry) -> None:
    """Write another record of the instance, and let the operator begin anew."""
    journal = record(one).put(INSTANCE, entry)
    one.object.patch({"metadata": {"annotations": {names.JOURNAL_ANNOTATION: journals.dumps(journal)}}})
    one.start_process()


def record(one: MachineHarness) -> journals.Journal:
    return journals.loads(one.object.raw["metadata"]["annotations"][names.JOURNAL_ANNOTATION])


def state(stage: AwsHarness, ident: str) -> str:
    found: str = stage.cloud.strangers.find(ident)["view"]["State"]["Name"]
    return found


def test_a_strangers_id_in_the_record_is_told_and_neither_taken_over_nor_terminated(settled: AwsHarness) -> None:
    """Its signature fails: what the spec says of ours is not refused for it, and it does not get into the spec."""
    one = made(settled)
    ours = one.object.raw["spec"]["instanceID"]
    subnet = view_of(settled.object.raw).subnets[0]
    asked = {"ImageId": SIMULATED_IMAGE, "InstanceType": "t3.micro", "MinCount": 1, "MaxCount": 1, "SubnetId": subnet}
    theirs = settled.cloud.strangers.create("ec2", "RunInstances", asked, region=REGION)["id"]
    rewrite(one, replace(record(one).entries[INSTANCE], id=theirs, target=""))
    one.for_a_while(900)
    assert one.condition("Ready")["reason"] == "NotOwned" and theirs in one.condition("InstanceReady")["message"]
    assert one.object.raw["spec"]["instanceID"] == ours
    one.object.delete()
    one.for_a_while(600)
    assert (state(settled, theirs), one.object.gone) == ("running", False)
    assert f"{theirs}) is on record" in one.condition("Ready")["message"]


def test_a_registration_that_the_record_has_lost_goes_with_the_machine(settled: AwsHarness) -> None:
    """The cluster's record says where it may be registered."""
    one = made(settled, control_plane=True)
    ours = one.object.raw["spec"]["instanceID"]
    balancer = settled.cloud.strangers.find("demo-apiserver")
    assert list(balancer["registered"]) == [ours]
    one.object.delete()
    rewrite(one, replace(record(one).entries[INSTANCE], parts=()))
    one.down()
    assert list(settled.cloud.strangers.find("demo-apiserver")["registered"]) == []


def test_an_instance_with_our_seal_is_ours_although_no_record_and_no_index_shows_it(
    settled: AwsHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its id is in the spec, where we have written it: it is not somebody's who gave it."""
    behind = replace(settled.cloud.settings, lags=Lags(0, 3600, 3600, 3600))
    monkeypatch.setattr(settled.cloud, "settings", behind)
    one = made(settled)
    ours = one.object.raw["spec"]["instanceID"]
    empty = replace(record(one), entries={})
    one.object.patch({"metadata": {"annotations": {names.JOURNAL_ANNOTATION: journals.dumps(empty)}}})
    one.start_process()
    one.settle()
    assert record(one).entries[INSTANCE].state.is_claimed and one.ready(), one.conditions()
    one.down()
    assert state(settled, ours) == "terminated"
