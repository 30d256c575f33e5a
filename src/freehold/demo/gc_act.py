"""Forgotten Services: what workloads made goes with its cluster, and a stranger's and an opted-out cluster's stays."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from freehold.api.names import EXTERNAL_RESOURCE_GC_ANNOTATION
from freehold.cli.local.served_plans import collections_of_server
from freehold.cli.objects.following import UntilReady, follow
from freehold.controllers.plan.collection import CollectionPlan, Fate
from freehold.demo import checks
from freehold.demo.acts import Act
from freehold.demo.stage import ServedSession, Stage
from freehold.demo.world import AWSWorld, CloudResource, others, select_ours
from freehold.kube.resources import Key

_PATIENCE = 120.0
_LOOK = 0.3
_KEPT = "opted-out"
_GC = EXTERNAL_RESOURCE_GC_ANNOTATION


@dataclass
class ForgottenServices:
    """Load balancers of Services that nobody deletes, made as the AWS Load Balancer Controller makes them.

    By whose they are: the ids of load balancer, target group and group.
    """

    aws: AWSWorld
    made: dict[str, list[str]] = field(default_factory=dict)

    async def arrive(self, whose: str, cluster: str, vpc: str, subnet: str, nodes: str = "") -> None:
        """Make those of one Service; ``nodes``: the cluster's group that is left to controllers, which gets a rule."""
        name = f"k8s-shop-{whose}"
        mark = {"elbv2.k8s.aws/cluster": cluster, "service.k8s.aws/stack": "shop/web"}
        tags = [{"Key": key, "Value": value} for key, value in mark.items()]
        group = await self.aws.make(
            "ec2.CreateSecurityGroup", GroupName=name, Description="[k8s] Managed SecurityGroup for LoadBalancer",
            VpcId=vpc, TagSpecifications=[{"ResourceType": "security-group", "Tags": tags}],
        )  # fmt: skip
        if nodes:
            rule = {"IpProtocol": "tcp", "FromPort": 0, "ToPort": 65535, "UserIdGroupPairs": [{"GroupId": group}]}
            await self.aws.call("ec2.AuthorizeSecurityGroupIngress", GroupId=nodes, IpPermissions=[rule])
        balancer = await self.aws.make(
            "elbv2.CreateLoadBalancer", Name=name, Type="network", Scheme="internal", Subnets=[subnet],
            SecurityGroups=[group], Tags=tags,
        )  # fmt: skip
        targets = await self.aws.make(
            "elbv2.CreateTargetGroup", Name=name, Protocol="TCP", Port=80, VpcId=vpc, TargetType="ip", Tags=tags
        )
        action = {"Type": "forward", "TargetGroupArn": targets}
        await self.aws.call(
            "elbv2.CreateListener", LoadBalancerArn=balancer, Protocol="TCP", Port=80, DefaultActions=[action]
        )
        self.made[whose] = [balancer, targets, group]

    async def list_remaining(self, whose: str) -> list[str]:
        """Return those that are still there."""
        there = {each.id for each in await self.aws.resources()}
        return [each for each in self.made[whose] if each in there]


