"""A replacement for the tagging API where that is denied or has no endpoint: each service's own lists and calls.

It shows as much, at more calls: EC2 has a list by tag, all load balancers, buckets and EKS clusters are asked for
their tags. Kinds of other services must be added here. Roles are in no index and are found by name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from freehold.engine.errors import CloudError
from freehold.engine.inventory import TagChange
from freehold.engine.keyed_codec import UUID
from freehold.providers.aws import errors
from freehold.providers.aws.arn import Arn
from freehold.providers.aws.calls import AwsClient, Json
from freehold.providers.aws.tags.native_tags import NativeTags, TagsByArn
from freehold.providers.aws.tags.source import group_changes


class ServiceTags:
    """Tags, found and changed through the services that keep them (source.TagSource)."""

    def __init__(self, client: AwsClient) -> None:
        self._client = client
        self._native = NativeTags(client)

    async def find_by_tag(
        self, key: str, values: Sequence[str] = (), without: frozenset[str] = frozenset()
    ) -> TagsByArn:
        """Return everything, also kinds in ``without``: EC2's list by tag is one call, whatever it shows."""
        filters = [{"Name": "key", "Values": [key]}]
        if values:
            filters.append({"Name": "value", "Values": list(values)})
        found = await self._native.find_in_ec2(f"tagged {key}", filters)
        others = await self._native.tags_of(
            [*await self._balancing_arns(), *await self._bucket_arns(), *await self._cluster_arns()]
        )
        wanted = frozenset(values)
        return found | {
            arn: tags for arn, tags in others.items() if key in tags and (not wanted or tags[key] in wanted)
        }

    async def find_by_any_tag(self, tags: Mapping[str, str]) -> TagsByArn:
        """Return what has one of these tags, except listeners, whose list takes a call for each load balancer."""
        found: TagsByArn = {}
        for key, value in tags.items():
            filters = [{"Name": "key", "Values": [key]}, {"Name": "value", "Values": [value]}]
            found |= await self._native.find_in_ec2(f"tagged {key}", filters)
        others = await self._native.tags_of(await self._balancing_arns(listeners=False))
        return found | {arn: has for arn, has in others.items() if not has.items().isdisjoint(tags.items())}

    async def find_marked(self, uuid: str, also: Collection[str] = ()) -> TagsByArn:
        found = await self.find_by_tag(UUID, [uuid])
        return found | await self._native.tags_of(set(also) - set(found))

    async def attach(self, changes: Sequence[TagChange]) -> dict[str, CloudError]:
        failed: dict[str, CloudError] = {}
        for tags, targets in group_changes(changes):
            failed |= await self._native.attach(targets, tags)
        return failed

    async def detach(self, changes: Sequence[TagChange]) -> dict[str, CloudError]:
        failed: dict[str, CloudError] = {}
        for tags, targets in group_changes(changes):
            failed |= await self._native.detach(targets, tags)
        return failed

    async def _balancing_arns(self, *, listeners: bool = True) -> list[str]:
        """Return the ARNs of the region's load balancers, target groups and, if asked, listeners."""
        session, account = self._client.session, await self._client.account()
        classic = await self._client.read_list("elb", "describe_load_balancers", "LoadBalancerDescriptions", "all")
        balancers = await self._client.read_list("elbv2", "describe_load_balancers", "LoadBalancers", "all")
        groups = await self._client.read_list("elbv2", "describe_target_groups", "TargetGroups", "all")
        arns = [str(row["LoadBalancerArn"]) for row in balancers]
        inside = [arn for each in arns for arn in await self._listener_arns(each)] if listeners else []
        return [
            *(
                str(Arn(session.partition, "elasticloadbalancing", session.region, account, f"loadbalancer/{name}"))
                for name in _names(classic)
            ),
            *arns,
            *(str(row["TargetGroupArn"]) for row in groups),
            *inside,
        ]

    async def _listener_arns(self, balancer: str) -> list[str]:
        try:
            rows = await self._client.read_list(
                "elbv2", "describe_listeners", "Listeners", balancer, LoadBalancerArn=balancer
            )
        except errors.ListNotFound:
            return []  # gone since the list was read, with its listeners
        return [str(row["ListenerArn"]) for row in rows]

    async def _bucket_arns(self) -> list[str]:
        """Return the ARNs of the account's buckets, except those known to be in another region."""
        session = self._client.session
        rows = await self._client.read_list("s3", "list_buckets", "Buckets", "all")
        here = (row for row in rows if row.get("BucketRegion", session.region) == session.region)
        return [str(Arn(session.partition, "s3", "", "", row["Name"])) for row in here]

    async def _cluster_arns(self) -> list[str]:
        """Return the ARNs of the region's EKS clusters. What is in them is found by its names there."""
        names = await self._client.read_list("eks", "list_clusters", "clusters", "all", maxResults=100)
        if not names:
            return []
        session, account = self._client.session, await self._client.account()
        return [str(Arn(session.partition, "eks", session.region, account, f"cluster/{name}")) for name in names]


def _names(rows: Iterable[Json]) -> list[str]:
    return [str(row["LoadBalancerName"]) for row in rows]
