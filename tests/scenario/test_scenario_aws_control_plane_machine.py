"""A control-plane machine behind the load balancers of its cluster, through the real reconciler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from freehold.api import names
from freehold.engine import journal as journals
from freehold.providers.aws import api_names as aws_names
from freehold_sim.aws.strangers import Strangers
from freehold_sim.faults import Effect, Fault
from harness.aws_cluster import AwsHarness
from harness.aws_machines import CLASSIC, NETWORK, FleetMachine, Machines, ready_cluster

SECOND = {"name": "second", "scheme": "internal", "loadBalancerType": "nlb"}
FRONTS: Mapping[str, Any] = {
    "a classic load balancer": (CLASSIC, {}, 1),
    "a network load balancer": (NETWORK, {}, 1),
    "one with a listener more": ({**NETWORK, "additionalListeners": [{"port": 8132}]}, {}, 2),
    "two load balancers": (NETWORK, {"secondaryControlPlaneLoadBalancer": SECOND}, 2),
}


def serving(cluster: AwsHarness) -> dict[str, set[str]]:
    """The instances behind each target group and classic load balancer, without those that drain."""
    strangers, found = Strangers(cluster.cloud), dict[str, set[str]]()
    for group in strangers.call("elbv2", "DescribeTargetGroups", {})["TargetGroups"]:
        arn = group["TargetGroupArn"]
        rows = strangers.call("elbv2", "DescribeTargetHealth", {"TargetGroupArn": arn})["TargetHealthDescriptions"]
        found[arn] = {row["Target"]["Id"] for row in rows if row["TargetHealth"]["State"] != "draining"}
    for row in strangers.call("elb", "DescribeLoadBalancers", {})["LoadBalancerDescriptions"]:
        found[row["LoadBalancerName"]] = {each["InstanceId"] for each in row["Instances"]}
    return found


def attached(machine: FleetMachine) -> tuple[str, str, str]:
    said = machine.condition(aws_names.ELB_ATTACHED)
    return said["status"], said["reason"], said.get("message", "")


def attached_to_all(machine: FleetMachine) -> bool:
    return machine.condition(aws_names.ELB_ATTACHED).get("status") == "True"


@pytest.mark.parametrize("front", FRONTS)
def test_a_control_plane_machine_is_behind_each_load_balancer_and_a_worker_behind_none(front: str) -> None:
    first, spec, groups = FRONTS[front]
    machines = Machines(ready_cluster(first, **spec))
    control_plane, worker = machines.add("cp", control_plane=True), machines.add("worker")
    machines.run_all(lambda: attached_to_all(control_plane) and worker.ready())
    behind = serving(machines.cluster)
    assert len(behind) == groups
    assert list(behind.values()) == [{control_plane.instance}] * groups
    assert worker.condition(aws_names.ELB_ATTACHED) == {}


def test_where_the_cluster_has_no_load_balancer_a_control_plane_machine_is_ready_when_it_runs() -> None:
    """Upstream's never gets an instance: https://github.com/kubernetes-sigs/cluster-api-provider-aws/issues/6017"""
    endpoint = {"host": "api.example.com", "port": 6443}
    machines = Machines(ready_cluster({"loadBalancerType": "disabled"}, controlPlaneEndpoint=endpoint))
    machine = machines.add(control_plane=True)
    machine.up()
    assert machine.is_provisioned() and machine.condition(aws_names.ELB_ATTACHED) == {}
    machine.down()


# -- health ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", (CLASSIC, NETWORK))
def test_a_machine_is_ready_when_it_is_registered_and_looked_at_until_it_serves(first: Mapping[str, Any]) -> None:
    machine = Machines(ready_cluster(first)).add(control_plane=True)
    machine.run(machine.is_provisioned)
    (behind,) = serving(machine.machines.cluster).values()
    assert behind == {machine.instance}
    assert machine.ready() and attached(machine)[:2] == ("False", "ELBAttachFailed")
    assert "in progress" in attached(machine)[2]
    begun, passes = machine.clock.now(), machine.passes
    machine.run(lambda: attached(machine)[0] == "True")
    took = machine.clock.now() - begun
    assert took <= 30, "of the 60 s that kubeadm init waits for its load balancer"
    assert took / (machine.passes - passes) <= 10, "every few seconds"
    machine.for_a_while(7200)
    assert attached(machine) == ("True", "Ready", "")


