"""EKS clusters, with the security group and the interfaces that EKS makes for them.

https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateCluster.html
"""

import re
from typing import Any

from freehold_sim.aws.call import Call, Operation, Refused, Token, reads, writes
from freehold_sim.aws.ec2 import interfaces, security_groups
from freehold_sim.aws.ec2.kinds import full
from freehold_sim.aws.eks import certificate, options, updates, versions
from freehold_sim.aws.eks.admission import admit_creator
from freehold_sim.aws.eks.common import (
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
    why_failed,
)
from freehold_sim.aws.world import Record, World, scope_of

_NAME = re.compile(r"[0-9A-Za-z][A-Za-z0-9_-]{0,99}")
SELF_MANAGED = ("vpc-cni", "coredns", "kube-proxy")
"""What EKS puts into a cluster unless it is asked not to; these are no EKS add-ons
(https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateCluster.html)."""


def create_cluster(call: Call) -> dict[str, Any]:
    params, name = call.params, call.params["name"]
    if not _NAME.fullmatch(name):
        raise bad(f"The cluster name {name} has characters that are not allowed, or more than 100")
    if call.get(CLUSTER, name) is not None:
        raise in_use(f"Cluster already exists with name: {name}")
    if versions.offered(params.get("version", versions.DEFAULT)) is None:
        raise bad("unsupported Kubernetes version")
    check_role(call, params["roleArn"], "eks.amazonaws.com")
    check_tags(call, params.get("tags", {}))
    full(call, len(call.all(CLUSTER)), call.settings.quotas.clusters, "clusters")
    cluster = _add(call)
    admit_creator(call, cluster)
    call.world.schedule(call.takes(call.settings.delays.create_cluster), cluster, _outcome(call, cluster))
    return _reply(call, [cluster])


def _outcome(call: Call, cluster: Record) -> dict[str, Any]:
    """Return what changes when a cluster was made, or has failed.

    Its endpoint and its issuer have one id: https://github.com/kubernetes-sigs/cluster-api-provider-aws/issues/4501
    """
    if call.fails:
        issue = {"code": "InternalFailure", "message": why_failed(call), "resourceIds": []}
        return {"status": "FAILED", "health.issues": [issue]}
    ident = call.world.new_hex(32).upper()
    return {
        "status": "ACTIVE",
        "endpoint": f"https://{ident}.gr7.{call.region}.eks.{call.dns_suffix}",
        "certificateAuthority": {"data": certificate.DATA},
        "identity": {"oidc": {"issuer": f"https://oidc.eks.{call.region}.{call.dns_suffix}/id/{ident}"}},
        "resourcesVpcConfig.clusterSecurityGroupId": cluster["group"],
    }


def _add(call: Call) -> Record:
    params, name = call.params, call.params["name"]
    given = params["resourcesVpcConfig"]
    subnets = options.subnets(call, given.get("subnetIds", []))
    vpc = call.world.table(call.scope, "vpc")[subnets[0]["view"]["VpcId"]]
    groups = options.groups(call, given.get("securityGroupIds", []), vpc)
    view = {**_view(call, vpc), "resourcesVpcConfig": {
        "subnetIds": [subnet["id"] for subnet in subnets], "vpcId": vpc["id"],
        "securityGroupIds": [group["GroupId"] for group in groups], **options.endpoint(given, options.OPEN),
    }}  # fmt: skip
    arn = f"arn:{call.partition}:eks:{call.region}:{call.account}:cluster/{name}"
    label = f"eks-cluster-sg-{name}-{call.world.serial()}"
    text = "EKS created security group applied to ENI that is attached to EKS Control Plane master nodes"
    group = security_groups.make(call, vpc, label, text, {"Name": label, "aws:eks:cluster-name": name})
    group["by_eks"] = True
    cluster = call.add(
        CLUSTER, name, {**view, "arn": arn}, arn, tags=dict(params.get("tags", {})), interfaces=[], group=group["id"],
        self_managed=list(SELF_MANAGED) if params.get("bootstrapSelfManagedAddons", True) else [],
    )  # fmt: skip
    groups.insert(0, {"GroupId": group["id"], "GroupName": label})
    for subnet in subnets[:2]:
        made = interfaces.place(call, subnet, f"Amazon EKS {name}", groups=groups, requester="amazon-eks")
        cluster["interfaces"].append(made["id"])
    return cluster


