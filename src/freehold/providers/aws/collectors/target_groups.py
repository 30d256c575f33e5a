"""Target groups of Services and Ingresses. They go after the listeners that use them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from freehold.collection.found import Step, Thing
from freehold.collection.policy import Volumes
from freehold.collection.things import CollectionTask
from freehold.providers.aws import balancing
from freehold.providers.aws.calls import AwsClient
from freehold.providers.aws.collectors.collector import Scene
from freehold.providers.aws.collectors.load_balancers import OF_WORKLOADS
from freehold.providers.aws.kinds.target_group import READ


class TargetGroups:
    """Target groups. They block nothing; nobody else deletes them (kubernetes-sigs/cluster-api-provider-aws#4175)."""

    task = CollectionTask.TARGET_GROUP
    rule = OF_WORKLOADS

    def __init__(self, client: AwsClient) -> None:
        self._client = client

    async def find(self, scene: Scene) -> Sequence[Thing]:
        """Return all target groups of the network: the list shows new ones at once, the index does not."""
        network = scene.workloads.network
        found = [each for each in await balancing.read_all(self._client, READ) if each.attributes["vpc_id"] == network]
        return [
            Thing(
                self.task, "target group", each.id, each.name, each.tags, network=str(each.attributes["vpc_id"])
            )
            for each in await balancing.fill_in_tags(self._client, found)
        ]  # fmt: skip

    async def find_remaining(self, things: Sequence[Thing]) -> Sequence[Thing]:
        """Return an empty list: a delete that AWS took is complete."""
        return ()

    def plan_steps(self, things: Sequence[Thing], volumes: Volumes) -> Sequence[Sequence[Step]]:
        return [[Step(thing, "delete", partial(self._delete, thing.id)) for thing in things]]

    async def _delete(self, arn: str) -> None:
        await self._client.write("elbv2", "delete_target_group", arn, TargetGroupArn=arn)
