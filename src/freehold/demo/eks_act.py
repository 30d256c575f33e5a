"""A cluster of EKS beside the others: its kubeconfig is used as a person would, and its forgotten Service goes."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import yaml

from freehold.cli.objects.following import Followed, UntilGone, UntilReady, follow
from freehold.demo import checks
from freehold.demo.acts import Act
from freehold.demo.gc_act import ForgottenServices
from freehold.demo.stage import ServedSession, Stage
from freehold.demo.world import AWSWorld
from freehold.kube.resources import SECRETS, Key
from freehold.providers.aws.control_plane.kind import AWS_MANAGED_CONTROL_PLANE as SERVED
from freehold.providers.objects.served_resources import resource_of

_PATIENCE = 120.0
_NAME, _WHOSE = "shop", "eks"
_ZONES = "ab"


@dataclass(frozen=True)
class EksCluster:
    """The object, and the network of somebody else that it is in."""

    followed: Followed
    vpc: str
    subnets: tuple[str, ...]
    name: str
    """The name of the cluster in EKS."""


async def apply_control_plane(act: Act, aws: AWSWorld, serving: ServedSession) -> EksCluster:
    """Apply an AWSManagedControlPlane in a network that is given; EKS takes ten minutes to make its cluster."""
    region = str(act.cluster.obj["spec"]["region"])
    vpc = await aws.make("ec2.CreateVpc", CidrBlock="10.8.0.0/16")
    subnets = [
        await aws.make("ec2.CreateSubnet", VpcId=vpc, CidrBlock=f"10.8.{at}.0/24", AvailabilityZone=f"{region}{zone}")
        for at, zone in enumerate(_ZONES)
    ]
    resource, namespace = resource_of(SERVED), act.followed[0][1].namespace
    manifest = {
        "apiVersion": resource.api_version, "kind": resource.kind,
        "metadata": {"name": _NAME, "namespace": namespace},
        "spec": {
            "region": region, "version": "v1.33",
            "network": {"vpc": {"id": vpc}, "subnets": [{"id": each} for each in subnets]},
        },
    }  # fmt: skip
    await serving.session.client.create(resource, manifest)
    return EksCluster((resource, Key(namespace, _NAME)), vpc, tuple(subnets), f"{namespace}_{_NAME}")


async def enter_and_forget(
    stage: Stage, aws: AWSWorld, serving: ServedSession, cluster: EksCluster, services: ForgottenServices
) -> None:
    """Decode the kubeconfig and show its token to the cluster; then forget a Service there."""
    await follow(serving.session, [cluster.followed], stage.show, UntilReady(), patience=_PATIENCE)
    seen = (await aws.call("eks.DescribeCluster", name=cluster.name))["cluster"]
    server, token = await _read_kubeconfig(serving, cluster)
    expected = {"server": seen["endpoint"], "certificate-authority-data": seen["certificateAuthority"]["data"]}
    if server != expected:
        raise checks.NotSo(f"the kubeconfig leads to {server.get('server')}, EKS says {seen['endpoint']}")
    username = str((await aws.enter(token, cluster.name))["username"])
    await services.arrive(_WHOSE, cluster.name, cluster.vpc, cluster.subnets[0])
    stage.tell_checked_step(
        f"{SERVED.kind} {_NAME} is an EKS cluster, and Secret {_NAME}-kubeconfig lets a person in",
        f"it leads to {seen['endpoint'].removeprefix('https://')}, with EKS's certificate",
        f"the cluster takes its token: {username}",
        "a Service is forgotten there too",
    )


async def delete_control_plane(
    stage: Stage, serving: ServedSession, cluster: EksCluster, services: ForgottenServices
) -> None:
    """Delete it before the others, whose deletes have an order of their own; the Service goes with its cluster."""
    await serving.session.client.delete(*cluster.followed)
    await follow(serving.session, [cluster.followed], stage.show, UntilGone(), patience=_PATIENCE)
    if left := await services.list_remaining(_WHOSE):
        raise checks.NotSo(f"left behind by the forgotten Service of EKS: {', '.join(left)}")
    stage.tell_checked_step(f"{_NAME} is deleted: what was forgotten there has gone with the EKS cluster")


async def _read_kubeconfig(serving: ServedSession, cluster: EksCluster) -> tuple[dict[str, Any], str]:
    """Return the cluster and the token in the Secret of Cluster API."""
    key = Key(cluster.followed[1].namespace, f"{_NAME}-kubeconfig")
    secret = await serving.session.client.get(SECRETS, key)
    found = yaml.safe_load(base64.b64decode(secret["data"]["value"]))
    return dict(found["clusters"][0]["cluster"]), str(found["users"][0]["user"]["token"])
