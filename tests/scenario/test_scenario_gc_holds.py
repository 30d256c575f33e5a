"""When a collection waits, for whom, and what it says; and that it never takes what is somebody else's."""

from __future__ import annotations

import json
from typing import Any

import pytest

from freehold.api import names
from freehold.api.feature_gates import DEFAULT_GATES, FeatureGates
from freehold.engine.journal import StaleObject
from freehold_sim.faults import Effect, Fault
from harness.aws_cluster import AwsHarness, aws_cluster
from harness.cloud_bystanders import Tempting, elsewhere, rule_that_names, strange_ground
from harness.cloud_controllers import CloudProvider, Recreating, everything, protect
from harness.collected import ground_of, left, user_of
from harness.standing import standing

GC = names.EXTERNAL_RESOURCE_GC_ANNOTATION
MINUTE, HOUR = 60.0, 3600.0


def ready(**options: Any) -> AwsHarness:
    return standing(AwsHarness, **options)


def annotate(harness: AwsHarness, **annotations: str | None) -> None:
    harness.object.patch({"metadata": {"annotations": {GC: annotations["gc"]}}})


def provider(harness: AwsHarness) -> CloudProvider:
    return CloudProvider(user_of(harness), ground_of(harness))


def delete(harness: AwsHarness) -> str:
    """Delete the object; what its conditions say after a while, empty where it is gone."""
    harness.object.delete()
    return wait(harness, 5 * MINUTE)


def wait(harness: AwsHarness, seconds: float) -> str:
    end = harness.clock.now() + seconds
    harness.run(lambda: harness.object.gone or harness.clock.now() > end)
    return "" if harness.object.gone else str(harness.condition("Deleting")["message"])


def there(harness: AwsHarness, made: dict[str, str]) -> set[str]:
    """What is still there of what was made; rules in our own groups go with those."""
    ids = {row["id"] for row in left(harness)}
    return {what for what, ident in made.items() if ident in ids and not what.startswith("rule ")}


def test_a_strangers_cluster_of_the_same_name_loses_nothing() -> None:
    harness = ready()
    others = elsewhere(user_of(harness), "demo")
    everything(user_of(harness), ground_of(harness))
    assert delete(harness) == ""
    assert there(harness, others) == set(others)


def test_what_lacks_a_proof_in_our_own_network_stays_and_is_named_until_its_owner_takes_it_away() -> None:
    harness = ready()
    tempting = Tempting(user_of(harness), ground_of(harness)).all()
    everything(user_of(harness), ground_of(harness))
    said = delete(harness)
    assert there(harness, tempting) == set(tempting)
    assert "team-own" in said
    for ident in sorted(tempting.values()):
        harness.cloud.strangers.delete(ident)
    assert wait(harness, HOUR) == ""


@pytest.mark.parametrize(("gates", "word"), [(DEFAULT_GATES, "false"), (frozenset(), "true")])
def test_an_opted_out_cluster_keeps_what_its_controllers_made(gates: FeatureGates, word: str) -> None:
    harness = ready(gates=gates)
    annotate(harness, gc=word)
    made = everything(user_of(harness), ground_of(harness))
    before = there(harness, made)
    assert "eni-" in delete(harness)
    assert there(harness, made) == before


def test_junk_in_the_annotation_holds_the_network_until_it_is_mended() -> None:
    harness = ready()
    annotate(harness, gc="ture")
    made = everything(user_of(harness), ground_of(harness))
    before = there(harness, made)
    said = delete(harness)
    assert "freehold gc enable --cluster-name demo" in said
    assert there(harness, made) == before
    assert "subnet" in {row["kind"] for row in left(harness)}
    annotate(harness, gc=None)
    assert wait(harness, HOUR) == ""


def test_opting_out_in_mid_collection_stops_at_the_next_delete() -> None:
    harness = ready()
    made = everything(user_of(harness), ground_of(harness))
    before = there(harness, made)
    harness.object.delete()
    harness.run(lambda: there(harness, made) < before)
    annotate(harness, gc="false")
    stopped = there(harness, made)
    wait(harness, 4 * MINUTE)
    assert there(harness, made) == stopped


def test_nothing_begins_while_a_machine_of_the_cluster_runs() -> None:
    harness = ready()
    works = provider(harness)
    works.network()
    machine = works.instance()
    said = delete(harness)
    assert machine in said
    assert "network team/api" in there(harness, works.made)
    user_of(harness).call("ec2", "TerminateInstances", InstanceIds=[machine])
    assert wait(harness, HOUR) == ""


def test_what_a_controller_makes_again_is_collected_again() -> None:
    """GitOps puts the Services back, and the last machine goes late (docs/reference/requirements.md G2)."""
    harness = ready()
    works = provider(harness)
    machine = works.instance()
    again = Recreating(works, classic=["team/web"], network=["team/api"])
    again.tick()
    harness.object.delete()
    end = harness.clock.now() + 10 * MINUTE
    while harness.clock.now() < end:
        wait(harness, 20.0)
        again.tick()
    user_of(harness).call("ec2", "TerminateInstances", InstanceIds=[machine])
    again.tick()
    assert wait(harness, HOUR) == ""
    assert left(harness) == []


def test_what_comes_back_for_ever_is_named() -> None:
    """Without a machine in the account: a controller elsewhere makes them."""
    harness = ready()
    works = provider(harness)
    works.network()
    harness.object.delete()
    end = harness.clock.now() + 20 * MINUTE
    while harness.clock.now() < end:
        wait(harness, 30.0)
        works.network()
    assert "Stop what makes them" in harness.condition("Deleting")["message"]
    assert wait(harness, HOUR) == ""


