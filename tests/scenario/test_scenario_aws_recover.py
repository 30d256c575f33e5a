"""An AWSCluster that was lost is rebuilt from its tags: nothing is made twice, nothing stays behind."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

from freehold.api import names
from freehold.controllers.recovery.lost_objects import NoOwner, Recovery, build_recovery, rebuild_object, rebuild_spec
from freehold.controllers.recovery.orphans import MarkedOwner, find_orphans, find_unmarked
from freehold.engine.keyed_codec import BIRTH, NODE, OWNER, SEAL, UUID
from freehold.engine.keys import KeyRing
from freehold.kube.merge_patch import build_merge_patch
from freehold.providers.access.accounts import AccountPlace, Binding, OneAccount
from freehold.providers.aws.cluster.kind import AWS_CLUSTER
from freehold.providers.aws.kind_facts import FACTS
from freehold.providers.aws.registry import OF_CONTROL_PLANES
from freehold_sim.aws.settings import Settings
from freehold_sim.faults import Effect, Fault
from harness.aws_account import REGION
from harness.aws_cluster import STORAGE, aws_cluster
from harness.powervs import UID, StoredObject
from harness.standing import standing
from harness.stepping import run_blocking
from lab.aws import ONE_ZONE, QUICK, ROOMY, QuickHarness
from lab.aws_at_rest import AtRest
from lab.aws_neighbours import existing

SETTINGS = Settings(delays=QUICK, quotas=ROOMY, limits={})
ANOTHER = KeyRing.single(b"another operator's key, 32 bytes.")
NAME = "default/demo"


def _harness(settings: Settings = SETTINGS, **spec: Any) -> QuickHarness:
    return QuickHarness(aws_cluster(**{**ONE_ZONE, **spec}), settings, gates=STORAGE)


def _ours(harness: QuickHarness) -> list[dict[str, Any]]:
    return [dict(record) for record in existing(harness) if record["by"] == "api"]


def _created(harness: QuickHarness) -> Counter[str]:
    """How often each sort of resource was created."""
    begin = ("ec2.Create", "ec2.Allocate", "ec2.Run", "elb.Create", "elbv2.Create", "s3.Create")
    made = [call.operation for call in harness.calls(mutating=True) if call.operation.startswith(begin)]
    return Counter(operation for operation in made if not operation.endswith(("CreateTags", "CreateRoute")))


def _listed(harness: QuickHarness, ring: KeyRing | None = None) -> list[MarkedOwner]:
    return list(run_blocking(find_orphans(harness.account.build_read_only_deps(ring or harness.rings.ring), ())))


def _recovery(harness: QuickHarness, ring: KeyRing | None = None) -> Recovery | None:
    """What the plan of a recovery shows; None where nothing carries a mark."""
    found, deps = _listed(harness, ring), harness.account.build_read_only_deps(ring or harness.rings.ring)
    return build_recovery(found[0], AWS_CLUSTER, deps) if found else None


def _recover(harness: QuickHarness, *, ring: KeyRing | None = None, seal_anew: bool = False) -> bool:
    """Store, journal and status are lost, and the object is rebuilt, paused. False where nothing can be."""
    harness.start_process()
    harness.rings.ring = ring or harness.rings.ring
    recovery = _recovery(harness)
    if recovery is None:
        return False
    accounts = harness.new_accounts()
    assert isinstance(accounts, OneAccount) and isinstance(accounts.only, Binding)
    spec = rebuild_spec(recovery, AccountPlace(accounts.only, {"region": REGION}))
    deps, account = (
        harness.account.build_read_only_deps(harness.rings.ring),
        run_blocking(harness.account.read_account()),
    )
    obj = rebuild_object(recovery, AWS_CLUSTER, account, deps, spec, seal_anew=seal_anew)
    harness.object = StoredObject(obj, harness.clock.now)
    harness.object.raw["metadata"]["uid"] = "5c1d7f0a-0000-4000-8000-000000000001"
    harness.start_process()
    return True


def _apply(harness: QuickHarness, manifest: dict[str, Any]) -> None:
    """As ``freehold up -f``: what the last apply set and the manifest leaves out is removed."""
    spec = build_merge_patch(harness.object.raw["spec"], manifest["spec"], last=harness.object.raw["spec"])
    harness.object.patch({"metadata": {"annotations": {names.PAUSED_ANNOTATION: None}}, "spec": spec})


def _nodes(harness: QuickHarness) -> Counter[str]:
    """The nodes of what exists, by their marks: each must be there once."""
    return Counter(record["tags"].get(NODE, "") for record in _ours(harness) if NODE in record["tags"])


def _states(harness: QuickHarness) -> dict[str, frozenset[str]]:
    """Each node with its settings, parts and tags, as they are in the world."""
    ours = {record["tags"][NODE]: record for record in _ours(harness) if NODE in record["tags"]}
    rules = [record for record in harness.cloud.world.everything() if record["kind"] == "security-group-rule"]
    there = AtRest(ours, rules)
    return {node: there.facts(node) for node in ours}


NETWORK = {"controlPlaneLoadBalancer": {"loadBalancerType": "nlb", "scheme": "internal"}}
EVERYTHING: dict[str, Any] = {
    "network": {
        "vpc": {
            "availabilityZoneUsageLimit": 1, "ipv6": {}, "secondaryCidrBlocks": [{"ipv4CidrBlock": "10.1.0.0/16"}],
        }
    },
    "controlPlaneLoadBalancer": {"loadBalancerType": "nlb", "additionalListeners": [{"port": 22623}]},
    "secondaryControlPlaneLoadBalancer": {"name": "inner", "loadBalancerType": "nlb", "scheme": "internal"},
    "bastion": {"enabled": True},
    "sshKeyName": "",
    "s3Bucket": {"name": "boot-demo", "presignedURLDuration": "24h"},
    "additionalTags": {"team": "red"},
}  # fmt: skip
SPECS: dict[str, dict[str, Any]] = {"classic": {}, "network": NETWORK, "everything": EVERYTHING}
SMALL = ("classic", "network")


def _moments(every: list[int], **quick: list[int]) -> Any:
    """After how many passes the object is lost: of each kind of cluster those of ``quick`` in ``make test``, and each
    of ``every`` of the small ones in ``make edits``."""
    moments = [(kind, passes) for kind in SPECS for passes in sorted({*quick[kind], *(every * (kind in SMALL))})]
    return pytest.mark.parametrize(
        ("kind", "passes"),
        [
            pytest.param(kind, passes, marks=[] if passes in quick[kind] else pytest.mark.slow)
            for kind, passes in moments
        ],
    )


@dataclass(frozen=True)
class Undisturbed:
    """What a cluster comes to when nothing is lost."""

    created: Counter[str]
    nodes: Counter[str]
    states: Mapping[str, frozenset[str]]


@cache
def _undisturbed(kind: str) -> Undisturbed:
    harness = _harness(**SPECS[kind])
    harness.up()
    harness.settle()
    return Undisturbed(_created(harness), _nodes(harness), _states(harness))


def _assert_as_undisturbed(harness: QuickHarness, kind: str) -> None:
    """Nothing was created twice, and each resource has the settings, parts and tags that it would have; then
    everything can be deleted."""
    expected = _undisturbed(kind)
    assert _created(harness) == expected.created
    assert _nodes(harness) == expected.nodes
    assert _states(harness) == expected.states
    harness.down()
    assert _ours(harness) == []


def test_the_cluster_with_everything_has_every_kind_that_one_cluster_can_have() -> None:
    kinds = {node.partition("/")[0] for node in _undisturbed("everything").nodes}
    others = OF_CONTROL_PLANES | {"classic-load-balancer", "bootstrap-secret"}
    assert kinds == FACTS.keys() - others, "secrets are of machines"


@_moments([*range(1, 12), 16, 24, 40], classic=[2], network=[3, 11], everything=[5, 11])
def test_with_status_journal_and_store_lost_all_of_it_is_rebuilt_from_the_tags(passes: int, kind: str) -> None:
    """At any moment of a creation: no create is sent twice, and in the end everything can be deleted."""
    harness = _harness(**SPECS[kind])
    manifest = copy.deepcopy(harness.object.history[0])
    harness.settle(passes)
    harness.clock.advance(60.0)
    assert _recover(harness), "a create itself sets the marks"
    written = len(harness.calls(mutating=True))
    harness.for_a_while(1200.0)
    assert len(harness.calls(mutating=True)) == written, "nothing is written to the cloud while it is paused"
    _apply(harness, manifest)
    harness.up()
    _assert_as_undisturbed(harness, kind)


@pytest.mark.parametrize(
    "later",
    [
        pytest.param(0.0, id="at once"),
        pytest.param(60.0, id="a minute later", marks=pytest.mark.slow),  # the index shows all, as in the test above
    ],
)
@_moments([*range(1, 9), 16, 40], classic=[3], network=[2, 7], everything=[4])
def test_an_object_that_is_restored_from_before_its_first_pass_finds_what_it_has(
    passes: int, kind: str, later: float
) -> None:
    """With its UID, as a restore of etcd or ``kubectl replace`` leaves it: that the process writes its identity does
    not make it new. The tag index, which is behind, is not all that is asked."""
    harness = _harness(**SPECS[kind])
    harness.settle(passes)
    harness.clock.advance(later)
    harness.object = StoredObject(harness.object.history[0], harness.clock.now)
    harness.start_process()
    harness.up()
    harness.settle()
    _assert_as_undisturbed(harness, kind)


TOGETHER = (
    ("ec2.CreateVpc", "ec2.AllocateAddress", "s3.CreateBucket"),
    (
        "ec2.CreateSubnet", "ec2.CreateInternetGateway", "ec2.CreateEgressOnlyInternetGateway",
        "ec2.CreateSecurityGroup", "elbv2.CreateTargetGroup",
    ),
    ("ec2.CreateNatGateway", "ec2.CreateRouteTable", "ec2.RunInstances", "elbv2.CreateLoadBalancer"),
    ("ec2.CreateVpcEndpoint",),
    ("elbv2.CreateListener",),
)  # fmt: skip
"""The creates of a cluster with everything, those of one pass together."""


@pytest.mark.parametrize("operations", TOGETHER, ids=lambda operations: operations[0])
def test_what_was_created_by_calls_whose_replies_were_lost_with_the_store_is_found(operations: tuple[str, ...]) -> None:
    """Their ids were on no record, and they have no seal: only the birth mark tells that they are the object's own."""
    harness = _harness(**EVERYTHING)
    manifest = copy.deepcopy(harness.object.history[0])
    for operation in operations:
        harness.cloud.faults.add(Fault(Effect.REPLY_LOST, operation))
    harness.run(lambda: any(rule["hits"] for rule in harness.cloud.faults.rules()))
    assert all(rule["hits"] for rule in harness.cloud.faults.rules()), "one pass sends them all"
    harness.clock.advance(60.0)
    assert _recover(harness)
    _apply(harness, manifest)
    harness.up()
    _assert_as_undisturbed(harness, "everything")


