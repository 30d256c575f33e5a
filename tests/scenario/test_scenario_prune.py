"""Surplus that a person approves is deleted; what somebody may need stays, and the person hears why."""

from __future__ import annotations

import json
from typing import Any

from freehold.api import names
from freehold.engine import decisions, journal
from freehold.engine.decisions import Decision, Verdict
from freehold.engine.resources import NodeKey
from freehold_sim.faults import Effect, Fault
from harness.plans import planned
from harness.powervs import Harness, example
from harness.resources import existing, only
from harness.standing import standing


def surplus(**spec: Any) -> tuple[Harness, list[NodeKey]]:
    """Two of everything that has a list; then the second ones are taken out of the spec."""
    lists = {
        "vpcSubnets": [{"name": "a"}, {"name": "b"}],
        "loadBalancers": [{"name": "one", "subnets": [{"name": "a"}]}, {"name": "two", "subnets": [{"name": "a"}]}],
        "vpcSecurityGroups": [{"name": "first"}, {"name": "second"}],
    }
    harness = standing(Harness, example(**lists))
    harness.object.patch({"spec": {name: rows[:1] for name, rows in lists.items()} | spec})
    harness.for_a_while(700.0)
    left = {"b", "two", "second"}
    entries = journal.loads(harness.object.raw["metadata"]["annotations"][names.JOURNAL_ANNOTATION]).entries
    return harness, [key for key in entries if key.logical.partition(":")[0] in left]


def approve(harness: Harness, *keys: NodeKey) -> None:
    record = journal.loads(harness.object.raw["metadata"]["annotations"][names.JOURNAL_ANNOTATION])
    ring, at = harness.rings.ring.derive_keys(record.owner), harness.clock.now()
    made = [
        Decision(Verdict.PRUNE, str(key), record.entries[key].id, record.entries[key].attempt, "ada", at)
        for key in keys
    ]
    text = decisions.dumps(decisions.sign_decision(each, ring) for each in made)
    harness.object.patch({"metadata": {"annotations": {names.DECISIONS_ANNOTATION: text}}})


def answers(harness: Harness) -> dict[str, str]:
    rows = json.loads(harness.object.raw["metadata"]["annotations"][names.DECISIONS_ANNOTATION])
    return {row["node"]: row["answer"] for row in rows}


def test_approved_surplus_goes_and_the_rest_stays_ready() -> None:
    harness, keys = surplus()
    assert {key.kind for key in keys} == {"vpc-subnet", "load-balancer", "security-group"}
    kept = {row["id"] for row in existing(harness)} - {
        only(harness, kind, name)["id"]
        for kind, name in (("subnet", "b"), ("load-balancer", "two"), ("security-group", "second"))
    }
    approve(harness, *keys)
    assert {row.kind for row in planned(harness).rows if row.action == "delete"} == {key.kind for key in keys}
    harness.for_a_while(1500.0)

    assert {row["id"] for row in existing(harness)} == kept
    assert set(answers(harness)) == {str(key) for key in keys}
    assert all(answer.endswith("is gone") for answer in answers(harness).values()), answers(harness)
    assert harness.ready()
    assert [said for said in harness.events.said if said[1] == "Decided"]


def test_surplus_that_another_object_names_stays() -> None:
    """It is given there by its name, and nothing in the cloud shows that."""
    harness, keys = surplus()
    second = example(vpcSubnets=[{"id": only(harness, "subnet", "b")["id"]}])
    second["metadata"]["name"] = "second"
    Harness(second, beside=harness)
    approve(harness, *keys)
    harness.for_a_while(1500.0)

    assert only(harness, "subnet", "b")
    refused = {node: answer for node, answer in answers(harness).items() if answer.startswith("refused")}
    assert len(refused) == 1 and "default/second" in next(iter(refused.values()))


def test_a_load_balancer_with_members_stays() -> None:
    """IBM Cloud would delete it with the servers behind it."""
    harness, keys = surplus()
    balancer = only(harness, "load-balancer", "two")["id"]
    pool = harness.cloud.strangers.send("GET", f"/vpc/us-south/v1/load_balancers/{balancer}/pools")["pools"][0]["id"]
    member = {"port": 6443, "target": {"address": "10.240.0.9"}}
    harness.cloud.strangers.send("POST", f"/vpc/us-south/v1/load_balancers/{balancer}/pools/{pool}/members", member)
    harness.clock.advance(3600.0)
    approve(harness, *(key for key in keys if key.kind == "load-balancer"))
    harness.for_a_while(1500.0)

    (answer,) = answers(harness).values()
    assert "has 1 members" in answer
    assert only(harness, "load-balancer", "two")


