"""CAPA's tags as tags of a node: by them CAPA, the cloud controller and its collector find the resource."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from freehold.engine.tag_text import text
from freehold.providers.aws.cluster.cluster_plan import ClusterPlan, PlannedSubnet
from freehold.providers.aws.cluster.names import AWSClusterNames
from freehold.providers.aws.tags import capa_tags
from freehold.providers.aws.tags.capa_tags import (
    NAME,
    ROLE,
    CapaTags,
    Reach,
    cloud_provider_key,
    cluster_key,
    given_subnet,
)


@dataclass(frozen=True)
class NodeTags:
    """The tags of the resources of one cluster. ``renamed``: the user gives a ``Name`` of their own, which wins.

    ``of_workloads`` is the name by which the cluster's own controllers find resources.
    """

    cluster: str
    of_workloads: str
    renamed: bool

    @staticmethod
    def from_plan(names: AWSClusterNames, plan: ClusterPlan) -> NodeTags:
        return NodeTags(names.cluster, names.of_workloads, NAME in dict(plan.tags))

    def own(self, tags: CapaTags) -> frozenset[str]:
        """Return the tags of a resource that we create."""
        return _texts(self._own(tags))

    def _own(self, tags: CapaTags) -> dict[str, str]:
        found = tags.to_tags(self.cluster, of_workloads=self.of_workloads)
        if self.renamed:
            found.pop(NAME, None)
        return found

    def subnet(self, subnet: PlannedSubnet) -> frozenset[str]:
        """Return the tags of a subnet that we create: the spec's for it win, as upstream's do, but over whose it is.

        https://github.com/kubernetes-sigs/cluster-api-provider-aws/blob/main/pkg/cloud/services/network/subnets.go
        """
        own = self._own(capa_tags.subnet(self.cluster, reach_of(subnet), subnet.zone))
        whose = {ROLE, cluster_key(self.cluster), cloud_provider_key(self.of_workloads)}
        return _texts({**own, **{key: value for key, value in subnet.tags if key not in whose}})

    def given_subnet(self, subnet: PlannedSubnet) -> frozenset[str]:
        """Return the tags of a subnet that the user names."""
        return _texts(given_subnet(self.of_workloads, reach_of(subnet)))


def reach_of(subnet: PlannedSubnet) -> Reach:
    return Reach.PUBLIC if subnet.public else Reach.PRIVATE


def _texts(tags: Mapping[str, str]) -> frozenset[str]:
    return frozenset(text(key, value) for key, value in tags.items())