@pytest.fixture(name="lost")
def _lost() -> QuickHarness:
    harness = standing(QuickHarness, aws_cluster(**{**ONE_ZONE, **NETWORK}), SETTINGS, STORAGE, settled=3)
    harness.clock.advance(60.0)
    return harness


def test_all_that_a_lost_object_made_is_listed_under_its_name(lost: QuickHarness) -> None:
    before = len(lost.calls(mutating=True))
    (owner,) = _listed(lost)
    assert (owner.uuid, owner.names) == (UID, (NAME,))
    assert Counter(str(one.key) for one in owner.resources) == _nodes(lost)
    assert run_blocking(find_orphans(lost.account.build_read_only_deps(ANOTHER), (UID,))) == (), (
        "what has an object here is no orphan"
    )
    assert run_blocking(find_unmarked(lost.account.build_read_only_deps(ANOTHER), ())).resources == ()
    assert len(lost.calls(mutating=True)) == before


def test_what_has_lost_its_marks_meanwhile_is_not_listed_although_the_index_shows_it(lost: QuickHarness) -> None:
    """With a lost key everything that is listed goes on record: a mark that was on a stranger's must not count."""
    row = next(record for record in _ours(lost) if record["kind"] == "security-group")
    balancer = next(record for record in _ours(lost) if "target" in record["kind"])
    for record in (row, balancer):
        lost.cloud.strangers.untag(record["id"], OWNER, UUID, NODE, BIRTH, SEAL)
    (owner,) = _listed(lost)
    shown = {one.target for one in owner.resources}
    assert len(owner.resources) == sum(_nodes(lost).values())
    assert row["arn"] not in shown and balancer["arn"] not in shown