def test_the_load_balancer_of_the_endpoint_stays() -> None:
    """The endpoint is written into the spec once: clients hold on to it, whatever the list says today."""
    harness, _ = surplus()
    harness.object.patch({"spec": {"loadBalancers": [{"name": "new", "public": True, "subnets": [{"name": "a"}]}]}})
    harness.for_a_while(700.0)
    assert harness.object.raw["spec"]["controlPlaneEndpoint"]["host"]
    approve(harness, NodeKey("load-balancer", "one:public"))
    harness.for_a_while(700.0)

    (answer,) = answers(harness).values()
    assert "default/freehold-demo names it" in answer
    assert only(harness, "load-balancer", "one")


def test_surplus_that_the_cloud_does_not_let_go_stays_and_the_cluster_is_ready() -> None:
    """A stranger's load balancer is in the subnet: IBM Cloud refuses, and it is not asked again."""
    harness, keys = surplus()
    subnet = only(harness, "subnet", "b")
    harness.cloud.strangers.make("load-balancer", region="us-south", subnet=subnet["id"], name="theirs")
    harness.clock.advance(3600.0)
    approve(harness, *(key for key in keys if key.kind == "vpc-subnet"))
    harness.for_a_while(700.0)

    (answer,) = answers(harness).values()
    assert answer.startswith("refused") and only(harness, "load-balancer", "theirs")["id"] in answer
    assert harness.ready()
    deletes = [call for call in harness.cloud.calls if call.operation == "vpc.delete_subnet"]
    assert len(deletes) == 1


def test_surplus_that_lost_its_marks_is_healed_before_it_goes() -> None:
    """The proof is read in the pass that deletes."""
    harness, keys = surplus()
    harness.cloud.strangers.strip(only(harness, "load-balancer", "two")["crn"])
    approve(harness, *(key for key in keys if key.kind == "load-balancer"))
    harness.for_a_while(700.0)
    assert not existing(harness, "load-balancer", "two")


def test_a_decision_is_acted_on_once() -> None:
    """Whoever may edit the object could otherwise delete with an old approval what is surplus again."""
    harness, keys = surplus()
    balancer = [key for key in keys if key.kind == "load-balancer"]
    approve(harness, *balancer)
    stored = harness.object.raw["metadata"]["annotations"][names.DECISIONS_ANNOTATION]
    one, two = ({"name": name, "subnets": [{"name": "a"}]} for name in ("one", "two"))
    harness.object.patch({"spec": {"loadBalancers": [one, two]}})
    harness.for_a_while(700.0)
    assert "wants" in answers(harness)[str(balancer[0])]

    answered = json.loads(harness.object.raw["metadata"]["annotations"][names.DECISIONS_ANNOTATION])
    again = json.dumps([{**row, "answer": ""} for row in answered])
    harness.object.patch({"spec": {"loadBalancers": [one]}})
    harness.object.patch({"metadata": {"annotations": {names.DECISIONS_ANNOTATION: again}}})
    harness.for_a_while(700.0)
    assert "not signed" in answers(harness)[str(balancer[0])]

    harness.clock.advance(decisions.LIFE)
    harness.object.patch({"metadata": {"annotations": {names.DECISIONS_ANNOTATION: stored}}})
    harness.for_a_while(700.0)
    assert "too old" in answers(harness)[str(balancer[0])]
    assert only(harness, "load-balancer", "two")


def test_a_deletion_that_the_cloud_cannot_serve_is_no_hot_loop() -> None:
    """A pending decision is looked into anew when it is made, not in every pass."""
    harness, keys = surplus()
    harness.cloud.faults.add(Fault(Effect.ERROR_BEFORE, "vpc.delete_load_balancer", count=None))
    approve(harness, *(key for key in keys if key.kind == "load-balancer"))
    harness.for_a_while(60.0)
    since = len(harness.cloud.calls)
    harness.for_a_while(3600.0)
    assert len(harness.cloud.calls) - since < 300
    harness.cloud.faults.clear()
    harness.for_a_while(700.0)
    assert not existing(harness, "load-balancer", "two")
