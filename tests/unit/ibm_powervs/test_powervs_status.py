"""From outcomes to status, conditions and endpoint: deterministic, and sticky where the contract requires it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from freehold.api import names
from freehold.api.feature_gates import FeatureGate
from freehold.api.parse import parse
from freehold.engine.journal import Entry, Journal, RecordState
from freehold.engine.outcomes import Blocked, Category, Kept, Outcome, Ready, Reason, Surplus, Waiting
from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey, Observed, State
from freehold.providers.ibm import api_names as ibm_names
from freehold.providers.ibm.powervs.desired import build_desired
from freehold.providers.ibm.powervs.facts import PowerVSFacts, PowerZone
from freehold.providers.ibm.powervs.status import build_status
from freehold.providers.ibm.powervs.types.status import IBMPowerVSClusterStatus
from freehold.providers.objects.adapter import Desired, PassReport, StatusUpdate, WantedGraph
from freehold.providers.objects.cloud_answers import Answer, NoAnswer
from freehold.providers.objects.status import build_held_update, build_paused_update
from harness.rows import over_rows
from harness.schemas import powervs_spec

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
LATER = NOW + timedelta(minutes=5)
OWNER = Owner("u1", "IBMPowerVSCluster", "ns", "c1")
FACTS = PowerVSFacts(Answer("rg-id"), Answer(PowerZone("dal", edge_router=True)), Answer(("us-south-1",)))
SPEC: dict[str, Any] = {"resourceGroup": {"name": "rg"}, "zone": "dal10", "vpc": {"region": "us-south"}}
IDS = {
    "workspace/main": "guid",
    "dhcp-server/main": "guid/dhcp/dh",
    "vpc/main": "us-south/v",
    "vpc-subnet/us-south-1": "us-south/s",
    "load-balancer/0": "us-south/lb",
    "transit-gateway/main": "tg",
    "transit-gateway-connection/vpc": "tg/con-v",
    "transit-gateway-connection/powervs": "tg/con-p",
}
ATTRIBUTES = {"load-balancer/0": {"hostname": "lb.example.net"}, "dhcp-server/main": {"network_id": "net"}}


def obj(status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    metadata = {"name": "c1", "namespace": "ns", "uid": "u1", "generation": 3, "resourceVersion": "9"}
    raw: dict[str, Any] = {"kind": "IBMPowerVSCluster", "metadata": metadata, "spec": {**SPEC, **spec}}
    if status is not None:
        raw["status"] = status
    return raw


def plan(facts: PowerVSFacts = FACTS, **spec: Any) -> Desired:
    annotations = {ibm_names.CREATE_INFRA_ANNOTATION: "true"}
    return build_desired(
        "c1",
        annotations,
        powervs_spec({"spec": {**SPEC, **spec}}),
        facts,
        gates=frozenset(FeatureGate),
    )


def journal(**phases: RecordState) -> Journal:
    entries = {
        NodeKey.parse(k): Entry(phases.get(k.partition("/")[0], RecordState.OWNED), id=i) for k, i in IDS.items()
    }
    return Journal(OWNER, entries)


def seen(key: str) -> Observed:
    return Observed(IDS[key], key, State.READY, vendor_state="active", attributes=ATTRIBUTES.get(key, {}))


def ready(**but: Outcome) -> Mapping[NodeKey, Outcome]:
    outcomes: dict[NodeKey, Outcome] = {NodeKey.parse(k): Ready(seen(k), Category.MANAGED) for k in IDS}
    return outcomes | {key: but[key.kind] for key in outcomes if key.kind in but}


def condition(folded: StatusUpdate, type_: str) -> dict[str, Any]:
    return next(c for c in folded.status["conditions"] if c["type"] == type_)


WHOLE = PassReport(plan(), journal(), ready())


def test_a_complete_cluster() -> None:
    """Every field of upstream is set; controllerCreated follows the journal."""
    folded = build_status(obj(), WHOLE, NOW)
    assert folded.spec == {"controlPlaneEndpoint": {"host": "lb.example.net", "port": 6443}}
    status = {k: v for k, v in folded.status.items() if k not in ("conditions", "resources")}
    assert status == {
        "ready": True,
        "initialization": {"provisioned": True},
        "phase": "Ready",
        "observedGeneration": 3,
        "identity": {"uid": "u1", "uuid": "u1"},
        "resourceGroupID": {"id": "rg-id", "controllerCreated": False},
        "serviceInstance": {"id": "guid", "controllerCreated": True},
        "dhcpServer": {"id": "dh", "controllerCreated": True},
        "network": {"id": "net", "controllerCreated": True},
        "vpc": {"id": "v", "controllerCreated": True},
        "vpcSubnet": {"c1-vpcsubnet-us-south-1": {"id": "s", "controllerCreated": True}},
        "loadBalancers": {
            "c1-loadbalancer": {"id": "lb", "controllerCreated": True, "hostname": "lb.example.net", "state": "active"}
        },
        "transitGateway": {
            "id": "tg",
            "controllerCreated": True,
            "vpcConnection": {"id": "con-v", "controllerCreated": True},
            "powerVSConnection": {"id": "con-p", "controllerCreated": True},
        },
    }
    assert {c["type"]: c["status"] for c in folded.status["conditions"]} == {
        "Ready": "True",
        "ServiceInstanceReady": "True",
        "NetworkReady": "True",
        "VPCReady": "True",
        "VPCSubnetReady": "True",
        "TransitGatewayReady": "True",
        "LoadBalancerReady": "True",
        "SpecValid": "True",
        "FieldsServed": "True",
        "Deleting": "False",
        "Paused": "False",
    }


def test_the_status_is_valid_for_the_schema() -> None:
    """The API server must accept our status and return it unchanged."""
    folded = build_status(obj(), WHOLE, NOW)
    model = parse(IBMPowerVSClusterStatus, folded.status, at="status")
    written = model.model_dump(by_alias=True, exclude_unset=True, mode="json")
    assert written == folded.status


def test_the_same_pass_again_changes_nothing() -> None:
    """docs/reference/capi-contract.md C14: a steady state writes no status, whatever the clock says."""
    first = build_status(obj(), WHOLE, NOW)
    again = build_status(obj(first.status, **dict(first.spec or {})), WHOLE, LATER)
    assert (first.changed, again.changed, again.spec) == (True, False, None)
    assert again.status == first.status


def test_status_is_rebuilt_when_it_was_lost() -> None:
    """docs/reference/capi-contract.md C28: after a move the same status comes from journal and cloud alone."""
    endpoint = {"host": "lb.example.net", "port": 6443}
    first = build_status(obj(), WHOLE, NOW)
    assert build_status(obj(controlPlaneEndpoint=endpoint), WHOLE, NOW).status == first.status


def test_controller_created_follows_the_journal_at_each_pass() -> None:
    """docs/reference/requirements.md T1: upstream sets the flag once. Ours is derived, so it cannot stay wrong."""
    wrong = {"vpc": {"id": "v", "controllerCreated": False}}
    assert build_status(obj(wrong), WHOLE, NOW).status["vpc"] == {"id": "v", "controllerCreated": True}
    given = PassReport(plan(), journal(vpc=RecordState.GIVEN), ready(vpc=Ready(seen("vpc/main"), Category.UNMANAGED)))
    assert build_status(obj(), given, NOW).status["vpc"] == {"id": "v", "controllerCreated": False}


WAITING = Waiting(Reason.PROVISIONING, 10.0, "is create_pending")
BLOCKED = Blocked(Reason.NAME_TAKEN, "c1-vpc exists and is not ours: choose another name")
DRIFTED = Ready(seen("vpc/main"), Category.MANAGED, Reason.DRIFTED, "zone is a, the spec says b")

PARTS: dict[str, tuple[str, Outcome, str, tuple[str, str, str]]] = {
    "waiting": (
        "load-balancer",
        WAITING,
        "LoadBalancerReady",
        ("False", "Provisioning", "load-balancer c1-loadbalancer: is create_pending"),
    ),
    "blocked": (
        "vpc",
        BLOCKED,
        "VPCReady",
        ("False", "NameTaken", "vpc c1-vpc: c1-vpc exists and is not ours: choose another name"),
    ),
    "ready, with a difference that a person should know": (
        "vpc",
        DRIFTED,
        "VPCReady",
        ("True", "Drifted", "vpc c1-vpc: zone is a, the spec says b"),
    ),
}


@pytest.mark.parametrize(("kind", "outcome", "type_", "expected"), PARTS.values(), ids=PARTS.keys())
def test_a_part(kind: str, outcome: Outcome, type_: str, expected: tuple[str, str, str]) -> None:
    """Reason and text are those of the outcome, so that a person can read the cause."""
    folded = build_status(obj(), PassReport(plan(), journal(), ready(**{kind: outcome})), NOW)
    found = condition(folded, type_)
    assert (found["status"], found["reason"], found.get("message", "")) == expected
    assert condition(folded, "Ready")["status"] == expected[0]


def test_a_resource_that_is_used_by_name_has_a_condition() -> None:
    """Condition ReusedByName, because such a resource stays when the cluster is deleted."""
    folded = build_status(obj(), PassReport(plan(), journal(vpc=RecordState.REUSED), ready()), NOW)
    found = condition(folded, "VPCReady")
    assert (found["status"], found["reason"]) == ("True", names.REASON_REUSED_BY_NAME)


def test_a_resource_that_was_not_read_is_unknown() -> None:
    """Without an outcome there is no statement."""
    outcomes = {k: o for k, o in ready().items() if k.kind != "vpc"}
    folded = build_status(obj(), PassReport(plan(), journal(), outcomes), NOW)
    assert condition(folded, "VPCReady")["status"] == "Unknown"
    assert folded.status["ready"] is False


def test_ready_is_sticky() -> None:
    """docs/reference/capi-contract.md C7: an outage later takes Ready away, never the flag."""
    first = build_status(obj(), WHOLE, NOW)
    raw = obj(first.status, **dict(first.spec or {}))
    broken = build_status(raw, PassReport(plan(), journal(), ready(vpc=WAITING)), LATER)
    assert condition(broken, "Ready")["status"] == "False"
    assert broken.status["ready"] is True
    assert broken.status["initialization"] == {"provisioned": True}
    assert condition(broken, "Ready")["lastTransitionTime"] == "2026-01-01T12:05:00Z"
    assert condition(broken, "NetworkReady")["lastTransitionTime"] == "2026-01-01T12:00:00Z"


ENDPOINTS: dict[str, tuple[dict[str, Any], dict[str, Any] | None]] = {
    "none: host and port": ({}, {"host": "lb.example.net", "port": 6443}),
    "the user's host is never touched": ({"controlPlaneEndpoint": {"host": "vip", "port": 6443}}, None),
    "a port that the load balancer does not listen on is replaced": (
        {"controlPlaneEndpoint": {"port": 8443}},
        {"host": "lb.example.net", "port": 6443},
    ),
}


@pytest.mark.parametrize(("spec", "expected"), ENDPOINTS.values(), ids=ENDPOINTS.keys())
def test_endpoint(spec: dict[str, Any], expected: dict[str, Any] | None) -> None:
    folded = build_status(obj(**spec), WHOLE, NOW)
    assert folded.spec == (expected and {"controlPlaneEndpoint": expected})
    assert folded.status["ready"] is True


def test_not_ready_without_a_hostname() -> None:
    """docs/reference/capi-contract.md C5: whenever ready is true there is an endpoint."""
    bare = Ready(Observed("us-south/lb", "lb", State.READY), Category.MANAGED)
    folded = build_status(obj(), PassReport(plan(), journal(), ready(**{"load-balancer": bare})), NOW)
    assert (folded.spec, folded.status["ready"]) == (None, False)
    assert condition(folded, "Ready")["status"] == "False"


def test_the_first_public_load_balancer_is_the_endpoint() -> None:
    """docs/reference/requirements.md I21; a private one earlier in the list is not."""
    lbs = [{"name": "inner", "public": False}, {"name": "outer"}, {"name": "third"}]
    result = plan(loadBalancers=lbs)
    assert isinstance(result, WantedGraph)
    outcomes = {
        NodeKey("load-balancer", f"{name}:{'private' if name == 'inner' else 'public'}"): Ready(
            Observed(f"us-south/{name}", name, State.READY, attributes={"hostname": f"{name}.net"}), Category.MANAGED
        )
        for name in ("inner", "outer", "third")
    }
    folded = build_status(obj(), PassReport(result, journal(), outcomes), NOW)
    assert folded.spec == {"controlPlaneEndpoint": {"host": "outer.net", "port": 6443}}


def test_a_refused_manifest_keeps_what_was_known() -> None:
    """A typo in the spec of a live cluster must not clear its status."""
    first = build_status(obj(), WHOLE, NOW)
    folded = build_status(obj(first.status), PassReport(plan(zone=None), journal()), LATER)
    assert condition(folded, "SpecValid")["reason"] == "InvalidSpec"
    assert condition(folded, "Ready")["message"].startswith("spec.zone: it is missing")
    assert folded.status["vpc"] == first.status["vpc"]
    assert folded.status["resources"] == first.status["resources"]
    assert folded.status["ready"] is True


def test_a_failed_read_of_a_fact_is_reported() -> None:
    """A wrong API key shows in a condition within one reconcile."""
    denied = NoAnswer(Reason.DENIED, "the API key was refused", 300.0)
    result = plan(PowerVSFacts(denied, denied, denied))
    folded = build_status(obj(), PassReport(result), NOW)
    found = condition(folded, "SpecValid")
    assert (found["status"], found["reason"]) == ("Unknown", "Denied")
    assert condition(folded, "Ready")["message"].startswith("spec.resourceGroup.name: cannot be checked: the API key")


def test_ignored_fields_are_named_in_a_condition() -> None:
    folded = build_status(obj(), PassReport(plan(network={"name": "n", "regex": "x"}), journal(), ready()), NOW)
    found = condition(folded, "FieldsServed")
    assert (found["status"], found["reason"]) == ("False", "FieldsIgnored")
    assert "spec.network.regex" in found["message"]


def test_ready_has_the_reason_for_which_somebody_must_act() -> None:
    """A row of kubectl has nothing but that word; the first part counts, and what only waits does not."""
    lb, vpc = Blocked(Reason.NAME_TAKEN, "theirs"), Blocked(Reason.QUOTA, "10 of 10 VPCs: ask for more")
    waits = Waiting(Reason.PROVISIONING, 5.0, "creating")
    folded = build_status(
        obj(), PassReport(plan(), journal(), ready(**{"workspace": waits, "vpc": vpc, "load-balancer": lb})), NOW
    )
    found = condition(folded, "Ready")
    assert (found["status"], found["reason"], folded.status["phase"]) == ("False", "QuotaReached", "Blocked")
    waiting = build_status(obj(), PassReport(plan(), journal(), ready(workspace=waits)), NOW)
    assert condition(waiting, "Ready")["reason"] == "NotReady" and waiting.status["phase"] == "Progressing"


def test_paused_writes_one_condition() -> None:
    """docs/reference/capi-contract.md C24: the only write while paused."""
    first = build_status(obj(), WHOLE, NOW)
    folded = build_paused_update(obj(first.status), "Cluster spec.paused is set to true", LATER)
    before = {c["type"]: c for c in first.status["conditions"]}
    after = {c["type"]: c for c in folded.status["conditions"]}
    assert {type_ for type_ in after if after[type_] != before[type_]} == {"Paused"}
    assert folded.status == {**first.status, "conditions": folded.status["conditions"], "phase": "Paused"}
    assert condition(build_status(obj(folded.status), WHOLE, LATER), "Paused")["status"] == "False"


def test_a_paused_object_that_is_being_deleted_is_not_ready() -> None:
    """kubectl, and Cluster API, would show it as complete for ever."""
    raw = obj(build_status(obj(), WHOLE, NOW).status)
    raw["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    folded = build_paused_update(raw, "Cluster spec.paused is set to true", LATER)
    ready = condition(folded, "Ready")
    assert (ready["status"], ready["reason"], folded.status["phase"]) == ("False", "Deleting", "Paused")
    assert "once the pause ends: Cluster spec.paused is set to true" in ready["message"]
    assert not build_paused_update(
        {**raw, "status": folded.status}, "Cluster spec.paused is set to true", LATER
    ).changed


def test_an_object_on_hold_reports_the_reason() -> None:
    """The reasons of gate and identity are shown to the user unchanged."""
    folded = build_held_update(obj(), "WaitingForOwnerCluster", "no Cluster owns it", NOW)
    found = condition(folded, "Ready")
    assert (found["status"], found["reason"], found["message"]) == (
        "False",
        "WaitingForOwnerCluster",
        "no Cluster owns it",
    )
    assert folded.status["ready"] is False


def test_the_table_follows_the_graph_and_names_surplus() -> None:
    """tree and the live progress show every resource, wanted or only owned."""
    surplus = {NodeKey("vpc-subnet", "old:us-south-1"): Surplus(None, "is ours and no longer wanted")}
    held_ = journal().put(NodeKey("vpc-subnet", "old:us-south-1"), Entry(RecordState.OWNED, id="us-south/old"))
    folded = build_status(obj(), PassReport(plan(), held_, {**ready(vpc=WAITING), **surplus}), NOW)
    table = [(r["kind"], r["name"], r.get("id"), r["state"], r["ownership"]) for r in folded.status["resources"]]
    assert table == [
        ("workspace", "c1-serviceInstance", "guid", "Ready", "managed"),
        ("dhcp-server", "DHCPSERVERc1_Private", "dh", "Ready", "managed"),
        ("vpc", "c1-vpc", "v", "Waiting", "managed"),
        ("vpc-subnet", "c1-vpcsubnet-us-south-1", "s", "Ready", "managed"),
        ("load-balancer", "c1-loadbalancer", "lb", "Ready", "managed"),
        ("transit-gateway", "c1-transitgateway", "tg", "Ready", "managed"),
        ("transit-gateway-connection", "c1-transitgateway-vpc-con", "con-v", "Ready", "managed"),
        ("transit-gateway-connection", "c1-transitgateway-pvs-con", "con-p", "Ready", "managed"),
        ("vpc-subnet", "old:us-south-1", "old", "Surplus", "managed"),
    ]


def test_since_changes_only_with_the_state() -> None:
    """It shows a person on call how long something has been waiting."""
    first = build_status(obj(), PassReport(plan(), journal(), ready(vpc=WAITING)), NOW)
    other = Waiting(Reason.MARKING, 5.0, "its mark is not readable yet")
    second = build_status(obj(first.status), PassReport(plan(), journal(), ready(vpc=other)), LATER)
    vpc = next(r for r in second.status["resources"] if r["kind"] == "vpc")
    assert (vpc["since"], vpc["reason"]) == ("2026-01-01T12:00:00Z", "Marking")
    third = build_status(obj(second.status), WHOLE, LATER)
    assert next(r for r in third.status["resources"] if r["kind"] == "vpc")["since"] == "2026-01-01T12:05:00Z"


def test_two_rows_of_one_name_keep_their_own_since() -> None:
    """A surplus resource may have the name of its successor; otherwise each pass would write a new status."""
    vpc, old = NodeKey("vpc", "main"), NodeKey("vpc", "main~v-old")
    held_ = journal().put(old, Entry(RecordState.OWNED, id="us-south/v-old"))
    surplus = Surplus(Observed("us-south/v-old", "c1-vpc", State.READY), "is ours and no longer wanted")
    report = PassReport(plan(), held_, {**ready(), vpc: Blocked(Reason.NOT_OWNED, "is not ours"), old: surplus})
    first = build_status(obj(), report, NOW)
    again = build_status(obj(first.status), report, LATER)
    assert [r["name"] for r in again.status["resources"]].count("c1-vpc") == 2
    assert again.status["resources"] == first.status["resources"]


def test_the_table_of_a_deletion_has_all_resources() -> None:
    """Deleted resources stay in the table, and those that are not owned stay with the reason."""
    first = build_status(obj(), WHOLE, NOW)
    for row in first.status["resources"]:
        row["state"] = "Deleting"
    kept = journal(vpc=RecordState.GIVEN)
    left = Journal(OWNER, {k: e for k, e in kept.entries.items() if k.kind in ("vpc", "workspace")})
    outcomes: dict[NodeKey, Outcome] = {
        NodeKey("vpc", "main"): Kept(Reason.GIVEN, "us-south/v was given, not made here"),
        NodeKey("workspace", "main"): Waiting(Reason.DELETING, 60.0, "is removing"),
        NodeKey("finalizer", "settle"): Waiting(Reason.SETTLING, 60.0, "a create may still take effect"),
    }
    folded = build_status(obj(first.status), PassReport(None, left, outcomes, deleting=True), LATER)
    assert [(r["kind"], r["state"]) for r in folded.status["resources"]] == [
        ("workspace", "Deleting"),
        ("dhcp-server", "Gone"),
        ("vpc", "Kept"),
        ("vpc-subnet", "Gone"),
        ("load-balancer", "Gone"),
        ("transit-gateway", "Gone"),
        ("transit-gateway-connection", "Gone"),
        ("transit-gateway-connection", "Gone"),
    ]
    assert condition(folded, "Deleting")["status"] == "True"
    parts = {
        part: condition(folded, part)["status"] for part in ("ServiceInstanceReady", "VPCReady", "LoadBalancerReady")
    }
    # A resource that is being deleted is not ready any more; a kept one stays as it was.
    assert parts == {"ServiceInstanceReady": "False", "VPCReady": "True", "LoadBalancerReady": "False"}
    ready_ = condition(folded, "Ready")
    assert (ready_["status"], ready_["reason"]) == ("False", "Deleting")
    assert folded.status["ready"] is True
    again = build_status(
        obj(folded.status), PassReport(None, left, outcomes, deleting=True), LATER + timedelta(minutes=1)
    )
    assert not again.changed


def test_a_blocked_deletion_names_who_must_act() -> None:
    """The cause of a stuck delete must be easy to see."""
    outcomes: dict[NodeKey, Outcome] = {NodeKey("vpc", "main"): Blocked(Reason.IN_USE, "subnet x is inside; remove it")}
    folded = build_status(obj(), PassReport(None, journal(), outcomes, deleting=True), NOW)
    found = condition(folded, "Deleting")
    assert (found["reason"], found["message"]) == ("InUse", "vpc/main: subnet x is inside; remove it")


def test_without_the_annotation_it_is_ready_with_the_users_endpoint() -> None:
    """Without the annotation only the user provides an endpoint (docs/reference/capi-contract.md C6)."""
    spec = {"serviceInstanceID": "guid", "network": {"id": "n"}}
    result = build_desired("c1", {}, powervs_spec({"spec": {**SPEC, **spec}}), PowerVSFacts())
    outcomes: dict[NodeKey, Outcome] = {
        NodeKey("workspace", "main"): Ready(Observed("guid", "ws", State.READY), Category.UNMANAGED),
        NodeKey("dhcp-server", "main"): Ready(Observed("guid/network/n", "n", State.READY), Category.UNMANAGED),
    }
    entries = {key: Entry(RecordState.GIVEN, id=o.observed.id) for key, o in outcomes.items() if isinstance(o, Ready)}
    report = PassReport(result, Journal(OWNER, entries), outcomes)
    without = build_status(obj(), report, NOW)
    assert (without.status["ready"], without.status["network"]["id"]) == (False, "n")
    assert "spec.controlPlaneEndpoint.host" in condition(without, "Ready")["message"]
    assert build_status(obj(controlPlaneEndpoint={"host": "vip", "port": 6443}), report, NOW).status["ready"] is True


def test_conditions_of_resources_that_are_no_longer_wanted_are_removed() -> None:
    """A condition that is not updated any more would become wrong."""
    first = build_status(obj(), PassReport(plan(cosInstance={"name": "cos"}), journal(), ready()), NOW)
    assert condition(first, "COSInstanceCreated")["status"] == "Unknown"
    second = build_status(obj(first.status), WHOLE, LATER)
    assert "COSInstanceCreated" not in {c["type"] for c in second.status["conditions"]}


@over_rows("reason", list(Reason), ids=[reason.value for reason in Reason])
def test_every_reason_is_legal(reason: Reason) -> None:
    """docs/reference/capi-contract.md C10: core mirrors reasons, and one that does not match fails its patch."""
    folded = build_status(obj(), PassReport(plan(), journal(), ready(vpc=Blocked(reason, "why"))), NOW)
    for found in folded.status["conditions"]:
        assert re.fullmatch(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?", found["reason"])


def test_a_problem_that_needs_a_person_is_reported_first() -> None:
    """The condition has one reason: a reason for waiting would hide the problem."""
    outcomes = {
        **ready(),
        NodeKey("transit-gateway", "main"): Waiting(Reason.PROVISIONING, 5.0, "its state is pending"),
        NodeKey("transit-gateway-connection", "vpc"): Blocked(Reason.QUOTA, "the account's limit is reached"),
    }
    found = condition(
        build_status(obj(), PassReport(plan(), journal(), outcomes), NOW), ibm_names.TRANSIT_GATEWAY_READY
    )
    assert found["reason"] == Reason.QUOTA.value
    assert "limit is reached" in found["message"] and "pending" in found["message"]


def test_while_paused_no_generation_counts_as_observed() -> None:
    """Nothing of the newest spec has been acted on."""
    before = build_status(obj(), WHOLE, NOW).status
    raw = obj(before)
    raw["metadata"]["generation"] = 4
    assert build_paused_update(raw, "paused", LATER).status["observedGeneration"] == 3


def test_a_kept_resource_stays_kept_in_the_final_table() -> None:
    """It still exists, although the last pass has no outcome for it."""
    kept = {"kind": "vpc", "name": "theirs", "id": "v", "state": "Kept", "ownership": "unmanaged", "message": "given"}
    goes = {"kind": "load-balancer", "name": "lb", "id": "lb", "state": "Deleting", "ownership": "managed"}
    folded = build_status(obj({"resources": [kept, goes]}), PassReport(plan(), journal(), {}, deleting=True), NOW)
    states = {row["name"]: row["state"] for row in folded.status["resources"]}
    assert states == {"theirs": "Kept", "lb": "Gone"}


@pytest.mark.parametrize(
    ("row", "state"),
    [
        ({"id": "lb", "state": "Deleting", "ownership": "managed"}, "Gone"),
        ({"id": "lb", "state": "Deleting", "ownership": "shared"}, "Gone"),
        ({"id": "lb", "state": "Ready", "ownership": "managed"}, "Unknown"),  # its record was lost with the store
        ({"id": "lb", "state": "Blocked", "reason": "NameTaken", "ownership": "unknown"}, "Unknown"),
        ({"state": "Waiting", "ownership": "unknown"}, "NotCreated"),
    ],
    ids=[
        "deleted by us",
        "deleted by us, and shared until then",
        "ours, and on no record",
        "somebody else's",
        "never made",
    ],
)
def test_gone_is_only_what_this_delete_saw_go(row: dict[str, Any], state: str) -> None:
    before = {"resources": [{"kind": "load-balancer", "name": "lb", **row}]}
    folded = build_status(obj(before), PassReport(None, Journal(OWNER), {}, deleting=True), NOW)
    assert [found["state"] for found in folded.status["resources"]] == [state]


def test_what_went_in_one_pass_is_gone_although_no_status_showed_it_leave() -> None:
    """Some deletes are done when the cloud has answered them."""
    before = {"resources": [{"kind": "vpc", "name": "v", "id": "r006-1", "state": "Ready", "ownership": "managed"}]}
    report = PassReport(None, Journal(OWNER), {}, deleting=True, deleted=frozenset({"us-south/r006-1"}))
    assert [found["state"] for found in build_status(obj(before), report, NOW).status["resources"]] == ["Gone"]
