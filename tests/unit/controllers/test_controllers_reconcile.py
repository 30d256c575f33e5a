"""One reconcile of a PowerVS cluster on the simulated cloud: what it waits for, remembers and releases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from freehold.api import names
from freehold.controllers.controller import Done, RequeueAfter
from freehold.controllers.reconciler import ACCOUNT_CHANGED, CONFLICT_SECONDS, OCCUPIED_SECONDS, SLOW_SECONDS
from freehold.engine import journal as journals
from freehold.engine.journal import StaleObject
from freehold.engine.keys import KeyRing
from freehold.providers.ibm import api_names as ibm_names
from freehold.providers.ibm.times import SETTLE
from freehold.providers.objects.adapter import StatusUpdate
from freehold.providers.objects.gate import ClusterApiMode, ClusterContext, StandingMachine, UnreadableCluster
from freehold_sim.faults import Effect, Fault
from freehold_sim.ibm.cloud import SimulatedIBM
from harness.powervs import Harness, MemoryDocument, example
from harness.resources import existing, infrastructure, made_by_us, marks, only, snapshot
from harness.standing import standing
from harness.stepping import run_blocking

JOURNAL = names.JOURNAL_ANNOTATION
BELONGS = {"apiVersion": f"{names.CLUSTER_API_GROUP}/v1beta2", "kind": "Cluster", "name": "c1", "uid": "u"}


class Outrun(MemoryDocument):
    """Another writer is always faster."""

    async def apply(self, patch: Mapping[str, Any]) -> None:
        raise StaleObject("changed since it was read")


def made(harness: Harness) -> set[str]:
    """The ids of the resources that our calls created."""
    return {row["id"] for row in made_by_us(harness)}


def minted(harness: Harness) -> None:
    """The object as it was stored right after it got its identity: no create is recorded."""
    harness.pass_once()
    first = next(version for version in harness.object.history if JOURNAL in version["metadata"].get("annotations", {}))
    harness.object.raw = first
    harness.object.patch({"metadata": {"labels": {"restored": "true"}}})


def joined(harness: Harness, gateway: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Our connections of a gateway."""
    return [row for row in made_by_us(harness) if row["kind"] == "connection"]


def test_after_a_conflict_the_next_pass_comes_soon() -> None:
    """The conflicting change may cause no reconcile, for example a write of our own journal."""
    harness = Harness()
    result = run_blocking(harness.process.reconcile(Outrun(harness.object), harness.around))
    assert result == RequeueAfter(CONFLICT_SECONDS)


def test_an_object_that_waits_for_its_cluster_is_reconciled_again() -> None:
    """No event tells that the API server can be read again."""
    manifest = example()
    manifest["metadata"]["ownerReferences"] = [BELONGS]
    harness = Harness(manifest, around=ClusterContext(ClusterApiMode.AUTO, owner=UnreadableCluster("403")))
    assert harness.pass_once() == RequeueAfter(SLOW_SECONDS)


def test_a_delete_that_waits_for_machines_is_reconciled_again() -> None:
    """Machines are not watched."""
    harness = Harness()
    harness.pass_once()
    harness.around = ClusterContext(ClusterApiMode.OFF, machines=(StandingMachine("IBMPowerVSMachine", "m1"),))
    harness.object.delete()
    assert harness.pass_once() == RequeueAfter(OCCUPIED_SECONDS)


def test_a_cloud_that_refuses_everything_is_called_again() -> None:
    harness = Harness(api_key="revoked")
    result = harness.pass_once()
    assert isinstance(result, RequeueAfter), result
    assert harness.condition(names.READY)["reason"] == "Denied"


def test_a_restarted_process_waits_until_creates_of_the_earlier_one_have_settled() -> None:
    """Its journal may be from before the intents of the first wave."""
    harness = Harness()
    minted(harness)
    before = made(harness)
    harness.start_process()
    harness.for_a_while(SETTLE - 10.0)
    assert made(harness) == before


def test_after_a_lost_journal_the_process_waits_as_after_a_restart() -> None:
    """Creates of the lost journal may be under way; that of the process itself is put back as it was."""
    harness = Harness()
    harness.pass_once()
    before = made(harness)
    assert before
    harness.object.patch({"metadata": {"annotations": {JOURNAL: None}, "finalizers": None}})
    harness.start_process()
    harness.for_a_while(SETTLE - 10.0)
    assert JOURNAL in harness.object.raw["metadata"]["annotations"]
    assert made(harness) == before


def test_an_edit_takes_effect_at_once() -> None:
    """It does not wait for the next deep pass, up to ten minutes later."""
    harness = standing(Harness)
    harness.settle()
    harness.object.patch({"spec": {"vpc": {"name": "other-vpc"}}})
    harness.pass_once()
    assert [row["name"] for row in existing(harness, "vpc")] == ["other-vpc"]


def test_our_own_write_of_the_endpoint_does_not_count_as_an_edit() -> None:
    """It raises the generation, and would cause one more deep pass."""
    harness = Harness()
    harness.run(lambda: bool(harness.object.raw["spec"].get("controlPlaneEndpoint")))
    harness.clock.advance(1.0)
    before = len(harness.calls())
    harness.pass_once()
    assert len(harness.calls()) - before <= 3