def test_what_cannot_be_read_is_listed_with_the_reason(lost: QuickHarness) -> None:
    """It may exist: to leave it out would say that nothing is there."""
    lost.cloud.faults.add(Fault(Effect.DENIED, "elasticloadbalancing.DescribeTags", count=9))
    lost.cloud.faults.add(Fault(Effect.DENIED, "elbv2.DescribeTags", count=9))
    lost.cloud.faults.add(Fault(Effect.DENIED, "ec2.DescribeVpcs", count=9))
    recovery = _recovery(lost)
    assert recovery is not None
    unread = {one.marked.key.kind for one in recovery.unread}
    assert unread == {"vpc", "network-load-balancer", "target-group", "listener"}
    assert all("elasticloadbalancing" in one.source or "ec2:" in one.source for one in recovery.unread)


def test_the_recovered_object_has_what_its_manifest_could_not_be_applied_over_without(lost: QuickHarness) -> None:
    """The API server lets neither the region nor the scheme of a load balancer change, not even from nothing."""
    assert _recover(lost)
    assert lost.object.raw["metadata"]["annotations"][names.PAUSED_ANNOTATION] == names.RECOVERED
    balancer = {"scheme": "internal", "loadBalancerType": "nlb"}
    assert lost.object.raw["spec"] == {"region": REGION, "controlPlaneLoadBalancer": balancer}


