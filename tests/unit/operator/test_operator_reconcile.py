"""One reconcile of a PowerVS cluster on the simulated cloud: what it waits for, what it remembers, what it lets go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from freehold.api import names
from freehold.clouds.ibm.times import SETTLE
from freehold.lifecycle.journal import StaleObject
from freehold.lifecycle.keys import KeyRing
from freehold.lifecycle.port import step
from freehold.operator.controller import Done, RequeueAfter
from freehold.operator.reconciler import ACCOUNT_CHANGED, CONFLICT_SECONDS, OCCUPIED_SECONDS, SLOW_SECONDS
from freehold.reconcilers.adapter import StatusUpdate
from freehold.reconcilers.gate import ClusterContext, Mode, UnreadableCluster
from freehold_sim.faults import Effect, Fault
from freehold_sim.ibm.cloud import SimulatedIBM
from stage.powervs import MemoryDocument, Stage, example
from stage.scenery import infrastructure, made_by_us, marks, only, photograph, standing

JOURNAL = names.JOURNAL_ANNOTATION
BELONGS = {"apiVersion": f"{names.CLUSTER_API_GROUP}/v1beta2", "kind": "Cluster", "name": "c1", "uid": "u"}


class Outrun(MemoryDocument):
    """Somebody else is always faster."""

    async def apply(self, patch: Mapping[str, Any]) -> None:
        raise StaleObject("changed since it was read")


def made(stage: Stage) -> set[str]:
    """The ids of what our calls created."""
    return {row["id"] for row in made_by_us(stage)}


def minted(stage: Stage) -> None:
    """The object as it was stored right after it got its identity: no create is on record."""
    stage.pass_once()
    first = next(version for version in stage.object.history if JOURNAL in version["metadata"].get("annotations", {}))
    stage.object.raw = first
    stage.object.patch({"metadata": {"labels": {"restored": "true"}}})


def joined(stage: Stage, gateway: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Our connections of a gateway."""
    return [row for row in made_by_us(stage) if row["kind"] == "connection"]


def test_after_a_conflict_the_pass_begins_again_soon() -> None:
    """The change that outran us may be one that wakes nobody, such as our own journal."""
    stage = Stage()
    result = step(stage.process.reconcile(Outrun(stage.object), stage.around))
    assert result == RequeueAfter(CONFLICT_SECONDS)


def test_an_object_that_waits_for_its_cluster_is_looked_at_again() -> None:
    """An API server that could not be read does not tell when it can."""
    manifest = example()
    manifest["metadata"]["ownerReferences"] = [BELONGS]
    stage = Stage(manifest, around=ClusterContext(Mode.AUTO, owner=UnreadableCluster("403")))
    assert stage.pass_once() == RequeueAfter(SLOW_SECONDS)


def test_a_delete_that_waits_for_machines_is_looked_at_again() -> None:
    """Machines are not watched."""
    stage = Stage()
    stage.pass_once()
    stage.around = ClusterContext(Mode.OFF, machines=("m1",))
    stage.object.delete()
    assert stage.pass_once() == RequeueAfter(OCCUPIED_SECONDS)


def test_a_cloud_that_refuses_everything_is_asked_again() -> None:
    stage = Stage(api_key="revoked")
    result = stage.pass_once()
    assert isinstance(result, RequeueAfter), result
    assert stage.condition(names.READY)["reason"] == "Denied"


def test_a_restarted_process_waits_until_creates_of_the_earlier_one_have_settled() -> None:
    """Its journal may be the one from before the first wave was intended."""
    stage = Stage()
    minted(stage)
    before = made(stage)
    stage.start_process()
    stage.for_a_while(SETTLE - 10.0)
    assert made(stage) == before


def test_a_journal_that_is_minted_anew_waits_like_a_restarted_process() -> None:
    """Creates of the lost journal may be under way: that this very process minted the first one proves nothing."""
    stage = Stage()
    stage.pass_once()
    before = made(stage)
    assert before
    stage.object.patch({"metadata": {"annotations": {JOURNAL: None}, "finalizers": None}})
    stage.object.raw.pop("status")
    stage.for_a_while(SETTLE - 10.0)
    assert JOURNAL in stage.object.raw["metadata"]["annotations"]
    assert made(stage) == before


def test_an_edit_is_acted_on_at_once() -> None:
    """Not at the next deep look, up to ten minutes later."""
    stage = Stage()
    stage.up()
    stage.settle()
    stage.object.patch({"spec": {"vpc": {"name": "other-vpc"}}})
    stage.pass_once()
    assert [row["name"] for row in standing(stage, "vpc")] == ["other-vpc"]


def test_our_own_endpoint_is_no_edit() -> None:
    """It raises the generation, and would have everything looked at once more."""
    stage = Stage()
    stage.run(lambda: bool(stage.object.raw["spec"].get("controlPlaneEndpoint")))
    stage.clock.advance(1.0)
    before = len(stage.calls())
    stage.pass_once()
    assert len(stage.calls()) - before <= 3


