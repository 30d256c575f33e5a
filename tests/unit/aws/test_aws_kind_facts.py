"""The table of kinds says what botocore's service models say."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import botocore.session
import pytest

from freehold.providers.aws.kind_facts import (
    KINDS,
    SESSION_OPERATIONS,
    TAG_OPERATIONS,
    KindFacts,
    Workflow,
    operations_of,
)
from freehold.providers.aws.kinds import (
    classic_load_balancer,
    eks_access_entry,
    iam_role,
    internet_gateway,
    route_table,
    s3_bucket,
    security_group,
    subnet,
    vpc,
    vpc_endpoint,
)
from freehold.providers.aws.registrations import REGISTRATION
from freehold_sim.aws.services import OPERATIONS as SERVED
from harness.findings import FINDING
from harness.rows import over_rows

NAMES = [kind.name for kind in KINDS]
EKS_MEMBERS = ("resourcesVpcConfig", "accessConfig", "kubernetesNetworkConfig")
TOKENS = {"ClientToken", "clientToken", "ClientRequestToken", "clientRequestToken", "CallerReference", "CreationToken"}


@cache
def _model(service: str) -> Any:
    return botocore.session.get_session().get_service_model(service)


def _members(kind: KindFacts) -> dict[str, Any]:
    """The members of the create request, those of its nested configurations included."""
    shape = _model(kind.service).operation_model(kind.create).input_shape
    members = dict(shape.members)
    for name in ("CreateBucketConfiguration", "NetworkInterfaces", *EKS_MEMBERS):
        if name in members:
            inner = getattr(members[name], "member", members[name])
            members |= {f"{name}.{each}": shape for each, shape in inner.members.items()}
    return members


_kinds = over_rows("kind", KINDS, ids=NAMES)


@_kinds
def test_tags_on_create_are_where_the_model_has_them(kind: KindFacts) -> None:
    tags = {name for name in _members(kind) if name.rpartition(".")[2] in {"TagSpecifications", "Tags", "tags"}}
    assert tags == ({kind.tags_in} if kind.tags_in else set())


@_kinds
def test_the_type_in_tag_specifications_is_one_that_ec2_knows(kind: KindFacts) -> None:
    if kind.tags_in != "TagSpecifications":
        assert kind.tag_type == ""
        return
    specification = _members(kind)["TagSpecifications"].member
    assert kind.tag_type in specification.members["ResourceType"].enum


@_kinds
def test_the_client_token_is_where_the_model_has_it(kind: KindFacts) -> None:
    members = _members(kind)
    tokens = {name for name, member in members.items() if name in TOKENS or member.metadata.get("idempotencyToken")}
    assert tokens == ({kind.token_in} if kind.token_in else set())


@_kinds
def test_a_client_token_takes_thirty_two_letters(kind: KindFacts) -> None:
    """What the key ring makes (engine.keys); EC2 takes 64 characters."""
    if kind.token_in:
        assert _members(kind)[kind.token_in].metadata.get("max", 64) >= 32


@_kinds
def test_attributes_and_operations_exist(kind: KindFacts) -> None:
    known = set(_model(kind.service).operation_names)
    assert kind.read_operations | kind.write_operations <= known
    assert all(name in _model(service).operation_names for service, name in kind.part_reads | kind.part_writes)
    assert set(kind.by_person.values()) <= known
    assert len({*kind.mutable, *kind.by_person, *kind.immutable}) == (
        len(kind.mutable) + len(kind.by_person) + len(kind.immutable)
    )


@_kinds
def test_what_is_not_changed_in_place_is_a_field_of_the_create(kind: KindFacts) -> None:
    fields = {name.rpartition(".")[2] for name in _members(kind)}
    assert {*kind.by_person, *kind.immutable} <= fields


@_kinds
def test_what_an_operation_changes_is_not_called_immutable(kind: KindFacts) -> None:
    """What a call must have says which resource it is about. A call that adds a part changes no attribute."""
    add = {part.add for part in kind.parts}
    for operation in {*kind.mutable.values(), *kind.by_person.values()} - add:
        shape = _model(kind.service).operation_model(operation).input_shape
        assert not set(shape.members) - set(shape.required_members) & set(kind.immutable), operation


@pytest.mark.parametrize("service", sorted({*SERVED} | {*TAG_OPERATIONS} | {*SESSION_OPERATIONS}))
def test_the_simulator_serves_every_operation_that_is_used(service: str) -> None:
    """What it does not serve is not proved by any test."""
    assert operations_of(service) - set(SERVED[service]) == set()


def test_which_kinds_each_workflow_has(record_property: Callable[[str, object], None]) -> None:
    """AWS has tags in the create call for all of them: the other four are proved in the in-memory world only."""
    kinds = {workflow: [kind.name for kind in KINDS if kind.workflow is workflow] for workflow in Workflow}
    unique = [kind.name for kind in KINDS if not kind.token_in and not kind.natural_key]
    record_property(FINDING, "Kinds of AWS by create workflow:")
    for workflow, names in kinds.items():
        shown = ", ".join(names) or "none (proved in the in-memory world)"
        record_property(FINDING, f"  {workflow.value}: {shown}")
    tokens = ", ".join(kind.name for kind in KINDS if kind.token_in)
    record_property(FINDING, f"  of these with a client token: {tokens}")
    record_property(FINDING, f"  with neither client token nor natural key: {', '.join(unique)}")
    assert kinds == {workflow: NAMES if workflow is Workflow.TAGS_ON_CREATE else [] for workflow in Workflow}
    assert unique == ["vpc", "internet-gateway", "elastic-ip"]


def test_parts_have_the_same_names_in_the_table_and_in_what_is_read() -> None:
    """Permissions come from the table, the engine's parts from the decoding."""
    read = {
        vpc.CIDR, subnet.IPV6_CIDR, internet_gateway.ATTACHMENT, route_table.ROUTE, route_table.ASSOCIATION,
        security_group.INGRESS, security_group.EGRESS, vpc_endpoint.ROUTE_TABLE, classic_load_balancer.LISTENER,
        classic_load_balancer.SUBNET, REGISTRATION, eks_access_entry.POLICY,
    }  # fmt: skip
    assert read | {
        s3_bucket.POLICY,
        s3_bucket.LIFECYCLE,
        s3_bucket.OBJECT,
        iam_role.POLICY,
        iam_role.CLUSTER_POLICY,
    } == {part.name for kind in KINDS for part in kind.parts}