def test_without_the_annotation_no_owned_resource_is_changed() -> None:
    """An edit of the spec waits until the annotation allows us to create infrastructure again."""
    harness = standing(Harness)
    harness.settle()
    world = snapshot(harness)
    harness.object.patch({"metadata": {"annotations": {ibm_names.CREATE_INFRA_ANNOTATION: None}}})
    harness.object.patch({"spec": {"vpc": {"name": "other-vpc"}}})
    harness.for_a_while(700.0)
    assert snapshot(harness) == world
    assert harness.condition(names.SPEC_VALID)["reason"] == ibm_names.REASON_CREATE_INFRA_NOT_REQUESTED


def test_with_a_key_of_another_account_nothing_is_done() -> None:
    """In that account everything seems gone: it would be created a second time, or count as released."""
    harness = Harness()
    harness.pass_once()
    ours = harness.cloud
    harness.cloud = SimulatedIBM(harness.clock, replace(ours.settings, account_id="9" * 32))
    harness.start_process()
    for _ in range(2):
        assert harness.pass_once() == RequeueAfter(SLOW_SECONDS)
        assert harness.condition(names.READY)["reason"] == ACCOUNT_CHANGED
        harness.clock.advance(SLOW_SECONDS)
    assert existing(harness) == []


def test_the_finalizer_waits_until_the_places_to_search_are_known() -> None:
    """Until then it is unknown where something of ours may exist."""
    harness = Harness()
    harness.pass_once()
    harness.cloud.faults.add(Fault(Effect.ERROR_BEFORE, "rm.list_resource_groups", count=None, status=503))
    harness.start_process()
    harness.object.delete()
    harness.run(lambda: made_by_us(harness) == [])
    harness.for_a_while(2 * SETTLE)
    assert not harness.object.gone
    harness.cloud.faults.clear()
    harness.run(lambda: harness.object.gone)
    assert made_by_us(harness) == []


def test_finalizers_of_others_stay() -> None:
    harness = Harness()
    harness.pass_once()
    theirs = ["example.com/backup", *harness.object.raw["metadata"]["finalizers"]]
    harness.object.patch({"metadata": {"finalizers": theirs}})
    harness.object.delete()
    ours = ibm_names.POWERVS_CLUSTER_FINALIZER
    harness.run(lambda: ours not in harness.object.raw["metadata"]["finalizers"])
    assert harness.object.raw["metadata"]["finalizers"] == ["example.com/backup"]
    assert harness.pass_once() == Done()
    assert made_by_us(harness) == []


def test_the_first_ready_status_has_the_endpoint() -> None:
    """Cluster API copies the endpoint when it first sees ready, and does not read it again."""
    harness = Harness()
    folded = StatusUpdate(
        {"ready": True}, {"controlPlaneEndpoint": {"host": "lb.example.net", "port": 6443}}, changed=True
    )
    run_blocking(harness.process._write(MemoryDocument(harness.object), folded))
    ready = [version for version in harness.object.history if (version.get("status") or {}).get("ready")]
    assert [version["spec"]["controlPlaneEndpoint"]["host"] for version in ready] == ["lb.example.net"]


def test_a_connection_in_a_given_gateway_is_found_if_only_the_spec_names_the_gateway() -> None:
    """The first journal was restored and the marks on the gateway are gone: only the nonce in the name is left."""
    harness = Harness()
    gateway = infrastructure(harness, connected=False).gateway
    harness.object.patch({"spec": {"transitGateway": {"id": gateway["id"]}}})
    harness.run(lambda: bool(joined(harness, gateway)))
    first = next(version for version in harness.object.history if JOURNAL in version["metadata"].get("annotations", {}))
    harness.object.patch({"metadata": {"annotations": first["metadata"]["annotations"]}})
    harness.cloud.strangers.detach(gateway["crn"], *marks(only(harness, "gateway")))
    harness.start_process()
    harness.down()
    assert joined(harness, gateway) == []


def test_nothing_is_remembered_of_a_released_object() -> None:
    """Neither the state between passes nor the drivers are kept."""
    harness = Harness()
    account = harness.account
    subject = f"{ibm_names.POWERVS_CLUSTER_KIND} default/{harness.object.raw['metadata']['name']}"
    harness.pass_once()
    uuid = journals.loads(harness.object.raw["metadata"]["annotations"][names.JOURNAL_ANNOTATION]).owner.uuid
    before = account.build_deps(subject, harness.rings.ring, uuid)
    harness.pass_once()
    assert account.build_deps(subject, harness.rings.ring, uuid) is before
    harness.down()
    assert account.build_deps(subject, harness.rings.ring, uuid) is not before
    assert harness.process._memory.find(harness.object.raw) is None


def test_an_object_whose_key_is_missing_is_forgotten_until_the_key_is_back() -> None:
    """Another operator may serve it meanwhile: old state in this one must not shorten a wait afterwards."""
    harness = Harness()
    harness.pass_once()
    before, ours = made(harness), harness.rings.ring
    harness.rings.ring = KeyRing.single(b"the key of another operator" * 2)
    harness.pass_once()
    assert harness.condition(names.READY)["reason"] == names.REASON_KEY_MISSING
    assert harness.rings.asked_for_more == 1
    harness.rings.ring = ours
    harness.for_a_while(SETTLE - 10.0)
    assert made(harness) == before
