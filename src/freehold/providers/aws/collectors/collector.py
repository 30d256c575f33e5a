"""The protocol of a collector, and the look at the cloud that all collectors share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from freehold.collection.found import Step, Thing, Workloads
from freehold.collection.policy import Volumes
from freehold.collection.rules import CollectionRule
from freehold.collection.things import CollectionTask
from freehold.providers.aws.arn import Arn
from freehold.providers.aws.calls import AwsClient, Json
from freehold.providers.aws.decoded import AwsLocation
from freehold.providers.aws.tags.native_tags import TagsByArn

MADE_BY: Mapping[str, str] = {"aws:eks:cluster-name": "EKS"}
"""EKS puts it on what it makes itself, and takes away with its cluster
(https://docs.aws.amazon.com/eks/latest/userguide/sec-group-reqs.html)."""


@dataclass(frozen=True)
class Scene:
    """One look. ``indexed`` is what the tag index shows of the cluster; the rows are all that is in its network."""

    workloads: Workloads
    place: AwsLocation
    indexed: TagsByArn
    interfaces: Sequence[Json]
    groups: Sequence[Json]

    def arns(self, service: str, resource_type: str) -> list[str]:
        """Return the indexed ARNs of one type."""
        found = ((text, Arn.parse(text)) for text in self.indexed)
        return [text for text, arn in found if arn and (arn.service, arn.type) == (service, resource_type)]

    @property
    def traces(self) -> Mapping[str, tuple[str, ...]]:
        return collect_traces(self.interfaces)


def collect_traces(interfaces: Sequence[Json]) -> Mapping[str, tuple[str, ...]]:
    """Return load balancers' interfaces by their descriptions: ``ELB name``, ``ELB net/name/hash``.

    https://repost.aws/knowledge-center/elb-find-load-balancer-IP. Users can give interfaces of their own such a
    description.
    """
    found: dict[str, tuple[str, ...]] = {}
    for row in interfaces:
        about = str(row.get("Description", ""))
        if about.startswith("ELB ") and row.get("RequesterManaged"):
            found[about] = (*found.get(about, ()), str(row["NetworkInterfaceId"]))
    return found


class Collector(Protocol):
    """One kind of leftovers. Reads and steps raise CloudError."""

    task: CollectionTask
    rule: CollectionRule

    async def find(self, scene: Scene) -> Sequence[Thing]:
        """Return everything of this kind that may be the cluster's, as its own service shows it now."""
        ...

    async def find_remaining(self, things: Sequence[Thing]) -> Sequence[Thing]:
        """Return which of these still exist after AWS took their delete."""
        ...

    def plan_steps(self, things: Sequence[Thing], volumes: Volumes) -> Sequence[Sequence[Step]]:
        """Return the changes that remove them (collection.survey.Survey.steps)."""
        ...


NewCollector = Callable[[AwsClient], Collector]
