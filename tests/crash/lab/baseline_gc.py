"""CAPA's own collector in the same harness: the tag with the cluster's name alone, no VPC, no rule taken out.

As docs/reference/aws.md has it, and
https://github.com/kubernetes-sigs/cluster-api-provider-aws/blob/main/pkg/cloud/services/gc/cleanup.go: what the index
shows with the tag is deleted as it comes, the first refusal ends the pass, and the cluster's own security groups go
before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from freehold.engine.collection import Collected, Prove
from freehold.engine.engine import release
from freehold.engine.errors import CloudError
from freehold.engine.graph import Graph
from freehold.engine.interface import EngineDeps, PassResult
from freehold.engine.kinds import Registry
from freehold.engine.outcomes import Reason, Waiting
from freehold.providers.aws.arn import Arn
from freehold.providers.aws.calls import AwsClient
from lab.aws import AwsLife
from lab.leftovers import LitteredWorld

TAG, SERVICE, EKS = "kubernetes.io/cluster/demo", "kubernetes.io/service-name", "aws:eks:cluster-name"
ORDER = ("loadbalancer", "targetgroup", "security-group")


@dataclass
class CapaCollection:
    """It remembers nothing, and asks nobody whether it is still wanted."""

    client: AwsClient

    async def sweep(self, prove: Prove, *, refused: bool) -> Collected:
        tagged = [{"Key": TAG, "Values": ["owned"]}]
        rows = await self.client.read_list(
            "resourcegroupstaggingapi", "get_resources", "ResourceTagMappingList", TAG, TagFilters=tagged
        )
        try:
            for type_ in ORDER:
                for row in rows:
                    tags = {tag["Key"]: tag["Value"] for tag in row["Tags"]}
                    if (arn := Arn.parse(row["ResourceARN"])) and arn.type == type_:
                        await self._delete(arn, row["ResourceARN"], tags)
        except CloudError as error:
            return Collected(False, {"first": Waiting(Reason.COLLECTING, 30.0, error.message)})
        return Collected(done=True)

    async def _delete(self, arn: Arn, text: str, tags: Mapping[str, str]) -> None:
        if arn.type == "security-group":
            if EKS not in tags:
                await self.client.write("ec2", "delete_security_group", arn.id, GroupId=arn.id)
        elif SERVICE not in tags:
            return
        elif arn.type == "targetgroup":
            await self.client.write("elbv2", "delete_target_group", text, TargetGroupArn=text)
        elif "/" in arn.id:
            await self.client.write("elbv2", "delete_load_balancer", text, LoadBalancerArn=text)
        else:
            await self.client.write("elb", "delete_load_balancer", arn.id, LoadBalancerName=arn.id)


@dataclass
class CapaWorld(LitteredWorld):
    """The rest of the delete is the product's."""

    def begin(self, **how: Any) -> AwsLife:
        return super().begin(release=self._release, **how)

    async def _release(self, deps: EngineDeps, graph: Graph, *rest: Any) -> PassResult:
        kinds = [
            replace(
                kind,
                deletion=replace(
                    kind.deletion, after_collection=kind.deletion.after_collection and kind.name != "security-group"
                ),
            )
            for kind in deps.registry.values()
        ]
        collection = CapaCollection(self.harness.account.client)
        deps = replace(deps, registry=Registry(kinds), collection=collection)
        return await release(deps, graph, *rest)