def _view(call: Call, vpc: Record) -> dict[str, Any]:
    """Return a new cluster as it is shown; endpoint, issuer and security group come when it is made.

    https://docs.aws.amazon.com/cli/latest/reference/eks/create-cluster.html#output
    """
    params = call.params
    version = versions.offered(params.get("version", versions.DEFAULT)) or versions.CALENDAR[0]
    view: dict[str, Any] = {
        "name": params["name"], "createdAt": call.now, "version": version.name, "platformVersion": version.platform,
        "roleArn": params["roleArn"], "status": "CREATING", "certificateAuthority": {}, "health": {"issues": []},
        "kubernetesNetworkConfig": options.kubernetes_network(params.get("kubernetesNetworkConfig", {}), vpc),
        "logging": options.shown_logging(options.logging(params.get("logging", {}))),
        "accessConfig": options.access(params.get("accessConfig", {})),
        "upgradePolicy": {"supportType": "EXTENDED", **params.get("upgradePolicy", {})},
        "deletionProtection": params.get("deletionProtection", False),
    }  # fmt: skip
    if encryption := options.encryption(call, params.get("encryptionConfig", [])):
        view["encryptionConfig"] = encryption
    return view


def _shown(cluster: Record) -> dict[str, Any]:
    """Return a cluster without what EKS keeps to itself: whether its creator was made an administrator.

    https://github.com/aws/containers-roadmap/issues/185#issuecomment-1863025784
    """
    mode = {"authenticationMode": cluster["view"]["accessConfig"]["authenticationMode"]}
    return {**shown(cluster), "accessConfig": mode}


def _reply(_: Call, made: list[Record]) -> dict[str, Any]:
    return {"cluster": _shown(made[0])}


def describe_cluster(call: Call) -> dict[str, Any]:
    return {"cluster": _shown(cluster_of(call, call.params["name"]))}


def list_clusters(call: Call) -> dict[str, Any]:
    return listed(call, "clusters", [row["id"] for row in call.all(CLUSTER) if call.sees(row)])


def delete_cluster(call: Call) -> dict[str, Any]:
    """Delete a cluster, also while it is being made; add-ons and access entries go with it.

    https://docs.aws.amazon.com/eks/latest/userguide/deletion-protection.html
    """
    cluster = cluster_of(call, call.params["name"])
    for kind, noun in ((NODEGROUP, "nodegroups"), (FARGATE_PROFILE, "Fargate profiles")):
        if call.where(kind, clusterName=cluster["id"]):
            raise in_use(f"Cluster has {noun} attached")
    if updates.running(call, cluster):  # https://github.com/aws/containers-roadmap/issues/1511
        raise in_use(f"Cannot delete because cluster {cluster['id']} currently has an update in progress")
    if cluster["view"]["status"] == "ACTIVE" and cluster["view"]["deletionProtection"]:
        raise Refused("InvalidRequestException", f"Cluster '{cluster['id']}' has deletion protection enabled")
    if cluster["view"]["status"] != "DELETING":
        call.world.redirect(cluster, status="DELETING")
        call.world.schedule(call.takes(call.settings.delays.delete_cluster), cluster, None, "release-cluster")
    return {"cluster": _shown(cluster)}


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
    "name version roleArn clientRequestToken tags logging accessConfig encryptionConfig upgradePolicy",
    "bootstrapSelfManagedAddons deletionProtection",
    *(f"kubernetesNetworkConfig.{name}" for name in ("serviceIpv4Cidr", "ipFamily")),
    *(f"resourcesVpcConfig.{name}" for name in _NETWORK.split()),
])  # fmt: skip
OPERATIONS: tuple[Operation, ...] = (
    writes("CreateCluster", create_cluster, _TAKES, Token("clientRequestToken", CLUSTER, _reply, MISMATCH)),
    reads("DescribeCluster", describe_cluster, "name"),
    reads("ListClusters", list_clusters, "maxResults nextToken"),
    writes("DeleteCluster", delete_cluster, "name"),
)
