"""What a machine reads of its AWSCluster: ids that the operator signed, else those of the spec."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from freehold.api import names
from freehold.engine import journal as journals
from freehold.engine.journal import Entry, Journal, RecordState
from freehold.engine.keys import KeyRing
from freehold.engine.resources import NodeKey
from freehold.providers.aws.machine.cluster_view import ClusterView, UnreadableView, read_cluster
from freehold.providers.objects.vouching import vouch_with
from harness.aws_machine import ARN, GROUPS, OTHER_PRIVATE, OWNER, PODS, PRIVATE, PUBLIC, VPC, stored_cluster, view_of

RING = KeyRing.single(b"the key of the stage" * 2)
GIVEN = "subnet-0123456789abcdef0"


def with_journal(cluster: dict[str, Any], entries: dict[NodeKey, Entry]) -> dict[str, Any]:
    cluster["metadata"]["annotations"] = {names.JOURNAL_ANNOTATION: journals.dumps(Journal(OWNER, entries))}
    return cluster


def test_network_groups_and_target_groups_are_those_on_record() -> None:
    found = view_of(stored_cluster(sshKeyName="k", additionalTags={"a": "b"}, imageLookupOrg="1"))
    assert found.vpc == VPC and found.groups == GROUPS and found.registrations == (ARN,)
    assert found.subnets == (PRIVATE, OTHER_PRIVATE, PUBLIC, PODS)
    assert (found.cluster, found.region, found.key_name, found.tags) == ("demo", "us-east-1", "k", {"a": "b"})
    assert found.images.org == "1" and not found.deleting


def test_subnets_are_taken_in_the_order_of_the_spec() -> None:
    listed = [{"id": "public-us-east-1a"}, {"id": "private-us-east-1b"}]
    found = view_of(stored_cluster(network={"subnets": listed}))
    assert found.subnets == (PUBLIC, OTHER_PRIVATE, PRIVATE, PODS)


def test_a_given_resource_counts_as_long_as_the_spec_names_it() -> None:
    entries = {NodeKey("subnet", GIVEN): Entry(RecordState.GIVEN, GIVEN)}
    assert GIVEN in view_of(stored_cluster(entries=entries, network={"subnets": [{"id": GIVEN}]})).subnets
    assert GIVEN not in view_of(stored_cluster(entries=entries)).subnets


def test_what_is_on_its_way_out_does_not_count() -> None:
    entries = {
        NodeKey("target-group", "primary:6443"): Entry(RecordState.OWNED, ARN, deleting=1.0),
        NodeKey("subnet", f"private-us-east-1a~{PODS}"): Entry(RecordState.OWNED, GIVEN),
        NodeKey("vpc", "main"): Entry(RecordState.INTENDED),
    }
    found = view_of(stored_cluster(entries=entries))
    assert (found.registrations, found.vpc, GIVEN in found.subnets) == ((), "", False)


def test_an_id_that_the_operator_did_not_write_does_not_count() -> None:
    """Whoever may edit the AWSCluster must not put machines behind a stranger's load balancer."""
    keys = RING.derive_keys(OWNER)
    key = NodeKey("target-group", "primary:6443")
    signed = Entry(RecordState.OWNED, ARN, key=keys.writing, signature=keys.signature(keys.writing, key.kind, ARN))
    for entry, expected in ((signed, (ARN,)), (replace(signed, id=f"{ARN}0"), ()), (Entry(RecordState.OWNED, ARN), ())):
        found = read_cluster(with_journal(stored_cluster(), {key: entry}), vouch_with(RING))
        assert isinstance(found, ClusterView) and found.registrations == expected
        assert found.forged == (() if expected else (str(key),))


def test_a_cluster_that_others_manage_says_it_in_spec_and_status() -> None:
    network = {"vpc": {"id": VPC}, "subnets": [{"id": "a", "resourceID": PRIVATE}, {"id": PUBLIC}, {"id": "not-made"}]}
    cluster = stored_cluster(network=network)
    cluster["metadata"]["annotations"] = {names.MANAGED_BY_ANNOTATION: "terraform"}
    cluster["status"] = {"networkStatus": {"securityGroups": {"node": {"id": "sg-1", "name": "n"}}}}
    found = view_of(cluster)
    assert (found.vpc, found.subnets, found.groups) == (VPC, (PRIVATE, PUBLIC), {"node": "sg-1"})
    assert (found.cluster, found.registrations) == ("demo", ())


def test_a_cluster_of_ours_without_its_record_says_nothing() -> None:
    cluster = stored_cluster()
    cluster["metadata"]["annotations"] = {}
    assert isinstance(read_cluster(cluster, vouch_with(None)), UnreadableView)


def test_a_record_that_cannot_be_read_is_no_record() -> None:
    cluster = stored_cluster()
    cluster["metadata"]["annotations"] = {names.JOURNAL_ANNOTATION: "{"}
    assert isinstance(read_cluster(cluster, vouch_with(None)), UnreadableView)


def test_a_cluster_that_is_being_deleted_says_so() -> None:
    cluster = stored_cluster()
    cluster["metadata"]["deletionTimestamp"] = "2026-11-21T00:00:00Z"
    assert view_of(cluster).deleting
