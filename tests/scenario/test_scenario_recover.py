"""An object that was lost is rebuilt from its marks: applied again, the cluster is as if nothing had been lost."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

import pytest

from freehold.api import names
from freehold.cli.commands.recover import _refuse_unclear
from freehold.cli.errors import CliError
from freehold.controllers.recovery.lost_objects import NoOwner, Recovery, build_recovery, rebuild_object, rebuild_spec
from freehold.controllers.recovery.orphans import MarkedOwner, find_orphans
from freehold.engine.keys import KeyRing
from freehold.kube.merge_patch import build_merge_patch
from freehold.providers.access.accounts import AccountPlace, AccountScope
from freehold.providers.ibm.powervs.kind import POWERVS_CLUSTER
from freehold_sim.faults import Effect, Fault
from freehold_sim.flow import Identified
from freehold_sim.http import Request
from harness.powervs import UID, Harness, StoredObject, example
from harness.resources import REGION, existing
from harness.standing import standing
from harness.stepping import run_blocking
from harness.traits import traits

ANOTHER = KeyRing.single(b"another operator's key, 32 bytes.")


def _recovery(harness: Harness, ring: KeyRing | None = None) -> Recovery | None:
    """What the plan of a recovery shows; None where nothing carries a mark."""
    deps = harness.account.build_read_only_deps(ring or harness.rings.ring)
    found = run_blocking(find_orphans(deps, ()))
    return build_recovery(found[0], POWERVS_CLUSTER, deps) if found else None


def _recover(harness: Harness, *, ring: KeyRing | None = None, seal_anew: bool = False) -> bool:
    """The store is lost, and the object is rebuilt, paused. False where nothing can be."""
    harness.start_process()
    if ring is not None:
        harness.rings.ring = ring
    recovery = _recovery(harness)
    if recovery is None:
        return False
    deps = harness.account.build_read_only_deps(harness.rings.ring)
    account = run_blocking(harness.account.read_account())
    (place,) = run_blocking(harness.new_accounts().list_places(AccountScope()))
    assert isinstance(place, AccountPlace)
    obj = rebuild_object(recovery, POWERVS_CLUSTER, account, deps, rebuild_spec(recovery, place), seal_anew=seal_anew)
    harness.object = StoredObject(obj, harness.clock.now)
    harness.object.raw["metadata"]["uid"] = "5c1d7f0a-0000-4000-8000-000000000001"
    return True


def _apply(harness: Harness, manifest: dict[str, Any]) -> None:
    """As ``freehold up -f``: what the last apply set and the manifest leaves out is removed."""
    annotations = {**manifest["metadata"]["annotations"], names.PAUSED_ANNOTATION: None}
    spec = build_merge_patch(harness.object.raw["spec"], manifest["spec"], last=harness.object.raw["spec"])
    harness.object.patch({"metadata": {"annotations": annotations}, "spec": spec})


def _moments(every: Iterable[int]) -> list[Any]:
    """Every third of them in ``make test``, the others in ``make edits``."""
    return [pytest.param(at, marks=[] if i % 3 == 0 else pytest.mark.slow) for i, at in enumerate(every)]


@pytest.mark.parametrize("passes", _moments([*range(2, 16), 40]))
def test_a_lost_object_is_recovered_at_any_moment_of_its_creation(passes: int) -> None:
    """No resource is made twice, and in the end everything can be deleted."""
    undisturbed, harness = standing(Harness), Harness()
    manifest = copy.deepcopy(harness.object.raw)
    harness.settle(passes)
    harness.clock.advance(60.0)
    if not _recover(harness):
        assert passes < 4, "a mark is readable after a few passes"
        return
    written = len(harness.calls(mutating=True))
    harness.for_a_while(1200.0)
    assert len(harness.calls(mutating=True)) == written, "nothing is written to the cloud while it is paused"
    _apply(harness, manifest)
    harness.up()
    assert traits(harness) == traits(undisturbed)
    harness.down()
    assert existing(harness) == []


def _die_after(writes: int, monkeypatch: pytest.MonkeyPatch) -> Harness:
    """The process dies when the cloud has taken that many writes: none of its later calls arrives.

    They are counted as they arrive: those of one wave are in flight together.
    """
    harness, taken = Harness(), 0

    def cut(found: Identified, _: Request) -> Fault | None:
        nonlocal taken
        taken += found.writes
        return Fault(Effect.RESET, "*") if taken > writes else None

    with monkeypatch.context() as patched:
        patched.setattr(harness.cloud, "_match_fault", cut)
        harness.run(lambda: taken > writes or harness.ready())
    assert len([call for call in harness.calls(mutating=True) if 200 <= call.status < 300]) == writes
    return harness


WRITES = 22
"""Of the creation of this cluster."""


@pytest.mark.parametrize("writes", _moments(range(1, WRITES + 1)))
def test_a_lost_object_is_recovered_after_any_write_of_its_creation(
    writes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of a pass too: what was sent and is on no record is found by its nonce, once the uuid is known."""
    undisturbed = standing(Harness)
    assert len(undisturbed.calls(mutating=True)) == WRITES
    harness = _die_after(writes, monkeypatch)
    manifest = copy.deepcopy(harness.object.history[0])
    harness.clock.advance(60.0)
    if not _recover(harness):
        assert not [row for row in existing(harness) if row["tags"]], "a mark is readable after a minute"
        return
    _apply(harness, manifest)
    harness.up()
    assert traits(harness) == traits(undisturbed)
    harness.down()
    assert existing(harness) == []