async def forget_services(stage: Stage, act: Act, aws: AWSWorld, serving: ServedSession) -> ForgottenServices:
    """Let three clusters forget a Service: ours, a stranger's with the marks of ours, and one that is opted out."""
    there, services = await aws.resources(), ForgottenServices(aws)
    vpc, nodes = _find_one_of_ours(there, "vpc"), _find_one_of_ours(there, "security-group", "-lb")
    await services.arrive("web", act.cluster.name, vpc.id, _find_one_of_ours(there, "subnet", "-private-").id, nodes.id)
    theirs = next(each for each in others(there) if each.kind == "vpc" and not each.default)
    subnet = next(each for each in others(there) if each.kind == "subnet" and each.parent == theirs.id)
    await services.arrive("stranger", act.cluster.name, theirs.id, subnet.id)
    known = {*(each.id for each in act.before), *services.made["stranger"]}
    act.before = [each for each in await aws.resources() if each.id in known]
    await _opted_out(stage, act, aws, serving, services)
    plans: list[CollectionPlan] = []

    async def plan_names_them() -> bool:
        plans[:] = await _plans(act, serving)
        return _select_ids_by_fate(plans[0], Fate.DELETE) == set(services.made["web"])

    await stage.wait_until(plan_names_them, _LOOK, _PATIENCE)
    goes, stays = plans
    if (
        _select_ids_by_fate(stays, Fate.DELETE)
        or _select_ids_by_fate(stays, Fate.KEEP) != set(services.made[_KEPT])
        or stays.collected
    ):
        raise checks.NotSo(f"freehold gc plan does not keep what {stays.title} has")
    shown = ", ".join(f"{row.noun} {row.name}" for row in goes.rows if row.fate is Fate.DELETE)
    stage.tell_checked_step(
        "a Service is forgotten, whose load balancer would hold the network: freehold gc plan names it",
        f"{goes.title}, in this order: {shown}",
        f"{stays.title}: nothing, it is opted out ({stays.reason})",
    )
    return services


async def check_collection(stage: Stage, services: ForgottenServices) -> None:
    """See in the cloud what went with its cluster, and what did not."""
    if left := await services.list_remaining("web"):
        raise checks.NotSo(f"left behind by the forgotten Service: {', '.join(left)}")
    for whose in ("stranger", _KEPT):
        if await services.list_remaining(whose) != services.made[whose]:
            raise checks.NotSo(f"what the Service of the {whose} cluster made is gone")
    stage.tell_checked_step(
        "what the forgotten Service made has gone with its cluster, before the network",
        "its load balancer, target group and group are gone",
        "those of a stranger's cluster with the same tags are there, and those of the one that is opted out",
    )


async def _opted_out(
    stage: Stage, act: Act, aws: AWSWorld, serving: ServedSession, services: ForgottenServices
) -> None:
    """Apply a second cluster, in a network that is given, and let it forget a Service too."""
    region = str(act.cluster.obj["spec"]["region"])
    vpc = await aws.make("ec2.CreateVpc", CidrBlock="10.9.0.0/16")
    subnet = await aws.make("ec2.CreateSubnet", VpcId=vpc, CidrBlock="10.9.0.0/24", AvailabilityZone=f"{region}a")
    resource, key = act.followed[0]
    manifest = {
        "apiVersion": resource.api_version, "kind": resource.kind,
        "metadata": {"name": _KEPT, "namespace": key.namespace, "annotations": {_GC: "false"}},
        "spec": {
            "region": region,
            "network": {"vpc": {"id": vpc}, "subnets": [{"id": subnet}]},
            "controlPlaneLoadBalancer": {"scheme": "internal"},
        },
    }  # fmt: skip
    await serving.session.client.create(resource, manifest)
    await services.arrive(_KEPT, _KEPT, vpc, subnet)
    act.followed.append((resource, Key(key.namespace, _KEPT)))
    await follow(serving.session, act.followed, stage.show, UntilReady(), patience=_PATIENCE)


async def _plans(act: Act, serving: ServedSession) -> list[CollectionPlan]:
    clusters = [each for each in act.followed if each[0].kind == act.cluster.kind]
    objects: list[Any] = [await serving.session.client.get(*each) for each in clusters]
    found = await collections_of_server(serving.session.client, objects)
    if found is None:
        raise checks.NotSo("the server makes no plans of what is collected")
    return found


def _select_ids_by_fate(plan: CollectionPlan, fate: Fate) -> set[str]:
    return {row.id for row in plan.rows if row.fate is fate}


def _find_one_of_ours(resources: list[CloudResource], kind: str, part: str = "") -> CloudResource:
    return next(each for each in select_ours(resources) if each.kind == kind and part in each.name and not each.default)