def test_a_recovered_object_can_be_deleted_without_its_manifest(lost: QuickHarness) -> None:
    assert _recover(lost)
    lost.object.patch({"metadata": {"annotations": {names.PAUSED_ANNOTATION: None}}})
    lost.down()
    assert _ours(lost) == []


def test_with_the_key_lost_a_person_decides_and_nothing_is_made_twice(lost: QuickHarness) -> None:
    recovery = _recovery(lost, ANOTHER)
    assert recovery is not None and len(recovery.unproven) == len(recovery.resources)
    before, manifest = {record["id"] for record in _ours(lost)}, copy.deepcopy(lost.object.history[0])
    assert _recover(lost, ring=ANOTHER, seal_anew=True)
    _apply(lost, manifest)
    lost.up()
    lost.settle(6)
    assert {record["id"] for record in _ours(lost)} == before
    lost.down()
    assert _ours(lost) == []


@pytest.mark.parametrize("decided", [True, False], ids=["a person decided", "nobody decided"])
def test_what_a_person_says_is_ours_is_deleted_with_the_object(lost: QuickHarness, decided: bool) -> None:
    """Without that, marks that the key ring did not make may be copies, and what they are on stays."""
    assert _recover(lost, ring=ANOTHER, seal_anew=decided)
    lost.object.patch({"metadata": {"annotations": {names.PAUSED_ANNOTATION: None}}})
    lost.down()
    assert (not _ours(lost)) is decided


def test_a_creation_that_was_cut_off_before_any_seal_asks_for_no_lost_key() -> None:
    """The birth marks are of this key ring: a person must not be made to say that its key is lost."""
    harness = _harness()
    harness.cloud.faults.add(Fault(Effect.ERROR_BEFORE, "*TagResources", count=None))
    harness.cloud.faults.add(Fault(Effect.ERROR_BEFORE, "*.CreateTags", count=None))
    harness.for_a_while(60.0)
    recovery = _recovery(harness)
    assert recovery is not None
    assert recovery.born and not recovery.proven and not recovery.unproven
    assert all(recovery.is_recovered(one, key_lost=False) for one in recovery.resources)


def _forged(harness: QuickHarness, like: str) -> dict[str, Any]:
    """A stranger's VPC with the tags of ours, copied by somebody who may only tag."""
    ours = next(record for record in _ours(harness) if record["kind"] == like)
    victim = dict(harness.cloud.strangers.create("ec2", "CreateVpc", {"CidrBlock": "10.9.0.0/16"}))
    harness.cloud.strangers.tag(victim["id"], dict(ours["tags"]))
    harness.clock.advance(60.0)
    return victim


def test_copied_marks_are_left_out_while_the_key_is_there(lost: QuickHarness) -> None:
    """Otherwise whoever may tag has a stranger's VPC deleted with the cluster."""
    victim = _forged(lost, "vpc")
    manifest = copy.deepcopy(lost.object.history[0])
    recovery = _recovery(lost)
    assert recovery is not None and not recovery.unproven
    assert victim["id"] not in {one.marked.id for one in recovery.proven}
    assert _recover(lost)
    _apply(lost, manifest)
    lost.up()
    lost.down()
    assert victim["id"] in {record["id"] for record in existing(lost)}


def test_two_resources_with_one_mark_are_both_named_when_the_key_is_lost(lost: QuickHarness) -> None:
    victim = _forged(lost, "vpc")
    recovery = _recovery(lost, ANOTHER)
    assert recovery is not None
    assert victim["id"] in {one.marked.id for one in recovery.claimed_twice} and len(recovery.claimed_twice) == 2


@pytest.mark.parametrize("name", ["kube-system/Bad_Name--.x", "a/" + "b" * 255, "noslash", "a/b;reboot"])
def test_a_name_that_no_object_can_have_is_refused(lost: QuickHarness, name: str) -> None:
    with pytest.raises(NoOwner):
        build_recovery(MarkedOwner(UID, (name,), ()), AWS_CLUSTER, lost.account.build_read_only_deps(ANOTHER))