@pytest.fixture(name="lost")
def _lost() -> Harness:
    return standing(Harness, settled=3)


def test_the_recovered_object_has_the_identity_and_as_much_of_the_spec_as_ids_tell(lost: Harness) -> None:
    assert _recover(lost)
    assert lost.object.raw["metadata"]["annotations"][names.PAUSED_ANNOTATION] == names.RECOVERED
    assert UID in lost.object.raw["metadata"]["annotations"][names.JOURNAL_ANNOTATION]
    spec = example()["spec"]
    assert lost.object.raw["spec"] == {"zone": spec["zone"], "vpc": {"region": spec["vpc"]["region"]}}


def test_a_recovered_object_can_be_deleted_without_its_manifest(lost: Harness) -> None:
    assert _recover(lost)
    lost.object.patch({"metadata": {"annotations": {names.PAUSED_ANNOTATION: None}}})
    lost.down()
    assert existing(lost) == []


def test_without_the_key_nothing_is_proven_and_a_person_decides(lost: Harness) -> None:
    recovery = _recovery(lost, ANOTHER)
    assert recovery is not None
    assert len(recovery.unproven) == len(recovery.resources)


def test_with_a_lost_key_nothing_is_made_twice_once_a_person_has_decided(lost: Harness) -> None:
    """A connection's mark names no node, and its nonce is of the lost key: it is known by its record and its name."""
    before = {row["id"] for row in existing(lost)}
    manifest = copy.deepcopy(lost.object.history[0])
    assert _recover(lost, ring=ANOTHER, seal_anew=True)
    _apply(lost, manifest)
    lost.up()
    lost.settle(6)
    assert {row["id"] for row in existing(lost)} == before
    assert "no longer wants" not in str(lost.status()["resources"])
    lost.down()
    assert existing(lost) == []


@pytest.mark.parametrize("decided", [True, False], ids=["a person decided", "nobody decided"])
def test_what_a_person_says_is_ours_is_sealed_anew_and_deleted_with_the_object(lost: Harness, decided: bool) -> None:
    """Without that, marks that the key ring did not make may be copies, and what they are on stays."""
    assert _recover(lost, ring=ANOTHER, seal_anew=decided)
    lost.object.patch({"metadata": {"annotations": {names.PAUSED_ANNOTATION: None}}})
    lost.down()
    left = {row["kind"] for row in existing(lost)}
    assert (not left) is decided, left


OWNER_TAG = "powervs.cluster.x-k8s.io.owner:default.freehold-demo"
UUID_TAG = f"powervs.cluster.x-k8s.io.cluster-uuid:{UID}"


def _victim(harness: Harness, *tags: str) -> dict[str, Any]:
    """A stranger's VPC, with marks that somebody put on it who may only tag."""
    vpc = dict(harness.cloud.strangers.make("vpc", region=REGION, name="victim"))
    harness.cloud.strangers.attach(vpc["crn"], *tags)
    harness.clock.advance(300.0)
    return vpc


def test_forged_marks_are_left_out_and_ask_for_no_flag_while_the_key_is_there(lost: Harness) -> None:
    """Otherwise whoever may tag makes a person say that the key is lost, and his victim goes with the cluster."""
    victim = _victim(lost, OWNER_TAG, UUID_TAG, "powervs.cluster.x-k8s.io.node:vpc.victim.aaaaaaaa")
    recovery = _recovery(lost)
    assert recovery is not None
    assert not recovery.unproven and len(recovery.proven) == len(recovery.resources) - 1
    assert _recover(lost, seal_anew=True)
    assert victim["id"] not in str(lost.object.raw)


def test_two_resources_with_one_mark_are_both_named_when_the_key_is_lost(lost: Harness) -> None:
    """One is a copy, and nothing tells which: the last one must not win."""
    own = existing(lost, "vpc")[0]
    _victim(lost, *own["tags"])
    recovery = _recovery(lost, ANOTHER)
    assert recovery is not None
    assert {one.marked.key.kind for one in recovery.claimed_twice} == {"vpc"}
    assert len(recovery.claimed_twice) == 2


