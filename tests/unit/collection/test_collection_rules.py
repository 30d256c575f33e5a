"""Nothing is collected without all of its proofs, and what is not about the cluster is not spoken of."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freehold.collection.found import Look, Thing, Workloads
from freehold.collection.policy import Volumes
from freehold.collection.rules import CollectionRule, Delete, Keep, judge, judge_all
from freehold.collection.things import DEFAULT_TASKS, CollectionTask
from freehold.engine.clock import ManualClock
from freehold.engine.keyed_codec import UUID
from freehold.engine.port import InlinePort
from freehold.providers.aws.calls import AwsClient
from freehold.providers.aws.collectors.load_balancers import OF_WORKLOADS
from freehold.providers.aws.collectors.survey import AwsSurvey
from freehold.providers.aws.identities import StaticKeys
from freehold.providers.aws.session import AwsSession
from freehold.providers.aws.tags.tagger import AwsTagger
from harness.rows import over_rows

CLUSTER = Workloads("prod", "vpc-1", "0a1b2c3d-1111-4222-8333-444455556666")
OWNED = {"kubernetes.io/cluster/prod": "owned"}
CLIENT = AwsClient(AwsSession(StaticKeys("key", "secret"), "us-east-1"), InlinePort())


def rules() -> Mapping[CollectionTask, CollectionRule]:
    """Those of AWS, as the collection gets them."""
    return AwsSurvey(CLIENT, AwsTagger(CLIENT, ManualClock()), asyncio.Semaphore(1)).rules


def thing(task: CollectionTask, tags: Mapping[str, str], **more: Any) -> Thing:
    return Thing(task, str(task), "x-1", **{"name": "x", "network": "vpc-1", "tags": tags, **more})


SERVICE = {**OWNED, "kubernetes.io/service-name": "team/web"}
CONTROLLER = {"elbv2.k8s.aws/cluster": "prod", "service.k8s.aws/stack": "team/web"}
INGRESS = {"elbv2.k8s.aws/cluster": "prod", "ingress.k8s.aws/stack": "team/web"}
CNI = {"cluster.k8s.amazonaws.com/name": "prod", "eks:eni:owner": "amazon-vpc-cni"}
CSI = {**OWNED, "ebs.csi.aws.com/cluster": "true", "CSIVolumeName": "pvc-1"}
PROVEN = {
    "load balancer of a Service": thing(CollectionTask.LOAD_BALANCER, SERVICE),
    "load balancer of the controller": thing(CollectionTask.LOAD_BALANCER, CONTROLLER),
    "load balancer of an Ingress": thing(CollectionTask.LOAD_BALANCER, INGRESS),
    "target group": thing(CollectionTask.TARGET_GROUP, SERVICE),
    "group of a Service": thing(
        CollectionTask.SECURITY_GROUP,
        OWNED,
        name="k8s-elb-a1",
        description="Security group for Kubernetes ELB a1 (team/web)",
    ),
    "group of the controller": thing(
        CollectionTask.SECURITY_GROUP, {"elbv2.k8s.aws/cluster": "prod"}, name="k8s-traffic-prod"
    ),
    "interface of the CNI": thing(CollectionTask.NETWORK_INTERFACE, CNI, state="available"),
    "volume": thing(CollectionTask.VOLUME, CSI, state="available", network=""),
}
"""Each with exactly what proves it."""


def verdict(found: Thing) -> Any:
    return judge(found, CLUSTER, rules()[found.task])


@pytest.mark.parametrize("what", PROVEN)
def test_what_has_all_of_its_proofs_is_deleted(what: str) -> None:
    assert isinstance(verdict(PROVEN[what]), Delete)


@pytest.mark.parametrize(
    ("what", "key"), [(what, key) for what, found in PROVEN.items() for key in found.tags], ids=lambda each: each
)
def test_without_one_of_its_tags_it_stays(what: str, key: str) -> None:
    found = PROVEN[what]
    without = {name: value for name, value in found.tags.items() if name != key}
    assert not isinstance(verdict(replace(found, tags=without)), Delete)
    assert not isinstance(verdict(replace(found, tags={**found.tags, key: ""})), Delete)


OTHERWISE = ("shared", "other", "false")
"""What others write under the keys whose values count."""


@pytest.mark.parametrize(
    ("what", "key"),
    [
        (what, key)
        for what, found in PROVEN.items()
        for key, value in found.tags.items()
        if value in ("owned", "prod", "true", "amazon-vpc-cni")
    ],
)
def test_with_another_value_it_stays(what: str, key: str) -> None:
    for value in OTHERWISE:
        changed = replace(PROVEN[what], tags={**PROVEN[what].tags, key: value})
        assert not isinstance(verdict(changed), Delete)


@over_rows("what", [what for what, found in PROVEN.items() if found.network])
@over_rows("network", ["vpc-2", ""])
def test_what_is_in_another_network_or_in_none_stays(what: str, network: str) -> None:
    assert isinstance(verdict(replace(PROVEN[what], network=network)), Keep)


def test_without_a_network_of_our_own_nothing_is_deleted() -> None:
    nowhere = replace(CLUSTER, network="")
    found = replace(PROVEN["target group"], network="")
    assert isinstance(judge(found, nowhere, OF_WORKLOADS), Keep)


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("group of a Service", {"name": "team-web"}),
        ("group of a Service", {"description": "clients of the web shop"}),
        ("group of the controller", {"name": "team-web"}),
        ("interface of the CNI", {"state": "in-use"}),
        ("volume", {"state": "in-use"}),
    ],
)
def test_a_name_a_description_and_a_state_are_proofs_too(what: str, change: dict[str, Any]) -> None:
    found = verdict(replace(PROVEN[what], **change))
    assert isinstance(found, Keep)
    assert "lacks" in found.why


@over_rows("what", PROVEN)
@over_rows(
    ("tag", "why"),
    [
        ({UUID: "0a1b2c3d-9999-4222-8333-444455556666"}, "marks of another owner"),
        ({"kubernetes.io/cluster/other": "owned"}, "several clusters use it"),
        ({"aws:eks:cluster-name": "prod"}, "EKS made it"),
    ],
    ids=["another owner", "two clusters", "EKS"],
)
def test_what_somebody_else_claims_too_stays_whatever_else_it_has(what: str, tag: dict[str, str], why: str) -> None:
    found = verdict(replace(PROVEN[what], tags={**PROVEN[what].tags, **tag}))
    assert isinstance(found, Keep)
    assert why in found.why


@pytest.mark.parametrize("what", PROVEN)
def test_what_a_service_of_the_cloud_keeps_stays(what: str) -> None:
    assert isinstance(verdict(replace(PROVEN[what], by_service=True)), Keep)


@pytest.mark.parametrize("what", PROVEN)
def test_nothing_is_said_of_our_own_and_of_what_has_no_mark_of_the_cluster(what: str) -> None:
    found = PROVEN[what]
    assert verdict(replace(found, tags={**found.tags, UUID: CLUSTER.uuid.upper()})) is None
    assert verdict(replace(found, tags={"Name": "prod"})) is None


def everything(**look: Any) -> Look:
    return Look(things=tuple(PROVEN.values()), **look)


def test_things_go_in_the_order_of_the_tasks() -> None:
    said = judge_all(everything(), CLUSTER, rules(), tuple(CollectionTask), Volumes.DELETE)
    tasks = [each.thing.task for each in said]
    assert tasks == sorted(tasks, key=list(CollectionTask).index)
    assert all(isinstance(each, Delete) for each in said)


def test_what_is_of_a_task_that_is_not_asked_for_stays() -> None:
    said = judge_all(everything(), CLUSTER, rules(), (CollectionTask.TARGET_GROUP,), Volumes.DELETE)
    assert {each.thing.task for each in said if isinstance(each, Delete)} == {CollectionTask.TARGET_GROUP}
    assert all("is not among those" in each.why for each in said if isinstance(each, Keep))


@pytest.mark.parametrize(
    ("volumes", "elsewhere", "why"),
    [(Volumes.RETAIN, (), "volumes are retained"), (Volumes.DELETE, ("i-1",), "another cluster may have this name")],
)
def test_a_volume_stays_unless_it_was_asked_for_and_nothing_else_has_the_name(
    volumes: Volumes, elsewhere: tuple[str, ...], why: str
) -> None:
    said = judge_all(everything(elsewhere=elsewhere), CLUSTER, rules(), tuple(CollectionTask), volumes)
    assert why in next(each.why for each in said if isinstance(each, Keep))


def test_volumes_are_no_default_task() -> None:
    assert CollectionTask.VOLUME not in DEFAULT_TASKS


TEXTS = st.sampled_from(["", "owned", "shared", "prod", "other", "true", "amazon-vpc-cni", "team/web"])
KEYS = sorted({key for found in PROVEN.values() for key in found.tags} | {"kubernetes.io/cluster/other", UUID})


@given(
    task=st.sampled_from(CollectionTask),
    tags=st.dictionaries(st.sampled_from(KEYS), TEXTS),
    name=st.sampled_from(["x", "k8s-elb-a1", "k8s-traffic-prod"]),
    description=st.sampled_from(["", "Security group for Kubernetes ELB a1"]),
    network=st.sampled_from(["", "vpc-1", "vpc-2"]),
    state=st.sampled_from(["", "available", "in-use"]),
    by_service=st.booleans(),
)
def test_no_thing_is_deleted_that_lacks_a_proof(task: CollectionTask, tags: dict[str, str], **more: Any) -> None:
    """The proofs as the page has them (docs/reference/gc.md), written a second time."""
    found = thing(task, tags, **more)
    if not isinstance(verdict(found), Delete):
        return
    assert UUID not in tags
    assert "kubernetes.io/cluster/other" not in tags
    assert not found.by_service
    assert found.network == "vpc-1" or task is CollectionTask.VOLUME
    owned, controlled = tags.get("kubernetes.io/cluster/prod") == "owned", tags.get("elbv2.k8s.aws/cluster") == "prod"
    stack = tags.get("service.k8s.aws/stack") or tags.get("ingress.k8s.aws/stack")
    of_service = found.name.startswith("k8s-elb-") and found.description.startswith("Security group for Kubernetes ELB")
    proven = {
        CollectionTask.LOAD_BALANCER: (owned and bool(tags.get("kubernetes.io/service-name")))
        or (controlled and bool(stack)),
        CollectionTask.TARGET_GROUP: (owned and bool(tags.get("kubernetes.io/service-name")))
        or (controlled and bool(stack)),
        CollectionTask.SECURITY_GROUP: (owned and of_service) or (controlled and found.name.startswith("k8s-")),
        CollectionTask.NETWORK_INTERFACE: CNI.items() <= tags.items() and found.state == "available",
        CollectionTask.VOLUME: {**OWNED, "ebs.csi.aws.com/cluster": "true"}.items() <= tags.items()
        and bool(tags.get("CSIVolumeName"))
        and found.state == "available",
    }
    assert proven[task]
