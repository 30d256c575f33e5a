"""Machines that are asked for wrongly, or all at once, through the real reconciler."""

from __future__ import annotations

from typing import Any

import pytest

from freehold.api import names
from harness.aws_machines import CLASSIC, FleetMachine, Machines, ready_cluster, run_together


def instances(machines: Machines) -> list[dict[str, Any]]:
    rows = machines.cluster.resources()
    return [row for row in rows if row["kind"] == "instance" and row["state"] not in ("shutting-down", "terminated")]


def problem(machine: FleetMachine) -> str:
    return str(machine.condition("SpecValid").get("message", ""))


def test_a_machine_that_names_the_instance_of_another_one_is_refused_and_that_one_goes_on() -> None:
    machines = Machines(ready_cluster())
    first = machines.add("first")
    first.run(first.is_provisioned)
    thief = machines.add("thief", providerID=first.object.raw["spec"]["providerID"])
    thief.settle(2)
    assert "default/first" in problem(thief) and not thief.is_provisioned()
    first.settle(2)
    assert first.ready()
    thief.down()
    assert [row["id"] for row in instances(machines)] == [first.instance]
    first.down()
    assert instances(machines) == []


# -- a cluster that is being deleted --------------------------------------------------------------------------------


def test_no_machine_is_made_in_a_cluster_that_is_being_deleted_and_one_that_is_there_goes_first() -> None:
    machines = Machines(ready_cluster())
    cluster, there = machines.cluster, machines.add("there", control_plane=True)
    there.run(there.is_provisioned)
    cluster.object.delete()
    late = machines.add("late")
    late.settle(2)
    assert "is being deleted" in late.condition(names.READY)["message"]
    cluster.for_a_while(600)
    assert [row["id"] for row in instances(machines)] == [there.instance]
    assert there.instance in cluster.condition(names.READY)["message"]
    there.object.delete()
    late.object.delete()
    run_together([cluster, there, late], lambda: cluster.object.gone and there.object.gone and late.object.gone)
    assert instances(machines) == []


# -- names and numbers ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("control_plane", (False, True))
def test_a_machine_with_the_longest_name_comes_up_and_goes(control_plane: bool) -> None:
    machines = Machines(ready_cluster(CLASSIC))
    machine = machines.add("m" * 253, control_plane=control_plane)
    machine.up()
    (instance,) = instances(machines)
    assert instance["tags"]["Name"] == "m" * 253
    machine.down()
    assert instances(machines) == []