def test_what_could_not_be_read_is_not_called_unproven(lost: Harness) -> None:
    lost.start_process()
    lost.cloud.faults.add(Fault(Effect.DENIED, "vpc.get_load_balancer", count=9))
    recovery = _recovery(lost)
    assert recovery is not None
    assert [one.marked.key.kind for one in recovery.unread] == ["load-balancer"]
    assert not recovery.unproven


def test_text_of_a_tag_that_is_no_uuid_is_no_owner(lost: Harness) -> None:
    """It would become part of a command that a person is told to run."""
    _victim(lost, "powervs.cluster.x-k8s.io.cluster-uuid:1111 --key-lost --yes")
    deps = lost.account.build_read_only_deps(ANOTHER)
    assert {owner.uuid for owner in run_blocking(find_orphans(deps, ()))} == {UID}


@pytest.mark.parametrize("ring", [None, ANOTHER], ids=["key kept", "key lost"])
def test_what_has_another_owners_mark_too_is_left_out(lost: Harness, ring: KeyRing | None) -> None:
    vpc = existing(lost, "vpc")[0]
    lost.cloud.strangers.attach(
        vpc["crn"], "powervs.cluster.x-k8s.io.cluster-uuid:9b2d7f0a-0000-4000-8000-00000000beef"
    )
    lost.clock.advance(300.0)
    deps = lost.account.build_read_only_deps(ring or lost.rings.ring)
    found = next(owner for owner in run_blocking(find_orphans(deps, ())) if owner.uuid == UID)
    recovery = build_recovery(found, POWERVS_CLUSTER, deps)
    out = [one.marked.key.kind for one in recovery.resources if not recovery.is_recovered(one, key_lost=True)]
    assert out == ["vpc"]


def test_of_two_owners_in_the_marks_the_seals_tell_which(lost: Harness) -> None:
    """Whoever may tag could otherwise block the recovery. Without the key nothing tells."""
    lost.cloud.strangers.attach(existing(lost, "vpc")[0]["crn"], "powervs.cluster.x-k8s.io.owner:prod.another")
    lost.clock.advance(300.0)
    recovery = _recovery(lost)
    assert recovery is not None and recovery.owner.name == "freehold-demo"
    with pytest.raises(NoOwner, match="prod/another"):
        _recovery(lost, ANOTHER)


@pytest.mark.parametrize("name", ["kube-system/Bad_Name--.x", "a/" + "b" * 97, "noslash"])
def test_a_name_that_no_object_can_have_is_refused(lost: Harness, name: str) -> None:
    with pytest.raises(NoOwner):
        build_recovery(MarkedOwner(UID, (name,), ()), POWERVS_CLUSTER, lost.account.build_read_only_deps(ANOTHER))


def test_a_recovered_object_says_what_it_waits_for(lost: Harness) -> None:
    """Also when somebody deletes it with kubectl: nothing would tell why it stays."""
    assert _recover(lost)
    lost.object.delete()
    lost.pass_once()
    assert "freehold up -f FILE" in lost.condition("Paused")["message"]
    assert not lost.object.gone


def test_what_has_only_the_documents_two_tags_is_named_as_such_and_left_out() -> None:
    """Another controller of the document made it: nothing tells what it is for, today and on each later try."""
    harness = Harness()
    theirs = harness.cloud.strangers.make("vpc", region=REGION, name="old", tags=[OWNER_TAG, UUID_TAG])
    harness.clock.advance(60.0)
    recovery = _recovery(harness)
    assert recovery is not None and not (recovery.unread or recovery.unproven or recovery.proven)
    (one,) = recovery.without_node
    assert one.marked.key.kind == "vpc" and one.marked.seen is not None and one.marked.seen.name == theirs["name"]
    assert "no mark says what it is for" in one.source
    registry = harness.account.build_read_only_deps(harness.rings.ring).registry
    with pytest.raises(CliError, match=r"nothing of it can be recovered.*choose another name") as refused:
        _refuse_unclear(recovery, registry, key_lost=False)
    assert refused.value.more == (f"ibmcloud is vpc-delete {theirs['id']}",)


def test_beside_what_the_key_ring_proves_one_with_two_tags_is_left_out(lost: Harness) -> None:
    theirs = _victim(lost, OWNER_TAG, UUID_TAG)
    recovery = _recovery(lost)
    assert recovery is not None and recovery.proven and len(recovery.without_node) == 1
    assert _recover(lost)
    lost.object.patch({"metadata": {"annotations": {names.PAUSED_ANNOTATION: None}}})
    lost.down()
    assert [row["id"] for row in existing(lost, "vpc")] == [theirs["id"]]
