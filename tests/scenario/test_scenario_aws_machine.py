"""Machines on the simulated AWS: the whole reconcile."""

from __future__ import annotations

import json
from typing import Any

import pytest

from freehold.api import names
from freehold.engine import journal as journals
from freehold.providers.aws.machine.keys import INSTANCE
from freehold_sim.aws.strangers import Strangers
from harness.aws_cluster import AwsHarness
from harness.aws_machine import SIMULATED_IMAGE, MachineHarness, machine, view_of
from harness.standing import standing
from harness.stepping import run_blocking


@pytest.fixture(scope="module")
def settled() -> AwsHarness:
    return standing(AwsHarness)


def worker(stage: AwsHarness, **spec: Any) -> MachineHarness:
    return MachineHarness(stage, machine(ami={"id": SIMULATED_IMAGE}, sshKeyName="", **spec))


def instances(stage: AwsHarness) -> dict[str, str]:
    """The state of each instance by id, without those that have ended."""
    asked = stage.account.client.read_list("ec2", "describe_instances", "Reservations", "all", MaxResults=1000)
    rows = run_blocking(asked)
    every = {each["InstanceId"]: each["State"]["Name"] for row in rows for each in row["Instances"]}
    return {ident: word for ident, word in every.items() if word != "terminated"}


def test_a_worker_comes_up_names_itself_and_goes(settled: AwsHarness) -> None:
    one = worker(settled)
    one.up()
    ident = one.object.raw["spec"]["instanceID"]
    assert one.object.raw["spec"]["providerID"] == f"aws:///us-east-1a/{ident}"
    assert instances(settled) == {ident: "running"}
    version = one.object.raw["metadata"]["resourceVersion"]
    one.settle()
    assert one.object.raw["metadata"]["resourceVersion"] == version
    one.down()
    assert instances(settled) == {}


def test_a_worker_whose_operator_dies_after_each_pass_is_made_once(settled: AwsHarness) -> None:
    one = worker(settled)
    for _ in range(12):
        one.pass_once()
        one.start_process()
        one.clock.advance(30.0)
    one.up()
    assert list(instances(settled)) == [one.object.raw["spec"]["instanceID"]]
    one.down()


def given_instance(stage: AwsHarness) -> str:
    """An instance that a person made."""
    subnet = view_of(stage.object.raw).subnets[0]
    body = run_blocking(
        stage.account.client.write(
            "ec2", "run_instances", "theirs", ImageId=SIMULATED_IMAGE, InstanceType="m5.large", MinCount=1, MaxCount=1,
            SubnetId=subnet, ClientToken=f"a-person-{stage.clock.now()}",
        )
    )  # fmt: skip
    ident: str = body["Instances"][0]["InstanceId"]
    stage.clock.advance(60.0)
    return ident


def test_an_instance_that_is_given_is_used_and_stays(settled: AwsHarness) -> None:
    ident = given_instance(settled)
    one = worker(settled, providerID=f"aws:///us-east-1a/{ident}")
    one.up()
    assert journals.loads(_journal(one)).entries[INSTANCE].state is journals.RecordState.GIVEN
    assert one.object.raw["spec"]["instanceID"] == ident
    assert "never terminated" in one.condition("FieldsServed")["message"]
    one.down()
    assert instances(settled) == {ident: "running"}
    terminate(settled, ident)


def test_a_given_instance_of_another_zone_is_not_ready(settled: AwsHarness) -> None:
    ident = given_instance(settled)
    one = worker(settled, providerID=f"aws:///us-east-1b/{ident}")
    one.run(lambda: one.condition("Ready").get("reason") == "Unfit")
    assert f"{ident} is in us-east-1a, not in us-east-1b" in one.condition("InstanceReady")["message"]
    one.settle(4)
    assert one.status()["ready"] is False
    assert one.object.raw["spec"]["providerID"] == f"aws:///us-east-1b/{ident}"
    one.down()
    terminate(settled, ident)


def test_two_machines_with_one_provider_id_both_refuse(settled: AwsHarness) -> None:
    ident = given_instance(settled)
    both = [worker(settled, providerID=f"aws:///us-east-1a/{ident}") for _ in range(2)]
    both[1].object.raw["metadata"]["name"] = "m2"
    for one, other in ((both[0], "m2"), (both[1], "m1")):
        one.pass_once()
        assert one.condition("SpecValid")["reason"] == "Ambiguous"
        assert f"default/{other} names {ident} too" in one.condition("SpecValid")["message"]
    for each in both:
        each.down()
    terminate(settled, ident)


