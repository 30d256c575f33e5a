"""The collection on AWS: one look for all collectors, and their deletes (collection.survey.Survey)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from freehold.collection.found import Look, Step, Thing, Workloads
from freehold.collection.policy import Volumes
from freehold.collection.rules import CollectionRule, build_cluster_tag
from freehold.collection.things import CollectionTask
from freehold.engine.errors import Denied
from freehold.engine.keyed_codec import OWNER, UUID
from freehold.engine.port import run_together
from freehold.providers.aws import eks
from freehold.providers.aws.arn import Arn
from freehold.providers.aws.calls import AwsClient, Json
from freehold.providers.aws.collectors.collector import Collector, NewCollector, Scene, collect_traces
from freehold.providers.aws.collectors.load_balancers import CONTROLLER_CLUSTER, LoadBalancers
from freehold.providers.aws.collectors.network_interfaces import CLUSTER as CNI_CLUSTER
from freehold.providers.aws.collectors.network_interfaces import NetworkInterfaces
from freehold.providers.aws.collectors.security_groups import SecurityGroups
from freehold.providers.aws.collectors.target_groups import TargetGroups
from freehold.providers.aws.collectors.volumes import EbsVolumes
from freehold.providers.aws.reading import location_of
from freehold.providers.aws.tags.capa_tags import cluster_key
from freehold.providers.aws.tags.native_tags import NativeTags, tag_map
from freehold.providers.aws.tags.tagger import AwsTagger

COLLECTORS: tuple[NewCollector, ...] = (LoadBalancers, TargetGroups, SecurityGroups, NetworkInterfaces, EbsVolumes)
"""All collectors. A new kind of leftovers is one file, and one entry here."""
IN_FLIGHT = 8
"""The most deletes of one account at once: everybody who works in the account shares its limits on writes."""
_PAGE = 1000
_NO_INDEX = "the tag index (tag:GetResources) is denied or not there: the services' own lists were read instead"
_OVER = frozenset({"terminated", "stopped"})
_OF_EKS = "aws:eks:cluster-name"
"""https://docs.aws.amazon.com/eks/latest/userguide/sec-group-reqs.html"""


def marks_of(cluster: str) -> Mapping[str, str]:
    """Return the cluster's marks. All that is collected has one of them; a session's deletes are bound to them."""
    return {build_cluster_tag(cluster): "owned", CONTROLLER_CLUSTER: cluster, CNI_CLUSTER: cluster}


