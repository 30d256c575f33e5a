"""The engine with the kind ``instance`` as a machine has it: made once, registered, taken out, gone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from copy import copy
from dataclasses import replace
from pathlib import Path

import pytest

from freehold.engine.clock import ManualClock
from freehold.engine.dry_run import dry_run_deps
from freehold.engine.dry_run_overlay import Action, Overlay
from freehold.engine.engine import ensure, release
from freehold.engine.graph import Graph, Node
from freehold.engine.interface import PassResult
from freehold.engine.journal import Journal
from freehold.engine.outcomes import Blocked, Ready, Reason, Waiting
from freehold.engine.port import ReadOnlyPort
from freehold.engine.resources import NodeKey, Part
from freehold.engine.shared_lists import SharedLists
from freehold.engine.state import ObjectState
from freehold.providers.aws.identities import AssumedRole
from freehold.providers.aws.kinds.classic_load_balancer import SUBNET, listener_part
from freehold.providers.aws.registry import aws_kinds
from freehold_sim.faults import Effect as FaultEffect
from freehold_sim.faults import Fault
from harness.aws_account import KEYS, TARGET_ATTRIBUTES, AwsAccount
from harness.aws_machine_life import KEY, MACHINE, Machine
from harness.aws_passes import Life


@pytest.fixture
def machine(account: AwsAccount) -> Machine:
    return Machine(account)


async def test_a_worker_comes_up_in_four_calls(machine: Machine) -> None:
    await machine.up()
    sent = machine.sent()
    assert sent[:2] == ["ec2.run_instances", "resourcegroupstaggingapi.tag_resources"]
    assert sent[2:] == ["ec2.describe_instances"] * 2
    (shown,) = machine.instances()
    assert shown["State"]["Name"] == "running"


DISK = {"device": "/dev/sda1", "size": 20, "type": "gp3", "iops": 4000, "throughput": 250, "encrypted": True}
METADATA = {"http_endpoint": "enabled", "http_tokens": "required", "hop_limit": 2, "instance_metadata_tags": "disabled"}
HOSTNAME = {"type": "ip-name", "a_record": True, "aaaa_record": False}


async def test_one_call_has_all_of_a_machine_and_its_tags_on_what_comes_with_it(account: AwsAccount) -> None:
    account.profile("nodes")
    account.ec2.import_key_pair(KeyName="mine", PublicKeyMaterial=b"ssh-ed25519 x")
    account.ec2.create_placement_group(GroupName="near", Strategy="partition", PartitionCount=3)
    machine = Machine(
        account, instance_type="m5.large", key_name="mine", user_data="#!/bin/sh", profile="nodes", root_volume=DISK,
        volumes=[{"device": "/dev/sdb", "size": 1}], metadata=METADATA, hostname=HOSTNAME, tenancy="dedicated",
        placement_group="near", partition=2, associate_public_ip_address=True,
    )  # fmt: skip
    done = await machine.up()
    assert machine.sent().count("ec2.run_instances") == 1
    assert isinstance(outcome := done.outcomes[KEY], Ready) and not outcome.note, "a read shows what was asked for"
    (shown,) = machine.instances()
    assert shown["IamInstanceProfile"]["Arn"].endswith(":instance-profile/nodes")
    assert (shown["KeyName"], shown["InstanceType"]) == ("mine", "m5.large")
    placement = {name: shown["Placement"][name] for name in ("Tenancy", "GroupName", "PartitionNumber")}
    assert placement == {"Tenancy": "dedicated", "GroupName": "near", "PartitionNumber": 2}
    assert shown["MetadataOptions"]["HttpTokens"] == "required" and shown["PublicIpAddress"]
    disks = {row["Attachments"][0]["Device"]: row for row in account.ec2.describe_volumes()["Volumes"]}
    root = disks["/dev/sda1"]
    assert (root["Size"], root["Iops"], root["Throughput"], root["Encrypted"]) == (20, 4000, 250, True)
    assert all(row["Attachments"][0]["DeleteOnTermination"] for row in disks.values())
    (card,) = account.ec2.describe_network_interfaces()["NetworkInterfaces"]
    for tags in [row["Tags"] for row in disks.values()] + [card["TagSet"]]:
        assert tags == [{"Key": "Name", "Value": "one"}]
    own = {row["Key"] for row in shown["Tags"]}
    assert {"Name", "freehold.dev/owner", "freehold.dev/owner-uuid", "freehold.dev/birth"} <= own
    await machine.down()
    assert account.ec2.describe_volumes()["Volumes"] == []


async def test_a_spot_machine_is_one_and_an_interruption_is_told(account: AwsAccount) -> None:
    machine = Machine(account, spot={"max_price": "1.00"})
    done = await machine.up()
    assert isinstance(outcome := done.outcomes[KEY], Ready) and outcome.observed.attributes["lifecycle"] == "spot"
    ident = machine.journal.entries[KEY].id
    machine.world.interrupt(ident)
    machine.later(1)
    machine.state.invalidate()
    waiting = (await machine.one_pass()).outcomes[KEY]
    assert isinstance(waiting, Waiting) and "Spot" in waiting.message
    for _ in range(10):
        machine.later(60)
        done = await machine.one_pass()
    gone = done.outcomes[KEY]
    assert isinstance(gone, Blocked) and gone.reason is Reason.GONE
    assert [each["InstanceId"] for each in machine.instances()] == [ident]


@pytest.mark.parametrize("lag", [0.0, 100.0])
async def test_a_reply_that_was_lost_makes_no_second_machine(lag: float) -> None:
    """Where reads are behind, no mark shows the first one: the same token answers with it (CAPA#5794)."""
    machine = Machine(AwsAccount())
    machine.show_late(lag)
    machine.account.cloud.faults.add(Fault(FaultEffect.REPLY_LOST, "ec2.RunInstances"))
    await machine.one_pass()
    machine.die()
    await machine.up()
    machine.later(lag)
    (shown,) = machine.instances()
    assert machine.journal.entries[KEY].id == shown["InstanceId"]


async def test_the_cloud_shows_it_late_and_no_second_one_is_made(machine: Machine) -> None:
    """CAPA#6131."""
    machine.show_late(100.0)
    done = await machine.one_pass()
    assert isinstance(done.outcomes[KEY], Waiting)
    ident = machine.journal.entries[KEY].id
    machine.later(done.after)
    waiting = (await machine.one_pass()).outcomes[KEY]
    assert isinstance(waiting, Waiting) and ident in waiting.message
    await machine.up()
    assert [each["InstanceId"] for each in machine.instances()] == [ident]


async def test_a_stopped_machine_is_told_and_not_made_again(machine: Machine) -> None:
    await machine.up()
    ident = machine.journal.entries[KEY].id
    machine.account.ec2.stop_instances(InstanceIds=[ident])
    machine.later(7200)
    done = await machine.one_pass()
    outcome = done.outcomes[KEY]
    assert isinstance(outcome, Waiting) and "stopped" in outcome.message
    assert len(machine.instances()) == 1
    machine.account.ec2.start_instances(InstanceIds=[ident])
    machine.later(60)
    await machine.up()


async def test_a_machine_that_others_terminated_is_told_and_not_made_again(machine: Machine) -> None:
    await machine.up()
    ident = machine.journal.entries[KEY].id
    machine.account.ec2.terminate_instances(InstanceIds=[ident])
    for _ in range(20):
        machine.later(60)
        done = await machine.one_pass()
    outcome = done.outcomes[KEY]
    assert isinstance(outcome, Blocked) and outcome.reason is Reason.GONE and ident in outcome.message
    assert "run_instances" not in [call.operation for call in machine.account.port.calls[3:]]
    await machine.down()


# -- registration ---------------------------------------------------------------------------------------------------


async def test_a_control_plane_machine_is_registered_when_it_runs(machine: Machine) -> None:
    group = machine.target_group()
    machine.behind(group)
    done = await machine.one_pass()
    assert machine.targets(group) == set(), "it does not run yet"
    while not machine.targets(group):
        machine.later(done.after)
        done = await machine.one_pass()
    outcome = done.outcomes[KEY]
    assert isinstance(outcome, Ready) and f"registration {group}: initial" in outcome.note
    assert not done.at_rest and done.after <= 5.0, "it is looked at until it serves"
    assert machine.sent()[4:] == ["elbv2.register_targets", "elbv2.describe_target_health"]
    assert outcome.observed.attributes["waiting_parts"]
    served = (await machine.up()).outcomes[KEY]
    assert isinstance(served, Ready) and not served.note and "waiting_parts" not in served.observed.attributes
    assert machine.targets(group) == {machine.journal.entries[KEY].id}
    assert set(machine.sent()) == {"elbv2.describe_target_health"}


async def test_another_process_finds_the_registration_that_it_does_not_remember(machine: Machine) -> None:
    group = machine.target_group()
    machine.behind(group)
    await machine.up()
    machine.die()
    machine.sent()
    await machine.up()
    assert "elbv2.register_targets" not in machine.sent()


async def test_a_registration_that_somebody_took_out_is_put_back_at_the_next_look(machine: Machine) -> None:
    group = machine.target_group()
    machine.behind(group)
    await machine.up()
    ident = machine.journal.entries[KEY].id
    machine.account.elbv2.deregister_targets(TargetGroupArn=group, Targets=[{"Id": ident}])
    machine.state.invalidate()
    await machine.up()
    assert machine.targets(group) == {ident}


async def test_a_load_balancer_that_the_cluster_has_no_more_is_left_and_no_other_target_touched(
    machine: Machine,
) -> None:
    first, second = machine.target_group("first"), machine.target_group("second")
    stranger = machine.account.instance(machine.subnets[0])
    for group in (first, second):
        machine.account.elbv2.register_targets(TargetGroupArn=group, Targets=[{"Id": stranger}])
    machine.behind(first, second)
    await machine.up()
    ident = machine.journal.entries[KEY].id
    assert machine.targets(first) == machine.targets(second) == {ident, stranger}
    machine.behind(first)
    machine.state.invalidate()
    await machine.up()
    assert machine.targets(first) == {ident, stranger}
    assert machine.targets(second) == {stranger}
    await machine.down()
    assert machine.targets(first) == machine.targets(second) == {stranger}


async def test_a_load_balancer_keeps_the_machines_that_are_behind_it(account: AwsAccount) -> None:
    """Neither a look, nor a look at everything, nor another process of its own object takes one out."""
    machine = Machine(account)
    subnets, vpc = machine.subnets, machine.vpc
    listener = {"Protocol": "TCP", "LoadBalancerPort": 6443, "InstanceProtocol": "TCP", "InstancePort": 6443}
    check = {"Target": "TCP:6443", "Interval": 10, "Timeout": 5, "HealthyThreshold": 5, "UnhealthyThreshold": 3}
    target_check = {
        "HealthCheckProtocol": "TCP", "HealthCheckPort": "6443", "HealthCheckIntervalSeconds": 20,
        "HealthCheckTimeoutSeconds": 5, "HealthyThresholdCount": 5, "UnhealthyThresholdCount": 3,
    }  # fmt: skip
    front = {
        "classic-load-balancer": {
            "scheme": "internet-facing", "subnets": subnets, "security_groups": machine.request["security_groups"],
            "listeners": [listener], "health_check": check, "idle_timeout": 600, "cross_zone": True,
        },
        "target-group": {
            "vpc_id": vpc, "protocol": "TCP", "port": 6443, "target_type": "instance", "health_check": target_check,
            "attributes": TARGET_ATTRIBUTES,
        },
    }  # fmt: skip
    parts = frozenset({listener_part(listener), *(Part(SUBNET, each) for each in subnets)})

    def node(kind: str) -> Node:
        name = f"api-{kind[:6]}"
        inside = parts if kind.startswith("classic") else frozenset()
        return Node(
            NodeKey(kind, "api"), name, lambda known: {"name": name, **front[kind]}, parts=lambda known: inside
        )  # fmt: skip

    cluster = Life(account, map(node, front))
    await cluster.up()
    group = cluster.journal.entries[NodeKey("target-group", "api")].id
    machine.behind(group, "api-classi")
    machine.clock.advance(cluster.clock.now() - machine.clock.now())
    while not machine.targets(group):
        machine.later(max((await machine.one_pass()).after, 1.0))
    ident = machine.journal.entries[KEY].id
    for _ in range(3):
        cluster.state.invalidate()
        await cluster.up()
        cluster.die()
        await cluster.up()
    (classic,) = account.elb.describe_load_balancers()["LoadBalancerDescriptions"]
    assert machine.targets(group) == {ident} and classic["Instances"] == [{"InstanceId": ident}]
    assert not any(
        "registration" in part or "target" in part for e in cluster.journal.entries.values() for part in e.parts
    )


# -- delete ---------------------------------------------------------------------------------------------------------


async def test_a_worker_is_released_when_it_was_seen_gone(machine: Machine) -> None:
    await machine.up()
    machine.later(3600)
    machine.sent()
    machine.graph = Graph(())
    await machine.down()
    assert machine.instances()[0]["State"]["Name"] == "terminated"
    index = "resourcegroupstaggingapi.get_resources"
    sent = machine.sent()
    assert sent[:3] == ["ec2.describe_instances", index, "ec2.terminate_instances"]
    assert sent[3:].count(index) == 1 and "ec2.describe_instances" in sent[sent.index(index, 2) :]
    assert len(sent) <= 9


async def test_a_machine_is_deregistered_then_terminated_when_its_connections_have_ended(machine: Machine) -> None:
    group = machine.target_group()
    machine.behind(group)
    await machine.up()
    machine.later(3600)
    machine.sent()
    done = await release(machine.deps, machine.graph, machine.journal, machine.store, machine.state)
    machine.journal = done.journal
    outcome = done.outcomes[KEY]
    assert isinstance(outcome, Waiting) and outcome.reason is Reason.DELETING and group in outcome.message
    assert machine.targets(group) == set()
    assert machine.instances()[0]["State"]["Name"] == "running"
    assert done.after == pytest.approx(30.0, abs=0.1)
    machine.later(done.after)
    done = await machine.one_release()
    assert machine.instances()[0]["State"]["Name"] == "shutting-down"
    await machine.down()
    writes = [name for name in machine.sent() if "describe" not in name and "get_" not in name]
    assert writes == ["elbv2.deregister_targets", "ec2.terminate_instances"]


async def test_a_process_that_dies_while_it_drains_takes_it_out_again_and_goes_on(machine: Machine) -> None:
    group = machine.target_group()
    machine.behind(group)
    await machine.up()
    machine.later(3600)
    await machine.one_release()
    machine.die()
    await machine.down()
    assert machine.targets(group) == set()
    assert machine.instances()[0]["State"]["Name"] == "terminated"


async def test_a_registration_that_may_not_be_taken_out_keeps_the_machine_and_is_named(machine: Machine) -> None:
    group = machine.target_group()
    machine.behind(group)
    await machine.up()
    machine.later(3600)
    machine.account.cloud.faults.add(Fault(FaultEffect.DENIED, "elbv2.DeregisterTargets"))
    outcome = (await machine.one_release()).outcomes[KEY]
    assert isinstance(outcome, Waiting) and outcome.reason is Reason.DENIED
    assert "Grant elasticloadbalancing:DeregisterTargets" in outcome.message
    assert machine.instances()[0]["State"]["Name"] == "running"
    await machine.down()
    assert machine.targets(group) == set()


async def test_where_draining_may_not_be_read_its_time_is_waited_for(machine: Machine) -> None:
    group = machine.target_group()
    machine.behind(group)
    await machine.up()
    machine.later(3600)
    machine.account.cloud.faults.add(Fault(FaultEffect.DENIED, "elbv2.DescribeTargetHealth", count=None))
    before = machine.clock.now()
    await machine.one_release()
    assert machine.instances()[0]["State"]["Name"] == "running"
    await machine.down()
    assert machine.clock.now() - before >= 30
    machine.account.cloud.faults.clear()
    assert machine.targets(group) == set()


async def test_a_record_that_was_lost_does_not_keep_a_registration(machine: Machine) -> None:
    group = machine.target_group()
    machine.behind(group)
    await machine.up()
    entry = machine.journal.entries[KEY]
    machine.die(machine.journal.put(KEY, replace(entry, parts=())))
    machine.later(3600)
    await machine.down()
    assert machine.targets(group) == set()


async def test_protection_against_termination_is_named_and_not_taken_off(machine: Machine) -> None:
    await machine.up()
    machine.later(3600)
    ident = machine.journal.entries[KEY].id
    machine.account.ec2.modify_instance_attribute(InstanceId=ident, DisableApiTermination={"Value": True})
    done = await machine.one_release()
    outcome = done.outcomes[KEY]
    assert isinstance(outcome, Waiting) and "OperationNotPermitted" in outcome.message
    assert "protection" in outcome.message and ident in outcome.message
    machine.account.ec2.modify_instance_attribute(InstanceId=ident, DisableApiTermination={"Value": False})
    await machine.down()


# -- capacity -------------------------------------------------------------------------------------------------------


async def test_no_capacity_makes_nothing_and_another_place_is_tried_at_once_with_a_new_token(
    machine: Machine,
) -> None:
    machine.world.exhaust("us-east-1a", "t3.*")
    done = await machine.one_pass()
    outcome = done.outcomes[KEY]
    assert isinstance(outcome, Blocked) and outcome.reason is Reason.NO_CAPACITY
    assert done.after <= 1.0, "the spec may allow another place"
    assert machine.instances() == [] and machine.journal.entries[KEY].id == ""
    first = [call.detail["ClientToken"] for call in machine.account.port.calls if call.operation == "run_instances"]
    assert machine.account.session.capacity_log.full_subnets("t3.micro") == {machine.subnets[0]}
    machine.later(done.after)
    done = await machine.one_pass()
    assert machine.sent() == ["ec2.run_instances"], "the same place is not asked for again so soon"
    assert done.after > 60
    machine.request = {**machine.request, "subnet_id": machine.subnets[1]}
    await machine.up()
    (shown,) = machine.instances()
    assert shown["SubnetId"] == machine.subnets[1]
    tokens = [call.detail["ClientToken"] for call in machine.account.port.calls if call.operation == "run_instances"]
    assert len(tokens) == 1 and tokens[0] not in first


async def test_a_place_without_capacity_is_asked_again_slowly_and_taken_when_it_has_some(machine: Machine) -> None:
    machine.world.exhaust("us-east-1a")
    await machine.one_pass()
    machine.world.restock("us-east-1a")
    before = machine.clock.now()
    await machine.up()
    assert machine.clock.now() - before >= 300
    assert len(machine.instances()) == 1


async def test_a_spot_price_that_is_too_low_makes_nothing(account: AwsAccount) -> None:
    machine = Machine(account, spot={"max_price": "0.0001"})
    outcome = (await machine.one_pass()).outcomes[KEY]
    assert isinstance(outcome, Blocked) and outcome.reason is Reason.NO_CAPACITY
    assert "SpotMaxPriceTooLow" in outcome.message and "price" in outcome.message
    assert machine.instances() == []


# -- permissions ----------------------------------------------------------------------------------------------------


async def test_the_policies_in_deploy_suffice_for_the_life_of_a_machine(account: AwsAccount) -> None:
    """A role that may do nothing else: a profile of clusterawsadm, a spot instance, registrations, other groups."""
    profile = "nodes.cluster-api-provider-aws.sigs.k8s.io"
    account.profile(profile)
    role = account.role("freehold")
    for path in sorted(Path("deploy/iam").glob("*.json")):
        made = account.iam.create_policy(PolicyName=path.stem, PolicyDocument=path.read_text(encoding="utf-8"))
        account.iam.attach_role_policy(RoleName="freehold", PolicyArn=made["Policy"]["Arn"])
    account.api = account.session_of(AssumedRole(role, KEYS))
    machine = Machine(account, profile=profile, spot={"max_price": "1.00"})
    group = machine.target_group()
    account.elb.create_load_balancer(
        LoadBalancerName="classic", Subnets=machine.subnets,
        Listeners=[{"Protocol": "TCP", "LoadBalancerPort": 6443, "InstanceProtocol": "TCP", "InstancePort": 6443}],
    )  # fmt: skip
    machine.behind(group, "classic")
    await machine.up()
    machine.request = {**machine.request, "security_groups": [account.group(machine.vpc, "other")]}
    machine.state.invalidate()
    await machine.up()
    (shown,) = machine.instances()
    assert [each["GroupName"] for each in shown["SecurityGroups"]] == ["other"]
    machine.behind(group)
    machine.state.invalidate()
    await machine.up()
    await machine.down()
    denied = [call for call in account.cloud.calls if call.actor == "api" and call.status == 403]
    assert denied == []


# -- many at once ---------------------------------------------------------------------------------------------------


class Fleet:
    """Machines of one account, each an object of its own, with the lists that they share."""

    def __init__(self, account: AwsAccount, count: int) -> None:
        self.account = account
        first = Machine(account)
        lists = SharedLists(aws_kinds(account.api), first.clock)
        self.machines = [first]
        for number in range(1, count):
            other = copy(first)
            other.journal = Journal(replace(MACHINE, uuid=f"0a1b2c3d-1111-4222-8333-{number:012}", name=f"m{number}"))
            other.state = ObjectState(first_seen=first.clock.monotonic(), identity_is_new=True)
            self.machines.append(other)
        for each in self.machines:
            each.deps = replace(each.deps, lists=lists)

    async def up(self, apart: float) -> None:
        await self._go(apart, lambda machine: machine.one_pass(), lambda done: done.at_rest)

    async def down(self, apart: float) -> None:
        """Delete each as the adapter does: a delete asks nothing of the spec."""
        for each in self.machines:
            each.graph = Graph(())
        await self._go(apart, lambda machine: machine.one_release_pass(), lambda done: done.released)

    async def _go(
        self, apart: float, take: Callable[[Machine], Awaitable[PassResult]], is_done: Callable[[PassResult], bool]
    ) -> None:
        """Let each begin some seconds after the one before, and have its passes when they are due."""
        clock = self.machines[0].clock
        due = {number: clock.now() + number * apart for number in range(len(self.machines))}
        while due:
            number = min(due, key=lambda each: due[each])
            self.machines[0].later(max(0.0, due[number] - clock.now()))
            done = await take(self.machines[number])
            due[number] = clock.now() + max(done.after, 0.5)
            if is_done(done):
                del due[number]


@pytest.mark.parametrize("apart", [0.6, 3.0])
async def test_many_machines_share_the_looks_at_those_that_start(apart: float) -> None:
    count = 20
    fleet = Fleet(AwsAccount(), count)
    await fleet.up(apart)
    sent = fleet.machines[0].sent()
    assert sent.count("ec2.run_instances") == sent.count("resourcegroupstaggingapi.tag_resources") == count
    assert len(sent) <= 2.5 * count, Counter(sent)
    assert len({machine.journal.entries[KEY].id for machine in fleet.machines}) == count
    fleet.machines[0].later(3600)
    await fleet.down(apart)
    sent = fleet.machines[0].sent()
    assert sent.count("ec2.terminate_instances") == count
    assert len(sent) <= 7.5 * count, Counter(sent)
    assert {each["State"]["Name"] for each in fleet.machines[0].instances()} <= {"terminated"}


# -- plans ----------------------------------------------------------------------------------------------------------


async def _plan(machine: Machine, *, deleting: bool = False) -> list[tuple[str, str]]:
    """The writes that a dry run comes to, as action and what it changes inside."""
    overlay = Overlay(ManualClock(machine.clock.now(), machine.clock.monotonic()))
    deps = dry_run_deps(replace(machine.deps, port=ReadOnlyPort(machine.account.port)), overlay)
    journal, state = machine.journal, machine.state.dry_run_copy()
    for _ in range(5):
        step = release(deps, machine.graph, journal, machine.store, state) if deleting else None
        done = await (step or ensure(deps, machine.graph, journal, machine.store, state))
        journal = done.journal
        overlay.clock.advance(600)
    return [(write.action.value, write.attribute) for write in overlay.writes if write.action is not Action.ATTACH]


async def test_a_plan_shows_machine_and_registration_and_a_second_one_nothing(machine: Machine) -> None:
    group = machine.target_group()
    machine.behind(group)
    part = f"registration {group}"
    machine.sent()
    assert await _plan(machine) == [(Action.CREATE.value, ""), (Action.ADD_PART.value, part)]
    await machine.up()
    assert await _plan(machine) == []
    assert await _plan(machine, deleting=True) == [(Action.REMOVE_PART.value, part), (Action.DELETE.value, "")]
    assert machine.targets(group) == {machine.journal.entries[KEY].id}, "a plan changes nothing"