def terminate(stage: AwsHarness, ident: str) -> None:
    run_blocking(stage.account.client.write("ec2", "terminate_instances", ident, InstanceIds=[ident]))
    stage.clock.advance(60.0)


def _journal(stage: MachineHarness) -> str:
    text: str = stage.object.raw["metadata"]["annotations"]["freehold.dev/journal"]
    return text


def test_an_instance_that_somebody_terminated_is_not_made_again(settled: AwsHarness) -> None:
    one = worker(settled)
    one.up()
    ident = one.object.raw["spec"]["instanceID"]
    terminate(settled, ident)
    one.run(lambda: one.condition("InstanceReady").get("reason") == "InstanceTerminated" and not instances(settled))
    one.settle(4)
    assert instances(settled) == {} and one.status()["ready"] is True
    assert one.condition("Ready")["reason"] == "InstanceTerminated" and one.status()["phase"] == "Blocked"
    one.down()


def test_tags_and_groups_follow_the_spec(settled: AwsHarness) -> None:
    one = worker(settled)
    one.up()
    ident = one.object.raw["spec"]["instanceID"]
    bastion = settled.status()["networkStatus"]["securityGroups"]["apiserver-lb"]["id"]
    one.object.patch({"spec": {"additionalTags": {"team": "a"}, "additionalSecurityGroups": [{"id": bastion}]}})
    one.settle(6)
    (row,) = run_blocking(
        settled.account.client.read_list("ec2", "describe_instances", "Reservations", ident, InstanceIds=[ident])
    )
    (there,) = row["Instances"]
    assert {"Key": "team", "Value": "a"} in there["Tags"]
    assert bastion in [each["GroupId"] for each in there["SecurityGroups"]]
    assert one.condition("SecurityGroupsReady")["status"] == "True"
    one.down()


def test_without_capacity_in_the_first_zone_it_is_in_the_next(settled: AwsHarness) -> None:
    world = Strangers(settled.cloud)
    world.exhaust("us-east-1a", "m5.*")
    one = worker(settled)
    one.up()
    assert one.object.raw["spec"]["providerID"].startswith("aws:///us-east-1b/")
    assert len(instances(settled)) == 1
    one.down()
    world.restock("us-east-1a")


def edit_record(one: MachineHarness, **fields: Any) -> None:
    """Change the entry of the instance in the journal."""
    annotations = one.object.raw["metadata"]["annotations"]
    record = json.loads(annotations[names.JOURNAL_ANNOTATION])
    entry = record["nodes"]["instance/machine"]
    entry.update(fields)
    record["nodes"]["instance/machine"] = {name: said for name, said in entry.items() if said is not None}
    one.object.patch({"metadata": {"annotations": {names.JOURNAL_ANNOTATION: json.dumps(record)}}})


def test_an_instance_that_an_edited_record_calls_given_goes_with_its_machine(settled: AwsHarness) -> None:
    one = worker(settled)
    one.up()
    edit_record(one, p="g")
    one.settle(4)
    one.down()
    assert instances(settled) == {}


def test_an_id_that_was_written_into_the_record_does_not_get_into_the_spec(settled: AwsHarness) -> None:
    theirs = given_instance(settled)
    one = worker(settled)
    one.up()
    ident, own = one.object.raw["spec"]["instanceID"], one.object.raw["spec"]["providerID"]
    edit_record(one, id=theirs)
    one.settle(6)
    assert one.condition("Ready")["reason"] == "NotOwned"
    assert "freehold resolve m1 -n default instance/machine" in one.condition("Ready")["message"]
    assert one.object.raw["spec"]["providerID"] == own
    one.object.patch({"spec": {"providerID": None, "instanceID": None}})
    one.settle(2)
    assert "providerID" not in one.object.raw["spec"]
    edit_record(one, id=ident)
    one.down()
    assert instances(settled) == {theirs: "running"}
    terminate(settled, theirs)


@pytest.mark.parametrize("vacant", [False, True])
def test_a_young_instance_whose_record_was_lost_with_its_operator_is_still_ours(
    settled: AwsHarness, vacant: bool
) -> None:
    """The index does not show its marks yet, and the spec has the id that we filled in."""
    one = worker(settled)
    one.run(lambda: bool(one.object.raw["spec"].get("providerID")))
    ident = one.object.raw["spec"]["instanceID"]
    if vacant:
        edit_record(one, p="v", id=None)
    else:
        one.object.patch({"metadata": {"annotations": {names.JOURNAL_ANNOTATION: None}}})
    one.start_process()
    one.settle(4)
    assert journals.loads(_journal(one)).claimed[INSTANCE].id == ident
    assert "never terminated" not in one.condition("FieldsServed").get("message", "")
    one.down()
    assert instances(settled) == {}
