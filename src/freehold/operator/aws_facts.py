"""The questions of an AWSCluster's reconciler (aws_cluster.discover.FactsReader), answered by AWS."""

from __future__ import annotations

from freehold.clouds.aws.capa_tags import cluster_key
from freehold.clouds.aws.facts import AwsFacts
from freehold.lifecycle.keyed_codec import OWNER, UUID
from freehold.reconcilers.answers import Answer, NoSuch
from freehold.reconcilers.aws_cluster.facts import GivenNetwork, GivenSubnet, Namesake


class AwsFactsReader:
    """The answers of one account and region. Raises CloudError."""

    def __init__(self, facts: AwsFacts) -> None:
        self._facts = facts

    async def zones(self) -> Answer[tuple[str, ...]] | NoSuch:
        return Answer(await self._facts.zones())

    async def network(self, vpc: str) -> Answer[GivenNetwork] | NoSuch:
        found = await self._facts.subnets(vpc)
        if found is None:
            return NoSuch()
        return Answer(
            GivenNetwork({each.id: GivenSubnet(each.id, each.zone, each.cidr, each.public) for each in found})
        )

    async def image(self) -> Answer[str] | NoSuch:
        found = await self._facts.bastion_image()
        return Answer(found) if found else NoSuch()

    async def namesakes(self, cluster: str, uuid: str) -> Answer[tuple[Namesake, ...]]:
        found = await self._facts.namesakes(cluster, uuid)
        return Answer(
            tuple(
                Namesake(
                    arn, tags.get(OWNER, ""), tags.get(UUID, ""), by_cloud_provider=cluster_key(cluster) not in tags
                )
                for arn, tags in sorted(found.items())
            )
        )