def test_two_clusters_of_one_name_in_one_network_lose_nothing_and_both_are_named() -> None:
    first = ready()
    ground = ground_of(first)
    given = {"vpc": {"id": ground.vpc}, "subnets": [{"id": each} for each in ground.subnets]}
    second = AwsHarness(aws_cluster(network=given), beside=first)
    second.object.raw["metadata"]["name"] = "other"
    second.object.raw["metadata"]["labels"] = {names.CLUSTER_NAME_LABEL: "demo"}
    made = everything(user_of(first), ground)
    before = there(first, made)
    said = delete(first)
    assert "default/other has the name demo" in said
    assert there(first, made) == before


def test_a_rule_in_a_strangers_group_is_left_and_named() -> None:
    harness = ready()
    works = provider(harness)
    works.classic()
    others = rule_that_names(user_of(harness), works.made["group of team/web"], works.ground.vpc)
    theirs = others["stranger's group"]
    said = delete(harness)
    assert f"a rule in {theirs} names it" in said
    assert there(harness, others) == set(others)
    harness.cloud.strangers.delete(theirs)
    assert wait(harness, HOUR) == ""


def test_deletion_protection_is_told_with_its_time_and_waits_for_a_person() -> None:
    harness = ready()
    works = provider(harness)
    works.network()
    balancer = works.made["network team/api"]
    protect(user_of(harness), balancer)
    said = delete(harness)
    assert "deletion protection" in said.lower()
    assert "(since " in said
    attribute = {"Key": "deletion_protection.enabled", "Value": "false"}
    user_of(harness).call("elbv2", "ModifyLoadBalancerAttributes", LoadBalancerArn=balancer, Attributes=[attribute])
    assert wait(harness, HOUR) == ""


def test_a_cluster_without_a_network_collects_nothing() -> None:
    """Deleted before its VPC was made."""
    harness = AwsHarness()
    others = elsewhere(user_of(harness), "demo")
    harness.pass_once()
    assert delete(harness) == ""
    assert there(harness, others) == set(others)


@pytest.mark.parametrize("phase", ["as made", "as given"])
def test_a_network_that_only_the_record_names_is_nobodys_proof(phase: str) -> None:
    """Whoever may edit the object can write a stranger's VPC into its journal."""
    harness = ready()
    others = elsewhere(user_of(harness), "demo")
    before = there(harness, others)
    record = json.loads(harness.object.raw["metadata"]["annotations"][names.JOURNAL_ANNOTATION])
    own, forged = record["nodes"]["vpc/main"], others["elsewhere: vpc"]
    changed = {"id": forged, "t": own["t"].replace(own["id"], forged)}
    record["nodes"]["vpc/main"] = {**own, **changed} if phase == "as made" else {"a": 0, "p": "g", **changed}
    harness.object.patch({"metadata": {"annotations": {names.JOURNAL_ANNOTATION: json.dumps(record)}}})
    harness.start_process()
    delete(harness)
    assert there(harness, others) == before


def test_where_the_tag_index_is_denied_the_services_are_asked() -> None:
    """kubernetes-sigs/cluster-api-provider-aws hangs without tag:GetResources (rancher/rancher#56228)."""
    harness = ready()
    everything(user_of(harness), ground_of(harness))
    harness.cloud.faults.add(Fault(Effect.DENIED, "resourcegroupstaggingapi.GetResources", count=None))
    assert delete(harness) == ""
    assert {row["kind"] for row in left(harness)} == {"volume"}


def test_a_new_process_goes_on_where_the_last_one_ended() -> None:
    """Nothing of a collection is on record: every proof is read again."""
    harness = ready()
    made = everything(user_of(harness), ground_of(harness))
    harness.object.delete()
    while not harness.object.gone:
        before = there(harness, made)
        harness.run(lambda known=before: harness.object.gone or there(harness, made) != known)
        harness.start_process()
    assert {row["kind"] for row in left(harness)} == {"volume"}


def test_what_a_later_label_says_makes_no_other_cluster_s_leftovers_ours() -> None:
    """In a given network, by a new process that finds nothing of ours any more: only the record has the name."""
    harness = AwsHarness(aws_cluster(controlPlaneLoadBalancer={"scheme": "internal"}))
    ground = strange_ground(user_of(harness), "other")
    given = {"vpc": {"id": ground.vpc}, "subnets": [{"id": each} for each in ground.subnets]}
    harness.object.patch({"spec": {"network": given}})
    harness.up()
    others = everything(user_of(harness), ground)
    before = there(harness, others)
    harness.object.patch({"metadata": {"labels": {names.CLUSTER_NAME_LABEL: "other"}}})
    harness.object.delete()
    crash_before_the_finalizer_goes(harness)
    assert wait(harness, HOUR) == ""
    assert there(harness, others) == before


def crash_before_the_finalizer_goes(harness: AwsHarness) -> None:
    patch, refused = harness.object.patch, list[bool]()

    def once(body: dict[str, Any], subresource: str = "") -> dict[str, Any]:
        if "finalizers" in body.get("metadata", {}) and not refused:
            refused.append(True)
            raise StaleObject("the process was stopped")
        return patch(body, subresource)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(harness.object, "patch", once)
        harness.run(lambda: bool(refused))
    harness.start_process()


def test_a_collection_that_cannot_begin_asks_for_no_passes_of_its_own() -> None:
    """A person has protected the load balancer of the API server."""
    harness = ready(manifest=aws_cluster(controlPlaneLoadBalancer={"loadBalancerType": "nlb"}))
    [balancer] = [row["id"] for row in left(harness) if ":loadbalancer/" in row["id"]]
    protect(user_of(harness), balancer)
    said = delete(harness)
    assert "are collected when network-load-balancer primary has gone" in said
    before = harness.passes
    wait(harness, HOUR)
    assert harness.passes - before < 20
