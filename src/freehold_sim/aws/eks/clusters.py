"""EKS clusters, with the security group and the interfaces that EKS makes for them.

https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateCluster.html
"""

import re
from base64 import b64encode
from typing import Any

from freehold_sim.aws.call import Call, Operation, Token, reads, writes
from freehold_sim.aws.ec2 import interfaces, security_groups
from freehold_sim.aws.ec2.kinds import full
from freehold_sim.aws.eks.admission import admit_creator
from freehold_sim.aws.eks.common import (
    ADDON,
    CLUSTER,
    FARGATE_PROFILE,
    MISMATCH,
    NODEGROUP,
    bad,
    check_role,
    check_tags,
    cluster_of,
    in_use,
    listed,
    remove_parts,
    shown,
)
from freehold_sim.aws.world import Record, World, scope_of

_NAME = re.compile(r"[0-9A-Za-z][A-Za-z0-9_-]{0,99}")
VERSIONS = ("1.30", "1.31", "1.32")


def create_cluster(call: Call) -> dict[str, Any]:
    params, name = call.params, call.params["name"]
    if not _NAME.fullmatch(name):
        raise bad(f"The cluster name {name} has characters that are not allowed, or more than 100")
    if call.get(CLUSTER, name) is not None:
        raise in_use(f"Cluster already exists with name: {name}")
    if params.get("version", VERSIONS[-1]) not in VERSIONS:
        raise bad(f"unsupported Kubernetes version {params['version']}")
    check_role(call, params["roleArn"])
    tags = params.get("tags", {})
    check_tags(call, tags)
    full(call, len(call.all(CLUSTER)), call.settings.quotas.clusters, "clusters")
    subnets = _subnets(call, params["resourcesVpcConfig"].get("subnetIds", []))
    cluster = _add(call, subnets, tags)
    admit_creator(call, cluster)
    status = "FAILED" if call.fails else "ACTIVE"
    endpoint = f"https://{call.world.new_hex(32).upper()}.gr7.{call.region}.eks.amazonaws.com"
    certificate = {"data": b64encode(b"simulated").decode()}
    change = {"status": status, "endpoint": endpoint, "certificateAuthority": certificate}
    call.world.schedule(call.takes(call.settings.delays.create_cluster), cluster, change)
    return _reply(call, [cluster])


def _subnets(call: Call, idents: list[str]) -> list[Record]:
    found = []
    for ident in idents:
        subnet = call.get("subnet", ident)
        if subnet is None:
            raise bad(f"The subnet ID '{ident}' does not exist")
        found.append(subnet)
    if len({subnet["view"]["AvailabilityZone"] for subnet in found}) < 2:
        raise bad("Subnets specified must be in at least two different AZs")
    if len({subnet["view"]["VpcId"] for subnet in found}) > 1:
        raise bad("Subnets specified must belong to the same VPC")
    return found


