"""Target groups of Services and Ingresses. They go when the listeners that use them have gone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from freehold.clouds.aws import balancing
from freehold.clouds.aws.balancing_driver import SERVICE
from freehold.clouds.aws.calls import ApiClient
from freehold.clouds.aws.collectors.collector import Scene
from freehold.clouds.aws.collectors.load_balancers import OF_WORKLOADS
from freehold.clouds.aws.kinds.target_group import READ
from freehold.collection.found import Step, Thing
from freehold.collection.policy import Volumes
from freehold.collection.things import Task


class TargetGroups:
    """They block nothing, and nobody else deletes them (kubernetes-sigs/cluster-api-provider-aws#4175)."""

    task = Task.TARGET_GROUP
    rule = OF_WORKLOADS

    def __init__(self, client: ApiClient) -> None:
        self._client = client
        self._gone: set[str] = set()
        """As of load balancers."""

    async def find(self, scene: Scene) -> Sequence[Thing]:
        arns = sorted(set(scene.arns(SERVICE, "targetgroup")) - self._gone)
        found = await balancing.by_id(self._client, READ, arns)
        self._gone |= set(arns) - found.keys()
        return [
            Thing(
                self.task, "target group", each.id, each.name, each.tags, network=str(each.attributes["vpc_id"])
            )
            for each in await balancing.with_tags(self._client, list(found.values()))
        ]  # fmt: skip

    async def left(self, things: Sequence[Thing]) -> Sequence[Thing]:
        """None: a delete that is taken is done."""
        self._gone |= {thing.id for thing in things}
        return ()

    def steps(self, things: Sequence[Thing], volumes: Volumes) -> Sequence[Sequence[Step]]:
        return [[Step(thing, "delete", partial(self._delete, thing.id)) for thing in things]]

    async def _delete(self, arn: str) -> None:
        await self._client.write("elbv2", "delete_target_group", arn, TargetGroupArn=arn)
