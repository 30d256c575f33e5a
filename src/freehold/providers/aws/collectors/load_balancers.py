"""Load balancers of Services and Ingresses: classic, network and application ones. Listeners go with them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial

from freehold.collection.found import Step, Thing
from freehold.collection.policy import Volumes
from freehold.collection.rules import IN_NETWORK, OWNED, CollectionRule, require_name_tag, require_tag
from freehold.collection.things import CollectionTask
from freehold.providers.aws import balancing
from freehold.providers.aws.arn import Arn
from freehold.providers.aws.balancing_driver import SERVICE
from freehold.providers.aws.calls import AwsClient
from freehold.providers.aws.collectors.collector import MADE_BY, Scene
from freehold.providers.aws.decoded import DecodedResource
from freehold.providers.aws.kind_facts import FACTS
from freehold.providers.aws.kinds import classic_load_balancer as classic
from freehold.providers.aws.kinds import network_load_balancer as second

SERVICE_NAME = "kubernetes.io/service-name"
"""The tag with namespace and name of a Service, on its load balancer and target group
(https://github.com/kubernetes/cloud-provider-aws/blob/master/pkg/providers/v1/aws.go)."""
CONTROLLER_CLUSTER = "elbv2.k8s.aws/cluster"
STACKS = ("service.k8s.aws/stack", "ingress.k8s.aws/stack")
"""The tags of all that the AWS Load Balancer Controller makes
(https://kubernetes-sigs.github.io/aws-load-balancer-controller/latest/guide/ingress/annotations/#resource-tags)."""
OF_WORKLOADS = CollectionRule(
    (
        (OWNED, require_tag(SERVICE_NAME), IN_NETWORK),
        (require_name_tag(CONTROLLER_CLUSTER), require_tag(*STACKS), IN_NETWORK),
    ),
    MADE_BY,
)
_NOUNS = {"network": "network load balancer", "application": "application load balancer"}


class LoadBalancers:
    """Load balancers, from the tag index and from their interfaces in the network, which show new ones at once."""

    task = CollectionTask.LOAD_BALANCER
    rule = OF_WORKLOADS

    def __init__(self, client: AwsClient) -> None:
        self._client = client
        self._gone: set[str] = set()
        """ARNs that are gone and that the index still shows: a missing one fails its batch, and so costs calls."""

    async def find(self, scene: Scene) -> Sequence[Thing]:
        place = scene.place
        named = (trace.removeprefix("ELB ") for trace in scene.traces)
        seen_in_network = (
            str(Arn(place.partition, SERVICE, place.region, place.account, f"loadbalancer/{name}")) for name in named
        )
        indexed = set(scene.arns(SERVICE, "loadbalancer")) - self._gone
        found = await self._describe(indexed)
        found += await self._describe(set(seen_in_network) - indexed)  # a classic one is read by name
        return [_to_thing(each) for each in await balancing.fill_in_tags(self._client, found)]

    async def _describe(self, texts: Collection[str]) -> list[DecodedResource]:
        arns = {text: arn for text in texts if (arn := Arn.parse(text))}
        old = [arn.id for arn in arns.values() if "/" not in arn.id]
        new = [text for text, arn in arns.items() if "/" in arn.id]
        found = [*(await balancing.read_by_id(self._client, classic.READ, old)).values()]
        found += (await balancing.read_by_id(self._client, second.READ, new)).values()
        self._gone |= set(texts) - {each.arn for each in found}
        return found

    async def find_remaining(self, things: Sequence[Thing]) -> Sequence[Thing]:
        """List the whole region: a read by id would fail for each that is gone."""
        there: set[str] = set()
        if any("/" not in thing.id for thing in things):
            there |= {each.id for each in await balancing.read_all(self._client, classic.READ)}
        if any("/" in thing.id for thing in things):
            there |= {each.id for each in await balancing.read_all(self._client, second.READ)}
        return [thing for thing in things if thing.id in there]

    def plan_steps(self, things: Sequence[Thing], volumes: Volumes) -> Sequence[Sequence[Step]]:
        return [[Step(thing, "delete", partial(self._delete, thing.id)) for thing in things]]

    async def _delete(self, ident: str) -> None:
        if "/" in ident:
            await self._client.write("elbv2", "delete_load_balancer", ident, LoadBalancerArn=ident)
        else:
            await self._client.write("elb", "delete_load_balancer", ident, LoadBalancerName=ident)


def _to_thing(seen: DecodedResource) -> Thing:
    arn = Arn.parse(seen.arn)
    assert arn is not None
    return Thing(
        task=CollectionTask.LOAD_BALANCER,
        noun=_NOUNS.get(str(seen.attributes.get("type", "")), "load balancer"),
        id=seen.id,
        name=seen.name,
        tags=seen.tags,
        network=str(seen.attributes["vpc_id"]),
        state=seen.vendor_state,
        trace_key=f"ELB {arn.id}",
        trace_seconds=FACTS["network-load-balancer"].delete_time,
    )
