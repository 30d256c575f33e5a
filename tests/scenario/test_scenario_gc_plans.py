"""``freehold gc plan`` says beforehand what a delete collects, what stays and why, and sends no write."""

from __future__ import annotations

from freehold.api import names
from freehold.controllers.plan.collection import CollectionPlan, Fate, dump_collection_plan, load_collection_plan
from freehold.controllers.plan.collection_planner import plan_collection
from freehold.engine.keyed_codec import UUID
from freehold.providers.access.audit import NoAudit
from freehold_sim.faults import Effect, Fault
from harness.aws_cluster import AwsHarness
from harness.aws_network import planned as planned_deletion
from harness.cloud_bystanders import Tempting, elsewhere, rule_that_names
from harness.cloud_controllers import IMAGE, CloudProvider, everything
from harness.collected import ground_of, left, user_of
from harness.powervs import HarnessObjects
from harness.standing import standing
from harness.stepping import run_blocking


class Collected(NoAudit):
    """The lines of the audit log about what was collected in all."""

    def __init__(self) -> None:
        self.summaries: list[str] = []

    def log_collected(self, subject: str, summary: str) -> None:
        self.summaries.append(summary)


LAG = 300.0
"""Seconds after which the tag index shows what was made."""


def planned(harness: AwsHarness) -> CollectionPlan:
    """The plan for the stored object, by a process without other state."""
    raw = harness.object.raw
    binding = run_blocking(harness.new_accounts().bind(raw))
    stored = HarnessObjects(harness.together).everything
    found = run_blocking(plan_collection(raw, binding, harness.rings.ring, stored))
    assert load_collection_plan(dump_collection_plan(found)) == found
    return found


def writes(harness: AwsHarness) -> int:
    return sum(call.mutating for call in harness.cloud.calls)


def doomed(plan: CollectionPlan) -> list[str]:
    return [row.id for row in plan.rows if row.fate is Fate.DELETE]


def test_what_the_plan_says_is_what_a_delete_takes_and_leaves() -> None:
    harness = standing(AwsHarness)
    before = {row["id"] for row in left(harness)}
    user, ground = user_of(harness), ground_of(harness)
    made = everything(user, ground)
    elsewhere(user, "demo", block="10.98")
    harness.clock.advance(LAG)
    since = writes(harness)
    plan = planned(harness)
    assert writes(harness) == since
    assert [row.task for row in plan.rows if row.fate is Fate.DELETE] == sorted(
        (row.task for row in plan.rows if row.fate is Fate.DELETE), key=list(plan.tasks).index
    )
    [volume] = [row for row in plan.rows if row.task == "volume" and row.id in made.values()]
    assert (volume.fate, volume.reason) == (Fate.KEEP, "task volume is not among those of this cluster")
    there = {row["id"] for row in left(harness)}
    harness.down()
    gone = there - {row["id"] for row in left(harness)} - before
    whole = {ident for what, ident in made.items() if what.split()[0] not in ("listener", "rule")}
    assert set(doomed(plan)) == gone & whole
    assert all(row.id not in gone for row in plan.rows if row.fate is Fate.KEEP)


def test_what_tempts_is_kept_with_the_proof_that_it_lacks() -> None:
    harness = standing(AwsHarness)
    tempting = Tempting(user_of(harness), ground_of(harness)).all()
    plan = planned(harness)
    why = {row.id: row.reason for row in plan.rows}
    assert doomed(plan) == []
    assert "kubernetes.io/service-name" in why[tempting["balancer without service"]]
    assert "several clusters" in why[tempting["group of two clusters"]]
    assert not any(row.proven for row in plan.rows)


def test_a_deleting_cluster_has_a_plan_of_what_is_still_there() -> None:
    harness = standing(AwsHarness)
    CloudProvider(user_of(harness), ground_of(harness)).network()
    harness.clock.advance(LAG)
    harness.cloud.faults.add(Fault(Effect.DENIED, "elbv2.DeleteLoadBalancer", count=None))
    harness.object.delete()
    harness.for_a_while(60)
    plan = planned(harness)
    assert [row.task for row in plan.rows if row.fate is Fate.DELETE] == ["load-balancer", "target-group"]


def test_running_machines_are_named_since_nothing_goes_before_they_stop() -> None:
    harness = standing(AwsHarness)
    ground = ground_of(harness)
    tags = [{"ResourceType": "instance", "Tags": [{"Key": "kubernetes.io/cluster/demo", "Value": "owned"}]}]
    machine = user_of(harness).make(
        "ec2", "RunInstances", ImageId=IMAGE, InstanceType="t3.small", MinCount=1, MaxCount=1,
        SubnetId=ground.subnets[0], TagSpecifications=tags,
    )  # fmt: skip
    plan = planned(harness)
    assert plan.running == (machine,)
    assert f"{machine} of cluster demo runs in {ground.vpc}" in plan.notes[0]


def test_an_opted_out_cluster_keeps_everything_and_says_by_what() -> None:
    harness = standing(AwsHarness)
    CloudProvider(user_of(harness), ground_of(harness)).classic()
    harness.object.patch({"metadata": {"annotations": {names.EXTERNAL_RESOURCE_GC_ANNOTATION: "false"}}})
    plan = planned(harness)
    assert (plan.collected, plan.reason, plan.held) == (False, "OptedOut", ())
    assert {row.fate for row in plan.rows} == {Fate.KEEP}
    assert sorted(row.task for row in plan.rows if row.proven) == ["load-balancer", "security-group"]