@pytest.mark.parametrize(
    ("first", "why"),
    ((CLASSIC, "failed at least the UnhealthyThreshold"), (NETWORK, "unhealthy (Health checks failed)")),
    ids=("classic", "nlb"),
)
def test_an_unhealthy_machine_says_why_and_stays_ready(first: Mapping[str, Any], why: str) -> None:
    machine = Machines(ready_cluster(first)).add(control_plane=True)
    machine.run(lambda: attached_to_all(machine))
    Strangers(machine.cloud).answer(machine.instance, answers=False)
    machine.run(lambda: attached(machine)[0] == "False")
    assert attached(machine)[1] == "ELBAttachFailed" and why in attached(machine)[2]
    assert machine.ready() and machine.is_provisioned()
    machine.for_a_while(600)
    assert machine.ready() and why in attached(machine)[2]
    Strangers(machine.cloud).answer(machine.instance, answers=True)
    machine.run(lambda: attached_to_all(machine), limit=61)


def test_a_machine_that_cannot_be_registered_is_not_ready_and_says_so() -> None:
    machine = Machines(ready_cluster(NETWORK)).add(control_plane=True)
    machine.cloud.faults.add(Fault(Effect.DENIED, "elbv2.RegisterTargets", count=3))
    machine.run(lambda: machine.status().get("instanceState") == "running")
    machine.pass_once()
    assert not machine.is_provisioned() and not machine.ready()
    assert attached(machine)[1] == "ELBAttachFailed" and "RegisterTargets" in attached(machine)[2]
    machine.up()


@pytest.mark.parametrize("lost", ("its signature", "its id", "all of it"))
def test_a_machine_stays_behind_its_load_balancer_while_the_clusters_record_is_damaged(lost: str) -> None:
    """Otherwise an edit of an annotation, or its loss, would take all API servers out."""
    machines = Machines(ready_cluster(NETWORK))
    machine, cluster = machines.add(control_plane=True), machines.cluster.object
    machine.run(lambda: attached_to_all(machine))
    text = cluster.raw["metadata"]["annotations"][names.JOURNAL_ANNOTATION]
    journal = journals.loads(text)
    (key,) = [key for key in journal.entries if key.kind == "target-group"]
    entry = journal.entries[key]
    edit = {"signature": "x"} if "signature" in lost else {"id": f"{entry.id}0"}
    damaged = None if "all" in lost else journals.dumps(journal.put(key, replace(entry, **edit)))
    cluster.patch({"metadata": {"annotations": {names.JOURNAL_ANNOTATION: damaged}}})
    machine.for_a_while(1800)
    assert list(serving(machines.cluster).values()) == [{machine.instance}]
    assert machine.is_provisioned() and "record" in machine.condition(names.READY)["message"]
    cluster.patch({"metadata": {"annotations": {names.JOURNAL_ANNOTATION: text}}})
    machine.up()


# -- delete ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", (CLASSIC, NETWORK))
def test_a_deleted_machine_is_taken_out_and_the_others_stay(first: Mapping[str, Any]) -> None:
    machines = Machines(ready_cluster(first))
    one, other = machines.add("one", control_plane=True), machines.add("other", control_plane=True)
    machines.run_all(lambda: attached_to_all(one) and attached_to_all(other))
    ((load_balancer, behind),) = serving(machines.cluster).items()
    assert behind == {one.instance, other.instance}
    sent = len(machines.cluster.calls(mutating=True))
    took = one.down()
    assert serving(machines.cluster) == {load_balancer: {other.instance}}
    assert took <= 30 + 60, "30 s for connections, 40 s until it was seen gone"
    assert state_of(one) == "terminated" and state_of(other) == "running"
    writes = [call.operation for call in machines.cluster.calls(mutating=True)[sent:]]
    assert [name for name in writes if "egister" not in name] == ["ec2.TerminateInstances"]
    assert len(writes) == 2, writes


def state_of(machine: FleetMachine) -> str:
    rows = [row for row in machine.resources() if row["id"] == machine.instance]
    return str(rows[0]["state"]) if rows else "terminated"


@pytest.mark.parametrize("first", (CLASSIC, NETWORK))
def test_a_machine_goes_when_its_load_balancer_has_gone(first: Mapping[str, Any]) -> None:
    machines = Machines(ready_cluster(first))
    machine = machines.add(control_plane=True)
    machine.run(lambda: attached_to_all(machine))
    for row in machine.resources():
        if row["kind"] in ("listener", "balancer", "classic-balancer", "target-group"):
            Strangers(machine.cloud).delete(row["id"])
    machine.down()
    assert state_of(machine) == "terminated"


@pytest.mark.parametrize("first", (CLASSIC, NETWORK))
def test_a_machine_goes_when_its_cluster_has_gone_and_is_taken_out_all_the_same(first: Mapping[str, Any]) -> None:
    machines = Machines(ready_cluster(first))
    machine = machines.add(control_plane=True)
    machine.run(lambda: attached_to_all(machine))
    machines.cluster.object.gone = True
    machines.start_process()
    machine.down()
    assert state_of(machine) == "terminated"
    assert list(serving(machines.cluster).values()) == [set()]
