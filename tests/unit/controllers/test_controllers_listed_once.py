"""A plan lists the objects of a kind once, and only where two of one name can meet."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from freehold.controllers.plan.list_cache import ListCache
from freehold.controllers.plan.plan import Plan
from freehold.controllers.plan.planner import plan_with_accounts
from freehold.kube.errors import Forbidden, KubeError
from freehold.kube.object_client import ObjectList
from freehold.kube.resources import Json, Resource
from harness.aws_cluster import AwsHarness, aws_cluster
from harness.aws_network import AWS_CLUSTERS

ONE_ZONE = {"vpc": {"availabilityZoneUsageLimit": 1}}


def named(name: str, **spec: Any) -> Json:
    return {"metadata": {"namespace": "n", "name": name}, "spec": spec}


class Server:
    """Has these objects. ``refused``: what it answers instead. ``lists``: the namespaces of the lists so far."""

    def __init__(self, *objects: Json, refused: KubeError | None = None) -> None:
        self.objects, self._refused = objects, refused
        self.lists: list[str] = []

    async def list(self, resource: Resource, namespace: str = "") -> ObjectList:
        self.lists.append(namespace)
        if self._refused is not None:
            raise self._refused
        return ObjectList(list(self.objects), "1")


def test_it_is_listed_once_and_in_the_operators_namespace() -> None:
    server = Server(named("a"))
    stored = ListCache(server, AWS_CLUSTERS, "team")
    assert (stored.list_objects(), server.lists) == ((), [])
    for _ in range(2):
        asyncio.run(stored.read())
    assert (stored.list_objects(), server.lists) == ([named("a")], ["team"])


def test_an_object_of_the_manifest_counts_as_it_is_there() -> None:
    stored = ListCache(Server(named("a"), named("b")), AWS_CLUSTERS, beside=[named("a", region="other")])
    asyncio.run(stored.read())
    assert stored.list_objects() == [named("a", region="other"), named("b")]


def test_a_person_who_may_not_list_is_told_what_is_missing() -> None:
    server = Server(refused=Forbidden("awsclusters is forbidden", code=403))
    with pytest.raises(Forbidden) as said:
        asyncio.run(ListCache(server, AWS_CLUSTERS).read())
    assert said.value.message == (
        "whether another AWSCluster has the cluster's name cannot be told: awsclusters is forbidden; "
        "grant 'list' on awsclusters"
    )


def planned(harness: AwsHarness, server: Server, **metadata: str) -> Plan:
    raw = {**harness.object.raw, "metadata": {**harness.object.raw["metadata"], **metadata}}
    accounts, stored = harness.new_accounts(), ListCache(server, AWS_CLUSTERS)
    plan = plan_with_accounts(
        harness.served, accounts, harness.wall, raw, harness.rings.ring, harness.around, stored=stored
    )  # fmt: skip
    return asyncio.run(plan)


def test_nothing_is_listed_for_a_delete_nor_for_what_has_begun() -> None:
    """`down` and `prune` of a person who may read one namespace only would end there."""
    harness = AwsHarness(aws_cluster(network=ONE_ZONE))
    server = Server(refused=Forbidden("no", code=403))
    with pytest.raises(Forbidden):
        planned(harness, server)
    harness.up()
    server.lists.clear()
    assert planned(harness, server).problems == ()
    assert planned(harness, server, deletionTimestamp="2026-11-21T00:00:00Z").gone
    assert server.lists == []
