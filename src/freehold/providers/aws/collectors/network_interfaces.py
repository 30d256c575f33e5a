"""Network interfaces that the VPC CNI left when its machine went: they block subnets and groups.

https://github.com/aws/amazon-vpc-cni-k8s/blob/master/docs/troubleshooting.md#known-issues: a machine that goes
while its agent detaches an interface leaves it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from freehold.collection.found import Step, Thing
from freehold.collection.policy import Volumes
from freehold.collection.rules import IN_NETWORK, CollectionRule, require_name_tag, require_state, require_tag
from freehold.collection.things import CollectionTask
from freehold.providers.aws.calls import AwsClient
from freehold.providers.aws.collectors.collector import MADE_BY, Scene
from freehold.providers.aws.tags.native_tags import tag_map

CLUSTER, OWNER = "cluster.k8s.amazonaws.com/name", "eks:eni:owner"
"""The tags of interfaces that the CNI makes
(https://github.com/aws/amazon-vpc-cni-k8s/blob/master/pkg/awsutils/awsutils.go)."""


class NetworkInterfaces:
    """Interfaces that are attached to nothing."""

    task = CollectionTask.NETWORK_INTERFACE
    rule = CollectionRule(
        (
            (
                require_name_tag(CLUSTER),
                require_tag(OWNER, value="amazon-vpc-cni"),
                IN_NETWORK,
                require_state("available"),
            ),
        ),
        MADE_BY,
    )

    def __init__(self, client: AwsClient) -> None:
        self._client = client

    async def find(self, scene: Scene) -> Sequence[Thing]:
        return [
            Thing(
                task=self.task,
                noun="network interface",
                id=row["NetworkInterfaceId"],
                name=row["NetworkInterfaceId"],
                tags=tag_map(row.get("TagSet", ())),
                network=row.get("VpcId", ""),
                description=row.get("Description", ""),
                state=row.get("Status", ""),
                by_service=bool(row.get("RequesterManaged")),
            )
            for row in scene.interfaces
        ]

    async def find_remaining(self, things: Sequence[Thing]) -> Sequence[Thing]:
        """Return an empty list: a delete that AWS took is complete."""
        return ()

    def plan_steps(self, things: Sequence[Thing], volumes: Volumes) -> Sequence[Sequence[Step]]:
        return [[Step(thing, "delete", partial(self._delete, thing.id)) for thing in things]]

    async def _delete(self, ident: str) -> None:
        await self._client.write("ec2", "delete_network_interface", ident, NetworkInterfaceId=ident)
