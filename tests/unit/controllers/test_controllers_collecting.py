"""The collections of objects: what each of them remembers, and who may share its cluster's name."""

from __future__ import annotations

from typing import Any

from freehold.api import names
from freehold.collection.policy import Collect, Volumes
from freehold.collection.things import DEFAULT_TASKS
from freehold.controllers.collecting import Collections
from freehold.engine.clock import ManualClock
from freehold.engine.collection import Site
from freehold.engine.ownership import Owner

NETWORK = "vpc-1"


class NoCloud:
    """An account in which nothing may be looked for."""

    def build_survey(self, subject: str, cluster: str) -> Any:
        return object()


def cluster(name: str, label: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "uid": name, "labels": {names.CLUSTER_NAME_LABEL: label}}
    return {"kind": "AWSCluster", "metadata": metadata, "spec": {"network": {"vpc": {"id": NETWORK}}}}


async def test_a_label_that_changes_in_mid_delete_hides_no_cluster_of_the_name_that_is_collected() -> None:
    """Of an object that was given everything: nothing of it has the name on record."""
    live, cloud = cluster("live", "prod"), NoCloud()

    async def ask() -> Collect:
        return Collect(DEFAULT_TASKS, Volumes.RETAIN, "default")

    async def prove() -> Site:
        return Site(Owner("another uuid", "AWSCluster", "team", "mine"), NETWORK)

    async def stored() -> list[Any]:
        return [live]

    collections = Collections(ManualClock(), stored)
    for label in ("prod", "mine"):
        collection = collections.open_collection(cluster("mine", label), label, cloud, ask)  # type: ignore[arg-type]  # nothing else of an account is asked for
        assert collection is not None
        found = await collection.sweep(prove, refused=False)
        assert "default/live has the name prod" in str(found.outcomes)
        assert "freehold gc disable --cluster-name prod -n team" in str(found.outcomes)
