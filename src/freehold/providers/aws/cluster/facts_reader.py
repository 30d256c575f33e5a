"""The questions of an AWSCluster's reconciler (discover.AWSClusterFactsReader), answered by AWS."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from freehold.engine.keyed_codec import OWNER, UUID
from freehold.providers.aws.cluster.facts import GivenNetwork, GivenSubnet, Namesake
from freehold.providers.aws.facts import AwsFacts
from freehold.providers.aws.tags.capa_tags import cluster_key
from freehold.providers.objects.cloud_answers import Answer, NotThere


class AwsFactsReader:
    """The answers of one account and region. Raises CloudError."""

    def __init__(self, facts: AwsFacts) -> None:
        self._facts = facts

    def renew(self, facts: AwsFacts) -> None:
        """Forget all answers: ``facts`` have been asked nothing yet."""
        self._facts = facts

    @property
    def not_bound(self) -> str:
        return self._facts.not_bound

    async def zones(self) -> Answer[tuple[str, ...]] | NotThere:
        return Answer(await self._facts.zones())

    async def network(self, vpc: str) -> Answer[GivenNetwork] | NotThere:
        found = await self._facts.subnets(vpc)
        if found is None:
            return NotThere()
        subnets = (
            GivenSubnet(each.id, each.zone, each.cidr, each.public, each.zone_type, each.ipv6, each.tags, each.way_out)
            for each in found
        )
        return Answer(GivenNetwork({each.id: each for each in subnets}))

    async def nat_addresses(self, vpc: str) -> Answer[Mapping[str, tuple[str, ...]]]:
        return Answer(await self._facts.nat_addresses(vpc))

    async def has_ipv6(self, vpc: str) -> Answer[bool] | NotThere:
        found = await self._facts.has_ipv6(vpc)
        return NotThere() if found is None else Answer(found)

    async def image(self) -> Answer[str] | NotThere:
        found = await self._facts.bastion_image()
        return Answer(found) if found else NotThere()

    async def groups(self, idents: Collection[str]) -> Answer[Mapping[str, str]]:
        return Answer(await self._facts.vpcs_of_groups(idents))

    async def namesakes(self, cluster: str, uuid: str, of_workloads: str = "") -> Answer[tuple[Namesake, ...]]:
        found = await self._facts.namesakes(cluster, uuid, of_workloads)
        return Answer(
            tuple(
                Namesake(
                    arn, tags.get(OWNER, ""), tags.get(UUID, ""), by_cloud_provider=cluster_key(cluster) not in tags
                )
                for arn, tags in sorted(found.items())
            )
        )