class AwsSurvey:
    """The leftovers of one cluster.

    ``client`` reads, and sends the deletes under the cluster's own condition; the account shares ``turns``.
    """

    def __init__(self, client: AwsClient, tagger: AwsTagger, turns: asyncio.Semaphore) -> None:
        self._client = client
        self._tagger = tagger
        self._turns = turns
        self._native = NativeTags(client)
        collectors = [new(client) for new in COLLECTORS]
        self._collectors: Mapping[CollectionTask, Collector] = {each.task: each for each in collectors}

    @property
    def rules(self) -> Mapping[CollectionTask, CollectionRule]:
        return {task: each.rule for task, each in self._collectors.items()}

    async def look(self, workloads: Workloads, tasks: Sequence[CollectionTask]) -> Look:
        indexed = await self._tagger.find_by_any_tag(
            {build_cluster_tag(workloads.name): "owned", CONTROLLER_CLUSTER: workloads.name}
        )
        interfaces = await self._list_interfaces(workloads.network)
        groups = await self._list_in_network("describe_security_groups", "SecurityGroups", workloads.network)
        machines = await self._list_machines(workloads)
        scene = Scene(workloads, await location_of(self._client), indexed, interfaces, groups)
        looked = [task for task in self._collectors if task is not CollectionTask.VOLUME or task in tasks]
        things = [thing for task in looked for thing in await self._collectors[task].find(scene)]
        return Look(
            things=tuple(things),
            running=tuple(str(row["InstanceId"]) for row in machines if row["State"]["Name"] not in _OVER),
            ran_lately=bool(machines),
            traces=scene.traces,
            namesakes=(*_namesakes(groups, workloads), *await self._find_living_cluster(groups, workloads)),
            elsewhere=await self._find_elsewhere(scene, things, machines) if CollectionTask.VOLUME in tasks else (),
            notes=(_NO_INDEX,) if self._tagger.is_refused("find_by_tag") else (),
        )

    async def find_remaining(self, things: Sequence[Thing]) -> Sequence[Thing]:
        tasks = {thing.task for thing in things}
        return [
            thing
            for task in tasks
            for thing in await self._collectors[task].find_remaining([each for each in things if each.task is task])
        ]

    async def find_traces(self, network: str) -> Mapping[str, tuple[str, ...]]:
        return collect_traces(await self._list_interfaces(network))

    def plan_steps(self, things: Sequence[Thing], volumes: Volumes) -> Sequence[Sequence[Step]]:
        return self._collectors[things[0].task].plan_steps(things, volumes) if things else ()

    async def run_all(self, work: Sequence[Callable[[], Awaitable[None]]]) -> Sequence[Exception | None]:
        return await run_together([self._run_in_turn(each) for each in work])

    async def _run_in_turn(self, work: Callable[[], Awaitable[None]]) -> None:
        async with self._turns:
            await work()

    async def _find_elsewhere(self, scene: Scene, things: Sequence[Thing], machines: Sequence[Json]) -> tuple[str, ...]:
        """Return what has the cluster's name and is outside its network, as its own service shows it.

        EC2 searches by the tag itself, since the index shows new resources too late. Volumes are in no network, and
        snapshots outlive the cluster of their volumes, ours too.
        """
        network, own = scene.workloads.network, scene.workloads.uuid.casefold()
        elsewhere = {thing.id for thing in things if thing.network and thing.network != network}
        here = {thing.id for thing in things} | {str(row["InstanceId"]) for row in machines}
        marks = marks_of(scene.workloads.name)
        filters = [{"Name": "key", "Values": [*marks]}, {"Name": "value", "Values": sorted({*marks.values()})}]
        for text, tags in (await self._native.find_in_ec2(f"of a cluster {scene.workloads.name}", filters)).items():
            arn = Arn.parse(text)
            assert arn is not None
            if arn.type not in ("snapshot", "volume") and tags.get(UUID, "").casefold() != own and arn.id not in here:
                elsewhere.add(text)
        return tuple(sorted(elsewhere))

    async def _find_living_cluster(self, groups: Sequence[Json], workloads: Workloads) -> tuple[str, ...]:
        """Return the EKS cluster of this name that lives in the network: ours goes before anything is collected.

        EKS alone puts such a tag on a group, which may be left when its cluster has gone. What may not be asked lives.
        """
        if not any(tag_map(row.get("Tags", ())).get(_OF_EKS) == workloads.name for row in groups):
            return ()
        try:
            body = await eks.describe_cluster(self._client, workloads.name)
        except Denied:
            return (f"EKS cluster {workloads.name}",)
        there = body.get("resourcesVpcConfig", {}).get("vpcId") == workloads.network
        return (f"EKS cluster {body['arn']}",) if there else ()

    async def _list_interfaces(self, network: str) -> list[Json]:
        return await self._list_in_network("describe_network_interfaces", "NetworkInterfaces", network)

    async def _list_in_network(self, operation: str, items: str, network: str, *more: Json) -> list[Json]:
        filters = [{"Name": "vpc-id", "Values": [network]}, *more]
        return await self._client.read_list(
            "ec2", operation, items, f"those in {network}", Filters=filters, MaxResults=_PAGE
        )

    async def _list_machines(self, workloads: Workloads) -> list[Json]:
        """Return the cluster's machines, also those that EC2 shows for an hour after their end."""
        tagged = {"Name": "tag-key", "Values": [build_cluster_tag(workloads.name)]}
        rows = await self._list_in_network("describe_instances", "Reservations", workloads.network, tagged)
        return [each for row in rows for each in row["Instances"]]


def _namesakes(groups: Sequence[Json], workloads: Workloads) -> tuple[str, ...]:
    """Return other owners with groups for a cluster of this name in the network."""
    found = set()
    for row in groups:
        tags = tag_map(row.get("Tags", ()))
        other = tags.get(UUID, "").casefold() not in ("", workloads.uuid.casefold())
        if other and (cluster_key(workloads.name) in tags or build_cluster_tag(workloads.name) in tags):
            found.add(tags.get(OWNER) or tags[UUID])
    return tuple(sorted(found))