def _add(call: Call, subnets: list[Record], tags: dict[str, str]) -> Record:
    params, name = call.params, call.params["name"]
    arn = f"arn:{call.partition}:eks:{call.region}:{call.account}:cluster/{name}"
    given, vpc = params["resourcesVpcConfig"], call.world.table(call.scope, "vpc")[subnets[0]["view"]["VpcId"]]
    label = f"eks-cluster-sg-{name}-{call.world.serial()}"
    text = "EKS created security group applied to ENI that is attached to EKS Control Plane master nodes"
    group = security_groups.make(call, vpc, label, text, {"Name": label, "aws:eks:cluster-name": name})
    network = {
        "subnetIds": [subnet["id"] for subnet in subnets], "vpcId": vpc["id"], "clusterSecurityGroupId": group["id"],
        "securityGroupIds": given.get("securityGroupIds", []),
        "endpointPublicAccess": given.get("endpointPublicAccess", True),
        "endpointPrivateAccess": given.get("endpointPrivateAccess", False),
        "publicAccessCidrs": given.get("publicAccessCidrs", ["0.0.0.0/0"]),
    }  # fmt: skip
    issuer = f"https://oidc.eks.{call.region}.amazonaws.com/id/{call.world.new_hex(32).upper()}"
    view: dict[str, Any] = {
        "name": name, "arn": arn, "createdAt": call.now, "version": params.get("version", VERSIONS[-1]),
        "roleArn": params["roleArn"], "resourcesVpcConfig": network, "status": "CREATING", "platformVersion": "eks.1",
        "kubernetesNetworkConfig": {"serviceIpv4Cidr": "172.20.0.0/16", "ipFamily": "ipv4"},
        "identity": {"oidc": {"issuer": issuer}}, "health": {"issues": []},
    }  # fmt: skip
    for key in ("logging", "accessConfig"):
        if key in params:
            view[key] = params[key]
    cluster = call.add(CLUSTER, name, view, arn, tags=dict(tags), interfaces=[], group=group["id"])
    groups = [{"GroupId": group["id"], "GroupName": label}]
    for subnet in subnets[:2]:
        made = interfaces.place(call, subnet, f"Amazon EKS {name}", groups=groups, requester="amazon-eks")
        cluster["interfaces"].append(made["id"])
    return cluster


def _reply(_: Call, made: list[Record]) -> dict[str, Any]:
    return {"cluster": shown(made[0])}


def describe_cluster(call: Call) -> dict[str, Any]:
    return {"cluster": shown(cluster_of(call, call.params["name"]))}


def list_clusters(call: Call) -> dict[str, Any]:
    return listed(call, "clusters", [row["id"] for row in call.all(CLUSTER) if call.sees(row)])


def delete_cluster(call: Call) -> dict[str, Any]:
    cluster = cluster_of(call, call.params["name"])
    for kind, noun in ((NODEGROUP, "nodegroups"), (FARGATE_PROFILE, "Fargate profiles")):
        if call.where(kind, clusterName=cluster["id"]):
            raise in_use(f"Cluster has {noun} attached")
    if cluster["view"]["status"] == "CREATING":
        raise in_use(f"Cluster '{cluster['id']}' is being created")
    if cluster["view"]["status"] != "DELETING":
        for addon in call.where(ADDON, clusterName=cluster["id"]):
            call.world.remove(addon, call.now)
        call.world.redirect(cluster, status="DELETING")
        call.world.schedule(call.takes(call.settings.delays.delete_cluster), cluster, None, "release-cluster")
    return {"cluster": shown(cluster)}


def release(world: World, cluster: Record, now: float) -> None:
    """Timer effect: what EKS made for a cluster goes with it."""
    remove_parts(world, cluster, now)
    scope = scope_of(cluster["account"], cluster["region"])
    cards, groups = world.table(scope, "network-interface"), world.table(scope, "security-group")
    for ident in [ident for ident in cluster["interfaces"] if ident in cards]:
        interfaces.remove(world, cards[ident], now)
    if (group := groups.get(cluster["group"])) is not None:
        rules = world.table(scope, "security-group-rule")
        for ident in group["rules"]:
            rules.pop(ident, None)
        world.remove(group, now)


_NETWORK = "subnetIds securityGroupIds endpointPublicAccess endpointPrivateAccess publicAccessCidrs"
_TAKES = " ".join([
    "name version roleArn clientRequestToken tags logging accessConfig",
    *(f"resourcesVpcConfig.{name}" for name in _NETWORK.split()),
])  # fmt: skip
OPERATIONS: tuple[Operation, ...] = (
    writes("CreateCluster", create_cluster, _TAKES, Token("clientRequestToken", CLUSTER, _reply, MISMATCH)),
    reads("DescribeCluster", describe_cluster, "name"),
    reads("ListClusters", list_clusters, "maxResults nextToken"),
    writes("DeleteCluster", delete_cluster, "name"),
)