def test_an_annotation_that_cannot_be_read_holds_the_network() -> None:
    harness = standing(AwsHarness)
    harness.object.patch({"metadata": {"annotations": {names.EXTERNAL_RESOURCE_TASKS_ANNOTATION: "nonsense"}}})
    [why] = planned(harness).held
    assert "'nonsense' is no task" in why


def test_without_a_network_there_is_nothing_to_collect() -> None:
    harness = AwsHarness()
    assert planned(harness).notes == ("it has not been served yet: nothing of it is in the cloud",)
    harness.cloud.faults.add(Fault(Effect.DENIED, "ec2.CreateVpc", count=None))
    harness.pass_once()
    plan = planned(harness)
    assert (plan.rows, plan.notes) == ((), ("it has no network: there is nothing to collect",))


def test_a_vpc_that_lost_its_marks_is_named_since_nothing_in_it_is_collected() -> None:
    harness = standing(AwsHarness)
    vpc, user = ground_of(harness).vpc, user_of(harness)
    CloudProvider(user, ground_of(harness)).network()
    user.call("ec2", "DeleteTags", Resources=[vpc], Tags=[{"Key": UUID}])
    plan = planned(harness)
    assert (plan.rows, plan.network) == ((), "")
    assert plan.notes == (f"vpc {vpc} does not have the marks of this object, or is gone: nothing in it is collected",)


def test_a_stranger_whose_rule_names_a_group_holds_it() -> None:
    harness = standing(AwsHarness)
    user, ground = user_of(harness), ground_of(harness)
    provider = CloudProvider(user, ground)
    provider.classic()
    group = provider.made["group of team/web"]
    theirs = rule_that_names(user, group, ground.vpc)["stranger's group"]
    [row] = [row for row in planned(harness).rows if row.id == group]
    assert (row.fate, row.reason) == (Fate.HOLD, f"a rule in {theirs} names it: revoke that rule")


def test_a_denied_tag_index_is_said_and_everything_is_found_all_the_same() -> None:
    harness = standing(AwsHarness)
    everything(user_of(harness), ground_of(harness))
    harness.clock.advance(LAG)
    usual = planned(harness)
    assert usual.notes == ()
    harness.cloud.faults.add(Fault(Effect.DENIED, "resourcegroupstaggingapi.GetResources", count=None))
    denied = planned(harness)
    assert denied.rows == usual.rows
    assert denied.notes == (
        "the tag index (tag:GetResources) is denied or not there: the services' own lists were read instead",
    )
    harness.down()
    [summary] = [message for _, reason, message in harness.events.said if reason == "ExternalResourcesCollected"]
    assert summary.endswith(denied.notes[0])


def test_two_clusters_of_one_name_in_one_network_are_both_named() -> None:
    harness = standing(AwsHarness)
    CloudProvider(user_of(harness), ground_of(harness)).network()
    vpc = ground_of(harness).vpc
    beside = AwsHarness(beside=harness)
    beside.object.patch({"metadata": {"namespace": "other"}, "spec": {"network": {"vpc": {"id": vpc}}}})
    plan = planned(harness)
    assert doomed(plan) == []
    [why] = plan.held
    assert "other/demo" in why
    assert "freehold gc disable --cluster-name demo -n default" in why


def test_the_plan_of_a_deletion_says_which_kinds_wait_for_the_collection() -> None:
    harness = standing(AwsHarness)
    [note] = planned_deletion(harness, deleting=True).notes
    kinds = "egress-only-gateway, elastic-ip, internet-gateway, nat-gateway, route-table, security-group, subnet, vpc"
    waiting = note.partition(" are deleted after ")[0].split(", ")
    assert set(waiting) < set(kinds.split(", "))
    assert {"security-group", "subnet", "vpc"} <= set(waiting)
    assert note.endswith("freehold gc plan demo -n default")
    harness.object.patch({"metadata": {"annotations": {names.EXTERNAL_RESOURCE_GC_ANNOTATION: "false"}}})
    [note] = planned_deletion(harness, deleting=True).notes
    assert "freehold gc enable --cluster-name demo" in note


def test_the_end_of_a_collection_is_an_event_a_line_of_the_audit_log_and_in_the_status() -> None:
    audit = Collected()
    harness = AwsHarness(audit=audit)
    harness.up()
    made = everything(user_of(harness), ground_of(harness))
    harness.object.patch(
        {"metadata": {"annotations": {names.EXTERNAL_RESOURCE_TASKS_ANNOTATION: "load-balancer,target-group,volume"}}}
    )
    harness.object.delete()
    harness.run(lambda: bool(audit.summaries))
    volume = made["volume team/data"]
    [summary] = audit.summaries
    assert summary.startswith("collected of cluster demo: load-balancer 4, target-group 3; kept: ")
    assert f"volume {volume}: volumes are retained: they hold data" in summary
    assert harness.condition("ExternalResourceGC")["message"] == summary
    assert [said for said in harness.events.said if said[1] == "ExternalResourcesCollected"] == [
        ("Normal", "ExternalResourcesCollected", summary)
    ]
    harness.for_a_while(60)
    assert len(audit.summaries) == 1
    rows = [row for row in harness.status()["resources"] if row["kind"] == "external resources"]
    assert {(row["state"], row["message"]) for row in rows} >= {
        ("Gone", summary),
        ("Kept", "volumes are retained: they hold data"),
    }