def test_without_the_annotation_nothing_that_is_owned_is_changed() -> None:
    """An edit of the spec waits until the infrastructure is ours to create again."""
    stage = Stage()
    stage.up()
    stage.settle()
    world = photograph(stage)
    stage.object.patch({"metadata": {"annotations": {names.CREATE_INFRA_ANNOTATION: None}}})
    stage.object.patch({"spec": {"vpc": {"name": "other-vpc"}}})
    stage.for_a_while(700.0)
    assert photograph(stage) == world
    assert stage.condition(names.SPEC_VALID)["reason"] == names.REASON_CREATE_INFRA_NOT_REQUESTED


def test_with_a_key_of_another_account_nothing_is_done() -> None:
    """Everything seems gone there: it would be created a second time, or taken for released."""
    stage = Stage()
    stage.pass_once()
    ours = stage.cloud
    stage.cloud = SimulatedIBM(stage.clock, replace(ours.settings, account_id="9" * 32))
    stage.start_process()
    for _ in range(2):
        assert stage.pass_once() == RequeueAfter(SLOW_SECONDS)
        assert stage.condition(names.READY)["reason"] == ACCOUNT_CHANGED
        stage.clock.advance(SLOW_SECONDS)
    assert standing(stage) == []


def test_the_finalizer_waits_for_an_answer_on_where_to_look() -> None:
    """Without it nobody knows in which place something of ours may have been left."""
    stage = Stage()
    stage.pass_once()
    stage.cloud.faults.add(Fault(Effect.ERROR_BEFORE, "rm.list_resource_groups", count=None, status=503))
    stage.start_process()
    stage.object.delete()
    stage.run(lambda: made_by_us(stage) == [])
    stage.for_a_while(2 * SETTLE)
    assert not stage.object.gone
    stage.cloud.faults.clear()
    stage.run(lambda: stage.object.gone)
    assert made_by_us(stage) == []


def test_finalizers_of_others_stay() -> None:
    stage = Stage()
    stage.pass_once()
    theirs = ["example.com/backup", *stage.object.raw["metadata"]["finalizers"]]
    stage.object.patch({"metadata": {"finalizers": theirs}})
    stage.object.delete()
    ours = names.POWERVS_CLUSTER_FINALIZER
    stage.run(lambda: ours not in stage.object.raw["metadata"]["finalizers"])
    assert stage.object.raw["metadata"]["finalizers"] == ["example.com/backup"]
    assert stage.pass_once() == Done()
    assert made_by_us(stage) == []


def test_a_status_that_says_ready_shows_the_endpoint_from_its_first_version() -> None:
    """Cluster API copies the endpoint once it sees ready, and does not look again."""
    stage = Stage()
    folded = StatusUpdate(
        {"ready": True}, {"controlPlaneEndpoint": {"host": "lb.example.net", "port": 6443}}, changed=True
    )
    step(stage.process._write(MemoryDocument(stage.object), folded))
    ready = [version for version in stage.object.history if (version.get("status") or {}).get("ready")]
    assert [version["spec"]["controlPlaneEndpoint"]["host"] for version in ready] == ["lb.example.net"]


def test_what_was_left_in_a_given_gateway_is_found_where_nothing_but_the_spec_names_it() -> None:
    """The journal is the first one again and the gateway's marks are gone: the nonce in the name is all there is."""
    stage = Stage()
    gateway = infrastructure(stage, connected=False).gateway
    stage.object.patch({"spec": {"transitGateway": {"id": gateway["id"]}}})
    stage.run(lambda: bool(joined(stage, gateway)))
    first = next(version for version in stage.object.history if JOURNAL in version["metadata"].get("annotations", {}))
    stage.object.patch({"metadata": {"annotations": first["metadata"]["annotations"]}})
    stage.cloud.strangers.detach(gateway["crn"], *marks(only(stage, "gateway")))
    stage.start_process()
    stage.down()
    assert joined(stage, gateway) == []


def test_what_is_gone_is_not_remembered() -> None:
    """Neither the memories of the passes nor the drivers, which know what was where."""
    stage = Stage()
    account = stage.process._cloud
    subject = f"{names.POWERVS_CLUSTER_KIND} default/{stage.object.raw['metadata']['name']}"
    before = account.deps(subject, stage.rings.ring)
    stage.pass_once()
    assert account.deps(subject, stage.rings.ring) is before
    stage.down()
    assert account.deps(subject, stage.rings.ring) is not before
    assert not stage.process._known


def test_an_object_whose_key_is_missing_is_forgotten_until_the_key_is_back() -> None:
    """Another operator may serve it meanwhile: what this one remembers must not shorten a wait afterwards."""
    stage = Stage()
    stage.pass_once()
    before, ours = made(stage), stage.rings.ring
    stage.rings.ring = KeyRing.single(b"the key of another operator" * 2)
    stage.pass_once()
    assert stage.condition(names.READY)["reason"] == names.REASON_KEY_MISSING
    assert stage.rings.asked_for_more == 1
    stage.rings.ring = ours
    stage.for_a_while(SETTLE - 10.0)
    assert made(stage) == before
