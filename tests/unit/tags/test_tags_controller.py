"""What the watches of the metadata controller show, and which objects a change concerns."""

from __future__ import annotations

from typing import Any

import pytest

from freehold.api.names import WATCH_FILTER_LABEL
from freehold.controllers.watch_filter import WatchFilter
from freehold.kube.resources import Json, Key, Resource
from freehold.kube.watch import WatchState
from freehold.providers.ibm.provider import IBM
from freehold.providers.registry import SERVED_RESOURCES, Kinds
from freehold.tags.context import CLOUD_METADATAS, PROVIDERS, list_tag_resources
from freehold.tags.controller import GRANTS, Caches, referring


class Follower:
    def __init__(self, *objects: Json) -> None:
        self.state = WatchState.SYNCED
        self.objects = dict(enumerate(objects))


class Watches:
    """A controller, as far as its caches are asked for."""

    def __init__(self) -> None:
        self.followers: dict[Resource, Follower] = {}

    def find_reflector(self, resource: Resource) -> Follower:
        return self.followers[resource]


@pytest.mark.parametrize("state", WatchState)
def test_grants_are_known_only_while_their_watch_is(state: WatchState) -> None:
    """A watch that fails, or has not begun, must not read as: there is no grant, so everything is allowed."""
    watches: Any = Watches()
    grant = {"metadata": {"name": "team"}}
    watches.followers[GRANTS] = Follower(grant)
    watches.followers[GRANTS].state = state
    assert Caches(lambda: watches).grants() == ([grant] if state is WatchState.SYNCED else None)


@pytest.mark.parametrize("state", WatchState)
def test_who_refers_to_an_object_is_known_only_while_the_watch_is(state: WatchState) -> None:
    """Nobody refers to anything, as far as a watch shows that has not begun."""
    watches: Any = Watches()
    watches.followers[CLOUD_METADATAS] = Follower()
    watches.followers[CLOUD_METADATAS].state = state
    assert Caches(lambda: watches).knows_clouds() == (state is WatchState.SYNCED)


@pytest.mark.parametrize("failing", [None, *SERVED_RESOURCES], ids=str)
def test_clusters_are_known_only_while_the_watch_of_each_kind_works(failing: Resource | None) -> None:
    """Of all clouds: what the clusters of one ask for must not be changed because those of the other are known."""
    watches: Any = Watches()
    watches.followers = {each: Follower({"metadata": {"name": each.plural}}) for each in SERVED_RESOURCES}
    if failing:
        watches.followers[failing].state = WatchState.FAILING
    found = Caches(lambda: watches).clusters()
    names = ["ibmpowervsclusters", "awsclusters", "awsmachines", "awsmanagedcontrolplanes"]
    assert found == (None if failing else [{"metadata": {"name": name}} for name in names])


def test_the_providers_of_all_clouds_are_known_by_kind() -> None:
    watches: Any = Watches()
    metadata = {"name": "tags", "namespace": "team"}
    watches.followers = {resource: Follower({"metadata": metadata}) for resource in PROVIDERS.values()}
    found = [str(each.reference) for each in Caches(lambda: watches).providers()]
    assert found == ["AWSMetadata team/tags", "IBMMetadata team/tags"]


@pytest.mark.parametrize(
    ("provider", "concerned"),
    [
        ({"awsref": {"name": "tags"}}, True),
        ({"awsmetadataref": {"name": "tags", "namespace": "team"}}, True),
        ({"refs": [{"kind": "AWSMetadata", "name": "tags"}]}, True),
        ({"ibmref": {"name": "tags"}}, False),
        ({"awsref": {"name": "tags", "namespace": "other"}}, False),
        (None, False),
    ],
    ids=["awsref", "A2 the other spelling", "in the list", "of another cloud", "in another namespace", "none"],
)
def test_a_change_of_a_providers_object_wakes_who_refers_to_it(provider: Json | None, concerned: bool) -> None:
    spec = {"classifiers": {"env": "test"}, **({"cloudprovider": provider} if provider else {})}
    cloud = {"metadata": {"name": "fleet", "namespace": "team"}, "spec": spec}
    found = referring(lambda: [cloud], "AWSMetadata")({"metadata": {"name": "tags", "namespace": "team"}})
    assert found == ([Key("team", "fleet")] if concerned else [])


def test_what_the_filter_leaves_alone_asks_for_nothing_and_clusters_count_all_the_same() -> None:
    """Of a provider that is not served no watch is asked."""
    served = Kinds((IBM,))
    watches: Any = Watches()
    metadata = {"name": "a", "namespace": "team"}
    both = [{"metadata": metadata}, {"metadata": {**metadata, "labels": {WATCH_FILTER_LABEL: "blue"}}}]
    watches.followers = {each: Follower(*both) for each in (*list_tag_resources(served).values(), *served.resources)}
    caches = Caches(lambda: watches, served, WatchFilter("blue"))
    assert [each.kind for each in caches.providers() or ()] == ["IBMMetadata"]
    assert len(caches.clusters() or ()) == 2 * len(served.resources)
